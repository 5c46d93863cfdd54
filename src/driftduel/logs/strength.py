"""The strength of each option over time: its probability to beat another random option."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry_fit import preferences_of
from driftduel.logs.posterior import Fit
from driftduel.worlds import Piecewise

__all__ = ["OptionStrengths", "edges_of", "step_corners", "strengths"]

Floats = NDArray[np.float64]

_BAND = (0.05, 0.95)


@dataclass(frozen=True)
class OptionStrengths:
    """The strength of every option as coordinates of lines."""

    times: Floats
    """(N,) the times, ascending; the time of a jump occurs twice."""
    low: Floats
    mean: Floats
    high: Floats
    """(N, K) the posterior mean, and the ends of the 90% interval."""


def strengths(fit: Fit, draws: int = 200) -> OptionStrengths:
    """Return the strength of each option: steps, or the path of a walk.

    Parameters
    ----------
    fit
        A fitted log.
    draws
        The number of posterior draws.
    """
    if fit.kind == "walk":
        rng = np.random.default_rng([fit.seed, 2])
        drawn = fit.walk.draw(draws, rng)
        values = np.stack([_against_others(preferences_of(u)) for u in drawn])
        return OptionStrengths(_times_at(fit, fit.walk.places), *_summary(values))
    votes = fit.counts.votes
    done = np.concatenate(([0.0], np.cumsum(fit.counts.rows_per_bin())))
    begins = np.round(done[fit.grid[:-1]] / done[-1] * votes).astype(np.int64) + 1
    values = np.empty((draws, len(begins), fit.counts.options))
    for row, world in zip(values, fit.worlds(draws), strict=True):
        assert isinstance(world, Piecewise)
        row[:] = _against_others(world.matrices)[
            np.searchsorted(world.starts, begins, side="right") - 1
        ]
    edges = edges_of(fit)
    lines = [step_corners(edges, value) for value in _summary(values)]
    return OptionStrengths(lines[0][0], *(line[1] for line in lines))


def _against_others(preferences: Floats) -> Floats:
    """Return the mean over all others (..., K) of preferences (..., K, K)."""
    K = preferences.shape[-1]
    score: Floats = (preferences.sum(axis=-1) - 0.5) / (K - 1)
    return score


def _summary(values: Floats) -> tuple[Floats, Floats, Floats]:
    low, high = np.quantile(values, _BAND, axis=0)
    return low, values.mean(axis=0), high


def _times_at(fit: Fit, shares: Floats) -> Floats:
    """Return the times at which these shares of all votes are reached."""
    done = np.cumsum(fit.counts.rows_per_bin())
    place = np.searchsorted(done / done[-1], shares)
    times: Floats = fit.counts.first[np.minimum(place, len(done) - 1)]
    return times


def edges_of(fit: Fit) -> Floats:
    """Return the times at which the bins of `Fit.winners` begin, and the last time of the log."""
    return np.append(fit.starts, fit.counts.last[-1])


def step_corners(edges: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a step function with values (B, ...) between edges (B + 1,).

    Examples
    --------
    >>> times, corners = step_corners(np.array([0.0, 1.0, 5.0]), np.array([0.25, 0.75]))
    >>> times.tolist(), corners.tolist()
    ([0.0, 1.0, 1.0, 5.0], [0.25, 0.25, 0.75, 0.75])
    """
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2, axis=0)
