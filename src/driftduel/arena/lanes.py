"""A lane: one policy, and the voters whose duels it chooses."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from driftduel.arena.settings import Settings
from driftduel.policies import Duel, Policy, make_policy, policy_from_bytes, policy_to_bytes
from driftduel.policies.base import RESTARTED
from driftduel.policies.ledger import UNANSWERED

__all__ = ["Lane", "Learned", "first_lanes"]


class Learned(NamedTuple):
    """What a policy learned when a duel's turn had come."""

    duel: Duel
    won: int
    """1: the first, 0: the second, -1: nobody."""
    alarm: bool
    """Whether the policy raised one, or started anew for another reason."""


class Lane:
    """A policy at work: duels that it asks for, answers in the order in which it learns them.

    It does what `Policy.tell` does, one learned answer at a time, because the board has to know
    after which of them the leader changed.

    Parameters
    ----------
    policy
        Who asks and learns.
    weight
        How many voters of all are its own.
    """

    def __init__(self, policy: Policy, weight: int) -> None:
        self.policy, self.weight = policy, weight

    def ask(self) -> Duel:
        """Ask for the next duel."""
        return self.policy.ask()

    def open(self, t: int) -> Duel:
        """Return the duel of a round that has no answer yet."""
        return self.policy.ledger.open[t]

    def tell(self, duel: Duel, winner: int | None) -> tuple[int, Iterator[Learned]]:
        """Settle a duel; return what its answer teaches of the first arm, and what is learned."""
        won = self.policy.ledger.answer(duel, winner)
        return won, self._learn(duel, won)

    def forget(self, duel: Duel) -> Iterator[Learned]:
        """Give up on a duel, which may set free what waited for it."""
        self.policy.ledger.take(duel)
        return self._learn(duel, UNANSWERED)

    def _learn(self, duel: Duel, won: int) -> Iterator[Learned]:
        policy, ledger = self.policy, self.policy.ledger
        for settled, result in ledger.settle(duel, won):
            flags = 0
            if result != UNANSWERED or policy.unanswered:
                first, second, t, notes = settled
                flags = policy.learn(t, first, second, result, notes)
            if flags & RESTARTED:
                ledger.restarts.append(settled.round)
            yield Learned(settled, result, bool(flags & RESTARTED))

    def to_bytes(self) -> bytes:
        """Return a snapshot of the policy, its open duels included."""
        return policy_to_bytes(self.policy)

    @classmethod
    def from_bytes(cls, data: bytes, weight: int) -> "Lane":
        """Make a lane of what `to_bytes` returned."""
        return cls(policy_from_bytes(data), weight)


def first_lanes(settings: Settings, options: int) -> tuple[list[Lane], np.random.Generator]:
    """Return an arena's lanes as they begin, and the coins for sides and for voters of no name."""
    coins, *seeds = np.random.SeedSequence(settings.seed).spawn(1 + len(settings.lanes))
    lanes = [
        Lane(
            make_policy(
                lane.spec,
                options,
                seed,
                order=settings.order,
                ties=settings.ties,
                mode=settings.mode,
            ),
            lane.weight,
        )
        for lane, seed in zip(settings.lanes, seeds, strict=True)
    ]
    return lanes, np.random.default_rng(coins)
