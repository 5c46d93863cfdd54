"""Who is likely to follow a king, and how soon: what is learned from successions.

**Who.** A king that has met everybody falls to somebody of one of four kinds: the *closest* rival,
by its record against this king; the *last* king before it; one of the two *earlier* ones; or any
*other*. How often each happened gives every arm a probability w of being the next. An arm that is
challenged in a share v of all matches is noticed after a time that grows like 1 / v, so the mean
wait, the sum of w / v, is least if v is proportional to sqrt(w). Then it is that of a crowd of
(sum of sqrt(w))^2 arms that are all as likely: K - 1 if nothing is known, few if it is always the
same. Before the first succession all arms are as likely, but for the closest rival.

**How soon.** With S falls in t rounds the rate is (1/2 + S) / t; or, if they came in a burst
lately, n / 2 over the time of the last n, for n = 2, 4, 8, ..., whichever is most. Falls that count
are alarms, and those of kings that had met everybody twice: where winners change so often that
nobody is ever established, there are no alarms.
"""

import math
from typing import Any

from driftduel._compile import hot

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
"""Other, closest, last, earlier."""
RECENT = 64
"""Falls whose rounds are remembered."""
_OTHER, _CLOSEST, _LAST, _EARLIER = 0, 1, 2, 3
_ALIKE = 3.0  # successions that count as seen, by arms that are all as likely
_CLOSE = 3.0  # and by the closest rival
_EQUAL = 1e-9  # sums of equal shares differ by less, and are in turn
_RATE = 0.5
_FRESH = 0.5


@hot
def matches_due(state: Any, t: int) -> float:
    """Return how many matches are due in round `t`."""
    numbers = state.numbers[0]
    falls = max((0.5 + numbers.falls) / t, numbers.rhythm)
    fresh = _FRESH * numbers.here / max(1, t - numbers.crowned)
    return _RATE * math.sqrt(numbers.crowd * falls) + fresh


@hot
def _likely(state: Any) -> Any:
    """Return the closest rival, the last king and the two before; -1 for those there are not."""
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
    """Return the square root of the probability of each of so many arms of a kind."""
    if arms == 0:
        return 0.0
    prior = _ALIKE * arms / (state.numbers[0].here - 1.0)
    if kind == _CLOSEST:
        prior += _CLOSE
    return math.sqrt((prior + state.successions[kind]) / ((_ALIKE + _CLOSE + seen) * arms))


def by_succession(free: Any) -> Any:
    """Return a kernel that says who is given a match: whose share of them is most overdue.

    Shares are among those who may be given one. (If who has a match went on to be owed others, a
    match that lasts would be followed by nobody else's.) It also notes what kind of arm that is,
    and how large the crowd and how quick the rhythm are.
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
    """Return the rate of the last falls: half of n over their time, for the n that has most."""
    most, n = 0.0, 2
    falls = state.numbers[0].falls
    while n <= min(falls, RECENT - 1):
        most = max(most, 0.5 * n / (t - state.ended[(falls - n) % RECENT] + 1.0))
        n *= 2
    return most


@hot
def remember_succession(state: Any, t: int, j: int) -> None:
    """Note to whom a king that had met everybody falls in round `t`, before it is forgotten."""
    numbers = state.numbers[0]
    if numbers.held >= numbers.here - 1:
        state.arms[numbers.king].reigned = t
        state.successions[state.arms[j].kind] += 1.0


@hot
def note_fall(state: Any, t: int) -> None:
    """Count a fall in round `t`."""
    numbers = state.numbers[0]
    state.ended[numbers.falls % RECENT] = t
    numbers.falls += 1
