"""Simulated logs of known worlds, to check statements about a log against the truth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.logs.counts import Counts, counts_from_votes
from driftduel.worlds import World

__all__ = ["simulate", "votes_of"]


def votes_of(
    world: World, seed: int = 0, sessions: int | None = None, taste: float = 0.8
) -> dict[str, Any]:
    """Draw a vote between two random options in every round of a world.

    Parameters
    ----------
    world
        The world.
    seed
        Seed of the pairs and outcomes.
    sessions
        The number of consecutive votes of one voter; by default each vote has a different voter.
    taste
        The heterogeneity of voters: the standard deviation of the value that each voter adds to
        every option's utility.

    Returns
    -------
    dict
        ``first``, ``second``, ``outcome`` and ``time`` of every vote, and ``group`` with sessions.
    """
    if sessions is not None and sessions < 1:
        raise DriftduelError(f"sessions={sessions} must be at least 1 vote each.")
    rng = np.random.default_rng(seed)
    T, K = world.rounds, world.arms
    first = rng.integers(K, size=T)
    second = (first + 1 + rng.integers(K - 1, size=T)) % K
    p = np.empty(T)
    for chunk in world.chunks():
        rounds = np.arange(chunk.starts[0], chunk.end) - 1
        lengths = np.diff(chunk.starts, append=chunk.end)
        rows = np.repeat(chunk.rows, lengths)
        if chunk.link < 0:
            p[rounds] = chunk.matrices[rows, first[rounds], second[rounds]]
        else:
            for at in np.array_split(np.arange(len(rounds)), max(1, len(rounds) // 4096)):
                mine = chunk._replace(utilities=chunk.utilities[rows[at]])
                of_first = mine.row_preferences(first[rounds[at]])
                p[rounds[at]] = of_first[np.arange(len(at)), second[rounds[at]]]
    votes: dict[str, NDArray[Any]] = {"first": first, "second": second, "time": np.arange(1, T + 1)}
    if sessions is not None:
        votes["group"] = np.arange(T) // sessions
        tastes = rng.normal(0.0, taste, size=(T // sessions + 1, K))
        mine = tastes[votes["group"]]
        each = np.arange(T)
        odds = np.log(p / (1 - p)) + mine[each, first] - mine[each, second]
        p = 1 / (1 + np.exp(-odds))
    votes["outcome"] = (rng.random(T) < p).astype(np.float64)
    return votes


def simulate(
    world: World, seed: int = 0, sessions: int | None = None, taste: float = 0.8, bins: int = 256
) -> Counts:
    """Return the counts of a simulated log; see `votes_of` for the arguments.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> counts = simulate(make_world("geometric-btl:arms=4,rounds=1000,phases=2"), seed=1)
    >>> counts.votes, counts.options
    (1000, 4)
    """
    return counts_from_votes(**votes_of(world, seed, sessions, taste), bins=bins, clock="number")
