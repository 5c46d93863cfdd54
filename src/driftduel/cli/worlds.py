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
    from driftduel.cli.listing import described, print_entries, print_keys
    from driftduel.worlds import WORLDS

    entries = [WORLDS[arguments.name]] if arguments.name else list(WORLDS)
    if arguments.json:
        print(
            json.dumps({entry.name: described(entry, WORLDS.shared) for entry in entries}, indent=2)
        )
        return
    for entry in entries:
        print_entries([entry])
        print()
    print("Every world takes besides:")
    print_keys(WORLDS.shared)
    if not arguments.name:
        print("\nA world is written name:key=value,key=value - for example")
        print("  driftduel measure --world geometric-btl:arms=10,rounds=50000,phases=4")
