"""Helpers of the commands that play or print results: arguments, progress, table and page."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel.cli.common import FAILED
from driftduel.cli.signals import print_stopped

if TYPE_CHECKING:
    from driftduel.lab import Display, Results, ResultTable

__all__ = [
    "add_engine",
    "add_labels",
    "engine_arguments",
    "play_with_progress",
    "print_table",
    "read_labels",
    "write_page",
]


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the engine that plays the cells."""
    parser.add_argument(
        "--engine",
        choices=("threads", "processes", "dask"),
        help="how cells run in parallel (threads; processes if some policy is not compiled)",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="number of parallel cells (processors)"
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="play on a dask cluster, tcp://host:port"
    )
    parser.add_argument(
        "--replan",
        action="store_true",
        help="resume in a folder of another plan; cells of both plans are kept",
    )


def engine_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parsed arguments of `add_engine` as keyword arguments of `compare`, `sweep`."""
    return {name: getattr(arguments, name) for name in ("engine", "workers", "cluster", "replan")}


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Declare --label, display names of policies and worlds."""
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="SPEC=NAME",
        help="display name of a policy or a world in figures and LaTeX; repeat for several",
    )


def read_labels(given: Sequence[str], results: "Results") -> dict[str, str]:
    """Return display names by spec.

    A spec may contain equals signs, so it must be a spec of the results; the longest match is used.

    Raises
    ------
    DriftduelError
        If the value does not begin with a spec of the results.
    """
    from driftduel.errors import DriftduelError
    from driftduel.specs import near

    plan = results.plan
    known = [*(policy.spec for policy in plan.policies), *(world.spec for world in plan.worlds)]
    labels = {}
    for text in given:
        specs = [spec for spec in known if text.startswith(f"{spec}=")]
        if not specs:
            raise DriftduelError(
                f"--label {text!r} must be SPEC=NAME for a policy or a world of the results; "
                f"{near(text.rpartition('=')[0] or text, known)}"
            )
        spec = max(specs, key=len)
        labels[spec] = text[len(spec) + 1 :]
    return labels


class PlayOutcome:
    """The results of a command, None if there are none, and its exit code."""

    results: "Results | None" = None
    code: int = 0


@contextmanager
def play_with_progress(kept: bool) -> Iterator[tuple["Display", PlayOutcome]]:
    """Display progress while cells are played; on an interrupt, print the number finished.

    Parameters
    ----------
    kept
        Whether the results are stored, so that the same command can resume.

    Yields
    ------
    tuple
        A progress listener for the engine, and an outcome that is set when the block ends.
    """
    from driftduel.errors import DriftduelError
    from driftduel.lab import Display

    display, played = Display(), PlayOutcome()
    try:
        yield display, played
        played.code = FAILED if display.failed else 0
    except (KeyboardInterrupt, DriftduelError) as error:
        display.close()
        if display.results is None:  # interrupted before the plan was resolved
            raise
        done = len(display.results.store.done() & {cell.key for cell in display.cells})
        rest = (
            f"{done:,} of {len(display.cells):,} cells are finished and kept in "
            f"{display.results.store.folder}; the same command resumes."
            if kept
            else "The results are lost; --out DIR stores finished cells."
        )
        if isinstance(error, KeyboardInterrupt):
            played.code = print_stopped(rest)
        elif kept and done:
            raise DriftduelError(f"{error} {rest}") from None
        else:
            raise
    finally:
        display.close()
    if display.results is not None and display.results.store.done():
        played.results = display.results


def print_table(results: "Results", *, as_json: bool = False) -> None:
    """Print the summary: one table per world, or one JSON object with `as_json`."""
    from driftduel.cli import text
    from driftduel.cli.terminal import bold
    from driftduel.lab import method_of, missing_report, over_worlds, results_as_json, world_table

    if as_json:
        print(text.as_json(results_as_json(results)))
        return
    left_out: list[str] = []
    for world in results.plan.worlds:
        table = world_table(results, world)
        left_out += _show(table)
        print(f"\n{bold(text.wrapped(table.verdict))}\n")
    if len(results.plan.worlds) > 1:
        _show(over_worlds(results))
        print()
    print(text.wrapped(method_of(results)))
    text.print_left_out(left_out)
    missing = missing_report(results)
    if missing:
        print(f"\n{missing}")


def _show(table: "ResultTable") -> tuple[str, ...]:
    """Print a table; return the titles of the columns that do not fit the terminal."""
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import show_table

    print(f"{bold(table.title)}\n" + (f"{table.about}\n" if table.about else ""))
    return show_table(table.rows, table.head, right=table.right, optional=table.optional)


def write_page(results: "Results", out: str | Path | None = None, *, aside: bool = False) -> Path:
    """Write the page about results, print its path, and return it.

    Parameters
    ----------
    results
        The results of a sweep or a comparison.
    out
        The folder of the page; default: `report` in the folder of the results.
    aside
        Whether the path goes to stderr, because stdout contains JSON.
    """
    import sys

    from driftduel.cli.report import print_step
    from driftduel.report import write_report

    page = write_report(results, out, progress=print_step)
    print(f"page:     {page}", file=sys.stderr if aside else sys.stdout)
    return page
