"""Run the main job on a changing world: eight policies, a table with intervals, a report."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftduel._defaults import RUNS
from driftduel.cli.common import add_wide
from driftduel.wording import listed

if TYPE_CHECKING:
    from pathlib import Path

    from driftduel.lab import Results

__all__ = ["configure", "run"]

_WORLD = "geometric-btl:arms=10,rounds=50000,phases=4,change=winner"
# Rivals with a setting play at the best of these in hindsight: any one setting, chosen here, would
# be too good or too bad for them. MDB has none at which it works: with delta=0.3, its default, it
# monitors in all of so few rounds.
_SETTINGS = {
    "sw-dts": ("window", ("300", "1000", "3000", "10000", "30000")),
    "mdb": ("delta", ("0.3", "0.5", "0.7", "0.9")),
}
_POLICIES = (
    "king", "sw-dts", "dts", "rucb", "dex3s", "mdb", "anaconda:constant=0.5", "uniform",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", default="demo", metavar="DIR", help="where results go (demo)")
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"games of each ({RUNS})"
    )
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Tune two rivals, compare, print, report, and suggest what to do next."""
    from pathlib import Path

    from driftduel.cli.lab import print_table
    from driftduel.cli.report import say
    from driftduel.cli.text import wrapped
    from driftduel.lab.weak_spots import weak_spots
    from driftduel.report import write_report

    print(
        "Ten options; which one is preferred changes three times, in unknown rounds.\n"
        f"{len(_POLICIES)} policies play the same {arguments.runs} games of 50,000 duels. "
        "The first time takes longer: each is compiled once.\n",
        flush=True,
    )
    specs = {rival: _specs(rival) for rival in _SETTINGS}
    tried = _play(sum(specs.values(), ()), arguments.runs, Path(arguments.out))
    best = {rival: _best(tried, settings) for rival, settings in specs.items()}
    policies = [best.get(policy, policy) for policy in _POLICIES]
    results = _play(policies, arguments.runs, Path(arguments.out))
    print_table(results)
    remarks = {best[rival]: _remark(rival) for rival in _SETTINGS}
    (world,) = results.plan.worlds
    for row in results.summary.iter_rows(named=True):
        size = world.arms, world.rounds, row["switches_mean"]
        own = weak_spots(row["policy"], row["told"], *size)
        remark = f"{remarks.get(row['policy'], '')} {own}".strip()
        if remark:
            print(wrapped(f"{row['policy']}: {remark}"))
    labels = {
        best[rival]: f"{rival} (best of {len(values)} {key}s)"
        for rival, (key, values) in _SETTINGS.items()
    }
    page = write_report(
        results, labels=labels, width="page", legend="outside", remarks=remarks, progress=say
    )
    driftduel = _command()
    seed = results.games.filter(policy=policies[0])["game_seed"][0]
    print(f"""
look at:  {page}   (open it in a browser: the winner, by how much, how sure)
          {page.parent / "figures"}   (the same for a paper)
try:      {driftduel} compare --world seasonal:arms=5,rounds=1e5 --policy dts --policy rucb
          {driftduel} play --policy {policies[0]} --world {_WORLD} --seed {seed}
          {driftduel} policies        {driftduel} worlds""")


def _play(policies: Sequence[str], runs: int, out: "Path") -> "Results":
    """Play the games that a folder does not have yet; exit if some fail or the user stops."""
    import warnings

    from driftduel.cli.lab import playing
    from driftduel.errors import WeakSpotWarning
    from driftduel.lab import compare

    with warnings.catch_warnings(), playing(kept=True) as (display, played):
        warnings.simplefilter("ignore", WeakSpotWarning)  # the page and the table have them
        compare(policies, _WORLD, runs, out=out, replan=_is_demo(out), watch=display)
    if played.code or played.results is None:
        raise SystemExit(played.code)
    return played.results


def _specs(rival: str) -> tuple[str, ...]:
    key, values = _SETTINGS[rival]
    return tuple(f"{rival}:{key}={value}" for value in values)


def _best(tried: "Results", settings: Sequence[str]) -> str:
    """Return the setting with the lowest mean regret."""
    rows = tried.summary.filter(tried.summary["policy"].is_in(settings)).sort("regret_mean")
    return str(rows["policy"][0])


def _remark(rival: str) -> str:
    key, values = _SETTINGS[rival]
    return (
        f"Tuned in hindsight, on these same games: the best of {len(values)} values of {key} "
        f"({listed(values, last='or')})."
    )


def _command() -> str:
    """Return how to run the command again: its path if that is below the current folder."""
    import sys
    from pathlib import Path

    script = Path(sys.prefix) / "bin" / "driftduel"
    if script.exists() and script.is_relative_to(Path.cwd()):
        return str(script.relative_to(Path.cwd()))
    return "driftduel"


def _is_demo(folder: "Path") -> bool:
    """Return whether a folder holds an earlier demo, which this one may go on from."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import Store

    try:
        worlds = Store(folder).plan.worlds
    except DriftduelError:
        return False
    return [world.spec for world in worlds] == [_WORLD]
