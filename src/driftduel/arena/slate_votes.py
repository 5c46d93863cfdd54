"""Votes on slates: three or more options on numbered cards, of which some are ranked.

A pick is a ranking of one option. Options that are not ranked are below those that are, in no
order. The log has the arms on the cards (``shown``) and the ranked ones (``ranking``).
"""

import string
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

__all__ = [
    "FEEDBACK", "MOST_SHOW", "RANKED", "SLATE_PICKS", "ComparedPair", "card_number", "cards_of",
    "compared_in", "compared_pairs", "half_of_top", "write_cards",
]  # fmt: skip

MOST_SHOW = 6
"""The largest number of options that an arena shows at once."""
FEEDBACK = ("pick", "ranking")
RANKED = "ranked"
"""The pick, in the log, of a vote on a slate that ranks at least one option."""
SLATE_PICKS = (RANKED, "tie", "both-bad", "skip")
_ROUND = 2.0**30
_LETTERS = string.ascii_lowercase[:MOST_SHOW]


class ComparedPair(NamedTuple):
    """Two options of a vote: a decided duel, or a tie."""

    first: int
    second: int
    won: int
    """1 if the first is preferred, 0 if the second is, -1 for a tie."""
    weight: float = 1.0
    """Its weight in a Bradley-Terry fit."""


def card_number(value: Any) -> int | None:
    """Return the number of a card, from 1, given as a number or a letter; None if it is neither.

    Examples
    --------
    >>> card_number(2), card_number("2"), card_number("b"), card_number("left"), card_number(7)
    (2, 2, 2, None, None)
    """
    if isinstance(value, str) and len(value) == 1:
        if value.lower() in _LETTERS:
            return _LETTERS.index(value.lower()) + 1
        value = int(value) if value in string.digits else None
    known = isinstance(value, int) and not isinstance(value, bool)
    return value if known and 1 <= value <= MOST_SHOW else None


def write_cards(cards: Sequence[int]) -> str:
    """Return cards as text, such as ``2`` for a pick and ``2 > 1`` for a ranking."""
    return " > ".join(map(str, cards))


def cards_of(body: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the numbers of the ranked cards in the record of a vote; empty for a duel."""
    if "cards" in body:  # a late vote: the options on the cards are no longer known
        return tuple(body["cards"])
    shown = body.get("shown", ())
    return tuple(shown.index(arm) + 1 for arm in body.get("ranking", ()))


def compared_pairs(shown: Sequence[int], ranking: Sequence[int]) -> list[ComparedPair]:
    """Return the pairs that a vote on a slate decides; without a ranking, ties of all pairs.

    The weights are those of `driftduel.logs` for equal strengths: the pick of one of r options is
    one vote against each of the others, of weight 2/r. The information of all of them is then that
    of the pick, though they depend on each other.

    Examples
    --------
    >>> [(*pair[:3], round(pair.weight, 6)) for pair in compared_pairs([4, 7, 2], [7])]
    [(7, 4, 1, 0.666667), (7, 2, 1, 0.666667)]
    >>> [pair[:3] for pair in compared_pairs([4, 7, 2], [2, 4])]
    [(2, 4, 1), (2, 7, 1), (4, 7, 1)]
    """
    if not ranking:
        return [ComparedPair(*pair, -1, _weight(len(shown))) for pair in combinations(shown, 2)]
    left, pairs = list(shown), []
    for better in ranking:
        weight = _weight(max(len(left), 2))
        left.remove(better)
        pairs += [ComparedPair(better, worse, 1, weight) for worse in left]
    return pairs


def _weight(options: int) -> float:
    """Return 2 / options as a multiple of 2^-30, so that sums do not depend on the order."""
    return round(2 / options * _ROUND) / _ROUND


_DUEL = {"left": 1, "right": 0, "tie": -1, "both-bad": -1}


def compared_in(body: Mapping[str, Any]) -> list[ComparedPair]:
    """Return the pairs that the record of a vote compares; one for a duel, none for a skip."""
    shown, pick = body["shown"], body["pick"]
    if pick == "skip":
        return []
    if pick == RANKED or len(shown) > 2:
        return compared_pairs(shown, body.get("ranking", ()))
    return [ComparedPair(shown[0], shown[1], _DUEL[pick])]


def half_of_top(shown: Sequence[int], top: int) -> int:
    """Return 1 if an option is in the first half of the cards, 0 in the second, -1 in the middle.

    Cards are in random order, so the best one is as often in the first half as in the second if
    voters look at the options only.
    """
    twice = 2 * shown.index(top) + 1 - len(shown)
    return -1 if twice == 0 else int(twice < 0)
