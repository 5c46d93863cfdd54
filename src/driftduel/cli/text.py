"""What is printed for people, as wide as their screen; and JSON."""

import json
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from driftduel._tables import fitted, table
from driftduel.cli import terminal

__all__ = ["as_json", "say_left_out", "show_table", "table", "wrapped"]


def show_table(
    rows: Iterable[Sequence[str]],
    head: Sequence[str] = (),
    right: str = "",
    optional: Sequence[str] = (),
) -> tuple[str, ...]:
    """Print a table that fits the screen; return the titles of columns that were left out.

    The arguments are those of `fitted`.
    """
    drawn = fitted(rows, head, right, optional, terminal.width())
    titles, _, rule = drawn.head.rpartition("\n")
    for line in titles.splitlines():
        print(terminal.bold(line))
    if drawn.head:
        print(rule)
    print(drawn.body)
    return drawn.left_out


def say_left_out(titles: Iterable[str]) -> None:
    """Say which columns were left out, and how to see them."""
    names = list(dict.fromkeys(titles))
    if names:
        them = "it" if len(names) == 1 else "them"
        print(
            wrapped(
                f"Left out to fit {terminal.width()} columns: {', '.join(names)}. "
                f"--wide, a wider terminal or a pipe shows {them}."
            )
        )


def wrapped(text: str, indent: str = "", first: str | None = None) -> str:
    """Wrap a paragraph to the terminal's width; its first line is indented by `first`."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    return textwrap.fill(
        text,
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
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
        parts = [f"{json.dumps(key)}: {as_json(item, within)}" for key, item in value.items()]
        signs = "{}"
    elif isinstance(value, list) and not _is_row(value):
        parts = [as_json(item, within) for item in value]
        signs = "[]"
    else:
        return json.dumps(value)
    lines = f",\n{within}".join(parts)
    return f"{signs[0]}\n{within}{lines}\n{indent}{signs[1]}"


def _is_row(values: Iterable[Any]) -> bool:
    """Tell whether values are numbers and words, or short lists of them."""
    return not any(
        isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value))
        for value in values
    )
