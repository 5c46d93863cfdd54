"""DEX3.P: two EXP3.P learners, one for each side of a duel."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.policies._exp3 import chance, draw, heaviest, weigh
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, CONSTANT, FINITE, PROBABILITY, Rule
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Dex3P"]

# Places in `State.floats`.
GAMMA = 0  # exploration
ETA = 1  # learning rate
BETA = 2  # bias: what every arm is credited with, over its probability


class State(NamedTuple):
    """Two players' scores."""

    floats: Annotated[Any, CONSTANT]
    """(3,) numbers named above."""
    scores: Annotated[Any, FINITE]
    """(2, K) logarithms of the weights of the first and the second player."""
    weights: Annotated[Any, ANY]
    """(2, K) the weights, each row adding up to 1; computed anew in every round."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    gamma, scores, weights = state.floats[GAMMA], state.scores, state.weights
    for player in range(2):
        weigh(scores, weights, player)
    first = draw(weights, 0, gamma, rng)
    second = draw(weights, 1, gamma, rng)
    notes[0] = chance(weights, 0, gamma, first)
    notes[1] = chance(weights, 1, gamma, second)
    # The bias does not wait for the answer: it depends on this round's probabilities alone.
    bias = state.floats[ETA] * state.floats[BETA]
    for player in range(2):
        for i in range(scores.shape[1]):
            scores[player, i] += bias / chance(weights, player, gamma, i)
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    eta, scores = state.floats[ETA], state.scores
    scores[0, first] += eta * won / notes[0]
    scores[1, second] += eta * (1 - won) / notes[1]
    return 0


@hot
def _reset(state: Any) -> None:
    state.scores[:] = 0.0
    state.weights[:] = 1.0 / state.weights.shape[1]


@POLICIES.register("dex3p")
class Dex3P(KernelPolicy):
    """Let two EXP3.P learners play against each other.

    Saha and Gupta, *Optimal and Efficient Dynamic Regret Algorithms for Non-Stationary Dueling
    Bandits*, ICML 2022. Each player has p = (1-gamma) w + gamma/K and the estimates
    (gain [arm played] + beta) / p of every arm's gain, whose sum times eta is the logarithm of w;
    the first player gains 1 for a win, the second for a defeat of the first.

    Told: the horizon T. Guarantee: regret of order sqrt(K T) up to logarithms against the best
    fixed arm, with high probability; nothing for changing winners.

    Constants: those of the paper's Lemma 3.1, eta = sqrt(log(K) / (K T)) / 2, beta = 2 eta and
    gamma = 2 eta K. A horizon below K log K would make gamma more than 1; it is 1 there, which is
    uniform play.

    **Late answers** are learned at once, weighted with the probabilities of their asking. The bias
    is credited when a duel is asked for, so a forgotten duel leaves its bias and nothing else. The
    coin of a self-duel counts: without it the estimates would be biased.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    horizon
        The number of rounds T.
    """

    name: ClassVar[str] = "dex3p"
    told: ClassVar[tuple[str, ...]] = ("horizon",)
    guarantee: ClassVar[str] = "static regret sqrt(K T) with high probability, adversarial"
    source: ClassVar[str] = "Saha and Gupta, ICML 2022"
    confidence: ClassVar[str] = "high: constants printed in the paper (Lemma 3.1)"
    ties: ClassVar[str] = "coin"  # its estimates would be biased without
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset, heaviest)
    notes: ClassVar[tuple[Rule, ...]] = (PROBABILITY, PROBABILITY)
    state: State

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
    ) -> None:
        super().__init__(arms, rng)
        beta = math.sqrt(math.log(arms) / (arms * horizon))
        eta = 0.5 * beta
        gamma = min(1.0, 2.0 * eta * arms)
        self.state = State(
            floats=np.array([gamma, eta, beta]),
            scores=np.zeros((2, arms)),
            weights=np.full((2, arms), 1.0 / arms),
        )
