"""Change points of a log: a posterior over all segmentations into stationary stretches.

Every stretch of bins has an *evidence*: the probability of its votes if its preferences are redrawn
from a prior around those of the whole log. Two models are available: *utilities* (Bradley-Terry,
with normal parameters around the whole log's) and *pairs* (each pair independent, Beta around the
whole log's rate). The sum over all segmentations, weighted by a prior, is exact (Fearnhead 2006;
Barry and Hartigan 1993).

"No change" has half of the prior and is scored at the whole log's estimate without a penalty. That
estimate is computed from the same votes: if a single stretch were penalised for a prior around it,
and many short ones were not, many short ones would win in most stationary logs.

With many options, redrawing all utilities at every cut would hide the change of a few. Beyond
`DENSE_OPTIONS` options the model *utilities* therefore lets each option keep its utility or move,
independently of the others, and uses scores at the whole log's utilities. Its cost is linear in the
number of options.

References
----------
P. Fearnhead, Exact and efficient Bayesian inference for multiple changepoint problems, Statistics
and Computing 16, 2006. D. Barry and J. A. Hartigan, A Bayesian analysis for change point problems,
JASA 88, 1993. R. P. Adams and D. J. C. MacKay, Bayesian online changepoint detection, 2007.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.logs.bradley_terry_fit import bradley_terry, dispersion
from driftduel.logs.counts import Counts
from driftduel.logs.lifetimes import units_of_stretches
from driftduel.logs.vote_model import PLAIN, VoteModel, net_wins, residuals, votes_by_place

__all__ = [
    "DENSE_OPTIONS", "HAZARDS", "MODELS", "SPARSE", "STRENGTHS", "TAUS", "Segmentation",
    "affordable_bins", "cuttings", "segment", "votes_over",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MODELS = ("utilities", "pairs")
TAUS: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Values of the standard deviation of a stretch's utilities around the log's, equally probable."""
SPARSE: tuple[tuple[float, float], ...] = tuple(
    (tau, share) for tau in (0.2, 0.4, 0.8, 1.6) for share in (0.02, 0.1, 0.5)
)
"""With many options: values of the standard deviation, and of the share of options that move."""
DENSE_OPTIONS = 24
"""Largest number of options for which a change redraws all utilities."""
STRENGTHS: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""Values of the prior strength of a pair's rate, in votes, equally probable."""
HAZARDS = (1.0, 3.0, 10.0, 30.0)
"""Values of the expected number of changes in a log that changes, equally probable."""
_POSSIBLE = 1e-4  # least posterior in the first pass of a prior that is used in the second
_SUB_BINS = 40  # sub-bins around each change in the second pass
_MOST_SUB_BINS = 200  # sub-bins around all changes
_OUTSIDE = 160  # bins in the second pass, if there are many sub-bins
_MOST_UNITS = 24  # upper limit of the default of `fewest`

Prior = float | tuple[float, float]


@dataclass(frozen=True)
class Segmentation:
    """The posterior over segmentations of a log at the boundaries of a grid."""

    grid: Ints
    """(B + 1,) fine bins at which the grid's bins begin, and one past the last."""
    model: str
    scale: float
    """The weight of a vote, 1 / phi."""
    still: float
    """P(no change)."""
    evidence: Floats
    """(M, B + 1, B + 1) log evidence of every stretch, for each value of the prior's parameter."""
    cut: Floats
    """(H, B + 1) log prior of a cut at each boundary, for each hazard; 0 at the end."""
    stay: Floats
    """(H, B) sum of the logs of no cut at the boundaries up to each."""
    forward: Floats
    """(M, H, B + 1) log weight of all before a cut, and of the cut."""
    backward: Floats
    """(M, H, B + 1) log weight of all behind a cut."""
    totals: Floats
    """(M, H) log weight of all segmentations with a cut."""
    logz: float
    """Log evidence of the log, without the prior of the plugged-in mean."""
    priors: tuple[Prior, ...] = ()
    """(M,) the parameter values of `evidence`."""

    @property
    def bins(self) -> int:
        """The number of bins, B."""
        return len(self.grid) - 1

    @cached_property
    def weights(self) -> Floats:
        """(M, H) the posterior of prior and hazard in a log that changes."""
        if not np.isfinite(self.totals).any():  # no segmentation with a cut is allowed
            return np.full(self.totals.shape, 1 / self.totals.size)
        prior = self.totals - _log1mexp(self.stay[:, -1])
        weights = np.exp(prior - prior.max())
        share: Floats = weights / weights.sum()
        return share

    def likely_priors(self) -> list[Prior]:
        """Return the parameter values with a non-negligible posterior."""
        possible = self.weights.sum(axis=1) > _POSSIBLE
        return [prior for prior, kept in zip(self.priors, possible, strict=True) if kept]

    @cached_property
    def stretches(self) -> Floats:
        """(B + 1, B + 1) the probability that bins i, ..., j - 1 are a stretch between two cuts.

        The case of no change is not included: it has the probability `still`.
        """
        total = np.zeros((self.bins + 1, self.bins + 1))
        if self.still == 1:
            return total
        for m, h in zip(*np.nonzero(self.weights > 1e-9), strict=True):
            total += self.weights[m, h] * self._stretches_of(m, h)
        return total * (1 - self.still)

    @cached_property
    def _likely(self) -> list[tuple[float, Floats]]:
        """The non-negligible priors, each with its weight and its stretches."""
        pairs = zip(*np.nonzero(self.weights > 1e-3), strict=True)
        return [(float(self.weights[m, h]), self._stretches_of(m, h)) for m, h in pairs]

    def _stretches_of(self, m: int, h: int) -> Floats:
        """Return the value of `stretches` for one prior and hazard, given a change."""
        B = self.bins
        after = self.cut[h] + self.backward[m, h]
        start = self.forward[m, h, :B] - self.stay[h]
        log = start[:, None] + self.evidence[m, :B, 1:] + (self.stay[h] + after[1:])
        chance = np.zeros((B + 1, B + 1))
        chance[:B, 1:] = np.exp(log - self.totals[m, h])
        chance[0, B] = 0.0
        return chance

    @cached_property
    def cut_probability(self) -> Floats:
        """(B + 1,) the probability of a change at each boundary; 0 at both ends."""
        probability: Floats = self.stretches.sum(axis=1)
        probability[0] = 0.0
        return probability

    def changed_within(self, first: int, last: int) -> float:
        """Return the probability of at least one change at the boundaries first, ..., last."""
        none = self.still + self.stretches[:first, last + 1 :].sum()
        return float(np.clip(1 - none, 0.0, 1.0))

    def mode(self) -> Ints:
        """Return the boundaries of the most probable segmentation under the best prior."""
        from driftduel.logs._kernels import best_cuts

        B = self.bins
        if B < 2 or not np.isfinite(self.totals).any():
            return np.empty(0, np.int64)
        m, h = np.unravel_index(np.argmax(self.weights), self.weights.shape)
        best, before = np.empty(B + 1), np.zeros(B + 1, np.int64)
        best_cuts(self.evidence[m], self.cut[h], self.stay[h], best, before)
        cuts, j = [], int(before[B])
        while j > 0:
            cuts.append(j)
            j = int(before[j])
        return np.array(cuts[::-1], np.int64)

    def changes(self, least: float = 0.5) -> list[tuple[int, int, int, float]]:
        """Return the changes, each as a tuple (boundary, low, high, probability).

        The result has the changes of the most probable segmentation, and those between them that
        are probable without a probable position; changes with a probability below the argument
        `least` are removed. The boundaries are divided among the changes at the midpoints; within
        its part, a change has a most probable boundary and a smallest interval, low to high, that
        contains it with 95%.
        """
        cuts = self._with_hidden(self.mode(), least)
        while len(cuts):
            windows = self.windows(cuts)
            chances = np.array([self.changed_within(*window) for window in windows])
            worst = int(chances.argmin())
            if chances[worst] >= least:
                return [
                    (*self._locate_change(*window), float(chance))
                    for window, chance in zip(windows, chances, strict=True)
                ]
            cuts = np.delete(cuts, worst)
        return []

    def _with_hidden(self, cuts: Ints, least: float) -> Ints:
        """Add changes that are spread over too many positions for the best segmentation."""
        while True:
            sets = [self._locate_change(*window)[1:] for window in self.windows(cuts)]
            lows, highs = zip(*sets, strict=True) if sets else ((), ())
            gaps = list(zip((0, *highs), (*lows, self.bins), strict=True))
            chances = [self.changed_within(a + 1, b - 1) if b - a > 1 else 0.0 for a, b in gaps]
            ranked = sorted(zip(chances, gaps, strict=True), reverse=True)
            probable = [gap for chance, gap in ranked if chance >= least]
            places = [self._locate_change(low + 1, high - 1)[0] for low, high in probable]
            # A cut may lie outside the interval of its change, in a gap: it is included already.
            new = [place for place in places if place not in cuts]
            if not new:
                return cuts
            cuts = np.sort(np.append(cuts, new[0]))

    def windows(self, cuts: Ints) -> list[tuple[int, int]]:
        """Return the inner boundaries nearest to each cut, as tuples (first, last)."""
        if not len(cuts):
            return []
        edges = np.concatenate(([0], cuts, [2 * self.bins - cuts[-1]]))
        middles = (edges[1:] + edges[:-1]) // 2
        middles[0] = 0
        return [(int(low) + 1, min(int(high), self.bins - 1)) for low, high in pairwise(middles)]

    def _locate_change(self, first: int, last: int) -> tuple[int, int, int]:
        """Return the most probable boundary, and the ends of its 95% interval."""
        chance = self._single_change(first, last)
        best = first + int(chance.argmax())
        return best, *_shortest(chance, 0.95, first)

    def _single_change(self, first: int, last: int) -> Floats:
        """Return the probability of a change at each of these boundaries and at no other of them.

        A second change nearby, even an improbable one, may be anywhere; it carries no information
        about the position of this one.
        """
        total = np.zeros(last + 1 - first)
        for weight, chance in self._likely:
            ends = chance[:first, first : last + 1].sum(axis=0)
            begins = chance[first : last + 1, last + 1 :].sum(axis=1)
            cuts = chance[first : last + 1].sum(axis=1)
            total += weight * ends * begins / np.maximum(cuts, 1e-300)
        if total.sum() > 0.01 * self.changed_within(first, last):
            return total
        return self.cut_probability[first : last + 1]

    def draw(self, size: int, rng: np.random.Generator) -> list[Ints]:
        """Draw segmentations from the posterior: the boundaries of each, empty without a change."""
        flat = self.weights.ravel()
        chosen = rng.choice(len(flat), size=size, p=flat)
        changing = rng.random(size) >= self.still
        drawn: list[Ints] = []
        for which, changes in zip(chosen, changing, strict=True):
            cuts: list[int] = []
            if changes:
                m, h = np.unravel_index(which, self.weights.shape)
                lead = self.forward[m, h, :-1] - self.stay[h]
                j = self.bins
                while j > 0:
                    log = lead[:j] + self.evidence[m, :j, j]
                    if j == self.bins:
                        log[0] = -np.inf
                    weight = np.cumsum(np.exp(log - log.max()))
                    j = int(np.searchsorted(weight, rng.random() * weight[-1], side="right"))
                    if j > 0:
                        cuts.append(j)
            drawn.append(np.array(cuts[::-1], np.int64))
        return drawn


def _shortest(chance: Floats, level: float, first: int) -> tuple[int, int]:
    """Return the shortest run of positions with the given share of the probability."""
    total = np.concatenate(([0.0], np.cumsum(chance)))
    need = level * total[-1]
    ends = np.searchsorted(total, total[:-1] + need - 1e-12 * total[-1], side="left")
    lengths = np.where(ends < len(total), ends - np.arange(len(chance)), len(chance) + 1)
    low = int(lengths.argmin())
    return first + low, first + int(ends[low]) - 1


def _log1mexp(x: Floats) -> Floats:
    """Return log(1 - exp(x)) for x < 0."""
    result: Floats = np.log(-np.expm1(np.minimum(x, -1e-300)))
    return result


def votes_over(counts: Counts, grid: Ints) -> Floats:
    """Return the (B, 2, K, K) votes by place in the bins of a grid that ends with the log."""
    starts = grid[:-1]
    return votes_by_place(
        np.add.reduceat(counts.wins, starts, axis=0), np.add.reduceat(counts.ahead, starts, axis=0)
    )


def cuttings(
    counts: Counts,
    grid: Ints,
    model: str = "utilities",
    phi: float | None = None,
    fewest: float | None = None,
    votes: Floats | None = None,
    priors: Sequence[Prior] | None = None,
    vote_model: VoteModel = PLAIN,
) -> Segmentation:
    """Return the posterior over segmentations of a log at the boundaries of a grid.

    Parameters
    ----------
    counts
        The log.
    grid
        Fine bins at which the grid's bins begin, and one past the last.
    model
        ``utilities`` (default) or ``pairs``.
    phi
        The dispersion parameter; by default it is estimated.
    fewest
        Minimum number of groups with a vote in a stretch, so that two odd races are not an era; the
        default is the number of options (at most 24) if there are groups.
    votes
        (B, 2, K, K) votes to use instead of the log's own on this grid: those without a part held
        out.
    priors
        The parameter values of the prior to use; by default all. Those omitted have a negligible
        posterior.
    vote_model
        First-place advantage and ties.
    """
    from driftduel.logs._kernels import sum_over_cuts

    if model not in MODELS:
        raise DriftduelError(f"model={model} must be one of {', '.join(MODELS)}.")
    phi = dispersion(counts, vote_model) if phi is None else phi
    if fewest is None:
        fewest = float(min(counts.options, _MOST_UNITS)) if counts.groups is not None else 0.0
    units = units_of_stretches(counts, grid)
    votes = (votes_over(counts, grid) if votes is None else votes) / phi
    B, K = votes.shape[0], votes.shape[2]
    possible: Sequence[Prior] = STRENGTHS
    if model == "utilities":
        possible = TAUS if K <= DENSE_OPTIONS else SPARSE
    priors = tuple(possible if priors is None else priors)
    evidence = np.empty((len(priors), B + 1, B + 1))
    plugged = _fill(evidence, votes, units, fewest, model, priors, vote_model)

    cut, stay = _prior_of_cuts(counts.per_bin(), grid)
    shape = len(priors), len(HAZARDS)
    forward, backward = np.empty((*shape, B + 1)), np.empty((*shape, B + 1))
    totals = np.empty(shape)
    for m, h in np.ndindex(shape):
        totals[m, h] = sum_over_cuts(evidence[m], cut[h], stay[h], forward[m, h], backward[m, h])
    changing = -np.inf
    if B > 1 and np.isfinite(totals).any():
        logs = totals - _log1mexp(stay[:, -1])
        chance = np.exp(logs - logs.max()).sum() / (len(possible) * len(HAZARDS))
        changing = float(logs.max() + np.log(chance))
    logz = float(np.logaddexp(plugged, changing) - np.log(2))
    still = float(np.exp(plugged - np.log(2) - logz))
    return Segmentation(
        grid, model, 1 / phi, still, evidence, cut, stay, forward, backward, totals, logz, priors
    )


def _fill(
    evidence: Floats,
    votes: Floats,
    units: Floats,
    fewest: float,
    model: str,
    priors: Sequence[Prior],
    vote_model: VoteModel,
) -> float:
    """Set `evidence` for each prior; return the log likelihood of the whole log's estimate."""
    from driftduel.logs._kernels import (
        likelihood,
        pairs_evidence,
        sparse_evidence,
        utilities_evidence as dense_evidence,
    )

    B, K = votes.shape[0], votes.shape[2]
    whole = votes.sum(axis=0)
    h, nu = vote_model.first_place, vote_model.ties
    if model == "pairs":
        mean = bradley_terry(whole, model=vote_model)[0]
        net = net_wins(whole, mean[:, None] - mean[None, :], vote_model)
        rate = (net + 0.5) / (net + net.T + 1.0)
        wins = net_wins(votes, np.log(rate / rate.T), vote_model)
        for m, strength in enumerate(priors):
            pairs_evidence(wins, units, fewest, rate, strength, evidence[m], np.empty((K, K)))
        return float((wins.sum(axis=0) * np.log(rate)).sum())
    mean = bradley_terry(whole, model=vote_model)[0]
    if K <= DENSE_OPTIONS:
        room = np.empty((2, K, K)), np.empty(K), np.empty(K), np.zeros((K, K)), np.empty(K)
        for m, tau in enumerate(priors):
            dense_evidence(votes, units, fewest, h, nu, mean, tau, evidence[m], *room)
        return float(likelihood(whole, h, nu, mean))
    gaps = mean[:, None] - mean[None, :]
    scores, information, base = np.empty((B, K)), np.empty((B, K)), np.empty(B)
    for b in range(B):
        rest, variance = residuals(votes[b], gaps, vote_model)
        scores[b], information[b] = rest.sum(axis=1), variance.sum(axis=1)
        base[b] = likelihood(votes[b], h, nu, mean)
    for m, prior in enumerate(priors):
        assert isinstance(prior, tuple)
        sparse_evidence(
            scores, information, base, units, fewest, *prior, evidence[m], np.empty(K), np.empty(K)
        )
    return float(base.sum())


def _prior_of_cuts(per_bin: Floats, grid: Ints) -> tuple[Floats, Floats]:
    """Return the log prior of cuts, per vote: it does not depend on the resolution of the grid."""
    sizes = np.add.reduceat(per_bin, grid[:-1])
    near = (sizes[1:] + sizes[:-1]) / 2
    near = near / near.sum() if len(near) else near
    hazard = np.array(HAZARDS)[:, None] * near
    cut = np.zeros((len(HAZARDS), len(grid)))
    cut[:, 1:-1] = _log1mexp(-hazard)
    cut[:, 0] = -np.inf
    stay = np.zeros((len(HAZARDS), len(grid) - 1))
    stay[:, 1:] = -np.cumsum(hazard, axis=1)
    return cut, stay


def segment(
    counts: Counts,
    model: str = "utilities",
    bins: int = 256,
    phi: float | None = None,
    vote_model: VoteModel = PLAIN,
) -> Segmentation:
    """Detect the changes of a log in two passes, and return a `Segmentation` object.

    A bin that contains a change fits neither side and would become a separate stretch. The second
    pass therefore uses small bins around each change of the first pass.
    """
    phi = dispersion(counts, vote_model) if phi is None else phi
    bins = min(bins, affordable_bins(counts.options))
    first = cuttings(counts, counts.grid(bins), model, phi, vote_model=vote_model)
    changes = first.changes(least=0.2)
    grid = _refine_grid(counts, first.grid, [(low, high) for _, low, high, _ in changes])
    if len(grid) == len(first.grid) and (grid == first.grid).all():
        return first
    priors = first.likely_priors()
    return cuttings(counts, grid, model, phi, priors=priors, vote_model=vote_model)


def affordable_bins(options: int) -> int:
    """Return the number of bins of a first pass.

    The work is about bins^2 K^3 for dense utilities and bins^2 K beyond, where memory is
    bins K^2.
    """
    if options > DENSE_OPTIONS:
        return int(np.clip(256 * 60 / options, 64, 256))
    return int(np.clip(256 * (16 / options), 48, 256))


def _refine_grid(counts: Counts, grid: Ints, around: list[tuple[int, int]]) -> Ints:
    """Return the grid with small bins from one bin before to one bin after each interval."""
    if not around:
        return grid
    each = int(np.clip(_MOST_SUB_BINS // len(around), 8, _SUB_BINS))
    kept = np.ones(len(grid), np.bool_)
    extra: list[Ints] = []
    for low, high in around:
        start, end = max(low - 1, 0), min(high + 1, len(grid) - 1)
        fine = np.arange(grid[start], grid[end] + 1)
        if end - start >= each:
            continue
        if len(fine) > each:
            fine = fine[np.round(np.linspace(0, len(fine) - 1, each + 1)).astype(np.int64)]
            kept[start + 1 : end] = False
        extra.append(fine)
    outside = grid[kept]
    step = max(1, -(-len(outside) // _OUTSIDE)) if len(extra) * each > 80 else 1
    ends = grid[[0, -1]]
    edges = [edge for low, high in around for edge in grid[[max(low - 1, 0), high]]]
    return np.unique(np.concatenate([outside[::step], ends, np.array(edges), *extra]))
