"""Play a plan from a TOML file into a folder; what is there already is not played again.

The file has the keys worlds and policies (lists of specs), runs and seed (a number or a list), and
if wanted horizons (a list of rounds), [parameters] (lists whose values take the place of {name} in
the specs), benchmark, points, mode, goal and imports.
"""

import argparse
from typing import TYPE_CHECKING

from driftduel.cli.common import INTERRUPTED, add_wide
from driftduel.cli.lab import add_engine, engine_of, playing, print_table, write_page

if TYPE_CHECKING:
    from driftduel.lab import Cell

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE.toml", help="the plan")
    parser.add_argument("--out", metavar="DIR", help="the folder of results; needed to play")
    parser.add_argument(
        "--dry-run", action="store_true", help="show the plan and how long it would take"
    )
    parser.add_argument(
        "--only", metavar="PATTERN", help="only cells whose name matches, such as '*sw-dts*'"
    )
    parser.add_argument("--shard", metavar="i/n", help="only the i-th of n parts, from 1/n to n/n")
    parser.add_argument(
        "--report", action="store_true", help="write the page about it as well, into DIR/report"
    )
    add_engine(parser)
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play and print, or show the plan."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import read_plan, sweep

    plan = read_plan(arguments.file)
    if arguments.dry_run:
        _show(plan.select(arguments.only, arguments.shard), arguments)
        return
    if not arguments.out:
        raise DriftduelError("say where the results go: --out DIR.")
    with playing(kept=True) as (display, played):
        sweep(
            plan,
            arguments.out,
            only=arguments.only,
            shard=arguments.shard,
            **engine_of(arguments),
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
    """Print the plan, cell by cell where it is short, and what it would cost."""
    from pathlib import Path

    from driftduel.cli.text import table
    from driftduel.lab import Store
    from driftduel.lab.engines.base import cores
    from driftduel.lab.estimate import estimate
    from driftduel.wording import duration, whole

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
    print(f"cells are named like   {cells[0].id}")
    print(
        f"estimate               {duration(seconds / workers)} with {workers} workers "
        f"that nobody else uses (from {'finished cells, or ' if store else ''}a trial of each)"
    )
