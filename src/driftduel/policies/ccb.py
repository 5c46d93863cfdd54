"""CCB: Copeland confidence bound."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import count_duel, counting, upper as upper_bound
from driftduel.policies.base import KernelPolicy
from driftduel.policies.fields import ANY, ARMS, CONSTANT, COUNT, FLAG, Within
from driftduel.policies.keys import Width
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES

__all__ = ["Ccb"]

_EXPLORE, _KEEP_BEST, _RESTRICT = 1 / 4, 2 / 3, 1 / 2


class CcbState(NamedTuple):
    """Win counts, and the sets of hypotheses derived from them."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    upper: Annotated[Any, ANY]
    """(K, K) u_ij of this round; the lower bound of i over j is 1 - u_ji."""
    optimist: Annotated[Any, ANY]
    """(K,) upper bound on the number of arms that i beats."""
    pessimist: Annotated[Any, ANY]
    """(K,) lower bound on it."""
    best: Annotated[Any, FLAG]
    """(K,) B: 1 for the arms that may be Copeland winners."""
    beaters: Annotated[Any, FLAG]
    """(K, K) B^i: 1 for the arms j in the hypothesis set of i."""
    sizes: Annotated[Any, Within(0, ARMS)]
    """(K,) number of elements of each B^i."""
    losses: Annotated[Any, Within(0, ARMS)]
    """(1,) L_C: the hypothesis on the number of arms that beat a Copeland winner."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@hot
def _highest(scores: Any) -> int:
    highest = scores[0]
    for score in scores:
        highest = max(highest, score)
    return highest


@hot
def _bound(state: Any, t: int) -> None:
    """Compute the bounds on probabilities and on Copeland scores."""
    wins, upper, optimist, pessimist = state.wins, state.upper, state.optimist, state.pessimist
    K = len(wins)
    width = state.alpha[0] * math.log(t)
    for i in range(K):
        for j in range(K):
            upper[i, j] = upper_bound(wins, i, j, width)
    optimist[:] = 0
    pessimist[:] = 0
    for i in range(K):
        for j in range(K):
            if i != j:
                optimist[i] += int(upper[i, j] >= 0.5)
                pessimist[i] += int(1.0 - upper[j, i] >= 0.5)


@hot
def _forget_hypotheses(state: Any) -> None:
    state.best[:] = 1
    state.beaters[:] = 0
    state.sizes[:] = 0
    state.losses[0] = len(state.wins)


@hot
def _update_hypotheses(state: Any, rng: Any) -> None:
    """Apply steps A, B and C of the paper: reset, remove and add."""
    upper, optimist, pessimist = state.upper, state.optimist, state.pessimist
    best, beaters, sizes, losses = state.best, state.beaters, state.sizes, state.losses
    K = len(upper)
    disproved = False
    for i in range(K):
        for j in range(K):
            disproved |= (beaters[i, j] == 1) & (1.0 - upper[j, i] > 0.5)
    if disproved:
        _forget_hypotheses(state)
    surest = _highest(pessimist)
    left = 0
    for i in range(K):
        if best[i] == 1 and optimist[i] < surest:
            best[i] = 0
            if sizes[i] != losses[0] + 1:
                sizes[i] = 0
                for j in range(K):
                    beaters[i, j] = int(upper[i, j] < 0.5)
                    sizes[i] += beaters[i, j]
        left += best[i]
    if left == 0:
        _forget_hypotheses(state)
    highest = _highest(optimist)
    for i in range(K):
        if optimist[i] == highest and pessimist[i] == highest:
            best[i] = 1
            beaters[i, :] = 0
            sizes[i] = 0
            losses[0] = K - 1 - highest
            for j in range(K):
                if j != i and sizes[j] != losses[0] + 1:
                    _trim(beaters, sizes, j, losses[0] + 1, rng)


@kernel
def _trim(beaters: Any, sizes: Any, i: int, limit: int, rng: Any) -> None:
    """Reduce B^i to `limit` random elements, or to none if there are fewer."""
    if sizes[i] < limit:
        beaters[i, :] = 0
        sizes[i] = 0
        return
    unseen, wanted = sizes[i], limit
    for j in range(len(sizes)):
        if beaters[i, j] == 1:
            if uniform(rng) * unseen < wanted:
                wanted -= 1
            else:
                beaters[i, j] = 0
            unseen -= 1
    sizes[i] = limit


@hot
def _is_undecided(state: Any, i: int, j: int) -> bool:
    return state.beaters[i, j] == 1 and 1.0 - state.upper[j, i] <= 0.5 and state.upper[i, j] >= 0.5


@hot
def _challenger(state: Any, rng: Any, first: int, restricted: bool) -> int:
    """Return argmax u_jc over the j with l_jc <= 1/2, in B^c only if restricted; -1: none.

    In a tie it is not the champion itself.
    """
    upper, beaters = state.upper, state.beaters
    second = -1
    ties = 0
    for j in range(len(upper)):
        if j != first and upper[first, j] >= 0.5 and (beaters[first, j] == 1 or not restricted):
            if second < 0 or upper[j, first] > upper[second, first]:
                second = j
                ties = 1
            elif upper[j, first] == upper[second, first]:
                ties += 1
                if uniform(rng) * ties < 1.0:
                    second = j
    if not restricted and (second < 0 or upper[second, first] < 0.5):
        return first
    return second


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    K = len(state.wins)
    optimist, best = state.optimist, state.best
    _bound(state, t)
    _update_hypotheses(state, rng)
    if uniform(rng) < _EXPLORE:
        pair = -1
        seen = 0
        for i in range(K):
            for j in range(K):
                if _is_undecided(state, i, j):
                    seen += 1
                    if uniform(rng) * seen < 1.0:
                        pair = i * K + j
        if pair >= 0:
            return pair // K, pair % K
    highest = _highest(optimist)
    among_best = False
    for i in range(K):
        among_best |= (optimist[i] == highest) & (best[i] == 1)
    if among_best:
        among_best = uniform(rng) < _KEEP_BEST
    first = 0
    seen = 0
    for i in range(K):
        if optimist[i] == highest and (best[i] == 1 or not among_best):
            seen += 1
            if uniform(rng) * seen < 1.0:
                first = i
    restricted = uniform(rng) < _RESTRICT
    second = _challenger(state, rng, first, restricted)
    if second < 0:  # B^c has no candidate
        second = _challenger(state, rng, first, False)
    return first, second


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0
    state.upper[:] = 0.0
    state.optimist[:] = 0
    state.pessimist[:] = 0
    _forget_hypotheses(state)


@POLICIES.register("ccb")
class Ccb(KernelPolicy):
    """Play an arm that may beat the most arms; store hypotheses about the defeats of the others.

    CCB of Zoghi, Karnin, Whiteson and de Rijke, *Copeland Dueling Bandits*, NeurIPS 2015. The
    bounds p_ij -+ sqrt(alpha log t / n_ij) give bounds on every arm's Copeland score, the number of
    arms it beats. The set B holds the arms that may still have the highest, the sets B^i the L_C +
    1 arms that presumably beat an excluded arm i; all are reset when the bounds disprove one of
    them. With probability 1/4 an undecided pair of some B^i is compared. Else the champion c is an
    arm of the highest upper score (with probability 2/3 one in B, if there is one), and the
    challenger has the highest u_jc among the j with l_jc <= 1/2 (with probability 1/2 only those in
    B^c, if there are such).

    Prior knowledge: none. Guarantee: with C Copeland winners that lose to at most L_C arms each,
    regret of order (K^2 + (C + L_C) K log T) / Delta^2 on a stationary world; it needs no Condorcet
    winner.

    **Verified against**: the public program of Wu and Liu, which agrees with the paper from memory
    (confidence medium to high). Pairs never compared have the bounds minus and plus infinity, and
    ties are broken at random.

    **Late answers** count for their pair on arrival. A forgotten duel has no effect.

    Parameters
    ----------
    alpha
        Width of the confidence bounds; the guarantee needs more than 1/2, the default value 0.51 is
        that of the program of Wu and Liu.
    """

    guarantee = "(K^2 + (C + L_C) K log T) / Delta^2 on stationary worlds, Copeland"
    in_panel = COUNTED
    source = "Zoghi, Karnin, Whiteson, de Rijke: Copeland Dueling Bandits, NeurIPS 2015"
    confidence = "medium to high: as in a public program, paper not at hand"
    kernels = counting(_ask, count_duel, _reset)
    transient = ("best", "beaters", "sizes", "losses")

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Width = 0.51) -> None:
        super().__init__(arms, rng)
        self.state = CcbState(
            wins=np.zeros((arms, arms)),
            upper=np.zeros((arms, arms)),
            optimist=np.zeros(arms, np.int64),
            pessimist=np.zeros(arms, np.int64),
            best=np.ones(arms, np.int64),
            beaters=np.zeros((arms, arms), np.int64),
            sizes=np.zeros(arms, np.int64),
            losses=np.array([arms], dtype=np.int64),
            alpha=np.array([alpha], dtype=np.float64),
        )
