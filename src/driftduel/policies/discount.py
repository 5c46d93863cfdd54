"""A discount around a policy that keeps win counts."""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.policies.around import Around, suspect_inside
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT
from driftduel.specs import Range

__all__ = ["Discounted"]


class State(NamedTuple):
    """The policy inside, and the discount."""

    base: Any
    """The state of the policy inside."""
    discount: Annotated[Any, CONSTANT]
    """(2,) the factor, and the rounds of which a constant stream would still count."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        return inner_ask(state.base, rng, min(t, int(state.discount[1])), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        wins = state.base.wins
        for i in range(wins.shape[0]):
            for j in range(wins.shape[1]):
                wins[i, j] *= state.discount[0]
        return inner_tell(state.base, min(t, int(state.discount[1])), first, second, won, notes)

    def reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)

    return Kernels(
        hot(ask),
        hot(tell),
        kernel(reset) if inner_reset else None,
        suspect_inside(inner),
        inner.any_duel,
    )


class Discounted(Around):
    """Let every answer count less with each one that follows it.

    No guarantee is known to us; the discount is what it must be told. Confidence bounds that grow
    with time stop growing at 1 / (1 - discount) rounds.

    **Late answers** count fully when they come.

    Parameters
    ----------
    arms, rng, base
        The number of arms K, the randomness, and the policy inside.
    discount
        The factor by which all counts shrink at each answer.
    """

    prefix = "discounted"
    needs_wins = True
    tells = ("discount",)
    guarantee = "none known to us"
    source = "folklore; Garivier and Moulines, ALT 2011, for ordinary bandits"
    confidence = "exact: a composition, nothing of the policy inside is changed"
    wrap = staticmethod(_wrap)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        base: KernelPolicy,
        discount: Annotated[float, Range(0, 1, open=True), "factor per answer"] = 0.999,
    ) -> None:
        super().__init__(arms, rng, base)
        self.state = State(base.state, np.array([discount, max(1.0, 1.0 / (1.0 - discount))]))
