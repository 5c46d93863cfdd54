"""One Bradley-Terry fit, and how much more votes vary than independent ones would."""

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.counts import Counts

__all__ = ["bradley_terry", "dispersion", "preferences_of"]

Floats = NDArray[np.float64]

# Weak enough to move nothing, strong enough that an option which lost every vote stays finite.
_HARDLY = 1e-2


def bradley_terry(
    wins: Floats, precision: float = _HARDLY, mean: Floats | None = None
) -> tuple[Floats, Floats]:
    """Fit utilities to wins (K, K): their most probable values and the Cholesky factor of the
    precision there.

    Parameters
    ----------
    wins
        Wins of the row's option over the column's; halves and other parts of votes are fine.
    precision, mean
        Of the normal prior of every utility; without a mean, around 0.

    Examples
    --------
    >>> utilities, _ = bradley_terry(np.array([[0.0, 30.0], [10.0, 0.0]]), precision=1e-9)
    >>> round(float(np.exp(utilities[0] - utilities[1])), 6)
    3.0
    """  # noqa: D205
    from driftduel.logs._kernels import climb

    K = len(wins)
    mean = np.zeros(K) if mean is None else np.ascontiguousarray(mean, np.float64)
    utilities, factor = mean.copy(), np.zeros((K, K))
    climb(np.ascontiguousarray(wins, np.float64), mean, precision, utilities, np.empty(K), factor)
    return utilities, np.tril(factor)


def preferences_of(utilities: Floats) -> Floats:
    """Return the preferences (..., K, K) that utilities (..., K) stand for."""
    gaps = utilities[..., :, None] - utilities[..., None, :]
    result: Floats = 1.0 / (1.0 + np.exp(-gaps))
    return result


def dispersion(counts: Counts) -> float:
    """Return phi: how much more groups of votes vary than as many independent votes would.

    It is read off the fit to the whole log, as if nothing ever changed. A change makes it larger
    than it is, so what is found all the same is there. Estimated between changes that were chosen
    because the votes before and behind them differ, it would be too small, and find more of them.

    Examples
    --------
    >>> from driftduel.logs.counts import counts_from_votes
    >>> dispersion(counts_from_votes([0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0]))
    1.0
    """
    alone = counts.dispersion_of_weights
    groups = counts.groups
    if groups is None or len(groups.ids) < 2:
        return max(1.0, alone)
    K = counts.options
    P = preferences_of(bradley_terry(counts.wins.sum(axis=0))[0])
    surprise = groups.wins * (1 - P[groups.winner, groups.loser])
    scores = np.zeros((len(groups.ids), K))
    np.add.at(scores, (groups.group, groups.winner), surprise)
    np.add.at(scores, (groups.group, groups.loser), -surprise)
    bend = np.zeros((K, K))
    np.add.at(bend, (groups.winner, groups.loser), groups.wins)
    bend = (bend + bend.T) * P * P.T
    information = np.diag(bend.sum(axis=1)) - bend
    ratio = np.trace(np.linalg.pinv(information, hermitian=True) @ (scores.T @ scores)) / (K - 1)
    return float(max(1.0, alone, ratio))
