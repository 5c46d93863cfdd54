"""Play a split of the suite; significantly worse windows and rivals are dropped early."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from driftduel._internal.defaults import BENCHMARK
from driftduel.errors import DriftduelError
from driftduel.lab import (
    Plan,
    ProgressListener,
    Results,
    make_plan,
    open_results,
    paired_difference,
    play_cells,
)
from driftduel.suite.roster import Roster, assign_roles
from driftduel.suite.splits import Split

__all__ = ["TournamentResults", "run_suite"]


class TournamentResults(NamedTuple):
    """The results of a tournament, and the roles of its policies."""

    roster: Roster
    changing: Results
    quiet: Results


def run_suite(
    split: Split,
    policies: Sequence[str],
    out: str | Path,
    *,
    benchmark: str = BENCHMARK,
    workers: int | None = None,
    watch: ProgressListener | None = None,
) -> TournamentResults:
    """Play a split of the suite; return the results on changing and on stationary worlds.

    Every policy plays the trial runs in every world. The policies under test, plain DTS and the
    oracle then play the other runs, with the windows and rivals that may still be the best of their
    kind: those with a paired 95% interval to the best one above 0 are dropped. Results are stored
    in `out`, so that an interrupted suite is resumed and another policy plays only its own games.

    Parameters
    ----------
    split
        A split, see `read_split`.
    policies
        Specs of the policies under test.
    out
        The folder of results.
    benchmark
        The reference of regret, as for `driftduel.lab.compare`.
    workers
        Number of threads; default: the number of processors.
    watch
        A progress listener.

    Raises
    ------
    DriftduelError
        If `out` contains the results of a sweep.
    """
    if (Path(out) / "plan.json").exists():
        raise DriftduelError(f"{str(out)!r} contains results of a sweep; choose another folder.")
    parts = assign_roles(split, policies)
    calm = dict.fromkeys((*policies, parts.baseline))
    changing = _prepare(split, split.changing, parts.all_specs, benchmark, Path(out) / "changing")
    quiet = _prepare(split, split.quiet, list(calm), benchmark, Path(out) / "quiet")
    trial = [cell for cell in changing.plan.cells() if cell.run < split.trial_runs]
    play_cells(changing, trial, workers=workers, watch=watch)
    games = changing.store.rows(("world", "policy", "seed", "run", "regret"))
    lost = set[tuple[str, str]]()
    for kind in (parts.windows, parts.rivals):
        lost |= _worse_than_best(games, changing.plan, kind)
    stays = {*parts.tested, parts.baseline, parts.floor}
    rest = [
        cell
        for cell in changing.plan.cells()
        if cell.policy in stays or (cell.world, cell.policy) not in lost
    ]
    play_cells(changing, rest, workers=workers, watch=watch)
    play_cells(quiet, list(quiet.plan.cells()), workers=workers, watch=watch)
    return TournamentResults(parts, Results(changing.store), Results(quiet.store))


def _prepare(
    split: Split, worlds: Sequence[str], policies: Sequence[str], benchmark: str, out: Path
) -> Results:
    plan = make_plan(worlds, policies, split.runs, (split.seed,), benchmark=benchmark, points=20)
    return open_results(plan, out, replan=True)


def _worse_than_best(games: pl.DataFrame, plan: Plan, kind: Iterable[str]) -> set[tuple[str, str]]:
    """Return (world, policy) of those that are significantly worse than the best of their kind."""
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
