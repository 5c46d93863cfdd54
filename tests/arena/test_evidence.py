"""The e-process of a reign: exact, honest under peeking, and broken where it should break."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from hypothesis import given
from hypothesis import strategies as st

from driftduel.arena import evidence
from driftduel.arena.evidence import ALPHA, Reign, log_e, needed
from driftduel.errors import DriftduelError

few = st.integers(0, 400)
many = st.integers(0, 5_000_000)


def exact(wins, losses):
    """The sum of binomials, in whole numbers."""
    n = wins + losses
    total = sum(math.comb(n + 1, i) for i in range(wins + 1))
    value = Fraction(total, (n + 1) * math.comb(n, wins))
    return math.log(value.numerator) - math.log(value.denominator)


def by_integration(wins, losses):
    """The integral over x from 0 to 1, on a fine grid around its peak."""
    n = wins + losses
    peak = max(0.0, (wins - losses) / n)
    # The integrand falls on both sides of its peak at least as fast as exp(-n (x - peak)^2 / 2).
    half = 10 / math.sqrt(n)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    low, high = max(0.0, peak - half), min(1.0, peak + half)
    x = (low + high) / 2 + (high - low) / 2 * nodes
    logs = wins * np.log1p(x) + losses * np.log1p(-x)
    return float(
        logs.max() + np.log((np.exp(logs - logs.max()) * weights).sum() * (high - low) / 2)
    )


@given(few, few)
def test_e_is_the_sum_of_binomials(wins, losses):
    assert log_e(wins, losses) == pytest.approx(exact(wins, losses), rel=0, abs=1e-11)


@pytest.mark.parametrize(
    ("wins", "losses"),
    [
        (1, 0), (0, 1), (40, 12), (300, 5_000), (600, 400), (40_000, 41_000), (505_000, 495_000),
        (5_001_000, 4_999_000), (4_999_000, 5_001_000), (5_000_000, 5_000_000), (9_999_990, 10),
    ],
)  # fmt: skip
def test_e_is_the_integral(wins, losses):
    found = log_e(wins, losses)
    # 1e-9 of e itself; where e is beyond all floats, the log has 15 digits and no more.
    assert found == pytest.approx(by_integration(wins, losses), rel=3e-15, abs=1e-9)


@given(many, many)
def test_two_bets_that_a_vote_decides_are_fair(wins, losses):
    """G(w + 1, l) + G(w, l + 1) = 2 G(w, l), and by parts (l + 1) G(w + 1, l) is one more."""
    here, won, lost = log_e(wins, losses), log_e(wins + 1, losses), log_e(wins, losses + 1)
    assert np.logaddexp(won, lost) - math.log(2) == pytest.approx(here, rel=1e-14, abs=1e-9)
    assert math.log(losses + 1) + won == pytest.approx(
        np.logaddexp(0.0, math.log(wins + 1) + lost), rel=1e-14, abs=1e-9
    )
    assert lost < here < won


def test_it_begins_at_one_and_the_ends_are_finite():
    assert log_e(0, 0) == 0.0
    assert log_e(10**7, 0) == pytest.approx(10**7 * math.log(2) - math.log((10**7 + 1) / 2))
    assert log_e(0, 10**7) == pytest.approx(-math.log(10**7 + 1))


def test_all_reigns_together_have_the_error_that_is_allowed():
    parts = [1 / needed(reign) for reign in range(1, 10_000)]
    assert sum(parts) < ALPHA
    assert sum(parts) == pytest.approx(ALPHA, rel=1e-3)


def chance_of_a_claim(wins, votes, level):
    """The exact chance that a fair pair ever reaches e >= level, looked at after every vote."""
    at = np.zeros(votes + 2)
    at[wins], claimed, bar = 1.0, 0.0, wins
    for n in range(wins, votes + 1):
        while bar <= n and log_e(bar, n - bar) < math.log(level):
            bar += 1
        claimed += at[bar:].sum()
        at[bar:] = 0.0
        at[1:] = at[1:] / 2 + at[:-1] / 2
        at[0] /= 2
    return claimed


def test_looking_after_every_vote_is_allowed_and_counting_the_crowning_vote_is_not():
    level = needed(1)
    honest = chance_of_a_claim(0, 1500, level)
    assert 0.5 / level < honest < 1 / level  # nothing is wasted, either
    assert chance_of_a_claim(1, 1500, level) > 1 / level


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(evidence, "log_e", lru_cache(maxsize=None)(log_e))


def ever_claims(seed, votes=600, arms=3, crowned_at=3, count_from=0):
    """Play an arena in which all are equal; a rival whose lead reaches `crowned_at` is crowned.

    Who is asked depends on the votes: the rival that is doing best, as a policy would.
    `count_from` is how many of the votes that crowned the leader are counted for it.
    """
    rng = np.random.default_rng([18, seed])
    reign, present = Reign(int(rng.integers(arms)), 1), set(range(arms))
    leads = dict.fromkeys(present, 0)
    for vote in range(votes):
        rivals = sorted(present - {reign.leader})
        rival = max(rivals, key=leads.get) if vote % 2 else rivals[rng.integers(len(rivals))]
        winner, loser = (reign.leader, rival) if rng.random() < 0.5 else (rival, reign.leader)
        leads[rival] = max(0, leads[rival] + (1 if winner == rival else -1))
        if leads[rival] == crowned_at:
            fallen, reign = reign.leader, Reign(rival, reign.number + 1, votes=vote)
            leads = dict.fromkeys(present, 0)
            for _ in range(count_from):
                reign.count(rival, fallen)
        else:
            reign.count(winner, loser)
        if reign.sure(present):
            return True
    return False


@pytest.mark.long
def test_arenas_of_equals_hardly_ever_claim_a_leader(quick):
    claims = sum(ever_claims(seed, crowned_at=12) for seed in range(300))
    assert claims <= ALPHA * 300


@pytest.mark.long
def test_without_a_budget_over_reigns_they_do(quick, monkeypatch):
    honest = sum(ever_claims(seed, arms=2, crowned_at=6) for seed in range(200))
    assert honest <= ALPHA * 200
    monkeypatch.setattr(evidence, "needed", lambda reign: 1 / ALPHA)
    assert sum(ever_claims(seed, arms=2, crowned_at=6) for seed in range(200)) > 3 * ALPHA * 200


def test_with_the_votes_that_crowned_they_do(quick):
    claims = sum(ever_claims(seed, arms=2, crowned_at=6, count_from=6) for seed in range(200))
    assert claims > 2 * ALPHA * 200


def test_a_reign_counts_its_own_pairs_and_takes_votes_back():
    reign = Reign(leader=1, number=2, seq=9, at=77, votes=5)
    for winner, loser in [(1, 0), (1, 0), (2, 1), (0, 2), (1, 1)]:
        reign.count(winner, loser)
    assert reign.counts == {0: [2, 0], 2: [0, 1]}
    before = reign.against(0).log_e
    reign.count(1, 0, -1)
    assert reign.counts[0] == [1, 0]
    assert reign.against(0).log_e == log_e(1, 0) < before
    with pytest.raises(DriftduelError, match="arm 2 has 1 votes over arm 1 in reign 2"):
        reign.count(2, 1, -2)


def test_sure_needs_every_rival_that_is_there_now():
    reign = Reign(leader=0, number=1)
    for _ in range(12):
        reign.count(0, 1)
    assert reign.sure([0, 1])
    assert not reign.sure([0, 1, 2])  # one has joined that was never met
    assert not reign.sure([0])  # alone
    assert not reign.sure([1, 2])  # gone
    for _ in range(12):
        reign.count(0, 2)
    assert reign.sure([2, 1, 0])
    for _ in range(8):
        reign.count(2, 0)
    assert not reign.sure([0, 1, 2])  # the votes have turned
    assert [one.rival for one in reign.evidence([2, 1, 0])] == [1, 2]


def test_a_later_reign_needs_more():
    first, third = Reign(0, 1), Reign(0, 3)
    while not first.sure([0, 1]):
        first.count(0, 1)
        third.count(0, 1)
    assert first.against(1).e >= 40
    assert not third.sure([0, 1])
    assert third.against(1).needed == pytest.approx(240)


def test_evidence_beyond_all_floats_is_still_a_number():
    reign = Reign(0, 1, counts={1: [10_000, 0]})
    assert math.isfinite(reign.against(1).e)
    assert reign.against(1).enough


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30))
def test_a_snapshot_is_the_reign(votes):
    reign = Reign(3, 4, 10, 11, 12)
    for winner, loser in votes:
        reign.count(winner, loser)
    again = Reign.from_plain(reign.to_plain())
    assert again == reign
    assert again.to_plain() == reign.to_plain()
    reign.count(3, 0)
    assert again.counts.get(0, [0, 0]) != reign.counts[0]  # nothing is shared
