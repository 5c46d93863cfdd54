"""Who meets whom: two arms of the active set, drawn ahead."""

from typing import Any

import numpy as np

from driftduel._compile import kernel
from driftduel._random import uniform

__all__ = ["draw_ahead", "pick_ahead"]


@kernel
def draw_ahead(state: Any, rng: Any) -> None:
    """Draw the numbers of the coming rounds, and pick their duels."""
    for k in range(len(state.draws)):
        state.draws[k] = uniform(rng)
    state.numbers[0].duels_used = 0
    pick_ahead(state)


@kernel
def pick_ahead(state: Any) -> None:
    """Pick the duels of the numbers drawn and not yet used."""
    numbers = state.numbers[0]
    count = numbers.active_arms
    for k in range(numbers.duels_used, len(state.draws)):
        # One number picks both arms: its integer part, and its fraction spread out again.
        x = state.draws[np.uint64(k)] * count
        i = int(x)
        duel = state.duels[np.uint64(k)]
        duel.first = state.active[np.uint64(i)]
        duel.second = state.active[np.uint64(int((x - i) * count))]
