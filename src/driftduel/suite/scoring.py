"""Scores: ratios to the best window where the winner changes; regret above DTS where not."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel.lab import Results
from driftduel.lab.statistics import false_restarts, t_half_width, t_interval
from driftduel.regret import BENCHMARKS
from driftduel.suite.cast import Cast

__all__ = ["Score", "as_markdown", "read_score", "score", "tables"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Changing:
    """How a policy did in a world whose winner changes."""

    world: str
    runs: int
    regret: float
    best_window: str
    score: float
    """Its regret divided by that of the best window in hindsight."""
    low: float | None
    high: float | None
    to_oracle: float
    """Its regret divided by that of DTS restarted at every true switch."""
    restarts: float
    false_restarts: float
    """Those with no switch since the one before."""
    switches: float
    nearest_rival: str | None
    rival_ratio: float | None
    """The best rival's regret divided by its own."""
    rival_low: float | None


@dataclass(frozen=True)
class Quiet:
    """How a policy did in a world whose winner never changes."""

    world: str
    runs: int
    cost: float
    """Its regret minus that of plain DTS, in units of sqrt(K T)."""
    low: float | None
    high: float | None
    to_oracle: float
    """Its regret divided by that of plain DTS: with no switch, that is the oracle."""
    false_restarts: float


@dataclass(frozen=True)
class Score:
    """A policy on a half of the suite."""

    policy: str
    half: str
    geometric_mean: float
    low: float | None
    high: float | None
    """Over runs, in these worlds."""
    worlds_low: float | None
    worlds_high: float | None
    """Over worlds, as if they were drawn at random."""
    worst: float
    worst_cost: float
    changing: tuple[Changing, ...]
    quiet: tuple[Quiet, ...]
    benchmark: str = "condorcet"
    """What regret is against."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def read_score(record: dict[str, Any]) -> Score:
    """Read what `Score.as_dict` gave."""
    changing = tuple(Changing(**each) for each in record["changing"])
    quiet = tuple(Quiet(**each) for each in record["quiet"])
    return Score(**{**record, "changing": changing, "quiet": quiet})


def ratio_interval(first: Floats, second: Floats) -> tuple[float, float | None, float | None]:
    """Return the ratio of two means over the same runs, and its 95 % interval.

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


def score(half: str, policy: str, cast: Cast, changing: Results, quiet: Results) -> Score:
    """Score a policy on what `run_suite` has played: ``score("test", "king", *played)``."""
    found = tuple(_changing(changing, cast, policy, world.spec) for world in changing.plan.worlds)
    calm = tuple(_quiet(quiet, cast, policy, world) for world in quiet.plan.worlds)
    logs = [math.log(each.score) for each in found]
    mean = sum(logs) / len(logs)
    low = high = None
    if all(each.high is not None for each in found):
        widths = [math.log(each.high or 1.0) - log for each, log in zip(found, logs, strict=True)]
        width = math.sqrt(sum(width**2 for width in widths)) / len(widths)  # as if independent
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
        worst=max(each.score for each in found),
        worst_cost=max(each.cost for each in calm),
        changing=found,
        quiet=calm,
        benchmark=changing.plan.benchmark,
    )


def _paired(games: pl.DataFrame, first: str, second: str) -> tuple[Floats, Floats]:
    """Return the regrets of two policies on the runs that both have played."""
    one, other = (
        games.filter(policy=spec).select("seed", "run", "regret") for spec in (first, second)
    )
    both = one.join(other, on=("seed", "run"), maintain_order="left")
    return both["regret"].to_numpy(), both["regret_right"].to_numpy()


def _changing(results: Results, cast: Cast, policy: str, world: str) -> Changing:
    games = results.narrow.filter(world=world)
    best = _best(games, cast.windows)
    assert best is not None
    ratio, low, high = ratio_interval(*_paired(games, policy, best))
    nearest = _best(games, cast.rivals_of(policy))
    rival = ratio_interval(*_paired(games, nearest, policy)) if nearest else (None, None, None)
    own = games.filter(policy=policy)
    return Changing(
        world=world,
        runs=len(own),
        regret=float(own["regret"].to_numpy().mean()),
        best_window=f"{cast.windows[best]}",
        score=ratio,
        low=low,
        high=high,
        to_oracle=ratio_interval(*_paired(games, policy, cast.floor))[0],
        restarts=_mean_length(own, "restarts"),
        false_restarts=_false_restarts(own),
        switches=_mean_length(own, "switches"),
        nearest_rival=nearest,
        rival_ratio=rival[0],
        rival_low=rival[1],
    )


def _best(games: pl.DataFrame, kind: Iterable[str]) -> str | None:
    """Return the policy with the lowest mean among those that were played to the end."""
    regrets = {spec: games.filter(policy=spec)["regret"].to_numpy() for spec in kind}
    most = max(map(len, regrets.values()), default=0)
    full = {spec: float(each.mean()) for spec, each in regrets.items() if len(each) == most}
    return min(full, key=full.__getitem__, default=None)


def _mean_length(games: pl.DataFrame, column: str) -> float:
    return sum(games[column].list.len()) / len(games)


def _false_restarts(games: pl.DataFrame) -> float:
    rows = games.select("restarts", "switches").iter_rows()
    return sum(false_restarts(restarts, switches) for restarts, switches in rows) / len(games)


def _quiet(results: Results, cast: Cast, policy: str, world: Any) -> Quiet:
    games = results.narrow.filter(world=world.spec)
    own, plain = _paired(games, policy, cast.baseline)
    unit = math.sqrt(world.arms * world.rounds)
    costs = (own - plain) / unit
    interval = t_interval(costs)
    return Quiet(
        world=world.spec,
        runs=len(costs),
        cost=float(costs.mean()),
        low=None if interval is None else interval[0],
        high=None if interval is None else interval[1],
        to_oracle=float(own.mean() / plain.mean()),
        false_restarts=_false_restarts(games.filter(policy=policy)),
    )


_CHANGING = (
    "world", "runs", "best window", "score", "95 % interval", "to the oracle", "restarts",
    "false ones", "switches", "nearest rival", "its regret / ours",
)  # fmt: skip
_QUIET = (
    "world",
    "runs",
    "above DTS, sqrt(K T)",
    "95 % interval",
    "to the oracle",
    "false restarts",
)


def _rows(found: Score) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    changing: list[tuple[str, ...]] = [
        (
            each.world, f"{each.runs}", each.best_window, f"{each.score:.2f}",
            _interval(each.low, each.high), f"{each.to_oracle:.2f}", f"{each.restarts:.1f}",
            f"{each.false_restarts:.2f}", f"{each.switches:.1f}", each.nearest_rival or "-",
            "-" if each.rival_ratio is None else f"{each.rival_ratio:.1f}",
        )
        for each in found.changing
    ]  # fmt: skip
    quiet: list[tuple[str, ...]] = [
        (
            each.world, f"{each.runs}", f"{each.cost:+.2f}", _interval(each.low, each.high),
            f"{each.to_oracle:.2f}", f"{each.false_restarts:.2f}",
        )
        for each in found.quiet
    ]  # fmt: skip
    return changing, quiet


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _headline(found: Score) -> str:
    return (
        f"{found.policy} on the {found.half} half: geometric mean {found.geometric_mean:.2f} "
        f"({_interval(found.low, found.high)} over runs, "
        f"{_interval(found.worlds_low, found.worlds_high)} over worlds), "
        f"worst world {found.worst:.2f}; "
        f"at most {found.worst_cost:+.2f} sqrt(K T) above DTS where the winner never changes."
        + (f" Regret: {BENCHMARKS[found.benchmark]}." if found.benchmark != "condorcet" else "")
    )


def tables(found: Score) -> tuple[str, list[tuple[tuple[str, ...], list[tuple[str, ...]]]]]:
    """Return a headline and two tables, each a head and rows."""
    changing, quiet = _rows(found)
    return _headline(found), [(_CHANGING, changing), (_QUIET, quiet)]


def as_markdown(found: Score) -> str:
    """Write a score for a page."""
    headline, both = tables(found)
    parts = [headline]
    for head, rows in both:
        # A space after each comma: a long spec would push the numbers off the page.
        broken = [(world.replace(",", ", "), *cells) for world, *cells in rows]
        lines = ["| " + " | ".join(cells) + " |" for cells in (head, *broken)]
        parts.append("\n".join((lines[0], "|" + "---|" * len(head), *lines[1:])))
    return "\n\n".join(parts)
