"""Registered worlds: the factory functions of specs."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from driftduel import preferences as models
from driftduel._internal.defaults import MOST_SHOWN
from driftduel._internal.plugins import load_plugins
from driftduel.errors import DriftduelError
from driftduel.preferences import LINKS, NAMED, Preferences
from driftduel.specs import Choice, Range, Registry, need_room
from driftduel.worlds.base import World
from driftduel.worlds.drifting import (
    Interpolated,
    MatrixDrift,
    MatrixWalk,
    RandomWalk,
    Seasonal,
    need_rounds,
)
from driftduel.worlds.fleeting import Fleeting
from driftduel.worlds.piecewise import Piecewise
from driftduel.worlds.requests import RequestWorld
from driftduel.worlds.wrappers import FEEDBACKS, MOST_DELAY, WithDelay, WithSlates, WithTies

__all__ = [
    "MOST_ROUNDS",
    "WORLDS",
    "draw_phases",
    "need_matrices",
    "phase_starts",
    "random_order",
]


def _around(
    world: World,
    ties: Annotated[
        float, Range(0, 1, open_high=True), "share of duels that tie; P counts a tie as half a win"
    ] = 0.0,
    delay: Annotated[int, Range(0, MOST_DELAY), "delay of the feedback in rounds"] = 0,
    slate: Annotated[
        int,
        Range(2, MOST_SHOWN),
        "options shown at once; more than 2 need logistic utilities, and a tie picks nothing",
    ] = 2,
    feedback: Annotated[
        str, Choice(FEEDBACKS), "answer to a slate: the option picked, or a ranking of all"
    ] = "pick",
) -> World:
    if slate > 2:  # a tie is not a part of the preferences, which stay utilities
        world, ties = WithSlates(world, slate, feedback, ties), 0.0
    if isinstance(world, RequestWorld):  # a wrapper would keep the duel view only
        world.ties, world.delay = ties, delay
        return world
    if ties:
        world = WithTies(world, ties)
    return WithDelay(world, delay) if delay else world


WORLDS: Registry[World] = Registry(
    "world", around=_around, load_more=partial(load_plugins, "driftduel.worlds")
)

MOST_ROUNDS = 10**15
Arms = Annotated[int, Range(2), "number of options K"]
Rounds = Annotated[int, Range(1, MOST_ROUNDS), "number of rounds T"]
TwoRounds = Annotated[int, Range(2, MOST_ROUNDS), "number of rounds T"]
Phases = Annotated[int, Range(1, 10**6), "stretches of constant preferences"]
Lengths = Annotated[
    str, Choice(("equal", "random", "uneven")), "length of the phases; uneven: up to 1000 to 1"
]
Change = Annotated[
    str,
    Choice(("any", "winner", "background")),
    "at each switch: any (the winner may stay), winner (a new one), background (it always stays)",
]
Seed = Annotated[int, Range(0, 2**128 - 1), "seed of the world"]
Link = Annotated[str, Choice(tuple(LINKS)), "link function of the utilities"]
_TRIES = 100
Draw = Callable[[np.random.Generator, int | None], Preferences]


def phase_starts(
    rounds: int, phases: int, lengths: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the first rounds of the phases: equal, at random, or with log-uniform lengths."""
    if phases > rounds:
        raise DriftduelError(f"phases={phases} must be at most rounds={rounds}.")
    if lengths == "random":
        cuts = rng.choice(rounds - 1, size=phases - 1, replace=False) + 2
        return np.concatenate(([1], np.sort(cuts))).astype(np.int64)
    weights = np.ones(phases)
    if lengths == "uneven":
        weights = rng.permutation(np.geomspace(1.0, 1000.0, phases))
    # One round per phase is reserved, so that no phase is empty.
    ends = np.cumsum(weights) / weights.sum() * (rounds - phases)
    extra = np.concatenate(([0], np.floor(ends[:-1] + 1e-9))).astype(np.int64)
    return extra + np.arange(1, phases + 1)


def need_matrices(arms: int, matrices: int = 1) -> None:
    """Raise if the matrices of this number of arms would not fit into memory."""
    many = f"{matrices} matrices" if matrices > 1 else "a matrix"
    need_room(f"arms={arms}: {many} of arms x arms entries", matrices * arms * arms)


def draw_phases(
    draw: Draw, *, arms: int, rounds: int, phases: int, lengths: str, change: str, seed: int
) -> World:
    """Draw one matrix per phase; the argument of `draw` is the required winner, or None."""
    need_matrices(arms, phases)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    starts = phase_starts(rounds, phases, lengths, rng)
    matrices: list[Preferences] = []
    winner: int | None = None if change == "any" else int(rng.integers(arms))
    for _ in range(phases):
        matrix = draw(rng, winner)
        for _ in range(_TRIES):
            if change != "background" or not matrices or matrix != matrices[-1]:
                break
            matrix = draw(rng, winner)  # redraw: equal matrices would be no switch
        else:
            raise DriftduelError(f"with {arms} arms of this kind, only the winner can change.")
        matrices.append(matrix)
        if change == "winner" and winner is not None:
            winner = int((winner + rng.integers(1, arms)) % arms)
    return Piecewise(matrices, starts, rounds)


def random_order(rng: np.random.Generator, arms: int, winner: int | None) -> NDArray[np.int64]:
    """Draw an order of the arms, best first, with a given winner or None for any."""
    order = rng.permutation(arms)
    if winner is not None:
        order = np.concatenate(([winner], order[order != winner]))
    return order.astype(np.int64)


@WORLDS.register("geometric-btl")
def _geometric_btl(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    ratio: Annotated[float, Range(1, open=True), "odds of beating the next in rank"] = 2.0,
    lengths: Lengths = "equal",
    change: Change = "any",
    seed: Seed = 0,
) -> World:
    """Draw a new random order each phase; rank i beats rank j with odds ratio^(j-i) to 1."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.geometric_btl(random_order(rng, arms, winner), ratio)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change=change, seed=seed
    )


@WORLDS.register("total-order")
def _total_order(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    p: Annotated[float, Range(0.5, 1, open_low=True), "probability that the better arm wins"] = 0.7,
    lengths: Lengths = "equal",
    change: Change = "winner",
    seed: Seed = 0,
) -> World:
    """Draw a new random order each phase; the better arm of any two wins with probability p."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.total_order(random_order(rng, arms, winner), p)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change=change, seed=seed
    )


@WORLDS.register("random-condorcet")
def _random_condorcet(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    p_min: Annotated[float, Range(0.5, 1, open=True), "the winner's smallest probability"] = 0.55,
    lengths: Lengths = "equal",
    change: Change = "winner",
    seed: Seed = 0,
) -> World:
    """Draw uniform entries each phase, and a winner that beats all with p_min or more."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.random_condorcet(arms, rng, winner=winner, p_min=p_min)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change=change, seed=seed
    )


@WORLDS.register("utilities")
def utilities(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    sd: Annotated[float, Range(0, open=True), "standard deviation of the utilities"] = 1.0,
    link: Link = "logistic",
    lengths: Lengths = "equal",
    change: Change = "winner",
    seed: Seed = 0,
) -> World:
    """Draw new Gaussian utilities each phase; a link turns their differences into odds."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        values = rng.normal(0.0, sd, arms)
        if winner is not None:
            best = int(values.argmax())
            values[[winner, best]] = values[[best, winner]]
        return models.from_utilities(values, link)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change=change, seed=seed
    )


@WORLDS.register("lone-winner")
def _lone_winner(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    eps: Annotated[float, Range(0, 0.5, open_low=True), "the winner's lead over all others"] = 0.1,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Let one arm beat all others by eps, and all other pairs be even; a new winner each phase."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.lone_winner(arms, winner=winner or 0, eps=eps)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="winner", seed=seed
    )


@WORLDS.register("ladder")
def _ladder(
    arms: Arms = 10,
    rounds: Rounds = 3_000,
    phases: Phases = 1,
    p: Annotated[
        float, Range(0.5, 1, open=True), "probability that the best arm beats the second"
    ] = 0.55,
    step: Annotated[float, Range(0), "log-odds between the further neighbours in rank"] = 0.12,
    lengths: Lengths = "equal",
    change: Change = "winner",
    seed: Seed = 0,
) -> World:
    """Draw a random order each phase: the best beats the second with p, the others are close."""
    lead = float(np.log(p / (1 - p)))
    strengths = np.concatenate(([lead], -step * np.arange(arms - 1)))

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        values = np.empty(arms)
        values[random_order(rng, arms, winner)] = strengths
        return models.from_utilities(values, "logistic")

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change=change, seed=seed
    )


@WORLDS.register("uniform-random")
def _uniform_random(
    arms: Arms = 5,
    rounds: Rounds = 50_000,
    phases: Phases = 4,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Draw all entries uniformly each phase; there may be no Condorcet winner."""

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        return models.uniform_random(arms, rng)

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="any", seed=seed
    )


@WORLDS.register("named")
def _named_matrix(
    matrix: Annotated[str, Choice(tuple(NAMED)), "which matrix"] = "six-rankers",
    rounds: Rounds = 50_000,
) -> World:
    """Use one well-known matrix in all rounds: a stationary world."""
    return Piecewise([NAMED[matrix]()], [1], rounds)


@WORLDS.register("cycle")
def _cycle(
    arms: Annotated[int, Range(3), "number of options K, odd"] = 3,
    rounds: Rounds = 50_000,
    phases: Phases = 1,
    p: Annotated[float, Range(0.5, 1, open_low=True), "probability of beating the next arm"] = 0.6,
    lengths: Lengths = "equal",
    seed: Seed = 0,
) -> World:
    """Draw a cycle of all arms each phase: every arm is beaten by another, there is no winner."""
    phase = count()

    def draw(rng: np.random.Generator, winner: int | None) -> Preferences:
        # The first cycle is 0, 1, 2, ... for every seed.
        place = rng.permutation(arms) if next(phase) else np.arange(arms)
        return Preferences(models.cycle(arms, p).matrix[np.ix_(place, place)])

    return draw_phases(
        draw, arms=arms, rounds=rounds, phases=phases, lengths=lengths, change="any", seed=seed
    )


@WORLDS.register("two-arm")
def _two_arm(rounds: TwoRounds = 1000) -> World:
    """Swap two arms after half of the rounds, as in the paper's Example 2.1."""
    matrices = [NAMED["paper-two-arm-first"](), NAMED["paper-two-arm-second"]()]
    return Piecewise(matrices, [1, rounds // 2 + 1], rounds)


@WORLDS.register("alternating")
def _alternating(rounds: TwoRounds = 1000) -> World:
    """Change two losers in every round and the winner never, as in the paper's Remark 2.1."""
    matrices = [NAMED["paper-background-odd"](), NAMED["paper-background-even"]()]
    return Piecewise(matrices, [1, 2], rounds, period=2)


@WORLDS.register("random-walk")
def _random_walk(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    sd: Annotated[float, Range(0, open=True), "standard deviation of a round's step"] = 0.002,
    spread: Annotated[float, Range(0), "standard deviation of the first utilities"] = 1.0,
    link: Link = "logistic",
    seed: Seed = 0,
) -> World:
    """Let every utility take a small Gaussian step in every round."""
    need_rounds(arms)
    first, steps = np.random.SeedSequence(seed).spawn(2)
    start = np.random.default_rng(first).normal(0.0, spread, arms)
    return RandomWalk(start, sd, rounds, link, seed=int(steps.generate_state(1, np.uint64)[0]))


@WORLDS.register("seasonal")
def _seasonal(
    arms: Arms = 10,
    rounds: Rounds = 50_000,
    seasons: Annotated[float, Range(0, open=True), "full swings in all rounds"] = 2.0,
    swing: Annotated[float, Range(0), "amplitude of the utilities"] = 1.0,
    spread: Annotated[float, Range(0), "standard deviation of their levels"] = 0.5,
    link: Link = "logistic",
    seed: Seed = 0,
) -> World:
    """Let utilities be periodic functions of time, with a separate peak for each arm."""
    need_rounds(arms)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    level = rng.normal(0.0, spread, arms)
    shift = rng.random(arms)
    return Seasonal(level, np.full(arms, swing), shift, rounds / seasons, rounds, link)


@WORLDS.register("interpolated")
def _interpolation(
    arms: Arms = 10,
    rounds: TwoRounds = 50_000,
    knots: Annotated[int, Range(2, 10**6), "matrices to pass through"] = 5,
    ratio: Annotated[float, Range(1, open=True), "odds of beating the next in rank"] = 2.0,
    seed: Seed = 0,
) -> World:
    """Interpolate linearly between geometric BTL matrices."""
    need_rounds(arms)
    need_matrices(arms, knots)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    matrices = [models.geometric_btl(random_order(rng, arms, None), ratio) for _ in range(knots)]
    return Interpolated(matrices, rounds)


@WORLDS.register("fleeting")
def _fleeting(
    kind: Annotated[
        str, Choice(("sst", "sti")), "the assumption that holds; the other one does not"
    ] = "sst",
    rounds: Rounds = 50_000,
    gamma: Annotated[
        float | None, Range(1), "factor by which the other one fails; default: a gap is 1/2"
    ] = None,
    eps: Annotated[
        float | None, Range(0, 0.25, open_low=True), "the small gaps; default: 1/sqrt(T)"
    ] = None,
    seed: Seed = 0,
) -> World:
    """Transpose three arms by a coin in every round: no switch matters, nothing can be learned."""
    small = min(0.25, rounds**-0.5) if eps is None else eps
    unit = 2 * small if kind == "sst" else small  # the largest gap that breaks neither
    large = 0.5 if gamma is None else gamma * unit
    if large > 0.5:
        raise DriftduelError(
            f"gamma={gamma:g} must be at most {0.5 / unit:g} with gaps of {small:g}, as no gap is "
            "above 1/2."
        )
    gaps = {
        "sst": [[0, small, large], [-small, 0, small], [-large, -small, 0]],
        "sti": [[0, small, large], [-small, 0, -small], [-large, small, 0]],
    }[kind]
    roles, coins = np.random.SeedSequence(seed).spawn(2)
    role = np.random.default_rng(roles).permutation(3)
    heads = Preferences(0.5 + np.array(gaps)[np.ix_(role, role)])
    return Fleeting(heads, rounds, seed=int(coins.generate_state(1, np.uint64)[0]))


@WORLDS.register("saha-gupta-switching")
def _saha_gupta_switching(
    arms: Arms = 10,
    rounds: Rounds = 1_000_000,
    phases: Annotated[int, Range(2, 10**6), "phases S; a switch every T/(S-1) rounds"] = 10,
    sd: Annotated[float, Range(0), "standard deviation of a switch, per entry"] = 0.05,
    seed: Seed = 0,
) -> World:
    """Add Gaussian noise to a uniform matrix at each switch, clipped (Saha and Gupta, 2022)."""
    need_matrices(arms, phases)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    every = max(1, rounds // (phases - 1))
    starts = np.arange(1, rounds + 1, every)[:phases]
    matrices = [models.uniform_random(arms, rng).matrix]
    upper = np.triu_indices(arms, 1)
    for _ in starts[1:]:
        entries = np.clip(matrices[-1][upper] + rng.normal(0.0, sd, len(upper[0])), 0.0, 1.0)
        matrix = np.full((arms, arms), 0.5)
        matrix[upper] = entries
        matrix.T[upper] = 1.0 - entries
        matrices.append(matrix)
    return Piecewise(matrices, starts, rounds)


@WORLDS.register("saha-gupta-static")
def _saha_gupta_static(
    arms: Arms = 10,
    rounds: Rounds = 1_000_000,
    sd: Annotated[float, Range(0), "standard deviation of a round's step, per entry"] = 0.002,
    seed: Seed = 0,
) -> World:
    """Add Gaussian noise to a uniform matrix in every round, clipped (Saha and Gupta, 2022)."""
    start, steps = _uniform_start(arms, seed)
    return MatrixWalk(start, sd, rounds, seed=steps)


@WORLDS.register("saha-gupta-continuous")
def _saha_gupta_continuous(
    arms: Arms = 10,
    rounds: Rounds = 1_000_000,
    variation: Annotated[float, Range(0), "V, the largest steps of all rounds added up"] = 10.0,
    seed: Seed = 0,
) -> World:
    """Let a uniform matrix drift by V in all, a random part a round (Saha and Gupta, 2022)."""
    start, steps = _uniform_start(arms, seed)
    return MatrixDrift(start, variation, rounds, seed=steps)


def _uniform_start(arms: int, seed: int) -> tuple[Preferences, int]:
    """Return a random matrix for round 1, and the seed of the later rounds."""
    need_rounds(arms)
    first, steps = np.random.SeedSequence(seed).spawn(2)
    start = models.uniform_random(arms, np.random.default_rng(first))
    return start, int(steps.generate_state(1, np.uint64)[0])
