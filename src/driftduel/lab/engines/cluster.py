"""dask.distributed: the processors of many machines, or of this one."""

import hashlib
import inspect
import logging
import queue
import sys
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
from driftduel.lab.engines.base import Take, cores
from driftduel.lab.imports import load
from driftduel.lab.plan import Cell

__all__ = ["Dask", "Needed", "play_batch"]

_SECONDS_TO_CONNECT = 20
_SECONDS_BETWEEN_LOOKS = 5
# Nannies start workers again within seconds, and queues of clusters within minutes.
_SECONDS_WITHOUT_WORKERS = 300
# One batch is being played, one waits beside it: no worker ever waits for us.
_BATCHES_A_WORKER = 2


class Needed(NamedTuple):
    """A module that registers policies or worlds of the user's own."""

    name: str
    source: str
    """What it is here; the same must be played everywhere."""
    sent: bool
    """Whether workers get it from here, or have it."""


class Dask:
    """Play on a dask cluster. A worker that dies costs time, not cells.

    dask itself gives a dead worker's cells to the others, until it has lost some workers over
    them. Which of the cells was to blame is then found out by playing each alone.

    Parameters
    ----------
    workers
        How many processes a local cluster has; as many as there are processors unless given.
    imports
        Modules that the workers import first, and files that are sent to them.
    cluster
        The address of a scheduler, ``tcp://host:port``; a local cluster is started unless given.
        Its workers need the same version of driftduel.
    """

    name = "dask"
    batch_seconds = 1.0

    def __init__(
        self, workers: int | None = None, imports: Sequence[str] = (), cluster: str | None = None
    ) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("distributed", "cluster", "the engine dask") from None
        load(imports)
        self._needed = [_needed(name) for name in imports]
        self._client: Any = None
        self._local: Any = None
        self.workers = (workers or cores()) if cluster is None else 1
        try:
            if cluster is None:
                self._local = _local_cluster(self.workers)
            self._client = distributed.Client(
                cluster or self._local, timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
            self._client.wait_for_workers(self.workers, timeout=_SECONDS_TO_CONNECT)
            self.workers = sum(self._client.nthreads().values())
            self._looked = self._seen = time.monotonic()
        except (OSError, RuntimeError, ValueError) as error:
            self.close()
            where = "a cluster on this machine" if cluster is None else f"the cluster {cluster!r}"
            raise DriftduelError(f"cannot play on {where}: {error}.") from None
        # A local cluster's workers find what was found here.
        self._path = list(sys.path) if cluster is None else []

    def outcomes(self, take: Take, tick: Tick) -> Generator[Outcome]:
        """Play what `take` hands out until there is no more; yield outcomes as they come."""
        from distributed.scheduler import KilledWorker

        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        submitted: dict[str, tuple[Any, list[Cell]]] = {}
        suspects: list[Cell] = []
        alone = False

        def submit(cells: list[Cell]) -> None:
            with _blaming_the_cluster():
                future = self._client.submit(
                    play_batch, cells, self._needed, self._path, __version__, pure=False
                )
                submitted[future.key] = future, cells
                future.add_done_callback(finished.put)

        try:
            while True:
                while len(submitted) < _BATCHES_A_WORKER * self._count_workers() and (
                    cells := take(self.batch_seconds)
                ):
                    submit(cells)
                if not submitted:
                    if not suspects:
                        return
                    alone = True
                    submit([suspects.pop()])
                try:
                    future = finished.get(timeout=_SECONDS_BETWEEN_LOOKS)
                except queue.Empty:
                    continue
                _, cells = submitted.pop(future.key)
                try:
                    with _blaming_the_cluster():
                        answers: list[Outcome] = future.result()
                except KilledWorker as error:
                    if not alone:  # it may have been a batch that waited beside this one
                        suspects += cells
                        continue
                    died = error.allowed_failures + 1
                    answers = [Outcome(cells[0], None, f"{died} workers died while they played it")]
                for outcome in answers:
                    tick(0 if outcome.row is None else outcome.row["rounds"])
                    yield outcome
        finally:
            with suppress(Exception):  # there may be no cluster any more
                self._client.cancel([future for future, _ in submitted.values()])

    def _count_workers(self) -> int:
        """Return how many there are, as of late; wait no longer than some minutes without any."""
        now = time.monotonic()
        if now - self._looked >= _SECONDS_BETWEEN_LOOKS:
            self._looked = now
            with _blaming_the_cluster():
                self.workers = sum(self._client.nthreads().values())
            if self.workers:
                self._seen = now
            elif now - self._seen > _SECONDS_WITHOUT_WORKERS:
                raise DriftduelError("the cluster has no workers any more.")
        return max(self.workers, 1)

    def close(self) -> None:
        """Leave the cluster; stop it if it was started here."""
        for each in (self._client, self._local):
            if each is not None:
                each.close()


def _local_cluster(workers: int) -> Any:
    """Start workers on this machine.

    Not dask's LocalCluster, whose processes import the user's script again; nor its
    SubprocessCluster, whose scheduler lives on when this process is killed.
    """
    import distributed
    from distributed.deploy.subprocess import SubprocessWorker

    quiet = {"silence_logs": logging.CRITICAL}
    host = {"host": "127.0.0.1", "dashboard": False}
    kind = {**host, **quiet, "nthreads": 1}
    worker = {"cls": SubprocessWorker, "options": {"worker_kwargs": kind}}
    return distributed.SpecCluster(
        scheduler={
            "cls": distributed.Scheduler,
            "options": {**host, "port": 0, "allowed_failures": 1},
        },
        workers=dict.fromkeys(range(workers), worker),
        **quiet,
    )


@contextmanager
def _blaming_the_cluster() -> Iterator[None]:
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (DriftduelError, KilledWorker):
        raise
    except Exception as error:
        raise DriftduelError(f"the cluster failed: {type(error).__name__}: {error}.") from None


def _needed(name: str) -> Needed:
    """Return what workers must know of something that was imported here."""
    is_file = name.endswith(".py")
    module = Path(name).stem if is_file else name
    return Needed(module, _source(module), sent=is_file)


def _source(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):  # a compiled module, or an empty one
        return ""


class _Unwanted(threading.Event):
    """Whether nobody waits for the task that runs in this thread of a worker."""

    def __init__(self) -> None:
        from distributed import get_worker

        super().__init__()
        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def is_set(self) -> bool:
        """Tell whether the task was cancelled, or the scheduler is gone."""
        task = self._worker.state.tasks.get(self._key)
        status = self._worker.status.name
        return task is None or task.state == "cancelled" or status in ("closing", "closed")


_one_at_a_time = threading.Lock()


def play_batch(
    cells: Sequence[Cell], needed: Sequence[Needed], path: Sequence[str], version: str
) -> list[Outcome]:
    """Play cells on a worker.

    Parameters
    ----------
    cells
        What to play.
    needed
        Modules of the user's own.
    path
        Where to look for those that were not sent.
    version
        Of driftduel, where the plan was made.
    """
    from distributed import Reschedule, get_worker

    if version != __version__:
        raise DriftduelError(
            f"a worker has driftduel {__version__}, this machine {version}; install the same."
        )
    warnings.simplefilter("ignore", WeakSpotWarning)  # said once, when the plan was made
    with _one_at_a_time:  # a worker may have several threads
        sys.path += [place for place in path if place not in sys.path]
        for module in needed:
            _import(module, Path(get_worker().local_directory))
    unwanted = _Unwanted()
    try:
        return [run_cell(cell, unwanted) for cell in cells]
    except Stopped:  # should anybody want it after all
        raise Reschedule from None


def _import(module: Needed, folder: Path) -> None:
    """Import a module on a worker, unless it has another one of that name."""
    name = module.name
    if module.sent and name not in sys.modules:
        digest = hashlib.sha256(module.source.encode()).hexdigest()
        file = folder / digest[:16] / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(module.source, encoding="utf-8")
        load([str(file)])
    else:
        load([name])
    if _source(name) != module.source:
        raise DriftduelError(
            f"a worker of the cluster has another {name!r} than this machine; restart the workers, "
            f"or bring them up to date."
        )
