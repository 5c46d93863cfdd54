"""What the world of the example run was like: who was best when, who was there, how many tie."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from driftduel.lab.findings.changes import SUBJECTS, Game

__all__ = ["Phase", "Scene", "phases_of", "read_scene", "winners_of"]

Winners = tuple[tuple[int, int | None], ...]
Phase = tuple[int, int, int | None]
"""First round, last round and best arm of a stretch; None where nobody is best."""


@dataclass(frozen=True)
class Scene:
    """What is known of a run's world."""

    winners: Winners | None = None
    """(first round, best arm) of every stretch; None where nobody wrote it down."""
    present: tuple[int, int] | None = None
    """The fewest and the most arms there at a time; None where all are, or unknown."""
    ties: float = 0.0
    """The share of ties in the first round; 0 where it is unknown."""


def read_scene(
    games: Iterable[pl.DataFrame], example: Game, switches: Sequence[int], benchmark: str
) -> Scene:
    """Read what a game of the example run wrote down; driftduel 0.1 did not.

    Parameters
    ----------
    games
        The games of each policy.
    example
        The run.
    switches
        The rounds of its changes, which cut its time into stretches.
    benchmark
        What regret is against.
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
        return Scene(winners, (there[0], there[1]) if there else None, row["ties"])
    return Scene()


def winners_of(row: Mapping[str, Any]) -> Winners:
    """Return who was best from which round on, as a game wrote it down."""
    arms = (None if arm < 0 else arm for arm in row["winners"])
    return tuple(zip(row["winners_from"], arms, strict=True))


def phases_of(winners: Winners, rounds: int) -> list[Phase]:
    """Return the stretches between changes, each with its last round."""
    lasts = [first - 1 for first, _ in winners[1:]] + [rounds]
    return [(first, last, arm) for (first, arm), last in zip(winners, lasts, strict=True)]
