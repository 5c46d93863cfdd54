"""A figure of a log for papers and slides: the probable winner over time, and its changes."""

from pathlib import Path

import numpy as np

from driftduel._internal.wording import share
from driftduel.figures import figure, plain, save
from driftduel.logs.charts import COLOURS, bars, ranking, time_axis
from driftduel.logs.posterior import Fit
from driftduel.logs.strength import edges_of
from driftduel.logs.ticks import time_ticks

__all__ = ["plot_winners"]

_OTHERS, _NOBODY = "#9aa3ab", "#dde1e5"
_SWITCH, _CHANGE = "#b3002d", "#3c444c"
_SEEN = 0.02


def plot_winners(fit: Fit, path: str | Path, title: str = "") -> None:
    """Plot the probability of every option being the winner, as steps, and the changes.

    Parameters
    ----------
    fit
        A fitted log.
    path
        The output file: PNG, SVG or PDF.
    title
        A line above the figure; by default none.
    """
    edges, chances = edges_of(fit), fit.winners
    order = [i for i in ranking(fit)[: len(COLOURS)] if chances[:, i].max() >= _SEEN]
    rest = [i for i in range(fit.counts.options) if i not in order]
    layers = [
        (plain(fit.names[i]), COLOURS[place][0], chances[:, i]) for place, i in enumerate(order)
    ]
    layers += [("others", _OTHERS, chances[:, rest].sum(axis=1))] if rest else []
    layers += [("no winner", _NOBODY, chances[:, -1])]
    reported = [change for change in fit.changes if change.reported]
    marks = bars(reported, time_axis(fit))
    lanes = 1 + max((mark["lane"] for mark in marks), default=0)
    with figure(2, [0.14 * lanes, 2.4]) as (canvas, (lane, panel)):
        floor = np.zeros(len(chances))
        for name, colour, chance in layers:
            named = {"label": name} if chance.max() >= _SEEN else {}
            panel.stairs(floor + chance, edges, baseline=floor, fill=True, color=colour, lw=0,
                         **named)  # fmt: skip
            floor = floor + chance
        kinds = {True: "winner changed", False: "other change"}  # one legend entry per value
        for change, mark in zip(reported, marks, strict=True):
            colour, dashes = (_SWITCH, "-") if mark["winner"] else (_CHANGE, (0, (3, 2)))
            panel.axvline(change.time, color="white", lw=2.6, alpha=0.7)
            named = {"label": kinds.pop(mark["winner"])} if mark["winner"] in kinds else {}
            panel.axvline(change.time, color=colour, lw=1.4, ls=dashes, **named)
            y = [mark["lane"]] * 2
            lane.plot([change.low, change.high], y, color=colour, lw=1.2, marker="|", ms=6)
        lane.set(ylim=(-0.5, lanes - 0.5), yticks=[])
        lane.set_axis_off()
        if title:
            lane.set_title(plain(title))
        ticks = time_ticks(float(edges[0]), float(edges[-1]), fit.counts.clock)
        panel.set(ylim=(0, 1), xlim=(edges[0], max(edges[-1], edges[0] + 1e-9)),
                  ylabel="P(winner)")  # fmt: skip
        panel.set_xticks([time for time, _ in ticks], [text for _, text in ticks])
        panel.yaxis.set_major_formatter(lambda value, _: share(value))
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
        save(canvas, path)
