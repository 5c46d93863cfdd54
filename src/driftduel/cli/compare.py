"""Compare policies in one world or several: regret with intervals, restarts, speed."""

import argparse

from driftduel._defaults import POINTS, RUNS, SEED
from driftduel.cli.common import INTERRUPTED, add_benchmark, add_goal, add_imports, add_wide
from driftduel.cli.lab import add_engine, add_mode, engine_of, playing, print_table, write_page

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--world",
        required=True,
        action="append",
        metavar="SPEC",
        help="a world; 'driftduel worlds' lists them; several make a grid",
    )
    parser.add_argument(
        "--policy",
        required=True,
        action="append",
        metavar="SPEC",
        help="a policy, name:key=value,...; as many as you like",
    )
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"games of each ({RUNS})"
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, metavar="N", help=f"fixes everything ({SEED})"
    )
    parser.add_argument("--out", metavar="DIR", help="keep the results here, and go on from them")
    parser.add_argument(
        "--report",
        nargs="?",
        const="",
        metavar="DIR",
        help="write the page about it as well, into DIR or the folder of --out",
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
    """Play, print, and write the page if it is wanted."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import compare

    page = arguments.report
    if page == "" and arguments.out is None:
        raise DriftduelError("say where the page goes: --report DIR, or --out DIR for all of it.")
    with playing(kept=arguments.out is not None) as (display, played):
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
            **engine_of(arguments),
            watch=display,
        )
    if played.results is not None:
        print_table(played.results, as_json=arguments.json)
        if page is not None and played.code != INTERRUPTED:
            write_page(played.results, page or None, aside=arguments.json)
    if played.code:
        raise SystemExit(played.code)
