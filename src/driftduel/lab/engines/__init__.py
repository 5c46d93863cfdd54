"""Engines: threads, processes, or a dask cluster."""

from collections.abc import Sequence

from driftduel.errors import DriftduelError
from driftduel.lab.engines.base import Engine
from driftduel.lab.engines.processes import Processes
from driftduel.lab.engines.threads import Threads
from driftduel.specs import near

__all__ = ["ENGINES", "Engine", "Processes", "Threads", "make_engine"]

ENGINES = ("threads", "processes", "dask")


def make_engine(
    name: str,
    workers: int | None = None,
    imports: Sequence[str] = (),
    cluster: str | None = None,
) -> Engine:
    """Make an engine by name.

    Parameters
    ----------
    name
        ``threads``, ``processes`` or ``dask``.
    workers
        Number of workers; default: the number of processors.
    imports
        Modules and files that workers import first.
    cluster
        For dask, the address of a scheduler, ``tcp://host:port``; default: a local cluster.

    Raises
    ------
    DriftduelError
        If the name does not exist or an argument does not apply to the engine.
    """
    if workers is not None and workers < 1:
        raise DriftduelError(f"workers={workers} must be a whole number at least 1.")
    if cluster is not None and name != "dask":
        raise DriftduelError(f"cluster= needs engine='dask', not {name!r}.")
    if cluster is not None and workers is not None:
        raise DriftduelError(f"workers={workers} cannot be set for an existing cluster; omit it.")
    if name == "threads":
        return Threads(workers)
    if name == "processes":
        return Processes(workers, imports)
    if name == "dask":
        from driftduel.lab.engines.cluster import Dask

        return Dask(workers, imports, cluster)
    raise DriftduelError(f"engine {name!r} does not exist; {near(name, ENGINES)}")
