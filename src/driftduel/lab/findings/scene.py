"""Properties of the world of the example run: best arms, present arms, ties."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from driftduel.lab.findings.changes import SUBJECTS, Game

__all__ = ["Phase", "RunScene", "phases_of", "read_scene", "winners_of"]

Winners = tuple[tuple[int, int | None], ...]
Phase = tuple[int, int, int | None]
"""First round, last round and best arm of a phase; None if there is no best arm."""


@dataclass(frozen=True)
class RunScene:
    """Recorded properties of the world of one run."""

    winners: Winners | None = None
    """(first round, best arm) of every phase; None if not recorded."""
    present: tuple[int, int] | None = None
    """Minimum and maximum number of present arms; None if all are present, or if unknown."""
    ties: float = 0.0
    """Share of ties in the first round, in [0, 1]; 0 if unknown."""


def read_scene(
    games: Iterable[pl.DataFrame], example: Game, switches: Sequence[int], benchmark: str
) -> RunScene:
    """Return the properties that a game of the example run recorded; 0.1 recorded none.

    Parameters
    ----------
    games
        Data frames of games, one per policy.
    example
        The example run.
    switches
        The rounds of its changes, which separate its phases.
    benchmark
        The reference of regret.
    """
    seed, run = example
    for frame in games:
        kept = frame.filter(seed=seed, run=run).drop_nulls("winners")
        if kept.is_empty():
            continue
        row = kept.row(0, named=True)
        winners = winners_of(row)
        if benchmark in SUBJECTS:  # other changes count too
            firsts = sorted({*switches, *row["winners_from"]})
            stretch = np.searchsorted(row["winners_from"], firsts, side="right") - 1
            winners = tuple((t, winners[i][1]) for t, i in zip(firsts, stretch, strict=True))
        there = row["present"]
        return RunScene(winners, (there[0], there[1]) if there else None, row["ties"])
    return RunScene()


def winners_of(row: Mapping[str, Any]) -> Winners:
    """Return (first round, best arm) of every phase, as recorded by a game."""
    arms = (None if arm < 0 else arm for arm in row["winners"])
    return tuple(zip(row["winners_from"], arms, strict=True))


def phases_of(winners: Winners, rounds: int) -> list[Phase]:
    """Return the phases between changes, each with its last round."""
    lasts = [first - 1 for first, _ in winners[1:]] + [rounds]
    return [(first, last, arm) for (first, arm), last in zip(winners, lasts, strict=True)]
