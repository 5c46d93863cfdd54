"""Longer runs than the literal recursion can follow, audited from the outside."""

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.policies import make_policy
from driftduel.worlds import make_world
from tests.policies.audit import audit
from tests.policies.runs import outcomes, traced

pytestmark = pytest.mark.kernels
RUNS = [pytest.param(seed, marks=pytest.mark.long if seed >= 8 else ()) for seed in range(40)]
ROUNDS = 2500 if jit_enabled() else 600


@pytest.mark.long
@pytest.mark.parametrize("seed", RUNS if jit_enabled() else range(4))
def test_active_sets_follow_from_the_rows_before(seed):
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(2, 5))
    kind = rng.choice(["random-condorcet", "geometric-btl", "lone-winner"])
    world = make_world(f"{kind}:arms={arms},rounds={ROUNDS},phases={rng.integers(1, 5)}", seed)
    constant = float(np.exp(rng.uniform(np.log(0.05), np.log(0.5))))
    estimate = "symmetric" if rng.random() < 0.3 else "paper"
    rate = float(rng.choice([0.05, 0.3, 1.0]))
    spec = f"anaconda:constant={constant},estimate={estimate},replay_rate={rate}"
    policy = make_policy(spec, arms, seed, horizon=ROUNDS)
    rows = traced(policy, ROUNDS, outcomes(world, seed))
    assert audit(rows, arms, ROUNDS, constant, estimate) == policy.restarts


def test_auditor_rejects_wrong_runs():
    """Change one row, and the audit notices."""
    world = make_world("geometric-btl:arms=3,rounds=600,phases=2", 1)
    policy = make_policy("anaconda:constant=0.1", 3, 1, horizon=600)
    rows = traced(policy, 600, outcomes(world, 1))
    audit(rows, 3, 600, 0.1)
    noticed = 0
    for t in range(50, 600, 50):
        wrong = list(rows)
        wrong[t] = wrong[t]._replace(active=tuple(a for a in range(3) if a not in rows[t].active))
        with pytest.raises(AssertionError):
            audit(wrong, 3, 600, 0.1)
        flipped = list(rows)
        flipped[t] = flipped[t]._replace(first_won=1 - flipped[t].first_won)
        try:
            audit(flipped, 3, 600, 0.1)
        except AssertionError:
            noticed += 1
    assert noticed > 0
