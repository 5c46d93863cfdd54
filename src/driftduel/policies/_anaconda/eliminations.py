"""Fact 1, one number per arm: who is active, who is good, and which starts still matter."""

from typing import Any

from driftduel._compile import hot, kernel
from driftduel.policies._anaconda.duels import pick_ahead
from driftduel.policies._anaconda.record import NEVER
from driftduel.policies.base import RESTARTED

__all__ = ["after_firing", "first_that_matters", "refresh_active", "suspect"]


@hot
def refresh_active(state: Any) -> None:
    """Find the active set anew, and the duels that the numbers already drawn pick from it."""
    numbers = state.numbers[0]
    start = state.replays[numbers.depth - 1].start
    count, same = 0, True
    for a in range(len(state.last)):
        if state.last[a] < start:
            same &= state.active[count] == a
            state.active[count] = a
            count += 1
    if same and count == numbers.active_arms:
        return  # as after most replays: the duels were picked from this very set
    numbers.active_arms = count
    numbers.weight = count * count
    pick_ahead(state)


@kernel
def after_firing(state: Any, t: int) -> int:
    """See whom the windows that fired in round t eliminate; without a good arm, end the episode."""
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

    Windows that begin earlier can fire against it as they like (fact 6).
    """
    numbers = state.numbers[0]
    if state.last[arm] < numbers.episode:
        return numbers.episode
    for depth in range(numbers.depth):
        if state.replays[depth].start > state.last[arm]:
            return state.replays[depth].start
    return NEVER


@kernel
def suspect(state: Any) -> int:
    """Return the arm whose last elimination lies furthest back: a good one while there is one."""
    best = 0
    for a in range(1, len(state.last)):
        if state.last[a] < state.last[best]:
            best = a
    return best
