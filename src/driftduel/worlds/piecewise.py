"""Worlds with constant preferences between switches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences import TOLERANCE, Preferences
from driftduel.worlds.base import NO_LINK, Chunk, World

__all__ = ["Piecewise"]


class Piecewise(World):
    """A world with one matrix per phase; optionally the phases repeat.

    Parameters
    ----------
    matrices
        One preference matrix per phase.
    starts
        First round of each phase, counted from 1, ascending.
    rounds
        The number of rounds T.
    period
        Length of one cycle of the phases, which repeat until `rounds`; by default no repetition.
    present
        (S, K) the present arms of each phase, as values 0 and 1; by default all arms.
    ties
        (S,) the probability of a tie of two different arms in each phase; by default 0. The
        matrices count a tie as half a win.

    Examples
    --------
    >>> from driftduel.preferences import lone_winner
    >>> world = Piecewise([lone_winner(3, winner=0), lone_winner(3, winner=2)], [1, 501], 1000)
    >>> world.condorcet_winners()
    [(1, 0), (501, 2)]
    """

    drifts = False

    def __init__(
        self,
        matrices: Sequence[Preferences | ArrayLike] | NDArray[Any],
        starts: ArrayLike,
        rounds: int,
        period: int | None = None,
        present: ArrayLike | None = None,
        ties: ArrayLike | None = None,
    ) -> None:
        self.matrices = _matrices(matrices)
        self.arms = self.matrices.shape[1]
        self.rounds = int(rounds)
        self.period = period
        self.here = _present(present, self.matrices.shape[:2])
        self.ties = _ties(ties, self.matrices)
        if self.rounds < 1:
            raise DriftduelError(f"rounds={rounds} must be at least 1.")
        self.starts = _starts(starts, len(self.matrices), min(self.rounds, period or self.rounds))
        self.chunk_rounds = self.rounds
        if period is not None:  # a chunk has at most 2^16 segments of the shortest length
            self.chunk_rounds = int(np.diff(self.starts, append=period + 1).min()) << 16

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        starts, rows = self.starts, np.arange(len(self.starts), dtype=np.int64)
        if self.period is not None:
            turns = np.arange((first - 1) // self.period, (end - 2) // self.period + 1)
            starts = (starts[None, :] + self.period * turns[:, None]).ravel()
            rows = np.tile(rows, len(turns))
        low = int(np.searchsorted(starts, first, side="right")) - 1
        high = int(np.searchsorted(starts, end, side="left"))
        starts, rows = starts[low:high].copy(), rows[low:high]
        starts[0] = first
        # Copy only the matrices in use: a world of many phases must not slow down every chunk.
        used = slice(int(rows.min()), int(rows.max()) + 1)
        no_utilities = np.empty((0, self.arms))
        chunk = Chunk(starts, end, rows - used.start, self.matrices[used], no_utilities, NO_LINK)
        if self.here is not None:
            chunk = chunk._replace(present=self.here[used])
        return chunk if self.ties is None else chunk._replace(ties=self.ties[used])


def _matrices(matrices: Sequence[Preferences | ArrayLike] | NDArray[Any]) -> NDArray[np.float64]:
    if len(matrices) == 0:
        raise DriftduelError("a piecewise world needs at least one matrix; none was given.")
    checked = []
    for phase, matrix in enumerate(matrices, start=1):
        try:
            checked.append(matrix if isinstance(matrix, Preferences) else Preferences(matrix))
        except DriftduelError as error:
            raise DriftduelError(f"matrix of phase {phase}: {error}") from None
        if checked[-1].arms != checked[0].arms:
            raise DriftduelError(
                f"the matrix of phase {phase} has {checked[-1].arms} arms where that of phase 1 "
                f"has {checked[0].arms}; all must have the same number."
            )
    stacked = np.stack([preferences.matrix for preferences in checked])
    stacked.setflags(write=False)
    return stacked


def _present(present: ArrayLike | None, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    if present is None:
        return None
    array = np.asarray(present)
    if array.shape != shape or not np.isin(array, (0, 1)).all():
        raise DriftduelError(
            f"present must be 0 or 1 for every phase and arm, an array {shape}; its shape is "
            f"{array.shape}."
        )
    array = array.astype(np.bool_)
    if not array.any(axis=1).all():
        phase = int(array.any(axis=1).argmin()) + 1
        raise DriftduelError(f"no arm is present in phase {phase}; at least one is required.")
    array.setflags(write=False)
    return array


def _ties(ties: ArrayLike | None, matrices: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if ties is None:
        return None
    array = np.array(ties, dtype=np.float64)
    if array.shape != matrices.shape[:1] or not ((array >= 0) & (array < 1)).all():
        raise DriftduelError(
            f"ties must be a number at least 0 and below 1 for each of {len(matrices)} phases; "
            f"they are {array.tolist()}."
        )
    if not (np.abs(matrices - 0.5).max(axis=(1, 2)) <= (1 - array) / 2 + TOLERANCE).all():
        raise DriftduelError(
            "with ties s, preferences lie between s/2 and 1 - s/2: they count a tie as half a win."
        )
    array.setflags(write=False)
    return array


def _starts(starts: ArrayLike, phases: int, last: int) -> NDArray[np.int64]:
    try:
        raw = np.atleast_1d(np.asarray(starts))
        if raw.dtype == np.int64:
            array, whole = raw.copy(), raw.ndim == 1
        else:
            with np.errstate(invalid="ignore"):  # the result of the cast is undefined for nan
                array = raw.astype(np.int64)
            whole = raw.ndim == 1 and bool((array == raw).all())
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise DriftduelError("the starts must be a list of whole numbers, the first round of each.")
    if len(array) != phases:
        raise DriftduelError(
            f"there are {phases} matrices but {len(array)} starts; each matrix needs one."
        )
    if array[0] != 1:
        raise DriftduelError(f"the first phase starts in round {array[0]}; it must start in 1.")
    wrong = array[1:] <= array[:-1]
    if wrong.any():
        i = int(wrong.argmax())
        raise DriftduelError(
            f"phase {i + 2} starts in round {array[i + 1]}, not after phase {i + 1}, which starts "
            f"in {array[i]}; starts must ascend."
        )
    if array[-1] > last:
        i = int(np.argmax(array > last))
        raise DriftduelError(
            f"phase {i + 1} starts in round {array[i]}, after the last round {last}."
        )
    array.setflags(write=False)
    return array
