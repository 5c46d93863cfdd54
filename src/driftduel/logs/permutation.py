"""A permutation test for each change.

Under the null hypothesis of no change, the log is stationary between the changes before and after.
The statistic is the maximum over all positions to split that window, so the selection of the
position does not bias the test. Its null distribution is simulated:

- without groups, the decided wins of each pair and place fall on its votes at random;
- a group with votes in one place of the window only is moved as a whole;
- a group that spans several places, such as a voter who returns, contributes the way in which its
  votes changed, with a random sign. If preferences are stationary, both directions are equally
  likely; a single voter who votes often is one sign and cannot make a change significant.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.bradley_terry_fit import bradley_terry
from driftduel.logs.counts import Counts, Groups
from driftduel.logs.vote_model import PLAIN, VoteModel, expected_share, residuals, votes_by_place

__all__ = ["Tested", "benjamini_hochberg", "eliminate", "p_value"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ORDERS = 499
_PLACES = 40  # positions at which a window may be split
_MOST_NUMBERS = 8_000_000  # random numbers of one batch
_MOST_STRATA = 2000  # pairs up to which wins are dealt pair by pair, else vote by vote
_FEWER_ORDERS = 199  # vote by vote
_MOST_SHUFFLED = 1_000_000  # votes, vote by vote
_PAIR_STEPS = 6
_SIGNS = 100  # orders in one call, with groups
_MOST_ROWS = 20_000_000  # values in the table of groups; a larger table is sampled
_MOST_DEALT = 900_000_000  # votes; the numpy method is limited to a billion
_EDGE = 0.02  # share of votes at each end of a window without a split


@dataclass(frozen=True)
class Tested:
    """The remaining changes, as first fine bins, and the test results of all changes."""

    kept: list[int]
    p: dict[int, float]
    q: dict[int, float]


def eliminate(
    counts: Counts,
    changes: list[int],
    seed: int = 0,
    model: str = "utilities",
    level: float = 0.05,
    vote_model: VoteModel = PLAIN,
) -> Tested:
    """Test each change between its neighbours; remove the worst until all are significant.

    Parameters
    ----------
    counts
        The log.
    changes
        The fine bins of the changes, ascending.
    seed
        Seed of the random orders.
    model
        ``utilities`` tests the wins of options (default), ``pairs`` those of pairs.
    level
        Largest adjusted p of a change that is kept. It does not bound the share of false changes,
        since the same votes chose `changes`; the study measures that share.
    vote_model
        First-place advantage and ties.
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
                done[window] = p_value(
                    counts, *window, seed=seed, model=model, vote_model=vote_model
                )
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
    """Return p-values adjusted for their number (Benjamini and Hochberg 1995).

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
    vote_model: VoteModel = PLAIN,
) -> float:
    """Return the share of random orders with a statistic at least as large as the observed value.

    Parameters
    ----------
    counts
        The log.
    first, end
        The window's first fine bin, and one past its last.
    seed
        Seed of the random orders.
    model
        ``utilities`` tests the wins of options (default), ``pairs`` those of pairs.
    orders
        The number of random orders.
    vote_model
        First-place advantage and ties.
    """
    rng = np.random.default_rng([seed, first, end])
    if end - first < 2:
        return 1.0
    wins, ahead = counts.wins[first:end], counts.ahead[first:end]
    votes = votes_by_place(wins, ahead)
    basis = _Basis(votes.sum(axis=0), model, vote_model)
    sizes = wins.sum(axis=(1, 2))
    middle = np.cumsum(sizes) - sizes / 2
    places = np.minimum((middle / sizes.sum() * _PLACES).astype(np.int64), _PLACES - 1)
    if counts.groups is None:
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        tied = np.add.reduceat(counts.tied[first:end], starts, axis=0)
        votes = np.add.reduceat(votes, starts, axis=0)
        observed, others = _by_votes(votes, tied, basis, rng, orders)
    else:
        shares = expected_share(votes, basis.gaps, vote_model)
        observed, others = _by_groups(counts.groups, first, shares, places, basis, rng, orders)
    return float((1 + (others >= observed * (1 - 1e-9)).sum()) / (1 + len(others)))


class _Basis:
    """The directions in which votes can deviate: one per option, or one per pair."""

    def __init__(self, whole: Floats, model: str, vote_model: VoteModel) -> None:
        K = whole.shape[-1]
        self.vote_model, self.by_option = vote_model, model == "utilities"
        u = bradley_terry(whole, model=vote_model)[0]
        self.gaps = u[:, None] - u[None, :]
        rest, variance = residuals(whole, self.gaps, vote_model)
        if self.by_option:
            information = np.diag(variance.sum(axis=1)) - variance
            values, vectors = np.linalg.eigh(information)
            some = values > 1e-9 * max(values.max(), 1e-300)
            self.map = vectors[:, some] / np.sqrt(values[some])
            return
        # A constant deviation of a pair from the utilities is no change: fit each pair by Newton.
        for _ in range(_PAIR_STEPS):
            self.gaps = self.gaps + np.clip(rest / np.maximum(variance, 0.5), -1.0, 1.0)
            rest, variance = residuals(whole, self.gaps, vote_model)
        low, high = np.triu_indices(K, 1)
        self.map = np.zeros((K, K, len(low)))
        scale = 1 / np.sqrt(np.maximum(variance[low, high], 1e-9))
        self.map[low, high, np.arange(len(low))] = scale
        self.map[high, low, np.arange(len(low))] = -scale

    def of_pairs(self, a: Ints, b: Ints) -> Floats:
        """Return (len(a), D) the direction of a win of a over b."""
        result: Floats = self.map[a] - self.map[b] if self.by_option else self.map[a, b]
        return result


def _largest(scores: Floats, share: Floats) -> Floats:
    """Return the largest value over all splits; the argument `scores` (..., B, D) is cumulated."""
    before = np.cumsum(scores, axis=-2)
    # A split at a share f of the votes has variance f (1 - f).
    usable = (share > _EDGE) & (share < 1 - _EDGE)
    spread = np.where(usable, share * (1 - share), np.inf)
    size = ((before - share[..., None] * before[..., -1:, :]) ** 2).sum(axis=-1)
    result: Floats = (size / spread).max(axis=-1)
    return result


def _by_votes(
    votes: Floats, tied: Floats, basis: _Basis, rng: np.random.Generator, orders: int
) -> tuple[float, Floats]:
    """Return the statistic, and its values with the wins of each pair on random votes."""
    a, b, wins, size, p = _strata(votes, tied, basis)
    share = np.cumsum(size.sum(axis=1)) / size.sum()
    expected = size * p
    scores = _scores(a, b, expected, basis)
    observed = float(_largest(scores(wins), share))
    if len(a) <= _MOST_STRATA:
        # The orders are processed in batches that fit into memory.
        at_once = max(1, _MOST_NUMBERS // size.size)
        sizes = [min(at_once, orders - done) for done in range(0, orders, at_once)]
        others = [_largest(scores(_deal_wins(wins, size, rng, some)), share) for some in sizes]
        return observed, np.concatenate(others)
    orders = min(orders, _FEWER_ORDERS)
    return observed, np.array(
        [_largest(scores(dealt), share) for dealt in _shuffle_wins(wins, size, rng, orders)]
    )


def _scores(a: Ints, b: Ints, expected: Floats, basis: _Basis) -> Callable[[Floats], Floats]:
    """Return the function from wins (..., B, S) of pairs a, b to scores (..., B, D)."""
    if not basis.by_option or len(a) <= _MOST_STRATA:
        directions = basis.of_pairs(a, b)
        return lambda wins: (wins - expected) @ directions
    # Many pairs: first sum over the pairs of each option, which is a sparse product.
    from scipy.sparse import csr_array

    each = np.arange(len(a))
    ones = np.ones(len(a))
    incidence = csr_array(
        (np.concatenate((ones, -ones)), (np.concatenate((each, each)), np.concatenate((a, b)))),
        shape=(len(a), len(basis.map)),
    )
    return lambda wins: ((wins - expected) @ incidence) @ basis.map


def _strata(
    votes: Floats, tied: Floats, basis: _Basis
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return pairs by place: options, decided wins and votes (B, S), expected share of wins.

    Without a first-place advantage both places of a pair are one stratum.
    """
    K, h = votes.shape[-1], basis.vote_model.first_place
    ahead, behind = votes[:, 0], votes[:, 1]
    if h == 0.0:
        a, b = np.triu_indices(K, 1)
        wins = ahead + behind
        size = wins + wins.transpose(0, 2, 1)
        ties = tied
    else:
        a, b = np.nonzero(~np.eye(K, dtype=np.bool_))
        wins, size = ahead, ahead + behind.transpose(0, 2, 1)
        both = size + size.transpose(0, 2, 1)
        ties = tied * size / np.maximum(both, 1e-300)
    wins, size = (wins - ties / 2)[:, a, b], (size - ties)[:, a, b]
    some = size.sum(axis=0) > 0
    a, b, wins, size = a[some], b[some], wins[:, some], size[:, some]
    # Limit the total weight to the number of votes that can be dealt.
    scale = max(1.0, size.sum() / (_MOST_DEALT if len(a) <= _MOST_STRATA else _MOST_SHUFFLED))
    size = np.rint(size / scale)
    wins = np.clip(np.rint(wins / scale), 0.0, size)
    return a, b, wins, size, 1 / (1 + np.exp(-(basis.gaps[a, b] + h)))


def _deal_wins(ahead: Floats, votes: Floats, rng: np.random.Generator, orders: int) -> Floats:
    """Return (orders, B, S) wins; the wins of each stratum are assigned to random votes."""
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


def _shuffle_wins(
    wins: Floats, size: Floats, rng: np.random.Generator, orders: int
) -> Iterator[Floats]:
    """Yield (B, S) wins in random order, vote by vote; for many strata with few votes."""
    from driftduel.logs._kernels import select_wins

    counts = size.T.astype(np.int64)
    total = wins.sum(axis=0).astype(np.int64)
    for _ in range(orders):
        out = np.zeros((len(counts), counts.shape[1]))
        select_wins(counts, total, rng.random(int(counts.sum())), out)
        yield out.T


def _by_groups(
    groups: Groups,
    first: int,
    shares: Floats,
    places: Ints,
    basis: _Basis,
    rng: np.random.Generator,
    orders: int,
) -> tuple[float, Floats]:
    """Return the statistic, and its values with groups moved or given a random sign."""
    inside = (groups.bin >= first) & (groups.bin < first + len(shares))
    dimensions = basis.map.shape[-1]
    if inside.sum() * dimensions > _MOST_ROWS:  # whole groups; their ids are hash values
        kept = _MOST_ROWS / (inside.sum() * dimensions)
        inside &= rng.random(len(groups.ids))[groups.group] < kept
    ids, group = np.unique(groups.group[inside], return_inverse=True)
    if len(ids) < 4:
        return 0.0, np.zeros(orders)
    wins, bins = groups.wins[inside], groups.bin[inside] - first
    winner, loser = groups.winner[inside], groups.loser[inside]
    surprise = wins * (1 - shares[bins, winner, loser])
    # One row for each group and place: the deviation of its votes, and their number.
    cell, row = np.unique(group * _PLACES + places[bins], return_inverse=True)
    of_row, place = cell // _PLACES, cell % _PLACES
    deviation = np.zeros((len(cell), dimensions))
    np.add.at(deviation, row, surprise[:, None] * basis.of_pairs(winner, loser))
    size = np.bincount(row, wins, len(cell))
    spans = (np.bincount(of_row, minlength=len(ids)) > 1)[of_row]

    whole, weight = np.zeros((len(ids), dimensions)), np.bincount(of_row, size, len(ids))
    np.add.at(whole, of_row, deviation)
    level = whole[of_row] * (size / weight[of_row])[:, None]
    change = np.where(spans[:, None], deviation - level, 0.0)
    fixed, fixed_size = np.zeros((_PLACES, dimensions)), np.zeros(_PLACES)
    np.add.at(fixed, place[spans], level[spans])
    np.add.at(fixed_size, place[spans], size[spans])

    moved = np.flatnonzero(~spans)
    moved = moved[np.argsort(place[moved], kind="stable")]
    slots = place[moved]
    by_place = [np.flatnonzero(spans & (place == at)) for at in range(_PLACES)]
    observed, others = 0.0, np.empty(orders)
    for start in range(-1, orders, _SIGNS):
        # The first "order" is the observed one: all signs are +1 and no group moves.
        count = min(_SIGNS, orders - start)
        signs = rng.choice((-1.0, 1.0), size=(count, len(ids)))
        if start < 0:
            signs[0] = 1.0
        flipped = np.stack([signs[:, of_row[rows]] @ change[rows] for rows in by_place], axis=1)
        for i in range(count):
            order = moved if start + i < 0 else moved[rng.permutation(len(moved))]
            sums, sizes = fixed + flipped[i], fixed_size.copy()
            np.add.at(sums, slots, deviation[order])
            np.add.at(sizes, slots, size[order])
            value = float(_largest(sums, np.cumsum(sizes) / sizes.sum()))
            if start + i < 0:
                observed = value
            else:
                others[start + i] = value
    return observed, others
