"""Delayed feedback: outcomes are delivered in order, a fixed number of rounds after their duel."""

from collections import deque
from collections.abc import Iterator

import numpy as np

from driftduel.errors import DriftduelError
from driftduel.policies import Duel, KernelPolicy, Policy
from driftduel.worlds import Chunk

__all__ = ["DelayQueue"]


class DelayQueue:
    """Queue of decided duels with feedback that is not delivered yet.

    It persists across the chunks and segments of a game. A game by ask and tell uses a deque. A
    compiled game uses a ring buffer with one slot per round of delay: the duel of round t takes the
    slot of the duel of round t - delay, which is delivered then. At the end of the game the
    remaining duels are moved to the ledger of the policy.

    Parameters
    ----------
    policy
        The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.delay = 0
        """The number of further duels before an outcome is delivered."""
        self.ring = np.empty((0, 3), np.int64)
        """(delay, 3) the two arms, and the outcome to deliver: 1, 0, -1 or the code of a slate."""
        self.notes = np.empty((0, 0))
        """(delay, notes) the notes of the policy from the choice of the duel."""
        self._begun = False
        self._queue: deque[tuple[Duel, int]] = deque()

    def expect(self, chunk: Chunk) -> None:
        """Set the delay from a chunk before it is played; raise if it differs between chunks."""
        if not self._begun:
            self._begun, self.delay = True, chunk.delay
            if isinstance(self.policy, KernelPolicy):
                self.ring = np.empty((self.delay, 3), np.int64)
                self.notes = np.empty((self.delay, len(self.policy.scratch)))
        elif chunk.delay != self.delay:
            raise DriftduelError(
                f"the delay must be the same in all rounds of a world; it is {self.delay} rounds "
                f"first, and {chunk.delay} from round {int(chunk.starts[0])} on."
            )

    def tell(self, duel: Duel, won: int) -> tuple[Duel, int] | None:
        """Enqueue an outcome; deliver and return the one that is due now, if any.

        Parameters
        ----------
        duel
            The last duel.
        won
            The argument of `Policy.tell_first_won`.
        """
        self._queue.append((duel, won))
        if len(self._queue) <= self.delay:
            return None
        arrived = self._queue.popleft()
        self.policy.tell_first_won(*arrived)
        return arrived

    def give_up(self) -> None:
        """Clear the ring buffer after an error in the middle of a round."""
        self.delay = 0

    def close(self) -> None:
        """Move the duels of the ring buffer to the policy's ledger as pending duels."""
        if len(self.ring) and self.delay:
            self.policy.ledger.reopen(self._in_ring())

    def _in_ring(self) -> Iterator[Duel]:
        asked = self.policy.ledger.asked
        for t in range(max(1, asked - self.delay + 1), asked + 1):
            place = (t - 1) % self.delay
            first, second, _ = self.ring[place].tolist()
            notes = tuple(self.notes[place].tolist())
            yield Duel(first, second, t, notes, self.policy.others_of(notes))
