"""Processes of this machine: for policies in plain Python, and for those that may crash."""

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

from driftduel._notice import tell
from driftduel.errors import DriftduelError
from driftduel.lab.cells import Outcome, Tick
from driftduel.lab.engines.base import Compiling, Died, Player, ThreadPerWorker, environment
from driftduel.lab.plan import Cell

__all__ = ["Processes"]

_CRASHES_TO_START = 2
_DEATHS_TO_START = 5
_SECONDS_TO_END = 1.0
# What people, batch systems and a system short of memory send.
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


class Processes(ThreadPerWorker):
    """Play in processes of their own. One that dies costs time, not cells.

    The cell it played is tried again at the end, alone; see `until_it_lives`.

    Parameters
    ----------
    workers
        How many; as many as there are processors unless given.
    imports
        Modules and files that the workers import first.
    """

    name = "processes"
    batch_seconds = 0.1

    def __init__(self, workers: int | None = None, imports: Sequence[str] = ()) -> None:
        super().__init__(workers)
        # Whole paths: this process may change its folder before it starts another one.
        self.imports = [str(Path(n).resolve()) if n.endswith(".py") else n for n in imports]

    @contextmanager
    def worker(self, stop: threading.Event, tick: Tick) -> Iterator[Player]:
        """Have a process play, and a new one whenever it dies."""
        child = _Child(self.imports)

        def play(cells: Sequence[Cell]) -> Iterator[Outcome | Died]:
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
                        yield Died(waiting.popleft(), how, crashed=crashed)

        # A game may be long: whoever waits for its end here cannot see that it is not wanted.
        threading.Thread(target=_kill_at, args=(stop, child), daemon=True).start()
        try:
            yield play
        finally:
            child.end()


def _kill_at(stop: threading.Event, child: "_Child") -> None:
    stop.wait()
    child.kill()


class _Died(Exception):  # noqa: N818 - not an error of ours
    """The process is no more."""


class _Child:
    """A process that plays cells: pickles go in and come out."""

    def __init__(self, imports: Sequence[str]) -> None:
        self.imports = imports
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self.process is not None

    def start(self, stop: threading.Event) -> None:
        """Start a process that is ready to play."""
        how, crashes = "", 0
        for _ in range(_DEATHS_TO_START):
            self.process = subprocess.Popen(
                # A traceback of a crash tells more than the number of a signal.
                [sys.executable, "-P", "-X", "faulthandler", "-m", "driftduel.lab.engines.worker",
                 *self.imports],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for this process to handle
            )  # fmt: skip
            if stop.is_set():  # too late for `_kill_at` to see this process
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
        raise DriftduelError(f"a worker process ended before it could play anything: {how}.")

    def put(self, message: Any) -> None:
        assert self.process is not None
        pipe = _there(self.process.stdin)
        try:
            pipe.write(pickle.dumps(message))
            pipe.flush()
        except OSError:
            raise _Died from None

    def get(self) -> Any:
        assert self.process is not None
        try:
            return pickle.load(_there(self.process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError):
            raise _Died from None

    def kill(self) -> None:
        """End the process at once; for other threads, too."""
        if self.process is not None:
            self.process.kill()

    def end(self) -> tuple[str, bool]:
        """Let the process end, which it does when its input does; say how, and if by itself."""
        process, self.process = self.process, None
        if process is None:
            return "", False
        with suppress(OSError):  # a broken pipe cannot be flushed
            _there(process.stdin).close()
        try:
            code = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        _there(process.stdout).close()
        return _how(code)


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _how(code: int) -> tuple[str, bool]:
    """Say how a process ended, and whether that was its own doing."""
    if code >= 0:
        return f"with exit code {code}", True
    try:
        name = signal.Signals(-code).name
    except ValueError:  # one of those without a name
        name = f"signal {-code}"
    perhaps = ", perhaps for want of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{perhaps}", name not in _FROM_OUTSIDE
