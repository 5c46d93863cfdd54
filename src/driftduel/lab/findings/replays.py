"""Recorded stages of games of policies with replays, for figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driftduel.games import Replays, replays_at_moments
from driftduel.lab.findings.changes import Game
from driftduel.lab.findings.scene import Phase, phases_of, winners_of
from driftduel.policies import Stage

if TYPE_CHECKING:
    from driftduel.lab.result import Results

__all__ = ["kept_games", "read_replays"]

_COLUMNS = (
    "world", "policy", "seed", "run", "arms", "rounds", "restarts", "winners_from", "winners",
    "stages",
)  # fmt: skip


def kept_games(results: "Results") -> dict[tuple[str, str], list[Game]] | None:
    """Return the games with recorded stages, by the specs of world and policy.

    None if the results are of a version of driftduel that recorded none.
    """
    rows = results.store.rows(("world", "policy", "seed", "run", "stages"))
    if len(rows) and rows["stages"].is_null().all():
        return None
    games: dict[tuple[str, str], list[Game]] = {}
    for world, policy, seed, run, stages in rows.iter_rows():
        if stages:
            games.setdefault((world, policy), []).append((seed, run))
    return games


def read_replays(
    results: "Results", world: str, policy: str, game: Game
) -> tuple[Replays, list[Phase]]:
    """Return the recorded stages of a game, and the phases of its world."""
    rows = results.store.rows(_COLUMNS)
    row = rows.filter(world=world, policy=policy, seed=game[0], run=game[1]).row(0, named=True)
    stages = [(stage["round"], _stage(stage)) for stage in row["stages"]]
    replays = replays_at_moments(stages, row["arms"], row["restarts"])
    return replays, phases_of(winners_of(row), row["rounds"])


def _stage(kept: Mapping[str, Any]) -> Stage:
    ends = kept["replays"]
    return Stage(
        active=tuple(kept["active"]),
        good=tuple(kept["good"]),
        episode_start=kept["episode"],
        replays=tuple(zip(ends[::2], ends[1::2], strict=True)),
    )
