"""Top-two Thompson sampling: its posterior, its pairs, and how few votes it needs."""

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.policies import POLICIES, load_policy, make_policy, save_policy
from tests.policies import twins

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


def reference(policy):
    """Return the slow implementation after the same votes."""
    twin = twins.Ttts(policy.arms)
    twin.prior, twin.wins = policy.state.start.copy(), policy.state.wins.tolist()
    twin.fit()
    return twin


def with_votes(wins):
    policy = make_policy("ttts", len(wins), 1)
    for winner, loser in np.argwhere(wins):
        policy.add_past_vote(
            int(winner), int(loser), int(winner), weight=float(wins[winner, loser])
        )
    return policy


def test_the_mode_and_the_precision_are_those_of_the_reference():
    rng = np.random.default_rng(0)
    for _ in range(3000 if jit_enabled() else 60):
        K = int(rng.integers(2, 8))
        wins = rng.poisson(rng.choice([0.1, 1, 10, 1000], (K, K))) * rng.choice([1.0, 0.37])
        np.fill_diagonal(wins, 0)
        policy = with_votes(wins)
        twin = reference(policy)
        np.testing.assert_allclose(policy.state.mean, twin.x, atol=1e-9)
        policy.choose(1)
        root = np.tril(policy.state.root)
        np.testing.assert_allclose(root @ root.T, twin.precision, rtol=1e-6, atol=1e-9)
        assert policy.best() == twin.best_guess()


@pytest.mark.parametrize("count", [1e3, 1e9, 2.0**51])
def test_the_mode_is_found_from_far_away_and_for_all_counts(count):
    """One-sided votes first: a plain Newton step from there would be thousands too long."""
    policy = make_policy("ttts", 3, 0)
    policy.add_past_vote(0, 1, 0, weight=count)
    assert policy.state.mean[0] - policy.state.mean[1] > 3
    policy.add_past_vote(0, 1, 1, weight=count)
    assert policy.state.mean[0] == pytest.approx(policy.state.mean[1], abs=1e-4)
    policy.add_past_vote(0, 1, 1, weight=count)
    assert policy.state.mean[1] - policy.state.mean[0] > 0.5
    assert np.isfinite(policy.state.mean).all()
    policy.ask()


def test_the_order_of_the_votes_does_not_matter():
    """A filter that takes one vote after the other would name arm 1 in the first case."""
    means = []
    for votes in (((0, 570), (1, 430)), ((1, 430), (0, 570))):
        policy = make_policy("ttts", 2, 0)
        for winner, weight in votes:
            policy.add_past_vote(0, 1, winner, weight=weight)
        means.append(policy.state.mean.copy())
        assert policy.best() == 0
    np.testing.assert_allclose(*means, atol=1e-12)
    assert means[0][0] - means[0][1] == pytest.approx(np.log(570 / 430), rel=0.01)


def test_where_no_draw_names_another_the_most_likely_rival_is_shown():
    wins = np.array([[0, 900, 900, 900], [100, 0, 50, 50], [100, 50, 0, 50], [200, 50, 50, 0.0]])
    policy = with_votes(wins)
    duels = {tuple(policy.ask()[:2]) for _ in range(200)}
    assert duels == {(0, 3)}
    policy.retire(3)
    assert all(0 in duel and 3 not in duel for duel in (policy.ask()[:2] for _ in range(50)))


def test_unseen_arms_are_equally_likely():
    named = [make_policy("ttts", 4, seed).best() for seed in range(400)]
    assert min(np.bincount(named, minlength=4)) > 60


@pytest.mark.parametrize("mode", ["serve", "panel"])
def test_two_different_arms_are_compared_in_both_modes(mode):
    policy = make_policy("ttts", 3, 0, mode=mode)
    for _ in range(100):
        duel = policy.ask()
        assert not duel.alone
        policy.tell(duel, min(duel[:2]))
    assert policy.best() == policy.info().leader == 0


def test_an_arm_that_leaves_keeps_its_votes_and_one_that_joins_has_none(tmp_path):
    policy = with_votes(np.array([[0, 30, 30], [10, 0, 20], [10, 20, 0.0]]))
    before = policy.state.mean.copy()
    policy.retire(0)
    assert policy.best() != 0
    assert policy.admit() == 3
    np.testing.assert_array_equal(policy.state.mean[:3], before)
    assert 0 <= policy.state.mean[3] < 1e-6
    save_policy(policy, tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    assert [again.ask() for _ in range(20)] == [policy.ask() for _ in range(20)]
    policy.admit(0)
    assert policy.best() == 0


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("mean", 1e7, "mean of 'ttts' has 10000000.0; it must be between -1e"),
        ("mean", np.nan, "mean of 'ttts' has nan"),
        ("start", 0.1, "start of 'ttts' has 0.1; it must be between 0 and 1e-06"),
        ("wins", -1.0, "wins of 'ttts' has -1"),
    ],
)
def test_damaged_fields_are_refused(field, value, said):
    policy = make_policy("ttts", 3, 0)
    state = {name: array.copy() for name, array in policy.get_state().items()}
    state[field].flat[0] = value
    with pytest.raises(DriftduelError, match=said):
        policy.set_state(state)


def share_right(name, K, p, votes, runs):
    """Return how often the best arm is named: it beats the second with probability p."""
    strengths = -np.append(0.0, np.log(p / (1 - p)) + 0.12 * np.arange(K - 1))
    right = 0
    for seed in range(runs):
        luck = np.random.default_rng([seed, 5])
        order, policy = luck.permutation(K), make_policy(name, K, seed, mode="panel")
        for _ in range(votes):
            duel = policy.ask()
            gap = strengths[order[duel.second]] - strengths[order[duel.first]]
            policy.tell_first_won(duel, int(luck.random() < 1 / (1 + np.exp(gap))))
        right += order[policy.best()] == 0
    return right / runs


@compiled
@pytest.mark.long
def test_few_votes_are_enough():
    """Ten options, 60%: 90% of the runs are right after about 200 votes, of uniform pairs 430."""
    share = share_right("ttts", 10, 0.6, 200, 200)
    assert share > 0.85
    assert share_right("king", 10, 0.6, 200, 200) < share


@compiled
@pytest.mark.long
def test_a_window_lets_it_follow_a_change():
    """All votes count for ever, unless a window forgets them."""
    assert {"sw-ttts", "discounted-ttts", "periodic-ttts"} <= {entry.name for entry in POLICIES}
    named = {}
    for name in ("ttts", "sw-ttts:window=200"):
        policy = make_policy(name, 4, 3, mode="panel")
        luck = np.random.default_rng(0)
        for t in range(1500):
            duel = policy.ask()
            best = 0 if t < 1000 else 1
            chance = 0.5 + 0.3 * ((duel.first == best) - (duel.second == best))
            policy.tell_first_won(duel, int(luck.random() < chance))
        named[name] = policy.best()
    assert named == {"ttts": 0, "sw-ttts:window=200": 1}
