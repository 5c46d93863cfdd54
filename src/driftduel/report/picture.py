"""The figure of one game of ANACONDA, and the choice of that game.

No game is played for it: the store contains stages of the first run of every policy with replays.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftduel._internal.wording import code, counted
from driftduel.errors import DriftduelError
from driftduel.figures import Phase, plot_replays
from driftduel.games import Replays
from driftduel.lab import Findings, Game, WorldFindings, kept_games, read_replays
from driftduel.report.section import game_name
from driftduel.report.sections.trace import TracePicture, about_replays

if TYPE_CHECKING:
    from driftduel.lab import Cell, Results

__all__ = ["draw_picture"]

_MOST_RESTARTS = 200
Kept = Mapping[tuple[str, str], Sequence[Game]]
Choice = tuple[WorldFindings, int, Game]


def draw_picture(
    results: "Results", findings: Findings, cells: "Sequence[Cell] | None", folder: Path | None
) -> TracePicture | None:
    """Draw one game, or return the reason why it cannot be drawn.

    Parameters
    ----------
    results, findings
        The results, and the findings computed from them.
    cells
        Candidate games, of which the first one with stages is drawn; None for the best policy.
    folder
        Folder of ``figures/trace.svg``, ``.png`` and ``.pdf``; None to write no files.

    Returns
    -------
    TracePicture or None
        None if no policy has replays.
    """
    kept = kept_games(results)
    if kept is None:
        if not any("anaconda" in policy.spec for policy in findings.plan.policies):
            return None
        return TracePicture(
            "",
            f"No game is drawn, because driftduel {findings.plan.version} did not record stages of "
            f"games. {code('driftduel trace --plot')} plots any game.",
        )
    chosen = _best(findings, kept) if cells is None else _choose_given(findings, kept, cells)
    if chosen is None:
        return None
    world, policy, game = chosen
    name = findings.plan.policies[policy].spec
    run = game_name(game, len(findings.plan.seeds))
    replays, phases = read_replays(results, world.spec, name, game)
    if len(replays.restarts) > _MOST_RESTARTS:
        restarted = counted(len(replays.restarts), "time")
        return TracePicture(
            "",
            f"{code(name)} restarted {restarted} in {run} of {code(world.spec)}, too often for a "
            f"figure.",
        )
    try:
        svg = _draw(replays, phases, folder, f"{name}  on  {world.spec}  ({run})")
    except DriftduelError as error:
        return TracePicture("", f"No game is drawn: {error}")
    sentence = about_replays(replays, world.regrets[policy][game], run, world.loss)
    return TracePicture(f"{code(name)} in {code(world.spec)}.", sentence, svg)


def _choose_given(findings: Findings, kept: Kept, cells: "Sequence[Cell]") -> Choice:
    worlds = {world.spec: world for world in findings.worlds}
    policies = [policy.spec for policy in findings.plan.policies]
    for cell in cells:
        if (cell.seed, cell.run) in kept.get((cell.world, cell.policy), ()):
            return worlds[cell.world], policies.index(cell.policy), (cell.seed, cell.run)
    raise DriftduelError(
        f"none of the matching games, {cells[0].id!r} the first, has recorded stages: only a "
        f"finished run 0 of a policy with replays has. 'driftduel trace --policy SPEC "
        f"--world SPEC --seed {cells[0].game_seed} --plot FILE' plays and plots that game."
    )


def _best(findings: Findings, kept: Kept) -> Choice | None:
    """Return the game of the best policy with replays, in the first world with stages."""
    for policy in findings.ranking:
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
