"""DEXP3: exponential weights on estimated Borda scores."""

import math
from typing import Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.fields import PROBABILITY
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES

__all__ = ["Dexp3"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    exp3.weigh(state.scores, state.weights, 0)
    return exp3.draw_jointly(state.weights, state.numbers[0].gamma, rng, notes)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    scores = state.scores
    scores[0, first] += state.numbers[0].eta * won / (scores.shape[1] * notes[0])
    return 0


@POLICIES.register("dexp3")
class Dexp3(exp3.Players):
    """Draw both arms by exponential weights on estimates of their Borda scores.

    Saha, Koren and Mansour, *Adversarial Dueling Bandits*, ICML 2021. Both arms x, y come from
    q = (1-gamma) softmax(eta sum of s) + gamma/K; a win of x is worth
    s(x) = 1 / (K q(x) q(y)), which estimates the mean of P(x, .) without bias;
    eta = (log(K) / (T sqrt K))^(2/3) and gamma = min(1, sqrt(eta K)).

    Prior knowledge: the horizon T. Guarantee: Borda regret of order (K log K)^(1/3) T^(2/3) against
    the best fixed arm of an adversarial sequence. It maximises Borda scores: in a world whose
    Condorcet winner is not the Borda winner its Condorcet regret is linear.

    Verified against: the public library duelpy, without its high-probability bias, and the
    abstract; the paper's text is not verified.

    **Late answers** are learned immediately, weighted by the probabilities of the round of their
    choice. A forgotten duel has no effect. The coin of a self-duel counts: the mean that is
    estimated includes P(x, x) = 1/2.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    """

    prior_knowledge = ("horizon",)
    guarantee = "static Borda regret (K log K)^(1/3) T^(2/3), adversarial"
    source = "Saha, Koren and Mansour, ICML 2021"
    confidence = "high: abstract and public code agree; text not verified"
    kernels = Kernels(_ask, _tell, exp3.forget_scores, exp3.heaviest)
    notes = (PROBABILITY,)

    def __init__(self, arms: int, rng: np.random.Generator, horizon: Horizon) -> None:
        super().__init__(arms, rng)
        eta = (math.log(arms) / (horizon * math.sqrt(arms))) ** (2.0 / 3.0)
        self.state = exp3.fresh_scores(1, arms, gamma=min(1.0, math.sqrt(eta * arms)), eta=eta)
