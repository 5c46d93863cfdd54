"""Play a half of the suite, without wasting time on what has lost already."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from driftduel._defaults import BENCHMARK
from driftduel.errors import DriftduelError
from driftduel.lab import Plan, Results, Watch, make_plan
from driftduel.lab.experiment import open_results, play_cells
from driftduel.lab.statistics import paired_difference
from driftduel.suite.cast import Cast, cast
from driftduel.suite.halves import Half

__all__ = ["Played", "run_suite"]


class Played(NamedTuple):
    """What was played, and who had which part."""

    cast: Cast
    changing: Results
    quiet: Results


def run_suite(
    half: Half,
    policies: Sequence[str],
    out: str | Path,
    *,
    benchmark: str = BENCHMARK,
    workers: int | None = None,
    watch: Watch | None = None,
) -> Played:
    """Play a half of the suite; return the results on changing and on quiet worlds.

    Every policy plays the trial runs in every world. Then the policies under test, plain DTS and
    the oracle play the rest, and so do windows and rivals that could still be the best of their
    kind: not those whose paired 95% interval to it lies above 0. What was played is kept in `out`,
    so a suite that was stopped goes on, and a further policy costs only itself.

    Parameters
    ----------
    half
        See `read_half`.
    policies
        Specs of the policies under test.
    out
        A folder.
    benchmark
        What regret is against, as for `driftduel.lab.compare`.
    workers
        Threads; as many as there are processors unless given.
    watch
        Somebody who looks on.
    """
    if (Path(out) / "plan.json").exists():
        raise DriftduelError(f"{str(out)!r} holds results of a sweep; choose another folder.")
    parts = cast(half, policies)
    calm = dict.fromkeys((*policies, parts.baseline))
    changing = _prepare(half, half.changing, parts.everybody, benchmark, Path(out) / "changing")
    quiet = _prepare(half, half.quiet, list(calm), benchmark, Path(out) / "quiet")
    trial = [cell for cell in changing.plan.cells() if cell.run < half.trial_runs]
    play_cells(changing, trial, workers=workers, watch=watch)
    games = changing.store.rows(("world", "policy", "seed", "run", "regret"))
    lost = set[tuple[str, str]]()
    for kind in (parts.windows, parts.rivals):
        lost |= _lost(games, changing.plan, kind)
    stays = {*parts.tested, parts.baseline, parts.floor}
    rest = [
        cell
        for cell in changing.plan.cells()
        if cell.policy in stays or (cell.world, cell.policy) not in lost
    ]
    play_cells(changing, rest, workers=workers, watch=watch)
    play_cells(quiet, list(quiet.plan.cells()), workers=workers, watch=watch)
    return Played(parts, Results(changing.store), Results(quiet.store))


def _prepare(
    half: Half, worlds: Sequence[str], policies: Sequence[str], benchmark: str, out: Path
) -> Results:
    plan = make_plan(worlds, policies, half.runs, (half.seed,), benchmark=benchmark, points=20)
    return open_results(plan, out, replan=True)


def _lost(games: pl.DataFrame, plan: Plan, kind: Iterable[str]) -> set[tuple[str, str]]:
    """Return (world, policy) for those that are clearly not the best of their kind."""
    lost = set()
    groups = dict(games.group_by("world", "policy", maintain_order=True))
    for world in plan.worlds:
        of_kind = {spec: groups[world.spec, spec] for spec in kind if (world.spec, spec) in groups}
        if not of_kind:
            continue
        best = min(of_kind, key=lambda spec: float(of_kind[spec]["regret"].to_numpy().mean()))
        for spec, frame in of_kind.items():
            low = paired_difference(frame, of_kind[best])["low"] if spec != best else None
            if low is not None and low > 0:
                lost.add((world.spec, spec))
    return lost
