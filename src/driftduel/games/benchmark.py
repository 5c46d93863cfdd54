"""The benchmark of a game's regret, chunk by chunk."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.games.scene import GameScene
from driftduel.regret import NoWinnerError, chunk_losses, kinds_of, phase_curves, phase_starts
from driftduel.worlds import Chunk, World

__all__ = ["RegretBenchmark"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RegretBenchmark:
    """The losses of every arm, and the rounds with a change of the best arm.

    The value of ``exploitability`` is defined only at the end of a phase, so such a game is played
    against the von Neumann winner and counts the plays at the end of every phase.

    Parameters
    ----------
    world
        The world of the game.
    benchmark
        One of `driftduel.regret.BENCHMARKS`.
    wanted
        The rounds of the curves.
    """

    def __init__(self, world: World, benchmark: str, wanted: Ints) -> None:
        self.world, self.wanted = world, wanted
        self._phases = phase_starts(world) if benchmark == "exploitability" else None
        self._against = benchmark if self._phases is None else "von-neumann"
        self._switches: list[int] = []
        self.scene = GameScene()
        """A summary of the world up to the last chunk."""
        self._best: NDArray[Any] | None = None

    @property
    def marks(self) -> Ints:
        """The rounds at which a game stores its regret and its plays."""
        if self._phases is None:
            return self.wanted
        return np.union1d(self.wanted, self._phases[1:] - 1)

    def losses(self, chunk: Chunk) -> Floats:
        """Return the loss of each arm in each row of the next chunk."""
        winners = chunk.row_winners()
        self.scene.note(chunk, winners)
        if self._against == "condorcet":
            without = np.flatnonzero(winners[chunk.rows] < 0)
            if without.size:
                raise NoWinnerError("the world", self.world, int(chunk.starts[without[0]]))
        losses = chunk_losses(chunk, self._against, winners=winners)
        self._note_switches(chunk, winners if self._against == "condorcet" else losses == 0)
        return losses

    def _note_switches(self, chunk: Chunk, best: NDArray[Any]) -> None:
        """Record the rounds of a chunk with a change of the best arm, given as (R,) or (R, K)."""
        now = best.reshape(len(best), -1)[chunk.rows]
        before = now[:1] if self._best is None else self._best
        changed = (now != np.concatenate((before, now[:-1]))).any(axis=1)
        self._switches.extend(chunk.starts[changed].tolist())
        self._best = now[-1:].copy()

    def switches(self, last: int) -> list[int]:
        """Return the rounds up to `last` in which the best arm, or the phase, changed."""
        changes = self._switches if self._phases is None else self._phases[1:].tolist()
        return [t for t in changes if t <= last]

    def regret(self, at: Ints, curves: Floats, plays: Ints) -> tuple[Ints, dict[str, Floats], Ints]:
        """Return the rounds of the curves, the regret by kind up to them, and the plays.

        Parameters
        ----------
        at
            The marks reached, and the last round played.
        curves, plays
            The totals at these rounds: the four blends of the losses, and the plays of each arm.
        """
        regret = {kind: curves[:, column] for column, kind in enumerate(kinds_of(self._against))}
        if self._phases is None:
            return at, regret, plays
        regret = phase_curves(self.world, self._phases, at, plays) | regret
        kept = np.isin(at, self.wanted)
        kept[-1] = True
        return at[kept], {kind: curve[kept] for kind, curve in regret.items()}, plays[kept]
