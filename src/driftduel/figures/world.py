"""The figure of a non-stationary world."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftduel._internal.wording import counted, share, whole
from driftduel.figures.style import arm_colour, figure, plain, save
from driftduel.measures import Measures
from driftduel.regret import chunk_losses
from driftduel.worlds import World

__all__ = ["Phase", "draw_winners", "plot_world"]

Phase = tuple[int, int, int | None]
"""First round, last round and winner of a phase; None without a Condorcet winner."""

_COLUMNS = 600
_MOST_LINES = 60


def plot_world(world: World, measures: Measures, path: str | Path, title: str = "") -> None:
    """Plot the gap of every arm to the best one over time, and the best arm.

    Parameters
    ----------
    world, measures
        The world and its measures.
    path
        PNG, SVG or PDF file to write.
    title
        A line above the figure.
    """
    has_winner = measures.first_round_without_winner is None
    benchmark = "condorcet" if has_winner else "borda"
    edges = np.unique(np.linspace(1, world.rounds + 1, min(_COLUMNS, world.rounds) + 1).astype(int))
    columns = [
        chunk_losses(chunk, benchmark)[chunk.rows[0]]
        for chunk in (world.chunk(int(t), int(t) + 1) for t in (edges[:-1] + edges[1:] - 1) // 2)
    ]
    height = 0.5 + 0.16 * min(world.arms, 25)
    with figure(2, [height, 0.55]) as (canvas, (map_panel, winner_panel)):
        image = map_panel.pcolormesh(
            edges,
            np.arange(world.arms + 1) - 0.5,
            np.array(columns).T,
            cmap="cividis_r",
            vmin=0,
            rasterized=True,
        )
        score = "gap to the winner" if has_winner else "Borda score missing"
        canvas.colorbar(image, ax=map_panel, label=score, pad=0.01)
        hint = "bright: the best"
        if measures.absences:
            map_panel.patch.set(facecolor="0.97", edgecolor="0.6", hatch="////", linewidth=0)
            hint += "; hatched: absent"
        if measures.ties:
            hint += f"; {share(measures.ties)} of duels tie"
        map_panel.set(ylabel="arm", title=f"Gap of each arm to the best ({hint})")
        ticks = range(0, world.arms, max(1, world.arms // 10))
        map_panel.set_yticks(
            ticks, [plain(world.names[arm]) for arm in ticks] if world.names else None
        )
        map_panel.invert_yaxis()
        phases = [(phase.first, phase.last, phase.winner) for phase in measures.phases]
        draw_winners(winner_panel, phases, measures.significant_switch_rounds)
        winner_panel.set_xlabel("round")
        if title:
            canvas.suptitle(title, fontsize=8, family="monospace", x=0.01, ha="left")
        save(canvas, path)


def draw_winners(
    panel: Any, phases: Sequence[Phase], significant: Sequence[int] | None = None
) -> None:
    """Draw the phases as a coloured and labelled strip, with marks at significant switches."""
    rounds = phases[-1][1]
    for first, last, winner in phases:
        colour = "white" if winner is None else arm_colour(winner)
        panel.axvspan(first, last + 1, color=colour, lw=0)
        if last - first > rounds / 40:
            label = "none" if winner is None else str(winner)
            middle = (first + last) / 2
            panel.text(
                middle, 0.5, label, ha="center", va="center", color="white", weight="bold",
                bbox={"boxstyle": "round,pad=0.15", "fc": "#000000a0", "ec": "none"},
            )  # fmt: skip
    marks = (significant or ())[:_MOST_LINES]
    panel.plot(marks, [1.12] * len(marks), "kv", ms=5, clip_on=False)
    counts = counted(len(phases) - 1, "switch", "switches")
    if significant is not None:
        counts += f", {len(significant):,} significant (triangles)"
    panel.set(xlim=(1, rounds + 1), ylim=(0, 1), yticks=[])
    panel.set_title(f"Condorcet winner: {counts}", pad=12)
    panel.xaxis.set_major_formatter(lambda t, _: whole(t))
