"""Uniform random play: the baseline of all learners."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import is_present
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ARM, ARMS, PRESENT, Within
from driftduel.policies.registry import POLICIES

__all__ = ["UniformRandom"]


class UniformState(NamedTuple):
    """The present arms; there is no learned state."""

    present: Annotated[Any, PRESENT]
    """(K,) 1 for present arms, else 0."""
    arms: Annotated[Any, ARM]
    """(K,) first the present arms, ascending; the values after them are arbitrary."""
    count: Annotated[Any, Within(1, ARMS)]
    """(1,) number of present arms."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    count = state.count[0]
    first, second = int(uniform(rng) * count), int(uniform(rng) * count)
    if count == len(state.arms):  # if all arms are present, no lookup is needed
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
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    pass


@POLICIES.register("uniform")
class UniformRandom(KernelPolicy):
    """Draw both arms uniformly in every round, without learning.

    Answers have no effect, whether late or in time; past votes are accepted and ignored. An absent
    arm is not drawn.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
    """

    name: ClassVar[str] = "uniform"
    guarantee: ClassVar[str] = "linear regret"
    in_panel: ClassVar[str] = "every pair of different arms is equally likely; the same guarantee"
    source: ClassVar[str] = "folklore"
    confidence: ClassVar[str] = "exact"
    kernels: ClassVar[Kernels] = Kernels(
        _ask, _tell, _reset, change=_change, present=is_present, add_past_vote=_add_past_vote
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = UniformState(np.ones(arms, np.int64), np.arange(arms), np.full(1, arms))

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError unless the list of arms agrees with the present ones."""
        here = np.flatnonzero(state.present)
        count = int(state.count[0])
        self.require(count == len(here) and (state.arms[:count] == here).all())
