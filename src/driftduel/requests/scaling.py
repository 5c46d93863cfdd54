"""Validation and scaling of requests, one implementation for games, policies and logs.

A request is p finite numbers. A policy, a world or a log works with the *scaled* request x, a
vector of length 1:

- **numbers**: c = (0.7 sqrt(d), r_1, ..., r_p) with d = p + 1 and each r clipped to [-3, 3], and
  x = c / |c|. The caller standardises numbers (mean 0, deviation about 1).
- **one-hot**: the request is one complete group of indicators, exactly one of them 1. Then x is the
  request itself, and d = p. A constant would add a direction in which all categories agree, and the
  policy would have to learn it twice.
- no features: d = 1 and x = (1).
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.specs import Range

__all__ = [
    "CLIP", "MOST_FEATURES", "NORM_ERROR", "Features", "OneHot", "RequestShape", "ScaledRequest",
]  # fmt: skip

Floats = NDArray[np.float64]

MOST_FEATURES = 63
"""The largest number of numbers of a request."""
CLIP = 3.0
"""The largest standardised number; larger ones are clipped."""
_CONSTANT = 0.7
NORM_ERROR = 1e-9
"""How far the squared length of a scaled request may be from 1."""

Features = Annotated[int, Range(0, MOST_FEATURES), "numbers of a request; 0: requests are ignored"]
OneHot = Annotated[bool, "whether the numbers of a request are one group of 0/1 indicators"]


class ScaledRequest(tuple[float, ...]):
    """A request that is scaled already, such as the notes of a duel hold.

    >>> RequestShape(2, one_hot=True).scale(ScaledRequest((0.0, 1.0)))
    (0.0, 1.0)
    """

    __slots__ = ()


class RequestShape(NamedTuple):
    """The number of numbers of a request, and whether they are one one-hot group.

    >>> shape = RequestShape(2)
    >>> shape.size, [round(number, 3) for number in shape.scale([3.0, -1.0])]
    (3, [0.358, 0.886, -0.295])
    """

    features: int = 0
    one_hot: bool = False

    @property
    def size(self) -> int:
        """The dimension d of a scaled request."""
        return self.features if self.one_hot else self.features + 1

    def check(self) -> "RequestShape":
        """Return the shape, or raise if it is none."""
        if self.one_hot and self.features < 2:
            raise DriftduelError(
                f"one_hot=true needs features=2 or more, one for each category; it is "
                f"features={self.features}."
            )
        return self

    def __str__(self) -> str:
        return f"features={self.features}" + (",one_hot=true" if self.one_hot else "")

    def scale(self, request: Any) -> ScaledRequest:
        """Return a request as a vector of length 1, or raise with the value and the cure.

        Parameters
        ----------
        request
            The p numbers, in the order in which the features were declared; or a `ScaledRequest`,
            which is checked and returned.
        """
        if type(request) is ScaledRequest:
            return self._checked(request)
        numbers = _numbers(request)
        if len(numbers) != self.features:
            raise DriftduelError(
                f"a request has {len(numbers)} numbers where {self.features} are declared; give "
                f"exactly {self.features}."
            )
        if self.one_hot:
            if numbers.count(1.0) != 1 or numbers.count(0.0) != self.features - 1:
                raise DriftduelError(
                    f"the request {_short(numbers)} is not one-hot; exactly one number must be 1 "
                    f"and all others 0."
                )
            return ScaledRequest(numbers)
        return ScaledRequest(self._vectors(np.array([numbers]))[0].tolist())

    def scale_all(self, requests: ArrayLike) -> Floats:
        """Return many requests, given as an array (n, p), scaled, as an array (n, d).

        The numbers are those of `scale`, to the bit.
        """
        rows = np.asarray(requests, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.features or not np.isfinite(rows).all():
            for row in np.atleast_2d(rows):
                self.scale(row)  # raises the error
            raise DriftduelError(f"requests must be rows of {self.features} numbers.")
        if self.one_hot:
            if not (((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all()):
                for row in rows:
                    self.scale(row)
            return rows
        return self._vectors(rows)

    def _vectors(self, rows: Floats) -> Floats:
        """Return rows of finite numbers with the constant, clipped, and divided by their length."""
        vectors = np.empty((len(rows), self.size))
        vectors[:, 0] = _CONSTANT * math.sqrt(self.size)
        vectors[:, 1:] = np.minimum(np.maximum(rows, -CLIP), CLIP)
        vectors /= np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        return vectors

    def _checked(self, request: ScaledRequest) -> ScaledRequest:
        if len(request) != self.size:
            raise DriftduelError(
                f"a scaled request has {len(request)} numbers where {self.size} are expected."
            )
        norm = sum(number * number for number in request)
        if not abs(norm - 1.0) <= NORM_ERROR:  # also NaN
            raise DriftduelError(
                f"the scaled request {_short(request)} has the length {math.sqrt(norm):.6g}, not 1."
            )
        return request


def _numbers(request: Any) -> list[float]:
    """Return the numbers of a request, or raise."""
    if isinstance(request, np.ndarray):
        request = request.tolist()
    if not isinstance(request, Sequence) or isinstance(request, str | bytes):
        raise DriftduelError(
            f"the request {_short(request)} must be a list of numbers, one for each feature."
        )
    numbers = []
    for place, given in enumerate(request):
        if not isinstance(given, int | float | np.integer | np.floating | np.bool_):
            raise DriftduelError(
                f"a request has {_short(given)} as number {place + 1}; it must be a finite number."
            )
        try:
            number = float(given)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise DriftduelError(
                f"a request has {number} as number {place + 1}; it must be a finite number."
            )
        numbers.append(number)
    return numbers


def _short(value: Any) -> str:
    text = repr(tuple(value) if isinstance(value, ScaledRequest) else value)
    text = text.replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
