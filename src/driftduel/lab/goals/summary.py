"""Statistics of a goal, for every policy in every world."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab.goals import Goal, goal_named
from driftduel.lab.goals.base import GoalCurve, read_goal_curve
from driftduel.lab.statistics import paired_difference

if TYPE_CHECKING:
    from driftduel.lab.plan import Plan

__all__ = ["goal_curves", "goal_summary", "read_curves"]

_FIRST = {"world": pl.String, "policy": pl.String, "runs": pl.Int64, "planned": pl.Int64}


def _goal_of(plan: "Plan") -> Goal:
    goal = goal_named(plan.goal)
    if goal is None:
        raise DriftduelError("these games measured regret only; pass goal= to compare().")
    return goal


def goal_summary(games: pl.DataFrame, plan: "Plan") -> pl.DataFrame:
    """Return one row for each policy in each world, in the plan's order.

    Differences are those of ``goal_score`` to the policy with the best mean, run by run.
    """
    goal = _goal_of(plan)
    schema = {**_FIRST, **goal.summary}
    groups = dict(games.group_by("world", "policy", maintain_order=True))
    rows: list[dict[str, Any]] = []
    for world in plan.worlds:
        block: list[dict[str, Any]] = []
        for policy in plan.policies:
            frame = groups.get((world.spec, policy.spec))
            row = dict.fromkeys(schema) | {"world": world.spec, "policy": policy.spec}
            row |= {"runs": 0 if frame is None else len(frame)}
            row |= {"planned": plan.runs * len(plan.seeds)}
            if frame is not None:
                row |= goal.statistics(frame)
            block.append(row)
        _add_differences(goal, [row for row in block if row["runs"]], groups)
        rows += block
    return pl.DataFrame(rows, schema=schema)


def _add_differences(goal: Goal, played: list[dict[str, Any]], groups: Any) -> None:
    if not played or "score_difference" not in goal.summary:
        return
    best = goal.rank(played)[0]
    scores = _scores(groups[best["world"], best["policy"]])
    for row in played:
        if row is best:
            continue
        numbers = paired_difference(_scores(groups[row["world"], row["policy"]]), scores)
        row |= {
            "score_difference": numbers["difference"],
            "score_difference_low": numbers["low"],
            "score_difference_high": numbers["high"],
        }


def _scores(games: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of games, under the column name of `paired_difference`."""
    return games.select("seed", "run", pl.col("goal_score").alias("regret"))


def read_curves(games: pl.DataFrame, plan: "Plan") -> dict[tuple[str, str], GoalCurve]:
    """Return the curve of each policy in each world that has games."""
    goal = _goal_of(plan)
    groups = games.group_by("world", "policy", maintain_order=True)
    return {
        (str(world), str(policy)): read_goal_curve(goal, frame) for (world, policy), frame in groups
    }


def goal_curves(games: pl.DataFrame, plan: "Plan") -> pl.DataFrame:
    """Return the curves as one table."""
    schema = {
        "world": pl.String, "policy": pl.String, "votes": pl.Int64, "mean": pl.Float64,
        "low": pl.Float64, "high": pl.Float64,
    }  # fmt: skip
    frames = []
    for (world, policy), curve in read_curves(games, plan).items():
        nothing = np.full(len(curve.votes), np.nan)
        ends = [nothing if end is None else end for end in (curve.low, curve.high)]
        columns = {"votes": curve.votes, "mean": curve.mean, "low": ends[0], "high": ends[1]}
        named = pl.DataFrame(columns).with_columns(world=pl.lit(world), policy=pl.lit(policy))
        frames.append(named.select(pl.col(name).cast(kind) for name, kind in schema.items()))
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)
