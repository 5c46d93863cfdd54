"""A test for drift within a stretch that is modelled as stationary."""

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry_fit import bradley_terry
from driftduel.logs.vote_model import PLAIN, VoteModel, residuals

__all__ = ["trend_p_value"]

Floats = NDArray[np.float64]


def trend_p_value(votes: Floats, model: VoteModel = PLAIN) -> float:
    """Return the p-value of a score test against a linear trend of the utilities in a stretch.

    Parameters
    ----------
    votes
        (B, 2, K, K) votes by place in the bins of the stretch, over phi.
    model
        First-place advantage and ties.
    """
    from scipy.stats import chi2

    sizes = votes.sum(axis=(1, 2, 3))
    if len(votes) < 3 or sizes.sum() <= 0:
        return 1.0
    u = bradley_terry(votes.sum(axis=0), model=model)[0]
    gaps = u[:, None] - u[None, :]
    time = np.cumsum(sizes) - sizes / 2
    time = (time - (time * sizes).sum() / sizes.sum()) / sizes.sum()
    K = len(u)
    score, by_time, both = np.zeros(K), np.zeros((K, K)), np.zeros((K, K))
    whole = np.zeros((K, K))
    for t, here in zip(time, votes, strict=True):
        rest, variance = residuals(here, gaps, model)
        information = np.diag(variance.sum(axis=1)) - variance
        score += t * rest.sum(axis=1)
        whole += information
        by_time += t * information
        both += t * t * information
    # The variance is smaller because the levels of the utilities were fitted to the same votes.
    spread = both - by_time @ np.linalg.pinv(whole, hermitian=True) @ by_time
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    some = values > 1e-9 * max(values.max(), 1e-300)
    if not some.any():
        return 1.0
    statistic = float(((vectors[:, some].T @ score) ** 2 / values[some]).sum())
    return float(chi2.sf(statistic, int(some.sum())))
