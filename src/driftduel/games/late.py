"""Answers on their way: told in the order of asking, so many rounds after their duel."""

from collections import deque
from collections.abc import Iterator

import numpy as np

from driftduel.errors import DriftduelError
from driftduel.policies import Duel, KernelPolicy, Policy
from driftduel.worlds import Chunk

__all__ = ["Late"]


class Late:
    """Duels of a game that are decided, and whose answers the policy has yet to hear.

    They outlive the chunks and stretches of a game. A game by ask and tell has them in a queue. A
    compiled one has them in a ring with a place for each round that an answer takes: the duel of
    round t takes the place of the one of round t - delay, which is told then. What compiled code
    keeps to itself is put into the policy's ledger when the game is over.

    Parameters
    ----------
    policy
        Who plays.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.delay = 0
        """How many more duels are asked for before an answer is told."""
        self.ring = np.empty((0, 3), np.int64)
        """(delay, 3) the two arms, and what is to be told of them: 1, 0 or -1."""
        self.notes = np.empty((0, 0))
        """(delay, notes) what the policy noted when it asked."""
        self._begun = False
        self._queue: deque[tuple[Duel, int]] = deque()

    def expect(self, chunk: Chunk) -> None:
        """Learn from a chunk, before it is played, how late its answers are."""
        if not self._begun:
            self._begun, self.delay = True, chunk.delay
            if isinstance(self.policy, KernelPolicy):
                self.ring = np.empty((self.delay, 3), np.int64)
                self.notes = np.empty((self.delay, len(self.policy.scratch)))
        elif chunk.delay != self.delay:
            raise DriftduelError(
                f"answers must be as late in all rounds of a world; they take {self.delay} rounds "
                f"first, and {chunk.delay} from round {int(chunk.starts[0])} on."
            )

    def tell(self, duel: Duel, won: int) -> tuple[Duel, int] | None:
        """Send off an answer, and tell the one that arrives now, if there is one; return that one.

        Parameters
        ----------
        duel
            The duel asked for last.
        won
            What `Policy.tell_first_won` takes.
        """
        self._queue.append((duel, won))
        if len(self._queue) <= self.delay:
            return None
        arrived = self._queue.popleft()
        self.policy.tell_first_won(*arrived)
        return arrived

    def give_up(self) -> None:
        """Drop what is in the ring: the game went wrong in the middle of a round."""
        self.delay = 0

    def close(self) -> None:
        """Leave the duels of the ring with the policy, as open ones, as they are in live use."""
        if len(self.ring) and self.delay:
            self.policy.ledger.reopen(self._in_ring())

    def _in_ring(self) -> Iterator[Duel]:
        asked = self.policy.ledger.asked
        for t in range(max(1, asked - self.delay + 1), asked + 1):
            place = (t - 1) % self.delay
            first, second, _ = self.ring[place].tolist()
            yield Duel(first, second, t, tuple(self.notes[place].tolist()))
