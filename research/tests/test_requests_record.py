"""The page about requests shows the record, and the record has the test worlds."""

import json

from research.benchmarks import requests as script
from research.benchmarks.page_marks import on_page
from research.benchmarks.requests_worlds import DEVELOPMENT, TEST


def test_the_tables_on_the_page_are_those_of_the_record():
    record = json.loads(script.RECORD.read_text("utf-8"))
    page = script.PAGE.read_text("utf-8")
    assert on_page(page, script.tables(record)) == page


def test_the_record_has_the_test_worlds_and_no_other():
    record = json.loads(script.RECORD.read_text("utf-8"))
    specs = {row["world"]: row["spec"] for row in record["rows"]}
    assert specs == {name: TEST[name][1] for name in specs}
    assert not {spec for _, spec in DEVELOPMENT.values()} & {*specs.values()}
    for row in record["rows"]:
        assert len(row["regret"]) == len(row["rival"]) == record["runs"]
        assert row["best"] in script.grid()


def test_a_ratio_is_that_of_the_means():
    row = {"regret": [1.0, 3.0], "rival": [4.0, 4.0], "group": "changing"}
    assert script.ratio(row)[0] == 0.5
    assert script.geometric_mean([row, {**row, "rival": [1.0, 1.0]}], "changing") == 1.0


def test_false_alarms_are_within_the_bound():
    record = json.loads(script.RECORD.read_text("utf-8"))
    assert record["alarms"]["worlds"] >= 1000
    for row in record["alarms"]["kinds"].values():
        assert row["mean"] + 3 * row["se"] < row["bound"]
