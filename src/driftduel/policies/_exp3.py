"""Exponential weights, shared by the policies that play dueling bandits as an adversarial game.

A player is a row: of the array `scores` (logarithms of the weights), or of the array `weights`. It
draws from ``(1 - gamma) weights / sum + gamma / K``.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import most_of_all
from driftduel.policies.base import KernelPolicy
from driftduel.policies.fields import ANY, CONSTANT, FINITE, PROBABILITY, SHARES, Rule, records

__all__ = [
    "Players",
    "Scores",
    "SharedWeights",
    "chance",
    "credit",
    "draw_both",
    "draw_jointly",
    "exp3s_gamma",
    "forget_scores",
    "forget_shares",
    "fresh_scores",
    "fresh_shares",
    "heaviest",
    "pick",
    "share",
    "weigh",
]


class Scores(NamedTuple):
    """The record of players that store scores (log weights)."""

    numbers: Annotated[Any, CONSTANT]
    """Settings: exploration gamma, learning rate eta, bias beta, ..."""
    scores: Annotated[Any, FINITE]
    """(players, K) logarithms of the weights."""
    weights: Annotated[Any, ANY]
    """(players, K) the weights, each row adding up to 1; recomputed in every round."""


class SharedWeights(NamedTuple):
    """The record of players that store weights and share a part of them in every round."""

    numbers: Annotated[Any, CONSTANT]
    """Settings: exploration gamma, learning rate eta, bias beta, the share, ..."""
    weights: Annotated[Any, SHARES]
    """(players, K) each row adds up to 1."""


def fresh_scores(players: int, arms: int, **numbers: float) -> Scores:
    """Return the initial record of `players` players; keyword arguments are the settings."""
    weights = np.full((players, arms), 1.0 / arms)
    return Scores(records(1, **numbers), np.zeros((players, arms)), weights)


def fresh_shares(players: int, arms: int, **numbers: float) -> SharedWeights:
    """Return the initial record of `players` players; keyword arguments are the settings."""
    return SharedWeights(records(1, **numbers), np.full((players, arms), 1.0 / arms))


class Players(KernelPolicy):
    """The base class of policies with importance-weighted estimates of both arms."""

    ties = "coin"  # its estimates would be biased without
    notes: ClassVar[tuple[Rule, ...]] = (PROBABILITY, PROBABILITY)


def exp3s_gamma(arms: int, horizon: int, phases: float) -> float:
    """Return the exploration of EXP3.S (Auer et al. 2002, Corollary 8.3) for a number of phases."""
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
    """Return the probability that a player draws arm i."""
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
    if u < gamma:  # u / gamma is uniform as well and selects one of all arms
        arms = weights.shape[1]
        return min(int(u / gamma * arms), arms - 1)
    return pick(weights, row, (u - gamma) / (1.0 - gamma))


@hot
def draw_both(weights: Any, row: int, other: int, gamma: float, rng: Any, notes: Any) -> Any:
    """Draw an arm of each of two players; the notes are the probabilities of the two."""
    first = draw(weights, row, gamma, rng)
    second = draw(weights, other, gamma, rng)
    notes[0] = chance(weights, row, gamma, first)
    notes[1] = chance(weights, other, gamma, second)
    return first, second


@hot
def draw_jointly(weights: Any, gamma: float, rng: Any, notes: Any) -> Any:
    """Draw both arms of one player; the first note is the probability of the pair."""
    first = draw(weights, 0, gamma, rng)
    second = draw(weights, 0, gamma, rng)
    notes[0] = chance(weights, 0, gamma, first) * chance(weights, 0, gamma, second)
    return first, second


@hot
def credit(weights: Any, row: int, gamma: float, bias: float) -> float:
    """Multiply each weight by exp(bias / its chance) and normalise; return the previous sum."""
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
    """Multiply one weight, then give every arm the same share, and normalise the weights."""
    arms = weights.shape[1]
    weights[row, arm] *= factor
    total = 0.0
    for i in range(arms):
        weights[row, i] += bonus
        total += weights[row, i]
    for i in range(arms):
        weights[row, i] /= total


@hot
def forget_shares(state: Any) -> None:
    """Reset the learned state."""
    state.weights[:] = 1.0 / state.weights.shape[1]


@hot
def forget_scores(state: Any) -> None:
    """Reset the learned state."""
    state.scores[:] = 0.0
    forget_shares(state)


@kernel
def heaviest(state: Any) -> int:
    """Return the arm with the largest weight, summed over all players."""
    return most_of_all(state.weights)
