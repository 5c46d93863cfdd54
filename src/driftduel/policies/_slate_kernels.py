"""Kernels shared by policies that show slates and count wins of pairs."""

from typing import Any

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import count_win
from driftduel.policies.slates import result_of_pair

__all__ = ["count_slate", "draw_some", "tell_slate", "write_slate"]


@hot
def draw_some(arms: Any, count: int, most: int, rng: Any) -> int:
    """Move a uniform sample of the first `count` entries to the front; return its size.

    All are kept, in their order and without a draw, if there are at most `most`.
    """
    if count <= most:
        return count
    for place in range(most):
        other = place + int(uniform(rng) * (count - place))
        arm = arms[place]
        arms[place] = arms[other]
        arms[other] = arm
    return most


@hot
def write_slate(arms: Any, count: int, most: int, notes: Any) -> Any:
    """Write the arms from place 2 on into the notes of a slate of `most`; return the first two."""
    for place in range(2, most):
        notes[place - 2] = arms[place] if place < count else -1.0
    return arms[0], arms[1] if count > 1 else arms[0]


@hot
def _arm(first: int, second: int, notes: Any, entry: int) -> int:
    if entry == 0:
        return first
    return second if entry == 1 else int(notes[entry - 2])


@hot
def count_slate(wins: Any, first: int, second: int, code: int, notes: Any) -> None:
    """Count all decided duels of a slate, one win each; `notes` has its other arms only.

    An arm that is shown alone has no duel.
    """
    if first == second:
        return
    p = 0  # places count the arms that were shown; entries of -1 among the notes have none
    for i in range(2 + len(notes)):
        one = _arm(first, second, notes, i)
        if one < 0:
            continue
        q = p + 1
        for j in range(i + 1, 2 + len(notes)):
            other = _arm(first, second, notes, j)
            if other < 0:
                continue
            result = result_of_pair(code, p, q)
            if result >= 0:
                count_win(wins, one, other, result)
            q += 1
        p += 1


@hot
def tell_slate(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    """Count the decided duels; the complete `tell` kernel of policies without further state."""
    count_slate(state.wins, first, second, won, notes)
    return 0
