"""Quantiles of Student's t distribution for confidence intervals."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import MissingExtraError

__all__ = ["LEVEL", "student"]

LEVEL = 0.95
"""The coverage probability of an interval."""


def student(freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the half-width of a 95% interval in standard errors (Student's t)."""
    try:
        from scipy.special import stdtrit
    except ImportError:
        raise MissingExtraError("scipy", "lab", "an interval") from None
    return np.asarray(stdtrit(freedom, 0.5 + LEVEL / 2))
