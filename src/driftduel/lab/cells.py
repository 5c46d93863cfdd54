"""Play one cell and return its row of the result store, on any machine."""

import platform
import threading
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel import __version__
from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.lab.goals import goal_named
from driftduel.lab.identity import need_planned_policy, planned_world
from driftduel.lab.plan import Cell
from driftduel.policies import Stage
from driftduel.regret import NoWinnerError, kinds_of, log_rounds
from driftduel.worlds import World

__all__ = [
    "CURVES",
    "SLICES",
    "Outcome",
    "Stopped",
    "look_rounds",
    "marks",
    "run_cell",
    "slice_ends",
]

CURVES = ("regret", "regret_weak", "regret_binary_weak", "regret_binary_strong")
"""The columns of regret: by the plan's benchmark, in the order of `driftduel.regret.kinds_of`."""
SLICES = 40
"""Number of equal slices of time in which the plays of each arm are counted."""

MOST_LOOKS, FEWEST_LOOKS = 600, 40
"""Number of recorded stages of the first run of a policy with replays, for its figure."""
_MOST_ARMS_SEEN = 40_000

Ints = NDArray[np.int64]
Tick = Callable[[int], None]


class Stopped(Exception):  # noqa: N818 - not an error: a user interrupts
    """Raised when the stop event of a game is set."""


class Outcome(NamedTuple):
    """The outcome of a cell: a row of the result store, or an error message."""

    cell: Cell
    row: dict[str, Any] | None
    error: str | None = None
    ends: bool = False
    """Whether the plan is invalid, so that the whole run must end."""


@lru_cache(maxsize=16)
def slice_ends(rounds: int) -> Ints:
    """Return the last round of each slice, an increasing array of integers."""
    return np.unique(np.rint(np.linspace(0, rounds, SLICES + 1)[1:]).astype(np.int64).clip(1))


@lru_cache(maxsize=16)
def marks(rounds: int, points: int) -> Ints:
    """Return the rounds of a cell's curves, an increasing array of integers.

    Half of them are evenly spaced, to show phases; half are on a log scale. The last rounds of the
    slices are included.
    """
    even = np.rint(np.linspace(0, rounds, 3 * points // 5 + 1)[1:]).astype(np.int64).clip(1)
    return np.unique(
        np.concatenate((even, log_rounds(rounds, 2 * points // 5), slice_ends(rounds)))
    )


@lru_cache(maxsize=16)
def look_rounds(rounds: int, arms: int) -> Ints:
    """Return the rounds after which the stage of a policy with replays is recorded."""
    looks = min(rounds, MOST_LOOKS, max(FEWEST_LOOKS, _MOST_ARMS_SEEN // arms))
    return np.unique(np.rint(np.linspace(0, rounds, looks + 1)[1:]).astype(np.int64).clip(1))


def _replay_stages(stages: list[tuple[int, Stage]]) -> list[dict[str, Any]]:
    """Return stages as a list of dicts for the store; an empty list without replays."""
    if any(stage.replays is None for _, stage in stages):
        return []
    return [
        {
            "round": t,
            "episode": stage.episode_start or 0,
            "replays": [end for replay in stage.replays or () for end in replay],
            "active": list(stage.active or ()),
            "good": list(stage.good or ()),
        }
        for t, stage in stages
    ]


class _WorldCache(threading.local):
    """A cache of the last world per thread.

    It is thread-local, because a drifting world has a mutable read position.
    """

    key: object = None
    world: World


_last = _WorldCache()


def _world(cell: Cell) -> World:
    """Return the world of a cell, from the cache if the previous cell had the same one."""
    key = (cell.world, cell.game_seed, cell.world_identity)
    if _last.key != key:
        _last.world = planned_world(cell.world, cell.game_seed, cell.world_identity)
        _last.key = key
    return _last.world


def run_cell(cell: Cell, stop: threading.Event | None = None, tick: Tick | None = None) -> Outcome:
    """Play a cell's game.

    An exception becomes the error of the outcome, so that one failing cell neither ends the other
    cells nor disappears.

    Parameters
    ----------
    cell
        The game.
    stop
        When set, the game raises `Stopped` after its current segment of rounds.
    tick
        Callback with the number of rounds played since its last call.
    """
    before = 0

    def progress(done: int, _: int) -> None:
        nonlocal before
        if stop is not None and stop.is_set():
            raise Stopped
        if tick is not None:
            tick(done - before)
        before = done

    begun = time.perf_counter()
    try:
        if cell != cell.keyed(__version__):
            raise DriftduelError(
                f"the plan was made by another version of driftduel than {__version__}."
            )
        need_planned_policy(cell.policy, cell.policy_identity, cell.mode)
        world = _world(cell)
        at = marks(world.rounds, cell.points)
        goal = goal_named(cell.goal)
        observer = None if goal is None else goal.observer(world)
        game_begun = time.perf_counter()
        game = play(
            cell.policy, world, cell.game_seed, points=at, benchmark=cell.benchmark,
            mode=cell.mode, progress=progress, observer=observer,
            stages=look_rounds(world.rounds, world.arms) if cell.run == 0 else (),
        )  # fmt: skip
        seconds_game = time.perf_counter() - game_begun
    except Stopped:
        raise
    except NoWinnerError as error:  # make_plan checks only the first rounds of a drifting world
        named = NoWinnerError(f"world {cell.world!r}", world, error.round)
        return Outcome(cell, None, str(named), ends=True)
    except DriftduelError as error:
        return Outcome(cell, None, str(error))
    except (Exception, SystemExit) as error:  # exit() in a policy ends its game only
        return Outcome(cell, None, f"{type(error).__name__}: {error}")
    if not game.finished:
        raise Stopped
    kinds = zip(CURVES, kinds_of(game.benchmark), strict=True)
    curves = {column: game.regret[kind] for column, kind in kinds}
    row: dict[str, Any] = {
        "key": cell.key,
        "world": cell.world,
        "policy": cell.policy,
        "seed": cell.seed,
        "run": cell.run,
        "game_seed": cell.game_seed,
        "rounds": game.rounds,
        "arms": world.arms,
        **{column: float(curve[-1]) for column, curve in curves.items()},
        "restarts": game.restarts,
        "switches": game.switches,
        "winners_from": [first for first, _ in game.scene.winners],
        "winners": [-1 if arm is None else arm for _, arm in game.scene.winners],
        "present": list(game.scene.present or ()),
        "ties": game.scene.ties,
        "categories": list(game.categories),
        "category_regret": [regret for regret, _ in game.categories.values()],
        "category_rounds": [rounds for _, rounds in game.categories.values()],
        "stages": _replay_stages(game.stages),
        "at": game.at,
        **{f"{column}_curve": curve for column, curve in curves.items()},
        "plays": game.plays[np.isin(game.at, slice_ends(world.rounds))].ravel(),
        "seconds": game.seconds,
        "seconds_game": seconds_game,
        "seconds_cell": time.perf_counter() - begun,
        "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "version": __version__,
        "machine": _machine(),
        **({} if goal is None else goal.row(observer)),
    }
    return Outcome(cell, row)


@cache
def _machine() -> str:
    """Return the host, the operating system and the versions of Python, numpy and numba."""
    import numba

    return (
        f"{platform.node()} {platform.system()} {platform.machine()}; "
        f"python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    )
