"""Score policies on the benchmark suite.

The worlds have two splits: tune a policy on the development split, and play the test split once.
"""

import argparse

from driftduel.cli.common import add_benchmark, add_imports, add_wide, load_imports
from driftduel.cli.signals import with_resume_hint

__all__ = ["configure", "run"]

# Columns that may be left out on a narrow terminal, the most important one first.
_OPTIONAL = (
    "restarts", "needless", "needless restarts", "to the oracle", "nearest rival",
    "its regret / ours", "switches", "best window", "runs",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--policy",
        action="append",
        metavar="SPEC",
        help="policy to score (king); repeat for several",
    )
    parser.add_argument(
        "--half",
        choices=("development", "test"),
        default="development",
        help="split of the worlds: development (default) or test",
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="folder of results; the same command resumes an earlier run",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="number of parallel games (processors)"
    )
    parser.add_argument(
        "--worlds",
        type=int,
        metavar="N",
        help="only the first N worlds of each kind, for a quick look",
    )
    parser.add_argument(
        "--runs", type=int, metavar="N", help="games of each policy in each world (40)"
    )
    parser.add_argument(
        "--hindsight",
        action="store_true",
        help="play the rivals with several values of their parameters, so that the nearest rival "
        "is tuned in hindsight",
    )
    add_benchmark(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON instead")
    form.add_argument("--markdown", action="store_true", help="print Markdown instead")
    add_imports(parser)
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play the missing games, compute the scores and print them."""
    import json

    from driftduel.cli.terminal import bold
    from driftduel.cli.text import print_left_out, show_table, wrapped
    from driftduel.errors import DriftduelError
    from driftduel.lab import Display
    from driftduel.suite import as_markdown, read_split, run_suite, score, tables

    load_imports(arguments)
    policies = arguments.policy or ["king"]
    half = read_split(arguments.half)
    if arguments.hindsight:
        half = half.with_settings()
    for name in ("worlds", "runs"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise DriftduelError(f"{name}={value} must be a whole number at least 1.")
    if arguments.worlds or arguments.runs:
        half = half.smaller(arguments.worlds or len(half.changing), arguments.runs or half.runs)
    display = Display()
    try:
        with with_resume_hint(arguments.out):
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
        print(json.dumps([scored.as_dict() for scored in scores], indent=1))
        return
    left_out: list[str] = []
    for scored in scores:
        if arguments.markdown:
            print(as_markdown(scored))
            continue
        headline, both = tables(scored)
        print(bold(wrapped(headline)))
        for head, rows in both:
            print()
            left_out += show_table(rows, head, right="1234567", optional=_OPTIONAL)
        print()
    print_left_out(left_out)
