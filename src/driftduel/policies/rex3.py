"""REX3: one exponential-weights learner that draws both arms."""

import math
from typing import Annotated, Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Rex3"]

Tau = Annotated[float, Range(0, open=True), "e Gmax / T"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    exp3.weigh(state.scores, state.weights, 0)
    return exp3.draw_both(state.weights, 0, 0, state.numbers[0].gamma, rng, notes)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    scores = state.scores
    step = state.numbers[0].gamma * (2 * won - 1) / (2 * scores.shape[1])
    # For a duel of an arm with itself the two updates cancel.
    scores[0, first] += step / notes[0]
    scores[0, second] -= step / notes[1]
    return 0


@POLICIES.register("rex3")
class Rex3(exp3.Players):
    """Draw both arms from one exponential-weights distribution; reward winners, penalise losers.

    Gajane, Urvoy and Clérot, *A Relative Exponential Weighing Algorithm for Adversarial
    Utility-based Dueling Bandits*, ICML 2015. With p = (1-gamma) w + gamma/K and c = 1 for a win
    of the first arm a over b, -1 for a defeat: w_a *= exp(gamma c / (2 K p_a)) and
    w_b *= exp(-gamma c / (2 K p_b)); gamma = min(1/2, sqrt(K log K / (tau T))),
    tau = e/2.

    Prior knowledge: the horizon T. Guarantee: regret of order sqrt(K log(K) T) against the best
    fixed arm when wins come from differences of adversarial utilities; no bound for changing
    winners.

    Verified against: code of the authors (2017) for the update, apart from an evident slip there
    (2**p for 2p on the second arm's side). The theorem's gamma is sqrt(K log K / (e Gmax)) with
    Gmax, the gain of the best arm, unknown; the published experiments, and those of Saha and Gupta
    (ICML 2022), use T/2 for it: gamma = sqrt(2 K log K / (e T)), which is tau = e/2. The code of
    2017 has tau = 1.

    **Late answers** are learned immediately, weighted by the probabilities of the round of their
    choice. A forgotten duel has no effect; neither has an arm's duel with itself.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    tau
        e Gmax / T, the theorem's bound on the gains per round.
    """

    prior_knowledge = ("horizon",)
    guarantee = "static regret sqrt(K log K T), adversarial utilities"
    source = "Gajane, Urvoy and Clérot, ICML 2015"
    confidence = "high: update of the authors' code, gamma of their experiments"
    kernels = Kernels(_ask, _tell, exp3.forget_scores, exp3.heaviest)

    def __init__(
        self, arms: int, rng: np.random.Generator, horizon: Horizon, tau: Tau = math.e / 2
    ) -> None:
        super().__init__(arms, rng)
        gamma = min(0.5, math.sqrt(arms * math.log(arms) / (tau * horizon)))
        self.state = exp3.fresh_scores(1, arms, gamma=gamma)
