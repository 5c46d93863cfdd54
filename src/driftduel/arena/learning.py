"""The policy of an arena: its construction, and its answers, one learned answer at a time.

The functions `tell` and `forget` do the work of the methods of `Policy` with the same names, but
yield after each learned answer, because the board records after which of them the leader changed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from driftduel.arena.settings import Settings
from driftduel.policies import Duel, Policy, make_policy
from driftduel.policies.base import RESTARTED
from driftduel.policies.ledger import UNANSWERED

__all__ = ["Learned", "forget", "initial_policy", "tell"]


class Learned(NamedTuple):
    """An answer that the policy has learned, as an immutable value."""

    duel: Duel
    won: int
    """1: the first option, 0: the second, -1: a tie or no answer."""
    alarm: bool
    """Whether the policy raised an alarm, or restarted for another reason."""


def initial_policy(settings: Settings, options: int) -> tuple[Policy, np.random.Generator]:
    """Return the policy of a new arena, and the random generator that chooses the sides."""
    coins, seed = np.random.SeedSequence(settings.seed).spawn(2)
    policy = make_policy(
        settings.policy,
        options,
        seed,
        order=settings.order,
        ties=settings.ties,
        mode=settings.mode,
    )
    return policy, np.random.default_rng(coins)


def tell(policy: Policy, duel: Duel, winner: int | None) -> tuple[int, Iterator[Learned]]:
    """Settle a duel; return its result for the first option, and an iterator of learned answers."""
    won = policy.ledger.answer(duel, winner)
    return won, _learn(policy, duel, won)


def forget(policy: Policy, duel: Duel) -> Iterator[Learned]:
    """Give up a duel; return an iterator over the answers that waited for it."""
    policy.ledger.take(duel)
    return _learn(policy, duel, UNANSWERED)


def _learn(policy: Policy, duel: Duel, won: int) -> Iterator[Learned]:
    ledger = policy.ledger
    for settled, result in ledger.settle(duel, won):
        flags = 0
        if result != UNANSWERED or policy.unanswered:
            first, second, t, notes = settled
            flags = policy.learn(t, first, second, result, notes)
        if flags & RESTARTED:
            ledger.restarts.append(settled.round)
        yield Learned(settled, result, bool(flags & RESTARTED))
