"""Fact 1, one number per arm: active set, good set, and relevant starts of windows."""

from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._anaconda.duels import pick_ahead
from driftduel.policies._anaconda.record import NEVER
from driftduel.policies.base import RESTARTED

__all__ = ["after_firing", "best_guess", "first_that_matters", "refresh_active"]


@hot
def refresh_active(state: Any) -> None:
    """Recompute the active set, and map the buffered random numbers to its arms."""
    numbers = state.numbers[0]
    start = state.replays[numbers.depth - 1].start
    count, same = 0, True
    for a in range(len(state.last)):
        if state.last[a] < start:
            same &= state.active[count] == a
            state.active[count] = a
            count += 1
    if same and count == numbers.active_arms:
        return  # usual after a replay: the set is unchanged, so the buffered duels are valid
    numbers.active_arms = count
    numbers.weight = count * count
    pick_ahead(state)


@kernel
def after_firing(state: Any, t: int) -> int:
    """Apply the eliminations of round t; end the episode if no good arm remains."""
    refresh_active(state)
    numbers = state.numbers[0]
    for a in range(len(state.last)):
        if state.last[a] < numbers.episode:
            return 0
    numbers.learn_from = NEVER
    numbers.next_event = t + 1
    return RESTARTED


@kernel
def first_that_matters(state: Any, arm: int) -> int:
    """Return the first round of the outermost replay or episode that has not dropped the arm.

    Earlier windows that fire against it have no effect (fact 6).
    """
    numbers = state.numbers[0]
    if state.last[arm] < numbers.episode:
        return numbers.episode
    for depth in range(numbers.depth):
        if state.replays[depth].start > state.last[arm]:
            return state.replays[depth].start
    return NEVER


@kernel
def best_guess(state: Any) -> int:
    """Return the arm with the earliest last elimination: a good arm if there is one."""
    best = 0
    for a in range(1, len(state.last)):
        if state.last[a] < state.last[best]:
            best = a
    return best
