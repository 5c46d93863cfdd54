"""Section on restarts and true changes: their numbers, false alarms, and rounds."""

from collections.abc import Sequence
from typing import Any

from driftduel._internal.wording import code, listed, number, often, share
from driftduel.lab import Changes, Standing, WorldFindings
from driftduel.report.chart import Chart, label, numbers, phase_shapes, vertical
from driftduel.report.section import OneWorld, Section

__all__ = ["about_restarts", "restart_counts_chart", "restart_times_chart", "section"]


def section(of: OneWorld) -> Section:
    """Return the section: sentences about restarts, and two charts if there are any."""
    world = of.world
    made = {
        f"restarts-{world.index}": restart_counts_chart(of.drawn),
        f"moments-{world.index}": restart_times_chart(of.drawn),
    }
    charts = {name: chart for name, chart in made.items() if chart is not None}
    return Section(
        "restarts.html",
        {
            "level": of.level,
            "says": about_restarts(world.standings, world.changes),
            "charts": list(charts),
            "timed": made[f"moments-{world.index}"] is not None,
            "changes": bool(world.changes.rounds),
            "whose": of.run if world.restarts_of_example else "all runs",
        },
        charts,
    )


def about_restarts(standings: Sequence[Standing], changes: Changes) -> str:
    """Return sentences about restarts, true switches, detection delays and false alarms."""
    with_any = [s for s in standings if s.restarts > 0]
    what = f"The {changes.subject}"
    if changes.mean:
        true = f"{what} {changes.verbs[0]} {often(changes.mean)} a run"
        true += "." if changes.fewest == changes.most else " on average."
    else:
        true = f"{what} never {changes.verbs[0]}."
    if not with_any:
        return f"{true} No policy restarted."
    text = true
    answering = [s for s in with_any if s.detected is not None]
    nearest = max(answering, key=lambda s: (s.detected or 0, -s.needless), default=None)
    if nearest is not None:
        text += f" {code(nearest.name)} detected "
        text += "all of them" if nearest.detected == 1 else f"{share(nearest.detected)} of them"
        text += " with a restart"
        if len(answering) > 1 and nearest.detected != 1:
            text += ", more than any other"
        if nearest.delay is not None:
            text += f", on average {number(nearest.delay)} rounds after the change"
        needless = number(nearest.needless) if nearest.needless else "none"
        text += f"; of its restarts, {number(nearest.restarts)} a run, {needless} "
        text += "was needless." if needless in ("1", "none") else "were needless."
    most = max(with_any, key=lambda s: s.needless)
    if most is not nearest and most.needless > 0:
        text += f" {code(most.name)} had the most needless restarts: {number(most.needless)} of "
        text += f"{number(most.restarts)} a run."
    never = [code(s.name) for s in standings if s.restarts == 0]
    if never:
        text += f" {listed(never)} never restarted."
    return text


def restart_counts_chart(world: WorldFindings) -> Chart | None:
    """Return the chart of restarts and false alarms per run; None without restarts."""
    shown = [s for s in world.ranked if s.restarts > 0]
    if not shown:
        return None
    shared: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": [label(s.name) for s in shown],
        "of": [s.policy for s in shown],
    }
    needed = [s.restarts - s.needless for s in shown]
    traces = [
        {
            **shared,
            "name": "after a change",
            "x": numbers(needed),
            "marker": {"color": "#0072B2"},
            "hovertemplate": "%{x:.3~r} restarts per run after a change<extra></extra>",
        },
        {
            **shared,
            "name": "needless",
            "x": numbers([s.needless for s in shown]),
            "marker": {
                "color": "#D55E00",
                "pattern": {"shape": "/", "size": 6, "fillmode": "replace"},
                "line": {"color": "#D55E00", "width": 1},
            },
            "hovertemplate": "%{x:.3~r} false alarms per run<extra></extra>",
        },
    ]
    truth = world.changes.mean
    largest = max([truth, *(s.restarts for s in shown)])
    end = 1.05 * largest
    if largest > 8 * max(truth, 1):  # a policy with very many restarts must not determine the scale
        end = 8 * max(truth, 1)
    traces.append(
        {
            **{key: shared[key] for key in ("y", "of")},
            "only": "wide",
            "type": "scatter",
            "mode": "text",
            "x": [end] * len(shown),
            "text": [_restart_text(s) for s in shown],
            "textposition": "middle right",
            "cliponaxis": False,
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )
    return {
        "traces": traces,
        "rows": [s.policy for s in shown],
        "layout": {
            "barmode": "stack",
            "bargap": 0.35,
            "xaxis": {"title": {"text": "restarts a run"}, "range": [0, end]},
            "shapes": [vertical(truth, width=2, dash="dash", colour="theme")],
            "annotations": [
                {
                    "x": truth,
                    "y": 1,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "xanchor": "left" if truth < end / 2 else "right",
                    "text": f"true changes: {number(truth)}",
                    "showarrow": False,
                }
            ],
            "legend": {
                "orientation": "h",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "x": 0,
                "traceorder": "normal",
            },
            "margin": {"t": 60, "r": 175, "b": 48},
        },
    }


def _restart_text(standing: Standing) -> str:
    needless = "none" if standing.needless == 0 else number(standing.needless)
    return f"{number(standing.restarts)}, {needless} needless"


def restart_times_chart(world: WorldFindings) -> Chart | None:
    """Return the chart with a tick for every restart; None without restarts."""
    shown = [s for s in world.ranked if world.restarts.get(s.policy)]
    if not shown:
        return None
    traces = [
        {
            "policy": s.policy,
            "paint": ["tick"],
            "type": "scatter",
            "mode": "markers",
            "x": list(world.restarts[s.policy]),
            "y": [label(s.name)],
            "name": label(s.name, 99),
            "marker": {"symbol": "line-ns-open", "size": 15, "line": {"width": 1.6}},
            "hovertemplate": "restart after round %{x:,d}<extra></extra>",
        }
        for s in shown
    ]
    return {
        "traces": traces,
        "rows": [s.policy for s in shown],
        "layout": {
            "xaxis": {"title": {"text": "round"}, "range": [0, world.rounds * 1.005]},
            "shapes": phase_shapes(world.changes, world.rounds),
            "showlegend": False,
            "margin": {"t": 10, "r": 16, "b": 48},
        },
    }
