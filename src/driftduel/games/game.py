"""One game: a policy, a world and a seed."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._internal.defaults import BENCHMARK, POINTS, SEED
from driftduel.errors import DriftduelError
from driftduel.games import budget
from driftduel.games.benchmark import RegretBenchmark
from driftduel.games.delay import DelayQueue
from driftduel.games.observer import Observer
from driftduel.games.prior_knowledge import knowledge
from driftduel.games.requests import RequestBenchmark, play_request_segment, prepare_policy
from driftduel.games.result import Play
from driftduel.games.rounds import check_changes
from driftduel.games.scene import StageRecorder
from driftduel.games.segments import GameTotals, OutcomeDraws, play_segment
from driftduel.games.slates import check_slates, play_slate_segment
from driftduel.policies import Policy, make_policy
from driftduel.regret import check_benchmark, log_rounds
from driftduel.specs import Spec
from driftduel.worlds import RequestChunk, RequestWorld, World, make_world

__all__ = ["play", "streams"]

Progress = Callable[[int, int], None]


def streams(seed: int) -> tuple[np.random.SeedSequence, ...]:
    """Return three independent streams of a seed: for the world, the outcomes, the policy."""
    if seed < 0:
        raise DriftduelError(f"seed={seed} must be a whole number at least 0.")
    return tuple(np.random.SeedSequence(seed).spawn(3))


def play(
    policy: str | Spec | Policy,
    world: str | Spec | World,
    seed: int = SEED,
    *,
    points: int | ArrayLike = POINTS,
    benchmark: str = BENCHMARK,
    mode: str | None = None,
    stages: ArrayLike = (),
    progress: Progress | None = None,
    observer: Observer | None = None,
) -> Play:
    """Play all rounds of a world with a policy, and return the result as a `Play` object.

    The seed is split into three streams. A world given as a spec is drawn from the first, unless
    the spec fixes its own seed; each round's outcome compares one value of the second with
    P_t(a, b), so all policies have the same outcome draws; a policy given as a spec draws from the
    third. The same seed gives the same game on every engine.

    Parameters
    ----------
    policy
        A spec, or a fresh policy object. Parameters of prior knowledge that the spec does not set
        are computed from the world: the number of rounds, the size of its slates, and for some
        policies the switches or the variation (see `knowledge`).
    world
        A spec or a world object.
    seed
        Seed of all random numbers.
    points
        The approximate number of stored rounds of the regret curve, evenly on a log scale; or the
        rounds themselves, ascending.
    benchmark
        Regret against the ``condorcet`` winner (default); for worlds with rounds without one,
        against the ``von-neumann`` winner, the ``exploitability`` of the plays, or ``borda`` or
        ``copeland`` scores.
    mode
        ``serve`` or ``panel``; the default is the mode of the policy object, ``serve`` for a spec.
    stages
        Rounds, ascending, after which the stage of the policy is recorded (`Policy.stage`). The
        method is not called again if its first value is an empty `Stage`.
    progress
        Function called at intervals with (rounds played, all rounds). An exception ends the game.
    observer
        A measure beside regret, such as `driftduel.games.Identification`. The duels are the same
        with and without it.

    Notes
    -----
    Ctrl-C ends the game after the current segment of rounds; the partial result is returned.

    Examples
    --------
    >>> game = play("anaconda:constant=0.5", "geometric-btl:arms=3,rounds=2000", seed=1)
    >>> game.finished, len(game.restarts)
    (True, 0)
    """
    _check_points(points)
    check_benchmark(benchmark)
    for_world, for_outcomes, for_policy = streams(seed)
    if not isinstance(world, World):
        world = make_world(world, int(for_world.generate_state(1)[0]))
    if not isinstance(policy, Policy):
        policy = make_policy(policy, world.arms, for_policy, **knowledge(policy, world))
    _check_fresh(policy, world)
    policy.configure(mode=mode)
    prepare_policy(policy, world)
    check_slates(policy, world, observer)
    marks = _marks(points, world.rounds)
    regret_benchmark: Any
    if isinstance(world, RequestWorld):
        if observer is not None:
            raise DriftduelError("goals beside regret are not defined for worlds with requests.")
        regret_benchmark = RequestBenchmark(world, benchmark, marks)
        chunks: Any = world.request_chunks
        groups = np.zeros((max(1, len(world.category_names)), 2))
    else:
        regret_benchmark, chunks, groups = (
            RegretBenchmark(world, benchmark, marks),
            world.chunks,
            np.empty((0, 2)),
        )
    tally = GameTotals(regret_benchmark.marks, world.arms)
    outcomes = OutcomeDraws(np.random.default_rng(for_outcomes))
    looks = StageRecorder(stages)
    late = DelayQueue(policy)
    speed = budget.CallBudget()
    with budget.interruptible() as interrupted, closing(late):
        for chunk in chunks(limit=budget.MOST_ROUNDS):
            requests = isinstance(chunk, RequestChunk)
            if not requests:
                check_changes(policy, chunk)
            late.expect(chunk)
            losses = regret_benchmark.losses(chunk)
            if observer is not None:
                observer.expect(chunk)
            while (first := policy.ledger.asked + 1) < chunk.end:
                end = looks.before(min(first + speed.rounds, chunk.end))
                if requests:
                    took = play_request_segment(policy, chunk, outcomes, tally, groups, late, end)
                elif world.slate > 2:
                    took = play_slate_segment(
                        policy, world, chunk, outcomes, losses, tally, late, end
                    )
                else:
                    took = play_segment(policy, chunk, outcomes, losses, tally, late, end, observer)
                speed.note(end - first, took)
                looks.note(policy)
                if progress is not None:
                    progress(policy.ledger.asked, world.rounds)
                if interrupted():
                    break
            if interrupted():
                break
    reached = policy.ledger.asked
    if world.slate > 2:
        regret_benchmark.scene.ties = world.nothing_picked
    if observer is not None and reached == world.rounds:
        observer.finish(policy)
    at, regret, plays = regret_benchmark.regret(*tally.up_to(reached))
    return Play(
        policy=policy,
        world=world,
        seed=seed,
        benchmark=benchmark,
        at=at,
        regret=regret,
        plays=plays,
        restarts=list(policy.restarts),
        switches=regret_benchmark.switches(reached),
        rounds=reached,
        seconds=speed.seconds,
        unknown=tally.unknown,
        scene=regret_benchmark.scene,
        stages=looks.stages,
        categories=_categories(world, groups),
    )


def _categories(world: World, groups: NDArray[np.float64]) -> dict[str, tuple[float, int]]:
    """Return the regret and the rounds of each category of requests, by name."""
    if not isinstance(world, RequestWorld):
        return {}
    rows = zip(world.category_names, groups.tolist(), strict=False)
    return {name: (regret, int(rounds)) for name, (regret, rounds) in rows}


def _check_fresh(policy: Policy, world: World) -> None:
    """Raise if the policy object has another number of arms, or has played."""
    if len(policy.present) != world.arms or policy.arms != world.arms or policy.ledger.asked:
        raise DriftduelError(
            f"a game needs a fresh policy for {world.arms} arms; this one is for {policy.arms}, "
            f"{len(policy.present)} of them present, and has asked {policy.ledger.asked} times."
        )


def _check_points(points: int | ArrayLike) -> None:
    if isinstance(points, int | np.integer) and points < 2:
        raise DriftduelError(f"points={points} must be a whole number at least 2.")


def _marks(points: int | ArrayLike, rounds: int) -> NDArray[np.int64]:
    """Return the rounds of the regret curve."""
    if isinstance(points, int | np.integer):
        return log_rounds(rounds, int(points))
    marks = np.asarray(points).ravel()
    whole = np.issubdtype(marks.dtype, np.integer)
    marks = marks.astype(np.int64)
    if (
        not whole
        or not len(marks)
        or marks[0] < 1
        or marks[-1] > rounds
        or (np.diff(marks) <= 0).any()
    ):
        raise DriftduelError(f"points must be ascending rounds between 1 and {rounds}.")
    return marks
