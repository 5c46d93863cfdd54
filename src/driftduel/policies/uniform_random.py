"""Uniform random play: what every learner must beat."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies._counts import is_present
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ARM, ARMS, PRESENT, Within
from driftduel.policies.registry import POLICIES

__all__ = ["UniformRandom"]


class State(NamedTuple):
    """Nothing is learned."""

    present: Annotated[Any, PRESENT]
    """(K,) 1 for the arms that may be asked for."""
    arms: Annotated[Any, ARM]
    """(K,) first those that are there, ascending; what follows them means nothing."""
    count: Annotated[Any, Within(1, ARMS)]
    """(1,) how many are there."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    count = state.count[0]
    first, second = int(uniform(rng) * count), int(uniform(rng) * count)
    if count == len(state.arms):  # while everybody is there nothing needs to be looked up
        return first, second
    return state.arms[first], state.arms[second]


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    return 0


@hot
def _reset(state: Any) -> None:
    pass


@kernel
def _change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    state.present[arm] = here
    count = 0
    for i in range(len(state.present)):
        if state.present[i] == 1:
            state.arms[count] = i
            count += 1
    state.count[0] = count


@kernel
def _hear(state: Any, winner: int, loser: int, weight: float) -> None:
    pass


@POLICIES.register("uniform")
class UniformRandom(KernelPolicy):
    """Draw both arms uniformly in every round, and learn nothing.

    Late answers change nothing; neither does any other, of the past or not. An arm that is away is
    not drawn.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    """

    name: ClassVar[str] = "uniform"
    guarantee: ClassVar[str] = "linear regret"
    in_panel: ClassVar[str] = "every pair of different arms is equally likely; the same guarantee"
    source: ClassVar[str] = "folklore"
    confidence: ClassVar[str] = "exact"
    kernels: ClassVar[Kernels] = Kernels(
        _ask, _tell, _reset, change=_change, present=is_present, hear=_hear
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = State(np.ones(arms, np.int64), np.arange(arms), np.full(1, arms))

    def check_state(self, state: Any) -> None:
        """Refuse a list that is not of those who are there."""
        here = np.flatnonzero(state.present)
        count = int(state.count[0])
        self.require(count == len(here) and (state.arms[:count] == here).all())
