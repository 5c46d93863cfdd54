"""Stretches of a game: some rounds of a chunk, compiled or by ask and tell."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.games.late import Late
from driftduel.games.observer import Observer
from driftduel.games.rounds import attend, decided, skips_ties
from driftduel.policies import GROW, KernelPolicy, Policy
from driftduel.policies.base import no_such_arms
from driftduel.regret import GAME_BLENDS
from driftduel.worlds import Chunk
from driftduel.worlds._kernels import UNKNOWN

__all__ = ["Tally", "play_stretch"]

_RESTARTS_A_CALL = 4096

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tally:
    """What a game adds up: regret, plays and unknown answers so far, and at the marks."""

    def __init__(self, marks: Ints, arms: int) -> None:
        self.marks = marks
        self.mark = 0
        """How many marks were reached."""
        self.sums = np.zeros(len(GAME_BLENDS))
        self.curves = np.zeros((len(marks), len(GAME_BLENDS)))
        self.counts = np.zeros((2, arms), np.int64)
        """How often each arm was first, and second."""
        self.plays = np.zeros((len(marks), arms), np.int64)
        self.unknown = 0

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


def play_stretch(
    policy: Policy,
    chunk: Chunk,
    luck: Floats,
    losses: Floats,
    tally: Tally,
    late: Late,
    end: int,
    observer: Observer | None = None,
) -> float:
    """Play from the policy's next round to the one before `end`; return the seconds it took.

    Parameters
    ----------
    policy
        Who plays.
    chunk
        Rounds of a world, those to be played among them.
    luck
        A number for each of them, which decides its duel.
    losses
        (R, K) what each arm loses in each row of the chunk.
    tally
        What is added to.
    late
        Answers that were not told yet, which is told and added to.
    end
        The round after the last to be played.
    observer
        A measure beside regret.
    """
    stretch = _compiled if isinstance(policy, KernelPolicy) else _interpreted
    return stretch(policy, chunk, luck, losses, tally, late, end, observer)


def _compiled(
    policy: Any,
    chunk: Chunk,
    luck: Floats,
    losses: Floats,
    tally: Tally,
    late: Late,
    end: int,
    observer: Observer | None,
) -> float:
    from driftduel.games.loop import ASTRAY, compiled_loop

    absences = chunk.present.size > 0
    kernels = policy.kernels if observer is None else observer.kernels(policy)
    loop = compiled_loop(
        kernels, skips_ties(policy, chunk), absences, chunk.unknown, late.delay > 0
    )
    restarts = np.empty(_RESTARTS_A_CALL, np.int64)
    tables = chunk.matrices.reshape(-1, policy.arms**2)

    def call(t: int, end: int) -> Any:
        state = policy.state if observer is None else observer.record(policy)
        return loop(
            chunk, tables, luck, losses, state, policy.rng_address, policy.scratch, t, end,
            tally.sums, tally.marks, tally.mark, tally.curves, tally.counts, tally.plays, restarts,
            late.ring, late.notes,
        )  # fmt: skip

    t = policy.ledger.asked + 1
    if t == 1:  # play no rounds: compiling, or loading what was compiled, is not the policy's time
        call(t, t)
    begun = time.perf_counter()
    while t < end:
        t, tally.mark, restarted, unheard, flags, strange = call(t, end)
        tally.unknown += unheard
        policy.restarts.extend(restarts[:restarted].tolist())
        policy.advance_to(t - 1)
        if flags & ASTRAY:
            late.give_up()
            segment = np.searchsorted(chunk.starts, t, side="right") - 1
            here = chunk.present[chunk.rows[segment]] if absences else None
            raise no_such_arms(policy, strange[0], strange[1], t, here)
        if flags & GROW:
            policy.grow()
    return time.perf_counter() - begun


def _interpreted(
    policy: Policy,
    chunk: Chunk,
    luck: Floats,
    losses: Floats,
    tally: Tally,
    late: Late,
    end: int,
    observer: Observer | None,
) -> float:
    begun = time.perf_counter()
    begin = int(chunk.starts[0])
    last = -1
    for t in range(policy.ledger.asked + 1, end):
        row = chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1]
        if row != last:
            attend(policy, chunk, row)
            last = row
        if observer is not None:
            observer.before(policy, t)
        duel = policy.ask()
        a, b = duel.first, duel.second
        won, told = decided(policy, duel, chunk, row, luck[t - begin])
        heard = late.tell(duel, told)
        if observer is not None and heard is not None:
            observer.after(*heard)
        tally.unknown += won == UNKNOWN
        x, y = losses[row, a], losses[row, b]
        tally.sums += [blend(x, y) for blend in GAME_BLENDS]
        tally.counts[0, a] += 1
        tally.counts[1, b] += 1
        if tally.mark < len(tally.marks) and t == tally.marks[tally.mark]:
            tally.curves[tally.mark] = tally.sums
            tally.plays[tally.mark] = tally.counts.sum(axis=0)
            tally.mark += 1
    return time.perf_counter() - begun
