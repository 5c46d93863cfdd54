"""The pruned stacks keep, for all time, the best start of every stretch between replays."""

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.policies import make_policy
from driftduel.policies._anaconda.pruning import prune
from driftduel.policies._anaconda.record import LIST
from driftduel.policies._anaconda.rule import threshold
from driftduel.policies._anaconda.starts import stack

pytestmark = pytest.mark.kernels
CASES = 600 if jit_enabled() else 60


def random_stack(rng):
    """Fill the stack of one pair with useful starts: sums increasing."""
    arms = int(rng.integers(2, 5))
    policy = make_policy(f"anaconda:constant={rng.uniform(0.05, 1)}", arms, 0, horizon=10**5)
    state, size = policy.state, int(rng.integers(3, 60))
    gap = int(rng.choice([2, 10, 100]))
    starts = np.cumsum(rng.integers(1, gap, size))
    rise = rng.choice([0.2, 1.0, 5.0]) * gap
    sums = np.cumsum(rng.integers(1, 2 + int(rise * rng.choice([1, 1, 20])), size)) - 500
    state.pairs[0].filled = size
    state.stacks["start"][:size] = starts
    state.stacks["balance"][:size] = sums
    depth = int(rng.integers(1, 5))
    begun = np.sort(rng.choice(np.arange(1, starts[-1] + 1), min(depth, starts[-1]), False))
    state.replays["start"][: len(begun)] = begun
    state.numbers[0].depth = len(begun)
    now = int(starts[-1] + rng.integers(1, 3 * gap))
    return state, now, begun


def best(state, entries, t):
    """Return by how much the best of some starts is above its threshold at time t."""
    excess = [-entry.balance - 2 * threshold(state, t - int(entry.start)) for entry in entries]
    return max(excess)


@pytest.mark.long
def test_no_start_that_will_be_the_best_is_dropped():
    rng = np.random.default_rng(0)
    dropped = 0
    for case in range(CASES):
        state, now, begun = random_stack(rng)
        before = state.stacks[: state.pairs[0].filled].copy()
        prune(state, now, 0)
        after = state.stacks[: state.pairs[0].filled]
        dropped += len(before) - len(after)
        later = now + np.unique(np.geomspace(1, 3e5, 40).astype(int))
        stretch_before = np.searchsorted(begun, before["start"], side="right")
        stretch_after = np.searchsorted(begun, after["start"], side="right")
        for stretch in np.unique(stretch_before):
            full, kept = before[stretch_before == stretch], after[stretch_after == stretch]
            for t in later:
                assert best(state, kept, t) >= best(state, full, t) - 1e-6, (case, stretch, t)
    assert dropped > CASES


def test_useful_starts_are_those_below_all_later_ones():
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        policy = make_policy("anaconda", 2, 0, horizon=1000)
        state, size, count = policy.state, int(rng.integers(0, 20)), int(rng.integers(1, 32))
        old = np.sort(rng.choice(200, size, False)) - 100
        new = rng.integers(-100, 100, count)
        state.stacks["balance"][:size] = old
        state.stacks["start"][:size] = np.arange(size)
        state.pairs[0].filled = size
        waiting = state.waiting[:LIST]
        waiting["balance"][:count] = new
        waiting["start"][:count] = size + np.arange(count)
        stack(state, 0, count)
        everything = np.concatenate((old, new))
        useful = [i for i, x in enumerate(everything) if not (everything[i + 1 :] <= x).any()]
        got = state.stacks[: state.pairs[0].filled]
        assert got["start"].tolist() == useful
        assert got["balance"].tolist() == everything[useful].tolist()
