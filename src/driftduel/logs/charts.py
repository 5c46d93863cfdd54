"""The drawings of a log's page, as plain data: shapes in percent of a plot, and words beside them.

A plot is stretched to whatever width a page has, so shapes are in percent from its left and top
edge, and all that must not be stretched - words - is left to the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.figures.lines import LINE_COLOURS
from driftduel.logs.posterior import Change, Fit
from driftduel.logs.strength import Strengths, edges_of, stepped
from driftduel.logs.ticks import time_ticks
from driftduel.logs.times import time_text
from driftduel.wording import share

__all__ = ["COLOURS", "Axis", "bars", "ranking", "ribbons", "span_of", "time_axis", "winner_areas"]

Floats = NDArray[np.float64]

COLOURS = LINE_COLOURS[:-1]  # the last is grey, as what is nobody's is
_SEEN = 0.02  # who was never more probably the winner has no area of its own
_MOST_RIBBONS = 12
_MOST_LANES = 4


@dataclass(frozen=True)
class Axis:
    """An axis of time."""

    low: float
    high: float
    clock: str

    def percent(self, times: Any) -> Floats:
        """Return where times are, in percent from the left."""
        span = self.high - self.low
        if span <= 0:  # all at one time, which is then as wide as the plot
            return np.linspace(0.0, 100.0, max(1, np.size(times))).reshape(np.shape(times))
        place: Floats = (np.asarray(times, np.float64) - self.low) / span * 100
        return place

    def ticks(self, most: int = 8) -> list[dict[str, Any]]:
        """Return the marks of the axis; if there are many, every second has no room on a phone."""
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
    """Return the axis of a log's whole time."""
    return Axis(float(fit.counts.first[0]), float(fit.counts.last[-1]), fit.counts.clock)


def _path(x: Floats, y: Floats) -> str:
    return "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))


def _area(x: Floats, low: Floats, high: Floats) -> str:
    """Return a closed path between two lines; y is counted from the top."""
    there = _path(x, 100 * (1 - high))
    back = _path(x[::-1], 100 * (1 - low[::-1]))
    return f"{there}L{back[1:]}Z"


def ranking(fit: Fit) -> list[int]:
    """Return the options, first those that were the winner longest, then by their wins."""
    wins = fit.counts.wins.sum(axis=0)
    ahead = wins.sum(axis=1) / np.maximum((wins + wins.T).sum(axis=1), 1e-300)
    order = np.lexsort((-ahead, -fit.winners[:, :-1].mean(axis=0)))
    return [int(i) for i in order]


def _kind(place: int) -> str:
    """Return the class that gives an option its colour, the same in all drawings."""
    return f"c{place}" if place < len(COLOURS) else "others"


def winner_areas(fit: Fit, axis: Axis) -> list[dict[str, Any]]:
    """Return the areas of P(winner), stacked as steps: the options, all others, nobody."""
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
        times, low = stepped(edges_of(fit), floor)
        floor = floor + chance
        _, high = stepped(edges_of(fit), np.minimum(floor, 1.0))
        path = _area(axis.percent(times), low, high)
        named = bool(chance.max() >= _SEEN)
        areas.append({"name": name, "kind": kind, "path": path, "named": named})
    return areas


def span_of(strengths: Strengths) -> tuple[float, float]:
    """Return what part of 0 to 1 all ribbons need, in tenths, the middle of it in tenths too."""
    low = min(8, int(np.floor(10 * float(strengths.low.min()) + 1e-9)))
    high = max(low + 2, int(np.ceil(10 * float(strengths.high.max()) - 1e-9)))
    if (high - low) % 2:
        low, high = (low - 1, high) if low else (low, high + 1)
    return low / 10, high / 10


def ribbons(fit: Fit, strengths: Strengths, axis: Axis) -> list[dict[str, Any]]:
    """Return a panel for each option, those that matter most first."""
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
    """Return a bar for each change, and its bracket in a lane where it hides no other."""
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
        who = f", from {change.before or 'none'} to {change.after or 'none'}" if winner else ""
        what = "The winner changed" if winner else "Preferences changed, the winner did not"
        shapes.append(
            {
                "at": round(at, 3), "low": round(low, 3), "high": round(high, 3), "lane": lane,
                "winner": winner,
                "says": f"{what} around {when}{who}, 95% sure between {early} and {late}.",
            }
        )  # fmt: skip
    return shapes
