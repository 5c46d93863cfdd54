"""The von Neumann winner of a few arms: a compiled simplex solver.

A preference matrix is a symmetric zero-sum game with payoff P - 1/2. The value of the game is 0, so
an unbeaten mixture of arms always exists, and it is the solution of a linear programme: with
B = 1 + (P - 1/2) scaled to at most 1 in size, maximise the sum of x >= 0 subject to B x <= 1; the
mixture is x divided by its sum. All entries of B are positive, so x = 0 is a feasible start.

Importing this module imports the compiler.
"""

from typing import Any

import numpy as np

from driftduel._internal.compiler import kernel

__all__ = ["least_exploited", "solve", "workspace", "write_losses"]

_TINY = 1e-12
"""The largest value that is treated as zero in a tableau with entries near 1."""
_ENOUGH = 1e-10
"""The largest accepted gain of an arm against the mixture; preferences are valid to 1e-9."""
_NOTHING = 1e-9
"""The largest value that is treated as no loss: the tolerance of preferences."""


def workspace(arms: int) -> Any:
    """Return the two work arrays of the function `solve`, for games of up to `arms` arms."""
    return np.zeros((arms + 1, arms + 1)), np.zeros((2, arms), np.int64)


@kernel
def solve(gaps: Any, arms: int, table: Any, names: Any, mixture: Any) -> int:
    """Find an unbeaten mixture; return the number of pivots.

    Parameters
    ----------
    gaps
        The values of P - 1/2, antisymmetric; the first `arms` rows and columns are read.
    arms
        The number of arms in the game.
    table, names
        Work arrays, see `workspace`.
    mixture
        Output argument: the probabilities of the first `arms` arms.
    """
    pivots = 0
    for turn in range(arms):
        pivots += _attempt(gaps, arms, table, names, mixture, turn)
        if _best_response_gain(gaps, arms, mixture) <= _ENOUGH:
            break
    return pivots


@kernel
def least_exploited(payoffs: Any, arms: int, table: Any, names: Any, mixture: Any) -> None:
    """Find the mixture of columns that minimises the largest payoff of a row, for any payoffs.

    The parameters are those of `solve`, but for payoffs that need not be antisymmetric: the value
    of the game is then not known beforehand, and the result not checked.
    """
    _attempt(payoffs, arms, table, names, mixture, 0)


@kernel
def _attempt(gaps: Any, arms: int, table: Any, names: Any, mixture: Any, turn: int) -> int:
    """Solve the game with the arms in cyclic order from `turn` on; return the number of pivots.

    If gaps are nearly equal, the value of a pivot may be nearly 0, and the division loses all
    digits. This is rare, and another order has other pivots.
    """
    largest = 0.0
    for i in range(arms):
        for j in range(arms):
            largest = max(largest, abs(gaps[i, j]))
    scale = 1.0 / largest if largest > 0.0 else 1.0
    for i in range(arms):
        for j in range(arms):
            gap = gaps[(i + turn) % arms, (j + turn) % arms]
            table[i, j] = 1.0 + 0.5 * scale * gap
        table[i, arms] = 1.0
        table[arms, i] = -1.0
        names[0, i] = arms + i  # basic variables, row by row: initially the slack variables
        names[1, i] = i  # non-basic variables, column by column
    table[arms, arms] = 0.0
    pivots = 0
    while True:
        column = _entering(table, names, arms, pivots)
        row = _leaving(table, names, arms, column) if column >= 0 else -1
        if row < 0:
            break
        _pivot(table, arms, row, column)
        names[0, row], names[1, column] = names[1, column], names[0, row]
        pivots += 1
    total = 0.0
    for i in range(arms):
        mixture[i] = 0.0
    for i in range(arms):
        if names[0, i] < arms:
            arm = (names[0, i] + turn) % arms
            mixture[arm] = max(0.0, table[i, arms])
            total += mixture[arm]
    for i in range(arms):
        mixture[i] /= total
    return pivots


@kernel
def _best_response_gain(gaps: Any, arms: int, mixture: Any) -> float:
    """Return the largest gain of an arm against the mixture."""
    most = 0.0
    for i in range(arms):
        gain = 0.0
        for j in range(arms):
            gain += gaps[i, j] * mixture[j]
        most = max(most, gain)
    return most


@kernel
def write_losses(
    matrices: Any, present: Any, rows: Any, gaps: Any, here: Any, mixture: Any, table: Any,
    names: Any, out: Any,
) -> None:  # fmt: skip
    """Write the loss of each arm to the von Neumann winner, for some rows of matrices.

    Parameters
    ----------
    matrices
        (R, K, K) preferences.
    present
        (R, K) the present arms of each row; (0, 0) if all arms are present.
    rows
        The rows to solve.
    gaps, here, mixture, table, names
        Work arrays: (K, K); (K,) whole numbers; (K,); and see `workspace`.
    out
        Output argument, (R, K): the losses, at least 0. Values of absent arms have no meaning.
    """
    arms = matrices.shape[1]
    for row in rows:
        P = matrices[row]
        many = 0
        for a in range(arms):
            if present.size == 0 or present[row, a]:
                here[many] = a
                many += 1
        for i in range(many):
            for j in range(many):  # antisymmetric to the last bit, so that the value is 0
                gaps[i, j] = 0.5 * (P[here[i], here[j]] - P[here[j], here[i]])
        solve(gaps, many, table, names, mixture)
        for a in range(arms):
            lost = 0.0
            for i in range(many):
                lost += mixture[i] * (P[here[i], a] - 0.5)
            out[row, a] = lost if lost > _NOTHING else 0.0


@kernel
def _entering(table: Any, names: Any, arms: int, pivots: int) -> int:
    """Return the entering variable, -1 for none: steepest first, Bland's rule after many pivots."""
    column, least = -1, -_TINY
    steepest = pivots < 10 * arms
    for j in range(arms):
        slope = table[arms, j]
        if slope < least and steepest:
            column, least = j, slope
        elif slope < -_TINY and not steepest and (column < 0 or names[1, j] < names[1, column]):
            column = j
    return column


@kernel
def _leaving(table: Any, names: Any, arms: int, column: int) -> int:
    """Return the row of the leaving variable; ties are broken by the lowest index."""
    row, least = -1, np.inf
    for i in range(arms):
        if table[i, column] > _TINY:
            ratio = table[i, arms] / table[i, column]
            if ratio < least or (ratio == least and names[0, i] < names[0, row]):
                row, least = i, ratio
    return row


@kernel
def _pivot(table: Any, arms: int, row: int, column: int) -> None:
    """Exchange two variables: one Gauss-Jordan step on the condensed tableau."""
    pivot = table[row, column]
    for j in range(arms + 1):
        table[row, j] /= pivot
    table[row, column] = 1.0 / pivot
    for i in range(arms + 1):
        factor = table[i, column]
        if i != row and factor != 0.0:
            for j in range(arms + 1):
                table[i, j] -= factor * table[row, j]
            table[i, column] = -factor / pivot
