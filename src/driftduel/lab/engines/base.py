"""The protocol of engines, which play cells. Results do not depend on the engine."""

import os
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from typing import NamedTuple, Protocol

from driftduel.lab.cells import Outcome, Tick
from driftduel.lab.plan import Cell

__all__ = [
    "SECONDS_BETWEEN_SIGNALS",
    "Compiling",
    "Engine",
    "Player",
    "Take",
    "ThreadPerWorker",
    "WorkerDied",
    "cores",
    "environment",
    "retry_after_death",
    "ticking",
]

SECONDS_BETWEEN_SIGNALS = 0.2
"""Seconds of one wait: polars prevents Ctrl-C from interrupting a wait (polars issue 21739)."""

Take = Callable[[float], list[Cell]]
"""Returns the next cells, of about so many seconds but at least one; empty at the end."""


class WorkerDied(NamedTuple):
    """The outcome of a cell with a worker process that ended during its game."""

    cell: Cell
    how: str
    times: int = 1
    crashed: bool = False
    """Whether the process ended by itself, such as by a crash, and not by an external signal."""


Player = Callable[[Sequence[Cell]], Iterator[Outcome | WorkerDied]]
"""Plays cells one after the other and yields each outcome as soon as it is available."""

_SECONDS_TO_END = 10
# A process may be killed by a user or for lack of memory; only repeated deaths blame the cell.
_MOST_DEATHS = 5


class Engine(Protocol):
    """The interface of objects that play cells in threads, processes or on a cluster."""

    name: str
    workers: int
    """Number of cells that are played in parallel."""

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play the cells of `take` until it returns an empty list; yield outcomes in any order.

        Every cell that was taken has one outcome. Closing the generator stops the workers.

        Parameters
        ----------
        take
            Thread-safe function that returns the next cells.
        tick
            Thread-safe callback with numbers of rounds that were played.
        """

    def close(self) -> None:
        """Release the resources of the engine: processes and connections."""


def retry_after_death(
    play: Callable[[Take], Generator[Outcome | WorkerDied]], take: Take
) -> Generator[Outcome]:
    """Retry the cells of dead processes, one at a time; report repeated deaths as failures.

    Retries run at the end, when no other cell uses memory or can have caused the death.

    Parameters
    ----------
    play
        Function that plays all cells of its argument.
    take
        Function that returns the next cells.
    """
    suspects: list[WorkerDied] = []
    with closing(play(take)) as stream:
        for outcome in stream:
            if isinstance(outcome, WorkerDied):
                suspects.append(outcome)
            else:
                yield outcome
    for first in suspects:
        died, deaths = first, 1
        while True:
            with closing(play(_take_once(first.cell))) as stream:
                again = next(stream)
            if not isinstance(again, WorkerDied):
                yield again
                break
            deaths += again.times
            if deaths >= _MOST_DEATHS or (died.crashed and again.crashed):
                why = f"its process died {deaths} times, at last {again.how}"
                yield Outcome(first.cell, None, why)
                break
            died = again


def _take_once(cell: Cell) -> Take:
    """Return a function that returns one cell at its first call, then an empty list."""
    waiting = [cell]
    lock = threading.Lock()

    def take(_: float) -> list[Cell]:
        with lock:
            return [waiting.pop()] if waiting else []

    return take


def ticking(tick: Tick, runs: Callable[[], None]) -> Tick:
    """Return a tick that also calls `runs`: a game that plays rounds is completely compiled."""

    def both(rounds: int) -> None:
        runs()
        tick(rounds)

    return both


class Compiling(NamedTuple):
    """A message object of a worker process: compilation of a policy begins or ends."""

    policy: str
    begins: bool


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment() -> dict[str, str]:
    """Return an environment in which a child process finds all modules of this process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class ThreadPerWorker(ABC):
    """An engine with one thread per worker, which plays cells or controls a process that does.

    Parameters
    ----------
    workers
        Number of workers; default: the number of processors.
    """

    name: str
    batch_seconds: float
    """Seconds of work that a worker takes at a time, so that the overhead is negligible."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    @abstractmethod
    def worker(self, stop: threading.Event, tick: Tick) -> AbstractContextManager[Player]:
        """Return the player of one worker; called in the thread that uses it.

        Parameters
        ----------
        stop
            Event that is set at the end or to stop early; the player then returns soon.
        tick
            Callback with the number of rounds played.
        """

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play the cells of `take`; yield outcomes in the order in which they finish."""
        return retry_after_death(lambda some: self._together(some, tick), take)

    def _together(self, take: Take, tick: Tick) -> Generator[Outcome | WorkerDied]:
        """Play with all workers in parallel; yield outcomes through one thread-safe queue."""
        stop = threading.Event()
        finished: queue.SimpleQueue[Outcome | WorkerDied | BaseException | None] = (
            queue.SimpleQueue()
        )

        def work() -> None:
            try:
                with self.worker(stop, tick) as play:
                    while not stop.is_set() and (cells := take(self.batch_seconds)):
                        for outcome in play(cells):
                            finished.put(outcome)
            except BaseException as error:  # the consumer of the queue raises it again
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
            # A policy in an endless loop cannot be stopped, so its daemon thread is abandoned.
            deadline = time.monotonic() + _SECONDS_TO_END
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))

    def close(self) -> None:  # noqa: B027 - workers release their resources
        """Do nothing, because the engine has no resources."""
