"""What a game's regret is measured against, chunk by chunk."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.games.scene import Scene
from driftduel.regret import NoWinnerError, chunk_losses, kinds_of, phase_curves, phase_starts
from driftduel.worlds import Chunk, World

__all__ = ["Yardstick"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Yardstick:
    """Say what every arm loses, and note the rounds in which the best arm changes.

    A game for ``exploitability``, which can be told only when a phase is over, is played against
    the von Neumann winner and counts the plays at the end of every phase.

    Parameters
    ----------
    world
        Where the game takes place.
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
        self.scene = Scene()
        """What the world was like, as far as it was asked for."""
        self._best: NDArray[Any] | None = None

    @property
    def marks(self) -> Ints:
        """The rounds up to which a game must add up its regret and its plays."""
        if self._phases is None:
            return self.wanted
        return np.union1d(self.wanted, self._phases[1:] - 1)

    def losses(self, chunk: Chunk) -> Floats:
        """Return what each arm loses in each row of a chunk, the one after the last."""
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
        """Note the rounds of a chunk whose best, (R,) or (R, K), is not that of the one before."""
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
            What was added up by then: the four blends of the losses, and the plays of each arm.
        """
        regret = {kind: curves[:, column] for column, kind in enumerate(kinds_of(self._against))}
        if self._phases is None:
            return at, regret, plays
        regret = phase_curves(self.world, self._phases, at, plays) | regret
        kept = np.isin(at, self.wanted)
        kept[-1] = True
        return at[kept], {kind: curve[kept] for kind, curve in regret.items()}, plays[kept]
