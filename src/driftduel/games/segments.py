"""Segments of a game: some rounds of a chunk, compiled or by ask and tell."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.games.delay import DelayQueue
from driftduel.games.observer import Observer
from driftduel.games.rounds import announce_arms, decide_duel, skips_ties
from driftduel.policies import GROW, KernelPolicy, Policy, no_such_arms
from driftduel.regret import GAME_BLENDS
from driftduel.worlds import UNKNOWN, Chunk

__all__ = ["GameTotals", "OutcomeDraws", "play_segment", "run_compiled"]

_RESTARTS_A_CALL = 4096
# So many outcome draws, half a megabyte, stay in the processor's cache.
_DRAWS_A_BLOCK = 1 << 16

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NONE = np.empty(0)


class GameTotals:
    """The totals of a game: regret, plays and missing outcomes so far, and at the marks."""

    def __init__(self, marks: Ints, arms: int) -> None:
        self.marks = marks
        self.mark = 0
        """The number of marks reached."""
        self.sums = np.zeros(len(GAME_BLENDS))
        self.curves = np.zeros((len(marks), len(GAME_BLENDS)))
        self.counts = np.zeros((2, arms), np.int64)
        """The number of duels of each arm as first, and as second."""
        self.plays = np.zeros((len(marks), arms), np.int64)
        self.unknown = 0

    def add(self, t: int, blends: Sequence[float], shown: Sequence[int] | Ints) -> None:
        """Add round `t`: the values of `GAME_BLENDS`, and the arms shown."""
        self.sums += blends
        self.counts[0, shown[0]] += 1
        for arm in shown[1:]:
            self.counts[1, arm] += 1
        if self.mark < len(self.marks) and t == self.marks[self.mark]:
            self.curves[self.mark] = self.sums
            self.plays[self.mark] = self.counts.sum(axis=0)
            self.mark += 1

    def up_to(self, last: int) -> tuple[Ints, Floats, Ints]:
        """Return the marks reached and the last round played, the sums and the plays up to them."""
        reached = self.mark
        if reached and self.marks[reached - 1] == last:
            return self.marks[:reached], self.curves[:reached], self.plays[:reached]
        return (
            np.append(self.marks[:reached], last),
            np.vstack((self.curves[:reached], self.sums)),
            np.vstack((self.plays[:reached], self.counts.sum(axis=0))),
        )


class OutcomeDraws:
    """The uniform numbers that decide duels, one a round, drawn in blocks.

    The numbers do not depend on how the rounds are cut into blocks. All games of a thread share a
    buffer: to allocate one for each would cost short games a page fault for every 512 rounds.

    Parameters
    ----------
    rng
        Their generator.
    """

    _of_thread = threading.local()

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        if not hasattr(self._of_thread, "block"):
            self._of_thread.block = np.empty(_DRAWS_A_BLOCK)
        self._block: Floats = self._of_thread.block

    def next(self, rounds: int) -> Floats:
        """Return the numbers of the next rounds, a block at most; valid until the next call."""
        block = self._block[:rounds]
        self._rng.random(out=block)
        return block


def play_segment(
    policy: Policy,
    chunk: Chunk,
    outcome_draws: OutcomeDraws,
    losses: Floats,
    tally: GameTotals,
    late: DelayQueue,
    end: int,
    observer: Observer | None = None,
) -> float:
    """Play from the policy's next round to the one before `end`; return the duration in seconds.

    Parameters
    ----------
    policy
        The policy.
    chunk
        Rounds of a world, including those to be played.
    outcome_draws
        The outcome draws of the rounds to be played.
    losses
        (R, K) the loss of each arm in each row of the chunk.
    tally
        The totals, updated.
    late
        The queue of delayed feedback, updated.
    end
        The round after the last one to be played.
    observer
        A measure beside regret.
    """
    stretch = _compiled if isinstance(policy, KernelPolicy) else _interpreted
    return stretch(policy, chunk, outcome_draws, losses, tally, late, end, observer)


def _compiled(
    policy: Any,
    chunk: Chunk,
    outcome_draws: OutcomeDraws,
    losses: Floats,
    tally: GameTotals,
    late: DelayQueue,
    end: int,
    observer: Observer | None,
) -> float:
    from driftduel.games.loop import compiled_loop

    absences = chunk.present.size > 0
    kernels = policy.kernels if observer is None else observer.kernels(policy)
    loop = compiled_loop(
        kernels, skips_ties(policy, chunk), absences, chunk.unknown, late.delay > 0
    )
    tables = chunk.matrices.reshape(-1, policy.arms**2)

    def call(t: int, end: int, numbers: Floats, begin: int, restarts: Ints) -> Any:
        state = policy.state if observer is None else observer.record(policy)
        return loop(
            chunk, tables, numbers, begin, losses, state, policy.rng_address, policy.scratch, t,
            end, tally.sums, tally.marks, tally.mark, tally.curves, tally.counts, tally.plays,
            restarts, late.ring, late.notes,
        )  # fmt: skip

    def strange_arms(t: int, strange: Any) -> DriftduelError:
        segment = np.searchsorted(chunk.starts, t, side="right") - 1
        here = chunk.present[chunk.rows[segment]] if absences else None
        return no_such_arms(policy, strange[0], strange[1], t, here)

    return run_compiled(policy, tally, late, outcome_draws, end, call, strange_arms)


def run_compiled(
    policy: Any,
    tally: GameTotals,
    late: DelayQueue,
    outcome_draws: OutcomeDraws,
    end: int,
    call: Callable[[int, int, Floats, int, Ints], Any],
    strange_arms: Callable[[int, Any], DriftduelError],
    draws: int = 1,
) -> float:
    """Call a compiled loop until round `end`; return the duration in seconds.

    Parameters
    ----------
    policy, tally, late, outcome_draws, end
        As of `play_segment`.
    call
        Function ``(t, end, numbers, begin, restarts)`` that plays rounds from t on, with the
        outcome draws `numbers` of the rounds from `begin` on, and returns the tuple of
        `games.loop.compiled_loop`.
    strange_arms
        Function ``(t, arms)`` that returns the error for arms that cannot be shown in round t.
    draws
        The number of outcome draws of each round.
    """
    from driftduel.games.loop import ASTRAY

    restarts = np.empty(_RESTARTS_A_CALL, np.int64)
    t = policy.ledger.asked + 1
    # Play no rounds: compilation, or loading from the cache, is not part of the measured time.
    if t == 1:
        call(t, t, _NONE, t, restarts)
    begun = time.perf_counter()
    drawing, drawn = 0.0, t
    while t < end:
        if t == drawn:
            first, drawn = t, min(t + _DRAWS_A_BLOCK // draws, end)
            before = time.perf_counter()
            numbers = outcome_draws.next((drawn - t) * draws)
            drawing += time.perf_counter() - before
        t, tally.mark, restarted, unheard, flags, strange = call(t, drawn, numbers, first, restarts)
        tally.unknown += unheard
        policy.restarts.extend(restarts[:restarted].tolist())
        policy.advance_to(t - 1)
        if flags & ASTRAY:
            late.give_up()
            raise strange_arms(t, strange)
        if flags & GROW:
            policy.grow()
    return time.perf_counter() - begun - drawing


def _interpreted(
    policy: Policy,
    chunk: Chunk,
    outcome_draws: OutcomeDraws,
    losses: Floats,
    tally: GameTotals,
    late: DelayQueue,
    end: int,
    observer: Observer | None,
) -> float:
    begun = time.perf_counter()
    last = -1
    for t in range(policy.ledger.asked + 1, end):
        row = chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1]
        if row != last:
            announce_arms(policy, chunk, row)
            last = row
        if observer is not None:
            observer.before(policy, t)
        duel = policy.ask()
        a, b = duel.first, duel.second
        won, told = decide_duel(policy, duel, chunk, row, float(outcome_draws.next(1)[0]))
        delivered = late.tell(duel, told)
        if observer is not None and delivered is not None:
            observer.after(*delivered)
        tally.unknown += won == UNKNOWN
        x, y = losses[row, a], losses[row, b]
        tally.add(t, [blend(x, y) for blend in GAME_BLENDS], (a, b))
    return time.perf_counter() - begun
