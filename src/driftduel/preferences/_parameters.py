"""Validation of single parameters; errors name the parameter, its value and the allowed range."""

import difflib
import operator
from collections.abc import Iterable
from numbers import Real
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError

__all__ = [
    "arm_index",
    "arm_order",
    "finite_vector",
    "floats",
    "generator",
    "number",
    "number_of_arms",
    "unknown_name",
]


def number(name: str, value: object, low: float, high: float, brackets: str = "[]") -> float:
    """Return `value` as a float, or raise if it lies outside an interval.

    Parameters
    ----------
    name
        The parameter's name, for the error.
    value
        The value of the argument.
    low, high
        The ends of the interval.
    brackets
        The closed and open ends in the usual notation: ``"(]"`` excludes `low` only.
    """
    if isinstance(value, Real):
        x = float(value)
        above = x > low or (x == low and brackets[0] == "[")
        below = x < high or (x == high and brackets[1] == "]")
        if above and below:
            return x
        value = x
    interval = f"{brackets[0]}{low:g}, {high:g}{brackets[1]}"
    raise DriftduelError(f"{name} must be a number in {interval}; got {value!r}.")


def floats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a float64 copy of an array of numbers, or raise for any other object."""
    try:
        raw = np.asarray(values)
        # numpy would also convert text and complex values, by parsing or by dropping a part.
        if raw.dtype.kind in "biufO":
            return np.array(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DriftduelError(f"{name} must be an array of numbers; numpy error: {error}") from error
    raise DriftduelError(f"{name} must be an array of numbers; got entries of type {raw.dtype}.")


def finite_vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a vector of at least two finite values, or raise for any other object."""
    vector = floats(name, values)
    if vector.ndim != 1 or vector.size < 2:
        raise DriftduelError(
            f"{name} must be a list of at least two numbers; got shape {vector.shape}."
        )
    if not np.isfinite(vector).all():
        at = int(np.argmin(np.isfinite(vector)))
        raise DriftduelError(f"{name} must be finite; {name}[{at}] is {vector[at]}.")
    return vector


def number_of_arms(value: SupportsIndex, low: int = 2) -> int:
    """Return the number of arms as an int, or raise if the value is below `low`."""
    try:
        arms = operator.index(value)
    except TypeError:
        arms = -1
    if arms < low:
        raise DriftduelError(f"arms must be a whole number of at least {low}; got {value!r}.")
    return arms


def arm_index(name: str, value: SupportsIndex, arms: int) -> int:
    """Return the index of an arm as an int, or raise if the value is not in ``0..arms-1``."""
    try:
        index = operator.index(value)
    except TypeError:
        index = -1
    if not 0 <= index < arms:
        raise DriftduelError(
            f"{name} must be an arm, a whole number in 0..{arms - 1}; got {value!r}."
        )
    return index


def arm_order(order: ArrayLike) -> NDArray[np.intp]:
    """Return an order of the arms, best first, or raise if the argument is no permutation."""
    try:
        ranks = np.asarray(order)
    except ValueError:  # ragged
        ranks = np.empty(0)
    if (
        ranks.ndim != 1
        or ranks.size < 2
        or ranks.dtype.kind not in "iu"
        or not np.array_equal(np.sort(ranks), np.arange(ranks.size))
    ):
        raise DriftduelError(
            "order must name each of the arms 0..K-1 (K >= 2) exactly once, best first; "
            f"got {order!r}."
        )
    return ranks.astype(np.intp)


def generator(rng: object) -> np.random.Generator:
    """Return the argument `rng`, or raise if it is not a numpy Generator."""
    if not isinstance(rng, np.random.Generator):
        raise DriftduelError(
            "rng must be a numpy.random.Generator, such as numpy.random.default_rng(1); "
            f"got {rng!r}."
        )
    return rng


def unknown_name(kind: str, name: object, known: Iterable[str]) -> DriftduelError:
    """Return an "unknown name" error with close matches."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    listed = ", ".join(names)
    if near:
        meant = " or ".join(map(repr, near))
        return DriftduelError(
            f"No {kind} is called {name!r}; did you mean {meant} (known: {listed})?"
        )
    return DriftduelError(f"No {kind} is called {name!r}; known are {listed}.")
