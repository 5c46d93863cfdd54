"""The functions `compare` and `sweep`: from specs to tables."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from driftduel._internal.defaults import BENCHMARK, GOAL, MODE, POINTS, RUNS, SEED
from driftduel.errors import DriftduelError
from driftduel.lab.engines import Engine, make_engine
from driftduel.lab.objects import HERE, PolicyLike, WorldLike
from driftduel.lab.plan import Cell, Plan, make_plan
from driftduel.lab.progress import Display, NullListener, ProgressListener, in_notebook
from driftduel.lab.result import Results
from driftduel.lab.running import run_cells
from driftduel.lab.store import Store
from driftduel.lab.toml import read_plan

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
    watch: ProgressListener | bool | None = None,
) -> Results:
    """Play every policy in every world `runs` times, with common random numbers.

    Parameters
    ----------
    policies
        Specs, classes, ``functools.partial(Class, key=value)``, or fresh instances, of which the
        class and the parameters are used: every game constructs a new instance.
    worlds
        Specs, or world objects, which are the same in every run and identified by a content hash.
    runs
        Games of each policy in each world. Run r has the same world and the same outcome draws
        for every policy.
    seed
        The seed of all random draws.
    out
        The folder of results; its finished cells are not played again. Default: a temporary one.
    benchmark
        Regret against the ``condorcet`` winner; for worlds without one in every round, against the
        ``von-neumann`` winner, ``exploitability``, or ``borda`` or ``copeland`` scores.
    points
        Approximate number of points of each game's curves.
    mode
        ``serve``: an arm may be shown alone. ``panel``: two different arms, always.
    goal
        The measure: ``regret``, or a goal of `driftduel.lab.goals` beside it. ``best``: the votes
        until `Policy.best` returns the Condorcet winner (`Results.goal_summary`).
    imports
        Modules or files that register more policies or worlds; if these are registered in this
        process, only other processes and clusters need the argument.
    engine
        ``threads``, ``processes`` or ``dask``; default: threads unless a policy is not compiled.
    workers
        Number of parallel cells; default: the number of processors.
    cluster
        Address of a dask scheduler, ``tcp://host:port``.
    replan
        Whether `out` may be a folder of another plan; cells of both plans are kept.
    watch
        True: show progress. False: show nothing. None: show progress in a notebook only. Or a
        `ProgressListener`.

    Returns
    -------
    Results
        Tables, verdicts and figures of the games.

    Raises
    ------
    DriftduelError
        If a spec, a value or the folder is invalid.

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
    watch: ProgressListener | bool | None = None,
) -> Results:
    """Play the cells of a plan that `out` does not contain, and return the tables.

    Parameters
    ----------
    plan
        A plan, or the TOML file of one (see `read_plan`).
    out
        The folder of results; default: a temporary one.
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
    """Create or open the folder of a plan's results, without playing any cell."""
    folder = tempfile.mkdtemp(prefix="driftduel-") if out is None else out
    store = Store.create(folder, plan, replan=replan, scratch=out is None)
    store.plan = plan  # equal, but with references to world objects, which keeps them alive
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
    watch: ProgressListener | bool | None = None,
) -> None:
    """Play the unfinished ones of some cells; see `compare` for the parameters."""
    if workers is not None and workers > 1:  # more workers than cells would be idle
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
def _watching(watch: ProgressListener | bool | None) -> Iterator[ProgressListener]:
    """Yield the progress listener; a display created here is closed at the end."""
    if watch is None:
        watch = in_notebook()
    if not isinstance(watch, bool):
        yield watch
    elif watch:
        with closing(Display()) as display:
            yield display
    else:
        yield NullListener()


def _engine_for(
    plan: Plan, engine: str | Engine | None, workers: int | None, cluster: str | None
) -> Engine:
    """Return the requested engine, or the default engine for the policies of the plan."""
    every = {policy.home for policy in plan.policies} | {world.home for world in plan.worlds}
    homes = {home for home in every if home.partition(".")[0] != "driftduel"}
    if engine is None:
        if cluster is not None:
            engine = "dask"
        else:  # a class of a script or an interpreter exists in this process only
            engine = "threads" if plan.compiled or HERE in homes else "processes"
    if not isinstance(engine, str):
        return engine
    if engine != "threads" and HERE in homes:
        raise DriftduelError(
            f"engine {engine!r} plays in other processes, which cannot import a policy or a world "
            f"that is defined in the main script or inside a function, nor a world object; move "
            f"it to a separate module, save the world as a file, or pass engine='threads'."
        )
    stems = {Path(name).stem for name in plan.imports}
    imports = (*plan.imports, *sorted(homes - stems))
    return make_engine(engine, workers, imports, cluster)
