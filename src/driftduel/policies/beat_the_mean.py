"""Beat the Mean: each arm is compared with the average of the remaining arms."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, COUNT, FLAG
from driftduel.policies.info import Stage
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["BeatTheMean"]

Gamma = Annotated[float, Range(1), "relaxed transitivity; 1 is strong"]
Factor = Annotated[float, Range(0, open=True), "of the radius; 3 is the paper"]


class BeatTheMeanState(NamedTuple):
    """The working set, and the results of each arm in its duels as first arm."""

    alive: Annotated[Any, FLAG]
    """(K,) whether an arm is in the working set W."""
    own: Annotated[Any, COUNT]
    """(2, K, K) number of duels of b, as first arm, with b', and number of wins of b."""
    sums: Annotated[Any, COUNT]
    """(2, K) the values of `own` summed over the opponents in W: n_b and w_b."""
    radius: Annotated[Any, CONSTANT]
    """(1,) the confidence radius times sqrt(n)."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    alive, played = state.alive, state.sums[0]
    fewest, ties, left, b = 1 << 62, 0, 0, 0
    for k in range(len(alive)):
        if alive[k]:
            left += 1
            if played[k] < fewest:
                fewest, ties, b = played[k], 1, k
            elif played[k] == fewest:
                ties += 1
    if left <= 1:
        return b, b
    skip = int(uniform(rng) * ties)
    for k in range(len(alive)):
        if alive[k] and played[k] == fewest:
            if skip == 0:
                b = k
                break
            skip -= 1
    skip = int(uniform(rng) * (left - 1))
    for k in range(len(alive)):
        if alive[k] and k != b:
            if skip == 0:
                return b, k
            skip -= 1
    return b, b  # unreachable: left - 1 other arms are alive


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    alive, own, played, wins = state.alive, state.own, state.sums[0], state.sums[1]
    if first == second or not (alive[first] and alive[second]):
        return 0
    own[0, first, second] += 1
    own[1, first, second] += won
    played[first] += 1
    wins[first] += won
    fewest, low, high, worst = 1 << 62, 2.0, -1.0, 0
    for k in range(len(alive)):
        if alive[k]:
            n = played[k]
            fewest = min(fewest, n)
            mean = wins[k] / n if n > 0 else 0.5
            high = max(high, mean)
            if mean < low:
                low, worst = mean, k
    c = state.radius[0] / math.sqrt(fewest) if fewest > 0 else 1.0
    if low + c <= high - c:
        _drop(alive, own, state.sums, worst)
    return 0


@kernel
def _drop(alive: Any, own: Any, sums: Any, worst: int) -> None:
    """Remove an arm from W, and its duels from the records of the others."""
    alive[worst] = False
    for k in range(len(alive)):
        sums[0, k] -= own[0, k, worst]
        sums[1, k] -= own[1, k, worst]


@hot
def _reset(state: Any) -> None:
    state.alive[:] = True
    state.own[:] = 0
    state.sums[:] = 0


@kernel
def _best_guess(state: Any) -> int:
    """Return the arm of the working set with the largest share of wins as first arm."""
    best, most = 0, -1.0
    for b in range(len(state.alive)):
        share = state.sums[1, b] / max(state.sums[0, b], 1)
        if state.alive[b] and share > most:
            best, most = b, share
    return best


@POLICIES.register("btm")
class BeatTheMean(KernelPolicy):
    """Compare the least compared arm with a random one; drop arms clearly below the average.

    Yue and Joachims, *Beat the Mean Bandit*, ICML 2011, in its online form. The arm b with the
    fewest duels as first arm meets a random arm, and only the record of b is updated. When the
    lowest share of wins is 2c below the highest, with c = 3 gamma^2 sqrt(log(2TK)/n) and n the
    fewest duels, its arm leaves, and all duels with it are struck from the records. The last arm
    plays itself.

    Prior knowledge: the horizon T, and gamma of relaxed transitivity (1: strong stochastic
    transitivity). Guarantee: regret of order gamma^7 K log T / eps, on a stationary world.

    **Without effect on short horizons.** With the factor 3 at T = 100,000 and K = 6 an arm leaves
    when the shares differ by 6 sqrt(14/n): 0.1 apart, that takes 50,000 duels of every arm, three
    times the horizon. The program with which Komiyama and others (COLT 2015) compare has the factor
    1 and gamma = 1.2, ``btm:factor=1,gamma=1.2``.

    Verified against: two public programs, not the paper. In the paper b may meet itself; here, as
    in Komiyama's program, it does not (a coin carries no information and would shrink the gaps).

    **Late answers** count while both arms are in the working set; `ask` uses the present state
    meanwhile.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    gamma
        Relaxed transitivity; 1 if the world is strongly transitive.
    factor
        The 3 of the radius; smaller values drop sooner, without the guarantee.
    """

    prior_knowledge = ("horizon", "gamma")
    guarantee = "gamma^7 K log T / eps, relaxed SST and STI, stationary"
    source = "Yue, Joachims: Beat the Mean Bandit, ICML 2011"
    confidence = "as in two public programs, not verified against the paper"
    kernels = Kernels(_ask, _tell, _reset, _best_guess)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Horizon,
        gamma: Gamma = 1.0,
        factor: Factor = 3.0,
    ) -> None:
        super().__init__(arms, rng)
        self.state = BeatTheMeanState(
            alive=np.ones(arms, np.bool_),
            own=np.zeros((2, arms, arms), np.int64),
            sums=np.zeros((2, arms), np.int64),
            radius=np.array([factor * gamma**2 * math.sqrt(math.log(2 * horizon * arms))]),
        )

    def stage(self) -> Stage:
        """Return the working set."""
        return Stage(active=tuple(np.flatnonzero(self.state.alive).tolist()))
