"""The engine for dask.distributed: processors of several machines, or of this one."""

import gc
import hashlib
import inspect
import logging
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from driftduel import __version__
from driftduel.errors import DriftduelError, MissingExtraError, WeakSpotWarning
from driftduel.lab.cells import Outcome, Stopped, Tick, run_cell
from driftduel.lab.engines.base import (
    SECONDS_BETWEEN_SIGNALS,
    Take,
    WorkerDied,
    cores,
    environment,
    retry_after_death,
)
from driftduel.lab.objects import load_all
from driftduel.lab.plan import Cell

__all__ = ["Dask", "Needed", "play_batch"]

_SECONDS_TO_CONNECT = 20
_SECONDS_TO_START = 60
_SECONDS_BETWEEN_LOOKS = 5
# dask opens this socket even without a dashboard: loopback only, at any free port.
_NO_DASHBOARD = "127.0.0.1:0"
# Nannies restart workers within seconds; batch queues start new ones within minutes.
_SECONDS_WITHOUT_WORKERS = 300
# A batch costs this process some milliseconds, so the size of batches grows with the workers.
_BATCH_SECONDS = 1.0
_SECONDS_A_BATCH = 0.01
# One batch is played and one is queued, so that no worker is idle.
_BATCHES_A_WORKER = 2


class Needed(NamedTuple):
    """A module that registers the user's policies or worlds, or a class of such a module."""

    name: str
    source: str
    """The fingerprint of the local module, which every worker must reproduce."""
    sent: bool
    """Whether the source is sent to the workers, or must be installed there."""


class Dask:
    """An engine on a dask cluster. The cells of a worker that dies are retried.

    dask reassigns the cells of a dead worker to other workers, up to a number of deaths. After
    that, each of the cells is retried separately, which identifies the cause; see
    `retry_after_death`.

    Parameters
    ----------
    workers
        Number of processes of a local cluster; default: the number of processors.
    imports
        Modules that the workers import first, and files that are sent to them.
    cluster
        The address of a scheduler, ``tcp://host:port``; default: start a local cluster. Workers
        need the same version of driftduel.
    """

    name = "dask"

    def __init__(
        self, workers: int | None = None, imports: Sequence[str] = (), cluster: str | None = None
    ) -> None:
        try:
            import distributed  # noqa: F401 - fail before any work
        except ImportError:
            raise MissingExtraError("distributed", "cluster", "the engine dask") from None
        load_all(imports)
        self._needed = [_module_needed(name) for name in imports]
        self._client: Any = None
        self._local: Any = None
        self.workers = workers or cores()
        try:
            if cluster is None:
                self._local = _Local(self.workers)
                self._client = _connect(self._local.address)
                self._client.wait_for_workers(1, timeout=_SECONDS_TO_START)
            else:
                self._client = _connect(cluster)
                self._client.wait_for_workers(1, timeout=_SECONDS_TO_CONNECT)
                self.workers = sum(self._client.nthreads().values())
        except BaseException as error:
            self.close()
            if not isinstance(error, Exception):
                raise
            where = "a cluster on this machine" if cluster is None else f"the cluster {cluster!r}"
            raise DriftduelError(f"cannot play on {where}: {_error_text(error)}.") from None
        self._looked = self._seen = time.monotonic()

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play the cells of `take`; yield outcomes in the order in which they finish."""
        return retry_after_death(lambda some: self._batches(some, tick), take)

    def _batches(self, take: Take, tick: Tick) -> Generator[Outcome | WorkerDied]:
        from distributed.scheduler import KilledWorker

        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        submitted: dict[str, tuple[Any, list[Cell]]] = {}

        def submit(cells: list[Cell]) -> None:
            with _blaming_the_cluster():
                future = self._client.submit(
                    play_batch, cells, self._needed, __version__, pure=False
                )
                submitted[future.key] = future, cells
                future.add_done_callback(finished.put)

        try:
            while True:
                while len(submitted) < _BATCHES_A_WORKER * self._count_workers() and (
                    cells := take(max(_BATCH_SECONDS, self.workers * _SECONDS_A_BATCH))
                ):
                    submit(cells)
                if not submitted:
                    return
                try:
                    future = finished.get(timeout=SECONDS_BETWEEN_SIGNALS)
                except queue.Empty:
                    continue
                _, cells = submitted.pop(future.key)
                try:
                    with _blaming_the_cluster():
                        answers: list[Outcome] = future.result()
                except KilledWorker as error:  # perhaps they were only queued on that worker
                    where = f"on {error.last_worker.address}"
                    deaths = error.allowed_failures + 1
                    yield from (WorkerDied(cell, where, deaths) for cell in cells)
                    continue
                for outcome in answers:
                    tick(0 if outcome.row is None else outcome.row["rounds"])
                    yield outcome
        finally:
            with suppress(Exception):  # the cluster may be closed
                self._client.cancel([future for future, _ in submitted.values()])

    def _count_workers(self) -> int:
        """Return the recent number of workers; raise after some minutes without any."""
        now = time.monotonic()
        if now - self._looked >= _SECONDS_BETWEEN_LOOKS:
            self._looked = now
            with _blaming_the_cluster():
                there = sum(self._client.nthreads().values())
            if there:
                self.workers, self._seen = there, now
            elif now - self._seen > _SECONDS_WITHOUT_WORKERS:
                raise DriftduelError("the cluster has had no workers for some minutes.")
        return self.workers

    def close(self) -> None:
        """Close the client; stop a local cluster."""
        for each in (self._client, self._local):
            if each is not None:
                each.close()


def _connect(address: str) -> Any:
    """Return a client of the scheduler at an address; raise after a short timeout."""
    import distributed

    match = re.fullmatch(r"(?:\w+://)?(.+):(\d+)", address)
    if match is None:
        raise DriftduelError("an address must be of the form tcp://host:port")
    # A refused connection fails immediately here; dask would retry until its timeout.
    with socket.create_connection((match[1].strip("[]"), int(match[2])), _SECONDS_TO_CONNECT):
        pass
    made: list[Any] = []

    def connect() -> None:
        try:
            made.append(
                distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
            )
        except Exception as error:
            made.append(_error_text(error))

    # In a separate thread: dask blocks without a timeout if the peer accepts but never responds.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    deadline = time.monotonic() + _SECONDS_TO_CONNECT
    while thread.is_alive() and time.monotonic() < deadline:
        thread.join(SECONDS_BETWEEN_SIGNALS)
    if made and not isinstance(made[0], str):
        return made[0]
    gc.collect()  # finalize the unfinished client now; later it would log errors
    raise DriftduelError(made[0] if made else "the server at this address is not a dask scheduler")


class _Local:
    """A scheduler in this process, and workers in separate processes.

    dask's LocalCluster is not used, because its workers import the user's script again; nor its
    SubprocessCluster, because its scheduler keeps running when this process is killed.

    Parameters
    ----------
    workers
        Number of worker processes.
    """

    def __init__(self, workers: int) -> None:
        import distributed

        self._folder = tempfile.TemporaryDirectory(prefix="driftduel-", ignore_cleanup_errors=True)
        self._cluster = distributed.LocalCluster(
            n_workers=0,
            dashboard_address=_NO_DASHBOARD,
            silence_logs=logging.CRITICAL,
            # `retry_after_death` retries each cell separately.
            scheduler_kwargs={"allowed_failures": 0, "dashboard": False},
        )
        self.address = self._cluster.scheduler_address
        self._process = subprocess.Popen(
            [
                sys.executable, "-P", "-m", "dask", "worker", self.address, "--host", "127.0.0.1",
                "--nworkers", str(workers), "--nthreads", "1", "--no-dashboard",
                "--dashboard-address", _NO_DASHBOARD, "--local-directory", self._folder.name,
            ],
            stdin=subprocess.DEVNULL,
            stdout=2,  # output of a policy goes to stderr
            env={
                **environment(),
                "DASK_LOGGING__DISTRIBUTED": "critical",
                # The profiler takes 6% of the time of a worker.
                "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
                "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
            },
            start_new_session=True,  # Ctrl-C is for this process to handle
        )  # fmt: skip

    def close(self) -> None:
        self._cluster.close()  # before the kill: it logs errors about lost workers
        if hasattr(os, "killpg"):  # workers are children of the started process
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


@contextmanager
def _blaming_the_cluster() -> Iterator[None]:
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (DriftduelError, KilledWorker):
        raise
    except Exception as error:
        raise DriftduelError(f"the cluster failed: {_error_text(error)}.") from None


def _error_text(error: Exception) -> str:
    """Return the message of an error, with its type unless that is well known."""
    reason = getattr(error, "strerror", None)
    said = reason if isinstance(reason, str) else str(error).rstrip(".")
    known = isinstance(error, DriftduelError | OSError)
    return said if said and known else f"{type(error).__name__}: {said}".rstrip(": ")


def _module_needed(name: str) -> Needed:
    """Return the name, fingerprint and source that workers need for an imported module."""
    is_file = name.endswith(".py")
    module = Path(name).stem if is_file else name
    return Needed(module, _source(module.partition(":")[0]), sent=is_file)


def _source(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):  # a compiled module, or an empty one
        return ""


class _CancelFlag(threading.Event):
    """An event that is set if the task in this thread of a worker was cancelled."""

    def __init__(self) -> None:
        from distributed import get_worker

        super().__init__()
        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def is_set(self) -> bool:
        """Return whether the task was cancelled, or the connection to the scheduler is closed."""
        task = self._worker.state.tasks.get(self._key)
        status = self._worker.status.name
        return task is None or task.state == "cancelled" or status in ("closing", "closed")


_one_at_a_time = threading.Lock()


def play_batch(cells: Sequence[Cell], needed: Sequence[Needed], version: str) -> list[Outcome]:
    """Play cells on a worker.

    Parameters
    ----------
    cells
        The cells to play.
    needed
        Modules of the user.
    version
        The version of driftduel of the plan.
    """
    from distributed import Reschedule, get_worker

    if version != __version__:
        raise DriftduelError(
            f"a worker has driftduel {__version__}, this machine {version}; install one version."
        )
    warnings.simplefilter("ignore", WeakSpotWarning)  # emitted when the plan was made
    with _one_at_a_time:  # a worker may have several threads
        for module in needed:
            _import(module, Path(get_worker().local_directory))
    unwanted = _CancelFlag()
    try:
        return [run_cell(cell, unwanted) for cell in cells]
    except Stopped:  # lets dask run the task again if it is still needed
        raise Reschedule from None


def _import(module: Needed, folder: Path) -> None:
    """Import a module on a worker; raise if the worker has a different module of that name."""
    name = module.name
    if module.sent and name not in sys.modules:
        digest = hashlib.sha256(module.source.encode()).hexdigest()
        file = folder / digest[:16] / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(module.source, encoding="utf-8")
        load_all([str(file)])
    else:
        load_all([name])
    if _source(name.partition(":")[0]) != module.source:
        raise DriftduelError(
            f"a worker of the cluster has another version of {name!r} than this machine; restart "
            f"or update the workers."
        )
