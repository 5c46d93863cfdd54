"""Interpretation of the result of a row: which option won, or a tie."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from driftduel.logs.columns import LogColumns, compact, quote, side_names

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "LONGEST_NAME", "NEITHER", "NO", "TIES", "YES", "are_flags", "describe_result",
    "parse_outcome", "result_of", "words_for",
]  # fmt: skip

NEITHER = "is neither of the two"
TIES = {"tie", "ties", "tied", "draw", "drawn", "equal", "even", "same", "both", "neither",
         "tiebothbad", "bothbad", "bothgood", "0.5", "1/2", "½"}  # fmt: skip
YES = {"1", "1.0", "true", "yes", "y", "t"}
NO = {"0", "0.0", "false", "no", "n", "f", ""}
LONGEST_NAME = 1000  # characters; a longer value is no name
_NUMBER = r"(\d+(?:\.\d+)?|1/2|½)"
_SCORE = re.compile(rf"{_NUMBER}\s*[-:\u2013]\s*{_NUMBER}")  # 1-0, 1/2-1/2, 3:1
# Results that were computed from other columns; no name begins with a zero byte.
_FIRST, _SECOND, _TIE, _NO_SCORE, _NO_FLAG, _NO_PLACE = (f"\0{n}" for n in range(6))
_COMPUTED: dict[str, float | str] = {
    _FIRST: 1.0,
    _SECOND: 0.0,
    _TIE: 0.5,
    _NO_SCORE: "a score is missing or is not a number",
    _NO_FLAG: "not exactly one of the result columns is set",
    _NO_PLACE: "the option shown first is neither the winner nor the loser",
}


def words_for(columns: LogColumns | None, winners: Sequence[str | None]) -> dict[str, float]:
    """Return the values of the winner's column, with the first option's share of the win.

    1 and 0 are the first and the second, and so are 1 and 2, and 1 and -1; 0.5 is a tie.

    Parameters
    ----------
    columns
        The columns of the log; H, D and A are results if the columns are home and away.
    winners
        The distinct values of the column.
    """
    words: dict[str, float] = {"true": 1.0, "false": 0.0} | dict.fromkeys(TIES, 0.5)
    for x, y, *_ in side_names():
        if not x.isdigit():
            words |= {x: 1.0, y: 0.0}
    if columns is not None and columns.first is not None and columns.second is not None:
        words |= _words_of_pair(compact(columns.first), compact(columns.second))
    return words | _numbers(winners)


def _words_of_pair(first: str, second: str) -> dict[str, float]:
    words: dict[str, float] = {first: 1.0, second: 0.0}
    sides = ((x, y) for one, other, x, y in side_names() if (one, other) == (first, second))
    x, y = next(sides, ("", ""))
    if x and not x.isdigit() and len(x) > 1:
        words |= {x[0]: 1.0, y[0]: 0.0}
    if x == "home":
        words["d"] = 0.5
    return words


def _numbers(winners: Sequence[str | None]) -> dict[str, float]:
    values = {word.strip() for word in winners if word is not None and word.strip()}
    for meaning in (
        {"1": 1.0, "1.0": 1.0, "0": 0.0, "0.0": 0.0, "0.5": 0.5},
        {"1": 1.0, "1.0": 1.0, "2": 0.0, "2.0": 0.0, "0.5": 0.5, "X": 0.5, "x": 0.5},
        {"1": 1.0, "1.0": 1.0, "-1": 0.0, "-1.0": 0.0, "0": 0.5, "0.0": 0.5},
    ):
        if values and values <= set(meaning):
            return meaning
    return {}


def are_flags(values: Sequence[str | None]) -> bool:
    """Return whether all values are 0 and 1, or true and false."""
    return all(value is None or value.strip().lower() in YES | NO for value in values)


def parse_outcome(
    first: str | None,
    second: str | None,
    winner: str | None,
    tie: str | None,
    words: Mapping[str, float],
) -> float | str:
    """Return 1 if the first won, 0 if the second did, 1/2 for a tie; or the reason if invalid.

    An option's name takes precedence over every other meaning of a value.

    Parameters
    ----------
    first, second, winner, tie
        The values of a row, as text.
    words
        The return value of `words_for`.

    Examples
    --------
    >>> words = words_for(None, [])
    >>> parse_outcome("tea", "ale", "ale", None, words)
    0.0
    >>> parse_outcome("tea", "ale", "1-0", None, words)
    1.0
    >>> parse_outcome("tea", "milk", "ale", None, words)
    "the winner 'ale' is neither of the two"
    """
    if first is None or second is None:
        return "an option is missing"
    if max(len(first), len(second)) > LONGEST_NAME:
        return f"the name of an option has more than {LONGEST_NAME:,} letters"
    if first == second:
        return "an option is compared with itself"
    if tie is not None:
        if tie.strip().lower() in YES:
            return 0.5
        if tie.strip().lower() not in NO:
            return f"{quote(tie)} is not a valid value of the tie column"
    if winner is None:
        return "the winner is missing"
    if winner in _COMPUTED:
        return _COMPUTED[winner]
    if winner in (first, second):
        return 1.0 if winner == first else 0.0
    word = winner.strip().lower()
    if word in words:
        return words[word]
    short = compact(word)
    if short in words and not short.isdigit():
        return words[short]
    score = _SCORE.fullmatch(word)
    if score is not None:
        return _compare_scores(*(_value(each) for each in score.groups()))
    return f"the winner {quote(winner)} {NEITHER}"


def _value(text: str) -> float:
    return 0.5 if text in ("1/2", "½") else float(text)


def _compare_scores(one: float, other: float) -> float:
    return 0.5 if one == other else float(one > other)


def result_of(columns: LogColumns) -> "dict[str, pl.Expr]":
    """Return the expressions of the columns first, second and winner of a prepared log.

    Without `winner`, the first of each pair won.
    """
    import polars as pl

    def text(name: str | None) -> pl.Expr:
        return pl.col(str(name)).cast(pl.String)

    one, other = (text(name) for name in columns.pair)
    if columns.loser is not None and columns.first is not None:
        place = text(columns.first)
        behind = place == other
        marked = pl.when(place == one).then(one).when(behind).then(one).otherwise(pl.lit(_NO_PLACE))
        return {
            "first": pl.when(behind).then(other).otherwise(one),
            "second": pl.when(behind).then(one).otherwise(other),
            "winner": marked,
        }
    pair = {"first": one, "second": other}
    if columns.loser is not None:
        return pair
    if columns.scores:
        a, b = (
            text(name).str.strip_chars().cast(pl.Float64, strict=False) for name in columns.scores
        )
        result = pl.when(a > b).then(pl.lit(_FIRST)).when(a < b).then(pl.lit(_SECOND))
        result = result.when((a == b) & a.is_finite()).then(pl.lit(_TIE))
        are_numbers = a.is_not_nan() & b.is_not_nan()
        return pair | {"winner": pl.when(are_numbers).then(result).fill_null(pl.lit(_NO_SCORE))}
    if columns.flags:
        words = [text(name).str.strip_chars().str.to_lowercase() for name in columns.flags]
        is_set = [word.is_in(sorted(YES)).fill_null(value=False) for word in words]
        known = [(word.is_in(sorted(YES | NO)) | word.is_null()) for word in words]
        exactly_one = pl.sum_horizontal(is_set) == 1
        exactly_one &= pl.all_horizontal(known)
        which = pl.when(is_set[0]).then(pl.lit(_FIRST)).when(is_set[1]).then(pl.lit(_SECOND))
        flagged = pl.when(exactly_one).then(which.otherwise(pl.lit(_TIE)))
        return pair | {"winner": flagged.otherwise(pl.lit(_NO_FLAG))}
    return pair | {"winner": text(columns.winner)}


def describe_result(columns: LogColumns, winners: Sequence[str | None]) -> str | None:
    """Return a sentence about an inferred interpretation of results, else None."""
    if columns.scores:
        one, other = (quote(name) for name in columns.scores)
        return f"The option with the higher score wins ({one}, {other}); equal scores are ties."
    if columns.flags:
        names = ", ".join(quote(name) for name in columns.flags)
        return f"Of the columns {names}, the one that is set holds the result."
    if columns.loser is not None and columns.first is not None:
        return f"{quote(columns.first)} is read as the option that was shown first."
    numbers = _numbers(winners)
    if numbers and columns.second is not None:
        lost = next(n for n, won in numbers.items() if won == 0)
        return (
            f"In {quote(columns.winner)}, 1 is read as a win of {quote(columns.first)} and "
            f"{lost} as a win of {quote(columns.second)}."
        )
    return None
