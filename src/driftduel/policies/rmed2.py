"""RMED2: RMED1 with opponents that cost less regret."""

from typing import Annotated, Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _rmed_kernels as rmed
from driftduel.policies._counts import count_duel, counting
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Rmed2"]

Alpha = Annotated[float, Range(0), "each pair alpha log log t times"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    K = len(state.wins)
    share = rmed.log_log(t)
    pair = rmed.unexplored(state, state.numbers[0].alpha * share)
    if pair >= 0:
        return pair // K, pair % K
    best = rmed.likeliest(state)
    arm = rmed.candidate(state, t, best)
    rival = rmed.cheapest(state, arm, best)
    return arm, rmed.thrifty_opponent(state, arm, best, rival, share)


@POLICIES.register("rmed2")
class Rmed2(rmed.Rmed):
    """As RMED1, but with the opponent of the least regret per evidence that an arm loses.

    RMED2 of Komiyama, Honda, Kashima and Nakagawa, *Regret Lower Bound and Optimal Algorithm in
    Dueling Bandit Problem*, COLT 2015. The loop and its candidates are those of `rmed1`. Every pair
    is compared at least alpha log log t times, and candidate i meets b_i = argmin of (p_{i*,i} +
    p_{i*,j} - 1) / kl(p_ij, 1/2) over the j with p_ij < 1/2, except when it met i*, which is ahead
    of it, no more than n_{i,b} / log log t times: then i*.

    Prior knowledge: none. Guarantee: on a stationary world with a Condorcet winner the regret is
    asymptotically optimal, constant included.

    **Verified against**: the paper and the authors' program, which it reproduces; the program has
    0.01 as the least numerator, plays b_i also if i* is not ahead, and gives ties to the lowest
    index. (The program of Wu and Liu has the numerator's opposite sign.) The authors' program has
    log(log t + 0.01) and passes exploring duels through the loop; here log log t is 0 for t <= e,
    and exploring leaves the loop alone.

    **Late answers** count for their pair on arrival. While pairs lack answers, it cycles through
    these pairs. A forgotten duel has no effect.

    Parameters
    ----------
    weight
        f(K) = weight K^1.01. The default value 0.3 is that of the paper's experiments.
    alpha
        Every pair is compared alpha log log t times. The default value 3 is that of the paper's
        experiments.
    """

    guarantee = "asymptotically optimal on stationary worlds"
    in_panel = COUNTED
    kernels = counting(_ask, count_duel, rmed.reset)

    def __init__(
        self, arms: int, rng: np.random.Generator, weight: rmed.Weight = 0.3, alpha: Alpha = 3.0
    ) -> None:
        super().__init__(arms, rng)
        self.state = rmed.fresh_state(arms, weight, alpha)
