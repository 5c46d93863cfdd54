"""The preferences of one stretch that stands still: Bradley and Terry's, as far as votes agree.

Bradley-Terry alone knows no cycles: where nobody beats everybody it names a winner, and is sure.
Pairs alone know nothing of each other and need many votes. So each pair's preference is Beta around
what the stretch's own utilities say, worth `m` votes: with m infinite that is Bradley-Terry, with m
small it is pairs alone, and one m for the whole log is told from the votes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry import bradley_terry, preferences_of

__all__ = ["WORTHS", "Blend", "blend_of"]

Floats = NDArray[np.float64]

WORTHS = (4.0, 16.0, 64.0, 256.0, 1024.0, np.inf)
"""Votes that Bradley and Terry's word about a pair may be worth; the last has half of the prior."""
_WIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6)


@dataclass(frozen=True)
class Blend:
    """How stretches of one log are fitted: around which utilities, how widely, and what m is."""

    mean: Floats
    """(K,) utilities of the whole log."""
    widths: tuple[float, ...]
    weights: Floats
    """(W, len(WORTHS)) the posterior of widths and worths."""

    def draw(self, wins: Floats, kinds: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Draw a matrix of a stretch with these wins for each of the kinds given.

        Parameters
        ----------
        wins
            (K, K) wins in the stretch, over phi.
        kinds
            (N,) places in the flattened weights, see `kinds`.
        rng
            Where the luck comes from.
        """
        K = len(wins)
        drawn = np.empty((len(kinds), K, K))
        for kind in np.unique(kinds):
            width, worth = divmod(int(kind), len(WORTHS))
            mine = np.flatnonzero(kinds == kind)
            m = WORTHS[worth]
            u, factor = _fit(wins, self.mean, self.widths[width], m)
            noise = np.linalg.solve(factor.T, rng.standard_normal((K, len(mine))))
            P = preferences_of(u + noise.T)
            if np.isfinite(m):
                a, b = np.triu_indices(K, 1)
                ahead = np.maximum(m * P[:, a, b], 1e-6) + wins[a, b]
                behind = np.maximum(m * P[:, b, a], 1e-6) + wins[b, a]
                P[:, a, b] = rng.beta(ahead, behind)
                P[:, b, a] = 1 - P[:, a, b]
            drawn[mine] = P
        return drawn

    def kinds(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw places in the flattened weights."""
        return rng.choice(self.weights.size, size=size, p=self.weights.ravel())

    def sharpened(self) -> "Blend":
        """Return the blend with the most probable width and worth alone: faster, and as good."""
        weights = np.zeros_like(self.weights)
        weights.flat[self.weights.argmax()] = 1.0
        return replace(self, weights=weights)

    def expected(self, wins: Floats) -> Floats:
        """Return the expected preferences (K, K) in a stretch with these wins."""
        total = np.zeros_like(wins)
        votes = wins + wins.T
        for (width, worth), weight in np.ndenumerate(self.weights):
            if weight > 1e-3:
                m = WORTHS[worth]
                P = preferences_of(_fit(wins, self.mean, self.widths[width], m)[0])
                if np.isfinite(m):
                    P = (m * P + wins) / (m + votes)
                total += weight * P
        np.fill_diagonal(total, 0.0)
        total /= np.maximum(total + total.T, 1e-300)
        np.fill_diagonal(total, 0.5)
        return total


def blend_of(stretches: Sequence[Floats]) -> Blend:
    """Weigh widths and worths by how well they explain the wins of a log's stretches.

    A single stretch is the whole log. Around that it would be absurd to be narrow, and to expect
    it before it is seen would count every vote twice: of few votes one would be far too sure.
    """
    widths = _WIDTHS if len(stretches) > 1 else _WIDTHS[-1:]
    mean = np.zeros(len(stretches[0]))
    if len(stretches) > 1:
        mean = bradley_terry(np.sum(stretches, axis=0), _WIDTHS[-1] ** -2.0)[0]
    logs = np.empty((len(widths), len(WORTHS)))
    for i, width in enumerate(widths):
        for j, worth in enumerate(WORTHS):
            logs[i, j] = sum(_log_evidence(wins, mean, width, worth) for wins in stretches)
    logs += np.log(np.where(np.isinf(WORTHS), 0.5, 0.5 / (len(WORTHS) - 1)))
    weights = np.exp(logs - logs.max())
    return Blend(mean, tuple(widths), weights / weights.sum())


def _fit(wins: Floats, mean: Floats, width: float, worth: float) -> tuple[Floats, Floats]:
    """Fit utilities; if pairs differ from them, n votes of one pair say less than n of many."""
    if np.isfinite(worth):
        wins = wins * ((worth + 1) / (worth + np.maximum(wins + wins.T, 1.0)))
    return bradley_terry(wins, width**-2.0, mean)


def _log_evidence(wins: Floats, mean: Floats, width: float, worth: float) -> float:
    from scipy.special import betaln

    u, factor = _fit(wins, mean, width, worth)
    P = preferences_of(u)
    if np.isfinite(worth):
        a, b = np.triu_indices(len(u), 1)
        ahead, behind = np.maximum(worth * P[a, b], 1e-6), np.maximum(worth * P[b, a], 1e-6)
        value = (betaln(ahead + wins[a, b], behind + wins[b, a]) - betaln(ahead, behind)).sum()
    else:
        value = (wins * np.log(P)).sum()
    value -= ((u - mean) ** 2).sum() / (2 * width**2) + len(u) * np.log(width)
    return float(value - np.log(np.diag(factor)).sum())
