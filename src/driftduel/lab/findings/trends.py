"""Growth of regret with the horizon or the number of changes, for worlds that differ in one key."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftduel._internal.intervals import student
from driftduel.lab.findings.changes import Game
from driftduel.lab.findings.curves import Floats
from driftduel.lab.findings.naming import short_names
from driftduel.lab.findings.standings import Standing
from driftduel.lab.findings.world import WorldFindings
from driftduel.lab.plan import Plan
from driftduel.specs import Spec

__all__ = ["Trend", "TrendLine", "find_trends", "fit"]

_LEAST_SPREAD = 1.5


@dataclass(frozen=True)
class TrendLine:
    """Regret of one policy against x, and the fitted line on log-log axes."""

    means: Floats
    lows: Floats | None
    highs: Floats | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    level: float
    """Logarithm of the value of the line at x = 1."""


@dataclass(frozen=True)
class Trend:
    """Regret in worlds that differ in one key."""

    axis: str
    """The variable of the x axis: ``rounds`` or ``switches``."""
    key: str
    """The name of the key that differs."""
    common: str
    """The common part of the specs."""
    x: Floats
    worlds: tuple[int, ...]
    lines: Mapping[int, TrendLine]
    left_out: int
    """Number of worlds without switches, which a log axis cannot show."""
    subject: str = "best arm"
    """What switches."""
    loss: str = "regret"
    """The label of regret on an axis."""


def find_trends(plan: Plan, worlds: Sequence[WorldFindings]) -> list[Trend]:
    """Return trends of worlds that differ in one key, which sets the rounds or the switches."""
    identities = [_identity(plan.worlds[world.index].identity) for world in worlds]
    trends = []
    for key in dict.fromkeys(key for spec in identities for key in spec.values):
        if key in ("seed", "arms", "path"):
            continue
        families: dict[str, list[int]] = {}
        for place, spec in enumerate(identities):
            rest = {name: value for name, value in spec.values.items() if name != key}
            if _number(spec.values.get(key)) is not None:
                families.setdefault(str(Spec(spec.name, rest)), []).append(place)
        for members in families.values():
            trend = _trend(key, [worlds[place] for place in members])
            if trend is not None:
                trends.append(trend)
    return sorted(trends, key=lambda trend: trend.axis)


def _identity(identity: str) -> Spec:
    """Return the spec of an identity with all keys and defaults, without the hash of code."""
    return Spec.parse(identity.partition(" ")[0])


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _trend(key: str, worlds: Sequence[WorldFindings]) -> Trend | None:
    axis = "rounds" if key == "rounds" else "switches"
    placed = [
        (float(world.rounds) if axis == "rounds" else world.changes.mean, world) for world in worlds
    ]
    positive = sorted(((x, world) for x, world in placed if x > 0), key=lambda pair: pair[0])
    x = np.array([place for place, _ in positive])
    if len(x) < 2 or (np.diff(x) <= 0).any() or x[-1] < _LEAST_SPREAD * x[0]:
        return None
    chosen = [world for _, world in positive]
    everywhere = set.intersection(*({s.policy for s in world.standings} for world in chosen))
    lines = {}
    for policy in sorted(everywhere):
        of_policy = [next(s for s in world.standings if s.policy == policy) for world in chosen]
        lines[policy] = fit(x, of_policy, [world.regrets[policy] for world in chosen])
    if not lines:
        return None
    _, common = short_names([world.spec for world in chosen])
    return Trend(
        axis=axis,
        key=key,
        common=common,
        x=x,
        worlds=tuple(world.index for world in chosen),
        lines=lines,
        left_out=len(worlds) - len(chosen),
        subject=chosen[0].changes.subject,
        loss=chosen[0].loss,
    )


def fit(
    x: Floats, standings: Sequence[Standing], regrets: Sequence[Mapping[Game, float]]
) -> TrendLine:
    """Fit a straight line to the log of mean regret against log x, by least squares.

    Runs share their random numbers across worlds, so the 95% interval of the slope is computed by
    the jackknife over runs, with Student's t: each run is left out of all worlds. It requires two
    runs that all worlds have.
    """
    means = np.array([standing.mean for standing in standings])
    ends = [
        None
        if any(getattr(s, end) is None for s in standings)
        else np.array([float(getattr(s, end)) for s in standings])
        for end in ("low", "high")
    ]
    if (means <= 0).any():
        return TrendLine(means, ends[0], ends[1], None, None, None, 0.0)
    logs = np.log(x) - np.log(x).mean()
    weights = logs / (logs @ logs)
    slope = float(weights @ np.log(means))
    level = float(np.log(means).mean() - slope * np.log(x).mean())
    common = sorted(set.intersection(*(set(by_run) for by_run in regrets)))
    n = len(common)
    table = np.array([[by_run[game] for game in common] for by_run in regrets])
    without = (table.sum(axis=1, keepdims=True) - table) / max(1, n - 1)
    if n < 2 or (without <= 0).any():
        return TrendLine(means, ends[0], ends[1], slope, None, None, level)
    slopes = weights @ np.log(without)
    half = float(student(n - 1)) * math.sqrt((n - 1) * float(slopes.var()))
    return TrendLine(means, ends[0], ends[1], slope, slope - half, slope + half, level)
