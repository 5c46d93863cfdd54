"""The base class of goals, with the columns of the store, the statistics and the table."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.intervals import clopper_pearson
from driftduel._internal.wording import NOTHING, interval, share, whole
from driftduel.games import Observer, checkpoints
from driftduel.lab.statistics import half_width, t_interval
from driftduel.worlds import World

__all__ = [
    "COLUMNS",
    "SCHEMA",
    "Column",
    "Goal",
    "GoalCurve",
    "binomial",
    "read_goal_curve",
    "t_numbers",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = dict[str, Any]

SCHEMA: dict[str, Any] = {
    "goal_score": pl.Float64,
    "goal_votes": pl.Int64,
    "goal_right": pl.Boolean,
    "goal_until": pl.Float64,
    "goal_changes": pl.Int64,
    "goal_curve": pl.List(pl.Float32),
}
"""The columns that a game with a goal adds to a row of the store.

``goal_curve`` has a number between 0 and 1 for each of `driftduel.games.checkpoints`; each goal
documents the others.
"""
COLUMNS = ("world", "policy", "seed", "run", "rounds", "regret", "switches", *SCHEMA)
"""The columns from which the statistics of a goal are computed."""


@dataclass(frozen=True)
class Column:
    """A column of a goal's table: a number of the summary, with its interval."""

    heading: str
    title: str
    """An explanation, for the page."""
    key: str
    """``key_mean`` or ``key`` in the summary, with ``key_low`` and ``key_high``."""
    write: Any
    optional: bool = False
    """Whether a narrow terminal may omit the column."""

    def number(self, row: Row) -> float | None:
        """Return the value of this column in a row of the summary, None if it is missing."""
        value: float | None = row.get(f"{self.key}_mean", row.get(self.key))
        return value

    def text(self, row: Row) -> str:
        """Return the value as text."""
        value = self.number(row)
        return NOTHING if value is None else str(self.write(value))

    def between(self, row: Row) -> str:
        """Return the interval as text; an empty string without an interval."""
        low, high = row.get(f"{self.key}_low"), row.get(f"{self.key}_high")
        if low is None and high is None:
            return ""
        if high is None:  # beyond the last vote
            return f"at least {self.write(low)}"
        return interval(low, high, self.write)


@dataclass(frozen=True)
class GoalCurve:
    """A curve with values in [0, 1] over votes: arrays of the mean of runs and its 95% interval."""

    votes: Ints
    mean: Floats
    low: Floats | None
    high: Floats | None


class Goal(ABC):
    """A measure beside regret: its observer, its columns, its statistics and its texts."""

    name: str
    heading: str
    """The heading of the section on the page."""
    axis: ClassVar[str]
    """The label of the curve's axis."""
    is_share: ClassVar[bool]
    """Whether the curve of a run has the values 0 and 1, so that the interval is binomial."""
    method: str
    """Definitions of the columns, in a few sentences."""
    columns: ClassVar[tuple[Column, ...]]
    summary: ClassVar[dict[str, Any]]
    """The polars types of the statistics, by name."""
    descending: ClassVar[bool] = True
    """Whether the best policy has the maximum of the first column, not the minimum."""

    @abstractmethod
    def observer(self, world: World) -> Observer:
        """Return an observer for one game."""

    @abstractmethod
    def row(self, observer: Any) -> Row:
        """Return the values of the columns `SCHEMA` of one game, by name."""

    @abstractmethod
    def statistics(self, games: pl.DataFrame) -> Row:
        """Return the values of the statistics `summary` of one policy in one world, by name."""

    @abstractmethod
    def verdict(self, rows: Sequence[Row]) -> str:
        """Return a sentence or two about the best policy, from rows with games, best first."""

    def verdict_of(self, rows: Sequence[Row]) -> str:
        """Return the verdict from all rows of a world."""
        played = [row for row in self.rank(rows) if row["runs"]]
        return self.verdict(played) if played else "Nothing is finished yet."

    def rank(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows of the summary, best first; policies without a game last."""
        first = self.columns[0]
        sign = -1 if self.descending else 1

        def key(row: Row) -> tuple[bool, float]:
            value = first.number(row)
            return value is None, 0.0 if value is None else sign * value

        return sorted(rows, key=key)


def read_goal_curve(goal: Goal, games: pl.DataFrame) -> GoalCurve:
    """Average the curves of the games of one policy; runs of another length are omitted."""
    votes = checkpoints(int(games["rounds"][0]))
    lines = [line.to_numpy() for line in games["goal_curve"]]
    table = np.vstack([line for line in lines if len(line) == len(votes)]).astype(np.float64)
    mean = table.mean(axis=0)
    if goal.is_share:
        low, high = clopper_pearson(table.sum(axis=0), len(table))
        return GoalCurve(votes, mean, low, high)
    if len(table) < 2:
        return GoalCurve(votes, mean, None, None)
    half = half_width(table.std(axis=0, ddof=1), len(table))
    return GoalCurve(votes, mean, np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0))


def t_numbers(key: str, values: Floats, most: float = np.inf) -> Row:
    """Return a mean and its 95% interval by Student's t, under a key of the summary.

    Parameters
    ----------
    key
        The key.
    values
        The values, one per run, between 0 and `most`.
    most
        Upper bound of the interval; 1 for shares.
    """
    low, high = t_interval(values) or (None, None)
    return {
        f"{key}_mean": float(np.mean(values)),
        f"{key}_low": None if low is None else max(low, 0.0),
        f"{key}_high": None if high is None else min(high, most),
    }


def binomial(key: str, hits: int, trials: int) -> Row:
    """Return a share and its exact 95% interval, under a key of the summary."""
    if not trials:
        return {}
    low, high = clopper_pearson(hits, trials)
    return {key: hits / trials, f"{key}_low": float(low), f"{key}_high": float(high)}


def percent(value: float) -> str:
    """Return a share as a percentage with one decimal digit."""
    return share(value, 1)


def votes(value: float) -> str:
    """Return a number of votes as text."""
    return whole(value)
