"""Play a policy by ask and tell, one round after the other, and write everything down."""

import numpy as np

from driftduel.policies import Policy
from tests.policies.anaconda_literal import LiteralRound


def outcomes(world, seed):
    """Return a function (t, a, b) -> first won, from one uniform number a round."""
    uniforms = np.random.default_rng(seed).random(world.rounds + 1)
    return lambda t, a, b: int(uniforms[t] < world.preferences(t).matrix[a, b])


def traced(policy: Policy, rounds, outcome):
    """Play and return a `LiteralRound` for each round."""
    rows = []
    for t in range(1, rounds + 1):
        duel = policy.ask()
        info = policy.info()
        start, end = info.replays[-1]
        won = outcome(t, duel.first, duel.second)
        policy.tell_first_won(duel, won)
        rows.append(
            LiteralRound(duel.first, duel.second, won, info.active, start, end, info.episode_start)
        )
    return rows
