"""The smallest constant C of ANACONDA that was measured to be safe.

``calibration.json`` is written by ``python -m research.study --full --calibration FILE``: on
stationary worlds, the smallest C log T of the grid from which on at most 1 run in 100 had a false
alarm.
"""

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["calibrated_constant", "calibration"]

FILE = "calibration.json"


@cache
def calibration() -> dict[str, Any]:
    """Return the measurements, a dict with the list ``rows``; the result is cached."""
    text = (files("driftduel.policies") / FILE).read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def calibrated_constant(arms: int, rounds: int | None) -> float:
    """Return C for `arms` and a horizon: that of the next larger K and T in the table.

    Measured, not proved. Beyond the longest measured horizon C is constant, so that C log T grows
    as in the theorem. Beyond the largest measured K its row is used: the level hardly depends on K.

    Parameters
    ----------
    arms
        The number of arms K.
    rounds
        The horizon T; None: the largest C of any horizon, for a policy with an unknown horizon.

    Examples
    --------
    >>> calibrated_constant(5, 1_000_000) < calibrated_constant(5, 10_000) < 1
    True
    """
    tables: dict[int, dict[int, float]] = {}
    for row in calibration()["rows"]:
        tables.setdefault(row["rounds"], {})[row["arms"]] = row["level"]
    if rounds is None:
        return max(calibrated_constant(arms, horizon) for horizon in tables)
    longest = max(tables)
    known = min((t for t in tables if t >= rounds), default=longest)
    # Enforce monotonicity: a longer game has at least the level of a shorter one.
    level = max(_next_larger(levels, arms) for t, levels in tables.items() if t <= known)
    return level / math.log(min(rounds, longest))


def _next_larger(levels: dict[int, float], arms: int) -> float:
    return levels[min((k for k in levels if k >= arms), default=max(levels))]
