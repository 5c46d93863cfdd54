"""The page's charts, as plain data that its charting library draws.

A chart is a dictionary with ``traces`` and ``layout`` as plotly.js knows them, except that

- a trace with ``policy`` belongs to that policy of the plan: the page gives it the policy's colour,
  dashes and symbol (where ``paint`` says so) and leaves it out while the policy is hidden;
- a trace with ``of`` has one entry for each of these policies, left out likewise;
- an ``x`` or ``y`` that is a word is one of the chart's ``shared`` arrays;
- a trace with ``only`` is for ``wide`` pages, for ``linear`` axes, or for both together;
- a trace of points on one row gives its ``y`` once;
- a trace with ``pattern`` is filled with it;
- an annotation with ``tag`` looks as the page makes tags look;
- ``rows`` lists the policies that the chart has a row for, from the top;
- ``trace`` is what all traces of the chart have in common;
- ``base`` names what several charts have in common: a layout, and a trace's beginnings.

Colours of text, axes and grids are the page's. Text is escaped, for the library reads it as HTML.
"""

import html
import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftduel.figures.findings import Changes, Findings, Standing, Trend, WorldFindings
from driftduel.figures.lines import wrapped
from driftduel.figures.style import arm_colour
from driftduel.report.sentences import number, plain, slope

__all__ = [
    "MOST_SHADED",
    "label",
    "numbers",
    "regret_chart",
    "restart_counts_chart",
    "restart_times_chart",
    "shares_base",
    "shares_chart",
    "totals_chart",
    "trend_chart",
]

Chart = dict[str, Any]

_DIGITS = 5
MOST_SHADED = 60
"""A world that changes more often is drawn without its phases."""
_SHADE = "rgba(128,128,128,0.13)"
_LINE = "rgba(128,128,128,0.9)"
_PATTERNS = ("", "/", "\\", "x", "-", "|", "+", ".")
_OTHERS = "#9a9a9a"
_REGRET = "%{y:,.4~r}"


def numbers(values: ArrayLike) -> list[float | int | None]:
    """Round to five significant digits; what is not finite becomes null.

    Examples
    --------
    >>> numbers([1234567.0, 0.1234567, float("nan"), 3.0])
    [1234600, 0.12346, None, 3]
    """
    result: list[float | int | None] = []
    for value in np.asarray(values, dtype=float).ravel().tolist():
        if not math.isfinite(value):
            result.append(None)
            continue
        rounded = float(f"{value:.{_DIGITS}g}")
        result.append(int(rounded) if rounded.is_integer() else rounded)
    return result


def label(spec: str, width: int = 24) -> str:
    """Write a name for the charting library, on several lines if it is long."""
    return "<br>".join(html.escape(line, quote=False) for line in wrapped(spec, width))


def totals_chart(world: WorldFindings) -> Chart:
    """Draw every policy's regret with its interval, best on top."""
    ranked = world.ranked()
    common = {
        "paint": ["marker", "error_x"],
        "type": "scatter",
        "mode": "markers",
        "marker": {"size": 10},
    }
    traces = []
    for s in ranked:
        trace: dict[str, Any] = {
            "policy": s.policy,
            "x": numbers([s.mean]),
            "y": [label(s.name)],
            "name": label(s.name, 99),
            "hovertemplate": f"{world.loss} {number(s.mean)}{_ends(s.low, s.high)}<br>"
            f"{s.runs} of {s.planned} runs",
        }
        if s.low is not None and s.high is not None:
            trace["error_x"] = {
                "type": "data",
                "symmetric": False,
                "array": numbers([s.high - s.mean]),
                "arrayminus": numbers([s.mean - s.low]),
                "thickness": 3,
                "width": 0,
            }
        traces.append(trace)
    means = [s.mean for s in ranked]
    wide = min(means) > 0 and max(means) > 20 * min(means)
    axis: dict[str, Any] = {"title": {"text": f"{world.loss}, with 95 % interval"}}
    axis |= _log() if wide else {"rangemode": "tozero"}
    return {
        "trace": common,
        "traces": traces,
        "rows": [s.policy for s in ranked],
        "layout": {"xaxis": axis, "showlegend": False, "margin": {"t": 8, "r": 16, "b": 48}},
    }


def regret_chart(world: WorldFindings) -> Chart:
    """Draw regret over time, with bands, over the true phases."""
    traces: list[dict[str, Any]] = []
    highest = 0.0
    for s in world.ranked():
        curve = world.curves.get(s.policy)
        if curve is None:
            continue
        highest = max(highest, float(curve.mean[-1] if curve.high is None else curve.high[-1]))
        group = {"policy": s.policy, "x": "at", "legendgroup": str(s.policy), "type": "scatter"}
        if curve.low is not None and curve.high is not None:
            hidden = {
                "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False,
            }  # fmt: skip
            low = np.maximum(curve.low, curve.mean * 1e-3)  # a log axis has no place for 0
            traces.append({**group, **hidden, "y": numbers(low)})
            band = {"y": numbers(curve.high), "fill": "tonexty", "paint": ["fill"]}
            traces.append({**group, **hidden, **band})
        traces.append(
            {
                **group,
                "paint": ["line", "marker"],
                "mode": "lines+markers",
                "name": label(s.name, 99),
                "y": numbers(curve.mean),
                "line": {"width": 2},
                "marker": {"size": 7, "maxdisplayed": 9},
                "hovertemplate": _REGRET,
            }
        )
    shapes = _phase_shapes(world.changes, world.rounds)
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
        "log": {
            "xaxis": [math.log10(max(1, world.rounds / 1000)), math.log10(world.rounds)],
            "yaxis": _log_range(world, highest),
        },
    }


def _log_range(world: WorldFindings, highest: float) -> list[float]:
    """Return where a log axis begins and ends: what the curves do in the last three decades."""
    late = world.at >= world.rounds / 1000
    positive = [c.mean[late & (c.mean > 0)] for c in world.curves.values()]
    lowest = min((float(each.min()) for each in positive if len(each)), default=1.0)
    return [math.log10(lowest * 0.8), math.log10(max(highest, lowest * 2) * 1.1)]


def restart_counts_chart(world: WorldFindings) -> Chart | None:
    """Draw restarts a run, needless ones apart, against true switches; None if nobody restarts."""
    shown = [s for s in world.ranked() if s.restarts > 0]
    if not shown:
        return None
    shared: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": [label(s.name) for s in shown],
        "of": [s.policy for s in shown],
    }
    needed = [s.restarts - s.too_many for s in shown]
    traces = [
        {
            **shared,
            "name": "after a change",
            "x": numbers(needed),
            "marker": {"color": "#0072B2"},
            "hovertemplate": "%{x:.3~r} restarts a run after a change<extra></extra>",
        },
        {
            **shared,
            "name": "needless",
            "x": numbers([s.too_many for s in shown]),
            "marker": {
                "color": "#D55E00",
                "pattern": {"shape": "/", "size": 6, "fillmode": "replace"},
                "line": {"color": "#D55E00", "width": 1},
            },
            "hovertemplate": "%{x:.3~r} restarts a run without a change<extra></extra>",
        },
    ]
    truth = world.changes.mean
    largest = max([truth, *(s.restarts for s in shown)])
    end = 1.05 * largest
    if largest > 8 * max(truth, 1):  # one that restarts all the time must not hide the others
        end = 8 * max(truth, 1)
    traces.append(
        {
            **{key: shared[key] for key in ("y", "of")},
            "only": "wide",
            "type": "scatter",
            "mode": "text",
            "x": [end] * len(shown),
            "text": [_restart_text(s) for s in shown],
            "textposition": "middle right",
            "cliponaxis": False,
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )
    return {
        "traces": traces,
        "rows": [s.policy for s in shown],
        "layout": {
            "barmode": "stack",
            "bargap": 0.35,
            "xaxis": {"title": {"text": "restarts a run"}, "range": [0, end]},
            "shapes": [_vertical(truth, width=2, dash="dash", colour="theme")],
            "annotations": [
                {
                    "x": truth,
                    "y": 1,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "xanchor": "left" if truth < end / 2 else "right",
                    "text": f"true changes: {number(truth)}",
                    "showarrow": False,
                }
            ],
            "legend": {
                "orientation": "h",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "x": 0,
                "traceorder": "normal",
            },
            "margin": {"t": 60, "r": 130, "b": 48},
        },
    }


def _restart_text(standing: Standing) -> str:
    needless = "none" if standing.too_many == 0 else number(standing.too_many)
    return f"{number(standing.restarts)}, {needless} needless"


def restart_times_chart(world: WorldFindings) -> Chart | None:
    """Draw a tick for every restart over the true phases; None if nobody restarts."""
    shown = [s for s in world.ranked() if world.restarts.get(s.policy)]
    if not shown:
        return None
    traces = [
        {
            "policy": s.policy,
            "paint": ["tick"],
            "type": "scatter",
            "mode": "markers",
            "x": list(world.restarts[s.policy]),
            "y": [label(s.name)],
            "name": label(s.name, 99),
            "marker": {"symbol": "line-ns-open", "size": 15, "line": {"width": 1.6}},
            "hovertemplate": "restart after round %{x:,d}<extra></extra>",
        }
        for s in shown
    ]
    return {
        "traces": traces,
        "rows": [s.policy for s in shown],
        "layout": {
            "xaxis": {"title": {"text": "round"}, "range": [0, world.rounds * 1.005]},
            "shapes": _phase_shapes(world.changes, world.rounds),
            "showlegend": False,
            "margin": {"t": 10, "r": 16, "b": 48},
        },
    }


def shares_base(world: WorldFindings) -> Chart:
    """Return what the shares of all policies of a world have in common: the best arm above."""
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "round"}, "range": [0, world.rounds], "hoverformat": ",d"},
        "yaxis": {
            "title": {"text": "share of plays"},
            "range": [0, 1],
            "tickformat": ".0%",
            "domain": [0, 0.88],
        },
        "hovermode": "x unified",
        "height": 380,
        "legend": {"traceorder": "reversed"},
        "margin": {"t": 26, "r": 12, "b": 48},
        "shapes": [],
        "annotations": [],
    }
    phases = world.phases()
    if phases and len(phases) <= MOST_SHADED:
        layout["shapes"] = [
            *(_vertical(first, width=1.5, colour="theme", top=0.88) for first, *_ in phases[1:]),
            *(_best_arm_box(first, last, arm) for first, last, arm in phases),
        ]
        layout["annotations"] = [
            _tag((first + last) / 2, 0.955, "none" if arm is None else f"<b>{arm}</b>")
            | {"yref": "paper", "yanchor": "middle"}
            for first, last, arm in phases
            if last - first > world.rounds / 25
        ]
        layout["annotations"].append(
            {
                "x": 0, "xref": "paper", "y": 1, "yref": "paper", "yanchor": "bottom",
                "xanchor": "left", "text": "best arm", "showarrow": False,
            }
        )  # fmt: skip
    return {
        "trace": {
            "type": "scatter",
            "mode": "lines",
            "x": "edges",
            "stackgroup": "arms",
            "line": {"width": 0.5, "shape": "hv", "color": "rgba(255,255,255,0.7)"},
            "hovertemplate": "%{y:.0%}",
        },
        "layout": layout,
        "shared": {"edges": [0, *world.slice_ends.tolist()]},
    }


def shares_chart(world: WorldFindings, policy: int, base: str) -> Chart:
    """Draw the share of plays of each arm over time, on the world's base."""
    of_policy = world.shares[policy]
    traces = []
    for i in range(of_policy.shares.shape[1]):
        others = i >= len(of_policy.arms)
        arm = -1 if others else of_policy.arms[i]
        values = numbers(np.round(of_policy.shares[:, i], 3))
        traces.append(
            {
                "y": [*values, values[-1]],  # a step to the end of the last slice
                "name": "others" if others else f"arm {arm}",
                "fillcolor": _OTHERS if others else arm_colour(arm),
                "pattern": "" if others else _PATTERNS[arm % len(_PATTERNS)],
            }
        )
    return {"base": base, "traces": traces, "annotations": _arm_names(world, policy)}


def _tag(x: float, y: float, text: str) -> dict[str, Any]:
    return {"tag": True, "x": round(x), "y": round(y, 3), "text": text}


def _arm_names(world: WorldFindings, policy: int) -> list[dict[str, Any]]:
    """Write an arm's number where it was played most, so that the areas read without colours."""
    of_policy = world.shares[policy]
    tops = of_policy.shares.cumsum(axis=1)
    middles = np.concatenate(([0], world.slice_ends[:-1])) / 2 + world.slice_ends / 2
    names = []
    for i, arm in enumerate(of_policy.arms):
        column = of_policy.shares[:, i]
        # Where it is large for a while, not in a single slice.
        padded = np.pad(column, 1, mode="edge")
        place = int(np.argmax(np.minimum(np.minimum(padded[:-2], padded[2:]), column)))
        if column[place] > 0.12:
            middle = float(tops[place, i] - column[place] / 2)
            names.append(_tag(float(middles[place]), middle, f"{arm}"))
    return names


def _best_arm_box(first: int, last: int, arm: int | None) -> dict[str, Any]:
    return {
        "type": "rect", "x0": first, "x1": last + 1, "y0": 0.91, "y1": 1, "yref": "paper",
        "fillcolor": "rgba(0,0,0,0)" if arm is None else arm_colour(arm),
        "line": {"width": 0.5, "color": "rgba(255,255,255,0.8)"},
    }  # fmt: skip


def trend_chart(trend: Trend, findings: Findings) -> Chart:
    """Draw regret against the horizon, or the switches, on log-log axes with fitted lines."""
    names = [policy.spec for policy in findings.plan.policies]
    traces: list[dict[str, Any]] = []
    for policy in (p for p in findings.ranking() if p in trend.lines):
        line = trend.lines[policy]
        points: dict[str, Any] = {
            "policy": policy,
            "legendgroup": str(policy),
            "paint": ["marker", "line", "error_y"],
            "type": "scatter",
            "mode": "markers",
            "x": "x",
            "y": numbers(line.means),
            "name": label(names[policy], 99),
            "marker": {"size": 9},
            "hovertemplate": f"{_REGRET} at %{{x:,.4~r}}",
            "showlegend": False,
        }
        name = label(names[policy], 99)
        if line.slope is not None:
            name += f": slope {slope(line.slope)}"
        key = {"x": [None], "y": [None], "mode": "lines+markers", "line": {"width": 2}}
        traces.append({**points, **key, "name": name, "showlegend": True})

        if line.lows is not None and line.highs is not None:
            lows = np.maximum(line.lows, line.means * 1e-2)
            points["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": numbers(line.highs - line.means),
                "arrayminus": numbers(line.means - lows),
                "thickness": 1.5,
                "width": 3,
            }
        if line.slope is not None:
            traces.append(
                {
                    "policy": policy,
                    "legendgroup": str(policy),
                    "paint": ["line"],
                    "type": "scatter",
                    "mode": "lines",
                    "x": "x",
                    "y": numbers(np.exp(line.level + line.slope * np.log(trend.x))),
                    "line": {"width": 2},
                    "showlegend": False,
                    "hoverinfo": "skip",
                }
            )
        traces.append(points)
    what = (
        "rounds T" if trend.axis == "rounds" else f"changes of the {trend.subject} S (mean of runs)"
    )
    ticks = [plain(x) for x in trend.x]
    edge = math.log10(trend.x[-1] / trend.x[0]) / 15
    ends = [math.log10(trend.x[0]) - edge, math.log10(trend.x[-1]) + edge]
    return {
        "traces": traces,
        "shared": {"x": numbers(trend.x)},
        "layout": {
            "xaxis": {
                "title": {"text": what},
                "type": "log",
                "tickmode": "array",
                "tickvals": numbers(trend.x),
                "ticktext": ticks,
                "range": ends,
            },
            "yaxis": {"title": {"text": trend.loss}, **_log()},
            "hovermode": "closest",
            "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0},
            "height": 460,
            "margin": {"t": 12, "r": 16, "b": 60},
        },
    }


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"<br>95 %: {number(low)} to {number(high)}"


def _log() -> dict[str, Any]:
    return {"type": "log", "dtick": "D2", "tickformat": ",~r"}


def _vertical(
    x: float, width: float = 1, dash: str = "solid", colour: str = _LINE, top: float = 1
) -> dict[str, Any]:
    """Make a line from the bottom up; the colour ``theme`` is that of the page's text."""
    return {
        "type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "yref": "paper",
        "line": {"width": width, "dash": dash, "color": colour},
    }  # fmt: skip


def _phase_shapes(changes: Changes, rounds: int) -> list[dict[str, Any]]:
    """Shade every other phase; lines where the best arm changes, thicker where it does in more."""
    if len(changes.rounds) > MOST_SHADED:
        return []
    edges = [1, *changes.rounds, rounds + 1]
    shapes: list[dict[str, Any]] = [
        {
            "type": "rect", "x0": first, "x1": end, "y0": 0, "y1": 1, "yref": "paper",
            "fillcolor": _SHADE, "line": {"width": 0}, "layer": "below",
        }
        for first, end in list(pairwise(edges))[1::2]
    ]  # fmt: skip
    for t, count in zip(changes.rounds, changes.counts, strict=True):
        share = 1.0 if changes.example else count / changes.runs
        shapes.append(_vertical(t, width=0.5 + share, dash="dot") | {"layer": "below"})
    return shapes


def _winner_names(world: WorldFindings, layout: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Write above the chart which arm is best; as a trace, which stays in place on a log axis."""
    phases = world.phases()
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
