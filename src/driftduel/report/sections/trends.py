"""Section on the growth of regret with the horizon and with the number of changes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftduel._internal.wording import code, counted, decimals, interval, listed, number
from driftduel.lab import Findings, Trend
from driftduel.report.chart import REGRET, Chart, label, log_axis, numbers
from driftduel.report.section import Section, column

__all__ = ["about_trend", "section", "trend_chart"]

_HALF = 0.5
_AXES = {
    "rounds": "Regret against the horizon",
    "switches": "Regret against the number of changes",
}
_COLUMNS = (
    column("policy"),
    column("slope", "slope of the straight line through the logarithms of the means"),
    column("95% interval", "by leaving out one run at a time (jackknife)"),
)


def section(findings: Findings) -> Section | None:
    """Return the section with charts and slopes; None without worlds that differ in one key."""
    names = {place: policy.spec for place, policy in enumerate(findings.plan.policies)}
    ranking = findings.ranking
    charts: dict[str, Chart] = {}
    groups = []
    for axis, heading in _AXES.items():
        trends = [trend for trend in findings.trends if trend.axis == axis]
        options = []
        for place, trend in enumerate(trends):
            name = f"trend-{axis}-{place}"
            charts[name] = trend_chart(trend, findings)
            lines = [(p, names[p], trend.lines[p]) for p in ranking if p in trend.lines]
            options.append(
                {
                    "chart": name,
                    "text": trend.common or "all",
                    "says": about_trend(trend, names),
                    "lines": lines,
                }
            )
        if options:
            groups.append({"axis": axis, "heading": heading, "options": options})
    if not groups:
        return None
    return Section("trends.html", {"groups": groups, "columns": _COLUMNS}, charts)


def about_trend(trend: Trend, names: Mapping[int, str]) -> str:
    """Return sentences about the policies with the smallest and the largest slope."""
    sign = "T" if trend.axis == "rounds" else "S"
    what = "rounds (T)" if trend.axis == "rounds" else f"changes of the {trend.subject} (S)"
    fitted = sorted(
        ((line.slope, place) for place, line in trend.lines.items() if line.slope is not None)
    )
    if not fitted:
        return "No policy has a positive regret everywhere, so no line can be fitted."
    between = f"of {number(trend.x[0])} to {number(trend.x[-1])} {what}"

    def describe(place: int) -> str:
        line = trend.lines[place]
        text = f"{sign}^{decimals(line.slope or 0.0)}"
        if line.slope_low is not None and line.slope_high is not None:
            text += f" (95% interval {interval(line.slope_low, line.slope_high, decimals)})"
        return text

    slowest = fitted[0][1]
    text = f"In {len(trend.x)} worlds {between}, the regret of {code(names[slowest])} grows "
    if len(fitted) == 1:
        text += f"like {describe(slowest)}."
    else:
        fastest = fitted[-1][1]
        text += f"slowest, like {describe(slowest)}, and that of {code(names[fastest])} fastest, "
        text += f"like {describe(fastest)}."
    halves = [code(names[place]) for _, place in fitted if _holds_half(trend, place)]
    if halves:
        text += f" A square root, {sign}^0.50, is in the interval of {listed(halves)}."
    elif all(trend.lines[place].slope_low is not None for _, place in fitted):
        text += f" A square root, {sign}^0.50, is in no interval."
    if len(trend.x) == 2:
        text += " Two points cannot show that the relation is linear."
    if trend.left_out:
        worlds = counted(trend.left_out, "world")
        text += f" Omitted: {worlds} without changes, which a log axis cannot show."
    return text


def _holds_half(trend: Trend, place: int) -> bool:
    line = trend.lines[place]
    if line.slope_low is None or line.slope_high is None:
        return False
    return line.slope_low <= _HALF <= line.slope_high


def trend_chart(trend: Trend, findings: Findings) -> Chart:
    """Return the chart of regret against horizon or switches, on log-log axes with lines."""
    names = [policy.spec for policy in findings.plan.policies]
    traces: list[dict[str, Any]] = []
    for policy in (p for p in findings.ranking if p in trend.lines):
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
            "hovertemplate": f"{REGRET} at %{{x:,.4~r}}",
            "showlegend": False,
        }
        name = label(names[policy], 99)
        if line.slope is not None:
            name += f": slope {decimals(line.slope)}"
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
        "rounds T" if trend.axis == "rounds" else f"changes of the {trend.subject} S, mean of runs"
    )
    ticks = [number(x) for x in trend.x]
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
            "yaxis": {"title": {"text": trend.loss}, **log_axis()},
            "hovermode": "closest",
            "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0},
            "height": 460,
            "margin": {"t": 12, "r": 16, "b": 60},
        },
    }
