"""Compare and sweep: from specs to tables."""

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab.engines import Engine, make_engine
from driftduel.lab.plan import Cell, Plan, make_plan
from driftduel.lab.running import Watch, run_cells
from driftduel.lab.statistics import NEEDED, differences, summary
from driftduel.lab.store import Store
from driftduel.lab.toml import read_plan

__all__ = ["Results", "compare", "play_cells", "prepare", "results", "sweep"]


@dataclass(frozen=True)
class Results:
    """Tables of what was played, as polars data frames."""

    store: Store

    @property
    def plan(self) -> Plan:
        """What was to be played."""
        return self.store.plan

    @cached_property
    def narrow(self) -> pl.DataFrame:
        """One row for each game, without its curves."""
        return self.store.rows(NEEDED)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row for each policy in each world: regret with interval, restarts, speed."""
        return summary(self.narrow, self.plan)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row for each two policies in each world: the paired difference of their regrets."""
        return differences(self.narrow, self.plan)

    @cached_property
    def games(self) -> pl.DataFrame:
        """One row for each game, with its curves."""
        return self.store.rows()

    @cached_property
    def failures(self) -> dict[str, str]:
        """Cells that failed, and why."""
        return self.store.failures()

    @property
    def missing(self) -> int:
        """How many cells of the plan are not finished."""
        return len(self.plan) - len(self.narrow)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def results(folder: str | Path) -> Results:
    """Open what is in a folder, finished or not."""
    return Results(Store(folder))


def compare(
    policies: str | Sequence[str],
    worlds: str | Sequence[str],
    runs: int = 20,
    seed: int = 0,
    *,
    out: str | Path | None = None,
    benchmark: str = "condorcet",
    points: int = 200,
    imports: Sequence[str] = (),
    engine: str | Engine | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    replan: bool = False,
    watch: Watch | None = None,
) -> Results:
    """Let every policy play every world `runs` times, all with the same luck.

    Parameters
    ----------
    policies, worlds
        Specs.
    runs
        Games of each policy in each world. Run r has the same world and the same outcome numbers
        for every policy.
    seed
        Fixes everything.
    out
        A folder to keep results in; whatever it has already is not played again.
    benchmark
        Regret against the ``condorcet`` winner; for worlds without one in every round, against the
        ``von-neumann`` winner, ``exploitability``, or ``borda`` or ``copeland`` scores.
    points
        About how many rounds of each game's curves to keep.
    imports
        Modules or files that register policies or worlds of your own; only processes and clusters
        need them when the policies are registered already.
    engine
        ``threads``, ``processes`` or ``dask``; threads unless some policy is not compiled.
    workers
        How many at a time; as many as there are processors unless given.
    cluster
        Address of a dask scheduler, ``tcp://host:port``.
    replan
        Let `out` be a folder of another plan; cells that both plans have are kept.
    watch
        Somebody who looks on.

    Examples
    --------
    >>> results = compare(["uniform", "dts"], "geometric-btl:arms=3,rounds=500", runs=3)
    >>> results.summary["runs"].to_list()
    [3, 3]
    """
    plan = make_plan(
        [worlds] if isinstance(worlds, str) else list(worlds),
        [policies] if isinstance(policies, str) else list(policies),
        runs,
        (seed,),
        benchmark=benchmark,
        points=points,
        imports=imports,
    )
    return sweep(
        plan, out, engine=engine, workers=workers, cluster=cluster, replan=replan, watch=watch
    )


def sweep(
    plan: Plan | str | Path,
    out: str | Path | None = None,
    *,
    only: str | None = None,
    shard: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    replan: bool = False,
    watch: Watch | None = None,
) -> Results:
    """Play a plan, except for what `out` has already, and return the tables.

    Parameters
    ----------
    plan
        A plan, or the TOML file of one (see `read_plan`).
    out
        The folder of results; a temporary one unless given.
    only, shard
        Play a part of the plan (see `Plan.select`).
    engine, workers, cluster, replan, watch
        As for `compare`.
    """
    if not isinstance(plan, Plan):
        plan = read_plan(plan)
    found = prepare(plan, out, replan=replan)
    play_cells(
        found, plan.select(only, shard), engine=engine, workers=workers, cluster=cluster,
        watch=watch,
    )  # fmt: skip
    return found


def prepare(plan: Plan, out: str | Path | None = None, *, replan: bool = False) -> Results:
    """Make the folder for a plan's results, or open it; play nothing."""
    if out is not None:
        return Results(Store.create(out, plan, replan=replan))
    temporary = tempfile.mkdtemp(prefix="driftduel-")
    found = Results(Store.create(temporary, plan, scratch=True))
    weakref.finalize(found, shutil.rmtree, temporary, ignore_errors=True)
    return found


def play_cells(
    found: Results,
    cells: Sequence[Cell],
    *,
    engine: str | Engine | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    watch: Watch | None = None,
) -> None:
    """Play cells of a plan unless they are finished; see `compare` for the parameters."""
    if workers is not None and workers > 1:  # more workers than cells have nothing to do
        workers = min(workers, max(1, len(cells)))
    played_by = _engine_for(found.plan, engine, workers, cluster)
    try:
        run_cells(found.store, list(cells), played_by, watch)
    finally:
        if played_by is not engine:
            played_by.close()


def _engine_for(
    plan: Plan, engine: str | Engine | None, workers: int | None, cluster: str | None
) -> Engine:
    """Make the engine that was asked for, or the one that suits the plan."""
    every = {policy.home for policy in plan.policies} | {world.home for world in plan.worlds}
    homes = {home for home in every if home.partition(".")[0] != "driftduel"}
    if engine is None:
        if cluster is not None:
            engine = "dask"
        else:  # a policy typed into a script or an interpreter lives in this process only
            engine = "threads" if plan.compiled or "__main__" in homes else "processes"
    if not isinstance(engine, str):
        return engine
    if engine != "threads" and "__main__" in homes:
        raise DriftduelError(
            f"engine {engine!r} plays in other processes, which cannot see a policy or a world "
            f"that is defined in the main script; move it to a module of its own."
        )
    stems = {Path(name).stem for name in plan.imports}
    imports = (*plan.imports, *sorted(homes - stems))
    return make_engine(engine, workers, imports, cluster)
