"""The study in a sentence a section, from the numbers that its charts and tables show."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from driftduel._internal.wording import decimals, listed, rough, share, whole
from research.study.common import Panel, Section, Series, rounds_text, times
from research.study.fits import bound_slope

__all__ = ["ANACONDA", "in_short", "least_regret", "line", "panels", "rivals_overtaken", "step"]

ANACONDA = "ANACONDA, C = 0.5"


def in_short(sections: Sequence[Section]) -> list[tuple[str, str]]:
    """Return the title of each section, and a sentence or two about its results."""
    return [(section.title, _SENTENCES[section.number](section)) for section in sections]


def panels(section: Section, chart: str) -> list[Panel]:
    """Return the panels of a chart, by its name."""
    return next(drawn.panels for drawn in section.charts if drawn.name == chart)


def line(panel: Panel, name: str) -> Series:
    """Return a line of a panel, by its name."""
    return next(curve for curve in panel.series if curve.name == name)


def step(series: Series, first: int, last: int) -> float:
    """Return the slope between two points of a line, on log scales."""
    rise = math.log(series.y[last] / series.y[first])
    return rise / math.log(series.x[last] / series.x[first])


def _grown(series: Series) -> str:
    return rough(series.y[-1] / series.y[0])


def _rate(section: Section) -> str:
    slopes, shares, bounds = [], [], []
    for panel in panels(section, "rate-horizon"):
        ours, uniform = line(panel, ANACONDA), line(panel, "uniform play")
        slopes.append(
            f"{decimals(step(ours, 0, 1))} to {decimals(step(ours, -2, -1))} for {panel.title}"
        )
        bounds.append(bound_slope(ours.x[-2], ours.x[-1]))
        end = f"T = {rounds_text(ours.x[-1])}"
        shares.append(f"{share(ours.y[-1] / uniform.y[-1])} for {panel.title} at {end}")
    phases = line(panels(section, "rate-switches-arms")[0], ANACONDA)
    return (
        f"With C = 0.5 the local slope in T falls from {listed(slopes)} over the horizons played; "
        f"the slope of the theorem's sqrt(T) log^3 T falls to {decimals(min(bounds))}. Compared "
        f"with uniform play, the regret at the last horizon is {listed(shares)}. In the number of "
        f"phases the exponent is {decimals(step(phases, 0, -1))}; the paper has one half."
    )


def _noise(section: Section) -> str:
    panel = panels(section, "noise")[0]
    ours = line(panel, ANACONDA)
    rivals = _told(panel, "S^P")
    early, late = (
        listed([f"{rough(curve.y[place] / curve.y[0])} times" for curve in rivals.values()])
        for place in (1, -1)
    )
    text = (
        f"When the losers swap places in every round instead of never, ANACONDA's regret is "
        f"{_grown(ours)} times as large. That of {listed(list(rivals))}, told S^P, is {early} as "
        f"large at S^P = {whole(ours.x[1] - 1)}, and {late} as large in the end."
    )
    for name, other in _told(panel, "S^CW").items():
        text += f" That of {name}, told S^CW, is {times(other.y[-1] / other.y[0])} times as large"
        factor = ours.y[-1] / other.y[-1]
        text += f" and ends {rough(factor)} times below ANACONDA's." if factor > 1 else "."
    return text


def _told(panel: Panel, what: str) -> dict[str, Series]:
    """Return the lines of the policies with this parameter, by name."""
    end = f", told {what}"
    return {s.name.removesuffix(end): s for s in panel.series if s.name.endswith(end)}


def _significant(section: Section) -> str:
    hair, much = (line(panel, ANACONDA) for panel in panels(section, "significant"))
    return (
        f"{whole(hair.x[-1] - hair.x[0])} additional switches that are not significant multiply "
        f"regret by {_grown(hair)}; {whole(much.x[-1] - much.x[0])} additional significant ones "
        f"multiply it by {_grown(much)}."
    )


def _variation(section: Section) -> str:
    winner, total, horizon = (line(panel, ANACONDA) for panel in panels(section, "variation"))
    return (
        f"Regret grows like the CW variation to the power of {decimals(step(winner, 0, -1))} and "
        f"like T^{decimals(step(horizon, -2, -1))} between the two longest horizons, where the "
        f"paper has 1/3 and 2/3. When losers alone make the total variation "
        f"{rough(total.x[-1] / total.x[0])} times as large, regret is multiplied by "
        f"{times(total.y[-1] / total.y[0])}."
    )


def _lemmas(section: Section) -> str:
    safe = [row["level"] for row in section.data["calibration"]]
    lines = [curve for panel in panels(section, "lemmas-restarts") for curve in panel.series]
    level = max(x for curve in lines for x in curve.x)
    most = max(curve.y[curve.x.index(level)] for curve in lines if level in curve.x)
    restarting = f"up to {share(most, 1)} of the runs" if most else "no run"
    text = (
        f"In worlds that never change, {restarting} restarted at C log T = {rough(level)}, the "
        f"largest value played."
    )
    if safe:
        text += (
            f" At most 1 run in 100 restarts once C log T reaches {rough(min(safe))} to "
            f"{rough(max(safe))}, depending on K and T"
            f"{' (longer games need more)' if _grows(section) else ''}: see the calibration below."
        )
    return text


def _grows(section: Section) -> bool:
    """Return whether longer games need a larger C log T: for some K, and for none a smaller."""
    by_arms: dict[int, list[float]] = {}
    for row in sorted(section.data["calibration"], key=lambda row: row["rounds"]):
        by_arms.setdefault(row["arms"], []).append(row["level"])
    rising = all(levels == sorted(levels) for levels in by_arms.values())
    return rising and any(levels[0] < levels[-1] for levels in by_arms.values())


def _constants(section: Section) -> str:
    by_constant, by_rate = panels(section, "constants")
    last = by_constant.series[-1]
    best = last.y.index(min(last.y))
    rates = line(by_rate, last.name)
    least, paper = rates.y.index(min(rates.y)), rates.x.index(1.0)
    return (
        f"At {last.name}, C = {rough(last.x[best])} loses least; C = {rough(last.x[-1])}, the "
        f"largest value played, loses {rough(last.y[-1] / last.y[best])} times as much. The "
        f"paper's replay rate loses {rough(rates.y[paper] / rates.y[least])} times as much as a "
        f"rate of {rough(rates.x[least])}."
    )


def _rivals(section: Section) -> str:
    pairs, more, less = rivals_overtaken(section)
    name, count, places = least_regret(section)
    return (
        f"There are {pairs} pairs of a rival and a world, not counting uniform play. At the last "
        f"horizon both played, ANACONDA (C = 0.5) has more regret in {more} of them and less in "
        f"{len(less)}{' (' + '; '.join(less) + ')' if less else ''}; {pairs - more - len(less)} "
        f"are undecided. `{name}` loses least in {count} of {places} pairs of a world and a "
        f"horizon."
    )


def rivals_overtaken(section: Section) -> tuple[int, int, list[str]]:
    """Count pairs of a rival and a world, and those where it loses more; list the opposite."""
    overtaken = section.tables[0]
    real = [i for i, name in enumerate(overtaken.head) if i and name != "uniform play"]
    verdicts = [(overtaken.head[i], row[0], row[i]) for row in overtaken.rows for i in real]
    less = [
        f"{rival} in {world}: {verdict.partition(' (')[0].replace('T =', 'from T =')}"
        for rival, world, verdict in verdicts
        if not verdict.startswith(("more", "undecided"))
    ]
    return len(verdicts), sum(verdict.startswith("more") for _, _, verdict in verdicts), less


def least_regret(section: Section) -> tuple[str, int, int]:
    """Return the most frequent policy with least regret, its count, and the number of games."""
    best = section.tables[1]
    wins = Counter(row[best.head.index("least regret")] for row in best.rows)
    return (*wins.most_common(1)[0], len(best.rows))


_SENTENCES: dict[int, Callable[[Section], str]] = {
    1: _rate, 2: _noise, 3: _significant, 4: _variation, 5: _lemmas, 6: _constants, 7: _rivals,
}  # fmt: skip
