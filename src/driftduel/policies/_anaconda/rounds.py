"""The functions `ask` and `tell` of the engine, compiled kernels that modify the state's arrays."""

from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._anaconda.duels import draw_ahead
from driftduel.policies._anaconda.eliminations import after_firing
from driftduel.policies._anaconda.record import FREEDMAN, LIST
from driftduel.policies._anaconda.replays import turn
from driftduel.policies._anaconda.single_wins import fire_short_windows
from driftduel.policies._anaconda.wins import enter
from driftduel.policies.base import RESTARTED

__all__ = ["ask", "tell"]


@hot
def ask(state: Any, rng: Any, t: int, notes: Any) -> tuple[int, int]:
    """Draw two arms of the active set A; note |A|^2, the weight of a win."""
    numbers = state.numbers[0]
    if t >= numbers.next_event:
        turn(state, rng, t)
    if numbers.duels_used == len(state.draws):
        draw_ahead(state, rng)
    duel = state.duels[np.uint64(numbers.duels_used)]
    numbers.duels_used += 1
    notes[0] = numbers.weight
    return duel.first, duel.second


@hot
def tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    """Learn the outcome of round t; rounds arrive in order."""
    numbers, weight = state.numbers[0], int(notes[0])
    if numbers.plain == 0:
        return _tell_general(state, t, first, second, won, weight)
    if t < numbers.learn_from:
        return 0  # chosen in an earlier episode
    return enter(state, t, first, second, int(won == 1), 2 * weight)


@kernel
def _tell_general(state: Any, t: int, first: int, second: int, won: int, weight: int) -> int:
    """Learn with another rule or estimate, or if a single win can fire."""
    numbers = state.numbers[0]
    numbers.clock += weight
    if t < numbers.learn_from:
        return 0
    winner, loser, credit, twice = first, second, int(won == 1), 2 * weight
    if numbers.symmetric == 1:
        credit, twice = int(won >= 0), weight
        if won == 0:
            winner, loser = second, first
    if numbers.rule == FREEDMAN:
        p = winner * len(state.last) + loser
        state.waiting[p * LIST + state.pairs[p].waiting].clock = numbers.clock - weight
    single = numbers.one_win_fires == 1 and fire_short_windows(state, t, loser, twice * credit)
    flags = enter(state, t, winner, loser, credit, twice)
    if single and flags & RESTARTED == 0:
        flags |= after_firing(state, t)
    return flags
