"""Evidence that features of the requests predict preferences, and what routing by them would gain.

*Do features help?* If they do not, each vote of a pair is independent of its request. The votes of
a pair are therefore taken in blocks (4, 8, then 16 votes). Given the number w of wins in a block of
m votes, all sets of w votes are equally probable, whatever the strength of the options is. Filters
that have learned the earlier blocks predict odds r_i for the requests of the block, and

    e = prod over wins of r_i / (mean over all sets S of w votes of prod over S of r_i)

has the mean 1. The product of e over blocks is a martingale that starts at 1; so is a mixture of
such products over filters, and by Ville's inequality it ever reaches 1 / alpha with probability at
most alpha. No parameter of the null hypothesis is estimated, so nothing is paid for many options,
and preferences need not follow a utility model.

A change within a block matters only if requests change with it: otherwise the requests of the block
are exchangeable, and e has the mean 1 again. Against one common change of preferences *and*
requests the evidence is the least value after all blocks around any one time are left out. For the
true time, the product without these blocks is a martingale, so the least value is valid.

This needs pairs that do not depend on earlier votes. For a log with chosen pairs the evidence is a
universal-inference ratio, as in `subgroups`: predictions of the filters against the largest
likelihood without requests, in which each pair changes at most once.

*Prior scales.* A request is scaled to length 1. The filters of a design differ in the standard
deviation of the utilities that depend on the request, so that small differences are found as well.

References
----------
L. Wasserman, A. Ramdas, S. Balakrishnan, Universal inference, PNAS 117, 2020. R. Turner, A. Ly,
P. Gruenwald, Generic E-variables for exact sequential k-sample tests, 2021 (blocks).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.intervals import student
from driftduel.errors import DriftduelError
from driftduel.evidence import ALPHA, log_stakes, starting_votes, threshold
from driftduel.logs.feature_votes import FeatureColumn, FeatureVotes
from driftduel.logs.subgroups import largest_likelihoods
from driftduel.policies import DEVIATION, NO_MEMORY, check_coefficients

__all__ = [
    "CHANGES", "DependenceChange", "Evidence", "RoutingGain", "check_prices",
    "dependence_changes", "feature_evidence", "prior_factor", "request_blocks", "routing_gain",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHANGES = 1
"""Number of common changes of preferences and requests for which the evidence is valid."""
SCALES = (0.15, 0.5, 1.5)
"""Prior standard deviations of the part of a utility that depends on the request."""
_SIZES = (4, 8, 16)
_CELLS = 512
_LOOKS = 32
_MEMORIES = (20.0, 125.0)  # times the number of coefficients
_SETTLED = 5  # votes for each coefficient before the first stake
_TEST_BLOCKS = 20
_TRAINING = 0.1  # share of the votes before the first prediction that counts
_STEPS = 25


def prior_factor(options: int, size: int, scale: float, *, one_hot: bool) -> Floats:
    """Return the factor S of the prior covariance S S^T of all coefficients.

    The constant has the standard deviation of the filters' prior. A one-hot request has no
    constant: the coefficients of an option have a common part with that standard deviation.
    """
    if one_hot:
        covariance = DEVIATION**2 + scale**2 * np.eye(size)
        part = np.linalg.cholesky(covariance)
    else:
        part = np.diag([DEVIATION] + [scale] * (size - 1))
    return np.kron(np.eye(options), part)


class _Design(NamedTuple):
    """A choice of features, with filters of several prior scales."""

    x: Floats
    mean: Floats
    factor: Floats

    @property
    def work(self) -> Floats:
        return np.zeros(self.mean.shape[1])


def _design(votes: FeatureVotes, chosen: Sequence[FeatureColumn]) -> _Design:
    shape, K = votes.shape(chosen), len(votes.names)
    scales = SCALES if chosen else (DEVIATION,)
    factors = [prior_factor(K, shape.size, scale, one_hot=shape.one_hot) for scale in scales]
    return _Design(
        votes.requests(chosen), np.zeros((len(scales), K * shape.size)), np.stack(factors)
    )


def _numbers(votes: FeatureVotes) -> tuple[Ints, Ints, Ints]:
    return votes.low, votes.high, votes.won.astype(np.int64)


# ---- do features help? ----


@dataclass(frozen=True)
class Evidence:
    """Log e-values at the end of the log, and the largest so far, for all features and for each."""

    log_e: float
    largest: float
    """The largest log e-value at any of the looks; the claim is about this."""
    alone: Floats
    """(p,) the largest log e-value of each feature alone."""
    required: float
    """Log e-value that a single feature needs."""

    @property
    def matters(self) -> bool:
        """Whether preferences depend on the features."""
        return self.largest >= -math.log(ALPHA)

    @property
    def which(self) -> NDArray[np.bool_]:
        """(p,) whether preferences depend on each feature."""
        return self.alone >= self.required


def request_blocks(votes: FeatureVotes) -> tuple[Ints, Ints, Ints]:
    """Return the votes block by block, and the begin and the end of each block in that order.

    Blocks are in the order of their last votes. The last, incomplete block of a pair is left out.
    """
    order = np.argsort(votes.pair, kind="stable")
    starts = np.flatnonzero(np.diff(votes.pair[order], prepend=-1))
    blocks: list[Ints] = []
    for part in np.split(order, starts[1:]):
        at = 0
        for size in _sizes():
            if at + size > len(part):
                break
            blocks.append(part[at : at + size])
            at += size
    blocks.sort(key=lambda block: int(block[-1]))
    ends = np.cumsum([len(block) for block in blocks]).astype(np.int64)
    rows = np.concatenate(blocks) if blocks else np.zeros(0, np.int64)
    return rows, ends - np.array([len(block) for block in blocks], np.int64), ends


def _sizes() -> Any:
    yield from _SIZES
    while True:
        yield _SIZES[-1]


def feature_evidence(votes: FeatureVotes) -> Evidence:
    """Return the evidence that preferences depend on the features, see the module's notes.

    With several features, one half of the mixture is the design with all of them, the other half is
    the designs with one feature each. A feature is named if its e-value reaches 2 p / alpha, so
    that its evidence alone suffices for the statement about all p features.
    """
    check_coefficients(len(votes.names), votes.shape(votes.features))
    p = len(votes.features)
    designs = [[feature] for feature in votes.features]
    if p > 1:
        designs.append(list(votes.features))
    weights = np.full(len(designs), 0.5 / p)
    weights[-1] = 0.5
    if p == 1:
        weights[:] = 1.0
    looks = _looks_of_choices if votes.adaptive else _looks_of_blocks
    # (looks, designs, cells) log e-values without the blocks around each time.
    logs = looks(votes, designs)
    mixed = np.logaddexp.reduce(logs + np.log(weights)[:, None], axis=1).min(axis=1)
    alone = logs.min(axis=2).max(axis=0)[:p]
    required = math.log((2 * p if p > 1 else 1) / ALPHA)
    return Evidence(float(mixed[-1]), float(mixed.max()), alone, required)


def _looks_of_blocks(votes: FeatureVotes, designs: Sequence[Sequence[FeatureColumn]]) -> Floats:
    """Return the log e-values at every look, without the blocks around each of many times."""
    from driftduel.logs._feature_kernels import block_scores

    order, begins, ends = request_blocks(votes)
    first, second, won = _numbers(votes)
    scores = np.zeros((len(designs), len(SCALES), len(ends)))
    for chosen, out in zip(designs, scores, strict=True):
        x, mean, factor = design = _design(votes, chosen)
        odds, sums = np.zeros(_SIZES[-1]), np.zeros(_SIZES[-1] + 1)
        block_scores(first, second, won, x, order, ends, mean, factor, design.work, odds, sums, out)
    n = len(votes)
    cells = min(n, _CELLS)
    # A change in cell c is a change between two votes of which the second one is in the cell.
    from_cell = np.zeros(len(ends), np.int64)
    to_cell = np.zeros(len(ends), np.int64)
    if len(ends):
        from_cell = np.minimum(order[begins] + 1, n - 1) * cells // n
        to_cell = order[ends - 1] * cells // n
    last = order[ends - 1] if len(ends) else np.zeros(0, np.int64)
    result = []
    for look in np.linspace(0, n, _LOOKS + 1)[1:]:
        done = int(np.searchsorted(last, look))
        around = np.zeros((*scores.shape[:2], cells + 1))
        for at in np.ndindex(scores.shape[:2]):
            now = scores[at][:done]
            around[at] += np.bincount(from_cell[:done], now, cells + 1)
            around[at] -= np.bincount(to_cell[:done] + 1, now, cells + 1)
        around = np.cumsum(around, axis=2)[:, :, :cells]
        around = np.concatenate((around, np.zeros((*scores.shape[:2], 1))), axis=2)  # no change
        left = scores[:, :, :done].sum(axis=2)[:, :, None] - around
        result.append(np.logaddexp.reduce(left, axis=1) - math.log(len(SCALES)))
    return np.array(result)


def _looks_of_choices(votes: FeatureVotes, designs: Sequence[Sequence[FeatureColumn]]) -> Floats:
    """Return the log universal-inference ratios at every look, for chosen pairs."""
    from driftduel.logs._feature_kernels import follow_votes

    numbers = _numbers(votes)
    sums = []
    for chosen in designs:
        x, mean, factor = design = _design(votes, chosen)
        scores = np.zeros((len(SCALES), len(votes)))
        follow_votes(
            *numbers, x, mean, factor, design.work, np.zeros(len(SCALES)), np.zeros((0, 0)), scores
        )
        sums.append(np.logaddexp.reduce(np.cumsum(scores, axis=1), axis=0) - math.log(len(SCALES)))
    order = np.argsort(votes.pair, kind="stable")
    result = []
    for look in np.linspace(0, len(votes), _LOOKS + 1)[1:].astype(int):
        if look:
            rows = order[order < look]
            _, pair = np.unique(votes.pair[rows], return_inverse=True)
            largest = float(largest_likelihoods(votes.won[rows], pair).sum())
            result.append([[each[look - 1] - largest] for each in sums])
    return np.array(result)


# ---- did the dependence change? ----


class DependenceChange(NamedTuple):
    """A change of the preferences given the request."""

    vote: int
    """Index of the vote at which the evidence sufficed."""
    since: int
    """Index of the vote at which a filter with a discount began to predict better."""
    evidence: float


def dependence_changes(votes: FeatureVotes) -> list[DependenceChange]:
    """Return the changes of preferences given the request, in order of time.

    A filter without a discount is compared with filters that have one. Stakes on their predictions
    start at many votes, the first one after 5 votes for each coefficient; they sum to at most 1. If
    the filter without forgetting predicts with the true probabilities, the mean wealth is a
    martingale; it does so only approximately, as long as its coefficients are uncertain. Change
    number k needs the evidence k (k + 1) / alpha; then all filters start again at the vote from
    which the better filter has been better.
    """
    from driftduel.logs._feature_kernels import find_change

    x = votes.requests(votes.features)
    size = len(votes.names) * x.shape[1]
    memories = np.array([memory * size for memory in _MEMORIES] + [NO_MEMORY])
    M, numbers = len(memories), _numbers(votes)
    found: list[DependenceChange] = []
    begin = 0
    while begin < len(votes):
        n = len(votes) - begin
        stakes = np.zeros(n)
        at = starting_votes(n).astype(int)
        used = (at >= _SETTLED * size) & (at < n)
        stakes[at[used]] = 2 * np.exp(log_stakes(n))[used]  # no stake on vote 0: it has one half
        row, since, evidence = find_change(
            *numbers, x, begin, stakes, threshold(len(found) + 1), memories, np.zeros((M, size)),
            np.tile(DEVIATION * np.eye(size), (M, 1, 1)), np.zeros(size), np.zeros(M), np.zeros(M),
            np.zeros(M), np.zeros(M, np.int64),
        )  # fmt: skip
        if row < 0:
            break
        since = since if begin < since <= row else row
        found.append(DependenceChange(row, since, evidence))
        begin = since
    return found


# ---- the gain of routing ----


@dataclass(frozen=True)
class RoutingGain:
    """Mean regrets of the best single option and of the router, on votes after the prediction."""

    single: float
    router: float
    gain: float
    """The difference; positive if routing is better."""
    low: float
    """Lower end of the 95% interval."""
    high: float
    slope: float
    """How much of the predicted dependence on the request is seen in later votes; 1: all of it."""
    votes: int

    @property
    def found(self) -> bool:
        """Whether the interval excludes that routing gains nothing."""
        return self.low > 0


def routing_gain(votes: FeatureVotes, prices: Floats | None = None) -> RoutingGain:
    """Return the cross-validated gain of a router over the best single option.

    All predictions are progressive: for each vote, by filters that learned the earlier ones. The
    router shows the option with the greatest utility for the request, after prices; the best single
    option is that of a filter without features. Their regrets are not those of their own
    predictions: the log-odds of later votes are regressed on the predicted difference without
    features, on the part that the request adds, and on whether an option is the one that the router
    or the best single option would show, which corrects the optimism of a choice. The regrets
    follow from these four slopes. A dependence that later votes do not show has the slope 0, and
    routing by it costs regret. The interval is a jackknife over 20 blocks of time.

    Parameters
    ----------
    votes
        The votes.
    prices
        (K,) log-odds.
    """
    price = np.zeros(len(votes.names)) if prices is None else prices
    rows = np.arange(len(votes))
    base, full = _progressive(votes, []), _progressive(votes, votes.features)
    added = full - base
    router, single = (full - price).argmax(axis=1), (base - price).argmax(axis=1)
    shown = [base, added, _indicators(router, base), _indicators(single, base)]
    known = np.stack([each[rows, votes.low] - each[rows, votes.high] for each in shown], axis=1)
    begin = int(_TRAINING * len(votes))
    block = (rows - begin) * _TEST_BLOCKS // (len(votes) - begin)

    def regrets(chosen: NDArray[np.bool_], start: Floats) -> tuple[Floats, Floats]:
        slopes = _slopes(known[chosen], votes.won[chosen], start)
        net = sum(slope * each[chosen] for slope, each in zip(slopes, shown, strict=True)) - price
        best, at = net.max(axis=1), np.arange(len(net))
        of = [net[at, each[chosen]] for each in (single, router)]
        return slopes, np.array([(1 / (1 + np.exp(-(best - v))) - 0.5).mean() for v in of])

    slopes, (by_single, by_router) = regrets(rows >= begin, np.array([1.0, 1.0, 0.0, 0.0]))
    parts = []
    for each in range(_TEST_BLOCKS):
        one, two = regrets((rows >= begin) & (block != each), slopes)[1]
        parts.append(one - two)
    gain = by_single - by_router
    variance = (_TEST_BLOCKS - 1) * float(np.var(parts))
    half = float(student(_TEST_BLOCKS - 1)) * math.sqrt(variance)
    return RoutingGain(
        float(by_single), float(by_router), float(gain), float(gain - half), float(gain + half),
        float(slopes[1]), len(votes) - begin,
    )  # fmt: skip


def _progressive(votes: FeatureVotes, chosen: Sequence[FeatureColumn]) -> Floats:
    """Return the (n, K) utilities for each request, predicted from the earlier votes."""
    from driftduel.logs._feature_kernels import follow_votes

    x, mean, factor = design = _design(votes, chosen)
    utilities = np.zeros((len(votes), len(votes.names)))
    follow_votes(
        *_numbers(votes), x, mean, factor, design.work, np.zeros(len(mean)), utilities,
        np.zeros((len(mean), len(votes))),
    )  # fmt: skip
    return utilities


def _indicators(choice: Ints, like: Floats) -> Floats:
    """Return an array (n, K) of zeros with a one at each choice."""
    table = np.zeros_like(like)
    table[np.arange(len(choice)), choice] = 1.0
    return table


def _slopes(known: Floats, won: NDArray[np.bool_], start: Floats) -> Floats:
    """Return the slopes of a logistic regression without a constant."""
    slopes = start.copy()
    prior, size = np.zeros(len(start)), len(start)
    prior[0] = 1.0
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-(known @ slopes)))
        weight = np.maximum(p * (1 - p), 1e-6)
        # Weakly shrunk: a log in which a prediction is constant has no slope.
        score = known.T @ (won - p) + 1e-3 * (prior - slopes)
        step = np.linalg.solve((known * weight[:, None]).T @ known + 1e-3 * np.eye(size), score)
        slopes += np.clip(step, -1, 1)
        if abs(step).max() < 1e-9:
            break
    return slopes


def check_prices(votes: FeatureVotes, prices: dict[str, float]) -> Floats:
    """Return prices by option as an array; options that are not named cost nothing."""
    from driftduel.specs import near

    for name, price in prices.items():
        if name not in votes.names:
            raise DriftduelError(
                f"the log has no option {name!r} to price; {near(name, list(votes.names))}"
            )
        if not abs(price) <= 100:
            raise DriftduelError(
                f"the price {price!r} of {name!r} must be log-odds between -100 and 100."
            )
    return np.array([prices.get(name, 0.0) for name in votes.names])
