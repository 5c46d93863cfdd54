"""Slates around a policy for duels: its duel, and other arms beside it."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies.base import GROW, KernelPolicy, Kernels
from driftduel.policies.fields import ROUND
from driftduel.policies.ledger import UNANSWERED
from driftduel.policies.slates import Slate, other_notes, result_of_pair
from driftduel.policies.wrapper import Wrapper, pass_on, presence_inside
from driftduel.specs import Choice

__all__ = ["FilledSlate"]

_LEARNS = ("duel", "pairs")

Learns = Annotated[
    str,
    Choice(_LEARNS),
    "duel: the answer to its own duel only; pairs: every decided duel of the slate",
]


class FilledState(NamedTuple):
    """The record of the wrapped policy, and when each arm was in one of its duels."""

    base: Any
    dueled: Annotated[Any, ROUND]
    """(K,) the last round in which the arm was in a duel of the wrapped policy, or 0."""


@cache
def _wrap(inner: Kernels, more: int, pairs: bool) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    unanswered, here = inner.unanswered, presence_inside(inner)

    @hot
    def next_arm(state, first, second, others, k):  # type: ignore[no-untyped-def]
        """Return the arm that was dueled last among those not on the slate, or -1."""
        arm, latest = -1, -1
        for i in range(len(state.dueled)):
            is_free = i not in (first, second) and here(state, i) != 0
            for q in range(k):
                is_free = is_free and others[q] != i
            if is_free and state.dueled[i] > latest:
                arm, latest = i, state.dueled[i]
        return arm

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        own = len(notes) - more
        first, second = inner_ask(state.base, rng, t, notes[:own])
        others = notes[own:]
        state.dueled[first] = t
        state.dueled[second] = t
        for k in range(more):
            others[k] = -1.0
        if first != second:
            for k in range(more):
                others[k] = next_arm(state, first, second, others, k)
        return first, second

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        own = len(notes) - more
        if first == second:
            return inner_tell(state.base, t, first, second, won, notes[:own])
        flags, result = 0, max(result_of_pair(won, 0, 1), UNANSWERED)
        if result >= 0 or unanswered:
            flags = inner_tell(state.base, t, first, second, result, notes[:own])
        if not pairs:
            return flags
        for q in range(2, more + 2):
            j = int(notes[own + q - 2])
            for p in range(q if j >= 0 else 0):
                i = first if p == 0 else second
                i = int(notes[own + p - 2]) if p >= 2 else i
                result = result_of_pair(won, p, q)
                if result >= 0 and not flags & GROW:  # a full record must grow before it learns
                    flags |= inner_tell(state.base, t, i, j, result, notes[:own])
        return flags

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)

    return Kernels(hot(ask), hot(tell), kernel(reset) if inner_reset else None, **pass_on(inner))


class FilledSlate(Wrapper):
    """Show the wrapped policy's duel on a slate, beside the arms of its latest other duels.

    An adapter: with it every policy for duels can be shown where people pick from slates. The other
    arms are those whose last duel is latest. They depend on the past only, so by the independence
    of irrelevant alternatives (choices after Plackett and Luce) the law of the answer to the duel,
    given that it is decided, is that of the plain duel, and statements of the policy about its
    answers hold. An arm that the policy shows alone is shown alone.

    - ``learn=duel``: the policy learns from its own duel only. If another arm was picked, the duel
      has no answer, like a tie. From picks it learns less per round than without a slate, from
      rankings the same.
    - ``learn=pairs``: it also learns from each other decided duel of the slate. More is learned per
      round, but the answers of one slate depend on each other, so confidence bounds that count them
      as independent do not hold. Only for policies that accept answers to any duel.

    Prior knowledge: that of the wrapped policy.

    **Late answers** as in the wrapped policy. A forgotten slate is a forgotten duel.

    Parameters
    ----------
    slate
        The largest number of arms shown.
    learn
        See above.
    """

    prefix = "slate"
    needs_reset = False
    guarantee = "that of the wrapped policy in the number of decided duels, for learn=duel"
    source = "ours"
    confidence = "exact: a composition, nothing of the policy inside is changed"

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        base: KernelPolicy,
        slate: Slate = 2,
        learn: Learns = "duel",
    ) -> None:
        if learn == "pairs" and not base.kernels.any_duel:
            raise DriftduelError(
                f"learn='pairs' is not supported by {base.name!r}, which learns from its own duels "
                f"only; pass learn=duel."
            )
        self.slate, self._pairs = slate, learn == "pairs"
        self.last_notes = other_notes(slate)
        super().__init__(arms, rng, base)
        self.state = FilledState(base.state, np.zeros(arms, np.int64))

    def wrap(self, inner: Kernels) -> Kernels:  # type: ignore[override]
        """Return the kernels for the slate and the answers of this instance."""
        return _wrap(inner, self.slate - 2, self._pairs)
