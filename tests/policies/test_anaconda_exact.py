"""The engine plays the literal algorithm's duels, round by round."""

import math

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.policies import make_policy
from driftduel.policies._anaconda.rule import threshold
from driftduel.worlds import make_world
from tests.policies.anaconda_literal import literal_anaconda, replay_lengths
from tests.policies.runs import outcomes, traced

pytestmark = pytest.mark.kernels
INSTANCES = 80 if jit_enabled() else 40


def random_instance(seed):
    """Draw a small world and parameters under which much is eliminated."""
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(2, 6))
    horizon = int(rng.integers(2, 201))
    kind = rng.choice(["random-condorcet", "geometric-btl", "utilities"])
    phases = int(rng.integers(1, min(6, horizon) + 1))
    world = make_world(f"{kind}:arms={arms},rounds={horizon},phases={phases}", int(seed))
    constant = float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
    if rng.random() < 0.4:  # a threshold that sums can hit exactly
        target = float(rng.integers(1, 4 * arms**2)) / 2
        constant = target / (math.log(horizon) * arms * arms)
    estimate = "symmetric" if rng.random() < 0.3 else "paper"
    rate = float(rng.choice([0.3, 1.0, 1.0, 2.0]))
    return world, constant, estimate, rate


def literal_twin(rows, world, constant, outcome, rule="paper", estimate="paper"):
    """Run the literal algorithm on the random numbers that led to `rows`."""
    lengths = replay_lengths(world.rounds)
    B = np.zeros((world.rounds + 2, len(lengths)), dtype=bool)
    picks = []
    for t, row in enumerate(rows, start=1):
        if row.replay_start == t != row.episode_start:
            B[t, lengths.index(row.replay_end - t)] = True
        n = len(row.active)
        i, j = row.active.index(row.first), row.active.index(row.second)
        picks.append((i + (j + 0.5) / n) / n)
    return literal_anaconda(
        world.arms, world.rounds, constant, lambda t_l: B, picks, outcome,
        rule=rule, estimate=estimate,
    )  # fmt: skip


def compare(seeds):
    """Compare the engine with the literal algorithm, round by round, on many instances."""
    eliminated = restarted = replays = 0
    for seed in seeds:
        world, constant, estimate, rate = random_instance(seed)
        outcome = outcomes(world, seed)
        spec = f"anaconda:constant={constant},estimate={estimate},replay_rate={rate}"
        policy = make_policy(spec, world.arms, seed, horizon=world.rounds)
        rows = traced(policy, world.rounds, outcome)
        assert rows == literal_twin(rows, world, constant, outcome, estimate=estimate), seed
        eliminated += any(len(row.active) < world.arms for row in rows)
        restarted += len({row.episode_start for row in rows}) > 1
        replays += any(row.replay_start != row.episode_start for row in rows)
    # The comparison means something only where much happens.
    assert min(eliminated, restarted, replays) > len(seeds) / 3


def test_the_engine_equals_the_literal_algorithm():
    compare(range(INSTANCES))


@pytest.mark.long
def test_the_engine_equals_the_literal_algorithm_on_more_instances():
    compare(range(INSTANCES, 300 if jit_enabled() else 80))


@pytest.mark.slow
def test_the_engine_equals_the_literal_algorithm_on_many_more_instances():
    compare(range(300, 2300))


def test_sums_that_hit_the_threshold_exactly_do_not_fire():
    """K = 2: a single win weighs 4, so two rounds sum to 3; at a threshold of 3 nothing fires."""
    horizon, arms = 50, 2
    fired = {}
    for target in (3.0, 2.5):
        constant = target / (math.log(horizon) * arms * arms)
        while constant * math.log(horizon) * arms * 2.0 > target:
            constant = math.nextafter(constant, 0)
        if constant * math.log(horizon) * arms * 2.0 != target:
            constant = math.nextafter(constant, 1)
        assert constant * math.log(horizon) * arms * math.sqrt(4) == target
        policy = make_policy(f"anaconda:constant={constant}", arms, 0, horizon=horizon)
        for won in (1, 0):
            duel = policy.ask()
            policy.tell_first_won(duel, won)
        fired[target] = int((policy.state.last >= 1).sum())
    assert fired == {3.0: 0, 2.5: 1}


def test_long_windows_that_hit_the_threshold_exactly_do_not_fire():
    """Six wins of weight 4 in 17 rounds sum to 24 - 17/2 = 15.5, and no part of them to enough."""
    wins = (1, 4, 7, 11, 14, 17)
    fired = {}
    for factor in (15.5 / 4, math.nextafter(15.5 / 4, 0)):  # times the root of 17 - 1
        policy = make_policy("anaconda", 2, 0, horizon=50)
        policy.state.numbers[0].factor = factor
        policy.state.numbers[0].least_rise = int(2 * factor * math.sqrt(4))
        for t in range(1, 18):
            policy.choose(t)
            policy.learn(t, 0, 1, int(t in wins), (4.0,))
        fired[factor] = (policy.state.last >= 1).tolist()
    assert list(fired.values()) == [[False, False], [False, True]]


def test_a_pair_fires_in_the_very_round_in_which_its_first_window_does():
    """Wins are so rare that sums creep up to their thresholds; no look may come too late."""
    waited = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        factor = rng.uniform(3, 7)
        won = rng.random(400) < rng.uniform(0.13, 0.3)
        before = np.concatenate(([0], np.cumsum(4.0 * won - 0.5)))
        policy = make_policy("anaconda", 2, seed, horizon=400)
        policy.state.numbers[0].factor = factor
        policy.state.numbers[0].least_rise = int(2 * factor * math.sqrt(4))
        for t in range(1, 401):
            policy.choose(t)
            policy.learn(t, 0, 1, int(won[t - 1]), (4.0,))
            starts = np.arange(1, t)
            limit = factor * np.sqrt(np.maximum(t - starts, 4))
            firing = starts[before[t] - before[starts - 1] > limit]
            assert policy.state.last[1] == max(firing, default=-1), (seed, t)
            if len(firing):
                waited.append(t)
                break
    assert len(waited) > 30
    assert np.median(waited) > 20


@pytest.mark.long
@pytest.mark.parametrize("estimate", ["paper", "symmetric"])
def test_freedmans_rule_equals_the_literal_one(estimate):
    """The rule fires at long horizons only, so its thresholds are scaled down for both sides."""
    happened, instances = 0, 60 if jit_enabled() else 8
    for seed in range(instances):
        arms = 2 + seed % 2
        world = make_world(f"total-order:arms={arms},rounds=160,phases=3,p=1", seed)
        outcome = outcomes(world, seed)
        policy = make_policy(f"anaconda:rule=freedman,estimate={estimate}", arms, seed, 160)
        numbers = policy.state.numbers[0]
        numbers.factor *= 0.15
        numbers.offset *= 0.03
        numbers.least_rise = int(2 * numbers.offset)
        heaviest = numbers.symmetric + 1  # a win weighs K^2, or half of it
        assert numbers.offset > arms**2 / heaviest  # no single win fires, as in real life
        factor, offset = float(numbers.factor), float(numbers.offset)
        rows = traced(policy, world.rounds, outcome)
        rule = lambda n, V, f=factor, o=offset: f * math.sqrt(V) + o  # noqa: E731
        assert rows == literal_twin(rows, world, 1.0, outcome, rule, estimate), seed
        happened += any(len(row.active) < arms for row in rows)
    assert happened > instances / 4


@pytest.mark.parametrize(("estimate", "half"), [("paper", 1.0), ("symmetric", 0.5)])
def test_freedmans_thresholds_are_the_lemmas(estimate, half):
    """(e-1) (sqrt(V L) + R L), with V and R halved for the symmetric estimate."""
    for arms, horizon in ((2, 10), (7, 10**6)):
        policy = make_policy(f"anaconda:rule=freedman,estimate={estimate}", arms, 0, horizon)
        L = 4 * math.log(horizon) + 2 * math.log(arms)
        for V in (4, 100, 12345):
            expected = (math.e - 1) * (math.sqrt(half * V * L) + half * arms**2 * L)
            assert threshold(policy.state, V) == pytest.approx(expected, rel=1e-14)
        assert policy.state.numbers[0].one_win_fires == 0
