"""Regret by category of the requests."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from driftduel.lab.statistics import t_interval

__all__ = ["CategoryRegret", "CategoryRegrets", "read_categories"]


@dataclass(frozen=True)
class CategoryRegret:
    """The regret of a policy in the rounds of one category."""

    mean: float
    """Over runs, of the sum over rounds."""
    low: float | None
    high: float | None
    """The 95% interval of the mean; None for one run."""


@dataclass(frozen=True)
class CategoryRegrets:
    """The regret of all policies of a world by category of the requests."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    """The share of rounds of each category, in [0, 1]."""
    regrets: Mapping[int, tuple[CategoryRegret, ...]]
    """The regret in each category by index of the policy."""


def read_categories(games: Mapping[int, pl.DataFrame]) -> CategoryRegrets | None:
    """Return the regret by category; None if requests have none, or if it was not recorded.

    Parameters
    ----------
    games
        The finished games of a world by index of the policy.
    """
    columns = ("categories", "category_regret", "category_rounds")
    found = {place: frame.drop_nulls("categories") for place, frame in games.items()}
    rows = [row for frame in found.values() for row in frame.select(columns).iter_rows()]
    named = {tuple(names) for names, _, _ in rows}
    if len(named) != 1 or not (names := named.pop()):
        return None
    rounds = np.sum([each for _, _, each in rows], axis=0)
    regrets = {}
    for place, frame in found.items():
        if frame.is_empty():
            continue
        sums = np.array(frame["category_regret"].to_list(), np.float64)
        regrets[place] = tuple(map(_mean, sums.T))
    return CategoryRegrets(names, tuple((rounds / rounds.sum()).tolist()), regrets)


def _mean(sums: np.ndarray[tuple[int], np.dtype[np.float64]]) -> CategoryRegret:
    low, high = t_interval(sums) or (None, None)
    return CategoryRegret(float(sums.mean()), low, high)
