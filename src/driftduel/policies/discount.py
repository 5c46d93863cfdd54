"""A discount around a policy that keeps win counts."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, Named, records
from driftduel.policies.wrapper import Wrapper, pass_on
from driftduel.specs import Range

__all__ = ["Discounted"]

Discount = Annotated[float, Range(0, 1, open=True), "factor per answer"]


class DiscountState(NamedTuple):
    """The wrapped policy, and the discount."""

    base: Any
    """The state of the wrapped policy."""
    discount: Annotated[Any, Named(factor=CONSTANT, rounds=CONSTANT)]
    """The factor, and the effective number of rounds, 1 / (1 - factor)."""


@hot
def _local(state: Any, t: int) -> int:
    return min(t, int(state.discount[0].rounds))


@hot
def _shrink(wins: Any, factor: float) -> None:
    for i in range(wins.shape[0]):
        for j in range(wins.shape[1]):
            wins[i, j] *= factor


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    inner_add_past_vote = inner.add_past_vote

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, _local(state, t), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        if won >= 0:
            _shrink(state.base.wins, state.discount[0].factor)
        return inner_tell(state.base, _local(state, t), first, second, won, notes)

    def add_past_vote(state, winner, loser, weight):  # type: ignore[no-untyped-def]
        # Equivalent to `weight` answers in sequence: 1 + d + d^2 + ...
        shrunk = state.discount[0].factor ** weight
        _shrink(state.base.wins, shrunk)
        inner_add_past_vote(
            state.base, winner, loser, (1.0 - shrunk) / (1.0 - state.discount[0].factor)
        )

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)

    passed = {
        **pass_on(inner, _local),
        "add_past_vote": inner_add_past_vote and kernel(add_past_vote),
    }
    return Kernels(hot(ask), hot(tell), kernel(reset) if inner_reset else None, **passed)


class Discounted(Wrapper):
    """Multiply all counts by a discount factor at each answer.

    We have no guarantee. Prior knowledge: the discount. Confidence bounds that grow with time stop
    growing at 1 / (1 - discount) rounds.

    **Late answers** count fully on arrival. A past vote counts as an answer, too: one of weight w
    like w answers in sequence. The counts of an absent arm continue to decrease.

    Parameters
    ----------
    discount
        The factor for all counts at each answer, a value in (0, 1).
    """

    prefix = "discounted"
    needs_reset = False
    needs_wins = True
    needs_counts_only = True
    adds_prior_knowledge = ("discount",)
    guarantee = "none known to us"
    source = "folklore; Garivier and Moulines, ALT 2011, for ordinary bandits"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, discount: Discount = 0.999
    ) -> None:
        super().__init__(arms, rng, base)
        self.state = DiscountState(
            base.state, records(1, factor=discount, rounds=max(1.0, 1.0 / (1.0 - discount)))
        )
