"""Run the main job on a world that changes: eight policies, a table with intervals, a report."""

import argparse

from driftduel._defaults import RUNS
from driftduel.cli.common import add_wide

__all__ = ["configure", "run"]

_WORLD = "geometric-btl:arms=10,rounds=50000,phases=4,change=winner"
_POLICIES = (
    "king",
    "sw-dts:window=3000",
    "dts",
    "rucb",
    "dex3s",
    "mdb",
    "anaconda:constant=0.5",
    "uniform",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", default="demo", metavar="DIR", help="where results go (demo)")
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"games of each ({RUNS})"
    )
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compare, print, report, and say what to do next."""
    from pathlib import Path

    from driftduel.cli.lab import playing, print_table
    from driftduel.cli.report import say
    from driftduel.lab import compare
    from driftduel.report import write_report

    print(
        "Ten options; which one is preferred changes three times, at rounds nobody is told.\n"
        f"{len(_POLICIES)} policies play the same {arguments.runs} games of 50,000 duels. "
        "The first time takes longer: each is compiled once.\n",
        flush=True,
    )
    with playing(kept=True) as (display, played):
        compare(
            _POLICIES, _WORLD, arguments.runs, out=arguments.out, replan=_is_demo(arguments.out),
            watch=display,
        )  # fmt: skip
    if played.code or played.results is None:
        raise SystemExit(played.code)
    print_table(played.results)
    page = write_report(played.results, progress=say)
    driftduel = ".venv/bin/driftduel" if Path(".venv/bin/driftduel").exists() else "driftduel"
    seed = played.results.games.filter(policy=_POLICIES[0])["game_seed"][0]
    print(f"""
look at:  {page}   (open it in a browser: who won, by how much, how sure)
          {page.parent / "figures"}   (the same for a paper)
try:      {driftduel} compare --world seasonal:arms=5,rounds=1e5 --policy dts --policy rucb
          {driftduel} play --policy {_POLICIES[0]} --world {_WORLD} --seed {seed}
          {driftduel} policies        {driftduel} worlds""")


def _is_demo(folder: str) -> bool:
    """Tell whether a folder holds an earlier demo, which this one may go on from."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import Store

    try:
        worlds = Store(folder).plan.worlds
    except DriftduelError:
        return False
    return [world.spec for world in worlds] == [_WORLD]
