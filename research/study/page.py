"""A study as Markdown and as one page for a browser, both from the same sections."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from driftduel._internal.pages import environment
from driftduel._internal.reading import parse_json, read_text
from driftduel._internal.wording import share
from driftduel.errors import DriftduelError
from driftduel.figures.themes import in_page
from research.study.common import CEILING, TOLERANCE, Section, Table, section_from
from research.study.opening import KINDS, OURS, claims_table, count, opening
from research.study.short import in_short

__all__ = ["Rerun", "Study", "as_html", "as_markdown", "merged", "read_study"]


@dataclass(frozen=True)
class Rerun:
    """Some sections that were played again after all were."""

    sections: list[int]
    date: str
    version: str
    games: int
    rounds: int
    because: str


@dataclass(frozen=True)
class Study:
    """Everything that is shown."""

    size: str
    version: str
    date: str
    """Of the last game that was played."""
    seeds: list[int]
    games: int
    rounds: int
    missing: int
    sections: list[Section]
    reruns: list[Rerun] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    """CPU time of the games by section, for the stamp of a record; not written."""

    def as_dict(self) -> dict[str, Any]:
        """Return the study as JSON can hold it."""
        return {
            **{name: value for name, value in vars(self).items() if name != "seconds"},
            "sections": [section.as_dict() for section in self.sections],
            "reruns": [asdict(rerun) for rerun in self.reruns],
        }


def merged(before: Study, again: Study, because: str) -> Study:
    """Put sections that were played again in the place of the old ones.

    Parameters
    ----------
    before
        The published study, of the same size.
    again
        Some of its sections.
    because
        Reason of the replay, for the page.
    """
    if before.size != again.size:
        raise DriftduelError(
            f"a study of size {again.size} cannot be put into one of size {before.size}."
        )
    new = {section.number: section for section in again.sections}
    old = {section.number: section for section in before.sections}
    reruns = [
        replace(rerun, sections=[number for number in rerun.sections if number not in new])
        for rerun in before.reruns
    ]
    reruns = [rerun for rerun in reruns if rerun.sections]
    reruns.append(Rerun(sorted(new), again.date, again.version, again.games, again.rounds, because))
    sections = [section for _, section in sorted({**old, **new}.items())]
    return replace(before, sections=sections, reruns=reruns, missing=before.missing + again.missing)


def read_study(source: Path | Mapping[str, Any]) -> Study:
    """Read ``study.json``, or its content."""
    record = parse_json(read_text(source)) if isinstance(source, Path) else source
    try:
        sections = [section_from(section) for section in record["sections"]]
        reruns = [Rerun(**rerun) for rerun in record.get("reruns", [])]
        return Study(**{**record, "sections": sections, "reruns": reruns})
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DriftduelError(f"{str(source)[:200]!r} is not a study of this program.") from None


def _facts(study: Study) -> str:
    text = (
        f"A run of `driftduel study --{study.size}`, finished on {study.date} with driftduel "
        f"{study.version}, seed {', '.join(map(str, study.seeds))}: {study.games:,} games of "
        f"{study.rounds:,} rounds in all."
    )
    for rerun in study.reruns:
        one = len(rerun.sections) == 1
        text += (
            f" {'Section' if one else 'Sections'} {' and '.join(map(str, rerun.sections))} "
            f"{'was' if one else 'were'} played again on {rerun.date} with driftduel "
            f"{rerun.version} ({rerun.games:,} games of {rerun.rounds:,} rounds): {rerun.because}"
        )
    text += " With the same version the same command gives the same numbers."
    if study.missing:
        text += f" {study.missing:,} planned games are missing."
    return text


_WORDS = (
    "S^P and S^CW: how often the preferences, and the Condorcet winner, change. A phase lies "
    "between two switches of the winner; tau is its length. V and CW variation: the largest "
    "change of any preference, and of one against the current winner, summed over rounds. C: the "
    "constant of the elimination rule, whose threshold is C log(T) K sqrt(length of the window). "
    "Freedman rule: our own threshold, from the variance seen. Symmetric: a duel counts for both "
    "orders of its pair. Replay rate r: replays are r times as likely as in the paper."
)
_VERDICTS = (
    "`holds`: at every place tested, interval included. `begins at x`: from x to the last place. "
    "`not seen`: not at the last place, or the interval lies beyond the limit. `undecided`: "
    "cannot be decided, for the reason given. For local slopes in T our limit is stricter than "
    "the theorem: `the bound's own` is the slope of sqrt(T) log^3 T between the same horizons, "
    "and a slope between our limit and that one contradicts nothing."
)
_METHOD = (
    "Intervals are 95%: Student's t over runs for means, propagated to slopes of log regret; "
    "exact binomial (Clopper and Pearson) for shares. They are not adjusted for the number of "
    f"claims. An exponent holds if its interval ends at most {TOLERANCE} above the paper's, whose "
    f"bounds have powers of log T. It is fitted to regrets of at most {share(CEILING)} of uniform "
    "play's: closer to that ceiling, a slope is that of uniform play itself, 0 in phases and "
    "variation, 1 in T. The local slopes of section 1 are shown nevertheless; one that starts "
    "near uniform play is too steep. Run r of a policy has the same outcome draws in every world "
    "and at every constant, so intervals of slopes and ratios are paired where the numbers of runs "
    "agree. An upper bound that holds may be far from tight, and a claim that holds for one C may "
    "fail for another: each C has a row. Theorems need a C that is large enough; rows of a C "
    "with needless restarts stay undecided."
)
_CRITERIA = (
    "Not all criteria were fixed beforehand. After small trial runs, the test for background "
    "noise was changed from a slope to a ratio, and the world of section 3 was redesigned twice, "
    "until few of its switches were significant and ANACONDA visibly learned in it. A review of "
    "the code made most criteria stricter, before any game of the full run was looked at. After "
    "that, exponents were fitted without places near uniform play, and rows with nothing else "
    "became `undecided` (before, one such place made a row `not seen`); a level was added to the "
    "calibration at T = 1e7, where none had been safe for K = 5; and so was the row on the "
    "symmetric estimate with half the C. The rows of DEX3.S told S^CW were added, with ANACONDA's "
    "own criterion, before any of their games was looked at."
)
_TO_READ = (_WORDS, _VERDICTS, _METHOD, _CRITERIA)
_CLAIMS = ["paper", "claim", "measured", "interval", "verdict"]


def as_markdown(study: Study, figures: str = "figures") -> str:
    """Write the study as Markdown; `figures` is the folder of its pictures."""
    claims = claims_table(study.sections)
    lines = ["# Does the paper hold? Its claims, measured", "", opening(study.sections), ""]
    lines += [*_table_lines(claims.head, claims.rows), _facts(study), ""]
    lines += [
        "## In short",
        "",
        *(f"- **{title}.** {text}" for title, text in in_short(study.sections)),
        "",
    ]
    lines += ["## How to read it", ""]
    lines += [text for paragraph in _TO_READ for text in (paragraph, "")]
    lines += ["## All claims", "", _short(study), "", *_table_lines(*_overview(study))]
    lines += _table_lines(
        ["section", *_CLAIMS],
        [[str(s.number), *_claim(claim)] for s in study.sections for claim in s.claims],
    )
    for section in study.sections:
        lines += [f"## {section.number}. {section.title}", "", section.intro, ""]
        for chart in section.charts:
            lines += [f"![{chart.title}]({figures}/{chart.name}.png)", ""]
            lines += [f"*{chart.caption}*", ""] if chart.caption else []
        for table in section.tables:
            lines += [f"**{table.title}**", "", *_table_lines(table.head, table.rows)]
            lines += [table.note, ""] if table.note else []
        if section.left_out:
            lines += [f"Left out: {section.left_out}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _claim(claim: Any) -> list[str]:
    return [claim.source, claim.statement, claim.measured, claim.interval, claim.verdict]


def _table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows), ""]


def as_html(study: Study, figures: Mapping[str, str]) -> str:
    """Write the study as one page; `figures` are SVG files by the names of the charts."""
    from markupsafe import Markup

    template = environment("research.study").get_template("study.html")
    return template.render(
        title="driftduel study",
        opening=opening(study.sections),
        claims=_answers(study),
        facts=_facts(study),
        in_short=in_short(study.sections),
        to_read=_TO_READ,
        counts=_short(study),
        overview=_shown(Table("", *_overview(study))),
        sections=[
            {**vars(section), "tables": [_shown(table) for table in section.tables]}
            for section in study.sections
        ],
        figures={
            name: Markup(in_page(svg, f"figure-{name}"))  # matplotlib's, which escapes
            for name, svg in figures.items()
        },
    )


def _answers(study: Study) -> list[dict[str, str]]:
    """Return the rows of the table of claims by the names of its columns, without bold print."""
    table = claims_table(study.sections)
    return [
        {name: cell.replace("**", "") for name, cell in zip(table.head, row, strict=True)}
        for row in table.rows
    ]


def _shown(table: Table) -> dict[str, Any]:
    """Return for each cell of a table whether it is a number, which is aligned to the right."""
    columns = list(zip(*table.rows, strict=True)) if table.rows else [()] * len(table.head)
    kinds = [
        "number" if cells and all(cell[:1].isdigit() or cell[:1] in "-+" for cell in cells) else ""
        for cells in columns
    ]
    return {
        "title": table.title,
        "columns": list(zip(table.head, kinds, strict=True)),
        "rows": [list(zip(row, kinds, strict=True)) for row in table.rows],
        "note": table.note,
    }


def _short(study: Study) -> str:
    """Count the verdicts on the paper's claims."""
    said = [c.verdict for s in study.sections for c in s.claims if not c.source.startswith(OURS)]
    counts = [f"{count(said, start)} {words}" for start, words in KINDS.items()]
    return (
        f"{len(said)} rows are about the paper's claims, one for each K, C or world in which one "
        f"was tested: {', '.join(counts)}. Rows marked `{OURS}` are questions of our own."
    )


def _overview(study: Study) -> tuple[list[str], list[list[str]]]:
    """Return a table of verdicts by source, in the order of the sections."""
    by_source: dict[str, list[str]] = {}
    for section in study.sections:
        for claim in section.claims:
            by_source.setdefault(claim.source, []).append(claim.verdict)
    rows = [
        [source, str(len(said)), *(str(count(said, start)) for start in KINDS)]
        for source, said in sorted(by_source.items(), key=lambda pair: pair[0].startswith(OURS))
    ]
    return ["paper", "tested", *KINDS], rows
