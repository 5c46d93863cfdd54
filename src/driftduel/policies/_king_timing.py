"""When a king is challenged, and whom by: what `king`, `court` and `borda-king` share.

The record is that of `_king_matches`, or one with more fields.
"""

import math
from collections.abc import Callable
from typing import Any

from driftduel._compile import hot, kernel
from driftduel.policies._king_matches import PATIENCE, close_match, newcomer, open_match

__all__ = ["challenges"]

_LOST = 10_000


def challenges(free: Any, *, rate: float, fresh_rate: float) -> Callable[[Any, int], int]:
    """Return a kernel that names the challenger of a round, or -1 if the king is left alone.

    ``challenger(state, t)`` also opens the match, if there is none, and counts the duel as out.

    Parameters
    ----------
    free
        A kernel of the state and an arm: whether a match may be opened for it.
    rate, fresh_rate
        With S alarms so far and K arms, ``rate sqrt(K (1 + S) / t)`` matches a round, and for a
        king of some age ``fresh_rate K / age`` more.
    """

    def challenger(state, t):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        if t >= numbers.wake:  # one comparison in rounds in which nothing is to be done
            j = go_on(state, t)
            if j >= 0:
                return j
        age = max(1, t - numbers.crowned)
        here = numbers.here
        matches = rate * math.sqrt(here * (1.0 + numbers.alarms) / t) + fresh_rate * here / age
        numbers.due += min(matches, 1.0)
        return -1 if numbers.due < 1.0 else due(state, t)

    @hot
    def go_on(state, t):  # type: ignore[no-untyped-def]
        """Return the challenger of a match that is to be opened or played on now, or -1."""
        numbers, arms = state.numbers[0], state.arms
        crowded = numbers.waited >= PATIENCE and 0 < numbers.open < numbers.here - 1
        if t >= numbers.trial or crowded:
            j = beside(state, t)
            if j >= 0:
                return j
        j = numbers.last
        for _ in range(len(arms)):  # open matches take turns
            j = j + 1 if j + 1 < len(arms) else 0
            rival = arms[j]
            # More out where the challenger leads: if it is better, waiting costs more than asking.
            if rival.lead >= 0 and rival.out <= 2 * rival.lead:
                numbers.last = j
                rival.asked = t
                rival.out += 1
                return j
        if numbers.open > 0:
            _give_up(state, t)
        return -1

    @kernel
    def beside(state, t):  # type: ignore[no-untyped-def]
        """Open a match for a newcomer that is due or, after 64 duels without an end, the next."""
        numbers = state.numbers[0]
        if t >= numbers.trial:
            j = newcomer(state, t)
            if j >= 0 and free(state, j):
                return open_match(state, t, j)
        if numbers.waited >= PATIENCE and 0 < numbers.open < numbers.here - 1:
            return open_match(state, t, next_in_turn(state))
        return -1

    @kernel
    def due(state, t):  # type: ignore[no-untyped-def]
        """Open the match that is due, if somebody has none."""
        numbers = state.numbers[0]
        if numbers.open >= numbers.here - 1:
            numbers.due = 1.0
            return -1
        numbers.due -= 1.0
        return open_match(state, t, next_in_turn(state))

    @hot
    def next_in_turn(state):  # type: ignore[no-untyped-def]
        """Return who comes next: every fourth time the closest rival, else all in turn."""
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

    return hot(challenger)


@kernel
def _give_up(state: Any, t: int) -> None:
    """Take duels that nobody answered or forgot in 10,000 rounds for lost."""
    for j in range(len(state.arms)):
        rival = state.arms[j]
        if rival.on and rival.out > 0 and t - rival.asked > _LOST:
            rival.out = 0
            if rival.lead < 0:
                close_match(state, j)
