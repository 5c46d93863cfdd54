"""A picture of a changing world."""

from pathlib import Path
from typing import Any

import numpy as np

from driftduel.figures.style import arm_colour, figure, save
from driftduel.measures import Measures
from driftduel.regret import chunk_losses
from driftduel.worlds import World

__all__ = ["draw_winners", "plot_world"]

_COLUMNS = 600
_MOST_LINES = 60


def plot_world(world: World, found: Measures, path: str | Path, title: str = "") -> None:
    """Draw how far every arm is behind the best one over time, and who that is.

    Parameters
    ----------
    world, found
        The world and its measures.
    path
        PNG, SVG or PDF.
    title
        A line above the figure.
    """
    has_winner = found.first_round_without_winner is None
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
        if found.absences:
            map_panel.patch.set(facecolor="0.97", edgecolor="0.6", hatch="////", linewidth=0)
            hint += "; hatched: not there"
        if found.ties:
            hint += f"; {found.ties:.0%} of duels tie"
        map_panel.set(ylabel="arm", title=f"How far each arm is behind the best ({hint})")
        map_panel.set_yticks(range(0, world.arms, max(1, world.arms // 10)))
        map_panel.invert_yaxis()
        draw_winners(winner_panel, found)
        winner_panel.set_xlabel("round")
        if title:
            canvas.suptitle(title, fontsize=8, family="monospace", x=0.01, ha="left")
        save(canvas, path)


def draw_winners(panel: Any, found: Measures) -> None:
    """Draw the phases as a coloured strip, labelled, with the significant switches marked."""
    for phase in found.phases:
        colour = "white" if phase.winner is None else arm_colour(phase.winner)
        panel.axvspan(phase.first, phase.last + 1, color=colour, lw=0)
        if phase.last - phase.first > found.rounds / 40:
            label = "none" if phase.winner is None else str(phase.winner)
            middle = (phase.first + phase.last) / 2
            panel.text(
                middle, 0.5, label, ha="center", va="center", color="white", weight="bold",
                bbox={"boxstyle": "round,pad=0.15", "fc": "#000000a0", "ec": "none"},
            )  # fmt: skip
    marks = (found.significant_switch_rounds or [])[:_MOST_LINES]
    panel.plot(marks, [1.12] * len(marks), "kv", ms=5, clip_on=False)
    counts = f"{len(found.phases) - 1:,} switches"
    if found.significant_switches is not None:
        counts += f", {found.significant_switches:,} significant (triangles)"
    panel.set(xlim=(1, found.rounds + 1), ylim=(0, 1), yticks=[])
    panel.set_title(f"Condorcet winner: {counts}", pad=12)
    panel.xaxis.set_major_formatter(lambda t, _: f"{t:,.0f}")
