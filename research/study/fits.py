"""Slopes with intervals, shares with exact intervals, and the games they are made from."""

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal import intervals, wording
from driftduel._internal.intervals import student
from driftduel._internal.wording import decimals, rough, share
from driftduel.lab.statistics import t_half_width, t_interval
from driftduel.policies import POLICIES
from driftduel.specs import Spec
from driftduel.worlds import WORLDS
from research.study.common import (
    CEILING,
    MODULE,
    Claim,
    Series,
    flat_verdict,
    interval,
    limit_verdict,
    times,
)

__all__ = [
    "Mean",
    "Slope",
    "bound_slope",
    "clopper_pearson",
    "exponent_claim",
    "flat_claim",
    "label",
    "line",
    "local_slopes",
    "mean_of",
    "over",
    "ratio",
    "setting",
    "share_interval",
    "slope",
    "unsaturated",
]

Floats = NDArray[np.float64]


class Mean(NamedTuple):
    """A mean over runs with its interval, None for a single run."""

    value: float
    low: float | None
    high: float | None
    runs: int


class Slope(NamedTuple):
    """An exponent with its interval."""

    value: float
    low: float | None
    high: float | None


def mean_of(values: Sequence[float] | Floats) -> Mean:
    """Return the mean and Student's interval."""
    low, high = t_interval(values) or (None, None)
    return Mean(float(np.mean(values)), low, high, len(values))


def slope(x: Sequence[float], samples: Sequence[Sequence[float] | Floats]) -> Slope | None:
    """Fit log(mean) against log(x) by least squares; the interval comes from the runs' scatter.

    By the delta method a run moves the slope by the weighted sum of its regrets, each over the
    mean at its x. Where every x has the same number of runs, Student's interval
    is computed from these sums: run r has the same outcome draws at every x, so its regrets are
    paired. Otherwise errors of different x are taken as independent, with Satterthwaite's
    degrees of freedom.

    Parameters
    ----------
    x
        Where; at least two different values.
    samples
        The runs at each x, in the same order.

    Examples
    --------
    >>> round(slope([1, 100], [[2.0, 2.0], [20.0, 20.0]]).value, 3)
    0.5
    """
    means = np.array([np.mean(sample) for sample in samples])
    if len(set(x)) < 2 or not (means > 0).all():
        return None
    logs = np.log(np.asarray(x, float))
    logs -= logs.mean()
    weights = logs / (logs @ logs)
    value = float(weights @ np.log(means))
    if any(len(sample) < 2 for sample in samples):
        return Slope(value, None, None)
    if len({len(sample) for sample in samples}) == 1:
        shifts = sum(w * np.asarray(s) / m for w, s, m in zip(weights, samples, means, strict=True))
        half = t_half_width(np.asarray(shifts))
        return Slope(value, value - half, value + half)
    counts = np.array([len(sample) for sample in samples])
    parts = weights**2 * np.array([np.var(runs, ddof=1) for runs in samples]) / counts / means**2
    if parts.sum() == 0:
        return Slope(value, value, value)
    freedom = parts.sum() ** 2 / (parts**2 / (counts - 1)).sum()
    half = float(student(freedom)) * math.sqrt(parts.sum())
    return Slope(value, value - half, value + half)


def local_slopes(
    x: Sequence[float], samples: Sequence[Sequence[float] | Floats]
) -> list[Slope | None]:
    """Return the slope between each two neighbours."""
    return [slope(x[i : i + 2], samples[i : i + 2]) for i in range(len(x) - 1)]


def unsaturated(
    x: Sequence[float], samples: Sequence[Floats], uniform: Sequence[float]
) -> tuple[list[float], list[Floats]]:
    """Leave out where regret exceeds `CEILING` of uniform play's, which flattens every slope."""
    kept = [
        (place, sample)
        for place, sample, most in zip(x, samples, uniform, strict=True)
        if float(sample.mean()) <= CEILING * most
    ]
    return [place for place, _ in kept], [sample for _, sample in kept]


def exponent_claim(
    source: str,
    statement: str,
    x: Sequence[float],
    samples: Sequence[Floats],
    uniform: Sequence[float],
    limit: float,
    up_to: float,
    least: int = 3,
) -> Claim:
    """Judge an exponent that the paper bounds from above, on the places that are `unsaturated`.

    Parameters
    ----------
    source, statement
        The claim.
    x, samples
        The runs at each x.
    uniform
        The regret of uniform play at each x.
    limit
        The paper's exponent.
    up_to
        The longest horizon that was played.
    least
        How many places it takes.
    """
    places, runs = unsaturated(x, samples, uniform)
    of_uniform = max(float(runs.mean()) / most for runs, most in zip(samples, uniform, strict=True))
    left = f"{len(places)} of {len(x)} places are below half of uniform play"
    fitted = slope(places, runs) if len(places) >= least else None
    if fitted is None:
        return Claim(source, statement, left, "-", "undecided: too near uniform play")
    measured = f"exponent {decimals(fitted.value)} from {rough(places[0])} to {rough(places[-1])}; "
    measured += f"{share(of_uniform)} of uniform play at most" if len(places) == len(x) else left
    verdict = limit_verdict(fitted.low, fitted.high, limit, up_to)
    return Claim(source, statement, measured, interval(fitted.low, fitted.high), verdict)


def flat_claim(
    source: str,
    statement: str,
    x: Sequence[float],
    samples: Sequence[Floats],
    uniform: Sequence[float],
    up_to: float,
) -> Claim:
    """Judge that regret does not grow from the first x to the last; parameters as above."""
    of_uniform = max(float(runs.mean()) / most for runs, most in zip(samples, uniform, strict=True))
    grown = ratio(samples[-1], samples[0])
    return Claim(
        source,
        statement,
        f"{times(grown.value)} times the regret at {x[-1]:g} as at {x[0]:g}; {share(of_uniform)} "
        f"of uniform play at most",
        interval(grown.low, grown.high),
        flat_verdict(grown.low, grown.high, up_to, of_uniform),
    )


def bound_slope(first: float, last: float) -> float:
    """Return the slope of sqrt(T) log^3 T between two horizons: what Theorem 3.1 allows.

    Examples
    --------
    >>> round(bound_slope(1e8, 1e9), 2)
    0.65
    """
    return 0.5 + 3 * math.log(math.log(last) / math.log(first)) / math.log(last / first)


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Return the exact 95% interval of a share.

    Examples
    --------
    >>> [round(end, 4) for end in clopper_pearson(0, 100)]
    [0.0, 0.0362]
    """
    low, high = intervals.clopper_pearson(hits, trials)
    return float(low), float(high)


def share_interval(hits: int, trials: int) -> str:
    """Write the exact 95% interval of a share.

    Examples
    --------
    >>> share_interval(0, 100)
    '0.0% to 3.6%'
    """
    return wording.interval(*clopper_pearson(hits, trials), lambda end: share(end, 1))


def setting(world: str, key: str) -> Any:
    """Return the value of a world's key, its default where the spec leaves it out."""
    import_module(MODULE)  # it may be one of the study's own
    return dict(WORLDS.resolve(Spec.parse(world)).values)[key]


def over(
    games: pl.DataFrame, key: Callable[[dict[str, Any]], float], column: str = "regret"
) -> tuple[list[float], list[Floats]]:
    """Group games by a number; return the numbers, ascending, and each group's values."""
    groups: dict[float, list[float]] = {}
    for row in games.iter_rows(named=True):
        value = row[column]
        groups.setdefault(float(key(row)), []).append(
            float(len(value)) if isinstance(value, list) else float(value)
        )
    xs = sorted(groups)
    return xs, [np.array(groups[x]) for x in xs]


def line(name: str, x: Sequence[float], samples: Sequence[Floats], style: int) -> Series:
    """Return the means of samples, with their intervals, as a line of a chart."""
    means = [mean_of(sample) for sample in samples]
    return Series(
        name,
        list(x),
        [m.value for m in means],
        # A log axis has no place for an end below zero.
        [m.value if m.low is None else max(m.low, m.value / 100) for m in means],
        [m.value if m.high is None else m.high for m in means],
        style=style,
    )


def label(policy: str) -> str:
    """Name a policy for people.

    Examples
    --------
    >>> label("anaconda:constant=0.5"), label("anaconda:rule=freedman"), label("mdb:switches=4")
    ('ANACONDA, C = 0.5', 'ANACONDA, freedman rule', 'MDB')
    """
    spec = Spec.parse(policy)
    values = {name: str(value) for name, value in spec.values.items()}
    if spec.name == "sw-dts":
        return f"DTS, window of {POLICIES.resolve(spec).values['window']:,}"
    if spec.name != "anaconda":
        return _NAMES.get(spec.name, spec.name)
    freedman = values.get("rule") == "freedman"
    text = "ANACONDA, " + ("freedman rule" if freedman else f"C = {values.get('constant', '1')}")
    if values.get("estimate") == "symmetric":
        text += ", symmetric"
    if "replay_rate" in values:
        text += f", replay rate {values['replay_rate']}"
    return text


_NAMES = {
    "mdb": "MDB", "dex3s": "DEX3.S", "dts": "DTS", "rucb": "RUCB", "king": "king",
    "wss": "Winner Stays", "btwr": "BtWR", "uniform": "uniform play",
}  # fmt: skip


def ratio(first: Floats, second: Floats) -> Slope:
    """Return mean(first) / mean(second) with its interval, by the delta method on the log."""
    fitted = slope([1.0, math.e], [second, first])
    if fitted is None:
        return Slope(math.nan, None, None)
    return Slope(*(None if end is None else math.exp(end) for end in fitted))  # type: ignore[arg-type]
