"""A study as Markdown and as one page for a browser, both from the same sections."""

import html
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from driftduel._reading import parse_json, read_text
from driftduel.errors import DriftduelError
from driftduel.study.common import CEILING, TOLERANCE, Section, Table, section_from
from driftduel.study.short import in_short

__all__ = ["Rerun", "Study", "as_html", "as_markdown", "merged", "read_study"]

_STYLE = """
:root{color-scheme:light;--ink:#1d1d1f;--grey:#5c5c63;--line:#dcdce0}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);max-width:72rem;margin:0 auto;
padding:1.5rem}
h1{font-size:1.7rem;line-height:1.2}h2{margin-top:2.6rem;border-top:1px solid var(--line);
padding-top:1.2rem}
h3{font-size:1rem;margin:1.6rem 0 .4rem}p,li{max-width:46rem}
.small{color:var(--grey);font-size:.88rem}
table{border-collapse:collapse;font-size:.88rem;margin:.4rem 0 1rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}
figure{margin:1.2rem 0}figure img{max-width:100%;height:auto}figcaption{color:var(--grey);
font-size:.88rem;max-width:46rem}
.v{font-weight:600;min-width:9rem}td.c{min-width:13rem}.holds{color:#00664a}.begins{color:#005a8f}.not{color:#a34700}
.undecided{color:#5c5c63}
"""


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

    def as_dict(self) -> dict[str, Any]:
        """Return the study as JSON can hold it."""
        return {
            **vars(self),
            "sections": [section.as_dict() for section in self.sections],
            "reruns": [asdict(rerun) for rerun in self.reruns],
        }


def merged(before: Study, again: Study, because: str) -> Study:
    """Put sections that were played again in the place of the old ones.

    Parameters
    ----------
    before
        What was published, of the same size.
    again
        Some of its sections.
    because
        Why they were played again; the page says so.
    """
    if before.size != again.size:
        raise DriftduelError(
            f"a study of size {again.size} cannot be put into one of size {before.size}."
        )
    new = {section.number: section for section in again.sections}
    old = {section.number: section for section in before.sections}
    reruns = [
        replace(each, sections=[number for number in each.sections if number not in new])
        for each in before.reruns
    ]
    reruns = [each for each in reruns if each.sections]
    reruns.append(Rerun(sorted(new), again.date, again.version, again.games, again.rounds, because))
    sections = [section for _, section in sorted({**old, **new}.items())]
    return replace(before, sections=sections, reruns=reruns, missing=before.missing + again.missing)


def read_study(source: Path | Mapping[str, Any]) -> Study:
    """Read ``study.json``, or what it holds."""
    record = parse_json(read_text(source)) if isinstance(source, Path) else source
    try:
        sections = [section_from(each) for each in record["sections"]]
        reruns = [Rerun(**each) for each in record.get("reruns", [])]
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
    text += " The same command gives the same numbers."
    if study.missing:
        text += f" {study.missing:,} planned games are missing."
    return text


_WORDS = (
    "S^P and S^CW: how often the preferences, and the Condorcet winner, change; a phase lies "
    "between two switches of the winner, tau is its length. V and CW variation: the largest change "
    "of any preference, and of one against the current winner, summed over rounds. C: the constant "
    "of the elimination rule, whose threshold is C log(T) K sqrt(length of the window). Freedman "
    "rule: our threshold from the variance that was seen. Symmetric: a duel counts for both orders "
    "of its pair. Replay rate r: replays r times as likely as the paper's."
)
_VERDICTS = (
    "`holds`: at every place tested, interval and all. `begins at x`: from x to the last place. "
    "`not seen`: not at the last place, or the interval lies beyond the limit. `undecided`: cannot "
    "be told, for the reason given. For local slopes in T our limit is stricter than the theorem: "
    "`the bound's own` is the slope of sqrt(T) log^3 T between the same horizons, and a slope "
    "between our limit and that contradicts nothing."
)
_METHOD = (
    "Intervals are 95 %: Student's t over runs for means, propagated to slopes of log regret; "
    "exact binomial (Clopper and Pearson) for shares. None is adjusted for the number of claims. "
    f"An exponent holds if its interval ends at most {TOLERANCE} above the paper's, whose bounds "
    f"carry powers of log T. It is fitted to regrets of at most {CEILING:.0%} of uniform play's: "
    "nearer to that ceiling a slope is uniform play's own, 0 in phases and variation, 1 in T. The "
    "local slopes of section 1 are shown all the same; there, one that starts near uniform play is "
    "too steep. Run r of a policy has the same luck in every world and at every constant, so "
    "intervals of slopes and ratios are paired where the numbers of runs agree. A bound from above "
    "that holds may be far from tight, and a claim that holds for one C need not for another: each "
    "C has a row. Theorems need a C that is large enough; rows of one that restarts falsely stay "
    "undecided."
)
_CRITERIA = (
    "What counts as holding was not all fixed beforehand. After small trial runs the test for "
    "background noise went from a slope to a ratio, and the world of section 3 was designed anew, "
    "twice, until few of its switches were significant and ANACONDA could be seen to learn in it. "
    "A review of the code made most criteria stricter, before any game of the full run was looked "
    "at. After that, exponents were fitted without places near uniform play, and rows with nothing "
    "else are `undecided` (before, one such place made a row `not seen`), a level was added to the "
    "calibration at T = 1e7, where none had been safe for K = 5, and so was the row on the "
    "symmetric estimate with half the C. The rows of DEX3.S told S^CW were added, with ANACONDA's "
    "own criterion, before any of their games was looked at."
)
_TO_READ = (_WORDS, _VERDICTS, _METHOD, _CRITERIA)
_OURS = "ours"
"""How the source of a claim begins that is not the paper's."""
_CLAIMS = ["paper", "claim", "measured", "interval", "verdict"]


def as_markdown(study: Study, figures: str = "figures") -> str:
    """Write the study as Markdown; `figures` is the folder of its pictures."""
    lines = ["# Does the paper hold? Its claims, measured", "", _facts(study), ""]
    lines += [
        "## In short",
        "",
        *(f"- **{title}.** {text}" for title, text in in_short(study.sections)),
        "",
    ]
    lines += ["## How to read it", ""]
    lines += [text for each in _TO_READ for text in (each, "")]
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


def as_html(study: Study, figures: Mapping[str, bytes]) -> str:
    """Write the study as one page; `figures` are PNG files by the names of the charts."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta http-equiv='Content-Security-Policy' "
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>driftduel study</title><style>{_STYLE}</style></head><body>",
        "<h1>Does the paper hold? Its claims, measured</h1>",
        f"<p>{_text(_facts(study))}</p><h2>In short</h2><ul>",
        *(
            f"<li><b>{_text(title)}.</b> {_text(text)}</li>"
            for title, text in in_short(study.sections)
        ),
        "</ul><h2>How to read it</h2>",
        *(f"<p class='small'>{_text(each)}</p>" for each in _TO_READ),
        f"<h2>All claims</h2><p>{_text(_short(study))}</p>",
        _html_table(Table("By where the paper states them", *_overview(study))),
        "<h3>One by one</h3>",
        _claims_table(study.sections),
    ]
    for section in study.sections:
        parts.append(f"<h2 id='s{section.number}'>{section.number}. {_text(section.title)}</h2>")
        parts.append(f"<p>{_text(section.intro)}</p>")
        for chart in section.charts:
            data = b64encode(figures[chart.name]).decode()
            parts.append(
                f"<figure><img alt='{_text(chart.title)}' src='data:image/png;base64,{data}'>"
                f"<figcaption>{_text(chart.caption)}</figcaption></figure>"
            )
        parts += [_html_table(table) for table in section.tables]
        if section.left_out:
            parts.append(f"<p class='small'>Left out: {_text(section.left_out)}</p>")
    return "\n".join(parts) + "</body></html>\n"


def _text(value: str) -> str:
    """Escape text; what stands between backticks is code."""
    parts = html.escape(value, quote=True).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _short(study: Study) -> str:
    """Count the verdicts on the paper's claims."""
    said = [c.verdict for s in study.sections for c in s.claims if not c.source.startswith(_OURS)]
    counts = [f"{_count(said, start)} {words}" for start, words in _KINDS.items()]
    return (
        f"{len(said)} rows are about the paper's claims, one for each K, C or world in which one "
        f"was tested: {', '.join(counts)}. Rows marked `{_OURS}` are questions of our own."
    )


_KINDS = {"holds": "hold", "begins": "begin somewhere", "not seen": "were not seen",
          "undecided": "are undecided"}  # fmt: skip


def _count(said: Sequence[str], start: str) -> int:
    return sum(verdict.startswith(start) for verdict in said)


def _overview(study: Study) -> tuple[list[str], list[list[str]]]:
    """Return a table of verdicts by source, in the order of the sections."""
    by_source: dict[str, list[str]] = {}
    for section in study.sections:
        for claim in section.claims:
            by_source.setdefault(claim.source, []).append(claim.verdict)
    rows = [
        [source, str(len(said)), *(str(_count(said, start)) for start in _KINDS)]
        for source, said in sorted(by_source.items(), key=lambda pair: pair[0].startswith(_OURS))
    ]
    return ["paper", "tested", *_KINDS], rows


def _claims_table(sections: Sequence[Section]) -> str:
    rows = []
    for section in sections:
        for claim in section.claims:
            kind = claim.verdict.split()[0].rstrip(":")
            source, *rest = _claim(claim)[:-1]
            cells = f"<td>{_text(source)}</td>"
            cells += "".join(f"<td class='c'>{_text(cell)}</td>" for cell in rest)
            rows.append(
                f"<tr><td><a href='#s{section.number}'>{section.number}</a></td>{cells}"
                f"<td class='v {kind}'>{_text(claim.verdict)}</td></tr>"
            )
    head = "".join(f"<th>{name}</th>" for name in ["", *_CLAIMS])
    return f"<div class='wide'><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _html_table(table: Table) -> str:
    columns = list(zip(*table.rows, strict=True)) if table.rows else [()] * len(table.head)
    kinds = [
        " class='n'" if cells and all(cell[:1].isdigit() or cell[:1] in "-+" for cell in cells)
        else ""
        for cells in columns
    ]  # fmt: skip
    head = "".join(f"<th{k}>{_text(c)}</th>" for c, k in zip(table.head, kinds, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(f"<td{k}>{_text(c)}</td>" for c, k in zip(row, kinds, strict=True))
        + "</tr>"
        for row in table.rows
    )
    note = f"<p class='small'>{_text(table.note)}</p>" if table.note else ""
    return (
        f"<h3>{_text(table.title)}</h3><div class='wide'><table><tr>{head}</tr>{rows}</table></div>"
        f"{note}"
    )
