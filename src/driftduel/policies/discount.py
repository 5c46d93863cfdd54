"""A discount around a policy that keeps win counts."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.policies.around import Around, pass_on
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, Named, records
from driftduel.specs import Range

__all__ = ["Discounted"]

Discount = Annotated[float, Range(0, 1, open=True), "factor per answer"]


class State(NamedTuple):
    """The policy inside, and the discount."""

    base: Any
    """The state of the policy inside."""
    discount: Annotated[Any, Named(factor=CONSTANT, rounds=CONSTANT)]
    """The factor, and the rounds of which a constant stream would still count."""


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
    inner_hear = inner.hear

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, _local(state, t), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        if won >= 0:
            _shrink(state.base.wins, state.discount[0].factor)
        return inner_tell(state.base, _local(state, t), first, second, won, notes)

    def hear(state, winner, loser, weight):  # type: ignore[no-untyped-def]
        # As many answers as its weight says, one after the other: 1 + d + d^2 + ...
        shrunk = state.discount[0].factor ** weight
        _shrink(state.base.wins, shrunk)
        inner_hear(state.base, winner, loser, (1.0 - shrunk) / (1.0 - state.discount[0].factor))

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)

    passed = {**pass_on(inner, _local), "hear": inner_hear and kernel(hear)}
    return Kernels(hot(ask), hot(tell), kernel(reset) if inner_reset else None, **passed)


class Discounted(Around):
    """Let every answer count less with each one that follows it.

    No guarantee is known to us; the discount is what it must be told. Confidence bounds that grow
    with time stop growing at 1 / (1 - discount) rounds.

    **Late answers** count fully when they come. A vote of the past that is heard is an answer, too:
    one of weight w like w of them in a row. What is known of an arm that is away goes on fading.

    Parameters
    ----------
    discount
        The factor by which all counts shrink at each answer.
    """

    prefix = "discounted"
    needs_reset = False
    needs_wins = True
    needs_counts_only = True
    tells = ("discount",)
    guarantee = "none known to us"
    source = "folklore; Garivier and Moulines, ALT 2011, for ordinary bandits"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self, arms: int, rng: np.random.Generator, base: KernelPolicy, discount: Discount = 0.999
    ) -> None:
        super().__init__(arms, rng, base)
        self.state = State(
            base.state, records(1, factor=discount, rounds=max(1.0, 1.0 / (1.0 - discount)))
        )
