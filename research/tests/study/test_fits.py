import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from research.study import fits


def _noisy(rng, x, power, runs=20, sd=0.05):
    return [each**power * (1 + sd * rng.standard_normal(runs)) for each in x]


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0])
def test_the_interval_of_a_slope_covers_the_truth(power):
    rng = np.random.default_rng(0)
    x = [1e5, 1e6, 1e7]
    found = [fits.slope(x, _noisy(rng, x, power)) for _ in range(200)]
    covered = np.mean([each.low <= power <= each.high for each in found])
    assert 0.9 <= covered <= 0.99
    assert found[0].value == pytest.approx(power, abs=0.02)


def test_local_slopes_see_a_bend():
    x = [1e4, 1e5, 1e6]
    steps = fits.local_slopes(x, [[1e4, 1e4], [1e5, 1e5], [10**5.5, 10**5.5]])
    assert [step.value for step in steps] == pytest.approx([1.0, 0.5])


def test_a_slope_needs_two_places_and_positive_means():
    assert fits.slope([10.0], [[1.0, 2.0]]) is None
    assert fits.slope([10.0, 20.0], [[0.0, 0.0], [1.0, 2.0]]) is None
    alone = fits.slope([1.0, 4.0], [[1.0], [2.0]])
    assert alone.value == pytest.approx(0.5)
    assert (alone.low, alone.high) == (None, None)


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 100, 0, 0.03622), (1, 100, 0.00025, 0.05446), (5, 50, 0.03328, 0.21813)],
)  # fmt: skip
def test_clopper_pearson_agrees_with_tables(hits, trials, low, high):
    assert fits.clopper_pearson(hits, trials) == pytest.approx((low, high), abs=1e-5)


def test_ratio():
    found = fits.ratio(np.array([2.1, 2.2, 1.7]), np.array([1.0, 1.1, 0.9]))
    assert found.value == pytest.approx(2.0)
    assert found.low < 2 < found.high
    same_luck = fits.ratio(np.array([2.0, 2.2, 1.8]), np.array([1.0, 1.1, 0.9]))
    assert same_luck == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize("runs", [(20, 20, 20), (20, 15, 10)])
@pytest.mark.parametrize("shared", [0.0, 0.1])
def test_shared_luck_does_not_widen_a_slope_and_never_fools_it(runs, shared):
    rng = np.random.default_rng(1)
    x, covered, widths = [1e5, 1e6, 1e7], 0, []
    for _ in range(300):
        luck = shared * rng.standard_normal(20)
        samples = [
            each**0.5 * (1 + luck[:n] + 0.05 * rng.standard_normal(n))
            for each, n in zip(x, runs, strict=True)
        ]
        found = fits.slope(x, samples)
        covered += found.low <= 0.5 <= found.high
        widths.append(found.high - found.low)
    assert covered >= 0.9 * 300
    if runs == (20, 20, 20):
        assert np.mean(widths) < 0.03


def test_labels_tell_variants_apart():
    from research.study import constants, rate, rivals

    for specs in (rate.POLICIES, constants.POLICIES, (rivals.OURS, *rivals._FAST)):
        assert len({fits.label(spec) for spec in specs}) == len(specs)


def test_an_exponent_is_fitted_below_the_ceiling_only():
    x = [1.0, 2.0, 4.0, 8.0, 16.0]
    runs = [np.array([1.0, 1.01, 0.99]) * min(each**0.5, 2.1) for each in x]
    claim = fits.exponent_claim("Theorem", "claim", x, runs, [4.05] * 5, 0.5, 1e6)
    assert "exponent 0.50 from 1 to 4; 3 of 5 places" in claim.measured
    assert claim.verdict == "holds"
    for uniform, least, verdict in (
        (3.0, 3, "undecided: too near uniform play"),
        (3.0, 2, "holds"),
        (100.0, 3, "holds"),
    ):
        found = fits.exponent_claim("T", "c", x, runs, [uniform] * 5, 0.5, 1e6, least)
        assert found.verdict == verdict
