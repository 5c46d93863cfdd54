"""What several commands share."""

import argparse

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERRUPTED",
    "UNREAD",
    "add_benchmark",
    "add_game",
    "add_imports",
    "load_imports",
]

# Exit codes.
FAILED = 1  # something that was to be played could not be
BAD_INPUT = 2
INTERRUPTED = 130
UNREAD = 141  # the reader of a pipe went away; the code of a program that SIGPIPE ended


def add_imports(parser: argparse.ArgumentParser) -> None:
    """Declare where policies and worlds of the user's own come from."""
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module or .py file that registers policies or worlds of your own",
    )


def add_benchmark(parser: argparse.ArgumentParser) -> None:
    """Declare what regret is against."""
    parser.add_argument(
        "--benchmark",
        choices=("condorcet", "von-neumann", "exploitability", "borda", "copeland"),
        default="condorcet",
        help="regret against the Condorcet winner (default); where some rounds have none, against "
        "the von Neumann winner, exploitability, Borda or Copeland scores",
    )


def load_imports(arguments: argparse.Namespace) -> None:
    """Import what --import names."""
    from driftduel._imports import load

    load(arguments.imports)


def add_game(parser: argparse.ArgumentParser) -> None:
    """Declare policy, world and seed."""
    parser.add_argument(
        "--policy", required=True, metavar="SPEC", help="the policy, name:key=value,..."
    )
    parser.add_argument(
        "--world", required=True, metavar="SPEC", help="the world; 'driftduel worlds' lists them"
    )
    add_imports(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes the game (0)")
    parser.add_argument(
        "--mode",
        choices=("serve", "panel"),
        default="serve",
        help="whether an arm may be shown alone (serve, default), or always two different ones",
    )
