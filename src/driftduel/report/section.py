"""A section of the page: a template, and the plain data and charts that it shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from driftduel.lab.findings import Findings, Game, WorldFindings
from driftduel.report.chart import Chart
from driftduel.wording import interval

if TYPE_CHECKING:
    from driftduel.lab import Results

__all__ = ["OneWorld", "Section", "between", "column", "game_name"]


@dataclass(frozen=True)
class Section:
    """What a module of ``report.sections`` returns; the page renders it and draws its charts."""

    template: str
    values: Mapping[str, Any]
    charts: Mapping[str, Chart] = field(default_factory=dict)
    """By the names that boxes of the template give in ``data-chart``."""
    bases: Mapping[str, Chart] = field(default_factory=dict)
    """What charts have in common, by the names that they give in ``base``."""


@dataclass(frozen=True)
class OneWorld:
    """What sections about a single world are made from."""

    results: "Results"
    findings: Findings
    world: WorldFindings
    drawn: WorldFindings
    """The same world, with the policies that are drawn; of very many, the best."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Sentences about policies, by their specs."""

    @property
    def level(self) -> str:
        """The level of the sections' headings."""
        return "h3" if len(self.findings.plan.worlds) > 1 else "h2"

    @property
    def run(self) -> str:
        """The run that is shown where runs cannot be averaged."""
        return game_name(self.world.example, len(self.findings.plan.seeds))

    @property
    def names(self) -> dict[int, str]:
        """The policies' specs by their places in the plan."""
        return {place: policy.spec for place, policy in enumerate(self.findings.plan.policies)}


def column(heading: str, title: str = "", *, words: bool = False) -> dict[str, Any]:
    """Describe a column of a table: its heading, what it explains, words or numbers."""
    return {"heading": heading, "title": title, "words": words}


def game_name(game: Game, seeds: int) -> str:
    """Name a run; its seed only if there are several."""
    seed, run = game
    return f"run {run}" if seeds == 1 else f"run {run} of seed {seed}"


def between(low: float | None, high: float | None) -> str:
    """Write an interval under a number; nothing, not a dash, where there is none."""
    return "" if low is None else interval(low, high)
