import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from driftduel.study import fits


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
    assert alone == pytest.approx((0.5, None, None), nan_ok=True) or alone.low is None


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 100, 0, 0.03622), (1, 100, 0.00025, 0.05446), (5, 50, 0.03328, 0.21813)],
)  # fmt: skip
def test_clopper_pearson_agrees_with_tables(hits, trials, low, high):
    assert fits.clopper_pearson(hits, trials) == pytest.approx((low, high), abs=1e-5)


def test_ratio():
    found = fits.ratio(np.array([2.0, 2.2, 1.8]), np.array([1.0, 1.1, 0.9]))
    assert found.value == pytest.approx(2.0)
    assert found.low < 2 < found.high


def test_labels_tell_variants_apart():
    from driftduel.study import constants, rate, rivals

    for specs in (rate.POLICIES, constants.POLICIES, (rivals.OURS, *rivals._FAST)):
        assert len({fits.label(spec) for spec in specs}) == len(specs)
