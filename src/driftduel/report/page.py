"""The page: findings as HTML, with everything it needs inside."""

import json
import math
import re
import shlex
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftduel import __version__
from driftduel.figures.findings import Findings, Standing, Trend, WorldFindings, ratio_means
from driftduel.figures.lines import line_style
from driftduel.regret import BENCHMARKS
from driftduel.report import charts, sentences
from driftduel.report import markup as h
from driftduel.report.sentences import counted, game_name, listed, number, slope

if TYPE_CHECKING:
    from driftduel.lab import Results

__all__ = ["Picture", "make_page"]

# A page that is larger is a burden to send and slow to open; its charting library takes a third.
_MOST_BYTES = 14_000_000
# Of so many policies, counted once for each world, everything is drawn; beyond, of the best only.
_MOST_DRAWN = 400
_MOST_DRAWN_OF_A_WORLD = 12
_MOST_POINTS = 100
_MOST_AT_FIRST = 8
_MOST_SEEDS = 40
_MOST_FAILURES = 50
# From the best to the worst; cividis, which reads the same without colours.
_HEAT = ((254, 232, 56), (188, 174, 108), (124, 123, 120), (67, 78, 108), (0, 34, 78))
_HOTTEST = 100.0
_TOLD = {
    "at": "when it changes",
    "switches": "how often it changes",
    "variation": "how much it changes",
}


@dataclass(frozen=True)
class Picture:
    """The trace picture, or why there is none."""

    heading: str
    sentence: str
    png: bytes | None = None


def make_page(
    found: "Results",
    findings: Findings,
    picture: Picture,
    folder: str,
    figures: Sequence[str],
    chosen: Sequence[WorldFindings],
) -> str:
    """Write the page: what concerns all worlds, and of single ones as many as fit.

    Parameters
    ----------
    found, findings
        The results, and what was found in them.
    picture
        The trace picture.
    folder
        What to call the results.
    figures
        Names of the figure files beside the page.
    chosen
        The worlds to show one by one.
    """
    page = _Page(findings, folder, chosen)
    plan = findings.plan
    one = findings.worlds[0] if len(plan.worlds) == 1 else None
    heading = one.spec if one else f"{folder}: {counted(len(plan.worlds), 'world')}"
    library = h.charting_library()
    above = "" if one else page.all_worlds()
    below = [_trace_section(picture), _about_section(found, findings, figures)]
    sections = page.worlds(found, _MOST_BYTES - sum(map(len, (library, above, *below))))
    main = [above, *sections, *below]
    parts = {
        "title": h.escape(f"driftduel report: {folder}"),
        "css": h.resource("page.css"),
        "heading": f"<code>{h.breakable(heading)}</code>" if one else h.escape(heading),
        "setting": h.escape(_setting(findings, folder)),
        "notices": _notices(found, findings),
        "verdict": _verdict(findings),
        "glossary": _glossary(findings),
        "lines": h.lines(len(plan.policies)),
        "controls": page.controls(),
        "main": "\n".join(main),
        "data": page.data(),
        "plotly": library,
        "js": h.resource("page.js"),
    }
    # One pass, so that nothing in the results can pass for a hole in the template.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], h.resource("page.html"))


class _Page:
    """Collects the charts while the sections are written."""

    def __init__(self, findings: Findings, folder: str, chosen: Sequence[WorldFindings]) -> None:
        self.findings = findings
        self.folder = folder
        self.chosen = chosen
        self.shown: list[WorldFindings] = []
        self.names = [policy.spec for policy in findings.plan.policies]
        self.ranking = findings.ranking()
        many = len(self.ranking) > _MOST_AT_FIRST + 2
        self.at_first = self.ranking[:_MOST_AT_FIRST] if many else self.ranking
        self.charts: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        """Both as JSON, so that their size is known."""

    def data(self) -> str:
        policies = []
        for place, name in enumerate(self.names):
            style = line_style(place)
            policies.append(
                {
                    "label": charts.label(name),
                    "light": style.colour,
                    "dark": style.colour_on_dark,
                    "dash": style.dash,
                    "symbol": style.symbol,
                }
            )
        hidden = [place for place in self.ranking if place not in self.at_first]
        charts_, bases = (
            "{" + ",".join(f'"{name}":{text}' for name, text in each.items()) + "}"
            for each in (self.charts, self.bases)
        )
        about = h.as_json({"policies": policies, "hidden": hidden})
        return f'{about[:-1]},"charts":{charts_},"bases":{bases}}}'

    def controls(self) -> str:
        worlds = self.shown
        parts = []
        if len(self.findings.worlds) > 1:
            options = "".join(
                f'<option value="{world.index}">{h.escape(world.label)}</option>'
                for world in worlds
            )
            parts.append(
                f'<label class="label" for="world">World</label>'
                f'<select id="world">{options}</select>'
            )
            if len(worlds) < len(self.findings.worlds):
                parts.append(f'<p class="hint">{self._left_out()}</p>')
            if self.findings.common:
                parts.append(
                    f'<p class="hint">All: <code>{h.escape(self.findings.common)}</code></p>'
                )
        ticks = "\n".join(
            f'<label class="policy"><input type="checkbox" checked data-policy="{place}">'
            f"{h.swatch(place)}<code>{h.breakable(self.names[place])}</code></label>"
            for place in self.ranking
        )
        buttons = [("All", self.ranking), ("None", [])]
        if len(self.ranking) > 3:
            most = min(len(self.ranking) - 1, _MOST_AT_FIRST, 3 + len(self.ranking) // 8)
            buttons.insert(1, (f"Best {most}", self.ranking[:most]))
        row = "".join(
            f'<button type="button" data-policies="{json.dumps(chosen)}">{text}</button>'
            for text, chosen in buttons
        )
        order = "Best first" if len(self.findings.worlds) == 1 else "Best over all worlds first"
        if len(self.at_first) < len(self.ranking):
            order += f"; at first, the best {len(self.at_first)} are shown"
        parts.append(
            f"<fieldset><legend>Policies in the charts</legend>"
            f'<p class="hint">{order}.</p>{ticks}<div class="buttons">{row}</div></fieldset>'
        )
        return "\n".join(parts)

    # Sections about all worlds.

    def all_worlds(self) -> str:
        return f'<section id="heat">{self._heat()}</section>{self._trends()}'

    def _heat(self) -> str:
        worlds = self.findings.worlds
        scores = ratio_means(worlds)
        heads = ['<th scope="col"><button type="button">policy</button></th>']
        heads.append(
            '<th scope="col" aria-sort="ascending" title="geometric mean of the ratios">'
            '<button type="button">all worlds</button></th>'
        )
        heads += [
            f'<th scope="col" title="{h.escape(world.spec)}"><button type="button">'
            f"{h.breakable(world.label)}</button></th>"
            for world in worlds
        ]
        tall = " tall" if len(worlds) > 5 else ""
        rows = []
        for place in self.ranking:
            cells = [f"<td>{h.named(place, self.names[place])}</td>"]
            score = scores.get(place)
            cells.append(_heat_cell(score, "", "geometric mean over all worlds"))
            for world in worlds:
                standing = next((s for s in world.standings if s.policy == place), None)
                cells.append(_ratio_cell(standing, world.label))
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return (
            f"<h2>All worlds: how far from the best</h2>"
            f"{h.paragraph(sentences.about_heat(worlds))}"
            f'<p class="hint">Regret divided by the lowest in the same world: 1 is the best, '
            f"darker is worse; \u2248 cannot be told apart from the best. Point at a number for "
            f"its interval; click a heading to sort.</p>"
            f'<div class="scroll" tabindex="0"><table class="heat sortable{tall}" id="heat-table">'
            f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )

    def _trends(self) -> str:
        parts = []
        for axis, heading in (
            ("rounds", "Regret against the horizon"),
            ("switches", "Regret against the number of changes"),
        ):
            trends = [trend for trend in self.findings.trends if trend.axis == axis]
            if trends:
                parts.append(self._trend_section(axis, heading, trends))
        return "".join(parts)

    def _trend_section(self, axis: str, heading: str, trends: Sequence[Trend]) -> str:
        tables, options, says = [], [], ""
        for place, trend in enumerate(trends):
            name = f"trend-{axis}-{place}"
            chart = charts.trend_chart(trend, self.findings)
            chart["says"] = h.marked(sentences.about_trend(trend, dict(enumerate(self.names))))
            says = says or chart["says"]
            self.charts[name] = h.as_json(chart)
            options.append((name, trend.common or "all"))
            hide = " hidden" if place else ""
            tables.append(
                f'<div data-belongs="trend-{axis}" data-chart="{name}"{hide}>'
                f"{self._slope_table(trend)}</div>"
            )
        return (
            f'<section id="scaling-{axis}"><h2>{heading}</h2>'
            f"{h.picker(f'trend-{axis}', 'Worlds', options)}"
            f'<p id="trend-{axis}-says">{says}</p>'
            f'<div class="chart" id="trend-{axis}" data-chart="{options[0][0]}"></div>'
            f'<p class="hint">Both axes are logarithmic, so a power of T or S is a straight line; '
            f"bars are 95 % intervals of the means.</p>{''.join(tables)}</section>"
        )

    def _slope_table(self, trend: Trend) -> str:
        columns = [
            ("policy", "", True),
            ("slope", "of the straight line through the logs of the means", False),
            ("95 % interval", "by leaving out one run at a time (jackknife)", False),
        ]
        rows = []
        for place in (p for p in self.ranking if p in trend.lines):
            line = trend.lines[place]
            interval = "-"
            if line.slope_low is not None and line.slope_high is not None:
                interval = f"{slope(line.slope_low)} to {slope(line.slope_high)}"
            width = None if line.slope_low is None else (line.slope_high or 0.0) - line.slope_low
            rows.append(
                f"<tr><td>{h.named(place, self.names[place])}</td>"
                f"{h.cell(line.slope, '-' if line.slope is None else slope(line.slope))}"
                f"{h.cell(width, interval)}</tr>"
            )
        return h.table(f"slopes-{trend.axis}", "Fitted slopes", columns, rows)

    # One world.

    def worlds(self, found: "Results", room: int) -> list[str]:
        """Write the sections of single worlds, as many as there is room for, at least one."""
        room -= sum(map(len, self.charts.values()))
        sections: list[str] = []
        for world in self.chosen:
            before = dict(self.charts), dict(self.bases)
            section = self.world(world, found)
            added = [text for name, text in self.charts.items() if name not in before[0]]
            added += [text for name, text in self.bases.items() if name not in before[1]]
            room -= len(section.encode()) + sum(map(len, added))
            if sections and room < 0:
                self.charts, self.bases = before
                break
            sections.append(section)
            self.shown.append(world)
        return sections

    def _left_out(self) -> str:
        """Say which worlds are not shown one by one, and where they are."""
        text = f"One by one, {len(self.shown):,} of {len(self.findings.worlds):,} worlds are shown"
        if len(self.shown) < len(self.chosen):
            asked = len(self.chosen) < len(self.findings.worlds)
            text += f", the first{' that were asked for' * asked}, to keep the page small"
        else:
            text += ", those that were asked for"
        return (
            f"{text}. <code>driftduel report {h.escape(shlex.quote(self.folder))} --world "
            f"PATTERN</code> shows those you name; <code>driftduel table</code> has the numbers of "
            f"all."
        )

    def drawn(self, world: WorldFindings) -> WorldFindings:
        """Leave only the best policies in a world, if all of them are too many to be drawn."""
        if len(self.names) * len(self.chosen) <= _MOST_DRAWN:
            return world
        return world.of_best(_MOST_DRAWN_OF_A_WORLD, _MOST_POINTS)

    def world(self, world: WorldFindings, found: "Results") -> str:
        several = len(self.findings.plan.worlds) > 1
        run = game_name(world.example, len(self.findings.plan.seeds))
        changes = _nature(world, run)
        parts = []
        if several:
            told = sentences.told_remark(world.standings)
            parts.append(
                f"<h2>One world: <code>{h.breakable(world.label)}</code></h2>"
                f'<div class="verdict">'
                f"{h.paragraph(sentences.verdict(world.standings, world.spec))}"
                f"{h.paragraph(told)}{h.paragraph(changes)}</div>"
            )
        level = "h3" if several else "h2"
        drawn = self.drawn(world)
        parts.append(self._standings(world, level))
        if len(drawn.standings) < len(world.standings):
            parts.append(
                f'<p class="hint">From here on, the best {len(drawn.standings)} of '
                f"{len(world.standings)} policies of this world are drawn, to keep the page small. "
                f"<code>driftduel table --json</code> compares every two.</p>"
            )
        parts += [
            self._regret(world, drawn, changes, level),
            self._restarts(world, drawn, level),
            self._shares(drawn, run, level),
            _differences(drawn, found),
        ]
        return (
            f'<section class="world" id="world-{world.index}" data-world="{world.index}">'
            f"{''.join(parts)}</section>"
        )

    def _standings(self, world: WorldFindings, level: str) -> str:
        name = f"totals-{world.index}"
        self.charts[name] = h.as_json(charts.totals_chart(world))
        columns = [
            ("policy", "", True),
            ("told", "what it was told about the world or given as a setting", True),
            ("runs", "finished games", False),
            ("regret", "mean over runs, and its 95 % interval", False),
            ("ratio to best", "mean regret divided by the lowest", False),
            ("more than best", "mean paired difference over shared runs, 95 % interval", False),
            ("restarts", "a run", False),
            ("needless", "restarts a run with no change since the one before", False),
            ("delay", "rounds from a change to a restart before the next change, mean", False),
            ("rounds/s", "on the machines that played", False),
        ]
        if not any(s.restarts for s in world.standings):
            columns = [c for c in columns if c[0] not in ("needless", "delay")]
        kept = [name for name, _, _ in columns]
        rows = [_standing_row(s, kept, rank == 0) for rank, s in enumerate(world.ranked())]
        table = h.table(
            f"standings-{world.index}",
            "Click a heading to sort.",
            columns,
            rows,
            sorted_by="regret",
        )
        return (
            f"<{level}>Who did best</{level}>{h.paragraph(sentences.about_totals(world.standings))}"
            f'<div class="chart" id="{name}" data-chart="{name}"></div>{table}'
        )

    def _regret(self, world: WorldFindings, drawn: WorldFindings, changes: str, level: str) -> str:
        name = f"regret-{world.index}"
        self.charts[name] = h.as_json(charts.regret_chart(drawn))
        names = dict(enumerate(self.names))
        says = sentences.about_curves(world.at, world.curves, names, world.changes)
        bands = any(curve.low is not None for curve in world.curves.values())
        hint = "Bands are 95 % intervals of the mean." if bands else "One run has no bands."
        if len(world.changes.rounds) > charts.MOST_SHADED:
            hint += " There are too many changes to draw them."
        elif world.changes.rounds:
            what = world.changes
            hint += f" Dotted lines and shading: the {what.subject} {what.verbs[0]}"
            some = not what.same and not what.example
            hint += ", thicker the more runs it is so." if some else "."
        heading = f"<{level}>{world.loss.capitalize()} over time</{level}>"
        return (
            f"{heading}{h.paragraph(f'{says} {changes}')}"
            f'<div class="buttons" role="group" aria-label="Axes"><span>Axes</span>'
            f'<button type="button" data-scale="linear" data-of="{name}" aria-pressed="true">'
            f"linear</button>"
            f'<button type="button" data-scale="log" data-of="{name}" aria-pressed="false">'
            f"log</button></div>"
            f'<div class="chart" id="{name}" data-chart="{name}"></div>'
            f'<p class="hint">{hint} Hover to read values; click a name below the chart to take '
            f"it out.</p>"
        )

    def _restarts(self, world: WorldFindings, drawn: WorldFindings, level: str) -> str:
        says = h.paragraph(sentences.about_restarts(world.standings, world.changes))
        parts = [f"<{level}>Restarts against true changes</{level}>{says}"]
        counts, times = charts.restart_counts_chart(drawn), charts.restart_times_chart(drawn)
        for kind, chart in (("restarts", counts), ("moments", times)):
            if chart is not None:
                name = f"{kind}-{world.index}"
                self.charts[name] = h.as_json(chart)
                parts.append(f'<div class="chart" id="{name}" data-chart="{name}"></div>')
        if times is not None:
            run = game_name(world.example, len(self.findings.plan.seeds))
            whose = f"of {run}" if world.restarts_of_example else "of all runs"
            parts.append(
                f'<p class="hint">Above, restarts a run; below, a tick for every restart {whose}, '
                f"over the true changes (dotted lines, shading).</p>"
            )
        return "".join(parts)

    def _shares(self, world: WorldFindings, run: str, level: str) -> str:
        heading = f"<{level}>Which arms were played when</{level}>"
        ranked = [s for s in world.ranked() if s.policy in world.shares]
        if not ranked:
            return f"{heading}<p>No game of {h.escape(run)} is finished in this world.</p>"
        options = []
        box = f"shares-{world.index}"
        self.bases[box] = h.as_json(charts.shares_base(world))
        first = ""
        for standing in ranked:
            name = f"shares-{world.index}-{standing.policy}"
            chart = charts.shares_chart(world, standing.policy, box)
            of_policy = world.shares[standing.policy]
            says = sentences.about_shares(
                standing.name, of_policy, world.slice_ends.tolist(), world, run
            )
            chart["says"] = h.marked(says)
            first = first or chart["says"]
            self.charts[name] = h.as_json(chart)
            options.append((name, standing.name))
        hint = "Each column of time is filled by the arms played in it; numbers are arms."
        if world.winners:
            hint += " Above it is the arm that was best; at the upright lines it changes."
        if not world.fixed and world.changes.runs > 1:
            hint += f" The world is drawn anew in every run, so this is one run: {h.escape(run)}."
        return (
            f"{heading}{h.picker(box, 'Policy', options)}"
            f'<p id="{box}-says" aria-live="polite">{first}</p>'
            f'<div class="chart" id="{box}" data-chart="{options[0][0]}"></div>'
            f'<p class="hint">{hint}</p>'
        )


def _verdict(findings: Findings) -> str:
    plan = findings.plan
    if len(plan.worlds) > 1:
        return h.paragraph(sentences.overall_verdict(findings.worlds))
    (world,) = findings.worlds
    run = game_name(world.example, len(plan.seeds))
    return (
        h.paragraph(sentences.verdict(world.standings, world.spec))
        + h.paragraph(sentences.told_remark(world.standings))
        + h.paragraph(_nature(world, run))
    )


def _nature(world: WorldFindings, run: str) -> str:
    """Say where a world changes, who is there and how often nobody wins."""
    changes = sentences.about_changes(world.changes, world.winners, world.fixed, run)
    return f"{changes} {sentences.about_presence(world)}".rstrip()


def _setting(findings: Findings, folder: str) -> str:
    plan = findings.plan
    arms = sorted({world.arms for world in plan.worlds})
    rounds = sorted({world.rounds for world in plan.worlds})
    text = f"{sentences.settings_text(findings)}; {listed([str(k) for k in arms])} arms, "
    text += f"{listed([f'{t:,}' for t in rounds])} rounds."
    if plan.benchmark != "condorcet":
        text += f" Regret is {BENCHMARKS[plan.benchmark]}."
    return text if len(plan.worlds) > 1 else f"{text} Results: {folder}."


def _glossary(findings: Findings) -> str:
    against = {
        "condorcet": "the best arm, the one that beats every other (the Condorcet winner)",
        "von-neumann": "the mixture of arms that no arm beats (the von Neumann winner)",
        "borda": "the arm with the best chance against a random other one (the Borda winner)",
        "copeland": "the arm that beats most others (the Copeland winner)",
    }.get(findings.plan.benchmark)
    regret = (
        f"What a policy lost by not playing {against} of each round twice, summed up over rounds."
        if against
        else "Here it is exploitability: what an opponent would have won against a policy's plays "
        "who keeps to one arm a phase, the best in hindsight, summed up over phases. A phase is a "
        "stretch of rounds in which the preferences stand still."
    )
    entries = {
        "policy": "A learner. In every round it picks two arms and hears which of the two won.",
        "arm": "One of the options that can be picked.",
        "world": "The chance that arm a beats arm b, for every two arms and every round. It "
        "changes over time, and which arm is best may change with it.",
        "regret": f"{regret} Lower is better; choosing at random is policy <code>uniform</code>.",
        "run": "One repetition. All policies of a run meet the same world and the same luck, so "
        "they are compared run by run.",
        "95 % interval": "Where the true mean would lie in 95 of 100 such experiments (Student's "
        "t). If the interval of a difference excludes 0, the difference is more than chance; with "
        "many comparisons, one in twenty will say so wrongly.",
        "restart": "The moment at which a policy forgets what it learned and begins anew.",
    }
    return (
        f"<dl>{''.join(f'<dt>{name}</dt><dd>{text}</dd>' for name, text in entries.items())}</dl>"
    )


def _notices(found: "Results", findings: Findings) -> str:
    plan, parts = findings.plan, []
    failures = found.failures
    text = sentences.about_missing(
        len(plan), found.missing, len(failures), len(found.store.damaged)
    )
    if text:
        parts.append(f"<p>{h.escape(text)}</p>")
        unplayed = [w.spec for w in plan.worlds if w.spec not in {x.spec for x in findings.worlds}]
        if unplayed:
            names = listed([f"`{spec}`" for spec in unplayed])
            parts.append(h.paragraph(f"Nothing yet was played in {names}."))
        parts.append(_missing_table(findings))
    if failures:
        items = "".join(
            f"<li><code>{h.escape(name)}</code>: {h.escape(why)}</li>"
            for name, why in list(failures.items())[:_MOST_FAILURES]
        )
        more = len(failures) - _MOST_FAILURES
        rest = f"<p>... and {more:,} more.</p>" if more > 0 else ""
        parts.append(
            f"<details><summary>{counted(len(failures), 'game')} failed</summary>"
            f"<ul>{items}</ul>{rest}</details>"
        )
    return f'<div class="notice" id="missing">{"".join(parts)}</div>' if parts else ""


def _missing_table(findings: Findings) -> str:
    """List who lacks how many games where; cut to what one can read."""
    plan = findings.plan
    planned = plan.runs * len(plan.seeds)
    played = {(w.spec, s.name): s.runs for w in findings.worlds for s in w.standings}
    lacking = [
        (policy.spec, world.spec, planned - played.get((world.spec, policy.spec), 0))
        for world in plan.worlds
        for policy in plan.policies
    ]
    lacking = [each for each in lacking if each[2]]
    items = "".join(
        f"<li>{counted(count, 'game')} of <code>{h.escape(policy)}</code> in "
        f"<code>{h.escape(world)}</code></li>"
        for policy, world, count in lacking[:_MOST_FAILURES]
    )
    more = len(lacking) - _MOST_FAILURES
    rest = f"<li>... and of {more:,} more pairs</li>" if more > 0 else ""
    return f"<details><summary>What is missing</summary><ul>{items}{rest}</ul></details>"


def _standing_row(s: Standing, columns: Sequence[str], best: bool) -> str:
    difference = "-" if s.difference is None else number(s.difference)
    told = ", ".join(_TOLD.get(key, key) for key in s.told) or "nothing"
    cells = {
        "policy": f"<td>{h.named(s.policy, s.name)}</td>",
        "told": f'<td class="words">{h.escape(told)}</td>',
        "runs": h.cell(s.runs, str(s.runs) if s.runs == s.planned else f"{s.runs} of {s.planned}"),
        "regret": h.cell(s.mean, number(s.mean), _between(s.low, s.high)),
        "ratio to best": h.cell(s.ratio, "-" if s.ratio is None else f"{s.ratio:.2f}"),
        "more than best": h.cell(
            0.0 if best else s.difference,
            "the best" if best else difference,
            _between(s.difference_low, s.difference_high),
        ),
        "restarts": h.cell(s.restarts, number(s.restarts)),
        "needless": h.cell(s.too_many, number(s.too_many)),
        "delay": h.cell(
            s.delay,
            "-" if s.delay is None else number(s.delay),
            "" if s.detected is None else f"{s.detected:.0%} answered",
        ),
        "rounds/s": h.cell(s.speed, "-" if s.speed is None else _rough(s.speed)),
    }
    kind = ' class="best"' if best else ""
    return f"<tr{kind}>{''.join(cells[name] for name in columns)}</tr>"


def _rough(value: float) -> str:
    """Write a speed, of which the first digits matter.

    Examples
    --------
    >>> _rough(12_345_678.0), _rough(310_000.0), _rough(950.0)
    ('12 M', '310 k', '950')
    """
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{float(f'{value / size:.2g}'):g}{unit}"
    return f"{float(f'{value:.2g}'):g}"


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{number(low)} to {number(high)}"


def _ratio_cell(standing: Standing | None, where: str) -> str:
    if standing is None:
        return _heat_cell(None, "", f"not played in {where}")
    text = f"{standing.name} in {where}: regret {number(standing.mean)}"
    if standing.low is not None and standing.high is not None:
        text += f", 95 % interval {_between(standing.low, standing.high)}"
    if standing.difference_low is not None:
        text += (
            f"; {_between(standing.difference_low, standing.difference_high)} more than the best"
        )
    unclear = standing.worse is False and standing.ratio != 1
    return _heat_cell(standing.ratio, "\u2248" if unclear else "", text)


def _heat_cell(ratio: float | None, mark: str, title: str) -> str:
    if ratio is None:
        return f'<td data-value="" title="{h.escape(title)}">-</td>'
    place = min(1.0, math.log(max(ratio, 1.0)) / math.log(_HOTTEST)) * (len(_HEAT) - 1)
    low = min(int(place), len(_HEAT) - 2)
    red, green, blue = (
        round(one + (other - one) * (place - low))
        for one, other in zip(_HEAT[low], _HEAT[low + 1], strict=True)
    )
    text = "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 125 else "#000000"
    shown = (
        f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:,.1f}" if ratio < 99.95 else f"{ratio:,.0f}"
    )
    shown = f"<b>{shown}</b>" if ratio == 1 else shown
    return (
        f'<td data-value="{ratio:.6g}" title="{h.escape(title)}" '
        f'style="background:#{red:02x}{green:02x}{blue:02x};color:{text}">{shown}{mark}</td>'
    )


def _differences(world: WorldFindings, found: "Results") -> str:
    """Write the table of all pairs, which few will look at, folded away."""
    import polars as pl

    names = [standing.name for standing in world.standings]
    pairs = found.differences.filter(
        pl.col("world") == world.spec, pl.col("first", "second").is_in(names)
    )
    if not len(pairs):
        return ""
    rows = []
    for row in pairs.iter_rows(named=True):
        if row["difference"] is None:
            continue
        sure = row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
        rows.append(
            f"<tr><td><code>{h.escape(row['first'])}</code></td>"
            f'<td class="words"><code>{h.escape(row["second"])}</code></td>'
            f"{h.cell(row['difference'], number(row['difference']))}"
            f"{h.cell(row['low'], _between(row['low'], row['high']) or '-')}"
            f'<td class="words">{"yes" if sure else "no" if row["low"] is not None else "-"}</td>'
            f"{h.cell(row['runs'], str(row['runs']))}</tr>"
        )
    columns = [
        ("first", "", True),
        ("second", "", True),
        ("first minus second", "mean difference of their regrets, run by run", False),
        ("95 % interval", "", False),
        ("beyond chance", "whether the interval excludes 0", True),
        ("runs", "that both have played", False),
    ]
    table = h.table(f"differences-{world.index}", "", columns, rows)
    return (
        f"<details><summary>Every two policies compared ({counted(len(rows), 'pair')})</summary>"
        f"{table}</details>"
    )


def _trace_section(picture: Picture) -> str:
    image = ""
    if picture.png is not None:
        source = b64encode(picture.png).decode()
        image = (
            f'<figure class="scroll" tabindex="0"><img alt="{h.escape(h.plain(picture.sentence))}" '
            f'src="data:image/png;base64,{source}"></figure>'
            f'<p class="hint">Above, every replay as a bar over the rounds it ran, at the height '
            f"of its planned length; in the middle, which arms were active; below, the best arm."
            f"</p>"
        )
    return (
        f'<section id="trace"><h2>One game of ANACONDA, round by round</h2>'
        f"{h.paragraph(picture.heading)}{h.paragraph(picture.sentence)}{image}</section>"
    )


def _about_section(found: "Results", findings: Findings, figures: Sequence[str]) -> str:
    plan = findings.plan
    made = found.store.rows(("version", "machine", "finished_at", "seconds", "rounds"))
    versions = made["version"].unique(maintain_order=True).to_list()
    machines = made["machine"].unique(maintain_order=True).to_list()
    finished = [str(when) for when in made["finished_at"]]
    best = findings.worlds[0].ranked()[0]
    world = findings.worlds[0]
    entries = {
        "games": f"{len(made):,} of {len(plan):,}, {int(made['rounds'].sum()):,} rounds in "
        f"{number(float(made['seconds'].sum()))} seconds of play",
        "driftduel": f"{', '.join(versions)}; this page by {__version__}",
        "machines": "; ".join(machines[:8])
        + (f" and {len(machines) - 8} more" * (len(machines) > 8)),
        "played": " to ".join(dict.fromkeys((min(finished), max(finished)))),
        "seeds": f"{listed([str(seed) for seed in plan.seeds], 20)}, "
        f"{counted(plan.runs, 'run')} of each",
        "regret against": plan.benchmark,
        "means": "over runs, with Student's t intervals at 95 %",
        "differences": "taken run by run, because policies share a run's world and luck; intervals "
        "are those of a paired t test, not adjusted for the number of comparisons",
        "slopes": "least squares through the logs of means; intervals by leaving out one run at a "
        "time (jackknife) with Student's t",
        "needless restarts": "those with no change of the "
        f"{world.changes.subject} since the restart before",
        "policies": listed([policy.spec for policy in plan.policies], 60),
        "worlds": listed([each.spec for each in plan.worlds], 60),
    }
    items = "".join(f"<dt>{name}</dt><dd>{h.escape(text)}</dd>" for name, text in entries.items())
    command = _command(best.name, world.spec, world.game_seed, plan.benchmark)
    run = game_name(world.example, len(plan.seeds))
    return (
        f'<section id="about"><h2>How this was made</h2><dl>{items}</dl>'
        f"<p>One game again, here {h.escape(run)} of <code>{h.escape(best.name)}</code>:</p>"
        f"<pre><code>{h.escape(command)}</code></pre>{_seed_list(findings)}{_figure_list(figures)}"
        f"</section>"
    )


def _command(policy: str, world: str, seed: int, benchmark: str) -> str:
    words = ["driftduel", "play", "--policy", policy, "--world", world, "--seed", str(seed)]
    if benchmark != "condorcet":
        words += ["--benchmark", benchmark]
    return shlex.join(words)


def _seed_list(findings: Findings) -> str:
    from driftduel.lab.plan import game_seed

    plan = findings.plan
    games = [(seed, run) for run in range(plan.runs) for seed in plan.seeds][:_MOST_SEEDS]
    items = "".join(
        f"<li>{game_name(game, len(plan.seeds))}: <code>{game_seed(*game)}</code></li>"
        for game in games
    )
    return (
        f"<details><summary>Seeds of the {'first ' * (plan.runs * len(plan.seeds) > len(games))}"
        f"{counted(len(games), 'run')}</summary><ul>{items}</ul></details>"
    )


def _figure_list(figures: Sequence[str]) -> str:
    if not figures:
        return ""
    names = sorted({name.rpartition(".")[0] for name in figures})
    links = "".join(
        f"<li>{h.escape(name)}: "
        + ", ".join(
            f'<a href="figures/{h.escape(file)}">{h.escape(file.rpartition(".")[2])}</a>'
            for file in figures
            if file.rpartition(".")[0] == name
        )
        + "</li>"
        for name in names
    )
    return (
        f"<details><summary>{counted(len(names), 'figure')} for papers, in the folder figures "
        f"beside this page</summary><ul>{links}</ul></details>"
    )
