"""Policies to files and back, in the middle of a run. Loading a file never runs code."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from driftduel._files import whole_file
from driftduel._reading import arrays, parse_json, read_bytes
from driftduel.errors import DriftduelError
from driftduel.policies.base import Duel, Policy, generator_state, restore_generator
from driftduel.policies.registry import POLICIES
from driftduel.specs import Spec

__all__ = ["FORMAT", "load_policy", "save_policy"]

FORMAT = 1
"""Version of the file format; a file of another version is refused."""


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy, its unanswered duels included, as an NPZ file without pickles.

    The file appears at once and whole, or not at all.
    """
    header = {
        "format": FORMAT,
        "policy": policy.name,
        "arms": policy.arms,
        "parameters": policy.parameters,
        "asked": policy._asked,
        "next": policy._next,
        "restarts": policy.restarts,
        "rng": generator_state(policy.rng),
        "coins": generator_state(policy._coins),
        "pending": list(policy._pending.values()),
        "held": list(policy._held.values()),
    }
    arrays: dict[str, Any] = {f"state_{key}": value for key, value in policy.get_state().items()}
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)


def load_policy(path: str | Path) -> Policy:
    """Read a policy that `save_policy` wrote; it goes on to the bit."""
    packed = read_bytes(path)
    try:
        content = arrays(packed)
        header = parse_json(str(content.pop("header")[()]))
        version = header["format"]
    except (DriftduelError, KeyError, TypeError):
        raise DriftduelError(f"{str(path)!r} is not a saved policy.") from None
    if version != FORMAT:
        raise DriftduelError(
            f"{str(path)!r} is a saved policy of format {version}; this driftduel reads {FORMAT}."
        )
    try:
        return _restored(header, content)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        reason = f": {error}" if isinstance(error, DriftduelError) else "."
        raise DriftduelError(f"{str(path)!r} is a damaged saved policy{reason}") from None


def _restored(header: dict[str, Any], content: dict[str, Any]) -> Policy:
    policy = POLICIES.build(
        Spec(header["policy"], header["parameters"]),
        arms=int(header["arms"]),
        rng=restore_generator(header["rng"]),
    )
    policy.set_state({name.removeprefix("state_"): array for name, array in content.items()})
    policy._coins = restore_generator(header["coins"])
    policy._asked = int(header["asked"])
    policy._next = int(header["next"])
    policy.restarts = [int(t) for t in header["restarts"]]
    policy._pending = {duel.round: duel for duel in map(Duel.of, header["pending"])}
    policy._held = {
        duel.round: (duel, int(won)) for raw, won in header["held"] for duel in [Duel.of(raw)]
    }
    for duel in (*policy._pending.values(), *(duel for duel, _ in policy._held.values())):
        if not (0 <= duel.first < policy.arms and 0 <= duel.second < policy.arms):
            raise DriftduelError(f"it has a duel of arms {duel.first} and {duel.second}.")
    return policy
