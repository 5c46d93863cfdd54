"""What the numbers of a policy's state may be, declared beside each field of its record.

A kernel trusts its arrays: a wrong index reads or writes somewhere else. What comes out of a file
is therefore checked against a rule for every field, and a field without one is never loaded::

    class State(NamedTuple):
        wins: Annotated[Any, COUNT]
        best: Annotated[Any, ARM_OR_NONE]
        numbers: Annotated[Any, Named(king=ARM, alarms=COUNT)]

A rule speaks of one field. What must hold between fields is for the policy's `check_state`.
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
    "widened",
]

Array = NDArray[Any]

MOST = 1 << 53
"""The largest count: a float can count no further, and an int64 is far from running over."""


class Scope(NamedTuple):
    """What a rule may depend on."""

    arms: int
    rounds: int
    """Duels asked for so far."""


class Rule(ABC):
    """What the values of an array may be."""

    grows: bool = False
    """Whether its first dimension may differ from a fresh policy's."""

    @property
    def has_no_memory(self) -> bool:
        """Whether a field with this rule holds nothing that was learned."""
        return self in (ANY, CONSTANT, PRESENT)

    @abstractmethod
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Say what is wrong with an array of the right type and shape: 'has ...; ... must be ...'.

        Parameters
        ----------
        saved
            What is to be loaded.
        fresh
            The same array of the policy into which it is loaded.
        scope
            What the bounds depend on.
        """

    def widened(self, kept: Array, fresh: Array) -> Array:
        """Return an array for one more arm, with all that was kept.

        Parameters
        ----------
        kept
            The array.
        fresh
            The same of a policy that has one more arm and has seen nothing.
        """
        wide = fresh.copy()
        wide[tuple(map(slice, kept.shape))] = kept
        return wide


Bound = int | float | Callable[[Scope], int]


@dataclass(frozen=True)
class Within(Rule):
    """Allow numbers from `low` to `high`, both included, which may depend on arms and rounds."""

    low: Bound
    high: Bound

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Say which value lies outside."""
        low, high = (end(scope) if callable(end) else end for end in (self.low, self.high))
        outside = ~((saved >= low) & (saved <= high))  # NaN, too
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

    def widened(self, kept: Array, fresh: Array) -> Array:
        return fresh


class _Shares(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        sound = ((saved >= 0) & (saved <= 1)).all() and (abs(saved.sum(axis=-1) - 1) < 1e-6).all()
        return None if sound else "must be probabilities that add up to 1"


class _Order(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        sound = (np.sort(saved, axis=-1) == np.arange(scope.arms)).all()
        return None if sound else "must have every arm once"

    def widened(self, kept: Array, fresh: Array) -> Array:
        """Put the new arm last."""
        return np.append(kept, np.full_like(kept[..., :1], kept.shape[-1]), axis=-1)


class _Present(Rule):
    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        sound = ((saved == 0) | (saved == 1)).all() and (saved == 1).any()
        return None if sound else "must be 1 for the arms that are there, 0 for others, not all 0"

    def widened(self, kept: Array, fresh: Array) -> Array:
        """Let the new arm be away."""
        return super().widened(kept, np.zeros_like(fresh))


class Each(Rule):
    """Give the places along the last dimension a rule each, for numbers that share an array."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    @property
    def has_no_memory(self) -> bool:
        """Whether no place holds anything that was learned."""
        return all(rule.has_no_memory for rule in self.rules)

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Say which place has a value that is not allowed."""
        if saved.shape[-1] != len(self.rules):
            return f"has {saved.shape[-1]} places; {len(self.rules)} are declared"
        for place, rule in enumerate(self.rules):
            said = rule.wrong(saved[..., place], fresh[..., place], scope)
            if said is not None:
                return f"{said} (place {place})"
        return None

    def widened(self, kept: Array, fresh: Array) -> Array:
        """Let each place do what its rule says."""
        wide = super().widened(kept, fresh)
        for place, rule in enumerate(self.rules):
            wide[..., place] = rule.widened(kept[..., place], fresh[..., place])
        return wide


class Named(Rule):
    """Give the fields of records, see `records`, a rule each, by name."""

    def __init__(self, /, **rules: Rule) -> None:
        self.rules = rules

    @property
    def has_no_memory(self) -> bool:
        """Whether no field of the records holds anything that was learned."""
        return all(rule.has_no_memory for rule in self.rules.values())

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Say which field has a value that is not allowed."""
        if saved.dtype.names != tuple(self.rules):
            return f"has the fields {saved.dtype.names}; {tuple(self.rules)} are declared"
        for name, rule in self.rules.items():
            said = rule.wrong(saved[name], fresh[name], scope)
            if said is not None:
                return f"{said} ({name})"
        return None

    def widened(self, kept: Array, fresh: Array) -> Array:
        """Let each field do what its rule says."""
        wide = super().widened(kept, fresh)
        for name, rule in self.rules.items():
            wide[name] = rule.widened(kept[name], fresh[name])
        return wide


def records(size: int, /, **values: float) -> Array:
    """Return an array of equal records, whose fields a kernel reads and writes by name.

    >>> numbers = records(1, king=3, due=0.0)[0]
    >>> numbers.king += 1
    >>> int(numbers.king), float(numbers.due)
    (4, 0.0)
    """
    whole = tuple(isinstance(value, int | np.integer) for value in values.values())
    made = np.zeros(size, _kind(tuple(values), whole))  # memory nobody writes to costs nothing
    for name, value in values.items():
        if value != 0:
            made[name] = value
    return made


@cache
def _kind(names: tuple[str, ...], whole: tuple[bool, ...]) -> np.dtype[Any]:
    """Return the type of a record whose fields are whole numbers or not."""
    for name in names:
        if hasattr(np.record, name):  # it would be found there first where nothing is compiled
            raise DriftduelError(
                f"no field of records can be named {name!r}, which is an attribute of numpy's "
                f"records; choose another name."
            )
    kinds = [np.int64 if is_whole else np.float64 for is_whole in whole]
    # Of a numpy `record`, fields are attributes also where nothing is compiled.
    return np.dtype((np.record, np.dtype(list(zip(names, kinds, strict=True)), align=True)))


class Growing(Rule):
    """Let the first dimension be as long as it is: a policy that makes room for more."""

    grows = True

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def wrong(self, saved: Array, fresh: Array, scope: Scope) -> str | None:
        """Say what the rule says."""
        return self.rule.wrong(saved, saved, scope)

    def widened(self, kept: Array, fresh: Array) -> Array:
        """Keep the first dimension."""
        room = np.zeros((len(kept), *fresh.shape[1:]), fresh.dtype)
        return self.rule.widened(kept, room)


def ARMS(scope: Scope) -> int:  # noqa: N802 - a bound, written as the constants are
    """Return the number of arms, as a bound."""
    return scope.arms


ANY = _Any()
"""Anything: scratch that is computed before it is read, or numbers that are only compared."""
CONSTANT = _Constant()
"""What the parameters make it: no kernel ever changes it."""
ARM = Within(0, lambda scope: scope.arms - 1)
ARM_OR_NONE = Within(-1, lambda scope: scope.arms - 1)
COUNT = Within(0, MOST)
"""How often something happened, in whole numbers or, if it was discounted, in others."""
FLAG = Within(0, 1)
ROUND = Within(0, lambda scope: scope.rounds + 1)
"""A round that was asked for, the next one, or 0 for none."""
FINITE = Within(-1e100, 1e100)
"""A number that can be squared."""
PROBABILITY = Within(1e-60, 1)
"""A probability by which something may be divided."""
SHARES = _Shares()
"""Probabilities: each row adds up to 1."""
ORDER = _Order()
"""Every arm once."""
PRESENT = _Present()
"""1 for every arm that is there and 0 for the others; somebody is."""


@cache
def rules_of(record: Any) -> dict[str, Rule | None]:
    """Return the rule of every field of a record; None where there is none."""
    hints = get_type_hints(record, include_extras=True)
    return {
        field: next(
            (word for word in getattr(hints[field], "__metadata__", ()) if isinstance(word, Rule)),
            None,
        )
        for field in record._fields
    }


def verify(policy: Any, state: Any, rounds: int) -> None:
    """Refuse a state that would lead a policy's kernels out of their arrays, or round in circles.

    Every field keeps the rule it was declared with, here and in the record of a policy inside;
    then the policies' own `check_state` are asked, the inner one first.
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
                f"nothing can be loaded into policy {policy.name!r} before its State says what "
                f"{name!r} may hold, for example '{name}: Annotated[Any, COUNT]'; "
                f"driftduel.policies.fields has the words."
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


def widened(policy: Any, state: Any, fresh: Any) -> Any:
    """Return a record for one more arm, with all that another holds.

    That of a policy inside is the fresh record's: it was made wider before.
    """
    record: Any = type(state)
    rules: dict[str, Any] = {**rules_of(record), **policy.rules}
    wide = {
        name: (rules[name] or ANY).widened(kept, getattr(fresh, name))
        for name, kept in state._asdict().items()
        if not hasattr(kept, "_asdict")
    }
    return fresh._replace(**wide)


def verify_notes(policy: Any, notes: tuple[float, ...], rounds: int) -> None:
    """Refuse notes of a duel that a policy's `ask` cannot have written."""
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
