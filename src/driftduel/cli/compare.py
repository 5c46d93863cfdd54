"""Compare policies in one world or several: regret with intervals, restarts, speed."""

import argparse

from driftduel.cli.common import add_benchmark, add_imports
from driftduel.cli.lab import add_engine, play_and_say, print_table

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
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="games of each (20)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes everything (0)")
    parser.add_argument("--out", metavar="DIR", help="keep the results here, and go on from them")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_benchmark(parser)
    parser.add_argument(
        "--points", type=int, default=200, metavar="N", help="points of each game's curves (200)"
    )
    add_imports(parser)
    add_engine(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play and print."""
    from driftduel.lab import make_plan
    from driftduel.lab.experiment import prepare

    plan = make_plan(
        arguments.world,
        arguments.policy,
        arguments.runs,
        (arguments.seed,),
        benchmark=arguments.benchmark,
        points=arguments.points,
        imports=arguments.imports,
    )
    found = prepare(plan, arguments.out, replan=arguments.replan)
    code = play_and_say(found, list(plan.cells()), arguments, kept=arguments.out is not None)
    if found.store.done():
        print_table(found, as_json=arguments.json)
    if code:
        raise SystemExit(code)
