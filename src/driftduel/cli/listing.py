"""Lists of what a spec can name."""

from collections.abc import Iterable
from typing import Any

from driftduel.cli.text import table, wrapped
from driftduel.specs import Entry, Parameter

__all__ = ["described", "print_entries", "print_keys"]


def print_entries(entries: Iterable[Entry[Any]]) -> None:
    """Print names, what they are, and their keys with defaults and ranges."""
    for entry in entries:
        print(f"{entry.name}\n{wrapped(entry.summary, '  ')}")
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
        print(table(rows))


def described(entry: Entry[Any], shared: Iterable[Parameter] = ()) -> dict[str, object]:
    """Return the same as plain data, with the keys that all of its kind share."""
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
