"""From a folder of results to a page and figures."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel._files import lasting_folder, whole_file
from driftduel._pages import environment
from driftduel.errors import DriftduelError
from driftduel.figures.goals import plot_goal
from driftduel.figures.results import (
    Legend,
    Width,
    plot_heat,
    plot_regret,
    plot_restarts,
    plot_shares,
    plot_totals,
    plot_trend,
)
from driftduel.lab.findings import Findings, WorldFindings, read_findings
from driftduel.report.page import charting_library, make_page
from driftduel.report.picture import draw_picture

if TYPE_CHECKING:
    from driftduel.lab import Results

__all__ = ["write_report"]

_PAGE = "index.html"
_FORMATS = ("png", "svg", "pdf")
_MOST_WORLDS_DRAWN = 20
_MOST_FACETS = 12
Progress = Callable[[str], None]


def write_report(
    folder: "str | Path | Results",
    out: str | Path | None = None,
    *,
    trace: str | None = None,
    worlds: str | None = None,
    figures: bool = True,
    labels: Mapping[str, str] | None = None,
    width: Width | None = None,
    legend: Legend = "auto",
    logx: bool = False,
    remarks: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a page about a folder of results, and figures for papers; return the page's path.

    The page needs no network and no other file. Of an unfinished sweep it shows what is there and
    says what is missing.

    Parameters
    ----------
    folder
        What ``compare(..., out=folder)`` or ``sweep`` made, or the results themselves.
    out
        A folder for ``index.html`` and ``figures/``; ``report`` inside `folder` unless given.
        Results that were kept in no folder need it: their own vanishes with them.
    trace
        A pattern for the name of the game (see `Plan.select`) whose replays are drawn: run 0 of
        a policy that has any. The best such policy's unless given.
    worlds
        A pattern for the specs of the worlds that are shown one by one, read as by `Plan.select`;
        as many as a page can hold unless given. What is said of all worlds is of all.
    figures
        Whether to write figures for papers, as PNG, SVG and PDF; of single worlds, of 20 at most
        unless `worlds` says which; of 2 to 12 worlds also as the facets of one figure.
    labels, width, legend, logx
        Of these figures, as for `Results.plot_regret`.
    remarks
        Sentences about policies, by their specs, for the table of standings.
    progress
        Called with a few words before each longer step.

    Examples
    --------
    >>> page = write_report("sweep")  # doctest: +SKIP
    """
    from driftduel.lab import Results, results

    played = folder if isinstance(folder, Results) else results(folder)
    where = played.store.folder
    say = progress or (lambda _: None)
    say("reading results")
    if played.missing == len(played.plan):
        failed = len(played.failures)
        why = f"none is finished and {failed:,} failed" if failed else "none is finished yet"
        raise DriftduelError(
            f"{str(where)!r} is for {len(played.plan):,} games, but {why}; "
            f"there is nothing to report."
        )
    charting_library()  # if it or what fills templates is not there, say so before long work
    environment("driftduel.report")
    chosen = None if trace is None else played.plan.select(trace)
    target = where / "report" if out is None else Path(out)
    _make_folder(target)
    findings = read_findings(played)
    shown = findings.worlds if worlds is None else _chosen(findings, worlds)
    say("drawing one game")
    picture = draw_picture(played, findings, chosen, target if figures else None)
    names = []
    if figures:
        _make_folder(target / "figures")
        drawn = shown if worlds is not None else shown[:_MOST_WORLDS_DRAWN]
        look = {"labels": labels, "width": width}
        for name, draw in _drawings(findings, drawn, look, {"legend": legend, "logx": logx}):
            say(f"drawing {name}")
            files = [f"{name}.{ending}" for ending in _FORMATS]
            draw([target / "figures" / file for file in files])
            names += files
        if picture is not None and picture.svg is not None:
            names += [f"trace.{ending}" for ending in _FORMATS]
    say("writing the page")
    name = where.resolve().name or str(where)
    name = name.encode("utf-8", "backslashreplace").decode()  # a page holds letters, not bytes
    page = make_page(played, findings, picture, name, names, shown, remarks or {})
    with whole_file(target / _PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target / _PAGE


def _make_folder(path: Path) -> None:
    try:
        lasting_folder(path)
    except OSError as error:
        reason = error.strerror or error
        raise DriftduelError(f"cannot write to {str(path)!r}: {reason}.") from None


Draw = Callable[[list[str | Path]], None]


def _chosen(findings: Findings, pattern: str) -> list[WorldFindings]:
    """Return the worlds whose spec matches a pattern."""
    from driftduel.lab.plan import matches

    chosen = [world for world in findings.worlds if matches(world.spec, pattern)]
    if not chosen:
        raise DriftduelError(
            f"no world with results matches {pattern!r}; worlds are named like "
            f"{findings.worlds[0].spec!r}."
        )
    return chosen


def _drawings(
    findings: Findings,
    worlds: Sequence[WorldFindings],
    look: dict[str, Any],
    axes: dict[str, Any],
) -> Iterator[tuple[str, Draw]]:
    """Name every figure and how to draw it.

    Parameters
    ----------
    findings, worlds
        What to draw, and the worlds that are drawn one by one.
    look, axes
        Keyword arguments of all figures, and those of regret over time.
    """
    if len(findings.worlds) > 1:
        yield "heat", partial(plot_heat, findings, **look)
    if 1 < len(worlds) <= _MOST_FACETS:
        yield "facets", partial(plot_regret, worlds, common=findings.common, **look, **axes)
    for place, trend in enumerate(findings.trends, start=1):
        number = f"-{place}" if len(findings.trends) > 1 else ""
        yield (
            f"{trend.axis}{number}",
            partial(plot_trend, trend, findings, **look, legend=axes["legend"]),
        )
    for world in worlds:
        tail = f"-{_slug(world.index, world.label)}" if len(findings.plan.worlds) > 1 else ""
        if world.goal is not None:
            yield f"goal-{world.goal.goal.name}{tail}", partial(plot_goal, world, **look)
        yield f"totals{tail}", partial(plot_totals, world, **look)
        yield f"regret{tail}", partial(plot_regret, world, **look, **axes)
        if any(standing.restarts for standing in world.standings):
            yield f"restarts{tail}", partial(plot_restarts, world, **look)
        if world.shares:
            yield f"shares{tail}", partial(plot_shares, world, **look)


def _slug(index: int, label: str) -> str:
    """Make a file name of a world's label.

    Examples
    --------
    >>> _slug(3, "two-arm:rounds=1000,seed=1")
    '4-two-arm-rounds-1000-seed-1'
    """
    words = re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-.")
    return f"{index + 1}-{words[:60]}"
