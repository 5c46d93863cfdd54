"""RMED2FH: RMED2 for a known horizon."""

from typing import Annotated, Any

import numpy as np

from driftduel._compile import hot
from driftduel.policies import _rmed_kernels as rmed
from driftduel.policies._counts import count_duel, most_victories
from driftduel.policies.base import Kernels
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Rmed2Fh"]

Alpha = Annotated[float, Range(0), "each pair alpha log log T times"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    K = len(state.wins)
    numbers, rivals = state.numbers[0], state.rivals
    pair = rmed.unexplored(state, numbers.alpha * numbers.log_log_T)
    if pair >= 0:
        return pair // K, pair % K
    best = rmed.likeliest(state)
    if rivals[0] < 0:
        for i in range(K):
            rivals[i] = rmed.cheapest(state, i, best)
    arm = rmed.candidate(state, t, best)
    return arm, rmed.thrifty_opponent(state, arm, best, rivals[arm], rmed.log_log(t))


@POLICIES.register("rmed2fh")
class Rmed2Fh(rmed.Rmed):
    """Do as RMED2, but explore first, for a known horizon, and then fix everyone's opponent.

    RMED2FH (fixed horizon) of Komiyama, Honda, Kashima and Nakagawa, *Regret Lower Bound and
    Optimal Algorithm in Dueling Bandit Problem*, COLT 2015. Each pair is compared alpha log log T
    times, rounded up; then the opponents b_i of `rmed2` are fixed; then it goes on as `rmed2`.

    Told: the horizon T. Guarantee: on a stationary world with a Condorcet winner the regret is
    asymptotically optimal, constant included (this is the variant that the paper proves it of).

    **Divergences and confidence.** High: verified against the paper and the authors' program, which
    it reproduces; see `rmed2`. In its test whether i* got its share of the duels the program has
    log log t, and so has this; another public program has log log T there.

    **Late answers** count for their pair when they come; the opponents are fixed when every pair
    has its answers. A forgotten duel is as if never asked for. After the horizon it goes on.

    Parameters
    ----------
    horizon
        The number of rounds T.
    weight
        f(K) = weight K^1.01; the paper's experiments have 0.3.
    alpha
        Each pair is compared alpha log log T times first; the paper's experiments have 3.
    """

    told = ("horizon",)
    guarantee = "asymptotically optimal on stationary worlds"
    kernels = Kernels(_ask, count_duel, rmed.reset, most_victories)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Horizon,
        weight: rmed.Weight = 0.3,
        alpha: Alpha = 3.0,
    ) -> None:
        super().__init__(arms, rng)
        self.state = rmed.fresh_state(arms, weight, alpha, horizon)
