"""Who plays which part in the suite: given to it, and not read off its name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftduel.policies import POLICIES
from driftduel.specs import Spec
from driftduel.suite.halves import Half

__all__ = ["Cast", "cast"]

_BASELINE, _FLOOR = "dts", "oracle-dts"


@dataclass(frozen=True)
class Cast:
    """The parts of a tournament. One policy may have several, and plays once for all of them."""

    tested: tuple[str, ...]
    windows: dict[str, int]
    """The half's own sliding windows by spec: the best of them in hindsight is what scores are
    ratios to. A window under test is not one of them, unless it is equal to one."""
    rivals: tuple[str, ...]
    baseline: str
    """What scores in quiet worlds are above."""
    floor: str
    """Told every switch."""

    @property
    def everybody(self) -> list[str]:
        """All specs, in the order of the plan; those under test as often as they were given."""
        rest = (self.baseline, self.floor, *self.windows, *self.rivals)
        return [*self.tested, *dict.fromkeys(spec for spec in rest if spec not in self.tested)]

    def rivals_of(self, policy: str) -> list[str]:
        """Return the half's rivals, but not the policy itself; others under test are none."""
        return [rival for rival in self.rivals if rival != policy]


def cast(half: Half, policies: Sequence[str]) -> Cast:
    """Give everybody a part.

    Parameters
    ----------
    half
        Names windows and rivals.
    policies
        Those under test. Who has another part, too, goes by the spec that was given here.

    Examples
    --------
    >>> from driftduel.suite import read_half
    >>> parts = cast(read_half("development"), ["sw-dts:window=1e3", "sw-dts:window=2000"])
    >>> parts.windows["sw-dts:window=1e3"], "sw-dts:window=2000" in parts.windows
    (1000, False)
    """
    spelled: dict[Any, str] = {}

    def known_as(spec: str) -> str:
        return spelled.setdefault(_meaning(spec), spec)

    for policy in policies:
        known_as(policy)
    return Cast(
        tested=tuple(policies),
        windows={known_as(f"sw-dts:window={window}"): window for window in half.windows},
        rivals=tuple(known_as(rival) for rival in half.rivals),
        baseline=known_as(_BASELINE),
        floor=known_as(_FLOOR),
    )


def _meaning(spec: str) -> Any:
    """Return what two spellings of one policy have in common."""
    parsed = Spec.parse(spec)
    return parsed.name, *(
        parameter.read(parsed.values[parameter.name], parsed.name)
        if parameter.name in parsed.values
        else parameter.default
        for parameter in POLICIES[parsed.name].parameters
    )
