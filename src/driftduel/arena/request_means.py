"""Mean requests: of each value of each category, over the last requests, for the board."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.requests import TypedFeatures

__all__ = ["RequestMeans"]

_MEMORY = 1000


class RequestMeans:
    """For each value of each category: the number of requests, and their mean.

    Utilities are linear in the scaled request, so the option that is best at the mean is the best
    one for these requests on average. The mean is over about the last thousand requests with the
    value.

    Parameters
    ----------
    places
        For each pair of a feature's name and a value, its row.
    counts
        (V,) numbers of requests.
    means
        (V, d) means of the scaled requests.
    """

    def __init__(
        self,
        places: Mapping[tuple[str, str], int],
        counts: NDArray[np.int64],
        means: NDArray[np.float64],
    ) -> None:
        self.places, self.counts, self.means = places, counts, means

    @classmethod
    def of(cls, features: TypedFeatures) -> "RequestMeans":
        """Return the means before the first request."""
        keys = [(each.name, value) for each in features.features for value in each.values]
        places = {key: row for row, key in enumerate(keys)}
        size = features.shape.size
        return cls(places, np.zeros(len(keys), np.int64), np.zeros((len(keys), size)))

    def add(self, request: Mapping[str, Any], scaled: Sequence[float] | None) -> None:
        """Add a request."""
        x = np.array(scaled)
        for key in request.items():
            row = self.places.get(key) if isinstance(key[1], str) else None
            if row is not None:
                self.counts[row] += 1
                self.means[row] += (x - self.means[row]) / min(int(self.counts[row]), _MEMORY)

    def rows(self) -> list[tuple[str, str, int, NDArray[np.float64]]]:
        """Return feature, value, number of requests and mean request, in order of declaration."""
        counts, means = self.counts.tolist(), self.means.copy()
        return [(*key, counts[row], means[row]) for key, row in self.places.items()]

    def to_plain(self) -> list[Any]:
        """Return plain values for a snapshot."""
        return [self.counts.tolist(), self.means.tolist()]

    @classmethod
    def from_plain(cls, features: TypedFeatures, plain: Sequence[Any]) -> "RequestMeans":
        """Return the means of a snapshot; raise ValueError if they have another shape."""
        fresh = cls.of(features)
        counts = np.array(plain[0], np.int64)
        means = np.array(plain[1], np.float64).reshape(len(plain[0]), -1)
        if counts.shape != fresh.counts.shape or means.size != fresh.means.size:
            raise ValueError
        return cls(fresh.places, counts, means.reshape(fresh.means.shape))
