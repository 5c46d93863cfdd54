"""The posterior of a log: the best option now, changes, measures, and worlds that resemble it.

A probability stated here is a tempered empirical-Bayes posterior: evidences are Laplace
approximations, the priors are centred on estimates from the same log, and counts are divided by
phi if votes depend on each other. How often such statements are right is measured by
``make study-logs``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.wording import share
from driftduel.errors import DriftduelError
from driftduel.logs.bradley_terry_fit import dispersion, preferences_of
from driftduel.logs.certificate import Certificate, certify, log_evidence
from driftduel.logs.choice import ModelChoice, choose
from driftduel.logs.counts import Counts
from driftduel.logs.drift import trend_p_value
from driftduel.logs.forecast import Forecast, forecast
from driftduel.logs.lifetimes import presence, winners_among
from driftduel.logs.paths import LogPaths
from driftduel.logs.permutation import eliminate
from driftduel.logs.position import first_advantage
from driftduel.logs.segments import (
    DENSE_OPTIONS,
    Segmentation,
    affordable_bins,
    segment,
    votes_over,
)
from driftduel.logs.stretch import Blend, blend_of
from driftduel.logs.vote_model import PLAIN, VoteModel, estimate_vote_model
from driftduel.logs.walk import UtilityWalk, fit_walk
from driftduel.measures import measure
from driftduel.worlds import Piecewise, WithAbsences, World

__all__ = ["FITS", "Change", "Fit", "Measured", "Now", "fit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FITS = ("auto", "utilities", "pairs", "walk")
MEASURES = (
    "preference_switches",
    "condorcet_switches",
    "significant_switches",
    "total_variation",
    "condorcet_variation",
)
"""The five measures, by the field names of `driftduel measure --json`."""
_DRAWS = 1000
_MOST_WORLDS = 100_000
_MOST_ROUNDS = 10**15
_WALK_BINS = 192
_ROUGH = 30  # votes per pair and stretch; with fewer, all values are rough
_NUMBERS = 30_000_000  # values in all drawn matrices; fewer draws with many options
_FEWEST_DRAWS = 200
_MOVED = 0.02, 0.05  # changes of the parameters h (logit) and nu (relative) that need another pass
_TREND = 0.05  # error level of the test for drift within the stretches
_PASSES = 3
_INTERVAL = 1.96  # half-width of a 95% interval in standard errors
_REPORTED = 0.95  # probability of a new winner when an option joined or left
_CLEAR = 0.8  # probability of a winner that delimits a change of a walk


@dataclass(frozen=True)
class Now:
    """The best option at the end of a log."""

    winner: str | None
    """The most probable Condorcet winner of the present options; None if most probably there is
    none."""
    chances: dict[str, float]
    """The probability that each present option beats all other present options now."""
    no_winner: float
    """The probability that there is no Condorcet winner."""
    likely: tuple[str, ...]
    """The smallest set of options that contains the winner with 95%, if there is one."""
    since: float
    """The time since which the same option has been the most probable winner."""
    stretch: float
    """The time of the last change, or the start of the log."""
    votes: int
    """The number of votes since then."""
    evidence: float
    """Anytime-valid evidence that the winner is preferred to every other present option: if it is
    not, the probability that this ever exceeds 20 is at most 5%, however often it is evaluated."""
    absent: tuple[str, ...] = ()
    """Options of the log that are not present at its end."""

    @property
    def sure(self) -> bool:
        """Whether the evidence suffices at an error of 5%, however often it is evaluated."""
        return self.evidence >= 20


@dataclass(frozen=True)
class Change:
    """A change of the preferences, or of the winner because an option joined or left."""

    time: float
    low: float
    high: float
    """Its 95% interval, given that there is a change."""
    changed: float
    """The probability of a change here."""
    winner_changed: float
    """The probability of a change of the Condorcet winner."""
    before: str | None
    after: str | None
    """The most probable pair of winners; the value None means no winner."""
    p: float | None
    """The p-value of the permutation test; by default None, not tested."""
    q: float | None
    """`p`, adjusted for the number of changes (Benjamini and Hochberg 1995). An indicator, not a
    bound on the share of false changes: the same votes chose the changes, windows overlap, and the
    test is about some change between the neighbours, not about its date."""
    reported: bool
    """Whether it remains after the removal of changes that are not significant."""
    vote: int
    """The number of the first vote after it."""
    vote_low: int
    vote_high: int
    """The vote numbers of `low` and `high`."""
    bin: int = field(repr=False)
    """The first fine bin after it."""
    cause: str = "preferences"
    """``preferences``; ``joined`` or ``left``: the winner is another because an option joined or
    left, while preferences may be the same."""

    @property
    def new_winner(self) -> bool:
        """Whether the most probable winners before and after differ."""
        return self.before != self.after


@dataclass(frozen=True)
class Measured:
    """The value of a measure of non-stationarity over posterior draws."""

    low: float
    median: float
    high: float
    determined: bool
    """Whether the log determines this value; otherwise it depends on the resolution in time."""
    bound: float | None = None
    """For V: a lower bound with 95% confidence, from votes that did not select the changes; by
    default None."""


class Fit:
    """The posterior of the preferences behind a log.

    Parameters
    ----------
    counts
        The log.
    kind
        ``utilities``, ``pairs`` or ``walk``.
    cuttings
        The posterior over segmentations into stretches.
    phi        The dispersion parameter: variance relative to independent votes.
    choice
        The result of the model choice; by default the kind was given as an argument.
    seed
        Seed of the draws and tests.
    vote_model
        First-place advantage and ties.
    """

    def __init__(
        self,
        counts: Counts,
        kind: str,
        cuttings: Segmentation,
        phi: float,
        choice: ModelChoice | None = None,
        seed: int = 0,
        vote_model: VoteModel = PLAIN,
    ) -> None:
        self.counts, self.kind, self.cuttings, self.phi = counts, kind, cuttings, phi
        self.choice, self.seed, self.vote_model = choice, seed, vote_model
        self.grid = cuttings.grid
        if kind == "walk":
            self.grid = counts.grid(min(_WALK_BINS, affordable_bins(counts.options)))
        self._rounds = np.concatenate(([0.0], np.cumsum(counts.rows_per_bin())))

    # Time -----------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The options."""
        return self.counts.names

    @property
    def first_place(self) -> float:
        """The advantage of the option shown first, as a logit; 0 if the log has no first place."""
        return self.vote_model.first_place

    @property
    def first_advantage(self) -> tuple[float, float, float] | None:
        """Share of wins of the first of two equal options, with its 95% interval, or None.

        The value is that of the vote model, which all statements are net of. Without this term
        (`first_place=False`) it is estimated from the counts; None if they do not determine it.
        """
        h, error = self.vote_model.first_place, _INTERVAL * self.vote_model.error
        if error == 0.0:
            return first_advantage(self.counts)
        share, low, high = (1 / (1 + math.exp(-x)) for x in (h, h - error, h + error))
        return share, low, high

    @cached_property
    def starts(self) -> Floats:
        """(B,) the time at which each bin of `winners` begins."""
        return self.counts.first[self.grid[:-1]]

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """(B, K) whether each option is present in each bin of `winners`."""
        return presence(self.counts, self.grid)

    def _vote(self, fine: int) -> int:
        """Return the first vote of a fine bin, from 1."""
        done = float(self._rounds[fine] / self._rounds[-1])
        return round(done * self.counts.votes) + 1

    # The posterior of stretches ---------------------------------------------------------------

    @cached_property
    def _sums(self) -> Floats:
        """(B + 1, 2, K, K) votes before each boundary of the cuttings, over phi."""
        votes = votes_over(self.counts, self.cuttings.grid) / self.phi
        return np.concatenate((np.zeros((1, *votes.shape[1:])), votes.cumsum(axis=0)))

    @cached_property
    def _edges(self) -> list[int]:
        """The boundaries of the detected changes, and both ends."""
        return [0, *(change[0] for change in self._found), self.cuttings.bins]

    @cached_property
    def blend(self) -> Blend:
        """The model of the preferences of one stretch."""
        stretches = [self._sums[j] - self._sums[i] for i, j in pairwise(self._edges)]
        return blend_of(stretches, self.vote_model)

    @cached_property
    def _found(self) -> list[tuple[int, int, int, float]]:
        return self.cuttings.changes()

    def _draw(
        self, size: int, seed: int, use: Callable[[NDArray[np.int64], int, int, Floats], None]
    ) -> list[Ints]:
        """Draw segmentations and the matrices of their stretches; return the boundaries of each.

        The function ``use(draws, i, j, matrices)`` is called for each stretch (i, j) that occurs,
        with the draws that contain it and a matrix for each. The matrices are not stored.
        """
        rng = np.random.default_rng([self.seed, seed])
        cuts = [np.concatenate(([0], c)) for c in self.cuttings.draw(size, rng)]
        ends = [np.append(c[1:], self.cuttings.bins) for c in cuts]
        kinds = self.blend.kinds(size, rng)
        advantage = rng.normal(0.0, self.vote_model.error, size)
        advantage *= np.sign(self.first_place)  # the mirrored place gives the same draw
        owner = np.repeat(np.arange(size), [len(c) for c in cuts])
        stretches = np.stack((np.concatenate(cuts), np.concatenate(ends)), axis=1)
        unique, which = np.unique(stretches, axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        splits = np.cumsum(np.bincount(which.ravel()))[:-1]
        for (i, j), mine in zip(unique, np.split(order, splits), strict=True):
            draws = owner[mine]
            votes = self._sums[j] - self._sums[i]
            matrices = self.blend.draw(votes, kinds[draws], rng, advantage[draws])
            use(draws, int(i), int(j), matrices)
        return cuts

    @cached_property
    def _draws(self) -> int:
        return int(np.clip(_NUMBERS // self.counts.options**2, _FEWEST_DRAWS, _DRAWS))

    @cached_property
    def _drawn(self) -> tuple[NDArray[np.int64], list[Ints]]:
        """(N, B) the Condorcet winner of each draw in each bin, -1 if there is none; the cuts."""
        table = np.empty((self._draws, len(self.grid) - 1), np.int64)
        if self.kind == "walk":
            utilities = self.walk.draw(self._draws, np.random.default_rng([self.seed, 3]))
            table[:] = np.where(self.present, utilities, -np.inf).argmax(axis=2)
            return table, []

        def note(draws: NDArray[np.int64], i: int, j: int, matrices: Floats) -> None:
            table[draws, i:j] = winners_among(matrices > 0.5, self.present[i:j])

        return table, self._draw(self._draws, 0, note)

    @cached_property
    def winners(self) -> Floats:
        """(B, K + 1) the probability of each option to be the winner, and of no winner."""
        table = self._drawn[0]
        K = self.counts.options
        shares = [np.bincount(column + 1, minlength=K + 1) / len(table) for column in table.T]
        return np.roll(np.stack(shares), -1, axis=1)

    def forecast_draws(self, size: int = 400) -> Floats:
        """Draw (size, K, K) preferences at the end of the log, net of the first place."""
        drawn = np.empty((size, self.counts.options, self.counts.options))
        if self.kind == "walk":
            utilities = self.walk.draw(size, np.random.default_rng([self.seed, 3]))
            return preferences_of(utilities[:, -1])

        def note(draws: NDArray[np.int64], _: int, j: int, matrices: Floats) -> None:
            if j == self.cuttings.bins:
                drawn[draws] = matrices

        self._draw(size, 0, note)
        return drawn

    def forecast(self, *, absent: bool = False, ahead: int = 0) -> Forecast:
        """Return P(a beats b) at the end of the log for all pairs, with 95% intervals.

        Parameters
        ----------
        absent
            Whether to include options that are absent at the end; their entries are NaN otherwise.
        ahead
            Average over this number of votes after the end (default: none); a walk continues,
            stretches do not change.
        """
        return forecast(self, absent=absent, ahead=ahead)

    # The best option now ----------------------------------------------------------------------

    @cached_property
    def now(self) -> Now:
        """The best of the options that are present at the end of the log."""
        chances = self.winners[-1]
        K = self.counts.options
        best = int(chances.argmax())
        order = np.argsort(-chances[:K], kind="stable")
        reach = np.cumsum(chances[order]) >= 0.95 * (1 - chances[K])
        likely = order[: int(reach.argmax()) + 1] if chances[K] < 1 else order[:0]
        leading = self.winners.argmax(axis=1) == best
        since = int(np.flatnonzero(~leading)[-1]) + 1 if not leading.all() else 0
        last = self._last_cut()
        here = self.present[-1]
        return Now(
            winner=self._name(best),
            chances={self.names[k]: float(chances[k]) for k in np.flatnonzero(here)},
            no_winner=float(chances[K]),
            likely=tuple(self.names[i] for i in likely),
            since=float(self.starts[since]),
            stretch=float(self.counts.first[last]),
            votes=self.counts.votes - self._vote(last) + 1,
            evidence=self._evidence(best, last),
            absent=tuple(self.names[k] for k in np.flatnonzero(~here)),
        )

    def _name(self, option: int) -> str | None:
        return self.names[option] if 0 <= option < self.counts.options else None

    def _last_cut(self) -> int:
        """Return the fine bin of the last change, 0 if a change is improbable."""
        if self.kind == "walk":
            return max((change.bin for change in self.changes), default=0)
        last = self.cuttings.stretches[:, -1].copy()
        last[0] += self.cuttings.still
        median = int(np.searchsorted(np.cumsum(last), 0.5 * last.sum()))
        # Use the date in the list of changes if the change is listed there.
        listed = (k for k, low, high, _ in reversed(self._found) if low <= median <= high)
        return int(self.cuttings.grid[next(listed, median)])

    def _evidence(self, best: int, last: int) -> float:
        """Return the anytime-valid evidence that an option beats each other since a fine bin."""
        if best >= self.counts.options:
            return 0.0
        log = log_evidence(self.counts, best, last, self.present[-1])
        return float(np.exp(min(log, 700.0)))

    # Changes ------------------------------------------------------------------------------------

    @cached_property
    def changes(self) -> list[Change]:
        """The changes that are more probable than not, in order of time."""
        found = self._changes_of_walk() if self.kind == "walk" else self._changes_of_stretches()
        bins = [bin_ for bin_, *_ in found]
        tested = eliminate(
            self.counts, bins, self.seed, self.cuttings.model, vote_model=self.vote_model
        )
        changes = [
            self._change(
                bin_, low, high, chance, before, after,
                p=tested.p[bin_], q=tested.q[bin_], reported=bin_ in tested.kept,
            )
            for bin_, low, high, chance, before, after in found
        ]  # fmt: skip
        changes += self._changes_of_roster()
        return sorted(changes, key=lambda change: change.bin)

    def _change(
        self,
        bin_: int,
        low: int,
        high: int,
        chance: float,
        before: Ints,
        after: Ints,
        **more: Any,
    ) -> Change:
        """Return a change at a fine bin, between two others, from the winners of all draws."""
        pair = _most_frequent_pair(before, after)
        counts = self.counts
        return Change(
            time=float(counts.first[bin_]),
            low=float(counts.first[low]),
            high=float(counts.last[high]),
            changed=chance,
            winner_changed=float((before != after).mean()),
            before=self._name(pair[0]),
            after=self._name(pair[1]),
            vote=self._vote(bin_),
            vote_low=self._vote(low),
            vote_high=self._vote(high + 1) - 1,
            bin=bin_,
            **more,
        )

    def _changes_of_stretches(self) -> list[tuple[int, int, int, float, Ints, Ints]]:
        grid, table = self.grid, self._drawn[0]
        return [
            (
                int(grid[k]),
                # The interval extends by half a bin before and after the boundaries.
                int((grid[low - 1] + grid[low]) // 2),
                int((grid[high] + grid[high + 1] - 1) // 2),
                chance,
                table[:, low - 1],
                table[:, high],
            )
            for k, low, high, chance in self._found
        ]

    def _changes_of_walk(self) -> list[tuple[int, int, int, float, Ints, Ints]]:
        """Return the changes of the winner of a walk, dated by the draws with the new winner."""
        grid, table = self.grid, self._drawn[0]
        best, clear = self.winners.argmax(axis=1), self.winners.max(axis=1) >= _CLEAR
        places = np.flatnonzero(clear)
        found = []
        for end, start in pairwise(places):
            if best[end] == best[start] or (self.present[end] != self.present[start]).any():
                continue
            # For each draw, the first bin of the new winner that lasts until `start`.
            other = table[:, end : start + 1] != best[start]
            switch = start + 1 - np.argmax(other[:, ::-1], axis=1)
            switch = np.clip(np.where(other.any(axis=1), switch, end), end + 1, start)
            low, middle, high = np.quantile(switch, (0.025, 0.5, 0.975), method="inverted_cdf")
            before, after = table[:, end], table[:, start]
            found.append(
                (
                    int(grid[int(middle)]), int(grid[int(low) - 1]), int(grid[int(high) + 1] - 1),
                    float((before != after).mean()), before, after,
                )
            )  # fmt: skip
        return found

    def _changes_of_roster(self) -> list[Change]:
        """Return the changes of the winner because an option joined or left."""
        table, cuts = self._drawn
        changes = []
        for k in np.flatnonzero((self.present[1:] != self.present[:-1]).any(axis=1)) + 1:
            # Where a draw also has a cut, preferences may be the reason.
            same = np.array([k not in c for c in cuts]) if cuts else np.ones(len(table), np.bool_)
            if same.mean() < 0.5:
                continue
            before, after = table[same, k - 1], table[same, k]
            if (before != after).mean() <= 0.5:
                continue
            change = self._change(
                *self._roster_bins(int(k), before, after), float((before != after).mean()),
                before, after, p=None, q=None,
                reported=bool((before != after).mean() >= _REPORTED),
            )  # fmt: skip
            joined = (
                change.after is not None and not self.present[k - 1, self.names.index(change.after)]
            )
            changes.append(replace(change, cause="joined" if joined else "left"))
        return [change for change in changes if change.new_winner]

    def _roster_bins(self, k: int, before: Ints, after: Ints) -> tuple[int, int, int]:
        """Return the fine bin in which the roster changed, between two others."""
        low, high = int(self.grid[k - 1]), int(self.grid[k + 1]) - 1
        votes = self.counts.wins.sum(axis=1) + self.counts.wins.sum(axis=2)
        old, new = _most_frequent_pair(before, after)
        if new >= 0 and not self.present[k - 1, new]:
            joined = int((votes[:, new] > 0).argmax())
            return joined, joined, joined
        if old >= 0 and not self.present[k, old]:
            left = len(votes) - int((votes[::-1, old] > 0).argmax())
            left = min(left, len(votes) - 1)
            return left, left - 1, left
        return int(self.grid[k]), low, high

    def certificate(self, level: float = 0.95) -> Certificate:
        """Return a lower bound on the number of switches of the winner, as a `Certificate` object.

        The certificate does not depend on a model, but assumes a winner: in a cycle, options are
        excluded repeatedly without a change. So windows with an estimated absence of a Condorcet
        winner are not counted; the value remains a lower bound.
        """
        if not 0 < level < 1:
            raise DriftduelError(f"level={level} must lie between 0 and 1.")
        all_of_them = certify(self.counts, level)
        empty = self.winners[:, -1] > 0.5
        ends = np.append(self.starts[1:], np.inf)
        windows = [
            (low, high)
            for low, high in all_of_them.windows
            if not (empty & (self.starts <= high) & (ends > low)).any()
        ]
        left_out = all_of_them.switches - len(windows)
        return replace(all_of_them, switches=len(windows), windows=windows, empty=left_out)

    # Worlds and measures ------------------------------------------------------------------------

    @cached_property
    def walk(self) -> UtilityWalk:
        """Utilities as a random walk, fitted to the same votes."""
        grid = self.counts.grid(min(_WALK_BINS, affordable_bins(self.counts.options)))
        return fit_walk(votes_over(self.counts, grid) / self.phi, model=self.vote_model)

    @cached_property
    def drifts(self) -> bool:
        """Whether preferences drift gradually within the stretches, or as a walk.

        The value is True if a walk predicts held-out votes better, or if a score test for a linear
        trend rejects in any stretch (family-wise error 5%).
        """
        if self.kind == "walk":
            return True
        losses = self.choice.losses if self.choice is not None else {}
        if self.cuttings.still < 0.5 and losses.get("walk", np.inf) < losses.get(self.kind, np.inf):
            return True
        votes = np.diff(self._sums, axis=0)
        stretches = list(pairwise(self._edges))
        return any(
            trend_p_value(votes[i:j], self.vote_model) < _TREND / len(stretches)
            for i, j in stretches
        )

    def _piecewise(self, cuts: Ints, matrices: Floats, rounds: int) -> Piecewise:
        present = self.present
        moves = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
        bins = np.union1d(cuts, moves)
        matrices = matrices[np.searchsorted(cuts, bins, side="right") - 1]
        here = present[bins]
        shares = self._rounds[self.grid[bins]] / self._rounds[-1]
        starts = np.round(shares * rounds).astype(np.int64) + 1
        starts = np.minimum(starts, rounds)
        # If several cuts fall in one round, the last one counts.
        last = np.append(starts[1:] > starts[:-1], True)
        matrices, starts, here = matrices[last].copy(), starts[last].copy(), here[last]
        starts[0] = 1
        a, b = np.triu_indices(self.counts.options, 1)
        matrices[:, b, a] = 1 - matrices[:, a, b]
        matrices[:, np.arange(len(self.names)), np.arange(len(self.names))] = 0.5
        world = Piecewise(matrices, starts, rounds, present=None if here.all() else here)
        world.names = self.names
        return world

    def _walking(self, utilities: Floats, rounds: int) -> World:
        world: World = LogPaths(utilities, self.walk.places, rounds)
        world.names = self.names
        if self.present.all():
            return world
        events = [(1, int(k), False) for k in np.flatnonzero(~self.present[0])]
        for b, k in zip(*np.nonzero(self.present[1:] != self.present[:-1]), strict=True):
            start = 1 + round(float(self._rounds[self.grid[b + 1]] / self._rounds[-1]) * rounds)
            events.append((min(start, rounds), int(k), bool(self.present[b + 1, k])))
        return WithAbsences(world, events)

    def world(self, rounds: int | None = None) -> World:
        """Return the expected world: with the detected changes, or the expected walk.

        Parameters
        ----------
        rounds
            The number of rounds; by default one for each vote.
        """
        rounds = self._need(rounds)
        if self.kind == "walk":
            return self._walking(self.walk.mean(), rounds)
        sums = [self._sums[j] - self._sums[i] for i, j in pairwise(self._edges)]
        matrices = np.stack([self.blend.expected_preferences(votes) for votes in sums])
        return self._piecewise(np.array(self._edges[:-1]), matrices, rounds)

    def worlds(self, size: int, seed: int = 0, rounds: int | None = None) -> list[World]:
        """Draw worlds from the posterior.

        Parameters
        ----------
        size
            The number of worlds.
        seed
            Seed of the draws.
        rounds
            The number of rounds of each world; by default one for each vote.
        """
        if not 1 <= size <= _MOST_WORLDS:
            raise DriftduelError(
                f"at least 1 world can be drawn, and at most {_MOST_WORLDS:,}, not {size:,}."
            )
        rounds = self._need(rounds)
        if self.kind == "walk":
            drawn = self.walk.draw(size, np.random.default_rng([self.seed, 1, seed]))
            return [self._walking(utilities, rounds) for utilities in drawn]
        pieces: list[dict[int, Floats]] = [{} for _ in range(size)]

        def note(draws: NDArray[np.int64], i: int, _: int, matrices: Floats) -> None:
            for draw, matrix in zip(draws, matrices, strict=True):
                pieces[draw][i] = matrix

        cuts = self._draw(size, 1 + seed, note)
        return [
            self._piecewise(c, np.stack([piece[int(i)] for i in c]), rounds)
            for c, piece in zip(cuts, pieces, strict=True)
        ]

    def _need(self, rounds: int | None) -> int:
        """Return the number of rounds, by default that of votes; raise if it is out of range."""
        if rounds is not None and not 2 <= rounds <= _MOST_ROUNDS:
            raise DriftduelError(
                f"rounds={rounds} must be at least 2 and at most {_MOST_ROUNDS:,}."
            )
        return self.counts.votes if rounds is None else int(rounds)

    def measures(self, rounds: int | None = None, draws: int = 100) -> dict[str, Measured]:
        """Return the five measures of non-stationarity, with 90% intervals over posterior draws.

        Parameters
        ----------
        rounds
            The number of rounds; by default the number of votes. With more rounds, smaller
            differences are significant.
        draws
            The number of drawn worlds.
        """
        values: dict[str, list[float]] = {name: [] for name in MEASURES}
        undefined = 0
        for world in self.worlds(draws, seed=0, rounds=rounds):
            one = measure(world)
            undefined += one.condorcet_switches is None
            significant = one if self.present.all() else measure(_without_absences(world))
            assert significant.von_neumann_switch_rounds is not None
            values["preference_switches"].append(one.preference_switches)
            values["condorcet_switches"].append(len(one.between_winners))
            values["significant_switches"].append(len(significant.von_neumann_switch_rounds))
            values["total_variation"].append(one.total_variation)
            values["condorcet_variation"].append(one.winners_variation)
        determined = dict.fromkeys(MEASURES, not self.drifts)
        determined["significant_switches"] = True
        if undefined > draws / 10:
            determined["condorcet_switches"] = determined["condorcet_variation"] = False
        bound = None if self.kind == "walk" else self.least_variation()
        measured = {}
        for name in MEASURES:
            low, median, high = np.quantile(values[name], (0.05, 0.5, 0.95), method="inverted_cdf")
            least = bound if name == "total_variation" else None
            measured[name] = Measured(
                float(low), float(median), float(high), determined[name], least
            )
        return measured

    def least_variation(self) -> float:
        """Return a lower bound of V with 95% confidence, valid for any detected changes.

        One half of the events selects the cuts, and the pair and direction of each jump; the jumps
        are estimated from the other half. The value is the average over both roles.
        """
        from driftduel.logs.variation import least_variation

        return least_variation(self.counts, self.cuttings.model, self.phi, self.vote_model)

    @property
    def rough(self) -> bool:
        """Whether there are too few votes per pair and stretch for more than rough values."""
        K = self.counts.options
        votes = self.counts.effective_votes if self.counts.slates else self.counts.votes
        return votes / self.phi / (K * (K - 1) / 2) / (len(self._found) + 1) < _ROUGH

    def __repr__(self) -> str:
        now = self.now
        best = "nobody"
        if now.winner is not None:
            best = f"{now.winner} ({share(now.chances[now.winner])})"
        return f"Fit({self.kind}, votes={self.counts.votes:,}, now={best}, " + (
            f"changes={len(self._found)})"
        )


def _without_absences(world: World) -> World:
    """Return a world object in which an absent option loses every duel.

    An option that is absent cannot be a safe choice, so significant switches are those of this
    world; `measure` does not define them for worlds with absences.
    """
    (chunk,) = world.chunks() if world.rounds <= world.chunk_rounds else (None,)
    if chunk is None:
        chunk = world.chunk(1, world.rounds + 1)
    matrices = chunk.row_matrices().copy()
    for matrix, here in zip(matrices, chunk.present, strict=True):
        matrix[~here, :] = 0.0
        matrix[:, ~here] = 1.0
        matrix[np.ix_(~here, ~here)] = 0.5
    return Piecewise(matrices[chunk.rows], chunk.starts, world.rounds)


def _most_frequent_pair(before: Ints, after: Ints) -> tuple[int, int]:
    pairs, often = np.unique(np.stack((before, after), axis=1), axis=0, return_counts=True)
    first, second = pairs[often.argmax()]
    return int(first), int(second)


def fit(
    counts: Counts,
    kind: str = "auto",
    bins: int = 256,
    seed: int = 0,
    phi: float | None = None,
    *,
    first_place: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Fit:
    """Fit a model to a log, and return its posterior as a `Fit` object.

    Parameters
    ----------
    counts
        The log.
    kind
        ``utilities``, ``pairs``, ``walk``, or the default ``auto``: the simplest model that
        predicts held-out votes about as well as the best; with more than 24 options, ``utilities``.
    bins
        The number of bins of the first pass.
    seed
        Seed of the draws and tests.
    phi
        The dispersion parameter; by default estimated from the groups.
    first_place
        Whether the advantage of the option shown first is a term of the model, if the log records
        it; preferences are then net of it.
    progress
        Function called with a short description at the start of each stage.

    Examples
    --------
    >>> from driftduel.logs.simulate import simulate
    >>> from driftduel.worlds import make_world
    >>> world = make_world("geometric-btl:arms=4,rounds=4000,phases=2,change=winner", seed=1)
    >>> found = fit(simulate(world, seed=1), kind="utilities")
    >>> len(found.changes), found.now.winner == str(world.condorcet_winners()[-1][1])
    (1, True)
    """
    if kind not in FITS:
        raise DriftduelError(f"kind={kind} must be one of {', '.join(FITS)}.")
    if seed < 0:
        raise DriftduelError(f"seed={seed} must be a whole number at least 0.")
    placed = first_place and counts.placed and first_advantage(counts) is not None
    ties = float(counts.tied.sum()) / 2
    whole = votes_over(counts, np.array([0, len(counts.wins)]))
    vote_model = estimate_vote_model(list(whole), ties, placed=placed)
    choice, chosen = None, kind
    note = progress or (lambda _: None)
    for _ in range(_PASSES):
        note("estimating the dependence of votes")
        dispersed = dispersion(counts, vote_model) if phi is None else phi
        if kind == "auto" and counts.options > DENSE_OPTIONS:
            chosen = "utilities"  # pairs and walks do not scale to many options
        elif kind == "auto":
            note("comparing models on held-out votes")
            choice = choose(counts, dispersed, vote_model)
            # Stretches include the case of no change, with its probability.
            chosen = "utilities" if choice.kind == "still" else choice.kind
        model = "pairs" if chosen == "pairs" else "utilities"
        note("searching for changes")
        cuttings = segment(counts, model, bins, dispersed, vote_model)
        edges = cuttings.grid[[0, *(cut for cut, *_ in cuttings.changes()), -1]]
        note("estimating first place and ties")
        # First place and ties again, with separate utilities in each stretch.
        votes = votes_over(counts, edges) / dispersed
        refined = estimate_vote_model(
            list(votes), ties / dispersed, placed=placed, start=vote_model
        )
        moved = abs(refined.first_place - vote_model.first_place) > _MOVED[0]
        moved |= abs(refined.ties - vote_model.ties) > _MOVED[1] * vote_model.ties
        vote_model = refined
        if not moved:
            break
    if choice is not None and chosen == "walk" and cuttings.still > 0.5:
        # In one of ten stationary logs a walk predicts better by chance; and the value of V of a
        # walk is always above 0.
        chosen = "utilities"
    note("drawing from the posterior")
    return Fit(counts, chosen, cuttings, dispersed, choice, seed, vote_model)
