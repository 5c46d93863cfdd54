"""Play a plan from a TOML file into a folder; finished cells are not played again.

Required keys are worlds and policies (lists of specs), runs, and seed (a number or a list).
Optional keys are horizons (a list of rounds), [parameters] (lists of values that replace {name} in
the specs), benchmark, points, mode, goal and imports.
"""

import argparse
from typing import TYPE_CHECKING

from driftduel.cli.common import INTERRUPTED, add_wide
from driftduel.cli.lab import (
    add_engine,
    engine_arguments,
    play_with_progress,
    print_table,
    write_page,
)

if TYPE_CHECKING:
    from driftduel.lab import Cell

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE.toml", help="the plan")
    parser.add_argument("--out", metavar="DIR", help="folder of results; required unless --dry-run")
    parser.add_argument(
        "--dry-run", action="store_true", help="print the plan and an estimate of its duration"
    )
    parser.add_argument(
        "--only", metavar="PATTERN", help="only cells with a matching name, such as '*sw-dts*'"
    )
    parser.add_argument("--shard", metavar="i/n", help="only the i-th of n parts, from 1/n to n/n")
    parser.add_argument(
        "--report", action="store_true", help="also write an HTML page, into DIR/report"
    )
    add_engine(parser)
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play the plan and print the summary, or print the plan with --dry-run."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import read_plan, sweep

    plan = read_plan(arguments.file)
    if arguments.dry_run:
        _show(plan.select(arguments.only, arguments.shard), arguments)
        return
    if not arguments.out:
        raise DriftduelError("--out DIR is required, the folder of the results.")
    with play_with_progress(kept=True) as (display, played):
        sweep(
            plan,
            arguments.out,
            only=arguments.only,
            shard=arguments.shard,
            **engine_arguments(arguments),
            watch=display,
        )
    if played.results is not None and played.code != INTERRUPTED:
        print_table(played.results)
        print(f"\nresults: {arguments.out}   again: driftduel table {arguments.out}")
        if arguments.report:
            write_page(played.results)
    if played.code:
        raise SystemExit(played.code)


def _show(cells: "list[Cell]", arguments: argparse.Namespace) -> None:
    """Print the cells of a plan by world and policy, and the estimated duration."""
    from pathlib import Path

    from driftduel._internal.wording import duration, whole
    from driftduel.cli.text import table
    from driftduel.lab import Store, cores, estimate

    store = None
    if arguments.out and (Path(arguments.out) / "plan.json").exists():
        store = Store(arguments.out)
    estimated = estimate(cells, store)
    rows, seconds, rounds = [], 0.0, 0
    for world, policy, count, finished, rounds_a_cell, seconds_a_cell in estimated.iter_rows():
        left = count - finished
        seconds += left * (seconds_a_cell or 0.0)
        rounds += left * rounds_a_cell
        cost = None if seconds_a_cell is None else left * seconds_a_cell
        counts = (whole(count), whole(finished), whole(rounds_a_cell))
        rows.append((world, policy, *counts, duration(cost)))
    print(
        table(rows, ("world", "policy", "cells", "finished", "rounds each", "takes"), right="2345")
    )
    workers = arguments.workers or cores()
    finished = int(estimated["finished"].sum())
    print(f"\n{len(cells):,} cells, {finished:,} finished; {rounds:,} rounds to play")
    print(f"name of the first cell {cells[0].id}")
    print(
        f"estimate               {duration(seconds / workers)} with {workers} workers "
        f"on an idle machine (from {'finished cells, or ' if store else ''}a trial of each)"
    )
