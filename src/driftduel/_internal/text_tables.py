"""Text tables with aligned columns; the least important columns are omitted to fit a width."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

__all__ = ["Fitted", "fitted", "table"]

_GAP = 2
_NARROWEST = 12
# Break points of a cell: after a space, and in a spec before a name, not within 12,501.
_BREAKS = re.compile(r"(?<=\s)|(?<=[,:])(?=[^\d\s])")
# Break points of a title: after a space or a hyphen.
_TITLE_BREAKS = re.compile(r"(?<=\s)|(?<=[a-z]-)(?=[a-z])")


@dataclass(frozen=True)
class Fitted:
    """A table as text, and the titles of the omitted columns."""

    head: str
    body: str
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return head and body."""
        return f"{self.head}\n{self.body}" if self.head else self.body


@dataclass(frozen=True)
class _TextColumn:
    title: str
    cells: tuple[str, ...]
    to_right: bool
    place: int
    width: int = 0

    @property
    def content(self) -> int:
        """Return the width of the widest cell."""
        return max(map(len, self.cells), default=0)

    @property
    def natural(self) -> int:
        """Return the width without line breaks."""
        return max(len(self.title), self.content)

    @property
    def least(self) -> int:
        """Return the width with one line break in the title and none in the cells."""
        words = _TITLE_BREAKS.split(self.title)
        halves = (("".join(words[:i]).rstrip(), "".join(words[i:])) for i in range(len(words)))
        return max(min((max(map(len, both)) for both in halves), default=0), self.content)


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), right: str = "") -> str:
    """Return aligned columns; those with an index (0-9, a, b, ...) in `right` to the right."""
    return fitted(rows, head, right).text


def fitted(
    rows: Iterable[Sequence[str]],
    head: Sequence[str] = (),
    right: str = "",
    optional: Sequence[str] = (),
    width: int | None = None,
) -> Fitted:
    """Return aligned columns in lines of at most `width` characters.

    First titles are wrapped, then columns omitted, then long values wrapped: a spec after a comma.

    Parameters
    ----------
    rows
        The cells.
    head
        The titles of the columns.
    right
        The indices (0-9, a, b, ...) of right-aligned columns.
    optional
        The titles of columns that may be omitted, the most important one first.
    width
        The largest length of a line; by default unlimited.

    Examples
    --------
    >>> rows = [("king", "1.2", "none"), ("dts", "11.4", "none")]
    >>> narrow = fitted(rows, ("policy", "regret", "told"), "1", ["told"], width=15)
    >>> print(narrow.text)
    policy  regret
    ------  ------
    king       1.2
    dts       11.4
    >>> narrow.left_out
    ('told',)
    """
    lines = [tuple(row) for row in rows]
    titles = list(head) or [""] * max(map(len, lines), default=0)
    cells = list(zip(*lines, strict=True)) or [()] * len(titles)
    columns = [
        _TextColumn(title, column, f"{i:x}" in right, i)
        for i, (title, column) in enumerate(zip(titles, cells, strict=True))
    ]
    left_out: tuple[str, ...] = ()
    if width is None or _total(column.natural for column in columns) <= width:
        chosen = [replace(column, width=column.natural) for column in columns]
    else:
        chosen = _column_widths(_chosen(columns, optional, width), width)
        left_out = tuple(title for title in titles if title not in [c.title for c in chosen])
    body = [_row(row, chosen) for row in zip(*(column.cells for column in chosen), strict=True)]
    above = [_row([column.title for column in chosen], chosen, to_bottom=True)] if head else []
    above += ["  ".join("-" * column.width for column in chosen)] if head else []
    return Fitted("\n".join(above), "\n".join(body), left_out)


def _total(widths: Iterable[int]) -> int:
    widths = list(widths)
    return sum(widths) + _GAP * (len(widths) - 1)


def _chosen(columns: list[_TextColumn], optional: Sequence[str], width: int) -> list[_TextColumn]:
    """Return the required columns, and the most important optional columns that fit."""

    def taken(column: _TextColumn) -> int:
        if column.to_right or column.title in optional:
            return column.least
        return min(column.least, max(_NARROWEST, width // 2))  # the rest can be wrapped

    chosen = [column for column in columns if column.title not in optional]
    by_title = {column.title: column for column in columns}
    for title in optional:
        if title in by_title and _total(map(taken, [*chosen, by_title[title]])) <= width:
            chosen.append(by_title[title])
    return sorted(chosen, key=lambda column: column.place)


def _column_widths(columns: list[_TextColumn], width: int) -> list[_TextColumn]:
    """Return the columns with widths: titles are wrapped first, then the longest text columns."""
    if _total(column.natural for column in columns) <= width:
        return [replace(column, width=column.natural) for column in columns]
    widths = {column.place: column.least for column in columns}
    for column in sorted(columns, key=lambda column: -column.least):
        over = _total(widths.values()) - width
        if over > 0 and not column.to_right:
            lines = (_broken(cell, max(_NARROWEST, column.least - over)) for cell in column.cells)
            widths[column.place] = max(len(line) for cell in lines for line in cell)
    for column in columns:  # unwrap titles if space is left
        if _total(widths.values()) - widths[column.place] + len(column.title) <= width:
            widths[column.place] = max(widths[column.place], len(column.title))
    return [replace(column, width=widths[column.place]) for column in columns]


def _row(cells: Sequence[str], columns: list[_TextColumn], to_bottom: bool = False) -> str:
    """Return one row, on several lines if a cell is wrapped."""
    breaks, indent = (_TITLE_BREAKS, "") if to_bottom else (_BREAKS, "  ")
    broken = [
        _broken(cell, column.width, breaks, indent)
        for cell, column in zip(cells, columns, strict=True)
    ]
    height = max(map(len, broken))
    padded = [
        [""] * (height - len(cell)) + cell if to_bottom else cell + [""] * (height - len(cell))
        for cell in broken
    ]
    lines = [
        "  ".join(
            part.rjust(column.width) if column.to_right else part.ljust(column.width)
            for part, column in zip(parts, columns, strict=True)
        ).rstrip()
        for parts in zip(*padded, strict=True)
    ]
    return "\n".join(lines)


def _broken(
    text: str, width: int, breaks: re.Pattern[str] = _BREAKS, indent: str = "  "
) -> list[str]:
    """Return the wrapped lines of a cell or title; continuation lines are indented."""
    if len(text) <= width:
        return [text]
    lines, line = [], ""
    for piece in breaks.split(text):
        rest = piece
        while line.strip() and len((line + rest).rstrip()) > width:
            lines.append(line.rstrip())
            line = indent
        while len((line + rest).rstrip()) > width:  # a word that is longer than a line
            room = max(1, width - len(line))
            lines.append(line + rest[:room])
            line, rest = indent, rest[room:]
        line += rest
    return [*lines, line.rstrip()] if line.strip() else lines
