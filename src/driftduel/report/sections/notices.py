"""Section on missing and failed games, at the top of the page."""

from typing import TYPE_CHECKING

from driftduel._internal.wording import code, counted, listed
from driftduel.lab import Findings
from driftduel.report.section import Section

if TYPE_CHECKING:
    from driftduel.lab import Results

__all__ = ["about_missing", "section"]

_MOST = 50


def section(results: "Results", findings: Findings) -> Section | None:
    """Return the section on missing and failed games; None if all games are finished."""
    plan, failures = findings.plan, results.failures
    text = about_missing(len(plan), results.missing, len(failures), len(results.store.damaged))
    if not text and not failures:
        return None
    shown = {world.spec for world in findings.worlds}
    unplayed = [code(world.spec) for world in plan.worlds if world.spec not in shown]
    lacking = _lacking(findings) if text else []
    return Section(
        "notices.html",
        {
            "text": text,
            "unplayed": f"No game is finished in {listed(unplayed)}." if unplayed else "",
            "lacking": lacking[:_MOST],
            "more_lacking": max(0, len(lacking) - _MOST),
            "failed": counted(len(failures), "game"),
            "failures": list(failures.items())[:_MOST],
            "more_failures": max(0, len(failures) - _MOST),
        },
    )


def _lacking(findings: Findings) -> list[tuple[str, str, str]]:
    """Return (policy, world, number of missing games) for all incomplete pairs."""
    plan = findings.plan
    planned = plan.runs * len(plan.seeds)
    played = {(w.spec, s.name): s.runs for w in findings.worlds for s in w.standings}
    lacking = [
        (policy.spec, world.spec, planned - played.get((world.spec, policy.spec), 0))
        for world in plan.worlds
        for policy in plan.policies
    ]
    return [(policy, world, counted(n, "game")) for policy, world, n in lacking if n]


def about_missing(planned: int, missing: int, failed: int, damaged: int = 0) -> str:
    """Return a sentence about missing games; an empty string if none is missing."""
    if not missing:
        return ""
    text = f"Unfinished: {counted(missing, 'game')} of {planned:,} "
    text += "is missing" if missing == 1 else "are missing"
    if failed:
        text += f", {failed:,} of them because they failed"
    if damaged:
        text += f", some because {counted(damaged, 'damaged file')} cannot be read"
    return text + ". All results below are of the finished games."
