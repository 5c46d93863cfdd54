"""Registered worlds without a Condorcet winner, always or in some phases."""

from itertools import cycle
from typing import Annotated

import numpy as np

from driftduel import preferences as models
from driftduel.preferences import Preferences
from driftduel.specs import Range
from driftduel.worlds.base import World
from driftduel.worlds.generators import (
    WORLDS,
    Lengths,
    Phases,
    Rounds,
    Seed,
    draw_phases,
    random_order,
)

__all__: list[str] = []

_Half = Range(0.5, 1, open_low=True)
_ThreeArms = Annotated[int, Range(3), "number of options K"]
_Over = Annotated[
    float, _Half, "probability with which the three beat the others, and these each other"
]
_Circle = Annotated[float, _Half, "probability of winning along the circle"]


@WORLDS.register("rps-top")
def _rps_top(
    arms: _ThreeArms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    p: _Circle = 0.7,
    over: _Over = 0.8,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Draw three arms each phase that beat all others, and form a cycle."""
    return _skew_top(arms, rounds, phases, p, p, p, over, lengths, seed)


@WORLDS.register("skew-top")
def _skew_top(
    arms: _ThreeArms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    first: Annotated[float, _Half, "probability that one of the three beats the next"] = 0.9,
    second: Annotated[float, _Half, "that the next beats the third"] = 0.6,
    third: Annotated[float, _Half, "and that the third beats the first"] = 0.7,
    over: _Over = 0.8,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Draw three arms each phase that beat all others, and form an uneven cycle."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.cycle_on_top(random_order(rng, arms, None), (first, second, third), over)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="any", seed=seed
    )


@WORLDS.register("clash")
def _clash(
    arms: Annotated[int, Range(5), "number of options K"] = 6,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    narrow: Annotated[float, _Half, "probability of winning narrowly"] = 0.55,
    wide: Annotated[float, _Half, "probability with which the Borda winner beats most"] = 0.95,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Draw two arms each phase: one beats the most others, the other wins the most duels."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.clash(random_order(rng, arms, None), narrow, wide)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="any", seed=seed
    )


@WORLDS.register("mixed")
def _alternating_phases(
    arms: _ThreeArms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    ratio: Annotated[float, Range(1, open=True), "odds of beating the next in rank"] = 2.0,
    p: _Circle = 0.7,
    over: _Over = 0.8,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Alternate phases with a winner, as in geometric-btl, and without one, as in rps-top."""
    with_winner = cycle((True, False))

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        order = random_order(rng, arms, None)
        if next(with_winner):
            return models.geometric_btl(order, ratio)
        return models.cycle_on_top(order, (p, p, p), over)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="any", seed=seed
    )
