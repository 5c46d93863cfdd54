"""Link functions from a difference of two utilities to the probability of winning a duel.

A link sigma is an increasing function with sigma(0) = 1/2 and sigma(x) = 1 - sigma(-x), as in the
paper's remark on utility models (Section 5).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences._parameters import unknown_name
from driftduel.preferences.validation import TOLERANCE

__all__ = ["LINKS", "Link", "check_link", "linear", "logistic", "probit", "resolve_link"]

#: A function from an array of utility differences to probabilities of the same shape.
Link = Callable[[NDArray[np.float64]], ArrayLike]

# The function erfc keeps full precision in the tails, unlike 1 - erf.
_erfc = np.frompyfunc(math.erfc, 1, 1)


def logistic(x: ArrayLike) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)), the link of Bradley, Terry and Luce.

    Examples
    --------
    >>> logistic([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    x = np.asarray(x, dtype=np.float64)
    e = np.exp(-np.abs(x))  # the argument is never positive, so it cannot overflow
    sigma: NDArray[np.float64] = np.where(x < 0, e, 1.0) / (1.0 + e)
    return sigma


def probit(x: ArrayLike) -> NDArray[np.float64]:
    """Return the standard normal distribution function at x, the link of Thurstone.

    Examples
    --------
    >>> probit([-1.96, 0.0, 1.96]).round(3)
    array([0.025, 0.5  , 0.975])
    """
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(_erfc(x / -math.sqrt(2.0)), dtype=np.float64) / 2.0


def linear(x: ArrayLike) -> NDArray[np.float64]:
    """Return 1/2 + x/2, clipped to [0, 1].

    Examples
    --------
    >>> linear([-2.0, 0.0, 0.5])
    array([0.  , 0.5 , 0.75])
    """
    return np.clip(0.5 + np.asarray(x, dtype=np.float64) / 2.0, 0.0, 1.0)


#: The link functions by name.
LINKS: dict[str, Callable[[ArrayLike], NDArray[np.float64]]] = {
    "logistic": logistic,
    "probit": probit,
    "linear": linear,
}

_POSITIVE = np.logspace(-3, 2, 101)
# A column: models apply the function to a matrix, so it must not expect one dimension.
_GRID = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])[:, None]


def check_link(link: Link) -> None:
    """Raise if a function is not a valid link; it is evaluated on a grid from -100 to 100.

    It must work on arrays element by element and return values in [0, 1]; sigma(0) = 1/2,
    sigma(x) = 1 - sigma(-x), and sigma must not decrease anywhere, each within 1e-9; close to 0
    (at 0.001) it must exceed 1/2.

    Parameters
    ----------
    link
        The function.

    Raises
    ------
    DriftduelError
        The message names the property that fails, and the value of x.

    Notes
    -----
    By the paper's remark, utility models with such a link satisfy both Assumption 1 (SST) and
    Assumption 2 (STI). The first holds for every link: in a chain, u(a) - u(c) is at least each of
    the two differences, and sigma increases. The second is not: it needs sigma - 1/2 to be
    subadditive, sigma(x + y) - 1/2 <= (sigma(x) - 1/2) + (sigma(y) - 1/2) for positive x and y.
    Concavity there is sufficient: `logistic`, `probit` and `linear` are concave. A link that starts
    flat is not subadditive; this function accepts it, but the resulting matrix may violate STI:

    >>> from driftduel.preferences import from_utilities
    >>> def cubic(x):
    ...     return 0.5 + np.clip(x, -1, 1) ** 3 / 2
    >>> check_link(cubic)
    >>> P = from_utilities([1.0, 0.5, 0.0], cubic)  # 0.5 > 0.0625 + 0.0625
    >>> P.sst_violation(), P.sti_violation()
    (None, (0, 1, 2))
    """
    x, y = _GRID[:, 0], _values(link, _GRID)[:, 0]
    inner = np.abs(x) <= 1
    strays = np.zeros_like(inner)
    strays[inner] = ~(np.abs(y[inner] - _values(link, _GRID[inner])[:, 0]) <= TOLERANCE)
    falls = np.append(False, y[1:] < y[:-1] - TOLERANCE)

    _refuse(np.isnan(y), "must have a value everywhere", x, y)
    _refuse((y < -TOLERANCE) | (y > 1 + TOLERANCE), "must stay in [0, 1]", x, y)
    _refuse(strays, "must not depend on what else is in the array", x, y)
    _refuse((x == 0) & (np.abs(y - 0.5) > TOLERANCE), "must be 1/2 at 0", x, y)
    _refuse(np.abs(y + y[::-1] - 1) > TOLERANCE, "must satisfy sigma(x) = 1 - sigma(-x)", x, y)
    _refuse(falls, "must not decrease from one x to the next", x, y)
    _refuse((x == _POSITIVE[0]) & (y <= 0.5), "must increase strictly around 0", x, y)


def resolve_link(link: str | Link) -> Link:
    """Return the link function for a name, or a user-defined function after validation.

    Parameters
    ----------
    link
        A name in `LINKS`, or a function that `check_link` accepts.

    Examples
    --------
    >>> resolve_link("probit") is probit
    True
    """
    if isinstance(link, str):
        if link not in LINKS:
            raise unknown_name("link", link, LINKS)
        return LINKS[link]
    if not callable(link):
        raise DriftduelError(
            f"A link must be a function or one of {', '.join(sorted(LINKS))}; got {link!r}."
        )
    check_link(link)
    return link


def _values(link: Link, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        values = np.asarray(link(grid.copy()), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DriftduelError(
            f"The link must take an array and return one of the same shape; it failed: {error}"
        ) from error
    if values.shape != grid.shape:
        raise DriftduelError(
            "The link must take an array and return one of the same shape; "
            f"given shape {grid.shape}, it returned {values.shape}."
        )
    return values


def _refuse(
    offending: NDArray[np.bool_], rule: str, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    if offending.any():
        at = int(offending.argmax())
        raise DriftduelError(f"The link {rule}; at x = {x[at]:.12g} it gives {y[at]:.12g}.")
