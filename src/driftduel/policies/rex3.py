"""REX3: one exponential-weights learner that draws both arms."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.policies._exp3 import chance, draw, heaviest, weigh
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, CONSTANT, FINITE, PROBABILITY, Rule
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Rex3"]


class State(NamedTuple):
    """One player's scores."""

    gamma: Annotated[Any, CONSTANT]
    """(1,) exploration."""
    scores: Annotated[Any, FINITE]
    """(1, K) logarithms of the weights."""
    weights: Annotated[Any, ANY]
    """(1, K) the weights, adding up to 1; computed anew in every round."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    gamma, weights = state.gamma[0], state.weights
    weigh(state.scores, weights, 0)
    first = draw(weights, 0, gamma, rng)
    second = draw(weights, 0, gamma, rng)
    notes[0] = chance(weights, 0, gamma, first)
    notes[1] = chance(weights, 0, gamma, second)
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    scores = state.scores
    step = state.gamma[0] * (2 * won - 1) / (2 * scores.shape[1])
    # For a duel of an arm with itself the two cancel.
    scores[0, first] += step / notes[0]
    scores[0, second] -= step / notes[1]
    return 0


@hot
def _reset(state: Any) -> None:
    state.scores[:] = 0.0
    state.weights[:] = 1.0 / state.weights.shape[1]


@POLICIES.register("rex3")
class Rex3(KernelPolicy):
    """Draw both arms from one exponential-weights distribution; reward winners, punish losers.

    Gajane, Urvoy and Clérot, *A Relative Exponential Weighing Algorithm for Adversarial
    Utility-based Dueling Bandits*, ICML 2015. With p = (1-gamma) w + gamma/K and c = 1 for a win
    of the first arm a over b, -1 for a defeat: w_a *= exp(gamma c / (2 K p_a)) and
    w_b *= exp(-gamma c / (2 K p_b)); gamma = min(1/2, sqrt(K log K / (tau T))),
    tau = e/2.

    Told: the horizon T. Guarantee: regret of order sqrt(K log(K) T) against the best fixed arm
    when wins come from differences of adversarial utilities; nothing for changing winners.

    Divergences and confidence: the update is that of code of the authors (2017), apart from an
    evident slip there (2**p for 2p on the second arm's side). The theorem's gamma is
    sqrt(K log K / (e Gmax)) with Gmax, the gain of the best arm, unknown; the published
    experiments, and those of Saha and Gupta (ICML 2022), put T/2 for it: gamma =
    sqrt(2 K log K / (e T)), which is tau = e/2. The code of 2017 has tau = 1.

    **Late answers** are learned at once, weighted with the probabilities of their asking. A
    forgotten duel changes nothing; neither does an arm's duel with itself.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    horizon
        The number of rounds T.
    tau
        e Gmax / T, the theorem's bound on the gains per round.
    """

    name: ClassVar[str] = "rex3"
    told: ClassVar[tuple[str, ...]] = ("horizon",)
    guarantee: ClassVar[str] = "static regret sqrt(K log K T), adversarial utilities"
    source: ClassVar[str] = "Gajane, Urvoy and Clérot, ICML 2015"
    confidence: ClassVar[str] = "high: update of the authors' code, gamma of their experiments"
    ties: ClassVar[str] = "coin"  # its estimates would be biased without
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset, heaviest)
    notes: ClassVar[tuple[Rule, ...]] = (PROBABILITY, PROBABILITY)
    state: State

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
        tau: Annotated[float, Range(0, open=True), "e Gmax / T"] = math.e / 2,
    ) -> None:
        super().__init__(arms, rng)
        gamma = min(0.5, math.sqrt(arms * math.log(arms) / (tau * horizon)))
        self.state = State(
            gamma=np.array([gamma]),
            scores=np.zeros((1, arms)),
            weights=np.full((1, arms), 1.0 / arms),
        )
