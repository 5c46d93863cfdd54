"""The charts of a log page as plain data: shapes in percent of a plot, and labels.

A plot is stretched to the width of the page, so shapes have values in percent from its left and top
edge. Text must not be stretched and is placed by the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.wording import share
from driftduel.figures import LINE_COLOURS
from driftduel.logs.posterior import Change, Fit
from driftduel.logs.strength import OptionStrengths, edges_of, step_corners
from driftduel.logs.ticks import time_ticks
from driftduel.logs.times import time_text

__all__ = ["COLOURS", "Axis", "bars", "ranking", "ribbons", "span_of", "time_axis", "winner_areas"]

Floats = NDArray[np.float64]

COLOURS = LINE_COLOURS[:-1]  # the last is grey: the class of "no winner"
_SEEN = 0.02  # options below this maximal probability share one area
_MOST_RIBBONS = 12
_MOST_LANES = 4


@dataclass(frozen=True)
class Axis:
    """A time axis."""

    low: float
    high: float
    clock: str

    def percent(self, times: Any) -> Floats:
        """Return the positions of times, in percent from the left."""
        span = self.high - self.low
        if span <= 0:  # a single time: the axis is as wide as the plot
            return np.linspace(0.0, 100.0, max(1, np.size(times))).reshape(np.shape(times))
        place: Floats = (np.asarray(times, np.float64) - self.low) / span * 100
        return place

    def ticks(self, most: int = 8) -> list[dict[str, Any]]:
        """Return the tick marks; if there are many, every second one is hidden on a phone."""
        ticks = time_ticks(self.low, self.high, self.clock, most)
        return [
            {
                "at": round(float(self.percent(time)), 2),
                "text": text,
                "second": most > 4 and i % 2 == 1,
            }
            for i, (time, text) in enumerate(ticks)
        ]


def time_axis(fit: Fit) -> Axis:
    """Return the time axis of a whole log."""
    return Axis(float(fit.counts.first[0]), float(fit.counts.last[-1]), fit.counts.clock)


def _path(x: Floats, y: Floats) -> str:
    """Return the value of the SVG attribute `d` of a line."""
    return "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))


def _area(x: Floats, low: Floats, high: Floats) -> str:
    """Return the SVG path of the area between two lines; y values are counted from the top."""
    there = _path(x, 100 * (1 - high))
    back = _path(x[::-1], 100 * (1 - low[::-1]))
    return f"{there}L{back[1:]}Z"


def ranking(fit: Fit) -> list[int]:
    """Return the options, sorted by the time as the winner, then by wins."""
    wins = fit.counts.wins.sum(axis=0)
    ahead = wins.sum(axis=1) / np.maximum((wins + wins.T).sum(axis=1), 1e-300)
    order = np.lexsort((-ahead, -fit.winners[:, :-1].mean(axis=0)))
    return [int(i) for i in order]


def _kind(place: int) -> str:
    """Return the CSS class of an option's colour, the same in all charts."""
    return f"c{place}" if place < len(COLOURS) else "others"


def winner_areas(fit: Fit, axis: Axis) -> list[dict[str, Any]]:
    """Return the stacked areas of P(winner): each option, the others, no winner."""
    chances = fit.winners
    K = fit.counts.options
    order = ranking(fit)
    own = [i for i in order[: len(COLOURS)] if chances[:, i].max() >= _SEEN]
    rest = [i for i in order if i not in own]
    rows = [(fit.names[i], _kind(order.index(i)), chances[:, i]) for i in own]
    if rest and chances[:, rest].max() > 0:
        rows.append(("others", "others", chances[:, rest].sum(axis=1)))
    if chances[:, K].max() > 0:
        rows.append(("no winner", "nobody", chances[:, K]))
    floor = np.zeros(len(chances))
    areas = []
    for name, kind, chance in rows:
        times, low = step_corners(edges_of(fit), floor)
        floor = floor + chance
        _, high = step_corners(edges_of(fit), np.minimum(floor, 1.0))
        path = _area(axis.percent(times), low, high)
        named = bool(chance.max() >= _SEEN)
        areas.append({"name": name, "kind": kind, "path": path, "named": named})
    return areas


def span_of(strengths: OptionStrengths) -> tuple[float, float]:
    """Return the range of values that all ribbons need, in tenths; the middle is in tenths, too."""
    low = min(8, int(np.floor(10 * float(strengths.low.min()) + 1e-9)))
    high = max(low + 2, int(np.ceil(10 * float(strengths.high.max()) - 1e-9)))
    if (high - low) % 2:
        low, high = (low - 1, high) if low else (low, high + 1)
    return low / 10, high / 10


def ribbons(fit: Fit, strengths: OptionStrengths, axis: Axis) -> list[dict[str, Any]]:
    """Return a panel for each option, sorted by `ranking`."""
    x = axis.percent(strengths.times)
    order = ranking(fit)[:_MOST_RIBBONS]
    floor, top = span_of(strengths)

    def up(values: Floats) -> Floats:
        return (values - floor) / (top - floor)

    lines = [_path(x, 100 * (1 - up(strengths.mean[:, i]))) for i in order]
    panels = []
    for place, i in enumerate(order):
        low, mean, high = (
            float(values[-1, i]) for values in (strengths.low, strengths.mean, strengths.high)
        )
        panels.append(
            {
                "name": fit.names[i],
                "kind": _kind(place),
                "band": _area(x, up(strengths.low[:, i]), up(strengths.high[:, i])),
                "line": lines[place],
                "others": [line for k, line in enumerate(lines) if k != place],
                "from": share(float(strengths.mean[0, i])),
                "now": share(mean),
                "low": share(low),
                "high": share(high),
                "best": share(float(strengths.mean[:, i].max())),
                "worst": share(float(strengths.mean[:, i].min())),
            }
        )
    return panels


def bars(changes: Sequence[Change], axis: Axis) -> list[dict[str, Any]]:
    """Return a bar for each change, and its interval in a track without overlap."""
    ends = [-np.inf] * _MOST_LANES
    shapes = []
    for change in changes:
        low, at, high = (float(x) for x in axis.percent([change.low, change.time, change.high]))
        lane = next((k for k, end in enumerate(ends) if low > end + 0.5), int(np.argmin(ends)))
        ends[lane] = max(high, ends[lane])
        when, early, late = (
            time_text(time, axis.clock) for time in (change.time, change.low, change.high)
        )
        winner = change.new_winner
        names = f", from {change.before or 'none'} to {change.after or 'none'}" if winner else ""
        what = "The winner changed" if winner else "Preferences changed, the winner did not"
        shapes.append(
            {
                "at": round(at, 3), "low": round(low, 3), "high": round(high, 3), "lane": lane,
                "winner": winner,
                "says": f"{what} around {when}{names}, 95% interval {early} to {late}.",
            }
        )  # fmt: skip
    return shapes
