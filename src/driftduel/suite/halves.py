"""The two halves of the suite, one to tune on, one to be played once; and those before them."""

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files

from driftduel.errors import DriftduelError
from driftduel.specs import near
from driftduel.suite.settings import SETTINGS

__all__ = ["HALVES", "Half", "read_half"]

HALVES = ("development", "test", "development-1", "test-1")


@dataclass(frozen=True)
class Half:
    """Worlds, baselines and rivals."""

    name: str
    changing: tuple[str, ...]
    """Worlds whose winner changes: the score is a ratio to the best window."""
    quiet: tuple[str, ...]
    """Worlds whose winner never changes: the score is the regret above plain DTS."""
    windows: tuple[int, ...]
    rivals: tuple[str, ...]
    """Policies for changing worlds, published or composed of published ones."""
    runs: int
    trial_runs: int
    """After so many runs, windows and rivals that are clearly worse are not played on."""
    seed: int

    def with_settings(self) -> "Half":
        """Return the same worlds with every rival at several settings.

        The nearest rival of a world is then one at its best setting in hindsight.

        Examples
        --------
        >>> half = read_half("development")
        >>> "mdb:delta=0.9" in half.rivals, "mdb:delta=0.9" in half.with_settings().rivals
        (False, True)
        """
        own = (spec for rival in SETTINGS for spec in SETTINGS[rival] if rival in self.rivals)
        return replace(self, rivals=tuple(dict.fromkeys((*self.rivals, *own))))

    def smaller(self, worlds: int, runs: int) -> "Half":
        """Return the first worlds of each kind with fewer runs, to try things."""
        return replace(
            self,
            changing=self.changing[:worlds],
            quiet=self.quiet[:worlds],
            runs=runs,
            trial_runs=min(self.trial_runs, runs),
        )


def read_half(name: str) -> Half:
    """Read a half of the suite by name.

    Examples
    --------
    >>> read_half("development").windows
    (300, 1000, 3000, 10000, 30000, 100000)
    """
    if name not in HALVES:
        raise DriftduelError(f"the suite has no half named {name!r}; {near(name, HALVES)}")
    record = tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    lists = ("changing", "quiet", "windows", "rivals")
    return Half(name=name, **{**record, **{key: tuple(record[key]) for key in lists}})
