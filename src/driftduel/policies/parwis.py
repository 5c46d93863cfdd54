"""PARWiS: winner determination under a small budget, by a spectral ranking."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies._counts import add_past_win, count_duel, forget_wins
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, ARM, ARMS, COUNT, ORDER, SHARES, Within
from driftduel.policies.registry import POLICIES

__all__ = ["Parwis"]

_EQUAL = 1e-12  # tolerance for equal scores, so that rounding errors have no effect
_MOST_ARMS = 200


class ParwisState(NamedTuple):
    """The array of votes, and the spectral scores computed from it."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    order: Annotated[Any, ORDER]
    """(K,) a random order of the arms: that of the first comparisons, which also breaks ties."""
    reigning: Annotated[Any, ARM]
    """(1,) the winner of the first comparisons so far."""
    begun: Annotated[Any, Within(0, ARMS)]
    """(1,) the number of initial comparisons that were chosen."""
    rates: Annotated[Any, ANY]
    """(K + 1, K + 1) scratch: the rates of the chain, the virtual arm last."""
    scores: Annotated[Any, SHARES]
    """(K + 1,) the stationary distribution of the chain."""
    further: Annotated[Any, ANY]
    """(K + 1,) scratch: the scores after one more vote."""


@hot
def _rate(wins: Any, loser: int, winner: int) -> float:
    """Return the rate at which the chain moves from an arm to one that beat it."""
    n = wins[winner, loser] + wins[loser, winner]
    return wins[winner, loser] / n if n > 0.0 else 0.0


@kernel
def _stationary(wins: Any, first: int, second: int, rates: Any, scores: Any) -> None:
    """Write the stationary distribution of the chain, after one more win of `first`.

    By elimination without subtractions (Grassmann, Taksar and Heyman 1985). The virtual arm has
    one win and one loss against every arm, so the chain is connected. No further win: first < 0.
    """
    arms = wins.shape[0]
    for i in range(arms):
        for j in range(arms):
            rates[i, j] = _rate(wins, i, j) if i != j else 0.0
        rates[i, arms] = rates[arms, i] = 0.5
    rates[arms, arms] = 0.0
    if first >= 0:
        n = wins[first, second] + wins[second, first] + 1.0
        rates[second, first] = (wins[first, second] + 1.0) / n
        rates[first, second] = wins[second, first] / n
    for n in range(arms, 0, -1):
        total = 0.0
        for j in range(n):
            total += rates[n, j]
        for i in range(n):
            rates[i, n] /= total
            for j in range(n):
                if i != j:
                    rates[i, j] += rates[i, n] * rates[n, j]
    scores[0] = 1.0
    total = 1.0
    for n in range(1, arms + 1):
        scores[n] = 0.0
        for i in range(n):
            scores[n] += scores[i] * rates[i, n]
        total += scores[n]
    for n in range(arms + 1):
        scores[n] /= total


@hot
def _top(state: Any) -> int:
    """Return the arm with the largest score."""
    best = state.order[0]
    for place in range(1, len(state.order)):
        arm = state.order[place]
        if state.scores[arm] > state.scores[best] + _EQUAL:
            best = arm
    return best


@hot
def _disruption(state: Any, first: int, second: int) -> float:
    """Return the change of the scores by one more win of `first` over `second`."""
    _stationary(state.wins, first, second, state.rates, state.further)
    total = 0.0
    for arm in range(len(state.scores)):
        moved = state.further[arm] - state.scores[arm]
        total += moved * moved
    return math.sqrt(total)


@kernel
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    order, begun = state.order, state.begun[0]
    arms = len(order)
    if begun + 1 < arms:  # the winner so far meets the next arm
        state.begun[0] = begun + 1
        return state.reigning[0], order[begun + 1]
    top = _top(state)
    best, most = top, -1.0
    for place in range(arms):
        arm = order[place]
        if arm == top:
            continue
        own, other = state.scores[top], state.scores[arm]
        moved = own * _disruption(state, top, arm) + other * _disruption(state, arm, top)
        moved /= own + other
        if moved > most + _EQUAL:
            best, most = arm, moved
    return top, best


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if won == 0 and first == state.reigning[0]:
        state.reigning[0] = second
    count_duel(state, t, first, second, won, notes)
    _stationary(state.wins, -1, -1, state.rates, state.scores)
    return 0


@kernel
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    add_past_win(state, winner, loser, weight)
    _stationary(state.wins, -1, -1, state.rates, state.scores)


@hot
def _reset(state: Any) -> None:
    forget_wins(state.wins)
    state.scores[:] = 1.0 / len(state.scores)
    state.reigning[0] = state.order[0]
    state.begun[0] = 0


@POLICIES.register("parwis")
class Parwis(KernelPolicy):
    """Find a top arm in K - 1 votes; then compare it where the expected disruption is largest.

    Sheth and Rajkumar, *PARWiS: Winner Determination from Active Pairwise Comparisons under a
    Shoestring Budget*, ICDM 2021, with exact and weighted disruption. Scores are those of Rank
    Centrality: the stationary distribution of a chain that moves from each arm to those that beat
    it, with a virtual arm that has won and lost once against every arm. The top arm meets the one
    for which the expected change of the score vector, in Euclidean norm, is the largest; the two
    outcomes are weighted with the scores of the arms.

    Guarantee: none. It is made for budgets of a few times K votes under a Bradley-Terry model. The
    goal ``confidence`` adds a stopping rule with a guarantee. It is not consistent: an arm that
    lost an early comparison may never be compared again, because only the top arm is.

    Verified against: the authors' program, which updates the chain incrementally; this
    implementation solves it again. Ties between scores are broken by a random order of the arms,
    drawn at the beginning, in place of a new draw per tie.

    **Late answers** count on arrival. A past vote counts like any other. Ties are ignored. A vote
    costs of the order of K^4 operations.

    Parameters
    ----------
    arms, rng
        The number of arms K, at most 200, and its randomness.
    """

    name = "parwis"
    easy_regret = "weak"
    guarantee = "none known; made for a few times K votes"
    source = (
        "Sheth, Rajkumar: PARWiS: Winner Determination from Active Pairwise Comparisons under a "
        "Shoestring Budget, ICDM 2021"
    )
    confidence = "high: follows the authors' program"
    in_panel = "nothing changes: it never asks for an arm's duel with itself"
    kernels = Kernels(_ask, _tell, _reset, _top, any_duel=True, add_past_vote=_add_past_vote)

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        if arms > _MOST_ARMS:
            raise DriftduelError(f"arms={arms} must be at most {_MOST_ARMS} for 'parwis'.")
        order = rng.permutation(arms)
        self.state = ParwisState(
            wins=np.zeros((arms, arms)),
            order=order,
            reigning=order[:1].copy(),
            begun=np.zeros(1, np.int64),
            rates=np.zeros((arms + 1, arms + 1)),
            scores=np.full(arms + 1, 1 / (arms + 1)),
            further=np.zeros(arms + 1),
        )
