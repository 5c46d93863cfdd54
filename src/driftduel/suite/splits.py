"""The two splits of the suite: development for tuning, and test, to be played once."""

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from driftduel._internal.reading import read_text
from driftduel.errors import DriftduelError
from driftduel.specs import near
from driftduel.suite.settings import SETTINGS

__all__ = ["SPLITS", "Split", "read_split"]

SPLITS = ("development", "test")


@dataclass(frozen=True)
class Split:
    """A split of the suite: its worlds, windows and rivals."""

    name: str
    changing: tuple[str, ...]
    """Specs of worlds with a changing winner: the score is a ratio to the best window."""
    quiet: tuple[str, ...]
    """Specs of worlds with a constant winner: the score is the regret above that of DTS."""
    windows: tuple[int, ...]
    rivals: tuple[str, ...]
    """Policies for non-stationary worlds: published ones and compositions of them."""
    runs: int
    trial_runs: int
    """Number of runs after which significantly worse windows and rivals are dropped."""
    seed: int

    def with_settings(self) -> "Split":
        """Return a copy in which every rival has several parameter values.

        The nearest rival of a world is then tuned in hindsight.

        Examples
        --------
        >>> split = read_split("development")
        >>> "mdb:delta=0.9" in split.rivals, "mdb:delta=0.9" in split.with_settings().rivals
        (False, True)
        """
        own = (spec for rival in SETTINGS for spec in SETTINGS[rival] if rival in self.rivals)
        return replace(self, rivals=tuple(dict.fromkeys((*self.rivals, *own))))

    def smaller(self, worlds: int, runs: int) -> "Split":
        """Return a copy with the first worlds of each kind and fewer runs, for a quick result."""
        return replace(
            self,
            changing=self.changing[:worlds],
            quiet=self.quiet[:worlds],
            runs=runs,
            trial_runs=min(self.trial_runs, runs),
        )


def read_split(name: str | Path) -> Split:
    """Read a split of the suite by name, or a TOML file of the same format.

    Examples
    --------
    >>> read_split("development").windows
    (300, 1000, 3000, 10000, 30000, 100000)
    """
    if isinstance(name, Path):
        return _parse(name.stem, read_text(name))
    if name not in SPLITS:
        raise DriftduelError(f"split {name!r} does not exist; {near(name, SPLITS)}")
    return _parse(name, (files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))


def _parse(name: str, text: str) -> Split:
    record = tomllib.loads(text)
    lists = ("changing", "quiet", "windows", "rivals")
    return Split(name=name, **{**record, **{key: tuple(record[key]) for key in lists}})
