"""The figure of one game with replays: replays over time, the active set, the restarts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftduel._internal.wording import counted, share, whole
from driftduel.figures.style import arm_colour, figure, save
from driftduel.figures.world import Phase, draw_winners
from driftduel.games import Replays, Trace, replays_of
from driftduel.measures import measure

__all__ = ["plot_replays", "plot_trace"]

_RESTART = "#D55E00"
_ACTIVE = "#8C8C8C"


def plot_trace(played: Trace, path: str | Path, title: str = "") -> None:
    """Plot replays as nested bars, the active set over time, and the true winners below.

    Parameters
    ----------
    played
        The trace of a policy that has replays.
    path
        PNG, SVG or PDF file to write.
    title
        A line above the figure.
    """
    replays = replays_of(played)
    found = measure(played.world)
    phases = [(phase.first, phase.last, phase.winner) for phase in found.phases]
    plot_replays(replays, phases, path, title, found.significant_switch_rounds)


def plot_replays(
    replays: Replays,
    phases: Sequence[Phase],
    path: str | Path | Sequence[str | Path],
    title: str = "",
    significant: Sequence[int] | None = None,
) -> None:
    """Plot the same figure from recorded stages of a game.

    Parameters
    ----------
    replays
        The recorded stages of the game.
    phases
        (first, last, winner) of every phase of the world; an empty sequence omits the strip.
    path
        One or several files to write.
    title
        A line above the figure.
    significant
        Rounds of the significant switches, if they are known.
    """
    heights = [2.4, 0.5 + 0.17 * min(replays.arms, 25)] + [0.45] * bool(phases)
    with figure(len(heights), heights, width=8.0) as (canvas, panels):
        _draw_replays(panels[0], replays)
        _draw_active(panels[1], replays)
        for panel in panels[:2]:
            for restart in replays.restarts:
                panel.axvline(restart + 0.5, color=_RESTART, lw=1.2)
        if phases:
            draw_winners(panels[2], phases, significant)
        panels[-1].set(xlabel="round", xlim=(1, replays.rounds + 1))
        if title:
            canvas.suptitle(title, fontsize=8, family="monospace", x=0.01, ha="left")
        for each in [path] if isinstance(path, str | Path) else path:
            save(canvas, each)
            canvas.set_layout_engine("none")  # the first file has computed the layout


def _draw_replays(panel: Any, replays: Replays) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    lengths = np.array([max(2, replay.end - replay.start) for replay in replays.replays], float)
    levels = np.log2(lengths)
    # A replay recorded at a single stage has the width of the interval between stages.
    narrowest = 1 if replays.moments is None else replays.rounds / replays.moments
    bars = [
        Rectangle((replay.start, level - 0.4), max(replay.last + 1 - replay.start, narrowest), 0.8)
        for replay, level in zip(replays.replays, levels, strict=True)
    ]
    depths = np.array([replay.depth for replay in replays.replays])
    collection = PatchCollection(bars, cmap="viridis_r", edgecolor="white", linewidth=0.3)
    collection.set_array(depths)
    collection.set_clim(0, max(4, depths.max()))
    panel.add_collection(collection)
    panel.set(ylim=(0.2, levels.max() + 0.8), ylabel="planned length")
    ticks = np.arange(1, int(levels.max()) + 1, max(1, int(levels.max()) // 6))
    panel.set_yticks(ticks, [whole(2.0**tick) for tick in ticks])
    moments = counted(replays.episodes, "episode")
    if replays.moments is not None:
        moments = f"{replays.moments:,} moments"
    orange = " (orange)" if replays.restarts else ""
    panel.set_title(
        f"{counted(replays.count, 'replay')} (darker: deeper) in {share(replays.inside)} of the "
        f"rounds; {moments}, {counted(len(replays.restarts), 'restart')}{orange}"
    )


def _draw_active(panel: Any, replays: Replays) -> None:
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    arms = replays.arms
    # Transparent to grey, which is visible on white and on dark pages.
    shades = LinearSegmentedColormap.from_list("active", [to_rgba(_ACTIVE, 0.0), to_rgba(_ACTIVE)])
    panel.pcolormesh(
        replays.edges + 1, np.arange(arms + 1) - 0.5, replays.active, cmap=shades, vmin=0, vmax=1,
        rasterized=True,
    )  # fmt: skip
    for t, arm in replays.eliminations:
        panel.plot(
            t + 0.5, arm, "x", color=arm_colour(arm), ms=8, mew=2.2, zorder=3,
            markeredgecolor=arm_colour(arm),
        )  # fmt: skip
    panel.set(ylabel="arm")
    panel.set_yticks(range(0, arms, max(1, arms // 10)))
    panel.invert_yaxis()
    crosses = counted(len(replays.eliminations), "elimination")
    panel.set_title(f"Active set (grey); {crosses} from the good set (crosses)")
