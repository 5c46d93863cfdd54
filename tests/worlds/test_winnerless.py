"""Worlds without a winner: who wins in which phase, asked of twins that know nothing of models."""

import numpy as np
import pytest

from driftduel.worlds import make_world
from tests.preferences import naive

SIZES = "rounds=60,phases=6"


def phases_of(spec, seed):
    world = make_world(spec, seed=seed)
    return [world.preferences(t).matrix for t in world.starts.tolist()]


def every(spec):
    """Return the matrices of all phases of ten such worlds."""
    found = [matrix for seed in range(10) for matrix in phases_of(spec, seed)]
    assert len(found) == 60
    return found


def labels(matrices, of):
    return {of(matrix) for matrix in matrices}


@pytest.mark.parametrize(
    ("spec", "strengths", "over"),
    [("rps-top", (0.7, 0.7, 0.7), 0.8), ("skew-top", (0.6, 0.7, 0.9), 0.8),
     ("rps-top:arms=5,p=0.6,over=0.9", (0.6, 0.6, 0.6), 0.9),
     ("skew-top:arms=4,first=0.55,second=1,third=0.75,over=0.6", (0.55, 0.75, 1.0), 0.6)],
)  # fmt: skip
def test_three_are_on_top_and_beat_each_other_in_a_circle(spec, strengths, over):
    matrices = every(spec + ("," if ":" in spec else ":") + SIZES)
    for P in matrices:
        assert naive.condorcet_winner(P) is None
        top = naive.smith_set(P)
        assert len(top) == 3
        among = sorted(P[a, b] for a in top for b in top if P[a, b] > 0.5)
        assert among == pytest.approx(strengths)
        outside = [b for b in range(len(P)) if b not in top]
        assert {round(P[a, b], 9) for a in top for b in outside} == {over}
        assert {round(max(P[a, b], P[b, a]), 9) for a in outside for b in outside if a < b} <= {
            over
        }
    assert len(labels(matrices, naive.smith_set)) > (len(matrices[0]) > 4) * 3 + 1


def test_skewed_circles_have_their_strengths_in_order():
    for P in every(f"skew-top:first=0.9,second=0.6,third=0.7,{SIZES}"):
        (one,) = [a for a in naive.smith_set(P) if 0.9 in P[a].round(9)]
        (two,) = np.flatnonzero(P[one].round(9) == 0.9)
        (three,) = [c for c in naive.smith_set(P) if c not in (one, two)]
        assert (P[two, three], P[three, one]) == pytest.approx((0.6, 0.7))


@pytest.mark.parametrize("arms", [5, 6, 7])
def test_where_borda_and_copeland_clash(arms):
    matrices = every(f"clash:arms={arms},{SIZES}")
    for P in matrices:
        assert naive.condorcet_winner(P) is None
        majorities, scores = naive.copeland_scores(P), naive.borda_scores(P)
        copeland = [a for a in range(arms) if majorities[a] == max(majorities)]
        borda = [a for a in range(arms) if scores[a] > max(scores) - 1e-9]
        assert len(copeland) == len(borda) == 1
        assert copeland != borda
        assert majorities[copeland[0]] == arms - 2
        assert majorities[borda[0]] == arms - 3
        assert len(naive.smith_set(P)) == arms
    assert len(labels(matrices, lambda P: int(np.argmax(naive.borda_scores(P))))) == arms


@pytest.mark.parametrize("arms", [3, 5])
def test_all_are_in_one_circle_and_circles_differ(arms):
    spec = f"cycle:arms={arms},p=0.7,{SIZES}"
    matrices = every(spec)
    for P in matrices:
        assert len(naive.smith_set(P)) == arms
        assert naive.copeland_scores(P) == [arms // 2] * arms
        assert naive.borda_scores(P) == pytest.approx([0.5] * arms)
        assert {round(each, 9) for each in P.ravel()} == {0.3, 0.5, 0.7}
    assert len({P.tobytes() for P in matrices}) > (1 if arms == 3 else 12)  # of 2, of 24
    # The first circle is the plain one, whatever the seed, as it was before there were phases.
    plain = make_world(f"cycle:arms={arms},p=0.7").preferences(1).matrix
    for seed in range(3):
        np.testing.assert_array_equal(phases_of(spec, seed)[0], plain)


def test_phases_with_and_without_a_winner_take_turns():
    for seed in range(10):
        matrices = phases_of(f"mixed:arms=5,{SIZES}", seed)
        winners = [naive.condorcet_winner(P) for P in matrices]
        assert [winner is None for winner in winners] == [False, True] * 3
        for P in matrices[::2]:
            order = np.argsort(naive.copeland_scores(P))[::-1]
            assert P[order[0], order[1:]] == pytest.approx(
                [2 / 3, 4 / 5, 8 / 9, 16 / 17], abs=1e-12
            )
        assert all(len(naive.smith_set(P)) == 3 for P in matrices[1::2])


def test_uniform_matrices_have_a_winner_only_now_and_then():
    """Eight arms: the first beats all with probability 2^-7, so somebody does in 6% of phases."""
    found = [naive.condorcet_winner(P) for P in every(f"uniform-random:arms=8,{SIZES}")]
    assert 0 < sum(winner is not None for winner in found) < 15


@pytest.mark.parametrize(
    ("spec", "lost"),
    [
        ("rps-top", 0.21),
        ("skew-top", 0.23),
        ("cycle:arms=5,p=0.7", 0.0),
        ("clash", (3 * 0.45 - 2 * 0.05) / 6),
        ("mixed", (0.3737 + 0.21) / 2),
        ("geometric-btl", 0.3737),
    ],
)
def test_what_the_best_arm_of_a_phase_wins_against_uniform_play(spec, lost):
    """The gains of the worlds that policies without a winner are compared on, by hand."""
    world = make_world(spec + ("," if ":" in spec else ":") + "rounds=300000,phases=6", seed=1)
    assert (world.rounds, len(world.starts)) == (300_000, 6)
    gains = [max(sum(row) / len(P) - 0.5 for row in P) for P in world.matrices]
    assert np.mean(gains) == pytest.approx(lost, abs=5e-5)
