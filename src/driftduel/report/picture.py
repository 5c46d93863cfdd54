"""The picture of one game of ANACONDA, and which game to choose."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftduel import __version__
from driftduel.errors import DriftduelError
from driftduel.figures.findings import Findings, Game, WorldFindings
from driftduel.figures.trace import plot_trace
from driftduel.games import Trace, trace
from driftduel.policies import make_policy
from driftduel.report.page import Picture
from driftduel.report.sentences import about_trace, code, game_name

if TYPE_CHECKING:
    from driftduel.lab import Cell

__all__ = ["draw_picture"]

_MOST_ROUNDS = 300_000
_MOST_RESTARTS = 200


def draw_picture(
    findings: Findings, cells: "Sequence[Cell] | None", folder: Path | None
) -> Picture:
    """Draw one game round by round, or say why not.

    Parameters
    ----------
    findings
        What was found.
    cells
        The games to choose from: the first that is finished; None to choose a typical one.
    folder
        Where ``figures/trace.svg`` and ``.png`` go; None to write neither.
    """
    chosen = _given(findings, cells) if cells is not None else _typical(findings)
    if isinstance(chosen, str):
        return Picture("", chosen)
    world, policy, game, why = chosen
    from driftduel.lab.plan import game_seed

    name = findings.plan.policies[policy].spec
    played = trace(name, world.spec, game_seed(*game))
    restarts = len(played.policy.restarts)
    if restarts > _MOST_RESTARTS:
        return Picture(
            "",
            f"{code(name)} restarted {restarts:,} times in {game_name(game, 1)} of "
            f"{code(world.spec)}, too often to be drawn round by round.",
        )
    regret = world.regrets[policy][game]
    run = game_name(game, len(findings.plan.seeds))
    try:
        png = _draw(played, folder, f"{name}  on  {world.spec}  ({run})")
    except DriftduelError as error:
        return Picture("", f"No game is drawn round by round: {error}")
    heading = f"{code(name)} in {code(world.spec)}"
    if findings.plan.version != __version__:
        heading += f", played again by driftduel {__version__}; the results are from "
        heading += findings.plan.version
    return Picture(f"{heading}.", about_trace(played, regret, run, why), png)


Choice = tuple[WorldFindings, int, Game, str]


def _given(findings: Findings, cells: "Sequence[Cell]") -> Choice | str:
    worlds = {world.spec: world for world in findings.worlds}
    policies = [policy.spec for policy in findings.plan.policies]
    for cell in cells:
        world, policy = worlds.get(cell.world), policies.index(cell.policy)
        if world is None or (cell.seed, cell.run) not in world.regrets.get(policy, {}):
            continue
        if world.rounds > _MOST_ROUNDS:
            raise DriftduelError(
                f"the game {cell.id!r} has {world.rounds:,} rounds; at most {_MOST_ROUNDS:,} can "
                f"be drawn round by round."
            )
        if not _has_replays(cell.policy, world):
            raise DriftduelError(
                f"policy {cell.policy!r} has no replays; only a game of one that has can be drawn "
                f"round by round."
            )
        return world, policy, (cell.seed, cell.run), "the run asked for"
    raise DriftduelError("no game that is to be drawn round by round is finished.")


def _typical(findings: Findings) -> Choice | str:
    """Choose the run with the median regret of the best policy that has replays."""
    too_long = False
    for policy in findings.ranking():
        for world in findings.worlds:
            regrets = world.regrets.get(policy)
            if not regrets:
                continue
            if not _has_replays(findings.plan.policies[policy].spec, world):
                break  # nor has it in any other world
            if world.rounds > _MOST_ROUNDS:
                too_long = True
                continue
            ordered = sorted(regrets, key=lambda game: (regrets[game], game))
            why = "the median of its runs" if len(ordered) > 1 else "its only run"
            return world, policy, ordered[(len(ordered) - 1) // 2], why
    if too_long:
        return (
            f"Every world in which ANACONDA played has more than {_MOST_ROUNDS:,} rounds, too many "
            f"to draw one by one."
        )
    return "No policy here has replays, so there is no game of ANACONDA to draw."


def _has_replays(policy: str, world: WorldFindings) -> bool:
    """Tell whether a policy has replays, as ANACONDA has before it is asked for anything."""
    from driftduel.games.knowledge import knowledge
    from driftduel.lab.identity import world_of

    try:
        known = knowledge(policy, world_of(world.spec, world.game_seed))
        return make_policy(policy, world.arms, 0, **known).info().replays is not None
    except (DriftduelError, OSError):  # somebody's own policy or world, unknown here
        return False


def _draw(played: Trace, folder: Path | None, title: str) -> bytes:
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) if folder is None else folder / "figures"
        target.mkdir(exist_ok=True)
        for ending in ("svg", "png") if folder is not None else ("png",):
            plot_trace(played, target / f"trace.{ending}", title)
        return (target / "trace.png").read_bytes()
