"""Section with the verdict and the changes of the world, at the top of the page."""

from collections.abc import Callable, Sequence

from driftduel._internal.wording import counted, listed, often, share, whole
from driftduel.lab import (
    Changes,
    Findings,
    WorldFindings,
    overall_verdict,
    prior_knowledge_remark,
    verdict,
)
from driftduel.regret import BENCHMARKS
from driftduel.report.section import Section, game_name

__all__ = ["about_changes", "about_presence", "about_world", "heading", "section"]

_MOST_WINNERS = 8


def heading(findings: Findings, folder: str) -> Section:
    """Return the heading with the name of the folder, and the settings of the experiment."""
    plan = findings.plan
    return Section(
        "heading.html",
        {
            "spec": plan.worlds[0].spec if len(plan.worlds) == 1 else "",
            "heading": f"{folder}: {counted(len(plan.worlds), 'world')}",
            "setting": _setting(findings, folder),
        },
    )


def section(findings: Findings) -> Section:
    """Return the section with the verdict over all worlds, or in the only one."""
    plan = findings.plan
    one = findings.worlds[0] if len(plan.worlds) == 1 else None
    paragraphs = (
        [overall_verdict(findings.worlds)]
        if one is None
        else about_world(one, game_name(one.example, len(plan.seeds)))
    )
    return Section("verdict.html", {"paragraphs": paragraphs})


def about_world(world: WorldFindings, run: str) -> list[str]:
    """Return the verdict in a world, a remark on prior knowledge, and the changes of the world."""
    changes = about_changes(world.changes, world.winners, world.fixed, run, world.called)
    goal = "" if world.goal is None else world.goal.goal.verdict(world.goal.rows)
    sentences = (
        goal,
        verdict(world.standings, world.spec, world.loss),
        prior_knowledge_remark(world.standings, world.loss),
        f"{changes} {about_presence(world)}".rstrip(),
    )
    return [text for text in sentences if text]


def _setting(findings: Findings, folder: str) -> str:
    plan = findings.plan
    arms = sorted({world.arms for world in plan.worlds})
    rounds = sorted({world.rounds for world in plan.worlds})
    text = f"{settings_text(findings)}; {listed([str(k) for k in arms])} arms, "
    text += f"{listed([f'{t:,}' for t in rounds])} rounds."
    if plan.benchmark != "condorcet":
        text += f" Regret is {BENCHMARKS[plan.benchmark]}."
    return text if len(plan.worlds) > 1 else f"{text} Results: {folder}."


def about_changes(
    changes: Changes,
    winners: Sequence[tuple[int, int | None]] | None,
    fixed: bool,
    example: str,
    called: Callable[[int], str] = "arm {}".format,
) -> str:
    """Return a sentence about the rounds of changes and the sequence of best arms."""
    what, (change, stay) = changes.subject, changes.verbs
    runs = "In every run the" if changes.runs > 1 else "The"
    if changes.most == 0:
        return f"{runs} {what} {stay} the same throughout."
    times = often(changes.fewest, changes.most)
    where = "round" if len(changes.rounds) == 1 else "rounds"
    if changes.example:
        rounds = listed([whole(t) for t in changes.rounds])
        return (
            f"The {what} {change} {times} per run, in different rounds; the changes shown are "
            f"those of {example}: in {where} {rounds}."
        )
    if changes.same:
        rounds = listed([whole(t) for t in changes.rounds], most=12)
        text = f"{runs} {what} {change} {times}, in {where} {rounds}"
    else:
        rounds = listed(
            [
                f"{t:,} ({'all' if count == changes.runs else count} of {changes.runs} runs)"
                for t, count in zip(changes.rounds, changes.counts, strict=True)
            ],
            most=12,
        )
        rounds = rounds.replace(f"all of {changes.runs} runs", "all runs")
        text = f"The {what} {change} {times} a run: in {where} {rounds}"
    if what != "best arm":
        return f"{text}."
    if winners and (fixed or changes.runs == 1) and len(winners) <= _MOST_WINNERS:
        arms = ["none" if winner is None else called(winner) for _, winner in winners]
        text += f", from {' to '.join(arms)}"
    elif not fixed and changes.runs > 1:
        text += "; the best arms differ between runs"
    return text + "."


def about_presence(world: WorldFindings) -> str:
    """Return sentences about the number of present arms, if it varies, slates, and ties."""
    sentences = []
    if world.present is not None:
        low, high = world.present
        many = f"{low}" if low == high else f"{low} to {high}"
        verb = "is" if many == "1" else "are"
        sentences.append(
            f"Arms join and leave: {many} of {world.arms} {verb} present at a time, and the best "
            f"arm is the best present one."
        )
    if world.slate > 2:
        answer = "ranked" if world.slates_ranked else "picked from"
        sentences.append(
            f"Up to {world.slate} arms are shown at a time and {answer}; regret is their mean."
        )
        if world.ties > 0:
            sentences.append(f"Nothing is picked in {share(world.ties)} of the rounds.")
    elif world.ties > 0:
        sentences.append(f"Of the duels of two arms, {share(world.ties)} tie; a tie is half a win.")
    return " ".join(sentences)


def settings_text(findings: Findings) -> str:
    """Return the size and the settings of the plan in one sentence."""
    plan = findings.plan
    policies = counted(len(plan.policies), "policy", "policies")
    text = f"{policies} in {counted(len(plan.worlds), 'world')}, "
    text += f"{counted(plan.runs * len(plan.seeds), 'run')} each"
    return text + (
        f" (seeds {listed([str(s) for s in plan.seeds])})" if len(plan.seeds) > 1 else ""
    )
