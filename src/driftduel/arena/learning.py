"""The policy of an arena: its construction, and its answers, one learned answer at a time.

The functions `tell` and `forget` do the work of the methods of `Policy` with the same names, but
yield after each learned answer, because the board records after which of them the leader changed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from driftduel.arena.settings import Settings
from driftduel.policies import RESTARTED, UNANSWERED, Duel, Policy, make_policy

__all__ = ["Learned", "forget", "initial_policy", "tell"]


class Learned(NamedTuple):
    """An answer that the policy has learned, as an immutable value."""

    duel: Duel
    won: int
    """1: the first option, 0: the second, -1: a tie or no answer; of a slate, its code."""
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


def tell(
    policy: Policy, duel: Duel, ranking: Sequence[int], foreign: set[int]
) -> tuple[int, Iterator[Learned]]:
    """Settle a duel; return its result for the first option, and an iterator of learned answers.

    `ranking` has the arm that was picked, or several of a slate, the best first; without any, there
    is no winner. The set `foreign` has the rounds of duels that the policy did not choose. It does
    not learn their answers, and they are removed from the set.
    """
    if len(ranking) > 1:
        won = policy.ledger.answer_ranking(duel, ranking)
    else:
        won = policy.ledger.answer(duel, ranking[0] if ranking else None)
    return won, _learn(policy, duel, won, foreign)


def forget(policy: Policy, duel: Duel, foreign: set[int]) -> Iterator[Learned]:
    """Give up a duel; return an iterator over the answers that waited for it."""
    policy.ledger.take(duel)
    return _learn(policy, duel, UNANSWERED, foreign)


def _learn(policy: Policy, duel: Duel, won: int, foreign: set[int]) -> Iterator[Learned]:
    ledger = policy.ledger
    for settled, result in ledger.settle(duel, won):
        flags = 0
        if settled.round in foreign:
            foreign.discard(settled.round)
        elif result != UNANSWERED or policy.unanswered:
            first, second, t, notes, _ = settled
            flags = policy.learn(t, first, second, result, notes)
        if flags & RESTARTED:
            ledger.restarts.append(settled.round)
        yield Learned(settled, result, bool(flags & RESTARTED))
