"""Computation of findings from a result store."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from driftduel.lab.findings.goals import GoalFindings, read_goal
from driftduel.lab.findings.naming import short_names
from driftduel.lab.findings.trends import Trend, find_trends
from driftduel.lab.findings.world import WorldFindings, ratio_means, read_world
from driftduel.lab.goals.summary import read_curves
from driftduel.lab.plan import Plan

if TYPE_CHECKING:
    from driftduel.lab.result import Results

__all__ = ["Findings", "read_findings"]

_COLUMNS = (
    "world", "policy", "seed", "run", "game_seed", "rounds", "arms", "regret", "restarts",
    "switches", "at", "regret_curve", "plays", "winners_from", "winners", "present", "ties",
    "categories", "category_regret", "category_rounds",
)  # fmt: skip


@dataclass(frozen=True)
class Findings:
    """The data that figures and pages show of a result store."""

    plan: Plan
    worlds: tuple[WorldFindings, ...]
    """Worlds with finished cells."""
    common: str
    """The common part of the specs, which the labels of worlds omit."""
    trends: tuple[Trend, ...]

    @cached_property
    def ranking(self) -> list[int]:
        """Indices of policies, best first, by the geometric mean of ratios to the best."""
        scores = ratio_means(self.worlds)
        played = {s.policy for world in self.worlds for s in world.standings}
        return sorted(played, key=lambda policy: (scores.get(policy, math.inf), policy))


def _goal(results: "Results", world: str) -> GoalFindings | None:
    """Return the findings of the goal in a world; None for experiments without one."""
    if results.goal is None:
        return None
    rows = results.goal_summary.filter(world=world).to_dicts()
    curves = read_curves(results.goal_games.filter(world=world), results.plan)
    places = {policy.spec: place for place, policy in enumerate(results.plan.policies)}
    return read_goal(
        results.goal, rows, {places[policy]: curve for (_, policy), curve in curves.items()}
    )


def read_findings(results: "Results") -> Findings:
    """Compute the data of figures and reports."""
    plan = results.plan
    labels, common = short_names([world.spec for world in plan.worlds])
    rows = results.store.rows(_COLUMNS)
    groups: dict[tuple[str, str], Any] = {
        (str(key[0]), str(key[1])): frame
        for key, frame in rows.group_by("world", "policy", maintain_order=True)
    }
    summaries = dict(results.summary.group_by("world", maintain_order=True))
    worlds = []
    for index, world in enumerate(plan.worlds):
        games = {
            place: groups[world.spec, policy.spec]
            for place, policy in enumerate(plan.policies)
            if (world.spec, policy.spec) in groups
        }
        if games:
            summary = summaries[world.spec,].to_dicts()
            found = read_world(plan, index, labels[index], summary, games)
            worlds.append(replace(found, goal=_goal(results, world.spec)))
    return Findings(plan, tuple(worlds), common, tuple(find_trends(plan, worlds)))
