"""Sparring EXP3.S: two adversarial learners with weight sharing, one per side of a duel."""

import math
from typing import Annotated, Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Exp3S"]

Switches = Annotated[int, Range(0), "number of changes of the best arm"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    return exp3.draw_both(state.weights, 0, 1, state.numbers[0].gamma, rng, notes)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    weights, numbers = state.weights, state.numbers[0]
    rate, bonus = numbers.gamma / weights.shape[1], numbers.share
    exp3.share(weights, 0, first, math.exp(rate * won / notes[0]), bonus)
    exp3.share(weights, 1, second, math.exp(rate * (1 - won) / notes[1]), bonus)
    return 0


@POLICIES.register("exp3s")
class Exp3S(exp3.Players):
    """Let two EXP3.S learners, tuned to the number of switches, play against each other.

    EXP3.S of Auer, Cesa-Bianchi, Freund and Schapire, *The Nonstochastic Multiarmed Bandit
    Problem*, SIAM J. Comput. 2002, Section 8, on each side of the duel (sparring, Ailon, Karnin
    and Joachims 2014): the first player gains 1 for a win, the second for a defeat of the first.
    gamma = min(1, sqrt(K (S log(KT) + e) / ((e-1) T))) and alpha = 1/T.

    Prior knowledge: the horizon T, and the number of switches. The S of the formula is the number
    of phases, ``switches + 1``, as in the source (there: hardness).

    Guarantee: each player has regret of order sqrt(S K T log(KT)) against any sequence of arms
    with S phases, hence so has the pair against the Condorcet winners.

    Divergences: none from the source. The research code of Suk and Agarwal (2023) puts the number
    of switches for S, and updates both players at the first player's arm, which is a mistake.

    **Late answers** are learned immediately, weighted by the probabilities of the round of their
    choice. A forgotten duel has no effect. The coin of a self-duel counts: without it the estimates
    of the two players would be biased.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    switches
        The number of changes of the best arm, from 0; `play` passes the value of the world as
        default.
    """

    prior_knowledge = ("horizon", "switches")
    guarantee = "dynamic regret sqrt(S K T log(K T)), S known"
    source = "Auer et al., SIAM J. Comput. 2002; sparring: Ailon et al., ICML 2014"
    confidence = "high: textbook formulas, on both sides of the duel"
    kernels = Kernels(_ask, _tell, exp3.forget_shares, exp3.heaviest)

    def __init__(
        self, arms: int, rng: np.random.Generator, horizon: Horizon, switches: Switches
    ) -> None:
        super().__init__(arms, rng)
        gamma = exp3.exp3s_gamma(arms, horizon, switches + 1)
        self.state = exp3.fresh_shares(2, arms, gamma=gamma, share=math.e / horizon / arms)
