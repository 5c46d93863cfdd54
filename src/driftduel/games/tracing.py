"""A record of a game, round by round."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.defaults import SEED
from driftduel._internal.display import Fact, as_html, as_text
from driftduel._internal.files import atomic_write
from driftduel._internal.wording import whole
from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.games.delay import DelayQueue
from driftduel.games.game import streams
from driftduel.games.prior_knowledge import knowledge
from driftduel.games.requests import ask_with_request, decide_request, prepare_policy
from driftduel.games.rounds import announce_arms, check_changes, decide_duel
from driftduel.games.slates import check_slates, decide_answer, draws_a_round
from driftduel.policies import Policy, make_policy, places_of
from driftduel.specs import Spec
from driftduel.worlds import TIE, UNKNOWN, RequestChunk, RequestWorld, World, make_world

__all__ = ["COLUMNS", "Trace", "check_trace_path", "trace", "write_trace"]

COLUMNS = (
    "round", "first", "second", "first_won", "active", "replay_start", "replay_end",
    "episode_start",
)  # fmt: skip
"""Columns of a trace file. Attributes that a policy does not have, and the winner of a tie or of a
duel with a missing outcome, are empty. In a world of slates, `first_won` is whether the first arm
was picked or ranked best, and there are two more columns: `others`, the other arms of the slate,
and `answer`, the arm picked, or the arms ranked, the best first."""

Ints = NDArray[np.int64]
_MOST_ROUNDS = 10_000_000


@dataclass(frozen=True, repr=False)
class Trace:
    """One row per round; arms from 0, rounds from 1; the value -1 marks missing attributes."""

    policy: Policy
    world: World
    seed: int
    first: Ints
    second: Ints
    first_won: Ints
    """The outcome: 1 or 0; -1 for a tie, independent of the policy's feedback; -2 if it is missing.
    """
    active: list[tuple[int, ...]]
    """The active set A_t of every round."""
    good: list[tuple[int, ...]]
    """The good set at the start of the round; not part of the file."""
    replay_start: Ints
    replay_end: Ints
    episode_start: Ints
    present: list[tuple[int, ...]] = field(default_factory=list)
    """The present arms of every round; empty if all arms are always present."""
    others: list[tuple[int, ...]] = field(default_factory=list)
    """The other arms of every slate; empty in a world of duels."""
    answer: list[tuple[int, ...]] = field(default_factory=list)
    """The arm picked from every slate, or the arms ranked, the best first; none if nothing was
    picked. Empty in a world of duels."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its file: `COLUMNS`, and the present arms and the slates if there are."""
        more = ("present", "others", "answer")
        return (*COLUMNS, *(name for name in more if getattr(self, name)))

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return as_text(self._title(), self._facts())

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._facts())

    def _title(self) -> str:
        return f"{self.policy.spec} on {self.world.spec or repr(self.world)}, round by round"

    def _facts(self) -> list[Fact]:
        alone, open_ = int((self.first == self.second).sum()), int((self.first_won < 0).sum())
        return [
            ("seed", str(self.seed)),
            ("rounds", whole(len(self))),
            ("duels", f"{whole(alone)} of an arm with itself, {whole(open_)} without a winner"),
            ("restarts", whole(len(self.policy.restarts))),
            ("columns", ", ".join(self.columns)),
        ]


def trace(
    policy: str | Spec,
    world: str | Spec | World,
    seed: int = SEED,
    *,
    mode: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Play the same game as the function `play`, by ask and tell, and record every round.

    Parameters
    ----------
    policy, world, seed, mode
        Same arguments as of `play`; the duels are the same.
    progress
        Function called at intervals with (rounds played, all rounds).
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
    present: list[tuple[int, ...]] = []
    others: list[tuple[int, ...]] = []
    answers: list[tuple[int, ...]] = []
    late = DelayQueue(learner)
    prepare_policy(learner, world)
    check_slates(learner, world)
    chunks: Any = world.request_chunks if isinstance(world, RequestWorld) else world.chunks
    for chunk in chunks(limit=4096):
        with_requests = isinstance(chunk, RequestChunk)
        if not with_requests:
            check_changes(learner, chunk)
        late.expect(chunk)
        first_round = int(chunk.starts[0])
        outcome_draws = outcomes.random((chunk.end - first_round, draws_a_round(world)))
        row_of = np.arange(chunk.end - first_round)
        if not with_requests:
            row_of = chunk.rows[np.searchsorted(chunk.starts, row_of + first_round, "right") - 1]
        for i, t in enumerate(range(first_round, chunk.end)):
            if not with_requests and (i == 0 or row_of[i] != row_of[i - 1]):
                announce_arms(learner, chunk, row_of[i])
                here = learner.present
            duel = ask_with_request(learner, chunk, i) if with_requests else learner.ask()
            stage = learner.stage()
            if world.slate > 2:
                code, told = decide_answer(learner, duel, world, chunk, row_of[i], outcome_draws[i])
                order = [(duel.first, duel.second, *duel.others)[p] for p in places_of(code)]
                won = int(order[0] == duel.first) if order else TIE
                if duel.alone:
                    won = code
                others.append(duel.others)
                answers.append(tuple(order))
            else:
                decide = decide_request if with_requests else decide_duel
                draw = float(outcome_draws[i, 0])
                won, told = decide(learner, duel, chunk, row_of[i], draw)
            late.tell(duel, told)
            start, end = stage.replays[-1] if stage.replays else (-1, -1)
            episode = -1 if stage.episode_start is None else stage.episode_start
            numbers[:, t - 1] = duel.first, duel.second, won, start, end, episode
            active.append(stage.active or ())
            good.append(stage.good or ())
            if not with_requests and chunk.present.size:
                present.append(here)
        if progress is not None:
            progress(chunk.end - 1, world.rounds)
    first, second, first_won, replay_start, replay_end, episode_start = numbers
    return Trace(
        learner, world, seed, first, second, first_won, active, good,
        replay_start, replay_end, episode_start, present, others, answers,
    )  # fmt: skip


def check_trace_path(path: str | Path) -> Path:
    """Return a path that can be written, or raise before a long game."""
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise DriftduelError(f"a trace is written as .csv or .parquet; {path.name!r} is neither.")
    if not path.parent.is_dir():
        raise DriftduelError(f"cannot write {str(path)!r}: there is no folder {path.parent}.")
    if path.suffix == ".parquet":
        _polars()
    return path


def write_trace(played: Trace, path: str | Path) -> None:
    """Write a trace as CSV or Parquet, atomically."""
    path = check_trace_path(path)
    with atomic_write(path) as temporary:
        (_write_csv if path.suffix == ".csv" else _write_parquet)(played, temporary)


def _write_csv(played: Trace, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(played.columns)
        columns = [
            range(1, len(played) + 1),
            *(_texts(played, name) for name in played.columns[1:]),
        ]
        writer.writerows(zip(*columns, strict=True))


def _texts(played: Trace, name: str) -> Iterable[Any]:
    """Return the CSV values of a column: sets of arms separated by blanks, empty for -1."""
    column = getattr(played, name)
    if isinstance(column, list):
        return (" ".join(map(str, arms)) for arms in column)
    return ("" if value < 0 else value for value in column.tolist())


def _write_parquet(played: Trace, path: Path) -> None:
    polars = _polars()

    def series(name: str) -> Any:
        column = getattr(played, name)
        if isinstance(column, list):
            return polars.Series(column, dtype=polars.List(polars.Int64))
        return polars.Series(column).replace([TIE, UNKNOWN], None)

    rounds = {"round": np.arange(1, len(played) + 1)}
    frame = polars.DataFrame({**rounds, **{name: series(name) for name in played.columns[1:]}})
    frame.write_parquet(path)


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "lab", "writing Parquet") from None
    return polars
