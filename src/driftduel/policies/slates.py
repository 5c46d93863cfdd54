"""Slates: three or more arms shown at once, of which one is picked or several are ranked.

A slate is a `Duel` with `others`. Its arms have *places*: 0 for the first, 1 for the second, and 2,
3, ... for the others. The result that a policy learns is one whole number, its *code*, so that late
answers, held answers and compiled loops treat slates like duels:

| result | code |
|---|---|
| the first arm was picked | 1 |
| the second arm was picked | 0 |
| the arm at place p >= 2 was picked | p |
| nothing was picked | -1 |
| a ranking of two or more arms | 16 (p1 + 1) + 16^2 (p2 + 1) + ..., the best place first |

The codes of a slate of two arms are the results of a duel. A ranking of two arms is the pick of the
better one, and a ranking of all arms but one is a ranking of all.

**What a pair of arms learns.** A slate is a *decided duel* of two of its arms if one of them was
picked, or one was ranked above the other. (Ranked arms are above those that are not.) With choices
after Plackett and Luce, in which an arm is picked with probability proportional to exp(utility), a
decided duel has the law of a plain duel of the two, whatever other arms were shown: the
independence of irrelevant alternatives. The decided duels of one slate depend on each other.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from driftduel._internal.compiler import hot
from driftduel._internal.defaults import MOST_SHOWN
from driftduel.policies.fields import ARM_OR_NONE, Rule
from driftduel.specs import Range

__all__ = [
    "MOST_SHOWN", "UNDECIDED", "Slate", "code_of", "is_code", "other_notes", "places_of",
    "result_of_pair",
]  # fmt: skip

UNDECIDED = -2
"""The result of a pair of arms of a slate that the answer does not order."""
_RANKED = 16
"""Codes from here on are rankings; one hexadecimal digit per place."""

Slate = Annotated[int, Range(2, MOST_SHOWN), "largest number of options shown at once"]


def other_notes(slate: int) -> tuple[Rule, ...]:
    """Return the rules of the last notes of a slate: its arms besides the first two, or -1."""
    return (ARM_OR_NONE,) * (slate - 2)


def code_of(places: Sequence[int]) -> int:
    """Return the code of a pick (one place) or of a ranking (several), the best first.

    Examples
    --------
    >>> code_of([0]), code_of([1]), code_of([3]), code_of([2, 0])
    (1, 0, 3, 304)
    """
    if len(places) == 1:
        return 1 - places[0] if places[0] < 2 else places[0]
    return sum((place + 1) << 4 * (k + 1) for k, place in enumerate(places))


def places_of(code: int) -> tuple[int, ...]:
    """Return the ranked places of a code, the best first; empty for -1.

    Examples
    --------
    >>> places_of(1), places_of(0), places_of(3), places_of(304), places_of(-1)
    ((0,), (1,), (3,), (2, 0), ())
    """
    if code < 0:
        return ()
    if code < _RANKED:
        return (1 - code if code < 2 else code,)
    places = []
    while code := code >> 4:
        places.append((code & 15) - 1)
    return tuple(places)


def is_code(code: Any, shown: int) -> bool:
    """Return whether a value is the result of a slate of `shown` arms: a whole number, valid."""
    most = 1 << 4 * (MOST_SHOWN + 1) if shown > 2 else 2
    if type(code) is not int or not -1 <= code < most:
        return False
    places = places_of(code)
    valid = len(set(places)) == len(places) and all(0 <= place < shown for place in places)
    return code == -1 or (valid and code_of(places) == code)


@hot
def result_of_pair(code: int, p: int, q: int) -> int:
    """Return the result of two places of a slate: 1 if p is above q, 0 if below, else negative.

    The value is -1 if nothing was picked, `UNDECIDED` if the answer does not order the two.
    """
    if code < 0:
        return -1
    if code < _RANKED:
        pick = 1 - code if code < 2 else code
        if pick == p:
            return 1
        return 0 if pick == q else UNDECIDED
    code >>= 4
    while code > 0:
        place = (code & 15) - 1
        if place == p:
            return 1
        if place == q:
            return 0
        code >>= 4
    return UNDECIDED
