"""The data that figures and pages show of one world."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from driftduel.lab.cells import slice_ends
from driftduel.lab.findings.categories import CategoryRegrets, read_categories
from driftduel.lab.findings.changes import SUBJECTS, Changes, Game, read_changes
from driftduel.lab.findings.curves import Curve, Ints, read_curves, thin_evenly
from driftduel.lab.findings.goals import GoalFindings
from driftduel.lab.findings.restarts import read_restarts
from driftduel.lab.findings.scene import Phase, phases_of, read_scene
from driftduel.lab.findings.shares import ArmShares, read_shares
from driftduel.lab.findings.standings import Standing, loss_name, read_standing
from driftduel.lab.plan import Plan
from driftduel.lab.statistics import geometric_mean

__all__ = ["WorldFindings", "ratio_means", "read_world"]


@dataclass(frozen=True)
class WorldFindings:
    """The data that figures and pages show of one world."""

    index: int
    spec: str
    label: str
    """The spec without the common part of all worlds."""
    arms: int
    rounds: int
    fixed: bool
    standings: tuple[Standing, ...]
    """Standings of policies with finished games, in the order of the plan."""
    at: Ints
    curves: Mapping[int, Curve]
    changes: Changes
    example: Game
    """The run that most policies have finished, for data that cannot be averaged."""
    game_seed: int
    """The seed of the games of the example run."""
    winners: tuple[tuple[int, int | None], ...] | None
    """(first round, best arm) in the example run; None in results of driftduel 0.1."""
    present: tuple[int, int] | None
    """Minimum and maximum number of present arms in that run; None if all are, or if unknown."""
    ties: float
    """Share of ties in its first round, in [0, 1]; 0 if unknown."""
    restarts: Mapping[int, tuple[int, ...]]
    """Rounds of restarts by index of the policy: of all runs, or of the example run."""
    restarts_of_example: bool
    slice_ends: Ints
    shares: Mapping[int, ArmShares]
    regrets: Mapping[int, Mapping[Game, float]]
    """The regret of every game by index of the policy."""
    loss: str = "regret"
    """The label of regret on an axis."""
    names: tuple[str, ...] = ()
    """The names of the arms; empty if they have none."""
    goal: GoalFindings | None = None
    """The goal beside regret; None if there is none."""
    slate: int = 2
    """The largest number of arms shown in a round."""
    slates_ranked: bool = False
    """Whether the answer to a slate is a ranking."""
    categories: CategoryRegrets | None = None
    """Regret by category of the requests; None without categories."""

    def called(self, arm: int, word: str = "arm ") -> str:
        """Return the name of an arm, or `word` followed by its number."""
        return self.names[arm] if self.names else f"{word}{arm}"

    @cached_property
    def ranked(self) -> list[Standing]:
        """The standings, best first."""
        return sorted(self.standings, key=lambda standing: standing.mean)

    def of_best(self, count: int, points: int) -> "WorldFindings":
        """Return the findings of the best `count` policies, with at most `points` per curve."""
        best = {standing.policy for standing in self.ranked[:count]}
        keep = thin_evenly(len(self.at), points)

        def only(by_policy: Mapping[int, Any]) -> dict[int, Any]:
            return {policy: value for policy, value in by_policy.items() if policy in best}

        return replace(
            self,
            standings=tuple(s for s in self.standings if s.policy in best),
            at=self.at[keep],
            curves={policy: curve.at(keep) for policy, curve in only(self.curves).items()},
            restarts=only(self.restarts),
            shares=only(self.shares),
            regrets=only(self.regrets),
        )

    @cached_property
    def phases(self) -> list[Phase]:
        """(first, last, winner) for the phases of the example run; empty if unknown."""
        return [] if self.winners is None else phases_of(self.winners, self.rounds)


def ratio_means(worlds: Sequence[WorldFindings]) -> dict[int, float]:
    """Return geometric means of ratios to the best, for policies with a ratio in every world."""
    ratios: dict[int, list[float]] = {}
    for world in worlds:
        for standing in world.standings:
            if standing.ratio is not None:
                ratios.setdefault(standing.policy, []).append(standing.ratio)
    return {
        policy: geometric_mean(in_worlds)
        for policy, in_worlds in ratios.items()
        if len(in_worlds) == len(worlds)
    }


def read_world(
    plan: Plan,
    index: int,
    label: str,
    summary: Sequence[Mapping[str, Any]],
    games: Mapping[int, pl.DataFrame],
) -> WorldFindings:
    """Compute the findings of a world.

    Parameters
    ----------
    plan, index
        The plan, and the index of the world in it.
    label
        The short name of the world.
    summary
        The rows of the summary of this world.
    games
        The finished games by index of the policy in the plan.
    """
    world = plan.worlds[index]
    by_name = {row["policy"]: row for row in summary}
    standings = [read_standing(place, by_name[plan.policies[place].spec]) for place in games]
    switches = {
        (seed, run): tuple(rounds)
        for frame in games.values()
        for seed, run, rounds in frame.select("seed", "run", "switches").iter_rows()
    }
    seeds = {
        (seed, run): game_seed
        for frame in games.values()
        for seed, run, game_seed in frame.select("seed", "run", "game_seed").iter_rows()
    }
    regrets = {
        place: {
            (seed, run): regret
            for seed, run, regret in frame.select("seed", "run", "regret").iter_rows()
        }
        for place, frame in games.items()
    }
    played = Counter(game for by_run in regrets.values() for game in by_run)
    example = played.most_common(1)[0][0]
    changes = read_changes(switches, example, SUBJECTS.get(plan.benchmark, "best arm"))
    scene = read_scene(games.values(), example, switches[example], plan.benchmark)
    at, curves = read_curves(games)
    restarts = read_restarts(games, example if changes.example else None)
    return WorldFindings(
        index=index,
        spec=world.spec,
        label=label,
        arms=world.arms,
        rounds=world.rounds,
        fixed=world.fixed,
        standings=tuple(standings),
        at=at,
        curves=curves,
        changes=changes,
        example=example,
        game_seed=seeds[example],
        winners=scene.winners,
        present=scene.present,
        ties=scene.ties,
        loss=loss_name(plan.benchmark),
        names=world.names,
        slate=world.slate,
        slates_ranked=world.ranked,
        restarts=restarts[0],
        restarts_of_example=restarts[1],
        slice_ends=slice_ends(world.rounds),
        shares={
            place: shares
            for place, frame in games.items()
            if (shares := read_shares(frame, world.rounds, None if world.fixed else example))
        },
        regrets=regrets,
        categories=read_categories(games),
    )
