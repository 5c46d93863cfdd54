"""Policies to bytes and files and back, in the middle of a run. Loading never runs code."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from driftduel._files import whole_file
from driftduel._reading import MOST_BYTES, arrays, parse_json, read_bytes
from driftduel.errors import DriftduelError
from driftduel.policies.base import (
    Duel,
    KernelPolicy,
    Policy,
    generator_state,
    restore_generator,
)
from driftduel.policies.fields import MOST, verify
from driftduel.policies.registry import POLICIES
from driftduel.specs import Spec

__all__ = ["FORMAT", "load_policy", "policy_from_bytes", "policy_to_bytes", "save_policy"]

FORMAT = 4
"""Version of the file format. Files of format 3 are read if their policy keeps its state as it did
then; those of any other version are refused."""
_BEFORE = 3
_FEW_ARMS = 1000
_LONGEST_REASON = 400


def policy_to_bytes(policy: Policy) -> bytes:
    """Return a snapshot of a policy, its unanswered duels included, as an NPZ without pickles.

    What could not be loaded is not saved.
    """
    if isinstance(policy, KernelPolicy):
        verify(policy, policy.state, policy.ledger.asked)
    ledger = policy.ledger
    header = {
        "format": FORMAT,
        "policy": policy.name,
        "arms": policy.arms,
        "parameters": policy.parameters,
        "order": ledger.order,
        "ties": ledger.ties,
        "mode": policy.mode,
        "asked": ledger.asked,
        "next": ledger.due,
        "restarts": ledger.restarts,
        "rng": generator_state(policy.rng),
        "coins": generator_state(ledger.coins),
        "pending": list(ledger.open.values()),
        "held": list(ledger.held.values()),
    }
    arrays: dict[str, Any] = {f"state_{key}": value for key, value in policy.get_state().items()}
    packed = io.BytesIO()
    np.savez(packed, header=np.array(json.dumps(header)), **arrays)
    return packed.getvalue()


def policy_from_bytes(data: bytes) -> Policy:
    """Make the policy whose snapshot this is; it goes on to the bit."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DriftduelError(f"a snapshot is bytes, not {type(data).__name__}.")
    return _unpacked(bytes(data), "what was given")


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy, its unanswered duels included, as an NPZ file without pickles.

    The file appears at once and whole, or not at all. What could not be loaded is not saved.
    """
    packed = policy_to_bytes(policy)
    with whole_file(path) as temporary:
        temporary.write_bytes(packed)


def load_policy(path: str | Path) -> Policy:
    """Read a policy that `save_policy` wrote; it goes on to the bit."""
    return _unpacked(read_bytes(path), repr(str(path)))


def _unpacked(packed: bytes, name: str) -> Policy:
    """Make a policy out of bytes that may be anything; `name` says what they are."""
    if len(packed) > MOST_BYTES:
        raise DriftduelError(
            f"{name} has {len(packed):,} bytes, more than the {MOST_BYTES:,} that a saved policy "
            f"may have."
        )
    try:
        content = arrays(packed)
        header = parse_json(str(content.pop("header")[()]))
        version = header["format"]
    except (DriftduelError, KeyError, TypeError):
        raise DriftduelError(f"{name} is not a saved policy.") from None
    if version not in (_BEFORE, FORMAT):
        raise DriftduelError(
            f"{name} is a saved policy of format {version!r:.40}; this driftduel reads {FORMAT}."
        )
    try:
        return _restored(header, content)
    except _OutdatedError as error:
        raise DriftduelError(f"{name} {error}") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        reason = f": {error}" if isinstance(error, DriftduelError) else "."
        if len(reason) > _LONGEST_REASON:  # it may quote what the file says
            reason = f"{reason[:_LONGEST_REASON]} ..."
        raise DriftduelError(f"{name} is a damaged saved policy{reason}") from None


class _OutdatedError(DriftduelError):
    """A policy that keeps its state in another way by now."""


def _restored(header: dict[str, Any], content: dict[str, Any]) -> Policy:
    rng = restore_generator(header["rng"])
    saved = rng.bit_generator.state
    policy = POLICIES.build(
        Spec(header["policy"], header["parameters"]),
        arms=_whole(header["arms"], "arms", 2, _most_arms(content)),
        rng=rng,
    )
    policy.configure(order=str(header["order"]), ties=str(header["ties"]), mode=str(header["mode"]))
    ledger = policy.ledger
    ledger.asked = asked = _whole(header["asked"], "number of rounds", 0, MOST)
    state = {name.removeprefix("state_"): array for name, array in content.items()}
    if header["format"] != FORMAT and set(state) != set(policy.get_state()):
        raise _OutdatedError(
            f"is a saved {policy.name!r} of format {header['format']}; of that policy this "
            f"driftduel reads format {FORMAT} only."
        )
    policy.set_state(state)
    rng.bit_generator.state = saved  # building may have drawn, such as an order of the arms
    ledger.coins = restore_generator(header["coins"])
    ledger.due = _whole(header["next"], "round that is due", 1, asked + 1)
    ledger.restarts = [_whole(t, "restart", 1, asked) for t in header["restarts"]]
    ledger.open = {duel.round: duel for duel in map(Duel.of, header["pending"])}
    ledger.held = {
        duel.round: (duel, _whole(won, "answer", -1, 1))
        for raw, won in header["held"]
        for duel in [Duel.of(raw)]
    }
    in_turn = ledger.order == "asked"
    held = [duel for duel, _ in ledger.held.values()]
    for duel in (*ledger.open.values(), *held):
        policy.check_duel(duel)
        _whole(duel.round, "duel's round", ledger.due if in_turn else 1, asked)
    waiting = len(set(ledger.open) | set(ledger.held))
    if len(header["pending"]) + len(header["held"]) != waiting:
        raise DriftduelError("it has two duels of one round.")
    if in_turn and waiting != asked + 1 - ledger.due:
        raise DriftduelError("it lacks duels that it asked for.")
    if ledger.held and (not in_turn or ledger.due in ledger.held):
        raise DriftduelError("it holds answers back that it should have learned.")
    return policy


def _whole(value: Any, what: str, low: int, high: int) -> int:
    """Read a whole number within bounds."""
    if type(value) is not int or not low <= value <= high:
        raise DriftduelError(f"its {what} is {value!r:.40}; it must be from {low} to {high}.")
    return value


def _most_arms(content: dict[str, Any]) -> int:
    """Return how many arms a policy with such arrays can have at most.

    Building it takes memory for the square of their number, before its arrays are looked at. All
    policies but those that learn nothing keep something of every arm.
    """
    sizes = [array.size for array in content.values()]
    return max(_FEW_ARMS, MOST if sum(sizes) <= 1 else max(sizes))
