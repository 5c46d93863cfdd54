"""Section on the goal beside regret: its curve over votes, and its table."""

import math
from typing import Any

from driftduel.lab import GoalFindings, WorldFindings
from driftduel.report.chart import Chart, curve_traces, log_axis, phase_shapes
from driftduel.report.section import OneWorld, Section, column

__all__ = ["goal_chart", "section"]


def section(of: OneWorld) -> Section | None:
    """Return the section; None for experiments without a goal beside regret."""
    found = of.world.goal
    if found is None:
        return None
    goal, index = found.goal, of.world.index
    drawn = {standing.policy for standing in of.drawn.standings}
    name = f"goal-{index}"
    return Section(
        "goals.html",
        {
            "level": of.level,
            "heading": goal.heading,
            "says": goal.verdict(found.rows),
            "method": goal.method,
            "chart": name,
            "log": not of.world.changes.rounds,
            "table": f"goal-table-{index}",
            "columns": [
                column("policy", words=True),
                *(column(each.heading, each.title) for each in goal.columns),
                column("runs", "finished games"),
            ],
            "rows": [
                {
                    "place": row["place"],
                    "policy": row["policy"],
                    "cells": [(c.number(row), c.text(row), c.between(row)) for c in goal.columns],
                    "runs": row["runs"],
                }
                for row in found.rows
            ],
        },
        {name: goal_chart(of.world, found, drawn)},
    )


def goal_chart(world: WorldFindings, found: GoalFindings, drawn: set[int]) -> Chart:
    """Return the chart of a goal: the curve of each policy with its 95% band."""
    traces: list[dict[str, Any]] = []
    for row in found.rows:
        place = row["place"]
        if place not in drawn:
            continue
        curve = found.curves[place]
        traces += curve_traces(place, row["policy"], curve.low, curve.mean, curve.high, "%{y:.1%}")
    stationary = not world.changes.rounds
    axis: dict[str, Any] = {"title": {"text": "votes"}, "hoverformat": ",d"}
    if stationary:
        axis |= {**log_axis(), "range": [0, math.log10(world.rounds)]}
        axis["title"] = {"text": "votes, logarithmic axis"}
    else:
        axis |= {"range": [0, world.rounds]}
    layout: dict[str, Any] = {
        "xaxis": axis,
        "yaxis": {"title": {"text": found.goal.axis}, "range": [0, 1.02], "tickformat": ".0%"},
        "shapes": [] if stationary else phase_shapes(world.changes, world.rounds),
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0},
        "height": 460,
        "margin": {"t": 26, "r": 24, "b": 60},
    }
    shared = next(iter(found.curves.values())).votes.tolist()
    return {"traces": traces, "layout": layout, "shared": {"at": shared}}
