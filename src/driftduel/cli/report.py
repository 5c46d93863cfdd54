"""Write a page about a folder of results, to open in a browser, and figures for papers."""

import argparse

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", metavar="DIR", help="a folder that 'sweep' or 'compare --out' wrote"
    )
    parser.add_argument("--out", metavar="DIR", help="where the page goes (DIR/report)")
    parser.add_argument(
        "--trace",
        metavar="PATTERN",
        help="the game that is drawn, by its name: run 0 of a policy with replays",
    )
    parser.add_argument(
        "--world",
        metavar="PATTERN",
        help="the worlds that are shown one by one, by their specs; as many as fit unless given",
    )
    parser.add_argument("--no-figures", action="store_true", help="write the page only")


def run(arguments: argparse.Namespace) -> None:
    """Write and say where."""
    from driftduel.report import write_report

    page = write_report(
        arguments.folder,
        arguments.out,
        trace=arguments.trace,
        worlds=arguments.world,
        figures=not arguments.no_figures,
        progress=say,
    )
    print(f"page:     {page}")
    if not arguments.no_figures:
        print(f"figures:  {page.parent / 'figures'}")


def say(step: str) -> None:
    """Say what is being done, where somebody watches."""
    import sys

    if sys.stderr.isatty():
        print(f"driftduel: {step} ...", file=sys.stderr)
