"""Processes of this machine: for policies in plain Python, and for those that may crash."""

import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from driftduel.errors import DriftduelError
from driftduel.lab.cells import Outcome, Tick
from driftduel.lab.engines.base import Hand, cores
from driftduel.lab.plan import Cell

__all__ = ["Processes"]

_TRIES = 2


class Processes:
    """Play in processes of their own. One that dies costs nothing but the cell it played.

    That cell is tried once more in a new process, and reported as failed if that dies too.

    Parameters
    ----------
    workers
        How many; as many as there are processors unless given.
    imports
        Modules and files that the workers import first.
    """

    name = "processes"
    batch_seconds = 0.25

    def __init__(self, workers: int | None = None, imports: Sequence[str] = ()) -> None:
        self.workers = self.hands = workers or cores()
        self.imports = tuple(imports)

    @contextmanager
    def hand(self, stop: threading.Event, tick: Tick) -> Iterator[Hand]:
        """Start a process, and another one whenever it dies."""
        child = _Child(self.imports)
        # A game may take long; whoever waits for it must notice that it is no longer wanted.
        finished = threading.Event()
        watch = threading.Thread(target=_kill_when, args=(stop, finished, child), daemon=True)
        watch.start()

        def play(cells: Sequence[Cell]) -> Iterator[Outcome]:
            waiting = list(cells)
            tries = 0
            while waiting and not stop.is_set():
                try:
                    child.send(waiting)
                    for _ in range(len(waiting)):
                        outcome = child.receive()
                        tick(0 if outcome.row is None else outcome.row["rounds"])
                        waiting.pop(0)
                        tries = 0
                        yield outcome
                except (EOFError, OSError, pickle.UnpicklingError):
                    if stop.is_set():
                        return
                    code = child.restart()
                    tries += 1
                    if tries == _TRIES:
                        failed = waiting.pop(0)
                        tries = 0
                        yield Outcome(failed, None, f"its process died {_TRIES} times ({code})")

        try:
            yield play
        finally:
            finished.set()
            child.kill()
            watch.join()

    def close(self) -> None:
        """Every hand has ended its own process."""


def _kill_when(stop: threading.Event, finished: threading.Event, child: "_Child") -> None:
    while not finished.wait(0.1):
        if stop.is_set():
            child.kill()
            return


class _Child:
    """A process that plays cells: pickles go in and come out."""

    def __init__(self, imports: Sequence[str]) -> None:
        self.imports = imports
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "driftduel.lab.engines.worker", *self.imports]
        # A session of its own: Ctrl-C in the terminal is the parent's to handle.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    def send(self, cells: Sequence[Cell]) -> None:
        pipe = _open(self.process.stdin)
        pickle.dump(list(cells), pipe)
        pipe.flush()

    def receive(self) -> Outcome:
        answer: Any = pickle.load(_open(self.process.stdout))
        if isinstance(answer, DriftduelError):
            raise answer
        result: Outcome = answer
        return result

    def restart(self) -> str:
        """Start a new process and say how the old one ended."""
        self.kill()
        code = self.process.returncode
        self.start()
        if code is not None and code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def kill(self) -> None:
        if self.process.poll() is None:
            try:  # one that is just dying deserves to be asked how
                self.process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # a broken pipe cannot be flushed
                _open(pipe).close()


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
