"""Rounds of restarts, thinned to the resolution of a figure."""

from collections.abc import Mapping, Sequence

import polars as pl

from driftduel.lab.findings.changes import Game
from driftduel.lab.findings.curves import thin_evenly

__all__ = ["read_restarts"]

_MOST_RESTARTS = 300


def read_restarts(
    games: Mapping[int, pl.DataFrame], example: Game | None
) -> tuple[dict[int, tuple[int, ...]], bool]:
    """Return rounds of restarts by policy, and whether they are of the example run only.

    Restarts of all runs are used unless these are too many or differ too much.
    """
    of_all: dict[int, list[int]] = {}
    of_one: dict[int, list[int]] = {}
    for place, frame in games.items():
        by_run = {
            (seed, run): rounds
            for seed, run, rounds in frame.select("seed", "run", "restarts").iter_rows()
        }
        if any(by_run.values()):
            of_all[place] = [t for rounds in by_run.values() for t in rounds]
            of_one[place] = by_run.get(example or next(iter(by_run)), [])
    too_many = any(len(rounds) > _MOST_RESTARTS for rounds in of_all.values())
    one_only = example is not None or too_many
    chosen = of_one if one_only else of_all
    return {place: _thin_rounds(sorted(rounds)) for place, rounds in chosen.items()}, one_only


def _thin_rounds(rounds: Sequence[int]) -> tuple[int, ...]:
    """Return an evenly thinned tuple of rounds, at most as many as a figure can resolve."""
    return tuple(rounds[i] for i in thin_evenly(len(rounds), _MOST_RESTARTS)) if rounds else ()
