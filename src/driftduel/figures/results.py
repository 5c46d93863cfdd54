"""Figures of many games for a paper, legible at the width of a column.

`driftduel.figures.findings.read_findings` computes what they show.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from driftduel.figures.findings import Findings, Standing, Trend, WorldFindings
from driftduel.figures.lines import LineStyle, line_style, wrapped
from driftduel.figures.style import arm_colour, figure, save

__all__ = [
    "plot_heat",
    "plot_regret",
    "plot_restarts",
    "plot_shares",
    "plot_totals",
    "plot_trend",
]

Paths = str | Path | Sequence[str | Path]

_COLUMN = 3.3  # inches
_MOST_LINES = 8
_MOST_ROWS = 25
_MOST_PANELS = 3
_SMALL = 7
_GREY = "#777777"
_HATCHES = ("", "///", "\\\\\\", "xxx", "---", "|||", "+++", "...")


def plot_regret(world: WorldFindings, paths: Paths, policies: Sequence[int] | None = None) -> None:
    """Draw regret over time with bands over the true phases.

    Parameters
    ----------
    world
        What to show.
    paths
        PNG, SVG or PDF; several to write the same figure several times.
    policies
        Which, by their place in the plan; the best eight unless given.
    """
    shown = _best(world, policies)
    names = [standing.name for standing in shown]
    with figure(1, [1.9 + _legend_height(names)], width=_COLUMN) as (canvas, (panel,)):
        _draw_phases(panel, world)
        for place, standing in enumerate(shown):
            style = line_style(standing.policy)
            curve = world.curves[standing.policy]
            if curve.low is not None and curve.high is not None:
                panel.fill_between(
                    world.at, curve.low.clip(0), curve.high, color=style.colour, alpha=0.18, lw=0
                )
            marks = np.linspace(world.at[-1] / 9, world.at[-1], 8) - world.at[-1] / 40 * (place % 4)
            panel.plot(
                world.at, curve.mean, color=style.colour, ls=style.dashes, lw=1.4,
                marker=style.marker, ms=3.4, markevery=np.searchsorted(world.at, marks).tolist(),
            )  # fmt: skip
        panel.set(xlim=(0, world.rounds), xlabel="round", ylabel=world.loss)
        panel.set_ylim(bottom=0)
        _round_ticks(panel)
        _legend(canvas, names, [line_style(s.policy) for s in shown])
        left = len(world.standings) - len(shown)
        _title(canvas, world.spec, f"the {len(shown)} best of {len(world.standings)}" * bool(left))
        _save(canvas, paths)


def plot_totals(world: WorldFindings, paths: Paths, policies: Sequence[int] | None = None) -> None:
    """Draw every policy's regret with its 95 % interval, best on top."""
    shown = _best(world, policies, _MOST_ROWS)
    with figure(1, [0.3 + 0.2 * len(shown)], width=_COLUMN) as (canvas, (panel,)):
        for row, standing in enumerate(shown):
            style = line_style(standing.policy)
            low = standing.mean if standing.low is None else standing.low
            high = standing.mean if standing.high is None else standing.high
            panel.plot([low, high], [row, row], color=style.colour, lw=2, solid_capstyle="butt")
            panel.plot(standing.mean, row, style.marker, color=style.colour, ms=4.5)
        _policy_ticks(panel, shown)
        means = [s.mean for s in shown]
        if min(means) > 0 and max(means) > 20 * min(means):
            panel.set_xscale("log")
            _plain_log(panel.xaxis)
        else:
            panel.set_xlim(left=0)
        panel.set_xlabel(f"{world.loss}, with 95 % interval")
        panel.grid(axis="x", lw=0.4, color="#cccccc")
        _title(canvas, world.spec)
        _save(canvas, paths)


def plot_heat(findings: Findings, paths: Paths) -> None:
    """Draw, for every policy in every world, how many times the best's regret it has."""
    worlds = findings.worlds
    policies = findings.ranking()[:_MOST_ROWS]
    names = {s.policy: s.name for world in worlds for s in world.standings}
    ratios = np.full((len(policies), len(worlds)), np.nan)
    for column, world in enumerate(worlds):
        for standing in world.standings:
            if standing.policy in policies and standing.ratio is not None:
                ratios[policies.index(standing.policy), column] = standing.ratio
    width = max(_COLUMN, 1.5 + 0.42 * len(worlds))
    with figure(1, [0.5 + 0.2 * len(policies)], width=width) as (canvas, (panel,)):
        largest = max(2.0, float(np.nanmax(ratios, initial=1.0)))
        image = panel.imshow(
            np.log(ratios), cmap="cividis_r", vmin=0, vmax=math.log(largest), aspect="auto"
        )
        for (row, column), ratio in np.ndenumerate(ratios):
            dark = math.log(max(ratio, 1.0)) > 0.55 * math.log(largest) if ratio > 0 else False
            panel.text(
                column, row, "-" if np.isnan(ratio) else f"{ratio:.{1 if ratio >= 10 else 2}f}",
                ha="center", va="center", fontsize=_SMALL - 0.5, color="white" if dark else "black",
                weight="bold" if ratio == 1 else "normal",
            )  # fmt: skip
        panel.set_yticks(
            range(len(policies)), [_broken(names[p]) for p in policies], fontsize=_SMALL
        )
        panel.set_xticks(
            range(len(worlds)), [_broken(world.label, 16) for world in worlds],
            fontsize=_SMALL - 0.5, rotation=90 if len(worlds) > 3 else 0,
        )  # fmt: skip
        panel.tick_params(length=0)
        for side in panel.spines.values():
            side.set_visible(False)
        bar = canvas.colorbar(image, ax=panel, pad=0.02, shrink=0.9)
        ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 1000) if t <= largest]
        bar.set_ticks(np.log(ticks), labels=[f"{t}" for t in ticks], fontsize=_SMALL)
        bar.set_label("regret / the best's", fontsize=_SMALL)
        _title(canvas, findings.common)
        _save(canvas, paths)


def plot_trend(
    trend: Trend, findings: Findings, paths: Paths, policies: Sequence[int] | None = None
) -> None:
    """Draw regret against the horizon, or the switches, on log-log axes with fitted lines."""
    names = [policy.spec for policy in findings.plan.policies]
    ranking = policies or findings.ranking()
    shown = [policy for policy in ranking if policy in trend.lines][:_MOST_LINES]
    labels = [_with_slope(names[policy], trend.lines[policy].slope) for policy in shown]
    with figure(1, [1.9 + _legend_height(labels)], width=_COLUMN) as (canvas, (panel,)):
        for policy in shown:
            line, style = trend.lines[policy], line_style(policy)
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
        panel.set(xscale="log", yscale="log", ylabel=trend.loss)
        _plain_log(panel.yaxis)
        panel.set_xlabel("rounds T" if trend.axis == "rounds" else "switches S")
        panel.set_xticks(trend.x, [_short(x) for x in trend.x], minor=False)
        panel.set_xticks([], minor=True)
        panel.grid(axis="y", lw=0.4, color="#cccccc")
        _legend(canvas, labels, [line_style(policy) for policy in shown])
        _title(canvas, trend.common, "in brackets: the slope")
        _save(canvas, paths)


def plot_restarts(world: WorldFindings, paths: Paths) -> None:
    """Draw when policies restarted against the true switches, and how many restarts were needless.

    Policies that never restart are left out.
    """
    shown = [s for s in world.ranked() if s.restarts > 0][:_MOST_ROWS]
    height = 0.25 + 0.22 * max(1, len(shown))
    with figure(1, [2 * height + 0.3], width=_COLUMN) as (canvas, (whole,)):
        whole.remove()
        counts, times = canvas.subplots(2, 1)  # one axis counts restarts, the other rounds
        rows = range(len(shown))
        needed = np.array([s.restarts - s.too_many for s in shown])
        needless = np.array([s.too_many for s in shown])
        counts.barh(rows, needed, color="#0072B2", height=0.62, label="after a switch")
        counts.barh(
            rows, needless, left=needed, color="white", edgecolor="#D55E00", hatch="//////",
            height=0.62, label="needless",
        )  # fmt: skip
        counts.axvline(world.changes.mean, color="black", lw=1.2, ls="--", label="true switches")
        _policy_ticks(counts, shown)
        counts.set_xlabel("restarts a run")
        largest = max([*(needed + needless), world.changes.mean])
        if largest > 20 * max(world.changes.mean, 1):
            counts.set_xscale("symlog", linthresh=max(world.changes.mean, 1))
            counts.xaxis.set_major_formatter(lambda value, _: _short(value))
        counts.set_xlim(left=0)
        _draw_phases(times, world)
        for row, standing in enumerate(shown):
            rounds = world.restarts.get(standing.policy, ())
            times.plot(
                rounds, [row] * len(rounds), "|", ms=8, mew=1.1,
                color=line_style(standing.policy).colour,
            )  # fmt: skip
        _policy_ticks(times, shown)
        times.set(xlim=(0, world.rounds))
        times.set_xlabel("round of a restart" + (" (one run)" if world.restarts_of_example else ""))
        _round_ticks(times)
        canvas.legend(
            *counts.get_legend_handles_labels(), loc="outside lower center", ncols=3,
            frameon=False, fontsize=_SMALL, handlelength=1.4, columnspacing=1.0,
        )  # fmt: skip
        _title(canvas, world.spec)
        _save(canvas, paths)


def plot_shares(world: WorldFindings, paths: Paths, policies: Sequence[int] | None = None) -> None:
    """Draw the share of plays of each arm over time, and the best arm underneath.

    Parameters
    ----------
    world, paths
        As for `plot_regret`.
    policies
        Which, by their place in the plan; the best three unless given.
    """
    order = policies or [s.policy for s in world.ranked()]
    shown = [policy for policy in order if policy in world.shares][:_MOST_PANELS]
    names = {s.policy: s.name for s in world.standings}
    phases = world.phases()
    heights = [0.95] * len(shown) + [0.22] * bool(phases)
    with figure(len(heights), heights, width=_COLUMN) as (canvas, panels):
        import matplotlib as mpl

        mpl.rcParams["hatch.linewidth"] = 0.45  # `figure` puts it back
        edges = np.concatenate(([0], world.slice_ends))
        drawn: dict[str, Any] = {}
        for panel, policy in zip(panels, shown, strict=False):
            of_policy = world.shares[policy]
            labels = [str(arm) for arm in of_policy.arms]
            colours = [arm_colour(arm) for arm in of_policy.arms]
            hatches = [_HATCHES[arm % len(_HATCHES)] for arm in of_policy.arms]
            if of_policy.shares.shape[1] > len(labels):
                labels.append("others")
                colours.append("#dddddd")
                hatches.append("")
            below = np.zeros(len(world.slice_ends))
            for i, label in enumerate(labels):
                top = below + of_policy.shares[:, i]
                drawn[label] = panel.stairs(
                    top, edges, baseline=below, fill=True, facecolor=colours[i],
                    edgecolor="white", hatch=hatches[i], lw=0.3,
                )  # fmt: skip
                below = top
            panel.set(ylim=(0, 1), xlim=(0, world.rounds), yticks=[0, 0.5, 1])
            panel.set_yticklabels(["0", "½", "1"], fontsize=_SMALL)
            panel.set_title(names[policy], fontsize=_SMALL + 0.5, weight="normal", pad=3)
            for change, _ in (world.winners or ())[1:]:
                panel.axvline(change, color="black", lw=0.9)
        if phases:
            _draw_best_arms(panels[-1], world)
        panels[-1].set_xlabel("round")
        _round_ticks(panels[-1])
        ordered = sorted(drawn.items(), key=lambda each: (each[0] == "others", each[0].zfill(9)))
        canvas.legend(
            [patch for _, patch in ordered], [label for label, _ in ordered], title="arm",
            loc="outside right upper", frameon=False, fontsize=_SMALL, title_fontsize=_SMALL,
            handlelength=1.1, handleheight=1.1, borderpad=0.1,
        )  # fmt: skip
        _title(canvas, world.spec)
        _save(canvas, paths)


def _draw_best_arms(panel: Any, world: WorldFindings) -> None:
    for first, last, winner in world.phases():
        colour = "white" if winner is None else arm_colour(winner)
        panel.axvspan(first, last + 1, color=colour, lw=0)
        if last - first > world.rounds / 25:
            panel.text(
                (first + last) / 2, 0.5, "-" if winner is None else str(winner), ha="center",
                va="center_baseline", fontsize=_SMALL, weight="bold", color="white",
                bbox={"boxstyle": "round,pad=0.1", "fc": "#000000a0", "ec": "none"},
            )  # fmt: skip
    panel.set(ylim=(0, 1), yticks=[0.5], xlim=(0, world.rounds))
    panel.set_yticklabels(["best"], fontsize=_SMALL)
    panel.tick_params(axis="y", length=0)


def _draw_phases(panel: Any, world: WorldFindings) -> None:
    """Shade every other phase, and draw a line where the best arm changes: thicker, more runs."""
    changes = world.changes
    edges = [0, *changes.rounds, world.rounds + 1]
    if len(changes.rounds) > 60:
        return
    for first, end in list(pairwise(edges))[1::2]:
        panel.axvspan(first, end, color="#000000", alpha=0.055, lw=0)
    for t, count in zip(changes.rounds, changes.counts, strict=True):
        share = 1.0 if changes.example else count / changes.runs
        panel.axvline(t, color=_GREY, lw=0.4 + 0.6 * share, ls=":", zorder=0.5)


def _best(
    world: WorldFindings, policies: Sequence[int] | None, most: int = _MOST_LINES
) -> list[Standing]:
    ranked = [s for s in world.ranked() if s.policy in world.curves]
    if policies is None:
        return ranked[:most]
    return [s for s in ranked if s.policy in policies]


def _policy_ticks(panel: Any, standings: Sequence[Standing]) -> None:
    panel.set_yticks(range(len(standings)), [_broken(s.name) for s in standings], fontsize=_SMALL)
    panel.set_ylim(len(standings) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)


def _broken(spec: str, width: int = 24, most: int = 4) -> str:
    """Break a name into a few short lines; what is too long, a path for one, loses its middle."""
    lines = [
        line if len(line) <= width + 8 else f"{line[: width // 2]}...{line[-width // 2 :]}"
        for line in wrapped(spec, width)
    ]
    return "\n".join(lines if len(lines) <= most else [*lines[: most - 1], "..."])


def _round_ticks(panel: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.xaxis.set_major_formatter(lambda t, _: _short(t))


def _short(value: float) -> str:
    """Write a round number shortly.

    Examples
    --------
    >>> _short(20000), _short(1500000), _short(2.75), _short(300)
    ('20k', '1.5M', '2.75', '300')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.3g}"


def _with_slope(name: str, slope: float | None) -> str:
    return name if slope is None else f"{name}  ({round(slope, 2) + 0.0:.2f})"


def _plain_log(axis: Any) -> None:
    """Write 200 and 5k at a log axis, not powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
    axis.set_major_formatter(lambda value, _: _short(value))
    axis.set_minor_formatter(NullFormatter())


def _legend_columns(labels: Sequence[str]) -> int:
    return 2 if max(map(len, labels)) <= 24 else 1


def _legend_height(labels: Sequence[str]) -> float:
    """Return the inches a legend takes, so that the panel above it keeps its height."""
    return 0.14 * math.ceil(len(labels) / _legend_columns(labels)) if labels else 0.0


def _legend(canvas: Any, labels: Sequence[str], styles: Sequence[LineStyle]) -> None:
    """Put a legend under the panel: two columns, or one for long names."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=s.colour, ls=s.dashes, marker=s.marker, ms=3.6, lw=1.4) for s in styles
    ]
    canvas.legend(
        handles, [_broken(text, 60) for text in labels], loc="outside lower left",
        frameon=False, fontsize=_SMALL, ncols=_legend_columns(labels), handlelength=3.2,
        columnspacing=0.8, borderpad=0.1, labelspacing=0.35,
    )  # fmt: skip


def _title(canvas: Any, text: str, more: str = "") -> None:
    lines = [_broken(text, 62)] if text else []
    if more:
        lines.append(more)
    canvas.suptitle("\n".join(lines), fontsize=_SMALL - 1, color="#444444", x=0.01, ha="left")


def _save(canvas: Any, paths: Paths) -> None:
    for path in [paths] if isinstance(paths, str | Path) else paths:
        save(canvas, path)
        canvas.set_layout_engine("none")  # the first time has found the places of everything
