"""RMED1: relative minimum empirical divergence."""

from typing import Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _rmed_kernels as rmed
from driftduel.policies._counts import count_duel, counting
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES

__all__ = ["Rmed1"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    K = len(state.wins)
    pair = rmed.unexplored(state, 0.0)
    if pair >= 0:
        return pair // K, pair % K
    best = rmed.likeliest(state)
    arm = rmed.candidate(state, t, best)
    return arm, rmed.opponent(state, arm, best)


@POLICIES.register("rmed1")
class Rmed1(rmed.Rmed):
    """Compare arms that may still be the winner, by likelihood, with the likeliest winner.

    RMED1 of Komiyama, Honda, Kashima and Nakagawa, *Regret Lower Bound and Optimal Algorithm in
    Dueling Bandit Problem*, COLT 2015. With p_ij the share of duels that i won against j, the
    divergence of an arm is I_i = sum of n_ij kl(p_ij, 1/2) over the j with p_ij <= 1/2, and i* is
    the arm with the least. After one duel of each pair it loops over the arms with I_i - I_i* <=
    log t + f(K), each against i* if p_{i,i*} <= 1/2 or if no arm has p_ij <= 1/2, else against the
    j with the least p_ij.

    Prior knowledge: none. Guarantee: regret of order sum over i of log(T) / kl(p_{i*,i}, 1/2) plus
    K^(2 + eps) on a stationary world with a Condorcet winner: optimal up to a constant.

    **Verified against**: the paper and the authors' program, whose figures it reproduces. Their
    program passes the arms of the exploring duels through the loop, too; here the loop begins when
    each pair was compared. Ties go to the lowest index.

    **Late answers** count for their pair on arrival. Until all pairs have an answer, it cycles
    through those without one. A forgotten duel has no effect.

    Parameters
    ----------
    weight
        f(K) = weight K^1.01. The default value 0.3 is that of the paper's experiments; the
        guarantee holds for any function f of that order.
    """

    guarantee = "K log T on stationary worlds, optimal up to a constant"
    in_panel = COUNTED
    kernels = counting(_ask, count_duel, rmed.reset)

    def __init__(self, arms: int, rng: np.random.Generator, weight: rmed.Weight = 0.3) -> None:
        super().__init__(arms, rng)
        self.state = rmed.fresh_state(arms, weight)
