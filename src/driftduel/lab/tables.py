"""Results as tables of text: in a terminal, in a notebook, and on the command line."""

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from driftduel._internal.defaults import GOAL
from driftduel._internal.text_tables import fitted
from driftduel._internal.wording import (
    counted,
    interval,
    margin,
    number,
    often,
    plain,
    ratio,
    share,
    short,
)
from driftduel.figures import wrapped
from driftduel.lab.findings.naming import short_names
from driftduel.lab.findings.standings import loss_name, read_standing
from driftduel.lab.goals import goal_named
from driftduel.lab.verdicts import short_verdict
from driftduel.regret import BENCHMARKS

if TYPE_CHECKING:
    from driftduel.lab.goals import Goal
    from driftduel.lab.plan import Plan, PlannedWorld
    from driftduel.lab.result import Results

__all__ = [
    "OPEN",
    "ResultTable",
    "WideCell",
    "as_html",
    "as_text",
    "missing_report",
    "over_worlds",
    "plan_as_text",
    "verdict",
    "wide_cells",
    "wide_note",
    "world_table",
]

# The definition of a switch for benchmarks other than condorcet.
_MOVES = {
    "von-neumann": "the set of arms without regret switches",
    "exploitability": "the preferences switch",
    "borda": "the arm with the best Borda score switches",
    "copeland": "the arm with the best Copeland score switches",
}
_WORDS = ("policy", "told")  # all other columns are numbers, aligned to the right
# Columns that may be left out on a narrow terminal, the most important one first.
_OPTIONAL = ("told", "ratio", "restarts", "needless", "answered", "delay", "rounds/s")
_MOST_WORLDS = 6
OPEN = "†"
"""The mark of a cell that cannot be distinguished from the best."""
_MOST_FAILURES = 10
_MOST_NAMES = 12


@dataclass(frozen=True)
class ResultTable:
    """A table of strings: heads and rows, with the text above and below."""

    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: str
    """Indices of columns aligned to the right, as hexadecimal digits for `text_tables.fitted`."""
    optional: tuple[str, ...] = ()
    """Columns that may be left out, the most important one first."""
    verdict: str = ""


def verdict(results: "Results", world: str) -> str:
    """Return one or two sentences about the best policy in a world, with the evidence."""
    goal = goal_named(results.plan.goal)
    if goal is not None:
        return plain(goal.verdict_of(_goal_rows(results, world)))
    rows = results.summary.filter(world=world).iter_rows(named=True)
    standings = [read_standing(place, row) for place, row in enumerate(rows) if row["runs"]]
    return plain(short_verdict(standings, loss_name(results.plan.benchmark)))


def world_table(results: "Results", world: "PlannedWorld") -> ResultTable:
    """Return the table object of policies in a world, best first."""
    if results.goal is not None:
        return _goal_table(results, results.goal, world)
    rows = list(results.summary.filter(world=world.spec).iter_rows(named=True))
    rows.sort(key=lambda row: (row["regret_mean"] is None, row["regret_mean"]))
    best = rows[0] if rows[0]["runs"] else None
    full = all(row["runs"] == row["planned"] for row in rows)
    restarted = any(row["restarts_mean"] for row in rows)
    columns: dict[str, list[str]] = {
        "policy": [row["policy"] for row in rows],
        "told": [", ".join(row["told"]) or "nothing" for row in rows],
        "regret": [number(row["regret_mean"]) for row in rows],
        "95% interval": [interval(row["regret_low"], row["regret_high"]) for row in rows],
        "ratio": [ratio(row["ratio_to_best"]) for row in rows],
        "more than the best, paired": [
            "the best" if row is best else _difference(row) for row in rows
        ],
    }
    if not full:
        columns["runs"] = [f"{row['runs']} of {row['planned']}" for row in rows]
    columns["restarts"] = [number(row["restarts_mean"]) for row in rows]
    columns["needless"] = [number(row["restarts_needless_mean"]) for row in rows]
    if restarted:
        columns["answered"] = [share(row["switches_detected"]) for row in rows]
        columns["delay"] = [number(row["detection_delay_mean"]) for row in rows]
    columns["rounds/s"] = [short(row["rounds_per_second"]) for row in rows]
    return ResultTable(
        title=world.spec,
        about=_about(results, world, rows),
        head=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        right="".join(f"{i:x}" for i, title in enumerate(columns) if title not in _WORDS),
        optional=_OPTIONAL,
        verdict=verdict(results, world.spec),
    )


def _goal_rows(results: "Results", world: str) -> list[dict[str, Any]]:
    """Return the rows of the goal's summary for a world as dicts."""
    return list(results.goal_summary.filter(world=world).iter_rows(named=True))


def _goal_table(results: "Results", goal: "Goal", world: "PlannedWorld") -> ResultTable:
    """Return the numbers of the goal for each policy in a world, best first."""
    rows = goal.rank(_goal_rows(results, world.spec))
    told = {policy.spec: ", ".join(policy.told) or "nothing" for policy in results.plan.policies}
    columns: dict[str, list[str]] = {"policy": [row["policy"] for row in rows]}
    for column in goal.columns:
        cells = [(column.text(row), column.between(row)) for row in rows]
        columns[column.heading] = [f"{text} ({ends})" if ends else text for text, ends in cells]
    if not all(row["runs"] == row["planned"] for row in rows):
        columns["runs"] = [f"{row['runs']} of {row['planned']}" for row in rows]
    columns["told"] = [told[row["policy"]] for row in rows]
    known = results.summary.filter(world=world.spec).iter_rows(named=True)
    return ResultTable(
        title=world.spec,
        about=_about(results, world, list(known)),
        head=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        right="".join(f"{i:x}" for i, title in enumerate(columns) if title not in _WORDS),
        optional=(*(column.heading for column in goal.columns[2:]), "told"),
        verdict=verdict(results, world.spec),
    )


def _about(results: "Results", world: "PlannedWorld", rows: Sequence[dict[str, Any]]) -> str:
    """Return a line with the size of a world and its number of switches."""
    benchmark = results.plan.benchmark
    about = f"K = {world.arms}, T = {world.rounds:,}"
    switches = next((row["switches_mean"] for row in rows if row["runs"]), None)
    if switches is not None:
        about += f", {_MOVES.get(benchmark, 'the winner switches')} {often(switches)}"
        about += "" if world.fixed else " on average"
    if results.plan.mode == "panel":
        about += "; two different arms are shown in every round"
    return about + (f"\nregret: {BENCHMARKS[benchmark]}" if benchmark in _MOVES else "")


def _difference(row: dict[str, Any]) -> str:
    text = number(row["difference_to_best"])
    if row["difference_low"] is not None:
        text += f" ({interval(row['difference_low'], row['difference_high'])})"
    return text


def over_worlds(results: "Results") -> ResultTable:
    """Return a table of ratios to the best policy, as geometric means over worlds.

    With a goal beside regret: the mean and the worst of its first number.
    """
    if results.goal is not None:
        return _goal_over_worlds(results, results.goal)
    means = (
        results.summary.drop_nulls("ratio_to_best")
        .group_by("policy", maintain_order=True)
        .agg(
            pl.col("ratio_to_best").log().mean().exp().alias("mean"),
            pl.col("ratio_to_best").max().alias("worst"),
            pl.len().alias("worlds"),
        )
        .sort("mean")
    )
    return ResultTable(
        title="Ratio to the best policy of each world, over worlds",
        about="",
        head=("policy", "geometric mean", "worst", "worlds"),
        rows=tuple(
            (policy, ratio(mean), ratio(worst), str(worlds))
            for policy, mean, worst, worlds in means.iter_rows()
        ),
        right="123",
    )


@dataclass(frozen=True)
class WideCell:
    """A policy's regret in a world, in a table of policies by worlds."""

    mean: str
    half: str
    """Half of the width of the 95% interval of the mean; "-" for one run."""
    best: bool
    """Whether no mean of the world is lower."""
    open: bool
    """Whether the runs cannot distinguish it from the best."""


def wide_cells(results: "Results") -> list[list[WideCell | None]]:
    """Return a list of cells by world for each policy, in the order of the plan.

    A cell is None without a finished game. If no policy has a second run, no cell is marked as
    open, because a single run cannot distinguish any policies.
    """
    by_world: list[list[WideCell | None]] = []
    for world in results.plan.worlds:
        rows = list(results.summary.filter(world=world.spec).iter_rows(named=True))
        lowest = min((row["regret_mean"] for row in rows if row["runs"]), default=None)
        several = any(row["runs"] > 1 for row in rows)
        column: list[WideCell | None] = []
        for place, row in enumerate(rows):
            if not row["runs"]:
                column.append(None)
                continue
            standing = read_standing(place, row)
            half = None if standing.high is None else standing.high - standing.mean
            best = standing.mean == lowest
            mean, width = margin(standing.mean, half)
            column.append(WideCell(mean, width, best, several and not best and not standing.worse))
        by_world.append(column)
    return [list(row) for row in zip(*by_world, strict=True)]


def wide_note(results: "Results") -> str:
    """Return a description of the cells of a table of policies by worlds."""
    runs = results.summary["runs"]
    fewest, most = int(runs.min() or 0), int(runs.max() or 0)  # type: ignore[arg-type]
    over = counted(most, "run") if fewest == most else f"{fewest:,} to {counted(most, 'run')}"
    loss = loss_name(results.plan.benchmark)
    if most < 2:
        return f"{loss.capitalize()} of a single run, which has no interval. Bold: the lowest."
    return (
        f"Mean {loss} ± half of its 95% interval (Student's t, {over}). Bold: the lowest mean. "
        f"{OPEN}: not distinguishable from it, as the paired 95% interval of the difference "
        "includes 0; not adjusted for the number of comparisons."
    )


def _goal_over_worlds(results: "Results", goal: "Goal") -> ResultTable:
    """Return a table of the mean and the worst value of the goal's first column over worlds."""
    first = goal.columns[0]
    numbers: dict[str, list[float]] = {}
    for row in results.goal_summary.iter_rows(named=True):
        value = first.number(row)
        if value is not None:
            numbers.setdefault(row["policy"], []).append(value)
    worst = min if goal.descending else max
    means = {policy: sum(values) / len(values) for policy, values in numbers.items()}
    order = sorted(means, key=lambda policy: means[policy], reverse=goal.descending)
    return ResultTable(
        title=f"{first.heading}, over worlds: {first.title}",
        about="",
        head=("policy", "mean", "worst", "worlds"),
        rows=tuple(
            (
                policy,
                str(first.write(means[policy])),
                str(first.write(worst(numbers[policy]))),
                str(len(numbers[policy])),
            )
            for policy in order
        ),
        right="123",
    )


def missing_report(results: "Results") -> str:
    """Return a text about missing and failed cells; an empty string if all are finished."""
    if not results.missing:
        return ""
    failures = results.failures
    missing = f"{results.missing:,} of {counted(len(results.plan), 'cell')} are missing"
    lines = [f"{missing}; {len(failures):,} of them failed:" if failures else f"{missing}."]
    lines += [f"  {name}: {error}" for name, error in list(failures.items())[:_MOST_FAILURES]]
    if len(failures) > _MOST_FAILURES:
        rest = len(failures) - _MOST_FAILURES
        lines.append(f"  ... and {rest:,} more, in {results.store.folder / 'failed'}")
    return "\n".join(lines)


def as_text(results: "Results", width: int | None = None) -> str:
    """Return results as text for a terminal: the verdict, then a table that fits.

    Parameters
    ----------
    results
        The results.
    width
        Number of columns; default: the width of the terminal.
    """
    width = shutil.get_terminal_size((80, 24)).columns if width is None else width
    tables, remarks = _tables_and_remarks(results)
    parts = []
    left_out: list[str] = []
    for table in tables:
        drawn = fitted(table.rows, table.head, table.right, table.optional, width)
        left_out += drawn.left_out
        above = [part for part in (table.verdict, table.title, table.about) if part]
        wrapped = [_wrap(line, width) for part in above for line in part.splitlines()]
        parts.append("\n".join([*wrapped, "", drawn.text]))
    if left_out:
        where = ".summary" if goal_named(results.plan.goal) is None else ".goal_summary"
        remarks = [*remarks, f"Not shown: {', '.join(dict.fromkeys(left_out))}; see {where}."]
    parts += [_wrap(line, width) for remark in remarks for line in remark.splitlines()]
    return "\n\n".join(parts[: len(tables)]) + "".join(f"\n{each}" for each in parts[len(tables) :])


def as_html(results: "Results") -> str:
    """Return results as HTML for a notebook."""
    tables, remarks = _tables_and_remarks(results)
    parts = []
    for table in tables:
        if table.verdict:
            parts.append(f"<p><strong>{escape(table.verdict)}</strong></p>")
        about = f"<br>{_html_lines(table.about)}" if table.about else ""
        parts.append(f"<p><code>{escape(table.title)}</code>{about}</p>")
        parts.append(_html_table(table))
    if 1 < len(results.plan.worlds) <= _MOST_WORLDS:
        parts.append(_html_wide(results))
    parts += [f"<p>{_html_lines(remark)}</p>" for remark in remarks]
    return "\n".join(parts)


def _html_lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.splitlines())


def _tables_and_remarks(results: "Results") -> tuple[list[ResultTable], list[str]]:
    """Return the tables of a short output, and remarks on them."""
    worlds = results.plan.worlds
    missing = missing_report(results)
    remarks = [missing] if missing else []
    if len(worlds) == 1:
        return [world_table(results, worlds[0])], remarks
    remarks = [
        *(f"{world.spec}: {verdict(results, world.spec)}" for world in worlds[:_MOST_WORLDS]),
        *([f"... and {len(worlds) - _MOST_WORLDS} more worlds."] * (len(worlds) > _MOST_WORLDS)),
        *remarks,
    ]
    return [over_worlds(results)], remarks


def _html_table(table: ResultTable) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        aligned = [
            f'<{tag} style="text-align: {"right" if f"{i:x}" in table.right else "left"}">'
            f"{escape(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        ]
        return f"<tr>{''.join(aligned)}</tr>"

    body = "\n".join(row(cells, "td") for cells in table.rows)
    return f"<table><thead>{row(table.head, 'th')}</thead><tbody>\n{body}\n</tbody></table>"


def _html_wide(results: "Results") -> str:
    """Return an HTML table of the regret of every policy in every world, with a note."""
    labels, common = short_names([world.spec for world in results.plan.worlds])
    heads = ["<br>".join(map(escape, wrapped(label, 20))) for label in labels]
    lines = [f"<tr><th>policy</th>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"]
    for policy, cells in zip(results.plan.policies, wide_cells(results), strict=True):
        row = "".join(f'<td style="text-align: right">{_html_cell(cell)}</td>' for cell in cells)
        name = f'<td style="text-align: left">{escape(policy.spec)}</td>'
        lines.append(f"<tr>{name}{row}</tr>")
    above = f" ({common})" if common else ""
    head = f"<p>{escape(wide_note(results))}{escape(above)}</p>"
    return "\n".join([head, "<table><tbody>", *lines, "</tbody></table>"])


def _html_cell(cell: WideCell | None) -> str:
    if cell is None:
        return "-"
    text = escape(cell.mean if cell.half == "-" else f"{cell.mean} ± {cell.half}")
    return f"<strong>{text}</strong>" if cell.best else text + OPEN * cell.open


def _wrap(text: str, width: int) -> str:
    return textwrap.fill(
        text, min(width, 100), break_on_hyphens=False, break_long_words=False,
        subsequent_indent="  " if text.startswith(" ") else "",
    )  # fmt: skip


def plan_as_text(plan: "Plan") -> str:
    """Return a plan as text: the number of games, the policies and the worlds."""
    seeds = f" x {counted(len(plan.seeds), 'seed')}" if len(plan.seeds) > 1 else ""
    policies = counted(len(plan.policies), "policy", "policies")
    games = (
        f"{counted(len(plan), 'game')} = {counted(len(plan.worlds), 'world')} x {policies} x "
        f"{counted(plan.runs, 'run')}{seeds}; {plan.total_rounds:,} rounds in all"
    )
    settings = f"benchmark {plan.benchmark}, mode {plan.mode}, seed {_names(plan.seeds)}"
    settings += f", goal {plan.goal}" * (plan.goal != GOAL)
    return "\n".join(
        [
            f"Plan of {games}",
            f"  worlds    {_names([world.spec for world in plan.worlds])}",
            f"  policies  {_names([policy.spec for policy in plan.policies])}",
            f"  {settings}",
        ]
    )


def _names(things: Sequence[Any]) -> str:
    shown = [str(thing) for thing in things[:_MOST_NAMES]]
    rest = len(things) - len(shown)
    return "  ".join([*shown, *([f"... and {rest:,} more"] * (rest > 0))])
