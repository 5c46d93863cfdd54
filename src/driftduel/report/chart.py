"""Chart descriptions: plain dicts and lists that the charting library of the page draws.

A chart is a dict with the keys ``traces`` and ``layout`` of plotly.js, with these differences:

- a trace with ``policy`` belongs to the policy with this index: the page sets its colour, dashes
  and symbol (those listed in ``paint``) and removes the trace while the policy is hidden;
- a trace with ``of`` has one value for each of these policies, removed in the same way;
- a string as ``x`` or ``y`` is the key of one of the chart's ``shared`` arrays;
- a trace with ``only`` is for ``wide`` pages, for a ``linear`` axis of rounds, or for both;
- ``scales`` has the ranges of logarithmic axes, for each scale that can be selected;
- a trace of points on one row has a single value of ``y``;
- a trace with ``pattern`` is filled with it;
- an annotation with ``tag`` has the style of tags of the page;
- ``rows`` lists the policies with a row in the chart, from the top;
- ``trace`` contains the default attributes of all traces of the chart;
- ``base`` is the key of values shared by several charts: a layout, and defaults of traces.

The page sets the colours of text, axes and grids. Text is escaped, because the library parses it as
HTML.
"""

import html
import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftduel._internal.wording import interval
from driftduel.figures import wrapped
from driftduel.lab import Changes

__all__ = [
    "DOTTED",
    "MOST_SHADED",
    "REGRET",
    "Chart",
    "curve_traces",
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
"""Maximum number of changes of a world with drawn phases."""
REGRET = "%{y:,.4~r}"
"""Template of the library for the regret in a tooltip."""
_SHADE = "rgba(128,128,128,0.13)"
_LINE = "rgba(128,128,128,0.9)"
DOTTED = "1.5px,3px"
"""Dash pattern of dots; the default dots of the library are as long as dashes."""


def numbers(values: ArrayLike) -> list[float | int | None]:
    """Return values rounded to five significant digits; non-finite ones become None (null).

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
    """Return an escaped name for the charting library, with line breaks if it is long."""
    return "<br>".join(html.escape(line, quote=False) for line in wrapped(spec, width))


def hover_interval(low: float | None, high: float | None) -> str:
    """Return the second line of the tooltip of a mean: its interval."""
    return "" if low is None else f"<br>95%: {interval(low, high)}"


def curve_traces(
    policy: int, name: str, low: ArrayLike | None, mean: ArrayLike, high: ArrayLike | None,
    hovertemplate: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the traces of a policy's curve over the shared rounds `at`, with its band if any."""
    group = {"policy": policy, "x": "at", "legendgroup": str(policy), "type": "scatter"}
    traces: list[dict[str, Any]] = []
    if low is not None and high is not None:
        hidden = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        traces.append({**group, **hidden, "y": numbers(low)})
        band = {"y": numbers(high), "fill": "tonexty", "paint": ["fill"]}
        traces.append({**group, **hidden, **band})
    line = {
        **group,
        "paint": ["line", "marker"],
        "mode": "lines+markers",
        "name": label(name, 99),
        "y": numbers(mean),
        "line": {"width": 2},
        "marker": {"size": 7, "maxdisplayed": 9},
        "cliponaxis": False,
        "hovertemplate": hovertemplate,
    }
    return [*traces, line]


def log_axis() -> dict[str, Any]:
    """Return the attributes of a logarithmic axis."""
    return {"type": "log", "dtick": "D2", "tickformat": ",~r"}


def vertical(
    x: float, width: float = 1, dash: str = "solid", colour: str = _LINE, top: float = 1
) -> dict[str, Any]:
    """Return a vertical line; the colour ``theme`` is the text colour of the page."""
    return {
        "type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "yref": "paper",
        "line": {"width": width, "dash": dash, "color": colour},
    }  # fmt: skip


def phase_shapes(changes: Changes, rounds: int) -> list[dict[str, Any]]:
    """Return shapes: every second phase shaded, and lines at changes, thicker for more runs."""
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
