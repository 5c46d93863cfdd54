"""The preferences of one stationary stretch: a blend of Bradley-Terry and independent pairs.

The Bradley-Terry model cannot represent a cycle: without a Condorcet winner it names one with high
confidence. Independent pairs share no information and need many votes. So each pair's preference is
Beta around the value of the stretch's own utilities, with a strength of `m` votes: an infinite
parameter m gives Bradley-Terry, a small value independent pairs. One m for the whole log is
estimated.

The utilities of a stretch are normal around those of the rest of the log, with the estimation error
of the rest added to the variance. A stretch's own votes are therefore never used twice, and the
utility of an option with votes in this stretch only has the full uncertainty of these votes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry_fit import bradley_terry, preferences_of
from driftduel.logs.vote_model import PLAIN, VoteModel, net_wins, place_weights, residuals

__all__ = ["WORTHS", "Blend", "blend_of"]

Floats = NDArray[np.float64]

WORTHS = (4.0, 16.0, 64.0, 256.0, 1024.0, np.inf)
"""Values of the parameter m, the strength of a pair's Bradley-Terry value in votes; the last one
has half of the prior."""
_WIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
_MANY = 60  # with more options, only the most probable parameter values are used


@dataclass(frozen=True)
class Blend:
    """The model of the stretches of one log: the posterior of width and parameter m."""

    total: Floats
    """(2, K, K) votes of the whole log over phi."""
    widths: tuple[float, ...]
    weights: Floats
    """(W, len(WORTHS)) the posterior of the parameter values."""
    model: VoteModel = PLAIN
    single: bool = False
    """Whether the log is one stretch; the prior then does not depend on any votes."""

    def prior(self, votes: Floats) -> tuple[Floats, Floats]:
        """Return the prior mean and variance (K,) of the utilities of the stretch with `votes`."""
        from driftduel.logs._kernels import solve_lower

        K = votes.shape[-1]
        rest = np.maximum(self.total - votes, 0.0)
        if self.single or rest.sum() <= 1e-9 * self.total.sum():
            return np.zeros(K), np.zeros(K)
        mean, factor = bradley_terry(rest, _WIDTHS[-1] ** -2.0, model=self.model)
        # Utilities are defined up to a shift. It is fixed by the options with votes in the rest, so
        # that an option without votes there does not make all others uncertain.
        known = residuals(rest, mean[:, None] - mean[None, :], self.model)[1].sum(axis=1)
        centre = np.eye(K) - known / known.sum()
        spread = np.ascontiguousarray(centre.T)
        solve_lower(factor, spread)
        variance: Floats = (spread**2).sum(axis=0)
        return mean, variance

    def draw(
        self,
        votes: Floats,
        kinds: NDArray[np.int64],
        rng: np.random.Generator,
        advantage: Floats | None = None,
    ) -> Floats:
        """Draw a matrix of a stretch with these votes for each of the given kinds.

        Parameters
        ----------
        votes
            (2, K, K) votes in the stretch, over phi.
        kinds
            (N,) indices of the flattened weights, see `kinds`.
        rng
            Source of the draws.
        advantage
            (N,) deviations of the first-place advantage from its estimate; by default 0.
        """
        from driftduel.logs._kernels import solve_lower, solve_lower_transposed

        K = votes.shape[-1]
        prior = self.prior(votes)
        drawn = np.empty((len(kinds), K, K))
        for kind in np.unique(kinds):
            width, worth = divmod(int(kind), len(WORTHS))
            mine = np.flatnonzero(kinds == kind)
            m = WORTHS[worth]
            u, factor, used = self._fit(votes, prior, self.widths[width], m)
            noise = rng.standard_normal((K, len(mine)))
            solve_lower_transposed(factor, noise)
            if advantage is not None and self.model.error > 0:
                # A larger advantage of the first place lowers the options that were shown first.
                weight = place_weights(used, u[:, None] - u[None, :], self.model)
                cross = (weight.sum(axis=1) - weight.sum(axis=0))[:, None]
                solve_lower(factor, cross)
                solve_lower_transposed(factor, cross)
                noise -= cross * advantage[mine]
            P = preferences_of(u + noise.T)
            if np.isfinite(m):
                a, b = np.triu_indices(K, 1)
                net = net_wins(votes, u[:, None] - u[None, :], self.model)
                ahead = np.maximum(m * P[:, a, b], 1e-6) + net[a, b]
                behind = np.maximum(m * P[:, b, a], 1e-6) + net[b, a]
                P[:, a, b] = rng.beta(ahead, behind)
                P[:, b, a] = 1 - P[:, a, b]
            drawn[mine] = P
        return drawn

    def _fit(
        self, votes: Floats, prior: tuple[Floats, Floats], width: float, worth: float
    ) -> tuple[Floats, Floats, Floats]:
        """Fit utilities; return them, the factor of their precision, and the votes as weighted."""
        if np.isfinite(worth):
            # If pairs deviate from their utilities, n votes of one pair carry less information.
            size = votes.sum(axis=0) + votes.sum(axis=0).T
            votes = votes * ((worth + 1) / (worth + np.maximum(size, 1.0)))
        mean, variance = prior
        u, factor = bradley_terry(votes, 1 / (width**2 + variance), mean, self.model)
        return u, factor, votes

    def kinds(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw indices of the flattened weights."""
        return rng.choice(self.weights.size, size=size, p=self.weights.ravel())

    def most_probable(self) -> "Blend":
        """Return a blend with the most probable parameter values only, which is faster."""
        weights = np.zeros_like(self.weights)
        weights.flat[self.weights.argmax()] = 1.0
        return replace(self, weights=weights)

    def expected_preferences(self, votes: Floats) -> Floats:
        """Return the expected preferences (K, K) in a stretch with these votes."""
        K = votes.shape[-1]
        total = np.zeros((K, K))
        prior = self.prior(votes)
        for width, worth in np.argwhere(self.weights > 1e-3):
            m = WORTHS[worth]
            u = self._fit(votes, prior, self.widths[width], m)[0]
            P = preferences_of(u)
            if np.isfinite(m):
                net = net_wins(votes, u[:, None] - u[None, :], self.model)
                P = (m * P + net) / (m + net + net.T)
            total += self.weights[width, worth] * P
        np.fill_diagonal(total, 0.0)
        total /= np.maximum(total + total.T, 1e-300)
        np.fill_diagonal(total, 0.5)
        return total

    def log_evidence(
        self, votes: Floats, prior: tuple[Floats, Floats], width: float, worth: float
    ) -> float:
        """Return the log evidence of a stretch's votes under its prior."""
        from scipy.special import betaln

        u, factor, _ = self._fit(votes, prior, width, worth)
        gaps = u[:, None] - u[None, :]
        if np.isfinite(worth):
            a, b = np.triu_indices(len(u), 1)
            P, net = preferences_of(u), net_wins(votes, gaps, self.model)
            ahead, behind = np.maximum(worth * P[a, b], 1e-6), np.maximum(worth * P[b, a], 1e-6)
            value = (betaln(ahead + net[a, b], behind + net[b, a]) - betaln(ahead, behind)).sum()
        else:
            value = (net_wins(votes, gaps, self.model) * np.log(preferences_of(u))).sum()
        mean, variance = prior
        spread = width**2 + variance
        value -= ((u - mean) ** 2 / spread).sum() / 2 + np.log(spread).sum() / 2
        return float(value - np.log(np.diag(factor)).sum())


def blend_of(stretches: Sequence[Floats], model: VoteModel = PLAIN) -> Blend:
    """Return the blend of a log: the posterior of its parameters, given the votes of stretches.

    Parameters
    ----------
    stretches
        (2, K, K) votes of each stretch, over phi.
    model
        First-place advantage and ties.
    """
    S = len(stretches)
    widths = _WIDTHS if S > 1 else _WIDTHS[-1:]
    total: Floats = np.sum(stretches, axis=0)
    blend = Blend(total, tuple(widths), np.ones((len(widths), len(WORTHS))), model, S == 1)
    priors = [blend.prior(votes) for votes in stretches]
    both = list(zip(stretches, priors, strict=True))
    logs = np.empty((len(widths), len(WORTHS)))
    for i, width in enumerate(widths):
        for j, worth in enumerate(WORTHS):
            logs[i, j] = sum(blend.log_evidence(*one, width, worth) for one in both)
    if S > 1:
        logs *= (S - 1) / S  # each stretch is predicted from the others
    logs += np.log(np.where(np.isinf(WORTHS), 0.5, 0.5 / (len(WORTHS) - 1)))
    weights = np.exp(logs - logs.max())
    blend = replace(blend, weights=weights / weights.sum())
    return blend.most_probable() if total.shape[-1] > _MANY else blend
