"""What the commands of the lab share: options, running with a display, and the table."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel.cli.common import FAILED
from driftduel.cli.stopping import say_stopped

if TYPE_CHECKING:
    from driftduel.lab import Cell, Results

__all__ = ["add_engine", "play_and_say", "print_table"]


# What a switch is with the benchmarks that have their own.
_MOVES = {
    "von-neumann": "who loses nothing switches",
    "exploitability": "the preferences switch",
}


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


def play_and_say(
    found: "Results", cells: Sequence["Cell"], arguments: argparse.Namespace, kept: bool
) -> int:
    """Play with a display; return the exit code.

    Parameters
    ----------
    found
        The folder of results.
    cells
        What to play.
    arguments
        Engine, workers, cluster.
    kept
        Whether the folder stays, so that the work can be resumed.
    """
    from driftduel.cli.display import Display
    from driftduel.errors import DriftduelError
    from driftduel.lab.experiment import play_cells

    display = Display()
    folder = found.store.folder
    try:
        play_cells(
            found,
            cells,
            engine=arguments.engine,
            workers=arguments.workers,
            cluster=arguments.cluster,
            watch=display,
        )
    except (KeyboardInterrupt, DriftduelError) as error:
        display.close()
        if kept:
            done = len(found.store.done() & {cell.key for cell in cells})
            rest = (
                f"{done:,} of {len(cells):,} cells are finished and kept in {folder}; "
                f"the same command goes on from there."
            )
        else:
            rest = "with --out DIR, what is finished would be kept."
        if isinstance(error, DriftduelError):
            if not kept or not done:
                raise
            raise DriftduelError(f"{error} {rest[0].upper()}{rest[1:]}") from None
        return say_stopped(f"{rest[0].upper()}{rest[1:]}")
    finally:
        display.close()
    return FAILED if display.failed else 0


def print_table(found: "Results", *, as_json: bool = False) -> None:
    """Print the summary: a table for each world, or JSON."""
    from driftduel.cli import text
    from driftduel.lab import writing

    if as_json:
        print(text.as_json(writing.as_json(found)))
        return

    for world in found.plan.worlds:
        _print_world(found, world)
        print(f"\n{text.wrapped(writing.verdict(found, world.spec))}\n")
    if len(found.plan.worlds) > 1:
        _print_over_worlds(found)
    print(text.wrapped(writing.METHOD))
    print_what_is_missing(found)


def _print_world(found: "Results", world: Any) -> None:
    from driftduel.cli.text import table
    from driftduel.regret import BENCHMARKS

    benchmark = found.plan.benchmark
    rows = list(found.summary.filter(world=world.spec).iter_rows(named=True))
    switches = next((row["switches_mean"] for row in rows if row["runs"]), None)
    about = f"K = {world.arms}, T = {world.rounds:,}"
    if switches is not None:
        about += f", {_MOVES.get(benchmark, 'the winner switches')} {_short(switches)} times"
        about += "" if world.fixed else " in the mean of the runs"
    if benchmark in _MOVES:
        about += f"\nregret: {BENCHMARKS[benchmark]}"
    print(f"{world.spec}\n{about}\n")
    rows.sort(key=lambda row: (row["regret_mean"] is None, row["regret_mean"]))
    best = rows[0] if rows[0]["runs"] else None
    full = all(row["runs"] == row["planned"] for row in rows)
    delayed = any(row["restarts_mean"] for row in rows)
    head = ["policy", "told", "regret", "95 % interval", "ratio", "more than the best, paired"]
    head += [] if full else ["runs"]
    head += ["restarts", "too many"]
    head += ["found", "delay"] if delayed else []
    head += ["rounds/s"]
    lines = []
    for row in rows:
        line = [
            row["policy"],
            ", ".join(row["told"]) or "nothing",
            _short(row["regret_mean"]),
            _interval(row["regret_low"], row["regret_high"]),
            "-" if row["ratio_to_best"] is None else f"{row['ratio_to_best']:.2f}",
            "the best" if row is best else _difference(row),
        ]
        line += [] if full else [f"{row['runs']} of {row['planned']}"]
        line += [_short(row["restarts_mean"]), _short(row["restarts_too_many_mean"])]
        if delayed:
            detected = row["switches_detected"]
            line += ["-" if detected is None else f"{detected:.0%}"]
            line += [_short(row["detection_delay_mean"])]
        line += [_speed(row["rounds_per_second"])]
        lines.append(line)
    print(table(lines, head, right="23456789ab"))


def _print_over_worlds(found: "Results") -> None:
    """Print each policy's ratio to the best of each world, as the geometric mean over worlds."""
    import polars as pl

    from driftduel.cli.text import table

    over = (
        found.summary.drop_nulls("ratio_to_best")
        .group_by("policy", maintain_order=True)
        .agg(
            pl.col("ratio_to_best").log().mean().exp().alias("mean"),
            pl.col("ratio_to_best").max().alias("worst"),
            pl.len().alias("worlds"),
        )
        .sort("mean")
    )
    print("Ratio to the best policy of each world, over worlds\n")
    rows = [
        (row["policy"], f"{row['mean']:.2f}", f"{row['worst']:.2f}", str(row["worlds"]))
        for row in over.iter_rows(named=True)
    ]
    print(table(rows, ("policy", "geometric mean", "worst", "worlds"), right="123"))
    print()


def print_what_is_missing(found: "Results") -> None:
    """Say what did not finish, and why."""
    if not found.missing:
        return
    failures = found.failures
    print(f"\n{found.missing:,} of {len(found.plan):,} cells are missing", end="")
    print(f"; {len(failures):,} of them failed:" if failures else ".")
    for name, error in list(failures.items())[:10]:
        print(f"  {name}: {error}")
    if len(failures) > 10:
        print(f"  ... and {len(failures) - 10:,} more, in {Path(found.store.folder) / 'failed'}")


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{_short(low)} to {_short(high)}"


def _difference(row: dict[str, Any]) -> str:
    if row["difference_to_best"] is None:
        return "-"
    text = _short(row["difference_to_best"])
    if row["difference_low"] is not None:
        text += f" ({_interval(row['difference_low'], row['difference_high'])})"
    return text


def _speed(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1e6:,.1f} M" if value >= 1e6 else f"{value / 1e3:,.0f} k"
