"""What charts are made of: plain data that the page's charting library draws.

A chart is a dictionary with ``traces`` and ``layout`` as plotly.js knows them, except that

- a trace with ``policy`` belongs to that policy of the plan: the page gives it the policy's colour,
  dashes and symbol (where ``paint`` says so) and leaves it out while the policy is hidden;
- a trace with ``of`` has one entry for each of these policies, left out likewise;
- an ``x`` or ``y`` that is a word is one of the chart's ``shared`` arrays;
- a trace with ``only`` is for ``wide`` pages, for a ``linear`` axis of rounds, or for both;
- ``scales`` has the ranges of the axes that are logarithmic, for each scale one can choose;
- a trace of points on one row gives its ``y`` once;
- a trace with ``pattern`` is filled with it;
- an annotation with ``tag`` looks as the page makes tags look;
- ``rows`` lists the policies that the chart has a row for, from the top;
- ``trace`` is what all traces of the chart have in common;
- ``base`` names what several charts have in common: a layout, and a trace's beginnings.

Colours of text, axes and grids are the page's. Text is escaped, for the library reads it as HTML.
"""

import html
import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftduel.figures.lines import wrapped
from driftduel.lab.findings import Changes
from driftduel.wording import interval

__all__ = [
    "DOTTED",
    "MOST_SHADED",
    "REGRET",
    "Chart",
    "hover_interval",
    "label",
    "log_axis",
    "numbers",
    "phase_shapes",
    "vertical",
]

Chart = dict[str, Any]

_DIGITS = 5
MOST_SHADED = 60
"""A world that changes more often is drawn without its phases."""
REGRET = "%{y:,.4~r}"
"""How the library writes a regret that one points at."""
_SHADE = "rgba(128,128,128,0.13)"
_LINE = "rgba(128,128,128,0.9)"
DOTTED = "1.5px,3px"
"""Dots that are dots: those of the library are as long as dashes."""


def numbers(values: ArrayLike) -> list[float | int | None]:
    """Round to five significant digits; what is not finite becomes null.

    Examples
    --------
    >>> numbers([1234567.0, 0.1234567, float("nan"), 3.0])
    [1234600, 0.12346, None, 3]
    """
    result: list[float | int | None] = []
    for value in np.asarray(values, dtype=float).ravel().tolist():
        if not math.isfinite(value):
            result.append(None)
            continue
        rounded = float(f"{value:.{_DIGITS}g}")
        result.append(int(rounded) if rounded.is_integer() else rounded)
    return result


def label(spec: str, width: int = 24) -> str:
    """Write a name for the charting library, on several lines if it is long."""
    return "<br>".join(html.escape(line, quote=False) for line in wrapped(spec, width))


def hover_interval(low: float | None, high: float | None) -> str:
    """Write the second line of what one reads on pointing at a mean."""
    return "" if low is None else f"<br>95%: {interval(low, high)}"


def log_axis() -> dict[str, Any]:
    """Return what makes an axis logarithmic."""
    return {"type": "log", "dtick": "D2", "tickformat": ",~r"}


def vertical(
    x: float, width: float = 1, dash: str = "solid", colour: str = _LINE, top: float = 1
) -> dict[str, Any]:
    """Make a line from the bottom up; the colour ``theme`` is that of the page's text."""
    return {
        "type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "yref": "paper",
        "line": {"width": width, "dash": dash, "color": colour},
    }  # fmt: skip


def phase_shapes(changes: Changes, rounds: int) -> list[dict[str, Any]]:
    """Shade every other phase; lines where the best arm changes, thicker where it does in more."""
    if len(changes.rounds) > MOST_SHADED:
        return []
    edges = [1, *changes.rounds, rounds + 1]
    shapes: list[dict[str, Any]] = [
        {
            "type": "rect", "x0": first, "x1": end, "y0": 0, "y1": 1, "yref": "paper",
            "fillcolor": _SHADE, "line": {"width": 0}, "layer": "below",
        }
        for first, end in list(pairwise(edges))[1::2]
    ]  # fmt: skip
    for t, count in zip(changes.rounds, changes.counts, strict=True):
        share = 1.0 if changes.example else count / changes.runs
        shapes.append(vertical(t, width=1 + share, dash=DOTTED) | {"layer": "below"})
    return shapes
