"""The results of many games: tables, verdicts and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab.goals import COLUMNS, Goal, goal_named
from driftduel.lab.goals.summary import goal_curves, goal_summary
from driftduel.lab.plan import Plan, matches
from driftduel.lab.statistics import NEEDED, differences, summary
from driftduel.lab.store import Store

if TYPE_CHECKING:
    from driftduel.figures import (
        FigureOptions,
        GoalOptions,
        HeatOptions,
        Legend,
        SharesOptions,
        TotalsOptions,
        TrendOptions,
        Width,
    )
    from driftduel.lab.findings import Findings, WorldFindings

__all__ = ["Results", "load_results"]

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, repr=False)
class Results:
    """Results of many games as polars data frames, and figures of them.

    The figures are matplotlib objects, which can be shown in a notebook, changed, and saved as PDF,
    SVG or PNG: ``results.plot_regret(log=True).savefig("regret.pdf")``. All methods accept `path`
    (files to write), `policies` (names, or indices in the plan), `width` (``"column"``, ``"page"``
    or inches), `title`, and `labels` (display names by spec). Methods with one panel also accept
    `ax`, existing axes to draw into, which are then returned. `driftduel.figures.results` documents
    all parameters.
    """

    store: Store

    @property
    def plan(self) -> Plan:
        """The plan of the experiment."""
        return self.store.plan

    @cached_property
    def narrow(self) -> pl.DataFrame:
        """One row per game, without its curves."""
        return self.store.rows(NEEDED)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per policy and world: regret with 95% interval, restarts, speed."""
        return summary(self.narrow, self.plan)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row per pair of policies and world: the paired difference of their regrets."""
        return differences(self.narrow, self.plan)

    @property
    def goal(self) -> Goal | None:
        """The goal beside regret; None if there is none."""
        return goal_named(self.plan.goal)

    @cached_property
    def goal_games(self) -> pl.DataFrame:
        """One row per game: the columns from which the statistics of the goal are computed."""
        return self.store.rows(COLUMNS)

    @cached_property
    def goal_summary(self) -> pl.DataFrame:
        """One row per policy and world: the numbers of the goal, with intervals."""
        return goal_summary(self.goal_games, self.plan)

    @cached_property
    def goal_curves(self) -> pl.DataFrame:
        """One row per policy, world and checkpoint: the curve of the goal."""
        return goal_curves(self.goal_games, self.plan)

    @cached_property
    def games(self) -> pl.DataFrame:
        """One row per game, with its curves as list columns."""
        return self.store.rows()

    @cached_property
    def failures(self) -> dict[str, str]:
        """Failed cells: a dict of error messages by id."""
        return self.store.failures()

    @property
    def missing(self) -> int:
        """The number of unfinished cells of the plan."""
        return len(self.plan) - len(self.narrow)

    @cached_property
    def findings(self) -> "Findings":
        """The data of reports and figures: curves with bands, changes, restarts, trends."""
        from driftduel.lab.findings import read_findings

        return read_findings(self)

    def __repr__(self) -> str:
        from driftduel.lab.tables import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from driftduel.lab.tables import as_html

        return as_html(self)

    def to_latex(self, *, wide: bool = False, labels: Mapping[str, str] | None = None) -> str:
        """Return the summary as LaTeX tables for the package booktabs.

        Parameters
        ----------
        wide
            Whether to write one table of policies by worlds: mean regret and half of its 95%
            interval, the lowest of each world in bold, and a dagger at those that the runs cannot
            distinguish from it. Otherwise one table for each world, with more columns.
        labels
            Display names of policies and worlds by spec.
        """
        from driftduel.lab.export import as_latex

        return as_latex(self, wide=wide, labels=labels)

    def plot_regret(
        self,
        policies: Sequence[int | str] | None = None,
        world: str | None = None,
        *,
        facets: str | None = None,
        log: bool | None = None,
        logx: bool = False,
        legend: "Legend" = "auto",
        width: "Width | None" = None,
        columns: int | None = None,
        ax: Any = None,
        path: Paths | None = None,
        title: str | None = None,
        xlabel: str = "round",
        ylabel: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Any:
        """Plot regret over time with 95% bands, above the phases of the world.

        Parameters
        ----------
        policies
            Names, or indices in the plan; default: the best eight.
        world
            The spec of a world, or a pattern; required for several worlds without facets.
        facets
            ``"world"``: one panel for each world that matches `world`, with one legend. None: one
            world.
        log, logx
            Whether regret, and whether rounds, have a log axis. Default of `log`: whether the
            minimum and the maximum differ by a large factor.
        legend
            ``"below"`` the panels, ``"outside"`` on the right, ``"inside"`` the first, or None;
            ``"auto"`` is below, and inside on given axes.
        width
            ``"column"`` (3.25 inches), ``"page"`` (6.75), or a number of inches.
        columns
            Number of facets per row.
        ax, path, title, xlabel, ylabel, labels
            See the class; `labels` may also contain names of worlds.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, or the argument `ax`.
        """
        from driftduel.figures import plot_regret

        if facets not in (None, "world"):
            raise DriftduelError(f"facets={facets!r} must be 'world', or None for one world.")
        if facets is None:
            drawn = [self._world(world)]
        elif not (drawn := self._worlds(world)):
            self._world(world)  # raises for an unknown or ambiguous world
        return plot_regret(
            drawn, path, policies, log=log, logx=logx, legend=legend, width=width,
            columns=columns, common=self.findings.common, ax=ax, title=title, xlabel=xlabel,
            ylabel=ylabel, labels=labels,
        )  # fmt: skip

    def plot_goal(
        self,
        policies: Sequence[int | str] | None = None,
        world: str | None = None,
        **more: "Unpack[GoalOptions]",
    ) -> Any:
        """Plot the curve of the goal over votes, with its bands.

        `more`: log, ax, path, title, xlabel, ylabel, names.
        """
        from driftduel.figures import plot_goal

        return plot_goal(self._world(world), policies=policies, **more)

    def plot_totals(
        self,
        policies: Sequence[int | str] | None = None,
        world: str | None = None,
        **more: "Unpack[TotalsOptions]",
    ) -> Any:
        """Plot the total regret of every policy with its interval.

        `more`: log, ax, path, width, title, xlabel, labels.
        """
        from driftduel.figures import plot_totals

        return plot_totals(self._world(world), policies=policies, **more)

    def plot_heat(
        self, policies: Sequence[int | str] | None = None, **more: "Unpack[HeatOptions]"
    ) -> Any:
        """Plot ratios to the best of every world; `more`: ax, path, width, title, label, labels."""
        from driftduel.figures import plot_heat

        return plot_heat(self._need_finished(), policies=policies, **more)

    def plot_trend(
        self,
        policies: Sequence[int | str] | None = None,
        axis: str = "rounds",
        **more: "Unpack[TrendOptions]",
    ) -> Any:
        """Plot regret against the ``rounds``, or the ``switches``, of otherwise equal worlds.

        `more`: ax, path, legend, width, title, xlabel, ylabel, labels.
        """
        from driftduel.figures import plot_trend

        trends = [trend for trend in self._need_finished().trends if trend.axis == axis]
        if not trends:
            raise DriftduelError(
                f"no two worlds of the plan differ only in their {axis}, so there is no trend to "
                f"plot."
            )
        return plot_trend(trends[0], self.findings, policies=policies, **more)

    def plot_restarts(
        self,
        policies: Sequence[int | str] | None = None,
        world: str | None = None,
        **more: "Unpack[FigureOptions]",
    ) -> Any:
        """Plot the rounds of restarts, and the number of false alarms.

        `more`: path, width, title, labels.
        """
        from driftduel.figures import plot_restarts

        return plot_restarts(self._world(world), policies=policies, **more)

    def plot_shares(
        self,
        policies: Sequence[int | str] | None = None,
        world: str | None = None,
        **more: "Unpack[SharesOptions]",
    ) -> Any:
        """Plot the share of plays of each arm over time.

        `more`: path, width, title, xlabel, labels.
        """
        from driftduel.figures import plot_shares

        return plot_shares(self._world(world), policies=policies, **more)

    def _need_finished(self) -> "Findings":
        if not self.findings.worlds:
            raise DriftduelError("no cell is finished yet, so there is nothing to plot.")
        return self.findings

    def _world(self, world: str | None) -> "WorldFindings":
        """Return the findings of the only world that matches; raise if there are several."""
        meant = self._worlds(world)
        if len(meant) != 1:
            which = "several worlds" if world is None else f"{len(meant)} worlds match {world!r}"
            raise DriftduelError(
                f"{which}; choose one with world=, such as {self.findings.worlds[0].spec!r}."
            )
        return meant[0]

    def _worlds(self, world: str | None) -> "list[WorldFindings]":
        """Return the worlds with this spec, otherwise those that match it; None matches all."""
        worlds = self._need_finished().worlds
        meant = [each for each in worlds if world is None or each.spec == world]
        if not meant and world is not None:
            meant = [each for each in worlds if matches(each.spec, world)]
        return meant


def load_results(folder: str | Path) -> Results:
    """Open the results in a folder, finished or not."""
    return Results(Store(folder))
