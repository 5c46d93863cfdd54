"""The page: the order of its sections, and the limits of its size."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftduel._internal.pages import as_json, environment
from driftduel.errors import MissingExtraError
from driftduel.figures import line_style
from driftduel.lab import Findings, WorldFindings
from driftduel.report.chart import label
from driftduel.report.section import OneWorld, Section, between
from driftduel.report.sections import (
    about,
    categories,
    curves,
    glossary,
    goals,
    heat,
    notices,
    pairs,
    restarts,
    shares,
    standings,
    trace,
    trends,
    verdict,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from driftduel.lab import Results

__all__ = ["charting_library", "make_page"]

OF_ALL_WORLDS = (heat.section, trends.section)
"""Sections about several worlds."""
OF_ONE_WORLD = (
    goals.section,
    standings.section,
    categories.section,
    curves.section,
    restarts.section,
    shares.section,
    pairs.section,
)
"""Sections about a single world."""

# In bytes. A larger page is slow to open and difficult to send; a third is the charting library.
_MOST_BYTES = 14_000_000
# Maximum of policies times worlds that are drawn; for more, only the best policies are drawn.
_MOST_DRAWN = 400
_MOST_DRAWN_OF_A_WORLD = 12
_MOST_POINTS = 100
_MOST_AT_FIRST = 8
_DASH_ARRAYS = {
    "solid": "",
    "dash": "7 4",
    "dot": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "12 4",
    "longdashdot": "11 3 2 3",
}
_SYMBOLS = {
    "circle": "M17 3a4 4 0 1 0 .01 0z",
    "square": "M13.5 3.5h7v7h-7z",
    "triangle-up": "M17 2l4.6 9h-9.2z",
    "diamond": "M17 1.8l4.6 5.2-4.6 5.2-4.6-5.2z",
    "triangle-down": "M17 12l4.6-9h-9.2z",
    "cross": "M15.5 2h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "x": "M13 5l2-2 2 2 2-2 2 2-2 2 2 2-2 2-2-2-2 2-2-2 2-2z",
    "star": "M17 1.5l1.6 3.7 4 .3-3 2.7.9 3.9-3.5-2-3.5 2 .9-3.9-3-2.7 4-.3z",
}


def make_page(
    results: "Results",
    findings: Findings,
    picture: trace.TracePicture | None,
    folder: str,
    figures: Sequence[str],
    chosen: Sequence[WorldFindings],
    remarks: Mapping[str, str],
) -> str:
    """Return the HTML of the page: sections about all worlds, and as many single worlds as fit.

    Parameters
    ----------
    results, findings
        The results, and the findings computed from them.
    picture
        The figure of one game; None without a policy with replays.
    folder
        The name of the results in the title.
    figures
        Names of the figure files beside the page.
    chosen
        The worlds to show one by one.
    remarks
        Sentences about policies by spec.
    """
    page = _ReportTemplate()
    library = charting_library()
    top = [
        page.add(verdict.heading(findings, folder)),
        page.add(notices.section(results, findings)),
        page.add(verdict.section(findings)),
        page.add(glossary.section(findings)),
    ]
    several = len(findings.plan.worlds) > 1
    above = [page.add(make(findings)) for make in OF_ALL_WORLDS] if several else []
    below = [
        page.add(trace.section(picture)),
        page.add(about.section(results, findings, figures)),
    ]
    room = _MOST_BYTES - len(library) - page.size
    sections = _worlds(page, results, findings, chosen, room, remarks)
    return page.render(
        "report.html",
        title=f"driftduel report: {folder}",
        looks=_looks(len(findings.plan.policies)),
        top=top,
        controls=_controls(findings, folder, chosen, chosen[: len(sections)]),
        sections=[*above, *sections, *below],
        data=page.data(_policies(findings)),
        library=library,
    )


class _ReportTemplate:
    """A renderer of sections that collects their charts and their sizes in bytes."""

    def __init__(self) -> None:
        self.templates = _templates()
        self.charts: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        """Charts and bases as JSON strings, which have a known size."""
        self.size = 0

    def render(self, template: str, **values: Any) -> "Markup":
        from markupsafe import Markup

        return Markup(self.templates.get_template(template).render(values))

    def add(self, section: Section | None) -> "Markup":
        from markupsafe import Markup

        if section is None:
            return Markup("")
        text = self.render(section.template, **section.values)
        charts, bases = (
            {name: as_json(chart) for name, chart in given.items()}
            for given in (section.charts, section.bases)
        )
        self.charts |= charts
        self.bases |= bases
        self.size += len(text.encode()) + sum(map(len, (*charts.values(), *bases.values())))
        return text

    def data(self, about: Mapping[str, Any]) -> "Markup":
        """Return the data of the page's script, as JSON that is safe in a script element."""
        from markupsafe import Markup

        charts, bases = (
            "{" + ",".join(f'"{name}":{text}' for name, text in given.items()) + "}"
            for given in (self.charts, self.bases)
        )
        return Markup(f'{as_json(about)[:-1]},"charts":{charts},"bases":{bases}}}')


def _templates() -> "Environment":
    made = environment("driftduel.report")
    made.globals |= {"between": between, "line_style": line_style}
    return made


def _worlds(
    page: _ReportTemplate,
    results: "Results",
    findings: Findings,
    chosen: Sequence[WorldFindings],
    room: int,
    remarks: Mapping[str, str],
) -> "list[Markup]":
    """Render the sections of single worlds until the size limit is reached, at least one."""
    everything = len(findings.plan.policies) * len(chosen) <= _MOST_DRAWN
    rendered: list[Markup] = []
    limit = page.size + room
    for world in chosen:
        before = dict(page.charts), dict(page.bases)
        drawn = world if everything else world.of_best(_MOST_DRAWN_OF_A_WORLD, _MOST_POINTS)
        of = OneWorld(results, findings, world, drawn, remarks)
        parts = [page.add(make(of)) for make in OF_ONE_WORLD]
        if rendered and page.size > limit:
            page.charts, page.bases = before
            break
        paragraphs = verdict.about_world(world, of.run) if of.level == "h3" else []
        rendered.append(page.render("world.html", world=world, paragraphs=paragraphs, parts=parts))
    return rendered


def _policies(findings: Findings) -> dict[str, Any]:
    """Return the line styles of policies for the page's script, and the initially hidden ones."""
    looks = []
    for place, policy in enumerate(findings.plan.policies):
        style = line_style(place)
        looks.append(
            {
                "label": label(policy.spec),
                "light": style.colour,
                "dark": style.colour_on_dark,
                "dash": style.dash,
                "symbol": style.symbol,
            }
        )
    ranking = findings.ranking
    return {"policies": looks, "hidden": ranking[_shown_at_first(len(ranking)) :]}


def _shown_at_first(policies: int) -> int:
    return _MOST_AT_FIRST if policies > _MOST_AT_FIRST + 2 else policies


def _looks(policies: int) -> list[tuple[str, str]]:
    """Return the dashes and the symbol of every policy, for the keys beside the names."""
    styles = map(line_style, range(policies))
    return [(_DASH_ARRAYS[style.dash], _SYMBOLS[style.symbol]) for style in styles]


def _controls(
    findings: Findings,
    folder: str,
    chosen: Sequence[WorldFindings],
    shown: Sequence[WorldFindings],
) -> dict[str, Any]:
    """Return the values of the controls: the worlds, and the policies in the charts."""
    ranking = findings.ranking
    buttons: list[tuple[str, list[int]]] = [("All", ranking), ("None", [])]
    if len(ranking) > 3:
        most = min(len(ranking) - 1, _MOST_AT_FIRST, 3 + len(ranking) // 8)
        buttons.insert(1, (f"Best {most}", ranking[:most]))
    several = len(findings.worlds) > 1
    order = "Best over all worlds first" if several else "Best first"
    at_first = _shown_at_first(len(ranking))
    if at_first < len(ranking):
        order += f"; at first, the best {at_first} are shown"
    return {
        "worlds": [(world.index, world.label) for world in shown] if several else [],
        "left_out": _left_out(findings, folder, chosen, shown) if several else "",
        "common": findings.common,
        "order": order,
        "policies": [(place, findings.plan.policies[place].spec) for place in ranking],
        "buttons": buttons,
    }


def _left_out(
    findings: Findings,
    folder: str,
    chosen: Sequence[WorldFindings],
    shown: Sequence[WorldFindings],
) -> str:
    """Return a sentence about the worlds that are not shown one by one, empty if all are."""
    if len(shown) == len(findings.worlds):
        return ""
    text = f"One by one, {len(shown):,} of {len(findings.worlds):,} worlds are shown"
    if len(shown) < len(chosen):
        asked = len(chosen) < len(findings.worlds)
        text += f", the first{' that match' * asked}, to limit the size of the page"
    else:
        text += ", those that match the pattern"
    return (
        f"{text}. `driftduel report {shlex.quote(folder)} --world PATTERN` shows the "
        f"matching ones; `driftduel table` prints the numbers of all."
    )


def charting_library() -> "Markup":
    """Return the source of plotly.js; raise MissingExtraError if it is not installed."""
    try:
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("plotly", "report", "a report") from None
    return Markup(get_plotlyjs())
