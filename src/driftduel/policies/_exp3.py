"""Exponential weights, shared by the policies that play dueling bandits as an adversarial game.

A player is a row: of `scores`, whose exponentials are its weights, or of `weights` themselves. It
draws from ``(1 - gamma) weights / sum + gamma / K``.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies._counts import most_of_all
from driftduel.policies.base import KernelPolicy
from driftduel.policies.fields import ANY, CONSTANT, FINITE, PROBABILITY, SHARES, Rule, records

__all__ = [
    "Players",
    "Scores",
    "Shares",
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
    """What players know who keep scores."""

    numbers: Annotated[Any, CONSTANT]
    """Settings: exploration gamma, learning rate eta, bias beta, ..."""
    scores: Annotated[Any, FINITE]
    """(players, K) logarithms of the weights."""
    weights: Annotated[Any, ANY]
    """(players, K) the weights, each row adding up to 1; computed anew in every round."""


class Shares(NamedTuple):
    """What players know who keep weights, of which every arm gets a share in every round."""

    numbers: Annotated[Any, CONSTANT]
    """Settings: exploration gamma, learning rate eta, bias beta, the share, ..."""
    weights: Annotated[Any, SHARES]
    """(players, K) each row adds up to 1."""


def fresh_scores(players: int, arms: int, **numbers: float) -> Scores:
    """Return the record of players who have seen nothing."""
    weights = np.full((players, arms), 1.0 / arms)
    return Scores(records(1, **numbers), np.zeros((players, arms)), weights)


def fresh_shares(players: int, arms: int, **numbers: float) -> Shares:
    """Return the record of players who have seen nothing."""
    return Shares(records(1, **numbers), np.full((players, arms), 1.0 / arms))


class Players(KernelPolicy):
    """Learn from estimates that are weighted with the probabilities of both arms."""

    ties = "coin"  # its estimates would be biased without
    notes: ClassVar[tuple[Rule, ...]] = (PROBABILITY, PROBABILITY)


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


@hot
def forget_shares(state: Any) -> None:
    """Forget everything learned."""
    state.weights[:] = 1.0 / state.weights.shape[1]


@hot
def forget_scores(state: Any) -> None:
    """Forget everything learned."""
    state.scores[:] = 0.0
    forget_shares(state)


@kernel
def heaviest(state: Any) -> int:
    """Return the arm with the largest weight, those of all players added up."""
    return most_of_all(state.weights)
