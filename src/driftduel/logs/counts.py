"""Vote counts: wins per pair of options and time bin.

All statements about a log are functions of its counts, never of its rows, so the work after
counting does not depend on the number of rows. Counts add up: parts of a log can be counted on any
machine.

Time has two resolutions. *Fine* bins give the exact time of a change; *coarse* bins, unions of fine
ones, are used by the first pass, and votes are held out in them. A bin never splits an event (all
votes of one time), because the rows of one event have no order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._internal.files import atomic_write
from driftduel._internal.reading import arrays, read_bytes
from driftduel.errors import DriftduelError
from driftduel.logs._row_kernels import deal_evenly
from driftduel.logs.numbering import Numbers

__all__ = [
    "LARGEST_WEIGHT",
    "PARTS",
    "Counts",
    "Groups",
    "coarse_bins_for",
    "counts_from_votes",
    "even_bins",
    "fine_bins_for",
    "group_table",
    "load_counts",
    "ranks",
    "scramble",
    "starts_of_runs",
    "time_words",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTS = 10
"""The number of parts into which events are dealt; some are held out to compare models."""
LARGEST_WEIGHT = 1e12
"""The largest weight of a vote; with larger values, sums would lose their digits."""
_FINE = 20  # fine bins to a coarse one
_FINE_IF_LONG = 5  # the same value if the times are sampled
_MOST_CELLS = 4_000_000  # size of the tensor of fine bins
_MOST_CELLS_IF_WIDE = 6_000_000  # the same value if many options leave few bins
_MOST_PART_CELLS = 25_000_000  # size of the tensor of parts: 200 MB
_MOST_GROUP_CELLS = 1_000_000  # with more groups, a sample of whole groups is kept
_FEWEST_GROUPS = 1000
_FEWEST_BINS = 64
_FEWEST_BINS_IF_WIDE = 8


@dataclass(frozen=True)
class Groups:
    """The dependence of votes: votes of one race, session or voter form a group.

    A table of cells, one for each group, fine bin and (winner, loser). If there are very many
    groups, a sample of whole groups is kept: those with a hash value below a threshold, so that two
    parts of a log keep the same ones.
    """

    ids: NDArray[np.uint64]
    """(G,) the groups, ascending."""
    group: Ints
    """(C,) the group of each cell, as an index of `ids`."""
    bin: Ints
    """(C,) the fine bin of each cell."""
    winner: Ints
    loser: Ints
    wins: Floats
    share: float = 1.0
    """The share of all groups that are kept."""

    def sizes(self) -> Floats:
        """Return the votes of each group."""
        return _totals(self.group, self.wins, len(self.ids))

    def first_bins(self) -> Ints:
        """Return the first fine bin of each group."""
        first = np.full(len(self.ids), np.iinfo(np.int64).max)
        np.minimum.at(first, self.group, self.bin)
        return first


@dataclass(frozen=True)
class Counts:
    """Vote counts per pair and time bin, without the rows of the log."""

    names: tuple[str, ...]
    """The options."""
    wins: Floats
    """(F, K, K) wins of the row's option over the column's in each fine bin; a tie is half a win
    for each."""
    ahead: Floats
    """(F, K, K) the part of `wins` in which the row's option was shown first; by default 0."""
    tied: Floats
    """(F, K, K) the weight of the ties of each pair, symmetric: ``wins - tied / 2`` are decided
    wins."""
    first: Floats
    """(F,) the first time in each fine bin."""
    last: Floats
    """(F,) the last time in each fine bin."""
    events: Ints
    """(F,) the number of distinct times in each fine bin."""
    coarse: Ints
    """(F,) the coarse bin of each fine bin."""
    parts: Floats
    """(PARTS, C, K, K) the wins in each coarse bin, dealt by event or, if there are any, group."""
    parts_ahead: Floats
    """(PARTS, C, K, K) the part of `parts` in which the row's option was shown first."""
    votes: int
    """The number of rows."""
    ties: float
    """The number of ties."""
    weight: float
    """The sum of all weights; equal to `votes` with the default weight 1."""
    squares: float
    """The sum of all squared weights."""
    clock: str = "number"
    """The unit of time values: ``row``, ``number``, ``date`` (days) or ``datetime``
    (microseconds), both since 1970."""
    groups: Groups | None = None
    """The groups of dependent votes; by default all votes are independent."""
    placed: bool = False
    """Whether the log records which option of each pair was shown first."""
    present: tuple[str, ...] | None = None
    """The options recorded as present at the end of the log; None: not recorded."""
    adaptive: bool = False
    """Whether pairs were chosen by earlier votes, as an arena's policy does."""
    slates: int = 0
    """0 if rows are duels; 1 if they are slates, each of which is a group; 2 if they are slates and
    groups are those of the log. A vote is then a row, and `wins` are votes of its pairs, with the
    weights of `slates.pair_weights`."""

    @property
    def options(self) -> int:
        """The number of options, K."""
        return len(self.names)

    @property
    def shown(self) -> Floats:
        """(K, K) the votes in which the row's option was shown first; 0 unless `placed`."""
        if not self.placed:
            return np.zeros((self.options, self.options))
        ahead = self.shown_wins
        shown: Floats = ahead + (self.wins.sum(axis=0) - ahead).T
        return shown

    @property
    def shown_wins(self) -> Floats:
        """(K, K) the wins of the row's option over the column's while it was shown first."""
        won: Floats = self.ahead.sum(axis=0)
        return won

    @property
    def effective_votes(self) -> float:
        """Kish's effective number of votes: the number of equal weights with the same variance."""
        return self.weight**2 / self.squares if self.squares else 0.0

    @property
    def dispersion_of_weights(self) -> float:
        """The variance of the votes relative to the same number of votes of weight 1."""
        return self.squares / self.weight if self.weight else 1.0

    def per_bin(self) -> Floats:
        """Return the (weighted) votes in each fine bin."""
        total: Floats = self.wins.sum(axis=(1, 2))
        return total

    def units(self) -> Floats:
        """Return the number of independent units in each fine bin: new groups, or votes."""
        if self.groups is None:
            return self.per_bin() / self.dispersion_of_weights
        begun = np.bincount(self.groups.first_bins(), minlength=len(self.wins))
        units: Floats = begun / self.groups.share
        return units

    def rows_per_bin(self) -> Floats:
        """Return sizes of the fine bins that do not depend on the outcomes of slates."""
        return self.units() if self.slates == 1 else self.per_bin()

    def grid(self, bins: int) -> Ints:
        """Return the first fine bins of about `bins` equal stretches, and one past the last.

        The stretches have about equal votes and are unions of coarse bins.
        """
        starts = starts_of_runs(self.coarse)
        sizes = np.add.reduceat(self.rows_per_bin(), starts)
        keep = starts_of_runs(even_bins(sizes, bins))
        return np.append(starts[keep], len(self.wins))

    def over(self, grid: Ints) -> Floats:
        """Return the (B, K, K) wins in the stretches of a grid."""
        return np.add.reduceat(self.wins, grid[:-1], axis=0)

    def only(self, names: Sequence[str]) -> "Counts":
        """Return the counts of the votes between these options, in the order given."""
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise DriftduelError(f"there is no option {unknown[0]!r} in this log.")
        if len(set(names)) != len(names) or len(names) < 2:
            raise DriftduelError(
                f"at least two different options are needed, not {', '.join(names) or 'none'}."
            )
        kept = np.array([self.names.index(name) for name in names])
        place = np.full(self.options, -1)
        place[kept] = np.arange(len(kept))
        pick = np.ix_(kept, kept)
        wins = self.wins[:, pick[0], pick[1]]
        part = wins.sum() / max(self.wins.sum(), 1e-300)
        groups = self.groups
        if groups is not None:
            inside = (place[groups.winner] >= 0) & (place[groups.loser] >= 0)
            who, whom = place[groups.winner], place[groups.loser]
            columns = groups.ids[groups.group], groups.bin, who, whom, groups.wins
            groups = group_table([column[inside] for column in columns], groups.share)
        chosen = replace(
            self,
            names=tuple(names),
            wins=wins,
            ahead=self.ahead[:, pick[0], pick[1]],
            tied=self.tied[:, pick[0], pick[1]],
            parts=self.parts[:, :, pick[0], pick[1]],
            parts_ahead=self.parts_ahead[:, :, pick[0], pick[1]],
            present=_among(self.present, names),
            votes=round(self.votes * part),
            ties=self.ties * part,
            weight=self.weight * part,
            squares=self.squares * part,
            groups=groups,
        )
        return without_empty(chosen)

    def between(self, first: int, end: int) -> "Counts":
        """Return the counts of the fine bins first, ..., end - 1, a union of coarse bins."""
        whole = np.append(starts_of_runs(self.coarse), len(self.wins))
        if not first < end or first not in whole or end not in whole:
            raise DriftduelError(f"the bins {first} to {end} are not a union of coarse bins.")
        bins, here = slice(first, end), slice(self.coarse[first], self.coarse[end - 1] + 1)
        part = float(self.wins[bins].sum() / self.wins.sum())
        groups = self.groups
        if groups is not None:
            inside = (groups.bin >= first) & (groups.bin < end)
            columns = groups.ids[groups.group], groups.bin - first, groups.winner, groups.loser
            groups = group_table(
                [column[inside] for column in (*columns, groups.wins)], groups.share
            )
        return replace(
            self,
            **{name: getattr(self, name)[bins] for name in (*_TENSORS, "first", "last", "events")},
            coarse=self.coarse[bins] - self.coarse[first],
            parts=self.parts[:, here],
            parts_ahead=self.parts_ahead[:, here],
            votes=round(self.votes * part),
            ties=self.ties * part,
            weight=self.weight * part,
            squares=self.squares * part,
            groups=groups,
            # The recorded presence is that of the end of the log.
            present=self.present if end == len(self.wins) else None,
        )

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of both logs together.

        Bins that share a time are merged; nothing is lost for logs of different times, or counted
        with the same value of `edges`. If only one log records which option was shown first, the
        sum does not record it. The options present at its end are those of the log that ends last.
        """
        if not isinstance(other, Counts):
            return NotImplemented
        if self.clock != other.clock:
            raise DriftduelError(
                f"one log's times are {self.clock}s and the other's {other.clock}s; they cannot "
                f"be counted together."
            )
        if self.slates != other.slates:
            raise DriftduelError(
                "one log holds slates and the other duels, or only one has groups; such logs "
                "cannot be counted together."
            )
        # The rows of the argument follow all rows of this object.
        if self.clock == "row" and len(self.wins):
            later = self.last[-1] + 1
            other = replace(other, first=other.first + later, last=other.last + later)
        names = self.names + tuple(name for name in other.names if name not in self.names)
        return _merge_counts([_with_options(self, names), _with_options(other, names)])

    def save(self, path: str | Path) -> None:
        """Write the counts to an NPZ file without pickles, atomically."""
        path = Path(path)
        if path.suffix.lower() != ".npz":
            raise DriftduelError(f"counts are written as .npz; {path.name!r} has another suffix.")
        stored: dict[str, Any] = {"names": np.array(self.names), "clock": np.array(self.clock)}
        stored |= {name: getattr(self, name) for name in (*_ARRAYS, *_NUMBERS)}
        stored |= {name: np.array(int(getattr(self, name))) for name in _FLAGS}
        if self.slates:
            stored["slates"] = np.array(self.slates)
        if self.present is not None:
            stored["present"] = np.array(self.present, np.str_)
        if self.groups is not None:
            stored |= {f"group_{name}": getattr(self.groups, name) for name in _GROUP_FIELDS}
        with atomic_write(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **stored)


_TENSORS = ("wins", "ahead", "tied")
_ARRAYS = (*_TENSORS, "first", "last", "events", "coarse", "parts", "parts_ahead")
_NO_WEIGHT = f"that is not above 0 and at most {LARGEST_WEIGHT:,.0f}"
_MOST_WINS = 1000 * LARGEST_WEIGHT  # largest value of a cell
_TOO_LARGE = 1e18  # larger than any value in a file of counts, votes or times
_NUMBERS = ("votes", "ties", "weight", "squares")
_FLAGS = ("placed", "adaptive")
_GROUP_FIELDS = ("ids", "group", "bin", "winner", "loser", "wins", "share")
_PARTS_OF = (("ahead", "wins"), ("parts_ahead", "parts"))
_CLOCKS = ("row", "number", "date", "datetime")


def _among(present: tuple[str, ...] | None, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the present options that are among `names`."""
    return tuple(name for name in present or () if name in names) or None


def counts_from_votes(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    time: ArrayLike | None = None,
    group: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    bins: int = 256,
    edges: ArrayLike | None = None,
    clock: str | None = None,
    placed: bool = True,
) -> Counts:
    """Return the counts of votes given as arrays.

    Parameters
    ----------
    first, second
        The options of each vote, as indices of `names`.
    outcome
        1 if the first won, 0 if the second did, 1/2 for a tie.
    time
        The time of each vote; by default the votes are in order of time.
    group
        The group of each vote, as whole numbers: votes of different groups are independent. Equal
        values must mean the same group in all parts of a log. By default all votes are independent.
    weight
        The weight of each vote; the default is 1.
    names
        The options; by default their numbers.
    bins
        The approximate number of coarse bins of equal votes; fewer if there are many options.
    edges
        Times at which fine bins begin, ascending, instead of bins of equal votes; for parts of a
        log that will be added.
    clock
        The unit of times, see `Counts`; the default is ``number``, or ``row`` without times.
    placed
        Whether `first` is the option that was shown first; False: not known.

    Examples
    --------
    >>> counts = counts_from_votes([0, 1, 0], [1, 2, 2], [1, 0, 0.5], names=["tea", "milk", "ale"])
    >>> counts.votes, counts.ties, counts.wins.sum(axis=0).tolist()
    (3, 1.0, [[0.0, 1.0, 0.5], [0.0, 0.0, 0.0], [0.5, 1.0, 0.0]])
    """
    votes = _check_votes(first, second, outcome, time, group, weight, names)
    a, b, won, when, who, weights, names = votes
    clock = clock or ("number" if time is not None else "row")
    if clock not in _CLOCKS:
        raise DriftduelError(f"clock={clock} must be one of {', '.join(_CLOCKS)}.")
    if bins < 1:
        raise DriftduelError(f"bins={bins} must be at least 1.")
    K = len(names)
    bins = coarse_bins_for(K, bins)

    order = np.argsort(when, kind="stable")
    begins = np.flatnonzero(np.diff(when[order], prepend=-np.inf))
    sizes = np.diff(begins, append=len(order)).astype(np.float64)
    if edges is None:
        event_bin = even_bins(sizes, fine_bins_for(K, bins))
        votes_per_bin = _totals(event_bin, sizes, int(event_bin[-1]) + 1)
        coarse = even_bins(votes_per_bin, bins)
    else:
        cells = np.searchsorted(np.asarray(edges, np.float64), when[order[begins]], side="right")
        used, event_bin = np.unique(cells, return_inverse=True)
        # The coarse bin of a cell must not depend on the votes, or parts of a log could not be
        # added.
        a_coarse_bin = -(-(np.size(edges) + 1) // bins)
        coarse = np.unique(used // a_coarse_bin, return_inverse=True)[1]
    event = np.empty(len(order), np.int64)
    event[order] = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(order)))
    fine, F = event_bin[event], int(event_bin[-1]) + 1

    dealt = scramble(who.view(np.uint64) if who is not None else time_words(when)) % PARTS
    won_by_first, won_by_second = weights * won, weights * (1 - won)
    tie = np.where(won == 0.5, weights, 0.0)
    cell = (fine * K + a) * K + b, (fine * K + b) * K + a
    C = int(coarse[-1]) + 1
    part = (dealt.astype(np.int64) * C + coarse[fine]) * K
    part_cell = (part + a) * K + b, (part + b) * K + a
    wins = _sums(cell, (won_by_first, won_by_second), (F, K, K))
    tied = _sums(cell, (tie, tie), (F, K, K))
    parts = _sums(part_cell, (won_by_first, won_by_second), (PARTS, C, K, K))
    if placed:
        ahead = _sums(cell[:1], (won_by_first,), (F, K, K))
        parts_ahead = _sums(part_cell[:1], (won_by_first,), (PARTS, C, K, K))
    else:
        ahead, parts_ahead = np.zeros((F, K, K)), np.zeros((PARTS, C, K, K))
    first_event = starts_of_runs(event_bin)
    last_event = np.append(first_event[1:], len(begins)) - 1
    event_times = when[order[begins]]
    groups = None
    if who is not None:
        keys = who.view(np.uint64)
        sides = [(keys, fine, a, b, won_by_first), (keys, fine, b, a, won_by_second)]
        groups = group_table([np.concatenate(side) for side in zip(*sides, strict=True)])
    return Counts(
        names=names,
        wins=wins,
        ahead=ahead,
        tied=tied,
        first=event_times[first_event],
        last=event_times[last_event],
        events=np.bincount(event_bin, minlength=F).astype(np.int64),
        coarse=coarse,
        parts=parts,
        parts_ahead=parts_ahead,
        votes=len(a),
        ties=float((won == 0.5).sum()),
        weight=float(weights.sum()),
        squares=float((weights**2).sum()),
        clock=clock,
        groups=groups,
        placed=placed,
    )


def _check_votes(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    time: ArrayLike | None,
    group: ArrayLike | None,
    weight: ArrayLike | None,
    names: Sequence[str] | None,
) -> tuple[Ints, Ints, Floats, Floats, Ints | None, Floats, tuple[str, ...]]:
    """Return the arguments of `counts_from_votes` as arrays, or raise if a value is invalid."""
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    won = np.asarray(outcome, np.float64)
    when = np.arange(len(a), dtype=np.float64) if time is None else np.asarray(time, np.float64)
    weights = np.ones(len(a)) if weight is None else np.asarray(weight, np.float64)
    who = None if group is None else np.ascontiguousarray(group, np.int64)
    if not len(a):
        raise DriftduelError("there are no votes to count.")
    columns = {"second": b, "outcome": won, "time": when, "weight": weights, "group": who}
    for name, column in columns.items():
        if column is not None and column.shape != a.shape:
            raise DriftduelError(
                f"{name} has the shape {column.shape} where first has {a.shape}; "
                f"a vote has one of each."
            )
    if names is None:
        names = [str(option) for option in range(max(int(max(a.max(), b.max())), 1) + 1)]
    if len(names) < 2 or len(set(names)) != len(names):
        raise DriftduelError(f"a log needs two options with different names; it has {list(names)}.")
    for wrong, problem in (
        ((a < 0) | (a >= len(names)) | (b < 0) | (b >= len(names)), "names an unknown option"),
        (a == b, "compares an option with itself"),
        (~((won >= 0) & (won <= 1)), "has an outcome outside of 0 to 1"),
        (~np.isfinite(when), "has no finite time"),
        (~((weights > 0) & (weights <= LARGEST_WEIGHT)), f"has a weight {_NO_WEIGHT}"),
    ):
        if wrong.any():
            raise DriftduelError(f"vote {int(wrong.argmax()) + 1} {problem}.")
    return a, b, won, when, who, weights, tuple(names)


def fine_bins_for(options: int, bins: int, *, long: bool = False) -> int:
    """Return the number of fine bins: twenty to a coarse one, unless that takes much memory.

    A very long log has five, and still thousands of votes in each: grouping all rows by four times
    as many would take twice as long.
    """
    most = (_FINE_IF_LONG if long else _FINE) * coarse_bins_for(options, bins)
    fewest = np.clip(_MOST_CELLS_IF_WIDE // options**2, _FEWEST_BINS_IF_WIDE, _FEWEST_BINS)
    return int(np.clip(_MOST_CELLS // (PARTS * options**2), fewest, max(most, fewest)))


def coarse_bins_for(options: int, bins: int) -> int:
    """Return the number of coarse bins: the argument `bins`, limited by the tensor of parts."""
    return max(min(bins, _MOST_PART_CELLS // (PARTS * options**2)), min(bins, 2))


def even_bins(sizes: Floats, bins: int) -> Ints:
    """Assign items of these sizes to at most `bins` consecutive bins of about equal size."""
    if len(sizes) <= bins:
        return np.arange(len(sizes))
    numbers = np.empty(len(sizes), np.int64)
    deal_evenly(sizes, bins, max(sizes.sum(), 1e-300), numbers)
    return numbers


def starts_of_runs(values: NDArray[Any]) -> Ints:
    """Return the first index, and each index at which the value differs from the one before.

    Examples
    --------
    >>> starts_of_runs(np.array([5, 5, 2, 5])).tolist()
    [0, 2, 3]
    """
    return np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)[: len(values)]


def _totals(places: Ints, values: Floats, size: int) -> Floats:
    return np.bincount(places, values, size).astype(np.float64)


def _sums(cells: Sequence[Ints], values: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    size = math.prod(shape)
    total = _totals(cells[0], values[0], size)
    for more, value in zip(cells[1:], values[1:], strict=True):
        total += _totals(more, value, size)
    return total.reshape(shape)


def time_words(when: Floats) -> NDArray[np.uint64]:
    """Return the bits of time values as integers, for `scramble`."""
    return (when + 0.0).view(np.uint64)  # + 0: minus zero is zero


def scramble(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each word (splitmix64); any subset of its bits is close to uniform."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def ranks(groups: NDArray[np.uint64]) -> Floats:
    """Return a pseudo-random value from 0 to 1 for each group.

    The hash function is applied twice, so that the value is independent of the group's part.
    """
    return scramble(scramble(groups)) / 2.0**64


def group_table(columns: Sequence[NDArray[Any]], share: float = 1.0) -> Groups:
    """Return the table of cells, with groups sampled until it is small enough.

    Parameters
    ----------
    columns
        Group, fine bin, winner, loser and wins of cells, with repetitions.
    share
        The share of all groups that are kept so far.
    """
    if not (columns[4] > 0).all():
        columns = [column[columns[4] > 0] for column in columns]
    keys, bins, winner, loser, wins = columns
    number, new = Numbers().of(scramble(keys))
    place = np.argsort(keys[new])
    ids, group = keys[new][place], np.argsort(place)[number]
    options = int(max(winner.max(initial=0), loser.max(initial=0))) + 1
    cell = group * (int(bins.max(initial=0)) + 1) + bins
    cell = (cell * options + winner) * options + loser
    order = np.argsort(cell)
    begins = starts_of_runs(cell[order])
    one = order[begins]  # one row of each cell
    group, rank = group[one], ranks(ids)
    while True:
        there, kept = rank < share, rank[group] < share
        if kept.sum() <= _MOST_GROUP_CELLS or there.sum() <= _FEWEST_GROUPS:
            break
        share /= 2
    one = one[kept]
    return Groups(
        ids=ids[there],
        group=(np.cumsum(there) - 1)[group[kept]],
        bin=bins[one].astype(np.int64),
        winner=winner[one].astype(np.int64),
        loser=loser[one].astype(np.int64),
        wins=np.add.reduceat(wins[order], begins)[kept],
        share=share,
    )


def _with_options(counts: Counts, names: tuple[str, ...]) -> Counts:
    """Return the counts with all options of `names`, which include the present ones."""
    if counts.names == names:
        return counts
    place = np.array([names.index(name) for name in counts.names])
    K = len(names)

    def spread(tensor: Floats) -> Floats:
        wide = np.zeros((*tensor.shape[:-2], K, K))
        wide[..., place[:, None], place[None, :]] = tensor
        return wide

    groups = counts.groups
    if groups is not None:
        groups = replace(groups, winner=place[groups.winner], loser=place[groups.loser])
    return replace(
        counts,
        names=names,
        groups=groups,
        wins=spread(counts.wins),
        ahead=spread(counts.ahead),
        tied=spread(counts.tied),
        parts=spread(counts.parts),
        parts_ahead=spread(counts.parts_ahead),
    )


def _number_overlapping(first: Floats, last: Floats) -> Ints:
    """Return a number for each time interval; intervals that share a time get the same value."""
    order = np.lexsort((last, first))
    reach = np.maximum.accumulate(last[order])
    new = np.ones(len(order), np.bool_)
    new[1:] = first[order[1:]] > reach[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    return number


def _merge_counts(both: list[Counts]) -> Counts:
    """Return the sum of two counts with the same options."""
    first, last = (np.concatenate([getattr(c, n) for c in both]) for n in ("first", "last"))
    fine = _number_overlapping(first, last)
    F, K = int(fine.max()) + 1, both[0].options
    if min(_FEWEST_BINS, *(len(c.wins) // 2 for c in both)) > F:
        raise DriftduelError(
            "these counts overlap in time but were made with different bins; count the parts with "
            "the same edges."
        )
    spans = [
        (c.first[starts_of_runs(c.coarse)], c.last[np.append(starts_of_runs(c.coarse)[1:] - 1, -1)])
        for c in both
    ]
    coarse_number = _number_overlapping(
        *(np.concatenate(side) for side in zip(*spans, strict=True))
    )
    split = np.cumsum([0, *(len(c.wins) for c in both)])
    split_coarse = np.cumsum([0, *(c.parts.shape[1] for c in both)])
    placed = all(c.placed for c in both)
    fine_sums: dict[str, Any] = {name: np.zeros((F, K, K)) for name in _TENSORS}
    shape = (PARTS, int(coarse_number.max()) + 1, K, K)
    part_sums: dict[str, Any] = {name: np.zeros(shape) for name in ("parts", "parts_ahead")}
    events, coarse = np.zeros(F, np.int64), np.zeros(F, np.int64)
    merged_first, merged_last = np.full(F, np.inf), np.full(F, -np.inf)
    np.minimum.at(merged_first, fine, first)
    np.maximum.at(merged_last, fine, last)
    tables = []
    for i, counts in enumerate(both):
        here = fine[split[i] : split[i + 1]]
        here_coarse = coarse_number[split_coarse[i] : split_coarse[i + 1]]
        for name, total in fine_sums.items():
            if placed or name != "ahead":
                np.add.at(total, here, getattr(counts, name))
        for name, parts in part_sums.items():
            for part, more in zip(parts, getattr(counts, name), strict=True):
                if placed or name != "parts_ahead":
                    np.add.at(part, here_coarse, more)
        np.add.at(events, here, counts.events)
        coarse[here] = here_coarse[counts.coarse]
        if counts.groups is not None:
            g = counts.groups
            tables.append((g.ids[g.group], here[g.bin], g.winner, g.loser, g.wins))
    if tables and len(tables) < len(both):
        raise DriftduelError("only one of two logs has groups; count both with the same --group.")
    groups = None
    if tables:
        share = min(c.groups.share for c in both if c.groups is not None)
        columns = [np.concatenate(column) for column in zip(*tables, strict=True)]
        groups = group_table(columns, share)
    sums: dict[str, Any] = {name: sum(getattr(c, name) for c in both) for name in _NUMBERS}
    # An event in both arguments is one event: a bin of a single time has at most one.
    events = np.where(merged_first == merged_last, 1, events)
    return Counts(
        names=both[0].names,
        first=merged_first,
        last=merged_last,
        events=events,
        coarse=coarse,
        clock=both[0].clock,
        groups=groups,
        placed=placed,
        present=max(both, key=lambda c: float(c.last[-1])).present,
        adaptive=any(c.adaptive for c in both),
        slates=both[0].slates,
        **fine_sums,
        **part_sums,
        **sums,
    )


def without_empty(counts: Counts) -> Counts:
    """Return the counts without empty fine bins."""
    some = counts.per_bin() > 0
    if not some.any():
        raise DriftduelError(f"there are no votes between {', '.join(counts.names)}.")
    used, coarse = np.unique(counts.coarse[some], return_inverse=True)
    groups = counts.groups
    if groups is not None:
        groups = replace(groups, bin=(np.cumsum(some) - 1)[groups.bin])
    return replace(
        counts,
        wins=counts.wins[some],
        ahead=counts.ahead[some],
        tied=counts.tied[some],
        first=counts.first[some],
        last=counts.last[some],
        events=counts.events[some],
        coarse=coarse,
        parts=counts.parts[:, used],
        parts_ahead=counts.parts_ahead[:, used],
        groups=groups,
    )


def load_counts(path: str | Path) -> Counts:
    """Read a file written by `Counts.save`; raise `DriftduelError` for any other content."""
    try:
        content = arrays(read_bytes(path))
    except DriftduelError as error:
        raise DriftduelError(f"{str(path)!r} cannot be read as counts: {error}") from None
    wanted = ("names", "clock", *_ARRAYS, *_NUMBERS, *_FLAGS)
    missing = [name for name in wanted if name not in content]
    if "shown_wins" in content and missing:
        raise DriftduelError(
            f"{str(path)!r} was counted by an older version of driftduel, which did not record "
            f"ties and first places over time; count its log again: driftduel log count."
        )
    if missing:
        raise DriftduelError(f"{str(path)!r} holds no counts: it has no {missing[0]!r}.")
    for name, array in content.items():
        text = name in ("names", "clock", "present")
        ids = name == "group_ids"  # any number of 64 bits
        if (array.dtype.kind == "U") != text or not (
            text or ids or (np.abs(array.astype(np.float64)) < _TOO_LARGE).all()  # nor NaN
        ):
            raise DriftduelError(f"{name!r} in {str(path)!r} has an invalid type or value.")
    names = tuple(content["names"].ravel().tolist())
    F, K, C = len(content["first"].ravel()), len(names), content["parts"].ravel().size
    C = C // max(PARTS * K * K, 1)
    shapes = {
        "first": (F,), "last": (F,), "events": (F,), "coarse": (F,), "clock": (),
        "parts": (PARTS, C, K, K), "parts_ahead": (PARTS, C, K, K),
        **dict.fromkeys(_TENSORS, (F, K, K)), **dict.fromkeys((*_NUMBERS, *_FLAGS), ()),
    }  # fmt: skip
    for name, shape in shapes.items():
        if content[name].shape != shape:
            raise DriftduelError(
                f"{name!r} in {str(path)!r} has the shape {content[name].shape}, not {shape}."
            )
    coarse = content["coarse"].astype(np.int64)
    steps = np.diff(coarse, prepend=-1)
    if (
        K < 2 or F < 1 or len(set(names)) != K or str(content["clock"]) not in _CLOCKS
        or (content["first"] > content["last"]).any()
        or (content["first"][1:] <= content["last"][:-1]).any()
        or steps[0] != 1 or not np.isin(steps, (0, 1)).all() or coarse[-1] != C - 1
        or any((content[n] < 0).any() for n in wanted if content[n].dtype.kind != "U" and n
               not in ("first", "last"))
        or content["wins"].sum() <= 0 or content["squares"] <= 0
        or any((content[n] > _MOST_WINS).any() for n in ("wins", "parts"))
        or any(_exceeds(content[part], content[whole]) for part, whole in _PARTS_OF)
        or (content["tied"] != content["tied"].swapaxes(1, 2)).any()
        or _exceeds(content["tied"] / 2, content["wins"])  # decided wins would be negative
        or any(int(content[n]) not in (0, 1) for n in _FLAGS)
        or content.get("slates", np.array(0)).shape != ()
        or int(content.get("slates", 0)) not in (0, 1, 2)
        or (int(content.get("slates", 0)) > 0) > ("group_ids" in content)  # slates are groups
        or not set(content.get("present", names[:1])) <= set(names)
    ):  # fmt: skip
        raise DriftduelError(f"the counts in {str(path)!r} contradict themselves.")
    return Counts(
        names=names,
        events=content["events"].astype(np.int64),
        coarse=coarse,
        votes=int(content["votes"]),
        ties=float(content["ties"]),
        weight=float(content["weight"]),
        squares=float(content["squares"]),
        clock=str(content["clock"]),
        groups=_loaded_groups(content, F, K, path),
        placed=bool(content["placed"]),
        present=tuple(content["present"].tolist()) if "present" in content else None,
        adaptive=bool(content["adaptive"]),
        slates=int(content.get("slates", 0)),
        **{
            name: content[name].astype(np.float64, copy=False)
            for name in (*_TENSORS, "first", "last", "parts", "parts_ahead")
        },
    )


def _exceeds(part: Floats, whole: Floats) -> bool:
    """Return whether a sum is larger than that of which it is a part, beyond rounding."""
    return bool((part > whole * (1 + 1e-9) + 1e-9).any())


def _loaded_groups(
    content: dict[str, NDArray[Any]], F: int, K: int, path: str | Path
) -> Groups | None:
    stored = {name: content.get(f"group_{name}") for name in _GROUP_FIELDS}
    if all(array is None for array in stored.values()):
        return None
    table = {name: array for name, array in stored.items() if array is not None}
    try:
        limits = {"group": table["ids"].size, "bin": F, "winner": K, "loser": K}
        cells = table["wins"].shape
        for name, limit in limits.items():
            column = table[name] = table[name].astype(np.int64)
            if column.shape != cells or (column < 0).any() or (column >= limit).any():
                raise KeyError
        dimensions = [table[name].ndim for name in ("wins", "ids", "share")]
        if (
            dimensions != [1, 1, 0] or table["ids"].dtype != np.uint64
            or not ((table["wins"] >= 0) & (table["wins"] <= _MOST_WINS)).all()
            or not 0 < table["share"] <= 1
        ):  # fmt: skip
            raise KeyError
    except KeyError:
        raise DriftduelError(f"the groups in {str(path)!r} contradict themselves.") from None
    share = float(table.pop("share"))
    return Groups(**table, share=share)
