"""Experiment 3, significant switches: many changes of the winner, few that matter."""

import math

import polars as pl

from driftduel._internal.wording import decimals, rough
from driftduel.lab import Plan, make_plan
from driftduel.measures import measure
from driftduel.worlds import make_world
from research.study.common import (
    FLAT,
    MODULE,
    Chart,
    Claim,
    Panel,
    Section,
    Size,
    Table,
    interval,
    rounds_text,
)
from research.study.fits import (
    Floats,
    exponent_claim,
    flat_claim,
    label,
    line,
    mean_of,
    over,
    setting as of,
)

__all__ = ["NAME", "analyse", "plans"]

NAME = "significant"
POLICIES = ("anaconda:constant=0.5", "anaconda:constant=1", "uniform")
SEVERE = 3
# (horizon, runs, flips in each phase, severe switches of the other family)
_SIZES: dict[Size, tuple[int, int, tuple[int, ...], tuple[int, ...]]] = {
    "tiny": (3_000, 2, (0, 3), (3, 15)),
    "quick": (1_000_000, 4, (0, 3, 15, 63), (3, 15, 63)),
    "full": (100_000_000, 4, (0, 3, 15, 63, 511), (3, 7, 15, 63, 255)),
}


def plans(size: Size) -> list[Plan]:
    """Return two families: the winner changes by a hair, and it changes by much."""
    rounds, runs, flips, severe = _SIZES[size]
    worlds = [f"study-flips:rounds={rounds},severe={SEVERE},flips={n}" for n in flips]
    worlds += [f"study-flips:rounds={rounds},severe={n},flips=0" for n in severe if n != SEVERE]
    return [make_plan(worlds, POLICIES, runs, (1,), imports=(MODULE,))]


def analyse(games: pl.DataFrame) -> Section:
    """Fit regret against S^CW in both families."""
    rounds = float(games["rounds"][0])
    measured = {w: measure(make_world(w, 0)) for w in games["world"].unique(maintain_order=True)}
    measured = dict(sorted(measured.items(), key=lambda pair: pair[1].condorcet_switches or 0))
    by_hair = [w for w in measured if int(of(w, "severe")) == SEVERE]
    by_much = [w for w in measured if int(of(w, "flips")) == 0]
    claims, panels, rows = [], [], []

    def switches(row: dict[str, str]) -> float:
        return float(measured[row["world"]].condorcet_switches or 0) + 1

    for worlds, title, severe in (
        (by_hair, f"{SEVERE} switches are significant, the others not", False),
        (by_much, "every switch is significant", True),
    ):
        lines = []
        chosen = games.filter(pl.col("world").is_in(worlds))
        uniform = over(chosen.filter(policy="uniform"), switches)[1]
        for style, policy in enumerate(POLICIES):
            part = chosen.filter(policy=policy)
            xs, samples = over(part, switches)
            _, restarts = over(part, switches, "restarts")
            lines.append(line(label(policy), xs, samples, style))
            if policy != "uniform":
                claims.append(_claim(policy, severe, xs, samples, uniform, rounds))
            for world, sample, again in zip(worlds, samples, restarts, strict=True):
                measures, mean = measured[world], mean_of(sample)
                rows.append(
                    [
                        label(policy), str(measures.condorcet_switches),
                        str(measures.significant_switches), rough(mean.value),
                        interval(mean.low, mean.high), rough(float(again.mean())),
                    ]
                )  # fmt: skip
        panels.append(Panel(title, "phases, S^CW + 1", "dynamic regret", lines))
    length = of(by_hair[0], "length")
    lead = 1 / (1 + math.exp(-of(by_hair[0], "lead"))) - 0.5
    head = ["policy", "S^CW", "significant", "regret", "95% interval", "restarts"]
    text = (
        "Four arms with logistic utilities (SST and STI hold), in two pairs. In the first family "
        f"the better pair changes {SEVERE} times, and within it the lead of {decimals(lead)} in "
        f"probability turns round for {length} rounds again and again: two switches of the winner "
        "each time, none "
        "significant. In the second every switch is one of pairs, and significant. Significant "
        "switches are counted exactly, by the definition of the paper's Section 2.2."
    )
    title = f"Switches that matter and switches that do not, T = {rounds_text(rounds)}"
    chart = Chart("significant", title, panels, "Bands are 95% intervals over runs.")
    return Section(3, "Significant switches", text, claims, [Table(title, head, rows)], [chart])


def _claim(
    policy: str,
    severe: bool,
    xs: list[float],
    samples: list[Floats],
    uniform: list[Floats],
    rounds: float,
) -> Claim:
    most = [float(each.mean()) for each in uniform]
    if severe:
        return exponent_claim(
            "Theorem 5.1",
            f"regret grows at most like (S + 1)^0.5 in significant switches ({label(policy)})",
            xs, samples, most, 0.5, rounds,
        )  # fmt: skip
    return flat_claim(
        "Theorem 5.1",
        f"regret does not grow, by a factor of {FLAT}, with phases whose switches are not "
        f"significant ({label(policy)})",
        xs, samples, most, rounds,
    )  # fmt: skip
