"""A bandit on one side of a duel (a "singleton bandit machine"): UCB."""

import math
from typing import Annotated, Any

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import most_of_all
from driftduel.policies.base import KernelPolicy
from driftduel.specs import Range

__all__ = ["Alpha", "Reduction", "advance", "feedback", "forget_bandits", "most_pulled"]

Alpha = Annotated[float, Range(0), "of the UCB radius sqrt((alpha+2) log n / (2 n_k))"]


class Reduction(KernelPolicy):
    """The base class of the three policies that run such bandits on the sides of a duel."""

    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    confidence = "high: verified against the paper; alpha of public programs"


@hot
def forget_bandits(state: Any) -> None:
    """Reset rewards and pulls of all bandits to zero."""
    state.gains[:] = 0.0
    state.pulls[:] = 0.0


@hot
def advance(gains: Any, pulls: Any, alpha: float, rng: Any) -> int:
    """Return the arm with the largest index; ties and unpulled arms in cyclic random order."""
    arms = len(pulls)
    total = 0.0
    for k in range(arms):
        total += pulls[k]
    width = 0.5 * (alpha + 2.0) * math.log(max(total, 1.0))
    k = int(uniform(rng) * arms)
    best, top = 0, -1.0
    for _ in range(arms):
        if pulls[k] == 0.0:
            return k
        index = gains[k] / pulls[k] + math.sqrt(width / pulls[k])
        if index > top:
            best, top = k, index
        k = k + 1 if k + 1 < arms else 0
    return best


@hot
def feedback(gains: Any, pulls: Any, arm: int, reward: int) -> None:
    """Add the reward of an arm: 1 for a duel won, 0 for one lost."""
    gains[arm] += reward
    pulls[arm] += 1.0


@kernel
def most_pulled(state: Any) -> int:
    """Return the arm with the maximum number of pulls, summed over all bandits."""
    return most_of_all(state.pulls)
