"""Left bias, lateness, votes a voter: each against a slow twin."""

import json
import math

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from hypothesis import given, strategies as st

from driftduel.arena import bias
from driftduel.arena.bias import LatencyHistogram, VoterCounts, left_share


def log_mixture(lefts, n, p):
    """The mean over normal stakes of exp(s D - s^2 n / 8), on a grid of stakes."""
    stakes, step = np.linspace(-8, 8, 400_001, retstep=True)
    precision = bias._PRECISION
    density = 0.5 * math.log(precision / (2 * math.pi)) - precision * stakes**2 / 2
    logs = density + stakes * (lefts - n * p) - stakes**2 * n / 8
    return float(logs.max() + math.log(np.exp(logs - logs.max()).sum() * step))


@pytest.mark.parametrize(("lefts", "rights"), [(1, 0), (30, 20), (400, 600), (9_000, 9_500)])
def test_the_bounds_are_where_the_mixture_reaches_twenty(lefts, rights):
    n, found = lefts + rights, left_share(lefts, rights)
    for end in (found.low, found.high):
        if 0 < end < 1:
            assert log_mixture(lefts, n, end) == pytest.approx(math.log(20), abs=1e-6)
        else:
            assert log_mixture(lefts, n, end) < math.log(20)


def ever_outside(found_at, chances, runs, seed):
    """How many runs have the mean chance outside of the bounds at any time."""
    rng = np.random.default_rng(seed)
    n = np.arange(1, len(chances) + 1)
    truth = np.cumsum(chances) / n
    outside = 0
    for _ in range(runs):
        lefts = np.cumsum(rng.random(len(chances)) < chances)
        low, high = found_at(lefts, n)
        outside += bool(((truth < low) | (truth > high)).any())
    return outside


def sequence(lefts, n):
    ends = [left_share(int(k), int(m - k)) for k, m in zip(lefts, n, strict=True)]
    return np.array([one.low for one in ends]), np.array([one.high for one in ends])


def fixed(lefts, n):
    share = lefts / n
    half = 1.96 * np.sqrt(np.maximum(share * (1 - share), 1e-9) / n)
    low, high = share - half, share + half
    low[:30], high[:30] = 0, 1  # textbooks want some votes first
    return low, high


def test_it_holds_at_all_times_together_and_the_usual_interval_does_not():
    even = np.full(1000, 0.5)
    drifting = 0.5 + 0.3 * np.sin(np.arange(1000) / 90)
    assert ever_outside(sequence, even, 200, 1) <= 0.05 * 200
    assert ever_outside(sequence, drifting, 200, 2) <= 0.05 * 200
    assert ever_outside(fixed, even, 200, 1) > 0.2 * 200


def test_a_bias_is_noticed_and_none_is_not():
    assert left_share(5_260, 4_740).biased
    assert left_share(4_740, 5_260).biased
    assert not left_share(26, 24).biased
    assert left_share(0, 0) == (None, 0.0, 1.0)
    assert not left_share(0, 0).biased


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_bounds_are_shares_and_the_sides_are_alike(lefts, rights):
    one, other = left_share(lefts, rights), left_share(rights, lefts)
    assert 0 <= one.low <= (one.share if lefts + rights else 1) <= one.high <= 1
    assert one.low == pytest.approx(1 - other.high, abs=1e-12)


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=200), st.floats(0.01, 1))
def test_a_quantile_is_within_three_percent(times, share):
    late = LatencyHistogram()
    for value in times:
        late.add(value)
    exact = sorted(times)[max(1, math.ceil(share * len(times))) - 1] / 1000
    assert late.quantile(share) == pytest.approx(exact, rel=0.032, abs=1e-9)
    assert LatencyHistogram.from_plain(json.loads(json.dumps(late.to_plain()))).quantile(
        share
    ) == late.quantile(share)


def test_lateness_is_small_and_takes_back():
    late = LatencyHistogram()
    for exponent in range(35 * 64):
        late.add(int(2 ** (exponent / 64)))
    assert len(late.to_plain()) <= 35 * 16
    before = late.to_plain()
    late.add(12_345)
    late.add(12_345, -1)
    assert late.to_plain() == before
    assert LatencyHistogram().quantile(0.5) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200))
def test_few_voters_are_counted_exactly(votes):
    given_votes, exact = VoterCounts(), {}
    for voter, back in votes:
        if back and exact.get(voter, 0) == 0:
            continue
        exact[voter] = exact.get(voter, 0) + (-1 if back else 1)
        given_votes.add(str(voter), -1 if back else 1)
    counts = sorted(count for count in exact.values() if count)
    assert given_votes.exact
    assert given_votes.voters == len(counts)
    assert given_votes.most == (counts[-1] if counts else None)
    assert given_votes.median == (counts[(len(counts) - 1) // 2] if counts else None)


def test_many_voters_are_a_fair_sample_in_a_bounded_room():
    rng = np.random.default_rng(5)
    given_votes, exact = VoterCounts(most=500), {}
    for voter in rng.integers(0, 20_000, 60_000).tolist():
        exact[voter] = exact.get(voter, 0) + 1
        given_votes.add(f"voter {voter}")
        if voter == 7:
            again = VoterCounts.from_plain(json.loads(json.dumps(given_votes.to_plain())))
            assert again.to_plain() == given_votes.to_plain()
            given_votes = again
        assert len(given_votes._counts) <= 500
    assert not given_votes.exact
    # Between 250 and 500 are left; the estimate's standard error is their root: 6% at most.
    assert given_votes.voters == pytest.approx(len(exact), rel=0.2)
    assert given_votes.median == int(np.median(list(exact.values())))
    assert given_votes.most <= max(exact.values())
    for voter, count in given_votes._counts.items():
        assert exact[int(voter.split()[1])] == count


def test_the_sample_does_not_depend_on_the_order_of_voters():
    names = [f"v{i}" for i in range(3000)]
    one, other = VoterCounts(most=100), VoterCounts(most=100)
    for name in names:
        one.add(name)
    for name in reversed(names):
        other.add(name)
    assert one.to_plain() == other.to_plain()
