"""Keyword arguments of figures, for type checkers: `Results.plot_*` pass them on unchanged."""

from collections.abc import Mapping
from typing import Any, TypedDict

from driftduel.figures.results import Legend, Paths, Width

__all__ = [
    "FigureOptions", "GoalOptions", "HeatOptions", "SharesOptions", "TotalsOptions", "TrendOptions"
]  # fmt: skip


class FigureOptions(TypedDict, total=False):
    """Keyword arguments of all figures about results."""

    path: Paths | None
    width: Width | None
    title: str | None
    labels: Mapping[str, str] | None


class SharesOptions(FigureOptions, total=False):
    """Keyword arguments of `plot_shares`."""

    xlabel: str


class HeatOptions(FigureOptions, total=False):
    """Keyword arguments of `plot_heat`."""

    ax: Any
    label: str


class TotalsOptions(FigureOptions, total=False):
    """Keyword arguments of `plot_totals`."""

    ax: Any
    log: bool | None
    xlabel: str | None


class TrendOptions(FigureOptions, total=False):
    """Keyword arguments of `plot_trend`."""

    ax: Any
    legend: Legend
    xlabel: str | None
    ylabel: str | None


class GoalOptions(FigureOptions, total=False):
    """Keyword arguments of `plot_goal`."""

    ax: Any
    legend: Legend
    log: bool | None
    xlabel: str
    ylabel: str | None
