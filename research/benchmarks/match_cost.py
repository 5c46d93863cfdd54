"""Cost of a match for a king that is the winner, if an adversary chooses the gaps.

The matches are king's own: its kernels open, settle and end them. Before each duel an adversary
with knowledge of all earlier duels chooses the advantage of the king. The lemma of
docs/research/king.md: whatever it chooses, a match costs 1/4 at most.

- simulated: the mean over matches, with a 95% interval.
- exact: the same number, by following the chances of every lead through the duels of a match.

`make match-cost` writes research/records/match-cost.json and the table in docs/research/king.md;
under a minute.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import kernel
from driftduel._internal.kernel_random import GeneratorAddress, address_of, uniform
from driftduel.policies._king_matches import close_match
from driftduel.policies.king import King
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "match-cost.json"
PAGE = DOCS / "research" / "king.md"
TABLE = "match-cost"

_ASK, _TELL = King.kernels.ask, King.kernels.tell
_ROUND = 1_000_000
RUNS = 1_000_000
DUELS = 2_000
"""A match that is not over after so many is cut; its cost until then counts."""


@dataclass(frozen=True)
class Adversary:
    """A rule for the gap of a duel, given its number and the challenger's lead."""

    words: str
    gap: Callable[[int, int], float]

    def gaps(self, duels: int) -> NDArray[np.float64]:
        """Return the (n, n) gaps of the n duels of a match, a row a duel, a column a lead."""
        return np.array([[self.gap(n, lead) for lead in range(duels)] for n in range(1, duels + 1)])


ADVERSARIES = (
    Adversary("always 0.05", lambda n, lead: 0.05),
    Adversary("always 0.4", lambda n, lead: 0.4),
    Adversary("0.4 and 0 in turn", lambda n, lead: 0.4 * (n % 2)),
    Adversary("decays: 0.4 / sqrt(n) in the n-th duel", lambda n, lead: 0.4 / math.sqrt(n)),
    Adversary("grows: n / 200, up to 0.5", lambda n, lead: min(0.5, n / 200)),
    Adversary("watches: 0.3 while the challenger leads, else 0", lambda n, lead: 0.3 * (lead > 0)),
    Adversary("watches: 0.45 if a loss ends the match, else 0", lambda n, lead: 0.45 * (lead == 0)),
    Adversary("watches: a tenth of the lead, up to 0.5", lambda n, lead: min(0.5, lead / 10)),
)  # fmt: skip


@kernel
def _play(state: Any, rng: GeneratorAddress, notes: Any, gaps: Any, costs: Any) -> None:
    """Play as many of king's matches as there are places for their costs."""
    numbers, rival = state.numbers[0], state.arms[1]
    for match in range(len(costs)):
        numbers.due = 1.0
        # It takes 5e8 to one to fell a king after so many matches: it stays.
        numbers.king, numbers.held, numbers.matches = 0, 1_000, 1_000_000_000
        cost = 0.0
        for n in range(len(gaps)):
            first, second = _ASK(state, rng, _ROUND, notes)
            gap = gaps[n, max(0, rival.lead)]
            cost += gap / 2.0  # the king, the winner, loses nothing; the challenger its gap
            won = 1 if uniform(rng) < 0.5 + gap else 0
            _TELL(state, _ROUND, first, second, won, notes)
            if rival.lead < 0 or numbers.king != 0:
                break
        else:
            close_match(state, 1)
        costs[match] = cost


def simulated(gaps: NDArray[np.float64], matches: int, seed: int) -> NDArray[np.float64]:
    """Return what each of so many matches cost."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    costs = np.empty(matches)
    _play(King(2, rng).state, address_of(rng), np.empty(0), gaps, costs)
    return costs


def exact(gaps: NDArray[np.float64], end: int = -1) -> float:
    """Return the mean cost of a match that ends at a lead of `end`, or with the gaps."""
    first = -end - 1  # the place of lead 0; those before it are below
    chances = np.zeros(len(gaps) + first + 2)
    chances[first] = 1.0
    cost = 0.0
    for row in gaps:
        alive = chances[: len(row) + first]
        gap = row[np.maximum(np.arange(len(alive)) - first, 0)]
        cost += float(alive @ gap) / 2
        after = np.zeros_like(chances)
        after[1 : len(alive) + 1] = alive * (0.5 - gap)
        after[: len(alive) - 1] += (alive * (0.5 + gap))[1:]
        chances = after
    return cost


def measure() -> dict[str, Any]:
    """Play all matches; return the numbers."""
    rows = []
    for seed, adversary in enumerate(ADVERSARIES):
        gaps = adversary.gaps(DUELS)
        costs = simulated(gaps, RUNS, seed)
        rows.append(
            {
                "adversary": adversary.words,
                "mean": round(float(costs.mean()), 6),
                "error": round(float(costs.std(ddof=1)) / math.sqrt(RUNS), 6),
                "exact": round(exact(gaps), 6),
            }
        )
    return {"matches": RUNS, "duels": DUELS, "adversaries": rows}


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        "| the gap, as an adversary chooses it | cost of a match, simulated (95%) | exact |",
        "|---|---|---|",
    ]
    for row in record["adversaries"]:
        simulation = f"{row['mean']:.4f} ± {1.96 * row['error']:.4f}"
        lines.append(f"| {row['adversary']} | {simulation} | {row['exact']:.4f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    measure_and_write(
        "Cost of a match for any gaps.", measure, table, RECORD, PAGE, TABLE,
        command="make match-cost", policies=("king",),
    )  # fmt: skip
