"""What the commands of the lab share: options, playing with a display, the table and the page."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel._defaults import MODE
from driftduel.cli.common import FAILED
from driftduel.cli.stopping import say_stopped

if TYPE_CHECKING:
    from driftduel.lab import Results
    from driftduel.lab.tables import Table
    from driftduel.lab.watching import Display

__all__ = [
    "add_engine",
    "add_labels",
    "add_mode",
    "engine_of",
    "playing",
    "print_table",
    "read_labels",
    "write_page",
]


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare where cells are played."""
    parser.add_argument(
        "--engine",
        choices=("threads", "processes", "dask"),
        help="where to play; threads, unless some policy is not compiled",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="how many at a time (processors)")
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="play on a dask cluster, tcp://host:port"
    )
    parser.add_argument(
        "--replan",
        action="store_true",
        help="go on in a folder of another plan; cells that both have are kept",
    )


def engine_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what was said there, as `compare` and `sweep` take it."""
    return {name: getattr(arguments, name) for name in ("engine", "workers", "cluster", "replan")}


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Declare how policies play."""
    parser.add_argument(
        "--mode",
        choices=("serve", "panel"),
        default=MODE,
        help="serve (default): an arm may be shown alone; panel: always two different ones",
    )


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Declare names of policies and worlds."""
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="SPEC=NAME",
        help="name of a policy or a world in figures and LaTeX, in place of its spec; may be "
        "repeated",
    )


def read_labels(given: Sequence[str], results: "Results") -> dict[str, str]:
    """Return names by spec; a spec may contain equals signs, so it must be one of the results."""
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


class Played:
    """What became of the games: results, if there are some, and the exit code."""

    results: "Results | None" = None
    code: int = 0


@contextmanager
def playing(kept: bool) -> Iterator[tuple["Display", Played]]:
    """Show how far games are that are played inside; if they are stopped, say what is left.

    Parameters
    ----------
    kept
        Whether results stay, so that the work can be resumed.
    """
    from driftduel.errors import DriftduelError
    from driftduel.lab.watching import Display

    display, played = Display(), Played()
    try:
        yield display, played
        played.code = FAILED if display.failed else 0
    except (KeyboardInterrupt, DriftduelError) as error:
        display.close()
        if display.results is None:  # nothing was to be played yet
            raise
        done = len(display.results.store.done() & {cell.key for cell in display.cells})
        rest = (
            f"{done:,} of {len(display.cells):,} cells are finished and kept in "
            f"{display.results.store.folder}; the same command goes on from there."
            if kept
            else "With --out DIR, what is finished would be kept."
        )
        if isinstance(error, KeyboardInterrupt):
            played.code = say_stopped(rest)
        elif kept and done:
            raise DriftduelError(f"{error} {rest}") from None
        else:
            raise
    finally:
        display.close()
    if display.results is not None and display.results.store.done():
        played.results = display.results


def print_table(results: "Results", *, as_json: bool = False) -> None:
    """Print the summary: a table for each world, or JSON."""
    from driftduel.cli import text
    from driftduel.cli.terminal import bold
    from driftduel.lab import tables, writing

    if as_json:
        print(text.as_json(writing.as_json(results)))
        return
    left_out: list[str] = []
    for world in results.plan.worlds:
        table = tables.world_table(results, world)
        left_out += _show(table)
        print(f"\n{bold(text.wrapped(table.verdict))}\n")
    if len(results.plan.worlds) > 1:
        _show(tables.over_worlds(results))
        print()
    print(text.wrapped(writing.method_of(results)))
    text.say_left_out(left_out)
    missing = tables.what_is_missing(results)
    if missing:
        print(f"\n{missing}")


def _show(table: "Table") -> tuple[str, ...]:
    """Print a table; return which columns there was no room for."""
    from driftduel.cli.terminal import bold
    from driftduel.cli.text import show_table

    print(f"{bold(table.title)}\n" + (f"{table.about}\n" if table.about else ""))
    return show_table(table.rows, table.head, right=table.right, optional=table.optional)


def write_page(results: "Results", out: str | Path | None = None, *, aside: bool = False) -> Path:
    """Write the page about results, and say where it is.

    Parameters
    ----------
    results
        What was played.
    out
        The folder of the page; inside that of the results unless given.
    aside
        Whether stdout is for something else.
    """
    import sys

    from driftduel.cli.report import say
    from driftduel.report import write_report

    page = write_report(results, out, progress=say)
    print(f"page:     {page}", file=sys.stderr if aside else sys.stdout)
    return page
