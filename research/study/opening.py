"""How a study begins: one paragraph to quote, and the claims with yes, begins at, not seen."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from driftduel._internal.wording import decimals, rough, whole
from research.study.common import Claim, Section, Table, rounds_text
from research.study.short import ANACONDA, least_regret, line, panels, rivals_overtaken, step

__all__ = ["KINDS", "OURS", "claims_table", "count", "opening"]

OURS = "ours"
"""How the source of a claim begins that is not the paper's."""
RATE = "Theorem 3.1"
"""How the source of a claim about the rate begins."""
KINDS = {"holds": "hold", "begins": "begin somewhere", "not seen": "were not seen",
         "undecided": "are undecided"}  # fmt: skip
"""How verdicts begin, and how several of them are called."""


class Question(NamedTuple):
    """A claim in plain words, and the rows that test it."""

    words: str
    section: int
    source: str
    """What the rows' source begins with,"""
    statement: str
    """and what their statement begins with."""


QUESTIONS = (
    Question("Regret grows no faster than sqrt(T), up to logarithms",
             1, "Theorem 3.1", "regret grows no faster than sqrt(T)"),
    Question("Regret stays below the formula of the theorem",
             1, "Theorem 3.1", "regret is at most c"),
    Question("Regret grows at most in proportion to the number of arms",
             1, "Theorem 3.1", "regret grows at most like K"),
    Question("Regret grows at most like the square root of the number of phases",
             1, "Corollary 3.1", "regret grows at most like (S^CW"),
    Question("Changes among the losers cost next to nothing",
             2, "Remark 2.1, Theorem 3.1", "regret does not depend"),
    Question("It learns where the preferences change in every round and the winner never does",
             2, "Remark 2.1", "in the remark's own example"),
    Question("Changes of the winner that are not significant cost next to nothing",
             3, "Theorem 5.1", "regret does not grow"),
    Question("Regret grows at most like the square root of the number of significant phases",
             3, "Theorem 5.1", "regret grows at most like (S + 1)"),
    Question("Regret grows at most like the winner's variation to the power of 1/3",
             4, "Corollary 5.1", "regret grows at most like (CW variation)"),
    Question("Regret grows at most like T to the power of 2/3, at the same variation",
             4, "Corollary 5.1", "regret grows at most like (T)"),
    Question("Variation among the losers costs next to nothing",
             4, "Remark 5.3", "regret does not grow"),
    Question("It restarts only after the winner has changed, if C is large enough",
             5, "Lemma 4.4", "every episode"),
    Question("It never eliminates the winner in its own phase, if C is large enough",
             5, "Lemma 4.3", "a weaker form: the winner"),
    Question("A perfect replay eliminates its arm",
             5, "Proposition A.1", "a perfect replay"),
    Question("A confined replay loses no more than the lemma allows",
             5, "Lemma A.8", "a weaker form: a confined replay"),
    Question("ANACONDA overtakes every rival (nobody claims it, everybody asks)",
             7, "ours, not", "ANACONDA (C = 0.5) overtakes"),
)  # fmt: skip


def count(verdicts: Sequence[str], kind: str) -> int:
    """Return how many verdicts are of a kind."""
    return sum(verdict.startswith(kind) for verdict in verdicts)


def claims_table(sections: Sequence[Section]) -> Table:
    """Return one row for each claim: in plain words, its place in the paper, the answer."""
    rows = []
    for asked in QUESTIONS:
        if tests := [claim for section in sections for claim in _tests(asked, section)]:
            verdicts = [claim.verdict for claim in tests]
            source = tests[0].source.partition(",")[0]
            answer, tally = _answer(verdicts), _tally(verdicts)
            rows.append([asked.words, answer, tally, source, str(asked.section)])
    return Table("The claims", ["claim", "seen?", "tests", "paper", "section"], rows)


def _tests(asked: Question, section: Section) -> list[Claim]:
    return [
        claim
        for claim in section.claims
        if section.number == asked.section
        and claim.source.startswith(asked.source)
        and claim.statement.startswith(asked.statement)
    ]


def _answer(verdicts: Sequence[str]) -> str:
    """Return one answer for several tests; undecided ones are ignored."""
    decided = [verdict for verdict in verdicts if not verdict.startswith("undecided")]
    seen = [verdict for verdict in decided if not verdict.startswith("not seen")]
    if not decided:
        return "**undecided**"
    if not seen:
        return "**not seen**"
    if len(seen) < len(decided):
        return f"{_answer(seen)} in {len(seen)} of {len(decided)} tests, else **not seen**"
    begins = [verdict for verdict in seen if verdict.startswith("begins")]
    if not begins:
        return "**yes**"
    first, *_, last = sorted((float(said.split()[-1]), said) for said in (*begins, begins[0]))
    return f"**{first[1]}" + ("**" if first == last else f" to {last[1].split()[-1]}**")


def _tally(verdicts: Sequence[str]) -> str:
    """Return how many tests there were, and how many of them were undecided."""
    undecided = count(verdicts, "undecided")
    open_ones = f", {undecided} undecided" if 0 < undecided < len(verdicts) else ""
    return f"{len(verdicts)}{open_ones}"


def opening(sections: Sequence[Section]) -> str:
    """Return a paragraph with the results, as a summary."""
    played = {section.number: section for section in sections}
    parts = [
        _verdicts(sections),
        _causes(played[1], played[2], played[3]) if {1, 2, 3} <= set(played) else "",
        _rate(played[1]) if 1 in played else "",
        _rivals(played[7]) if 7 in played else "",
    ]
    return " ".join(part for part in parts if part)


def _verdicts(sections: Sequence[Section]) -> str:
    """Return how many tests hold, and how many of those of the rate, Theorem 3.1, do."""
    tests = [c for s in sections for c in s.claims if not c.source.startswith(OURS)]
    verdicts = [claim.verdict for claim in tests]
    holds = count(verdicts, "holds")
    answer = (
        "Yes" if holds == len(tests) else "Mostly" if 2 * holds > len(tests) else "Only in part"
    )
    begins, unseen, undecided = (count(verdicts, kind) for kind in list(KINDS)[1:])
    text = (
        f"{answer}: of {len(tests)} tests of what the paper claims of ANACONDA, {holds} hold "
        f"everywhere we looked, {begins} from some horizon or constant on, {unseen} nowhere yet, "
        f"and {undecided} could not be decided."
    )
    rate = [claim.verdict for claim in tests if claim.source.startswith(RATE)]
    if not rate:
        return text
    seen = count(rate, "holds")
    return (
        f"{text} {seen or 'None'} of the {len(rate)} tests of {RATE}, the rate, "
        f"{'hold' if seen > 1 else 'holds'} up to the horizons reached ({_reached(sections)}); of "
        f"the other {len(tests) - len(rate)}, {holds - seen} hold."
    )


def _reached(sections: Sequence[Section]) -> str:
    """Return the longest horizons of the first experiment, over all numbers of arms."""
    ends = sorted(
        max(curve.x[-1] for curve in panel.series)
        for section in sections
        if section.number == 1
        for panel in panels(section, "rate-horizon")
    )
    first, last = (f"T = {rounds_text(end)}" for end in (ends[0], ends[-1]))
    return first if first == last else f"{first} to {last.removeprefix('T = ')}"


def _causes(rate: Section, noise: Section, significant: Section) -> str:
    losers = line(panels(noise, "noise")[0], ANACONDA)
    hair = line(panels(significant, "significant")[0], ANACONDA)
    phases = line(panels(rate, "rate-switches-arms")[0], ANACONDA)
    return (
        f"Losers that swap places in every round multiply its regret by only "
        f"{rough(losers.y[-1] / losers.y[0])}, and {whole(hair.x[-1] - hair.x[0])} additional "
        f"changes of the winner that are not significant by {rough(hair.y[-1] / hair.y[0])}; with "
        f"the number of phases it grows to the power of {decimals(step(phases, 0, -1))} (the "
        f"paper: 0.5)."
    )


def _rate(section: Section) -> str:
    """Return the horizon from which on regret grows like sqrt(T), for each number of arms."""
    arms: dict[str, list[str]] = {}
    for claim in _tests(QUESTIONS[0], section):
        if match := re.search(r"\((K = \d+), ANACONDA, C = 0.5\)", claim.statement):
            arms.setdefault(claim.verdict.partition(":")[0], []).append(match[1])
    told = [f"{' and '.join(those)}: {verdict}" for verdict, those in arms.items()]
    return (
        f"The rate of sqrt(T), a local slope below 0.6, shows late if at all (with C = 0.5, "
        f"{'; '.join(told)}); a steeper slope does not refute the theorem, which allows logarithms."
        if told
        else ""
    )


def _rivals(section: Section) -> str:
    pairs, more, less = rivals_overtaken(section)
    name, wins, places = least_regret(section)
    return (
        f"Over the horizons played other policies lose less: of {pairs} pairs of a rival and a "
        f"world, ANACONDA ends with less regret in {len(less)} and with more in {more}, and "
        f"`{name}` loses least in {wins} of {places} pairs of a world and a horizon."
    )
