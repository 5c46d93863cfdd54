"""RMED2: RMED1 with opponents that cost less regret."""

from typing import Annotated, Any

import numpy as np

from driftduel._compile import hot
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
    """Do as RMED1, but against the opponent that shows at the least regret that an arm loses.

    RMED2 of Komiyama, Honda, Kashima and Nakagawa, *Regret Lower Bound and Optimal Algorithm in
    Dueling Bandit Problem*, COLT 2015. The loop and its candidates are those of `rmed1`. Every
    pair is compared at least alpha log log t times, and candidate i meets
    b_i = argmin of (p_{i*,i} + p_{i*,j} - 1) / kl(p_ij, 1/2) over the j with p_ij < 1/2, except
    when it met i*, which seems better, no more than n_{i,b} / log log t times: then i*.

    Told: nothing. Guarantee: on a stationary world with a Condorcet winner the regret is
    asymptotically optimal, constant included.

    **Divergences and confidence.** High: verified against the paper and the authors' program, which
    it reproduces; that has 0.01 as the least numerator, plays b_i also where i* does not seem
    better, and gives ties to the lowest index. (The program of Wu and Liu has the numerator's
    opposite sign.) The authors' program has log(log t + 0.01) and sends exploring duels through the
    loop; here log log t is 0 for t <= e, and exploring leaves the loop alone.

    **Late answers** count for their pair when they come. While pairs lack answers, it goes round
    those that do. A forgotten duel is as if never asked for.

    Parameters
    ----------
    weight
        f(K) = weight K^1.01; the paper's experiments have 0.3.
    alpha
        Every pair is compared alpha log log t times; the paper's experiments have 3.
    """

    guarantee = "asymptotically optimal on stationary worlds"
    in_panel = COUNTED
    kernels = counting(_ask, count_duel, rmed.reset)

    def __init__(
        self, arms: int, rng: np.random.Generator, weight: rmed.Weight = 0.3, alpha: Alpha = 3.0
    ) -> None:
        super().__init__(arms, rng)
        self.state = rmed.fresh_state(arms, weight, alpha)
