"""Compare eight policies in a non-stationary world: a table with intervals, and a page."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftduel._internal.defaults import RUNS
from driftduel._internal.wording import listed
from driftduel.cli.common import add_wide

if TYPE_CHECKING:
    from pathlib import Path

    from driftduel.lab import Results

__all__ = ["configure", "run"]

_WORLD = "geometric-btl:arms=10,rounds=50000,phases=4,change=winner"
# Rivals with a parameter are tuned in hindsight, because any fixed value would be biased for or
# against them. No value of delta works for MDB at this horizon: with the default, delta=0.3, all
# rounds are forced exploration.
_SETTINGS = {
    "sw-dts": ("window", ("300", "1000", "3000", "10000", "30000")),
    "mdb": ("delta", ("0.3", "0.5", "0.7", "0.9")),
}
_POLICIES = (
    "king", "sw-dts", "dts", "rucb", "dex3s", "mdb", "anaconda:constant=0.5", "uniform",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", default="demo", metavar="DIR", help="folder of results (demo)")
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"games of each policy ({RUNS})"
    )
    add_wide(parser)


def run(arguments: argparse.Namespace) -> None:
    """Tune two rivals, compare, print the table, write the page, and suggest commands."""
    from pathlib import Path

    from driftduel.cli.lab import print_table
    from driftduel.cli.report import print_step
    from driftduel.cli.text import wrapped
    from driftduel.lab import weak_spots
    from driftduel.report import write_report

    print(
        "Ten options; the preferred one changes three times, in unknown rounds.\n"
        f"{len(_POLICIES)} policies play the same {arguments.runs} games of 50,000 duels. "
        "The first run takes longer, because every policy is compiled once.\n",
        flush=True,
    )
    # The policy that compiles fastest plays first: a first result after some seconds.
    untuned = [policy for policy in reversed(_POLICIES) if policy not in _SETTINGS]
    _play(untuned, arguments.runs, Path(arguments.out))
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
        results, labels=labels, width="page", legend="outside", remarks=remarks, progress=print_step
    )
    driftduel = _command()
    seed = results.games.filter(policy=policies[0])["game_seed"][0]
    print(f"""
look at:  {page}   (open it in a browser: the winner, its lead, the confidence)
          {page.parent / "figures"}   (figures for a paper)
try:      {driftduel} compare --world seasonal:arms=5,rounds=1e5 --policy dts --policy rucb
          {driftduel} play --policy {policies[0]} --world {_WORLD} --seed {seed}
          {driftduel} policies        {driftduel} worlds""")


def _play(policies: Sequence[str], runs: int, out: "Path") -> "Results":
    """Play the missing games of a folder; exit if some fail or the user interrupts."""
    import warnings

    from driftduel.cli.lab import play_with_progress
    from driftduel.errors import WeakSpotWarning
    from driftduel.lab import compare

    with warnings.catch_warnings(), play_with_progress(kept=True) as (display, played):
        warnings.simplefilter("ignore", WeakSpotWarning)  # the page and the table show them
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
        f"Tuned in hindsight on the same games: the best of {len(values)} values of {key} "
        f"({listed(values, last='or')})."
    )


def _command() -> str:
    """Return the name of this program: a relative path if it is below the current folder."""
    import sys
    from pathlib import Path

    script = Path(sys.prefix) / "bin" / "driftduel"
    if script.exists() and script.is_relative_to(Path.cwd()):
        return str(script.relative_to(Path.cwd()))
    return "driftduel"


def _is_demo(folder: "Path") -> bool:
    """Return whether a folder contains an earlier demo, which can be resumed."""
    from driftduel.errors import DriftduelError
    from driftduel.lab import Store

    try:
        worlds = Store(folder).plan.worlds
    except DriftduelError:
        return False
    return [world.spec for world in worlds] == [_WORLD]
