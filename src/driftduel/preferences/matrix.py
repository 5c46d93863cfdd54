"""The class of preference matrices: validated once, immutable, with methods for winners."""

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from driftduel.preferences import transitivity, winners
from driftduel.preferences._parameters import arm_index
from driftduel.preferences.validation import validate_matrix

__all__ = ["Preferences"]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Preferences:
    """A validated, immutable preference matrix P.

    P(a, b) is the probability that arm a wins a duel against arm b; a beats b if
    P(a, b) > 1/2. Arms are numbered 0..K-1 (the paper: 1..K).

    Parameters
    ----------
    matrix
        Any object that numpy converts to a K by K array: K >= 2, entries in [0, 1],
        P(a, b) + P(b, a) = 1 and P(a, a) = 1/2, each within 1e-9. The argument is
        copied. Entries outside [0, 1] within this tolerance are clipped, and two arms that would
        each beat the other within this tolerance are tied.

    Attributes
    ----------
    matrix : NDArray[np.float64]
        P, shape (K, K), read-only.

    Raises
    ------
    DriftduelError
        The message names the first invalid entry in row-major order.

    Examples
    --------
    >>> P = Preferences([[0.5, 0.6, 0.7], [0.4, 0.5, 0.8], [0.3, 0.2, 0.5]])
    >>> P
    Preferences(arms=3, condorcet_winner=0)
    [[0.5 0.6 0.7]
     [0.4 0.5 0.8]
     [0.3 0.2 0.5]]
    >>> P.copeland_scores()
    array([2, 1, 0])
    >>> P.sst_violation()
    (0, 1, 2)
    """

    matrix: NDArray[np.float64]

    def __init__(self, matrix: ArrayLike) -> None:
        object.__setattr__(self, "matrix", validate_matrix(matrix))

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return len(self.matrix)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """The gaps delta(a, b) = P(a, b) - 1/2, shape (K, K)."""
        return self.matrix - 0.5

    def gap(self, a: SupportsIndex, b: SupportsIndex) -> float:
        """Return delta(a, b) = P(a, b) - 1/2."""
        a, b = arm_index("a", a, self.arms), arm_index("b", b, self.arms)
        return float(self.matrix[a, b]) - 0.5

    def condorcet_winner(self) -> int | None:
        """Return the arm that beats every other arm, or None if there is no such arm."""
        winner = int(winners.condorcet_winners(self.matrix[None])[0])
        return None if winner < 0 else winner

    def borda_scores(self) -> NDArray[np.float64]:
        """Return each arm's mean of P(a, b) over the other arms b, shape (K,)."""
        return winners.borda_scores(self.matrix)

    def borda_winner(self) -> int:
        """Return the arm with the highest Borda score, the lowest index if several have it.

        Scores within 1e-9 count as equal, since the sums behind them are rounded.
        """
        return winners.first_maximum(self.borda_scores())

    def copeland_scores(self) -> NDArray[np.int64]:
        """Return the number of arms that each arm beats, shape (K,)."""
        return winners.copeland_scores(self.matrix)

    def copeland_winners(self) -> tuple[int, ...]:
        """Return all arms with the highest Copeland score, ascending."""
        scores = self.copeland_scores()
        return tuple(int(arm) for arm in np.flatnonzero(scores == scores.max()))

    def smith_set(self) -> tuple[int, ...]:
        """Return the smallest non-empty set of arms that all beat every arm outside, ascending.

        A Condorcet winner alone is the Smith set. A tie keeps both arms in or out: only
        P(a, b) > 1/2 counts as beating.
        """
        return winners.smith_set(self.matrix)

    def von_neumann_winner(self) -> NDArray[np.float64]:
        """Return a distribution over arms that no arm beats on average, shape (K,).

        The value is a maximin mixed strategy of the symmetric zero-sum game P - 1/2, found by a
        linear programme. It always exists; if it is not unique, the solver selects one.
        """
        return winners.von_neumann_winner(self.matrix)

    def sst_violation(self) -> tuple[int, int, int] | None:
        """Return the first chain that breaks strong stochastic transitivity, or None.

        Assumption 1 of the paper: if a beats b and b beats c, then
        delta(a, c) >= max(delta(a, b), delta(b, c)); here within 1e-9.
        """
        return transitivity.sst_violation(self.matrix)

    def sti_violation(self) -> tuple[int, int, int] | None:
        """Return the first chain that breaks the stochastic triangle inequality, or None.

        Assumption 2 of the paper: if a beats b and b beats c, then
        delta(a, c) <= delta(a, b) + delta(b, c); here within 1e-9.
        """
        return transitivity.sti_violation(self.matrix)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preferences):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.arms, self.matrix.tobytes()))

    def __repr__(self) -> str:
        return f"{self._title()}\n{self._matrix_text()}"

    def _title(self) -> str:
        return f"Preferences(arms={self.arms}, condorcet_winner={self.condorcet_winner()})"

    def _matrix_text(self) -> str:
        """Return the matrix as text; with many arms, only its corners."""
        return np.array2string(
            self.matrix, max_line_width=100, precision=4, suppress_small=True, threshold=15 * 15
        )

    def _repr_html_(self) -> str:
        return f"{self._title()}<pre>{self._matrix_text()}</pre>"  # numbers only

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[type["Preferences"], tuple[NDArray[np.float64]]]:
        # The default copy and pickle would restore a writable array; the constructor freezes it.
        return Preferences, (self.matrix,)
