"""Regret of policies with prior knowledge of all but the times: rate of changes, and gap.

In the worlds here one arm beats all others by a gap, the others are
even, and after each round, with a known probability, another arm becomes that winner.

- at least: two arms only. No policy, with or without this knowledge, has less mean regret. The
  world is then a Markov decision process in the probability that the first arm is the winner, and
  its least cost is found backwards from the last round. That cost is a concave function of the
  probability, so linear interpolation on a grid is never too large: the number is a bound for every
  grid.
- informed: Bayes' rule for the winner. The likeliest arm is shown alone or, if the second is
  likelier than a threshold, duels with it; the threshold is the best of some in hindsight.
- king, without prior knowledge, and the best of the suite's windows in hindsight, in the same
  worlds.

`make limit` writes research/records/limit.json and the table in docs/research/king.md; some
minutes.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import kernel
from driftduel._internal.kernel_random import GeneratorAddress, address_of, uniform
from driftduel.games import play
from driftduel.preferences import lone_winner
from driftduel.worlds import Piecewise
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "limit.json"
PAGE = DOCS / "research" / "king.md"
TABLE = "limit"

RUNS = 60
GRID = 4001
"""Points for the probability that an arm is the winner; the odds of neighbours have one ratio."""
EDGE = 14.0
"""The logarithm of the largest odds on the grid; beyond it are the points 0 and 1."""
THRESHOLDS = 2.0 ** np.arange(-1, 4.5, 0.5)
"""In units of 1 / sqrt(rounds between changes, times rivals)."""


class Case(NamedTuple):
    """A kind of world: one winner, the others even, changes at a constant rate."""

    arms: int
    gap: float
    every: int
    rounds: int


SHAPES = ((0.1, 5000, 50_000), (0.1, 25_000, 100_000), (0.05, 10_000, 200_000), (0.2, 5000, 50_000))
CASES = tuple(Case(arms, *shape) for arms in (2, 5, 10) for shape in SHAPES)


def draw(case: Case, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first round of each phase, and its winner."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    changes = np.flatnonzero(rng.random(case.rounds - 1) < 1 / case.every)
    starts = np.concatenate(([1], 2 + changes)).astype(np.int64)
    steps = rng.integers(1, case.arms, size=len(starts))
    steps[0] = rng.integers(case.arms)
    return starts, np.cumsum(steps) % case.arms


def world(case: Case, seed: int) -> Piecewise:
    """Return the world of a seed."""
    starts, winners = draw(case, seed)
    matrices = [lone_winner(case.arms, winner, case.gap) for winner in winners]
    return Piecewise(matrices, starts, case.rounds)


# ---- two arms: the lower bound ----


def odds_grid(points: int) -> NDArray[np.float64]:
    """Return probabilities from 0 to 1, close to each other where they are small or large."""
    grid = 1 / (1 + np.exp(-np.linspace(-EDGE, EDGE, points)))
    grid[0], grid[-1] = 0.0, 1.0
    return grid


@kernel
def _backwards(
    rounds: int, alone: Any, wins: Any, left: Any, share: Any, gap: float, cost: Any, after: Any
) -> None:
    """Put the least cost of so many rounds, from each point of the grid, into `cost`."""
    for _ in range(rounds):
        for k in range(len(cost)):
            after[k] = cost[k]
        for k in range(len(cost)):
            i, s = left[0, k], share[0, k]
            least = alone[k] + after[i] + s * (after[i + 1] - after[i])
            i, s = left[1, k], share[1, k]
            duel = gap / 2.0 + wins[k] * (after[i] + s * (after[i + 1] - after[i]))
            i, s = left[2, k], share[2, k]
            duel += (1.0 - wins[k]) * (after[i] + s * (after[i + 1] - after[i]))
            cost[k] = min(least, duel)


def at_least(case: Case, points: int = GRID) -> float:
    """Return what every policy loses on average, at least, in worlds of two arms."""
    gap, change, grid = case.gap, 1 / case.every, odds_grid(points)
    wins = 0.5 + gap * (2 * grid - 1)
    # Beliefs in the next round without an answer, after a win of the first arm, and after a loss:
    heard = np.array([grid, grid * (0.5 + gap) / wins, grid * (0.5 - gap) / (1 - wins)])
    heard = heard * (1 - change) + (1 - heard) * change
    left = np.clip(np.searchsorted(grid, heard) - 1, 0, points - 2)
    share = (heard - grid[left]) / (grid[left + 1] - grid[left])
    cost, after = np.zeros(points), np.zeros(points)
    alone = gap * np.minimum(grid, 1 - grid)
    _backwards(case.rounds, alone, wins, left, share, gap, cost, after)
    return float(cost[points // 2])


# ---- Bayes' rule with known gap and rate ----


@kernel
def learn(belief: Any, first: int, second: int, won: int, gap: float) -> None:
    """Let the probabilities of being the winner follow a duel of two arms."""
    likely = 0.5 + gap if won else 0.5 - gap
    whole = 0.0
    for k in range(len(belief)):
        if k == first:
            belief[k] *= likely
        elif k == second:
            belief[k] *= 1.0 - likely
        else:
            belief[k] *= 0.5
        whole += belief[k]
    for k in range(len(belief)):
        belief[k] /= whole


@kernel
def pass_on(belief: Any, change: float) -> None:
    """Let the probabilities follow a change that may have come between two rounds."""
    for k in range(len(belief)):
        belief[k] = belief[k] * (1.0 - change) + (1.0 - belief[k]) * change / (len(belief) - 1.0)


@kernel
def _play_told(
    belief: Any, starts: Any, winners: Any, rounds: int, gap: float, change: float,
    threshold: float, luck: GeneratorAddress,
) -> float:  # fmt: skip
    """Play a world; return the regret."""
    regret, phase = 0.0, 0
    for t in range(1, rounds + 1):
        while phase + 1 < len(starts) and starts[phase + 1] <= t:
            phase += 1
        winner = winners[phase]
        first, second = 0, 1
        if belief[1] > belief[0]:
            first, second = 1, 0
        for k in range(2, len(belief)):
            if belief[k] > belief[first]:
                first, second = k, first
            elif belief[k] > belief[second]:
                second = k
        if belief[second] >= threshold:
            regret += gap * (int(first != winner) + int(second != winner)) / 2.0
            p = 0.5 + gap * (int(first == winner) - int(second == winner))
            learn(belief, first, second, int(uniform(luck) < p), gap)
        elif first != winner:
            regret += gap
        pass_on(belief, change)
    return regret


def told(case: Case, threshold: float, seed: int) -> float:
    """Return the regret with prior knowledge of everything but the times."""
    starts, winners = draw(case, seed)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    belief = np.full(case.arms, 1 / case.arms)
    return _play_told(
        belief, starts, winners, case.rounds, case.gap, 1 / case.every, threshold, address_of(rng)
    )


# ---- side by side ----


def measure_case(case: Case, windows: list[int]) -> dict[str, Any]:
    """Return the numbers of one kind of world."""
    seeds = range(RUNS)
    worlds = [world(case, seed) for seed in seeds]
    unit = 1 / math.sqrt(case.every * (case.arms - 1))
    regrets = {
        "told": [
            [told(case, threshold * unit, seed) for seed in seeds] for threshold in THRESHOLDS
        ],
        "window": [
            [play(f"sw-dts:window={window}", each, seed=seed).total
             for seed, each in zip(seeds, worlds, strict=True)]
            for window in windows
        ],
        "king": [
            [play("king", each, seed=seed).total for seed, each in zip(seeds, worlds, strict=True)]
        ],
    }  # fmt: skip
    found: dict[str, Any] = {**case._asdict(), "at_least": None}
    if case.arms == 2:
        found["at_least"] = round(at_least(case), 2)
    for name, choices in regrets.items():
        best = min(range(len(choices)), key=lambda n: float(np.mean(choices[n])))
        regret = np.array(choices[best])
        found[name] = round(float(regret.mean()), 2)
        found[f"{name}_error"] = round(float(regret.std(ddof=1)) / math.sqrt(RUNS), 2)
        if name == "window":
            found["best_window"] = windows[best]
    return found


def measure() -> dict[str, Any]:
    """Play all worlds; return the numbers."""
    from driftduel.suite import read_split

    windows = list(read_split("development").windows)
    return {"runs": RUNS, "cases": [measure_case(case, windows) for case in CASES]}


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        "| arms | gap | a change every | rounds | lower bound | informed | king "
        "| best window | bound / window | informed / window | king / window |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in record["cases"]:
        least, window = row["at_least"], row["window"]
        bound, ratio = ("", "") if least is None else (f"{least:,.0f}", f"{least / window:.2f}")
        cells = [
            f"{row['arms']}", f"{row['gap']}", f"{row['every']:,}", f"{row['rounds']:,}", bound,
            *(f"{row[name]:,.0f}\u00a0±\u00a0{1.96 * row[f'{name}_error']:,.0f}"
              for name in ("told", "king", "window")),
            ratio, f"{row['told'] / window:.2f}", f"{row['king'] / window:.2f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    measure_and_write(
        "Compute lower bounds and the regret of an informed policy.",
        measure, table, RECORD, PAGE, TABLE,
        command="make limit", policies=("king", "sw-dts"),
    )  # fmt: skip
