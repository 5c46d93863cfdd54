"""A section of the page: a template with its data and its charts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from driftduel._internal.wording import interval
from driftduel.lab import Findings, Game, WorldFindings
from driftduel.report.chart import Chart

if TYPE_CHECKING:
    from driftduel.lab import Results

__all__ = ["OneWorld", "Section", "between", "column", "game_name"]


@dataclass(frozen=True)
class Section:
    """The return value of the modules of ``report.sections``: a template, values and charts."""

    template: str
    values: Mapping[str, Any]
    charts: Mapping[str, Chart] = field(default_factory=dict)
    """Charts by the value of the attribute ``data-chart`` of their boxes in the template."""
    bases: Mapping[str, Chart] = field(default_factory=dict)
    """Shared values of charts, by the value of their key ``base``."""


@dataclass(frozen=True)
class OneWorld:
    """The input of sections about a single world."""

    results: "Results"
    findings: Findings
    world: WorldFindings
    drawn: WorldFindings
    """The same world, limited to the policies that are drawn."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Sentences about policies by spec."""

    @property
    def level(self) -> str:
        """The HTML element of the headings of sections, such as ``h3``."""
        return "h3" if len(self.findings.plan.worlds) > 1 else "h2"

    @property
    def run(self) -> str:
        """The name of the example run, for charts that cannot average over runs."""
        return game_name(self.world.example, len(self.findings.plan.seeds))

    @property
    def names(self) -> dict[int, str]:
        """The specs of policies by index in the plan."""
        return {place: policy.spec for place, policy in enumerate(self.findings.plan.policies)}


def column(heading: str, title: str = "", *, words: bool = False) -> dict[str, Any]:
    """Return the attributes of a table column: heading, tooltip, and whether it contains words."""
    return {"heading": heading, "title": title, "words": words}


def game_name(game: Game, seeds: int) -> str:
    """Return the name of a run, with its seed if the plan has several seeds."""
    seed, run = game
    return f"run {run}" if seeds == 1 else f"run {run} of seed {seed}"


def between(low: float | None, high: float | None) -> str:
    """Return the text of an interval below a number; an empty string without an interval."""
    return "" if low is None else interval(low, high)
