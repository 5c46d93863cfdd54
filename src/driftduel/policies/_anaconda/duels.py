"""Choice of pairs: two arms of the active set, drawn in advance and buffered."""

from typing import Any

import numpy as np

from driftduel._internal.compiler import kernel
from driftduel._internal.kernel_random import uniform

__all__ = ["draw_ahead", "pick_ahead"]


@kernel
def draw_ahead(state: Any, rng: Any) -> None:
    """Fill the buffer of uniform numbers for the next rounds, and map them to duels."""
    for k in range(len(state.draws)):
        state.draws[k] = uniform(rng)
    state.numbers[0].duels_used = 0
    pick_ahead(state)


@kernel
def pick_ahead(state: Any) -> None:
    """Map the unused numbers of the buffer to duels of the present active set."""
    numbers = state.numbers[0]
    count = numbers.active_arms
    for k in range(numbers.duels_used, len(state.draws)):
        # One number selects both arms: by its integer part, and by its rescaled fraction.
        x = state.draws[np.uint64(k)] * count
        i = int(x)
        duel = state.duels[np.uint64(k)]
        duel.first = state.active[np.uint64(i)]
        duel.second = state.active[np.uint64(int((x - i) * count))]
