"""Estimate of the duration of a plan, from finished cells or from a short trial."""

import time
from collections.abc import Sequence

import polars as pl

from driftduel.games import play
from driftduel.lab.identity import world_of
from driftduel.lab.plan import Cell
from driftduel.lab.store import Store

__all__ = ["estimate"]


def estimate(cells: Sequence[Cell], store: Store | None = None) -> pl.DataFrame:
    """Return the number of cells and the seconds per cell, for each policy in each world.

    The seconds are the mean of finished cells of the store. If there are none, the first segments
    of one game are played, which takes a moment each and compiles missing kernels.

    Parameters
    ----------
    cells
        The cells to be played.
    store
        Finished cells; default: none.
    """
    done = set() if store is None else store.done()
    played: dict[tuple[str, str], float] = {}
    if store is not None:
        frame = store.rows(("world", "policy", "seconds_cell"))
        means = frame.group_by("world", "policy").agg(pl.col("seconds_cell").median())
        played = {(world, policy): each for world, policy, each in means.iter_rows()}
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.world, cell.policy), []).append(cell)
    rows = []
    for (world, policy), group in groups.items():
        todo = [cell for cell in group if cell.key not in done]
        each = played.get((world, policy))
        if each is None and todo:
            each = _trial(todo[0])
        rows.append((world, policy, len(group), len(group) - len(todo), group[0].rounds, each))
    schema = {
        "world": pl.String, "policy": pl.String, "cells": pl.Int64, "finished": pl.Int64,
        "rounds": pl.Int64, "seconds_each": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


class _TrialDone(Exception):  # noqa: N818 - not an error
    """Raised to end a trial after its second segment."""


def _trial(cell: Cell) -> float:
    """Return the estimated seconds of a game, extrapolated from its second segment of rounds.

    The first segment is not used, because it may include compilation.
    """
    seen: list[tuple[float, int]] = []

    def progress(done: int, _: int) -> None:
        seen.append((time.perf_counter(), done))
        if len(seen) == 2:
            raise _TrialDone

    world = world_of(cell.world, cell.game_seed)
    try:
        game = play(
            cell.policy, world, cell.game_seed, benchmark=cell.benchmark, mode=cell.mode,
            progress=progress,
        )  # fmt: skip
    except _TrialDone:
        (first, before), (second, after) = seen
        return (second - first) / (after - before) * world.rounds
    return game.seconds
