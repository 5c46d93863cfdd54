"""The engine for threads: compiled games run in parallel, because kernels release the GIL."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from driftduel._internal.notices import working_on
from driftduel.lab.cells import Outcome, Stopped, Tick, run_cell
from driftduel.lab.engines.base import Player, ThreadPerWorker, ticking
from driftduel.lab.plan import Cell

__all__ = ["Threads"]


class Threads(ThreadPerWorker):
    """An engine with one thread per worker, for compiled policies.

    Parameters
    ----------
    workers
        Number of threads; default: the number of processors.
    """

    name = "threads"
    batch_seconds = 0.0

    @contextmanager
    def worker(self, stop: threading.Event, tick: Tick) -> Iterator[Player]:
        """Yield a function that plays cells in the calling thread."""

        def play(cells: Sequence[Cell]) -> Iterator[Outcome]:
            for cell in cells:
                try:
                    with working_on(cell.policy) as runs:
                        outcome = run_cell(cell, stop, ticking(tick, runs))
                except Stopped:
                    return
                yield outcome

        yield play
