"""Conversion of world and policy objects to specs.

A policy object is a class, ``functools.partial(Class, key=value)``, or a fresh instance, of which
the class and the parameters are used; every game constructs a new instance. A world object is
copied, and its spec contains a hash of the arrays of all rounds.
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

from driftduel._internal.plugins import load
from driftduel.errors import DriftduelError
from driftduel.policies import POLICIES, Policy, is_registered, spec_name
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
"""The home of a class that other processes cannot import: of the main script, of a function."""

_CONTENT = "content"
_DIGITS = 12
# A drifting world has a row for every round; hashing this many numbers takes about ten seconds.
_MOST_NUMBERS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class KeptWorld:
    """A copy of a world object, and a hash of the values of all rounds."""

    world: World
    content: str


# Weak references: the worlds are owned by their plan and are freed with it.
_kept: WeakValueDictionary[str, KeptWorld] = WeakValueDictionary()


def load_all(imports: Iterable[str]) -> None:
    """Import modules and files, and register the classes given as ``module:Class``."""
    for name in imports:
        module, _, inside = (name, "", "") if name.endswith(".py") else name.partition(":")
        load([module])
        if inside:
            thing: Any = sys.modules[module]
            for part in inside.split("."):
                thing = getattr(thing, part, None)
            if not (isinstance(thing, type) and issubclass(thing, Policy)):
                raise DriftduelError(
                    f"cannot import {name!r}: the module has no such policy class."
                )
            POLICIES.admit(thing)


def import_path(policy: type[Policy]) -> str:
    """Return ``module:Class`` if another process can import the class, otherwise `HERE`."""
    thing: Any = sys.modules.get(policy.__module__)
    for part in policy.__qualname__.split("."):
        thing = getattr(thing, part, None)
    importable = thing is policy and policy.__module__ != HERE
    return f"{policy.__module__}:{policy.__qualname__}" if importable else HERE


def as_policy_specs(policies: PolicyLike | Sequence[PolicyLike], mode: str) -> list[str]:
    """Return the specs of policies, and register unregistered classes.

    Parameters
    ----------
    policies
        Specs, classes, partials of classes, fresh instances; or one of them.
    mode
        The mode of play; an instance with another mode raises DriftduelError.
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
                    f"two classes are named {kind.__qualname__}; give them different `name`s."
                )
            specs.append(_write_spec(name, values))
    return specs


def _class_and_keys(policy: Any) -> tuple[type[Policy], dict[str, Any]]:
    """Return the class and the keyword arguments of a class or a partial."""
    kind, values = policy, {}
    if isinstance(policy, partial):
        kind, values = policy.func, dict(policy.keywords)
        if policy.args:
            raise DriftduelError(
                f"{policy!r} must name its keys: functools.partial(Class, key=value)."
            )
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise DriftduelError(
            f"{policy!r} is not a policy; pass a spec such as 'dts:alpha=0.6', a policy class, "
            f"functools.partial(Class, key=value), or a fresh instance."
        )
    if inspect.isabstract(kind):
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise DriftduelError(f"class {kind.__qualname__} does not define {missing}.")
    if "base" in inspect.signature(kind).parameters and hasattr(kind, "prefix"):
        raise DriftduelError(
            f"class {kind.__qualname__} wraps another policy; pass both as a spec, such as "
            f"'{kind.prefix}-dts'."
        )
    for key in POLICIES.context:
        if key in values:
            raise DriftduelError(f"{policy!r} sets {key}, which every game sets; remove it.")
    return kind, values


def _spec_of_instance(policy: Policy, mode: str) -> str:
    """Return the spec of a policy that has not played yet."""
    kind = type(policy)
    order = "asked" if policy.in_order else "arrival"
    ledger = policy.ledger
    if ledger.asked:
        raise DriftduelError(
            f"{policy!r} has asked for {ledger.asked} duels; pass a fresh instance, because every "
            f"game constructs one from its parameters."
        )
    if (ledger.order, ledger.ties) != (order, policy.ties) or policy.mode not in ("serve", mode):
        raise DriftduelError(
            f"{policy!r} was configured (order, ties or mode), which new instances would lose; "
            f"pass the mode to `compare`."
        )
    if not is_registered(policy):
        if vars(kind).get("__init__") is not None and not POLICIES.is_guest(kind):
            keys = [key for key in inspect.signature(kind).parameters if key not in ("arms", "rng")]
            if keys:
                raise DriftduelError(
                    f"the parameters of {policy!r} are unknown, because its class was not "
                    f"registered; pass functools.partial({kind.__qualname__}, {keys[0]}=...)."
                )
        POLICIES.admit(kind)
    defaults = {each.name: each.default for each in POLICIES[policy.name].parameters}
    changed = {
        key: value
        for key, value in policy.parameters.items()
        if key in defaults and value is not None and value != defaults[key]
    }
    return _write_spec(policy.name, changed)


def _write_spec(name: str, values: dict[str, Any]) -> str:
    """Return a name and its keys as a spec; raise if parsing it gives other values."""
    spec = str(Spec(name, values))
    if Spec.parse(spec).values != {key: str(Spec("x", {"x": v}))[4:] for key, v in values.items()}:
        raise DriftduelError(f"a spec cannot hold the values of {name!r}: {values!r}.")
    return spec


def as_world_specs(worlds: WorldLike | Sequence[WorldLike]) -> tuple[list[str], list[KeptWorld]]:
    """Return the specs of worlds, and copies of the world objects, which the plan must own.

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
            specs.append(str(Spec(spec_name(type(world).__name__), keys)))
            kept.append(_kept.setdefault(specs[-1], copy))
        elif isinstance(world, str | Spec):
            specs.append(str(world))
        else:
            if isinstance(world, type | partial | Policy):
                raise DriftduelError(
                    f"{world!r} is not a world; policies are the first argument, worlds the second."
                )
            raise DriftduelError(
                f"{world!r} is not a world; pass a spec such as 'geometric-btl:arms=10,phases=4', "
                f"or a World object."
            )
    return specs, kept


def _keep(world: World) -> KeptWorld:
    """Copy a world, so that later changes of the object do not affect the plan."""
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
    """Return a SHA-256 hash of the arrays of all rounds of a world, and of its slates."""
    digest = hashlib.sha256(f"{world.arms} {world.rounds}".encode())
    if world.slate > 2:  # the hashes of other worlds stay those of earlier versions
        digest.update(f" {world.slate} {world.ranked} {world.nothing_picked}".encode())
    numbers = 0
    for chunk in world.chunks():
        for part in chunk:
            array = np.ascontiguousarray(part)
            numbers += array.size
            digest.update(f" {array.dtype} {array.shape} ".encode())
            digest.update(array.tobytes())
        if numbers > _MOST_NUMBERS:
            raise DriftduelError(
                f"the world {world!r} contains more than {_MOST_NUMBERS:,} numbers up to round "
                f"{chunk.end - 1:,}, too many to hash; register its factory, and pass its spec."
            )
    return digest.hexdigest()


def is_object(spec: str) -> bool:
    """Return whether a spec refers to a world object."""
    return _CONTENT in Spec.parse(spec).values


def object_world(spec: str) -> World:
    """Return the world of a spec of `as_world_specs`; it is not safe to share between threads."""
    world = _lookup(spec).world
    return deepcopy(world) if world.drifts else world  # it has a mutable read position


def object_identity(spec: str) -> str:
    """Return the identity of a world object: the hash of its values."""
    return f"object:{_CONTENT}={_lookup(spec).content}"


def _lookup(spec: str) -> KeptWorld:
    kept = _kept.get(spec)
    if kept is None:
        raise DriftduelError(
            f"world {spec!r} was an object of a process that has ended; run that program again."
        )
    return kept
