"""A plan: which policies play which worlds, how often, with which luck. Experiments are data."""

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
from driftduel._defaults import BENCHMARK, GOAL, MODE, POINTS, RUNS, SEED
from driftduel.errors import DriftduelError
from driftduel.games.knowledge import knowledge
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
from driftduel.policies import KernelPolicy, make_policy
from driftduel.policies.modes import MODES
from driftduel.regret import BENCHMARKS, NoWinnerError, check_benchmark, phase_starts
from driftduel.worlds import World

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
# Seeds of games fit into a double, so that no reader of JSON rounds them.
_SEED_BITS = 53
_FEWEST_POINTS = 10
_MOST_POINTS = 100_000
_MOST_RUNS = 1_000_000
_ROUNDS_LOOKED_AT = 4096
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class PlannedWorld:
    """A world of a plan, and what was known of it when the plan was made."""

    spec: str
    identity: str
    """What decides its rounds: every key, and a hash of files. The run's seed comes on top."""
    arms: int
    rounds: int
    fixed: bool
    """Whether it is the same in every run."""
    home: str = "driftduel"
    """The module that registers it."""
    names: tuple[str, ...] = ()
    """What its arms are called, if they have names."""


@dataclass(frozen=True)
class PlannedPolicy:
    """A policy of a plan, likewise."""

    spec: str
    identity: str
    told: tuple[str, ...]
    compiled: bool
    home: str
    """The module that registers it, or ``module:Class`` of a class that none does."""


class Cell(NamedTuple):
    """One game of a plan: all that a worker, here or far away, must know to play it."""

    world: str
    policy: str
    seed: int
    """The plan's seed."""
    run: int
    """Which of the plan's runs, from 0."""
    game_seed: int
    """What `play` is given; ``driftduel play --seed`` with it repeats this very game."""
    rounds: int
    benchmark: str
    points: int
    key: str
    """Hash of all that decides the outcome; results are found by it."""
    world_identity: str
    """What the world must be where the game is played."""
    policy_identity: str
    """What the policy must be there."""
    mode: str = MODE
    """``serve`` or ``panel``, see `Policy.configure`."""
    goal: str = GOAL
    """What is measured: ``regret``, or a goal of `driftduel.lab.goals` beside it."""

    def keyed(self, version: str) -> "Cell":
        """Return the cell with the key that it has in a version of driftduel."""
        decisive = [
            version, self.world_identity, self.policy_identity, self.game_seed, self.benchmark,
            self.points,
        ]  # fmt: skip
        if self.mode != MODE:  # keys from before there were modes stay
            decisive.append(self.mode)
        if self.goal != GOAL:  # keys from before there were goals stay
            decisive.append(f"goal {self.goal}")
        return self._replace(key=hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:32])

    @property
    def id(self) -> str:
        """A name to read, and to match with ``--only``."""
        return f"{self.world} / {self.policy} / {self.seed}.{self.run}"


@dataclass(frozen=True, repr=False)
class Plan:
    """Worlds x policies x seeds x runs, checked; `make_plan` makes one."""

    worlds: tuple[PlannedWorld, ...]
    policies: tuple[PlannedPolicy, ...]
    runs: int
    seeds: tuple[int, ...]
    benchmark: str
    points: int
    """About how many rounds of each game's curves are kept."""
    imports: tuple[str, ...]
    """Modules and files that register worlds and policies of the user's own."""
    version: str
    """Of driftduel: a result of other code is another result."""
    mode: str = MODE
    """How policies play, see `Policy.configure`."""
    goal: str = GOAL
    """What is measured, see `driftduel.lab.goals`."""
    kept: tuple[KeptWorld, ...] = field(default=(), compare=False)
    """Worlds that were given as objects; they live as long as the plan."""

    def __repr__(self) -> str:
        from driftduel.lab.tables import plan_as_text

        return plan_as_text(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON can hold it."""
        record: dict[str, Any] = json.loads(json.dumps(asdict(replace(self, kept=()))))
        del record["kept"]
        if self.goal == GOAL:  # plans from before there were goals stay
            del record["goal"]
        for world in record["worlds"]:
            if not world["names"]:  # plans of worlds without names are as they always were
                del world["names"]
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Plan":
        """Read what `as_dict` gave; nothing is looked up, so results outlive what made them.

        A record that no plan can have given is a ValueError, or what Python makes of it.
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
        """Whether every policy is made of kernels, so that threads run side by side."""
        return all(policy.compiled for policy in self.policies)

    def __len__(self) -> int:
        return len(self.worlds) * len(self.policies) * len(self.seeds) * self.runs

    def cells(self) -> Iterator[Cell]:
        """Walk through all games: all policies in all worlds once, then the next run of each.

        So an unfinished sweep has something of everything.
        """
        for run, seed in itertools.product(range(self.runs), self.seeds):
            luck = game_seed(seed, run)
            for world, policy in itertools.product(self.worlds, self.policies):
                yield Cell(
                    world.spec, policy.spec, seed, run, luck, world.rounds, self.benchmark,
                    self.points, "", world.identity, policy.identity, self.mode, self.goal,
                ).keyed(self.version)  # fmt: skip

    def select(self, only: str | None = None, shard: str | None = None) -> list[Cell]:
        """Return the cells whose id matches a pattern, and of those every n-th from the i-th.

        Parameters
        ----------
        only
            A shell pattern (``*sw-dts*``); a word without ``*``, ``?`` or ``[`` may stand anywhere
            in the id.
        shard
            ``i/n`` with i from 1 to n; the n shards are disjoint and cover everything.
        """
        cells = list(self.cells())
        if only is not None:
            cells = [cell for cell in cells if matches(cell.id, only)]
            if not cells:
                raise DriftduelError(
                    f"no cell matches {only!r}; cells are named like {next(self.cells()).id!r}."
                )
        if shard is not None:
            i, n = _read_shard(shard)
            cells = cells[i - 1 :: n]
        return cells

    @cached_property
    def total_rounds(self) -> int:
        """The rounds of all cells."""
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
    """Check everything that can be checked before anything is played.

    The first run's world of every kind, and every policy in it, are built once.

    Parameters
    ----------
    worlds, policies
        Specs or objects, as for `compare`.
    runs
        How many games of each policy in each world, for each seed.
    seeds
        What the runs' luck comes from.
    benchmark
        What regret is against, one of `driftduel.regret.BENCHMARKS`.
    points
        About how many rounds of each game's curves to keep.
    imports
        Modules, or Python files, to import first; ``module:Class`` registers a class as well.
    mode
        ``serve`` or ``panel``, see `Policy.configure`.
    goal
        What is measured: ``regret``, or a goal of `driftduel.lab.goals` beside it.
    blame
        Makes the context in which a key's value is checked, the whole of it (None) or the one at a
        place in its list, so that a complaint can say where the value was written.
    """
    for place, name in enumerate(imports):
        with blame("imports", place):
            load_all([name])
    world_specs, kept = as_world_specs(worlds)
    policy_specs = as_policy_specs(policies, mode)
    for key, given in (("worlds", world_specs), ("policies", policy_specs), ("seed", seeds)):
        with blame(key, None):
            if not len(given):
                raise DriftduelError(f"{key} is empty; name at least one.")
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
            raise DriftduelError(f"a seed is given twice in {checked}.")
    return tuple(checked)


def _plan_worlds(
    specs: Sequence[str], luck: int, benchmark: str, blame: Blame
) -> tuple[tuple[PlannedWorld, ...], list[World]]:
    """Plan worlds, and draw each once."""
    planned: list[PlannedWorld] = []
    drawn: list[World] = []
    for place, spec in enumerate(specs):
        with blame("worlds", place):
            _need_unicode(spec)
            identity = world_identity(spec)
            with _telling(f"world {spec!r}"):
                world = planned_world(spec, luck, identity)
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
                )
            )
            _no_twin("world", planned)
            drawn.append(world)
    return tuple(planned), drawn


def _plan_policies(
    specs: Sequence[str], worlds: Sequence[World], mode: str, blame: Blame
) -> tuple[PlannedPolicy, ...]:
    """Plan policies, and build each once for every world."""
    planned: list[PlannedPolicy] = []
    for place, spec in enumerate(specs):
        with blame("policies", place):
            _need_unicode(spec)
            planned.append(_planned_policy(spec, worlds, mode))
            _no_twin("policy", planned)
    return tuple(planned)


def game_seed(seed: int, run: int) -> int:
    """Return the seed of a run's games: the same for every policy and every world."""
    state = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(64 - _SEED_BITS))


def _whole(key: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number, also one of numpy's, as one that JSON and Parquet can hold."""
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
def _telling(what: str) -> Iterator[None]:
    """Say whose code fails: worlds and policies may be of the user's own."""
    try:
        yield
    except DriftduelError:
        raise
    except Exception as error:
        raise DriftduelError(f"{what} cannot be made: {error!r}.") from error


def matches(name: str, pattern: str) -> bool:
    """Tell whether a name matches a shell pattern; a plain word may stand anywhere in it."""
    whole = any(sign in pattern for sign in "*?[")
    return fnmatch.fnmatchcase(name, pattern if whole else f"*{pattern}*")


def _read_shard(shard: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", shard.strip())
    i, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= i <= n:
        raise DriftduelError(f"shard {shard!r} must be i/n with i from 1 to n, for example 2/4.")
    return i, n


def _no_twin(what: str, planned: Sequence[PlannedWorld] | Sequence[PlannedPolicy]) -> None:
    """Refuse a last entry that means the same as an earlier one: its cells would be the same."""
    *earlier, last = planned
    for other in earlier:
        if other.spec == last.spec:
            raise DriftduelError(f"{what} {last.spec!r} is given twice.")
        if other.identity == last.identity:
            raise DriftduelError(f"{what} {last.spec!r} is the same as {other.spec!r}.")


def _need_unicode(spec: str) -> None:
    try:
        spec.encode()
    except UnicodeEncodeError:  # the name of a file, in bytes that are no letters
        raise DriftduelError(
            f"{spec!r} has a name that is not in UTF-8, so tables and pages cannot hold it; "
            f"rename the file, or give a link to it another name."
        ) from None


def _need_winners(spec: str, world: World) -> None:
    """Refuse a round without a winner; of a world that drifts, only the first few are looked at.

    To walk through all of it may take longer than to play it: the first game that meets such a
    round ends the run, see `run_cells`.
    """
    few = _ROUNDS_LOOKED_AT if world.drifts else None
    for chunk in world.chunks(limit=few):
        without = np.flatnonzero(chunk.row_winners()[chunk.rows] < 0)
        if without.size:
            raise NoWinnerError(f"world {spec!r}", world, int(chunk.starts[without[0]]))
        if few is not None:
            break


def _planned_policy(spec: str, worlds: Sequence[World], mode: str) -> PlannedPolicy:
    identity = policy_identity(spec, mode=mode)  # before any is made, which may leave traces
    truths = [knowledge(spec, world) for world in worlds]
    with _telling(f"policy {spec!r}"):
        built = [
            make_policy(spec, world.arms, 0, mode=mode, **truth)
            for world, truth in zip(worlds, truths, strict=True)
        ]
    return PlannedPolicy(
        spec=spec,
        identity=identity,
        told=tuple(built[0].told),
        compiled=all(isinstance(policy, KernelPolicy) for policy in built),
        home=policy_home(spec),
    )
