"""Engines: where cells are played. One small protocol, so that results cannot depend on it."""

import os
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from driftduel.lab.cells import Outcome, Tick
from driftduel.lab.plan import Cell

__all__ = [
    "SECONDS_BETWEEN_SIGNALS",
    "Engine",
    "Hand",
    "Hands",
    "Take",
    "cores",
    "environment",
]

SECONDS_BETWEEN_SIGNALS = 0.2
"""How long to wait at a time: with polars, Ctrl-C does not interrupt waiting (its issue 21739)."""

Take = Callable[[float], list[Cell]]
"""Hands out the next cells, about so many seconds of them but at least one; none at the end."""
Hand = Callable[[Sequence[Cell]], Iterator[Outcome]]
"""Plays cells one after the other and yields what came of each, as soon as it is there."""

_SECONDS_TO_END = 10


class Engine(Protocol):
    """Somewhere to play cells."""

    name: str
    workers: int
    """How many cells are played at a time."""

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play what `take` hands out until there is no more; yield outcomes as they come.

        Every cell that was taken has one outcome. Closing the generator ends the work soon.

        Parameters
        ----------
        take
            Hands out cells; may be called from any thread.
        tick
            To be called, from any thread, with numbers of rounds that were played.
        """

    def close(self) -> None:
        """Give up what the engine holds: processes, connections."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment() -> dict[str, str]:
    """Return the environment of a process that is to find every module that is found here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class Hands(ABC):
    """An engine with a thread for each worker, which plays, or sees to it that a process does.

    Parameters
    ----------
    workers
        How many; as many as there are processors unless given.
    """

    name: str
    batch_seconds: float
    """How much work a hand takes at a time, so that handing it over costs next to nothing."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    @abstractmethod
    def hand(self, stop: threading.Event, tick: Tick) -> AbstractContextManager[Hand]:
        """Make one hand, in the thread that will use it.

        Parameters
        ----------
        stop
            Set when the work is over, or to end early; the hand then ends soon, with what it has.
        tick
            To be called with rounds played.
        """

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play what `take` hands out until there is no more; yield outcomes as they come."""
        stop = threading.Event()
        finished: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                with self.hand(stop, tick) as play:
                    while not stop.is_set() and (cells := take(self.batch_seconds)):
                        for outcome in play(cells):
                            finished.put(outcome)
            except BaseException as error:  # whatever it is, the reader must hear of it
                finished.put(error)
            finally:
                finished.put(None)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        left = len(threads)
        try:
            while left:
                try:
                    outcome = finished.get(timeout=SECONDS_BETWEEN_SIGNALS)
                except queue.Empty:
                    continue
                if outcome is None:
                    left -= 1
                elif isinstance(outcome, BaseException):
                    raise outcome
                else:
                    yield outcome
        finally:
            stop.set()
            # A policy that never answers cannot be stopped, only left behind.
            deadline = time.monotonic() + _SECONDS_TO_END
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))

    def close(self) -> None:  # noqa: B027 - hands let go of what they have
        """Do nothing: nothing is held."""
