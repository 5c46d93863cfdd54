"""The figure of a goal beside regret: a share after n votes, with its band."""

from typing import TYPE_CHECKING, Any

from driftduel._internal.wording import share, short
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

if TYPE_CHECKING:
    from driftduel.lab import WorldFindings

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
    """Plot the curve of a goal for each policy, with its 95% band.

    Parameters
    ----------
    world
        The findings of one world.
    path
        PNG, SVG or PDF file to write; a list writes the same figure in several formats.
    policies
        Names, or indices in the plan; default: the best eight.
    log
        Whether votes are on a log axis; by default, if the winner never changes.
    ax
        matplotlib axes to draw into; default: a new figure.
    legend, width
        As for `driftduel.figures.results.plot_regret`.
    title
        The title; default: the world's spec, or no title on given axes.
    xlabel, ylabel
        The labels of the axes.
    labels
        Display names of policies by spec.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure, or the argument `ax`.
    """
    found = world.goal
    if found is None:
        raise DriftduelError("these games measured regret only; pass goal= to compare().")
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
