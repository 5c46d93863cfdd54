"""Regret over time, averaged over runs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel.lab.statistics import half_width

__all__ = ["Curve", "Floats", "Ints", "read_curves", "thin_evenly"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_POINTS = 240


@dataclass(frozen=True)
class Curve:
    """Regret over time: (n,) float arrays of the mean over runs and its 95% interval."""

    mean: Floats
    low: Floats | None
    high: Floats | None

    def at(self, keep: Ints) -> "Curve":
        """Return the curve at the points with these indices."""
        low, high = (None if end is None else end[keep] for end in (self.low, self.high))
        return Curve(self.mean[keep], low, high)


def read_curves(games: Mapping[int, pl.DataFrame]) -> tuple[Ints, dict[int, Curve]]:
    """Average over runs on a common grid of rounds, thinned to the resolution of a screen."""
    at = np.array(next(iter(games.values()))["at"][0].to_list(), np.int64)
    keep = thin_evenly(len(at), _MOST_POINTS)
    curves = {}
    for place, frame in games.items():
        lines = [np.array(line.to_list()) for line in frame["regret_curve"]]
        grids = [len(line) == len(at) for line in lines]
        if not all(grids):  # the length of a user's world may depend on the run
            lines = [line for line, fits in zip(lines, grids, strict=True) if fits]
        if lines:
            curves[place] = _band(np.vstack(lines)[:, keep])
    return at[keep], curves


def thin_evenly(count: int, most: int) -> Ints:
    """Return at most `most` evenly spaced indices, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _band(values: Floats) -> Curve:
    """Return the mean of the rows and its 95% interval by Student's t."""
    mean = values.mean(axis=0)
    if len(values) < 2:
        return Curve(mean, None, None)
    half = half_width(values.std(axis=0, ddof=1), len(values))
    return Curve(mean, mean - half, mean + half)
