"""Which arms a policy played when, as shares of its plays."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from driftduel.lab.cells import slice_ends
from driftduel.lab.findings.changes import Game
from driftduel.lab.findings.curves import Floats

__all__ = ["Shares", "read_shares"]

_MOST_ARMS = 9


@dataclass(frozen=True)
class Shares:
    """How the plays of one policy were spread over arms, slice by slice."""

    arms: tuple[int, ...]
    """The arms that were played most; a last column is all others', where there are others."""
    shares: Floats
    """(slices, arms) of all plays in a slice."""
    all_arms: Floats
    """(slices, K) likewise, of every arm."""
    runs: int
    """Over how many runs this is the mean."""


def read_shares(frame: pl.DataFrame, rounds: int, example: Game | None) -> Shares | None:
    """Average the shares of arms over runs, or take those of one run where arms differ by run."""
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
    return Shares(chosen, columns, shares, len(tables))
