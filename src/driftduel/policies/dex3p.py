"""DEX3.P: two EXP3.P learners, one per side of a duel."""

import math
from typing import Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES

__all__ = ["Dex3P"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, scores, weights = state.numbers[0], state.scores, state.weights
    gamma = numbers.gamma
    for player in range(2):
        exp3.weigh(scores, weights, player)
    duel = exp3.draw_both(weights, 0, 1, gamma, rng, notes)
    # The bias is credited before the answer, because it depends on this round's probabilities
    # alone.
    bias = numbers.eta * numbers.beta
    for player in range(2):
        for i in range(scores.shape[1]):
            scores[player, i] += bias / exp3.chance(weights, player, gamma, i)
    return duel


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    eta, scores = state.numbers[0].eta, state.scores
    scores[0, first] += eta * won / notes[0]
    scores[1, second] += eta * (1 - won) / notes[1]
    return 0


@POLICIES.register("dex3p")
class Dex3P(exp3.Players):
    """Let two EXP3.P learners play against each other.

    Saha and Gupta, *Optimal and Efficient Dynamic Regret Algorithms for Non-Stationary Dueling
    Bandits*, ICML 2022. Each player has p = (1-gamma) w + gamma/K and the estimates
    (gain [arm played] + beta) / p of every arm's gain, whose sum times eta is the logarithm of w;
    the first player gains 1 for a win, the second for a defeat of the first.

    Prior knowledge: the horizon T. Guarantee: regret of order sqrt(K T) up to logarithms against
    the best fixed arm, with high probability; no bound for changing winners.

    Constants: those of the paper's Lemma 3.1, eta = sqrt(log(K) / (K T)) / 2, beta = 2 eta and
    gamma = 2 eta K. A horizon below K log K would make gamma more than 1; it is 1 there, which is
    uniform play.

    **Late answers** are learned immediately, weighted by the probabilities of the round of their
    choice. The bias is credited when a duel is chosen, so the only effect of a forgotten duel is
    its bias. The coin of a self-duel counts: without it the estimates would be biased.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    """

    prior_knowledge = ("horizon",)
    guarantee = "static regret sqrt(K T) with high probability, adversarial"
    source = "Saha and Gupta, ICML 2022"
    confidence = "high: constants printed in the paper (Lemma 3.1)"
    kernels = Kernels(_ask, _tell, exp3.forget_scores, exp3.heaviest)

    def __init__(self, arms: int, rng: np.random.Generator, horizon: Horizon) -> None:
        super().__init__(arms, rng)
        beta = math.sqrt(math.log(arms) / (arms * horizon))
        eta = 0.5 * beta
        self.state = exp3.fresh_scores(
            2, arms, gamma=min(1.0, 2.0 * eta * arms), eta=eta, beta=beta
        )
