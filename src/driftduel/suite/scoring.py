"""Scores: ratios to the best window if the winner changes, otherwise regret above DTS."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.defaults import BENCHMARK
from driftduel._internal.wording import decimals, interval
from driftduel.games import count_false_alarms
from driftduel.lab import Results, t_half_width, t_interval
from driftduel.regret import BENCHMARKS
from driftduel.suite.roster import Roster

__all__ = ["Score", "as_markdown", "read_score", "score", "tables"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NonStationaryScore:
    """The score of a policy in a world with a changing winner."""

    world: str
    runs: int
    regret: float
    best_window: str
    score: float
    """Regret divided by that of the best window in hindsight."""
    low: float | None
    high: float | None
    to_oracle: float
    """Regret divided by that of DTS restarted at every true switch."""
    restarts: float
    needless_restarts: float
    """False alarms per run: restarts without a switch since the previous one."""
    switches: float
    nearest_rival: str | None
    rival_ratio: float | None
    """Regret of the best rival divided by that of the policy."""
    rival_low: float | None


@dataclass(frozen=True)
class StationaryScore:
    """The score of a policy in a world with a constant winner."""

    world: str
    runs: int
    cost: float
    """Regret minus that of plain DTS, in units of sqrt(K T)."""
    low: float | None
    high: float | None
    to_oracle: float
    """Regret divided by that of plain DTS, which is the oracle without switches."""
    needless_restarts: float


@dataclass(frozen=True)
class Score:
    """The score of a policy on a split of the suite."""

    policy: str
    half: str
    geometric_mean: float
    low: float | None
    high: float | None
    """95% interval over runs, for the given worlds."""
    worlds_low: float | None
    worlds_high: float | None
    """95% interval over worlds, as if they were a random sample."""
    worst: float
    worst_cost: float
    changing: tuple[NonStationaryScore, ...]
    quiet: tuple[StationaryScore, ...]
    benchmark: str = BENCHMARK
    """The reference of regret."""

    def as_dict(self) -> dict[str, Any]:
        """Return the score as a dict of JSON values."""
        return asdict(self)


def read_score(record: dict[str, Any]) -> Score:
    """Return the score object of a dict of `Score.as_dict`."""
    changing = tuple(NonStationaryScore(**row) for row in record["changing"])
    quiet = tuple(StationaryScore(**row) for row in record["quiet"])
    return Score(**{**record, "changing": changing, "quiet": quiet})


def ratio_interval(first: Floats, second: Floats) -> tuple[float, float | None, float | None]:
    """Return the ratio of two means over the same runs, and its 95% interval.

    The interval is symmetric on the log scale: the delta method for paired runs, with Student's t.

    Examples
    --------
    >>> ratio_interval(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    (0.5, 0.5, 0.5)
    """
    ratio = float(first.mean() / second.mean())
    if len(first) < 2:
        return ratio, None, None
    half = t_half_width((first - ratio * second) / first.mean())
    return ratio, ratio * math.exp(-half), ratio * math.exp(half)


def score(half: str, policy: str, roster: Roster, changing: Results, quiet: Results) -> Score:
    """Return the score of a policy from the results of `run_suite`.

    Call it as ``score("test", "king", *run_suite(...))``.
    """
    worlds = tuple(
        _changing(changing, roster, policy, world.spec) for world in changing.plan.worlds
    )
    calm = tuple(_quiet(quiet, roster, policy, world) for world in quiet.plan.worlds)
    logs = [math.log(world.score) for world in worlds]
    mean = sum(logs) / len(logs)
    low = high = None
    if all(world.high is not None for world in worlds):
        widths = [
            math.log(world.high or 1.0) - log for world, log in zip(worlds, logs, strict=True)
        ]
        width = math.sqrt(sum(width**2 for width in widths)) / len(
            widths
        )  # the widths are combined as if independent
        low, high = math.exp(mean - width), math.exp(mean + width)
    ends = t_interval(logs) or (None, None)
    return Score(
        policy=policy,
        half=half,
        geometric_mean=math.exp(mean),
        low=low,
        high=high,
        worlds_low=None if ends[0] is None else math.exp(ends[0]),
        worlds_high=None if ends[1] is None else math.exp(ends[1]),
        worst=max(world.score for world in worlds),
        worst_cost=max(world.cost for world in calm),
        changing=worlds,
        quiet=calm,
        benchmark=changing.plan.benchmark,
    )


def _common_runs(games: pl.DataFrame, first: str, second: str) -> tuple[Floats, Floats]:
    """Return the regrets of two policies on their common runs, as two (runs,) float arrays."""
    one, other = (
        games.filter(policy=spec).select("seed", "run", "regret") for spec in (first, second)
    )
    both = one.join(other, on=("seed", "run"), maintain_order="left")
    return both["regret"].to_numpy(), both["regret_right"].to_numpy()


def _changing(results: Results, roster: Roster, policy: str, world: str) -> NonStationaryScore:
    games = results.narrow.filter(world=world)
    best = _best(games, roster.windows)
    assert best is not None
    ratio, low, high = ratio_interval(*_common_runs(games, policy, best))
    nearest = _best(games, roster.rivals_of(policy))
    rival = ratio_interval(*_common_runs(games, nearest, policy)) if nearest else (None, None, None)
    own = games.filter(policy=policy)
    return NonStationaryScore(
        world=world,
        runs=len(own),
        regret=float(own["regret"].to_numpy().mean()),
        best_window=f"{roster.windows[best]}",
        score=ratio,
        low=low,
        high=high,
        to_oracle=ratio_interval(*_common_runs(games, policy, roster.floor))[0],
        restarts=_mean_length(own, "restarts"),
        needless_restarts=_needless_restarts(own),
        switches=_mean_length(own, "switches"),
        nearest_rival=nearest,
        rival_ratio=rival[0],
        rival_low=rival[1],
    )


def _best(games: pl.DataFrame, kind: Iterable[str]) -> str | None:
    """Return the policy with the lowest mean among those with all runs, None if there is none."""
    regrets = {spec: games.filter(policy=spec)["regret"].to_numpy() for spec in kind}
    most = max(map(len, regrets.values()), default=0)
    full = {spec: float(games.mean()) for spec, games in regrets.items() if len(games) == most}
    return min(full, key=full.__getitem__, default=None)


def _mean_length(games: pl.DataFrame, column: str) -> float:
    return sum(games[column].list.len()) / len(games)


def _needless_restarts(games: pl.DataFrame) -> float:
    rows = games.select("restarts", "switches").iter_rows()
    return sum(count_false_alarms(restarts, switches) for restarts, switches in rows) / len(games)


def _quiet(results: Results, roster: Roster, policy: str, world: Any) -> StationaryScore:
    games = results.narrow.filter(world=world.spec)
    own, plain = _common_runs(games, policy, roster.baseline)
    unit = math.sqrt(world.arms * world.rounds)
    costs = (own - plain) / unit
    interval = t_interval(costs)
    return StationaryScore(
        world=world.spec,
        runs=len(costs),
        cost=float(costs.mean()),
        low=None if interval is None else interval[0],
        high=None if interval is None else interval[1],
        to_oracle=float(own.mean() / plain.mean()),
        needless_restarts=_needless_restarts(games.filter(policy=policy)),
    )


_CHANGING = (
    "world", "runs", "best window", "score", "95% interval", "to the oracle", "restarts",
    "needless", "switches", "nearest rival", "its regret / ours",
)  # fmt: skip
_QUIET = (
    "world",
    "runs",
    "above DTS, sqrt(K T)",
    "95% interval",
    "to the oracle",
    "needless restarts",
)


def _rows(score: Score) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    changing: list[tuple[str, ...]] = [
        (
            world.world, f"{world.runs}", world.best_window, decimals(world.score),
            interval(world.low, world.high, decimals), decimals(world.to_oracle),
            decimals(world.restarts, 1), decimals(world.needless_restarts),
            decimals(world.switches, 1), world.nearest_rival or "-", decimals(world.rival_ratio, 1),
        )
        for world in score.changing
    ]  # fmt: skip
    quiet: list[tuple[str, ...]] = [
        (
            world.world, f"{world.runs}", decimals(world.cost, sign=True),
            interval(world.low, world.high, decimals),
            decimals(world.to_oracle), decimals(world.needless_restarts),
        )
        for world in score.quiet
    ]  # fmt: skip
    return changing, quiet


def _headline(score: Score) -> str:
    return (
        f"{score.policy} on the {score.half} split: "
        f"geometric mean {decimals(score.geometric_mean)} "
        f"({interval(score.low, score.high, decimals)} over runs, "
        f"{interval(score.worlds_low, score.worlds_high, decimals)} over worlds), "
        f"worst world {decimals(score.worst)}; "
        f"at most {decimals(score.worst_cost, sign=True)} sqrt(K T) above DTS in stationary "
        "worlds."
        + (f" Regret: {BENCHMARKS[score.benchmark]}." if score.benchmark != "condorcet" else "")
    )


def tables(score: Score) -> tuple[str, list[tuple[tuple[str, ...], list[tuple[str, ...]]]]]:
    """Return a headline and two tables, each a tuple of a head and a list of rows."""
    changing, quiet = _rows(score)
    return _headline(score), [(_CHANGING, changing), (_QUIET, quiet)]


def as_markdown(score: Score) -> str:
    """Return a score as a Markdown string."""
    headline, both = tables(score)
    parts = [headline]
    for head, rows in both:
        # A space after each comma allows line breaks: a long spec would widen the table.
        broken = [(world.replace(",", ", "), *cells) for world, *cells in rows]
        lines = ["| " + " | ".join(cells) + " |" for cells in (head, *broken)]
        parts.append("\n".join((lines[0], "|" + "---|" * len(head), *lines[1:])))
    return "\n\n".join(parts)
