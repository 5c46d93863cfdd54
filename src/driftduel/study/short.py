"""The study in a sentence a section, from the numbers that its charts and tables show."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from driftduel.study.common import Panel, Section, Series, number, rounds_text, times
from driftduel.study.fits import bound_slope

__all__ = ["in_short"]

_OURS = "ANACONDA, C = 0.5"


def in_short(sections: Sequence[Section]) -> list[tuple[str, str]]:
    """Return the title of each section, and a sentence or two on what it found."""
    return [(section.title, _SENTENCES[section.number](section)) for section in sections]


def _panels(section: Section, chart: str) -> list[Panel]:
    return next(each.panels for each in section.charts if each.name == chart)


def _line(panel: Panel, name: str) -> Series:
    return next(each for each in panel.series if each.name == name)


def _step(series: Series, first: int, last: int) -> float:
    """Return the slope between two points of a line, on log scales."""
    rise = math.log(series.y[last] / series.y[first])
    return rise / math.log(series.x[last] / series.x[first])


def _grown(series: Series) -> str:
    return number(series.y[-1] / series.y[0])


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _rate(section: Section) -> str:
    slopes, shares, bounds = [], [], []
    for panel in _panels(section, "rate-horizon"):
        ours, uniform = _line(panel, _OURS), _line(panel, "uniform play")
        slopes.append(f"{_step(ours, 0, 1):.2f} to {_step(ours, -2, -1):.2f} for {panel.title}")
        bounds.append(bound_slope(ours.x[-2], ours.x[-1]))
        end = f"T = {rounds_text(ours.x[-1])}"
        shares.append(f"{ours.y[-1] / uniform.y[-1]:.0%} for {panel.title} at {end}")
    phases = _line(_panels(section, "rate-switches-arms")[0], _OURS)
    return (
        f"With C = 0.5 the local slope in T goes from {_listed(slopes)}, over the horizons played; "
        f"that of sqrt(T) log^3 T, the theorem's, comes down to {min(bounds):.2f}. Of uniform "
        f"play's regret, {_listed(shares)} are left. In the number of phases the exponent is "
        f"{_step(phases, 0, -1):.2f}, where the paper has one half."
    )


def _noise(section: Section) -> str:
    panel = _panels(section, "noise")[0]
    ours = _line(panel, _OURS)
    rivals = _told(panel, "S^P")
    early, late = (
        _listed([f"{number(each.y[place] / each.y[0])} times" for each in rivals.values()])
        for place in (1, -1)
    )
    text = (
        f"From losers that keep their order to losers that swap it in every round, ANACONDA's "
        f"regret grows {_grown(ours)} times. That of {_listed(list(rivals))}, told S^P, grows "
        f"{early} at S^P = {ours.x[1] - 1:,.0f} and {late} in the end."
    )
    for name, other in _told(panel, "S^CW").items():
        text += f" That of {name}, told S^CW, is multiplied by {times(other.y[-1] / other.y[0])}"
        factor = ours.y[-1] / other.y[-1]
        text += f" and ends {number(factor)} times below ANACONDA's." if factor > 1 else "."
    return text


def _told(panel: Panel, what: str) -> dict[str, Series]:
    """Return the lines of those who are told so, by name."""
    end = f", told {what}"
    return {s.name.removesuffix(end): s for s in panel.series if s.name.endswith(end)}


def _significant(section: Section) -> str:
    hair, much = (_line(panel, _OURS) for panel in _panels(section, "significant"))
    return (
        f"{hair.x[-1] - hair.x[0]:,.0f} more switches that are not significant multiply regret by "
        f"{_grown(hair)}; {much.x[-1] - much.x[0]:,.0f} more that are, by {_grown(much)}."
    )


def _variation(section: Section) -> str:
    winner, total, horizon = (_line(panel, _OURS) for panel in _panels(section, "variation"))
    return (
        f"Regret grows like the CW variation to the power of {_step(winner, 0, -1):.2f} and like "
        f"T^{_step(horizon, -2, -1):.2f} between the two longest horizons, where the paper has 1/3 "
        f"and 2/3. Total variation {number(total.x[-1] / total.x[0])} times larger, made by losers "
        f"alone, multiplies it by {times(total.y[-1] / total.y[0])}."
    )


def _lemmas(section: Section) -> str:
    safe = [row["level"] for row in section.data["calibration"]]
    lines = [each for panel in _panels(section, "lemmas-restarts") for each in panel.series]
    level = max(x for each in lines for x in each.x)
    most = max(each.y[each.x.index(level)] for each in lines if level in each.x)
    text = (
        f"In worlds that never change {f'up to {most:.1%} of the runs' if most else 'no run'} "
        f"restarted at C log T = {number(level)}, the largest played."
    )
    if safe:
        text += (
            f" At most 1 in 100 does from {number(min(safe))} to {number(max(safe))} on, by K and "
            f"T{' (it grows with T)' if _grows(section) else ''}: the calibration below."
        )
    return text


def _grows(section: Section) -> bool:
    """Tell whether a longer game asks for a larger C log T: for some K, and for none a smaller."""
    by_arms: dict[int, list[float]] = {}
    for row in sorted(section.data["calibration"], key=lambda row: row["rounds"]):
        by_arms.setdefault(row["arms"], []).append(row["level"])
    rising = all(levels == sorted(levels) for levels in by_arms.values())
    return rising and any(levels[0] < levels[-1] for levels in by_arms.values())


def _constants(section: Section) -> str:
    by_constant, by_rate = _panels(section, "constants")
    last = by_constant.series[-1]
    best = last.y.index(min(last.y))
    rates = _line(by_rate, last.name)
    least, paper = rates.y.index(min(rates.y)), rates.x.index(1.0)
    return (
        f"At {last.name} C = {number(last.x[best])} loses least; C = {number(last.x[-1])}, the "
        f"largest played, {number(last.y[-1] / last.y[best])} times as much. The paper's "
        f"replay rate loses {number(rates.y[paper] / rates.y[least])} times as much as a rate of "
        f"{number(rates.x[least])}."
    )


def _rivals(section: Section) -> str:
    overtaken, best = section.tables[:2]
    real = [i for i, name in enumerate(overtaken.head) if i and name != "uniform play"]
    more = Counter(row[i].partition(" (")[0] for row in overtaken.rows for i in real)
    pairs = sum(more.values())
    less = [
        f"{overtaken.head[i]} in {row[0]}: {row[i].partition(' (')[0].replace('T =', 'from T =')}"
        for row in overtaken.rows
        for i in real
        if not row[i].startswith(("more", "undecided"))
    ]
    wins = Counter(row[best.head.index("least regret")] for row in best.rows)
    name, count = wins.most_common(1)[0]
    return (
        f"Of {pairs} pairs of a rival and a world, uniform play aside, ANACONDA (C = 0.5) has "
        f"more regret in {more['more']} at the last horizon both played, less in {len(less)}"
        f"{' (' + '; '.join(less) + ')' if less else ''}, and {more['undecided']} are open. "
        f"`{name}` loses least in {count} of {len(best.rows)} pairs of a world and a horizon."
    )


_SENTENCES: dict[int, Callable[[Section], str]] = {
    1: _rate, 2: _noise, 3: _significant, 4: _variation, 5: _lemmas, 6: _constants, 7: _rivals,
}  # fmt: skip
