"""Games on worlds with requests: the benchmark, and segments, compiled or by ask and tell.

A policy that was built with features gets the scaled request of each round; any other plays the
same rounds without it. Regret is that against the best option for the request, after prices.
"""

import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.games.delay import DelayQueue
from driftduel.games.loop import ASTRAY, exchange_notes, exchange_outcome, write_mark
from driftduel.games.scene import GameScene
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
from driftduel.regret import GAME_BLENDS, kinds_of
from driftduel.requests import ScaledRequest
from driftduel.worlds import (
    LINK_CODES,
    TIE,
    RequestChunk,
    RequestWorld,
    World,
    link_value,
    outcome,
)

__all__ = [
    "RequestBenchmark", "ask_with_request", "decide_request", "play_request_segment",
    "prepare_policy",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LOGISTIC = LINK_CODES["logistic"]

_mean_loss, _better_loss, _both_lose, _any_loses = map(hot, GAME_BLENDS)


def prepare_policy(policy: Policy, world: World) -> None:
    """Set the prices of the world, or raise if the policy's requests are not those of the world."""
    shape = policy.request_shape
    if not isinstance(world, RequestWorld):
        if shape.features:
            raise DriftduelError(
                f"policy {policy.name!r} with {shape} takes a request in every round, and this "
                f"world has none; leave out features=, or play on 'routing' or 'table'."
            )
        return
    if shape.features and shape != world.shape:
        raise DriftduelError(
            f"policy {policy.name!r} was built with {shape}, and the requests of this world have "
            f"{world.shape}; leave out the key, and the game sets it."
        )
    if world.prices.any() and type(policy).set_prices is not Policy.set_prices:
        policy.set_prices(world.prices)


class RequestBenchmark:
    """The losses of every option, and the rounds in which the best option of some request changes.

    Parameters
    ----------
    world
        The world of the game.
    benchmark
        Must be ``condorcet``: the best option for each request.
    wanted
        The rounds of the curves.
    """

    def __init__(self, world: RequestWorld, benchmark: str, wanted: Ints) -> None:
        if benchmark != "condorcet":
            raise DriftduelError(
                f"benchmark={benchmark!r} is not defined where the best option depends on the "
                f"request; leave it out."
            )
        self.marks = wanted
        self.scene = GameScene()
        self.scene.winners = list(world.best_single)
        self.scene.ties = world.ties
        self._switches: list[int] = []

    def losses(self, chunk: RequestChunk) -> Floats:
        """Return the loss of each option in each round of the next chunk."""
        self._switches.extend(chunk.starts[chunk.turnover > 0].tolist())
        return chunk.losses

    def switches(self, last: int) -> list[int]:
        """Return the rounds up to `last` with a new best option of some reference request."""
        return [t for t in self._switches if t <= last]

    def regret(self, at: Ints, curves: Floats, plays: Ints) -> tuple[Ints, dict[str, Floats], Ints]:
        """Return the rounds of the curves, the regret by kind up to them, and the plays."""
        return at, {kind: curves[:, i] for i, kind in enumerate(kinds_of("condorcet"))}, plays


@cache
def compiled_request_loop(kernels: Kernels, takes: bool, ties: bool, late: bool) -> Any:
    """Return the compiled loop function over rounds with requests, see `games.loop.compiled_loop`.

    Parameters
    ----------
    kernels
        The kernels of the policy.
    takes
        Whether the policy takes requests; they are written to the end of its notes.
    ties, late
        As in `compiled_loop`.
    """
    ask, tell, unanswered = kernels.ask, kernels.tell, kernels.unanswered

    def loop(  # type: ignore[no-untyped-def]
        chunk, outcome_draws, begin, state, rng, notes, first, end,
        sums, marks, mark, curves, counts, plays, groups, restarts, ring, kept,
    ):  # fmt: skip
        arms = chunk.losses.shape[1]
        size = chunk.requests.shape[1]
        tail = len(notes) - size
        next_mark = marks[mark] if mark < len(marks) else 0
        mean, better, both, either = sums[0], sums[1], int(sums[2]), int(sums[3])
        share, half_tie = 1.0 - chunk.ties, 0.5 * chunk.ties
        restarted = flags = 0
        strange = (0, 0)
        delay = len(ring) if late else 0
        place = (first - 1) % delay if late else 0
        t = first
        while t < end:
            row = t - chunk.starts[0]
            if takes:
                for k in range(size):
                    notes[tail + k] = chunk.requests[row, k]
            a, b = ask(state, rng, t, notes)
            if not (0 <= a < arms and 0 <= b < arms):  # a user-defined kernel may be wrong
                flags, strange = ASTRAY, (int(a), int(b))
                break
            p = link_value(_LOGISTIC, chunk.utilities[row, a] - chunk.utilities[row, b])
            if ties or share < 1.0:
                p = 0.5 + share * (p - 0.5)
            won = outcome(p, a, b, outcome_draws[t - begin], half_tie, ties, False)
            if late:
                outcome_of = a, b, max(won, UNANSWERED)
                one, other, came = exchange_outcome(ring, place, outcome_of)
                told = t > delay and (unanswered or came >= 0)
                exchange_notes(kept, place, notes, told)
                flags = tell(state, t - delay, one, other, came, notes) if told else 0
                place = place + 1 if place + 1 < delay else 0
            elif ties:
                told = unanswered or won >= 0
                flags = tell(state, t, a, b, max(won, UNANSWERED), notes) if told else 0
            else:
                flags = tell(state, t, a, b, won, notes)
            x, y = chunk.losses[row, a], chunk.losses[row, b]
            loss = _mean_loss(x, y)
            mean += loss
            better += _better_loss(x, y)
            both += int(_both_lose(x, y))
            either += int(_any_loses(x, y))
            groups[chunk.categories[row], 0] += loss
            groups[chunk.categories[row], 1] += 1.0
            counts[0, a] += 1
            counts[1, b] += 1
            if t == next_mark:
                write_mark(curves, plays, counts, mark, mean, better, both, either)
                mark += 1
                next_mark = marks[mark] if mark < len(marks) else 0
            t += 1
            if flags != 0:
                if flags & RESTARTED:
                    restarts[restarted] = t - 1 - delay
                    restarted += 1
                if flags & GROW or restarted == len(restarts):
                    break
        sums[0], sums[1], sums[2], sums[3] = mean, better, both, either
        return t, mark, restarted, 0, flags, strange

    return kernel(loop)


def play_request_segment(
    policy: Policy,
    chunk: RequestChunk,
    outcome_draws: OutcomeDraws,
    tally: GameTotals,
    groups: Floats,
    late: DelayQueue,
    end: int,
) -> float:
    """Play from the policy's next round to the one before `end`; return the duration in seconds.

    Parameters
    ----------
    policy, chunk, outcome_draws, tally, late, end
        As of `games.segments.play_segment`.
    groups
        (C, 2) regret and rounds of each category; updated.
    """
    segment = _compiled if isinstance(policy, KernelPolicy) else _interpreted
    return segment(policy, chunk, outcome_draws, tally, groups, late, end)


def _compiled(
    policy: Any,
    chunk: RequestChunk,
    outcome_draws: OutcomeDraws,
    tally: GameTotals,
    groups: Floats,
    late: DelayQueue,
    end: int,
) -> float:
    ties = chunk.ties > 0 and policy.ledger.ties == "skip"
    takes = policy.request_shape.features > 0
    loop = compiled_request_loop(policy.kernels, takes, ties, late.delay > 0)

    def call(t: int, end: int, numbers: Floats, begin: int, restarts: Ints) -> Any:
        return loop(
            chunk, numbers, begin, policy.state, policy.rng_address, policy.scratch, t, end,
            tally.sums, tally.marks, tally.mark, tally.curves, tally.counts, tally.plays, groups,
            restarts, late.ring, late.notes,
        )  # fmt: skip

    def strange_arms(t: int, strange: Any) -> DriftduelError:
        return no_such_arms(policy, strange[0], strange[1], t)

    return run_compiled(policy, tally, late, outcome_draws, end, call, strange_arms)


def _interpreted(
    policy: Policy,
    chunk: RequestChunk,
    outcome_draws: OutcomeDraws,
    tally: GameTotals,
    groups: Floats,
    late: DelayQueue,
    end: int,
) -> float:
    begun = time.perf_counter()
    start = policy.ledger.asked + 1
    for t, draw in zip(range(start, end), outcome_draws.next(end - start), strict=True):
        row = t - int(chunk.starts[0])
        duel = ask_with_request(policy, chunk, row)
        a, b = duel.first, duel.second
        _, told = decide_request(policy, duel, chunk, row, float(draw))
        late.tell(duel, told)
        x, y = chunk.losses[row, a], chunk.losses[row, b]
        tally.add(t, [blend(x, y) for blend in GAME_BLENDS], (a, b))
        groups[chunk.categories[row]] += GAME_BLENDS[0](x, y), 1.0
    return time.perf_counter() - begun


def ask_with_request(policy: Policy, chunk: RequestChunk, row: int) -> Duel:
    """Ask a policy for the duel of a round; one without features gets no request."""
    if not policy.request_shape.features:
        return policy.ask()
    return policy.ask(ScaledRequest(chunk.requests[row].tolist()))


def decide_request(
    policy: Policy, duel: Duel, chunk: RequestChunk, row: int, draw: float
) -> tuple[int, int]:
    """Decide a duel: 1, 0 or `TIE`, and the value for the policy, which may be less specific."""
    a, b = duel.first, duel.second
    p = float(link_value(_LOGISTIC, chunk.utilities[row, a] - chunk.utilities[row, b]))
    ties = chunk.ties > 0
    if ties:
        p = 0.5 + (1.0 - chunk.ties) * (p - 0.5)
    won = told = int(outcome(p, a, b, draw, 0.5 * chunk.ties, ties, False))
    if won == TIE and policy.ledger.ties == "coin":
        told = int(outcome(p, a, b, draw, 0.0, False, False))
    return won, max(told, UNANSWERED)
