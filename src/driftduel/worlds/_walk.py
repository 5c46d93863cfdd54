"""Gaussian walks of any length, kept as one anchor per block of rounds."""

import threading
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Walk"]

Floats = NDArray[np.float64]


class Walk:
    """Follow numbers that take an independent Gaussian step in every round.

    Every block of rounds draws its steps from a stream of its own, so that a block is the same
    whether it is reached by walking or by jumping, and only where a block begins is remembered.

    Parameters
    ----------
    start
        The numbers in round 1.
    sd
        Standard deviation of a step.
    seed
        Fixes the walk.
    block_rounds
        Rounds in a block.
    clip
        Keep the numbers in [0, 1] after every step.
    """

    def __init__(
        self, start: Floats, sd: float, seed: int, block_rounds: int, *, clip: bool = False
    ) -> None:
        self.sd, self.seed, self.block_rounds, self.clip = sd, seed, block_rounds, clip
        self._anchors = [start]
        self._lock = threading.Lock()  # games in several threads may share a world
        self._block = lru_cache(maxsize=2)(self._draw)

    def rows(self, first: int, end: int) -> Floats:
        """Return the numbers of the rounds ``first, ..., end - 1``, one row a round."""
        size = self.block_rounds
        parts = []
        for block in range((first - 1) // size, (end - 2) // size + 1):
            low = max(first - 1 - block * size, 0)
            parts.append(self._block(block)[low : end - 1 - block * size])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _draw(self, block: int) -> Floats:
        with self._lock:
            while len(self._anchors) <= block:
                self._anchors.append(self._follow(len(self._anchors) - 1)[-1].copy())
        return self._follow(block)

    def _follow(self, block: int) -> Floats:
        stream = np.random.SeedSequence(self.seed, spawn_key=(block,))
        rng = np.random.Generator(np.random.PCG64(stream))
        anchor = self._anchors[block]
        steps = rng.normal(0.0, self.sd, size=(self.block_rounds, len(anchor)))
        if block == 0:
            steps[0] = 0.0  # round 1 is the start itself
        from driftduel.worlds._kernels import walk

        walk(anchor, steps, self.clip)
        return steps
