"""The function `write_report`: from a folder of results to a page and figures."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftduel._internal.files import atomic_write, durable_folder
from driftduel._internal.pages import environment
from driftduel.errors import DriftduelError
from driftduel.figures import (
    Legend,
    Width,
    plot_goal,
    plot_heat,
    plot_regret,
    plot_restarts,
    plot_shares,
    plot_totals,
    plot_trend,
)
from driftduel.lab import Findings, WorldFindings, read_findings
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

    The page needs no network and no other file. For an unfinished sweep it shows the finished games
    and lists the missing ones. Files are written atomically, so a reader never sees a partial page.

    Parameters
    ----------
    folder
        A folder of ``compare(..., out=folder)`` or ``sweep``, or a `Results` object.
    out
        A folder for ``index.html`` and ``figures/``; default: ``report`` inside `folder`. Required
        for results in a temporary folder, which is deleted with the object.
    trace
        A pattern for the name of a game (see `Plan.select`) of a policy with replays, of which the
        figure is drawn: run 0 only. Default: the game of the best such policy.
    worlds
        A pattern for the specs of the worlds that are shown one by one, as for `Plan.select`;
        default: as many as the maximum size of a page allows. Sections about all worlds always
        include all of them.
    figures
        Whether to write figures for papers as PNG, SVG and PDF. Figures of single worlds are
        limited to 20 worlds without the argument `worlds`; 2 to 12 worlds are also facets of one
        figure.
    labels, width, legend, logx
        Parameters of the figures, as for `Results.plot_regret`.
    remarks
        Sentences about policies by spec, for the table of standings.
    progress
        Callback with a short description of each longer step.

    Raises
    ------
    DriftduelError
        If there are no finished games, a pattern has no match, or the folder is not writable.
    MissingExtraError
        If a package of the extra ``report`` is not installed.

    Examples
    --------
    >>> page = write_report("sweep")  # doctest: +SKIP
    """
    from driftduel.lab import Results, load_results

    played = folder if isinstance(folder, Results) else load_results(folder)
    where = played.store.folder
    say = progress or (lambda _: None)
    say("reading results")
    if played.missing == len(played.plan):
        failed = len(played.failures)
        why = f"none is finished and {failed:,} failed" if failed else "none is finished yet"
        raise DriftduelError(
            f"{str(where)!r} is for {len(played.plan):,} games, but {why}; play some first."
        )
    charting_library()  # raise a missing extra before the long work
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
    name = name.encode(
        "utf-8", "backslashreplace"
    ).decode()  # a file name may contain bytes that are invalid in UTF-8
    page = make_page(played, findings, picture, name, names, shown, remarks or {})
    with atomic_write(target / _PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target / _PAGE


def _make_folder(path: Path) -> None:
    try:
        durable_folder(path)
    except OSError as error:
        reason = error.strerror or error
        raise DriftduelError(f"cannot write to {str(path)!r}: {reason}.") from None


Draw = Callable[[list[str | Path]], None]


def _chosen(findings: Findings, pattern: str) -> list[WorldFindings]:
    """Return the worlds with a spec that matches a pattern."""
    from driftduel.lab import matches

    chosen = [world for world in findings.worlds if matches(world.spec, pattern)]
    if not chosen:
        raise DriftduelError(
            f"no world with results matches {pattern!r}; a spec is, for example, "
            f"{findings.worlds[0].spec!r}."
        )
    return chosen


def _drawings(
    findings: Findings,
    worlds: Sequence[WorldFindings],
    look: dict[str, Any],
    axes: dict[str, Any],
) -> Iterator[tuple[str, Draw]]:
    """Yield the file name of every figure and the function that draws it.

    Parameters
    ----------
    findings, worlds
        The findings, and the worlds that are drawn one by one.
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
    """Return the part of a file name for the label of a world.

    Examples
    --------
    >>> _slug(3, "two-arm:rounds=1000,seed=1")
    '4-two-arm-rounds-1000-seed-1'
    """
    words = re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-.")
    return f"{index + 1}-{words[:60]}"
