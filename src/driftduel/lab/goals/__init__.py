"""Goals of an experiment: what beside regret is measured in every game.

A goal is a word of the plan. It has an observer for every game, a row of numbers in the store, and
statistics over runs; all goals share one table, one section of the page and one figure.
"""

import re

from driftduel._defaults import GOAL
from driftduel.errors import DriftduelError
from driftduel.lab.goals.base import COLUMNS, SCHEMA, Column, Goal
from driftduel.lab.goals.best import BestGoal
from driftduel.lab.goals.certified import ConfidenceGoal, RankingGoal
from driftduel.specs import near
from driftduel.worlds import World

__all__ = [
    "COLUMNS",
    "GOALS",
    "SCHEMA",
    "Column",
    "Goal",
    "check_goal",
    "check_world",
    "goal_named",
]

GOALS: dict[str, Goal] = {goal.name: goal for goal in (BestGoal(), ConfidenceGoal(), RankingGoal())}
"""The goals beside regret, by name; ``top-K`` for any number K is one, too."""
_TOP = re.compile(r"top-([1-9]\d{0,8})")


def goal_named(name: str) -> Goal | None:
    """Return a goal by its name; None for regret.

    Examples
    --------
    >>> goal_named("best").name, goal_named("regret")
    ('best', None)
    """
    if name == GOAL:
        return None
    top = _TOP.fullmatch(name)
    if top is not None:
        return RankingGoal(int(top[1]))
    if name not in GOALS:
        known = (GOAL, *GOALS, "top-3")
        raise DriftduelError(f"goal {name!r} does not exist; {near(name, known)}")
    return GOALS[name]


def check_goal(name: str, benchmark: str) -> None:
    """Refuse a goal that does not exist, or that has no answer with a benchmark."""
    goal = goal_named(name)
    if goal is not None and benchmark != "condorcet":
        raise DriftduelError(
            f"goal {name!r} compares with the Condorcet winner; benchmark={benchmark!r} must be "
            f"condorcet."
        )


def check_world(name: str, world: World) -> None:
    """Refuse a goal that has no answer in a world."""
    goal = goal_named(name)
    if goal is not None:
        goal.observer(world)
