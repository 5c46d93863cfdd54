"""Facts 2 and 5: only a win can fire, and most wins can be buffered."""

from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._anaconda.eliminations import after_firing
from driftduel.policies._anaconda.pruning import prune
from driftduel.policies._anaconda.record import LIST
from driftduel.policies._anaconda.starts import newest_that_fires, stack
from driftduel.policies.base import GROW

__all__ = ["enter", "examine"]

_FAR = 1 << 60


@hot
def enter(state: Any, t: int, winner: int, loser: int, credit: int, weight: int) -> int:
    """Record a win of a pair (credit 1), or a round without one (credit 0).

    Arithmetic instead of branches, because the winner is unpredictable for the processor. Array
    indices are unsigned, here and in all code of the hot path: a signed index would first be tested
    for a negative value (wraparound).
    """
    weight *= credit
    p = winner * len(state.last) + loser
    pair = state.pairs[np.uint64(p)]
    before = pair.won - (t - 1)
    place = pair.waiting
    # Without a win, the next entry in the list overwrites this one.
    win = state.waiting[np.uint64(p * LIST + place)]
    win.start = t
    win.balance = before
    lowest = min(pair.lowest, before + (1 - credit) * _FAR)
    now = before + weight - 1
    pair.waiting = place + credit
    pair.lowest = lowest
    pair.won += weight
    quiet = now - lowest <= state.numbers[0].least_rise and now <= pair.limit
    if quiet and place + 1 < LIST:
        return 0
    return examine(state, t, p, loser, credit)


@kernel
def examine(state: Any, t: int, p: int, loser: int, credit: int) -> int:
    """Examine a pair that may fire or whose list is full."""
    pair = state.pairs[p]
    # The win of this round stays in the list: it makes older starts useless, but only for windows
    # that end after it.
    count = pair.waiting - credit
    stack(state, p, count)
    pair.waiting = credit
    fired = False
    if credit == 1:
        state.waiting[p * LIST] = state.waiting[p * LIST + count]
        now = pair.won - t
        if now - pair.lowest > state.numbers[0].least_rise or now > pair.limit:
            fired = newest_that_fires(state, t, p, loser)
            pair.lowest = state.waiting[p * LIST].balance
    flags = 0
    if pair.filled + LIST > pair.room:
        prune(state, t, p)
        if (
            pair.filled + LIST > pair.room // 2
        ):  # otherwise it would soon be pruned again with little effect
            flags = GROW
    if fired:
        flags |= after_firing(state, t)
    return flags
