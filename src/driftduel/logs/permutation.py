"""A test for each change: how often votes in another order would show as much.

Between the changes before and behind it a log stands still, if the change is none, and then whole
groups can be put in any order; without groups, the wins of each pair fall on its votes by chance.
The statistic is the largest over all places to split, so that it does not matter that the place was
chosen by looking.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry import bradley_terry, preferences_of
from driftduel.logs.counts import Counts

__all__ = ["Tested", "benjamini_hochberg", "eliminate", "p_value"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ORDERS = 499
_PLACES = 40  # at which a window may be split
_MOST_NUMBERS = 8_000_000  # dealt at once
_MOST_DEALT = 900_000_000  # votes; numpy deals no more than a billion
_EDGE = 0.02  # of a window's votes at each end, in which a split says nothing


@dataclass(frozen=True)
class Tested:
    """The changes that are left, as first fine bins, and what the tests said about all."""

    kept: list[int]
    p: dict[int, float]
    q: dict[int, float]


def eliminate(
    counts: Counts, changes: list[int], seed: int = 0, model: str = "utilities", level: float = 0.05
) -> Tested:
    """Test each change between its neighbours; drop the worst while one is not significant.

    Parameters
    ----------
    counts
        The log.
    changes
        The fine bins at which something changed, ascending.
    seed
        Fixes the orders that are tried.
    model
        ``utilities`` looks at each option's wins, ``pairs`` at each pair's.
    level
        The share of false ones to allow among those that are kept.
    """
    kept = list(changes)
    p: dict[int, float] = {}
    q: dict[int, float] = {}
    done: dict[tuple[int, int], float] = {}
    while kept:
        edges = [0, *kept, len(counts.wins)]
        values = []
        for i in range(len(kept)):
            window = edges[i], edges[i + 2]
            if window not in done:
                done[window] = p_value(counts, *window, seed=seed, model=model)
            values.append(done[window])
        adjusted = benjamini_hochberg(values)
        p |= dict(zip(kept, values, strict=True))
        q |= dict(zip(kept, adjusted, strict=True))
        worst = int(np.argmax(values))
        if adjusted[worst] <= level:
            break
        del kept[worst]
    return Tested(kept, p, q)


def benjamini_hochberg(values: list[float]) -> list[float]:
    """Return the smallest rate of false discoveries at which each would be one.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.5])
    [0.03, 0.06, 0.5]
    """
    order = np.argsort(values)
    scaled = np.array(values)[order] * len(values) / np.arange(1, len(values) + 1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(value) for value in adjusted]


def p_value(
    counts: Counts,
    first: int,
    end: int,
    seed: int = 0,
    model: str = "utilities",
    orders: int = _ORDERS,
) -> float:
    """Return how often votes in another order show a change in a window as clearly.

    Parameters
    ----------
    counts
        The log.
    first, end
        The window's first fine bin, and one past its last.
    seed
        Fixes the orders.
    model
        ``utilities`` looks at each option's wins, ``pairs`` at each pair's.
    orders
        How many orders to try.
    """
    rng = np.random.default_rng([seed, first, end])
    if end - first < 2:
        return 1.0
    wins = counts.wins[first:end]
    basis = _Basis(wins.sum(axis=0), model)
    if counts.groups is None:
        observed, others = _by_pairs(wins, basis, rng, orders)
    else:
        observed, others = _by_groups(counts, first, end, basis, rng, orders)
    return float((1 + (others >= observed * (1 - 1e-9)).sum()) / (1 + orders))


class _Basis:
    """What votes are turned into: how much each option, or pair, won above what was expected."""

    def __init__(self, whole: Floats, model: str) -> None:
        K = len(whole)
        self.low, self.high = np.triu_indices(K, 1)
        votes = (whole + whole.T)[self.low, self.high]
        if model == "utilities":
            self.P = preferences_of(bradley_terry(whole)[0])
            p = self.P[self.low, self.high]
            incidence = np.zeros((len(self.low), K))
            incidence[np.arange(len(self.low)), self.low] = 1.0
            incidence[np.arange(len(self.low)), self.high] = -1.0
            information = incidence.T @ (incidence * (votes * p * (1 - p))[:, None])
            values, vectors = np.linalg.eigh(information)
            some = values > 1e-9 * max(values.max(), 1e-300)
            self.map = incidence @ (vectors[:, some] / np.sqrt(values[some]))
        else:
            self.P = (whole + 0.5) / (whole + whole.T + 1.0)
            p = self.P[self.low, self.high]
            self.map = np.diag(1 / np.sqrt(np.maximum(votes * p * (1 - p), 1e-9)))
        self.p = p

    def scores(self, ahead: Floats, votes: Floats) -> Floats:
        """Return (..., D) scores of votes whose total variance is 1, if nothing changes."""
        result: Floats = (ahead - votes * self.p) @ self.map
        return result


def _largest(scores: Floats, share: Floats) -> Floats:
    """Return the largest statistic over all splits; scores are (..., B, D), cumulated here."""
    before = np.cumsum(scores, axis=-2)
    # A split at a share f of the votes has variance f (1 - f).
    usable = (share > _EDGE) & (share < 1 - _EDGE)
    spread = np.where(usable, share * (1 - share), np.inf)
    size = ((before - share[..., None] * before[..., -1:, :]) ** 2).sum(axis=-1)
    result: Floats = (size / spread).max(axis=-1)
    return result


def _by_pairs(
    wins: Floats, basis: _Basis, rng: np.random.Generator, orders: int
) -> tuple[float, Floats]:
    """Let each pair's wins fall on its votes by chance: hypergeometric over bins."""
    sizes = wins.sum(axis=(1, 2))
    middle = np.cumsum(sizes) - sizes / 2
    places = np.minimum((middle / sizes.sum() * _PLACES).astype(np.int64), _PLACES - 1)
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    wins = np.add.reduceat(wins, starts, axis=0)
    low, high = basis.low, basis.high
    wins /= max(1.0, wins.sum() / _MOST_DEALT)  # heavy weights are no more votes than can be dealt
    votes = np.rint(wins[:, low, high] + wins[:, high, low])
    ahead = np.minimum(np.rint(wins[:, low, high]), votes)
    share = np.cumsum(votes.sum(axis=1)) / votes.sum()
    observed = float(_largest(basis.scores(ahead, votes), share))
    # A hundred options have thousands of pairs: not all orders fit into memory at once.
    at_once = max(1, _MOST_NUMBERS // votes.size)
    sizes_of = [min(at_once, orders - done) for done in range(0, orders, at_once)]
    others = [
        _largest(basis.scores(_dealt(ahead, votes, rng, size), votes), share) for size in sizes_of
    ]
    return observed, np.concatenate(others)


def _dealt(ahead: Floats, votes: Floats, rng: np.random.Generator, orders: int) -> Floats:
    """Return (orders, B, pairs) wins, each pair's dealt to its votes at random."""
    drawn = np.empty((orders, *votes.shape))
    for pair in range(votes.shape[1]):
        total = int(ahead[:, pair].sum())
        if 0 < total < votes[:, pair].sum():
            drawn[:, :, pair] = rng.multivariate_hypergeometric(
                votes[:, pair].astype(np.int64), total, size=orders, method="marginals"
            )
        else:
            drawn[:, :, pair] = ahead[:, pair]
    return drawn


def _by_groups(
    counts: Counts, first: int, end: int, basis: _Basis, rng: np.random.Generator, orders: int
) -> tuple[float, Floats]:
    """Put whole groups in another order; each stands where the middle of its votes is."""
    groups = counts.groups
    assert groups is not None
    inside = (groups.bin >= first) & (groups.bin < end)
    group, wins, place = groups.group[inside], groups.wins[inside], groups.bin[inside]
    ids, group = np.unique(group, return_inverse=True)
    if len(ids) < 4:
        return 0.0, np.zeros(orders)
    K = counts.options
    pair_of = np.zeros((K, K), np.int64)
    pair_of[basis.low, basis.high] = pair_of[basis.high, basis.low] = np.arange(len(basis.low))
    winner, loser = groups.winner[inside], groups.loser[inside]
    pair = pair_of[winner, loser]
    expected = wins * basis.p[pair]
    surprise = np.where(winner < loser, wins - expected, -expected)
    scores = np.zeros((len(ids), basis.map.shape[1]))
    np.add.at(scores, group, surprise[:, None] * basis.map[pair])
    sizes = np.bincount(group, wins)
    centre = np.bincount(group, wins * place) / sizes
    order = np.argsort(centre, kind="stable")
    scores, sizes = scores[order], sizes[order]
    observed = float(_largest(scores, np.cumsum(sizes) / sizes.sum()))
    others = np.empty(orders)
    for i in range(orders):
        mixed = rng.permutation(len(sizes))
        others[i] = _largest(scores[mixed], np.cumsum(sizes[mixed]) / sizes.sum())
    return observed, others
