"""Kernels of RMED1, RMED2 and RMED2FH: divergences, the loop over candidates, opponents.

All values are recomputed from the array `wins` in every round, so a wrapper may discount or drop
counts.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies.base import KernelPolicy
from driftduel.policies.fields import (
    ANY,
    ARM_OR_NONE,
    CONSTANT,
    COUNT,
    FLAG,
    Named,
    Within,
    records,
)
from driftduel.specs import Range

__all__ = ["Rmed", "RmedState", "Weight", "fresh_state"]

Weight = Annotated[float, Range(0), "f(K) = weight K^1.01"]

_LEAST_REGRET = 0.01  # the authors' floor, where an estimate makes a duel cost nothing
_OPEN = -1


class RmedState(NamedTuple):
    """Win counts, and the position in the loop over the candidates."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    divergence: Annotated[Any, ANY]
    """(K,) I_i of this round: the evidence against i as the winner."""
    remaining: Annotated[Any, FLAG]
    """(K,) 1 for the arms of the current loop L_C that are not played yet (these are L_R)."""
    chosen: Annotated[Any, FLAG]
    """(K,) 1 for the arms of the next loop, L_N."""
    rivals: Annotated[Any, ARM_OR_NONE]
    """(K,) the opponents that RMED2FH fixes after exploring, -1 before."""
    numbers: Annotated[
        Any,
        Named(
            scanned=Within(0, lambda scope: scope.arms**2 - 1),
            tolerance=CONSTANT,
            alpha=CONSTANT,
            log_log_T=CONSTANT,
        ),
    ]
    """The pair after which the search for an unexplored one continues; f(K); alpha; log log T."""


def fresh_state(arms: int, weight: float, alpha: float = 0.0, horizon: int = 0) -> RmedState:
    """Return the initial state with f(K) = weight K^1.01."""
    tolerance, log_log_T = weight * arms**1.01, log_log(horizon) if horizon else 0.0
    return RmedState(
        wins=np.zeros((arms, arms)),
        divergence=np.zeros(arms),
        remaining=np.ones(arms, np.int64),
        chosen=np.zeros(arms, np.int64),
        rivals=np.full(arms, _OPEN, np.int64),
        numbers=records(1, scanned=0, tolerance=tolerance, alpha=float(alpha), log_log_T=log_log_T),
    )


class Rmed(KernelPolicy):
    """The base class of the three policies."""

    draws = False
    transient = ("remaining", "chosen", "rivals", "numbers")
    source = (
        "Komiyama, Honda, Kashima, Nakagawa: Regret Lower Bound and Optimal Algorithm in Dueling "
        "Bandit Problem, COLT 2015"
    )
    confidence = "high: verified against the paper, reproduces its authors' figures"

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError if only some opponents are fixed."""
        self.require((state.rivals == _OPEN).all() or (state.rivals != _OPEN).all())


@hot
def reset(state: Any) -> None:
    """Reset the learned state."""
    state.wins[:] = 0.0
    state.divergence[:] = 0.0
    state.remaining[:] = 1
    state.chosen[:] = 0
    state.rivals[:] = _OPEN
    state.numbers[0].scanned = 0


@hot
def log_log(t: float) -> float:
    """Return log log t, or 0 where it is negative."""
    return math.log(max(math.log(t), 1.0))


@hot
def divergence(w: float, n: float) -> float:
    """Return kl(w/n, 1/2)."""
    p = w / n
    if p <= 0.0 or p >= 1.0:
        return math.log(2.0)
    return p * math.log(2.0 * p) + (1.0 - p) * math.log(2.0 * (1.0 - p))


@hot
def unexplored(state: Any, least: float) -> int:
    """Return a pair i K + j that was compared less than `least` times or never; -1: none.

    The search is cyclic, so that a pair with a pending answer is not chosen again immediately.
    """
    wins = state.wins
    K = len(wins)
    short = False
    for i in range(K):
        for j in range(i + 1, K):
            n = wins[i, j] + wins[j, i]
            short |= (n < least) | (n <= 0.0)
    if not short:
        return -1
    pair = state.numbers[0].scanned
    while True:
        i, j = pair // K, pair % K
        pair = (pair + 1) % (K * K)
        n = wins[i, j] + wins[j, i]
        if i < j and (n < least or n <= 0.0):
            state.numbers[0].scanned = pair
            return i * K + j


@hot
def likeliest(state: Any) -> int:
    """Compute all divergences and return i*, the arm with the least (ties: the lowest index)."""
    wins, divergences = state.wins, state.divergence
    K = len(wins)
    divergences[:] = 0.0
    for i in range(K):
        for j in range(i + 1, K):
            w, l = wins[i, j], wins[j, i]  # noqa: E741
            if w < l:
                divergences[i] += (w + l) * divergence(w, w + l)
            elif l < w:
                divergences[j] += (w + l) * divergence(l, w + l)
    best = 0
    for i in range(1, K):
        if divergences[i] < divergences[best]:
            best = i
    return best


@hot
def candidate(state: Any, t: int, best: int) -> int:
    """Return l(t), the next arm of the loop; start the next loop if this one is finished.

    The candidates of the next loop are computed from the counts after the last answer.
    """
    divergences, remaining, chosen = state.divergence, state.remaining, state.chosen
    K = len(divergences)
    limit = divergences[best] + math.log(t) + state.numbers[0].tolerance
    left = 0
    for i in range(K):
        left += remaining[i]
        if remaining[i] == 0 and divergences[i] <= limit:
            chosen[i] = 1
    if left == 0:
        for i in range(K):
            remaining[i] = chosen[i]
        chosen[:] = 0
    arm = 0
    while remaining[arm] == 0:
        arm += 1
    remaining[arm] = 0
    return arm


@hot
def opponent(state: Any, arm: int, best: int) -> int:
    """Return RMED1's m(t): i* if it is ahead of `arm` or no arm is, else the arm furthest ahead."""
    wins = state.wins
    rival = best
    least = 1.0
    for j in range(len(wins)):
        if j != arm and wins[arm, j] <= wins[j, arm]:
            if j == best:
                return best
            p = wins[arm, j] / (wins[arm, j] + wins[j, arm])
            if p < least:
                least = p
                rival = j
    return rival


@hot
def cheapest(state: Any, arm: int, best: int) -> int:
    """Return b_hat: the opponent with the least regret per evidence against `arm` (default i*)."""
    wins = state.wins
    rival = best
    least = np.inf
    for j in range(len(wins)):
        if wins[arm, j] < wins[j, arm]:
            regret = max(_share(wins, best, arm) + _share(wins, best, j) - 1.0, _LEAST_REGRET)
            ratio = regret / divergence(wins[arm, j], wins[arm, j] + wins[j, arm])
            if ratio < least:
                least = ratio
                rival = j
    return rival


@hot
def _share(wins: Any, i: int, j: int) -> float:
    return 0.5 if i == j else wins[i, j] / (wins[i, j] + wins[j, i])


@hot
def thrifty_opponent(state: Any, arm: int, best: int, rival: int, share: float) -> int:
    """Return RMED2's m(t): b_hat, if i* had its share of the duels, else RMED1's."""
    wins = state.wins
    if rival == arm or wins[arm, rival] > wins[rival, arm]:
        return opponent(state, arm, best)
    if best != arm and wins[arm, best] <= wins[best, arm]:
        duels = wins[arm, best] + wins[best, arm]
        if duels * share <= wins[arm, rival] + wins[rival, arm]:
            return best
    return rival
