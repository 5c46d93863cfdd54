"""A game written down round by round."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._files import whole_file
from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.games.game import streams
from driftduel.games.knowledge import knowledge
from driftduel.policies import Policy, make_policy
from driftduel.specs import Spec
from driftduel.worlds import World, make_world

__all__ = ["COLUMNS", "Trace", "check_trace_path", "trace", "write_trace"]

COLUMNS = (
    "round", "first", "second", "first_won", "active", "replay_start", "replay_end",
    "episode_start",
)  # fmt: skip
"""Columns of a trace file. What a policy does not have is left empty."""

Ints = NDArray[np.int64]
_MOST_ROUNDS = 10_000_000


@dataclass(frozen=True)
class Trace:
    """One row a round; arms from 0, rounds from 1, and -1 for what a policy does not have."""

    policy: Policy
    world: World
    seed: int
    first: Ints
    second: Ints
    first_won: Ints
    active: list[tuple[int, ...]]
    """The active set A_t of every round."""
    good: list[tuple[int, ...]]
    """The good set when the round began; not part of the file."""
    replay_start: Ints
    replay_end: Ints
    episode_start: Ints

    def __len__(self) -> int:
        return len(self.first)


def trace(
    policy: str | Spec,
    world: str | Spec | World,
    seed: int = 0,
    *,
    mode: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Play the game that `play` plays, by ask and tell, and keep every round.

    Parameters
    ----------
    policy, world, seed, mode
        As for `play`; the duels are the same.
    progress
        Called now and then with (rounds played, rounds in all).
    """
    for_world, for_outcomes, for_policy = streams(seed)
    if not isinstance(world, World):
        world = make_world(world, int(for_world.generate_state(1)[0]))
    if world.rounds > _MOST_ROUNDS:
        raise DriftduelError(
            f"a trace keeps every round, at most {_MOST_ROUNDS:,} of them; this world has "
            f"{world.rounds:,}."
        )
    learner = make_policy(policy, world.arms, for_policy, mode=mode, **knowledge(policy, world))
    outcomes = np.random.default_rng(for_outcomes)
    numbers = np.full((6, world.rounds), -1, dtype=np.int64)
    active: list[tuple[int, ...]] = []
    good: list[tuple[int, ...]] = []
    from driftduel.worlds._kernels import probability

    for chunk in world.chunks(limit=4096):
        luck = outcomes.random(chunk.end - int(chunk.starts[0]))
        row_of = chunk.rows[
            np.searchsorted(chunk.starts, np.arange(chunk.starts[0], chunk.end), side="right") - 1
        ]
        for i, t in enumerate(range(int(chunk.starts[0]), chunk.end)):
            duel = learner.ask()
            info = learner.info()
            won = int(luck[i] < probability(chunk, row_of[i], duel.first, duel.second))
            learner.tell_first_won(duel, won)
            start, end = info.replays[-1] if info.replays else (-1, -1)
            episode = -1 if info.episode_start is None else info.episode_start
            numbers[:, t - 1] = duel.first, duel.second, won, start, end, episode
            active.append(info.active or ())
            good.append(info.good or ())
        if progress is not None:
            progress(chunk.end - 1, world.rounds)
    first, second, first_won, replay_start, replay_end, episode_start = numbers
    return Trace(
        learner, world, seed, first, second, first_won, active, good,
        replay_start, replay_end, episode_start,
    )  # fmt: skip


def check_trace_path(path: str | Path) -> Path:
    """Refuse, before a long game, a file that could not be written after it."""
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise DriftduelError(f"a trace is written as .csv or .parquet; {path.name!r} is neither.")
    if not path.parent.is_dir():
        raise DriftduelError(f"cannot write {str(path)!r}: there is no folder {path.parent}.")
    if path.suffix == ".parquet":
        _polars()
    return path


def write_trace(played: Trace, path: str | Path) -> None:
    """Write a trace as CSV or Parquet; the file appears whole or not at all."""
    path = check_trace_path(path)
    with whole_file(path) as temporary:
        (_write_csv if path.suffix == ".csv" else _write_parquet)(played, temporary)


def _write_csv(played: Trace, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        columns = [
            range(1, len(played) + 1),
            *(column.tolist() for column in (played.first, played.second, played.first_won)),
            (" ".join(map(str, arms)) for arms in played.active),
            *(
                ("" if value < 0 else value for value in column.tolist())
                for column in (played.replay_start, played.replay_end, played.episode_start)
            ),
        ]
        writer.writerows(zip(*columns, strict=True))


def _write_parquet(played: Trace, path: Path) -> None:
    polars = _polars()
    optional = {
        name: polars.Series(getattr(played, name)).replace(-1, None)
        for name in ("replay_start", "replay_end", "episode_start")
    }
    frame = polars.DataFrame(
        {
            "round": np.arange(1, len(played) + 1),
            "first": played.first,
            "second": played.second,
            "first_won": played.first_won,
            "active": polars.Series(played.active, dtype=polars.List(polars.Int64)),
            **optional,
        }
    )
    frame.select(COLUMNS).write_parquet(path)


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "lab", "writing Parquet") from None
    return polars
