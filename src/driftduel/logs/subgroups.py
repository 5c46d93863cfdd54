"""Differences between subgroups of votes: by language, by topic, by prompt, by judge.

Two questions have different answers. "Does the tag matter?" is a hypothesis with an anytime-valid
e-value (`tag_evidence`), so that the answer may be read daily. "Where does an option lose?" is a
description: shares per subgroup, shrunk towards the whole (`option_shares`), and pairs whose order
is reversed in a subgroup (`reversed_pairs`).

The e-value of a pair is a universal-inference ratio (Wasserman, Ramdas and Balakrishnan, 2020):

    E = prod_t q(y_t | subgroup, earlier votes) / max over p and a cut of the likelihood of y

The numerator predicts each decided vote from the earlier votes of its subgroup, shrunk towards the
pair. It is a mixture over weights of the shrinkage, and over predictions that start again after a
fixed number of votes, because preferences may have changed. The denominator is the largest
likelihood of all votes of the pair without subgroups, with at most one change at an unknown time,
so that a change of tastes is not mistaken for a difference between subgroups that were asked at
different times.

The evidence for a tag is the sum of weight times E over all pairs, where E = 1 for a pair without
votes. Proof of its validity: if the tag does not matter, E of pair i is at most M_i, the ratio of
the numerator to the likelihood of the true shares. M_i starts at 1, changes with the votes of its
pair only, and is a martingale, for pairs and tags chosen from the past in any way. Hence the sum of
weight times M_i over all pairs is a nonnegative martingale that starts at 1, if the weights are
fixed before the first vote of their pair and their sum is at most 1. By Ville's inequality, it ever
reaches 1 / alpha with probability at most alpha. A mean over the pairs with votes is no such sum:
its weights change when a pair gets its first vote.

The weights are those of `pair_weights`. Without later options all pairs have equal weights.
Otherwise the pairs of the first options share 1/2, and the option that joins m-th brings
1 / (2 m (m + 1)), shared by its pairs with earlier options; the sum over all m is 1/2.

Assumptions: votes are independent given pair, subgroup and time; each pair changed at most once;
the value of a tag does not depend on the pick. Callers therefore pass one vote per voter, pair and
subgroup where voters return, and name the pairs that certainly changed more than once, which then
contribute 0.

References
----------
L. Wasserman, A. Ramdas, S. Balakrishnan, Universal inference, PNAS 117, 2020. J. Ville, Etude
critique de la notion de collectif, 1939. B. Efron, C. Morris, Data analysis using Stein's
estimator, JASA 70, 1975 (shrinkage).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel.evidence import ALPHA

__all__ = [
    "SEVERAL",
    "OptionShare",
    "ReversedPair",
    "TaggedVotes",
    "largest_likelihoods",
    "option_shares",
    "pair_weights",
    "reversed_pairs",
    "tag_evidence",
    "tag_matters",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEVERAL = " + "
"""The text between the values of a tag with several values, as in an arena export."""

# Prior weights, in votes, of the pair's share in the prediction for a subgroup.
_WEIGHTS = np.array([1.0, 4.0, 16.0, 64.0])
# Numbers of votes of a pair at which a prediction may start again, for one change of the pair.
_RESTARTS = tuple(round(16 * 2 ** (step / 2)) for step in range(24))
# Standard deviations of the differences between subgroups, as logits; the data weight them.
_SPREADS = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
_LOGITS = np.linspace(-4.0, 4.0, 161)
_CENTRES = np.linspace(-3.0, 3.0, 25)  # in standard errors of an option's overall logit
_UNDERFLOW = 1e-300
_LEVEL = 0.95
_Z = 1.6448536269514722  # quantile of the normal distribution at _LEVEL
_LEAST_VOTES = 10  # of a pair in a subgroup before an order is called reversed


class _Cells(NamedTuple):
    """Counts of each pair in each subgroup with votes, sorted by pair, then by value."""

    pair: Ints
    """Index of the pair."""
    value: Ints
    wins: Floats
    """Wins of the pair's lower option; a tie counts 1/2."""
    votes: Floats


@dataclass(frozen=True)
class TaggedVotes:
    """Votes with a tag, in order of time.

    Parameters
    ----------
    names
        The options.
    values
        The values of the tag.
    low, high
        (n,) the two options of each vote, ``low < high``.
    won
        (n,) the share of the win of `low`: 1, 0, or 1/2 for a tie.
    value
        (n,) the index of the tag's value.
    joined
        (K,) 0 for an option that was present before the first vote, m for the one that joined m-th
        later. None: the set of options was fixed before the first vote.
    first
        The number of options before the first vote, with those that are not among `names`; by
        default the number of names for which `joined` is 0.
    """

    names: Sequence[str]
    values: Sequence[str]
    low: Ints
    high: Ints
    won: Floats
    value: Ints
    joined: Ints | None = None
    first: int | None = None

    def __len__(self) -> int:
        return len(self.low)

    @property
    def pair(self) -> Ints:
        """(n,) the number of the pair of each vote."""
        return self.low * len(self.names) + self.high

    @cached_property
    def pairs(self) -> Ints:
        """(P, 2) the pairs with votes."""
        return np.stack(np.divmod(np.unique(self.pair), len(self.names)), axis=1)

    @cached_property
    def cells(self) -> _Cells:
        """Counts of each pair in each subgroup with votes."""
        _, pair = np.unique(self.pair, return_inverse=True)
        found, cell = np.unique(pair * len(self.values) + self.value, return_inverse=True)
        wins: Floats = np.bincount(cell, self.won, len(found)).astype(np.float64)
        votes: Floats = np.bincount(cell, minlength=len(found)).astype(np.float64)
        return _Cells(*np.divmod(found, max(1, len(self.values))), wins, votes)

    def each_value(self) -> "TaggedVotes":
        """Return the votes by single values: one with the value ``a + b`` counts for a and b."""
        parts = [value.split(SEVERAL) for value in self.values]
        singles = sorted({single for part in parts for single in part})
        if len(singles) == len(parts) and all(len(part) == 1 for part in parts):
            return self
        place = {single: at for at, single in enumerate(singles)}
        lengths = np.array([len(part) for part in parts], np.int64)
        flat = np.array([place[each] for part in parts for each in part], np.int64)
        starts = np.cumsum(lengths) - lengths
        times = lengths[self.value]
        row = np.repeat(np.arange(len(self)), times)
        within = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
        return replace(
            self,
            values=tuple(singles),
            low=self.low[row],
            high=self.high[row],
            won=self.won[row],
            value=flat[starts[self.value[row]] + within],
        )


# ---- does the tag matter? ----


def pair_weights(pairs: Ints, first: int, joined: Ints | None = None) -> Floats:
    """Return the weights (P,) of pairs (P, 2) in the evidence; over all pairs they sum to 1.

    Parameters
    ----------
    pairs
        Pairs of options.
    first
        The number of options before the first vote.
    joined
        (K,) the order of joining, as in `TaggedVotes`.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> pair_weights(pairs, 3).tolist() == [1 / 3] * 3
    True
    >>> pair_weights(pairs, 2, np.array([0, 0, 1])).tolist()
    [0.5, 0.125, 0.125]
    """
    at_first = 2.0 / max(1, first * (first - 1))
    if joined is None:
        return np.full(len(pairs), at_first)
    m = joined[pairs].max(axis=1)
    weights: Floats = np.where(
        m == 0, at_first / 2, 0.5 / (np.maximum(m, 1) * (m + 1.0) * (first + m - 1.0))
    )
    return weights


def tag_evidence(votes: TaggedVotes, changed_often: Collection[tuple[int, int]] = ()) -> float:
    """Return the log of the evidence that preferences depend on the tag, see the module's notes.

    Ties are not counted: the statement is about decided votes.

    Parameters
    ----------
    votes
        Votes with the tag.
    changed_often
        Pairs, the lower option first, that changed more than once. They contribute nothing.
    """
    decided = votes.won != 0.5
    pair = votes.pair[decided]
    if not len(pair):
        return 0.0
    order = np.argsort(pair, kind="stable")
    won, value = votes.won[decided][order] > 0, votes.value[decided][order]
    numbers, index = np.unique(pair[order], return_inverse=True)
    pairs = np.stack(np.divmod(numbers, len(votes.names)), axis=1)
    logs = _log_e_values(won, index, index * len(votes.values) + value)
    left_out = [tuple(each) in changed_often for each in pairs.tolist()]
    logs[left_out] = -np.inf
    first = votes.first
    if first is None:
        first = len(votes.names) if votes.joined is None else int((votes.joined == 0).sum())
    return _weighted_sum(logs, pair_weights(pairs, first, votes.joined))


def _weighted_sum(logs: Floats, weights: Floats) -> float:
    """Return the log of the sum of weighted e-values; pairs without votes have the value 1."""
    unseen = max(0.0, 1.0 - float(weights.sum()))
    without = math.log(unseen) if unseen > 1e-12 else -math.inf
    return float(np.logaddexp(np.logaddexp.reduce(np.log(weights) + logs), without))


def tag_matters(log_e: float) -> bool:
    """Return whether the evidence suffices for the statement at the error level `ALPHA`."""
    return log_e >= -math.log(ALPHA)


def _log_e_values(won: Bools, pair: Ints, subgroup: Ints) -> Floats:
    """Return the log e-value of each pair from its decided votes.

    Parameters
    ----------
    won
        (n,) whether the lower option won; sorted by pair, then by time.
    pair
        (n,) the index of the pair, ascending.
    subgroup
        (n,) a number for each pair and value of the tag.
    """
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    at = np.arange(len(won)) - starts[pair]  # position within the pair
    before: Ints = np.concatenate(([0], np.cumsum(won)))
    # The same within subgroups: sorted by subgroup, then by position.
    order = np.argsort(subgroup, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(won))
    keys = subgroup[order] * (len(won) + 1) + at[order]
    before_in_group: Ints = np.concatenate(([0], np.cumsum(won[order])))

    def predict(rows: Ints, restart: int) -> Floats:
        """Return the log probabilities (weights, rows) from the votes since a restart."""
        first = starts[pair[rows]] + restart
        # The share of the pair before each vote, with half a win and half a loss as a prior.
        share = (before[rows] - before[first] + 0.5) / (at[rows] - restart + 1.0)
        begin = np.searchsorted(keys, subgroup[rows] * (len(won) + 1) + restart)
        votes = place[rows] - begin
        wins = before_in_group[place[rows]] - before_in_group[begin]
        chance = (wins + _WEIGHTS[:, None] * share) / (votes + _WEIGHTS[:, None])
        logs: Floats = np.log(np.where(won[rows], chance, 1.0 - chance))
        return logs

    every = np.arange(len(won))
    constant = predict(every, 0)
    scores = np.add.reduceat(constant, starts, axis=1)
    terms = np.logaddexp.reduce(scores) - math.log(2 * len(_WEIGHTS))
    for restart in _RESTARTS:
        rows = every[at >= restart]
        change = predict(rows, restart) - constant[:, rows]
        sums = [np.bincount(pair[rows], each, len(starts)) for each in change]
        part = np.logaddexp.reduce(scores + sums) - math.log(2 * len(_WEIGHTS) * len(_RESTARTS))
        terms = np.logaddexp(terms, part)
    e_values: Floats = terms - largest_likelihoods(won, pair)
    return e_values


def largest_likelihoods(won: Bools, pair: Ints) -> Floats:
    """Return, for each pair, the largest log likelihood of its votes with at most one change.

    Parameters
    ----------
    won, pair
        (n,) whether the lower option won, and the index of the pair; sorted by pair, then by time.
    """
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    total, wins = _earlier(pair, won)
    # A change before any vote; one before the first vote is none.
    size = np.diff(starts, append=len(won))
    all_wins = np.add.reduceat(won.astype(np.int64), starts)
    largest = _log_likelihood(wins, total) + _log_likelihood(
        all_wins[pair] - wins, size[pair] - total
    )
    best: Floats = np.maximum.reduceat(largest, starts)
    return best


def _earlier(key: Ints, won: Bools) -> tuple[Ints, Ints]:
    """Return the number of earlier votes with the same key, and the wins among them."""
    order = np.argsort(key, kind="stable")
    new = np.flatnonzero(np.diff(key[order], prepend=-1))
    start = np.repeat(new, np.diff(new, append=len(key)))
    before: Ints = np.cumsum(won[order]) - won[order]
    votes, wins = np.empty_like(key), np.empty_like(key)
    votes[order] = np.arange(len(key)) - start
    wins[order] = before - before[start]
    return votes, wins


def _log_likelihood(wins: Ints, votes: Ints) -> Floats:
    """Return the largest log likelihood of this many wins."""

    def part(count: Ints) -> Floats:
        return np.where(count > 0, count * np.log(np.maximum(count, 1) / np.maximum(votes, 1)), 0.0)

    return part(wins) + part(votes - wins)


# ---- where does an option lose? ----


@dataclass(frozen=True)
class OptionShare:
    """The share of votes that an option wins in one subgroup, against the rivals it met there."""

    option: str
    value: str
    votes: int
    share: float
    """Shrunk estimate; ties count half."""
    low: float
    """Lower end of the 95% interval."""
    high: float
    overall: float
    """The share expected from all subgroups, against the same rivals."""


@dataclass(frozen=True)
class ReversedPair:
    """A pair whose order in one subgroup is the opposite of the overall order."""

    value: str
    better: str
    """The option that is preferred overall."""
    worse: str
    votes: int
    """Votes of the pair in the subgroup."""
    overall: float
    """Share of `better` over all subgroups."""
    share: float
    """Share of `better` in the subgroup, shrunk towards the overall share."""
    probability: float
    """Posterior probability that the order is reversed in the subgroup."""


def option_shares(votes: TaggedVotes, options: Collection[int] | None = None) -> list[OptionShare]:
    """Return the share of each option in each subgroup, shrunk towards the whole.

    The logit of a pair in a subgroup is the pair's logit plus the option's difference in that
    subgroup. Differences of an option are normal with an unknown centre and an unknown spread,
    over which the posterior averages: options without differences between subgroups keep their
    overall share.

    Parameters
    ----------
    votes
        Votes with the tag.
    options
        Indices of the options to return; None: all.
    """
    cells, (base, _) = votes.cells, _base_logits(votes)
    shares = []
    for option, name in enumerate(votes.names):
        if options is not None and option not in options:
            continue
        with_option = (votes.pairs == option).any(axis=1)[cells.pair]
        if not with_option.any():
            continue
        mine = np.flatnonzero(with_option)
        mine = mine[np.argsort(cells.value[mine], kind="stable")]
        pair, met = cells.pair[mine], cells.votes[mine]
        is_low = votes.pairs[pair, 0] == option
        won = np.where(is_low, cells.wins[mine], met - cells.wins[mine])
        logit = np.where(is_low, base[pair], -base[pair])
        values, starts = np.unique(cells.value[mine], return_index=True)
        count = np.add.reduceat(met, starts)
        fits = np.add.reduceat(_log_likelihoods(won, met, logit), starts)
        total = won.sum() + 0.5
        error = math.sqrt(1.0 / total + 1.0 / (met.sum() + 1.0 - total))
        posterior = _pooled_posterior(fits, error)
        by_logit = np.add.reduceat(met[:, None] * _chance(logit[:, None] + _LOGITS), starts)
        by_logit /= count[:, None]
        overall = np.add.reduceat(met * _chance(logit), starts) / count
        means = (posterior * by_logit).sum(axis=1)
        for row, value in enumerate(values.tolist()):
            low, high = _interval(by_logit[row], posterior[row])
            shares.append(
                OptionShare(
                    name, votes.values[value], int(count[row]), float(means[row]), low, high,
                    float(overall[row]),
                )
            )  # fmt: skip
    return shares


def reversed_pairs(votes: TaggedVotes) -> list[ReversedPair]:
    """Return the pairs whose order is probably reversed in a subgroup, most probable first.

    The overall order must be probable itself, or be the order in another subgroup. Subgroups with
    fewer than 10 votes of a pair are left out. A row is a description, not a statement with an
    error rate: many pairs and subgroups are examined. `tag_evidence` is the test.
    """
    cells, (base, error) = votes.cells, _base_logits(votes)
    some = cells.votes >= _LEAST_VOTES
    if not some.any():
        return []
    pair, value = cells.pair[some], cells.value[some]
    wins, count = cells.wins[some], cells.votes[some]
    sign = np.where(base >= 0, 1.0, -1.0)
    posterior = _pooled_posterior(_log_likelihoods(wins, count, base[pair]))
    chance = _chance(sign[pair, None] * (base[pair, None] + _LOGITS))
    opposite = np.minimum(1.0, (posterior * (chance < 0.5)).sum(axis=1))  # rounding
    ordered = np.abs(base) >= _Z * error
    np.logical_or.at(ordered, pair, 1.0 - opposite >= _LEVEL)
    shares = (posterior * chance).sum(axis=1)
    found = []
    for row in np.flatnonzero((opposite >= _LEVEL) & ordered[pair]):
        better, worse = votes.pairs[pair[row]][:: int(sign[pair[row]])]
        found.append(
            ReversedPair(
                votes.values[value[row]], votes.names[better], votes.names[worse],
                int(count[row]), float(_chance(abs(base[pair[row]]))),
                float(shares[row]), float(opposite[row]),
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: -each.probability)


def _base_logits(votes: TaggedVotes) -> tuple[Floats, Floats]:
    """Return the logit of each pair over all subgroups, and its standard error.

    Half a win and half a loss are added.
    """
    cells, size = votes.cells, len(votes.pairs)
    won = np.bincount(cells.pair, cells.wins, size) + 0.5
    lost = np.bincount(cells.pair, cells.votes, size) + 1.0 - won
    return np.log(won / lost), np.sqrt(1.0 / won + 1.0 / lost)


def _chance(logit: Floats) -> Floats:
    """Return the probabilities of logits."""
    chance: Floats = 1.0 / (1.0 + np.exp(-logit))
    return chance


def _log_likelihoods(wins: Floats, counts: Floats, base: Floats) -> Floats:
    """Return the (units, logits) log likelihoods of differences from the base logit."""
    logit = base[:, None] + _LOGITS
    win, loss = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
    fits: Floats = wins[:, None] * win + (counts - wins)[:, None] * loss
    return fits


def _pooled_posterior(fits: Floats, error: float = 0.0) -> Floats:
    """Return the posterior of each unit's difference on the grid of logits.

    The units (rows of `fits`, log likelihoods) share one unknown spread of a normal prior, and one
    unknown centre within three standard errors of 0; `error` is the standard error.
    """
    centres = error * _CENTRES if error > 0.0 else np.zeros(1)
    priors = -0.5 * ((_LOGITS - centres[:, None]) / _SPREADS[:, None, None]) ** 2
    priors = np.exp(priors - np.logaddexp.reduce(priors, axis=2, keepdims=True))
    priors = priors.reshape(-1, len(_LOGITS))
    likelihood = np.exp(fits - fits.max(axis=1, keepdims=True))
    # (priors, units); a matrix product, because the array (priors, units, logits) can be large.
    evidence = np.maximum(priors @ likelihood.T, _UNDERFLOW)
    weight = np.log(evidence).sum(axis=1)
    weight = np.exp(weight - np.logaddexp.reduce(weight))
    posterior: Floats = ((weight[:, None] / evidence).T @ priors) * likelihood
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def _interval(values: Floats, probabilities: Floats) -> tuple[float, float]:
    """Return the central 95% interval of ascending values with these probabilities."""
    total = np.cumsum(probabilities)
    edge = (1.0 - _LEVEL) / 2
    low, high = np.interp((edge, 1.0 - edge), total, values)
    return float(low), float(high)
