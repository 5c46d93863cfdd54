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
        How many workers; as many as there are processors unless given.
    imports
        What workers import first.
    cluster
        For dask, the address of a scheduler, ``tcp://host:port``; a local cluster unless given.
    """
    if workers is not None and workers < 1:
        raise DriftduelError(f"workers={workers} must be a whole number at least 1.")
    if cluster is not None and name != "dask":
        raise DriftduelError(f"a cluster needs the engine dask, not {name!r}.")
    if cluster is not None and workers is not None:
        raise DriftduelError(f"workers={workers} cannot be chosen: the cluster has its own.")
    if name == "threads":
        return Threads(workers)
    if name == "processes":
        return Processes(workers, imports)
    if name == "dask":
        from driftduel.lab.engines.cluster import Dask

        return Dask(workers, imports, cluster)
    raise DriftduelError(f"there is no engine named {name!r}; {near(name, ENGINES)}")
