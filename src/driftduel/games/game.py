"""One game: a policy, a world and a seed."""

from collections.abc import Callable
from contextlib import closing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._defaults import BENCHMARK, POINTS, SEED
from driftduel.errors import DriftduelError
from driftduel.games import pace
from driftduel.games.knowledge import knowledge
from driftduel.games.late import Late
from driftduel.games.observer import Observer
from driftduel.games.result import Play
from driftduel.games.rounds import check_changes
from driftduel.games.scene import Looks
from driftduel.games.stretches import Tally, play_stretch
from driftduel.games.yardstick import Yardstick
from driftduel.policies import Policy, make_policy
from driftduel.regret import check_benchmark, log_rounds
from driftduel.specs import Spec
from driftduel.worlds import World, make_world

__all__ = ["play", "streams"]

Progress = Callable[[int, int], None]


def streams(seed: int) -> tuple[np.random.SeedSequence, ...]:
    """Split a seed into three independent streams: for the world, the outcomes, the policy."""
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
    """Let a policy play all rounds of a world.

    The seed is split into three streams. A world given as a spec is drawn from the first, unless
    the spec fixes its own seed; each round's outcome compares one number of the second with
    P_t(a, b), so different policies face the same luck; a policy given as a spec draws from the
    third. Whatever the engine, the same seed gives the same game.

    Parameters
    ----------
    policy
        A spec, or a fresh policy. It is told what it wants to know and its spec does not say: the
        world's rounds, and for some the switches or the variation (see `knowledge`).
    world
        A spec or a world.
    seed
        Fixes everything.
    points
        About how many rounds of the regret curve to keep, evenly on a log scale; or the rounds
        themselves, ascending.
    benchmark
        Regret against the ``condorcet`` winner; for worlds without one in every round, against the
        ``von-neumann`` winner, the ``exploitability`` of what is played, or ``borda`` or
        ``copeland`` scores.
    mode
        ``serve`` or ``panel``, for the policy; None: as it is, which for a spec is ``serve``.
    stages
        Rounds, ascending, after which to write down where the policy stands (`Policy.stage`). One
        that has nothing to tell after the first of them is not asked again.
    progress
        Called now and then with (rounds played, rounds in all). What it raises ends the game.
    observer
        A measure beside regret, such as `driftduel.games.Identification`. The duels are the same
        with and without it.

    Notes
    -----
    Ctrl-C ends the game after the current stretch of rounds; what was reached is returned.

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
    yardstick = Yardstick(world, benchmark, _marks(points, world.rounds))
    tally = Tally(yardstick.marks, world.arms)
    outcomes = np.random.default_rng(for_outcomes)
    looks = Looks(stages)
    late = Late(policy)
    speed = pace.Pace()
    with pace.interruptible() as interrupted, closing(late):
        for chunk in world.chunks(limit=pace.MOST_ROUNDS):
            luck = outcomes.random(chunk.end - int(chunk.starts[0]))
            check_changes(policy, chunk)
            late.expect(chunk)
            losses = yardstick.losses(chunk)
            if observer is not None:
                observer.expect(chunk)
            while (first := policy.ledger.asked + 1) < chunk.end:
                end = looks.before(min(first + speed.rounds, chunk.end))
                took = play_stretch(policy, chunk, luck, losses, tally, late, end, observer)
                speed.note(end - first, took)
                looks.note(policy)
                if progress is not None:
                    progress(policy.ledger.asked, world.rounds)
                if interrupted():
                    break
            if interrupted():
                break
    reached = policy.ledger.asked
    if observer is not None and reached == world.rounds:
        observer.finish(policy)
    at, regret, plays = yardstick.regret(*tally.up_to(reached))
    return Play(
        policy=policy,
        world=world,
        seed=seed,
        benchmark=benchmark,
        at=at,
        regret=regret,
        plays=plays,
        restarts=list(policy.restarts),
        switches=yardstick.switches(reached),
        rounds=reached,
        seconds=speed.seconds,
        unknown=tally.unknown,
        scene=yardstick.scene,
        stages=looks.stages,
    )


def _check_fresh(policy: Policy, world: World) -> None:
    """Refuse a policy that was made for another number of arms, or has played."""
    if len(policy.present) != world.arms or policy.arms != world.arms or policy.ledger.asked:
        raise DriftduelError(
            f"a game needs a fresh policy for {world.arms} arms; this one is for {policy.arms}, "
            f"{len(policy.present)} of them present, and has asked {policy.ledger.asked} times."
        )


def _check_points(points: int | ArrayLike) -> None:
    if isinstance(points, int | np.integer) and points < 2:
        raise DriftduelError(f"points={points} must be a whole number at least 2.")


def _marks(points: int | ArrayLike, rounds: int) -> NDArray[np.int64]:
    """Return the rounds of the curve."""
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
