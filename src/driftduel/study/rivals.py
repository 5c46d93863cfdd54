"""Experiment 7, the rivals: who wins where, and from which horizon on ANACONDA overtakes."""

import numpy as np
import polars as pl

from driftduel.lab import Plan, make_plan
from driftduel.lab.statistics import t_interval
from driftduel.specs import Spec
from driftduel.study.common import (
    MODULE,
    Chart,
    Claim,
    Panel,
    Section,
    Size,
    Table,
    begins,
    interval,
    number,
    rounds_text,
)
from driftduel.study.fits import label, line, mean_of, over

__all__ = ["NAME", "analyse", "overtaking", "plans"]

NAME = "rivals"
WORLDS = {
    "two arms swap (Example 2.1)": "two-arm:rounds={T}",
    "total order, K = 3": "total-order:arms=3,rounds={T},phases=5,p=0.9",
    "geometric BTL, K = 10": "geometric-btl:arms=10,rounds={T},phases=4",
    "random Condorcet, K = 5": "random-condorcet:arms=5,rounds={T},phases=5",
    "noise among losers, K = 3": "study-noise:rounds={T},phases=5,every=1000",
    "slow drift, K = 4": "study-drift:rounds={T},swings=8",
}
OURS = "anaconda:constant=0.5"
_FAST = ("uniform", "mdb", "wss", "rucb")
_MIDDLE = ("dex3s",)
_SLOW = ("dts", "sw-dts")
# Horizon: (runs, runs of DEX3.S, runs of DTS and its window), 0 where they take too long.
_SIZES: dict[Size, dict[int, tuple[int, int, int]]] = {
    "tiny": {3_000: (2, 2, 2), 10_000: (2, 2, 0)},
    "quick": {10_000: (4, 4, 4), 100_000: (4, 4, 4), 1_000_000: (3, 3, 0)},
    "full": {
        10_000: (20, 20, 20), 100_000: (20, 20, 20), 1_000_000: (10, 10, 6),
        10_000_000: (6, 4, 2), 100_000_000: (3, 0, 0),
    },
}  # fmt: skip


def plans(size: Size) -> list[Plan]:
    """Return, for each horizon, one plan for each speed of policy."""
    made = []
    for rounds, counts in _SIZES[size].items():
        worlds = [world.format(T=rounds) for world in WORLDS.values()]
        for runs, policies in zip(counts, ((OURS, *_FAST), _MIDDLE, _SLOW), strict=True):
            if runs:
                made.append(make_plan(worlds, policies, runs, (1,), imports=(MODULE,)))
    return made


def overtaking(
    ours: dict[float, dict[int, float]], rival: dict[float, dict[int, float]]
) -> tuple[str, float | None]:
    """Say from which horizon on our regret is below a rival's; and the last ratio of the two.

    Parameters
    ----------
    ours, rival
        By horizon and run, the regret. Runs share their luck, so differences are paired.
    """
    horizons = sorted(ours.keys() & rival.keys())
    below, last = [], None
    for t in horizons:
        runs = sorted(ours[t].keys() & rival[t].keys())
        pair = [np.array([each[t][run] for run in runs]) for each in (ours, rival)]
        ends = t_interval(pair[0] - pair[1])
        below.append(ends is not None and ends[1] < 0)
        last = float(pair[0].mean() / pair[1].mean()) if pair[1].mean() > 0 else None
    return begins(horizons, below), last


def _sorted_out(said: dict[str, str]) -> str:
    """Say whom it overtakes and from where on, and whom never."""
    won = [
        f"{label(rival)} ({verdict.removeprefix('begins at ').replace('holds', 'always')})"
        for rival, verdict in said.items()
        if verdict.startswith(("holds", "begins"))
    ]
    never = [label(rival) for rival, verdict in said.items() if verdict.startswith("not seen")]
    text = f"less regret than {', '.join(won)}" if won else "less regret than nobody"
    return f"{text}; never than {', '.join(never)}" if never else text


def analyse(games: pl.DataFrame) -> Section:
    """Find the winner of each world at each horizon, and where ANACONDA overtakes."""
    rivals = (*_FAST, *_MIDDLE, *_SLOW)
    panels, claims, best, ratios = [], [], [], []
    for name, pattern in WORLDS.items():
        kind = Spec.parse(pattern.replace("{T}", "10")).name
        here = games.filter(pl.col("world").str.starts_with(kind + ":"))
        table: dict[str, dict[float, dict[int, float]]] = {}
        for row in here.iter_rows(named=True):
            at = table.setdefault(row["policy"], {}).setdefault(float(row["rounds"]), {})
            at[row["run"]] = row["regret"]
        lines = []
        for style, policy in enumerate((OURS, *rivals)):
            xs, samples = over(here.filter(policy=policy), lambda row: row["rounds"])
            lines.append(line(label(policy), xs, samples, style))
        panels.append(Panel(name, "horizon T", "dynamic regret", lines))
        cells, said = [name], []
        for rival in rivals:
            verdict, last = overtaking(table[OURS], table[rival])
            end = rounds_text(max(table[rival]))
            cells.append(f"{verdict} ({number(last)} at {end})")
            said.append(verdict)
        ratios.append(cells)
        for t in sorted({t for each in table.values() for t in each}):
            means = {p: mean_of(list(each[t].values())) for p, each in table.items() if t in each}
            order = sorted(means, key=lambda p: means[p].value)
            first, ours = means[order[0]], means[OURS]
            best.append(
                [
                    name, rounds_text(t), label(order[0]), number(first.value),
                    interval(first.low, first.high), number(ours.value),
                    f"{order.index(OURS) + 1} of {len(order)}",
                ]
            )  # fmt: skip
        wins = sum(verdict.startswith(("holds", "begins")) for verdict in said)
        claims.append(
            Claim(
                "no claim of the paper's",
                f"ANACONDA (C = 0.5) overtakes its rivals: {name}",
                _sorted_out(dict(zip(rivals, said, strict=True))),
                "paired, 95 %",
                "holds"
                if wins == len(said)
                else f"not seen up to T = {rounds_text(max(table[OURS]))}: {wins} of {len(said)}",
            )
        )
    text = (
        "Six worlds; MDB and DEX3.S are told the true number of switches of the winner, the "
        "sliding window its default of 5,000 answers, ANACONDA only T. Runs share their luck, so "
        "who is better is decided by paired differences."
    )
    tables = [
        Table(
            "From which horizon on ANACONDA (C = 0.5) has less regret than each rival",
            ["world", *(label(rival) for rival in rivals)], ratios,
            "In brackets: its regret over the rival's, at the longest horizon both played.",
        ),
        Table(
            "Who wins",
            ["world", "T", "least regret", "regret", "95 % interval", "ANACONDA's", "its place"],
            best,
        ),
    ]  # fmt: skip
    left = "; ".join(
        f"{label(p)} ends at T = {rounds_text(float(games.filter(policy=p)['rounds'].max()))}"  # type: ignore[arg-type]
        for p in (*_MIDDLE, *_SLOW)
    )
    chart = Chart("rivals", "ANACONDA and its rivals in six worlds", panels)
    return Section(
        7, "Against the rivals", text, claims, tables, [chart],
        f"{left}; beyond, they are too slow for the time this study has.",
    )  # fmt: skip
