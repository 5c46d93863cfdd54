"""Experiment 1, the rate: dynamic regret against T, S^CW and K."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from driftduel._internal.wording import decimals, rough, share
from driftduel.lab import Plan, make_plan
from driftduel.measures import bounds
from research.study.common import (
    Chart,
    Claim,
    Panel,
    Section,
    Series,
    Size,
    Table,
    begins,
    interval,
    rounds_text,
)
from research.study.fits import (
    Slope,
    bound_slope,
    exponent_claim,
    label,
    line,
    local_slopes,
    mean_of,
    over,
    setting as of,
    slope,
    unsaturated,
)

__all__ = ["NAME", "analyse", "plans"]

NAME = "rate"
POLICIES = (
    "anaconda:constant=0.25",
    "anaconda:constant=0.5",
    "anaconda:constant=1",
    "anaconda:rule=freedman",
)
GAP = 0.4
PHASES = 5
STEEP = 0.6
"""A local slope below this is called square-root like; `bound_slope` is what the theorem allows."""

# Horizon: (runs, numbers of arms). Long games get fewer runs and fewer arms.
_SIZES: dict[Size, dict[int, tuple[int, tuple[int, ...]]]] = {
    "tiny": {3_000: (2, (2, 3)), 10_000: (2, (2, 3))},
    "quick": {
        100_000: (6, (2, 3, 5)), 1_000_000: (4, (2, 3, 5)), 10_000_000: (3, (2, 3)),
    },
    "full": {
        100_000: (40, (2, 3, 5)), 1_000_000: (20, (2, 3, 5)), 10_000_000: (10, (2, 3, 5)),
        100_000_000: (5, (2, 3, 5)), 1_000_000_000: (4, (2,)),
    },
}  # fmt: skip
# (horizon, runs, phases beside PHASES, arms beside 2): the sweeps over S^CW and over K.
_SWEEPS: dict[Size, tuple[int, int, tuple[int, ...], tuple[int, ...]]] = {
    "tiny": (3_000, 2, (2,), (4,)),
    "quick": (1_000_000, 4, (2, 9, 17), (3, 5, 8)),
    "full": (100_000_000, 4, (2, 3, 9, 17, 33), (3, 5, 8)),
}


def _world(arms: int, rounds: int, phases: int = PHASES) -> str:
    return f"total-order:arms={arms},rounds={rounds},phases={phases},p={0.5 + GAP}"


def plans(size: Size) -> list[Plan]:
    """Return one plan for each horizon, and one each for S^CW and K."""
    made = [
        make_plan([_world(k, rounds) for k in arms], POLICIES, runs, (1,))
        for rounds, (runs, arms) in _SIZES[size].items()
    ]
    rounds, runs, phases, arms = _SWEEPS[size]
    made.append(make_plan([_world(2, rounds, n) for n in (PHASES, *phases)], POLICIES, runs, (1,)))
    made.append(make_plan([_world(k, rounds) for k in (2, *arms)], POLICIES, runs, (1,)))
    return made


def analyse(games: pl.DataFrame) -> Section:
    """Fit slopes, and judge them."""
    sweeps = sorted(games["plan"].unique())
    by_horizon = games.filter(pl.col("plan").is_in(sweeps[:-2]))
    by_switches, by_arms = (games.filter(plan=each) for each in sweeps[-2:])
    arms = sorted(by_horizon["arms"].unique())
    claims, tables, panels = [], [], []
    for k in arms:
        panel, table, more = _against_horizon(by_horizon.filter(arms=k), k)
        panels.append(panel)
        tables.append(table)
        claims += more
    claims.append(_bound_claim(by_horizon))
    shapes, sweeps_of = [], []
    for frame, x, x_label, limit, source, what in (
        (by_switches, "switches", "phases, S^CW + 1", 0.5, "Corollary 3.1", "(S^CW + 1)"),
        (by_arms, "arms", "number of arms K", 1.0, "Theorem 3.1", "K"),
    ):
        panel, table, more = _against(frame, x, x_label, limit, source, what)
        shapes.append(panel)
        sweeps_of.append(table)
        claims += more
    text = (
        f"Worlds of {PHASES} equal phases (S^CW = {PHASES - 1}); in each, a new random order in "
        f"which the better arm of any two wins with probability {0.5 + GAP}. Every horizon is a "
        f"separate set of games with that horizon as parameter. The upper bound is drawn without "
        f"its constant and its log^3 T, the lower bound without its constant: only their slopes "
        f"count. Uniform play is exact."
    )
    charts = [
        Chart(
            "rate-horizon", "Regret against the horizon, beside uniform play and the bounds",
            panels, "Bands are 95% intervals over runs.",
        ),
        Chart(
            "rate-switches-arms", "Regret against the number of phases, and of arms", shapes,
            f"T = {rounds_text(by_arms['rounds'][0])}; left K = 2, right {PHASES} phases.",
        ),
    ]  # fmt: skip
    longest = {k: by_horizon.filter(arms=k)["rounds"].max() for k in arms}
    left = "; ".join(f"K = {k} ends at T = {rounds_text(float(t))}" for k, t in longest.items())  # type: ignore[arg-type]
    return Section(
        1,
        "The rate",
        text,
        claims,
        [*tables, *sweeps_of],
        charts,
        f"longer horizons, for time: {left}.",
    )


def _uniform(arms: int, rounds: float) -> float:
    """Return the regret of uniform play: each of two arms is not the winner in (K-1)/K."""
    return GAP * (arms - 1) / arms * rounds


def _against_horizon(frame: pl.DataFrame, k: int) -> tuple[Panel, Table, list[Claim]]:
    lines, rows, claims = [], [], []
    horizons: list[float] = []
    for style, policy in enumerate(POLICIES):
        chosen = frame.filter(policy=policy)
        horizons, samples = over(chosen, lambda row: row["rounds"])
        _, restarts = over(chosen, lambda row: row["rounds"], "restarts")
        steps = local_slopes(horizons, samples)
        lines.append(line(label(policy), horizons, samples, style))
        for i, t in enumerate(horizons):
            step = steps[i - 1] if i else None
            mean = mean_of(samples[i])
            rows.append(
                [
                    label(policy), rounds_text(t), str(mean.runs), rough(mean.value),
                    interval(mean.low, mean.high), share(mean.value / _uniform(k, t), 1),
                    rough(float(restarts[i].mean())), *_step(step),
                ]
            )  # fmt: skip
        claims.append(_slope_claim(policy, k, horizons, steps, float(restarts[-1].mean())))
    guides = [
        Series("uniform play", horizons, [_uniform(k, t) for t in horizons], kind="guide"),
        Series(
            "slope of K sum sqrt(tau), Theorem 3.1 (no constant, no log^3 T)", horizons,
            [_bounds(k, t)[0] for t in horizons], kind="guide", style=1,
        ),
        Series(
            "slope of the lower bound sqrt(K S^CW T)", horizons,
            [_bounds(k, t)[1] for t in horizons], kind="guide", style=2,
        ),
    ]  # fmt: skip
    panel = Panel(f"K = {k}", "horizon T", "dynamic regret", [*lines, *guides])
    head = [
        "policy", "T", "runs", "regret", "95% interval", "of uniform", "restarts",
        "slope from the T before", "its interval",
    ]  # fmt: skip
    note = f"The world has {PHASES - 1} switches; more restarts than that are needless."
    return panel, Table(f"K = {k}", head, rows, note), claims


def _step(step: Slope | None) -> list[str]:
    return ["", ""] if step is None else [decimals(step.value), interval(step.low, step.high)]


def _slope_claim(
    policy: str, k: int, horizons: list[float], steps: list[Slope | None], again: float
) -> Claim:
    known = [(t, step) for t, step in zip(horizons[:-1], steps, strict=True) if step is not None]
    source, wrong = _source("Theorem 3.1", policy), _false(again, PHASES - 1)
    below = [step.high is not None and step.high < STEEP for _, step in known]
    last = known[-1][1] if known else None
    return Claim(
        source,
        f"regret grows no faster than sqrt(T), up to logarithms: local slope below {STEEP} "
        f"(K = {k}, {label(policy)})",
        "-"
        if last is None
        else f"slope {decimals(last.value)} from T = {rounds_text(horizons[-2])} "
        f"to {rounds_text(horizons[-1])} (the bound's own: "
        f"{decimals(bound_slope(*horizons[-2:]))}), {rough(again)} restarts there",
        "-" if last is None else interval(last.low, last.high),
        wrong or begins([t for t, _ in known], below, up_to=horizons[-1]),
    )


def _source(paper: str, policy: str) -> str:
    return f"ours, after {paper}" if "freedman" in policy else paper


def _false(restarts: float, switches: float) -> str | None:
    """Return a verdict if a constant is so small that restarts hide the effect."""
    if restarts <= switches + 1:
        return None
    return f"undecided: {rough(restarts)} restarts where {switches:g} would do"


def _bounds(arms: int, rounds: float, phases: int = PHASES) -> tuple[float, float]:
    tau = [1 + int(i * rounds / phases) for i in range(1, phases)]
    theorem = bounds(arms, int(rounds), tau, tau, 0.0, logs=False)
    return theorem.phases, theorem.lower


def _bound_claim(frame: pl.DataFrame) -> Claim:
    """Compare with the theorem's right-hand side, constant 1, log^3 T included."""
    worst = (0.0, 0.0, 0.0, "")
    for (policy, k, t), group in frame.group_by("policy", "arms", "rounds", maintain_order=True):
        mean = mean_of(group["regret"].to_numpy())
        bound = _bounds(int(k), float(t))[0]
        ratio, cubed = (mean.high or mean.value) / bound, math.log(float(t)) ** 3
        where = f"{label(str(policy))}, K = {k}, T = {rounds_text(float(t))}"
        worst = max(worst, (ratio / cubed, ratio, float(t), where))
    needed, ratio, at, where = worst
    ends = [(int(k), float(t)) for k, t in frame.select("arms", "rounds").unique().iter_rows()]
    idle = all(_uniform(k, t) <= math.log(t) ** 3 * _bounds(k, t)[0] for k, t in ends)
    return Claim(
        "Theorem 3.1",
        "regret is at most c log^3(T) K sum sqrt(tau)",
        f"at most {rough(ratio)} times K sum sqrt(tau) ({where}), where log^3 T is "
        f"{rough(math.log(at) ** 3)}",
        f"c = {rough(needed)} is enough",
        f"not seen up to T = {rounds_text(at)}"
        if needed > 1
        else "undecided: uniform play stays below it too"
        if idle
        else "holds",
    )


def _against(
    frame: pl.DataFrame, x: str, x_label: str, limit: float, source: str, what: str
) -> tuple[Panel, Table, list[Claim]]:
    lines, claims, rows = [], [], []
    rounds = float(frame["rounds"][0])
    xs: Sequence[float] = []

    def place(row: dict[str, Any]) -> float:
        return float(of(row["world"], "phases" if x == "switches" else "arms"))

    for style, policy in enumerate(POLICIES):
        part = frame.filter(policy=policy)
        xs, samples = over(part, place)
        lines.append(line(label(policy), xs, samples, style))
        _, restarts = over(part, place, "restarts")
        uniform = [_uniform(2 if x == "switches" else int(each), rounds) for each in xs]
        claim = exponent_claim(
            _source(source, policy),
            f"regret grows at most like {what}^{limit:g} at T = {rounds_text(rounds)} "
            f"({label(policy)})",
            xs, samples, uniform, limit, rounds,
        )  # fmt: skip
        if x == "arms":
            places, runs = unsaturated(xs, samples, uniform)
            fitted = slope(places, [r * k / (k - 1) for r, k in zip(runs, places, strict=True)])
            if fitted is not None:
                adjusted = decimals(fitted.value)
                more = f"; {adjusted} once divided by (K - 1) / K, as uniform play's is"
                claim = replace(claim, measured=claim.measured + more)
        for at, sample, again, all_of in zip(xs, samples, restarts, uniform, strict=True):
            mean = mean_of(sample)
            rows.append(
                [
                    label(policy), f"{at:g}", str(mean.runs), rough(mean.value),
                    interval(mean.low, mean.high), share(mean.value / all_of, 1),
                    rough(float(again.mean())),
                ]
            )  # fmt: skip
        least = xs[0] - 1 if x == "switches" else PHASES - 1
        wrong = _false(float(restarts[0].mean()), least)
        claims.append(replace(claim, verdict=wrong) if wrong else claim)
    base = lines[1].y[0]
    guide = Series(
        f"slope {limit:g}, the paper's", list(xs), [base * (v / xs[0]) ** limit for v in xs],
        kind="guide", style=1 if limit < 1 else 2,
    )  # fmt: skip
    name = what.strip("()")
    head = ["policy", name, "runs", "regret", "95% interval", "of uniform", "restarts"]
    table = Table(f"Against {name}, T = {rounds_text(rounds)}", head, rows)
    return Panel(f"against {name}", x_label, "dynamic regret", [*lines, guide]), table, claims
