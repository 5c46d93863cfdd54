"""What a log says: who is best now, what changed, by how much, and worlds that look like it."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.logs.bradley_terry import dispersion
from driftduel.logs.certificate import Certificate, certify, e_value, pair_votes
from driftduel.logs.choice import Choice, choose
from driftduel.logs.counts import Counts
from driftduel.logs.knots import Knots
from driftduel.logs.permutation import eliminate
from driftduel.logs.segments import Cuttings, affordable_bins, segment
from driftduel.logs.stretch import Blend, blend_of
from driftduel.logs.walk import Walk, fit_walk
from driftduel.measures import measure
from driftduel.preferences import condorcet_winners
from driftduel.wording import share
from driftduel.worlds import Piecewise, World

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
"""The five, by the names that `driftduel measure --json` has."""
_DRAWS = 1000
_MOST_WORLDS = 100_000
_MOST_ROUNDS = 10**15
_WALK_BINS = 192
_BEGINNINGS = 256
_ROUGH = 30  # votes a pair and stretch, below which what is said is rough


@dataclass(frozen=True)
class Now:
    """Who is best at the end of a log."""

    winner: str | None
    """The most probable Condorcet winner; None if nobody at all is most probable."""
    chances: dict[str, float]
    """The probability that each option beats all others now."""
    nobody: float
    """The probability that no option does."""
    likely: tuple[str, ...]
    """The fewest options that have the winner among them with 95%, if there is one."""
    since: float
    """The time from which on the same option has always been the most probable winner."""
    stretch: float
    """The time of the last change, or when the log begins."""
    votes: int
    """Votes since then."""
    evidence: float
    """For those who look every day: how many times better the votes since the last change agree
    with the winner beating every other than with its being no better than some; if that is not so,
    the chance that this ever exceeds 20 is at most 5%, however often one looks."""

    @property
    def sure(self) -> bool:
        """Whether it can be said at any time, however often one looks, with 5% error."""
        return self.evidence >= 20


@dataclass(frozen=True)
class Change:
    """A change of the preferences."""

    time: float
    low: float
    high: float
    """It is between these times with 95%, if it is one."""
    changed: float
    """The probability that something changed here."""
    winner_changed: float
    """The probability that the Condorcet winner did."""
    before: str | None
    after: str | None
    """The most probable winners; None: nobody."""
    p: float
    """How often votes in another order would show as much."""
    q: float
    """The share of false ones among all changes that are this clear or clearer, at most."""
    reported: bool
    """Whether it stands after those that are not significant have been taken away."""
    vote: int
    """The first vote behind it."""
    bin: int = field(repr=False)
    """The first fine bin behind it."""


@dataclass(frozen=True)
class Measured:
    """A measure of non-stationarity, over posterior draws."""

    low: float
    median: float
    high: float
    told: bool
    """Whether a log of this kind can tell it at all; else it depends on how finely one looks."""
    bound: float | None = None
    """For V: what it is at least, with 95%, read off votes that did not choose the changes."""


class Fit:
    """What a log says about the preferences behind it.

    Parameters
    ----------
    counts
        The log.
    kind
        ``utilities``, ``pairs`` or ``walk``.
    cuttings
        The posterior over cuttings into stretches.
    phi
        How much more votes vary than independent ones.
    choice
        How the kind was chosen, if it was.
    left_out
        Options that were there too rarely to be fitted.
    seed
        Fixes draws and tests.
    """

    def __init__(
        self,
        counts: Counts,
        kind: str,
        cuttings: Cuttings,
        phi: float,
        choice: Choice | None = None,
        left_out: tuple[str, ...] = (),
        seed: int = 0,
    ) -> None:
        self.counts, self.kind, self.cuttings, self.phi = counts, kind, cuttings, phi
        self.choice, self.left_out, self.seed = choice, left_out, seed
        self._wins = counts.over(cuttings.grid) / phi
        self._sums = np.concatenate((np.zeros((1, *self._wins.shape[1:])), self._wins.cumsum(0)))
        self._rounds = np.concatenate(([0.0], np.cumsum(counts.per_bin())))

    # Time -----------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The options."""
        return self.counts.names

    @cached_property
    def starts(self) -> Floats:
        """(B,) the time at which each bin of `winners` begins."""
        return self.counts.first[self.cuttings.grid[:-1]]

    def _vote(self, boundary: int) -> int:
        """Return the first vote behind a boundary of the grid, from 1."""
        share = float(self._rounds[self.cuttings.grid[boundary]] / self._rounds[-1])
        return round(share * self.counts.votes) + 1

    # The posterior of stretches ---------------------------------------------------------------

    @cached_property
    def blend(self) -> Blend:
        """How the preferences of one stretch are fitted."""
        edges = [0, *(change[0] for change in self._found), self.cuttings.bins]
        return blend_of([self._sums[j] - self._sums[i] for i, j in pairwise(edges)])

    @cached_property
    def _found(self) -> list[tuple[int, int, int, float]]:
        return self.cuttings.changes()

    def _draw(self, size: int, seed: int) -> list[tuple[Ints, Floats]]:
        """Draw (boundaries, matrices) of stretches; the first boundary is 0."""
        rng = np.random.default_rng([self.seed, seed])
        cuts = [np.concatenate(([0], c)) for c in self.cuttings.draw(size, rng)]
        ends = [np.append(c[1:], self.cuttings.bins) for c in cuts]
        kinds = self.blend.kinds(size, rng)
        owner = np.repeat(np.arange(size), [len(c) for c in cuts])
        stretches = np.stack((np.concatenate(cuts), np.concatenate(ends)), axis=1)
        unique, which = np.unique(stretches, axis=0, return_inverse=True)
        matrices = np.empty((len(owner), *self._wins.shape[1:]))
        order = np.argsort(which.ravel(), kind="stable")
        splits = np.cumsum(np.bincount(which.ravel()))[:-1]
        for (i, j), mine in zip(unique, np.split(order, splits), strict=True):
            matrices[mine] = self.blend.draw(self._sums[j] - self._sums[i], kinds[owner[mine]], rng)
        places = np.cumsum([len(c) for c in cuts])[:-1]
        return list(zip(cuts, np.split(matrices, places), strict=True))

    @cached_property
    def _drawn_winners(self) -> NDArray[np.int64]:
        """(N, B) the Condorcet winner of each draw in each bin, -1 if there is none."""
        drawn = self._draw(_DRAWS, 0)
        winners = condorcet_winners(np.concatenate([matrices for _, matrices in drawn]))
        table = np.empty((len(drawn), self.cuttings.bins), np.int64)
        place = 0
        for row, (cuts, _) in zip(table, drawn, strict=True):
            lengths = np.diff(cuts, append=self.cuttings.bins)
            row[:] = np.repeat(winners[place : place + len(cuts)], lengths)
            place += len(cuts)
        return table

    @cached_property
    def winners(self) -> Floats:
        """(B, K + 1) the probability of each option being the winner, and of nobody, over time."""
        table = self._drawn_winners
        K = self.counts.options
        return np.stack([(table == who).mean(axis=0) for who in (*range(K), -1)], axis=1)

    # Who is best now ----------------------------------------------------------------------------

    @cached_property
    def now(self) -> Now:
        """Who is best at the end of the log."""
        chances = self.winners[-1]
        K = self.counts.options
        best = int(chances.argmax())
        order = np.argsort(-chances[:K], kind="stable")
        reach = np.cumsum(chances[order]) >= 0.95 * (1 - chances[K])
        likely = order[: int(reach.argmax()) + 1] if chances[K] < 1 else order[:0]
        leading = self.winners.argmax(axis=1) == best
        since = int(np.flatnonzero(~leading)[-1]) + 1 if not leading.all() else 0
        last = self._last_cut()
        return Now(
            winner=self._name(best),
            chances={name: float(p) for name, p in zip(self.names, chances, strict=False)},
            nobody=float(chances[K]),
            likely=tuple(self.names[i] for i in likely),
            since=float(self.starts[since]),
            stretch=float(self.starts[last]),
            votes=self.counts.votes - self._vote(last) + 1,
            evidence=self._evidence(best, last),
        )

    def _name(self, who: int) -> str | None:
        return self.names[who] if 0 <= who < self.counts.options else None

    def _last_cut(self) -> int:
        """Return the last change's boundary, 0 if probably nothing changed."""
        last = self.cuttings.stretches[:, -1].copy()
        last[0] += self.cuttings.still
        median = int(np.searchsorted(np.cumsum(last), 0.5 * last.sum()))
        # The same date as in the list of changes, if it is one of them.
        listed = (k for k, low, high, _ in reversed(self._found) if low <= median <= high)
        return next(listed, median)

    def _evidence(self, best: int, last: int) -> float:
        """Bet on the winner against each other.

        Where to begin was chosen by looking, which is paid for: half of the stake is on the whole
        log, and the other half is spread over beginnings that nobody chose, the coarse bins.
        """
        if best >= self.counts.options:
            return 0.0
        grid = self.counts.grid(_BEGINNINGS)
        begin = int(np.searchsorted(grid, self.cuttings.grid[last]))
        stake = 0.5 if begin == 0 else 0.5 / (len(grid) - 1)
        wins = pair_votes(self.counts, grid)[begin:].sum(axis=0)
        logs = np.delete(e_value(wins[best], wins[:, best]), best)
        return float(np.exp(min(logs.min() + np.log(stake), 700.0)))

    # What changed -------------------------------------------------------------------------------

    @cached_property
    def changes(self) -> list[Change]:
        """The changes that are more probable than not, in order of time."""
        grid, counts = self.cuttings.grid, self.counts
        if not self._found:
            return []
        model = self.cuttings.model
        tested = eliminate(counts, [int(grid[k]) for k, *_ in self._found], self.seed, model)
        windows = self.cuttings.windows(np.array([k for k, *_ in self._found]))
        table = self._drawn_winners
        changes = []
        for (k, low, high, chance), (first, last) in zip(self._found, windows, strict=True):
            before, after = table[:, first - 1], table[:, last]
            # The change may lie anywhere in half a bin before and behind its boundaries.
            early = counts.first[(grid[low - 1] + grid[low]) // 2]
            late = counts.last[(grid[high] + grid[high + 1] - 1) // 2]
            bin_ = int(grid[k])
            changes.append(
                Change(
                    time=float(counts.first[bin_]),
                    low=float(early),
                    high=float(late),
                    changed=chance,
                    winner_changed=float((before != after).mean()),
                    before=self._name(_most_frequent(before)),
                    after=self._name(_most_frequent(after)),
                    p=tested.p[bin_],
                    q=tested.q[bin_],
                    reported=bin_ in tested.kept,
                    vote=self._vote(k),
                    bin=bin_,
                )
            )
        return changes

    def certified(self, level: float = 0.95) -> Certificate:
        """Return how many switches of the winner are certain.

        The certificate needs no model, but a winner: in a cycle all options are excluded again and
        again, and nothing changes. So windows in which, by the estimate, nobody beat everybody for
        a while are not counted. A lower bound stays one if less is counted.
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
    def walk(self) -> Walk:
        """Utilities that walk, fitted to the same votes."""
        grid = self.counts.grid(min(_WALK_BINS, affordable_bins(self.counts.options)))
        return fit_walk(self.counts.over(grid) / self.phi)

    @cached_property
    def leader_of_walk(self) -> tuple[str, float]:
        """Who is strongest at the very end, if strengths drift, and how probable that is."""
        drawn = self.walk.draw(_DRAWS, np.random.default_rng([self.seed, 3]))
        often = np.bincount(drawn[:, -1].argmax(axis=1), minlength=self.counts.options)
        return self.names[int(often.argmax())], float(often.max() / _DRAWS)

    def _piecewise(self, cuts: Ints, matrices: Floats, rounds: int) -> Piecewise:
        shares = self._rounds[self.cuttings.grid[cuts]] / self._rounds[-1]
        starts = np.round(shares * rounds).astype(np.int64) + 1
        starts = np.minimum(starts, rounds)
        last = np.append(starts[1:] > starts[:-1], True)  # of several in one round, the last
        matrices, starts = matrices[last].copy(), starts[last].copy()
        starts[0] = 1
        a, b = np.triu_indices(self.counts.options, 1)
        matrices[:, b, a] = 1 - matrices[:, a, b]
        matrices[:, np.arange(len(self.names)), np.arange(len(self.names))] = 0.5
        world = Piecewise(matrices, starts, rounds)
        world.names = self.names
        return world

    def _walking(self, utilities: Floats, rounds: int) -> Knots:
        world = Knots(utilities, self.walk.places, rounds)
        world.names = self.names
        return world

    def world(self, rounds: int | None = None) -> World:
        """Return the expected world: that of the changes found, or the expected walk.

        Parameters
        ----------
        rounds
            How many rounds it has; None: one for each vote.
        """
        rounds = self._need(rounds)
        if self.kind == "walk":
            return self._walking(self.walk.mean(), rounds)
        edges = [0, *(change[0] for change in self._found), self.cuttings.bins]
        matrices = [self.blend.expected(self._sums[j] - self._sums[i]) for i, j in pairwise(edges)]
        return self._piecewise(np.array(edges[:-1]), np.stack(matrices), rounds)

    def worlds(self, size: int, seed: int = 0, rounds: int | None = None) -> list[World]:
        """Draw worlds that may have made this log.

        Parameters
        ----------
        size
            How many.
        seed
            Fixes them.
        rounds
            How many rounds each has; None: one for each vote.
        """
        if not 1 <= size <= _MOST_WORLDS:
            raise DriftduelError(
                f"at least 1 world can be drawn, and at most {_MOST_WORLDS:,}, not {size:,}."
            )
        rounds = self._need(rounds)
        if self.kind == "walk":
            drawn = self.walk.draw(size, np.random.default_rng([self.seed, 1, seed]))
            return [self._walking(utilities, rounds) for utilities in drawn]
        return [self._piecewise(*pieces, rounds) for pieces in self._draw(size, 1 + seed)]

    def _need(self, rounds: int | None) -> int:
        if rounds is not None and not 2 <= rounds <= _MOST_ROUNDS:
            raise DriftduelError(
                f"rounds={rounds} must be at least 2 and at most {_MOST_ROUNDS:,}."
            )
        return self.counts.votes if rounds is None else int(rounds)

    def measures(self, rounds: int | None = None, draws: int = 100) -> dict[str, Measured]:
        """Return the five measures of non-stationarity, with 90% intervals over draws.

        Parameters
        ----------
        rounds
            For how much traffic; None: as many rounds as votes. The more rounds, the smaller are
            the differences that are significant.
        draws
            Of how many worlds.
        """
        values: dict[str, list[float]] = {name: [] for name in MEASURES}
        undefined = 0
        for world in self.worlds(draws, seed=0, rounds=rounds):
            one = measure(world)
            assert one.von_neumann_switch_rounds is not None
            undefined += one.condorcet_switches is None
            values["preference_switches"].append(one.preference_switches)
            values["condorcet_switches"].append(len(one.between_winners))
            values["significant_switches"].append(len(one.von_neumann_switch_rounds))
            values["total_variation"].append(one.total_variation)
            values["condorcet_variation"].append(one.winners_variation)
        told = dict.fromkeys(MEASURES, self.kind != "walk")
        told["significant_switches"] = True
        if undefined > draws / 10:
            told["condorcet_switches"] = told["condorcet_variation"] = False
        bound = None if self.kind == "walk" else self.least_variation()
        measured = {}
        for name in MEASURES:
            low, median, high = np.quantile(values[name], (0.05, 0.5, 0.95), method="inverted_cdf")
            least = bound if name == "total_variation" else None
            measured[name] = Measured(float(low), float(median), float(high), told[name], least)
        return measured

    def least_variation(self) -> float:
        """Return what V is at least, with 95%, without trusting the changes found.

        Half of the events choose where to cut, and which pair jumps which way at each cut; the
        jumps are read off the other half, and both ways averaged.
        """
        from driftduel.logs.variation import least_variation

        return least_variation(self.counts, self.cuttings.model, self.phi)

    @property
    def rough(self) -> bool:
        """Whether there are so few votes a pair and stretch that what is said is rough."""
        K = self.counts.options
        return self.counts.votes / self.phi / (K * (K - 1) / 2) / (len(self._found) + 1) < _ROUGH

    def __repr__(self) -> str:
        now = self.now
        best = "nobody"
        if now.winner is not None:
            best = f"{now.winner} ({share(now.chances[now.winner])})"
        return f"Fit({self.kind}, votes={self.counts.votes:,}, now={best}, " + (
            f"changes={len(self._found)})"
        )


def _most_frequent(values: Ints) -> int:
    found, often = np.unique(values, return_counts=True)
    return int(found[often.argmax()])


def fit(
    counts: Counts,
    kind: str = "auto",
    bins: int = 256,
    seed: int = 0,
    phi: float | None = None,
    least_present: float = 0.9,
) -> Fit:
    """Fit a log.

    Parameters
    ----------
    counts
        The log.
    kind
        ``utilities``, ``pairs``, ``walk``, or ``auto``: the simplest that predicts held-out votes
        about as well as the best.
    bins
        How finely the first look at the log goes.
    seed
        Fixes draws and tests.
    phi
        How much more votes vary than independent ones; None: estimated from the groups.
    least_present
        Options without votes in more than the rest of the time are left out.

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
    left_out = counts.rarely_there(least_present)
    if left_out:
        kept = [name for name in counts.names if name not in left_out]
        if len(kept) < 2:
            raise DriftduelError(
                f"fewer than two options are there for {share(least_present)} of the log; "
                f"look at a shorter part of it."
            )
        counts = counts.only(kept)
    phi = dispersion(counts) if phi is None else phi
    choice = None
    if kind == "auto":
        choice = choose(counts, phi)
        # Stretches say themselves that nothing changed, and how sure that is.
        kind = "utilities" if choice.kind == "still" else choice.kind
    model = "pairs" if kind == "pairs" else "utilities"
    cuttings = segment(counts, model, bins, phi)
    if choice is not None and kind == "walk" and cuttings.still > 0.5:
        # Of ten logs that stand still, one is foretold better by some walk, by chance; and a walk
        # knows no rest, so that its V would be above 0.
        kind = "utilities"
    return Fit(counts, kind, cuttings, phi, choice, left_out, seed)
