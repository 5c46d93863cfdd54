"""List the worlds; with --long, or for one world, with all keys."""

import argparse
import json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this world, with its keys")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--long", action="store_true", help="all worlds with keys and ranges")
    form.add_argument("--json", action="store_true", help="print JSON instead")


def run(arguments: argparse.Namespace) -> None:
    """Print the list in the requested form."""
    from driftduel.cli import catalogue
    from driftduel.cli.listing import described, print_entry, print_groups, print_keys
    from driftduel.worlds import WORLDS

    entries = [WORLDS[arguments.name]] if arguments.name else list(WORLDS)
    if arguments.json:
        print(
            json.dumps({entry.name: described(entry, WORLDS.shared) for entry in entries}, indent=2)
        )
        return
    if arguments.name or arguments.long:
        for entry in entries:
            print_entry(entry)
            print()
        print("Every world also takes:")
        print_keys(WORLDS.shared)
    else:
        grouped = {name for group in catalogue.WORLDS.values() for name in group}
        print_groups(catalogue.WORLDS, (entry for entry in entries if entry.name not in grouped))
        print("'driftduel worlds NAME' prints the keys of one, --long of all.")
    if not arguments.name:
        print("A world is written name:key=value,key=value - for example")
        print("  driftduel measure --world geometric-btl:arms=10,rounds=50000,phases=4")
