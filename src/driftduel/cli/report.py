"""Write an HTML page about a folder of results, and figures for papers."""

import argparse
from typing import TYPE_CHECKING

from driftduel.cli.lab import add_labels, read_labels

if TYPE_CHECKING:
    from driftduel.figures import Width

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", metavar="DIR", help="a folder that 'sweep' or 'compare --out' wrote"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the page (DIR/report)")
    parser.add_argument(
        "--trace",
        metavar="PATTERN",
        help="game to draw, by its name (run 0 of a policy with replays)",
    )
    parser.add_argument(
        "--world",
        metavar="PATTERN",
        help="specs of the worlds that are shown one by one (as many as fit)",
    )
    parser.add_argument("--no-figures", action="store_true", help="write the page only")
    add_labels(parser)
    parser.add_argument(
        "--width",
        metavar="W",
        help="width of the figures: column (3.25 inches), page (6.75 inches), or inches",
    )
    parser.add_argument(
        "--legend",
        choices=("below", "outside", "inside", "none"),
        default="below",
        help="position of the legend in figures (below)",
    )
    parser.add_argument(
        "--logx", action="store_true", help="draw rounds on a log axis in figures of regret"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the page and the figures, and print their paths."""
    from driftduel.lab import load_results
    from driftduel.report import write_report

    played = load_results(arguments.folder)
    page = write_report(
        played,
        arguments.out,
        trace=arguments.trace,
        worlds=arguments.world,
        figures=not arguments.no_figures,
        labels=read_labels(arguments.label, played),
        width=_width(arguments.width),
        legend=None if arguments.legend == "none" else arguments.legend,
        logx=arguments.logx,
        progress=print_step,
    )
    print(f"page:     {page}")
    if not arguments.no_figures:
        print(f"figures:  {page.parent / 'figures'}")


def _width(text: str | None) -> "Width | None":
    """Parse a width; names such as `column` are checked by `write_report`."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text  # type: ignore[return-value]


def print_step(step: str) -> None:
    """Print the present step to stderr if that is a terminal."""
    import sys

    if sys.stderr.isatty():
        print(f"driftduel: {step} ...", file=sys.stderr)
