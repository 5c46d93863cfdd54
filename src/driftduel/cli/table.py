"""Print the summary of a folder of results, finished or not."""

import argparse

from driftduel.cli.lab import print_table

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="DIR", help="what 'sweep' or 'compare --out' made")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--latex", action="store_true", help="LaTeX tables (booktabs)")
    form.add_argument("--json", action="store_true", help="one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Read and print."""
    import sys

    from driftduel.lab import results, writing

    found = results(arguments.folder)
    found.store.refresh()
    for name in found.store.damaged:
        print(
            f"driftduel: {name} is damaged and left out; the sweep would play its cells again.",
            file=sys.stderr,
        )
    if arguments.csv:
        print(writing.as_csv(found), end="")
    elif arguments.latex:
        print(writing.as_latex(found))
    else:
        print_table(found, as_json=arguments.json)
    if found.missing and (arguments.csv or arguments.latex):
        missing = f"{found.missing:,} of {len(found.plan):,} cells are missing"
        failed = f", {len(found.failures):,} of them because they failed" if found.failures else ""
        print(f"driftduel: {missing}{failed}.", file=sys.stderr)
