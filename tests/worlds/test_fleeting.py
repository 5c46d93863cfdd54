"""Fleeting worlds: coins by blocks, one assumption broken, no switch matters, nobody learns."""

import math
from itertools import pairwise

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.games import play
from driftduel.measures import measure
from driftduel.preferences import uniform_random
from driftduel.worlds import Fleeting, Piecewise, fleeting as module, make_world
from tests.preferences import naive

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long games are for compiled code")


@pytest.fixture
def _short_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 8)


def literal(heads, seed, size, t):
    """Toss the coins of the block up to a round."""
    block, inside = divmod(t - 1, size)
    stream = np.random.SeedSequence(seed, spawn_key=(block,))
    rng = np.random.Generator(np.random.PCG64(stream))
    coin = rng.integers(0, 2, size, dtype=np.int8)[inside]
    return heads.T if coin else heads


@pytest.mark.usefixtures("_short_blocks")
def test_every_round_of_every_chunk_is_its_coins():
    heads = uniform_random(4, np.random.default_rng(0))
    world = Fleeting(heads, rounds=50, seed=7)
    rng = np.random.default_rng(1)
    for _ in range(60):  # jumps forth and back, across blocks too
        first = int(rng.integers(1, 51))
        end = int(rng.integers(first + 1, 52))
        chunk = world.chunk(first, end)
        assert (int(chunk.starts[0]), chunk.end) == (first, end)
        assert all(a < b for a, b in pairwise(chunk.starts.tolist()))
        assert all(a != b for a, b in pairwise(chunk.rows.tolist()))  # no segment too many
        for t in range(first, end):
            row = chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1]
            np.testing.assert_array_equal(chunk.matrices[row], literal(heads.matrix, 7, 8, t))


def test_nothing_of_the_size_of_the_horizon_is_stored():
    world = make_world("fleeting:rounds=1e15")
    chunk = next(world.chunks(first=10**14))
    assert len(chunk.matrices) == 2
    assert chunk.starts.nbytes + chunk.rows.nbytes < 5e6
    assert chunk.end - chunk.starts[0] <= module._BLOCK
    assert len(chunk.starts) == pytest.approx((chunk.end - chunk.starts[0]) / 2, rel=0.1)


@pytest.mark.parametrize("kind", ["sst", "sti"])
@pytest.mark.parametrize("gamma", [None, 1, 1.5, 8])
def test_one_assumption_holds_and_the_other_fails_by_gamma(kind, gamma):
    more = "" if gamma is None else f",gamma={gamma}"
    winners = set()
    for seed in range(8):
        world = make_world(f"fleeting:kind={kind},rounds=10000{more}", seed=seed)
        for t in range(1, 11):
            P = world.preferences(t)
            kept, broken = P.sst_violation(), P.sti_violation()
            if kind == "sti":
                kept, broken = broken, kept
            assert kept is None
            assert (broken is None) == (gamma == 1)
            gaps = sorted(abs(P.matrix[a, b] - 0.5) for a in range(3) for b in range(a))
            large = 0.5 if gamma is None else gamma * (0.02 if kind == "sst" else 0.01)
            assert gaps == pytest.approx([0.01, 0.01, large])
            winners.add(naive.condorcet_winner(P.matrix))
            if gamma != 1:  # the factor: how much too large, or too small, the gap of the chain is
                a, b, c = broken
                ab, bc, ac = (P.matrix[x, y] - 0.5 for x, y in ((a, b), (b, c), (a, c)))
                factor = ac / (ab + bc) if kind == "sst" else max(ab, bc) / ac
                assert factor == pytest.approx(gamma or (25 if kind == "sst" else 50))
        assert len({naive.condorcet_winner(P) for P in world.matrices}) == 2
    assert winners == {0, 1, 2}  # there always is one, and all arms come to be it


def test_small_gaps_can_be_given():
    P = make_world("fleeting:kind=sti,eps=0.1,gamma=2").preferences(3).matrix
    assert sorted(abs(P[np.triu_indices(3, 1)] - 0.5)) == pytest.approx([0.1, 0.1, 0.2])
    # 1/sqrt(T) is more than a gap may be if T is small.
    assert make_world("fleeting:rounds=1").preferences(1).arms == 3


@compiled
@pytest.mark.parametrize("kind", ["sst", "sti"])
def test_half_of_the_rounds_switch_and_no_switch_is_significant(kind):
    rounds = 10_000
    for seed in range(2):
        found = measure(make_world(f"fleeting:kind={kind},rounds={rounds}", seed=seed))
        assert found.significant_switches == 0
        # A coin in each of T - 1 rounds: 4.5 standard deviations.
        assert abs(found.condorcet_switches - rounds / 2) < 4.5 * math.sqrt(rounds) / 2
        assert found.preference_switches == found.condorcet_switches
    # The test can fail: gaps that are not small make every arm unsafe.
    assert measure(make_world(f"fleeting:kind={kind},rounds={rounds},eps=0.2")).significant_switches


def cost_of_a_round(kind, small, large):
    """What a round costs on average, whoever plays: the mean over roles and sides of the coin."""
    return (large + small) / 3 if kind == "sst" else (large + 3 * small) / 6


@pytest.mark.parametrize("kind", ["sst", "sti"])
def test_a_round_costs_what_the_theory_page_says(kind):
    for gamma, small in ((None, 0.01), (4, 0.02)):
        more = "" if gamma is None else f",gamma={gamma}"
        world = make_world(f"fleeting:kind={kind},eps={small}{more}")
        large = 0.5 if gamma is None else gamma * small * (2 if kind == "sst" else 1)
        costs = [
            P[naive.condorcet_winner(P), role] - 0.5 for P in world.matrices for role in range(3)
        ]
        assert np.mean(costs) == pytest.approx(cost_of_a_round(kind, small, large))
        # Who knew the role in the middle would lose next to nothing.
        by_role = np.reshape(costs, (2, 3)).max(axis=0)
        assert sorted(by_role)[0] == pytest.approx(small)


@compiled
@pytest.mark.long
@pytest.mark.parametrize("kind", ["sst", "sti"])
@pytest.mark.parametrize(
    "policy",
    ["uniform", "king", "anaconda:constant=0.02", "exp3s", "dts", "sw-dts:window=500", "metaswift"],
)
def test_nobody_beats_uniform_play(kind, policy):
    """Averaged over roles: a game's plays may favour one of them, but know nothing of it."""
    rounds, runs = 5_000, 200
    spec = f"fleeting:kind={kind},rounds={rounds}"
    found = np.array([play(policy, spec, seed=seed).total / rounds for seed in range(runs)])
    expected = cost_of_a_round(kind, rounds**-0.5, 0.5)
    error = found.std(ddof=1) / math.sqrt(runs)
    assert 4 * error < 0.2 * expected  # precise enough to tell
    assert abs(found.mean() - expected) < 4 * error


@compiled
@pytest.mark.long
def test_what_nobody_can_do_would_be_easy_without_the_coin():
    """The test above can fail: where the coin always shows heads, king finds the winner."""
    world = make_world("fleeting:rounds=5000")
    still = Piecewise([world.matrices[0]], [1], 5000)
    found = np.mean([play("king", still, seed=seed).total / 5000 for seed in range(50)])
    assert found < 0.5 * cost_of_a_round("sst", 5000**-0.5, 0.5)
