"""Records of a game: properties of the world, and stages of the policy."""

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.policies import Policy, Stage
from driftduel.worlds import Chunk

__all__ = ["GameScene", "StageRecorder"]


class GameScene:
    """The winners of a world, the number of present arms, and the share of ties.

    Recorded during the game, because a second pass over the world may take longer than the game.
    """

    def __init__(self) -> None:
        self.winners: list[tuple[int, int | None]] = []
        """(first round, Condorcet winner) of every stretch; None means no winner."""
        self.present: tuple[int, int] | None = None
        """The minimum and maximum number of present arms; None if all arms are always present."""
        self.ties = 0.0
        """The probability of a tie of two different arms in the first round."""
        self._last: int | None = None

    def note(self, chunk: Chunk, winners: NDArray[np.int64]) -> None:
        """Record the next rounds.

        Parameters
        ----------
        chunk
            The rounds.
        winners
            The Condorcet winner of each of its rows, or -1.
        """
        if self._last is None and chunk.ties.size:
            self.ties = float(chunk.ties[chunk.rows[0]])
        best = winners[chunk.rows]
        before = np.concatenate((best[:1] - 1 if self._last is None else [self._last], best[:-1]))
        for segment in np.flatnonzero(best != before):
            winner = int(best[segment])
            self.winners.append((int(chunk.starts[segment]), None if winner < 0 else winner))
        self._last = int(best[-1])
        if chunk.present.size:
            counts = chunk.present[np.unique(chunk.rows)].sum(axis=1)
            fewest, most = int(counts.min()), int(counts.max())
            if self.present is not None:
                fewest, most = min(fewest, self.present[0]), max(most, self.present[1])
            self.present = fewest, most


class StageRecorder:
    """A recorder of a policy's stage after certain rounds, ascending."""

    def __init__(self, rounds: ArrayLike) -> None:
        self.stages: list[tuple[int, Stage]] = []
        """The rounds, and the stages of the policy after them."""
        self._rounds = deque(np.asarray(rounds, np.int64).tolist())

    def before(self, end: int) -> int:
        """Return the end of the segment: `end`, or the round after the next recorded one."""
        return min(end, self._rounds[0] + 1) if self._rounds else end

    def note(self, policy: Policy) -> None:
        """Record the stage if the current round is one of the rounds."""
        if self._rounds and policy.ledger.asked == self._rounds[0]:
            stage = policy.stage()
            if stage == Stage():
                self._rounds.clear()
            else:
                self.stages.append((self._rounds.popleft(), stage))
