"""Shares of plays by arm over time."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from driftduel.lab.cells import slice_ends
from driftduel.lab.findings.changes import Game
from driftduel.lab.findings.curves import Floats

__all__ = ["ArmShares", "read_shares"]

_MOST_ARMS = 9


@dataclass(frozen=True)
class ArmShares:
    """The distribution of the plays of one policy over arms, by slice of time."""

    arms: tuple[int, ...]
    """The most played arms; a further column contains the sum of all others, if any."""
    shares: Floats
    """(slices, columns) float array of shares of the plays in a slice."""
    all_arms: Floats
    """(slices, K) float array of shares of every arm."""
    runs: int
    """Number of runs of the mean."""


def read_shares(frame: pl.DataFrame, rounds: int, example: Game | None) -> ArmShares | None:
    """Average the shares of arms over runs; use the example run if the best arms differ by run."""
    if example is not None:
        frame = frame.filter(seed=example[0], run=example[1])
        if frame.is_empty():
            return None
    ends = slice_ends(rounds)
    arms = int(frame["arms"][0])
    counts = [np.array(plays.to_list(), np.int64) for plays in frame["plays"]]
    tables = [table.reshape(-1, arms) for table in counts if len(table) == len(ends) * arms]
    if not tables:
        return None
    total = np.sum(tables, axis=0)
    plays = np.diff(total, axis=0, prepend=np.zeros((1, arms), np.int64))
    shares = plays / plays.sum(axis=1, keepdims=True).clip(1)
    order = np.argsort(-total[-1], kind="stable")
    most = _MOST_ARMS if arms > _MOST_ARMS + 1 else arms
    chosen = tuple(sorted(int(arm) for arm in order[:most]))
    columns = shares[:, list(chosen)]
    if len(chosen) < arms:
        columns = np.column_stack((columns, 1 - columns.sum(axis=1)))
    return ArmShares(chosen, columns, shares, len(tables))
