"""dask.distributed: the processors of many machines, or of this one."""

import logging
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftduel import __version__
from driftduel.errors import DriftduelError, MissingExtraError, WeakSpotWarning
from driftduel.lab.cells import Outcome, Tick, run_cell
from driftduel.lab.engines.base import Hand, cores
from driftduel.lab.imports import load
from driftduel.lab.plan import Cell

__all__ = ["Dask", "play_batch"]

_SECONDS_TO_CONNECT = 20


class Dask:
    """Play on a dask cluster. A worker that dies costs time, not cells.

    dask itself gives a dead worker's cells to the others. Cells during which several workers died
    are played once more, one by one, to find the one that kills them; that one is reported.

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
        self._local: Any = None
        if cluster is None:
            from distributed.deploy.subprocess import SubprocessCluster

            # Not LocalCluster: its processes import the user's script again.
            self._local = SubprocessCluster(
                n_workers=workers or cores(),
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        try:
            self._client = distributed.Client(
                self._local or cluster, timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
            self._client.wait_for_workers(1, timeout=_SECONDS_TO_CONNECT)
        except (OSError, TimeoutError, ValueError) as error:
            self.close()
            raise DriftduelError(
                f"cannot work on the cluster {cluster or 'started here'!r}: {error}."
            ) from None
        for path in imports:
            if path.endswith(".py"):
                self._client.upload_file(path)
        self.imports = tuple(Path(name).stem if name.endswith(".py") else name for name in imports)
        self.workers = sum(self._client.nthreads().values())
        # More than one batch for each worker: none waits for us, and a few may join later.
        self.hands = 3 * self.workers

    @contextmanager
    def hand(self, stop: threading.Event, tick: Tick) -> Iterator[Hand]:
        """Submit batches and wait for them."""
        from distributed.scheduler import KilledWorker

        def submit(cells: Sequence[Cell]) -> Iterator[Outcome]:
            future = self._client.submit(
                play_batch, list(cells), self.imports, __version__, pure=False
            )
            while True:
                try:
                    answers: list[Outcome] = future.result(timeout=0.5)
                    break
                except TimeoutError:
                    if stop.is_set():
                        future.cancel()
                        return
            for outcome in answers:
                tick(0 if outcome.row is None else outcome.row["rounds"])
                yield outcome

        def play(cells: Sequence[Cell]) -> Iterator[Outcome]:
            try:
                yield from submit(cells)
            except KilledWorker as error:
                if len(cells) == 1:
                    died = error.allowed_failures + 1
                    yield Outcome(cells[0], None, f"{died} workers died while they played it")
                    return
                for cell in cells:
                    yield from play([cell])
            except DriftduelError:
                raise
            except Exception as error:
                if stop.is_set():
                    return
                raise DriftduelError(f"lost the cluster: {type(error).__name__}: {error}") from None

        yield play

    def close(self) -> None:
        """Leave the cluster; stop it if it was started here."""
        client = getattr(self, "_client", None)
        if client is not None:
            client.close()
        if self._local is not None:
            self._local.close()


def play_batch(cells: Sequence[Cell], imports: Sequence[str], version: str) -> list[Outcome]:
    """Play cells on a worker."""
    if version != __version__:
        raise DriftduelError(
            f"a worker has driftduel {__version__}, this machine {version}; install the same."
        )
    warnings.simplefilter("ignore", WeakSpotWarning)  # said once, when the plan was made
    load(imports)
    return [run_cell(cell) for cell in cells]
