"""What policies that keep pairwise win counts share.

Everything is computed from `wins` when it is needed; nothing derived is kept, so that a sliding
window or a discount may change the counts between two rounds.
"""

import math
from collections.abc import Callable
from typing import Any

from driftduel._compile import hot, kernel
from driftduel.policies.base import Kernels

__all__ = [
    "bonus",
    "count_win",
    "counting",
    "forget_wins",
    "may_beat",
    "most_victories",
    "upper",
]


@hot
def bonus(alpha: float, t: int) -> float:
    """Return alpha log t, the numerator of the confidence radius."""
    return alpha * math.log(float(max(t, 1)))


@hot
def upper(wins: Any, i: int, j: int, width: float) -> float:
    """Return u_ij = w_ij / n_ij + sqrt(width / n_ij): 1/2 for i = j, infinite for an unseen pair.

    The lower bound of i over j is one minus the upper bound of j over i.
    """
    if i == j:
        return 0.5
    n = wins[i, j] + wins[j, i]
    return wins[i, j] / n + math.sqrt(width / n) if n > 0.0 else math.inf


@hot
def may_beat(wins: Any, i: int, j: int, width: float) -> bool:
    """Tell whether u_ij >= 1/2, without a division or a root."""
    n = wins[i, j] + wins[j, i]
    lack = 0.5 * n - wins[i, j]
    return lack <= 0.0 or lack * lack <= width * n


@hot
def count_win(wins: Any, first: int, second: int, won: int) -> None:
    """Enter an outcome; a duel of an arm with itself says nothing."""
    if first != second:
        if won == 1:
            wins[first, second] += 1.0
        else:
            wins[second, first] += 1.0


@hot
def forget_wins(wins: Any) -> None:
    """Set all counts to zero."""
    for i in range(wins.shape[0]):
        for j in range(wins.shape[1]):
            wins[i, j] = 0.0


@kernel
def most_victories(state: Any) -> int:
    """Return the arm that has won against most others, by more than half of their duels."""
    wins = state.wins
    arms = wins.shape[0]
    best, most = 0, -1.0
    for i in range(arms):
        score = 0.0
        for j in range(arms):
            if j != i and wins[i, j] + wins[j, i] > 0.0:
                share = wins[i, j] / (wins[i, j] + wins[j, i])
                # The margin breaks ties between arms that beat equally many.
                score += (1.0 if share > 0.5 else 0.0) + 1e-3 * share
        if score > most:
            best, most = i, score
    return best


def counting(ask: Callable[..., Any], tell: Callable[..., Any], reset: Any) -> Kernels:
    """Return the kernels of a policy that learns by counting wins, whoever chose the duels."""
    return Kernels(ask, tell, reset, most_victories, any_duel=True)
