import json

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from research.study import common


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.45, 0.55, "holds"),
        (0.7, 0.9, "not seen"),
        (0.5, 0.7, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_a_limit_is_judged_by_its_interval(low, high, verdict):
    assert common.limit_verdict(low, high, 0.5, 1e6).startswith(verdict)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ([True, True, True], "holds"),
        ([False, False, True], "begins at T = 1e7"),
        ([True, True, False], "undecided: seen at T = 1e6, not at T = 1e7"),
        ([False, False, False], "not seen up to T = 1e7"),
    ],
)
def test_something_begins_where_it_stays(seen, verdict):
    assert common.begins([1e5, 1e6, 1e7], seen) == verdict


@pytest.mark.parametrize(
    ("low", "high", "share", "both", "verdict"),
    [
        (0.9, 1.1, 0.3, True, "holds"),
        (0.5, 1.1, 0.3, False, "holds"),
        (0.5, 1.1, 0.3, True, "undecided: the interval contains 0.833"),
        (0.5, 0.7, 0.3, True, "not seen up to T = 1e6"),
        (1.1, 1.3, 0.3, False, "undecided: the interval contains 1.2"),
        (1.3, 1.4, 0.3, False, "not seen up to T = 1e6"),
        (0.9, 1.1, 0.9, False, "not seen up to T = 1e6: 90% of uniform play"),
        (None, None, 0.3, False, "undecided: too few runs"),
    ],
)
def test_flatness_is_judged_by_its_interval(low, high, share, both, verdict):
    assert common.flat_verdict(low, high, 1e6, share, both=both).startswith(verdict)


def test_a_section_survives_json():
    series = common.Series("a", [1.0], [2.0], [1.0], [3.0])
    section = common.Section(
        1, "title", "intro", [common.Claim("Theorem", "s", "m", "i", "holds")],
        [common.Table("t", ["a"], [["1"]])],
        [common.Chart("name", "title", [common.Panel("p", "x", "y", [series])])],
    )  # fmt: skip
    assert common.section_from(json.loads(json.dumps(section.as_dict()))) == section
