"""Compare policies in one world or several: regret with intervals, restarts, speed."""

import argparse

from driftduel._internal.defaults import POINTS, RUNS, SEED
from driftduel.cli.common import (
    INTERRUPTED,
    add_benchmark,
    add_goal,
    add_imports,
    add_mode,
    add_wide,
)
from driftduel.cli.lab import (
    add_engine,
    engine_arguments,
    play_with_progress,
    print_table,
    write_page,
)

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--world",
        required=True,
        action="append",
        metavar="SPEC",
        help="a world; 'driftduel worlds' lists them; repeat for a grid",
    )
    parser.add_argument(
        "--policy",
        required=True,
        action="append",
        metavar="SPEC",
        help="a policy, name:key=value,...; repeat for several",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=RUNS,
        metavar="N",
        help=f"games of each policy in each world ({RUNS})",
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, metavar="N", help=f"seed of all random draws ({SEED})"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of results; an earlier run is resumed")
    parser.add_argument(
        "--report",
        nargs="?",
        const="",
        metavar="DIR",
        help="also write an HTML page, into DIR or the folder of --out",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_benchmark(parser)
    add_mode(parser)
    add_goal(parser)
    parser.add_argument(
        "--points",
        type=int,
        default=POINTS,
        metavar="N",
        help=f"points of each game's curves ({POINTS})",
    )
    add_imports(parser)
    add_engine(parser)
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play the games, print the summary, and write the page with --report."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import compare

    page = arguments.report
    if page == "" and arguments.out is None:
        raise DriftduelError(
            "--report without DIR needs --out DIR; pass --report DIR or --out DIR."
        )
    with play_with_progress(kept=arguments.out is not None) as (display, played):
        compare(
            arguments.policy,
            arguments.world,
            arguments.runs,
            arguments.seed,
            out=arguments.out,
            benchmark=arguments.benchmark,
            points=arguments.points,
            mode=arguments.mode,
            goal=arguments.goal,
            imports=arguments.imports,
            **engine_arguments(arguments),
            watch=display,
        )
    if played.results is not None:
        print_table(played.results, as_json=arguments.json)
        if page is not None and played.code != INTERRUPTED:
            write_page(played.results, page or None, aside=arguments.json)
    if played.code:
        raise SystemExit(played.code)
