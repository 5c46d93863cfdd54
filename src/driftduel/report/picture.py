"""The picture of one game of ANACONDA, and which game to choose.

Nothing is played for it: the lab has looked at the first run of every policy with replays.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftduel.errors import DriftduelError
from driftduel.figures.trace import plot_replays
from driftduel.figures.world import Phase
from driftduel.games.replays import Replays
from driftduel.lab.findings import Findings, Game, WorldFindings
from driftduel.lab.findings.replays import kept_games, read_replays
from driftduel.report.section import game_name
from driftduel.report.sections.trace import Picture, about_replays
from driftduel.wording import code, counted

if TYPE_CHECKING:
    from driftduel.lab import Cell, Results

__all__ = ["draw_picture"]

_MOST_RESTARTS = 200
Kept = Mapping[tuple[str, str], Sequence[Game]]
Choice = tuple[WorldFindings, int, Game]


def draw_picture(
    results: "Results", findings: Findings, cells: "Sequence[Cell] | None", folder: Path | None
) -> Picture | None:
    """Draw one game, or say why not; None if nobody has a game of the kind.

    Parameters
    ----------
    results, findings
        Where the games are, and what is shown of them.
    cells
        The games to choose from: the first that was kept; None to choose the best policy's.
    folder
        Where ``figures/trace.svg``, ``.png`` and ``.pdf`` go; None to write none.
    """
    kept = kept_games(results)
    if kept is None:
        if not any("anaconda" in policy.spec for policy in findings.plan.policies):
            return None
        return Picture(
            "",
            f"No game is drawn: driftduel {findings.plan.version}, which wrote these results, kept "
            f"too little of each. {code('driftduel trace --plot')} draws any game.",
        )
    chosen = _best(findings, kept) if cells is None else _given(findings, kept, cells)
    if chosen is None:
        return None
    world, policy, game = chosen
    name = findings.plan.policies[policy].spec
    run = game_name(game, len(findings.plan.seeds))
    replays, phases = read_replays(results, world.spec, name, game)
    if len(replays.restarts) > _MOST_RESTARTS:
        restarted = counted(len(replays.restarts), "time")
        return Picture(
            "",
            f"{code(name)} restarted {restarted} in {run} of {code(world.spec)}, too often to "
            f"draw the game.",
        )
    try:
        svg = _draw(replays, phases, folder, f"{name}  on  {world.spec}  ({run})")
    except DriftduelError as error:
        return Picture("", f"No game is drawn: {error}")
    sentence = about_replays(replays, world.regrets[policy][game], run, world.loss)
    return Picture(f"{code(name)} in {code(world.spec)}.", sentence, svg)


def _given(findings: Findings, kept: Kept, cells: "Sequence[Cell]") -> Choice:
    worlds = {world.spec: world for world in findings.worlds}
    policies = [policy.spec for policy in findings.plan.policies]
    for cell in cells:
        if (cell.seed, cell.run) in kept.get((cell.world, cell.policy), ()):
            return worlds[cell.world], policies.index(cell.policy), (cell.seed, cell.run)
    raise DriftduelError(
        f"none of the games asked for, {cells[0].id!r} the first, was kept well enough to draw it: "
        f"only a finished run 0 of a policy with replays is. 'driftduel trace --policy SPEC "
        f"--world SPEC --seed {cells[0].game_seed} --plot FILE' plays that game and draws it."
    )


def _best(findings: Findings, kept: Kept) -> Choice | None:
    """Choose the best policy that has replays, in the first world in which a game was kept."""
    for policy in findings.ranking():
        for world in findings.worlds:
            for game in kept.get((world.spec, findings.plan.policies[policy].spec), ()):
                return world, policy, game
    return None


def _draw(replays: Replays, phases: Sequence[Phase], folder: Path | None, title: str) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) if folder is None else folder / "figures"
        target.mkdir(exist_ok=True)
        endings = ("svg", "png", "pdf") if folder is not None else ("svg",)
        paths = [target / f"trace.{ending}" for ending in endings]
        plot_replays(replays, phases, paths, title)
        return (target / "trace.svg").read_text("utf-8")
