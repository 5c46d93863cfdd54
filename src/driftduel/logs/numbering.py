"""Consecutive numbers for hash values."""

import numpy as np
from numpy.typing import NDArray

from driftduel.logs._row_kernels import number_keys

__all__ = ["Numbers"]

_FIRST_SLOTS = 1 << 10


class Numbers:
    """A map from hash values to consecutive numbers, in order of occurrence.

    Examples
    --------
    >>> numbers = Numbers()
    >>> [of.tolist() for of in numbers.of(np.array([7, 3, 7], np.uint64))]
    [[0, 1, 0], [0, 1]]
    >>> [of.tolist() for of in numbers.of(np.array([3, 5], np.uint64))]
    [[1, 2], [1]]
    """

    def __init__(self) -> None:
        self.known = 0
        """The number of distinct values so far."""
        self._stored = np.zeros(0, np.int64)
        self._resize(_FIRST_SLOTS)

    def of(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the numbers of hash values, and the indices of the values that are new."""
        keys = hashes.view(np.int64)
        numbers, new, done = np.empty(len(keys), np.int32), [], 0
        while True:
            before = self.known
            done, self.known = number_keys(
                keys, done, before, self._slots, self._stored, numbers, self._new
            )
            new.append(self._new[before : self.known].copy())
            if done == len(keys):
                return numbers, np.concatenate(new)
            self._resize(2 * len(self._slots))

    def _resize(self, slots: int) -> None:
        """Resize the hash table and insert all stored values again."""
        keys = self._stored[: self.known]
        self._slots = np.full(slots, -1, np.int32)
        self._stored = np.zeros(slots // 2, np.int64)
        self._new = np.zeros(slots // 2, np.int32)
        same = np.empty(len(keys), np.int32)
        number_keys(keys, 0, 0, self._slots, self._stored, same, self._new)
