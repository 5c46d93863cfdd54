"""List the worlds that a spec can name, with their keys, defaults and ranges."""

import argparse
import json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", help="only this world")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Print the list."""
    from driftduel.cli.text import table, wrapped
    from driftduel.worlds import WORLDS

    entries = [WORLDS[arguments.name]] if arguments.name else list(WORLDS)
    if arguments.json:
        print(json.dumps({entry.name: _described(entry) for entry in entries}, indent=2))
        return
    for entry in entries:
        print(f"{entry.name}\n{wrapped(entry.summary, '  ')}")
        rows = [
            (
                f"    {parameter.name}",
                "required" if parameter.required else str(parameter.default).lower(),
                parameter.help + (f" ({parameter.allowed})" if parameter.allowed else ""),
            )
            for parameter in entry.parameters
        ]
        print(table(rows) + "\n")
    if not arguments.name:
        print("A world is written name:key=value,key=value - for example")
        print("  driftduel measure --world geometric-btl:arms=10,rounds=50000,phases=4")


def _described(entry) -> dict[str, object]:  # type: ignore[no-untyped-def]
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
            for parameter in entry.parameters
        ],
    }
