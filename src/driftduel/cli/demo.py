"""Run the main job on a world that changes: eight policies, a table with intervals, a report."""

import argparse

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
_RUNS = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", default="demo", metavar="DIR", help="where results go (demo)")
    parser.add_argument("--runs", type=int, default=_RUNS, metavar="N", help="games of each (20)")
    parser.set_defaults(engine=None, workers=None, cluster=None)


def run(arguments: argparse.Namespace) -> None:
    """Compare, print, report, and say what to do next."""
    from pathlib import Path

    from driftduel.cli.lab import play_and_say, print_table
    from driftduel.cli.report import say
    from driftduel.lab import make_plan
    from driftduel.lab.experiment import prepare
    from driftduel.report import write_report

    print(
        "Ten options; which one is preferred changes three times, at rounds nobody is told.\n"
        f"{len(_POLICIES)} policies play the same {arguments.runs} games of 50,000 duels. "
        "The first time takes longer: each is compiled once.\n",
        flush=True,
    )
    plan = make_plan([_WORLD], _POLICIES, arguments.runs)
    found = prepare(plan, arguments.out, replan=_is_demo(arguments.out))
    code = play_and_say(found, list(plan.cells()), arguments, kept=True)
    if code:
        raise SystemExit(code)
    print_table(found)
    page = write_report(found, progress=say)
    driftduel = ".venv/bin/driftduel" if Path(".venv/bin/driftduel").exists() else "driftduel"
    seed = found.games.filter(policy=_POLICIES[0])["game_seed"][0]
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
