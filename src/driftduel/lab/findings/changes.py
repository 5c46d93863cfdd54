"""Rounds of changes of the best arm, in all runs or in an example run."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

__all__ = ["SUBJECTS", "Changes", "Game", "read_changes"]

Game = tuple[int, int]
"""A seed of the plan and the index of a run, which all policies share."""
SUBJECTS = {
    "von-neumann": "arms without regret",
    "exploitability": "preferences",
    "borda": "arms with the best Borda score",
    "copeland": "arms with the best Copeland score",
}
"""The subject of a switch for benchmarks other than condorcet."""

# If the runs switch in more distinct rounds than this, an example run is shown.
_MOST_COMMON_SWITCHES = 24


@dataclass(frozen=True)
class Changes:
    """The changes of a world: of its best arm, or of the subject of another benchmark."""

    rounds: tuple[int, ...]
    """Rounds of changes: of any run, or, if the runs have little in common, of the example."""
    counts: tuple[int, ...]
    """Number of runs that change in each of these rounds."""
    runs: int
    example: bool
    """Whether the rounds are those of the example run only."""
    fewest: int
    most: int
    mean: float
    """Mean number of changes per run."""
    subject: str = "best arm"
    """The subject that changes; only the Condorcet winner is singular."""

    @cached_property
    def verbs(self) -> tuple[str, str]:
        """The verbs for a change and for no change, in the number of the subject."""
        return ("changes", "stays") if self.subject == "best arm" else ("change", "stay")

    @cached_property
    def same(self) -> bool:
        """Whether all runs have the same changes."""
        return not self.example and all(count == self.runs for count in self.counts)


def read_changes(switches: Mapping[Game, tuple[int, ...]], example: Game, subject: str) -> Changes:
    """Count the runs that change in each round; use those of the example if runs differ too much.

    Parameters
    ----------
    switches
        The rounds of changes by run.
    example
        The run that represents all runs if they differ.
    subject
        The subject that changes.
    """
    counts = Counter(t for rounds in switches.values() for t in rounds)
    often = [len(rounds) for rounds in switches.values()]
    same = len(set(switches.values())) == 1
    one_only = not same and len(counts) > _MOST_COMMON_SWITCHES
    shown = list(switches[example]) if one_only else sorted(counts)
    return Changes(
        rounds=tuple(shown),
        counts=tuple(counts[t] for t in shown),
        runs=len(switches),
        example=one_only,
        fewest=min(often),
        most=max(often),
        mean=sum(often) / len(often),
        subject=subject,
    )
