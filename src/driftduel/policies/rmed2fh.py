"""RMED2FH: RMED2 for a known horizon."""

from typing import Annotated, Any

import numpy as np

from driftduel._internal.compiler import hot
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
    """As RMED2 for a known horizon: explore first, then fix the opponent of each arm.

    RMED2FH (fixed horizon) of Komiyama, Honda, Kashima and Nakagawa, *Regret Lower Bound and
    Optimal Algorithm in Dueling Bandit Problem*, COLT 2015. Each pair is compared alpha log log T
    times, rounded up; then the opponents b_i of `rmed2` are fixed; then it continues as `rmed2`.

    Prior knowledge: the horizon T. Guarantee: on a stationary world with a Condorcet winner the
    regret is asymptotically optimal, constant included (this is the variant that the paper proves
    it of).

    **Verified against**: the paper and the authors' program, which it reproduces; see `rmed2`. In
    the test of the share of i* the program has log log t, as here; another public program has log
    log T there.

    **Late answers** count for their pair on arrival; the opponents are fixed when every pair has
    its answers. A forgotten duel has no effect. After the horizon it continues.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    weight
        f(K) = weight K^1.01. The default value 0.3 is that of the paper's experiments.
    alpha
        Each pair is compared alpha log log T times first. The default value 3 is that of the
        paper's experiments.
    """

    prior_knowledge = ("horizon",)
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
