"""Random walks of any length, stored as one anchor value per block of rounds."""

import threading
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockWalk", "SpendingWalk"]

Floats = NDArray[np.float64]


class BlockWalk:
    """A random walk of several values with independent Gaussian steps in every round.

    Every block of rounds has a separate random stream, so sequential and random access give the
    same values; only the value at the start of each block is stored. Instances may be shared by
    threads.

    Parameters
    ----------
    start
        The values in round 1.
    sd
        Standard deviation of a step.
    seed
        Seed of the walk.
    block_rounds
        Rounds in a block.
    clip
        Whether to keep the values in [0, 1] after every step; the default is False.
    """

    def __init__(
        self, start: Floats, sd: float, seed: int, block_rounds: int, *, clip: bool = False
    ) -> None:
        self.sd, self.seed, self.block_rounds, self.clip = sd, seed, block_rounds, clip
        self._anchors = [start]
        self._share()

    def _share(self) -> None:
        self._lock = threading.Lock()  # a world may be shared by games in several threads
        self._block = lru_cache(maxsize=2)(self._draw)

    def __getstate__(self) -> dict[str, Any]:
        return {k: value for k, value in vars(self).items() if k not in ("_lock", "_block")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._share()

    def rows(self, first: int, end: int) -> Floats:
        """Return the values of the rounds ``first, ..., end - 1``, one row per round."""
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
        places = self._follow(block)
        with self._lock:
            # Store the end of this block, so that sequential access does not compute it again.
            if len(self._anchors) == block + 1:
                self._anchors.append(places[-1].copy())
        return places

    def _follow(self, block: int) -> Floats:
        stream = np.random.SeedSequence(self.seed, spawn_key=(block,))
        rng = np.random.Generator(np.random.PCG64(stream))
        anchor = self._anchors[block]
        steps = self._steps(rng, block, anchor)
        from driftduel.worlds._kernels import walk

        walk(anchor, steps, self.clip)
        return steps

    def _steps(self, rng: np.random.Generator, block: int, anchor: Floats) -> Floats:
        """Draw the steps that lead to each round of a block."""
        steps = rng.normal(0.0, self.sd, size=(self.block_rounds, len(anchor)))
        if block == 0:
            steps[0] = 0.0  # round 1 is the start itself
        return steps


class SpendingWalk(BlockWalk):
    """A random walk in [0, 1] with a given sum of the largest steps of all rounds.

    The step into round t has a Gaussian direction, and its largest component is mu_t times the
    variation; mu is uniform on the simplex, Dirichlet(1, ..., 1). Dirichlet values can be drawn
    block by block: a block takes a beta-distributed part of the remaining variation, and divides it
    like exponential values. The remaining variation is a column of the walk, so that an anchor
    contains it.

    Parameters
    ----------
    start, seed, block_rounds
        Same arguments as of `BlockWalk`.
    variation
        The sum over rounds of the largest step. The clipped part of a step is lost.
    rounds
        The number of rounds over which the variation is spread.
    """

    def __init__(
        self, start: Floats, variation: float, rounds: int, seed: int, block_rounds: int
    ) -> None:
        super().__init__(np.append(start, 1.0), 1.0, seed, block_rounds, clip=True)
        self.variation, self.rounds = variation, rounds

    def rows(self, first: int, end: int) -> Floats:
        """Return the values of the rounds ``first, ..., end - 1``, one row per round."""
        return super().rows(first, end)[:, :-1]

    def _steps(self, rng: np.random.Generator, block: int, anchor: Floats) -> Floats:
        size = self.block_rounds
        steps = np.zeros((size, len(anchor)))
        first = 1 if block == 0 else 0  # round 1 is the start itself
        last = min(size, self.rounds - block * size)
        later = max(0, self.rounds - (block + 1) * size)
        if last > first:
            spent = rng.exponential(size=last - first)
            spent *= anchor[-1] * (rng.beta(last - first, later) if later else 1.0) / spent.sum()
            ways = rng.normal(size=(last - first, len(anchor) - 1))
            ways *= (self.variation * spent / np.abs(ways).max(axis=1))[:, None]
            steps[first:last, :-1] = ways
            steps[first:last, -1] = -spent
        return steps
