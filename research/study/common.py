"""Parts of a study: sections of claims, tables and charts, as plain data.

A section holds every number that is shown, so the page, the Markdown and the figures are written
from one record, and that record can be kept as JSON.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from driftduel._internal import wording
from driftduel._internal.wording import decimals, rough, share as part

__all__ = [
    "CEILING",
    "FLAT",
    "MODULE",
    "NEAR_UNIFORM",
    "TOLERANCE",
    "Chart",
    "Claim",
    "Panel",
    "Section",
    "Series",
    "Size",
    "Table",
    "begins",
    "flat_verdict",
    "interval",
    "limit_verdict",
    "rounds_text",
    "section_from",
    "times",
]

Size = Literal["tiny", "quick", "full"]
MODULE = "research.study.worlds"
"""Module that plans import: worlds for the study only, not listed elsewhere."""
TOLERANCE = 0.1
"""How far a measured exponent may lie above the paper's: its bounds hide powers of log T."""
FLAT = 1.2
"""Regret that grows by less than this factor, interval and all, is called flat."""
NEAR_UNIFORM = 0.8
"""Above this share of uniform play's regret, little has been learned: 1 / 0.8 is above `FLAT`."""
CEILING = 0.5
"""Above this share an exponent is uninformative, because regret hardly exceeds uniform play's."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, and its measurement."""

    source: str
    """Its number in the paper."""
    statement: str
    measured: str
    interval: str
    """95% unless another level is given."""
    verdict: str
    """holds / begins at T = ... / not seen up to T = ... / undecided."""


@dataclass(frozen=True)
class Table:
    """Rows of text."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True)
class Series:
    """A line of a chart, or its bars: x from..to at height y where `kind` is ``spans``."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    kind: str = "line"
    """line, guide (thin, no markers: a bound) or spans."""
    to: list[float] | None = None
    style: int = 0


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    x_log: bool = True
    y_log: bool = True
    marks: list[float] = field(default_factory=list)
    """Rounds marked by an upright line."""
    marks_name: str = ""
    level: float | None = None
    """A height marked by a level line."""
    level_name: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure: panels side by side under one title that states the result."""

    name: str
    """Of its file."""
    title: str
    panels: list[Panel]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One experiment."""

    number: int
    title: str
    intro: str
    claims: list[Claim]
    tables: list[Table]
    charts: list[Chart]
    left_out: str = ""
    """Experiments that were not played, and the reasons."""
    data: dict[str, Any] = field(default_factory=dict)
    """Numbers that programs read."""

    def as_dict(self) -> dict[str, Any]:
        """Return the section as JSON can hold it."""
        return asdict(self)


def section_from(record: dict[str, Any]) -> Section:
    """Read what `Section.as_dict` gave."""
    charts = [
        Chart(
            **{
                **chart,
                "panels": [
                    Panel(**{**panel, "series": [Series(**each) for each in panel["series"]]})
                    for panel in chart["panels"]
                ],
            }
        )
        for chart in record["charts"]
    ]
    return Section(
        **{
            **record,
            "claims": [Claim(**claim) for claim in record["claims"]],
            "tables": [Table(**table) for table in record["tables"]],
            "charts": charts,
        }
    )


def rounds_text(rounds: float) -> str:
    """Write a number of rounds, in powers of ten where they are long.

    Examples
    --------
    >>> rounds_text(100_000_000), rounds_text(30_000_000), rounds_text(2500)
    ('1e8', '3e7', '2,500')
    """
    text = f"{rounds:.0e}".replace("e+0", "e").replace("e+", "e")
    return text if rounds >= 1e4 and float(text) == rounds else f"{rounds:,.0f}"


def times(value: float) -> str:
    """Write a ratio: with three decimals where that is what matters.

    Examples
    --------
    >>> times(1.0000012), times(22.41)
    ('1.000', '22.4')
    """
    return decimals(value, 3) if value < 2 else rough(value)


def interval(low: float | None, high: float | None) -> str:
    """Write an interval, as roughly as the study's other numbers."""
    return wording.interval(low, high, rough)


def limit_verdict(low: float | None, high: float | None, limit: float, up_to: float) -> str:
    """Judge an exponent that the paper bounds from above.

    Parameters
    ----------
    low, high
        Its interval; None if there is none.
    limit
        The paper's exponent; `TOLERANCE` is added for the logarithms.
    up_to
        The longest horizon that was played.
    """
    if low is None or high is None:
        return "undecided: too few runs for an interval"
    if high <= limit + TOLERANCE:
        return "holds"
    if low > limit + TOLERANCE:
        return f"not seen up to T = {rounds_text(up_to)}"
    return f"undecided: the interval contains {rough(limit + TOLERANCE)}"


def flat_verdict(
    low: float | None, high: float | None, up_to: float, share: float, *, both: bool = False
) -> str:
    """Judge a ratio of regrets that the paper's bound would leave at 1.

    Parameters
    ----------
    low, high
        Its interval; None if there is none.
    up_to
        The longest horizon that was played.
    share
        Regret as a share of uniform play's, see `NEAR_UNIFORM`.
    both
        Whether falling regret counts against it as well.
    """
    if low is None or high is None:
        return "undecided: too few runs for an interval"
    if share > NEAR_UNIFORM:
        return f"not seen up to T = {rounds_text(up_to)}: {part(share)} of uniform play"
    least = 1 / FLAT if both else 0.0
    if low > least and high < FLAT:
        return "holds"
    if low > FLAT or high < least:
        return f"not seen up to T = {rounds_text(up_to)}"
    return f"undecided: the interval contains {rough(FLAT if high > FLAT else least)}"


def begins(horizons: list[float], fulfilled: list[bool], up_to: float | None = None) -> str:
    """Return the horizon from which on a condition holds at all later ones, as text.

    Examples
    --------
    >>> begins([1e5, 1e6, 1e7], [False, True, True])
    'begins at T = 1e6'
    >>> begins([1e5, 1e6], [False, False])
    'not seen up to T = 1e6'
    >>> begins([1e5, 1e6], [True, False])
    'undecided: seen at T = 1e5, not at T = 1e6'
    """
    if not horizons:
        return "undecided: nothing was played"
    first = len(fulfilled)
    while first and fulfilled[first - 1]:
        first -= 1
    if first == len(fulfilled) and any(fulfilled):
        seen = horizons[max(i for i, each in enumerate(fulfilled) if each)]
        return f"undecided: seen at T = {rounds_text(seen)}, not at T = {rounds_text(horizons[-1])}"
    if first == len(fulfilled):
        return f"not seen up to T = {rounds_text(up_to or horizons[-1])}"
    return "holds" if first == 0 else f"begins at T = {rounds_text(horizons[first])}"
