"""Tables and paragraphs fitted to the terminal, and readable JSON."""

import json
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from driftduel._internal.text_tables import fitted, table
from driftduel.cli import terminal

__all__ = ["as_json", "print_left_out", "show_table", "table", "wrapped"]


def show_table(
    rows: Iterable[Sequence[str]],
    head: Sequence[str] = (),
    right: str = "",
    optional: Sequence[str] = (),
) -> tuple[str, ...]:
    """Print a table that fits the terminal; return the titles of columns that were left out.

    The parameters are those of `fitted`.
    """
    drawn = fitted(rows, head, right, optional, terminal.width())
    titles, _, rule = drawn.head.rpartition("\n")
    for line in titles.splitlines():
        print(terminal.bold(line))
    if drawn.head:
        print(rule)
    print(drawn.body)
    return drawn.left_out


def print_left_out(titles: Iterable[str]) -> None:
    """Print the titles of the columns that were left out, and how to show them."""
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
    """Return JSON with one line per row of a table.

    `json.dumps` with an indent writes one line per number, which is hard to read and slow for
    millions of values.

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
    """Return whether all values are scalars or lists of scalars."""
    return not any(
        isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value))
        for value in values
    )
