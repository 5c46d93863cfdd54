"""Worlds with preferences that change in every round, evaluated block by block.

Memory does not grow with the horizon.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences
from driftduel.specs import need_room
from driftduel.worlds._walk import BlockWalk, SpendingWalk
from driftduel.worlds.base import LINK_CODES, NO_LINK, Chunk, World

__all__ = ["Interpolated", "MatrixDrift", "MatrixWalk", "Paths", "RandomWalk", "Seasonal"]

Floats = NDArray[np.float64]
_FEWEST_BITS = 4  # at least 16 rounds per block, for matrices of any size


class _Utilities(World):
    """The base class of worlds with utilities and a link: P_t(a,b) = sigma(u_t(a) - u_t(b))."""

    def __init__(self, arms: int, rounds: int, link: str) -> None:
        if link not in LINK_CODES:
            raise DriftduelError(f"link={link} must be one of {', '.join(LINK_CODES)}.")
        self.arms, self.rounds, self.link = arms, rounds, link
        self.chunk_rounds = _rounds_in_memory(arms)

    @abstractmethod
    def utilities(self, first: int, end: int) -> Floats:
        """Return the utilities of the rounds ``first, ..., end - 1``, one row per round."""

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        utilities = np.ascontiguousarray(self.utilities(first, end))
        return _every_round(first, end, None, utilities, LINK_CODES[self.link])


class RandomWalk(_Utilities):
    """A world in which every utility takes an independent Gaussian step in every round.

    Parameters
    ----------
    start
        Utilities of round 1.
    sd
        Standard deviation of one step.
    rounds, link, seed
        The number of rounds, the name of the link function, and the seed of the walk.
    """

    def __init__(
        self, start: ArrayLike, sd: float, rounds: int, link: str = "logistic", seed: int = 0
    ) -> None:
        utilities = np.asarray(start, dtype=np.float64)
        super().__init__(len(utilities), rounds, link)
        self._walk = BlockWalk(utilities, sd, seed, self.chunk_rounds)

    def utilities(self, first: int, end: int) -> Floats:
        """Return the utilities of the rounds ``first, ..., end - 1``, one row per round."""
        return self._walk.rows(first, end)


class Seasonal(_Utilities):
    """A world of periodic utilities.

    The value is u_t(a) = level(a) + swing(a) sin(2 pi (t / period + shift(a))).
    """

    def __init__(
        self,
        level: ArrayLike,
        swing: ArrayLike,
        shift: ArrayLike,
        period: float,
        rounds: int,
        link: str = "logistic",
    ) -> None:
        self.level, self.swing, self.shift = (
            np.asarray(values, dtype=np.float64) for values in (level, swing, shift)
        )
        super().__init__(len(self.level), rounds, link)
        self.period = period

    def utilities(self, first: int, end: int) -> Floats:
        """Return the utilities of the rounds ``first, ..., end - 1``, one row per round."""
        turns = np.arange(first, end)[:, None] / self.period + self.shift
        result: Floats = self.level + self.swing * np.sin(2 * np.pi * turns)
        return result


class Paths(_Utilities):
    """A world with piecewise linear utilities.

    Parameters
    ----------
    knots
        Rounds, ascending. Utilities are constant before the first and after the last.
    values
        (M, K) values of the utilities in those rounds.
    rounds, link
        The number of rounds and the name of the link function.

    Examples
    --------
    >>> world = Paths([1, 101], [[0.0, 1.0], [2.0, 1.0]], 200)
    >>> world.utilities(51, 52).tolist(), world.utilities(150, 151).tolist()
    ([[1.0, 1.0]], [[2.0, 1.0]])
    """

    def __init__(
        self, knots: ArrayLike, values: ArrayLike, rounds: int, link: str = "logistic"
    ) -> None:
        self.knots = np.asarray(knots, dtype=np.float64)
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.ndim != 2 or self.knots.shape != self.values.shape[:1]:
            raise DriftduelError(
                f"{self.knots.size} knots need as many rows of utilities; their shape is "
                f"{self.values.shape}."
            )
        if not (np.diff(self.knots) > 0).all():
            raise DriftduelError("the knots of a path must ascend.")
        super().__init__(self.values.shape[1], rounds, link)

    def utilities(self, first: int, end: int) -> Floats:
        """Return the utilities of the rounds ``first, ..., end - 1``, one row per round."""
        at = np.arange(first, end, dtype=np.float64)
        return np.stack([np.interp(at, self.knots, path) for path in self.values.T], axis=1)


class Interpolated(World):
    """A world that interpolates linearly between matrices.

    Parameters
    ----------
    matrices
        The matrices at the knots, at least two.
    rounds
        The number of rounds; the knots are spaced evenly from round 1 to the last.
    """

    def __init__(self, matrices: list[Preferences], rounds: int) -> None:
        if len(matrices) < 2:
            raise DriftduelError(f"an interpolated world needs 2 matrices, not {len(matrices)}.")
        self.matrices = np.stack([preferences.matrix for preferences in matrices])
        self.arms, self.rounds = self.matrices.shape[1], rounds
        self.chunk_rounds = _rounds_in_memory(self.arms)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        legs = len(self.matrices) - 1
        place = (np.arange(first, end) - 1) * (legs / max(1, self.rounds - 1))
        leg = np.minimum(place.astype(np.int64), legs - 1)
        weight = (place - leg)[:, None, None]
        matrices = (1 - weight) * self.matrices[leg] + weight * self.matrices[leg + 1]
        return _every_round(first, end, matrices, None, NO_LINK)


class _Entries(World):
    """The base class of worlds with independent walks of the entries above the diagonal.

    Such worlds often have no Condorcet winner; Borda and Copeland regret are defined nevertheless.
    """

    _walk: BlockWalk

    def __init__(self, start: Preferences, rounds: int) -> None:
        self.arms, self.rounds = start.arms, rounds
        self.chunk_rounds = _rounds_in_memory(self.arms)
        self._upper = np.triu_indices(self.arms, 1)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        from driftduel.worlds._kernels import mirror

        matrices = np.empty((end - first, self.arms, self.arms))
        mirror(self._walk.rows(first, end), matrices)
        return _every_round(first, end, matrices, None, NO_LINK)


class MatrixWalk(_Entries):
    """A world with Gaussian noise added to every entry in every round, clipped to [0, 1].

    Such worlds often have no Condorcet winner; Borda and Copeland regret are defined nevertheless.

    Parameters
    ----------
    start
        The preferences of round 1.
    sd
        Standard deviation of one step of an entry.
    rounds, seed
        The number of rounds, and the seed of the walk.
    """

    def __init__(self, start: Preferences, sd: float, rounds: int, seed: int = 0) -> None:
        super().__init__(start, rounds)
        self._walk = BlockWalk(start.matrix[self._upper], sd, seed, self.chunk_rounds, clip=True)


class MatrixDrift(_Entries):
    """A world with changes of all entries in every round, and a given total variation.

    The largest change of any entry in round t is mu_t V, where mu is uniform on the simplex. All
    entries move in a Gaussian direction and are clipped to [0, 1], which may cost some of V.

    Parameters
    ----------
    start
        The preferences of round 1.
    variation
        V, the sum over rounds of the largest change of any entry.
    rounds, seed
        The number of rounds, and the seed of the drift.
    """

    def __init__(self, start: Preferences, variation: float, rounds: int, seed: int = 0) -> None:
        super().__init__(start, rounds)
        entries = start.matrix[self._upper]
        self._walk = SpendingWalk(entries, variation, rounds, seed, self.chunk_rounds)


def _every_round(
    first: int, end: int, matrices: Floats | None, utilities: Floats | None, link: int
) -> Chunk:
    arms = (matrices if matrices is not None else utilities).shape[-1]  # type: ignore[union-attr]
    return Chunk(
        np.arange(first, end, dtype=np.int64),
        end,
        np.arange(end - first, dtype=np.int64),
        np.empty((0, arms, arms)) if matrices is None else matrices,
        np.empty((0, arms)) if utilities is None else utilities,
        link,
    )


def _rounds_in_memory(arms: int) -> int:
    """Return the number of full matrices to hold in memory: about sixteen megabytes."""
    return 1 << max(_FEWEST_BITS, int(np.log2(16e6 / (8 * arms * arms))))


def need_rounds(arms: int) -> None:
    """Raise if the matrices of a few rounds would not fit into memory."""
    rounds = 1 << _FEWEST_BITS
    need_room(f"arms={arms}: {rounds} rounds of arms x arms entries", rounds * arms * arms)
