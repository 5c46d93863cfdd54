"""Exponential weights, shared by the policies that play dueling bandits as an adversarial game.

A player is a row: of `scores`, whose exponentials are its weights, or of `weights` themselves. It
draws from ``(1 - gamma) weights / sum + gamma / K``.
"""

import math
from typing import Any

from driftduel._compile import hot, kernel
from driftduel._random import uniform

__all__ = ["chance", "credit", "draw", "exp3s_gamma", "heaviest", "pick", "share", "weigh"]


def exp3s_gamma(arms: int, horizon: int, phases: float) -> float:
    """Return the exploration of EXP3.S (Auer et al. 2002, Corollary 8.3) for so many phases."""
    effort = arms * (phases * math.log(arms * horizon) + math.e)
    return min(1.0, math.sqrt(effort / ((math.e - 1.0) * horizon)))


@hot
def weigh(scores: Any, weights: Any, row: int) -> None:
    """Turn a player's scores into weights that add up to 1."""
    arms = scores.shape[1]
    highest = scores[row, 0]
    for i in range(1, arms):
        highest = max(highest, scores[row, i])
    total = 0.0
    for i in range(arms):
        weights[row, i] = math.exp(scores[row, i] - highest)
        total += weights[row, i]
    for i in range(arms):
        weights[row, i] /= total


@hot
def chance(weights: Any, row: int, gamma: float, i: int) -> float:
    """Return the probability with which a player draws arm i."""
    return (1.0 - gamma) * weights[row, i] + gamma / weights.shape[1]


@hot
def pick(weights: Any, row: int, u: float) -> int:
    """Return the arm at which a player's weights, added up, exceed u."""
    last = weights.shape[1] - 1
    i = 0
    u -= weights[row, 0]
    while u >= 0.0 and i < last:
        i += 1
        u -= weights[row, i]
    return i


@hot
def draw(weights: Any, row: int, gamma: float, rng: Any) -> int:
    """Draw an arm; the weights add up to 1."""
    u = uniform(rng)
    if u < gamma:  # what is left of the number picks one of all arms
        arms = weights.shape[1]
        return min(int(u / gamma * arms), arms - 1)
    return pick(weights, row, (u - gamma) / (1.0 - gamma))


@hot
def credit(weights: Any, row: int, gamma: float, bias: float) -> float:
    """Multiply every weight by exp(bias / its chance), norm them; return what they added up to."""
    arms = weights.shape[1]
    total = 0.0
    for i in range(arms):
        weights[row, i] *= math.exp(bias / chance(weights, row, gamma, i))
        total += weights[row, i]
    for i in range(arms):
        weights[row, i] /= total
    return total


@hot
def share(weights: Any, row: int, arm: int, factor: float, bonus: float) -> None:
    """Multiply one weight, then give every arm the same share, and norm the weights."""
    arms = weights.shape[1]
    weights[row, arm] *= factor
    total = 0.0
    for i in range(arms):
        weights[row, i] += bonus
        total += weights[row, i]
    for i in range(arms):
        weights[row, i] /= total


@kernel
def heaviest(state: Any) -> int:
    """Return the arm with the largest weight, those of both players added up."""
    weights = state.weights
    best, most = 0, -1.0
    for i in range(weights.shape[1]):
        weight = 0.0
        for row in range(weights.shape[0]):
            weight += weights[row, i]
        if weight > most:
            best, most = i, weight
    return best
