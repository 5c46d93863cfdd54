"""The exception to fact 2: thresholds so low that a single win can fire."""

from typing import Any

from driftduel._internal.compiler import kernel
from driftduel.policies._anaconda.rule import threshold

__all__ = ["fire_short_windows"]


@kernel
def fire_short_windows(state: Any, t: int, loser: int, weight: int) -> bool:
    """Fire the windows of two rounds with a single win that suffices, in either of them."""
    numbers, last = state.numbers[0], state.last
    fired = False
    if numbers.single_win == t - 1 and last[numbers.single_loser] < t - 1:
        last[numbers.single_loser] = t - 1
        fired = True
    if weight - 2.0 > 2.0 * threshold(state, 1):
        numbers.single_win = t
        numbers.single_loser = loser
        if t > numbers.episode and last[loser] < t - 1:
            last[loser] = t - 1
            fired = True
    return fired
