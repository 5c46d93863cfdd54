"""The schedule of matches: rate and choice of challengers of `king`, `court` and `borda-king`.

The record is that of `_king_matches`, or one with more fields. Rate and choice are kernels passed
as arguments: `court` and `borda-king` use the number of alarms and a rotation (this module), `king`
uses the statistics of successions (`_king_succession`).
"""

import math
from collections.abc import Callable
from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._king_matches import PATIENCE, close_match, newcomer, open_match

__all__ = ["by_alarms", "by_turns", "challenges", "without_match"]

_LOST = 10_000


@hot
def without_match(state: Any, i: int) -> bool:
    """Return whether a match may be opened for an arm: present, not the king, without a match."""
    return i != state.numbers[0].king and not state.arms[i].on and state.present[i]


def by_alarms(rate: float, fresh_rate: float, prior: float) -> Any:
    """Return a kernel for the number of matches that are due per round.

    With S alarms so far and K arms, ``rate sqrt(K (prior + S) / t)``, and for a king of some age
    ``fresh_rate K / age`` more.
    """

    def matches(state, t):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        age, here = max(1, t - numbers.crowned), numbers.here
        return rate * math.sqrt(here * (prior + numbers.alarms) / t) + fresh_rate * here / age

    return hot(matches)


def challenges(free: Any, matches: Any, next_one: Any) -> Callable[[Any, int], int]:
    """Return a kernel for the challenger of a round, or -1 if the king is shown alone.

    ``challenger(state, t)`` also opens the match, if needed, and counts the duel as pending.

    Parameters
    ----------
    free
        Kernel ``(state, arm)``: whether a match may be opened for the arm.
    matches
        Kernel ``(state, t)``: the number of matches that are due in round t.
    next_one
        Kernel ``(state, t)``: the challenger of the next match, one for which `free` is true.
    """
    beside, due = _openings(free, next_one)

    def challenger(state, t):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        if t >= numbers.wake:  # a single comparison in rounds without work
            j = go_on(state, t)
            if j >= 0:
                return j
        numbers.due += min(matches(state, t), 1.0)
        return -1 if numbers.due < 1.0 else due(state, t)

    @hot
    def go_on(state, t):  # type: ignore[no-untyped-def]
        """Return the challenger of the match to open or to continue now, or -1."""
        numbers, arms = state.numbers[0], state.arms
        crowded = numbers.waited >= PATIENCE and 0 < numbers.open < numbers.here - 1
        if t >= numbers.trial or crowded:
            j = beside(state, t)
            if j >= 0:
                return j
        j = numbers.last
        for _ in range(len(arms)):  # round-robin over open matches
            j = j + 1 if j + 1 < len(arms) else 0
            rival = arms[j]
            # More pending duels if the challenger leads: if it is better, waiting costs regret.
            if rival.lead >= 0 and rival.out <= 2 * rival.lead:
                numbers.last = j
                rival.asked = t
                rival.out += 1
                return j
        if numbers.open > 0:
            _give_up(state, t)
        return -1

    return hot(challenger)


def _openings(free: Any, next_one: Any) -> tuple[Any, Any]:
    """Return two kernels that open a match and return its arm, or -1: in parallel, and when due."""

    @kernel
    def beside(state, t):  # type: ignore[no-untyped-def]
        """Open a match for a newcomer that is due or, after 64 duels without an end, the next."""
        numbers = state.numbers[0]
        if t >= numbers.trial:
            j = newcomer(state, t)
            if j >= 0 and free(state, j):
                return open_match(state, t, j)
        if numbers.waited >= PATIENCE and 0 < numbers.open < numbers.here - 1:
            return open_match(state, t, next_one(state, t))
        return -1

    @kernel
    def due(state, t):  # type: ignore[no-untyped-def]
        """Open the match that is due if an arm without a match is present."""
        numbers = state.numbers[0]
        if numbers.open >= numbers.here - 1:
            numbers.due = 1.0
            return -1
        numbers.due -= 1.0
        return open_match(state, t, next_one(state, t))

    return beside, due


def by_turns(free: Any) -> Any:
    """Return a kernel for the next challenger: in rotation; every fourth is the closest rival."""

    def next_in_turn(state, t):  # type: ignore[no-untyped-def]
        numbers, arms = state.numbers[0], state.arms
        j, most = -1, -1.0
        if numbers.matches % 4 == 3 and numbers.held >= numbers.here - 1:
            for i in range(len(arms)):
                if free(state, i) and arms[i].record > most:
                    j, most = i, arms[i].record
        while j < 0:
            i = state.order[numbers.next]
            numbers.next = numbers.next + 1 if numbers.next + 1 < len(arms) else 0
            if free(state, i):
                j = i
        return j

    return hot(next_in_turn)


@kernel
def _give_up(state: Any, t: int) -> None:
    """Count duels without an answer after 10,000 rounds as lost."""
    for j in range(len(state.arms)):
        rival = state.arms[j]
        if rival.on and rival.out > 0 and t - rival.asked > _LOST:
            rival.out = 0
            if rival.lead < 0:
                close_match(state, j)
