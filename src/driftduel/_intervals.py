"""Student's t, written once: how far an interval for a mean reaches."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import MissingExtraError

__all__ = ["LEVEL", "student"]

LEVEL = 0.95
"""How often an interval contains what is true."""


def student(freedom: ArrayLike) -> NDArray[np.float64]:
    """Return how many standard errors a 95% interval by Student's t reaches to either side."""
    try:
        from scipy.special import stdtrit
    except ImportError:
        raise MissingExtraError("scipy", "lab", "an interval") from None
    return np.asarray(stdtrit(freedom, 0.5 + LEVEL / 2))
