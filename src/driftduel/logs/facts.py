"""What is said about a log: the same facts and sentences for the terminal, JSON and the page."""

from typing import Any

import numpy as np

from driftduel.logs.position import first_advantage
from driftduel.logs.posterior import Change, Fit
from driftduel.logs.reading import Log
from driftduel.logs.times import time_text
from driftduel.wording import counted, decimals, interval, listed, number, often, share, whole

__all__ = ["changes", "doubts", "facts", "measured", "says_changes", "says_estimate", "says_now"]

_SURE = 0.95
_FINE_ENOUGH = 256  # stretches of time; many options leave room for fewer


def facts(log: Log, fit: Fit) -> dict[str, Any]:
    """Return what is in a log, and who is best now."""
    counts, now = log.counts, fit.now
    both = counts.wins.sum(axis=0)
    seen = int((np.triu(both + both.T, 1) > 0).sum())
    placed = first_advantage(counts)
    groups = counts.groups
    heaviest = None
    if groups is not None and groups.share == 1:
        heaviest = float(groups.sizes().max() / counts.weight)
    return {
        "options": list(counts.names),
        "votes": counts.votes,
        "rows": log.rows,
        "skipped": dict(log.skipped),
        "from": time_text(counts.first[0], counts.clock),
        "to": time_text(counts.last[-1], counts.clock),
        "pairs_seen": seen,
        "ties": counts.ties,
        "phi": fit.phi,
        "first_advantage": None if placed is None else placed[0],
        "first_advantage_between": None if placed is None else list(placed[1:]),
        "heaviest_group": heaviest,
        "weighted": counts.squares != counts.weight,
        "effective_votes": counts.effective_votes,
        "left_out": [*log.left_out, *fit.left_out],
        "fit": fit.kind,
        "now": now.chances,
        "nobody": now.nobody,
        "winner": now.winner,
        "likely": list(now.likely),
        "since": time_text(now.since, counts.clock),
        "sure_however_often_one_looks": now.sure,
        "notes": list(log.notes),
        "remarks": _remarks_on_now(log, fit),
    }


def says_now(fit: Fit) -> str:
    """Say who is best now, in a sentence that can be repeated."""
    now, clock = fit.now, fit.counts.clock
    since = time_text(now.since, clock)
    if now.winner is None:
        return f"Nobody beats everybody now ({share(now.nobody)} probable)."
    chance = now.chances[now.winner]
    if chance >= _SURE:
        return f"{now.winner} is best now ({share(chance)}), and has led since {since}."
    if chance >= 0.5:
        return f"{now.winner} is probably best now ({share(chance)}), and has led since {since}."
    return f"It is open who is best now; {now.winner} comes first with {share(chance)}."


def _remarks_on_now(log: Log, fit: Fit) -> list[str]:
    now, clock = fit.now, fit.counts.clock
    remarks = []
    if len(now.likely) > 1:
        remarks.append(f"If somebody is, it is one of {listed(now.likely)} with 95% probability.")
    last = f"The last change was around {time_text(now.stretch, clock)}, {now.votes:,} votes ago"
    if now.stretch <= fit.counts.first[0]:
        last = "Nothing seems to have changed since the log began"
    remarks.append(
        f"{last}; a change among the last hundred votes or so cannot be seen in any log."
    )
    if now.winner is not None:
        if now.sure:
            remarks.append(
                "That it beats every other can be said however often one looks (anytime-valid, at "
                "most 5% error)."
            )
        else:
            remarks.append(
                "For those who look every day: it cannot be said yet that it beats every other "
                "(anytime-valid, 5% error)."
            )
    if fit.kind == "walk":
        leader, chance = fit.leader_of_walk
        if leader != now.winner and chance >= 0.5:
            remarks.append(
                f"If preferences drift rather than jump, as they seem to, {leader} is ahead at the "
                f"very end ({share(chance)}): who is best now is less clear than it looks."
            )
    remarks += doubts(fit)
    return remarks


def doubts(fit: Fit) -> list[str]:
    """Say what makes all that is said about a log less sure."""
    said = []
    if fit.rough:
        said.append("There are fewer than 30 votes a pair and stretch, so all this is rough.")
    groups, K = fit.counts.groups, fit.counts.options
    if groups is not None and len(groups.ids) < 2 * K:
        said.append(
            f"All votes are of {counted(len(groups.ids), 'group')}: too few to tell a change, "
            f"which takes {K} before and {K} behind it, or how much votes depend on each other."
        )
    stretches = len(fit.counts.wins)
    if stretches < _FINE_ENOUGH and stretches < fit.counts.events.sum():
        each = whole(fit.counts.votes / stretches)
        said.append(
            f"Time is cut into {stretches} stretches of about {each} votes, and no change is dated "
            f"more closely than that."
        )
    if fit.left_out:
        said.append(
            f"Left out, because they were not there most of the time: {listed(fit.left_out)}."
        )
    if fit.phi > 1.05:
        said.append(
            f"Votes depend on each other: {decimals(fit.phi)} votes say as much as one "
            f"independent vote."
        )
    return said


def changes(log: Log, fit: Fit) -> dict[str, Any]:
    """Return what changed: the estimate, what stands the test, and what is certain."""
    counts, clock = log.counts, fit.counts.clock
    certificate = fit.certified()
    reported = [change for change in fit.changes if change.reported]
    rows = [
        {
            "time": time_text(change.time, clock),
            "low": time_text(change.low, clock),
            "high": time_text(change.high, clock),
            "changed": change.changed,
            "winner_changed": change.winner_changed,
            "before": change.before,
            "after": change.after,
            "p": change.p,
            "q": change.q,
            "vote": change.vote,
        }
        for change in reported
    ]
    windows = [[time_text(low, clock), time_text(high, clock)] for low, high in certificate.windows]
    certain = certificate.switches
    remarks = [
        _says_tested(fit, reported),
        f"Certificate: without any model, the winner changed at least {often(certain)} "
        f"({share(certificate.level)} certain)."
        if certain
        else "Certificate: without any model, no switch of the winner is certain.",
    ]
    if certificate.empty:
        remarks.append(
            f"Not counted: {counted(certificate.empty, 'window')} in which the winner changed or, "
            "which is likelier by the estimate, nobody beat everybody for a while."
        )
    remarks += doubts(fit)
    return {
        "options": list(counts.names),
        "votes": counts.votes,
        "fit": fit.kind,
        "phi": fit.phi,
        "changes": rows,
        "winner_switches_at_least": certain,
        "certain_between": windows,
        "notes": list(log.notes),
        "remarks": remarks,
    }


def _says_tested(fit: Fit, reported: list[Change]) -> str:
    """Say what stands the test, and what does not."""
    if not fit.changes:
        return "Test: no change is more probable than not, so there is none to test."
    what = "votes of a pair" if fit.counts.groups is None else "whole groups of votes"
    stand = (
        f"if {what} change places at random, hardly ever as much is seen as at "
        f"{'this change' if len(reported) == 1 else f'each of these {len(reported):,} changes'} "
        f"(q at most {decimals(max(change.q for change in reported), 3)})"
        if reported
        else ""
    )
    dropped = len(fit.changes) - len(reported)
    fell = (
        f"{counted(dropped, 'more change' if reported else 'change')} "
        f"{'is' if dropped == 1 else 'are'} more probable than not, but did not stand the "
        f"permutation test at 5%"
        if dropped
        else ""
    )
    return f"Test: {'; '.join(part for part in (stand, fell) if part)}."


def says_estimate(fit: Fit) -> str:
    """Say what the estimate is, and on what it relies."""
    model = {
        "utilities": "every option has a strength, which may jump",
        "pairs": "every pair has a probability, which may jump",
        "walk": "every option has a strength, which drifts; changes are where it does so fastest",
    }
    return f"Estimate, if {model[fit.kind]}:"


def says_changes(about: dict[str, Any]) -> str:
    """Say what changed, in a sentence that can be repeated."""
    rows = about["changes"]
    if not rows:
        return "Nothing changed that stands out from chance."
    winners = [row for row in rows if row["before"] != row["after"]]
    changed = often(len(rows))
    if not winners:
        return f"Preferences changed {changed}, the winner probably never."
    last = winners[-1]
    return (
        f"Preferences changed {changed}, the winner {often(len(winners))}, "
        f"the last time around {last['time']}, from {last['before'] or 'nobody'} to "
        f"{last['after'] or 'nobody'}."
    )


def measured(log: Log, fit: Fit, rounds: int | None = None, draws: int = 100) -> dict[str, Any]:
    """Return the five measures with intervals, and which of them the log can tell."""
    found = fit.measures(rounds, draws)
    T = log.counts.votes if rounds is None else rounds
    headline = found["significant_switches"]
    remarks = [
        f"Of the five, the significant switches are what a log can tell: {number(headline.median)} "
        f"({interval(headline.low, headline.high)}) for {T:,} rounds. They are taken against the "
        f"von Neumann winner, so rounds without a Condorcet winner count too; with more rounds, "
        f"smaller differences are significant.",
        *doubts(fit),
    ]
    rows: dict[str, Any] = {
        name: {
            "low": one.low,
            "median": one.median,
            "high": one.high,
            "told": one.told,
            **({"bound": one.bound} if one.bound is not None else {}),
        }
        for name, one in found.items()
    }
    return {
        "options": list(fit.names),
        "votes": log.counts.votes,
        "rounds": T,
        "fit": fit.kind,
        **rows,
        "notes": list(log.notes),
        "remarks": remarks,
    }
