"""Columns of a table as numbers of requests: standardised numbers, indicators of categories."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_VALUES", "indicators", "standardised"]

Floats = NDArray[np.float64]

MOST_VALUES = 32
"""The largest number of values of a category."""


def standardised(numbers: Floats) -> Floats | None:
    """Return finite numbers with mean 0 and deviation 1; None if they are equal.

    >>> standardised(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    largest = float(abs(numbers).max())
    if largest == 0:
        return None
    numbers = numbers / largest  # first, so that squares do not overflow
    deviation = float(numbers.std())
    return (numbers - numbers.mean()) / deviation if deviation > 0 else None


def indicators(values: Sequence[str], categories: Sequence[str]) -> Floats:
    """Return (n, C) indicators: 1 where a value is the category, else 0.

    >>> indicators(["b", "a"], ["a", "b"])
    array([[0., 1.],
           [1., 0.]])
    """
    column = np.array(values, object)[:, None]
    found: Floats = (column == np.array(categories, object)).astype(np.float64)
    return found
