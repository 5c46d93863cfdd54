"""Statistics of successions of kings: the probable next king, and the rate of falls.

**The next king.** A king that has met all arms falls to an arm of one of four kinds: the *closest*
rival, by its record against this king; the *last* king before it; one of the two *earlier* ones; or
any *other*. The counts of these kinds give each arm a probability w of being the next. An arm that
receives a share v of all matches is detected after a time proportional to 1 / v, so the mean wait,
the sum of w / v, is minimal for v proportional to sqrt(w). It then equals that of a crowd of
(sum of sqrt(w))^2 equally likely arms: K - 1 without any information, few if the next king is
predictable. In the prior all arms but the closest rival are equally likely.

**The rate.** With S falls in t rounds it is (1/2 + S) / t or, for bursts, n / 2 over the time of
the last n, for n = 2, 4, 8, ...; the maximum of these. Alarms count as falls, and so do falls of
kings that had met all arms twice: if winners change so often that no king is established, there
are no alarms.
"""

import math
from typing import Any

from driftduel._internal.compiler import hot

__all__ = [
    "KINDS",
    "RECENT",
    "by_succession",
    "matches_due",
    "note_fall",
    "remember_succession",
    "rhythm",
]

KINDS = 4
"""Number of kinds: other, closest, last, earlier."""
RECENT = 64
"""Size of the ring buffer of the rounds of falls."""
_OTHER, _CLOSEST, _LAST, _EARLIER = 0, 1, 2, 3
_ALIKE = 3.0  # prior count of successions by equally likely arms
_CLOSE = 3.0  # prior count of successions by the closest rival
_EQUAL = 1e-9  # shares are equal if their sums differ by less (rounding); they are served in order
_RATE = 0.5
_FRESH = 0.5


@hot
def matches_due(state: Any, t: int) -> float:
    """Return the number of matches that are due in round `t`."""
    numbers = state.numbers[0]
    falls = max((0.5 + numbers.falls) / t, numbers.rhythm)
    fresh = _FRESH * numbers.here / max(1, t - numbers.crowned)
    return _RATE * math.sqrt(numbers.crowd * falls) + fresh


@hot
def _likely(state: Any) -> Any:
    """Return the closest rival, the last king and the two before; -1 for missing ones."""
    numbers, arms = state.numbers[0], state.arms
    king = numbers.king
    closest, most = -1, -1.0
    if numbers.held >= numbers.here - 1:
        for i in range(len(arms)):
            if i != king and state.present[i] and arms[i].record > most:
                closest, most = i, arms[i].record
    a = b = c = -1
    for i in range(len(arms)):
        ended = arms[i].reigned
        if ended == 0 or i in (king, closest) or not state.present[i]:
            continue
        if a < 0 or ended > arms[a].reigned:
            a, b, c = i, a, b
        elif b < 0 or ended > arms[b].reigned:
            b, c = i, b
        elif c < 0 or ended > arms[c].reigned:
            c = i
    return closest, a, b, c


@hot
def _weight(state: Any, kind: int, arms: int, seen: float) -> float:
    """Return the square root of the probability of one of `arms` arms of a kind."""
    if arms == 0:
        return 0.0
    prior = _ALIKE * arms / (state.numbers[0].here - 1.0)
    if kind == _CLOSEST:
        prior += _CLOSE
    return math.sqrt((prior + state.successions[kind]) / ((_ALIKE + _CLOSE + seen) * arms))


def by_succession(free: Any) -> Any:
    """Return a kernel for the next challenger: the arm with the most overdue share of matches.

    Shares refer to arms without a match. (If an arm with a match continued to accumulate credit, a
    long match would be followed by more of the same arm.) The kernel also stores the kind of the
    arm, the effective number of rivals and the rate of falls.
    """

    def next_by_succession(state, t):  # type: ignore[no-untyped-def]
        numbers, arms = state.numbers[0], state.arms
        closest, last, second, third = _likely(state)
        earlier = int(second >= 0) + int(third >= 0)
        others = numbers.here - 1 - int(closest >= 0) - int(last >= 0) - earlier
        seen = state.successions.sum()
        weights = (
            _weight(state, _OTHER, others, seen),
            _weight(state, _CLOSEST, int(closest >= 0), seen),
            _weight(state, _LAST, int(last >= 0), seen),
            _weight(state, _EARLIER, earlier, seen),
        )
        crowd = others * weights[_OTHER] + weights[_CLOSEST] + weights[_LAST]
        crowd += earlier * weights[_EARLIER]
        whole = 0.0
        for i in range(len(arms)):
            kind = _OTHER
            if i == closest:
                kind = _CLOSEST
            elif i == last:
                kind = _LAST
            elif i in (second, third):
                kind = _EARLIER
            arms[i].kind = kind if not arms[i].on else arms[i].kind
            if free(state, i):
                whole += weights[kind]
        j, most = -1, -1e300
        for i in state.order:
            if free(state, i):
                arms[i].credit += weights[arms[i].kind] / whole
                if arms[i].credit > most + _EQUAL:
                    j, most = i, arms[i].credit
        arms[j].credit -= 1.0
        numbers.crowd = 1.0 + crowd * crowd
        numbers.rhythm = rhythm(state, t)
        return j

    return hot(next_by_succession)


@hot
def rhythm(state: Any, t: int) -> float:
    """Return the rate of the last falls: the maximum over n of n / 2 over the time of n falls."""
    most, n = 0.0, 2
    falls = state.numbers[0].falls
    while n <= min(falls, RECENT - 1):
        most = max(most, 0.5 * n / (t - state.ended[(falls - n) % RECENT] + 1.0))
        n *= 2
    return most


@hot
def remember_succession(state: Any, t: int, j: int) -> None:
    """Count the kind of the successor `j` of a king that had met all arms, before the reset."""
    numbers = state.numbers[0]
    if numbers.held >= numbers.here - 1:
        state.arms[numbers.king].reigned = t
        state.successions[state.arms[j].kind] += 1.0


@hot
def note_fall(state: Any, t: int) -> None:
    """Store the round `t` of a fall in the ring buffer."""
    numbers = state.numbers[0]
    state.ended[numbers.falls % RECENT] = t
    numbers.falls += 1
