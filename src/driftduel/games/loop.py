"""The compiled loop, one function for every pair of kernels and shape of a round.

Importing this module imports the compiler.
"""

from functools import cache
from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies import GROW, RESTARTED, UNANSWERED, Kernels
from driftduel.regret import GAME_BLENDS
from driftduel.worlds import NO_LINK, UNKNOWN, decide

__all__ = [
    "ASTRAY", "compiled_loop", "exchange_notes", "exchange_outcome", "make_announce", "segment_of",
    "write_mark",
]  # fmt: skip

ASTRAY = 4  # in addition to the flags of a `tell` kernel

_mean_loss, _better_loss, _both_lose, _any_loses = map(hot, GAME_BLENDS)


@cache
def compiled_loop(
    kernels: Kernels,
    ties: bool = False,
    absences: bool = False,
    unknown: bool = False,
    late: bool = False,
) -> Any:
    """Return the compiled loop function for a policy with these kernels.

    The function plays the rounds ``first, ..., end - 1`` of a chunk, each decided by its entry of
    `outcome_draws`, the first of which belongs to round `begin`. It returns the next round, the
    next mark, the number of restarts, the number of duels without an outcome, and its flags. It
    stops early if the policy needs more memory (`GROW`), if the buffer of restarts is full, or if
    the policy chose absent arms (`ASTRAY`, with the arms); the caller handles the flag and calls
    again.
    Kernels are inlined into the loop, hence one loop per pair of kernels.

    The four flags are compile-time constants, so the loop of a world without ties, absences,
    missing and delayed outcomes has no branches for them.

    Parameters
    ----------
    kernels
        The kernels of the policy.
    ties
        Whether a duel may tie. The policy then gets no feedback, or the value -1 if it supports it.
        A policy with ties decided by a coin needs no such loop: P counts a tie as half a win, and
        so does an outcome draw that is compared with P.
    absences
        Whether arms join and leave: at the start of each segment the joins are announced, then the
        departures.
    unknown
        Whether outcomes may be missing; for the policy they are ties without feedback.
    late
        Whether feedback is delayed, by the number of slots of `ring`. The slot of a round holds its
        duel, and `kept` its notes, until the outcome is delivered.
    """
    ask, tell, unanswered = kernels.ask, kernels.tell, kernels.unanswered
    announce: Any = make_announce(kernels) if absences else None

    def loop(  # type: ignore[no-untyped-def]
        chunk, tables, outcome_draws, begin, losses, state, rng, notes, first, end,
        sums, marks, mark, curves, counts, plays, restarts, ring, kept,
    ):  # fmt: skip
        arms, link = losses.shape[1], chunk.link
        segment = segment_of(chunk.starts, first) - 1
        next_start = first
        next_mark = marks[mark] if mark < len(marks) else 0
        mean, better, both, either = sums[0], sums[1], int(sums[2]), int(sums[3])
        half_tie = 0.0
        restarted = unheard = flags = 0
        t = first
        strange = (0, 0)
        delay = len(ring) if late else 0
        place = (first - 1) % delay if late else 0
        while t < end:
            if t == next_start:
                segment += 1
                row = chunk.rows[segment]
                loss = losses[row]
                values = tables[row] if link == NO_LINK else chunk.utilities[row]
                if ties:
                    half_tie = 0.5 * chunk.ties[row]
                if absences:
                    here = chunk.present[row]
                    announce(state, rng, t, here)
                last = segment + 1 == len(chunk.starts)
                next_start = chunk.end if last else chunk.starts[segment + 1]
            a, b = ask(state, rng, t, notes)
            if not (0 <= a < arms and 0 <= b < arms):  # a user-defined kernel may be wrong
                flags, strange = ASTRAY, (int(a), int(b))
                break
            won = decide(
                values,
                link,
                arms,
                a,
                b,
                outcome_draws[np.uint64(t - begin)],
                half_tie,
                ties,
                unknown,
            )
            if ties or unknown:
                unheard += int(won == UNKNOWN)
            if late:
                outcome = a, b, max(won, UNANSWERED)
                one, other, came = exchange_outcome(ring, place, outcome)
                told = t > delay and (unanswered or came >= 0)
                exchange_notes(kept, place, notes, told)
                flags = tell(state, t - delay, one, other, came, notes) if told else 0
                place = place + 1 if place + 1 < delay else 0
            elif ties or unknown:
                told = unanswered or won >= 0
                flags = tell(state, t, a, b, max(won, UNANSWERED), notes) if told else 0
            else:
                flags = tell(state, t, a, b, won, notes)
            x, y = loss[a], loss[b]
            if absences:  # the loss is loaded already: NaN is cheaper than a lookup
                away = not (here[a] and here[b]) if unknown else np.isnan(x + y)
                if away:
                    flags, strange = ASTRAY, (int(a), int(b))
                    break
            # Arithmetic, not branches: the arms of a duel are unpredictable by design.
            mean += _mean_loss(x, y)
            better += _better_loss(x, y)
            both += int(_both_lose(x, y))
            either += int(_any_loses(x, y))
            counts[0, a] += 1  # two rows, to avoid a dependency between the two additions
            counts[1, b] += 1
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
        return t, mark, restarted, unheard, flags, strange

    return kernel(loop)


@hot
def segment_of(starts, t):  # type: ignore[no-untyped-def]
    """Return the segment of a round; the numpy function would add compile time to each process.

    Examples
    --------
    >>> [segment_of(np.array([1, 5, 6]), t) for t in (1, 4, 5, 6, 9)]
    [0, 0, 1, 2, 2]
    """
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@hot
def write_mark(curves, plays, counts, mark, mean, better, both, either):  # type: ignore[no-untyped-def]
    """Write the regret and the plays up to a round of the curves."""
    curves[mark, 0], curves[mark, 1] = mean, better
    curves[mark, 2], curves[mark, 3] = both, either
    for arm in range(plays.shape[1]):
        plays[mark, arm] = counts[0, arm] + counts[1, arm]


@hot
def exchange_outcome(ring, place, outcome):  # type: ignore[no-untyped-def]
    """Store two arms and an outcome in a slot of the ring buffer; return the stored ones."""
    before = ring[place, 0], ring[place, 1], ring[place, 2]
    ring[place, 0], ring[place, 1], ring[place, 2] = outcome
    return before


@hot
def exchange_notes(kept, place, notes, told):  # type: ignore[no-untyped-def]
    """Store the notes of a duel, and return the stored ones if their outcome is delivered now."""
    for i in range(len(notes)):
        note = notes[i]
        if told:
            notes[i] = kept[place, i]
        kept[place, i] = note


def make_announce(kernels: Kernels) -> Any:
    """Return a kernel that announces joins, then departures, to a policy."""
    change, present = kernels.change, kernels.present

    def announce(state, rng, t, here):  # type: ignore[no-untyped-def]
        for arm in range(len(here)):
            if here[arm] and not present(state, arm):
                change(state, rng, t, arm, 1)
        for arm in range(len(here)):
            if not here[arm] and present(state, arm):
                change(state, rng, t, arm, 0)

    return hot(announce)
