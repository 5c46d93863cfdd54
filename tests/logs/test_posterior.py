"""What is said about a log, where the world behind it is known."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.errors import DriftduelError
from driftduel.evidence import log_e_value, log_stakes, starting_votes
from driftduel.logs import posterior
from driftduel.logs.certificate import certify
from driftduel.logs.choice import KINDS, ModelChoice, choose
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.posterior import MEASURES, fit
from driftduel.logs.simulate import simulate, votes_of
from driftduel.logs.stretch import blend_of
from driftduel.logs.vote_model import votes_by_place
from driftduel.measures import measure
from driftduel.worlds import Piecewise, make_world

THREE = "geometric-btl:arms=4,rounds=9000,phases=3,ratio=1.6,change=winner"


@pytest.fixture(scope="module")
def three():
    world = make_world(THREE, seed=2)
    return world, fit(simulate(world, 1), "utilities")


def test_who_is_best_now(three):
    world, found = three
    now = found.now
    truth = world.condorcet_winners()[-1][1]
    assert now.winner == str(truth)
    assert now.chances[now.winner] > 0.9
    assert sum(now.chances.values()) + now.no_winner == pytest.approx(1)
    assert now.winner in now.likely
    assert abs(now.stretch - 6001) < 200
    assert abs(now.votes - 3000) < 200
    assert abs(now.since - 6001) < 200
    assert now.sure == (now.evidence >= 20)


def test_what_changed(three):
    world, found = three
    winners = [str(winner) for _, winner in world.condorcet_winners()]
    assert [c.before for c in found.changes] == winners[:-1]
    assert [c.after for c in found.changes] == winners[1:]
    for change, truth in zip(found.changes, (3001, 6001), strict=True):
        assert change.low <= change.time <= change.high
        assert change.low <= truth <= change.high
        assert abs(change.vote - truth) < 200
        assert change.changed > 0.99
        assert change.winner_changed > 0.8
        assert change.reported
        assert change.p <= change.q <= 0.05
    assert found.certificate().switches <= 2


def test_the_measures_hold_the_truth(three):
    world, found = three
    truth, said = measure(world), found.measures(draws=60)
    assert tuple(said) == MEASURES
    for name in MEASURES:
        value = said[name]
        assert value.low <= value.median <= value.high
        assert value.determined
        slack = 0.05 if "variation" in name else 0
        assert value.low - slack <= getattr(truth, name) <= value.high + slack
    bound = said["total_variation"].bound
    assert 0.6 * truth.total_variation < bound < truth.total_variation
    more = found.measures(rounds=1_000_000, draws=20)["significant_switches"]
    assert more.median >= said["significant_switches"].median


def test_draws_are_ordinary_worlds(three):
    world, found = three
    expected = found.world()
    assert expected.condorcet_winners()[0][1] == world.condorcet_winners()[0][1]
    assert expected.rounds == 9000
    a, b = found.worlds(2, seed=4)
    assert (a.arms, a.rounds) == (4, 9000)
    assert not np.array_equal(a.matrices[0], b.matrices[0])
    again = found.worlds(2, seed=4)
    np.testing.assert_array_equal(a.matrices, again[0].matrices)
    assert found.worlds(1, rounds=50)[0].rounds == 50
    for wrong in ({"size": 0}, {"size": 1, "rounds": 1}):
        with pytest.raises(DriftduelError):
            found.worlds(**wrong)


def test_nothing_changed_in_a_still_log():
    world = make_world("geometric-btl:arms=4,rounds=6000,phases=1,ratio=1.3")
    found = fit(simulate(world, 3), "utilities")
    assert found.changes == []
    assert found.now.winner == str(world.condorcet_winners()[0][1])
    assert found.now.since == found.now.stretch == 1
    assert found.now.sure
    said = found.measures(draws=30)
    assert said["total_variation"].median <= 0.05
    assert said["total_variation"].bound == 0
    assert said["significant_switches"].high == 0


def test_cycles_are_said_and_not_hidden():
    """Bradley-Terry alone would name a winner here."""
    cycle = simulate(make_world("cycle:arms=5,rounds=3000"), 1)
    for kind in ("utilities", "pairs"):
        found = fit(cycle, kind)
        assert found.now.no_winner > 0.8
        assert found.now.winner is None
        assert found.now.evidence == 0
        assert not found.measures(draws=20)["condorcet_switches"].determined


def test_no_switch_is_certain_where_there_is_no_winner():
    cycle = simulate(make_world("cycle:arms=3,rounds=20000"), 1)
    certificate = fit(cycle).certificate()
    assert certify(cycle).switches > 0  # all are excluded, again and again
    assert certificate.switches == len(certificate.windows) == 0
    assert certificate.empty == certify(cycle).switches


def test_a_pair_that_never_met_is_what_utilities_say():
    """Trap 8: no votes are no certainty."""
    wins = np.array([[0, 60, 0], [40, 0, 60], [0, 40, 0.0]])
    wins = votes_by_place(wins, np.zeros_like(wins))
    blend = blend_of([wins])
    P = blend.expected_preferences(wins)
    assert 0.55 < P[0, 2] < 0.8
    drawn = blend.draw(wins, blend.kinds(400, np.random.default_rng(0)), np.random.default_rng(1))
    np.testing.assert_allclose(drawn + drawn.transpose(0, 2, 1), 1.0)
    assert drawn[:, 0, 2].std() > drawn[:, 0, 1].std()
    certain = np.array([[0, 5.0], [0, 0.0]])  # always won, five times
    certain = votes_by_place(certain, np.zeros((2, 2)))
    assert 0.5 < blend_of([certain]).expected_preferences(certain)[0, 1] < 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ("geometric-btl:arms=5,rounds=20000,phases=1,ratio=1.3", {"still"}),
        ("geometric-btl:arms=5,rounds=20000,phases=4,ratio=1.5,change=winner", {"utilities"}),
        ("random-condorcet:arms=5,rounds=20000,phases=4", {"utilities", "pairs"}),
        ("random-walk:arms=5,rounds=20000", {"walk"}),
    ],
)
def test_the_model_that_is_chosen(spec, kinds):
    chosen = [choose(simulate(make_world(spec, seed=seed), seed)).kind for seed in range(3)]
    assert sum(kind in kinds for kind in chosen) >= 2, chosen


def test_a_log_that_drifts_is_a_walk():
    counts = simulate(make_world("random-walk:arms=3,rounds=8000,sd=0.02", seed=3), 3, bins=64)
    found = fit(counts, "walk", bins=64)
    world = found.worlds(1, rounds=500)[0]
    assert (world.arms, world.rounds) == (3, 500)
    said = found.measures(draws=10)
    assert said["significant_switches"].determined
    assert not any(said[n].determined for n in MEASURES if n != "significant_switches")
    assert said["total_variation"].bound is None


def test_a_walk_has_its_own_winners_and_changes():
    early, late = [[0.5, 0.75], [0.25, 0.5]], [[0.5, 0.2], [0.8, 0.5]]
    world = Piecewise([early, late], [1, 2_001], 4_000)
    counts = simulate(world, 1, bins=64)
    walk, pieces = fit(counts, "walk", bins=64), fit(counts, "utilities", bins=64)
    assert walk.now.winner == pieces.now.winner == "1"
    (change,) = walk.changes
    assert (change.before, change.after) == ("0", "1")
    assert change.low <= 2_001 <= change.high
    assert change.reported
    assert not np.array_equal(walk.winners, pieces.winners[: len(walk.winners)])
    assert len(walk.winners) == len(walk.starts)


@pytest.mark.parametrize("kind", ["auto", "walk"])
def test_a_log_that_stands_still_walks_only_if_asked_to(kind, monkeypatch):
    counts = simulate(make_world("geometric-btl:arms=4,rounds=4000,phases=1", seed=1), 1, bins=64)
    lucky = ModelChoice("walk", dict.fromkeys(KINDS, 0.6), dict.fromkeys(KINDS, 0.0))
    monkeypatch.setattr(posterior, "choose", lambda *_: lucky)
    found = fit(counts, kind, bins=64)
    assert found.cuttings.still > 0.5
    assert found.kind == ("utilities" if kind == "auto" else "walk")
    moved = simulate(make_world(THREE, seed=2), 1)
    assert fit(moved, kind).kind == "walk"


def newcomer(votes, utilities, joins, seed=0, new=1):
    """Return counts of a stationary log whose last `new` options join after a share of it."""
    rng = np.random.default_rng(seed)
    u, K = np.asarray(utilities), len(utilities)
    time = np.arange(votes)
    here = np.where(time < joins * votes, K - new, K)
    a = (rng.random(votes) * here).astype(int)
    b = (a + 1 + (rng.random(votes) * (here - 1)).astype(int)) % here
    won = rng.random(votes) < 1 / (1 + np.exp(u[b] - u[a]))
    return counts_from_votes(a, b, won.astype(float), time)


def test_a_newcomer_that_is_best_is_best_now():
    found = fit(newcomer(4000, [0.8, 0.4, 0.2, 0.0, 2.5], 0.6, seed=3))
    assert found.now.winner == "4"
    assert found.now.sure
    (change,) = found.changes
    assert (change.before, change.after, change.cause) == ("0", "4", "joined")
    assert change.reported
    assert change.q is None
    assert abs(change.vote - 2400) < 40
    assert abs(found.now.since - 2400) < 40
    world = found.world()
    assert world.present(1) == (0, 1, 2, 3)
    assert world.condorcet_winners()[-1][1] == 4
    said = found.measures(draws=20)
    assert said["significant_switches"].median == 1
    assert said["preference_switches"].high == 1  # by its definition, joins count
    assert said["total_variation"].high == 0


def test_a_newcomer_with_few_votes_makes_the_answer_uncertain():
    without = fit(newcomer(2000, [0.8, 0.0, -0.2], 1.0, new=0))
    few = fit(newcomer(2010, [0.8, 0.0, -0.2, 0.8], 2000 / 2010))
    assert without.now.sure
    assert without.now.chances["0"] > 0.99
    assert "3" in few.now.chances
    assert 0.02 < few.now.chances["3"] < 0.98
    assert not few.now.sure


def test_an_option_that_left_while_leading_is_not_best_now():
    rng = np.random.default_rng(2)
    n = 4000
    a = np.where(np.arange(n) < 2500, rng.integers(4, size=n), 1 + rng.integers(3, size=n))
    b = np.where(np.arange(n) < 2500, (a + 1 + rng.integers(3, size=n)) % 4,
                 1 + (a + rng.integers(2, size=n)) % 3)  # fmt: skip
    u = np.array([1.5, 0.6, 0.0, -0.3])
    won = rng.random(n) < 1 / (1 + np.exp(u[b] - u[a]))
    found = fit(counts_from_votes(a, b, won.astype(float), np.arange(n)))
    assert found.now.winner == "1"
    assert found.now.absent == ("0",)
    (change,) = (c for c in found.changes if c.reported)
    assert (change.before, change.after, change.cause) == ("0", "1", "left")
    assert change.low <= 2500 <= change.high + 40


@pytest.mark.parametrize("seed", range(2))
def test_the_first_place_is_no_preference(seed):
    """Stationary, B is best, and A is always first in the second half: A is not the winner."""
    rng = np.random.default_rng(seed)
    n, u = 6000, np.array([0.3, 0.45, 0.0, -0.3])
    a = rng.integers(4, size=n)
    b = (a + rng.integers(1, 4, n)) % 4
    swap = (np.arange(n) > n // 2) & (b == 0)
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    won = rng.random(n) < 1 / (1 + np.exp(u[b] - u[a] - 0.5))
    counts = counts_from_votes(a, b, won.astype(float), np.arange(n))
    found = fit(counts)
    assert [c for c in found.changes if c.reported] == []
    assert found.now.winner == "1"
    assert found.first_place == pytest.approx(0.5, abs=0.1)
    naive = fit(counts, first_place=False)
    assert naive.first_place == 0
    assert any(c.reported for c in naive.changes)


def returning(seed, n=8000, K=5, change=True, ties=0.0):
    rng = np.random.default_rng(seed)
    U = np.tile([0.6, 0.3, 0, -0.3, -0.6], (n, 1))
    if change:
        U[2480:, [0, 1]] = [-0.2, 1.0]
        U[5360:, [1, 2]] = [-0.2, 1.2]
    a = rng.integers(K, size=n)
    b = (a + rng.integers(1, K, n)) % K
    each = np.arange(n)
    won = (rng.random(n) < 1 / (1 + np.exp(U[each, b] - U[each, a]))).astype(float)
    won[rng.random(n) < ties] = 0.5
    return {"first": a, "second": b, "outcome": won, "time": each + 1}, rng.integers(400, size=n)


def test_voters_who_return_move_no_date():
    votes, voter = returning(1)
    alone, grouped = (fit(counts_from_votes(**votes, group=g)) for g in (None, voter))
    assert [c.vote for c in grouped.changes if c.reported] == pytest.approx(
        [c.vote for c in alone.changes if c.reported], abs=60
    )
    for change, truth in zip(grouped.changes, (2481, 5361), strict=True):
        assert change.low <= truth <= change.high
    assert grouped.now.winner == "2"


def test_ties_hide_no_change():
    for seed in (1, 2):
        votes, _ = returning(seed, ties=0.3)
        found = fit(counts_from_votes(**votes))
        reported = [c for c in found.changes if c.reported]
        assert len(reported) == 2
        assert all(c.low <= t <= c.high for c, t in zip(reported, (2481, 5361), strict=True))


def test_gradual_drift_determines_neither_v_nor_the_preference_switches():
    rng = np.random.default_rng(0)
    n, K, days = 12_000, 5, 360
    step = rng.normal(0, 0.05, (days, K))
    for day in (90, 180, 270):
        step[day] = rng.normal(0, 1.2, K)
    U, day = np.cumsum(step, axis=0), np.arange(n) * days // n
    a = rng.integers(K, size=n)
    b = (a + rng.integers(1, K, n)) % K
    won = rng.random(n) < 1 / (1 + np.exp(U[day, b] - U[day, a]))
    found = fit(counts_from_votes(a, b, won.astype(float), day))
    said = found.measures(draws=10)
    assert not said["total_variation"].determined
    assert not said["preference_switches"].determined


def test_renaming_and_permuting_change_nothing():
    """Trap 6, and its like: what must not matter does not."""
    votes = votes_of(make_world(THREE, seed=2), 1)
    votes["time"] = (votes["time"] - 1) // 30
    names = ["a", "b", "c", "d"]
    one = fit(counts_from_votes(**votes, names=names, bins=50), "utilities", bins=50)
    mixed = np.random.default_rng(0).permutation(9000)
    swap = np.random.default_rng(1).random(9000) < 0.5
    new = np.array([2, 0, 3, 1])
    first, second = new[votes["first"]], new[votes["second"]]
    other = {
        "first": np.where(swap, second, first)[mixed],
        "second": np.where(swap, first, second)[mixed],
        "outcome": np.where(swap, 1 - votes["outcome"], votes["outcome"])[mixed],
        "time": votes["time"][mixed],
    }
    renamed = [names[int(np.flatnonzero(new == k)[0])] for k in range(4)]
    two = fit(counts_from_votes(**other, names=renamed, bins=50), "utilities", bins=50)
    assert two.now.winner == one.now.winner
    for c, d in zip(one.changes, two.changes, strict=True):
        assert (c.time, c.low, c.high, c.before, c.after) == (
            d.time,
            d.low,
            d.high,
            d.before,
            d.after,
        )
        assert c.changed == pytest.approx(d.changed, abs=1e-6)


def test_kind_errors():
    counts = counts_from_votes([0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 1, 1])
    with pytest.raises(DriftduelError, match="kind=glicko must be one of"):
        fit(counts, "glicko")
    with pytest.raises(DriftduelError, match="level=2"):
        fit(counts, "utilities").certificate(2)
    assert "votes=4" in repr(fit(counts))
    assert fit(counts).rough


@pytest.mark.parametrize(
    "more",
    [
        {"time": np.zeros(60)},  # one event
        {"time": np.arange(60), "group": np.arange(60) // 30},  # two groups, four options
        {"time": np.arange(60), "group": np.zeros(60, int)},
        {"weight": np.linspace(0.1, 2, 60)},
        {},
    ],
)
@pytest.mark.parametrize("kind", ["auto", "pairs", "walk"])
def test_logs_that_say_next_to_nothing(more, kind):
    rng = np.random.default_rng(0)
    first = rng.integers(4, size=60)
    second = (first + 1 + rng.integers(3, size=60)) % 4
    counts = counts_from_votes(first, second, rng.integers(3, size=60) / 2, **more)
    found = fit(counts, kind)
    assert found.changes == []
    assert sum(found.now.chances.values()) + found.now.no_winner == pytest.approx(1)
    assert found.now.since >= found.now.stretch == counts.first[0]
    said = found.measures(draws=5)
    assert all(value.low <= value.high for value in said.values())
    assert found.certificate().switches == 0
    assert found.world().rounds == 60


def test_two_options_of_which_one_always_wins():
    found = fit(counts_from_votes([0] * 300, [1] * 300, [1] * 300))
    assert found.now.winner == "0"
    assert found.now.sure
    assert found.changes == []


@pytest.mark.parametrize("votes", [1, 2, 3])
def test_a_few_votes_make_nobody_sure(votes):
    counts = counts_from_votes([0] * votes, [1] * votes, [1] * votes)
    assert 0.5 < fit(counts).now.chances["0"] < 1 - 0.5 ** (votes + 2)


@pytest.mark.parametrize("offset", range(4))
def test_the_dates_of_a_change_inside_a_bin_hold_it(offset):
    # Four votes a fine bin, and a change after 0 to 3 votes of one: half a bin to either side.
    n, truth = 20_480, 10_240 + offset
    rng = np.random.default_rng(offset)
    zeros = np.zeros(n, int)
    won = (np.arange(n) < truth) ^ (rng.random(n) < 0.002)
    log = counts_from_votes(zeros, zeros + 1, won.astype(float), np.arange(n), placed=False)
    assert len(log.wins) == n // 4
    (change,) = fit(log, "utilities").changes
    assert change.low <= truth <= change.high
    assert change.high - change.low <= 16


def test_the_evidence_for_the_best_option_starts_after_the_last_change():
    n = 3000
    rng = np.random.default_rng(1)
    zeros = np.zeros(n, int)
    won = rng.random(n) < np.where(np.arange(n) < 1800, 0.2, 0.8)
    log = counts_from_votes(zeros, zeros + 1, won, np.arange(n), placed=False)
    now = fit(log, "utilities").now
    starts = starting_votes(n)
    at = int(np.searchsorted(starts, n - now.votes))
    assert 1750 <= n - now.votes <= starts[at] <= 1960
    later = won[int(starts[at]) :]
    # Half of the stake is on the whole log; two options: both might have been named.
    expected = log_e_value(later.sum(), (~later).sum()) + log_stakes(n)[at] - np.log(2)
    assert np.log(now.evidence) == pytest.approx(expected)
    assert now.sure
