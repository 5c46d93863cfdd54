"""Identities of worlds and policies: strings that are equal in the plan and on every worker.

An identity contains the spec with all keys, a hash of the files that it reads, and a fingerprint of
the code (`code_of`). A plan records the identities of its worlds and policies. A worker computes
them again from the local code and files, and refuses to play if they differ.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from driftduel._internal.defaults import MODE
from driftduel._internal.fingerprint import fingerprint
from driftduel._internal.plugins import plugin_of
from driftduel._internal.reading import read_bytes
from driftduel.errors import DriftduelError
from driftduel.games import KNOWN, streams
from driftduel.lab.objects import HERE, import_path, is_object, object_identity, object_world
from driftduel.lab.source import CONTRACT, installed
from driftduel.policies import POLICIES, Policy, wrap_for_panel
from driftduel.specs import Entry, Spec
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
    """Return the world that `play` draws from a spec and a game's seed, or a registered object."""
    if is_object(world):
        return object_world(world)
    return make_world(world, int(streams(seed)[0].generate_state(1)[0]))


def world_identity(spec: str, of: Fingerprint | None = None) -> str:
    """Return the identity of a world: everything but the seed that determines its rounds.

    Parameters
    ----------
    spec
        The spec of the world.
    of
        Function that returns the fingerprint of code outside the package; default: computed at
        each call.
    """
    if is_object(spec):
        return object_identity(spec)
    resolved = WORLDS.resolve(spec)
    values = _with_content(resolved.values)
    if not is_fixed(spec):
        values["seed"] = "run"
    return " ".join((str(replace(resolved, values=values)), *_world_codes(resolved, of)))


def policy_identity(spec: str, of: Fingerprint | None = None, mode: str = MODE) -> str:
    """Return the identity of a policy: everything but the seed that determines its choices.

    Parameters
    ----------
    spec, of
        As for `world_identity`.
    mode
        ``serve`` or ``panel``; in mode ``serve`` the kernels for panels are not part of it.
    """
    parsed, entry = _policy(spec)
    # Keys that are not set may get their value from the world, so the default is not recorded.
    values = {
        p.name: p.read(parsed.values[p.name], p.name)
        if p.name in parsed.values
        else ("open" if p.required or p.name in KNOWN else p.default)
        for p in entry.parameters
    }
    full = str(Spec(parsed.name, _with_content(values)))
    return " ".join((full, *_policy_codes(entry.factory, mode, of)))


def world_code(spec: str) -> str:
    """Return a fingerprint of the code of a world: of its factory and of shared wrappers."""
    return "object" if is_object(spec) else " ".join(_world_codes(WORLDS.resolve(spec), None))


def policy_code(spec: str, mode: str = MODE) -> str:
    """Return a fingerprint of the code of a policy, that of a wrapped policy included."""
    return " ".join(_policy_codes(_policy(spec)[1].factory, mode, None))


def same_but_code(one: str, other: str) -> bool:
    """Return whether two identities are equal except for the code."""
    return one.partition(" ")[0] == other.partition(" ")[0]


def _policy(spec: str) -> tuple[Spec, Entry[Policy]]:
    """Return the parsed spec of a policy, and its entry in the registry."""
    parsed = Spec.parse(spec)
    return parsed, POLICIES[parsed.name]


def _world(spec: str) -> tuple[Spec, Entry[World]]:
    """Return the parsed spec of a world, and its entry in the registry."""
    parsed = Spec.parse(spec)
    return parsed, WORLDS[parsed.name]


def _world_codes(resolved: Spec, of: Fingerprint | None) -> list[str]:
    entry = WORLDS[resolved.name]
    codes = [code_of(entry.factory, of=of)]
    if resolved.values.keys() - {parameter.name for parameter in entry.parameters}:
        codes.append(code_of(WORLDS.around))
    return codes


def _policy_codes(factory: Any, mode: str, of: Fingerprint | None) -> list[str]:
    codes = [code_of(part, mode, of) for part in _parts(factory)]
    return codes if mode == MODE else [*codes, code_of(wrap_for_panel)]


def code_of(part: Any, mode: str = MODE, of: Fingerprint | None = None) -> str:
    """Return a fingerprint of the code of a policy, a wrapper, or the factory of a world.

    Built-in code is identified by its source text, see `driftduel.lab.source`. Other code, of a
    file, an installed plug-in or a notebook, is identified by its content, see `fingerprint`, and
    by its built-in base classes.

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
    """Return whether a world is the same in every run."""
    if is_object(world):
        return True
    spec, entry = _world(world)
    keys = {parameter.name for parameter in entry.parameters}
    return "seed" not in keys or "seed" in spec.values


def world_home(spec: str) -> str:
    """Return the name of the module that registers the factory function of a world."""
    name = HERE if is_object(spec) else _home(_world(spec)[1].factory)
    return "driftduel" if name.startswith("driftduel.") else name


def policy_home(spec: str) -> str:
    """Return the module that registers a policy; ``module:Class`` of an unregistered class."""
    return _home(_policy(spec)[1].factory)


def _home(factory: Any) -> str:
    """Return the module of a factory; for a composition, prefer the module of a user."""
    parts = _parts(factory)
    part = next((part for part in parts if not _is_ours(part)), parts[0])
    if POLICIES.is_guest(part):
        return import_path(part)
    return str(part.__module__)


def planned_world(spec: str, seed: int, identity: str) -> World:
    """Draw a world and check its identity before and after, because a file may change."""
    _need_planned_world(spec, identity)
    world = world_of(spec, seed)
    _need_planned_world(spec, identity)
    return world


def _need_planned_world(spec: str, identity: str) -> None:
    if world_identity(spec, _as_made) == identity:
        return
    path = Spec.parse(spec).values.get("path")
    why = "its code" if path is None else f"the content of {os.path.abspath(path)!r}"
    raise DriftduelError(f"world {spec!r} differs from the planned one: {why} has changed.")


def need_planned_policy(spec: str, identity: str, mode: str = MODE) -> None:
    """Raise DriftduelError if the identity of a policy differs from the planned one."""
    if policy_identity(spec, _as_made, mode) != identity:
        raise DriftduelError(
            f"policy {spec!r} differs from the planned one: its code, the code of a module that it "
            f"imports, or the version of a package or of Python has changed."
        )


def _made_now(part: Any) -> str:
    _made[part] = fingerprint(part)
    return _made[part]


def _as_made(part: Any) -> str:
    """Return the fingerprint of an object as of its first use in this process.

    It is cached, because a game may change module variables, such as counters and caches, which
    are part of the fingerprint but no change of the code.
    """
    if part not in _made:
        every = [each for entry in (*POLICIES, *WORLDS) for each in _parts(entry.factory)]
        for each in every:
            if not _is_ours(each) and each not in _made:
                with suppress(DriftduelError):  # raised again when the object itself is used
                    _made_now(each)
    return _made[part] if part in _made else fingerprint(part)


def _with_content(values: Any) -> dict[str, Any]:
    """Replace the path of a file by a hash of its content."""
    if "path" not in values:
        return dict(values)
    return {**values, "path": hashlib.sha256(read_bytes(values["path"])).hexdigest()}


def _parts(factory: Any) -> list[Any]:
    """Return the parts of a factory: a wrapper and the wrapped policy, or the factory itself."""
    if not hasattr(factory, "wrapper"):
        return [factory]
    return [factory.wrapper, *_parts(POLICIES[factory.base].factory)]


def _is_ours(part: Any) -> bool:
    return str(part.__module__).partition(".")[0] == "driftduel"
