"""Utilities as a random walk, u(t + 1) = u(t) + normal step, for logs with gradual drift."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry_fit import bradley_terry, preferences_of
from driftduel.logs.vote_model import PLAIN, VoteModel, log_likelihood, residuals

__all__ = ["PACES", "UtilityWalk", "fit_walk"]

Floats = NDArray[np.float64]

PACES = tuple(np.geomspace(0.02, 300.0, 13).tolist())
"""Values of the variance that a utility accumulates over the whole log, equally probable."""
_START = 1.6  # standard deviation of the first utilities around those of the whole log
_MOST_STEPS = 100


@dataclass(frozen=True)
class UtilityWalk:
    """The posterior of utilities that follow a random walk, at the middles of bins."""

    places: Floats
    """(B,) the middle of each bin, as a share of the log's votes."""
    modes: Floats
    """(Q, B, K) the most probable utilities for each value of the variance."""
    factors: tuple[Floats, ...]
    """(Q) banded Cholesky factors of the precisions at these values."""
    logs: Floats
    """(Q,) log evidence of each value of the variance."""

    @property
    def weights(self) -> Floats:
        """(Q,) the posterior of the values of the variance."""
        weights = np.exp(self.logs - self.logs.max())
        share: Floats = weights / weights.sum()
        return share

    def mean(self) -> Floats:
        """Return the (B, K) expected utilities."""
        return np.tensordot(self.weights, self.modes, axes=1)

    def preferences(self) -> Floats:
        """Return the (B, K, K) preferences of the most probable utilities."""
        return np.tensordot(self.weights, preferences_of(self.modes), axes=1)

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw (size, B, K) utilities."""
        from scipy.linalg import solve_banded

        B, K = self.modes.shape[1:]
        drawn = np.empty((size, B, K))
        chosen = rng.choice(len(self.logs), size=size, p=self.weights)
        for q in np.unique(chosen):
            mine = np.flatnonzero(chosen == q)
            factor = self.factors[q]
            # The transpose of the factor, in the band format of scipy.
            upper = np.zeros_like(factor)
            for d in range(K + 1):
                upper[K - d, d:] = factor[d, : B * K - d]
            noise = rng.standard_normal((B * K, len(mine)))
            moved = solve_banded((0, K), upper, noise, check_finite=False)
            drawn[mine] = self.modes[q] + moved.T.reshape(-1, B, K)
        return drawn


def fit_walk(votes: Floats, places: Floats | None = None, model: VoteModel = PLAIN) -> UtilityWalk:
    """Fit a walk to votes (B, 2, K, K), over phi, by Newton's method on a banded matrix.

    Parameters
    ----------
    votes
        Votes by place in each bin, see `vote_model`.
    places
        (B,) the middle of each bin, as a share of the log; by default computed from the votes.
    model
        First-place advantage and ties.
    """
    B, K = votes.shape[0], votes.shape[2]
    if places is None:
        sizes = votes.sum(axis=(1, 2, 3))
        places = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    steps = np.maximum(np.diff(places), 1e-9)
    mean = bradley_terry(votes.sum(axis=0), model=model)[0]
    u = np.tile(mean, (B, 1))
    modes, factors, logs = np.empty((len(PACES), B, K)), [], np.empty(len(PACES))
    for q, pace in enumerate(PACES):
        u, factor, logs[q] = _climb(votes, mean, pace * steps, u, model)
        modes[q] = u
        factors.append(factor)
    return UtilityWalk(places, modes, tuple(factors), logs)


def _value(votes: Floats, mean: Floats, variances: Floats, u: Floats, model: VoteModel) -> float:
    """Return the log posterior density at `u`, up to a constant."""
    fit = log_likelihood(votes, u[:, :, None] - u[:, None, :], model)
    start = ((u[0] - mean) ** 2).sum() / _START**2
    return float(fit - 0.5 * (start + ((np.diff(u, axis=0) ** 2).sum(axis=1) / variances).sum()))


def _climb(
    votes: Floats, mean: Floats, variances: Floats, u: Floats, model: VoteModel
) -> tuple[Floats, Floats, float]:
    """Return the mode, its banded Cholesky factor, and the log evidence."""
    from scipy.linalg import cho_solve_banded, cholesky_banded

    B, K = u.shape
    value = _value(votes, mean, variances, u, model)
    for _ in range(_MOST_STEPS):
        rest, bend = residuals(votes, u[:, :, None] - u[:, None, :], model)
        slope = rest.sum(axis=2)
        slope[0] -= (u[0] - mean) / _START**2
        pull = np.diff(u, axis=0) / variances[:, None]
        slope[:-1] += pull
        slope[1:] -= pull
        own = bend.sum(axis=2)
        own[0] += _START**-2
        own[:-1] += 1 / variances[:, None]
        own[1:] += 1 / variances[:, None]
        band = np.zeros((K + 1, B, K))
        band[0] = own
        for d in range(1, K):
            band[d, :, : K - d] = -np.diagonal(bend, offset=d, axis1=1, axis2=2)
        band[K, :-1] = -1 / variances[:, None]
        factor = cholesky_banded(band.reshape(K + 1, B * K), lower=True, check_finite=False)
        step = cho_solve_banded((factor, True), slope.ravel(), check_finite=False).reshape(B, K)
        scale = 1.0
        while True:
            tried = u + scale * step
            better = _value(votes, mean, variances, tried, model)
            if better >= value - 1e-9 * abs(value) or scale < 1e-6:
                break
            scale /= 2
        u, value = tried, better
        if np.abs(scale * step).max() < 1e-7:
            break
    log = value - 0.5 * K * (2 * np.log(_START) + np.log(variances).sum())
    return u, factor, float(log - np.log(factor[0]).sum())
