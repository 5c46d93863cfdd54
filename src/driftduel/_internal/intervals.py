"""Confidence intervals: quantiles of Student's t distribution, exact binomial intervals."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import MissingExtraError

__all__ = ["LEVEL", "clopper_pearson", "student"]

LEVEL = 0.95
"""The coverage probability of an interval."""


def student(freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the half-width of a 95% interval in standard errors (Student's t)."""
    try:
        from scipy.special import stdtrit
    except ImportError:
        raise MissingExtraError("scipy", "lab", "an interval") from None
    return np.asarray(stdtrit(freedom, 0.5 + LEVEL / 2))


def clopper_pearson(
    hits: ArrayLike, trials: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of the exact 95% interval of a share, elementwise."""
    try:
        from scipy.special import betaincinv
    except ImportError:
        raise MissingExtraError("scipy", "lab", "an interval") from None
    k, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    alpha = (1 - LEVEL) / 2
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1.0), n - k + 1, alpha))
    high = np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1.0), 1 - alpha))
    return low, high
