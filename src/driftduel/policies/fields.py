"""Rules for the values of a policy's state, declared beside each field of its record.

Kernels do not check array indices: a wrong value would cause a read or write out of bounds. Values
from a file are therefore checked against a rule per field, and a field without a rule is not
loaded::

    class State(NamedTuple):
        wins: Annotated[Any, COUNT]
        best: Annotated[Any, ARM_OR_NONE]
        numbers: Annotated[Any, Named(king=ARM, alarms=COUNT)]

A rule checks one field. Conditions between fields belong to the policy's method `check_state`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError

__all__ = [
    "ANY",
    "ARM",
    "ARMS",
    "ARM_OR_NONE",
    "CONSTANT",
    "COUNT",
    "FINITE",
    "FLAG",
    "MOST",
    "ORDER",
    "PRESENT",
    "PROBABILITY",
    "ROUND",
    "SHARES",
    "Each",
    "Growing",
    "Named",
    "Rule",
    "Scope",
    "Within",
    "records",
    "verify",
    "verify_notes",
    "with_arm",
]

Array = NDArray[Any]

MOST = 1 << 53
"""The largest count: float64 represents all integers up to it, and int64 is far from overflow."""


class Scope(NamedTuple):
    """The values on which the bounds of a rule may depend."""

    arms: int
    rounds: int
    """Number of duels chosen so far."""


class Rule(ABC):
    """A condition on the values of an array. Instances are immutable and hashable."""

    grows: bool = False
    """Whether the first dimension may differ from that of a new policy."""

    @property
    def has_no_memory(self) -> bool:
        """Whether a field with this rule holds no learned values."""
        return self in (ANY, CONSTANT, PRESENT)

    @abstractmethod
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Return a message 'has ...; it must be ...' if a value is invalid, else None.

        Parameters
        ----------
        saved
            The array to load; type and shape are already checked.
        fresh
            The array of the same field in the policy that receives it.
        scope
            The number of arms and of rounds.
        """

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        """Return an array for one more arm that keeps the present values.

        Parameters
        ----------
        kept
            The present array.
        fresh
            The array of the same field in a new policy with one more arm.
        """
        wide = fresh.copy()
        wide[tuple(map(slice, kept.shape))] = kept
        return wide


Bound = int | float | Callable[[Scope], int]


@dataclass(frozen=True)
class Within(Rule):
    """Require values from `low` to `high`, both included; bounds may depend on arms and rounds."""

    low: Bound
    high: Bound

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Return a message with the first value out of range."""
        low, high = (end(scope) if callable(end) else end for end in (self.low, self.high))
        outside = ~((saved >= low) & (saved <= high))  # True for NaN, too
        if not outside.any():
            return None
        return f"has {saved[outside].flat[0]}; it must be between {low:g} and {high:g}"


class _Any(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        return None


class _Constant(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        other = saved != fresh
        if not other.any():
            return None
        return f"has {saved[other].flat[0]}; its parameters make it {fresh[other].flat[0]}"

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        return fresh


class _ProbabilitiesRule(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        sound = ((saved >= 0) & (saved <= 1)).all() and (abs(saved.sum(axis=-1) - 1) < 1e-6).all()
        return None if sound else "must be probabilities that add up to 1"


class _Order(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        sound = (np.sort(saved, axis=-1) == np.arange(scope.arms)).all()
        return None if sound else "must have every arm once"

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        """Append the index of the new arm."""
        return np.append(kept, np.full_like(kept[..., :1], kept.shape[-1]), axis=-1)


class _Present(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        sound = ((saved == 0) | (saved == 1)).all() and (saved == 1).any()
        return None if sound else "must be 1 for present arms, 0 for others, and not all 0"

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        """Mark the new arm as absent."""
        return super().with_arm(kept, np.zeros_like(fresh))


class Each(Rule):
    """Apply one rule to each index of the last dimension, for values that share an array."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    @property
    def has_no_memory(self) -> bool:
        """Whether no index holds learned values."""
        return all(rule.has_no_memory for rule in self.rules)

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Return a message with the first invalid value and its index."""
        if saved.shape[-1] != len(self.rules):
            return f"has {saved.shape[-1]} places; {len(self.rules)} are declared"
        for place, rule in enumerate(self.rules):
            said = rule.wrong(saved[..., place], fresh[..., place], scope)
            if said is not None:
                return f"{said} (place {place})"
        return None

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        """Extend each index by its rule."""
        wide = super().with_arm(kept, fresh)
        for place, rule in enumerate(self.rules):
            wide[..., place] = rule.with_arm(kept[..., place], fresh[..., place])
        return wide


class Named(Rule):
    """Apply one rule to each field of a structured array (see `records`), by name."""

    def __init__(self, /, **rules: Rule) -> None:
        self.rules = rules

    @property
    def has_no_memory(self) -> bool:
        """Whether no field holds learned values."""
        return all(rule.has_no_memory for rule in self.rules.values())

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Return a message with the first invalid value and its field."""
        if saved.dtype.names != tuple(self.rules):
            return f"has the fields {saved.dtype.names}; {tuple(self.rules)} are declared"
        for name, rule in self.rules.items():
            said = rule.wrong(saved[name], fresh[name], scope)
            if said is not None:
                return f"{said} ({name})"
        return None

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        """Extend each field by its rule."""
        wide = super().with_arm(kept, fresh)
        for name, rule in self.rules.items():
            wide[name] = rule.with_arm(kept[name], fresh[name])
        return wide


def records(size: int, /, **values: float) -> Array:
    """Return an array of equal records; kernels read and write the fields as attributes.

    Integers become int64 fields, floats float64 fields.

    >>> numbers = records(1, king=3, due=0.0)[0]
    >>> numbers.king += 1
    >>> int(numbers.king), float(numbers.due)
    (4, 0.0)
    """
    whole = tuple(isinstance(value, int | np.integer) for value in values.values())
    made = np.zeros(size, _kind(tuple(values), whole))  # untouched pages use no physical memory
    for name, value in values.items():
        if value != 0:
            made[name] = value
    return made


@cache
def _kind(names: tuple[str, ...], whole: tuple[bool, ...]) -> np.dtype[Any]:
    """Return the dtype of a record; `whole` has True for int64 fields, False for float64."""
    for name in names:
        if hasattr(np.record, name):  # without compilation numpy's own attribute would be found
            raise DriftduelError(
                f"no field of records can be named {name!r}, which is an attribute of numpy's "
                f"records; choose another name."
            )
    kinds = [np.int64 if is_whole else np.float64 for is_whole in whole]
    # The type np.record makes fields accessible as attributes in interpreted code, too.
    return np.dtype((np.record, np.dtype(list(zip(names, kinds, strict=True)), align=True)))


class Growing(Rule):
    """Allow any length of the first dimension, for policies that grow their arrays."""

    grows = True

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Return the message of the inner rule."""
        return self.rule.wrong(saved, saved, scope)

    def with_arm(self, kept: Array, fresh: Array) -> Array:
        """Extend all dimensions except the first."""
        room = np.zeros((len(kept), *fresh.shape[1:]), fresh.dtype)
        return self.rule.with_arm(kept, room)


def ARMS(scope: Scope) -> int:  # noqa: N802 - a bound, written as the constants are
    """Return the number of arms, as a bound."""
    return scope.arms


ANY = _Any()
"""No condition: scratch that is written before it is read, or values that are only compared."""
CONSTANT = _Constant()
"""The value that the constructor computes from the parameters; no kernel modifies it."""
ARM = Within(0, lambda scope: scope.arms - 1)
ARM_OR_NONE = Within(-1, lambda scope: scope.arms - 1)
COUNT = Within(0, MOST)
"""A count from 0; discounted counts are not integers."""
FLAG = Within(0, 1)
ROUND = Within(0, lambda scope: scope.rounds + 1)
"""A round that was played, the next one, or 0 for none."""
FINITE = Within(-1e100, 1e100)
"""A number whose square does not overflow float64."""
PROBABILITY = Within(1e-60, 1)
"""A probability that is large enough to be a divisor."""
SHARES = _ProbabilitiesRule()
"""Probabilities: each row adds up to 1."""
ORDER = _Order()
"""A permutation of the arms."""
PRESENT = _Present()
"""1 for present arms and 0 for the others; at least one arm is present."""


@cache
def rules_of(record: Any) -> dict[str, Rule | None]:
    """Return the rule of each field of a record type, or None for fields without a rule."""
    hints = get_type_hints(record, include_extras=True)
    return {
        field: next(
            (word for word in getattr(hints[field], "__metadata__", ()) if isinstance(word, Rule)),
            None,
        )
        for field in record._fields
    }


def verify(policy: Any, state: Any, rounds: int) -> None:
    """Raise DriftduelError for a state that could cause out-of-bounds access or endless loops.

    Each field is checked against its rule, also in the record of a wrapped policy; then the
    methods `check_state` are called, that of the wrapped policy first.

    Parameters
    ----------
    policy
        The policy that receives the state; its present arrays define types and shapes.
    state
        The record to check. It is not modified.
    rounds
        Number of duels chosen so far.
    """
    scope = Scope(policy.arms, rounds)
    record: Any = type(state)
    for name, rule in {**rules_of(record), **policy.rules}.items():
        fresh, saved = getattr(policy.state, name), getattr(state, name)
        if hasattr(saved, "_asdict"):
            verify(policy.base, saved, policy.rounds_inside(state, rounds))
            continue
        if rule is None:
            raise DriftduelError(
                f"the state of policy {policy.name!r} cannot be loaded: declare the values of "
                f"{name!r} in its State, for example '{name}: Annotated[Any, COUNT]'; "
                f"driftduel.policies.fields lists the rules."
            )
        skipped = int(rule.grows)
        if saved.ndim != fresh.ndim or saved.shape[skipped:] != fresh.shape[skipped:]:
            raise DriftduelError(
                f"the saved {name} of {policy.name!r} has the shape {saved.shape}; "
                f"it must be {fresh.shape}."
            )
        said = rule.wrong(saved, fresh, scope)
        if said is not None:
            raise DriftduelError(f"the saved {name} of {policy.name!r} {said}.")
    policy.check_state(state)


def with_arm(policy: Any, state: Any, fresh: Any) -> Any:
    """Return a record for one more arm with the values of `state`.

    The record of a wrapped policy is taken from `fresh`: it was extended before this call.
    """
    record: Any = type(state)
    rules: dict[str, Any] = {**rules_of(record), **policy.rules}
    wide = {
        name: (rules[name] or ANY).with_arm(kept, getattr(fresh, name))
        for name, kept in state._asdict().items()
        if not hasattr(kept, "_asdict")
    }
    return fresh._replace(**wide)


def verify_notes(policy: Any, notes: tuple[float, ...], rounds: int) -> None:
    """Raise DriftduelError if the notes of a duel from a file have a wrong number or value."""
    if len(notes) != len(policy.notes):
        raise DriftduelError(
            f"a duel of {policy.name!r} has {len(policy.notes)} notes, not {len(notes)}."
        )
    scope = Scope(policy.arms, rounds)
    for note, rule in zip(notes, policy.notes, strict=True):
        array = np.array([note])
        said = rule.wrong(array, array, scope)
        if said is not None:
            raise DriftduelError(f"a note of a duel of {policy.name!r} {said}.")
