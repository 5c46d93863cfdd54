"""Pages with results on logs: tables and sentences agree with the records."""

import json

import pytest

from research.benchmarks import logs_speed as speed, logs_study as study, real_logs
from research.places import DOCS

pytest.importorskip("polars")
pytest.importorskip("scipy")


PAGE = real_logs.PAGE.read_text("utf-8")
MODEL = (DOCS / "research" / "log-model.md").read_text("utf-8")
RECORD = json.loads(real_logs.RECORD.read_text("utf-8"))


def test_the_tables_on_the_page_are_those_of_the_file():
    assert real_logs.on_page(PAGE, real_logs.tables(RECORD)) == PAGE
    assert "| 14,484 |" in PAGE
    assert f"](../{real_logs.FIGURE.relative_to(DOCS)})" in MODEL


def test_the_study_on_the_page_is_that_of_the_file():
    record = json.loads(study.RECORD.read_text("utf-8")) if study.RECORD.exists() else {}
    assert study.on_page(PAGE, study.tables(record)) == PAGE


def test_the_speed_on_the_page_is_that_of_the_file():
    record = json.loads(speed.RECORD.read_text("utf-8"))
    page = speed.PAGE.read_text("utf-8")
    assert speed.on_page(page, speed.tables(record)) == page
    assert record["memory"]["bytes"] < 1e9


def test_the_page_says_how_many_logs_were_studied():
    assert {question: usual for question, (*_, usual) in study.QUESTIONS.items()} == {
        "still": 200, "recovery": 100, "winners": 100, "measures": 100, "situations": 100,
    }  # fmt: skip
    assert "measures 100 logs a row (200 in *Nothing changes*)" in " ".join(PAGE.split())


def test_the_summary_of_the_model_is_that_of_the_study():
    rows = json.loads(study.RECORD.read_text("utf-8"))["situations"].values()
    total = {key: sum(row.get(key, 0) for row in rows) for key in ("logs", "hit", "true")}
    stated, right = (sum(row[f"{key} >= .95"] for row in rows) for key in ("said", "right"))
    text = " ".join(MODEL.split())
    assert f"On {total['logs']:,} simulated logs that break the usual conditions" in text
    assert right / stated > 0.99
    share = total["hit"] / total["true"]
    assert "were right in more than 99% of cases" in text
    assert f"{share:.0%} of the true changes were found" in text


def test_a_study_goes_on_where_it_ended():
    code = study.fingerprint()
    record = {"still": {name: {"logs": 100, "code": code} for name in study.STILL}}
    name = next(iter(study.STILL))
    still = study.chosen_rows(["still"], [], [])
    assert study.next_tasks(record, 100, still, 4) == []
    assert len(study.next_tasks(record, 101, still, 4)) == 4
    assert study.next_tasks(record, None, still, 1) != []  # 200 logs are usual for these
    record["still"][name]["logs"] = 99
    assert study.next_tasks(record, 100, still, 4) == [("still", name, 99)]
    record["still"][name]["code"] = "another version"
    assert study.next_tasks(record, 100, still, 1) == [("still", name, 0)]
    assert study.next_tasks(record, 100, [], 4) == []


def test_what_was_seen_in_logs_adds_up():
    one, other = {"logs": 2, "errors": [3], "chose walk": 2}, {"logs": 1, "errors": [], "found": 1}
    assert study.added(one, other) == {"logs": 3, "errors": [3], "chose walk": 2, "found": 1}


def test_a_table_has_shares_intervals_and_a_line_for_every_row():
    seen = {"logs": 1, "code": study.fingerprint(), "sure": 20, "sure right": 20, "sure logs": 1}
    seen |= {"rather": 0, "rather right": 0, "rather logs": 0}
    first, second, *_ = study.WINNERS
    wrong = {**seen, "sure right": 10}
    lines = study.tables({"winners": {second: wrong, first: seen}})["study-winners"].splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {first}", f"| {second}", "| all"]
    assert lines[2].split(" | ")[1:4] == ["1", "20", "1.000 (0.21 to 1.00)"]
    assert lines[4].split(" | ")[1:] == ["2", "40", "0.750 (0.20 to 0.97)", "0", "- |"]


@pytest.mark.parametrize("question", study.QUESTIONS)
@pytest.mark.long
def test_every_question_has_an_answer_and_a_line(question):
    ask, worlds, _ = study.QUESTIONS[question]
    name = next(iter(worlds))
    row = {"logs": 1, "code": study.fingerprint(), **ask(name, 0)}
    table = study.tables({question: {name: row}})[f"study-{question}"]
    assert f"| {name} | 1 | " in table


def test_the_eras_are_those_that_a_fan_would_name():
    after = [row["after"] for row in RECORD["f1"]["changes"] if row["before"] != row["after"]]
    years = [row["time"][:4] for row in RECORD["f1"]["changes"] if row["after"] != row["before"]]
    # Strengths drift, so an era begins where its winner is clear, at times a season early.
    assert after[-3:] == ["Brawn, Mercedes", "Red Bull", "McLaren"]
    assert ("Brawn, Mercedes", "2013") in zip(after, years, strict=True)
    assert ("Red Bull", "2021") in zip(after, years, strict=True)
    assert RECORD["f1"]["phi"] > 2 > RECORD["mlb"]["phi"]


def test_sources_and_licences_are_named():
    text = " ".join(PAGE.split())
    assert "f1db" in text
    assert "CC BY 4.0" in text
    assert (
        "the information used here was obtained free of charge from and is copyrighted by "
        "Retrosheet ([www.retrosheet.org](https://www.retrosheet.org))"
    ) in text
