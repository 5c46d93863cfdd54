"""Registered worlds modelled on real data: recurring regimes, bursts, fashions, leagues.

Most are defined by utilities (strengths). In the *ladder* and *lead* worlds the gaps are given as
probabilities, so that the parameters of the spec show the difficulty.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from driftduel import preferences as models
from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences
from driftduel.requests import MOST_FEATURES, RequestShape
from driftduel.specs import Choice, Range, need_room
from driftduel.worlds.base import World
from driftduel.worlds.drifting import Paths, need_rounds
from driftduel.worlds.generators import (
    WORLDS,
    Arms,
    Lengths,
    Phases,
    Rounds,
    Seed,
    draw_phases,
    need_matrices,
    random_order,
)
from driftduel.worlds.piecewise import Piecewise
from driftduel.worlds.routing import Routing

__all__: list[str] = []

Floats = NDArray[np.float64]
_Every = Annotated[float, Range(1), "mean number of rounds between changes"]
_Gap = Annotated[
    float, Range(0, 0.2, open_low=True), "the winner's lead over each other: gap to 2 gap"
]
_MOST_PHASES = 10**6
_TURN = 50  # rounds between two steps of a rotation that depends on requests


def _strength(gap: float | Floats) -> Floats:
    """Return the difference of utilities for a gap value: P = 1/2 + gap."""
    half = np.asarray(gap, dtype=np.float64)
    return np.log((0.5 + half) / (0.5 - half))


def _with_leader(rng: np.random.Generator, arms: int, gap: float, winner: int) -> Preferences:
    """Draw strengths below a winner that leads each other arm by one to two gaps."""
    values = -_strength(rng.uniform(gap, 2 * gap, arms))
    values[winner] = 0.0
    return models.from_utilities(values, "logistic")


def _random_changes(rng: np.random.Generator, rounds: int, every: float) -> NDArray[np.int64]:
    """Draw the first rounds of phases; changes have a constant rate."""
    if rounds / every > _MOST_PHASES:
        raise DriftduelError(
            f"every={every:g} makes more than {_MOST_PHASES:,} changes in {rounds:,} rounds; it "
            f"must be at least {rounds / _MOST_PHASES:g}."
        )
    changes = rng.poisson((rounds - 1) / every)
    return np.unique(np.concatenate(([1], rng.integers(2, rounds + 1, size=changes)))).astype(
        np.int64
    )


def _successors(rng: np.random.Generator, arms: int) -> Iterator[int]:
    """Yield an infinite sequence of random winners, never the same twice in a row."""
    winner = int(rng.integers(arms))
    while True:
        yield winner
        winner = int((winner + rng.integers(1, arms)) % arms)


def _phases(
    rng: np.random.Generator,
    arms: int,
    starts: NDArray[np.int64],
    rounds: int,
    draw: Callable[[int], Preferences],
) -> World:
    """Return a world with a new winner in every phase, and a matrix drawn by a function of it."""
    need_matrices(arms, len(starts))
    winners = _successors(rng, arms)
    return Piecewise([draw(next(winners)) for _ in starts], starts, rounds)


@WORLDS.register("restless")
def _restless(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    every: _Every = 5000.0,
    gap: _Gap = 0.1,
    change: Annotated[
        str, Choice(("winner", "background")), "at each switch: a new winner, or only the others"
    ] = "winner",
    seed: Seed = 0,
) -> World:
    """Change at a constant rate, at random rounds, independent of the number of rounds."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    starts = _random_changes(rng, rounds, every)
    always = int(rng.integers(arms))
    stays = change == "background"
    return _phases(
        rng,
        arms,
        starts,
        rounds,
        lambda winner: _with_leader(rng, arms, gap, always if stays else winner),
    )


@WORLDS.register("recurring")
def _recurring(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    every: _Every = 5000.0,
    regimes: Annotated[int, Range(2, 1000), "number of recurring matrices"] = 3,
    gap: _Gap = 0.1,
    seed: Seed = 0,
) -> World:
    """Alternate between a few regimes, each with a different winner, at random rounds."""
    if regimes > arms:
        raise DriftduelError(f"regimes={regimes} must be at most arms={arms}: one winner for each.")
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    starts = _random_changes(rng, rounds, every)
    need_matrices(arms, len(starts))
    kept = [_with_leader(rng, arms, gap, int(winner)) for winner in rng.permutation(arms)[:regimes]]
    order = _successors(rng, regimes)
    return Piecewise([kept[next(order)] for _ in starts], starts, rounds)


@WORLDS.register("bursts")
def _bursts(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    bursts: Annotated[int, Range(1, 1000), "number of bursts, at evenly spaced rounds"] = 2,
    changes: Annotated[int, Range(1, 10_000), "new winners in each of them"] = 8,
    every: Annotated[
        int | None, Range(1), "rounds between these changes; default: bursts take 1/4 of all rounds"
    ] = None,
    gap: _Gap = 0.1,
    seed: Seed = 0,
) -> World:
    """Change the winner many times in short bursts, with long stationary phases between."""
    every = max(1, rounds // (4 * bursts * changes)) if every is None else every
    if bursts * changes * every > rounds // 2:
        raise DriftduelError(
            f"{bursts} bursts of {changes} changes, one in {every} rounds, take more than half of "
            f"{rounds} rounds."
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    begins = (np.arange(1, bursts + 1) * rounds) // (bursts + 1)
    starts = np.concatenate(([1], (begins[:, None] + every * np.arange(changes)).ravel() + 1))
    return _phases(rng, arms, starts, rounds, lambda winner: _with_leader(rng, arms, gap, winner))


@WORLDS.register("overtake")
def _overtake(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    gap: Annotated[float, Range(0, 0.4, open_low=True), "gap between neighbours"] = 0.1,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Let one arm, drawn at random, climb to the top of a ladder at each switch."""
    order: list[int] = []

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        if order:
            order.remove(winner)  # type: ignore[arg-type]
            order.insert(0, winner)  # type: ignore[arg-type]
        else:
            order.extend(random_order(rng, arms, winner).tolist())
        values = np.empty(arms)
        values[order] = -_strength(gap) * np.arange(arms)
        return models.from_utilities(values, "logistic")

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="winner", seed=seed
    )


@WORLDS.register("league")
def _league(
    arms: Arms = 8,
    rounds: Rounds = 50_000,
    seasons: Annotated[int, Range(1, _MOST_PHASES), "stretches of equal length"] = 20,
    sd: Annotated[float, Range(0, open_low=True), "standard deviation of the strengths"] = 0.33,
    memory: Annotated[
        float, Range(0, 1, open_high=True), "correlation of a strength with that a season before"
    ] = 0.78,
    seed: Seed = 0,
) -> World:
    """Let strengths carry over from season to season; the defaults were fitted to baseball."""
    if seasons > rounds:
        raise DriftduelError(f"seasons={seasons} must be at most rounds={rounds}.")
    need_matrices(arms, seasons)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    values = rng.normal(0.0, sd, arms)
    matrices = []
    for _ in range(seasons):
        matrices.append(models.from_utilities(values, "logistic"))
        fresh = rng.normal(0.0, sd, arms)
        values = memory * values + np.sqrt(1 - memory**2) * fresh
    return Piecewise(matrices, np.arange(seasons) * rounds // seasons + 1, rounds)


@WORLDS.register("crossing")
def _crossing(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    crossings: Annotated[int, Range(1, 10**6), "number of crossings of the two leaders"] = 3,
    gap: Annotated[float, Range(0, 0.4, open_low=True), "their largest distance"] = 0.1,
    behind: Annotated[
        float, Range(0, 0.45, open_low=True), "gap of the worse of the two to the others"
    ] = 0.15,
    seed: Seed = 0,
) -> World:
    """Let the strengths of two leaders cross slowly and repeatedly, above all others."""
    need_rounds(arms)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    far, away = float(_strength(gap)), float(_strength(behind))
    # The distance is largest at the ends and halfway between two crossings.
    knots = np.linspace(1, max(2, rounds), crossings + 1)
    lead = far / 2 * (-1.0) ** np.arange(crossings + 1)
    others = rng.uniform(1.0, 2.0, max(0, arms - 2)) * -away - far / 2
    lead_again = 1e-9 - lead  # the two are not even in any round
    values = np.column_stack((lead, lead_again, np.tile(others, (len(knots), 1))))
    return Paths(knots, values[:, rng.permutation(arms)], rounds)


@WORLDS.register("surges")
def _surges(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    every: _Every = 5000.0,
    height: Annotated[float, Range(0, open_low=True), "added strength of a surge"] = 1.5,
    fade: Annotated[float, Range(1), "rounds until a surge has decayed to 1/e"] = 5000.0,
    sd: Annotated[float, Range(0), "standard deviation of the strengths without surges"] = 0.3,
    seed: Seed = 0,
) -> World:
    """Let arms come into fashion: the strength of an arm jumps up, and decays."""
    need_rounds(arms)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    begins = _random_changes(rng, rounds, every)
    who = rng.integers(arms, size=len(begins))
    # Piecewise linear; knots are closest where the decay is fastest.
    after = np.concatenate(([0.0], np.geomspace(0.02, 8.0, 24))) * fade
    knots = np.unique(np.concatenate([[1.0], begins - 1.0, *(begin + after for begin in begins)]))
    knots = knots[(knots >= 1) & (knots <= rounds)]
    values = np.tile(rng.normal(0.0, sd, arms), (len(knots), 1))
    for begin, arm in zip(begins, who, strict=True):
        since = knots - begin
        values[:, arm] += np.where(since >= 0, height * np.exp(-np.maximum(since, 0) / fade), 0.0)
    return Paths(knots, values, rounds)


@WORLDS.register("tastes")
def _tastes(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    dimensions: Annotated[int, Range(2, 1000), "features of an option"] = 3,
    turns: Annotated[float, Range(0, 1000), "full rotations of the preference vector"] = 1.0,
    strength: Annotated[float, Range(0, open_low=True), "weight of a feature"] = 2.0,
    features: Annotated[
        int, Range(0, MOST_FEATURES), "numbers of a request, on which the preference vector depends"
    ] = 0,
    seed: Seed = 0,
) -> World:
    """Give options fixed features, and rotate the preference vector of the voters slowly."""
    need_rounds(arms)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    options = rng.normal(size=(arms, dimensions))
    options /= np.linalg.norm(options, axis=1, keepdims=True)
    plane = np.linalg.qr(rng.normal(size=(dimensions, 2)))[0]
    if features:
        others = rng.normal(size=(dimensions, features))
        others /= np.linalg.norm(others, axis=0)
        tastes = np.column_stack((plane[:, 0], others))
        return _tastes_of_requests(rounds, turns, strength * options, plane, tastes, seed)
    steps = 1 + int(np.ceil(100 * turns))
    angles = np.linspace(0.0, 2 * np.pi * turns, steps)
    taste = np.column_stack((np.cos(angles), np.sin(angles))) @ plane.T
    knots = np.linspace(1, max(2, rounds), steps) if steps > 1 else np.ones(1)
    return Paths(knots, strength * taste @ options.T, rounds)


def _tastes_of_requests(
    rounds: int, turns: float, options: Floats, plane: Floats, tastes: Floats, seed: int
) -> World:
    """Return a world in which the preference vector is `tastes` @ x, and rotates in a plane.

    Parameters
    ----------
    rounds, turns, seed
        Those of the world.
    options
        (K, dimensions) the features of the options.
    plane
        (dimensions, 2) an orthonormal basis of the plane.
    tastes
        (dimensions, d) what each number of a scaled request contributes to the vector.
    """
    shape = RequestShape(tastes.shape[1] - 1)
    pieces = 1 if turns == 0 else -(-rounds // _TURN)
    largest = max(options.shape) * shape.size
    need_room(f"rounds={rounds:,}: coefficients of every {_TURN} rounds", pieces * largest)
    starts = 1 + _TURN * np.arange(pieces)
    angles = 2 * np.pi * turns * (starts - 1) / rounds
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    first, second = plane.T @ tastes
    in_plane = [cos * first - sin * second, sin * first + cos * second]  # (S, 1, d)
    still = tastes - plane @ (plane.T @ tastes)
    turned = still + sum(plane[:, [i]] * in_plane[i] for i in range(2))  # (S, dimensions, d)
    return Routing(starts, options @ turned, rounds, shape, seed=seed)
