"""Section on all worlds: the ratio of every policy to the best one of each world."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from driftduel._internal.wording import (
    code,
    counted,
    interval,
    listed,
    number,
    ratio as ratio_text,
    times,
)
from driftduel.lab import Findings, Standing, WorldFindings, ratio_means
from driftduel.report.section import Section, column

__all__ = ["about_heat", "section"]

# RGB values from the best to the worst: cividis, which is monotonic in lightness.
_HEAT = ((254, 232, 56), (188, 174, 108), (124, 123, 120), (67, 78, 108), (0, 34, 78))
_HOTTEST = 100.0
_MANY_WORLDS = 5


@dataclass(frozen=True)
class HeatCell:
    """A cell with a ratio to the best, its colours and its tooltip."""

    title: str
    ratio: float | None = None
    text: str = "-"
    background: str = ""
    colour: str = ""


def section(findings: Findings) -> Section:
    """Return the section with the table of all policies in all worlds."""
    worlds = findings.worlds
    scores = ratio_means(worlds)
    rows = []
    for place in findings.ranking:
        mean = _cell(scores.get(place), "", "geometric mean over all worlds")
        standings = (
            (next((s for s in world.standings if s.policy == place), None), world.label)
            for world in worlds
        )
        cells = [_ratio_cell(standing, label) for standing, label in standings]
        rows.append((place, findings.plan.policies[place].spec, [mean, *cells]))
    return Section(
        "heat.html",
        {
            "says": about_heat(worlds),
            "columns": [
                column("policy"),
                column("all worlds", "geometric mean of the ratios"),
                *(column(world.label, world.spec) for world in worlds),
            ],
            "kind": "heat tall" if len(worlds) > _MANY_WORLDS else "heat",
            "rows": rows,
        },
    )


def _ratio_cell(standing: Standing | None, where: str) -> HeatCell:
    if standing is None:
        return _cell(None, "", f"no game in {where}")
    text = f"{standing.name} in {where}: regret {number(standing.mean)}"
    if standing.low is not None and standing.high is not None:
        text += f", 95% interval {interval(standing.low, standing.high)}"
    if standing.difference_low is not None:
        text += (
            f"; {interval(standing.difference_low, standing.difference_high)} more than the best"
        )
    unclear = standing.worse is False and standing.ratio != 1
    return _cell(standing.ratio, "\u2248" if unclear else "", text)


def _cell(ratio: float | None, mark: str, title: str) -> HeatCell:
    if ratio is None:
        return HeatCell(title)
    place = min(1.0, math.log(max(ratio, 1.0)) / math.log(_HOTTEST)) * (len(_HEAT) - 1)
    low = min(int(place), len(_HEAT) - 2)
    red, green, blue = (
        round(one + (other - one) * (place - low))
        for one, other in zip(_HEAT[low], _HEAT[low + 1], strict=True)
    )
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 125
    return HeatCell(
        title,
        ratio,
        f"{ratio_text(ratio)}{mark}",
        f"#{red:02x}{green:02x}{blue:02x}",
        "#ffffff" if dark else "#000000",
    )


def about_heat(worlds: Sequence[WorldFindings]) -> str:
    """Return sentences about the policies with the smallest and the largest ratios."""
    ratios: dict[str, list[float]] = {}
    for world in worlds:
        for standing in world.standings:
            if standing.ratio is not None:
                ratios.setdefault(standing.name, []).append(standing.ratio)
    if not ratios:
        return "The best policy has no regret in any world, so there are no ratios."
    near = {name: sum(ratio <= 1.1 for ratio in each) for name, each in ratios.items()}
    most = max(near.values())
    nearest = [code(name) for name, count in near.items() if count == most]
    text = f"{listed(nearest, most=3)} {'is' if len(nearest) == 1 else 'are each'} within 10% of "
    text += f"the best in {most:,} of {counted(len(worlds), 'world')}."
    name, ratio, where = max(
        ((s.name, s.ratio, w.label) for w in worlds for s in w.standings if s.ratio is not None),
        key=lambda each: each[1],
    )
    text += f" Furthest from the best is {code(name)} in {code(where)}: {times(ratio)} its regret."
    steady = {name: max(each) for name, each in ratios.items() if len(each) == len(worlds)}
    if len(steady) > 1 and min(steady.values()) > 1:
        safest = min(steady, key=steady.__getitem__)
        text += f" {code(safest)} has the smallest worst case: {times(steady[safest])} the best."
    return text
