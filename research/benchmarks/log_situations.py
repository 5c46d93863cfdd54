"""Simulated logs with a known truth in which the conditions of a textbook log do not hold.

Options join and leave, voters return, the first place has an advantage, votes are ties, and
preferences drift. Each situation is a function of a length (votes) and a seed. The study
(`benchmarks/logs_study.py`) and tests use them; tests load this file with `load_script`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LENGTHS", "SITUATIONS", "Situation", "draw_situation"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VOTERS = 400
TASTE = 0.5  # standard deviation of a returning voter's own utilities
ADVANTAGE = 0.5  # of the first place, in logits
TIES = 0.9  # Davidson's nu: 31% ties between equal options


@dataclass(frozen=True)
class Situation:
    """A simulated log and the truth about it."""

    votes: dict[str, Any]
    """Arguments of `counts_from_votes`: first, second, outcome, time, perhaps group, and names."""
    winner: int
    """The Condorcet winner at the last vote among the options present there."""
    present: tuple[int, ...]
    """The options present at the last vote."""
    changes: tuple[int, ...]
    """The first vote (from 1) after each change of the preferences."""
    switches: tuple[int, ...]
    """The first vote after each change of the winner among the options present."""
    gradual: bool = False
    """Whether preferences also move between changes."""

    def without_groups(self) -> "Situation":
        """Return the same log without its column of groups."""
        return replace(self, votes={k: v for k, v in self.votes.items() if k != "group"})


@dataclass(frozen=True)
class _Path:
    """Utilities over the votes of a log: vote i has those of the row `row[i]` of a table."""

    table: Floats
    row: Ints

    @property
    def votes(self) -> int:
        return len(self.row)

    @property
    def changes(self) -> tuple[int, ...]:
        """The first vote, from 1, of each row but the first."""
        return tuple(int(at) + 2 for at in np.flatnonzero(np.diff(self.row)))


def _situation(
    rng: np.random.Generator,
    path: _Path,
    *,
    joins: Ints | None = None,
    leaves: Ints | None = None,
    group: Ints | None = None,
    opinions: _Path | None = None,
    advantage: float = 0.0,
    first_from: tuple[int, int] | None = None,
    ties: float = 0.0,
    gradual: bool = False,
) -> Situation:
    """Draw pairs and outcomes.

    Parameters
    ----------
    rng
        Source of the draws.
    path
        Utilities of the population.
    joins, leaves
        (K,) vote index, from 0, at which an option becomes present and absent.
    group
        (n,) voter of each vote.
    opinions
        What the voter of each vote adds to the utilities.
    advantage
        Logit of the first place.
    first_from
        (option, vote index) from which this option is always shown first.
    ties
        Davidson's nu; 0 for no ties.
    gradual
        Whether utilities move between changes.
    """
    n, K = path.votes, path.table.shape[1]
    joins = np.zeros(K, np.int64) if joins is None else joins
    leaves = np.full(K, n) if leaves is None else leaves
    a, b = np.empty(n, np.int64), np.empty(n, np.int64)
    edges = np.unique(np.clip(np.concatenate(([0, n], joins, leaves)), 0, n))
    best = np.empty(n, np.int64)
    for start, end in pairwise(edges):
        here = np.flatnonzero((joins <= start) & (leaves > start))
        first = rng.integers(len(here), size=end - start)
        second = (first + 1 + rng.integers(len(here) - 1, size=end - start)) % len(here)
        a[start:end], b[start:end] = here[first], here[second]
        best[start:end] = here[path.table[:, here].argmax(axis=1)][path.row[start:end]]
    i = np.arange(n)
    if first_from is not None:
        swap = (i >= first_from[1]) & (b == first_from[0])
        a, b = np.where(swap, b, a), np.where(swap, a, b)
    gap = advantage + np.zeros(n)
    for part in (path, opinions):
        if part is not None:
            gap += part.table[part.row, a] - part.table[part.row, b]
    wins, draws = np.exp(gap / 2), np.full(n, ties)
    total = wins + 1 / wins + draws
    luck = rng.random(n)
    outcome = np.where(luck < wins / total, 1.0, np.where(luck < (wins + draws) / total, 0.5, 0.0))
    votes: dict[str, Any] = {"first": a, "second": b, "outcome": outcome, "time": i + 1}
    if group is not None:
        votes["group"] = group
    votes["names"] = [f"o{k}" for k in range(K)]
    switches = tuple(int(at) + 2 for at in np.flatnonzero(np.diff(best)))
    present = tuple(np.flatnonzero((joins < n) & (leaves >= n)).tolist())
    changes = () if gradual else path.changes
    return Situation(votes, int(best[-1]), present, changes, switches, gradual)


def _path(
    rng: np.random.Generator, n: int, shares: tuple[float, ...] = (), options: int = 5
) -> _Path:
    """Draw utilities (standard deviation .6) that change at about these shares of a log.

    At each change the best option falls and another one becomes best.
    """
    u = rng.normal(0.0, 0.6, options)
    table, row = [u], np.zeros(n, np.int64)
    for share in shares:
        row[int(n * (share + rng.uniform(-0.03, 0.03))) :] += 1
        best = int(u.argmax())
        other = int(rng.choice(np.delete(np.arange(options), best)))
        u = u.copy()
        u[other] = u[best] + rng.uniform(0.2, 0.8)
        u[best] -= rng.uniform(0.6, 1.2)
        table.append(u)
    return _Path(np.array(table), row)


_TWICE = (0.31, 0.67)  # of a log, about where preferences change


def _plain(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> Situation:
    return _situation(rng, _path(rng, n, shares))


def _newcomer(rng: np.random.Generator, n: int, *, best: bool) -> Situation:
    """Let option 4 join at 60%, above or below the best of the others."""
    path = _path(rng, n)
    gap = abs(rng.normal(0.0, 0.6)) + 0.02
    path.table[0, 4] = path.table[0, :4].max() + (gap if best else -gap)
    return _situation(rng, path, joins=np.array([0, 0, 0, 0, int(0.6 * n)]))


def _departure(rng: np.random.Generator, n: int) -> Situation:
    """Let the best option leave at 70%."""
    path = _path(rng, n)
    leaves = np.full(5, n)
    leaves[path.table[0].argmax()] = int(0.7 * n)
    return _situation(rng, path, leaves=leaves)


def _returning(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> Situation:
    """Let 400 voters with individual utilities vote at random times."""
    path = _path(rng, n, shares)
    voter = rng.integers(VOTERS, size=n)
    tastes = rng.normal(0.0, TASTE, (VOTERS, path.table.shape[1]))
    return _situation(rng, path, group=voter, opinions=_Path(tastes, voter))


def _heavy(rng: np.random.Generator, n: int) -> Situation:
    """Let one voter cast 30% of the votes and change opinion at half of the log; others do not.

    The truth is that of the other voters; each casts about four votes in succession.
    """
    path = _path(rng, n)
    voter = 1 + np.arange(n) // 5
    heavy = rng.random(n) < 0.3
    voter[heavy] = 0
    row = np.where(heavy, np.where(np.arange(n) < n // 2, 1, 2), 0)
    K = path.table.shape[1]
    added = np.vstack((np.zeros(K), rng.normal(0.0, 1.0, (2, K)) - path.table))
    return _situation(rng, path, group=voter, opinions=_Path(added, row))


def _first_place(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> Situation:
    """Show the second best option always first in the second half; the first place is worth .5."""
    path = _path(rng, n, shares)
    shown = int(np.argsort(path.table[-1])[-2]), n // 2
    return _situation(rng, path, advantage=ADVANTAGE, first_from=shown)


def _tied(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> Situation:
    return _situation(rng, _path(rng, n, shares), ties=TIES)


def _drifting(rng: np.random.Generator, n: int) -> Situation:
    """Let six utilities follow a random walk with standard deviation 1.5 at the end."""
    steps = rng.normal(0.0, 1.5 / np.sqrt(n), (n, 6))
    table = rng.normal(0.0, 0.6, 6) + np.cumsum(steps, axis=0)
    return _situation(rng, _Path(table, np.arange(n)), gradual=True)


def _seasonal(rng: np.random.Generator, n: int) -> Situation:
    """Alternate between two vectors of utilities with different winners: A, B, A, B."""
    table = _path(rng, n, (0.5,)).table
    return _situation(rng, _Path(table, np.arange(n) * 4 // n % 2))


def _many(rng: np.random.Generator, n: int, *, options: int, change: bool) -> Situation:
    """Let half of many options join and a third leave; perhaps redraw a third of the utilities."""
    K = options
    table, row = rng.normal(0.0, 0.8, (1, K)), np.zeros(n, np.int64)
    if change:
        redrawn = rng.permutation(K)[: K // 3]
        table = np.repeat(table, 2, axis=0)
        table[1, redrawn] = rng.normal(0.0, 0.8, len(redrawn))
        row[int(n * rng.uniform(0.35, 0.65)) :] = 1
    joins, leaves = np.zeros(K, np.int64), np.full(K, n)
    late, early = rng.permutation(K)[: K // 2], rng.permutation(K)[: K // 3]
    joins[late] = (n * rng.uniform(0.05, 0.9, len(late))).astype(np.int64)
    leaves[early] = (n * rng.uniform(0.3, 1.0, len(early))).astype(np.int64)
    leaves = np.where(leaves - joins < n // 10, n, leaves)
    return _situation(rng, _Path(table, row), joins=joins, leaves=leaves)


Draw = Callable[[np.random.Generator, int], Situation]
SITUATIONS: dict[str, Draw] = {
    "stationary": partial(_plain, shares=()),
    "two changes": partial(_plain, shares=_TWICE),
    "newcomer, best": partial(_newcomer, best=True),
    "newcomer, not best": partial(_newcomer, best=False),
    "leader leaves": _departure,
    "returning voters, stationary": partial(_returning, shares=()),
    "returning voters, two changes": partial(_returning, shares=_TWICE),
    "heavy voter": _heavy,
    "first place, stationary": partial(_first_place, shares=()),
    "first place, one change": partial(_first_place, shares=_TWICE[:1]),
    "30% ties, stationary": partial(_tied, shares=()),
    "30% ties, two changes": partial(_tied, shares=_TWICE),
    "gradual drift": _drifting,
    "seasonal": _seasonal,
    "K=60, stationary": partial(_many, options=60, change=False),
    "K=60, one change": partial(_many, options=60, change=True),
    "K=300, one change": partial(_many, options=300, change=True),
}
"""Situations by name. Utilities are those of Bradley and Terry's model throughout."""

LENGTHS: dict[str, dict[str, int]] = {
    name: {"short": 20_000, "long": 60_000}
    if name.startswith("K=60")
    else {"short": 50_000, "long": 200_000}
    if name.startswith("K=300")
    else {"short": 2_000, "long": 8_000}
    for name in SITUATIONS
}
"""Votes of a short and a long log of each situation."""


def draw_situation(name: str, votes: int, seed: int) -> Situation:
    """Draw a log of a situation; the same arguments give the same log."""
    number = list(SITUATIONS).index(name)
    return SITUATIONS[name](np.random.default_rng([seed, votes, number]), votes)
