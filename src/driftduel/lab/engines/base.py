"""Engines: where cells are played. One small protocol, so that results cannot depend on it."""

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
    "Died",
    "Engine",
    "Player",
    "Take",
    "ThreadPerWorker",
    "cores",
    "environment",
    "ticking",
    "until_it_lives",
]

SECONDS_BETWEEN_SIGNALS = 0.2
"""How long to wait at a time: with polars, Ctrl-C does not interrupt waiting (its issue 21739)."""

Take = Callable[[float], list[Cell]]
"""Hands out the next cells, about so many seconds of them but at least one; none at the end."""


class Died(NamedTuple):
    """A process died while a cell was played, for whatever reason."""

    cell: Cell
    how: str
    times: int = 1
    crashed: bool = False
    """Whether it was its own doing, and not a signal from outside."""


Player = Callable[[Sequence[Cell]], Iterator[Outcome | Died]]
"""Plays cells one after the other and yields what came of each, as soon as it is there."""

_SECONDS_TO_END = 10
# A process may be killed by a person, or for want of memory; a cell is to blame if it always dies.
_MOST_DEATHS = 5


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


def until_it_lives(
    play: Callable[[Take], Generator[Outcome | Died]], take: Take
) -> Generator[Outcome]:
    """Play cells whose process died once more, each alone; report those that go on dying.

    Alone, at the end, a cell has all the memory, and no other can be to blame.

    Parameters
    ----------
    play
        Plays all that it can take.
    take
        Hands out the cells.
    """
    suspects: list[Died] = []
    with closing(play(take)) as stream:
        for outcome in stream:
            if isinstance(outcome, Died):
                suspects.append(outcome)
            else:
                yield outcome
    for first in suspects:
        died, deaths = first, 1
        while True:
            with closing(play(_handing_out(first.cell))) as stream:
                again = next(stream)
            if not isinstance(again, Died):
                yield again
                break
            deaths += again.times
            if deaths >= _MOST_DEATHS or (died.crashed and again.crashed):
                why = f"its process died {deaths} times, at last {again.how}"
                yield Outcome(first.cell, None, why)
                break
            died = again


def _handing_out(cell: Cell) -> Take:
    """Player out one cell, once."""
    waiting = [cell]
    lock = threading.Lock()

    def take(_: float) -> list[Cell]:
        with lock:
            return [waiting.pop()] if waiting else []

    return take


def ticking(tick: Tick, runs: Callable[[], None]) -> Tick:
    """Return a tick that also says that a game runs, so that what it needs is compiled."""

    def both(rounds: int) -> None:
        runs()
        tick(rounds)

    return both


class Compiling(NamedTuple):
    """Another process says that it compiles a policy, or that this is over."""

    policy: str
    begins: bool


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment() -> dict[str, str]:
    """Return the environment of a process that is to find every module that is found here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class ThreadPerWorker(ABC):
    """An engine with a thread for each worker, which plays, or sees to it that a process does.

    Parameters
    ----------
    workers
        How many; as many as there are processors unless given.
    """

    name: str
    batch_seconds: float
    """How much work a worker takes at a time, so that handing it over costs next to nothing."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    @abstractmethod
    def worker(self, stop: threading.Event, tick: Tick) -> AbstractContextManager[Player]:
        """Make what plays for one worker, in the thread that will use it.

        Parameters
        ----------
        stop
            Set when the work is over, or to end early; it then ends soon, with what it has.
        tick
            To be called with rounds played.
        """

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play what `take` hands out until there is no more; yield outcomes as they come."""
        return until_it_lives(lambda some: self._together(some, tick), take)

    def _together(self, take: Take, tick: Tick) -> Generator[Outcome | Died]:
        """Let all workers play at the same time."""
        stop = threading.Event()
        finished: queue.SimpleQueue[Outcome | Died | BaseException | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                with self.worker(stop, tick) as play:
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

    def close(self) -> None:  # noqa: B027 - workers let go of what they have
        """Do nothing: nothing is held."""
