"""Section on the shares of plays by arm over time, with the best arm."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftduel._internal.wording import code, counted, share as part
from driftduel.figures import arm_colour
from driftduel.lab import ArmShares, WorldFindings
from driftduel.report.chart import MOST_SHADED, Chart, numbers, vertical
from driftduel.report.section import OneWorld, Section

__all__ = ["about_shares", "best_share", "section", "shares_base", "shares_chart"]

_PATTERNS = ("", "/", "\\", "x", "-", "|", "+", ".")
_OTHERS = "#9a9a9a"
_ROOM = 14  # maximum number of characters of a name in a chart


def section(of: OneWorld) -> Section:
    """Return the section: for each policy an area chart and a sentence."""
    world = of.drawn
    box = f"shares-{world.index}"
    charts: dict[str, Chart] = {}
    options = []
    for standing in (s for s in world.ranked if s.policy in world.shares):
        name = f"{box}-{standing.policy}"
        charts[name] = shares_chart(world, standing.policy, box)
        of_policy, ends = world.shares[standing.policy], world.slice_ends.tolist()
        says = about_shares(standing.name, of_policy, ends, world, of.run)
        options.append({"chart": name, "text": standing.name, "says": says})
    hint = "The height of an area is the share of plays of an arm"
    hint += "." if world.names else "; numbers are arms."
    if world.winners and any(winner is not None for _, winner in world.winners):
        hint += " The strip above shows the best arm; vertical lines mark its changes."
    elif world.winners and len(world.winners) > 1:
        hint += f" At the vertical lines, the {world.changes.subject} {world.changes.verbs[0]}."
    if not world.fixed and world.changes.runs > 1:
        hint += f" Every run has another world, so a single run is shown: {of.run}."
    return Section(
        "shares.html",
        {"level": of.level, "box": box, "options": options, "hint": hint, "run": of.run},
        charts,
        {box: shares_base(world)} if options else {},
    )


def about_shares(
    name: str, shares: ArmShares, slice_ends: Sequence[int], world: WorldFindings, run: str
) -> str:
    """Return a sentence about the share of the best arm, in total and around changes."""
    sample = f"averaged over {counted(shares.runs, 'run')}" if shares.runs > 1 else f"in {run}"
    if world.winners is None:
        arm = int(shares.all_arms.mean(axis=0).argmax())
        share = shares.all_arms.mean(axis=0)[arm]
        return (
            f"{code(name)}, {sample}: {world.called(arm)} was played most, {part(share)} of all "
            f"plays. The best arms are unknown, because driftduel 0.1 did not record them."
        )
    of_best = best_share(shares, slice_ends, world)
    known = ~np.isnan(of_best)
    if all(winner is None for _, winner in world.winners):
        arm = int(shares.all_arms.mean(axis=0).argmax())
        share = shares.all_arms.mean(axis=0)[arm]
        return (
            f"{code(name)}, {sample}: {world.called(arm)} was played most, {part(share)} of all "
            f"plays. No arm beats all others in any round."
        )
    if not known.any():
        return f"{code(name)}, {sample}: the best arm changes too often for this chart."
    lengths = np.diff(np.asarray(slice_ends), prepend=0)
    total = float((of_best * lengths)[known].sum() / lengths[known].sum())
    text = f"{code(name)}, {sample}: {part(total)} of its plays were of the best arm at "
    text += "the time"
    after, before = _around_changes(of_best, slice_ends, [first for first, _ in world.winners[1:]])
    if after and before:
        text += f"; {part(float(np.mean(before)))} just before a change, "
        text += f"{part(float(np.mean(after)))} just after one"
    if world.present is None:
        text += f". Choosing at random would be {part(1 / world.arms)}"
    return f"{text}."


def best_share(
    shares: ArmShares, slice_ends: Sequence[int], world: WorldFindings
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a (slices,) float array of shares of the best arm; nan if it changes in a slice."""
    ends = np.asarray(slice_ends)
    result = np.full(len(ends), np.nan)
    for first, last, winner in world.phases:
        inside = (np.concatenate(([0], ends[:-1])) + 1 >= first) & (ends <= last)
        if winner is not None:
            result[inside] = shares.all_arms[inside, winner]
    return result


def _around_changes(
    of_best: np.ndarray[tuple[int], np.dtype[np.float64]],
    slice_ends: Sequence[int],
    changes: Sequence[int],
) -> tuple[list[float], list[float]]:
    """Return the shares of the best arm in the slices after and before changes."""
    ends = np.asarray(slice_ends)
    after: list[float] = []
    before: list[float] = []
    for change in changes:
        following = int(np.searchsorted(ends, change - 1, "left")) + 1
        preceding = int(np.searchsorted(ends, change - 1, "right")) - 1
        for place, shares in ((following, after), (preceding, before)):
            if 0 <= place < len(ends) and not np.isnan(of_best[place]):
                shares.append(float(of_best[place]))
    return after, before


def shares_base(world: WorldFindings) -> Chart:
    """Return the shared part of the charts of a world: the strip of best arms."""
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "round"}, "range": [0, world.rounds], "hoverformat": ",d"},
        "yaxis": {
            "title": {"text": "share of plays"},
            "range": [0, 1],
            "tickformat": ".0%",
            "domain": [0, 1],
        },
        "hovermode": "x unified",
        "height": 380,
        "legend": {"traceorder": "reversed"},
        "margin": {"t": 26, "r": 12, "b": 48},
        "shapes": [],
        "annotations": [],
    }
    phases = world.phases
    if phases and len(phases) <= MOST_SHADED:
        layout["yaxis"]["domain"] = [0, 0.88]
        layout["shapes"] = [
            *(vertical(first, width=1.5, colour="theme", top=0.88) for first, *_ in phases[1:]),
            *(_best_arm_box(first, last, arm) for first, last, arm in phases),
        ]
        layout["annotations"] = [
            _tag((first + last) / 2, 0.955, "none" if arm is None else _chart_name(world, arm))
            | {"yref": "paper", "yanchor": "middle"}
            for first, last, arm in phases
            if last - first > world.rounds / 25
        ]
        layout["annotations"].append(
            {
                "x": 0, "xref": "paper", "y": 1, "yref": "paper", "yanchor": "bottom",
                "xanchor": "left", "text": "best arm", "showarrow": False,
            }
        )  # fmt: skip
    return {
        "trace": {
            "type": "scatter",
            "mode": "lines",
            "x": "edges",
            "stackgroup": "arms",
            "line": {"width": 0.5, "shape": "hv", "color": "rgba(255,255,255,0.7)"},
            "hovertemplate": "%{y:.0%}",
        },
        "layout": layout,
        "shared": {"edges": [0, *world.slice_ends.tolist()]},
    }


def shares_chart(world: WorldFindings, policy: int, base: str) -> Chart:
    """Return the chart of shares of plays by arm over time, with the key of the base."""
    of_policy = world.shares[policy]
    traces = []
    for i in range(of_policy.shares.shape[1]):
        others = i >= len(of_policy.arms)
        arm = -1 if others else of_policy.arms[i]
        values = numbers(np.round(of_policy.shares[:, i], 3))
        traces.append(
            {
                "y": [*values, values[-1]],  # a step to the end of the last slice
                "name": "others" if others else _chart_name(world, arm, "arm "),
                "fillcolor": _OTHERS if others else arm_colour(arm),
                "pattern": "" if others else _PATTERNS[arm % len(_PATTERNS)],
            }
        )
    return {"base": base, "traces": traces, "annotations": _arm_names(world, policy)}


def _chart_name(world: WorldFindings, arm: int, word: str = "") -> str:
    """Return the escaped and shortened name of an arm, or its number."""
    name = world.called(arm, word)
    return html.escape(name if len(name) <= _ROOM else f"{name[: _ROOM - 1]}…", quote=False)


def _tag(x: float, y: float, text: str) -> dict[str, Any]:
    return {"tag": True, "x": round(x), "y": round(y, 3), "text": text}


def _arm_names(world: WorldFindings, policy: int) -> list[dict[str, Any]]:
    """Return labels of arms at their maximum share, so that areas are readable without colour."""
    of_policy = world.shares[policy]
    tops = of_policy.shares.cumsum(axis=1)
    middles = np.concatenate(([0], world.slice_ends[:-1])) / 2 + world.slice_ends / 2
    names = []
    for i, arm in enumerate(of_policy.arms):
        column = of_policy.shares[:, i]
        # Smoothed, so that a single slice with a large share is not chosen.
        padded = np.pad(column, 1, mode="edge")
        place = int(np.argmax(np.minimum(np.minimum(padded[:-2], padded[2:]), column)))
        if column[place] > 0.12:
            middle = float(tops[place, i] - column[place] / 2)
            names.append(_tag(float(middles[place]), middle, _chart_name(world, arm)))
    return names


def _best_arm_box(first: int, last: int, arm: int | None) -> dict[str, Any]:
    return {
        "type": "rect", "x0": first, "x1": last + 1, "y0": 0.91, "y1": 1, "yref": "paper",
        "fillcolor": "rgba(0,0,0,0)" if arm is None else arm_colour(arm),
        "line": {"width": 0.5, "color": "rgba(255,255,255,0.8)"},
    }  # fmt: skip
