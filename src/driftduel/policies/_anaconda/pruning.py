"""Fact 6: of the starts between the same two replays' beginnings, few can become the best."""

import math
from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._anaconda.rule import time_now, time_of

__all__ = ["prune"]


@kernel
def prune(state: Any, t: int, p: int) -> None:
    """Drop the starts that cannot become the best of their segment again.

    The thresholds of two starts i < j grow apart and close up again, so j is better than i only
    from some time on (when both windows are longer than the rule's floor) until `_overtaken`.
    Hence j is never the best again if i has overtaken it, or will before j overtakes a later k
    that is already past its floor. Rounding is on the safe side of both comparisons.
    """
    numbers, pair, stacks = state.numbers[0], state.pairs[p], state.stacks
    begin = pair.begin
    factor, floor = 2.0 * numbers.factor, math.sqrt(numbers.floor)
    now = float(time_now(state, t))
    _close_gap(state, pair)
    kept = pair.pruned
    begun = 0
    for new in range(kept, pair.filled):
        k = begin + new
        while begun < numbers.depth and state.replays[begun].start <= stacks[k].start:
            begun += 1
        stretch = state.replays[begun - 1].start if begun > 0 else numbers.episode
        j_passes_k = 0.0
        while kept > 0:
            j = begin + kept - 1
            j_passes_k = _overtaken(state, stacks[j], stacks[k], factor)
            if kept == 1 or stacks[j - 1].start < stretch:
                break
            i_passes_j = stacks[j].overtaken
            slack = 1.0 + 1e-9 * (abs(i_passes_j) + abs(j_passes_k))
            lead = (stacks[k].balance - stacks[j].balance) / factor
            age = now - time_of(state, stacks[k])
            settled = age > (floor + lead) ** 2 * (1.0 + 1e-9) + 1.0
            if i_passes_j + slack < now or (settled and i_passes_j + slack < j_passes_k):
                kept -= 1
            else:
                break
        stacks[begin + kept] = stacks[k]
        stacks[begin + kept].overtaken = j_passes_k
        kept += 1
    pair.filled = kept
    pair.pruned = kept


@hot
def _close_gap(state: Any, pair: Any) -> None:
    """Move the remaining starts of a pair to the beginning of its stack."""
    stacks, dead = state.stacks, pair.dead
    if dead > 0:
        for i in range(pair.begin, pair.begin + pair.filled - dead):
            stacks[i] = stacks[i + dead]
    pair.dead = 0
    pair.filled -= dead
    pair.pruned = max(0, pair.pruned - dead)


@hot
def _overtaken(state: Any, older: Any, newer: Any, factor: float) -> float:
    """Return the time from which the older of two starts is permanently better."""
    time = time_of(state, newer)
    d = float(time - time_of(state, older))
    h = (newer.balance - older.balance) / factor
    if h * h >= d:
        return float(time)
    return float(time) + ((d - h * h) / (2.0 * h)) ** 2
