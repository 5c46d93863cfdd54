"""Play a plan from a TOML file into a folder; what is there already is not played again.

The file has the keys worlds and policies (lists of specs), runs and seed (a number or a list), and
if wanted horizons (a list of rounds), [parameters] (lists whose values take the place of {name} in
the specs), benchmark, points and imports.
"""

import argparse

from driftduel.cli.common import INTERRUPTED
from driftduel.cli.lab import add_engine, play_and_say, print_table

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
    add_engine(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play and print, or show the plan."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import read_plan
    from driftduel.lab.experiment import prepare

    plan = read_plan(arguments.file)
    cells = plan.select(arguments.only, arguments.shard)
    if arguments.dry_run:
        _show(plan, cells, arguments)
        return
    if not arguments.out:
        raise DriftduelError("say where the results go: --out DIR.")
    found = prepare(plan, arguments.out, replan=arguments.replan)
    code = play_and_say(found, cells, arguments, kept=True)
    if code != INTERRUPTED and found.store.done():
        print_table(found)
        print(f"\nresults: {arguments.out}   again: driftduel table {arguments.out}")
    if code:
        raise SystemExit(code)


def _show(plan, cells, arguments: argparse.Namespace) -> None:  # type: ignore[no-untyped-def]
    """Print the plan, cell by cell where it is short, and what it would cost."""
    from pathlib import Path

    from driftduel.cli.text import table
    from driftduel.lab import Store
    from driftduel.lab.engines.base import cores
    from driftduel.lab.estimate import estimate

    store = None
    if arguments.out and (Path(arguments.out) / "plan.json").exists():
        store = Store(arguments.out)
    found = estimate(cells, store)
    rows, seconds, rounds = [], 0.0, 0
    for world, policy, count, finished, each_rounds, each in found.iter_rows():
        left = count - finished
        seconds += left * (each or 0.0)
        rounds += left * each_rounds
        cost = "-" if each is None else _time(left * each)
        rows.append((world, policy, f"{count:,}", f"{finished:,}", f"{each_rounds:,}", cost))
    print(
        table(rows, ("world", "policy", "cells", "finished", "rounds each", "takes"), right="2345")
    )
    workers = arguments.workers or cores()
    finished = int(found["finished"].sum())
    print(f"\n{len(cells):,} cells, {finished:,} finished; {rounds:,} rounds to play")
    print(f"cells are named like   {cells[0].id}")
    print(
        f"estimate               {_time(seconds / workers)} with {workers} workers "
        f"that nobody else uses (from {'finished cells, or ' if store else ''}a trial of each)"
    )


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h"
