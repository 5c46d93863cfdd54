"""Statements without a model: which option is best now, and which switches are certain.

If an option is the Condorcet winner throughout some time, it wins each of its votes with
probability above 1/2, independent of other changes. Too few wins over one rival therefore exclude
it, and once every option is excluded the winner must have changed.

Ties are not counted. All votes of one group about a pair count as one, which may be won in part.
Where the two places of a pair are filled unequally, both orders count the same (`_face_to_face`).

References
----------
J. Ville, Etude critique de la notion de collectif, 1939. G. Shafer, Testing by betting, JRSS A 184,
2021. Y. J. Choe and A. Ramdas, Comparing sequential forecasters, Operations Research 72, 2024.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftduel.evidence import log_e_value, log_stakes, starting_votes
from driftduel.logs.counts import Counts

__all__ = ["Certificate", "certify", "log_evidence", "pair_votes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_MOST_BINS = 256
_UNEQUAL = 3.0  # standard deviations of fair coins
_MISSED = 7.0  # expected votes before an option's first one that make it a newcomer


# ---- votes of pairs ----


def pair_votes(counts: Counts, grid: Ints) -> Floats:
    """Return (B, 2, K, K) independent decided wins by place, of each stretch of a grid.

    The first of the two is wins while shown first, the second all other wins. All votes of a group
    about a pair are one vote in the bin of the first of them.
    """
    groups = counts.groups
    if groups is None:
        decided = counts.wins - counts.tied / 2
        # Ties are not counted by place; they are taken from both orders in proportion.
        share = np.divide(decided, counts.wins, out=np.zeros_like(decided), where=counts.wins > 0)
        ahead = counts.ahead * share
        votes = np.stack((ahead, decided - ahead), axis=1)
        votes = np.add.reduceat(votes, grid[:-1], axis=0)
        votes /= max(1.0, counts.dispersion_of_weights)
        return votes
    K, B = counts.options, len(grid) - 1
    inside = (groups.bin >= grid[0]) & (groups.bin < grid[-1])
    group, winner, loser = groups.group[inside], groups.winner[inside], groups.loser[inside]
    won, place = groups.wins[inside], np.searchsorted(grid, groups.bin[inside], side="right") - 1
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    about, spoken = np.unique((group * K + low) * K + high, return_inverse=True)
    begins = np.full(len(about), B)
    np.minimum.at(begins, spoken, place)
    # Later bins do not count: a share that changes with later votes is no bet made in advance.
    now = place == begins[spoken]
    total = np.bincount(spoken, np.where(now, won, 0.0), len(about))
    ahead = np.bincount(spoken, np.where(now & (winner == low), won, 0.0), len(about)) / total
    a, b = about // K % K, about % K
    one_vote_each = np.zeros((B, K, K))
    np.add.at(one_vote_each, (begins, a, b), ahead)
    np.add.at(one_vote_each, (begins, b, a), 1 - ahead)
    # The table of groups has no places; they are those of all votes of the same bin and winner.
    won_in_bin = np.add.reduceat(counts.wins, grid[:-1], axis=0)[:B]
    won_first = np.add.reduceat(counts.ahead, grid[:-1], axis=0)[:B]
    share = np.divide(won_first, won_in_bin, out=np.zeros_like(won_first), where=won_in_bin > 0)
    return np.stack((one_vote_each * share, one_vote_each * (1 - share)), axis=1)


def _face_to_face(votes: Floats, both_orders: Bools) -> Floats:
    """Return (..., K, K) wins from votes by place (..., 2, K, K).

    If one of two options is shown first more often than fair coins would, a first-place advantage
    looks like a preference. The more frequent order of such a pair is then weighted down to the
    other one. With mu_1 and mu_2 the expected gain of a vote in either order, an option that is no
    better has mu_1 + mu_2 <= 0, and m votes of each order have E[e] <= exp(x m (mu_1 + mu_2)) <= 1.
    This needs an order that does not depend on outcomes.

    Parameters
    ----------
    votes
        By place, see `pair_votes`.
    both_orders
        (K, K) pairs that the log shows in both orders. All other pairs are compared as shown.
    """
    ahead, behind = votes[..., 0, :, :], votes[..., 1, :, :]
    first = ahead + behind.swapaxes(-1, -2)  # votes with the row's option shown first
    second = first.swapaxes(-1, -2)
    unequal = both_orders & (np.abs(first - second) > _UNEQUAL * np.sqrt(first + second))
    less = np.minimum(first, second)
    weighted = ahead * less / np.maximum(first, 1e-300) + behind * less / np.maximum(second, 1e-300)
    result: Floats = np.where(unequal, weighted, ahead + behind)
    return result


def _shown_in_both_orders(counts: Counts) -> Bools:
    """Return the (K, K) pairs with a relevant order: shown both ways, and not by an arena.

    An arena draws the order of each pair with a fair coin, so that it does not matter there.
    """
    if counts.adaptive or not counts.placed:
        return np.zeros((counts.options, counts.options), np.bool_)
    shown = counts.shown
    both: Bools = (shown > 0) & (shown.T > 0)
    return both


# ---- the best option now ----


def log_evidence(counts: Counts, option: int, since: int, present: Bools) -> float:
    """Return the log evidence that an option beats each other present one since a bin.

    Parameters
    ----------
    counts
        The log.
    option
        The option in question.
    since
        The first fine bin that matters, perhaps chosen from the votes.
    present
        (K,) the options present at the end of the log.

    Notes
    -----
    With a threshold of 20, the probability of ever making a wrong statement is at most 5%, however
    often the growing log is evaluated. A statement is wrong if the named option did not, on average
    over the votes counted, win more than half of its votes against some option present. Three
    choices are made from the votes and paid for.

    *The start.* Evidence starts at one of the fixed `starting_votes`, the first one not before
    `since`, and is multiplied by its stake. The stakes of all starts sum to at most 1.

    *The rival.* The smallest evidence over all rivals counts. Among the rivals present that are no
    worse, take the one that came first. Until an option leaves, every wrong statement about this
    option needs evidence against that one rival, which the votes do not choose. So one e-value
    per option and set of options without departures bounds its wrong statements (Ville).

    *The option.* Let n options and J joins be counted since the start, and d departures.

    - A sum over options and departures gives the factor n (d + 1); 2 for two options, both of which
      would be wrong if they are equally good.
    - Without departures and groups the factor 4 + 2 J is enough. Call b a null rival of a if a is
      no better. Each two options have a null rival among them, so if s options have exactly k null
      rivals each, s (s - 1) / 2 <= s k, or s <= 2 k + 1. A statement about an option with k null
      rivals needs k e-values of different pairs at the same time. Each vote moves one pair only, so
      the product is an e-process, and the probability is at most (stake / c)^k at threshold c. A
      join adds at most 2 k options with k null rivals: those that had k - 1, at most 2 k - 1, and
      the new one. The sum over k of (2 k + 1 + 2 k J) / c^k is below 1 / 20 for c = 20 (4 + 2 J).
      Votes of one group on different pairs are dependent, so this does not hold with groups.

    Both counts assume that, since the start, the better one of two options stays the better one.
    Fine bins limit the resolution: in a log of more events than fine bins, evidence starts with the
    next bin after the starting vote.
    """
    done = np.concatenate(([0.0], np.cumsum(counts.rows_per_bin())))
    done *= counts.votes / done[-1]
    starts = starting_votes(counts.votes)
    which = int(np.searchsorted(starts, round(float(done[since]))))
    rivals = present & (np.arange(counts.options) != option)
    if which >= len(starts) or not present[option] or not rivals.any():
        return -math.inf
    begin = int(np.searchsorted(done, starts[which] - 0.5))
    if begin >= len(counts.wins):
        return -math.inf
    grid = np.arange(begin, len(counts.wins) + 1)
    if counts.groups is None:  # one bin is enough, and takes less memory
        grid = grid[[0, -1]]
    votes = pair_votes(counts, grid).sum(axis=0)
    wins = _face_to_face(votes, _shown_in_both_orders(counts))
    logs = log_e_value(wins[option, rivals], wins[rivals, option])
    stake = float(log_stakes(counts.votes)[which])
    return float(logs.min()) + stake - math.log(_choices(counts, begin, present))


def _choices(counts: Counts, begin: int, present: Bools) -> int:
    """Return the factor for the choice of the option, which divides the evidence.

    See `log_evidence` for its derivation.
    """
    votes = counts.wins.sum(axis=1) + counts.wins.sum(axis=2)
    later = votes[begin:]
    seen = (later > 0).any(axis=0)
    options = int((seen | present).sum())
    departures = int((seen & ~present).sum())
    # An option is a newcomer if its first vote is later than chance explains.
    done = np.cumsum(counts.per_bin()[begin:])
    first = (later > 0).argmax(axis=0)
    waited = done[first] - counts.per_bin()[begin:][first]
    rate = later.sum(axis=0) / np.maximum(done[-1] - waited, 1e-300)
    is_new = seen & ~(votes[:begin] > 0).any(axis=0) & (rate * waited > _MISSED)
    if departures or counts.groups is not None:
        return options * (departures + 1)
    return min(options, 4 + 2 * int(is_new.sum()))


# ---- switches of the winner ----


@dataclass(frozen=True)
class Certificate:
    """Switches of the winner that are certain, up to one minus the level."""

    level: float
    switches: int
    """The winner changed at least this often, if there was one throughout."""
    windows: list[tuple[float, float]]
    """Times between which each switch lies."""
    empty: int = 0
    """Further windows in which the winner changed or there was no Condorcet winner for a while."""


def certify(counts: Counts, level: float = 0.95) -> Certificate:
    """Count switches of the winner without a model.

    All dyadic intervals of bins are examined; every combination of option, rival and interval has
    an equal part of the allowed error. If pairs were chosen by earlier votes (`Counts.adaptive`),
    the number of votes of a pair depends on their outcomes and a binomial tail is not valid; an
    e-value is, and is used there and for fractions of votes.
    """
    grid = counts.grid(_MOST_BINS)
    votes = pair_votes(counts, grid)
    both_orders = _shown_in_both_orders(counts)
    B, K = len(votes), counts.options
    scales = int(np.floor(np.log2(B))) + 1
    # End of the first interval that begins here and excludes the option.
    ends = np.full((K, B), B + 1)
    for scale in range(scales):
        size = 1 << scale
        starts = np.arange(0, B - size + 1, size)
        sums = np.add.reduceat(votes[: len(starts) * size], starts, axis=0)
        allowed = math.log((1 - level) / (scales * len(starts) * (K - 1)))
        few = _too_few(_face_to_face(sums, both_orders), allowed, adaptive=counts.adaptive)
        excluded = np.atleast_2d(few.any(axis=2))
        for i, start in enumerate(starts):
            ends[excluded[i], start] = np.minimum(ends[excluded[i], start], start + size)
    windows: list[tuple[float, float]] = []
    mark = 0
    while mark < B:
        soonest = ends[:, mark:].min(axis=1)  # each option's earliest exclusion since the mark
        end = int(soonest.max())
        if end > B:
            break
        windows.append((float(counts.first[grid[mark]]), float(counts.last[grid[end] - 1])))
        mark = end
    return Certificate(level, len(windows), windows)


def _too_few(wins: Floats, log_allowed: float, *, adaptive: bool) -> Bools:
    """Return whether each value of `wins` is too small for an option that beats its rival."""
    losses = wins.transpose(0, 2, 1)
    if adaptive or not (wins == np.floor(wins)).all():
        return np.asarray(log_e_value(losses, wins) >= -log_allowed)
    from scipy.stats import binom

    return np.asarray(binom.logcdf(wins, wins + losses, 0.5) <= log_allowed)
