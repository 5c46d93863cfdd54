"""Statements without a model, against exact binomials."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.stats import binom

from driftduel.evidence import log_e_value, log_stakes, starting_votes
from driftduel.logs.certificate import _choices, _too_few, certify, log_evidence, pair_votes
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.simulate import simulate
from driftduel.worlds import make_world


def alternating(blocks, size, p=0.95):
    """Two options; the better one alternates from block to block."""
    rng = np.random.default_rng(0)
    better = np.repeat(np.arange(blocks) % 2, size)
    won = np.where(rng.random(blocks * size) < p, better == 0, better == 1)
    zeros = np.zeros(blocks * size, int)
    return counts_from_votes(zeros, zeros + 1, won.astype(float))


def test_clear_switches_are_certified_and_where():
    certificate = certify(alternating(4, 100))
    assert certificate.switches == 3
    for i, (low, high) in enumerate(certificate.windows):
        assert low <= 100 * (i + 1) <= high
    assert certify(alternating(1, 400)).switches == 0
    assert certify(alternating(4, 4)).switches == 0


def test_exclusion_is_the_exact_binomial_with_its_share_of_the_error():
    # Both options must be excluded in a log of 2 bins: 2 scales, of 2 intervals and of 1.
    n, allowed = 20, 0.05 / (2 * 2 * 1)
    few = int(binom.ppf(allowed, n, 0.5)) - 1
    assert binom.cdf(few, n, 0.5) <= allowed < binom.cdf(few + 1, n, 0.5)
    for wins, switches in ((few, 1), (few + 1, 0)):
        first = np.zeros(2 * n, int)
        won = np.concatenate((np.arange(n) < wins, np.arange(n) < n - wins)).astype(float)
        time = np.repeat([0, 1], n)
        assert certify(counts_from_votes(first, first + 1, won, time)).switches == switches


def test_never_more_than_the_truth():
    for seed in range(6):
        world = make_world(
            "geometric-btl:arms=3,rounds=4000,phases=4,ratio=2,lengths=random", seed=seed
        )
        truth = len(world.condorcet_winners()) - 1
        assert certify(simulate(world, seed)).switches <= truth
        voters = simulate(world, seed, sessions=20)
        assert certify(voters).switches <= truth


def test_a_group_speaks_once_about_a_pair():
    # One voter, a thousand votes for the first option: that is one vote.
    log = counts_from_votes(
        [0] * 1000, [1] * 1000, [1] * 900 + [0] * 100, np.arange(1000), group=[7] * 1000, bins=4
    )
    votes = pair_votes(log, log.grid(4))
    assert votes.sum() == 1
    assert votes[0, :, 0, 1].sum() == 1  # in the first bin, all of its votes were for it
    assert certify(log).switches == 0


# ---- pairs chosen adaptively ----


def test_a_binomial_tail_fails_where_the_number_of_votes_depends_on_them():
    # An equal pair at the level 1%, asked until it is excluded. Measured: .14 against .012.
    rng = np.random.default_rng(1)
    runs, most, allowed = 600, 2048, np.log(0.01)
    wins = np.cumsum(rng.random((runs, most)) < 0.5, axis=1).astype(float)
    losses = np.arange(1, most + 1) - wins
    few = {}
    for adaptive in (False, True):
        crossed = np.zeros(runs, bool)
        for at in range(0, most, 64):
            table = np.zeros((64 * runs, 2, 2))
            table[:, 0, 1] = wins[:, at : at + 64].ravel()
            table[:, 1, 0] = losses[:, at : at + 64].ravel()
            found = _too_few(table, allowed, adaptive=adaptive)[:, 0, 1]
            crossed |= found.reshape(runs, 64).any(axis=1)
        few[adaptive] = crossed.mean()
    assert few[False] > 0.08
    assert few[True] <= 0.01 + 3 * np.sqrt(0.01 / runs)


def test_an_adaptive_log_gets_certificates_from_e_values():
    # 15 : 2 in either half: the binomial tail excludes an option, the e-value does not.
    won = np.r_[np.ones(15), np.zeros(4), np.ones(15) * 0, np.ones(4)]
    zeros = np.zeros(len(won), int)
    time = np.repeat([0, 1], 19)
    log = counts_from_votes(zeros, zeros + 1, won, time, placed=False)
    wins, losses, allowed = 15.0, 4.0, 0.05 / 4
    assert binom.cdf(losses, wins + losses, 0.5) <= allowed
    assert log_e_value(wins, losses) < -np.log(allowed)
    assert certify(log).switches == 1
    assert certify(replace(log, adaptive=True)).switches == 0


# ---- the best option now ----


def everyone(counts):
    return np.ones(counts.options, bool)


def test_evidence_starts_at_a_vote_fixed_in_advance_and_pays_its_stake():
    rng = np.random.default_rng(2)
    won = (rng.random(1000) < 0.7).astype(float)
    zeros = np.zeros(1000, int)
    log = counts_from_votes(zeros, zeros + 1, won, placed=False)
    starts, stakes = starting_votes(1000), log_stakes(1000)
    # Two options: the choice of the one divides by 2.
    whole = log_e_value(won.sum(), (1 - won).sum()) + np.log(0.5) - np.log(2)
    assert log_evidence(log, 0, 0, everyone(log)) == pytest.approx(whole)
    for since in (1, 2, 300, 777):
        at = int(np.searchsorted(starts, since))
        begin = int(starts[at])
        assert since <= begin <= 1 + 1.05 * since
        later = won[begin:]
        expected = log_e_value(later.sum(), (1 - later).sum()) + stakes[at] - np.log(2)
        assert log_evidence(log, 0, since, everyone(log)) == pytest.approx(expected)
    assert log_evidence(log, 0, 999, everyone(log)) == -np.inf


def test_evidence_of_a_longer_log_starts_at_the_same_votes():
    rng = np.random.default_rng(3)
    won = (rng.random(3000) < 0.7).astype(float)
    zeros = np.zeros(3000, int)
    at = int(np.searchsorted(starting_votes(3000), 500))
    begin, stake = int(starting_votes(3000)[at]), log_stakes(3000)[at]
    for n in (700, 1500, 3000):
        log = counts_from_votes(zeros[:n], zeros[:n] + 1, won[:n], placed=False)
        later = won[begin:n]
        expected = log_e_value(later.sum(), (1 - later).sum()) + stake - np.log(2)
        assert log_evidence(log, 0, 500, everyone(log)) == pytest.approx(expected)


def test_ties_are_not_evidence():
    won = np.r_[np.ones(30), np.zeros(5)]
    zeros = np.zeros(35, int)
    log = counts_from_votes(zeros, zeros + 1, won, placed=False)
    with_ties = counts_from_votes(
        np.zeros(135, int), np.ones(135, int), np.r_[won, np.full(100, 0.5)], placed=False
    )
    evidence = log_evidence(log, 0, 0, everyone(log))
    assert log_evidence(with_ties, 0, 0, everyone(log)) == pytest.approx(evidence)
    assert certify(with_ties).switches == 0


def test_a_group_has_one_vote_on_a_pair_in_the_evidence():
    zeros = np.zeros(500, int)
    log = counts_from_votes(zeros, zeros + 1, np.ones(500), group=np.arange(500) % 5, placed=False)
    expected = log_e_value(5.0, 0.0) + np.log(0.5) - np.log(2)
    assert log_evidence(log, 0, 0, everyone(log)) == pytest.approx(expected)


def test_the_choice_of_the_option_is_paid_for():
    rng = np.random.default_rng(0)

    def choices(K, joins=(), leaves=(), group=None):
        n = 600 * K
        since, until = np.zeros(K, int), np.full(K, n)
        since[list(joins)], until[list(leaves)] = n // 2, n // 2
        a = rng.integers(K, size=n)
        b = (a + rng.integers(1, K, size=n)) % K
        at = np.arange(n)
        keep = (since[a] <= at) & (since[b] <= at) & (until[a] > at) & (until[b] > at)
        log = counts_from_votes(
            a[keep], b[keep], np.ones(keep.sum()), at[keep], placed=False,
            names=[str(k) for k in range(K)], group=at[keep] if group else None,
        )  # fmt: skip
        return _choices(log, 0, until == n)

    assert choices(2) == 2
    assert choices(3) == 3
    assert choices(9) == 4
    assert choices(9, joins=[1]) == 6
    assert choices(9, joins=[1, 2, 3]) == 9
    assert choices(5, leaves=[1, 2]) == 5 * 3
    assert choices(9, group=True) == 9


@pytest.mark.long
@pytest.mark.parametrize("options", [2, 3])
def test_a_growing_log_of_equal_options_is_rarely_called_sure(options):
    # Evaluated after every twentieth vote, with the start that suits each option best.
    runs, n, wrong = 150, 400, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        a = rng.integers(options, size=n)
        b = (a + rng.integers(1, options, size=n)) % options
        won = rng.random(n) < 0.5
        wrong += any(
            log_evidence(log, option, since, everyone(log)) >= np.log(20)
            for log in (
                counts_from_votes(
                    a[:m], b[:m], won[:m], placed=False, names=[str(k) for k in range(options)]
                )
                for m in range(20, n, 20)
            )
            for option in range(options)
            for since in range(0, len(log.wins), 15)
        )
    assert wrong / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_an_unequal_order_of_a_pair_is_no_evidence():
    # Equal options; the first place wins 80%. Option 0 is first in 9 of 10 votes.
    rng = np.random.default_rng(5)
    n = 2000
    a = (rng.random(n) < 0.1).astype(int)
    won = (rng.random(n) < 0.8).astype(float)
    log = counts_from_votes(a, 1 - a, won)
    assert log_evidence(log, 0, 0, everyone(log)) < 0
    assert log_evidence(replace(log, placed=False), 0, 0, everyone(log)) > 20
    # A clear preference is still found.
    won = (rng.random(n) < np.where(a == 0, 0.9, 0.3)).astype(float)
    assert log_evidence(counts_from_votes(a, 1 - a, won), 0, 0, everyone(log)) > 20


def test_places_do_not_hide_the_evidence_of_groups():
    rng = np.random.default_rng(7)
    n = 3000
    a = rng.integers(2, size=n)
    won = (rng.random(n) < np.where(a == 0, 0.75, 0.35)).astype(float)
    log = counts_from_votes(a, 1 - a, won, group=rng.integers(300, size=n))
    evidence = log_evidence(log, 0, 0, everyone(log))
    # One vote of each voter; a fair order costs nothing.
    assert pair_votes(log, np.array([0, len(log.wins)])).sum() == pytest.approx(300)
    assert evidence == pytest.approx(log_evidence(replace(log, placed=False), 0, 0, everyone(log)))
    assert evidence > 10
    # Equal options, the first place wins 80%, and option 0 is nearly always first.
    a = (rng.random(n) < 0.1).astype(int)
    won = (rng.random(n) < 0.8).astype(float)
    unequal = counts_from_votes(a, 1 - a, won, group=np.arange(n))
    assert log_evidence(unequal, 0, 0, everyone(log)) < 0


def test_a_shift_of_the_order_is_no_certain_switch():
    rng = np.random.default_rng(6)
    n = 4000
    a = np.where(np.arange(n) < n // 2, rng.random(n) < 0.02, rng.random(n) < 0.98).astype(int)
    won = (rng.random(n) < 0.7).astype(float)
    log = counts_from_votes(a, 1 - a, won)
    assert certify(replace(log, placed=False)).switches > 0
    assert certify(log).switches == 0
