"""A small simulated log with known parameters: sixteen weeks of blind tastings, three changes."""

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from driftduel._internal.files import atomic_write, durable_folder
from driftduel.logs.bradley_terry_fit import preferences_of
from driftduel.logs.simulate import votes_of
from driftduel.worlds import Piecewise

__all__ = ["DEMO_CHANGES", "NAMES", "write_demo"]

NAMES = ("Amber", "Basil", "Cocoa", "Daisy", "Elder")
_FIRST_DAY = date(2025, 1, 6)
_VOTES_A_DAY = 60
# First days, counted from 0, and utilities of the stretches.
_STRETCHES = (
    (0, (0.9, 0.4, 0.0, -0.3, -1.0)),
    (28, (0.2, 0.9, 0.0, -0.3, -1.0)),
    (49, (0.2, 0.9, -0.6, -0.3, 0.3)),
    (70, (0.2, -0.2, -0.6, 1.1, 0.3)),
)
_DAYS = 112


def _day(place: int) -> date:
    return _FIRST_DAY + timedelta(days=place)


DEMO_CHANGES = (
    (_day(28), "Basil takes the lead from Amber"),
    (_day(49), "Elder rises and Cocoa falls, while Basil stays best"),
    (_day(70), "Daisy takes the lead from Basil"),
)
"""The true changes, as (day, description)."""


def write_demo(folder: str | Path, seed: int = 0) -> Path:
    """Write the votes to ``votes.csv`` in a folder, and return the path.

    Parameters
    ----------
    folder
        The folder; it is created if it does not exist.
    seed
        Seed of the pairs and outcomes; equal values give equal files.
    """
    world = Piecewise(
        preferences_of(np.array([utilities for _, utilities in _STRETCHES])),
        [1 + _VOTES_A_DAY * day for day, _ in _STRETCHES],
        _VOTES_A_DAY * _DAYS,
    )
    votes = votes_of(world, seed)
    durable_folder(folder)
    path = Path(folder) / "votes.csv"
    with (
        atomic_write(path) as temporary,
        open(temporary, "w", newline="", encoding="utf-8") as file,
    ):
        rows = csv.writer(file)
        rows.writerow(("time", "first", "second", "winner"))
        for t, (a, b, won) in enumerate(
            zip(votes["first"], votes["second"], votes["outcome"], strict=True)
        ):
            rows.writerow((_day(t // _VOTES_A_DAY), NAMES[a], NAMES[b], NAMES[a if won else b]))
    return path
