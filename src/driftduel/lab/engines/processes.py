"""The engine for local processes, for policies in plain Python or policies that may crash."""

import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from driftduel._internal.notices import tell
from driftduel.errors import DriftduelError
from driftduel.lab.cells import Outcome, Tick
from driftduel.lab.engines.base import Compiling, Player, ThreadPerWorker, WorkerDied, environment
from driftduel.lab.plan import Cell

__all__ = ["Processes"]

_CRASHES_TO_START = 2
_DEATHS_TO_START = 5
_SECONDS_TO_END = 1.0
# Signals from outside: sent by users, batch systems, or the kernel when memory is exhausted.
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


class Processes(ThreadPerWorker):
    """An engine with one process per worker. The cell of a process that dies is retried.

    The retry is at the end, without other cells; see `retry_after_death`.

    Parameters
    ----------
    workers
        Number of processes; default: the number of processors.
    imports
        Modules and files that the workers import first.
    """

    name = "processes"
    batch_seconds = 0.1

    def __init__(self, workers: int | None = None, imports: Sequence[str] = ()) -> None:
        super().__init__(workers)
        # Absolute paths, because this process may change its folder before it starts a worker.
        self.imports = [str(Path(n).resolve()) if n.endswith(".py") else n for n in imports]

    @contextmanager
    def worker(self, stop: threading.Event, tick: Tick) -> Iterator[Player]:
        """Yield a function that sends cells to a process, and restarts it when it dies."""
        child = _Child(self.imports)

        def play(cells: Sequence[Cell]) -> Iterator[Outcome | WorkerDied]:
            waiting = deque(cells)
            while waiting and not stop.is_set():
                try:
                    if not child.running:
                        child.start(stop)
                    child.put(list(waiting))
                    while waiting:
                        outcome = child.get()
                        if isinstance(outcome, Compiling):
                            tell(*outcome)
                            continue
                        waiting.popleft()
                        tick(0 if outcome.row is None else outcome.row["rounds"])
                        yield outcome
                except _Died:
                    how, crashed = child.end()
                    if not stop.is_set():
                        yield WorkerDied(waiting.popleft(), how, crashed=crashed)

        # This thread blocks until a game ends, so a second thread waits for the stop event.
        threading.Thread(target=_kill_at, args=(stop, child), daemon=True).start()
        try:
            yield play
        finally:
            child.end()


def _kill_at(stop: threading.Event, child: "_Child") -> None:
    stop.wait()
    child.kill()


class _Died(Exception):  # noqa: N818 - handled internally
    """Raised when the pipe to the process is closed."""


class _Child:
    """A process that plays cells, with pickles on its stdin and stdout."""

    def __init__(self, imports: Sequence[str]) -> None:
        self.imports = imports
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self.process is not None

    def start(self, stop: threading.Event) -> None:
        """Start a process and wait until it is ready to play."""
        how, crashes = "", 0
        for _ in range(_DEATHS_TO_START):
            self.process = subprocess.Popen(
                # faulthandler prints a traceback when the process crashes.
                [sys.executable, "-P", "-X", "faulthandler", "-m", "driftduel.lab.engines.worker",
                 *self.imports],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for this process to handle
            )  # fmt: skip
            if stop.is_set():  # race: `_kill_at` may have missed this process
                self.kill()
            try:
                trouble = self.get()
            except _Died:
                how, crashed = self.end()
                if stop.is_set():
                    raise
                crashes += crashed
                if crashes == _CRASHES_TO_START:
                    break
                continue
            if trouble is not None:
                raise trouble
            return
        raise DriftduelError(f"a worker process ended during its start: {how}.")

    def put(self, message: Any) -> None:
        assert self.process is not None
        pipe = _require_pipe(self.process.stdin)
        try:
            pipe.write(pickle.dumps(message))
            pipe.flush()
        except OSError:
            raise _Died from None

    def get(self) -> Any:
        assert self.process is not None
        try:
            return pickle.load(_require_pipe(self.process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError):
            raise _Died from None

    def kill(self) -> None:
        """Kill the process immediately; thread-safe."""
        if self.process is not None:
            self.process.kill()

    def end(self) -> tuple[str, bool]:
        """Close the input, wait for the process, and return how it ended, and if by itself."""
        process, self.process = self.process, None
        if process is None:
            return "", False
        with suppress(OSError):  # a broken pipe cannot be flushed
            _require_pipe(process.stdin).close()
        try:
            code = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        _require_pipe(process.stdout).close()
        return _how(code)


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _how(code: int) -> tuple[str, bool]:
    """Return how a process ended, and whether it ended without an external signal."""
    if code >= 0:
        return f"with exit code {code}", True
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a signal without a name
        name = f"signal {-code}"
    perhaps = ", perhaps for lack of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{perhaps}", name not in _FROM_OUTSIDE
