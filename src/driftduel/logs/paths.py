"""A world of utilities that are piecewise linear functions of time."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.worlds import LINK_CODES, Chunk, World

__all__ = ["LogPaths"]

_MOST_STEPS = 1 << 16  # in longer chunks, several consecutive rounds share their utilities


class LogPaths(World):
    """A world with piecewise linear utilities and the Bradley-Terry link.

    Parameters
    ----------
    utilities
        (B, K) values of the utilities at the knots.
    places
        (B,) positions of the knots, as shares of the rounds, ascending.
    rounds
        The number of rounds.

    Examples
    --------
    >>> world = LogPaths([[0, 1], [0, -1]], [0, 1], 1000)
    >>> world.condorcet_winners()[0], world.condorcet_winners()[-1]
    ((1, 1), (501, 0))
    """

    def __init__(self, utilities: ArrayLike, places: ArrayLike, rounds: int) -> None:
        self.utilities = np.array(utilities, np.float64)
        self.places = np.array(places, np.float64)
        if self.utilities.ndim != 2 or self.places.shape != self.utilities.shape[:1]:
            raise DriftduelError(
                f"knots need utilities (B, K) and B places; they have {self.utilities.shape} "
                f"and {self.places.shape}."
            )
        if (np.diff(self.places) <= 0).any() or not np.isfinite(self.utilities).all():
            raise DriftduelError("the places of knots must ascend and their utilities be finite.")
        if rounds < 1:
            raise DriftduelError(f"rounds={rounds} must be at least 1.")
        self.arms, self.rounds = self.utilities.shape[1], int(rounds)
        self.step = -(-self.rounds // _MOST_STEPS)
        self.chunk_rounds = self.step * max(16, (1 << 20) // self.arms)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        steps = np.arange((first - 1) // self.step, (end - 2) // self.step + 1)
        starts = np.maximum(steps * self.step + 1, first)
        where = (steps * self.step + self.step / 2) / self.rounds
        rows = np.arange(len(steps), dtype=np.int64)
        columns: list[NDArray[np.float64]] = [
            np.interp(where, self.places, column) for column in self.utilities.T
        ]
        utilities = np.ascontiguousarray(np.stack(columns, axis=1))
        no_matrices = np.empty((0, self.arms, self.arms))
        return Chunk(starts, end, rows, no_matrices, utilities, LINK_CODES["logistic"])
