"""Facts 3 and 4: the useful starts of a pair's windows, and the newest of them that fires."""

from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._anaconda.eliminations import first_that_matters
from driftduel.policies._anaconda.record import LIST, NEVER
from driftduel.policies._anaconda.rule import threshold, time_now, time_of

__all__ = ["forget_starts", "newest_that_fires", "stack"]


@kernel
def forget_starts(state: Any) -> None:
    """Reset the starts of all pairs."""
    for p in range(len(state.pairs)):
        pair = state.pairs[p]
        pair.won = 0
        pair.waiting = 0
        pair.dead = 0
        pair.filled = 0
        pair.pruned = 0
        pair.lowest = NEVER
        pair.limit = NEVER


@hot
def stack(state: Any, p: int, count: int) -> None:
    """Move the first `count` wins of a pair's list to its stack, dropping useless ones (fact 3)."""
    pair, stacks = state.pairs[p], state.stacks
    waiting = state.waiting[p * LIST : (p + 1) * LIST]
    # Backwards: a start is useful if its balance is below all later ones. The useful ones move to
    # the end of the list, without an unpredictable branch.
    lowest = NEVER
    first = count
    for i in range(count - 1, -1, -1):
        balance = waiting[
            np.uint64(i)
        ].balance  # read before the copy: avoids a store-to-load dependency
        waiting[np.uint64(first - 1)] = waiting[np.uint64(i)]
        first -= int(balance < lowest)
        lowest = min(lowest, balance)
    begin, dead, filled = pair.begin, pair.dead, pair.filled
    while filled > dead and stacks[np.uint64(begin + filled - 1)].balance >= lowest:
        filled -= 1
    if filled == dead:
        pair.dead = filled = 0
    pair.pruned = min(pair.pruned, filled)
    for i in range(first, count):
        stacks[np.uint64(begin + filled)] = waiting[np.uint64(i)]
        filled += 1
    pair.filled = filled


@kernel
def newest_that_fires(state: Any, t: int, p: int, loser: int) -> bool:
    """Find the newest start of a window that ends in t and fires (fact 4); update the limit."""
    pair, stacks = state.pairs[p], state.stacks
    begin, dead, newest = pair.begin, pair.dead, pair.filled - 1
    matters = first_that_matters(state, loser)
    balance, now = pair.won - t, time_now(state, t)
    margin = 0.5 * state.numbers[0].least_rise
    nearest = -float(NEVER)
    block = 1
    fired = False
    while newest >= dead:
        if stacks[begin + newest].start < matters:
            pair.dead = newest + 1
            break
        oldest = max(dead, newest - block + 1)
        most = float(balance - stacks[begin + oldest].balance)
        excess = most - 2.0 * threshold(state, now - time_of(state, stacks[begin + newest]))
        # Blocks are refuted with a margin, so that the next examination is not due immediately.
        if excess <= -margin or (oldest == newest and excess <= 0.0):
            nearest = max(nearest, excess)
            newest = oldest - 1
            block *= 2
        elif oldest == newest:
            state.last[loser] = stacks[begin + newest].start
            pair.dead = newest + 1
            fired = True
            break
        else:
            block = (newest - oldest + 1) // 2
    pair.limit = balance + int(-nearest)
    return fired
