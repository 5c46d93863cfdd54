"""Worlds after patterns of real life: each is what its one line says."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from driftduel.errors import DriftduelError
from driftduel.worlds import Paths, make_world

NAMES = [
    "restless", "recurring", "bursts", "overtake", "league", "crossing", "surges", "tastes",
]  # fmt: skip


def winners(spec, seed=3):
    return make_world(spec, seed).condorcet_winners()


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_fixes_it_and_there_is_always_a_winner(name):
    one, same, other = (make_world(f"{name}:rounds=20000", seed) for seed in (1, 1, 2))
    for t in (1, 5000, 20_000):
        assert one.preferences(t) == same.preferences(t)
    assert any(one.preferences(t) != other.preferences(t) for t in (1, 5000, 20_000))
    assert all(winner >= 0 for _, winner in one.condorcet_winners())


def gaps_of_winners(world):
    """Return the winners' leads over all others, phase by phase."""
    for start, winner in world.condorcet_winners():
        row = world.preferences(start).matrix[winner]
        yield np.delete(row, winner) - 0.5


@pytest.mark.parametrize("name", ["restless", "recurring", "bursts"])
def test_a_winner_leads_everybody_by_one_to_two_gaps(name):
    for gaps in gaps_of_winners(make_world(f"{name}:rounds=20000,gap=0.07", 5)):
        assert gaps.min() >= 0.07 - 1e-12
        assert gaps.max() <= 0.14 + 1e-12


def test_restless_changes_as_often_however_long_it_lasts():
    for rounds in (20_000, 200_000):
        changes = np.mean(
            [len(winners(f"restless:rounds={rounds},every=500", s)) for s in range(8)]
        )
        assert changes == pytest.approx(rounds / 500, rel=0.12)
    assert len(winners("restless:rounds=20000,every=500,change=background")) == 1


def test_recurring_has_so_many_winners_and_comes_back_to_each_with_the_same_preferences():
    world = make_world("recurring:arms=9,rounds=50000,every=500,regimes=4", 1)
    seen = {}
    for start, winner in world.condorcet_winners():
        assert seen.setdefault(winner, world.preferences(start)) == world.preferences(start)
    assert len(seen) == 4


def test_bursts_are_where_they_should_be():
    starts = [start for start, _ in winners("bursts:rounds=30000,bursts=2,changes=3,every=100")]
    assert starts == [1, 10_001, 10_101, 10_201, 20_001, 20_101, 20_201]


def test_overtake_moves_one_arm_to_the_top_and_leaves_the_others_in_order():
    world = make_world("overtake:arms=7,rounds=700,phases=5,gap=0.03", 2)
    orders = []
    for phase in range(5):
        matrix = world.preferences(1 + 140 * phase).matrix
        order = np.argsort(-matrix.sum(axis=1)).tolist()
        assert matrix[order[:-1], order[1:]] == pytest.approx(0.53)
        orders.append(order)
    for before, after in pairwise(orders):
        assert after[0] != before[0]
        assert after[1:] == [arm for arm in before if arm != after[0]]


def test_strengths_in_a_league_carry_over_as_much_as_is_said():
    world = make_world("league:arms=40,rounds=3000,seasons=300,sd=0.5,memory=0.7", 4)
    matrices = np.stack([world.preferences(1 + 10 * season).matrix for season in range(300)])
    # Differences to one arm have twice the variance and the same correlation.
    strengths = np.log(matrices[:, 1:, 0] / (1 - matrices[:, 1:, 0]))
    assert strengths.std() == pytest.approx(0.5 * 2**0.5, rel=0.1)
    later, earlier = strengths[1:].ravel(), strengths[:-1].ravel()
    assert np.corrcoef(later, earlier)[0, 1] == pytest.approx(0.7, abs=0.05)


def test_two_leaders_cross_so_many_times_and_nobody_else_leads():
    found = winners("crossing:arms=6,rounds=9001,crossings=4,gap=0.2")
    assert len(found) == 5
    assert len({winner for _, winner in found}) == 2
    assert [start for start, _ in found][1:] == pytest.approx([1127, 3377, 5627, 7877], abs=2)
    world = make_world("crossing:arms=6,rounds=9001,crossings=4,gap=0.2", 3)
    for t in (1, 2251, 4501):  # farthest apart at the ends, and halfway between two crossings
        both = sorted({winner for _, winner in found})
        assert abs(world.preferences(t).matrix[both[0], both[1]] - 0.5) == pytest.approx(0.2)
    assert len(winners("crossing:arms=2,rounds=100,crossings=1")) == 2


def test_a_surge_jumps_up_and_fades():
    world = make_world("surges:arms=5,rounds=40000,every=20000,fade=2000,height=2,sd=0", 8)
    begins = [start for start, _ in winners("surges:arms=5,rounds=40000,every=20000,fade=2000,"
                                            "height=2,sd=0", 8)]  # fmt: skip
    start = begins[-1]
    rows = world.utilities(start, start + 2001)
    arm = int(rows[0].argmax())
    assert rows[0, arm] - world.utilities(start - 1, start)[0, arm] == pytest.approx(2, abs=1e-9)
    assert rows[2000, arm] / rows[0, arm] == pytest.approx(np.exp(-1), abs=0.02)


def test_a_taste_that_turns_comes_back_and_one_that_does_not_stays():
    turned = make_world("tastes:arms=12,rounds=10000,turns=1", 3)
    assert turned.utilities(1, 2) == pytest.approx(turned.utilities(10_000, 10_001))
    assert len(turned.condorcet_winners()) > 2
    assert len(winners("tastes:arms=12,rounds=10000,turns=0")) == 1


def test_a_taste_that_depends_on_the_request_is_a_matrix_that_rotates():
    arms, dimensions, rounds, p = 5, 4, 3000, 2
    spec = f"tastes:arms={arms},rounds={rounds},dimensions={dimensions},turns=0.5,strength=3"
    world = make_world(f"{spec},features={p}", 3)
    rng = np.random.default_rng(np.random.SeedSequence(3))
    options = rng.normal(size=(arms, dimensions))
    options /= np.linalg.norm(options, axis=1, keepdims=True)
    plane = np.linalg.qr(rng.normal(size=(dimensions, 2)))[0]
    others = rng.normal(size=(dimensions, p))
    tastes = np.column_stack((plane[:, 0], others / np.linalg.norm(others, axis=0)))
    assert world.starts.tolist() == list(range(1, rounds + 1, 50))
    for segment in (0, 1, 17, 59):
        angle = np.pi * 50 * segment / rounds
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        rotation = np.eye(dimensions) + plane @ (turn - np.eye(2)) @ plane.T
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(dimensions), atol=1e-12)
        theta = 3 * options @ rotation @ tastes
        np.testing.assert_allclose(world.thetas[segment], theta, atol=1e-12)
    # Without features the vector is the first column, so the two worlds have the same options.
    plain = make_world(spec, 3).utilities(1, 2)[0]
    np.testing.assert_allclose(world.thetas[0, :, 0], plain, atol=1e-12)
    assert len(make_world(f"{spec.replace('turns=0.5', 'turns=0')},features=1", 3).starts) == 1
    assert len(np.unique(world.request_chunk(1, 51).losses.argmin(axis=1))) > 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("tastes:features=3,rounds=1e12", "coefficients of every 50 rounds"),
        ("recurring:arms=3,regimes=4", "regimes=4 must be at most arms=3"),
        ("bursts:rounds=1000,changes=8,every=100", "more than half of 1000 rounds"),
        ("league:rounds=5,seasons=6", "seasons=6 must be at most rounds=5"),
        ("restless:rounds=1e9,every=10", "every=10 makes more than 1,000,000 changes"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(spec, said):
    with pytest.raises(DriftduelError, match=said):
        make_world(spec)


@given(st.integers(1, 60), st.integers(1, 60))
def test_a_path_is_the_same_however_it_is_cut_into_chunks(first, length):
    world = Paths([3, 10, 31], [[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]], 120)
    whole = world.utilities(1, 121)
    assert world.utilities(first, first + length).tolist() == whole[first - 1 :][:length].tolist()
    assert whole[0].tolist() == [0.0, 1.0]
    assert whole[-1].tolist() == [0.5, 0.5]
    assert whole[5] == pytest.approx([6 / 7, 1 - 6 / 7])


def test_a_path_that_makes_no_sense_is_refused():
    with pytest.raises(DriftduelError, match="2 knots need as many rows"):
        Paths([1, 2], [[0.0, 1.0]], 10)
    with pytest.raises(DriftduelError, match="must ascend"):
        Paths([2, 2], [[0.0, 1.0], [1.0, 0.0]], 10)
