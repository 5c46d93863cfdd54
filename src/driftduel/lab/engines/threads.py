"""Threads of this process: compiled games run side by side, because kernels release the GIL."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from driftduel.lab.cells import Outcome, Stopped, Tick, run_cell
from driftduel.lab.engines.base import Hand, Hands
from driftduel.lab.plan import Cell

__all__ = ["Threads"]


class Threads(Hands):
    """Play in threads.

    Parameters
    ----------
    workers
        How many; as many as there are processors unless given.
    """

    name = "threads"
    batch_seconds = 0.0

    @contextmanager
    def hand(self, stop: threading.Event, tick: Tick) -> Iterator[Hand]:
        """Play right here."""

        def play(cells: Sequence[Cell]) -> Iterator[Outcome]:
            for cell in cells:
                try:
                    yield run_cell(cell, stop, tick)
                except Stopped:
                    return

        yield play
