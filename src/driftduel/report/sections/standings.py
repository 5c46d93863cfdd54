"""Section on the results in a world: every policy with its interval, as chart and table."""

from typing import Any

from driftduel._internal.wording import number
from driftduel.lab import Standing, WorldFindings, about_totals, weak_spots
from driftduel.report.chart import Chart, hover_interval, label, log_axis, numbers
from driftduel.report.section import OneWorld, Section, column

__all__ = ["section", "totals_chart"]

_TOLD = {
    "at": "times of changes",
    "switches": "number of changes",
    "variation": "total variation",
}
# The most important columns are first: a phone shows two or three without scrolling.
_COLUMNS = (
    column("policy", words=True),
    column("regret", "mean over runs, with its 95% interval"),
    column("ratio to best", "mean regret divided by the lowest"),
    column("more than best", "mean paired difference over shared runs, 95% interval"),
    column("restarts", "a run"),
    column("needless", "false alarms per run: restarts without a change since the previous one"),
    column("delay", "rounds from a change to a restart before the next change, mean"),
    column("told", "prior knowledge of the world, or given as a parameter", words=True),
    column("runs", "finished games"),
    column("rounds/s", "on the machines that played"),
)
_OF_RESTARTS = ("needless", "delay")


def section(of: OneWorld) -> Section:
    """Return the chart of totals and the table of standings."""
    world = of.world
    restarted = any(standing.restarts for standing in world.standings)
    rows = [
        {
            **vars(standing),
            "told": ", ".join(_TOLD.get(key, key) for key in standing.told) or "nothing",
            "remark": _remark(of, standing),
        }
        for standing in world.ranked
    ]
    name = f"totals-{world.index}"
    return Section(
        "standings.html",
        {
            "level": of.level,
            "says": about_totals(world.standings, world.loss),
            "chart": name,
            "table": f"standings-{world.index}",
            "columns": [
                {**c, "heading": world.loss} if c["heading"] == "regret" else c
                for c in _COLUMNS
                if restarted or c["heading"] not in _OF_RESTARTS
            ],
            "sorted_by": world.loss,
            "restarted": restarted,
            "rows": rows,
            "remarks": [(row["name"], row["remark"]) for row in rows if row["remark"]],
            "drawn": len(of.drawn.standings),
        },
        {name: totals_chart(world)},
    )


def _remark(of: OneWorld, standing: Standing) -> str:
    """Return the given sentence about a policy, and its warning about its parameters."""
    world = of.world
    size = world.arms, world.rounds, world.changes.mean
    own = weak_spots(standing.name, standing.told, *size)
    return " ".join(part for part in (of.remarks.get(standing.name, ""), own) if part)


def totals_chart(world: WorldFindings) -> Chart:
    """Return the chart of the regret of every policy with its interval, best on top."""
    ranked = world.ranked
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
            "hovertemplate": f"{world.loss} {number(s.mean)}{hover_interval(s.low, s.high)}<br>"
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
    scale = ", logarithmic axis" if wide else ""
    axis: dict[str, Any] = {"title": {"text": f"{world.loss} with 95% interval{scale}"}}
    axis |= log_axis() if wide else {"rangemode": "tozero"}
    return {
        "trace": common,
        "traces": traces,
        "rows": [s.policy for s in ranked],
        "layout": {"xaxis": axis, "showlegend": False, "margin": {"t": 8, "r": 16, "b": 48}},
    }
