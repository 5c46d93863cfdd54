"""Goals of an experiment: measures beside regret.

A goal is a string in the plan. It defines an observer for every game, columns of the store, and
statistics over runs. All goals share one table, one section of the page and one figure.
"""

import re

from driftduel._internal.defaults import GOAL
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
"""The goals beside regret, by name; ``top-K`` with any number K is also a goal."""
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
    """Raise DriftduelError if a goal does not exist, or is undefined for a benchmark."""
    goal = goal_named(name)
    if goal is not None and benchmark != "condorcet":
        raise DriftduelError(
            f"goal {name!r} compares with the Condorcet winner; benchmark={benchmark!r} must be "
            f"condorcet."
        )


def check_world(name: str, world: World) -> None:
    """Raise DriftduelError if a goal is undefined in a world."""
    goal = goal_named(name)
    if goal is not None and world.slate > 2:
        raise DriftduelError(
            f"goal {name!r} is not defined for worlds of slates; leave out slate=, or the goal."
        )
    if goal is not None:
        goal.observer(world)
