"""Tables fit a width, and say what they had to leave out."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from driftduel._internal.text_tables import fitted, table

HEAD = ("policy", "told", "regret", "more than the best")
ROWS = [
    ("king", "nothing", "1.5", "the best"),
    ("anaconda:constant=0.5,rule=freedman", "horizon, switches", "1,200", "5 (1 to 9)"),
]


def test_without_a_width_nothing_is_left_out():
    drawn = fitted(ROWS, HEAD, "23", ["told", "regret"])
    assert drawn.left_out == ()
    assert drawn.text == table(ROWS, HEAD, "23")
    assert drawn.text.splitlines() == [
        "policy                               told               regret  more than the best",
        "-----------------------------------  -----------------  ------  ------------------",
        "king                                 nothing               1.5            the best",
        "anaconda:constant=0.5,rule=freedman  horizon, switches   1,200          5 (1 to 9)",
    ]


@pytest.mark.parametrize(
    ("width", "left_out", "title_lines", "body_lines"),
    [(85, (), 1, 2), (80, (), 2, 2), (60, ("told",), 2, 2), (48, ("told",), 2, 3),
     (30, ("told", "regret"), 2, 4)],
)  # fmt: skip
def test_titles_are_broken_then_columns_left_out_then_words_broken(
    width, left_out, title_lines, body_lines
):
    drawn = fitted(ROWS, HEAD, "23", ["regret", "told"], width)
    assert drawn.left_out == left_out
    assert len(drawn.head.splitlines()) == title_lines + 1
    assert len(drawn.body.splitlines()) == body_lines
    assert max(map(len, drawn.text.splitlines())) <= width


def test_the_most_important_columns_that_fit_are_shown():
    rows = [("x", "a" * 30, "bb", "c" * 8)]
    drawn = fitted(rows, ("n", "A", "B", "C"), "", ["A", "B", "C"], width=20)
    assert drawn.left_out == ("A",)
    assert fitted([("x", "aaaa", "bbbb")], ("n", "A", "B"), "", ["B", "A"], 8).left_out == ("A",)
    assert fitted([("x", "aaaa", "bbbb")], ("n", "A", "B"), "", ["A", "B"], 8).left_out == ("B",)


def test_a_spec_is_broken_after_a_comma_and_a_number_is_not():
    body = fitted([("w:rounds=12,501,arms=10", "1")], ("world", "n"), "1", width=20).body
    assert body.splitlines() == ["w:rounds=12,501,  1", "  arms=10"]


def test_a_title_is_broken_once_and_only_where_it_must_be():
    rows = [("a:long=spec,that=is,broken=1", "1", "2")]
    head = fitted(rows, ("world", "above DTS, sqrt(K T)", "to it"), "12", width=39).head
    assert head.splitlines() == [
        "                      above DTS,",
        "world                  sqrt(K T)  to it",
        "--------------------  ----------  -----",
    ]


def test_a_title_may_be_broken_after_a_hyphen_and_a_cell_may_not():
    rows = [("sw-dts-plus", "12.5")]
    drawn = fitted(rows, ("policy", "von-neumann-binary-strong"), "1", width=28)
    assert drawn.text.splitlines() == [
        "              von-neumann-",
        "policy       binary-strong",
        "-----------  -------------",
        "sw-dts-plus           12.5",
    ]


def test_tables_of_nothing():
    assert table([]) == ""
    assert table([], ("a", "b")).startswith("a  b\n-  -")


words = st.text("abc,: =1", max_size=30).map(str.strip)


@given(
    st.lists(st.tuples(words, words, st.text("1,.", max_size=5)), max_size=4), st.integers(30, 90)
)
def test_whatever_is_in_it_fits_and_nothing_of_it_is_lost(rows, width):
    drawn = fitted(rows, ("name", "what", "how many"), "2", ["what"], width)
    assert all(len(line) <= width for line in drawn.text.splitlines())
    shown = "".join(drawn.body.split())
    for name, what, number in rows:
        if len(rows) == 1:
            assert sorted(
                "".join((name, number, "" if drawn.left_out else what)).replace(" ", "")
            ) == (sorted(shown))
        assert number in shown
