"""Lists of registered policies and worlds: short by group, or full with all parameters."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from driftduel.cli.terminal import bold
from driftduel.cli.text import show_table, wrapped
from driftduel.specs import Entry, Parameter

__all__ = ["described", "print_entry", "print_groups", "print_keys"]

_WIDTH = 80
_OTHERS = "Others"


def print_groups(groups: Mapping[str, Mapping[str, str]], others: Iterable[Entry[Any]]) -> None:
    """Print names with their purpose, in lines of at most 80 columns.

    Parameters
    ----------
    groups
        Purposes of at most a few words, by group and name.
    others
        Registry entries that belong to no group; their summaries are shortened.
    """
    longest = max(len(name) for group in groups.values() for name in group)
    room = _WIDTH - longest - 4
    more = {e.name: textwrap.shorten(e.summary, room, placeholder=" ...") for e in others}
    for title, group in {**groups, **({_OTHERS: more} if more else {})}.items():
        print(bold(title))
        for name, words in group.items():
            print(f"  {name:<{longest}}  {words}")
        print()


def print_entry(entry: Entry[Any]) -> None:
    """Print the name and summary of an entry, and its keys with defaults and ranges."""
    print(f"{bold(entry.name)}\n{wrapped(entry.summary, '  ')}")
    print_keys(entry.parameters)


def print_keys(parameters: Iterable[Parameter]) -> None:
    """Print keys with their defaults and ranges."""
    rows = [
        (
            f"    {parameter.name}",
            "required" if parameter.required else str(parameter.default).lower(),
            parameter.help + (f" ({parameter.allowed})" if parameter.allowed else ""),
        )
        for parameter in parameters
    ]
    if rows:
        show_table(rows)


def described(entry: Entry[Any], shared: Iterable[Parameter] = ()) -> dict[str, object]:
    """Return an entry as a dict for JSON; `shared` are parameters of all entries."""
    return {
        "summary": entry.summary,
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.kind.__name__,
                "required": parameter.required,
                "default": None if parameter.required else parameter.default,
                "allowed": str(parameter.allowed) if parameter.allowed else None,
                "help": parameter.help,
            }
            for parameter in (*entry.parameters, *shared)
        ],
    }
