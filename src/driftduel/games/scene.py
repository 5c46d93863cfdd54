"""What one may want to know of a game afterwards: what the world was like, where a policy stood."""

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.policies import Policy
from driftduel.policies.info import Stage
from driftduel.worlds import Chunk

__all__ = ["Looks", "Scene"]


class Scene:
    """Who was best when, how many arms were there, how many duels tie.

    A game walks through its world anyway; walking a second time, to ask, may take longer than the
    game.
    """

    def __init__(self) -> None:
        self.winners: list[tuple[int, int | None]] = []
        """(first round, Condorcet winner) of every stretch; None where nobody wins."""
        self.present: tuple[int, int] | None = None
        """The fewest and the most arms that were there at a time; None where all always were."""
        self.ties = 0.0
        """How often a duel of two arms ties in the first round."""
        self._last: int | None = None

    def note(self, chunk: Chunk, winners: NDArray[np.int64]) -> None:
        """See the next rounds.

        Parameters
        ----------
        chunk
            The rounds.
        winners
            The Condorcet winner of each of its rows, -1 where there is none.
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


class Looks:
    """Looks at a policy after certain rounds, ascending."""

    def __init__(self, rounds: ArrayLike) -> None:
        self.stages: list[tuple[int, Stage]] = []
        """The rounds, and where the policy stood after them."""
        self._rounds = deque(np.asarray(rounds, np.int64).tolist())

    def before(self, end: int) -> int:
        """Return the round before which a stretch must end that would end before `end`."""
        return min(end, self._rounds[0] + 1) if self._rounds else end

    def note(self, policy: Policy) -> None:
        """Look, if it is time to."""
        if self._rounds and policy.ledger.asked == self._rounds[0]:
            stage = policy.stage()
            if stage == Stage():
                self._rounds.clear()
            else:
                self.stages.append((self._rounds.popleft(), stage))
