"""The Bradley-Terry fit, and the dispersion parameter of dependent votes."""

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.counts import Counts
from driftduel.logs.vote_model import PLAIN, VoteModel, expected_share, residuals, votes_by_place

__all__ = ["bradley_terry", "dispersion", "preferences_of"]

Floats = NDArray[np.float64]

# Too weak to move an estimate, and strong enough that an option which lost every vote stays finite.
_WEAK = 1e-2


def bradley_terry(
    votes: Floats,
    precision: Floats | float = _WEAK,
    mean: Floats | None = None,
    model: VoteModel = PLAIN,
) -> tuple[Floats, Floats]:
    """Return the posterior mode of the utilities, and the Cholesky factor of the precision there.

    Parameters
    ----------
    votes
        (K, K) wins of the row's option over the column's, or (2, K, K) votes by place (see
        `vote_model`); fractions are allowed.
    precision, mean
        Parameters of the normal prior of every utility, one value or one for each; the default mean
        is 0.
    model
        First-place advantage and ties.

    Examples
    --------
    >>> utilities, _ = bradley_terry(np.array([[0.0, 30.0], [10.0, 0.0]]), precision=1e-9)
    >>> round(float(np.exp(utilities[0] - utilities[1])), 6)
    3.0
    """
    from driftduel.logs._kernels import climb

    if votes.ndim == 2:
        votes = np.stack((np.zeros_like(votes, np.float64), votes))
    K = votes.shape[-1]
    mean = np.zeros(K) if mean is None else np.ascontiguousarray(mean, np.float64)
    utilities, factor = mean.copy(), np.zeros((K, K))
    precisions = np.broadcast_to(np.asarray(precision, np.float64), K).copy()
    climb(
        np.ascontiguousarray(votes, np.float64), model.first_place, model.ties, mean, precisions,
        utilities, np.empty(K), factor,
    )  # fmt: skip
    return utilities, np.tril(factor)


def preferences_of(utilities: Floats) -> Floats:
    """Return the preferences (..., K, K) as a function of utilities (..., K)."""
    gaps = utilities[..., :, None] - utilities[..., None, :]
    result: Floats = 1.0 / (1.0 + np.exp(-gaps))
    return result


def dispersion(counts: Counts, model: VoteModel = PLAIN) -> float:
    """Return the parameter phi: the variance of grouped votes relative to independent votes.

    The value is estimated from a stationary fit to the whole log. A change increases it, so the
    detection of a change is conservative. An estimate between changes that were selected because
    the votes before and after them differ would be too small.

    Parameters
    ----------
    counts
        The log.
    model
        First-place advantage and ties.

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
    whole = votes_by_place(counts.wins.sum(axis=0), counts.ahead.sum(axis=0))
    mean = bradley_terry(whole, model=model)[0]
    gaps = mean[:, None] - mean[None, :]
    expected = expected_share(whole, gaps, model)
    surprise = groups.wins * (1 - expected[groups.winner, groups.loser])
    scores = np.zeros((len(groups.ids), K))
    np.add.at(scores, (groups.group, groups.winner), surprise)
    np.add.at(scores, (groups.group, groups.loser), -surprise)
    bend = np.zeros((K, K))
    np.add.at(bend, (groups.winner, groups.loser), groups.wins)
    variance = residuals(whole, gaps, model)[1] / np.maximum(
        (whole.sum(axis=0) + whole.sum(axis=0).T), 1e-300
    )
    bend = (bend + bend.T) * variance
    information = np.diag(bend.sum(axis=1)) - bend
    ratio = np.trace(np.linalg.pinv(information, hermitian=True) @ (scores.T @ scores)) / (K - 1)
    return float(max(1.0, alone, ratio))
