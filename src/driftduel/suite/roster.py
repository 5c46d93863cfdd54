"""Roles of policies in the suite, passed as arguments and not derived from names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftduel.policies import POLICIES
from driftduel.specs import Spec
from driftduel.suite.splits import Split

__all__ = ["Roster", "assign_roles"]

_BASELINE, _FLOOR = "dts", "oracle-dts"


@dataclass(frozen=True)
class Roster:
    """The roles of a tournament. A policy may have several roles, and plays once."""

    tested: tuple[str, ...]
    windows: dict[str, int]
    """Sliding windows of the split by spec: the best one in hindsight is the denominator of
    scores. A window under test has this role only if it equals one of them."""
    rivals: tuple[str, ...]
    baseline: str
    """The policy that scores in stationary worlds are differences to."""
    floor: str
    """The policy with the switches as prior knowledge."""

    @property
    def all_specs(self) -> list[str]:
        """All specs in the order of the plan; a plan rejects duplicates of tested policies."""
        rest = (self.baseline, self.floor, *self.windows, *self.rivals)
        return [*self.tested, *dict.fromkeys(spec for spec in rest if spec not in self.tested)]

    def rivals_of(self, policy: str) -> list[str]:
        """Return the rivals of the split without the policy itself and other tested ones."""
        return [rival for rival in self.rivals if rival != policy]


def assign_roles(split: Split, policies: Sequence[str]) -> Roster:
    """Assign each policy its roles.

    Parameters
    ----------
    split
        The split with its windows and rivals.
    policies
        Specs of the policies under test; for a policy with several roles, this spelling is used.

    Examples
    --------
    >>> from driftduel.suite import read_split
    >>> parts = assign_roles(read_split("development"), ["sw-dts:window=1e3", "sw-dts:window=2000"])
    >>> parts.windows["sw-dts:window=1e3"], "sw-dts:window=2000" in parts.windows
    (1000, False)
    """
    spelled: dict[Any, str] = {}

    def first_spelling(spec: str) -> str:
        return spelled.setdefault(_meaning(spec), spec)

    for policy in policies:
        first_spelling(policy)
    return Roster(
        tested=tuple(policies),
        windows={first_spelling(f"sw-dts:window={window}"): window for window in split.windows},
        rivals=tuple(first_spelling(rival) for rival in split.rivals),
        baseline=first_spelling(_BASELINE),
        floor=first_spelling(_FLOOR),
    )


def _meaning(spec: str) -> Any:
    """Return an object that is equal for two spellings of the same policy."""
    parsed = Spec.parse(spec)
    return parsed.name, *(
        parameter.read(parsed.values[parameter.name], parsed.name)
        if parameter.name in parsed.values
        else parameter.default
        for parameter in POLICIES[parsed.name].parameters
    )
