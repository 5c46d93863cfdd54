"""The goal of an experiment, for figures and pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftduel.lab.findings.curves import thin_evenly
from driftduel.lab.goals import Goal
from driftduel.lab.goals.base import GoalCurve

__all__ = ["GoalFindings", "read_goal"]

_MOST_POINTS = 300


@dataclass(frozen=True)
class GoalFindings:
    """The numbers and curves of a goal in one world."""

    goal: Goal
    rows: tuple[dict[str, Any], ...]
    """Rows of the summary with games, best first; key ``place`` is the index in the plan."""
    curves: Mapping[int, GoalCurve]
    """Curves by index of the policy in the plan, thinned to the resolution of a screen."""


def read_goal(
    goal: Goal, rows: Sequence[Mapping[str, Any]], curves: Mapping[int, GoalCurve]
) -> GoalFindings:
    """Rank rows and thin curves.

    Parameters
    ----------
    goal
        The goal.
    rows
        Rows of the summary of one world, in the order of the plan.
    curves
        Curves by index of the policy in the plan.
    """
    placed = [{**row, "place": place} for place, row in enumerate(rows) if row["runs"]]
    return GoalFindings(
        goal,
        tuple(goal.rank(placed)),
        {place: _thin_curve(curve) for place, curve in curves.items()},
    )


def _thin_curve(curve: GoalCurve) -> GoalCurve:
    keep = thin_evenly(len(curve.votes), _MOST_POINTS)
    ends = (None if end is None else end[keep] for end in (curve.low, curve.high))
    return replace(
        curve, votes=curve.votes[keep], mean=curve.mean[keep], low=next(ends), high=next(ends)
    )
