"""Experiment 6, cost of a constant: C, the replay rate, the estimate and the rule."""

import math

import polars as pl

from driftduel._internal.wording import decimals, rough, share
from driftduel.lab import Plan, make_plan
from driftduel.lab.statistics import count_false_alarms
from research.study.common import (
    NEAR_UNIFORM,
    Chart,
    Claim,
    Panel,
    Section,
    Size,
    Table,
    begins,
    interval,
    rounds_text,
)
from research.study.fits import Floats, label, line, mean_of, over, ratio

__all__ = ["NAME", "analyse", "plans"]

NAME = "constants"
CONSTANTS = ("0.15", "0.25", "0.5", "1", "2")
RATES = ("0.1", "0.3", "3")
_MIDDLE = "anaconda:constant=0.5"
_SYMMETRIC = tuple(f"anaconda:constant={c},estimate=symmetric" for c in ("0.25", "0.5", "1"))
_FREEDMAN = ("anaconda:rule=freedman", "anaconda:rule=freedman,estimate=symmetric")
POLICIES = (
    *(f"anaconda:constant={c}" for c in CONSTANTS),
    *(f"{_MIDDLE},replay_rate={rate}" for rate in RATES),
    *_SYMMETRIC,
    *_FREEDMAN,
    "uniform",
)
_GAP = 0.4
_ARMS = 3
# Horizon: runs.
_SIZES: dict[Size, dict[int, int]] = {
    "tiny": {3_000: 2, 10_000: 2},
    "quick": {100_000: 4, 1_000_000: 4},
    "full": {100_000: 20, 1_000_000: 12, 10_000_000: 6, 100_000_000: 3},
}


def plans(size: Size) -> list[Plan]:
    """Return one plan for each horizon."""
    return [
        make_plan(
            [f"total-order:arms={_ARMS},rounds={t},phases=5,p={0.5 + _GAP}"], POLICIES, runs, (1,)
        )
        for t, runs in _SIZES[size].items()
    ]


def enough(arms: int, rounds: float, window: float) -> float:
    """Return the least C with which the paper's proof lets no window so long err.

    Its Lemma A.1 (Freedman), applied as in Lemma A.2: R = K^2, V = 2 K^2 n for a window of n
    rounds, with probability 1 - 1/T^2 for all ordered pairs of arms, both signs and all windows at
    once. The paper itself prints no number. From n = K^2 on it falls in n; ``math.inf`` gives its
    limit.
    """
    log = math.log(arms**2 * rounds**4)
    rest = 0.0 if math.isinf(window) else arms * log / math.sqrt(max(window, arms**2))
    return (math.e - 1) * (math.sqrt(2 * log) + rest) / math.log(rounds)


def intro(horizons: list[float]) -> str:
    """Return a description of the games, and the C of the proof."""
    shortest, longest = (
        " and ".join(
            f"{decimals(enough(_ARMS, t, window), 1)} at T = {rounds_text(t)}"
            for t in (horizons[0], horizons[-1])
        )
        for window in (_ARMS**2, math.inf)
    )
    return (
        f"K = {_ARMS}, five phases, the better arm of any two wins with probability "
        f"{0.5 + _GAP}. Regret is shown as a share of what uniform play loses. The paper's C is "
        f"some constant, for which it prints no number. By its form of Freedman's inequality, with "
        f"all windows and pairs at once, windows of K^2 rounds need a C of about {shortest}; the "
        f"longer a window, the less, but even for the longest about {longest}."
    )


def _share(sample: Floats, rounds: float) -> Floats:
    """Return regret as a share of what uniform play loses on average."""
    return sample / (_GAP * (_ARMS - 1) / _ARMS * rounds)


def analyse(games: pl.DataFrame) -> Section:
    """Compare, horizon by horizon."""
    horizons = [float(t) for t in sorted(games["rounds"].unique())]
    by_policy = {}
    for policy in POLICIES:
        ts, samples = over(games.filter(policy=policy), lambda row: row["rounds"])
        by_policy[policy] = dict(zip(ts, samples, strict=True))
    sweeps = {
        "C": [(float(c), f"anaconda:constant={c}") for c in CONSTANTS],
        "replay rate": sorted(
            [(1.0, _MIDDLE)] + [(float(r), f"{_MIDDLE},replay_rate={r}") for r in RATES]
        ),
    }
    panels = []
    for name, entries in sweeps.items():
        lines = [
            line(
                f"T = {rounds_text(t)}", [x for x, _ in entries],
                [_share(by_policy[policy][t], t) for _, policy in entries], style,
            )
            for style, t in enumerate(horizons)
        ]  # fmt: skip
        title = "C" if name == "C" else "replay rate, C = 0.5"
        axis = "C of the elimination rule" if name == "C" else "replay rate (1 is the paper)"
        panels.append(
            Panel(
                title,
                axis,
                "regret / uniform play's",
                lines,
                y_log=False,
                level=1.0,
                level_name="uniform play",
            )
        )
    variants = (*_SYMMETRIC, *_FREEDMAN, _MIDDLE, "anaconda:constant=1")
    lines = [
        line(label(p), horizons, [_share(by_policy[p][t], t) for t in horizons], style + 1)
        for style, p in enumerate(variants)
    ]
    third = Panel(
        "estimate and rule", "horizon T", "regret / uniform play's", lines, y_log=False, level=1.0,
        level_name="uniform play",
    )  # fmt: skip
    claims = [_best_constant(by_policy, t) for t in horizons]
    claims += [_best_rate(by_policy, sweeps["replay rate"], horizons)]
    pairs = [
        (
            "the symmetric estimate (half the variance) costs less at the same C",
            _SYMMETRIC[1],
            _MIDDLE,
        ),
        (
            "the symmetric estimate with C = 0.25 costs less than the paper's with C = 0.5",
            _SYMMETRIC[0],
            _MIDDLE,
        ),
        ("the freedman rule costs less than C = 1", _FREEDMAN[0], "anaconda:constant=1"),
    ]
    claims += [_versus(text, by_policy, one, other, horizons) for text, one, other in pairs]
    charts = [
        Chart("constants", "What C and the replay rate cost", panels),
        Chart("constants-variants", "What the estimate and the rule cost", [third]),
    ]
    return Section(6, "What a constant costs", intro(horizons), claims, [_table(games)], charts)


def _table(games: pl.DataFrame) -> Table:
    rows = []
    for (rounds, policy), group in games.group_by("rounds", "policy", maintain_order=True):
        mean = mean_of(_share(group["regret"].to_numpy(), float(rounds)))
        pairs = zip(group["restarts"].to_list(), group["switches"].to_list(), strict=True)
        wrong = sum(count_false_alarms(*pair) for pair in pairs) / len(group)
        again = sum(len(each) for each in group["restarts"].to_list()) / len(group)
        rows.append(
            [
                rounds_text(float(rounds)), label(str(policy)), str(len(group)),
                rough(mean.value), interval(mean.low, mean.high), rough(again), rough(wrong),
            ]
        )  # fmt: skip
    head = ["T", "policy", "runs", "of uniform", "95% interval", "restarts", "needless"]
    return Table("Every constant at every horizon", head, rows)


def statement(t: float) -> str:
    """Return the claim about C = 2."""
    return (
        f"with C = 2, enough by the proof for long windows only, it loses less than "
        f"{share(NEAR_UNIFORM)} of uniform play at T = {rounds_text(t)}"
    )


def _best_constant(by_policy: dict[str, dict[float, Floats]], t: float) -> Claim:
    best = min(CONSTANTS, key=lambda c: by_policy[f"anaconda:constant={c}"][t].mean())
    gain = ratio(by_policy["anaconda:constant=2"][t], by_policy[f"anaconda:constant={best}"][t])
    of_uniform = mean_of(_share(by_policy["anaconda:constant=2"][t], t))
    learns = of_uniform.high is not None and of_uniform.high < NEAR_UNIFORM
    return Claim(
        "ours, from the proof",
        statement(t),
        f"{share(of_uniform.value, 1)} of uniform play; C = {best}, the best, loses "
        f"{rough(gain.value)} ({interval(gain.low, gain.high)}) times less",
        interval(of_uniform.low, of_uniform.high),
        "holds" if learns else f"not seen up to T = {rounds_text(t)}",
    )


def _best_rate(
    by_policy: dict[str, dict[float, Floats]], entries: list[tuple[float, str]], ts: list[float]
) -> Claim:
    """Compare the paper's rate with the one that loses least at the longest horizon."""
    rate, best = min(entries, key=lambda entry: float(by_policy[entry[1]][ts[-1]].mean()))
    ratios = [ratio(by_policy[_MIDDLE][t], by_policy[best][t]) for t in ts]
    factors = [
        f"{rough(times.value)} at T = {rounds_text(t)}" for times, t in zip(ratios, ts, strict=True)
    ]
    first, last = ratios[0], ratios[-1]
    apart = first.high is not None and last.low is not None and first.high < last.low
    return Claim(
        "ours, from the proof",
        "a replay rate other than 1 changes regret by a constant factor only",
        f"rate 1 loses {', '.join(factors)} times as much as rate {rough(rate)}",
        f"{interval(last.low, last.high)} at the last",
        f"not seen up to T = {rounds_text(ts[-1])}: the factor grows"
        if apart
        else "undecided: it may still grow",
    )


def _versus(
    text: str, by_policy: dict[str, dict[float, Floats]], one: str, other: str, ts: list[float]
) -> Claim:
    ratios = [ratio(by_policy[one][t], by_policy[other][t]) for t in ts]
    less = [times.high is not None and times.high < 1 for times in ratios]
    last = ratios[-1]
    return Claim(
        "ours, not the paper's",
        text,
        f"{rough(last.value)} times the regret at T = {rounds_text(ts[-1])}",
        interval(last.low, last.high),
        begins(ts, less),
    )
