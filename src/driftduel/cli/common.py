"""What several commands share."""

import argparse
from collections.abc import Sequence

from driftduel._defaults import BENCHMARK, GOAL, MODE, SEED

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERRUPTED",
    "UNREAD",
    "add_benchmark",
    "add_game",
    "add_goal",
    "add_imports",
    "add_wide",
    "arm_name",
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
        default=BENCHMARK,
        metavar="NAME",
        help="what regret is measured against: condorcet (default), the arm that beats all others; "
        "where some rounds have no such arm, exploitability, von-neumann, borda or copeland",
    )


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Declare what is measured."""
    parser.add_argument(
        "--goal",
        default=GOAL,
        metavar="NAME",
        help="what is measured beside regret (the default): best, when best() names the winner; "
        "confidence, votes until the best arm is certified; top-K or ranking, the same for the "
        "top K arms or all ranks, and the pairs that are right",
    )


def add_wide(parser: argparse.ArgumentParser) -> None:
    """Declare that tables may be wider than the screen."""
    parser.add_argument(
        "--wide", action="store_true", help="show all columns, however narrow the screen is"
    )


def load_imports(arguments: argparse.Namespace) -> None:
    """Import what --import names."""
    from driftduel._imports import load

    load(arguments.imports)


def add_game(parser: argparse.ArgumentParser) -> None:
    """Declare policy, world and seed."""
    parser.add_argument(
        "--policy",
        required=True,
        metavar="SPEC",
        help="the policy, name:key=value,...; 'driftduel policies' lists them",
    )
    parser.add_argument(
        "--world", required=True, metavar="SPEC", help="the world; 'driftduel worlds' lists them"
    )
    add_imports(parser)
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        metavar="N",
        help=f"which game; the same seed is the same game ({SEED})",
    )
    parser.add_argument(
        "--mode",
        choices=("serve", "panel"),
        default=MODE,
        help="whether an arm may be shown alone (serve, default), or always two different ones",
    )


def arm_name(arm: int, names: Sequence[str] = ()) -> str:
    """Call an arm by its number, and its name if it has one.

    Examples
    --------
    >>> arm_name(1), arm_name(1, ["ale", "tea"])
    ('arm 1', 'arm 1, tea')
    """
    return f"arm {arm}, {names[arm]}" if names else f"arm {arm}"
