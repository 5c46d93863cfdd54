"""The paper's five measures of non-stationarity (Section 2.2), in one pass over a world.

For worlds with rounds without a Condorcet winner, also their values over the rounds with one, and,
for all rounds, against the von Neumann winner.
"""

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.display import Fact, as_html, as_text
from driftduel._internal.wording import number, whole
from driftduel.errors import DriftduelError
from driftduel.measures.bounds import Bounds, bounds
from driftduel.measures.significant import SignificantScan
from driftduel.worlds import World

__all__ = ["Measures", "Phase", "measure"]

# A world that changes in every round has as many switches as rounds: count them, do not store.
_MOST_ROUNDS_KEPT = 1_000_000
_TITLE = "how much a world changes"


@dataclass(frozen=True)
class Phase:
    """A stretch of rounds with one Condorcet winner."""

    first: int
    last: int
    winner: int | None


@dataclass(frozen=True, repr=False)
class Measures:
    """The measures of non-stationarity of a world.

    Attributes about the Condorcet winner are None if some round has none; those about significant
    switches also if they were not requested. `between_winners` and `von_neumann_switch_rounds` are
    always defined, and have the same values if every round has a winner.

    If arms join and leave, the winner is that of the present arms, and variations are of the
    preferences between arms that are present before and after. Significant switches and the bounds
    are then not defined (None): both are based on the loss of one arm over many rounds.
    """

    arms: int
    """The number of arms, K."""
    rounds: int
    """The number of rounds, T."""
    preference_switches: int
    """S^P, the number of rounds with a change of the matrix or of the present arms."""
    preference_switch_rounds: NDArray[np.int64] | None
    """Those rounds; the value is None for more than a million."""
    condorcet_switches: int | None
    """S^CW, the number of rounds with a change of the Condorcet winner."""
    condorcet_switch_rounds: list[int] | None
    """tau_1, tau_2, ..."""
    significant_switches: int | None
    """Significant CW switches."""
    significant_switch_rounds: list[int] | None
    """nu_1, nu_2, ..."""
    total_variation: float
    """V, the sum over rounds of the largest change of any entry."""
    condorcet_variation: float | None
    """The sum over rounds of the largest change in the current winner's row."""
    condorcet_winners: list[tuple[int, int | None]]
    """(first round, arm) for every stretch with the same winner."""
    first_round_without_winner: int | None
    """The first round without a Condorcet winner, if there is one."""
    rounds_with_winner: int
    """The number of rounds with a Condorcet winner."""
    between_winners: list[int]
    """Rounds with another winner than the last earlier round with a winner."""
    winners_variation: float
    """The CW variation over the rounds that have a winner."""
    von_neumann_switch_rounds: list[int] | None
    """Significant switches if losses are to the von Neumann winner."""
    smith_sets: list[tuple[int, tuple[int, ...]]]
    """(first round, arms) for every stretch with the same Smith set, the smallest set of arms that
    beat all others. If there is a winner, it is the only member."""
    absences: bool = False
    """Whether arms join and leave."""
    ties: float = 0.0
    """The largest share of ties in any round."""

    @property
    def phases(self) -> list[Phase]:
        """The stretches with one Condorcet winner each."""
        firsts = [first for first, _ in self.condorcet_winners]
        lasts = [first - 1 for first in firsts[1:]] + [self.rounds]
        return [
            Phase(first, last, winner)
            for (first, winner), last in zip(self.condorcet_winners, lasts, strict=True)
        ]

    @property
    def smith_sizes(self) -> tuple[float, int]:
        """The size of the Smith set: the mean over rounds, and the maximum."""
        firsts = [first for first, _ in self.smith_sets]
        sizes = [len(arms) for _, arms in self.smith_sets]
        return float(np.diff(firsts, append=self.rounds + 1) @ sizes) / self.rounds, max(sizes)

    def __repr__(self) -> str:
        return as_text(_TITLE, self._facts())

    def _repr_html_(self) -> str:
        return as_html(_TITLE, self._facts())

    def _facts(self) -> list[Fact]:
        """Return the displayed values; lists of rounds, up to a million, are attributes only."""
        facts = [
            ("arms", str(self.arms)),
            ("rounds", whole(self.rounds)),
            ("preference switches", whole(self.preference_switches)),
            ("condorcet switches", whole(self.condorcet_switches)),
            ("significant switches", whole(self.significant_switches)),
            ("total variation", number(self.total_variation)),
            ("condorcet variation", number(self.condorcet_variation)),
        ]
        if self.first_round_without_winner is not None:
            facts.append(("rounds with a winner", whole(self.rounds_with_winner)))
        return facts

    def as_dict(self) -> dict[str, Any]:
        """Return all values, and the bounds without logs, as a JSON-compatible object."""
        record = asdict(self)
        rounds = record.pop("preference_switch_rounds")
        record["preference_switch_rounds"] = None if rounds is None else rounds.tolist()
        record["smith_size_mean"], record["smith_size_most"] = self.smith_sizes
        if self.significant_switch_rounds is not None:
            record["bounds"] = asdict(self.bounds(logs=False))
        return record

    def bounds(self, *, logs: bool = True) -> Bounds:
        """Return the right-hand sides of the paper's bounds, with constant 1."""
        if self.first_round_without_winner is not None:
            raise DriftduelError(
                f"the bounds need a Condorcet winner in every round; "
                f"round {self.first_round_without_winner} has none."
            )
        if self.absences:
            raise DriftduelError(
                "the bounds need the significant switches, which are not defined where arms come "
                "and go."
            )
        if self.significant_switch_rounds is None:
            raise DriftduelError("the bounds need the significant switches: measure them.")
        assert self.condorcet_switch_rounds is not None
        assert self.condorcet_variation is not None
        return bounds(
            self.arms,
            self.rounds,
            self.condorcet_switch_rounds,
            self.significant_switch_rounds,
            self.condorcet_variation,
            logs=logs,
        )


def measure(world: World, significance: str | None = "main") -> Measures:
    """Return the measures of non-stationarity of a world.

    Parameters
    ----------
    world
        The world.
    significance
        The threshold of a significant window: ``main`` (default), a loss of sqrt(K n) as in the
        paper's main text, or ``appendix``, K sqrt(n) as in the proof of its last corollary. None
        omits the significant switches, which take longest.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> measures = measure(make_world("alternating:rounds=1000"))
    >>> measures.preference_switches, measures.condorcet_switches, measures.total_variation
    (999, 0, 999.0)
    """
    from driftduel.measures._kernels import compare_segments, find_smith_sets

    scan = None
    if significance is not None:
        scan = SignificantScan(world.arms, world.rounds, significance)
    previous, were_here = np.empty((world.arms, world.arms)), np.ones(world.arms, np.bool_)
    absences, ties = False, 0.0
    sums = np.zeros(2)
    switches, kept = 0, []
    smith_sets: list[tuple[int, tuple[int, ...]]] = []
    winners_over_time = world.condorcet_winners()
    without = next((first for first, winner in winners_over_time if winner is None), None)
    for chunk in world.chunks():
        matrices, winners = chunk.row_matrices(), chunk.row_winners()
        if chunk.starts[0] == 1:
            previous[:] = matrices[chunk.rows[0]]
            if chunk.present.size:
                absences, scan, were_here = True, None, chunk.present[chunk.rows[0]].copy()
        ties = max(ties, chunk.ties[chunk.rows].max(initial=0.0) if len(chunk.ties) else 0.0)
        changed = np.empty(len(chunk.rows), dtype=np.bool_)
        compare_segments(
            matrices, chunk.rows, winners, chunk.present, previous, were_here, sums, changed
        )
        switches += int(changed.sum())
        if switches <= _MOST_ROUNDS_KEPT:
            kept.append(chunk.starts[changed])
        if scan is not None:
            scan.feed(chunk.starts, chunk.end, chunk.row_losses(winners)[chunk.rows])
        inside = np.empty((len(winners), world.arms), dtype=np.bool_)
        find_smith_sets(matrices, winners, chunk.present, inside)
        _note_sets(smith_sets, chunk.starts, inside[chunk.rows])

    has_winners = without is None
    lasts = [*(first for first, _ in winners_over_time[1:]), world.rounds + 1]
    with_winner = [stretch for stretch in winners_over_time if stretch[1] is not None]
    tau = [first for first, _ in winners_over_time[1:]]
    return Measures(
        arms=world.arms,
        rounds=world.rounds,
        preference_switches=switches,
        preference_switch_rounds=np.concatenate(kept) if switches <= _MOST_ROUNDS_KEPT else None,
        condorcet_switches=len(tau) if has_winners else None,
        condorcet_switch_rounds=tau if has_winners else None,
        significant_switches=len(scan.switches) if scan and has_winners else None,
        significant_switch_rounds=list(scan.switches) if scan and has_winners else None,
        total_variation=float(sums[0]),
        condorcet_variation=float(sums[1]) if has_winners else None,
        condorcet_winners=winners_over_time,
        first_round_without_winner=without,
        rounds_with_winner=sum(
            last - first
            for (first, winner), last in zip(winners_over_time, lasts, strict=True)
            if winner is not None
        ),
        between_winners=[b[0] for a, b in pairwise(with_winner) if a[1] != b[1]],
        winners_variation=float(sums[1]),
        von_neumann_switch_rounds=list(scan.switches) if scan else None,
        smith_sets=smith_sets,
        absences=absences,
        ties=float(ties),
    )


def _note_sets(
    sets: list[tuple[int, tuple[int, ...]]], starts: NDArray[np.int64], inside: NDArray[np.bool_]
) -> None:
    """Append the sets of a chunk's segments, except those equal to the set before."""
    changed = np.flatnonzero((inside[1:] != inside[:-1]).any(axis=1)) + 1
    for s in (0, *changed.tolist()):
        arms = tuple(np.flatnonzero(inside[s]).tolist())
        if not sets or sets[-1][1] != arms:
            sets.append((int(starts[s]), arms))
