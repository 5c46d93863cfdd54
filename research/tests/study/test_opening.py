"""How the study begins: a paragraph to quote, and a table of claims."""

import re
from dataclasses import replace

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from research.places import PAGES, RECORDS
from research.study import read_study
from research.study.common import Claim
from research.study.opening import OURS, QUESTIONS, claims_table, opening

STUDY = read_study(RECORDS / "study.json")
PAGE = (PAGES / "study.md").read_text("utf-8")


def asked_about(claim, section):
    return [
        asked
        for asked in QUESTIONS
        if section.number == asked.section
        and claim.source.startswith(asked.source)
        and claim.statement.startswith(asked.statement)
    ]


def test_every_claim_of_the_paper_is_in_one_row():
    for section in STUDY.sections:
        for claim in section.claims:
            if not claim.source.startswith(OURS):
                assert len(asked_about(claim, section)) == 1, claim
    assert len(claims_table(STUDY.sections).rows) == len(QUESTIONS)


def test_the_page_of_the_docs_begins_with_them():
    _, paragraph, table, *_ = PAGE.split("\n\n")
    assert paragraph == opening(STUDY.sections)
    assert len(paragraph.split()) < 200
    assert len(table.splitlines()) == len(QUESTIONS) + 2


def test_the_paragraph_counts_the_verdicts():
    counted = re.search(r"of (\d+) tests .*?(\d+) hold .*?(\d+) from .*?(\d+) nowhere", PAGE)
    verdicts = [
        claim.verdict.split()[0]
        for section in STUDY.sections
        for claim in section.claims
        if not claim.source.startswith(OURS)
    ]
    kinds = [verdicts.count(kind) for kind in ("holds", "begins", "not")]
    assert [*map(int, counted.groups())] == [len(verdicts), *kinds]


def test_the_paragraph_says_how_many_tests_of_the_rate_hold():
    tests = [c for s in STUDY.sections for c in s.claims if not c.source.startswith(OURS)]
    rate = [claim for claim in tests if claim.source.startswith("Theorem 3.1")]
    holds = [sum(c.verdict == "holds" for c in claims) for claims in (tests, rate)]
    assert (len(tests), len(rate), *holds) == (35, 13, 15, 0)
    assert PAGE.split("\n\n")[1].startswith("Only in part: of 35 tests ")
    assert "None of the 13 tests of Theorem 3.1, the rate, holds up to" in PAGE
    assert "reached (T = 1e8 to 1e9); of the other 22, 15 hold." in PAGE


@pytest.mark.parametrize(
    ("holds", "begins", "said"), [(4, 0, "Yes"), (3, 1, "Mostly"), (2, 2, "Only in part")]
)
def test_the_first_word_depends_on_the_tests_that_hold_everywhere(holds, begins, said):
    """Not on those that begin somewhere, and not on how few were refuted."""
    verdicts = ["holds"] * holds + ["begins at T = 1e7"] * begins
    claims = [Claim("Lemma 4.4", "every episode ...", "", "", verdict) for verdict in verdicts]
    assert opening([replace(STUDY.sections[4], claims=claims)]).startswith(f"{said}: of 4 tests")


def answer(*verdicts):
    claims = [Claim("Lemma 4.4", "every episode ...", "", "", verdict) for verdict in verdicts]
    section = replace(STUDY.sections[4], claims=claims)
    (row,) = claims_table([section]).rows
    return row[1:3]


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        (["holds", "holds"], ["**yes**", "2"]),
        (["holds", "undecided: why"], ["**yes**", "2, 1 undecided"]),
        (["undecided: why"], ["**undecided**", "1"]),
        (["not seen up to T = 1e8", "undecided: why"], ["**not seen**", "2, 1 undecided"]),
        (["begins at T = 1e7"], ["**begins at T = 1e7**", "1"]),
        (["holds", "begins at T = 1e7"], ["**begins at T = 1e7**", "2"]),
        (
            ["begins at C log T = 10", "begins at C log T = 8"],
            ["**begins at C log T = 8 to 10**", "2"],
        ),
        (
            ["begins at T = 1e8", "not seen up to T = 1e9", "not seen up to T = 1e8"],
            ["**begins at T = 1e8** in 1 of 3 tests, else **not seen**", "3"],
        ),
    ],
)
def test_one_answer_for_several_tests(verdicts, told):
    assert answer(*verdicts) == told


def test_a_study_of_some_sections_says_what_it_can():
    text = opening([section for section in STUDY.sections if section.number in (1, 4)])
    assert "sqrt(T)" in text
    assert "rival" not in text
