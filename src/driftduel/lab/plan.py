"""Plans of experiments as data: policies, worlds, runs, seeds and all settings."""

import fnmatch
import hashlib
import itertools
import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from driftduel import __version__
from driftduel._internal.defaults import BENCHMARK, GOAL, MODE, MOST_SHOWN, POINTS, RUNS, SEED
from driftduel.errors import DriftduelError
from driftduel.games import check_slates, knowledge
from driftduel.lab.goals import check_goal, check_world
from driftduel.lab.identity import (
    is_fixed,
    planned_world,
    policy_home,
    policy_identity,
    world_home,
    world_identity,
)
from driftduel.lab.objects import (
    KeptWorld,
    PolicyLike,
    WorldLike,
    as_policy_specs,
    as_world_specs,
    load_all,
)
from driftduel.policies import MODES, KernelPolicy, make_policy
from driftduel.regret import BENCHMARKS, NoWinnerError, check_benchmark, phase_starts
from driftduel.worlds import RequestWorld, World

__all__ = [
    "Cell",
    "Plan",
    "PlannedPolicy",
    "PlannedWorld",
    "game_seed",
    "make_plan",
    "matches",
]

Blame = Callable[[str, int | None], AbstractContextManager[None]]
# Seeds of games are exact in float64, so that no JSON parser rounds them.
_SEED_BITS = 53
_FEWEST_POINTS = 10
_MOST_POINTS = 100_000
_MOST_RUNS = 1_000_000
_ROUNDS_LOOKED_AT = 4096
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class PlannedWorld:
    """A world of a plan, with its properties at the time of planning."""

    spec: str
    identity: str
    """The identity: all keys, hashes of files and of the code; the run's seed is not included."""
    arms: int
    rounds: int
    fixed: bool
    """Whether the world is the same in every run."""
    home: str = "driftduel"
    """The module that registers the world."""
    names: tuple[str, ...] = ()
    """The names of the arms; empty if they have none."""
    slate: int = 2
    """The largest number of arms shown in a round."""
    ranked: bool = False
    """Whether the answer to a slate is a ranking."""


@dataclass(frozen=True)
class PlannedPolicy:
    """A policy of a plan, with its properties at the time of planning."""

    spec: str
    identity: str
    told: tuple[str, ...]
    compiled: bool
    home: str
    """The module that registers the policy, or ``module:Class`` of an unregistered class."""


class Cell(NamedTuple):
    """One game of a plan: the complete, picklable input of a worker."""

    world: str
    policy: str
    seed: int
    """The plan's seed."""
    run: int
    """The index of the run, from 0."""
    game_seed: int
    """The seed of the game; ``driftduel play --seed`` with this value repeats it."""
    rounds: int
    benchmark: str
    points: int
    key: str
    """Hash of all inputs that determine the outcome; the key of the result."""
    world_identity: str
    """The identity that the world must have on the worker."""
    policy_identity: str
    """The identity that the policy must have on the worker."""
    mode: str = MODE
    """``serve`` or ``panel``, see `Policy.configure`."""
    goal: str = GOAL
    """The measure: ``regret``, or a goal of `driftduel.lab.goals` beside it."""

    def keyed(self, version: str) -> "Cell":
        """Return a copy of the cell with the value of `key` for a version of driftduel."""
        decisive = [
            version, self.world_identity, self.policy_identity, self.game_seed, self.benchmark,
            self.points,
        ]  # fmt: skip
        if self.mode != MODE:  # the default mode is omitted, so that older keys stay valid
            decisive.append(self.mode)
        if self.goal != GOAL:  # the default goal is omitted, so that older keys stay valid
            decisive.append(f"goal {self.goal}")
        return self._replace(key=hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:32])

    @property
    def id(self) -> str:
        """The readable name of the cell, which ``--only`` matches."""
        return f"{self.world} / {self.policy} / {self.seed}.{self.run}"


@dataclass(frozen=True, repr=False)
class Plan:
    """A validated grid of worlds x policies x seeds x runs, created by `make_plan`."""

    worlds: tuple[PlannedWorld, ...]
    policies: tuple[PlannedPolicy, ...]
    runs: int
    seeds: tuple[int, ...]
    benchmark: str
    points: int
    """Approximate number of points of each game's curves."""
    imports: tuple[str, ...]
    """Modules and files that register the user's worlds and policies."""
    version: str
    """The version of driftduel; results of other versions are not reused."""
    mode: str = MODE
    """The mode of play, see `Policy.configure`."""
    goal: str = GOAL
    """The measure, see `driftduel.lab.goals`."""
    kept: tuple[KeptWorld, ...] = field(default=(), compare=False)
    """References to world objects, which keep them alive."""

    def __repr__(self) -> str:
        from driftduel.lab.tables import plan_as_text

        return plan_as_text(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as a dict of JSON values."""
        record: dict[str, Any] = json.loads(json.dumps(asdict(replace(self, kept=()))))
        del record["kept"]
        if self.goal == GOAL:  # older plans have no goal; equal plans stay equal
            del record["goal"]
        for world in record["worlds"]:
            if not world["names"]:  # older plans have no names
                del world["names"]
            if world["slate"] == 2:  # nor slates
                del world["slate"], world["ranked"]
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Plan":
        """Return the plan of a dict of `as_dict`.

        No spec is resolved, so the results stay readable when a module or file is missing. An
        invalid record raises ValueError, KeyError or TypeError.
        """
        plan = cls(
            **{
                **record,
                "worlds": tuple(
                    PlannedWorld(**{**each, "names": tuple(each.get("names", ()))})
                    for each in record["worlds"]
                ),
                "policies": tuple(
                    PlannedPolicy(**{**each, "told": tuple(each["told"])})
                    for each in record["policies"]
                ),
                "seeds": tuple(record["seeds"]),
                "imports": tuple(record["imports"]),
            }
        )
        numbers = [plan.runs, plan.points, *plan.seeds]
        words = [plan.benchmark, plan.version, plan.mode, plan.goal, *plan.imports]
        for world in plan.worlds:
            numbers += [world.arms, world.rounds]
            words += [world.spec, world.identity, world.home, *world.names]
        for policy in plan.policies:
            words += [policy.spec, policy.identity, policy.home, *policy.told]
        if not (
            all(type(number) is int and 0 <= number <= _LARGEST for number in numbers)
            and all(type(word) is str for word in words)
            and all(type(world.fixed) is bool for world in plan.worlds)
            and all(type(policy.compiled) is bool for policy in plan.policies)
            and all(world.arms >= 2 and world.rounds >= 1 for world in plan.worlds)
            and all(len(world.names) in (0, world.arms) for world in plan.worlds)
            and all(
                type(world.slate) is int
                and 2 <= world.slate <= MOST_SHOWN
                and type(world.ranked) is bool
                for world in plan.worlds
            )
            and plan.worlds
            and plan.policies
            and plan.seeds
            and 1 <= plan.runs <= _MOST_RUNS
            and _FEWEST_POINTS <= plan.points <= _MOST_POINTS
            and plan.benchmark in BENCHMARKS
            and plan.mode in MODES
            and not plan.kept
        ):
            raise ValueError
        try:
            check_goal(plan.goal, plan.benchmark)
        except DriftduelError:
            raise ValueError from None
        return plan

    @property
    def compiled(self) -> bool:
        """Whether every policy is compiled, so that threads run in parallel (without the GIL)."""
        return all(policy.compiled for policy in self.policies)

    def __len__(self) -> int:
        return len(self.worlds) * len(self.policies) * len(self.seeds) * self.runs

    def cells(self) -> Iterator[Cell]:
        """Yield all cells: the first run of all policies in all worlds, then the next run.

        Hence an unfinished sweep has runs of every policy in every world.
        """
        for run, seed in itertools.product(range(self.runs), self.seeds):
            seed_of_game = game_seed(seed, run)
            for world, policy in itertools.product(self.worlds, self.policies):
                yield Cell(
                    world.spec, policy.spec, seed, run, seed_of_game, world.rounds, self.benchmark,
                    self.points, "", world.identity, policy.identity, self.mode, self.goal,
                ).keyed(self.version)  # fmt: skip

    def select(self, only: str | None = None, shard: str | None = None) -> list[Cell]:
        """Return the cells with a matching id, and of these every n-th from the i-th.

        Parameters
        ----------
        only
            A shell pattern (``*sw-dts*``); a string without ``*``, ``?`` or ``[`` matches any part
            of the id.
        shard
            ``i/n`` with i from 1 to n; the n shards are disjoint and contain all cells.
        """
        cells = list(self.cells())
        if only is not None:
            cells = [cell for cell in cells if matches(cell.id, only)]
            if not cells:
                raise DriftduelError(
                    f"no cell matches {only!r}; an id is, for example, {next(self.cells()).id!r}."
                )
        if shard is not None:
            i, n = _read_shard(shard)
            cells = cells[i - 1 :: n]
        return cells

    @cached_property
    def total_rounds(self) -> int:
        """The sum of the rounds of all cells."""
        games = len(self.policies) * len(self.seeds) * self.runs
        return games * sum(world.rounds for world in self.worlds)


def make_plan(
    worlds: WorldLike | Sequence[WorldLike],
    policies: PolicyLike | Sequence[PolicyLike],
    runs: int = RUNS,
    seeds: Sequence[int] = (SEED,),
    *,
    benchmark: str = BENCHMARK,
    points: int = POINTS,
    imports: Sequence[str] = (),
    mode: str = MODE,
    goal: str = GOAL,
    blame: Blame = lambda key, place: nullcontext(),
) -> Plan:
    """Return a plan after validating all arguments.

    The world of the first run is constructed for every spec, and every policy for each of these.

    Parameters
    ----------
    worlds, policies
        Specs or objects, as for `compare`.
    runs
        Number of games of each policy in each world, for each seed.
    seeds
        Seeds of the runs.
    benchmark
        The reference of regret, one of `driftduel.regret.BENCHMARKS`.
    points
        Approximate number of points of each game's curves.
    imports
        Modules or Python files to import first; ``module:Class`` also registers the class.
    mode
        ``serve`` or ``panel``, see `Policy.configure`.
    goal
        The measure: ``regret``, or a goal of `driftduel.lab.goals` beside it.
    blame
        Returns a context manager in which the value of a key is checked, either all of it (None)
        or the item at an index of a list, so that an error can include its position in a file.

    Raises
    ------
    DriftduelError
        If the value of an argument is invalid.
    """
    for place, name in enumerate(imports):
        with blame("imports", place):
            load_all([name])
    world_specs, kept = as_world_specs(worlds)
    policy_specs = as_policy_specs(policies, mode)
    for key, given in (("worlds", world_specs), ("policies", policy_specs), ("seed", seeds)):
        with blame(key, None):
            if not len(given):
                raise DriftduelError(f"{key} is empty; pass at least one.")
    with blame("runs", None):
        runs = _whole("runs", runs, 1, _MOST_RUNS)
    with blame("points", None):
        points = _whole("points", points, _FEWEST_POINTS, _MOST_POINTS)
    with blame("benchmark", None):
        check_benchmark(benchmark)
    with blame("mode", None):
        if mode not in MODES:
            raise DriftduelError(f"mode={mode!r} must be {' or '.join(MODES)}.")
    with blame("goal", None):
        check_goal(goal, benchmark)
    seeds = _checked_seeds(seeds, blame)
    planned_worlds, drawn = _plan_worlds(world_specs, game_seed(seeds[0], 0), benchmark, blame)
    with blame("goal", None):
        for world in drawn:
            check_world(goal, world)
    return Plan(
        worlds=planned_worlds,
        policies=_plan_policies(policy_specs, drawn, mode, blame),
        runs=runs,
        seeds=seeds,
        benchmark=benchmark,
        points=points,
        imports=tuple(imports),
        version=__version__,
        mode=mode,
        goal=goal,
        kept=tuple(kept),
    )


def _checked_seeds(seeds: Sequence[int], blame: Blame) -> tuple[int, ...]:
    checked = []
    for place, seed in enumerate(seeds):
        with blame("seed", place):
            checked.append(_whole("seed", seed, 0))
    with blame("seed", None):
        if len(set(checked)) < len(checked):
            raise DriftduelError(f"a seed occurs twice in {checked}.")
    return tuple(checked)


def _plan_worlds(
    specs: Sequence[str], seed: int, benchmark: str, blame: Blame
) -> tuple[tuple[PlannedWorld, ...], list[World]]:
    """Return the planned worlds, and the world object of the first run of each."""
    planned: list[PlannedWorld] = []
    drawn: list[World] = []
    for place, spec in enumerate(specs):
        with blame("worlds", place):
            _need_unicode(spec)
            identity = world_identity(spec)
            with _name_failing(f"world {spec!r}"):
                world = planned_world(spec, seed, identity)
            if benchmark == "condorcet":
                _need_winners(spec, world)
            if benchmark == "exploitability":
                phase_starts(world)
            planned.append(
                PlannedWorld(
                    spec,
                    identity,
                    world.arms,
                    world.rounds,
                    is_fixed(spec),
                    world_home(spec),
                    tuple(world.names),
                    world.slate,
                    world.ranked,
                )
            )
            _check_distinct("world", planned)
            drawn.append(world)
    return tuple(planned), drawn


def _plan_policies(
    specs: Sequence[str], worlds: Sequence[World], mode: str, blame: Blame
) -> tuple[PlannedPolicy, ...]:
    """Return the planned policies, after constructing each of them for every world."""
    planned: list[PlannedPolicy] = []
    for place, spec in enumerate(specs):
        with blame("policies", place):
            _need_unicode(spec)
            planned.append(_planned_policy(spec, worlds, mode))
            _check_distinct("policy", planned)
    return tuple(planned)


def game_seed(seed: int, run: int) -> int:
    """Return the seed of a run's games, which is the same for every policy and every world."""
    state = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(64 - _SEED_BITS))


def _whole(key: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an integer, also of a numpy type, as an int in the range of JSON and Parquet."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if most is not None and number > most:
        raise DriftduelError(f"{key}={value} must be a whole number between {least} and {most:,}.")
    if number < least:
        raise DriftduelError(f"{key}={value} must be a whole number at least {least}.")
    if number > _LARGEST:
        raise DriftduelError(f"{key}={value} must be a whole number at most {_LARGEST}.")
    return number


@contextmanager
def _name_failing(what: str) -> Iterator[None]:
    """Convert any exception of user code to a DriftduelError with the name of the failing spec."""
    try:
        yield
    except DriftduelError:
        raise
    except Exception as error:
        raise DriftduelError(f"{what} cannot be made: {error!r}.") from error


def matches(name: str, pattern: str) -> bool:
    """Return whether a name matches a shell pattern, or contains a plain string."""
    whole = any(sign in pattern for sign in "*?[")
    return fnmatch.fnmatchcase(name, pattern if whole else f"*{pattern}*")


def _read_shard(shard: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", shard.strip())
    i, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= i <= n:
        raise DriftduelError(f"shard {shard!r} must be i/n with i from 1 to n, for example 2/4.")
    return i, n


def _check_distinct(what: str, planned: Sequence[PlannedWorld] | Sequence[PlannedPolicy]) -> None:
    """Raise DriftduelError if the last entry equals an earlier one, as its cells would."""
    *earlier, last = planned
    for other in earlier:
        if other.spec == last.spec:
            raise DriftduelError(f"{what} {last.spec!r} is listed twice.")
        if other.identity == last.identity:
            raise DriftduelError(f"{what} {last.spec!r} is the same as {other.spec!r}.")


def _need_unicode(spec: str) -> None:
    try:
        spec.encode()
    except UnicodeEncodeError:  # a file name with bytes that are invalid in UTF-8
        raise DriftduelError(
            f"{spec!r} is not valid UTF-8, so tables and pages cannot contain it; rename the file "
            f"or pass a link to it."
        ) from None


def _need_winners(spec: str, world: World) -> None:
    """Raise NoWinnerError for a round without a winner, in the first rounds of a drifting world.

    Checking all rounds may take longer than a game. A later round without a winner ends the run
    when the first game reaches it, see `run_cells`. With requests every round has a best option: of
    equal ones each is best.
    """
    if isinstance(world, RequestWorld):
        return
    few = _ROUNDS_LOOKED_AT if world.drifts else None
    for chunk in world.chunks(limit=few):
        without = np.flatnonzero(chunk.row_winners()[chunk.rows] < 0)
        if without.size:
            raise NoWinnerError(f"world {spec!r}", world, int(chunk.starts[without[0]]))
        if few is not None:
            break


def _planned_policy(spec: str, worlds: Sequence[World], mode: str) -> PlannedPolicy:
    identity = policy_identity(spec, mode=mode)  # first, because constructing may change modules
    truths = [knowledge(spec, world) for world in worlds]
    with _name_failing(f"policy {spec!r}"):
        built = [
            make_policy(spec, world.arms, 0, mode=mode, **truth)
            for world, truth in zip(worlds, truths, strict=True)
        ]
    for policy, world in zip(built, worlds, strict=True):
        check_slates(policy, world)
    return PlannedPolicy(
        spec=spec,
        identity=identity,
        told=tuple(built[0].prior_knowledge),
        compiled=all(isinstance(policy, KernelPolicy) for policy in built),
        home=policy_home(spec),
    )
