"""Plain tables for a terminal."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence

__all__ = ["table", "wrapped"]


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), right: str = "") -> str:
    """Align columns; those whose place (0-9, a, b, ...) stands in `right` to the right."""
    lines = [list(head), *map(list, rows)] if head else [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        cells = [
            cell.rjust(width) if f"{i:x}" in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    if head:
        text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph to the terminal's width."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
