"""Games on worlds of slates: what is refused, and segments, compiled or by ask and tell.

A policy may show fewer arms than the world allows; a policy of duels shows two. Each round has as
many outcome draws as the longest ranking needs, so its draws depend on no policy. The regret of a
round is that of the arms shown: their mean loss, the smallest (weak), and whether all of them, or
any of them, have a loss (binary forms). For two arms these are the blends of `driftduel.regret`.
"""

import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.defaults import MOST_SHOWN
from driftduel.errors import DriftduelError
from driftduel.games.delay import DelayQueue
from driftduel.games.loop import (
    ASTRAY,
    exchange_notes,
    exchange_outcome,
    make_announce,
    segment_of,
    write_mark,
)
from driftduel.games.rounds import announce_arms
from driftduel.games.segments import GameTotals, OutcomeDraws, run_compiled
from driftduel.policies import (
    GROW,
    RESTARTED,
    UNANSWERED,
    Duel,
    KernelPolicy,
    Kernels,
    Policy,
    no_such_arms,
)
from driftduel.worlds import Chunk, RequestWorld, World, decide_slate

__all__ = ["check_slates", "decide_answer", "draws_a_round", "play_slate_segment"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def check_slates(policy: Policy, world: World, observer: object | None = None) -> None:
    """Raise if the policy shows more arms than the world, or if slates would be observed."""
    if policy.slate > world.slate:
        instead = f", or add slate={policy.slate} to the world"
        raise DriftduelError(
            f"policy {policy.name!r} shows up to {policy.slate} arms, and this world "
            f"{world.slate}; use slate={world.slate}"
            f"{'' if isinstance(world, RequestWorld) else instead}."
        )
    if world.slate > 2 and observer is not None:
        raise DriftduelError(
            "goals beside regret are not defined for slates; leave out slate= or the goal."
        )


def draws_a_round(world: World) -> int:
    """Return the number of outcome draws of each round."""
    return world.slate - 1


@hot
def _read_shown(a, b, notes, more, shown):  # type: ignore[no-untyped-def]
    """Write the arms shown by place, and return their number."""
    shown[0], shown[1] = a, b
    count = 2
    for k in range(len(notes) - more, len(notes)):
        if notes[k] >= 0:
            shown[count] = min(notes[k], 1e15)
            count += 1
    return count


@hot
def _is_slate(shown, count, losses):  # type: ignore[no-untyped-def]
    """Return whether arms are present and different; an arm alone is its own opponent.

    The losses of absent arms are NaN.
    """
    alone = count == 2 and shown[0] == shown[1]
    for p in range(count):
        arm = shown[p]
        if not (0 <= arm < len(losses)) or np.isnan(losses[arm]):
            return False
        for q in range(p):
            if not alone and shown[q] == arm:
                return False
    return True


@hot
def _blend_losses(shown, count, losses):  # type: ignore[no-untyped-def]
    """Return the mean loss of the arms shown, the smallest, whether all lose and whether any do."""
    total, best, losing = 0.0, np.inf, 0
    for p in range(count):
        loss = losses[shown[p]]
        total += loss
        best = min(best, loss)
        losing += int(loss > 0)
    return total / count, best, int(losing == count), int(losing > 0)


@cache
def compiled_slate_loop(kernels: Kernels, absences: bool) -> Any:
    """Return the compiled loop function over rounds with slates, see `games.loop.compiled_loop`.

    Only `absences` is a constant of the compiler, so that a policy has two loops at most.

    Parameters
    ----------
    kernels
        The kernels of the policy.
    absences
        Whether arms join and leave.
    """
    ask, tell, unanswered = kernels.ask, kernels.tell, kernels.unanswered
    announce: Any = make_announce(kernels) if absences else None

    def loop(  # type: ignore[no-untyped-def]
        chunk, outcome_draws, begin, width, ranked, nothing, coin, losses, state, rng, notes, more,
        first, end, sums, marks, mark, curves, counts, plays, restarts, ring, kept, shown, weights,
    ):  # fmt: skip
        segment = segment_of(chunk.starts, first) - 1
        next_start = first
        next_mark = marks[mark] if mark < len(marks) else 0
        mean, better, both, either = sums[0], sums[1], int(sums[2]), int(sums[3])
        restarted = flags = strange = 0
        delay = len(ring)
        place = (first - 1) % delay if delay > 0 else 0
        t = first
        while t < end:
            if t == next_start:
                segment += 1
                row = chunk.rows[segment]
                loss = losses[row]
                utilities = chunk.utilities[row]
                if absences:
                    announce(state, rng, t, chunk.present[row])
                last = segment + 1 == len(chunk.starts)
                next_start = chunk.end if last else chunk.starts[segment + 1]
            a, b = ask(state, rng, t, notes)
            count = _read_shown(a, b, notes, more, shown)
            if not _is_slate(shown, count, loss):  # a user-defined kernel may be wrong
                flags, strange = ASTRAY, count
                break
            at = (t - begin) * width
            code = decide_slate(
                utilities, shown, count, outcome_draws, at, nothing, ranked, coin, weights
            )
            x, y, all_lose, any_lose = _blend_losses(shown, count, loss)
            if delay > 0:
                one, other, came = exchange_outcome(ring, place, (a, b, code))
                learns = t > delay and (unanswered or came >= 0)
                exchange_notes(kept, place, notes, learns)
                flags = tell(state, t - delay, one, other, came, notes) if learns else 0
                place = place + 1 if place + 1 < delay else 0
            else:
                learns = unanswered or code >= 0
                flags = tell(state, t, a, b, code, notes) if learns else 0
            mean += x
            better += y
            both += all_lose
            either += any_lose
            counts[0, a] += 1
            for p in range(1, count):
                counts[1, shown[p]] += 1
            if t == next_mark:
                write_mark(curves, plays, counts, mark, mean, better, both, either)
                mark += 1
                next_mark = marks[mark] if mark < len(marks) else 0
            t += 1
            if flags != 0:
                if flags & RESTARTED:
                    restarts[restarted] = t - 1 - delay  # the round of the duel, as in a ledger
                    restarted += 1
                if flags & GROW or restarted == len(restarts):
                    break
        sums[0], sums[1], sums[2], sums[3] = mean, better, both, either
        return t, mark, restarted, 0, flags, strange

    return kernel(loop)


def play_slate_segment(
    policy: Policy,
    world: World,
    chunk: Chunk,
    outcome_draws: OutcomeDraws,
    losses: Floats,
    tally: GameTotals,
    late: DelayQueue,
    end: int,
) -> float:
    """Play from the policy's next round to the one before `end`; return the duration in seconds.

    Parameters
    ----------
    policy, chunk, outcome_draws, losses, tally, late, end
        As of `games.segments.play_segment`.
    world
        The world of the slates.
    """
    segment = _compiled if isinstance(policy, KernelPolicy) else _interpreted
    return segment(policy, world, chunk, outcome_draws, losses, tally, late, end)


def _compiled(
    policy: Any,
    world: World,
    chunk: Chunk,
    outcome_draws: OutcomeDraws,
    losses: Floats,
    tally: GameTotals,
    late: DelayQueue,
    end: int,
) -> float:
    absences = chunk.present.size > 0
    loop = compiled_slate_loop(policy.kernels, absences)
    shown, weights = np.zeros(MOST_SHOWN, np.int64), np.empty(MOST_SHOWN)
    width, coin = draws_a_round(world), policy.ledger.ties == "coin"

    def call(t: int, end: int, numbers: Floats, begin: int, restarts: Ints) -> Any:
        return loop(
            chunk, numbers, begin, width, world.ranked, world.nothing_picked, coin, losses,
            policy.state, policy.rng_address, policy.scratch, policy.slate - 2, t, end,
            tally.sums, tally.marks, tally.mark, tally.curves, tally.counts, tally.plays, restarts,
            late.ring, late.notes, shown, weights,
        )  # fmt: skip

    def strange_arms(t: int, count: int) -> DriftduelError:
        row = chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1]
        return _strange_arms(policy, shown[:count].tolist(), t, chunk, int(row))

    return run_compiled(policy, tally, late, outcome_draws, end, call, strange_arms, width)


def _interpreted(
    policy: Policy,
    world: World,
    chunk: Chunk,
    outcome_draws: OutcomeDraws,
    losses: Floats,
    tally: GameTotals,
    late: DelayQueue,
    end: int,
) -> float:
    begun = time.perf_counter()
    shown, last = np.zeros(MOST_SHOWN, np.int64), -1
    for t in range(policy.ledger.asked + 1, end):
        row = int(chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1])
        if row != last:
            announce_arms(policy, chunk, row)
            last = row
        duel = policy.ask()
        draws = outcome_draws.next(draws_a_round(world))
        _, code = decide_answer(policy, duel, world, chunk, row, draws)
        count = _write_shown(duel, shown)
        late.tell(duel, code)
        tally.add(t, _blend_losses(shown, count, losses[row]), shown[:count])
    return time.perf_counter() - begun


def decide_answer(
    policy: Policy, duel: Duel, world: World, chunk: Chunk, row: int, draws: Floats
) -> tuple[int, int]:
    """Decide the answer to a slate by the outcome draws of its round.

    Returns its code, see `driftduel.policies.slates`, and the code for the policy, which differs if
    nothing was picked and the policy takes a fair pick instead.
    """
    shown, weights = np.zeros(MOST_SHOWN, np.int64), np.empty(MOST_SHOWN)
    count = _write_shown(duel, shown)
    there = np.zeros(world.arms)
    if chunk.present.size:
        there[~chunk.present[row]] = np.nan
    if not _is_slate(shown, count, there):
        raise _strange_arms(policy, shown[:count].tolist(), duel.round, chunk, row)
    slate = chunk.utilities[row], shown, count, draws, 0, world.nothing_picked, world.ranked
    code = int(decide_slate(*slate, False, weights))
    if code == UNANSWERED and policy.ledger.ties == "coin":
        return code, int(decide_slate(*slate, True, weights))
    return code, code


def _write_shown(duel: Duel, shown: NDArray[np.int64]) -> int:
    """Write the arms of a duel by place, and return their number."""
    arms = duel.first, duel.second, *duel.others
    shown[: len(arms)] = arms
    return len(arms)


def _strange_arms(
    policy: Policy, arms: list[int], t: int, chunk: Chunk, row: int
) -> DriftduelError:
    here = chunk.present[row] if chunk.present.size else None
    return no_such_arms(policy, arms[0], arms[1], t, here, arms[2:])
