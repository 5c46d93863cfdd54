"""Threads of this process: compiled games run side by side, because kernels release the GIL."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from driftduel._notice import working_on
from driftduel.lab.cells import Outcome, Stopped, Tick, run_cell
from driftduel.lab.engines.base import Player, ThreadPerWorker, ticking
from driftduel.lab.plan import Cell

__all__ = ["Threads"]


class Threads(ThreadPerWorker):
    """Play in threads.

    Parameters
    ----------
    workers
        How many; as many as there are processors unless given.
    """

    name = "threads"
    batch_seconds = 0.0

    @contextmanager
    def worker(self, stop: threading.Event, tick: Tick) -> Iterator[Player]:
        """Play right here."""

        def play(cells: Sequence[Cell]) -> Iterator[Outcome]:
            for cell in cells:
                try:
                    with working_on(cell.policy) as runs:
                        outcome = run_cell(cell, stop, ticking(tick, runs))
                except Stopped:
                    return
                yield outcome

        yield play
