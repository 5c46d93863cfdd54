"""What a world and a policy are, in one line: the same line for the plan and for every worker.

A line holds the spec in full, the content of the file behind it, and a fingerprint of the code, see
`code_of`. A plan has the lines of its worlds and policies; a worker computes them once more, from
its own code and files, and plays only if they agree. So what is played is what was planned.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from driftduel._defaults import MODE
from driftduel._fingerprint import fingerprint
from driftduel._imports import plugin_of
from driftduel._reading import read_bytes
from driftduel.errors import DriftduelError
from driftduel.games import streams
from driftduel.games.knowledge import KNOWN
from driftduel.lab.objects import HERE, import_path, is_object, object_identity, object_world
from driftduel.lab.source import CONTRACT, installed
from driftduel.policies import POLICIES
from driftduel.policies.modes import standing_in
from driftduel.specs import Spec
from driftduel.worlds import WORLDS, World, make_world

__all__ = [
    "code_of",
    "is_fixed",
    "need_planned_policy",
    "planned_world",
    "policy_code",
    "policy_home",
    "policy_identity",
    "same_but_code",
    "world_code",
    "world_home",
    "world_identity",
    "world_of",
]

Fingerprint = Callable[[Any], str]
_made: dict[Any, str] = {}


def world_of(world: str, seed: int) -> World:
    """Return the world that `play` draws from a spec and a game's seed, or the object it names."""
    if is_object(world):
        return object_world(world)
    return make_world(world, int(streams(seed)[0].generate_state(1)[0]))


def world_identity(spec: str, of: Fingerprint | None = None) -> str:
    """Return what decides a world's rounds; the run's seed comes on top.

    Parameters
    ----------
    spec
        The world.
    of
        Takes the fingerprint of code that is not built in; at each call unless given.
    """
    if is_object(spec):
        return object_identity(spec)
    resolved = WORLDS.resolve(spec)
    values = _with_content(resolved.values)
    if not is_fixed(spec):
        values["seed"] = "run"
    return " ".join((str(replace(resolved, values=values)), *_world_codes(resolved, of)))


def policy_identity(spec: str, of: Fingerprint | None = None, mode: str = MODE) -> str:
    """Return what decides a policy's choices, likewise.

    Parameters
    ----------
    spec, of
        As for `world_identity`.
    mode
        How it plays: the kernels for panels decide nothing in the mode ``serve``.
    """
    parsed = Spec.parse(spec)
    entry = POLICIES[parsed.name]
    # Keys left open may be told the truth about the world: neither a value nor their default.
    values = {
        p.name: p.read(parsed.values[p.name], p.name)
        if p.name in parsed.values
        else ("open" if p.required or p.name in KNOWN else p.default)
        for p in entry.parameters
    }
    full = str(Spec(parsed.name, _with_content(values)))
    return " ".join((full, *_policy_codes(entry.factory, mode, of)))


def world_code(spec: str) -> str:
    """Return a fingerprint of the code of a world: of its factory, and of what its keys add."""
    return "object" if is_object(spec) else " ".join(_world_codes(WORLDS.resolve(spec), None))


def policy_code(spec: str, mode: str = MODE) -> str:
    """Return a fingerprint of the code of a policy, that of a wrapped policy included."""
    return " ".join(_policy_codes(POLICIES[Spec.parse(spec).name].factory, mode, None))


def same_but_code(one: str, other: str) -> bool:
    """Return whether two identities differ in their code at most."""
    return one.partition(" ")[0] == other.partition(" ")[0]


def _world_codes(resolved: Spec, of: Fingerprint | None) -> list[str]:
    entry = WORLDS[resolved.name]
    codes = [code_of(entry.factory, of=of)]
    if resolved.values.keys() - {parameter.name for parameter in entry.parameters}:
        codes.append(code_of(WORLDS.around))
    return codes


def _policy_codes(factory: Any, mode: str, of: Fingerprint | None) -> list[str]:
    codes = [code_of(part, mode, of) for part in _parts(factory)]
    return codes if mode == MODE else [*codes, code_of(standing_in)]


def code_of(part: Any, mode: str = MODE, of: Fingerprint | None = None) -> str:
    """Return a fingerprint of the code of a policy, a wrapper, or the factory of a world.

    Built-in code is known by its source text, see `driftduel.lab.source`. Other code, of a
    file, an installed plug-in or a notebook, is known by its content, see `fingerprint`, and by the
    built-in classes that it is derived from.

    Parameters
    ----------
    part
        A class or a function.
    mode
        As for `policy_identity`.
    of
        As for `world_identity`.
    """
    if _is_ours(part):
        return installed().fingerprint(part.__module__, part.__qualname__, mode)
    bases = [
        installed().fingerprint(base.__module__, base.__qualname__, mode)
        for base in getattr(part, "__mro__", ())[1:]
        if _is_ours(base) and base.__module__ not in CONTRACT
    ]
    plugin = plugin_of(str(part.__module__))
    return " ".join(((of or _made_now)(part), *([f"({plugin})"] if plugin else []), *bases))


def is_fixed(world: str) -> bool:
    """Tell whether a world is the same in every run."""
    if is_object(world):
        return True
    spec = Spec.parse(world)
    keys = {parameter.name for parameter in WORLDS[spec.name].parameters}
    return "seed" not in keys or "seed" in spec.values


def world_home(spec: str) -> str:
    """Name the module that registers a world."""
    name = HERE if is_object(spec) else _home(WORLDS[Spec.parse(spec).name].factory)
    return "driftduel" if name.startswith("driftduel.") else name


def policy_home(spec: str) -> str:
    """Name the module that registers a policy; of a class that none does, ``module:Class``."""
    return _home(POLICIES[Spec.parse(spec).name].factory)


def _home(factory: Any) -> str:
    """Name the module of something; if two made it, of the one that is not ours."""
    parts = _parts(factory)
    part = next((part for part in parts if not _is_ours(part)), parts[0])
    if POLICIES.is_guest(part):
        return import_path(part)
    return str(part.__module__)


def planned_world(spec: str, seed: int, identity: str) -> World:
    """Draw a world, which must be the one that was planned, while it is read and afterwards."""
    _need_planned_world(spec, identity)
    world = world_of(spec, seed)
    _need_planned_world(spec, identity)
    return world


def _need_planned_world(spec: str, identity: str) -> None:
    if world_identity(spec, _as_made) == identity:
        return
    path = Spec.parse(spec).values.get("path")
    why = "its code is another" if path is None else f"{os.path.abspath(path)!r} has other content"
    raise DriftduelError(f"world {spec!r} is not what it was when the plan was made: {why}.")


def need_planned_policy(spec: str, identity: str, mode: str = MODE) -> None:
    """Refuse to play a policy that is not the one that was planned."""
    if policy_identity(spec, _as_made, mode) != identity:
        raise DriftduelError(
            f"policy {spec!r} is not what it was when the plan was made: its code, that of a "
            f"module it uses, or the version of one of them or of Python is another."
        )


def _made_now(part: Any) -> str:
    _made[part] = fingerprint(part)
    return _made[part]


def _as_made(part: Any) -> str:
    """Return the fingerprint of something as it was planned, or before anything was played here.

    A module may count its games, or keep what it computed: that is no other code.
    """
    if part not in _made:
        every = [each for entry in (*POLICIES, *WORLDS) for each in _parts(entry.factory)]
        for each in every:
            if not _is_ours(each) and each not in _made:
                with suppress(DriftduelError):  # whom it concerns will hear of it
                    _made_now(each)
    return _made[part] if part in _made else fingerprint(part)


def _with_content(values: Any) -> dict[str, Any]:
    """Put the content of a file in the place of its name."""
    if "path" not in values:
        return dict(values)
    return {**values, "path": hashlib.sha256(read_bytes(values["path"])).hexdigest()}


def _parts(factory: Any) -> list[Any]:
    """Return what a factory is made of: a wrapper's, see `register_around`, of two."""
    if not hasattr(factory, "wrapper"):
        return [factory]
    return [factory.wrapper, *_parts(POLICIES[factory.base].factory)]


def _is_ours(part: Any) -> bool:
    return str(part.__module__).partition(".")[0] == "driftduel"
