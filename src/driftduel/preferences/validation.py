"""Validation of preference matrices; errors name the first invalid entry."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences._parameters import floats

__all__ = ["TOLERANCE", "validate_matrix"]

#: Tolerance of comparisons in this package: far above the rounding error of a few probabilities,
#: far below any gap that a policy can detect.
TOLERANCE = 1e-9


def validate_matrix(matrix: ArrayLike) -> NDArray[np.float64]:
    """Return a validated, read-only copy of a preference matrix.

    Parameters
    ----------
    matrix
        Any object that numpy converts to a K by K array of numbers.

    Returns
    -------
    NDArray[np.float64]
        The (K, K) copy. Deviations within `TOLERANCE` are accepted, and three kinds are corrected:
        entries outside [0, 1] are clipped, the diagonal is set to the value 1/2, and two arms that
        would each beat (or each lose to) the other are tied.

    Raises
    ------
    DriftduelError
        The message names the first invalid entry in row-major order.

    Examples
    --------
    >>> validate_matrix([[0.5, 0.7], [0.3, 0.5]])
    array([[0.5, 0.7],
           [0.3, 0.5]])
    >>> validate_matrix([[0.5, 0.7], [0.4, 0.5]])
    Traceback (most recent call last):
    driftduel.errors.DriftduelError: P[0,1] = 0.7 and P[1,0] = 0.4 sum to 1.1; they must sum to 1.
    """
    P = floats("A preference matrix", matrix)
    _check_shape(P)
    # Two entries that sum to exactly 1 cannot both lie above, nor both below, 1/2.
    if not (P.min() >= 0.0 and P.max() <= 1.0 and (P + P.T == 1.0).all()):
        _check_entries(P)
        P = np.clip(P, 0.0, 1.0)
        gaps = P - 0.5
        P[gaps * gaps.T > 0] = 0.5  # includes every diagonal entry other than 1/2
    P += 0.0  # -0.0 becomes 0.0: equal matrices must have equal bytes, hence equal hash values
    P.setflags(write=False)
    return P


def _check_shape(P: NDArray[np.float64]) -> None:
    if P.ndim != 2:
        raise DriftduelError(
            f"A preference matrix must have two dimensions; got {P.ndim} (shape {P.shape})."
        )
    if P.shape[0] != P.shape[1]:
        raise DriftduelError(f"A preference matrix must be square; got shape {P.shape}.")
    if P.shape[0] < 2:
        raise DriftduelError(
            f"A preference matrix must have at least two arms; got K = {P.shape[0]}."
        )


def _check_entries(P: NDArray[np.float64]) -> None:
    sums = P + P.T
    if P.min() >= -TOLERANCE and P.max() <= 1 + TOLERANCE and np.abs(sums - 1).max() <= TOLERANCE:
        return  # valid, the common case
    if (at := _first(~np.isfinite(P))) is not None:
        raise DriftduelError(f"{_entry(P, *at)}; it must be a number in [0, 1].")
    if (at := _first((P < -TOLERANCE) | (P > 1 + TOLERANCE))) is not None:
        raise DriftduelError(f"{_entry(P, *at)}; a probability must lie in [0, 1].")
    itself = np.eye(len(P), dtype=np.bool_)
    if (at := _first(itself & (np.abs(P - 0.5) > TOLERANCE))) is not None:
        raise DriftduelError(f"{_entry(P, *at)}; an arm against itself must have 1/2.")
    if (at := _first(~itself & (np.abs(sums - 1) > TOLERANCE))) is not None:
        a, b = at
        raise DriftduelError(
            f"{_entry(P, a, b)} and {_entry(P, b, a)} sum to {sums[a, b]:.12g}; they must sum to 1."
        )


def _first(offending: NDArray[np.bool_]) -> tuple[int, int] | None:
    if not offending.any():
        return None
    row, column = divmod(int(offending.argmax()), offending.shape[1])
    return row, column


def _entry(P: NDArray[np.float64], a: int, b: int) -> str:
    # Twelve digits show any deviation beyond the tolerance, and hide rounding errors.
    return f"P[{a},{b}] = {P[a, b]:.12g}"
