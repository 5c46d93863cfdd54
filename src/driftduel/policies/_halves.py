"""Windows of outcomes whose halves are compared: how MDB and DETECT see that something changed.

The records of both have the fields `windows` (N, w), `sums` (N, 2), `seen` (N,) and, among their
`numbers`, the `limit`.
"""

from typing import Any

import numpy as np

from driftduel._compile import hot, kernel

__all__ = ["forget_windows", "nearness", "slide"]


@hot
def slide(state: Any, row: int, x: int) -> bool:
    """Put an outcome into a window; tell whether its halves now differ too much: an alarm."""
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
    """Return each window's share of what raises an alarm: to be full, with halves that differ."""
    apart = np.abs(state.sums[:, 0] - state.sums[:, 1]) / max(state.numbers[0].limit, 1e-9)
    return np.minimum(apart, state.seen / state.windows.shape[1])
