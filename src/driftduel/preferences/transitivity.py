"""Test the paper's Assumptions 1 and 2, strong stochastic transitivity and the triangle inequality.

Both are conditions on chains: arms a, b, c with P(a, b) > 1/2 and P(b, c) > 1/2. Tied arms are not
covered, and so the lemma that the paper derives from them,
``delta(a, c) <= 2 delta(a, b) + delta(b, c)`` whenever a beats b and c, holds when b and c are
not tied; its proof treats "b beats c" and "c beats b" only. With b and c tied it can fail: three
arms with P(0, 1) = 0.51, P(0, 2) = 1 and P(1, 2) = 0.5 have no chain at all, hence satisfy both
assumptions, but 0.5 > 2 * 0.01 + 0. The lemma holds for utility models: tied arms have equal
utilities there, and equal gaps to every third arm.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftduel.preferences.validation import TOLERANCE

__all__ = ["sst_violation", "sti_violation"]

#: A function of delta(a, b) as a column over b, delta(b, c) as a matrix and delta(a, c) as a row
#: over c; it returns whether each (b, c) violates the assumption.
_Violates = Callable[
    [NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]
]


def sst_violation(P: NDArray[np.float64]) -> tuple[int, int, int] | None:
    """Find the first chain with delta(a, c) < max(delta(a, b), delta(b, c)), Assumption 1.

    Parameters
    ----------
    P
        A preference matrix, shape (K, K).

    Returns
    -------
    tuple[int, int, int] | None
        The first (a, b, c) in lexicographic order; None if strong stochastic transitivity
        holds. Values within `TOLERANCE` are no violation.

    Examples
    --------
    >>> sst_violation(np.array([[0.5, 0.8, 0.7], [0.2, 0.5, 0.6], [0.3, 0.4, 0.5]]))
    (0, 1, 2)
    """
    return _first_chain(P, lambda ab, bc, ac: ac < np.maximum(ab, bc) - TOLERANCE)


def sti_violation(P: NDArray[np.float64]) -> tuple[int, int, int] | None:
    """Find the first chain with delta(a, c) > delta(a, b) + delta(b, c), Assumption 2.

    Parameters
    ----------
    P
        A preference matrix, shape (K, K).

    Returns
    -------
    tuple[int, int, int] | None
        The first (a, b, c) in lexicographic order; None if the stochastic triangle inequality
        holds. Values within `TOLERANCE` are no violation.

    Examples
    --------
    >>> sti_violation(np.array([[0.5, 0.6, 0.9], [0.4, 0.5, 0.6], [0.1, 0.4, 0.5]]))
    (0, 1, 2)
    """
    return _first_chain(P, lambda ab, bc, ac: ac > ab + bc + TOLERANCE)


def _first_chain(P: NDArray[np.float64], violates: _Violates) -> tuple[int, int, int] | None:
    gaps = P - 0.5
    beats = gaps > 0
    # One arm a at a time: memory is K^2, and the first hit is the first in lexicographic order.
    for a in range(len(P)):
        found = beats[a][:, None] & beats & violates(gaps[a][:, None], gaps, gaps[a][None, :])
        if found.any():
            b, c = divmod(int(found.argmax()), len(P))
            return a, b, c
    return None
