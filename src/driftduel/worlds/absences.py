"""Registered worlds in which arms join and leave."""

from typing import Annotated

import numpy as np

from driftduel.errors import DriftduelError
from driftduel.preferences import from_utilities
from driftduel.specs import Range
from driftduel.worlds.base import World
from driftduel.worlds.generators import WORLDS, Arms, Link, Phases, Rounds, Seed, utilities
from driftduel.worlds.piecewise import Piecewise
from driftduel.worlds.wrappers import Event, WithAbsences

__all__: list[str] = []

Sd = Annotated[float, Range(0, open=True), "standard deviation of the utilities"]


@WORLDS.register("arrivals")
def _arrivals(
    arms: Arms = 12,
    rounds: Rounds = 200_000,
    pool: Annotated[
        int | None, Range(2), "arms present at a time; the others join later; default: half of them"
    ] = None,
    better: Annotated[float, Range(), "mean advantage of newcomers' utilities"] = 0.5,
    sd: Sd = 1.0,
    link: Link = "logistic",
    seed: Seed = 0,
) -> World:
    """Let newcomers, better on average, join at random rounds, each replacing the worst arm."""
    pool = max(2, arms // 2) if pool is None else pool
    if pool > arms:
        raise DriftduelError(f"pool={pool} must be at most arms={arms}.")
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    values = rng.normal(0.0, sd, arms)
    values[pool:] += better
    here = set(range(pool))
    events: list[Event] = [(1, arm, False) for arm in range(pool, arms)]
    for t, newcomer in zip(_rounds(rng, rounds, arms - pool), range(pool, arms), strict=True):
        worst = min(here, key=lambda arm: values[arm])
        events += [(t, newcomer, True), (t, worst, False)]
        here = here - {worst} | {newcomer}
    return WithAbsences(Piecewise([from_utilities(values, link)], [1], rounds), events)


@WORLDS.register("sleeping")
def _sleeping(
    arms: Arms = 12,
    rounds: Rounds = 200_000,
    events: Annotated[
        int | None, Range(0, 10**6), "number of joins and departures; default: 9 K"
    ] = None,
    phases: Phases = 1,
    sd: Sd = 1.0,
    link: Link = "logistic",
    seed: Seed = 0,
) -> World:
    """Let arms join and leave at random rounds; with phases, utilities change, too."""
    of_events, of_utilities = np.random.SeedSequence(seed).spawn(2)
    inside = utilities(
        arms, rounds, phases, sd, link, change="any", seed=int(of_utilities.generate_state(1)[0])
    )
    rng = np.random.default_rng(of_events)
    here = set(range(arms))
    drawn: list[Event] = []
    for t in _rounds(rng, rounds, 9 * arms if events is None else events):
        arm = int(rng.integers(arms))
        if here == {arm}:  # the last arm stays present; another one joins instead
            arm = int((arm + rng.integers(1, arms)) % arms)
        here ^= {arm}
        drawn.append((t, arm, arm in here))
    return WithAbsences(inside, drawn)


@WORLDS.register("retire-best")
def _retire_best(
    arms: Arms = 12,
    rounds: Rounds = 200_000,
    times: Annotated[
        int | None, Range(0), "number of permanent removals of the best arm; default: K - 2"
    ] = None,
    sd: Sd = 1.0,
    link: Link = "logistic",
    seed: Seed = 0,
) -> World:
    """Remove the best arm repeatedly, after equal numbers of rounds."""
    times = arms - 2 if times is None else times
    if times >= min(arms, rounds):
        raise DriftduelError(f"times={times} must be below arms={arms} and rounds={rounds}.")
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    values = rng.normal(0.0, sd, arms)
    best_first = np.argsort(-values)
    events = [
        (1 + rounds * (i + 1) // (times + 1), int(best_first[i]), False) for i in range(times)
    ]
    return WithAbsences(Piecewise([from_utilities(values, link)], [1], rounds), events)


def _rounds(rng: np.random.Generator, rounds: int, events: int) -> list[int]:
    """Draw distinct rounds after the first, ascending."""
    if events >= rounds:
        raise DriftduelError(f"{events} joins and departures need more than rounds={rounds}.")
    drawn: list[int] = np.sort(rng.choice(rounds - 1, size=events, replace=False) + 2).tolist()
    return drawn
