"""Interpretation of a slate: the options shown, and the place of each.

A place is a whole number from 1, the best. Equal places are a tie. Options that were shown but not
ranked have the place `UNRANKED`: they are below all others, in no order.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from driftduel.errors import DriftduelError
from driftduel.logs.columns import compact, quote
from driftduel.logs.results import LONGEST_NAME, NO, TIES, YES

__all__ = ["BETWEEN", "MOST_SHOWN", "NOTHING", "NOT_SHOWN", "TIED", "UNRANKED", "ListReader",
           "Slate", "option_slate", "place_slate", "read_slate"]  # fmt: skip

UNRANKED = 1 << 30
"""The place of an option that was shown but not ranked."""
MOST_SHOWN = 64
"""The largest number of options in a slate."""
BETWEEN, TIED = "\x1f", "\x1e"
"""The separators of a typed list (of a Parquet file, of JSON) as text: options, and equal ones."""
NOTHING = "nothing was picked"
"""The reason why a row without an order is not counted; it is not an invalid row."""
NOT_SHOWN = "is not among the options shown"
_NO_PICK = {"", "none", "nothing", "null"}
_SEPARATORS = (">", "|", ";", ",")
_QUOTED = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*""")

Slate = tuple[tuple[str, ...], tuple[int, ...]]
"""The options shown, and their places."""


class ListReader:
    """A reader of the lists of one column, with one separator for all of them.

    Parameters
    ----------
    column
        The name of the column.
    cells
        All different values of the column.

    Examples
    --------
    >>> ListReader("ranking", ["tea > ale = gin"]).read("tea > ale = gin")
    [['tea'], ['ale', 'gin']]
    >>> ListReader("shown", ["tea|ale", "gin"]).read("tea|ale")
    [['tea'], ['ale']]
    >>> ListReader("shown", []).read('["tea", "ale"]')
    [['tea'], ['ale']]
    """

    def __init__(self, column: str, cells: Iterable[str | None]) -> None:
        plain = [cell for cell in cells if cell and BETWEEN not in cell and not _is_array(cell)]
        counts = {sign: sum(sign in cell for cell in plain) for sign in _SEPARATORS}
        self.separator = next((sign for sign in _SEPARATORS if counts[sign]), "")
        for other in _SEPARATORS:
            without = [c for c in plain if other in c and self.separator not in c]
            if without:
                one = next(c for c in plain if self.separator in c)
                raise DriftduelError(
                    f"{quote(column)} has lists with different separators, {quote(one)} and "
                    f"{quote(without[0])}; use one of them, or JSON arrays."
                )

    def read(self, cell: str | None) -> list[list[str]] | str:
        """Return the options of a list, equal ones together; or the reason if it is invalid."""
        if cell is None or not cell.strip():
            return []
        if BETWEEN in cell or TIED in cell:
            found = [part.split(TIED) for part in cell.removesuffix(BETWEEN).split(BETWEEN)]
            return found if all(all(p) for p in found) else "a list has an empty element"
        if _is_array(cell):
            return _read_array(cell)
        parts = cell.split(self.separator) if self.separator else [cell]
        equal = "=" if self.separator == ">" else None
        found = [[n.strip() for n in p.split(equal)] if equal else [p.strip()] for p in parts]
        if not all(name for names in found for name in names):
            return f"the list {quote(cell)} has an empty element"
        return found


def _is_array(cell: str) -> bool:
    text = cell.strip()
    return text.startswith("[") and text.endswith("]")


def _read_array(cell: str) -> list[list[str]] | str:
    """Return the options of a JSON array, or of a Python list of strings."""
    wrong = f"the list {quote(cell)} is no JSON array of names"
    try:
        values = json.loads(cell)
    except (ValueError, RecursionError):
        inner, values = cell.strip()[1:-1], []
        place = 0
        while place < len(inner):
            match = _QUOTED.match(inner, place)
            if match is None or inner[match.end() : match.end() + 1] not in ("", ","):
                return wrong
            one, other = match.groups()
            values.append(re.sub(r"\\(.)", r"\1", one if one is not None else other))
            place = match.end() + 1
    found = []
    for value in values:
        equal = value if isinstance(value, list) and value else [value]
        if not all(isinstance(v, str | int | float) and not isinstance(v, bool) for v in equal):
            return wrong
        names = [v.strip() if isinstance(v, str) else str(v) for v in equal]
        if not all(names):
            return f"the list {quote(cell)} has an empty element"
        found.append(names)
    return found


def read_slate(
    shown: list[list[str]] | str | None,
    ranked: list[list[str]] | str | None,
    pick: str | None,
    tie: str | None,
) -> Slate | str:
    """Return the slate of a row with lists, or the reason why it is not counted.

    Parameters
    ----------
    shown, ranked
        Return values of `ListReader.read`; None without such a column.
    pick, tie
        The values of the columns of the pick and of ties.
    """
    for each in (shown, ranked):
        if isinstance(each, str):
            return each
    assert not isinstance(shown, str)
    assert not isinstance(ranked, str)
    every = [name for names in (shown or ranked or []) for name in names]
    wrong = _check(every)
    if wrong:
        return wrong
    if ranked:
        places = {name: place for place, names in enumerate(ranked, 1) for name in names}
        if len(places) < sum(len(names) for names in ranked):
            return "an option is listed twice"
        unknown = next((name for name in places if name not in every), None)
        if unknown is not None:
            return f"the ranked option {quote(unknown)} {NOT_SHOWN}"
        if pick and pick.strip() and pick in every and places.get(pick) != 1:
            return f"the winner {quote(pick)} is not the first of the ranking"
        return tuple(every), tuple(places.get(name, UNRANKED) for name in every)
    return _picked(every, pick, tie, {})


def option_slate(
    cells: Sequence[str | None], columns: Sequence[str], pick: str | None, tie: str | None
) -> Slate | str:
    """Return the slate of a row with one column for each option; an empty cell is not shown."""
    there = [(name.strip(), column) for name, column in zip(cells, columns, strict=True)
             if name is not None and name.strip()]  # fmt: skip
    every = [name for name, _ in there]
    wrong = _check(every)
    if wrong:
        return wrong
    words = {compact(column): name for name, column in there}
    # The last mark of a name such as option_3: the value 3 is a pick of that column.
    words |= {compact(column)[-1:]: name for name, column in there if len(columns) < 10}
    return _picked(every, pick, tie, words)


def _picked(
    every: list[str], pick: str | None, tie: str | None, words: Mapping[str, str]
) -> Slate | str:
    """Return the slate of a pick."""
    if tie is not None:
        if tie.strip().lower() in YES:
            return tuple(every), (1,) * len(every)
        if tie.strip().lower() not in NO:
            return f"{quote(tie)} is not a valid value of the tie column"
    name = "" if pick is None else pick.strip()
    if name not in every:
        if name.lower() in _NO_PICK:
            return NOTHING
        short = compact(name.removesuffix(".0"))
        if short in words:
            name = words[short]
        elif name.lower() in TIES or short in TIES:
            return tuple(every), (1,) * len(every)
        else:
            return f"the winner {quote(pick)} {NOT_SHOWN}"
    return tuple(every), tuple(1 if option == name else UNRANKED for option in every)


def place_slate(cells: Sequence[str | None], names: Sequence[str]) -> Slate | str:
    """Return the slate of a row with the place of each option; an empty cell is not shown."""
    values: dict[str, float] = {}
    for name, cell in zip(names, cells, strict=True):
        if cell is None or not cell.strip():
            continue
        try:
            values[name] = float(cell)
        except ValueError:
            values[name] = math.nan
        if not values[name] >= 0 or math.isinf(values[name]):
            return f"the place {quote(cell)} is not a number at least 0"
    wrong = _check(list(values))
    if wrong:
        return wrong
    order = sorted(set(values.values()))
    return tuple(values), tuple(order.index(value) + 1 for value in values.values())


def _check(every: Sequence[str]) -> str:
    """Return the reason why a list of options is invalid, or an empty text."""
    if len(set(every)) < len(every):
        return "an option is listed twice"
    if len(every) < 2:
        return "fewer than two options are shown"
    if len(every) > MOST_SHOWN:
        return f"more than {MOST_SHOWN} options are shown"
    if max(map(len, every)) > LONGEST_NAME:
        return f"the name of an option has more than {LONGEST_NAME:,} letters"
    return ""
