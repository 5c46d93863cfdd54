"""Plain tables for a terminal."""

import json
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["as_json", "table", "wrapped"]


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


def as_json(value: Any, indent: str = "") -> str:
    """Write JSON with every row of a table on a line of its own.

    A line for every number is hard to read, and slow to write when there are millions.

    Examples
    --------
    >>> print(as_json({"world": "x", "rows": [{"a": 1, "b": [2, 3]}, {"a": 4, "b": None}]}))
    {
      "world": "x",
      "rows": [
        {"a": 1, "b": [2, 3]},
        {"a": 4, "b": null}
      ]
    }
    """
    within = indent + "  "
    if isinstance(value, dict) and not _is_row(value.values()):
        parts = [f"{json.dumps(key)}: {as_json(each, within)}" for key, each in value.items()]
        signs = "{}"
    elif isinstance(value, list) and not _is_row(value):
        parts = [as_json(each, within) for each in value]
        signs = "[]"
    else:
        return json.dumps(value)
    lines = f",\n{within}".join(parts)
    return f"{signs[0]}\n{within}{lines}\n{indent}{signs[1]}"


def _is_row(values: Iterable[Any]) -> bool:
    """Tell whether values are numbers and words, or short lists of them."""
    return not any(
        isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(each, dict | list) for each in value))
        for value in values
    )
