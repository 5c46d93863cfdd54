"""Evidences and sums over cuttings, against slow twins; and the traps on the way."""

from itertools import combinations, pairwise

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.integrate import dblquad, quad
from scipy.special import betaln

from driftduel.logs.bradley_terry_fit import bradley_terry, dispersion
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.segments import HAZARDS, STRENGTHS, TAUS, Segmentation, cuttings, segment
from driftduel.logs.simulate import simulate
from driftduel.worlds import make_world


def small_log(bins=7, options=3, seed=0, votes=40, change=True):
    """A log of a few bins that changes in the middle."""
    rng = np.random.default_rng(seed)
    n = bins * votes
    first = rng.integers(options, size=n)
    second = (first + 1 + rng.integers(options - 1, size=n)) % options
    time = np.repeat(np.arange(bins), votes)
    better = np.where((time < bins // 2) | (not change), first < second, first > second)
    outcome = (rng.random(n) < np.where(better, 0.7, 0.3)).astype(float)
    return counts_from_votes(first, second, outcome, time)


def all_cuttings(B):
    for size in range(B):
        yield from combinations(range(1, B), size)


def pair_evidence(wins, rate, strength):
    total = 0.0
    for a in range(len(wins)):
        for b in range(a):
            ahead, behind = strength * rate[a, b], strength * rate[b, a]
            total += betaln(ahead + wins[a, b], behind + wins[b, a]) - betaln(ahead, behind)
    return total


def utility_evidence(wins, mean, tau):
    """Laplace's approximation with dense matrices."""
    u, _ = bradley_terry(wins, 1 / tau**2, mean)
    P = 1 / (1 + np.exp(u[None, :] - u[:, None]))
    bend = (wins + wins.T) * P * (1 - P)
    H = np.diag(bend.sum(axis=1)) - bend + np.eye(len(u)) / tau**2
    value = (wins * np.log(P)).sum() - ((u - mean) ** 2).sum() / (2 * tau**2)
    return value - len(u) * np.log(tau) - np.linalg.slogdet(H)[1] / 2


def enumerated(counts, model):
    """P(still) and P(a cut at k) by going through all cuttings, hazards and priors."""
    wins = counts.wins
    B, whole = len(wins), wins.sum(axis=0)
    rate = (whole + 0.5) / (whole + whole.T + 1)
    mean = bradley_terry(whole)[0]
    P = 1 / (1 + np.exp(mean[None, :] - mean[:, None]))
    plugged = (whole * np.log(P if model == "utilities" else rate)).sum()
    sizes = counts.per_bin()
    near = (sizes[1:] + sizes[:-1]) / 2
    near = near / near.sum()
    priors = TAUS if model == "utilities" else STRENGTHS
    logs, cuts = [], []
    for prior in priors:
        for hazard in HAZARDS:
            cut = 1 - np.exp(-hazard * near)
            any_cut = 1 - np.exp(-hazard * near.sum())
            for cutting in all_cuttings(B):
                if not cutting:
                    continue
                edges = (0, *cutting, B)
                log = 0.0
                for i, j in pairwise(edges):
                    stretch = wins[i:j].sum(axis=0)
                    if model == "utilities":
                        log += utility_evidence(stretch, mean, prior)
                    else:
                        log += pair_evidence(stretch, rate, prior)
                chosen = np.isin(np.arange(1, B), cutting)
                log += np.log(np.where(chosen, cut, 1 - cut)).sum() - np.log(any_cut)
                logs.append(log - np.log(len(priors) * len(HAZARDS)))
                cuts.append(chosen)
    logs = np.array([plugged, *logs])
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    return weight[0], weight[1:] @ np.array(cuts, float), logs


@pytest.mark.kernels
@pytest.mark.parametrize("model", ["utilities", "pairs"])
@pytest.mark.parametrize("bins", [2, 6])
@pytest.mark.parametrize("change", [False, True])
def test_sums_equal_the_enumeration_of_all_cuttings(model, bins, change):
    counts = small_log(bins, change=change)
    found = cuttings(counts, np.arange(bins + 1), model, phi=1.0)
    still, cuts, logs = enumerated(counts, model)
    exact = 1e-9 if model == "pairs" else 1e-7  # Newton's steps end somewhere
    assert found.still == pytest.approx(still, abs=exact)
    np.testing.assert_allclose(found.cut_probability[1:-1], cuts, atol=exact)
    assert found.logz == pytest.approx(np.logaddexp.reduce(logs) - np.log(2), abs=1e-7)
    assert found.changed_within(1, bins - 1) == pytest.approx(1 - still, abs=exact)
    lengths = np.subtract.outer(np.arange(bins + 1), np.arange(bins + 1)).T
    assert (found.stretches * lengths).sum() == pytest.approx(bins * (1 - still))


@pytest.mark.kernels
def test_where_a_change_is_if_there_is_one_equals_the_enumeration():
    counts = small_log(6)
    found = cuttings(counts, np.arange(7), "pairs", phi=1.0)
    _, _, logs = enumerated(counts, "pairs")
    cuts = [c for c in all_cuttings(6) if c] * (len(STRENGTHS) * len(HAZARDS))
    weight = np.exp(logs - logs.max())
    weight = weight[1:] / weight.sum()
    single = np.zeros(3)
    for cutting, share in zip(cuts, weight, strict=True):
        inside = [k for k in cutting if 2 <= k <= 4]
        if len(inside) == 1:
            single[inside[0] - 2] += share
    ours = found._single_change(2, 4)
    np.testing.assert_allclose(ours / ours.sum(), single / single.sum(), atol=1e-3)


@pytest.mark.parametrize("model", ["utilities", "pairs"])
def test_draws_are_as_frequent_as_the_sums_say(model):
    counts = small_log(6, votes=25)
    found = cuttings(counts, np.arange(7), model, phi=1.0)
    drawn = found.draw(4000, np.random.default_rng(1))
    often = np.mean([np.isin(np.arange(7), cuts) for cuts in drawn], axis=0)
    error = np.sqrt(found.cut_probability * (1 - found.cut_probability) / 4000)
    assert (np.abs(often - found.cut_probability) <= 4 * error + 1e-9).all()
    assert np.mean([len(cuts) == 0 for cuts in drawn]) == pytest.approx(found.still, abs=0.04)


def test_laplace_is_close_to_the_integral():
    def normal(u, tau):
        return np.exp(-(u**2) / (2 * tau**2)) / (tau * np.sqrt(2 * np.pi))

    two = np.array([[0.0, 7.0], [4.0, 0.0]])
    tau = 0.8

    def votes_two(gap):
        return normal(gap, tau * np.sqrt(2)) / (1 + np.exp(-gap)) ** 7 / (1 + np.exp(gap)) ** 4

    exact = np.log(quad(votes_two, -8, 8)[0])
    assert utility_evidence(two, np.zeros(2), tau) == pytest.approx(exact, abs=0.05)

    three = np.array([[0.0, 8, 6], [4, 0.0, 7], [5, 3, 0.0]])
    # The common shift integrates to 1; what is left are two differences, correlated 1/2.
    inverse = np.linalg.inv(tau**2 * np.array([[2.0, 1.0], [1.0, 2.0]]))

    def votes_three(x, y):
        u = np.array([0.0, -x, -y])
        log = -(three * np.logaddexp(0, u[None, :] - u[:, None])).sum()
        prior = np.sqrt(np.linalg.det(inverse)) / (2 * np.pi)
        return prior * np.exp(log + 26 - np.array([x, y]) @ inverse @ np.array([x, y]) / 2)

    exact = np.log(dblquad(votes_three, -5, 5, -5, 5, epsabs=1e-6)[0]) - 26
    assert utility_evidence(three, np.zeros(3), tau) == pytest.approx(exact, abs=0.05)


@pytest.mark.kernels
def test_one_fit_equals_choix_and_evalica():
    choix, evalica = pytest.importorskip("choix"), pytest.importorskip("evalica")
    counts = simulate(make_world("geometric-btl:arms=6,rounds=2000,phases=1,ratio=1.5"), seed=2)
    wins = counts.wins.sum(axis=0)
    ours = bradley_terry(wins, precision=1e-10)[0]
    ours -= ours.mean()
    pairs = [(a, b) for a in range(6) for b in range(6) for _ in range(int(wins[a, b])) if a != b]
    theirs = choix.opt_pairwise(6, pairs, alpha=0.0, tol=1e-12)
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-6)
    rated = evalica.bradley_terry(
        [a for a, _ in pairs], [b for _, b in pairs], [evalica.Winner.X] * len(pairs),
        tolerance=1e-12, limit=100_000,
    )  # fmt: skip
    logs = np.log(np.array([rated.scores[a] for a in range(6)]))
    np.testing.assert_allclose(ours, logs - logs.mean(), atol=1e-6)


@pytest.mark.kernels
def test_the_best_cutting_equals_ruptures():
    ruptures = pytest.importorskip("ruptures")
    from driftduel.logs._kernels import best_cuts

    counts = small_log(30, votes=30, seed=4)
    found = cuttings(counts, np.arange(31), "pairs", phi=1.0)
    evidence, penalty = found.evidence[3], 4.0

    class Cost(ruptures.base.BaseCost):
        model, min_size = "ours", 1

        def fit(self, signal):
            self.signal = signal
            return self

        def error(self, start, end):
            return -evidence[start, end]

    signal = np.zeros((30, 1))
    theirs = ruptures.Dynp(custom_cost=Cost(), min_size=1, jump=1).fit(signal)
    theirs = [theirs.predict(n_bkps=n) if n else [30] for n in range(4)]

    def cost(ends):
        return sum(
            -evidence[i, j] for i, j in zip([0, *ends[:-1]], ends, strict=True)
        ) + penalty * (len(ends) - 1)  # fmt: skip

    cut = np.full(31, -penalty)
    cut[30] = 0.0
    best, before = np.empty(31), np.zeros(31, np.int64)
    value = best_cuts(evidence, cut, np.zeros(30), best, before)
    assert -value == pytest.approx(min(map(cost, theirs)), abs=1e-9)
    ends, j = [], 30
    while j > 0:
        ends.append(j)
        j = int(before[j])
    assert ends[::-1] == min(theirs, key=cost)


STILL = ("geometric-btl:arms=3,rounds=1500,phases=1,ratio=1.2",
         "random-condorcet:arms=5,rounds=3000,phases=1")  # fmt: skip


@pytest.mark.parametrize("spec", STILL)
@pytest.mark.parametrize("model", ["utilities", "pairs"])
def test_a_log_that_stands_still_is_said_to(spec, model):
    """Trap 1: a single stretch that pays for the prior around its own mean loses to many."""
    for seed in range(4):
        counts = simulate(make_world(spec, seed=seed), seed=seed, bins=40)
        assert segment(counts, model, bins=40).still > 0.5


def test_a_bin_in_which_something_changes_is_no_stretch():
    """Trap 2: with one pass, it is one; with two, there is one change, at its vote."""
    world = make_world("geometric-btl:arms=5,rounds=20000,phases=2,ratio=1.8,change=winner", seed=1)
    assert world.starts.tolist() == [1, 10001]
    # 30 bins and a bit each side of the change
    votes = simulate(world, seed=3, bins=31)
    one_pass = cuttings(votes, votes.grid(31), "utilities")
    assert len(one_pass.mode()) == 2
    two = segment(votes, "utilities", bins=31)
    (change,) = two.changes()
    first_votes = np.concatenate(([0], np.cumsum(votes.per_bin())))[two.grid] + 1
    assert abs(first_votes[change[0]] - 10001) < 100
    assert first_votes[change[1]] - 60 <= 10001 <= first_votes[change[2]] + 60
    assert change[3] > 0.99


@pytest.mark.parametrize("sessions", [40])
def test_opinionated_voters_are_no_change_if_one_knows_who_voted(sessions):
    world = make_world("geometric-btl:arms=5,rounds=6000,phases=1,ratio=1.2", seed=5)
    false = 0
    for seed in range(3):
        counts = simulate(world, seed, sessions, bins=60)
        phi = dispersion(counts)
        assert 1.6 < phi < 3.0
        assert segment(counts, bins=60).still > 0.5
        false += segment(counts, bins=60, phi=1.0).still < 0.5
    assert false == 3


def test_phi_is_that_of_the_whole_log():
    """Trap 3, and what even rankings must give: (K + 1) / 3."""
    assert dispersion(small_log()) == 1.0
    rng = np.random.default_rng(0)
    rows = []
    for race in range(4000):
        order = rng.permutation(8)
        rows += [(order[i], order[j], race) for i in range(8) for j in range(i + 1, 8)]
    first, second, race = np.array(rows).T
    counts = counts_from_votes(first, second, np.ones(len(first)), race, group=race)
    assert dispersion(counts) == pytest.approx(3.0, abs=0.1)


def test_a_stretch_has_as_many_groups_as_there_are_options():
    """Trap 4: two odd races are not an era."""
    rng = np.random.default_rng(1)
    rows = []
    for race in range(60):
        strength = np.arange(6.0) if race not in (30, 31) else -3 * np.arange(6.0)
        order = np.argsort(strength + rng.gumbel(size=6))
        rows += [(order[i], order[j], race) for i in range(6) for j in range(i + 1, 6)]
    first, second, race = np.array(rows).T
    counts = counts_from_votes(first, second, np.ones(len(first)), race, group=race)
    grid = np.arange(61)
    eager = cuttings(counts, grid, phi=1.0, fewest=0.0)
    assert {30, 32} <= set(eager.mode().tolist())
    patient = cuttings(counts, grid, phi=1.0)
    assert np.diff([0, *patient.mode(), 60]).min() >= 6
    assert patient.stretches[30, 32] == 0


def test_a_change_is_not_hidden_because_it_may_be_in_many_places(monkeypatch):
    """Each cutting with it may be less probable than one without, and all together more."""
    found = cuttings(small_log(16), np.arange(17), "pairs", phi=1.0)
    plain = found.changes()
    assert len(plain) == 1
    monkeypatch.setattr(Segmentation, "mode", lambda self: np.empty(0, np.int64))
    assert found.changes() == plain


def test_priors_that_are_as_good_as_impossible_can_be_left_out():
    counts = small_log(20)
    whole = cuttings(counts, np.arange(21), "pairs", phi=1.0)
    some = np.flatnonzero(whole.weights.sum(axis=1) > 1e-4)
    assert 0 < len(some) < len(STRENGTHS)
    few = cuttings(counts, np.arange(21), "pairs", 1.0, priors=np.array(STRENGTHS)[some].tolist())
    assert few.still == pytest.approx(whole.still, rel=1e-2)
    np.testing.assert_allclose(few.cut_probability, whole.cut_probability, atol=1e-3)


def test_renaming_the_options_changes_nothing():
    counts = small_log(8)
    order = ["2", "0", "1"]
    for model in ("utilities", "pairs"):
        a = cuttings(counts, np.arange(9), model)
        b = cuttings(counts.only(order), np.arange(9), model)
        np.testing.assert_allclose(a.cut_probability, b.cut_probability, atol=1e-9)


def test_a_hidden_change_where_a_cut_is_already_is_not_found_twice():
    """The most probable cutting may cut outside the 95% set of its own change."""
    spec = "geometric-btl:arms=3,rounds=10000,phases=4,lengths=random,ratio=1.2"
    found = segment(simulate(make_world(spec, seed=7), 7), "utilities")
    cuts = [cut for cut, *_ in found.changes()]
    assert cuts == sorted(set(cuts))
    assert 3 <= len(cuts) <= 4
