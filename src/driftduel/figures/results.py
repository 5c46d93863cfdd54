"""Figures of many games for a paper, legible at the width of a column.

`driftduel.lab.findings.read_findings` computes the data. `COLUMN` and `PAGE` are the widths of one
and of two columns of a conference paper; a saved file has exactly the requested width.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from driftduel._internal.wording import decimals, ratio, short
from driftduel.errors import DriftduelError
from driftduel.figures.lines import LineStyle, line_style, wrapped
from driftduel.figures.style import arm_colour, figure, plain, save
from driftduel.specs import near

if TYPE_CHECKING:
    from driftduel.lab import Findings, Standing, Trend, WorldFindings

__all__ = [
    "COLUMN",
    "PAGE",
    "Legend",
    "Width",
    "far_apart",
    "plot_heat",
    "plot_regret",
    "plot_restarts",
    "plot_shares",
    "plot_totals",
    "plot_trend",
]

Paths = str | Path | Sequence[str | Path]
Policies = Sequence[int | str]
Labels = Mapping[str, str]
Legend = Literal["auto", "below", "outside", "inside"] | None
Width = float | Literal["column", "page"]

COLUMN = 3.25
"""The width of a column, in inches."""
PAGE = 6.75
"""The width of a page with two columns, in inches."""
_WIDTHS = {"column": COLUMN, "page": PAGE}
_LEGENDS = ("auto", "below", "outside", "inside", None)
_LETTER = 0.058  # inches per character of a legend, on average
_KEY = 0.5  # inches of a legend's line, with the space around a name
_PANEL = 2.1  # minimum width of a facet in inches, so that tick labels do not overlap
_MOST_LINES = 8
_MOST_ROWS = 25
_MOST_PANELS = 3
_ROOM = 10  # maximum number of characters of a name in a phase
_SMALL = 7
_GREY = "#777777"
_HATCHES = ("", "///", "\\\\\\", "xxx", "---", "|||", "+++", "...")
# Minimum ratio of the largest to the smallest value for which the default axis is logarithmic.
_FAR_APART = 5


def plot_regret(
    world: "WorldFindings | Sequence[WorldFindings]",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    log: bool | None = None,
    logx: bool = False,
    ax: Any = None,
    legend: Legend = "auto",
    width: Width | None = None,
    columns: int | None = None,
    common: str = "",
    title: str | None = None,
    xlabel: str = "round",
    ylabel: str | None = None,
    labels: Labels | None = None,
) -> Any:
    """Plot regret over time with 95% bands above the true phases.

    Parameters
    ----------
    world
        The findings of a world; a list gives one facet per world with a common legend.
    path
        PNG, SVG or PDF file to write; a list writes the same figure in several formats.
    policies
        Names, or indices in the plan; default: the best eight.
    log
        Whether regret has a log axis; default: whether the values differ by a large factor.
    logx
        Whether rounds have a log axis, of the last three decades.
    ax
        matplotlib axes to draw into, for one world only; default: a new figure.
    legend
        ``below`` the panels, ``outside`` on the right, ``inside`` the (first) panel, or None for
        no legend. ``auto`` is ``below``, and ``inside`` on given axes.
    width
        Width of the figure and its files: ``column`` (3.25 inches), ``page`` (6.75 inches), or a
        number of inches. Default: ``column`` for one world, ``page`` for several.
    columns
        Number of facets per row; default: as many as fit.
    common
        The common part of the specs, shown above all facets, see `Findings`.
    title
        The title; default: the world's spec, or no title on given axes.
    xlabel, ylabel
        The labels of the axes.
    labels
        Display names of policies, and of worlds above their facets, by spec.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure, or the argument `ax`.

    Raises
    ------
    DriftduelError
        If an argument is invalid or a policy has no results.
    """
    worlds = list(world) if isinstance(world, Sequence) else [world]
    if not worlds:
        raise DriftduelError("no world is given; pass at least one.")
    if len(worlds) > 1 and ax is not None:
        raise DriftduelError("ax= is for one world; omit it for facets.")
    if columns is not None and columns < 1:
        raise DriftduelError(f"columns={columns} must be a whole number at least 1.")
    check_legend(legend)
    every = {s.policy: s for each in worlds for s in each.standings}
    chosen = (
        _best_over(worlds)[:_MOST_LINES] if policies is None
        else list(dict.fromkeys(policy_places(list(every.values()), policies)))
    )  # fmt: skip
    shown = [_select_standings(each, chosen, len(chosen)) for each in worlds]
    if log is None:
        log = any(far_apart([s.mean for s in standings]) for standings in shown)
    drawn = {s.policy for standings in shown for s in standings}
    keys = [every[place] for place in chosen if place in drawn]
    names, styles = policy_labels(keys, labels), [line_style(s.policy) for s in keys]
    inches = width_in_inches(width, COLUMN if len(worlds) == 1 else PAGE)
    across = _facets_across(len(worlds), inches, columns)
    rows = math.ceil(len(worlds) / across)
    key = LegendKey(
        names, styles, "inside" if ax is not None and legend == "auto" else legend, inches
    )
    height = 1.9 if rows == across == 1 else 1.55
    with _sheets(ax, rows, across, height, key.height, inches) as (canvas, panels):
        for place, (each, standings) in enumerate(zip(worlds, shown, strict=True)):
            _draw_regret(panels[place], each, standings, log=log, logx=logx)
            words = each.loss + " (log axis)" * log
            if place % across == 0:
                panels[place].set_ylabel(words if ylabel is None else ylabel)
            if place + across >= len(worlds):
                panels[place].set_xlabel(xlabel + " (log axis)" * (logx and xlabel == "round"))
            if len(worlds) > 1:
                called = (labels or {}).get(each.spec)
                panels[place].set_title(
                    _broken(each.label, max(12, int((inches / across - 1.0) / _LETTER)))
                    if called is None
                    else called,
                    fontsize=_SMALL + 0.5, weight="normal", pad=4,
                )  # fmt: skip
        for unused in panels[len(worlds) :]:
            unused.remove()
        key.draw(canvas, panels[0])
        more = f"the {len(keys)} best of {len(every)}" if len(keys) < len(every) else ""
        usual = worlds[0].spec if len(worlds) == 1 else common
        return finish(canvas, panels[0], path, title, usual, "" if policies else more)


def _draw_regret(
    panel: Any, world: "WorldFindings", shown: Sequence["Standing"], *, log: bool, logx: bool
) -> None:
    """Draw the curves of one world into a panel."""
    first = max(1.0, world.rounds / 1000) if logx else 0.0
    draw_phases(panel, world)
    least = _least_drawn(world, shown, max(first, world.rounds / 100 * (not logx))) if log else 0.0
    for place, standing in enumerate(shown):
        style = line_style(standing.policy)
        curve = world.curves[standing.policy]
        if curve.low is not None and curve.high is not None:
            panel.fill_between(
                world.at, curve.low.clip(least), curve.high.clip(least), color=style.colour,
                alpha=0.18, lw=0,
            )  # fmt: skip
        end = world.at[-1]
        marks = np.linspace(end / 9, end, 8) - end / 40 * (place % 4)
        if logx:
            marks = np.geomspace(max(first, 1) * 2, end, 8) * 0.93 ** (place % 4)
        at = np.searchsorted(world.at, marks).clip(0, len(world.at) - 1)
        panel.plot(
            world.at, curve.mean, color=style.colour, ls=style.dashes, lw=1.4,
            marker=style.marker, ms=3.4, markevery=at.tolist(),
        )  # fmt: skip
    if log:
        panel.set_yscale("log")
        _plain_log(panel.yaxis)
    panel.set_ylim(bottom=least)
    if logx:
        panel.set_xscale("log")
        _plain_log(panel.xaxis, (1.0,))
    else:
        round_ticks(panel)
    panel.set_xlim(first, world.rounds)


def plot_totals(
    world: "WorldFindings",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    log: bool | None = None,
    ax: Any = None,
    title: str | None = None,
    xlabel: str | None = None,
    width: Width | None = None,
    labels: Labels | None = None,
) -> Any:
    """Plot the regret of every policy with its 95% interval, best on top; see `plot_regret`."""
    shown = _select_standings(world, policies, _MOST_ROWS)
    with sheet(ax, 0.3 + 0.2 * len(shown), width_in_inches(width)) as (canvas, panel):
        for row, standing in enumerate(shown):
            style = line_style(standing.policy)
            low = standing.mean if standing.low is None else standing.low
            high = standing.mean if standing.high is None else standing.high
            panel.plot([low, high], [row, row], color=style.colour, lw=2, solid_capstyle="butt")
            panel.plot(standing.mean, row, style.marker, color=style.colour, ms=4.5)
        _policy_ticks(panel, policy_labels(shown, labels))
        log = far_apart([standing.mean for standing in shown]) if log is None else log
        if log:
            panel.set_xscale("log")
            _plain_log(panel.xaxis)
        else:
            panel.set_xlim(left=0)
        words = f"{world.loss}, 95% interval" + " (log axis)" * log
        panel.set_xlabel(words if xlabel is None else xlabel)
        panel.grid(axis="x", lw=0.4, color="#cccccc")
        return finish(canvas, panel, path, title, world.spec)


def plot_heat(
    findings: "Findings",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    ax: Any = None,
    title: str | None = None,
    label: str = "regret / the best's",
    width: Width | None = None,
    labels: Labels | None = None,
) -> Any:
    """Plot the ratio to the lowest regret, for every policy in every world.

    See `plot_regret` for the parameters; `label` is the label of the colour bar.
    """
    worlds = findings.worlds
    every = {s.policy: s for world in worlds for s in world.standings}
    chosen = findings.ranking if policies is None else policy_places(list(every.values()), policies)
    shown = [every[place] for place in chosen][:_MOST_ROWS]
    ratios = np.array([[_ratio(world, standing) for world in worlds] for standing in shown])
    inches = width_in_inches(width, max(COLUMN, 1.5 + 0.42 * len(worlds)))
    with sheet(ax, 0.5 + 0.2 * len(shown), inches) as (canvas, panel):
        largest = max(2.0, float(np.nanmax(ratios, initial=1.0)))
        image = panel.imshow(
            np.log(ratios), cmap="cividis_r", vmin=0, vmax=math.log(largest), aspect="auto"
        )
        for (row, column), value in np.ndenumerate(ratios):
            dark = math.log(max(value, 1.0)) > 0.55 * math.log(largest) if value > 0 else False
            panel.text(
                column, row, ratio(None if np.isnan(value) else value), ha="center", va="center",
                fontsize=_SMALL - 0.5, color="white" if dark else "black",
                weight="bold" if value == 1 else "normal",
            )  # fmt: skip
        panel.set_yticks(
            range(len(shown)),
            [_broken(each) for each in policy_labels(shown, labels)],
            fontsize=_SMALL,
        )
        panel.set_xticks(
            range(len(worlds)), [_broken(world.label, 16) for world in worlds],
            fontsize=_SMALL - 0.5, rotation=90 if len(worlds) > 3 else 0,
        )  # fmt: skip
        panel.tick_params(length=0)
        for side in panel.spines.values():
            side.set_visible(False)
        bar = panel.figure.colorbar(image, ax=panel, pad=0.02, shrink=0.9)
        ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 1000) if t <= largest]
        bar.set_ticks(np.log(ticks), labels=[f"{t}" for t in ticks], fontsize=_SMALL)
        bar.set_label(label, fontsize=_SMALL)
        return finish(canvas, panel, path, title, findings.common)


def plot_trend(
    trend: "Trend",
    findings: "Findings",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    ax: Any = None,
    legend: Legend = "auto",
    width: Width | None = None,
    title: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    labels: Labels | None = None,
) -> Any:
    """Plot regret against the horizon, or the switches, on log-log axes with fitted lines.

    See `plot_regret` for the parameters; the slopes are in the legend.
    """
    every = {s.policy: s for world in findings.worlds for s in world.standings}
    chosen = findings.ranking if policies is None else policy_places(list(every.values()), policies)
    shown = [every[place] for place in chosen if place in trend.lines]
    shown = shown[:_MOST_LINES] if policies is None else shown
    check_legend(legend)
    names = [
        _with_slope(label, trend.lines[standing.policy].slope)
        for standing, label in zip(shown, policy_labels(shown, labels), strict=True)
    ]
    styles = [line_style(standing.policy) for standing in shown]
    where = "inside" if ax is not None and legend == "auto" else legend
    key = LegendKey(names, styles, where, width_in_inches(width))
    with sheet(ax, 1.9 + key.height, width_in_inches(width)) as (canvas, panel):
        for standing in shown:
            line, style = trend.lines[standing.policy], line_style(standing.policy)
            errors = None
            if line.lows is not None and line.highs is not None:
                lows = line.lows.clip(line.means * 1e-3)
                errors = np.array([line.means - lows, line.highs - line.means])
            panel.errorbar(
                trend.x, line.means, errors, fmt=style.marker, color=style.colour, ms=4,
                elinewidth=1, capsize=1.5,
            )  # fmt: skip
            if line.slope is not None:
                panel.plot(
                    trend.x, np.exp(line.level + line.slope * np.log(trend.x)),
                    color=style.colour, ls=style.dashes, lw=1.3,
                )  # fmt: skip
        panel.set(xscale="log", yscale="log")
        panel.set_ylabel(trend.loss if ylabel is None else ylabel)
        _plain_log(panel.yaxis)
        words = "rounds T" if trend.axis == "rounds" else "switches S"
        panel.set_xlabel(words if xlabel is None else xlabel)
        panel.set_xticks(trend.x, [short(x, 4) for x in trend.x], minor=False)
        panel.set_xticks([], minor=True)
        panel.grid(axis="y", lw=0.4, color="#cccccc")
        key.draw(canvas, panel)
        return finish(canvas, panel, path, title, trend.common, "in brackets: the slope")


def plot_restarts(
    world: "WorldFindings",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    title: str | None = None,
    width: Width | None = None,
    labels: Labels | None = None,
) -> Any:
    """Plot the rounds of restarts with the true switches, and the number of false alarms.

    Policies without restarts are omitted. See `plot_regret` for the parameters.
    """
    chosen = _select_standings(world, policies, len(world.standings))
    shown = [standing for standing in chosen if standing.restarts > 0][:_MOST_ROWS]
    called = policy_labels(shown, labels)
    height = 0.25 + 0.22 * max(1, len(shown))
    with figure(2, [height, height], width_in_inches(width), shared=False) as (
        canvas,
        (counts, times),
    ):
        _draw_counts(counts, world, shown)
        _draw_times(times, world, shown)
        for panel in (counts, times):
            _policy_ticks(panel, called)
        canvas.legend(
            *counts.get_legend_handles_labels(), loc="outside lower center", ncols=3,
            frameon=False, fontsize=_SMALL, handlelength=1.4, columnspacing=1.0,
        )  # fmt: skip
        return finish(canvas, counts, path, title, world.spec)


def _draw_counts(panel: Any, world: "WorldFindings", shown: Sequence["Standing"]) -> None:
    """Draw bars with the numbers of restarts and false alarms, and the number of true switches."""
    rows = range(len(shown))
    needed = np.array([s.restarts - s.needless for s in shown])
    needless = np.array([s.needless for s in shown])
    panel.barh(rows, needed, color="#0072B2", height=0.62, label="after a switch")
    panel.barh(
        rows, needless, left=needed, color="white", edgecolor="#D55E00", hatch="//////",
        height=0.62, label="needless",
    )  # fmt: skip
    panel.axvline(world.changes.mean, color="black", lw=1.2, ls="--", label="true switches")
    panel.set_xlabel("restarts a run")
    largest = max([*(needed + needless), world.changes.mean])
    if largest > 20 * max(world.changes.mean, 1):
        panel.set_xscale("symlog", linthresh=max(world.changes.mean, 1))
        panel.xaxis.set_major_formatter(lambda value, _: short(value, 4))
    panel.set_xlim(left=0)


def _draw_times(panel: Any, world: "WorldFindings", shown: Sequence["Standing"]) -> None:
    """Draw the rounds of restarts as ticks."""
    draw_phases(panel, world)
    for row, standing in enumerate(shown):
        rounds = world.restarts.get(standing.policy, ())
        panel.plot(
            rounds, [row] * len(rounds), "|", ms=8, mew=1.1,
            color=line_style(standing.policy).colour,
        )  # fmt: skip
    panel.set(xlim=(0, world.rounds))
    panel.set_xlabel("round of a restart" + (" (one run)" if world.restarts_of_example else ""))
    round_ticks(panel)


def plot_shares(
    world: "WorldFindings",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    title: str | None = None,
    xlabel: str = "round",
    width: Width | None = None,
    labels: Labels | None = None,
) -> Any:
    """Plot the share of plays of each arm over time, and the best arm below.

    See `plot_regret` for the parameters; the default policies are the best three.
    """
    chosen = _select_standings(world, policies, len(world.standings))
    shown = [standing for standing in chosen if standing.policy in world.shares]
    shown = shown[:_MOST_PANELS] if policies is None else shown
    phases = world.phases
    heights = [0.95] * len(shown) + [0.22] * bool(phases)
    with figure(len(heights), heights, width_in_inches(width)) as (canvas, panels):
        import matplotlib as mpl

        mpl.rcParams["hatch.linewidth"] = 0.45  # `figure` restores the old value
        drawn: dict[int, Any] = {}
        for panel, standing, label in zip(
            panels, shown, policy_labels(shown, labels), strict=False
        ):
            drawn.update(_draw_shares(panel, world, standing.policy))
            panel.set_title(label, fontsize=_SMALL + 0.5, weight="normal", pad=3)
        if phases:
            _draw_best_arms(panels[-1], world)
        panels[-1].set_xlabel(xlabel)
        round_ticks(panels[-1])
        ordered = sorted(drawn.items())
        called = [
            "others" if arm == world.arms else plain(world.called(arm, "")) for arm, _ in ordered
        ]
        canvas.legend(
            [patch for _, patch in ordered], called, title="arm",
            loc="outside right upper", frameon=False, fontsize=_SMALL, title_fontsize=_SMALL,
            handlelength=1.1, handleheight=1.1, borderpad=0.1,
        )  # fmt: skip
        return finish(canvas, panels[0], path, title, world.spec)


def _draw_shares(panel: Any, world: "WorldFindings", policy: int) -> dict[int, Any]:
    """Draw the shares of one policy; return the artist of each arm, with key K for all others."""
    edges = np.concatenate(([0], world.slice_ends))
    shares = world.shares[policy]
    arms = list(shares.arms)
    colours = [arm_colour(arm) for arm in shares.arms]
    hatches = [_HATCHES[arm % len(_HATCHES)] for arm in shares.arms]
    if shares.shares.shape[1] > len(arms):
        arms.append(world.arms)
        colours.append("#dddddd")
        hatches.append("")
    below = np.zeros(len(world.slice_ends))
    drawn = {}
    for i, arm in enumerate(arms):
        top = below + shares.shares[:, i]
        drawn[arm] = panel.stairs(
            top, edges, baseline=below, fill=True, facecolor=colours[i],
            edgecolor="white", hatch=hatches[i], lw=0.3,
        )  # fmt: skip
        below = top
    panel.set(ylim=(0, 1), xlim=(0, world.rounds), yticks=[0, 0.5, 1])
    panel.set_yticklabels(["0", "½", "1"], fontsize=_SMALL)
    for change, _ in (world.winners or ())[1:]:
        panel.axvline(change, color="black", lw=0.9)
    return drawn


def _draw_best_arms(panel: Any, world: "WorldFindings") -> None:
    for first, last, winner in world.phases:
        colour = "white" if winner is None else arm_colour(winner)
        panel.axvspan(first, last + 1, color=colour, lw=0)
        if last - first > world.rounds / 25:
            panel.text(
                (first + last) / 2, 0.5, _best(world, winner), ha="center",
                va="center_baseline", fontsize=_SMALL, weight="bold", color="white",
                bbox={"boxstyle": "round,pad=0.1", "fc": "#000000a0", "ec": "none"},
            )  # fmt: skip
    panel.set(ylim=(0, 1), yticks=[0.5], xlim=(0, world.rounds))
    panel.set_yticklabels(["best"], fontsize=_SMALL)
    panel.tick_params(axis="y", length=0)


def _best(world: "WorldFindings", winner: int | None) -> str:
    """Return a label of the best arm that is short enough for a phase."""
    name = "-" if winner is None else world.called(winner, "")
    return plain(name if len(name) <= _ROOM else f"{name[: _ROOM - 1]}…")


def draw_phases(panel: Any, world: "WorldFindings") -> None:
    """Shade every second phase, and draw lines at changes, thicker for more runs."""
    changes = world.changes
    edges = [0, *changes.rounds, world.rounds + 1]
    if len(changes.rounds) > 60:
        return
    for first, end in list(pairwise(edges))[1::2]:
        panel.axvspan(first, end, color="#000000", alpha=0.055, lw=0)
    for t, count in zip(changes.rounds, changes.counts, strict=True):
        share = 1.0 if changes.example else count / changes.runs
        panel.axvline(t, color=_GREY, lw=0.4 + 0.6 * share, ls=":", zorder=0.5)


@contextmanager
def sheet(ax: Any, height: float, width: float) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its panel; for given axes, yield None and these axes."""
    with _sheets(ax, 1, 1, height, 0.0, width) as (canvas, (panel,)):
        yield canvas, panel


@contextmanager
def _sheets(
    ax: Any, rows: int, columns: int, height: float, legend: float, width: float
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield a figure with a grid of panels and space for a legend, or the given axes."""
    if ax is not None:
        yield None, [ax]
        return
    heights = [height + legend / rows] * rows
    with figure(rows, heights, width, shared=False, columns=columns) as (canvas, panels):
        yield canvas, panels


def width_in_inches(width: Width | None, usual: float = COLUMN) -> float:
    """Return the width of a figure in inches."""
    if width is None:
        return usual
    if isinstance(width, str):
        if width not in _WIDTHS:
            raise DriftduelError(f"width={width!r} must be column, page, or a number of inches.")
        return _WIDTHS[width]
    if not 1 <= width <= 100:
        raise DriftduelError(f"width={width} must be between 1 and 100 inches.")
    return float(width)


def _facets_across(worlds: int, width: float, columns: int | None) -> int:
    """Return the number of facets per row that fills all rows about equally."""
    most = columns or max(1, int(width / _PANEL))
    return math.ceil(worlds / math.ceil(worlds / most))


def check_legend(legend: Legend) -> None:
    if legend not in _LEGENDS:
        raise DriftduelError(f"legend={legend!r} must be below, outside, inside, auto or None.")


def finish(
    canvas: Any, panel: Any, path: Paths | None, title: str | None, usual: str, more: str = ""
) -> Any:
    """Set the title, write the files, and return the figure, or the unchanged given axes.

    Parameters
    ----------
    canvas
        The figure; None for given axes.
    panel
        The axes.
    path
        The files to write.
    title
        The title; None for the default.
    usual, more
        The default title, a spec, and an explanation below it.
    """
    if canvas is not None and title is None:
        _title(canvas, usual, more)
    elif canvas is not None:
        canvas.suptitle(title, fontsize=_SMALL + 2, x=0.01, ha="left")
    elif title is not None:
        panel.set_title(title)
    if path is not None:
        _save(canvas or panel.figure, path, ours=canvas is not None)
    return canvas or panel


def far_apart(means: Sequence[float]) -> bool:
    """Return whether the ratio of the largest to the smallest mean requires a log axis."""
    return min(means) > 0 and max(means) > _FAR_APART * min(means)


def _least_drawn(world: "WorldFindings", shown: Sequence["Standing"], since: float) -> float:
    """Return the lower limit of a log axis: the minimum regret in the first visible round."""
    early = int(np.searchsorted(world.at, since))
    losses = [float(world.curves[standing.policy].mean[early]) for standing in shown]
    last = min(standing.mean for standing in shown)
    return max(min(losses), last / 1000)


def _ratio(world: "WorldFindings", standing: "Standing") -> float:
    ratios = [s.ratio for s in world.standings if s.policy == standing.policy]
    return math.nan if not ratios or ratios[0] is None else ratios[0]


def _select_standings(
    world: "WorldFindings", policies: Policies | None, most: int
) -> list["Standing"]:
    """Return the best policies of a world, or the requested ones in the given order."""
    ranked = [s for s in world.ranked if s.policy in world.curves]
    if policies is None:
        return ranked[:most]
    by_place = {standing.policy: standing for standing in ranked}
    return [by_place[place] for place in policy_places(ranked, policies) if place in by_place]


def _best_over(worlds: Sequence["WorldFindings"]) -> list[int]:
    """Return indices of policies, best first, by the mean log ratio to the best of each world."""
    if len(worlds) == 1:
        return [s.policy for s in worlds[0].ranked if s.policy in worlds[0].curves]
    logs: dict[int, list[float]] = {}
    for world in worlds:
        for s in world.standings:
            logs.setdefault(s.policy, []).append(math.log(s.ratio) if s.ratio else math.inf)
    return sorted(logs, key=lambda policy: (sum(logs[policy]) / len(logs[policy]), policy))


def policy_places(standings: Sequence["Standing"], policies: Policies) -> list[int]:
    """Return indices in the plan of policies that are given by name or by index."""
    by_name = {standing.name: standing.policy for standing in standings}
    for policy in [policies] if isinstance(policies, str) else policies:
        if isinstance(policy, str) and policy not in by_name:
            raise DriftduelError(f"policy {policy!r} has no results; {near(policy, by_name)}")
    given = [policies] if isinstance(policies, str) else policies
    return [by_name[policy] if isinstance(policy, str) else policy for policy in given]


def policy_labels(standings: Sequence["Standing"], labels: Labels | None) -> list[str]:
    return [(labels or {}).get(standing.name) or plain(standing.name) for standing in standings]


def _policy_ticks(panel: Any, labels: Sequence[str]) -> None:
    panel.set_yticks(range(len(labels)), [_broken(label) for label in labels], fontsize=_SMALL)
    panel.set_ylim(len(labels) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)


def _broken(spec: str, width: int = 24, most: int = 4) -> str:
    """Return a name in a few short lines; the middle of a long one, such as a path, is cut."""
    lines = [
        line if len(line) <= width + 8 else f"{line[: width // 2]}...{line[-width // 2 :]}"
        for line in wrapped(spec, width)
    ]
    return "\n".join(lines if len(lines) <= most else [*lines[: most - 1], "..."])


def round_ticks(panel: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.xaxis.set_major_formatter(lambda t, _: short(t, 4))


def _with_slope(name: str, slope: float | None) -> str:
    return name if slope is None else f"{name}  ({decimals(slope)})"


def _plain_log(axis: Any, steps: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Format ticks of a log axis as 200 and 5k, not as powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=steps, numticks=8))
    axis.set_major_formatter(lambda value, _: short(value, 4))
    axis.set_minor_formatter(NullFormatter())


class LegendKey:
    """The legend: its position, and the height in inches that it needs there."""

    def __init__(
        self, names: Sequence[str], styles: Sequence[LineStyle], where: Legend, width: float
    ) -> None:
        self.where = "below" if where == "auto" else where
        room = width - _KEY if self.where == "below" else min(1.6, width / 2)
        self.names = [_broken(name, max(8, int(room / _LETTER))) for name in names]
        self.styles = styles
        longest = max((len(line) for name in self.names for line in name.split("\n")), default=0)
        across = int(width / (_KEY + _LETTER * longest)) if self.where == "below" else 1
        self.columns = max(1, min(across, len(names)))
        rows = math.ceil(len(names) / self.columns)
        lines = max((name.count("\n") + 1 for name in self.names), default=0)
        self.height = 0.14 * rows * lines if self.where == "below" else 0.0

    def draw(self, canvas: Any, panel: Any) -> None:
        """Draw the legend into the figure, or into given axes of another figure."""
        from matplotlib.lines import Line2D

        if self.where is None or not self.names:
            return
        handles = [
            Line2D([], [], color=s.colour, ls=s.dashes, marker=s.marker, ms=3.6, lw=1.4)
            for s in self.styles
        ]
        inside = self.where == "inside"
        settings: dict[str, Any] = {"loc": "best"}
        if not inside and canvas is not None:
            below, outside = "outside lower left", "outside right upper"
            settings = {"loc": below if self.where == "below" else outside}
        elif not inside:
            corner = (0.0, -0.25) if self.where == "below" else (1.02, 1.0)
            settings = {"loc": "upper left", "bbox_to_anchor": corner, "borderaxespad": 0.0}
        where = panel if inside or canvas is None else canvas
        where.legend(
            handles, self.names, frameon=inside, framealpha=0.85, edgecolor="none",
            fontsize=_SMALL, ncols=self.columns, handlelength=3.2, columnspacing=0.8,
            borderpad=0.1, labelspacing=0.35, **settings,
        )  # fmt: skip


def _title(canvas: Any, text: str, more: str = "") -> None:
    letters = int(canvas.get_figwidth() / _LETTER * _SMALL / (_SMALL - 1)) - 2
    lines = [_broken(text, letters)] if text else []
    if more:
        lines.append(more)
    if not lines:
        return
    canvas.suptitle("\n".join(lines), fontsize=_SMALL - 1, color="#444444", x=0.01, ha="left")


def _save(canvas: Any, path: Paths, *, ours: bool) -> None:
    """Write a figure to files; a figure created here keeps its layout between files."""
    for file in [path] if isinstance(path, str | Path) else path:
        save(canvas, file)
        if ours:
            canvas.set_layout_engine("none")  # the first file has computed the layout
