"""Draw the charts of a study; each can be read without the text around it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driftduel._internal.wording import short
from driftduel.figures.lines import line_style
from driftduel.figures.style import figure, save
from research.study.common import Chart, Panel, Series

__all__ = ["draw"]

_GREY = "#555555"
_FEW = 7
_SPAN_COLOURS = ("#009E73", "#0072B2", "#BBBBBB")


def draw(chart: Chart, paths: list[Path]) -> None:
    """Draw a chart into one file for each path (PNG, SVG or PDF)."""
    count = len(chart.panels)
    columns = 2 if count == 4 else min(3, count)
    rows = -(-count // columns)
    width = {1: 6.4, 2: 9.0, 3: 11.4}[columns]
    labels = _labels(chart)
    height = 3.3 * rows + 0.2 * -(-len(labels) // max(2, columns)) + 0.3
    with figure(1, [height], width=width) as (canvas, _):
        canvas.clear()
        panels = canvas.subplots(rows, columns, squeeze=False).ravel().tolist()
        for axes, panel in zip(panels, chart.panels, strict=False):
            _draw_panel(axes, panel)
        for axes in panels[count:]:
            axes.set_axis_off()
        canvas.suptitle(chart.title, fontsize=10.5, x=0.01, ha="left", fontweight="bold")
        canvas.legend(
            list(labels.values()), list(labels), loc="outside lower left", frameon=False,
            ncols=max(2, columns), fontsize=8.5, handlelength=3.2, borderaxespad=0.8,
        )  # fmt: skip
        for path in paths:
            save(canvas, path)


def _labels(chart: Chart) -> dict[str, Any]:
    """Return one legend entry for each name in any panel."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    labels: dict[str, Any] = {}
    for panel in chart.panels:
        for each in panel.series:
            if each.kind == "spans":
                labels[each.name] = Patch(color=_SPAN_COLOURS[each.style % 3])
            else:
                labels[each.name] = Line2D([], [], **_look(each))
        if panel.level is not None and panel.level_name:
            labels[panel.level_name] = Line2D([], [], color=_GREY, lw=0.9, ls=(0, (1, 1.4)))
        if panel.marks and panel.marks_name:
            labels[panel.marks_name] = Line2D([], [], color="#D55E00", lw=1.2)
    return labels


def _look(series: Series) -> dict[str, Any]:
    style = line_style(series.style)
    if series.kind == "guide":
        return {"color": _GREY, "ls": style.dashes, "lw": 0.9}
    return {
        "color": style.colour, "ls": style.dashes, "marker": style.marker, "ms": 4.5, "lw": 1.5,
    }  # fmt: skip


def _draw_panel(axes: Any, panel: Panel) -> None:
    for series in panel.series:
        if series.kind == "spans":
            ends = series.to or series.x
            axes.barh(
                series.y, [end - start for start, end in zip(series.x, ends, strict=True)],
                left=series.x, height=0.28, color=_SPAN_COLOURS[series.style % 3], lw=0,
            )  # fmt: skip
            continue
        look = _look(series)
        axes.plot(series.x, series.y, **look)
        if series.low is not None and series.high is not None:
            axes.fill_between(
                series.x, series.low, series.high, color=look["color"], alpha=0.16, lw=0
            )
    for mark in panel.marks:
        axes.axvline(mark, color="#D55E00", lw=1.2)
    if panel.level is not None:
        axes.axhline(panel.level, color=_GREY, lw=0.9, ls=(0, (1, 1.4)))
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
        heights = [y for series in panel.series for y in series.y if y > 0]
        if heights:  # by the means: the interval of two runs may span decades
            axes.set_ylim(min(heights) / 1.6, max(heights) * 1.6)
    places = sorted({x for series in panel.series if series.kind == "line" for x in series.x})
    _ticks(axes.xaxis, panel.x_log, places if len(places) <= _FEW else [])
    _ticks(axes.yaxis, panel.y_log)


def _ticks(axis: Any, log: bool, places: Sequence[float] = ()) -> None:
    """Write 5k and 1M instead of powers, and nothing at the ticks between.

    Where something was measured at a few places only, these are the ticks.
    """
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullFormatter, NullLocator

    if log and places:
        axis.set_major_locator(FixedLocator(list(places)))
        axis.set_minor_locator(NullLocator())
    elif log:
        low, high = sorted(axis.get_view_interval())
        decades = high / low if low > 0 else 10
        subs = (1.0,) if decades > 300 else (1.0, 2.0, 5.0) if decades > 3 else tuple(range(1, 10))
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda value, _: short(value))
