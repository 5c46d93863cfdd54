"""The five measures against their definitions, and the paper's inequalities."""

import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.measures import measure
from driftduel.preferences import (
    Preferences,
    cycle,
    cycle_on_top,
    random_condorcet,
    uniform_random,
)
from driftduel.worlds import Piecewise, make_world

naive = import_module(".naive" if __package__ else "naive", __package__)
pytestmark = pytest.mark.kernels
EXAMPLES = 200 if jit_enabled() else 30


@st.composite
def condorcet_worlds(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    arms, rounds = draw(st.integers(2, 4)), draw(st.integers(1, 60))
    kind = draw(st.sampled_from(["piecewise", "periodic", "random-walk", "seasonal"]))
    if kind in ("random-walk", "seasonal"):
        return make_world(f"{kind}:arms={arms},rounds={rounds},spread=2", int(rng.integers(1000)))
    phases = draw(st.integers(1, min(6, rounds)))
    starts = np.concatenate(([1], np.sort(rng.choice(np.arange(2, rounds + 1), phases - 1, False))))
    pool = [random_condorcet(arms, rng, p_min=0.9) for _ in range(3)]
    matrices = [pool[rng.integers(3)] for _ in range(phases)]
    if kind == "periodic":
        return Piecewise(matrices, starts, 2 * rounds, period=rounds)
    return Piecewise(matrices, starts, rounds)


@given(condorcet_worlds())
@settings(max_examples=EXAMPLES)
def test_measures_follow_their_definitions_and_the_papers_inequalities(world):
    found = measure(world)
    P = [world.preferences(t).matrix for t in range(1, world.rounds + 1)]
    winners = [world.preferences(t).condorcet_winner() for t in range(1, world.rounds + 1)]
    steps = range(1, world.rounds)
    preference_rounds = [t + 1 for t in steps if (P[t] != P[t - 1]).any()]
    condorcet_rounds = [t + 1 for t in steps if winners[t] != winners[t - 1]]
    assert found.preference_switches == len(preference_rounds)
    assert found.preference_switch_rounds.tolist() == preference_rounds
    assert found.condorcet_switches == len(condorcet_rounds)
    assert found.condorcet_switch_rounds == condorcet_rounds
    V = sum(np.abs(P[t] - P[t - 1]).max() for t in steps)
    of_winner = sum(np.abs(P[t][winners[t]] - P[t - 1][winners[t]]).max() for t in steps)
    assert found.total_variation == pytest.approx(V, abs=1e-9)
    assert found.condorcet_variation == pytest.approx(of_winner, abs=1e-9)
    assert found.significant_switches <= found.condorcet_switches <= found.preference_switches
    assert found.condorcet_variation <= found.total_variation + 1e-9
    covered = [t for phase in found.phases for t in range(phase.first, phase.last + 1)]
    assert covered == list(range(1, world.rounds + 1))
    for phase in found.phases:
        assert winners[phase.first - 1] == winners[phase.last - 1] == phase.winner
    assert found.rounds_with_winner == world.rounds
    assert found.between_winners == found.condorcet_switch_rounds
    assert found.winners_variation == found.condorcet_variation
    assert found.von_neumann_switch_rounds == found.significant_switch_rounds
    assert found.smith_sets == [(first, (winner,)) for first, winner in found.condorcet_winners]
    assert found.smith_sizes == (1.0, 1)


@given(st.integers(0, 10**6), st.integers(3, 5), st.integers(10, 60))
@settings(max_examples=EXAMPLES // 4)
def test_what_is_left_of_them_without_a_winner(seed, arms, rounds):
    rng = np.random.default_rng(seed)
    phases = int(rng.integers(1, 6))
    starts = np.append(1, np.sort(rng.choice(np.arange(2, rounds + 1), phases - 1, False)))
    pool = [random_condorcet(arms, rng, p_min=0.9), *(uniform_random(arms, rng) for _ in range(3))]
    pool.append(Preferences(np.full((arms, arms), 0.5)))
    world = Piecewise([pool[rng.integers(len(pool))] for _ in range(phases)], starts, rounds)
    world.chunk_rounds = int(rng.integers(1, rounds + 1))
    found = measure(world)
    P = [world.preferences(t) for t in range(1, rounds + 1)]
    winners = [p.condorcet_winner() for p in P]
    assert found.rounds_with_winner == rounds - winners.count(None)
    last, between, variation = None, [], 0.0
    for t, winner in enumerate(winners):
        if winner is None:
            continue
        if t:
            variation += np.abs(P[t].matrix[winner] - P[t - 1].matrix[winner]).max()
        if last not in (None, winner):
            between.append(t + 1)
        last = winner
    assert found.between_winners == between
    assert found.winners_variation == pytest.approx(variation, abs=1e-9)
    smith = [p.smith_set() for p in P]
    changes = [t for t in range(rounds) if t == 0 or smith[t] != smith[t - 1]]
    assert found.smith_sets == [(t + 1, smith[t]) for t in changes]
    mean, most = found.smith_sizes
    assert mean == pytest.approx(np.mean([len(arms) for arms in smith]))
    assert most == max(len(arms) for arms in smith)
    losses = [np.maximum(p.von_neumann_winner() @ (p.matrix - 0.5), 0) for p in P]
    assert found.von_neumann_switch_rounds == naive.significant_switches(losses)
    if None in winners:
        assert found.condorcet_switches is found.significant_switch_rounds is None
        assert "bounds" not in found.as_dict()


def test_arms_that_take_turns_in_the_mixture_make_no_significant_switch():
    """Who is in the von Neumann winner loses nothing, however the shares move."""
    skewed = [cycle_on_top([0, 1, 2], odds, 0.8) for odds in ((0.9, 0.6, 0.6), (0.6, 0.9, 0.6))]
    world = Piecewise(skewed, [1, 5001], 10_000)
    assert measure(world).von_neumann_switch_rounds == []
    labels = [cycle_on_top(order, (0.7, 0.7, 0.7), 0.8) for order in ([0, 1, 2, 3], [3, 1, 2, 0])]
    world = Piecewise(labels, [1, 5001], 10_000)
    assert measure(world).von_neumann_switch_rounds == []  # two of the three stay
    labels = [cycle_on_top(order, (0.7,) * 3, 0.8) for order in ([*range(6)], [*range(6)][::-1])]
    (switch,) = measure(Piecewise(labels, [1, 5001], 10_000)).von_neumann_switch_rounds
    # Each loses 0.3 a round once it is out: (n + 1) 0.3 >= sqrt(6 n) from n = 65 on.
    assert switch == 5001 + 65 + 1


def test_the_remarks_example():
    found = measure(make_world("alternating:rounds=2000"))
    assert found.condorcet_switches == found.significant_switches == 0
    assert found.condorcet_variation == 0
    assert found.preference_switches == found.total_variation == 1999


def test_the_two_arm_example():
    found = measure(make_world("two-arm:rounds=2000"))
    assert found.condorcet_switch_rounds == [1001]
    assert found.significant_switches == 1
    assert found.significant_switch_rounds[0] > 1001
    # A phase of one arm hurts the other by 1/2 a round: (n + 1)/2 >= sqrt(2 n) from n = 6 on.
    assert found.significant_switch_rounds == [1001 + 6 + 1]


def test_appendix_significance_asks_for_more():
    world = make_world("lone-winner:arms=5,rounds=20000,phases=10,eps=0.1")
    main, appendix = measure(world), measure(world, "appendix")
    assert 0 < appendix.significant_switches < main.significant_switches
    assert all(
        late > early
        for early, late in zip(
            main.significant_switch_rounds, appendix.significant_switch_rounds, strict=False
        )
    )


def test_worlds_without_a_winner_still_have_s_p_and_v():
    world = Piecewise([random_condorcet(3, np.random.default_rng(0)), cycle(3)], [1, 6], 9)
    found = measure(world)
    assert found.preference_switches == 1
    assert found.total_variation > 0
    assert found.first_round_without_winner == 6
    assert found.condorcet_switches is found.significant_switches is None
    assert found.condorcet_variation is None
    assert found.phases[-1].winner is None
    with pytest.raises(DriftduelError, match="round 6 has none"):
        found.bounds()


@pytest.mark.skipif(not jit_enabled(), reason="a million rounds are for compiled code")
def test_large_worlds_finish():
    piecewise = measure(make_world("geometric-btl:arms=10,rounds=1e9,phases=20,change=winner"))
    assert piecewise.condorcet_switches == piecewise.significant_switches == 19
    drifting = measure(make_world("random-walk:arms=10,rounds=100000"))
    assert drifting.preference_switches == 99_999
    assert drifting.significant_switches <= drifting.condorcet_switches


def test_switch_rounds_are_counted_but_not_kept_without_limit(monkeypatch):
    monkeypatch.setattr("driftduel.measures.non_stationarity._MOST_ROUNDS_KEPT", 50)
    found = measure(make_world("alternating:rounds=100"))
    assert found.preference_switches == 99
    assert found.preference_switch_rounds is None


@pytest.mark.skipif(not jit_enabled(), reason="a million rounds are for compiled code")
def test_switch_rounds_that_are_not_kept_take_no_memory(monkeypatch):
    monkeypatch.setattr("driftduel.measures.non_stationarity._MOST_ROUNDS_KEPT", 10)
    measure(make_world("alternating:rounds=20"), None)  # compiled
    tracemalloc.start()
    try:
        assert measure(make_world("alternating:rounds=2000000"), None).preference_switches > 10**6
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2_000_000 / 2
