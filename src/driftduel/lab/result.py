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
    from driftduel.lab.findings import Findings, WorldFindings

__all__ = ["Results", "results"]

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, repr=False)
class Results:
    """Tables of what was played, as polars data frames, and figures of it.

    The figures are matplotlib's, to be shown in a notebook, changed, and saved as PDF, SVG or PNG:
    ``results.plot_regret(log=True).savefig("regret.pdf")``. All take `path` to write files,
    `policies` (names, or places in the plan), `title`, and `names`, what to call policies that are
    not to go by their specs; those with one panel take `ax`, to be drawn into a figure of yours,
    and then return it. `driftduel.figures.results` has all parameters.
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

    def plot_regret(
        self,
        policies: Sequence[int | str] | None = None,
        world: str | None = None,
        *,
        log: bool | None = None,
        ax: Any = None,
        path: Paths | None = None,
        title: str | None = None,
        xlabel: str = "round",
        ylabel: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> Any:
        """Draw regret over time with bands, over the phases of the world.

        Parameters
        ----------
        policies
            Which, by names or places in the plan; the best eight unless given.
        world
            The spec of a world, or a pattern for it; needed if there are several.
        log
            Whether regret is on a log axis; unless given, if the best and the worst are far apart.
        ax, path, title, xlabel, ylabel, names
            See the class.
        """
        from driftduel.figures.results import plot_regret

        return plot_regret(
            self._world(world), path, policies, log=log, ax=ax, title=title, xlabel=xlabel,
            ylabel=ylabel, names=names,
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

        `more`: log, ax, path, title, xlabel, names.
        """
        from driftduel.figures.results import plot_totals

        return plot_totals(self._world(world), policies=policies, **more)

    def plot_heat(self, policies: Sequence[int | str] | None = None, **more: Any) -> Any:
        """Draw ratios to the best of every world; `more`: ax, path, title, label, names."""
        from driftduel.figures.results import plot_heat

        return plot_heat(self._finished(), policies=policies, **more)

    def plot_trend(
        self, policies: Sequence[int | str] | None = None, axis: str = "rounds", **more: Any
    ) -> Any:
        """Draw regret against the ``rounds``, or the ``switches``, of worlds alike in all else.

        `more`: ax, path, title, xlabel, ylabel, names.
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
        """Draw when policies restarted, and how often needlessly; `more`: path, title, names."""
        from driftduel.figures.results import plot_restarts

        return plot_restarts(self._world(world), policies=policies, **more)

    def plot_shares(
        self, policies: Sequence[int | str] | None = None, world: str | None = None, **more: Any
    ) -> Any:
        """Draw how often each arm was played over time; `more`: path, title, xlabel, names."""
        from driftduel.figures.results import plot_shares

        return plot_shares(self._world(world), policies=policies, **more)

    def _finished(self) -> "Findings":
        if not self.findings.worlds:
            raise DriftduelError("nothing is finished yet, so there is nothing to draw.")
        return self.findings

    def _world(self, world: str | None) -> "WorldFindings":
        """Return what is known of the one world that is meant."""
        worlds = self._finished().worlds
        meant = [each for each in worlds if world is None or each.spec == world]
        if not meant and world is not None:
            meant = [each for each in worlds if matches(each.spec, world)]
        if len(meant) != 1:
            which = "several worlds" if world is None else f"{len(meant)} worlds match {world!r}"
            raise DriftduelError(
                f"{which}; say which one to draw with world=, such as {worlds[0].spec!r}."
            )
        return meant[0]


def results(folder: str | Path) -> Results:
    """Open what is in a folder, finished or not."""
    return Results(Store(folder))
