"""Write policies to bytes and files and restore them. Loading never executes code."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from driftduel._internal.files import atomic_write
from driftduel._internal.reading import MOST_BYTES, arrays, parse_json, read_bytes
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
from driftduel.policies.slates import is_code
from driftduel.specs import Spec

__all__ = ["FORMAT", "load_policy", "policy_from_bytes", "policy_to_bytes", "save_policy"]

FORMAT = 4
"""Version of the file format. Files of format 3 are read if the fields of the policy's state have
not changed since; other versions are rejected."""
_BEFORE = 3
_FEW_ARMS = 1000
_LONGEST_REASON = 400


def policy_to_bytes(policy: Policy) -> bytes:
    """Return a snapshot of a policy, including pending duels, as an NPZ file without pickles.

    Raises
    ------
    DriftduelError
        If the state is invalid or the policy does not support saving.
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
    """Return the policy of a snapshot; it continues to the bit.

    Raises
    ------
    DriftduelError
        If `data` is not bytes, or not a valid snapshot.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DriftduelError(f"a snapshot is bytes, not {type(data).__name__}.")
    return _read_snapshot(bytes(data), "the argument")


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy, including pending duels, to an NPZ file without pickles, atomically.

    A file with this name is replaced; after a crash it has the old or the new content.

    Raises
    ------
    DriftduelError
        If the state is invalid or the policy does not support saving. No file is written then.
    """
    packed = policy_to_bytes(policy)
    with atomic_write(path) as temporary:
        temporary.write_bytes(packed)


def load_policy(path: str | Path) -> Policy:
    """Return the policy in a file written by `save_policy`; it continues to the bit.

    Raises
    ------
    DriftduelError
        If the file is missing, too large, or not a valid saved policy.
    """
    return _read_snapshot(read_bytes(path), repr(str(path)))


def _read_snapshot(packed: bytes, name: str) -> Policy:
    """Return the policy in untrusted bytes; `name` describes their origin in messages."""
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
        return _restore(header, content)
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
        if len(reason) > _LONGEST_REASON:  # the message may quote untrusted content
            reason = f"{reason[:_LONGEST_REASON]} ..."
        raise DriftduelError(f"{name} is a damaged saved policy{reason}") from None


class _OutdatedError(DriftduelError):
    """Raised for a policy whose state had other fields in an older format."""


def _restore(header: dict[str, Any], content: dict[str, Any]) -> Policy:
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
            f"is a saved {policy.name!r} of format {header['format']}; for this policy, this "
            f"driftduel reads format {FORMAT} only."
        )
    policy.set_state(state)
    rng.bit_generator.state = saved  # the constructor may have drawn, such as an order of the arms
    ledger.coins = restore_generator(header["coins"])
    ledger.due = _whole(header["next"], "round that is due", 1, asked + 1)
    ledger.restarts = [_whole(t, "restart", 1, asked) for t in header["restarts"]]
    ledger.open = {duel.round: duel for duel in map(Duel.of, header["pending"])}
    ledger.held = {
        duel.round: (duel, _answer(won, duel))
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
        raise DriftduelError("it lacks duels that are pending.")
    if ledger.held and (not in_turn or ledger.due in ledger.held):
        raise DriftduelError("it holds answers that are due to be learned.")
    return policy


def _whole(value: Any, what: str, low: int, high: int) -> int:
    """Return an integer within bounds; raise DriftduelError otherwise."""
    if type(value) is not int or not low <= value <= high:
        raise DriftduelError(f"its {what} is {value!r:.40}; it must be from {low} to {high}.")
    return value


def _answer(won: Any, duel: Duel) -> int:
    """Return a held answer; raise DriftduelError if it is not one of this duel."""
    if not is_code(won, max(2, len(duel.shown))):
        raise DriftduelError(f"its answer is {won!r:.40}; the duel has {len(duel.shown)} arms.")
    return int(won)


def _most_arms(content: dict[str, Any]) -> int:
    """Return an upper bound on the number of arms of a policy with these arrays.

    The constructor allocates memory quadratic in the number of arms before the arrays are checked,
    so a damaged header must not request more. Each policy that learns stores at least one value
    per arm.
    """
    sizes = [array.size for array in content.values()]
    return max(_FEW_ARMS, MOST if sum(sizes) <= 1 else max(sizes))
