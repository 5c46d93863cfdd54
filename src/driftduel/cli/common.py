"""Exit codes and arguments shared by several commands."""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from driftduel._internal.defaults import BENCHMARK, GOAL, MODE, SEED
from driftduel.cli.examples import epilog

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERRUPTED",
    "UNREAD",
    "add_benchmark",
    "add_commands",
    "add_game",
    "add_goal",
    "add_imports",
    "add_mode",
    "add_wide",
    "arm_name",
    "load_imports",
]

# Exit codes.
FAILED = 1  # some cells failed
BAD_INPUT = 2
INTERRUPTED = 130
UNREAD = 141  # the reader closed the pipe; the code of a process killed by SIGPIPE


def add_commands(
    parser: argparse.ArgumentParser, area: str, summaries: Mapping[str, str]
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield name and parser of each command of an area such as `log`, with its examples."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in summaries.items():
        yield (
            name,
            commands.add_parser(
                name,
                help=summary,
                description=f"{summary[0].upper()}{summary[1:]}.",
                epilog=epilog(f"{area} {name}"),
                formatter_class=parser.formatter_class,
            ),
        )


def add_imports(parser: argparse.ArgumentParser) -> None:
    """Declare --import, the modules that define a user's policies and worlds."""
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module or .py file that registers more policies or worlds",
    )


def add_benchmark(parser: argparse.ArgumentParser) -> None:
    """Declare --benchmark, the reference of regret."""
    parser.add_argument(
        "--benchmark",
        choices=("condorcet", "von-neumann", "exploitability", "borda", "copeland"),
        default=BENCHMARK,
        metavar="NAME",
        help="reference of regret: condorcet (default), the arm that beats all others; "
        "if some rounds have no such arm, exploitability, von-neumann, borda or copeland",
    )


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Declare --goal, the measure beside regret."""
    parser.add_argument(
        "--goal",
        default=GOAL,
        metavar="NAME",
        help="measure beside regret (the default): best, votes until best() returns the winner; "
        "confidence, votes until the best arm is certified; top-K or ranking, the same for the "
        "top K arms or all ranks, and the correct pairs",
    )


def add_wide(parser: argparse.ArgumentParser) -> None:
    """Declare --wide, which disables the fitting of tables to the terminal."""
    parser.add_argument(
        "--wide", action="store_true", help="show all columns, also if they exceed the terminal"
    )


def load_imports(arguments: argparse.Namespace) -> None:
    """Import the modules of --import."""
    from driftduel._internal.plugins import load

    load(arguments.imports)


def add_game(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments policy, world, seed and mode."""
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
        help=f"seed of the game; equal seeds give equal games ({SEED})",
    )
    add_mode(parser)


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Declare --mode, the mode of play of all policies."""
    parser.add_argument(
        "--mode",
        choices=("serve", "panel"),
        default=MODE,
        help="serve (default): an arm may be shown alone; panel: always two different arms",
    )


def arm_name(arm: int, names: Sequence[str] = ()) -> str:
    """Return the label of an arm: its number, and its name if it has one.

    Examples
    --------
    >>> arm_name(1), arm_name(1, ["ale", "tea"])
    ('arm 1', 'arm 1, tea')
    """
    return f"arm {arm}, {names[arm]}" if names else f"arm {arm}"
