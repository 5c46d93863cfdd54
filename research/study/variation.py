"""Experiment 4, variation: slow drift, in the winner's row and outside it."""

import polars as pl

from driftduel._internal.wording import rough
from driftduel.lab import Plan, make_plan
from driftduel.measures import measure
from driftduel.worlds import make_world
from research.study.common import (
    FLAT,
    MODULE,
    Chart,
    Panel,
    Section,
    Series,
    Size,
    Table,
    interval,
    rounds_text,
)
from research.study.fits import (
    exponent_claim,
    flat_claim,
    label,
    line,
    mean_of,
    over,
    setting as of,
)

__all__ = ["NAME", "analyse", "plans"]

NAME = "variation"
POLICIES = ("anaconda:constant=0.5", "anaconda:constant=1", "uniform")
# (horizon, runs, swings of the contenders, swings of the losers, horizons of the third sweep)
_SIZES: dict[Size, tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "tiny": (3_000, 2, (2, 8), (4, 16), (3_000, 10_000)),
    "quick": (1_000_000, 4, (1, 4, 16), (4, 16, 64), (100_000, 1_000_000, 10_000_000)),
    "full": (
        100_000_000, 4, (1, 2, 4, 8, 16, 32), (4, 8, 16, 32, 64),
        (100_000, 1_000_000, 10_000_000, 100_000_000),
    ),
}  # fmt: skip
_SWINGS = 4


def plans(size: Size) -> list[Plan]:
    """Return three sweeps: the CW variation at fixed V, V at fixed CW variation, and T."""
    rounds, runs, swings, noise, horizons = _SIZES[size]
    most = max(*swings, *noise)
    sweeps = [
        [f"study-drift:rounds={rounds},swings={n},noise={most}" for n in swings],
        [f"study-drift:rounds={rounds},swings={_SWINGS},noise={n}" for n in noise],
    ]
    made = [make_plan(worlds, POLICIES, runs, (1,), imports=(MODULE,)) for worlds in sweeps]
    for horizon in horizons:
        few = max(2, runs // 2) if horizon > rounds else runs
        world = f"study-drift:rounds={horizon},swings={_SWINGS}"
        made.append(make_plan([world], POLICIES, few, (1,), imports=(MODULE,)))
    return made


def analyse(games: pl.DataFrame) -> Section:
    """Fit regret against each of the three."""
    measured = {
        world: measure(make_world(world, 0), significance=None)
        for world in games["world"].unique(maintain_order=True)
    }
    claims, panels, rows = [], [], []
    for number_of, (choose, name, x_label, limit, source, fixed) in enumerate(
        (
            (pl.col("plan") == 0, "CW variation", "CW variation", 1 / 3, "Corollary 5.1", "V"),
            (pl.col("plan") == 1, "V", "total variation V", 0.0, "Remark 5.3", "CW variation"),
            (pl.col("plan") > 1, "T", "horizon T", 2 / 3, "Corollary 5.1", "CW variation"),
        )
    ):

        def x_of(row: dict[str, str], which: int = number_of) -> float:
            measures = measured[row["world"]]
            variations = (measures.condorcet_variation, measures.total_variation, measures.rounds)
            return float(f"{variations[which] or 0.0:.4g}")

        frame = games.filter(choose)
        uniform = over(frame.filter(policy="uniform"), x_of)[1]
        lines = []
        xs: list[float] = []
        for style, policy in enumerate(POLICIES):
            part = frame.filter(policy=policy)
            xs, samples = over(part, x_of)
            lines.append(line(label(policy), xs, samples, style))
            for x, sample in zip(xs, samples, strict=True):
                mean = mean_of(sample)
                row = [f"{name} = {rough(x) if name != 'T' else rounds_text(x)}", label(policy)]
                rows.append([*row, rough(mean.value), interval(mean.low, mean.high)])
            if policy == "uniform":
                continue
            # In T, the last step counts: the first horizons are too short to learn anything.
            near = slice(-2, None) if name == "T" else slice(None)
            most = [float(each.mean()) for each in uniform]
            longest = float(frame["rounds"].max())  # type: ignore[arg-type]
            if limit:
                claims.append(
                    exponent_claim(
                        source,
                        f"regret grows at most like ({name})^{limit:.2g} at fixed {fixed} "
                        f"({label(policy)})",
                        xs[near], samples[near], most[near], limit, longest,
                        least=2 if name == "T" else 3,
                    )
                )  # fmt: skip
                continue
            claims.append(
                flat_claim(
                    source,
                    f"regret does not grow, by a factor of {FLAT}, with {name} at fixed {fixed} "
                    f"({label(policy)})",
                    xs, samples, most, longest,
                )
            )  # fmt: skip
        if limit:
            middle = lines[0]
            guide = [middle.y[-1] * (x / xs[-1]) ** limit for x in xs]
            slope_name = f"slope {limit:.2g}, the paper's"
            lines.append(Series(slope_name, xs, guide, kind="guide", style=1 + number_of))
        panels.append(Panel(f"against {name}, {fixed} fixed", x_label, "dynamic regret", lines))
    world = games["world"][0]
    text = (
        f"Four arms. Two contenders drift past each other, with gaps up to {of(world, 'swing')}, "
        f"and beat the two others by {of(world, 'lead')}; these drift past each other "
        "as well. SST and STI hold in every round. The contenders alone make the CW "
        "variation; the faster pair makes V. So V can reach regret only through duels between two "
        "losers, which decide almost nothing: a mild test of V, as runs share their outcome draws; "
        "section 2 is the harder one."
    )
    table = Table(
        "Slow drift", ["where", "policy", "regret", "95% interval"], rows,
        f"The sweep over T has {_SWINGS} swings and losers that stand still.",
    )  # fmt: skip
    chart = Chart(
        "variation", "Regret under slow drift", panels, "Bands are 95% intervals over runs."
    )
    return Section(4, "Variation", text, claims, [table], [chart])
