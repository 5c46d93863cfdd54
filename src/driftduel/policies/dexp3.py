"""DEXP3: exponential weights on estimated Borda scores."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.policies._exp3 import chance, draw, heaviest, weigh
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, CONSTANT, FINITE, PROBABILITY, Rule
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Dexp3"]

# Places in `State.floats`.
GAMMA = 0  # exploration
ETA = 1  # learning rate


class State(NamedTuple):
    """One player's scores."""

    floats: Annotated[Any, CONSTANT]
    """(2,) numbers named above."""
    scores: Annotated[Any, FINITE]
    """(1, K) eta times the sum of estimated Borda scores: logarithms of the weights."""
    weights: Annotated[Any, ANY]
    """(1, K) the weights, adding up to 1; computed anew in every round."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    gamma, weights = state.floats[GAMMA], state.weights
    weigh(state.scores, weights, 0)
    first = draw(weights, 0, gamma, rng)
    second = draw(weights, 0, gamma, rng)
    notes[0] = chance(weights, 0, gamma, first) * chance(weights, 0, gamma, second)
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    scores = state.scores
    scores[0, first] += state.floats[ETA] * won / (scores.shape[1] * notes[0])
    return 0


@hot
def _reset(state: Any) -> None:
    state.scores[:] = 0.0
    state.weights[:] = 1.0 / state.weights.shape[1]


@POLICIES.register("dexp3")
class Dexp3(KernelPolicy):
    """Draw both arms by exponential weights on estimates of their Borda scores.

    Saha, Koren and Mansour, *Adversarial Dueling Bandits*, ICML 2021. Both arms x, y come from
    q = (1-gamma) softmax(eta sum of s) + gamma/K; a win of x is worth
    s(x) = 1 / (K q(x) q(y)), which estimates the mean of P(x, .) without bias;
    eta = (log(K) / (T sqrt K))^(2/3) and gamma = min(1, sqrt(eta K)).

    Told: the horizon T. Guarantee: Borda regret of order (K log K)^(1/3) T^(2/3) against the best
    fixed arm of an adversarial sequence. It maximises Borda scores: in a world whose Condorcet
    winner is not the Borda winner its Condorcet regret is linear.

    Divergences and confidence: as in the public library duelpy, without its high-probability bias;
    the abstract agrees, the paper's text is not verified.

    **Late answers** are learned at once, weighted with the probabilities of their asking. A
    forgotten duel changes nothing. The coin of a self-duel counts: the mean that is estimated
    includes P(x, x) = 1/2.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    horizon
        The number of rounds T.
    """

    name: ClassVar[str] = "dexp3"
    told: ClassVar[tuple[str, ...]] = ("horizon",)
    guarantee: ClassVar[str] = "static Borda regret (K log K)^(1/3) T^(2/3), adversarial"
    source: ClassVar[str] = "Saha, Koren and Mansour, ICML 2021"
    confidence: ClassVar[str] = "high: abstract and public code agree; text not verified"
    ties: ClassVar[str] = "coin"  # its estimates would be biased without
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset, heaviest)
    notes: ClassVar[tuple[Rule, ...]] = (PROBABILITY,)
    state: State

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
    ) -> None:
        super().__init__(arms, rng)
        eta = (math.log(arms) / (horizon * math.sqrt(arms))) ** (2.0 / 3.0)
        gamma = min(1.0, math.sqrt(eta * arms))
        self.state = State(
            floats=np.array([gamma, eta]),
            scores=np.zeros((1, arms)),
            weights=np.full((1, arms), 1.0 / arms),
        )
