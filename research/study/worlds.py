"""Worlds that only the study needs: each moves one measure of change and leaves the others.

They are registered when this module is imported, which a plan's ``imports`` does everywhere; to
repeat a game by hand: ``driftduel play --import research.study.worlds ...``.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from driftduel.preferences import from_utilities
from driftduel.specs import Range
from driftduel.worlds import WORLDS
from driftduel.worlds.base import NO_LINK, Chunk, World
from driftduel.worlds.piecewise import Piecewise

__all__ = ["Drift", "Noise"]

_SEGMENTS = 1 << 15
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Noise(World):
    """K = 3: the winner changes rarely, and the two losers swap their order every few rounds.

    The matrices are those of the paper's remark on S^P and S^CW, with another margin.
    """

    def __init__(self, rounds: int, phases: int, every: int, margin: float) -> None:
        self.arms, self.rounds = 3, rounds
        self.every = every or rounds
        self.chunk_rounds = min(rounds, self.every * _SEGMENTS)
        self.starts = 1 + (np.arange(phases, dtype=np.int64) * rounds) // phases
        self.matrices = np.full((6, 3, 3), 0.5)  # row 2 w + parity
        for winner in range(3):
            one, other = (arm for arm in range(3) if arm != winner)
            for parity in range(2):
                matrix = self.matrices[2 * winner + parity]
                matrix[winner, [one, other]] = 0.5 + margin
                matrix[[one, other], winner] = 0.5 - margin
                matrix[one, other], matrix[other, one] = (1, 0) if parity else (0, 1)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        swaps = np.arange((first - 1) // self.every, (end - 2) // self.every + 1) * self.every + 1
        inside = self.starts[(self.starts > first) & (self.starts < end)]
        starts = np.union1d(np.append(swaps[swaps > first], first), inside).astype(np.int64)
        phase = np.searchsorted(self.starts, starts, side="right") - 1
        rows = 2 * (phase % 3) + ((starts - 1) // self.every) % 2
        return Chunk(starts, end, rows, self.matrices, np.empty((0, 3)), NO_LINK)

    def condorcet_winners(self) -> list[tuple[int, int | None]]:
        """Return the winners with their first rounds; swaps of the losers do not count."""
        return [(int(first), phase % 3) for phase, first in enumerate(self.starts)]


class Drift(World):
    """K = 4: two contenders drift past each other, two losers drift among themselves.

    Contenders beat losers by `lead`; their own gap and the losers' are triangle waves, moved in
    steps. All gaps stay below `lead`, so SST and STI hold, and the contenders alone make the CW
    variation while the faster of the two pairs makes the total one.
    """

    def __init__(
        self, rounds: int, swings: float, noise: float, swing: float, lead: float, steps: int
    ) -> None:
        self.arms, self.rounds = 4, rounds
        self.swings, self.noise, self.swing, self.lead = swings, noise, swing, lead
        self.step = max(1, rounds // steps)
        self.chunk_rounds = min(rounds, self.step * (_SEGMENTS >> 3))

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        places = np.arange((first - 1) // self.step, (end - 2) // self.step + 1)
        starts = np.maximum(places * self.step + 1, first).astype(np.int64)
        # The middle of a step: a wave is then never exactly zero, without a winner.
        time = (places + 0.5) * self.step / self.rounds
        matrices = np.full((len(starts), 4, 4), 0.5)
        matrices[:, :2, 2:] += self.lead
        matrices[:, 2:, :2] -= self.lead
        for one, other, count in ((0, 1, self.swings), (2, 3, self.noise)):
            gap = self.swing * _wave(time * count)
            matrices[:, one, other] += gap
            matrices[:, other, one] -= gap
        rows = np.arange(len(starts), dtype=np.int64)
        return Chunk(starts, end, rows, matrices, np.empty((0, 4)), NO_LINK)


def _wave(turns: Floats) -> Floats:
    """Return a triangle wave from 1 to -1 and back in two turns, so that a turn has one zero."""
    place = turns % 2.0
    wave: Floats = 1 - 2 * np.where(place < 1, place, 2 - place)
    return np.where(np.abs(wave) < 1e-6, 1e-6, wave)


Rounds = Annotated[int, Range(2, 10**15), "number of rounds T"]


@WORLDS.register("study-noise")
def _noise(
    rounds: Rounds = 100_000,
    phases: Annotated[int, Range(1), "stretches with one winner"] = 5,
    every: Annotated[int, Range(0), "rounds between swaps of the losers; 0: none"] = 0,
    margin: Annotated[float, Range(0, 0.5, open_low=True), "the winner's lead"] = 0.3,
) -> World:
    """Change the winner rarely, and the order of the losers often."""
    return Noise(rounds, phases, every, margin)


@WORLDS.register("study-flips")
def _flips(
    rounds: Rounds = 100_000,
    severe: Annotated[int, Range(0), "times the good pair of arms becomes the bad one"] = 1,
    flips: Annotated[int, Range(0), "times the lead within a pair turns round, each phase"] = 0,
    length: Annotated[int, Range(1), "rounds until it turns back"] = 60,
    lead: Annotated[float, Range(0, open=True), "utility between the two of a pair"] = 0.8,
    large: Annotated[float, Range(0, open=True), "utility between the pairs"] = 2.0,
) -> World:
    """Change the winner of four arms often but briefly, and rarely for long; SST and STI hold."""
    phases = severe + 1
    edges = 1 + (np.arange(phases + 1) * rounds) // phases
    starts, matrices = [], []
    for phase in range(phases):
        first, end = int(edges[phase]), int(edges[phase + 1])
        every = (end - first) // (flips + 1)
        turns = [first] + [first + i * every + part * length for i in range(1, flips + 1)
                           for part in (0, 1)]  # fmt: skip
        for place, start in enumerate(turns):
            pair = np.array([0.0, lead] if place % 2 else [lead, 0.0])
            order = (pair + large, pair) if phase % 2 == 0 else (pair, pair + large)
            starts.append(start)
            matrices.append(from_utilities(np.concatenate(order), "logistic"))
    return Piecewise(matrices, starts, rounds)


@WORLDS.register("study-drift")
def _drift(
    rounds: Rounds = 100_000,
    swings: Annotated[float, Range(0), "times the contenders pass each other"] = 2.0,
    noise: Annotated[float, Range(0), "times the losers pass each other"] = 0.0,
    swing: Annotated[float, Range(0, 0.5, open_low=True), "largest gap within a pair"] = 0.3,
    lead: Annotated[float, Range(0, 0.5, open_low=True), "contenders over losers"] = 0.4,
    steps: Annotated[int, Range(1), "steps in which the drift is made"] = 20_000,
) -> World:
    """Let two contenders, and two losers, drift past each other; SST and STI hold."""
    return Drift(rounds, swings, noise, swing, lead, steps)
