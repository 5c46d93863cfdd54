"""Compiled functions for significant switches, see `significant`. Imports the compiler."""

import math

import numpy as np

from driftduel._internal.compiler import kernel

__all__ = ["scan"]

NEVER = 1 << 62

# Columns of a stack; its rows are starts of windows: the round s; D(s); the end before which
# every row from here down is better than the next; the end from which the next row is as good.
_START, _BEFORE, _SURE, _UNTIL = range(4)


@kernel
def reaches(total, square):  # type: ignore[no-untyped-def]
    """Return whether total >= 2^30 sqrt(square), exactly, within 64 bits.

    Floats are not sufficient: the rounded root can equal an integer that the root itself exceeds.
    """
    # With total = w 2^30 + p: total^2 - square 2^60 = (w^2 - square) 2^60 + w p 2^31 + p^2.
    w, p = total >> 30, total & ((1 << 30) - 1)
    short = square - w * w - ((w * p) >> 29)
    rest = (((w * p) & ((1 << 29) - 1)) << 31) + p * p  # below 2^61
    return short <= 0 or (short == 1 and rest >= 1 << 60)


@kernel
def overtaking(i, j, gained, root, last):  # type: ignore[no-untyped-def]
    """Return bounds of the end from which start `i` is at least as good as the newer start `j`.

    Start `i` is worse for all ends below the first value, and at least as good from the second
    value on; they differ only if rounding leaves a doubt. `gained` is D(j) - D(i), `root` is 2^30
    c.
    """
    if gained == 0:
        return NEVER, NEVER
    # i is as good iff h := gained / root >= sqrt(e - i) - sqrt(e - j), that is iff
    # sqrt(e - j) >= (d / h - h) / 2. A few roundings of 2^-53 each are well within 1e-14.
    h = gained / root
    d_h = (j - i) / h
    middle, doubt = (d_h - h) / 2, 1e-14 * (d_h + h)
    low, high = max(middle - doubt, 0.0), max(middle + doubt, 0.0)
    if j + low * low > last:
        return NEVER, NEVER
    return j + math.ceil(low * low), j + math.ceil(high * high)


@kernel
def push(phase, a, s, before):  # type: ignore[no-untyped-def]
    """Push start `s` on the stack of arm `a`, for ends after `s`; the value of `before` is D(s)."""
    stack, depth = phase.stacks[a], phase.depth[a]
    sure, until = NEVER, NEVER
    while depth > 0:
        top = stack[depth - 1]
        gained = before - top[_BEFORE]
        sure, until = overtaking(top[_START], s, gained, phase.root, phase.last)
        if top[_UNTIL] > sure:
            sure = min(sure, top[_SURE])
            break
        depth -= 1  # the start below overtakes the top before the top overtakes s
    if until > s + 1:  # otherwise s is not better for any end, including s + 1
        stack[depth, _START], stack[depth, _BEFORE] = s, before
        stack[depth, _SURE], stack[depth, _UNTIL] = sure, until
        depth += 1
    phase.depth[a] = depth


@kernel
def overtaken(phase, a, e):  # type: ignore[no-untyped-def]
    """Return the depth of the stack without the top starts that are overtaken from `e` on."""
    depth = phase.depth[a]
    while depth > 0 and e >= phase.stacks[a, depth - 1, _UNTIL]:
        depth -= 1
    return depth


@kernel
def fails(phase, a, e, after):  # type: ignore[no-untyped-def]
    """Return whether arm `a` fails in a window that ends in `e`; `after` is D(e + 1)."""
    stack, depth = phase.stacks[a], overtaken(phase, a, e)
    # Before _SURE each start is better than the one below, so only the top is tested.
    bottom = depth - 1 if depth > 0 and e < stack[depth - 1, _SURE] else 0
    for k in range(bottom, depth):
        if reaches(after - stack[k, _BEFORE], phase.square * (e - stack[k, _START])):
            return True
    return False


@kernel
def first_failure(phase, a, x, y, unit):  # type: ignore[no-untyped-def]
    """Return the first end in x, ..., y at which arm `a` fails with loss `unit` per round, or 0."""
    before = phase.loss[a]
    if fails(phase, a, x, before + unit):
        return x
    phase.depth[a] = overtaken(phase, a, x)
    push(phase, a, x, before)
    if y > x:
        if fails(phase, a, y, before + (y - x + 1) * unit):
            # Bisection goes back in time, so no start may be popped for y before it.
            low, high = x, y
            while high - low > 1:
                e = (low + high) // 2
                if fails(phase, a, e, before + (e - x + 1) * unit):
                    high = e
                else:
                    low = e
            return high
        phase.depth[a] = overtaken(phase, a, y)
        push(phase, a, y, before + (y - x) * unit)
    phase.loss[a] += (y - x + 1) * unit
    return 0


@kernel
def scan(phase, edges, units, first):  # type: ignore[no-untyped-def]
    """Continue from round `first` to the next switch; return its round, or 0 without one."""
    for r in range(np.searchsorted(edges, first, side="right") - 1, len(units)):
        x, y = max(first, edges[r]), min(edges[r + 1] - 1, phase.last)
        if x > y:
            break
        latest, safe_arms = 0, 0
        for a in range(len(phase.safe)):
            if phase.safe[a]:
                failure = first_failure(phase, a, x, y, units[r, a])
                latest = max(latest, failure)
                if failure == 0:
                    safe_arms += 1
                else:
                    phase.safe[a] = False
                    phase.depth[a] = 0
        if safe_arms == 0:
            phase.safe[:] = True
            return latest + 1
    return 0
