"""Worlds and policies as objects, for those who have some: each becomes a spec.

A policy is given as a class, as ``functools.partial(Class, key=value)``, or as a fresh policy, that
stands for its class and parameters; the lab builds it anew for every game. A world is what its
rounds say: the lab keeps a copy, and calls it by a hash of its content.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from driftduel._imports import load
from driftduel.errors import DriftduelError
from driftduel.policies import POLICIES, Policy
from driftduel.policies.registry import is_registered, spoken
from driftduel.specs import Spec
from driftduel.worlds import World

__all__ = [
    "HERE",
    "KeptWorld",
    "PolicyLike",
    "WorldLike",
    "as_policy_specs",
    "as_world_specs",
    "import_path",
    "is_object",
    "load_all",
    "object_identity",
    "object_world",
]

PolicyLike = str | Spec | type[Policy] | partial[Policy] | Policy
WorldLike = str | Spec | World

HERE = "__main__"
"""The home of what no other process can import: the main script, a class inside a function."""

_CONTENT = "content"
_DIGITS = 12
# A drifting world has a row for every round; reading so many numbers takes about ten seconds.
_MOST_NUMBERS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class KeptWorld:
    """A copy of a world that was given as an object, and a hash of its content."""

    world: World
    content: str


# A plan keeps its worlds; who has let go of it needs them no longer.
_kept: WeakValueDictionary[str, KeptWorld] = WeakValueDictionary()


def load_all(imports: Iterable[str]) -> None:
    """Import modules and files, and register the classes named in ``module:Class``."""
    for name in imports:
        module, _, inside = (name, "", "") if name.endswith(".py") else name.partition(":")
        load([module])
        if inside:
            thing: Any = sys.modules[module]
            for part in inside.split("."):
                thing = getattr(thing, part, None)
            if not (isinstance(thing, type) and issubclass(thing, Policy)):
                raise DriftduelError(f"cannot import {name!r}: there is no such class of policies.")
            POLICIES.admit(thing)


def import_path(policy: type[Policy]) -> str:
    """Return ``module:Class`` if another process can import a class so, or `HERE`."""
    thing: Any = sys.modules.get(policy.__module__)
    for part in policy.__qualname__.split("."):
        thing = getattr(thing, part, None)
    importable = thing is policy and policy.__module__ != HERE
    return f"{policy.__module__}:{policy.__qualname__}" if importable else HERE


def as_policy_specs(policies: PolicyLike | Sequence[PolicyLike], mode: str) -> list[str]:
    """Return the specs of policies, and register classes that nobody has registered.

    Parameters
    ----------
    policies
        Specs, classes, partials of classes, fresh policies; or one of them.
    mode
        How they are to play; a policy that was configured otherwise is refused.
    """
    classes: dict[str, type[Policy]] = {}
    specs = []
    for policy in policies if isinstance(policies, list | tuple) else [policies]:
        if isinstance(policy, str | Spec):
            specs.append(str(policy))
        elif isinstance(policy, Policy):
            specs.append(_spec_of_instance(policy, mode))
        else:
            kind, values = _class_and_keys(policy)
            name = POLICIES.admit(kind)
            if classes.setdefault(name, kind) is not kind:
                raise DriftduelError(
                    f"two classes are named {kind.__qualname__}; give each a `name` of its own."
                )
            specs.append(_written(name, values))
    return specs


def _class_and_keys(policy: Any) -> tuple[type[Policy], dict[str, Any]]:
    """Take a class, or a partial of one, apart."""
    kind, values = policy, {}
    if isinstance(policy, partial):
        kind, values = policy.func, dict(policy.keywords)
        if policy.args:
            raise DriftduelError(
                f"{policy!r} must name its keys: functools.partial(Class, key=value)."
            )
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise DriftduelError(
            f"{policy!r} is no policy; give a spec such as 'dts:alpha=0.6', a class of policies, "
            f"functools.partial(Class, key=value), or a fresh policy."
        )
    if inspect.isabstract(kind):
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise DriftduelError(f"the class {kind.__qualname__} has yet to define {missing}.")
    if "base" in inspect.signature(kind).parameters and hasattr(kind, "prefix"):
        raise DriftduelError(
            f"the class {kind.__qualname__} goes around another policy; write both as a spec, such "
            f"as '{kind.prefix}-dts'."
        )
    for key in POLICIES.context:
        if key in values:
            raise DriftduelError(f"{policy!r} gives {key}, which is the lab's to give.")
    return kind, values


def _spec_of_instance(policy: Policy, mode: str) -> str:
    """Return the spec of a policy that has not played yet."""
    kind = type(policy)
    order = "asked" if policy.in_order else "arrival"
    ledger = policy.ledger
    if ledger.asked:
        raise DriftduelError(
            f"{policy!r} has asked for {ledger.asked} duels; the lab needs one that is fresh, and "
            f"builds it anew for every game."
        )
    if (ledger.order, ledger.ties) != (order, policy.ties) or policy.mode not in ("serve", mode):
        raise DriftduelError(
            f"{policy!r} was configured (order, ties or mode); the lab builds policies anew, as "
            f"their classes are. The mode is a key of `compare`."
        )
    if not is_registered(policy):
        if vars(kind).get("__init__") is not None and not POLICIES.is_guest(kind):
            keys = [key for key in inspect.signature(kind).parameters if key not in ("arms", "rng")]
            if keys:
                raise DriftduelError(
                    f"nobody knows what {policy!r} was built with, because its class was not "
                    f"registered then; give functools.partial({kind.__qualname__}, {keys[0]}=...)."
                )
        POLICIES.admit(kind)
    defaults = {each.name: each.default for each in POLICIES[policy.name].parameters}
    changed = {
        key: value
        for key, value in policy.parameters.items()
        if key in defaults and value is not None and value != defaults[key]
    }
    return _written(policy.name, changed)


def _written(name: str, values: dict[str, Any]) -> str:
    """Write a name and its keys as a spec, which must be read as they are."""
    spec = str(Spec(name, values))
    if Spec.parse(spec).values != {key: str(Spec("x", {"x": v}))[4:] for key, v in values.items()}:
        raise DriftduelError(f"a spec cannot hold the values of {name!r}: {values!r}.")
    return spec


def as_world_specs(worlds: WorldLike | Sequence[WorldLike]) -> tuple[list[str], list[KeptWorld]]:
    """Return the specs of worlds, and copies of those that are objects, to be kept with the plan.

    Parameters
    ----------
    worlds
        Specs and worlds; or one of them.
    """
    specs: list[str] = []
    kept: list[KeptWorld] = []
    for world in worlds if isinstance(worlds, list | tuple) else [worlds]:
        if isinstance(world, World):
            copy = _keep(world)
            keys = {"arms": world.arms, "rounds": world.rounds, _CONTENT: copy.content[:_DIGITS]}
            specs.append(str(Spec(spoken(type(world).__name__), keys)))
            kept.append(_kept.setdefault(specs[-1], copy))
        elif isinstance(world, str | Spec):
            specs.append(str(world))
        else:
            if isinstance(world, type | partial | Policy):
                raise DriftduelError(f"{world!r} is no world; give policies first, then worlds.")
            raise DriftduelError(
                f"{world!r} is no world; give a spec such as 'geometric-btl:arms=10,phases=4', or "
                f"a world that was made."
            )
    return specs, kept


def _keep(world: World) -> KeptWorld:
    """Copy a world, so that nothing that becomes of it can change what was planned."""
    try:
        copy = deepcopy(world)
        return KeptWorld(copy, _content(copy))
    except DriftduelError:
        raise
    except Exception as error:
        raise DriftduelError(
            f"the world {world!r} cannot be copied and read, round by round: {error!r}."
        ) from error


def _content(world: World) -> str:
    """Return a hash of all that a world's rounds hold."""
    digest = hashlib.sha256(f"{world.arms} {world.rounds}".encode())
    numbers = 0
    for chunk in world.chunks():
        for part in chunk:
            array = np.ascontiguousarray(part)
            numbers += array.size
            digest.update(f" {array.dtype} {array.shape} ".encode())
            digest.update(array.tobytes())
        if numbers > _MOST_NUMBERS:
            raise DriftduelError(
                f"the world {world!r} holds more than {_MOST_NUMBERS:,} numbers by round "
                f"{chunk.end - 1:,}, too many to be known by; register what makes it, and give its "
                f"spec."
            )
    return digest.hexdigest()


def is_object(spec: str) -> bool:
    """Tell whether a spec stands for a world that was given as an object."""
    return _CONTENT in Spec.parse(spec).values


def object_world(spec: str) -> World:
    """Return the world that a spec of `as_world_specs` stands for, to be read by one thread."""
    world = _lookup(spec).world
    return deepcopy(world) if world.drifts else world  # a drifting one remembers where it was


def object_identity(spec: str) -> str:
    """Return what decides the rounds of such a world."""
    return f"object:{_CONTENT}={_lookup(spec).content}"


def _lookup(spec: str) -> KeptWorld:
    kept = _kept.get(spec)
    if kept is None:
        raise DriftduelError(
            f"world {spec!r} was an object of a program that is over; run the program again."
        )
    return kept
