"""Kernels shared by policies with pairwise win counts.

All statistics are computed from the array `wins` on demand and not cached, because a sliding window
or a discount may change the counts between two rounds.
"""

import math
from collections.abc import Callable
from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import Kernels
from driftduel.policies.fields import MOST

__all__ = [
    "add_past_win",
    "any_present",
    "bonus",
    "count_duel",
    "count_win",
    "counting",
    "forget_wins",
    "is_present",
    "may_beat",
    "most_of_all",
    "most_victories",
    "possible_winners",
    "present_arms",
    "set_present",
    "upper",
]


@hot
def bonus(alpha: float, t: int) -> float:
    """Return alpha log t, the numerator of the squared confidence radius, 0 for t = 0."""
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
    """Return whether u_ij >= 1/2, without a division or a root."""
    n = wins[i, j] + wins[j, i]
    lack = 0.5 * n - wins[i, j]
    return lack <= 0.0 or lack * lack <= width * n


@hot
def possible_winners(wins: Any, present: Any, width: float, arms: Any) -> int:
    """Write the present arms that may beat all present arms to `arms`; return their number."""
    count = 0
    for i in range(len(present)):
        possible = present[i] == 1
        for j in range(len(present)):
            if not may_beat(wins, i, j, width) and present[j] == 1:
                possible = False
                break
        if possible:
            arms[count] = i
            count += 1
    return count


@hot
def present_arms(present: Any, arms: Any) -> int:
    """Write the present arms to `arms` and return their number."""
    count = 0
    for i in range(len(present)):
        if present[i] == 1:
            arms[count] = i
            count += 1
    return count


@hot
def count_win(wins: Any, first: int, second: int, won: int) -> None:
    """Count a result (1 or 0); a duel of an arm with itself is ignored."""
    if first != second:
        if won == 1:
            wins[first, second] += 1.0
        else:
            wins[second, first] += 1.0


@hot
def count_duel(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    """Count the result; the complete `tell` kernel of policies without further state."""
    count_win(state.wins, first, second, won)
    return 0


@hot
def forget_wins(wins: Any) -> None:
    """Set all counts to zero."""
    for i in range(wins.shape[0]):
        for j in range(wins.shape[1]):
            wins[i, j] = 0.0


@hot
def most_of_all(table: Any) -> int:
    """Return the column whose sum over the rows is the largest."""
    best, most = 0, -1.0
    for k in range(table.shape[1]):
        total = 0.0
        for row in range(table.shape[0]):
            total += table[row, k]
        if total > most:
            best, most = k, total
    return best


@kernel
def add_past_win(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a vote on a pair that the policy did not choose; the count is capped at `MOST`."""
    state.wins[winner, loser] = min(state.wins[winner, loser] + weight, MOST)


@kernel
def set_present(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Mark an arm as present or absent; its counts are kept."""
    state.present[arm] = here


@hot
def is_present(state: Any, arm: int) -> int:
    """Return 1 for a present arm, else 0."""
    return state.present[arm]


@hot
def any_present(present: Any, rng: Any) -> int:
    """Return a present arm drawn uniformly."""
    count = 0
    for i in range(len(present)):
        count += present[i]
    place, arm = int(uniform(rng) * count), -1
    while place >= 0:
        arm += 1
        place -= present[arm]
    return arm


@hot
def _always(state: Any, arm: int) -> int:
    return 1


def _most_victories(counts: Any) -> Any:
    def best_guess(state):  # type: ignore[no-untyped-def]
        wins = state.wins
        arms = wins.shape[0]
        best, most = 0, -1.0
        for i in range(arms):
            if counts(state, i) == 0:
                continue
            score = 0.0
            for j in range(arms):
                if j != i and wins[i, j] + wins[j, i] > 0.0 and counts(state, j) == 1:
                    share = wins[i, j] / (wins[i, j] + wins[j, i])
                    # The margin breaks ties between arms with equally many victories.
                    score += (1.0 if share > 0.5 else 0.0) + 1e-3 * share
            if score > most:
                best, most = i, score
        return best

    return kernel(best_guess)


most_victories = _most_victories(_always)
"""Kernel that returns the arm with most pairwise victories: more than half of the pair's duels."""
_most_victories_present = _most_victories(is_present)


def counting(
    ask: Callable[..., Any], tell: Callable[..., Any], reset: Any, *, presence: bool = False
) -> Kernels:
    """Return the kernels of a policy that learns by counting wins, from duels of any origin.

    Parameters
    ----------
    ask, tell, reset
        The kernels of the policy.
    presence
        Whether the record has a field `present` and `ask` chooses present arms only.
    """
    kernels = Kernels(ask, tell, reset, most_victories, any_duel=True, add_past_vote=add_past_win)
    if not presence:
        return kernels
    return kernels._replace(
        best_guess=_most_victories_present, change=set_present, present=is_present
    )
