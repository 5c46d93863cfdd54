"""Play a half of the suite, without wasting time on what has lost already."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab import Plan, Results, Watch, make_plan
from driftduel.lab.experiment import play_cells, prepare
from driftduel.lab.statistics import paired_difference
from driftduel.suite.halves import Half

__all__ = ["run_suite"]

BASELINE, FLOOR = "dts", "oracle-dts"


def run_suite(
    half: Half,
    policies: Sequence[str],
    out: str | Path,
    *,
    workers: int | None = None,
    watch: Watch | None = None,
) -> tuple[Results, Results]:
    """Play a half of the suite; return the results on changing and on quiet worlds.

    Every policy plays the trial runs in every world. Then the policies under test, plain DTS and
    the oracle play the rest, and so do windows and rivals that could still be the best of their
    kind: not those whose paired 95 % interval to it lies above 0. What was played is kept in `out`,
    so a suite that was stopped goes on, and a further policy costs only itself.

    Parameters
    ----------
    half
        See `read_half`.
    policies
        Specs of the policies under test.
    out
        A folder.
    workers
        Threads; as many as there are processors unless given.
    watch
        Somebody who looks on.
    """
    if (Path(out) / "plan.json").exists():
        raise DriftduelError(f"{str(out)!r} holds results of a sweep; choose another folder.")
    windows = [f"sw-dts:window={window}" for window in half.windows]
    rivals = [spec for spec in half.rivals if spec not in policies]
    changing = _prepare(
        half, half.changing, [*policies, BASELINE, FLOOR, *windows, *rivals], Path(out) / "changing"
    )
    quiet = _prepare(half, half.quiet, [*policies, BASELINE], Path(out) / "quiet")
    trial = [cell for cell in changing.plan.cells() if cell.run < half.trial_runs]
    play_cells(changing, trial, workers=workers, watch=watch)
    games = changing.store.rows(("world", "policy", "seed", "run", "regret"))
    lost = _lost(games, changing.plan, windows) | _lost(games, changing.plan, rivals)
    rest = [cell for cell in changing.plan.cells() if (cell.world, cell.policy) not in lost]
    play_cells(changing, rest, workers=workers, watch=watch)
    play_cells(quiet, list(quiet.plan.cells()), workers=workers, watch=watch)
    return Results(changing.store), Results(quiet.store)


def _prepare(half: Half, worlds: Sequence[str], policies: Sequence[str], out: Path) -> Results:
    plan = make_plan(worlds, policies, half.runs, (half.seed,), points=20)
    return prepare(plan, out, replan=True)


def _lost(games: pl.DataFrame, plan: Plan, kind: Sequence[str]) -> set[tuple[str, str]]:
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
