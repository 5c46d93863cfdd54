"""Score a policy on the benchmark suite: a half to tune on, and a half to play once."""

import argparse

from driftduel.cli.common import add_benchmark, add_imports, load_imports
from driftduel.cli.stopping import keeping

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--policy",
        action="append",
        metavar="SPEC",
        help="the policy to score (king); several share what is played",
    )
    parser.add_argument(
        "--half",
        choices=("development", "test"),
        default="development",
        help="which half of the worlds (development)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="keeps what was played")
    parser.add_argument("--workers", type=int, metavar="N", help="how many at a time (processors)")
    parser.add_argument("--worlds", type=int, metavar="N", help="only so many worlds of each kind")
    parser.add_argument("--runs", type=int, metavar="N", help="games of each (40)")
    add_benchmark(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--markdown", action="store_true", help="print tables for a page")
    add_imports(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play what is missing, score, print."""
    import json

    from driftduel.cli.display import Display
    from driftduel.cli.text import table, wrapped
    from driftduel.errors import DriftduelError
    from driftduel.suite import as_markdown, read_half, run_suite, score, tables

    load_imports(arguments)
    policies = arguments.policy or ["king"]
    half = read_half(arguments.half)
    for name in ("worlds", "runs"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise DriftduelError(f"{name}={value} must be a whole number at least 1.")
    if arguments.worlds or arguments.runs:
        half = half.smaller(arguments.worlds or len(half.changing), arguments.runs or half.runs)
    display = Display()
    try:
        with keeping(arguments.out):
            played = run_suite(
                half,
                policies,
                arguments.out,
                benchmark=arguments.benchmark,
                workers=arguments.workers,
                watch=display,
            )
    finally:
        display.close()
    scores = [score(half.name, policy, *played) for policy in policies]
    if arguments.json:
        print(json.dumps([each.as_dict() for each in scores], indent=1))
        return
    for found in scores:
        if arguments.markdown:
            print(as_markdown(found))
            continue
        headline, both = tables(found)
        print(wrapped(headline))
        for head, rows in both:
            print(f"\n{table(rows, head, right='1234567')}")
