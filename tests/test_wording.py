"""Numbers as people read them: what is true of every number, not of a few."""

import ast
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from driftduel._internal.wording import (
    counted,
    decimals,
    duration,
    interval,
    listed,
    number,
    ratio,
    rough,
    share,
    short,
    times,
    whole,
)

WRITERS = (number, whole, rough, short, decimals, ratio, share)
finite = st.floats(-1e12, 1e12, allow_nan=False)


def read(text):
    """Read a number again."""
    letters = {"k": 1e3, "M": 1e6, "G": 1e9, "%": 0.01}
    size = letters.get(text[-1], 1.0)
    return float(text.rstrip("kMG%").replace(",", "")) * size


@given(finite)
def test_three_digits_are_kept(value):
    for write in (number, rough, short):
        assert read(write(value)) == pytest.approx(value, rel=5.1e-3, abs=1e-9)
    if abs(value) >= 100:
        assert read(number(value)) == round(value)


@given(finite)
def test_nothing_is_minus_nothing(value):
    for write in WRITERS:
        if write not in (ratio, share):
            assert not (write(value).startswith("-") and read(write(value)) == 0), write


@pytest.mark.parametrize("write", [*WRITERS, duration])
def test_what_is_missing_is_a_dash(write):
    assert write(None) == "-"


def test_an_interval_needs_both_ends():
    assert interval(1.0, None) == interval(None, 1.0) == "-"
    assert interval(0.5, 0.75, share) == "50% to 75%"


def test_nan_is_no_number():
    assert number(math.nan) == rough(math.nan) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, "100"), (1234567, "1,234,567")],
)
def test_ratios_get_shorter_as_they_grow(value, text):
    assert ratio(value) == text


def test_times_say_what_they_count():
    assert times(1.0499) == "1.050 times"
    assert times(2.0) == "2.00 times"


def test_one_of_a_thing_has_no_plural():
    assert counted(1, "restart") == "1 restart"
    assert counted(1, "policy", "policies") == "1 policy"
    assert counted(2, "policy", "policies") == "2 policies"


def test_a_list_is_cut_only_if_that_saves_something():
    assert listed(["a", "b", "c"], most=2) == "a, b and c"  # "and 1 more" is no shorter
    assert listed([str(i) for i in range(2000)], most=1) == "0 and 1,999 more"
    assert listed(["a", "b"], last="or") == "a or b"


def test_percentages_are_written_without_a_space_everywhere():
    root = Path(__file__).parents[1]
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("src/**/*.html")]
    texts = [(page, page.read_text("utf-8")) for page in pages]
    for module in root.glob("src/**/*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append((module, node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    part.value if isinstance(part, ast.Constant) else 0 for part in node.values
                ]
                texts.append((module, "".join(map(str, parts))))
    spaced = [(str(where), text) for where, text in texts if re.search(r"\d %(?![\w(}])", text)]
    assert not spaced
