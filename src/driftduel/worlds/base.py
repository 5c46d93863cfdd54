"""A world: one preference matrix for every round."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._showing import as_html
from driftduel.errors import DriftduelError
from driftduel.preferences import LINKS, Preferences, condorcet_winners
from driftduel.wording import listed

__all__ = ["LINK_CODES", "NO_LINK", "Chunk", "World"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Compiled code knows a link by its number.
LINK_CODES: dict[str, int] = {name: code for code, name in enumerate(LINKS)}
NO_LINK = -1
# Rounds of a drifting world that a notebook looks through for its winners.
_LONGEST_SCAN = 1_000_000


class Chunk(NamedTuple):
    """Consecutive rounds of a world, as plain arrays that compiled code reads.

    The rounds fall into *segments* in which the preferences stand still. A segment points to a
    row: of `matrices`, or, for a world made of utilities, of `utilities`, whose matrix is then
    computed only where it is needed.
    """

    starts: Ints
    """(S,) first round of each segment, ascending; the chunk begins at ``starts[0]``."""
    end: int
    """The round after the chunk's last."""
    rows: Ints
    """(S,) the row each segment uses; worlds that repeat themselves share rows."""
    matrices: Floats
    """(R, K, K) preference matrices, or (0, K, K) where utilities stand in for them."""
    utilities: Floats
    """(R, K) utilities, or (0, K)."""
    link: int
    """Code of the link that turns utilities into preferences, or `NO_LINK`."""
    present: NDArray[np.bool_] = np.empty((0, 0), np.bool_)
    """(R, K) which arms are there, row by row, at least one; (0, 0) if all are, in all rounds of
    the world."""
    ties: Floats = np.empty(0)
    """(R,) how often a duel of two arms is a tie, row by row; (0,) if never. Preferences count a
    tie as half a win, so an arm wins with probability P - ties / 2."""
    unknown: bool = False
    """Whether a preference may be NaN: nobody knows who wins that duel, and no policy is told. What
    such an arm loses is NaN as well, unless the winner's own preference is known."""
    delay: int = 0
    """How many more duels are asked for before an answer is told; the same in all chunks of a
    world. The answer of round t is told after the duel of round t + delay was asked for."""

    def row_values(self, row: int) -> Floats:
        """Return all that decides the duels of a row, in one dimension, as compiled code reads it.

        They are its utilities, or its matrix row by row.
        """
        values: Floats = self.matrices[row].ravel() if self.link == NO_LINK else self.utilities[row]
        return values

    def row_matrices(self) -> Floats:
        """Return the (R, K, K) matrices of all rows, computed from utilities if need be."""
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
        """Return the Condorcet winner of every row among the arms there, -1 where there is none."""
        absent = ~self.present if self.present.size else None
        if self.link == NO_LINK:
            matrices = self.matrices
            if absent is not None:  # everyone beats who is not there, who beats nobody
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
        """Return the (R, K) losses of all arms to the von Neumann winner among the arms there.

        That is the mixture of arms that no arm beats; where a Condorcet winner is there it is
        that arm, and the losses are the gaps to it, to the bit. Where several mixtures are beaten
        by nobody, which takes two arms that are even, it is the one that `driftduel` finds.

        Parameters
        ----------
        winners
            The Condorcet winner of every row, if they are known already.
        """
        if self.link != NO_LINK:  # utilities have a best arm, or several that lose nothing
            there = self.present if self.present.size else np.True_
            return self.row_preferences(np.where(there, self.utilities, -np.inf).argmax(1)) - 0.5
        if winners is None:
            winners = self.row_winners()
        losses: Floats = self.row_preferences(winners) - 0.5
        without = np.flatnonzero(winners < 0)
        if self.unknown:  # no mixture is known to be beaten by nobody
            losses[without] = np.nan
        elif without.size:
            from driftduel._minimax import lose, workspace

            arms = losses.shape[1]
            lose(
                self.matrices, self.present, without, np.empty((arms, arms)),
                np.empty(arms, np.int64), np.empty(arms), *workspace(arms), losses,
            )  # fmt: skip
        return losses


class World(ABC):
    """A preference matrix for every round 1, 2, ..., `rounds`.

    A world is data, not a process: asking twice gives the same answer, in any order, and it never
    sees who is learning from it. Memory is proportional to what changes, never to the rounds.

    A subclass sets `arms`, `rounds` and `chunk_rounds` and writes `chunk`; all else follows.
    """

    arms: int
    rounds: int
    chunk_rounds: int
    """How many rounds a chunk may span so that it stays small."""
    spec: str = ""
    """What `make_world` made it from, its seed included; empty if it was made otherwise."""
    names: tuple[str, ...] = ()
    """What the arms are called; empty if they have only their numbers."""
    drifts: bool = True
    """Whether it may move in every round, so that walking through it takes time."""

    @abstractmethod
    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""

    def chunks(self, first: int = 1, limit: int | None = None) -> Iterator[Chunk]:
        """Walk through the rounds from `first` on in chunks of at most `limit` rounds."""
        step = self.chunk_rounds if limit is None else min(limit, self.chunk_rounds)
        while first <= self.rounds:
            # Boundaries lie on multiples of the step, where blocks of random numbers begin too.
            end = min(((first - 1) // step + 1) * step, self.rounds) + 1
            yield self.chunk(first, end)
            first = end

    def preferences(self, t: int) -> Preferences:
        """Return the preferences P_t of round `t`, those of arms that are away included."""
        if not 1 <= t <= self.rounds:
            raise DriftduelError(f"round {t} must be between 1 and {self.rounds}.")
        chunk = self.chunk(t, t + 1)
        return Preferences(chunk.row_matrices()[chunk.rows[0]])

    def present(self, t: int) -> tuple[int, ...]:
        """Return the arms that are there in round `t`, ascending."""
        if not 1 <= t <= self.rounds:
            raise DriftduelError(f"round {t} must be between 1 and {self.rounds}.")
        chunk = self.chunk(t, t + 1)
        if not chunk.present.size:
            return tuple(range(self.arms))
        return tuple(np.flatnonzero(chunk.present[chunk.rows[0]]).tolist())

    def condorcet_winners(self) -> list[tuple[int, int | None]]:
        """Tell who wins when: (first round, arm) for every stretch; None where nobody does.

        The winner is that of the arms that are there.
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
        """Describe a world that no spec was given for."""
        return f"{type(self).__name__}(arms={self.arms}, rounds={self.rounds})"


def _called(arm: int | None) -> str:
    return "none" if arm is None else f"{arm}"
