"""Compare and sweep: from specs to tables."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from driftduel._defaults import BENCHMARK, GOAL, MODE, POINTS, RUNS, SEED
from driftduel.errors import DriftduelError
from driftduel.lab.engines import Engine, make_engine
from driftduel.lab.objects import HERE, PolicyLike, WorldLike
from driftduel.lab.plan import Cell, Plan, make_plan
from driftduel.lab.result import Results
from driftduel.lab.running import run_cells
from driftduel.lab.store import Store
from driftduel.lab.toml import read_plan
from driftduel.lab.watching import Display, Silent, Watch, in_notebook

__all__ = ["compare", "sweep"]


def compare(
    policies: PolicyLike | Sequence[PolicyLike],
    worlds: WorldLike | Sequence[WorldLike],
    runs: int = RUNS,
    seed: int = SEED,
    *,
    out: str | Path | None = None,
    benchmark: str = BENCHMARK,
    points: int = POINTS,
    mode: str = MODE,
    goal: str = GOAL,
    imports: Sequence[str] = (),
    engine: str | Engine | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    replan: bool = False,
    watch: Watch | bool | None = None,
) -> Results:
    """Let every policy play every world `runs` times, all with the same luck.

    Parameters
    ----------
    policies
        Specs, classes, ``functools.partial(Class, key=value)``, or fresh policies, which stand for
        their class and parameters: every game has one that is built anew.
    worlds
        Specs, or worlds, which are the same in every run and known by their content.
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
    mode
        ``serve``: an arm may be shown alone. ``panel``: two different arms, always.
    goal
        What is measured: ``regret``, or a goal of `driftduel.lab.goals` beside it. ``best``: when
        `Policy.best` names the Condorcet winner (`Results.goal_summary`).
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
        True: show how far it is. False: show nothing. None: show it in a notebook. Or somebody else
        who looks on.

    Examples
    --------
    >>> results = compare(["uniform", "dts"], "geometric-btl:arms=3,rounds=500", runs=3)
    >>> results.summary["runs"].to_list()
    [3, 3]
    """
    plan = make_plan(
        worlds, policies, runs, (seed,), benchmark=benchmark, points=points, imports=imports,
        mode=mode, goal=goal,
    )  # fmt: skip
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
    watch: Watch | bool | None = None,
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
    opened = open_results(plan, out, replan=replan)
    play_cells(
        opened, plan.select(only, shard), engine=engine, workers=workers, cluster=cluster,
        watch=watch,
    )  # fmt: skip
    return opened


def open_results(plan: Plan, out: str | Path | None = None, *, replan: bool = False) -> Results:
    """Make the folder for a plan's results, or open it; play nothing."""
    folder = tempfile.mkdtemp(prefix="driftduel-") if out is None else out
    store = Store.create(folder, plan, replan=replan, scratch=out is None)
    store.plan = plan  # the same, and it keeps the worlds that were given as objects
    opened = Results(store)
    if out is None:
        weakref.finalize(opened, shutil.rmtree, folder, ignore_errors=True)
    return opened


def play_cells(
    results: Results,
    cells: Sequence[Cell],
    *,
    engine: str | Engine | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    watch: Watch | bool | None = None,
) -> None:
    """Play cells of a plan unless they are finished; see `compare` for the parameters."""
    if workers is not None and workers > 1:  # more workers than cells have nothing to do
        workers = min(workers, max(1, len(cells)))
    played_by = _engine_for(results.plan, engine, workers, cluster)
    with _watching(watch) as watcher:
        watcher.opened(results, list(cells))
        try:
            run_cells(results.store, list(cells), played_by, watcher)
        finally:
            if played_by is not engine:
                played_by.close()


@contextmanager
def _watching(watch: Watch | bool | None) -> Iterator[Watch]:
    """Return who looks on; what is shown of our own ends with the work."""
    if watch is None:
        watch = in_notebook()
    if not isinstance(watch, bool):
        yield watch
    elif watch:
        with closing(Display()) as display:
            yield display
    else:
        yield Silent()


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
            engine = "threads" if plan.compiled or HERE in homes else "processes"
    if not isinstance(engine, str):
        return engine
    if engine != "threads" and HERE in homes:
        raise DriftduelError(
            f"engine {engine!r} plays in other processes, which cannot see a policy or a world "
            f"that is defined in the main script or inside a function, nor a world object; move "
            f"it to a module of its own, save the world as a file, or play on threads."
        )
    stems = {Path(name).stem for name in plan.imports}
    imports = (*plan.imports, *sorted(homes - stems))
    return make_engine(engine, workers, imports, cluster)
