"""Strengths in the last votes: against a fit by brute force, and the window against a list."""

import json

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from hypothesis import given, strategies as st

from driftduel.arena.ranking import History, Window, rank_options

votes_of_four = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-1, 1)).filter(
        lambda vote: vote[0] != vote[1]
    ),
    max_size=60,
)


def wins_of(votes, arms=4):
    wins = np.zeros((arms, arms))
    for first, second, won in votes:
        wins[first, second] += 0.5 if won < 0 else won
        wins[second, first] += 0.5 if won < 0 else 1 - won
    return wins


def test_strengths_are_those_of_the_best_utilities():
    pytest.importorskip("scipy")
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    wins = rng.integers(0, 30, (4, 4)) * (1 - np.eye(4))
    present = [0, 1, 3]

    def loss(u):
        gaps = u[:, None] - u[None, :]
        return (wins * np.logaddexp(0, -gaps)).sum() + 0.25 * (u**2).sum() / 2

    u = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    P = 1 / (1 + np.exp(-(u[:, None] - u[None, :])))
    found = rank_options(wins, present)
    for arm in present:
        rivals = [other for other in present if other != arm]
        assert found.strength[arm] == pytest.approx(P[arm, rivals].mean(), abs=1e-5)
    assert np.isnan(found.strength[2])
    assert found.place[2] == 0
    assert sorted(found.place[present]) == [1, 2, 3]
    order = np.argsort(-found.strength[present])
    assert (found.place[present][order] == [1, 2, 3]).all()


def test_the_band_has_the_truth_in_it_as_often_as_it_says():
    rng = np.random.default_rng(11)
    u = np.array([0.8, 0.2, 0.0, -0.4, -0.6])
    P = 1 / (1 + np.exp(-(u[:, None] - u[None, :])))
    truth = (P.sum(axis=1) - 0.5) / 4
    upper, inside = np.triu_indices(5, 1), []
    for _ in range(400):
        wins = np.zeros((5, 5))
        won = rng.binomial(60, P[upper])
        wins[upper] = won
        wins.T[upper] = 60 - won
        found = rank_options(wins, range(5))
        inside.append((found.low <= truth) & (truth <= found.high))
    # 2,000 bands, of which five at a time hang together: two standard errors are about 1.3%.
    assert 0.93 < np.mean(inside) < 0.97


@given(votes_of_four, st.sets(st.integers(0, 3)))
def test_whatever_the_votes_there_is_a_band_around_every_strength(votes, present):
    found = rank_options(wins_of(votes), present)
    there = sorted(present)
    assert ((found.low[there] >= 0) & (found.low[there] <= found.strength[there])).all()
    assert ((found.strength[there] <= found.high[there]) & (found.high[there] <= 1)).all()
    assert sorted(found.place[there]) == list(range(1, len(there) + 1))[: len(there)]
    absent = sorted(set(range(4)) - present)
    assert np.isnan(found.strength[absent]).all()


def test_who_won_all_of_very_many_votes_has_a_band_still():
    wins = np.zeros((3, 3))
    wins[0, 1:] = 1e6
    found = rank_options(wins, range(3))
    assert 0.99 < found.low[0] <= found.strength[0] < 1
    assert np.isfinite(found.high).all()


def test_without_votes_all_are_equal_and_nothing_is_known():
    found = rank_options(np.zeros((3, 3)), range(3))
    assert found.strength == pytest.approx(0.5)
    assert (found.high - found.low > 0.7).all()
    assert found.place.tolist() == [1, 2, 3]


@given(
    votes_of_four,
    st.integers(1, 20),
    st.integers(1, 10),
    st.lists(st.integers(0, 59), max_size=5),
    st.sets(st.integers(0, 59), max_size=3),
)
def test_the_window_has_the_votes_since_the_last_cut(votes, size, least, voided, cuts):
    window, kept, fresh = Window(4, size, least), [], 0
    for ref, vote in enumerate(votes):
        window.add(*vote, ref)
        kept, fresh = [*kept, (*vote, ref)], fresh + 1
        if ref in cuts:
            window.cut()
            fresh = 0
        kept = kept[-min(size, max(least, fresh)) :]
    for ref in voided:
        window.remove(ref)
        kept = [vote for vote in kept if vote[3] != ref]
    assert list(window.votes) == kept
    assert window.wins == pytest.approx(wins_of([vote[:3] for vote in kept]))
    again = Window.from_plain(json.loads(json.dumps(window.to_plain())))
    assert again.to_plain() == window.to_plain()
    assert again.wins == pytest.approx(window.wins)


def test_a_removed_vote_shortens_the_time_since_the_cut():
    window = Window(2, size=10, least=2)
    for ref in range(3):
        window.add(0, 1, 1, ref)
    window.cut()
    for ref in range(3, 6):
        window.add(0, 1, 1, ref)
    window.remove(5)
    window.add(0, 1, 0, 6)
    assert [vote[3] for vote in window.votes] == [3, 4, 6]  # not 2, which was before the cut


def test_a_window_widens():
    window = Window(2, 5)
    window.add(0, 1, 1, 1)
    window.widen()
    window.add(2, 0, -1, 2)
    assert window.wins.tolist() == [[0, 1, 0.5], [0, 0, 0], [0.5, 0, 0]]


def lived(votes, history=None, begin=1):
    history = history or History(most=6, stride=2)
    for n in range(begin, votes + 1):
        wins = np.zeros((2, 2))
        wins[0, 1] = n
        history.see(n, 10 * n, wins, [0, 1])
    return history


@pytest.mark.parametrize("votes", [1, 2, 12, 13, 14, 50, 1000])
def test_a_history_is_evenly_spaced_and_never_full(votes):
    found = lived(votes).lines(2)
    seen = found["votes"]
    assert len(seen) <= 6
    assert seen == [n for n in range(1, votes + 1) if n % (seen[0] if seen else 10**9) == 0]
    assert len(seen) >= min(votes // 2, 3)
    assert found["at"] == [10 * n for n in seen]
    assert all(len(line) == len(seen) for one in found["series"] for line in one.values())
    # Whoever came in between from a snapshot sees the same.
    half = json.loads(json.dumps(lived(votes // 2).to_plain()))
    assert lived(votes, History.from_plain(half), votes // 2 + 1).lines(2) == found


def test_an_option_has_no_line_before_it_came_nor_after_it_left():
    history = History(most=10, stride=1)
    history.see(1, 0, np.zeros((2, 2)), [0, 1])
    history.see(2, 0, np.zeros((3, 3)), [0, 1, 2])
    history.see(3, 0, np.zeros((3, 3)), [0, 2])
    found = history.lines(3)["series"]
    assert [x is None for x in found[2]["strength"]] == [True, False, False]
    assert [x is None for x in found[1]["low"]] == [False, False, True]


def test_a_void_adds_no_point_twice():
    history = History(most=10, stride=2)
    for votes in (1, 2, 3, 4, 3, 4, 5, 6):
        history.see(votes, votes, np.zeros((2, 2)), [0, 1])
    assert history.lines(2)["votes"] == [2, 4, 6]
