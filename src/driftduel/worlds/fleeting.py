"""Worlds redrawn by a fair coin in every round, hence unlearnable."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from driftduel.preferences import Preferences
from driftduel.worlds.base import NO_LINK, Chunk, World

__all__ = ["Fleeting"]

_BLOCK = 1 << 18


class Fleeting(World):
    """A world in which a fair coin selects a matrix or its transpose in every round.

    Every outcome is a fair coin for every policy: both sides are equally likely in every round, and
    independent of the past. Every block of rounds has a separate random stream, so memory does not
    grow with the horizon.

    Parameters
    ----------
    heads
        The preferences P of a round with heads; a round with tails has P transposed.
    rounds, seed
        The number of rounds, and the seed of the coins.

    Examples
    --------
    >>> world = Fleeting(Preferences([[0.5, 0.9], [0.1, 0.5]]), rounds=6, seed=1)
    >>> [float(world.preferences(t).matrix[0, 1]) for t in range(1, 7)]
    [0.9, 0.9, 0.1, 0.9, 0.1, 0.1]
    """

    def __init__(self, heads: Preferences, rounds: int, seed: int = 0) -> None:
        self.arms, self.rounds, self.seed = heads.arms, rounds, seed
        self.chunk_rounds = _BLOCK
        self.matrices = np.stack([heads.matrix, heads.matrix.T])
        self._block = lru_cache(maxsize=2)(self._toss)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        blocks = range((first - 1) // _BLOCK, (end - 2) // _BLOCK + 1)
        tossed = np.concatenate([self._block(block) for block in blocks])
        begin = 1 + blocks[0] * _BLOCK
        coins = tossed[first - begin : end - begin]
        # A segment begins when the side of the coin changes.
        turns = np.concatenate(([0], np.flatnonzero(np.diff(coins)) + 1))
        no_utilities = np.empty((0, self.arms))
        return Chunk(
            first + turns, end, coins[turns].astype(np.int64), self.matrices, no_utilities, NO_LINK
        )

    def _toss(self, block: int) -> NDArray[np.int8]:
        stream = np.random.SeedSequence(self.seed, spawn_key=(block,))
        rng = np.random.Generator(np.random.PCG64(stream))
        return rng.integers(0, 2, min(_BLOCK, self.rounds - block * _BLOCK), dtype=np.int8)
