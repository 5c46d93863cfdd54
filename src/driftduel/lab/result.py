"""What came of many games: tables, verdicts and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab.goals import COLUMNS, Goal, goal_named
from driftduel.lab.goals.summary import goal_curves, goal_summary
from driftduel.lab.plan import Plan, matches
from driftduel.lab.statistics import NEEDED, differences, summary
from driftduel.lab.store import Store

if TYPE_CHECKING:
    from driftduel.figures.results import Legend, Width
    from driftduel.lab.findings import Findings, WorldFindings

__all__ = ["Results", "results"]

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, repr=False)
class Results:
    """Tables of what was played, as polars data frames, and figures of it.

    The figures are matplotlib's, to be shown in a notebook, changed, and saved as PDF, SVG or PNG:
    ``results.plot_regret(log=True).savefig("regret.pdf")``. All take `path` to write files,
    `policies` (names, or places in the plan), `width` (``"column"``, ``"page"`` or inches),
    `title`, and `labels`, names of policies in place of their specs; those with one panel take
    `ax`, to be drawn into a figure of yours, and then return it. `driftduel.figures.results` has
    all parameters.
    """

    store: Store

    @property
    def plan(self) -> Plan:
        """What was to be played."""
        return self.store.plan

    @cached_property
    def narrow(self) -> pl.DataFrame:
        """One row for each game, without its curves."""
        return self.store.rows(NEEDED)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row for each policy in each world: regret with interval, restarts, speed."""
        return summary(self.narrow, self.plan)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row for each two policies in each world: the paired difference of their regrets."""
        return differences(self.narrow, self.plan)

    @property
    def goal(self) -> Goal | None:
        """The goal beside regret; None if there is none."""
        return goal_named(self.plan.goal)

    @cached_property
    def goal_games(self) -> pl.DataFrame:
        """One row for each game: the columns that the statistics of the goal are made of."""
        return self.store.rows(COLUMNS)

    @cached_property
    def goal_summary(self) -> pl.DataFrame:
        """One row for each policy in each world: the numbers of the goal, with intervals."""
        return goal_summary(self.goal_games, self.plan)

    @cached_property
    def goal_curves(self) -> pl.DataFrame:
        """One row for each policy in each world and checkpoint: the curve of the goal."""
        return goal_curves(self.goal_games, self.plan)

    @cached_property
    def games(self) -> pl.DataFrame:
        """One row for each game, with its curves."""
        return self.store.rows()

    @cached_property
    def failures(self) -> dict[str, str]:
        """Cells that failed, and why."""
        return self.store.failures()

    @property
    def missing(self) -> int:
        """How many cells of the plan are not finished."""
        return len(self.plan) - len(self.narrow)

    @cached_property
    def findings(self) -> "Findings":
        """What reports and figures show: curves with bands, changes, restarts, trends."""
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
            Names of policies and worlds in place of their specs.
        """
        from driftduel.lab.writing import as_latex

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
        """Draw regret over time with 95% bands, over the phases of the world.

        Parameters
        ----------
        policies
            Which, by names or places in the plan; the best eight unless given.
        world
            The spec of a world, or a pattern for it; needed if there are several and no facets.
        facets
            ``"world"``: a panel for every world, or for those that `world` matches, with one
            legend. None: one world.
        log, logx
            Whether regret, and whether rounds, are on a log axis; `log` unless given: if the best
            and the worst are far apart.
        legend
            ``"below"`` the panels, ``"outside"`` at their right, ``"inside"`` the first, or None;
            ``"auto"`` is below, and inside on given axes.
        width
            ``"column"`` (3.25 inches), ``"page"`` (6.75), or inches: of the figure and its files.
        columns
            Facets in a row.
        ax, path, title, xlabel, ylabel, labels
            See the class; `labels` may have names for worlds, too.
        """
        from driftduel.figures.results import plot_regret

        if facets not in (None, "world"):
            raise DriftduelError(f"facets={facets!r} must be 'world', or None for one world.")
        if facets is None:
            drawn = [self._world(world)]
        elif not (drawn := self._worlds(world)):
            self._world(world)  # refuses it in a sentence
        return plot_regret(
            drawn, path, policies, log=log, logx=logx, legend=legend, width=width,
            columns=columns, common=self.findings.common, ax=ax, title=title, xlabel=xlabel,
            ylabel=ylabel, labels=labels,
        )  # fmt: skip

    def plot_goal(
        self, policies: Sequence[int | str] | None = None, world: str | None = None, **more: Any
    ) -> Any:
        """Draw the curve of the goal over votes, with its bands.

        `more`: log, ax, path, title, xlabel, ylabel, names.
        """
        from driftduel.figures.goals import plot_goal

        return plot_goal(self._world(world), policies=policies, **more)

    def plot_totals(
        self, policies: Sequence[int | str] | None = None, world: str | None = None, **more: Any
    ) -> Any:
        """Draw every policy's regret with its interval.

        `more`: log, ax, path, width, title, xlabel, labels.
        """
        from driftduel.figures.results import plot_totals

        return plot_totals(self._world(world), policies=policies, **more)

    def plot_heat(self, policies: Sequence[int | str] | None = None, **more: Any) -> Any:
        """Draw ratios to the best of every world; `more`: ax, path, width, title, label, labels."""
        from driftduel.figures.results import plot_heat

        return plot_heat(self._finished(), policies=policies, **more)

    def plot_trend(
        self, policies: Sequence[int | str] | None = None, axis: str = "rounds", **more: Any
    ) -> Any:
        """Draw regret against the ``rounds``, or the ``switches``, of worlds alike in all else.

        `more`: ax, path, legend, width, title, xlabel, ylabel, labels.
        """
        from driftduel.figures.results import plot_trend

        trends = [trend for trend in self._finished().trends if trend.axis == axis]
        if not trends:
            raise DriftduelError(
                f"no two worlds of the plan differ in their {axis} and in nothing else, so there "
                f"is no trend to draw."
            )
        return plot_trend(trends[0], self.findings, policies=policies, **more)

    def plot_restarts(
        self, policies: Sequence[int | str] | None = None, world: str | None = None, **more: Any
    ) -> Any:
        """Draw when policies restarted, and how often needlessly.

        `more`: path, width, title, labels.
        """
        from driftduel.figures.results import plot_restarts

        return plot_restarts(self._world(world), policies=policies, **more)

    def plot_shares(
        self, policies: Sequence[int | str] | None = None, world: str | None = None, **more: Any
    ) -> Any:
        """Draw how often each arm was played over time.

        `more`: path, width, title, xlabel, labels.
        """
        from driftduel.figures.results import plot_shares

        return plot_shares(self._world(world), policies=policies, **more)

    def _finished(self) -> "Findings":
        if not self.findings.worlds:
            raise DriftduelError("nothing is finished yet, so there is nothing to draw.")
        return self.findings

    def _world(self, world: str | None) -> "WorldFindings":
        """Return what is known of the one world that is meant."""
        meant = self._worlds(world)
        if len(meant) != 1:
            which = "several worlds" if world is None else f"{len(meant)} worlds match {world!r}"
            raise DriftduelError(
                f"{which}; say which one to draw with world=, such as "
                f"{self.findings.worlds[0].spec!r}."
            )
        return meant[0]

    def _worlds(self, world: str | None) -> "list[WorldFindings]":
        """Return the worlds with this spec, or else those that match it; all for None."""
        worlds = self._finished().worlds
        meant = [each for each in worlds if world is None or each.spec == world]
        if not meant and world is not None:
            meant = [each for each in worlds if matches(each.spec, world)]
        return meant


def results(folder: str | Path) -> Results:
    """Open what is in a folder, finished or not."""
    return Results(Store(folder))
