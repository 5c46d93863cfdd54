"""The lab: many games. Compare policies, sweep over worlds, resume, on one machine or many.

Needs the extra ``lab``; a dask cluster needs ``cluster``.
"""

try:
    import polars as _polars  # noqa: F401 - tables are what this room makes
except ImportError:
    from driftduel.errors import MissingExtraError

    raise MissingExtraError("polars", "lab", "the lab") from None

from driftduel.lab.experiment import compare, sweep
from driftduel.lab.plan import Cell, Plan, make_plan
from driftduel.lab.result import Results, results
from driftduel.lab.store import Store
from driftduel.lab.toml import read_plan
from driftduel.lab.watching import Watch

__all__ = [
    "Cell",
    "Plan",
    "Results",
    "Store",
    "Watch",
    "compare",
    "make_plan",
    "read_plan",
    "results",
    "sweep",
]
