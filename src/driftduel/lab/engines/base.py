"""Engines: where cells are played. One small protocol, so that results cannot depend on it."""

import os
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from driftduel.lab.cells import Outcome, Tick
from driftduel.lab.plan import Cell

__all__ = ["Engine", "Hand", "Take", "cores", "outcomes"]

Hand = Callable[[Sequence[Cell]], Iterator[Outcome]]
"""Plays cells one after the other and yields what came of each, as soon as it is there."""
Take = Callable[[float], list[Cell]]
"""Hands out the next cells, about so many seconds of them but at least one; none at the end."""


class Engine(Protocol):
    """Somewhere to play cells."""

    name: str
    workers: int
    """How many cells are played at a time."""
    hands: int
    """How many hands keep the workers busy."""
    batch_seconds: float
    """How much work a hand takes at a time, so that handing it over costs next to nothing."""

    def hand(self, stop: threading.Event, tick: Tick) -> AbstractContextManager[Hand]:
        """Make one hand, in the thread that will use it.

        Parameters
        ----------
        stop
            Set when the work is to end early; the hand then ends soon, with what it has.
        tick
            Called with rounds played, where that is known before a cell is finished.
        """

    def close(self) -> None:
        """Give up what the engine holds: processes, connections."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def outcomes(engine: Engine, take: Take, tick: Tick) -> Generator[Outcome]:
    """Let an engine's hands play what `take` hands out; yield outcomes as they come.

    Closing the iterator, or an error in whoever reads it, stops the hands.
    """
    stop = threading.Event()
    finished: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            with engine.hand(stop, tick) as play:
                while not stop.is_set() and (cells := take(engine.batch_seconds)):
                    for outcome in play(cells):
                        finished.put(outcome)
        except BaseException as error:  # whatever it is, the reader must hear of it
            finished.put(error)
        finally:
            finished.put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(engine.hands)]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            outcome = finished.get()
            if outcome is None:
                left -= 1
            elif isinstance(outcome, BaseException):
                if not stop.is_set():
                    raise outcome
            else:
                yield outcome
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=10)
