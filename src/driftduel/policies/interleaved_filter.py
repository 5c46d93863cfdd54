"""Interleaved Filter: a candidate against all other arms in parallel."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import count_duel
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import (
    ARM_OR_NONE,
    ARMS,
    CONSTANT,
    COUNT,
    FLAG,
    Named,
    Within,
    records,
)
from driftduel.policies.info import Stage
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES

__all__ = ["InterleavedFilter"]

Prune = Annotated[bool, "drop arms behind a fallen candidate (IF2)"]

NONE = -1


class InterleavedFilterState(NamedTuple):
    """Win counts, the remaining arms and the candidate."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    alive: Annotated[Any, FLAG]
    """(K,) whether an arm is the candidate or in W."""
    numbers: Annotated[Any, Named(candidate=ARM_OR_NONE, next=Within(0, ARMS), prune=CONSTANT)]
    """The candidate (-1: not drawn yet), the position in the sweep, and whether to prune."""
    spread: Annotated[Any, CONSTANT]
    """(1,) 4 log(1/delta), the squared confidence radius times n."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    alive, numbers = state.alive, state.numbers[0]
    if numbers.candidate == NONE:
        numbers.candidate = int(uniform(rng) * len(alive))
    for sweep in range(2):
        for k in range(numbers.next, len(alive)):
            if alive[k] and k != numbers.candidate:
                numbers.next = k + 1
                return numbers.candidate, k
        if sweep == 0:
            _review(state.wins, alive, numbers, state.spread[0])
        numbers.next = 0
    return numbers.candidate, numbers.candidate


@hot
def _verdict(wins: Any, candidate: int, k: int, spread: float) -> float:
    """Return the candidate's significant lead over 1/2: above 0, below 0, or 0 if undecided."""
    n = wins[candidate, k] + wins[k, candidate]
    if n <= 0.0:
        return 0.0
    lead = wins[candidate, k] / n - 0.5
    return lead if lead * lead > spread / n else 0.0


@kernel
def _review(wins: Any, alive: Any, numbers: Any, spread: float) -> None:
    """Drop arms that the candidate significantly beats; replace it by an arm that beats it."""
    candidate, winner = numbers.candidate, NONE
    for k in range(len(alive)):
        if alive[k] and k != candidate:
            verdict = _verdict(wins, candidate, k, spread)
            if verdict > 0.0:
                alive[k] = False
            elif verdict < 0.0 and winner == NONE:
                winner = k
    if winner == NONE:
        return
    alive[candidate] = False
    numbers.candidate = winner
    if numbers.prune:
        for k in range(len(alive)):
            if wins[candidate, k] > wins[k, candidate]:
                alive[k] = False


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0
    state.alive[:] = True
    state.numbers[0].candidate = NONE
    state.numbers[0].next = 0


@kernel
def _best_guess(state: Any) -> int:
    return max(0, state.numbers[0].candidate)


@POLICIES.register("if")
class InterleavedFilter(KernelPolicy):
    """Compare a candidate with all others in turn; drop losers; replace a beaten candidate.

    Yue, Broder, Kleinberg and Joachims, *The K-armed Dueling Bandits Problem*, COLT 2009 and JCSS
    2012. A random candidate meets every arm of W once a sweep. After a sweep the arms it beats by
    more than sqrt(4 log(T K^2)/n) leave; if one beats it by as much, the candidate leaves and that
    one takes its place. With `prune` (the paper's Interleaved Filter 2) all arms that have won
    fewer than half of their duels with it leave, too. The last one left plays itself.

    Prior knowledge: the horizon T. Guarantee: expected regret of order K log T / eps, where eps is
    the lead of the best arm over the second, under a total order, SST and STI, on a stationary
    world.

    Verified against: the program of Komiyama and others (COLT 2015), not the paper. Records need
    not be cleared for a new candidate: it has only met earlier candidates, which have left.

    **Late answers** count for their pair on arrival; a review at the end of a sweep uses the
    answers so far.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    prune
        Whether the arms behind a fallen candidate are dropped with it. Default True.
    """

    prior_knowledge = ("horizon",)
    guarantee = "K log T / eps, SST and STI, stationary"
    source = "Yue, Broder, Kleinberg, Joachims: The K-armed Dueling Bandits Problem, JCSS 2012"
    confidence = "as in a public program, not verified against the paper"
    kernels = Kernels(_ask, count_duel, _reset, _best_guess)

    def __init__(
        self, arms: int, rng: np.random.Generator, horizon: Horizon, prune: Prune = True
    ) -> None:
        super().__init__(arms, rng)
        self.state = InterleavedFilterState(
            wins=np.zeros((arms, arms)),
            alive=np.ones(arms, np.bool_),
            numbers=records(1, candidate=NONE, next=0, prune=int(prune)),
            spread=np.array([4.0 * math.log(horizon * arms**2)]),
        )

    def stage(self) -> Stage:
        """Return the remaining arms, including the candidate."""
        return Stage(active=tuple(np.flatnonzero(self.state.alive).tolist()))
