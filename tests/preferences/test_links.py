"""The links' values, the check of a link of one's own, and the look-up by name."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, strategies as st

from driftduel.errors import DriftduelError
from driftduel.preferences import LINKS, check_link, linear, logistic, probit, resolve_link

from .naive import quick

moderate = st.floats(-30, 30)
any_float = st.floats(allow_nan=False)


@given(moderate)
@quick
def test_logistic_values(x):
    assert logistic(x) == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-14)


@given(moderate)
@quick
def test_probit_values(x):
    assert probit(x) == pytest.approx(statistics.NormalDist().cdf(x), abs=1e-15)


def test_probit_keeps_its_precision_in_the_tail():
    # Phi(-10), to the digits any table of it has.
    assert probit(-10.0) == pytest.approx(7.619853024160527e-24, rel=1e-13)


@given(moderate)
@quick
def test_linear_values(x):
    assert linear(x) == max(0.0, min(1.0, 0.5 + x / 2))


@pytest.mark.parametrize("name", sorted(LINKS))
def test_links_pass_their_own_check(name):
    check_link(LINKS[name])


@pytest.mark.parametrize("name", sorted(LINKS))
def test_links_saturate_without_a_warning(name):
    far = np.array([-np.inf, -1e308, -1e3, 0.0, 1e3, 1e308, np.inf])
    assert LINKS[name](far).tolist() == [0, 0, 0, 0.5, 1, 1, 1]


@pytest.mark.parametrize("name", sorted(LINKS))
def test_links_keep_shape_and_type_and_leave_the_input_alone(name):
    x = np.linspace(-2, 2, 6).reshape(2, 3)
    before = x.copy()
    y = LINKS[name](x)
    assert y.shape == (2, 3)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(x, before)
    assert y[1, 2] == LINKS[name](2)
    assert LINKS[name](0).shape == ()
    assert np.isnan(LINKS[name]([np.nan])).all()


@given(any_float, any_float, st.sampled_from(sorted(LINKS)))
@quick
def test_links_are_symmetric_and_increasing(x, y, name):
    link = LINKS[name]
    assert float(link(x) + link(-x)) == pytest.approx(1, abs=1e-15)
    assert link(min(x, y)) <= link(max(x, y)) + 1e-15


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (lambda x: x, "must stay in [0, 1]; at x = -100 it gives -100."),
        (lambda x: np.where(x > 2, np.inf, 0.5), "must stay in [0, 1]; at x = 2.23872113857 it "),
        (
            lambda x: np.where(np.abs(x) < 5, np.nan, 0.5),
            "must have a value everywhere; at x = -4.46683592151 it gives nan.",
        ),
        (lambda x: logistic(x + 1), "must be 1/2 at 0; at x = 0 it gives 0.73105857863."),
        (
            lambda x: np.where(x == 0, 0.5, logistic(2 * x + np.maximum(x, 0))),
            "must satisfy sigma(x) = 1 - sigma(-x); at x = -",
        ),
        (
            lambda x: 0.5 + np.sin(x) / 2,
            "must not decrease from one x to the next; at x = -",
        ),
        (
            lambda x: np.where(x > 1, 0.6, np.where(x < -1, 0.4, linear(x / 2))),
            "must not decrease from one x to the next; at x = -1 it gives 0.25.",
        ),
        (lambda x: 0.5 + 0 * x, "must increase strictly around 0; at x = 0.001 it gives 0.5."),
        (
            lambda x: 0.5 + np.sign(x) * np.where(np.abs(x) < 0.01, 0, 0.1),
            "must increase strictly around 0; at x = 0.001 it gives 0.5.",
        ),
        (
            lambda x: 0.5 + x / np.abs(x).max() / 2,
            "must not depend on what else is in the array; at x = -1 it gives 0.495.",
        ),
        (lambda x: 0.5, "return one of the same shape; given shape (203, 1), it returned ()."),
        (lambda x: logistic(x).ravel(), "given shape (203, 1), it returned (203,)."),
        (math.erf, "return one of the same shape; it failed: "),
        (lambda x: 1.0 if x > 0 else 0.0, "return one of the same shape; it failed: "),
    ],
)
def test_a_function_that_is_no_link_is_refused_by_property_and_place(link, message):
    for refuse in (check_link, resolve_link):
        with pytest.raises(DriftduelError) as caught:
            refuse(link)
        assert str(caught.value).startswith("The link must ")
        assert message in str(caught.value)


def test_a_link_cannot_spoil_the_grid_it_is_tried_on():
    def in_place(x):
        x *= 0.5
        return logistic(x)

    check_link(in_place)
    check_link(logistic)


def test_resolve_link():
    for name, link in LINKS.items():
        assert resolve_link(name) is link

    def own(x):
        return 0.5 + np.arctan(x) / np.pi

    assert resolve_link(own) is own


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            "logistics",
            "No link is called 'logistics'; did you mean 'logistic' "
            "(known: linear, logistic, probit)?",
        ),
        ("zzz", "No link is called 'zzz'; known are linear, logistic, probit."),
        (3, "A link must be a function or one of linear, logistic, probit; got 3."),
    ],
)
def test_resolve_link_refuses_the_unknown(link, message):
    with pytest.raises(DriftduelError) as caught:
        resolve_link(link)
    assert str(caught.value) == message
