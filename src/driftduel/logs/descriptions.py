"""Summaries of a log as values and sentences, shared by the terminal, JSON and the page."""

from typing import Any

import numpy as np

from driftduel._internal.wording import (
    counted,
    decimals,
    interval,
    listed,
    number,
    often,
    share,
    whole,
)
from driftduel.logs.posterior import Change, Fit
from driftduel.logs.reading import Log
from driftduel.logs.times import time_text, time_value

__all__ = [
    "PROBABILITY",
    "caveats",
    "describe_changes",
    "describe_estimate",
    "describe_log",
    "describe_measures",
    "describe_winner",
    "list_changes",
]

PROBABILITY = (
    "Probabilities are a tempered empirical-Bayes posterior: changes and strengths have priors "
    "fitted to the same votes, and votes count for less where they depend on each other (phi). "
    "How often such statements are right was measured on simulated logs, see the documentation."
)
"""The definition of the probabilities on the page."""
_SURE = 0.95
_FINE_ENOUGH = 256  # default number of stretches; fewer with many options


def describe_log(log: Log, fit: Fit) -> dict[str, Any]:
    """Return the values of `log summary`: the contents of a log and the best option now."""
    counts, now = log.counts, fit.now
    both = counts.wins.sum(axis=0)
    seen = int((np.triu(both + both.T, 1) > 0).sum())
    placed = fit.first_advantage
    groups = counts.groups
    heaviest = None
    if groups is not None and groups.share == 1 and counts.slates != 1:
        heaviest = float(groups.sizes().max() / counts.weight)
    return {
        "options": list(counts.names),
        "votes": counts.votes,
        "rows": log.rows,
        "skipped": dict(log.skipped),
        **_time("from", counts.first[0], counts.clock),
        **_time("to", counts.last[-1], counts.clock),
        "pairs_seen": seen,
        "ties": round(counts.ties),
        "phi": fit.phi,
        "first_advantage": None if placed is None else placed[0],
        "first_advantage_between": None if placed is None else list(placed[1:]),
        "heaviest_group": heaviest,
        "weighted": bool(counts.squares != counts.weight),
        "effective_votes": counts.effective_votes,
        "first_place": fit.first_place,
        "left_out": list(log.left_out),
        "absent": list(now.absent),
        "fit": fit.kind,
        "now": now.chances,
        "nobody": now.no_winner,
        "winner": now.winner,
        "likely": list(now.likely),
        **_time("since", now.since, counts.clock),
        "sure_however_often_one_looks": bool(now.sure),
        "notes": list(log.notes),
        "remarks": _remarks_on_now(log, fit),
    }


def _time(name: str, when: float, clock: str) -> dict[str, Any]:
    """Return a time as a value for programs, and as text under ``NAME_text``."""
    return {name: time_value(when, clock), f"{name}_text": time_text(when, clock)}


def describe_winner(fit: Fit) -> str:
    """Return a sentence about the best option now."""
    now, clock = fit.now, fit.counts.clock
    since = time_text(now.since, clock)
    if now.winner is None:
        return (
            f"No option beats every other now (probability {share(now.no_winner)}): there is no "
            f"Condorcet winner."
        )
    chance = now.chances[now.winner]
    if len(now.chances) == 1:
        return f"{now.winner} is the only option present at the end of the log."
    if chance >= _SURE:
        return f"{now.winner} is best now ({share(chance)}), and has led since {since}."
    if chance >= 0.5:
        return f"{now.winner} is probably best now ({share(chance)}), and has led since {since}."
    return f"The best option now is uncertain; {now.winner} comes first with {share(chance)}."


def _remarks_on_now(log: Log, fit: Fit) -> list[str]:
    """Return the sentences that qualify `describe_winner`."""
    now, clock = fit.now, fit.counts.clock
    remarks = []
    if len(now.likely) > 1:
        remarks.append(
            f"If there is a winner, it is one of {listed(now.likely)} with 95% probability."
        )
    if now.absent:
        remarks.append(
            f"The answer is about the {counted(len(now.chances), 'option')} present at the end of "
            f"the log; not present: {listed(now.absent)}."
        )
    last = f"The last change was around {time_text(now.stretch, clock)}, {now.votes:,} votes ago"
    if now.stretch <= fit.counts.first[0]:
        last = "No change of preferences was found since the log began"
    remarks.append(
        f"{last}; a change among the last hundred votes or so cannot be seen in any log."
    )
    if now.winner is not None and len(now.chances) > 1:
        rivals = [name for name in now.chances if name != now.winner]
        against = f"each of {listed(rivals)}" if len(rivals) > 1 else rivals[0]
        if now.sure:
            remarks.append(
                f"Sure: {now.winner} is preferred to {against}. The probability of ever stating "
                "this wrongly is at most 5%, however often the log is analysed, if "
                f"{'slates' if fit.counts.slates else 'votes'} are independent."
            )
        else:
            remarks.append(
                f"Not sure yet that {now.winner} is preferred to {against}, if the log is analysed "
                "again and again (anytime-valid, 5% error)."
            )
    placed = fit.first_advantage
    if fit.first_place and placed is not None:
        remarks.append(
            "All statements are net of the first place: the option shown first of two equal ones "
            f"wins {share(placed[0], 1)} of the decided votes."
        )
    remarks += caveats(fit)
    return remarks


def caveats(fit: Fit) -> list[str]:
    """Return sentences about the limitations of all statements about a log."""
    lines = []
    if fit.counts.slates:
        lines.append(
            "Picks and rankings are read as Plackett-Luce choices: the odds of two options are "
            "assumed not to depend on the others shown (independence of irrelevant alternatives)."
        )
    if fit.rough:
        lines.append("There are fewer than 30 votes per pair and stretch, so all values are rough.")
    groups, K = fit.counts.groups, fit.counts.options
    if groups is not None and len(groups.ids) < 2 * K:
        lines.append(
            f"All votes are of {counted(len(groups.ids), 'group')}: too few to detect a change or "
            f"to estimate how much votes depend on each other."
        )
    stretches = len(fit.counts.wins)
    if stretches < _FINE_ENOUGH and stretches < fit.counts.events.sum():
        each = whole(fit.counts.votes / stretches)
        lines.append(
            f"Time is divided into {stretches} bins of about {each} votes, and no change is dated "
            f"more closely than that."
        )
    if fit.kind != "walk" and fit.drifts:
        lines.append(
            "Preferences also drift gradually between the changes; --fit walk models such a drift."
        )
    if fit.phi > 1.05:
        lines.append(
            f"Votes depend on each other: {decimals(fit.phi)} votes carry the information "
            f"of one independent vote."
        )
    return lines


def list_changes(log: Log, fit: Fit) -> dict[str, Any]:
    """Return the values of `log changes`: the estimate, the tests, and the certificate."""
    counts, clock = log.counts, fit.counts.clock
    certificate = fit.certificate()
    reported = [change for change in fit.changes if change.reported]
    rows = [
        {
            **_time("time", change.time, clock),
            **_time("low", change.low, clock),
            **_time("high", change.high, clock),
            "vote": change.vote,
            "vote_low": change.vote_low,
            "vote_high": change.vote_high,
            "changed": min(change.changed, 1.0),  # the value is a sum of rounded probabilities
            "winner_changed": change.winner_changed,
            "new_winner": change.new_winner,
            "cause": change.cause,
            "before": change.before,
            "after": change.after,
            "p": change.p,
            "q": change.q,
        }
        for change in reported
    ]
    certain = certificate.switches
    remarks = [
        _describe_test(fit, reported),
        f"Certificate: without any model, the winner changed at least {often(certain)} "
        f"({share(certificate.level)} certain)."
        if certain
        else "Certificate: without any model, no switch of the winner is certain.",
    ]
    if certificate.empty:
        remarks.append(
            f"Not counted: {counted(certificate.empty, 'window')} in which the winner changed or, "
            "more probably by the estimate, there was no Condorcet winner for a while."
        )
    remarks += caveats(fit)
    return {
        "options": list(counts.names),
        "votes": counts.votes,
        "fit": fit.kind,
        "phi": fit.phi,
        "changes": rows,
        "winner_switches": sum(change.new_winner for change in reported),
        "winner_switches_at_least": certain,
        "certain_between": [[time_value(t, clock) for t in w] for w in certificate.windows],
        "certain_between_text": [[time_text(t, clock) for t in w] for w in certificate.windows],
        "notes": list(log.notes),
        "remarks": remarks,
    }


def _describe_test(fit: Fit, reported: list[Change]) -> str:
    """Return a sentence about the permutation test of the changes."""
    tested = [change for change in fit.changes if change.q is not None]
    if not tested:
        return "Test: no change of preferences is more probable than not."
    passed = [change.q for change in reported if change.q is not None]
    unit = "votes of a pair" if fit.counts.groups is None else "votes of a group"
    unit = "slates" if fit.counts.slates == 1 else unit
    stand = (
        f"{counted(len(passed), 'change')} of preferences would hardly be as clear if the order of "
        f"the {unit} were random (adjusted p at most {decimals(max(passed), 3)})"
        if passed
        else ""
    )
    dropped = len(tested) - len(passed)
    fell = (
        f"{counted(dropped, 'more change' if passed else 'change')} "
        f"{'is' if dropped == 1 else 'are'} more probable than not, but not significant in the "
        f"permutation test at 5%"
        if dropped
        else ""
    )
    return f"Test: {'; '.join(part for part in (stand, fell) if part)}."


def describe_estimate(fit: Fit) -> str:
    """Return a sentence about the assumption of the estimate."""
    model = {
        "utilities": "every option has a strength, which may jump",
        "pairs": "every pair has a probability, which may jump",
        "walk": "every option has a strength, which drifts; listed are changes of the winner",
    }
    return f"Estimate, if {model[fit.kind]}:"


def describe_changes(about: dict[str, Any]) -> str:
    """Return a sentence about all changes."""
    rows = about["changes"]
    if not rows:
        return "No significant change was found."
    winners = [row for row in rows if row["new_winner"]]
    moved = sum(row["cause"] == "preferences" for row in rows)
    changed = f"Preferences changed {often(moved)}" if moved else "No preference changed"
    if not winners:
        return f"{changed}, the winner probably never."
    last = winners[-1]
    why = {
        "joined": f" when {last['after']} joined",
        "left": f" when {last['before']} left",
        "preferences": "",
    }[last["cause"]]
    return (
        f"{changed}; the winner changed {often(len(winners))}, "
        f"the last time around {last['time_text']}, from {last['before'] or 'none'} to "
        f"{last['after'] or 'none'}{why}."
    )


def describe_measures(
    log: Log, fit: Fit, rounds: int | None = None, draws: int = 100
) -> dict[str, Any]:
    """Return the values of `log measure`: five measures with intervals."""
    found = fit.measures(rounds, draws)
    T = log.counts.votes if rounds is None else rounds
    headline = found["significant_switches"]
    remarks = [
        f"Of the five, a log determines the significant switches: {number(headline.median)} "
        f"({interval(headline.low, headline.high)}) for {T:,} rounds. They are taken against the "
        f"von Neumann winner, so rounds without a Condorcet winner count too; with more rounds, "
        f"smaller differences are significant.",
        *caveats(fit),
    ]
    rows: dict[str, Any] = {
        name: {
            "low": one.low,
            "median": one.median,
            "high": one.high,
            "told": one.determined,
            "bound": one.bound,
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
