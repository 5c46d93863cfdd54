"""The change test of MDB and DETECT: compare the two parts of a window of outcomes.

The records of both have the array fields `windows` (N, w), `sums` (N, 2) and `seen` (N,), and the
scalar parameter `limit` in `numbers`. All functions modify these arrays in place.
"""

from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel

__all__ = ["forget_windows", "nearness", "slide"]


@hot
def slide(state: Any, row: int, x: int) -> bool:
    """Append an outcome to a window; return whether its two parts differ by more than the limit."""
    window, sums = state.windows[row], state.sums[row]
    w = len(window)
    place = state.seen[row] % w
    middle = window[(place + w // 2) % w]
    sums[0] += x - middle
    sums[1] += middle - window[place]
    window[place] = x
    state.seen[row] += 1
    return state.seen[row] >= w and abs(sums[0] - sums[1]) > state.numbers[0].limit


@kernel
def forget_windows(state: Any) -> None:
    """Empty all windows."""
    state.windows[:] = 0
    state.sums[:] = 0
    state.seen[:] = 0


def nearness(state: Any) -> Any:
    """Return each window's share of the alarm condition: a full window with different parts."""
    apart = np.abs(state.sums[:, 0] - state.sums[:, 1]) / max(state.numbers[0].limit, 1e-9)
    return np.minimum(apart, state.seen / state.windows.shape[1])
