"""RMED2FH: RMED2 for a known horizon."""

from typing import Annotated, Any, ClassVar

import numpy as np

from driftduel._compile import hot
from driftduel.policies import _rmed_kernels as rmed
from driftduel.policies._counts import most_victories
from driftduel.policies.base import Kernels
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Rmed2Fh"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    K = len(state.wins)
    floats, rivals = state.floats, state.rivals
    pair = rmed.unexplored(state, floats[rmed.ALPHA] * floats[rmed.LOG_LOG_T])
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
    arms, rng
        The number of arms K, and its randomness (none is needed).
    horizon
        The number of rounds T.
    weight
        f(K) = weight K^1.01; the paper's experiments have 0.3.
    alpha
        Each pair is compared alpha log log T times first; the paper's experiments have 3.
    """

    name: ClassVar[str] = "rmed2fh"
    told: ClassVar[tuple[str, ...]] = ("horizon",)
    guarantee: ClassVar[str] = "asymptotically optimal on stationary worlds"
    draws: ClassVar[bool] = False
    kernels: ClassVar[Kernels] = Kernels(_ask, rmed.tell, rmed.reset, most_victories)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
        weight: Annotated[float, Range(0), "f(K) = weight K^1.01"] = 0.3,
        alpha: Annotated[float, Range(0), "each pair alpha log log T times"] = 3.0,
    ) -> None:
        super().__init__(arms, rng)
        self.state = rmed.fresh_state(arms, weight)
        self.state.floats[rmed.ALPHA] = alpha
        self.state.floats[rmed.LOG_LOG_T] = rmed.log_log(horizon)
