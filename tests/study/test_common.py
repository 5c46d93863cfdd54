import json

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from driftduel.study import common


@pytest.mark.parametrize(
    ("low", "high", "share", "verdict"),
    [
        (0.45, 0.55, 0.3, "holds"),
        (0.7, 0.9, 0.3, "not seen"),
        (0.5, 0.7, 0.3, "undecided"),
        (0.45, 0.55, 0.9, "not seen"),
        (None, None, 0.3, "undecided"),
    ],
)
def test_a_limit_is_judged_by_its_interval(low, high, share, verdict):
    assert common.limit_verdict(low, high, 0.5, 1e6, share).startswith(verdict)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ([True, True, True], "holds"),
        ([False, False, True], "begins at T = 1e7"),
        ([True, True, False], "not seen up to T = 1e7"),
    ],
)
def test_something_begins_where_it_stays(seen, verdict):
    assert common.begins([1e5, 1e6, 1e7], seen) == verdict


def test_a_section_survives_json():
    series = common.Series("a", [1.0], [2.0], [1.0], [3.0])
    section = common.Section(
        1, "title", "intro", [common.Claim("Theorem", "s", "m", "i", "holds")],
        [common.Table("t", ["a"], [["1"]])],
        [common.Chart("name", "title", [common.Panel("p", "x", "y", [series])])],
    )  # fmt: skip
    assert common.section_from(json.loads(json.dumps(section.as_dict()))) == section
