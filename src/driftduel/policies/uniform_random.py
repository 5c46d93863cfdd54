"""Uniform random play: what every learner must beat."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel._random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT
from driftduel.policies.registry import POLICIES

__all__ = ["UniformRandom"]


class State(NamedTuple):
    """Nothing is learned."""

    arms: Annotated[Any, CONSTANT]
    """(1,) the number of arms."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    arms = state.arms[0]
    return int(uniform(rng) * arms), int(uniform(rng) * arms)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    return 0


@hot
def _reset(state: Any) -> None:
    pass


@POLICIES.register("uniform")
class UniformRandom(KernelPolicy):
    """Draw both arms uniformly in every round, and learn nothing.

    Late answers change nothing; neither does any other.

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
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset)

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = State(np.array([arms], dtype=np.int64))
