"""A world: one preference matrix for every round."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.display import as_html
from driftduel._internal.wording import listed
from driftduel.errors import DriftduelError
from driftduel.preferences import LINKS, Preferences, condorcet_winners

__all__ = ["LINK_CODES", "NO_LINK", "Chunk", "World"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Compiled functions identify a link by its number.
LINK_CODES: dict[str, int] = {name: code for code, name in enumerate(LINKS)}
NO_LINK = -1
# Rounds of a drifting world that a notebook looks through for its winners.
_LONGEST_SCAN = 1_000_000


class Chunk(NamedTuple):
    """Consecutive rounds of a world, as plain arrays for compiled functions.

    The rounds are divided into *segments* with constant preferences. A segment refers to a row: of
    `matrices`, or, for a world defined by utilities, of `utilities`, in which case a matrix is
    computed only on demand.
    """

    starts: Ints
    """(S,) first round of each segment, ascending; the chunk begins at ``starts[0]``."""
    end: int
    """The round after the chunk's last."""
    rows: Ints
    """(S,) the row of each segment; repeated preferences share a row."""
    matrices: Floats
    """(R, K, K) preference matrices, or (0, K, K) if the world is defined by utilities."""
    utilities: Floats
    """(R, K) utilities, or (0, K)."""
    link: int
    """Code of the link function from utilities to preferences, or `NO_LINK`."""
    present: NDArray[np.bool_] = np.empty((0, 0), np.bool_)
    """(R, K) the present arms of each row, at least one; (0, 0) if all arms are present in all
    rounds
    of the world."""
    ties: Floats = np.empty(0)
    """(R,) the probability of a tie of two different arms in each row; (0,) if there are no ties.
    Preferences count a tie as half a win, so an arm wins with probability P - ties / 2."""
    unknown: bool = False
    """Whether a preference may have the value NaN: the outcome of that duel is missing, and a
    policy
    gets no feedback. The loss of such an arm is NaN, too, unless the winner's own preference is
    given."""
    delay: int = 0
    """The number of further duels before an outcome is delivered; the same value in all chunks of a
    world. The outcome of round t is delivered after the duel of round t + delay was chosen."""

    def row_values(self, row: int) -> Floats:
        """Return the values that decide the duels of a row, as a vector for compiled functions.

        These are its utilities, or its matrix row by row.
        """
        values: Floats = self.matrices[row].ravel() if self.link == NO_LINK else self.utilities[row]
        return values

    def row_matrices(self) -> Floats:
        """Return the (R, K, K) matrices of all rows, computed from utilities if necessary."""
        if self.link == NO_LINK:
            return self.matrices
        sigma = list(LINKS.values())[self.link]
        return sigma(self.utilities[:, :, None] - self.utilities[:, None, :])

    def row_preferences(self, arms: Ints) -> Floats:
        """Return the (R, K) preferences of one arm of each row over all others."""
        rows = np.arange(len(arms))
        if self.link == NO_LINK:
            return self.matrices[rows, arms]
        sigma = list(LINKS.values())[self.link]
        return sigma(self.utilities[rows, arms][:, None] - self.utilities)

    def row_winners(self) -> Ints:
        """Return the Condorcet winner of every row among the present arms, or -1."""
        absent = ~self.present if self.present.size else None
        if self.link == NO_LINK:
            matrices = self.matrices
            if absent is not None:  # an absent arm loses to every present arm
                matrices = np.where(absent[:, None, :], 1.0, matrices)
                matrices[absent] = 0.0
            return condorcet_winners(matrices)
        utilities = self.utilities
        if absent is not None:
            utilities = np.where(absent, -np.inf, utilities)
        best = utilities.argmax(axis=1)
        ties = (utilities == utilities.max(axis=1, keepdims=True)).sum(axis=1)
        return np.where(ties == 1, best, -1).astype(np.int64)

    def row_losses(self, winners: Ints | None = None) -> Floats:
        """Return the (R, K) losses of all arms to the von Neumann winner among the present arms.

        The von Neumann winner is the mixture of arms that is not beaten by any arm. If there is a
        Condorcet winner, it is that arm, and the losses are the gaps to it, to the bit. If several
        mixtures are unbeaten, which requires two arms with P = 1/2, the solver of `driftduel`
        selects one.

        Parameters
        ----------
        winners
            The Condorcet winner of every row; by default they are computed.
        """
        if self.link != NO_LINK:  # utilities have a best arm, or several with loss 0
            there = self.present if self.present.size else np.True_
            return self.row_preferences(np.where(there, self.utilities, -np.inf).argmax(1)) - 0.5
        if winners is None:
            winners = self.row_winners()
        losses: Floats = self.row_preferences(winners) - 0.5
        without = np.flatnonzero(winners < 0)
        if self.unknown:  # with missing values no mixture is known to be unbeaten
            losses[without] = np.nan
        elif without.size:
            from driftduel._internal.minimax import workspace, write_losses

            arms = losses.shape[1]
            write_losses(
                self.matrices, self.present, without, np.empty((arms, arms)),
                np.empty(arms, np.int64), np.empty(arms), *workspace(arms), losses,
            )  # fmt: skip
        return losses


class World(ABC):
    """The base class of worlds: a preference matrix for every round 1, 2, ..., `rounds`.

    A world is data, not a process: repeated calls return the same values in any order, and they do
    not depend on the policy. Memory is proportional to the number of changes, never to the rounds.

    A subclass sets the attributes `arms`, `rounds` and `chunk_rounds` and defines the method
    `chunk`; all other methods are derived.
    """

    arms: int
    rounds: int
    chunk_rounds: int
    """The largest number of rounds of a chunk, to limit its memory."""
    spec: str = ""
    """The spec passed to `make_world`, including the seed; by default empty."""
    names: tuple[str, ...] = ()
    """The names of the arms; by default empty, if arms have numbers only."""
    slate: int = 2
    """The largest number of arms shown in a round; see `driftduel.worlds.WithSlates`."""
    ranked: bool = False
    """Whether the answer to a slate is a ranking of its arms, else the pick of one."""
    nothing_picked: float = 0.0
    """The probability that nothing is picked from a slate of two or more arms."""
    drifts: bool = True
    """Whether preferences may change in every round, so that a pass over all rounds is slow."""

    @abstractmethod
    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""

    def chunks(self, first: int = 1, limit: int | None = None) -> Iterator[Chunk]:
        """Yield the rounds from `first` on in chunks of at most `limit` rounds."""
        step = self.chunk_rounds if limit is None else min(limit, self.chunk_rounds)
        while first <= self.rounds:
            # Boundaries are multiples of the step, aligned with the blocks of random numbers.
            end = min(((first - 1) // step + 1) * step, self.rounds) + 1
            yield self.chunk(first, end)
            first = end

    def preferences(self, t: int) -> Preferences:
        """Return the preferences P_t of round `t`, including those of absent arms."""
        if not 1 <= t <= self.rounds:
            raise DriftduelError(f"round {t} must be between 1 and {self.rounds}.")
        chunk = self.chunk(t, t + 1)
        return Preferences(chunk.row_matrices()[chunk.rows[0]])

    def present(self, t: int) -> tuple[int, ...]:
        """Return the present arms of round `t`, ascending."""
        if not 1 <= t <= self.rounds:
            raise DriftduelError(f"round {t} must be between 1 and {self.rounds}.")
        chunk = self.chunk(t, t + 1)
        if not chunk.present.size:
            return tuple(range(self.arms))
        return tuple(np.flatnonzero(chunk.present[chunk.rows[0]]).tolist())

    def condorcet_winners(self) -> list[tuple[int, int | None]]:
        """Return (first round, arm) for every stretch with one winner; None means no winner.

        The winner is the Condorcet winner of the present arms.
        """
        stretches: list[tuple[int, int | None]] = []
        last = -2
        for chunk in self.chunks():
            winners = chunk.row_winners()[chunk.rows]
            before = np.concatenate(([last], winners[:-1]))
            for s in np.flatnonzero(winners != before):
                winner = int(winners[s])
                stretches.append((int(chunk.starts[s]), None if winner < 0 else winner))
            last = int(winners[-1])
        return stretches

    def __repr__(self) -> str:
        return f"make_world({self.spec!r})" if self.spec else self._description()

    def _repr_html_(self) -> str:
        first = self.preferences(1)
        facts = [("arms", f"{self.arms:,}"), ("rounds", f"{self.rounds:,}")]
        if self.drifts and self.rounds > _LONGEST_SCAN:  # no notebook waits for a billion rounds
            facts.append(("best arm", f"{_called(first.condorcet_winner())} in round 1"))
        else:
            stretches = self.condorcet_winners()
            since = [f"{_called(arm)} from round {start:,}" for start, arm in stretches]
            facts.append(("best arm", listed(since, 6)))
            facts.append(("changes", f"{len(stretches) - 1:,}"))
        return as_html(repr(self), facts) + f"<p>round 1</p>{first._repr_html_()}"

    def _description(self) -> str:
        """Return the default description of a world without a spec."""
        return f"{type(self).__name__}(arms={self.arms}, rounds={self.rounds})"


def _called(arm: int | None) -> str:
    return "none" if arm is None else f"{arm}"
