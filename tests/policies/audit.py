"""Audit a trace from the outside: every active set must follow from the rows before it.

Brute force over all windows, with nothing shared with the engine but the paper's formulas.
"""

import math

import numpy as np


def audit(rows, arms, horizon, constant, estimate="paper"):
    """Check every row of an ANACONDA trace (objects with the trace's columns); return restarts."""
    K, T = arms, len(rows)
    sums = np.zeros((T + 1, K, K), dtype=np.int64)  # twice the estimates, summed up to each round
    last = np.full(K, -1)  # the largest start of a window that fired, per arm
    lengths = np.arange(T + 1)
    limits = constant * math.log(horizon) * K * np.sqrt(np.maximum(lengths, K**2))
    stack, restarts = [], []
    t_l = None
    for t, row in enumerate(rows, start=1):
        if t_l is None:
            t_l, stack = t, [(t, horizon + 1)]
        elif row.replay_start == t:  # a child
            m = row.replay_end - t
            assert m >= 2
            assert m & (m - 1) == 0
            assert m < 2 * max(2, horizon)
            stack.append((t, row.replay_end))
        else:
            while stack[-1][1] < t:
                stack.pop()
        assert (row.replay_start, row.replay_end) == stack[-1], t
        assert row.episode_start == t_l, t
        active = tuple(a for a in range(K) if last[a] < row.replay_start)
        assert tuple(row.active) == active, t
        assert row.first in active
        assert row.second in active

        twice = np.full((K, K), -1)
        if estimate == "paper":
            twice[row.first, row.second] += 2 * len(active) ** 2 * row.first_won
        elif row.first_won:
            twice[row.first, row.second] += len(active) ** 2
        else:
            twice[row.second, row.first] += len(active) ** 2
        sums[t] = sums[t - 1] + twice
        if t > t_l:
            starts = np.arange(t_l, t)
            windows = (sums[t] - sums[starts - 1]).max(axis=1) / 2  # best rival of each arm
            fires = windows > limits[t - starts][:, None]
            newest = np.where(fires, starts[:, None], -1).max(axis=0)
            last = np.maximum(last, newest)
        if (last >= t_l).all():
            t_l = None
            restarts.append(t)
    return restarts
