"""Section on regret over time: the leaders by round, and the cost of a change."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from driftduel._internal.wording import code, number
from driftduel.figures import far_apart
from driftduel.lab import Changes, Curve, WorldFindings
from driftduel.report.chart import (
    MOST_SHADED,
    REGRET,
    Chart,
    curve_traces,
    phase_shapes,
)
from driftduel.report.section import OneWorld, Section

__all__ = ["about_curves", "regret_chart", "section"]


_SCALES = (("linear", "linear"), ("log", "log"), ("log-log", "log, both"))
"""The axes that a reader can choose, with the labels of the buttons."""


def section(of: OneWorld) -> Section:
    """Return the section; the default axis of regret is logarithmic for a wide range of values."""
    world = of.world
    means = [standing.mean for standing in of.drawn.standings]
    name = f"regret-{world.index}"
    return Section(
        "curves.html",
        {
            "level": of.level,
            "heading": f"{world.loss.capitalize()} over time",
            "says": about_curves(world.at, world.curves, of.names, world.changes, world.loss),
            "chart": name,
            "scales": _SCALES,
            "scale": "log" if far_apart(means) else "linear",
            "hint": _hint(world),
        },
        {name: regret_chart(of.drawn)},
    )


def _hint(world: WorldFindings) -> str:
    bands = any(curve.low is not None for curve in world.curves.values())
    hint = "Bands are 95% intervals of the mean." if bands else "One run has no bands."
    if len(world.changes.rounds) > MOST_SHADED:
        return f"{hint} Changes are not drawn, because there are too many."
    if not world.changes.rounds:
        return hint
    what = world.changes
    hint += f" At the dotted lines, where the shading begins or ends, the {what.subject} "
    hint += what.verbs[0]
    some = not what.same and not what.example
    return f"{hint}; the thicker the line, the more runs in which it does." if some else f"{hint}."


def about_curves(
    at: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]],
    curves: Mapping[int, Curve],
    names: Mapping[int, str],
    changes: Changes,
    loss: str = "regret",
) -> str:
    """Return sentences about the leaders over time, and the cost of a change for the last one."""
    rounds = np.asarray(at)
    places = list(curves)
    means = np.array([curves[place].mean for place in places])
    leaders = means.argmin(axis=0)
    last = int(leaders[-1])
    name = code(names[places[last]])
    if len(places) == 1:
        text = f"{name} has a total of {number(means[0, -1])} at the end."
    else:
        others = np.flatnonzero((leaders != last) & (rounds >= rounds[-1] / 20))
        if len(others):
            since = rounds[others[-1] + 1]
            before = code(names[places[int(leaders[others[-1]])]])
            text = f"{name} has the lowest mean {loss} since about round {since:,}; "
            text += f"before, {before} had."
        else:
            text = f"{name} has the lowest mean {loss} almost from the start to the end."
        worst = int(means[:, -1].argmax())
        text += f" At the end, {code(names[places[worst]])} has the highest, "
        text += f"{number(means[worst, -1])}, and the leader has {number(means[last, -1])}."
    cost = _after_and_before(rounds, means[last], changes)
    if cost is not None:
        after, before_change = cost
        text += f" In the first tenth of a phase after a change {name} incurs {number(after)} a "
        text += f"round, in the last tenth before a change {number(before_change)}."
    return text


def _after_and_before(
    rounds: np.ndarray[tuple[int], np.dtype[np.int64]],
    mean: np.ndarray[tuple[int], np.dtype[np.float64]],
    changes: Changes,
) -> tuple[float, float] | None:
    """Return the mean loss per round in the first and in the last tenth of phases."""
    if changes.example or not changes.rounds or len(changes.rounds) > 20:
        return None
    ends = [1, *changes.rounds, int(rounds[-1]) + 1]
    lengths = np.diff(ends)
    sums = np.zeros(4)
    x, y = np.concatenate(([0], rounds)), np.concatenate(([0.0], mean))
    for i, change in enumerate(changes.rounds):
        for place, first, end in (
            (0, change - 1, change - 1 + lengths[i + 1] / 10),
            (2, change - 1 - lengths[i] / 10, change - 1),
        ):
            sums[place] += np.interp(end, x, y) - np.interp(first, x, y)
            sums[place + 1] += end - first
    if min(sums[1], sums[3]) < len(changes.rounds):
        return None
    return float(sums[0] / sums[1]), float(sums[2] / sums[3])


def regret_chart(world: WorldFindings) -> Chart:
    """Return the chart of regret over time, with bands, above the true phases."""
    traces: list[dict[str, Any]] = []
    highest = 0.0
    for s in world.ranked:
        curve = world.curves.get(s.policy)
        if curve is None:
            continue
        highest = max(highest, float(curve.mean[-1] if curve.high is None else curve.high[-1]))
        low = None if curve.low is None else np.maximum(curve.low, curve.mean * 1e-3)  # log axis
        traces += curve_traces(s.policy, s.name, low, curve.mean, curve.high, REGRET)
    shapes = phase_shapes(world.changes, world.rounds)
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "round"}, "range": [0, world.rounds], "hoverformat": ",d"},
        "yaxis": {"title": {"text": f"{world.loss} so far (mean of runs)"}, "rangemode": "tozero"},
        "shapes": shapes,
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0},
        "height": 460,
        "margin": {"t": 26, "r": 24, "b": 60},
    }
    if world.fixed or world.changes.runs == 1:
        traces += _winner_names(world, layout)
    return {
        "traces": traces,
        "layout": layout,
        "shared": {"at": world.at.tolist()},
        "scales": {
            "log": {"yaxis": _log_range(world, highest, 2)},
            "log-log": {
                "xaxis": [math.log10(max(1, world.rounds / 1000)), math.log10(world.rounds)],
                "yaxis": _log_range(world, highest, 3),
            },
        },
    }


def _log_range(world: WorldFindings, highest: float, decades: int) -> list[float]:
    """Return the range of a log axis, from the curves in the last decades of the rounds."""
    late = world.at >= world.rounds / 10**decades
    positive = [c.mean[late & (c.mean > 0)] for c in world.curves.values()]
    lowest = min((float(each.min()) for each in positive if len(each)), default=1.0)
    return [math.log10(lowest * 0.8), math.log10(max(highest, lowest * 2) * 1.1)]


def _winner_names(world: WorldFindings, layout: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Return labels of the best arms; as a trace, which keeps its position on a log axis."""
    phases = world.phases
    wide = [(f, last, arm) for f, last, arm in phases if last - f > world.rounds / 15]
    if not wide or len(phases) > MOST_SHADED:
        return []
    layout["yaxis2"] = {
        "overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True,
    }  # fmt: skip
    return [
        {
            "only": "wide linear",
            "type": "scatter",
            "mode": "text",
            "x": [(first + last) / 2 for first, last, _ in wide],
            "y": [1] * len(wide),
            "yaxis": "y2",
            "text": ["no best arm" if arm is None else f"best: {arm}" for *_, arm in wide],
            "textposition": "top center",
            "cliponaxis": False,
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
