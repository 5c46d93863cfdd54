"""Print the summary of a folder of results, finished or not."""

import argparse

from driftduel.cli.common import add_wide
from driftduel.cli.lab import add_labels, print_table, read_labels

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", metavar="DIR", help="a folder that 'sweep' or 'compare --out' wrote"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV with all computed columns")
    form.add_argument(
        "--latex",
        action="store_true",
        help="print LaTeX tables (for the package booktabs), one per world; with --wide, one table "
        "of policies by worlds",
    )
    form.add_argument("--json", action="store_true", help="print JSON with all computed fields")
    add_labels(parser)
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read the results and print them in the requested form."""
    import sys

    from driftduel.lab import as_csv, as_latex, load_results

    played = load_results(arguments.folder)
    played.store.refresh()
    for name in played.store.damaged:
        print(
            f"driftduel: {name} is damaged and ignored; a sweep plays its cells again.",
            file=sys.stderr,
        )
    if arguments.csv:
        print(as_csv(played), end="")
    elif arguments.latex:
        labels = read_labels(arguments.label, played)
        print(as_latex(played, wide=arguments.wide, labels=labels))
    else:
        print_table(played, as_json=arguments.json)
    if played.missing and (arguments.csv or arguments.latex):
        missing = f"{played.missing:,} of {len(played.plan):,} cells are missing"
        failed = (
            f", {len(played.failures):,} of them because they failed" if played.failures else ""
        )
        print(f"driftduel: {missing}{failed}.", file=sys.stderr)
