"""What policies that keep pairwise win counts share.

Everything is computed from `wins` when it is needed; nothing derived is kept, so that a sliding
window or a discount may change the counts between two rounds.
"""

import math
from typing import Any

import numpy as np

from driftduel._compile import hot
from driftduel.errors import DriftduelError

__all__ = ["bonus", "check_wins", "count_win", "forget_wins", "may_beat", "upper"]


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


def check_wins(name: str, wins: Any) -> None:
    """Refuse saved counts that no duels can have led to."""
    if not ((wins >= 0) & np.isfinite(wins)).all():
        raise DriftduelError(f"the saved state of {name!r} does not hold together.")
