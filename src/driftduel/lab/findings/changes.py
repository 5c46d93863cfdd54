"""When the best arm changes, in all runs or in one that stands for them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["SUBJECTS", "Changes", "Game", "read_changes"]

Game = tuple[int, int]
"""A seed of the plan and a run: the luck that policies share."""
SUBJECTS = {
    "von-neumann": "arms that lose nothing",
    "exploitability": "preferences",
    "borda": "arms with the best Borda score",
    "copeland": "arms with the best Copeland score",
}
"""What a switch is with the benchmarks that have their own."""

# If runs switch in more different rounds than this, one of them is shown as an example.
_MOST_COMMON_SWITCHES = 24


@dataclass(frozen=True)
class Changes:
    """When the best arm of a world changes, or what else counts as a change."""

    rounds: tuple[int, ...]
    """Rounds in which it does: in some run, or, if runs have little in common, in the example."""
    counts: tuple[int, ...]
    """In how many runs it does so in each of these rounds."""
    runs: int
    example: bool
    """Whether these are the rounds of one run only."""
    fewest: int
    most: int
    mean: float
    """How often it changes in a run."""
    subject: str = "best arm"
    """What changes; the other ones are plural."""

    @property
    def verbs(self) -> tuple[str, str]:
        """How to say that it changes, and that it does not."""
        return ("changes", "stays") if self.subject == "best arm" else ("change", "stay")

    @property
    def same(self) -> bool:
        """Whether every run has the same."""
        return not self.example and all(count == self.runs for count in self.counts)


def read_changes(switches: Mapping[Game, tuple[int, ...]], example: Game, subject: str) -> Changes:
    """Count the runs that change in each round; take the example's where they differ too much.

    Parameters
    ----------
    switches
        The rounds of every run's changes.
    example
        The run that stands for all, if one must.
    subject
        What changes.
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
