"""The von Neumann winner of a few arms, in compiled code: a game solved by pivoting.

A preference matrix is a symmetric zero-sum game with payoff P - 1/2. Its value is 0, so a mixture
of arms that nobody beats always exists, and it is the solution of a linear programme: with
B = 1 + (P - 1/2) scaled to at most 1 in size, maximise the sum of x >= 0 subject to B x <= 1; the
mixture is x divided by its sum. All of B being positive, x = 0 is where one may begin.

Importing this module imports the compiler.
"""

from typing import Any

import numpy as np

from driftduel._compile import kernel

__all__ = ["least_exploited", "lose", "solve", "workspace"]

_TINY = 1e-12
"""What counts as zero in a tableau whose entries are near 1."""
_ENOUGH = 1e-10
"""What an arm may win against the mixture; preferences are valid to 1e-9."""
_NOTHING = 1e-9
"""What counts as no loss: preferences are valid to so much, and solved more exactly."""


def workspace(arms: int) -> Any:
    """Return the two arrays that `solve` works in, for games of up to so many arms."""
    return np.zeros((arms + 1, arms + 1)), np.zeros((2, arms), np.int64)


@kernel
def solve(gaps: Any, arms: int, table: Any, names: Any, mixture: Any) -> int:
    """Find a mixture that no arm beats; return how many pivots it took.

    Parameters
    ----------
    gaps
        How much more often than not row beats column, antisymmetric; the first `arms` rows and
        columns are read.
    arms
        The number of arms in the game.
    table, names
        Room to work in; see `workspace`.
    mixture
        Where the probabilities of the first `arms` arms go.
    """
    pivots = 0
    for turn in range(arms):
        pivots += _attempt(gaps, arms, table, names, mixture, turn)
        if _exploited(gaps, arms, mixture) <= _ENOUGH:
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
    """Solve the game with the arms in cyclic order from `turn` on; return the pivots it took.

    Where gaps are nearly equal a pivot may be nearly 0, and dividing by it undoes what was
    computed. It hardly ever happens, and another order has other pivots.
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
        names[0, i] = arms + i  # who is in the solution, row by row: slack variables at first
        names[1, i] = i  # who is not, column by column
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
def _exploited(gaps: Any, arms: int, mixture: Any) -> float:
    """Return the most that an arm wins against the mixture."""
    most = 0.0
    for i in range(arms):
        gain = 0.0
        for j in range(arms):
            gain += gaps[i, j] * mixture[j]
        most = max(most, gain)
    return most


@kernel
def lose(
    matrices: Any, present: Any, rows: Any, gaps: Any, here: Any, mixture: Any, table: Any,
    names: Any, out: Any,
) -> None:  # fmt: skip
    """Write down what each arm loses to the von Neumann winner of some rows of matrices.

    Parameters
    ----------
    matrices
        (R, K, K) preferences.
    present
        (R, K) who is in the game, row by row; (0, 0) if everybody is.
    rows
        Which rows to solve.
    gaps, here, mixture, table, names
        Room to work in: (K, K); (K,) whole numbers; (K,); and see `workspace`.
    out
        (R, K) where the losses go; at least 0, for nobody beats that winner. What somebody loses
        who is not in the game means nothing.
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
    """Choose whose share grows, -1 for nobody: the steepest; after many Bland's, which ends."""
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
    """Choose who reaches its bound first; of several, the one with the lowest name."""
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
