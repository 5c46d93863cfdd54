"""The figure of a goal beside regret: a share after n votes, with its band."""

from typing import TYPE_CHECKING, Any

from driftduel.errors import DriftduelError
from driftduel.figures.lines import line_style
from driftduel.figures.results import (
    Labels,
    Legend,
    LegendKey,
    Paths,
    Policies,
    Width,
    check_legend,
    draw_phases,
    finish,
    policy_labels,
    policy_places,
    round_ticks,
    sheet,
    width_in_inches,
)
from driftduel.wording import share, short

if TYPE_CHECKING:
    from driftduel.lab.findings import WorldFindings

__all__ = ["plot_goal"]

_MOST_LINES = 8


def plot_goal(
    world: "WorldFindings",
    path: Paths | None = None,
    policies: Policies | None = None,
    *,
    log: bool | None = None,
    ax: Any = None,
    legend: Legend = "auto",
    width: Width | None = None,
    title: str | None = None,
    xlabel: str = "votes",
    ylabel: str | None = None,
    labels: Labels | None = None,
) -> Any:
    """Draw the curve of a goal for each policy, with its 95% band.

    Parameters
    ----------
    world
        The findings of one world.
    path
        PNG, SVG or PDF to write; several to write the same figure several times.
    policies
        Names or places in the plan; the best eight unless given.
    log
        Whether votes are on a log axis; by default, if the winner never changes.
    ax
        Axes of matplotlib to draw on; a separate figure unless given.
    legend, width
        As for `driftduel.figures.results.plot_regret`.
    title
        The title; the world's spec unless given, and none on given axes.
    xlabel, ylabel
        The labels of the axes.
    labels
        Labels of policies, by their specs.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure; `ax` if that was given.
    """
    found = world.goal
    if found is None:
        raise DriftduelError("these games measured regret only; compare(..., goal=) has others.")
    by_place = {standing.policy: standing for standing in world.standings}
    ranked = [by_place[row["place"]] for row in found.rows]
    shown = (
        ranked[:_MOST_LINES]
        if policies is None
        else [by_place[place] for place in policy_places(ranked, policies) if place in by_place]
    )
    check_legend(legend)
    where: Legend = "inside" if ax is not None and legend == "auto" else legend
    styles = [line_style(standing.policy) for standing in shown]
    inches = width_in_inches(width)
    key = LegendKey(policy_labels(shown, labels), styles, where, inches)
    log = not world.changes.rounds if log is None else log
    with sheet(ax, 1.9 + key.height, inches) as (canvas, panel):
        if not log:
            draw_phases(panel, world)
        for standing, style in zip(shown, styles, strict=True):
            curve = found.curves[standing.policy]
            if curve.low is not None and curve.high is not None:
                panel.fill_between(
                    curve.votes, curve.low, curve.high, color=style.colour, alpha=0.15, lw=0
                )
            panel.plot(
                curve.votes, curve.mean, color=style.colour, ls=style.dashes, lw=1.4,
                marker=style.marker, ms=3.4, markevery=max(1, len(curve.votes) // 8),
            )  # fmt: skip
        panel.set(ylim=(0, 1.02), xlim=(1, world.rounds) if log else (0, world.rounds))
        panel.set_xlabel(xlabel + " (log axis)" * log)
        panel.set_ylabel(found.goal.axis if ylabel is None else ylabel)
        panel.yaxis.set_major_formatter(lambda value, _: share(value))
        panel.grid(axis="y", lw=0.4, color="#cccccc")
        if log:
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(lambda value, _: short(value, 4))
        else:
            round_ticks(panel)
        key.draw(canvas, panel)
        left = len(ranked) - len(shown)
        more = f"the {len(shown)} best of {len(ranked)}" if left and not policies else ""
        return finish(canvas, panel, path, title, world.spec, more)
