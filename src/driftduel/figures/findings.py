"""What figures and reports of many games show, computed once from a result store.

Needs the extra ``lab`` when it reads results, not when it is imported.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.specs import Spec

if TYPE_CHECKING:
    import polars as pl

    from driftduel.lab import Plan, Results

__all__ = [
    "Changes",
    "Curve",
    "Findings",
    "Game",
    "Shares",
    "Standing",
    "Trend",
    "TrendLine",
    "WorldFindings",
    "read_findings",
    "short_names",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Game = tuple[int, int]
"""A seed of the plan and a run: the luck that policies share."""

_COLUMNS = (
    "world", "policy", "seed", "run", "game_seed", "rounds", "arms", "regret", "restarts",
    "switches", "at", "regret_curve", "plays",
)  # fmt: skip
_MOST_POINTS = 240
# If runs switch in more different rounds than this, one of them is shown as an example.
_MOST_COMMON_SWITCHES = 24
_MOST_ARMS = 9
_MOST_RESTARTS = 300
# What a switch is with the benchmarks that have their own.
_SUBJECTS = {"von-neumann": "arms that lose nothing", "exploitability": "preferences"}
# Beyond this, a world that drifts takes too long to be walked through.
_MOST_ROUNDS_WALKED = 2_000_000
_LEAST_SPREAD = 1.5


@dataclass(frozen=True)
class Standing:
    """How a policy did in a world."""

    policy: int
    """Its place in the plan."""
    name: str
    told: tuple[str, ...]
    runs: int
    planned: int
    mean: float
    low: float | None = None
    high: float | None = None
    """The 95 % interval of the mean; None for one run."""
    ratio: float | None = None
    """To the lowest mean; None if that is 0."""
    difference: float | None = None
    """To the policy with the lowest mean, run by run; None for that policy."""
    difference_low: float | None = None
    difference_high: float | None = None
    restarts: float = 0.0
    too_many: float = 0.0
    detected: float | None = None
    """The share of switches that a restart answered; None where it does not apply."""
    delay: float | None = None
    speed: float | None = None
    """Rounds a second."""

    @property
    def worse(self) -> bool | None:
        """Whether it is worse than the best beyond chance; None if that cannot be said."""
        if self.difference_low is None or self.difference_high is None:
            return None
        return self.difference_low > 0


@dataclass(frozen=True)
class Curve:
    """Regret over time: the mean of runs, and its 95 % interval, which one run does not have."""

    mean: Floats
    low: Floats | None
    high: Floats | None

    def at(self, keep: Ints) -> "Curve":
        """Return the curve at these of its points."""
        low, high = (None if end is None else end[keep] for end in (self.low, self.high))
        return Curve(self.mean[keep], low, high)


@dataclass(frozen=True)
class Changes:
    """When the best arm of a world changes, or what else counts as a change."""

    rounds: tuple[int, ...]
    """Rounds in which it does: in some run, or, if runs have little in common, in the example."""
    counts: tuple[int, ...]
    """In how many runs it does so in each of these rounds."""
    runs: int
    example: bool
    """Whether these are the rounds of one run only."""
    fewest: int
    most: int
    mean: float
    """How often it changes in a run."""
    subject: str = "best arm"
    """What changes; the other ones are plural."""

    @property
    def verbs(self) -> tuple[str, str]:
        """How to say that it changes, and that it does not."""
        return ("changes", "stays") if self.subject == "best arm" else ("change", "stay")

    @property
    def same(self) -> bool:
        """Whether every run has the same."""
        return not self.example and all(count == self.runs for count in self.counts)


@dataclass(frozen=True)
class Shares:
    """How the plays of one policy were spread over arms, slice by slice."""

    arms: tuple[int, ...]
    """The arms that were played most; a last column is all others', where there are others."""
    shares: Floats
    """(slices, arms) of all plays in a slice."""
    all_arms: Floats
    """(slices, K) likewise, of every arm."""
    runs: int
    """Over how many runs this is the mean."""


@dataclass(frozen=True)
class WorldFindings:
    """All that is shown of one world."""

    index: int
    spec: str
    label: str
    """The spec without what all worlds have in common."""
    arms: int
    rounds: int
    fixed: bool
    standings: tuple[Standing, ...]
    """Policies that have played, in the plan's order."""
    at: Ints
    curves: Mapping[int, Curve]
    changes: Changes
    example: Game
    """A run that most policies have played, for what cannot be averaged."""
    game_seed: int
    """The seed of its games."""
    winners: tuple[tuple[int, int | None], ...] | None
    """(first round, best arm) in the example run; None where the world cannot be had again."""
    present: tuple[int, int] | None
    """The fewest and the most arms there at a time in that run; None where all are, or unknown."""
    ties: float
    """The share of ties in its first round; 0 where it is unknown."""
    restarts: Mapping[int, tuple[int, ...]]
    """Rounds of restarts, for policies that have any: of all runs, or of the example."""
    restarts_of_example: bool
    slice_ends: Ints
    shares: Mapping[int, Shares]
    regrets: Mapping[int, Mapping[Game, float]]
    """The regret of every game."""
    loss: str = "regret"
    """What to call it on an axis."""

    def ranked(self) -> list[Standing]:
        """Return the standings, best first."""
        return sorted(self.standings, key=lambda standing: standing.mean)

    def of_best(self, count: int, points: int) -> "WorldFindings":
        """Return what is shown of the best policies only, with curves of at most so many points."""
        best = {standing.policy for standing in self.ranked()[:count]}
        keep = _evenly(len(self.at), points)

        def only(found: Mapping[int, Any]) -> dict[int, Any]:
            return {policy: each for policy, each in found.items() if policy in best}

        return replace(
            self,
            standings=tuple(s for s in self.standings if s.policy in best),
            at=self.at[keep],
            curves={policy: curve.at(keep) for policy, curve in only(self.curves).items()},
            restarts=only(self.restarts),
            shares=only(self.shares),
            regrets=only(self.regrets),
        )

    def phases(self) -> list[tuple[int, int, int | None]]:
        """Return (first, last, winner) for the phases of the example run, if they are known."""
        if self.winners is None:
            return []
        lasts = [first - 1 for first, _ in self.winners[1:]] + [self.rounds]
        return [(f, last, w) for (f, w), last in zip(self.winners, lasts, strict=True)]


@dataclass(frozen=True)
class TrendLine:
    """One policy's regret against something, and the straight line through it on log-log axes."""

    means: Floats
    lows: Floats | None
    highs: Floats | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    level: float
    """log of the line's height at x = 1."""


@dataclass(frozen=True)
class Trend:
    """Regret in worlds that differ in one key only."""

    axis: str
    """``rounds`` or ``switches``."""
    key: str
    """The key that differs."""
    common: str
    """What the worlds have in common."""
    x: Floats
    worlds: tuple[int, ...]
    lines: Mapping[int, TrendLine]
    left_out: int
    """Worlds that have no place on a log axis, because nothing switches there."""
    subject: str = "best arm"
    """What switches."""
    loss: str = "regret"
    """What to call regret on an axis."""


@dataclass(frozen=True)
class Findings:
    """All that is shown of a result store."""

    plan: "Plan"
    worlds: tuple[WorldFindings, ...]
    """Worlds in which something was played."""
    common: str
    """What the labels of worlds leave out."""
    trends: tuple[Trend, ...]

    def ranking(self) -> list[int]:
        """Return the policies, best first: by the geometric mean of ratios to the best."""
        scores = ratio_means(self.worlds)
        played = {s.policy for world in self.worlds for s in world.standings}
        return sorted(played, key=lambda policy: (scores.get(policy, math.inf), policy))


def read_findings(found: "Results") -> Findings:
    """Compute what figures and reports show."""
    plan = found.plan
    labels, common = short_names([world.spec for world in plan.worlds])
    rows = found.store.rows(_COLUMNS)
    groups: dict[tuple[str, str], Any] = {
        (str(key[0]), str(key[1])): frame
        for key, frame in rows.group_by("world", "policy", maintain_order=True)
    }
    summaries = dict(found.summary.group_by("world", maintain_order=True))
    worlds = []
    for index, world in enumerate(plan.worlds):
        games = {
            place: groups[world.spec, policy.spec]
            for place, policy in enumerate(plan.policies)
            if (world.spec, policy.spec) in groups
        }
        if games:
            summary = summaries[world.spec,].to_dicts()
            worlds.append(_world_findings(plan, index, labels[index], summary, games))
    return Findings(plan, tuple(worlds), common, tuple(_trends(plan, worlds)))


def short_names(specs: Sequence[str]) -> tuple[list[str], str]:
    """Leave out of specs what all of them say; return the rest, and what was left out.

    Examples
    --------
    >>> short_names(["geometric-btl:arms=5,rounds=100", "geometric-btl:arms=5,rounds=900"])
    (['rounds=100', 'rounds=900'], 'geometric-btl:arms=5')
    >>> short_names(["two-arm:rounds=100", "cycle:rounds=100"])
    (['two-arm', 'cycle'], 'rounds=100')
    """
    if len(specs) < 2:
        return list(specs), ""
    parsed = [Spec.parse(spec) for spec in specs]
    shared = {
        key: value
        for key, value in parsed[0].values.items()
        if all(other.values.get(key) == value for other in parsed)
    }
    one_name = all(other.name == parsed[0].name for other in parsed)
    names = []
    for spec in parsed:
        rest = {key: value for key, value in spec.values.items() if key not in shared}
        keys = str(Spec("x", rest)).partition(":")[2]
        names.append(keys or spec.name if one_name else str(Spec(spec.name, rest)))
    if len(set(names)) < len(names):
        return list(specs), ""
    common = str(Spec(parsed[0].name if one_name else "x", shared))
    return names, common if one_name else common.partition(":")[2]


def ratio_means(worlds: Iterable[WorldFindings]) -> dict[int, float]:
    """Return the geometric mean of a policy's ratios to the best, if it has one in every world."""
    logs: dict[int, list[float]] = {}
    count = 0
    for world in worlds:
        count += 1
        for standing in world.standings:
            if standing.ratio is not None:
                logs.setdefault(standing.policy, []).append(math.log(standing.ratio))
    return {
        policy: math.exp(sum(each) / count) for policy, each in logs.items() if len(each) == count
    }


def _world_findings(
    plan: "Plan",
    index: int,
    label: str,
    summary: Sequence[Mapping[str, Any]],
    games: Mapping[int, "pl.DataFrame"],
) -> WorldFindings:
    from driftduel.lab.cells import slice_ends

    world = plan.worlds[index]
    by_name = {row["policy"]: row for row in summary}
    standings = [_standing(place, by_name[plan.policies[place].spec]) for place in games]
    switches = {
        (seed, run): tuple(rounds)
        for frame in games.values()
        for seed, run, rounds in frame.select("seed", "run", "switches").iter_rows()
    }
    seeds = {
        (seed, run): luck
        for frame in games.values()
        for seed, run, luck in frame.select("seed", "run", "game_seed").iter_rows()
    }
    regrets = {
        place: {
            (seed, run): regret
            for seed, run, regret in frame.select("seed", "run", "regret").iter_rows()
        }
        for place, frame in games.items()
    }
    played = [game for each in regrets.values() for game in each]
    example = Counter(played).most_common(1)[0][0]
    changes = _changes(switches, example, _SUBJECTS.get(plan.benchmark, "best arm"))
    at, curves = _curves(games)
    restarts = _restarts(games, example if changes.example else None)
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
        **_truth(world.spec, seeds[example], world.rounds, switches[example], plan.benchmark),
        loss="exploitability" if plan.benchmark == "exploitability" else "regret",
        restarts=restarts[0],
        restarts_of_example=restarts[1],
        slice_ends=slice_ends(world.rounds),
        shares={
            place: shares
            for place, frame in games.items()
            if (shares := _shares(frame, world.rounds, None if world.fixed else example))
        },
        regrets=regrets,
    )


def _standing(place: int, row: Mapping[str, Any]) -> Standing:
    return Standing(
        policy=place,
        name=row["policy"],
        told=tuple(row["told"] or ()),
        runs=row["runs"],
        planned=row["planned"],
        mean=row["regret_mean"],
        low=row["regret_low"],
        high=row["regret_high"],
        ratio=row["ratio_to_best"],
        difference=row["difference_to_best"],
        difference_low=row["difference_low"],
        difference_high=row["difference_high"],
        restarts=row["restarts_mean"],
        too_many=row["restarts_too_many_mean"],
        detected=row["switches_detected"],
        delay=row["detection_delay_mean"],
        speed=row["rounds_per_second"],
    )


def _changes(switches: Mapping[Game, tuple[int, ...]], example: Game, subject: str) -> Changes:
    counts: dict[int, int] = {}
    for rounds in switches.values():
        for t in rounds:
            counts[t] = counts.get(t, 0) + 1
    often = [len(rounds) for rounds in switches.values()]
    same = len(set(switches.values())) == 1
    shown = sorted(counts)
    if not same and len(counts) > _MOST_COMMON_SWITCHES:
        shown = list(switches[example])
    return Changes(
        rounds=tuple(shown),
        counts=tuple(counts[t] for t in shown),
        runs=len(switches),
        example=not same and len(counts) > _MOST_COMMON_SWITCHES,
        fewest=min(often),
        most=max(often),
        mean=sum(often) / len(often),
        subject=subject,
    )


def _curves(games: Mapping[int, "pl.DataFrame"]) -> tuple[Ints, dict[int, Curve]]:
    """Average over runs at a common grid of rounds, thinned to what a screen can show."""
    at = np.array(next(iter(games.values()))["at"][0].to_list(), np.int64)
    keep = _evenly(len(at), _MOST_POINTS)
    curves = {}
    for place, frame in games.items():
        lines = [np.array(line.to_list()) for line in frame["regret_curve"]]
        grids = [len(line) == len(at) for line in lines]
        if not all(grids):  # a world of the user's own whose length depends on the run
            lines = [line for line, fits in zip(lines, grids, strict=True) if fits]
        if lines:
            curves[place] = _band(np.vstack(lines)[:, keep])
    return at[keep], curves


def _evenly(count: int, most: int) -> Ints:
    """Choose at most so many of some points, evenly; the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _band(values: Floats) -> Curve:
    """Return the mean of the rows and its 95 % interval by Student's t."""
    mean = values.mean(axis=0)
    if len(values) < 2:
        return Curve(mean, None, None)
    from driftduel.lab.statistics import half_width

    half = half_width(values.std(axis=0, ddof=1), len(values))
    return Curve(mean, mean - half, mean + half)


def _restarts(
    games: Mapping[int, "pl.DataFrame"], example: Game | None
) -> tuple[dict[int, tuple[int, ...]], bool]:
    """Return every policy's restarts, of all runs unless these are too many or too different."""
    found: dict[int, list[list[int]]] = {}
    first: dict[int, list[int]] = {}
    for place, frame in games.items():
        of_runs = frame["restarts"].to_list()
        if any(of_runs):
            found[place] = of_runs
            which = zip(frame["seed"].to_list(), frame["run"].to_list(), strict=True)
            shown = dict(zip(which, of_runs, strict=True))
            first[place] = shown.get(example, []) if example else of_runs[0]
    every = {place: [t for one in of_runs for t in one] for place, of_runs in found.items()}
    one_only = example is not None or any(len(each) > _MOST_RESTARTS for each in every.values())
    chosen = first if one_only else every
    return {place: _thinned(sorted(each)) for place, each in chosen.items()}, one_only


def _thinned(rounds: Sequence[int]) -> tuple[int, ...]:
    """Leave out restarts, evenly, that no picture could keep apart."""
    if len(rounds) <= _MOST_RESTARTS:
        return tuple(rounds)
    keep = np.linspace(0, len(rounds) - 1, _MOST_RESTARTS).round().astype(int)
    return tuple(rounds[i] for i in keep)


def _truth(
    spec: str, luck: int, rounds: int, switches: Sequence[int], benchmark: str
) -> dict[str, Any]:
    """Build the world of a run again to learn what it is like; check that it is the one."""
    from driftduel.lab.identity import world_of

    truth: dict[str, Any] = {"winners": None, "present": None, "ties": 0.0}
    try:
        world = world_of(spec, luck)
        if rounds > _MOST_ROUNDS_WALKED and world.drifts:
            return truth
        winners = tuple(world.condorcet_winners())
        changes = [first for first, _ in winners[1:]]
        if benchmark in _SUBJECTS and set(changes) <= set(switches):  # a winner's are among them
            firsts = [1, *switches]
            stretch = np.searchsorted(changes, firsts, side="right")
            winners = tuple((t, winners[i][1]) for t, i in zip(firsts, stretch, strict=True))
        elif changes != list(switches):
            return truth
        first = world.chunk(1, 2)
        if first.present.size:
            counts = [c.present[np.unique(c.rows)].sum(axis=1) for c in world.chunks()]
            there = np.concatenate(counts)
            truth["present"] = int(there.min()), int(there.max())
    except (DriftduelError, OSError):  # a file that is gone, a world of the user's own
        return truth
    return {**truth, "winners": winners, "ties": float(first.ties.max(initial=0.0))}


def _shares(frame: "pl.DataFrame", rounds: int, example: Game | None) -> Shares | None:
    """Average the shares of arms over runs, or take those of one run where arms differ by run."""
    from driftduel.lab.cells import slice_ends

    if example is not None:
        seed, run = example
        mine = [
            i
            for i, game in enumerate(frame.select("seed", "run").iter_rows())
            if game == (seed, run)
        ]
        if not mine:
            return None
        frame = frame[mine]
    ends = slice_ends(rounds)
    arms = int(frame["arms"][0])
    counts = [np.array(each.to_list(), np.int64) for each in frame["plays"]]
    tables = [each.reshape(-1, arms) for each in counts if len(each) == len(ends) * arms]
    if not tables:
        return None
    total = np.sum(tables, axis=0)
    plays = np.diff(total, axis=0, prepend=np.zeros((1, arms), np.int64))
    shares = plays / plays.sum(axis=1, keepdims=True).clip(1)
    order = np.argsort(-total[-1], kind="stable")
    most = _MOST_ARMS if arms > _MOST_ARMS + 1 else arms
    chosen = tuple(sorted(int(arm) for arm in order[:most]))
    columns = shares[:, list(chosen)]
    if len(chosen) < arms:
        columns = np.column_stack((columns, 1 - columns.sum(axis=1)))
    return Shares(chosen, columns, shares, len(tables))


def _trends(plan: "Plan", worlds: Sequence[WorldFindings]) -> list[Trend]:
    """Find worlds that differ in one key only, one that changes the rounds or the switches."""
    identities = [_identity(plan.worlds[world.index].identity) for world in worlds]
    found = []
    for key in dict.fromkeys(key for spec in identities for key in spec.values):
        if key in ("seed", "arms", "path"):
            continue
        families: dict[str, list[int]] = {}
        for place, spec in enumerate(identities):
            rest = {name: value for name, value in spec.values.items() if name != key}
            if _number(spec.values.get(key)) is not None:
                families.setdefault(str(Spec(spec.name, rest)), []).append(place)
        for members in families.values():
            trend = _trend(key, [worlds[place] for place in members])
            if trend is not None:
                found.append(trend)
    return sorted(found, key=lambda trend: trend.axis)


def _identity(identity: str) -> Spec:
    """Read all keys of a planned world, defaults included; the hash of foreign code aside."""
    return Spec.parse(identity.partition(" ")[0])


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _trend(key: str, worlds: Sequence[WorldFindings]) -> Trend | None:
    axis = "rounds" if key == "rounds" else "switches"
    placed = [
        (float(world.rounds) if axis == "rounds" else world.changes.mean, world) for world in worlds
    ]
    positive = sorted(((x, world) for x, world in placed if x > 0), key=lambda each: each[0])
    x = np.array([each for each, _ in positive])
    if len(x) < 2 or (np.diff(x) <= 0).any() or x[-1] < _LEAST_SPREAD * x[0]:
        return None
    chosen = [world for _, world in positive]
    everywhere = set.intersection(*({s.policy for s in world.standings} for world in chosen))
    lines = {}
    for policy in sorted(everywhere):
        of_policy = [next(s for s in world.standings if s.policy == policy) for world in chosen]
        lines[policy] = fit(
            x,
            of_policy,
            [world.regrets[policy] for world in chosen],
        )
    if not lines:
        return None
    _, common = short_names([world.spec for world in chosen])
    return Trend(
        axis=axis,
        key=key,
        common=common,
        x=x,
        worlds=tuple(world.index for world in chosen),
        lines=lines,
        left_out=len(worlds) - len(chosen),
        subject=chosen[0].changes.subject,
        loss=chosen[0].loss,
    )


def fit(
    x: Floats, standings: Sequence[Standing], regrets: Sequence[Mapping[Game, float]]
) -> TrendLine:
    """Fit a straight line to the log of mean regret against log x, by least squares.

    Runs share their luck across worlds, so the 95 % interval of the slope comes from leaving out
    one run at a time, in all worlds at once (the jackknife), with Student's t. It needs two runs
    that all worlds have.
    """
    from scipy.special import stdtrit

    from driftduel.lab.statistics import LEVEL

    means = np.array([standing.mean for standing in standings])
    ends = [
        None
        if any(getattr(s, end) is None for s in standings)
        else np.array([float(getattr(s, end)) for s in standings])
        for end in ("low", "high")
    ]
    if (means <= 0).any():
        return TrendLine(means, ends[0], ends[1], None, None, None, 0.0)
    logs = np.log(x) - np.log(x).mean()
    weights = logs / (logs @ logs)
    slope = float(weights @ np.log(means))
    level = float(np.log(means).mean() - slope * np.log(x).mean())
    common = sorted(set.intersection(*(set(each) for each in regrets)))
    n = len(common)
    table = np.array([[each[game] for game in common] for each in regrets])
    without = (table.sum(axis=1, keepdims=True) - table) / max(1, n - 1)
    if n < 2 or (without <= 0).any():
        return TrendLine(means, ends[0], ends[1], slope, None, None, level)
    slopes = weights @ np.log(without)
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * math.sqrt((n - 1) * float(slopes.var()))
    return TrendLine(means, ends[0], ends[1], slope, slope - half, slope + half, level)
