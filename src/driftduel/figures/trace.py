"""A picture of one run of ANACONDA: its replays, its active set, its restarts."""

from pathlib import Path
from typing import Any

import numpy as np

from driftduel.errors import DriftduelError
from driftduel.figures.style import arm_colour, figure, save
from driftduel.figures.world import draw_winners
from driftduel.games import Trace
from driftduel.measures import measure

__all__ = ["plot_trace", "replays_of"]

_COLUMNS = 900
_RESTART = "#D55E00"


def plot_trace(played: Trace, path: str | Path, title: str = "") -> None:
    """Draw replays as nested bars, the active set over time, and the true winners underneath.

    Parameters
    ----------
    played
        The trace of a policy that has replays.
    path
        PNG, SVG or PDF.
    title
        A line above the figure.
    """
    if (played.replay_start < 0).any():
        raise DriftduelError(
            f"policy {played.policy.name!r} has no replays; only a trace of one that has can be "
            f"drawn this way."
        )
    arms, rounds = played.world.arms, len(played)
    heights = [2.4, 0.5 + 0.17 * min(arms, 25), 0.45]
    with figure(3, heights, width=8.0) as (canvas, (replay_panel, arm_panel, winner_panel)):
        _draw_replays(replay_panel, played)
        _draw_active(arm_panel, played)
        draw_winners(winner_panel, measure(played.world))
        for panel in (replay_panel, arm_panel):
            for restart in played.policy.restarts:
                panel.axvline(restart + 0.5, color=_RESTART, lw=1.2)
        winner_panel.set(xlabel="round", xlim=(1, rounds + 1))
        if title:
            canvas.suptitle(title, fontsize=8, family="monospace", x=0.01, ha="left")
        save(canvas, path)


def replays_of(played: Trace) -> list[tuple[int, int, int, int]]:
    """List the replays as (start, planned end, last round, depth), roots at depth 0."""
    found: list[list[int]] = []
    stack: list[list[int]] = []
    starts, ends = played.replay_start.tolist(), played.replay_end.tolist()
    for t, (start, end, episode) in enumerate(
        zip(starts, ends, played.episode_start.tolist(), strict=True), start=1
    ):
        if t in (start, episode):
            if t == episode:
                stack.clear()
            while stack and stack[-1][1] < t:
                stack.pop()
            stack.append([start, end, t, len(stack)])
            found.append(stack[-1])
        else:
            while stack[-1][0] != start:
                stack.pop()
        for running in stack:
            running[2] = min(t, running[1])  # one that was outlived has ended in between
    return [(start, end, last, depth) for start, end, last, depth in found]


def _draw_replays(panel: Any, played: Trace) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    replays = replays_of(played)
    lengths = np.array([max(2, end - start) for start, end, _, _ in replays], dtype=float)
    levels = np.log2(lengths)
    bars = [
        Rectangle((start, level - 0.4), last + 1 - start, 0.8)
        for (start, _, last, _), level in zip(replays, levels, strict=True)
    ]
    depths = np.array([depth for *_, depth in replays])
    collection = PatchCollection(bars, cmap="viridis_r", edgecolor="white", linewidth=0.3)
    collection.set_array(depths)
    collection.set_clim(0, max(4, depths.max()))
    panel.add_collection(collection)
    panel.set(ylim=(0.2, levels.max() + 0.8), ylabel="planned length")
    ticks = np.arange(1, int(levels.max()) + 1, max(1, int(levels.max()) // 6))
    panel.set_yticks(ticks, [f"{2**tick:,}" for tick in ticks])
    roots = int((depths == 0).sum())
    inside = np.mean(played.replay_start != played.episode_start)
    count = len(played.policy.restarts)
    orange = " (orange)" if count else ""
    panel.set_title(
        f"{len(replays) - roots:,} replays (darker: deeper) in {inside:.0%} of the rounds; "
        f"{roots} episodes, {count} restarts{orange}"
    )


def _draw_active(panel: Any, played: Trace) -> None:
    arms, rounds = played.world.arms, len(played)
    member = np.zeros((arms, rounds), dtype=np.float32)
    for t, active in enumerate(played.active):
        member[list(active), t] = 1.0
    edges = np.unique(np.linspace(0, rounds, min(_COLUMNS, rounds) + 1).astype(int))
    share = np.add.reduceat(member, edges[:-1], axis=1) / np.diff(edges)
    panel.pcolormesh(
        edges + 1, np.arange(arms + 1) - 0.5, share, cmap="Greys", vmin=0, vmax=1.15,
        rasterized=True,
    )  # fmt: skip
    eliminated = 0
    for t in range(1, rounds):
        if played.episode_start[t] == played.episode_start[t - 1]:
            for arm in set(played.good[t - 1]) - set(played.good[t]):
                eliminated += 1
                panel.plot(
                    t + 0.5, arm, "x", color=arm_colour(arm), ms=8, mew=2.2, zorder=3,
                    markeredgecolor=arm_colour(arm),
                )  # fmt: skip
    panel.set(ylabel="arm")
    panel.set_yticks(range(0, arms, max(1, arms // 10)))
    panel.invert_yaxis()
    panel.set_title(f"Active set (dark); {eliminated} eliminations from the good set (crosses)")
