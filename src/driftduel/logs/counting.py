"""Conversion of rows to counts.

The text of a row is interpreted once for each kind of row, in plain Python; rows are then summed as
numbers. Invalid rows are counted by reason, never dropped silently.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.wording import listed
from driftduel.errors import DriftduelError
from driftduel.logs._row_kernels import add_votes, find_bins, write_cells
from driftduel.logs.columns import LogColumns, quote
from driftduel.logs.counts import (
    LARGEST_WEIGHT,
    PARTS,
    Counts,
    Groups,
    coarse_bins_for,
    even_bins,
    fine_bins_for,
    group_table,
    ranks,
    scramble,
    starts_of_runs,
    time_words,
)
from driftduel.logs.results import NEITHER, are_flags, parse_outcome, result_of, words_for
from driftduel.logs.rows import KEYS, Batch, LogRows
from driftduel.logs.times import Clock

__all__ = [
    "MOST_OPTIONS",
    "NO_TIME",
    "NO_VOTES",
    "NO_WEIGHT",
    "Bins",
    "Counted",
    "bins_of_times",
    "count_rows",
    "make_bins",
    "prepare_votes",
    "read_kinds",
    "some_times",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_TIMES = 4_000_000  # with more rows, the bins are computed from a sample of the times
_SAMPLE_OF_TIMES = 500_000
_MOST_GROUP_ROWS = 4_000_000
_FEWEST_GROUPS = 1000
MOST_OPTIONS = 1000
"""The default of the largest number of options that are counted."""
NO_TIME = "the time is missing or cannot be read"
NO_WEIGHT = f"the weight is not above 0 and at most {LARGEST_WEIGHT:,.0f}"
NO_VOTES = "there are no votes between the options that have the most."


@dataclass(frozen=True)
class Counted:
    """Counts of a log, and the rows and options that were left out."""

    counts: Counts
    rows: int
    """The number of all rows, invalid ones included."""
    skipped: Mapping[str, int]
    """The number of invalid rows by reason."""
    left_out: Mapping[str, int]
    """Options with too few votes to be counted among `most`, and their votes."""
    meaning: Callable[[pl.DataFrame], pl.DataFrame] | None
    """A function that adds columns to rows: `won`, the first option's share of the win, or `why`,
    the
    reason why a row is invalid. None if another process counted the rows."""
    winners: Sequence[str | None] = ()
    """The different values of the column of winners."""


def prepare_votes(
    frame: pl.LazyFrame,
    columns: LogColumns,
    clock: Clock | None,
    also: Mapping[str, pl.Expr] | None = None,
    result: Mapping[str, pl.Expr] | None = None,
) -> pl.LazyFrame:
    """Return the columns under their standard names: first, second, winner, tie, when, ...

    The expressions `also` are further columns by name: the subgroup of each vote, its features.
    The columns `result` replace those of the options and the winner.
    """
    kept = dict(result_of(columns) if result is None else result)
    if columns.tie is not None:
        kept["tie"] = pl.col(columns.tie).cast(pl.String)
    wanted = [value.alias(ours) for ours, value in kept.items()]
    if clock is None:
        frame = frame.with_row_index("__row")
        wanted.append(pl.col("__row").cast(pl.Float64).alias("when"))
    else:
        frame = frame.with_columns(clock.number.alias("__time"))
        wanted.append(clock.when(pl.col("__time")).fill_null(float("nan")).alias("when"))
    if columns.weight is not None:
        number = pl.col(columns.weight).cast(pl.Float64, strict=False).fill_null(0.0)
        frame, weight = frame.with_columns(number.alias("__weight")), pl.col("__weight")
        sound = (weight > 0) & (weight <= LARGEST_WEIGHT)
        wanted.append(pl.when(sound).then(weight).alias("weight"))
    if columns.group:
        # Equal values give the same number in every part of a log.
        words = pl.struct(pl.col(name).cast(pl.String) for name in columns.group)
        wanted.append(words.hash(1).alias("group"))
    wanted += [value.alias(name) for name, value in (also or {}).items()]
    return frame.select(wanted)


@dataclass(frozen=True)
class Bins:
    """Fine bins, by time."""

    edges: Floats
    """(F,) the first time of each bin."""
    coarse: Ints
    """(F,) the coarse bin of each bin."""
    events: Floats
    """(F,) the approximate number of distinct times in each bin."""
    exact: bool = True
    """Whether all times were used; very long logs are sampled."""


def make_bins(
    rows: LogRows, bins: int, *, most: int = MOST_OPTIONS, counted_rows: bool = False
) -> Bins:
    """Return fine bins of about equal votes; a bin never splits an event (all votes of one time).

    Parameters
    ----------
    rows
        The rows of the log.
    bins
        The number of coarse bins.
    most
        The largest number of options that will be counted.
    counted_rows
        Whether the times are the numbers of the rows.
    """
    options = min(rows.options, most)
    if not counted_rows:
        return bins_of_times(*some_times(rows), options, bins)
    wished = min(fine_bins_for(options, bins, long=rows.size > _MOST_TIMES), rows.size)
    edges = np.unique(np.floor(np.linspace(0, rows.size, wished, endpoint=False)))
    lengths = np.diff(edges, append=rows.size)
    coarse = even_bins(lengths, coarse_bins_for(options, bins))
    return Bins(edges, coarse, lengths, rows.size <= _MOST_TIMES)


def some_times(rows: LogRows) -> tuple[Floats, float]:
    """Return the times of a log (of a very long one, a sample), and the weight of each value."""
    kept = 1
    if rows.size > _MOST_TIMES:
        kept = 1 << int(np.ceil(np.log2(rows.size / _SAMPLE_OF_TIMES)))
    when = rows.times(kept)
    if not len(when) and kept > 1:  # a few huge events, all missing from the sample
        when, kept = np.unique(rows.times()), 1
    if not len(when):
        raise DriftduelError("no row has a time that can be read.")
    return when, float(kept)


def bins_of_times(when: Floats, weights: float | Floats, options: int, bins: int) -> Bins:
    """Return fine bins of about equal votes, given times and the number of votes of each value."""
    if (when[1:] < when[:-1]).any():
        order = np.argsort(when, kind="stable")
        when = when[order]
        weights = weights[order] if isinstance(weights, np.ndarray) else weights
    begins = starts_of_runs(when)
    events = when[begins]
    if isinstance(weights, np.ndarray):
        sizes, often = np.add.reduceat(weights, begins), weights[begins]
    else:
        sizes = weights * np.diff(begins, append=len(when))
        often = np.full(len(events), weights)
    exact = bool(np.all(weights == 1))
    bin_of = even_bins(sizes, fine_bins_for(options, bins, long=not exact))
    first = starts_of_runs(bin_of)
    coarse = even_bins(np.add.reduceat(sizes, first), coarse_bins_for(options, bins))
    return Bins(events[first], coarse, np.add.reduceat(often, first), exact)


class Read(NamedTuple):
    """The interpretation of a log's kinds of row."""

    outcomes: Sequence[float | str]
    """For each kind, the first option's share of the win, or the reason why it is invalid."""
    votes: Mapping[str, int]
    """The votes of each option, in descending order."""
    skipped: Mapping[str, int]
    """The number of invalid rows by reason."""
    meaning: Callable[[pl.DataFrame], pl.DataFrame]
    """The same function as in `Counted`."""
    winners: Sequence[str | None]
    """The different values of the column of winners."""


def read_kinds(rows: LogRows, columns: LogColumns | None = None) -> Read:
    """Interpret the kinds of row of a log.

    Parameters
    ----------
    rows
        The rows of the log.
    columns
        The columns of the log, for the values of its results and for messages; by default the
        standard names.
    """
    winners = rows.kinds["winner"].unique().to_list() if "winner" in rows.keys else []
    if columns is not None and columns.beside and are_flags(winners):
        raise DriftduelError(
            f"{quote(columns.winner)} holds 0 and 1 only and seems to be one of a set of columns, "
            f"with {listed([quote(name) for name in columns.beside], most=5)}; a log needs one "
            f"column with the name of the winner: --columns winner=NAME."
        )
    words = words_for(columns, winners)
    outcomes = _outcomes(rows.kinds, rows.keys, words)
    votes: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for outcome, often, *pair in zip(
        outcomes, rows.sound.tolist(), *(rows.kinds[name] for name in KEYS[:2]), strict=False
    ):
        if isinstance(outcome, str):
            wrong[outcome] += often
        else:
            votes.update(dict.fromkeys(pair, often))
    _need_results(votes, wrong, columns)
    skipped = {NO_TIME: rows.late, NO_WEIGHT: rows.light, **_most_first(wrong)}

    def meaning(table: pl.DataFrame) -> pl.DataFrame:
        return _with_outcomes(table, rows.keys, words)

    skipped = {why: often for why, often in skipped.items() if often}
    return Read(outcomes, _most_first(votes), skipped, meaning, winners)


def _need_results(votes: Counter[str], wrong: Counter[str], columns: LogColumns | None) -> None:
    """Raise if most values of the winner's column name neither option: the column was misread."""
    neither = {why: often for why, often in wrong.items() if why.endswith(NEITHER)}
    lost = sum(neither.values())
    if lost <= sum(votes.values()) / 2:  # each vote is counted for both of its options
        return
    columns = columns or LogColumns("winner", first="first", second="second")
    why = max(neither, key=lambda why: neither[why])
    raise DriftduelError(
        f"in {lost:,} rows, more than the others, {quote(columns.winner)} names neither option "
        f"({why}); the columns were understood as {columns.argument()}: name others, or write "
        f"the winner as one of the two options."
    )


def _most_first(often: Mapping[str, int]) -> dict[str, int]:
    """Return the entries above 0, sorted by number in descending order, then by name."""
    return dict(sorted(((n, c) for n, c in often.items() if c), key=lambda x: (-x[1], x[0])))


def count_rows(
    rows: LogRows,
    fine_bins: Bins,
    *,
    names: Sequence[str] | None = None,
    most: int = MOST_OPTIONS,
    clock: str = "number",
    columns: LogColumns | None = None,
) -> Counted:
    """Count the rows of a log.

    Parameters
    ----------
    rows
        The rows of the log.
    fine_bins
        The bins from `make_bins`, of this log or of a log that contains it.
    names
        The options to count, which the log need not contain; by default those with the most votes.
    most
        The largest number of options if `names` is not given.
    clock
        Same argument as of `counts_from_votes`.
    columns
        The columns of the log; by default the standard names.
    """
    outcomes, votes, skipped, meaning, winners = read_kinds(rows, columns)
    if not votes:
        reason = max(skipped, key=lambda why: skipped[why])
        raise DriftduelError(
            f"none of the {rows.size:,} rows can be read as a comparison: {reason} "
            f"({skipped[reason]:,} times)."
        )
    # Sorted, so that no result depends on the order of rows.
    counted = tuple(sorted(list(votes)[:most] if names is None else names))
    left_out = {name: count for name, count in votes.items() if name not in set(counted)}
    placed = columns is None or columns.placed
    tally = _VoteCounter(
        _kinds(rows, outcomes, counted), fine_bins, len(counted), rows, placed=placed
    )
    for batch in rows.batches():
        tally.add(batch)
    counts = tally.counts(counted, clock)
    if names is None and not counts.votes:
        raise DriftduelError(NO_VOTES)
    return Counted(counts, rows.size, skipped, left_out, meaning, winners)


class _Kinds(NamedTuple):
    """The kinds of row as arrays of numbers."""

    a: Ints
    b: Ints
    """The two options; the value -1 marks an invalid kind or an option that is left out."""
    won: Floats
    """The share of the win of option `a`."""
    votes: Ints
    """The number of rows of each kind."""


class _VoteCounter:
    """Accumulator of the rows of a log."""

    def __init__(
        self, kinds: _Kinds, bins: Bins, options: int, rows: LogRows, *, placed: bool
    ) -> None:
        F, C, K = len(bins.edges), int(bins.coarse[-1]) + 1, options
        self._kinds, self._bins, self._rows, self._placed = kinds, bins, rows, placed
        self._results, self._parts = np.zeros((3, F, K, K)), np.zeros((2, PARTS, C, K, K))
        self._first, self._last = np.full(F, np.inf), np.full(F, -np.inf)
        self._weights, self._squares = np.zeros(len(kinds.a)), 0.0
        self._cells = kinds.a, kinds.b, np.select([kinds.won == 1, kinds.won == 0], [0, 1], 2)
        # Rows are dealt into parts by group or event; in a very long log by fine bin, at no cost.
        self._dealt = rows.grouped or bins.exact
        self._share = _share_of_groups(rows) if rows.grouped else 1.0
        self._by_group: list[list[NDArray[Any]]] = []

    def add(self, batch: Batch) -> None:
        """Add a batch of rows."""
        bins = np.empty(len(batch.kind), np.int32)
        find_bins(batch.when, self._bins.edges, bins)
        part = np.zeros(0, np.uint8)
        if self._dealt:
            words = batch.group if self._rows.grouped else time_words(batch.when)
            part = (scramble(words) % PARTS).astype(np.uint8)
        self._squares += add_votes(
            batch.kind, bins, part, batch.when, batch.weight, self._cells, self._bins.coarse,
            self._results, self._parts, self._first, self._last, self._weights,
        )  # fmt: skip
        if self._rows.grouped:
            chosen = ranks(batch.group) < self._share if self._share < 1 else np.zeros(0, np.bool_)
            groups, *places = (np.empty(2 * len(bins), k) for k in (np.uint64, *[np.int32] * 3))
            wins = np.empty(2 * len(bins))
            columns = groups, *places, wins
            won = self._kinds.won >= 0.5
            cells = (
                np.where(won, self._kinds.a, np.where(self._kinds.a < 0, -1, self._kinds.b)),
                np.where(won, self._kinds.b, self._kinds.a),
                np.where(won, self._kinds.won, 1 - self._kinds.won),
            )
            found = write_cells(
                batch.kind, bins, batch.weight, batch.group, chosen, cells, *columns
            )
            self._by_group.append([column[:found].copy() for column in columns])

    def counts(self, names: tuple[str, ...], clock: str) -> Counts:
        """Return the counts of all rows added so far."""
        kinds, weights = self._kinds, self._weights  # the weight of a kind that is not counted is 0
        votes = np.where(kinds.a >= 0, kinds.votes, 0)
        seen = np.flatnonzero(np.isfinite(self._first))
        bin_of = _merge_bins(self._bins, seen, len(names))
        begins = starts_of_runs(bin_of[seen])
        used, coarse = np.unique(self._bins.coarse[seen][begins], return_inverse=True)
        wins, ahead, tied = self._wins()
        parts, parts_ahead = self._wins_of_parts(wins, ahead)
        first = np.minimum.reduceat(self._first[seen], begins)
        last = np.maximum.reduceat(self._last[seen], begins)
        events = np.add.reduceat(self._bins.events[seen], begins)
        if len(used) < parts.shape[1]:
            parts, parts_ahead = parts[:, used], parts_ahead[:, used]
        return Counts(
            names=names,
            wins=_sum_bins(wins, seen, begins),
            ahead=_sum_bins(ahead, seen, begins),
            tied=_sum_bins(tied, seen, begins),
            first=first,
            last=last,
            events=np.where(first == last, 1, np.maximum(events, 1)).astype(np.int64),
            coarse=coarse,
            parts=parts,
            parts_ahead=parts_ahead,
            votes=int(votes.sum()),
            ties=float(votes[kinds.won == 0.5].sum()),
            weight=float(weights.sum()),
            squares=self._squares,
            clock=clock,
            groups=self._groups(bin_of) if self._rows.grouped else None,
            placed=self._placed,
        )

    def _wins(self) -> tuple[Floats, Floats, Floats]:
        """Return the tensors `wins`, `ahead` and `tied` of `Counts`, in all bins."""
        first, second, tie = self._results
        tied = tie + tie.swapaxes(1, 2)
        wins = first + second.swapaxes(1, 2)
        wins += tied / 2
        return wins, first + tie / 2 if self._placed else np.zeros(wins.shape), tied

    def _wins_of_parts(self, wins: Floats, ahead: Floats) -> tuple[Floats, Floats]:
        """Return the tensors `parts` and `parts_ahead` of `Counts`, in all coarse bins."""
        parts_ahead, parts = self._parts
        if not self._dealt:
            part = (scramble(time_words(self._bins.edges)) % PARTS).astype(np.int64)
            np.add.at(parts, (part, self._bins.coarse), wins)
            np.add.at(parts_ahead, (part, self._bins.coarse), ahead)
            return parts, parts_ahead
        for number in range(PARTS):  # one part after the other, which takes less memory
            parts[number] = parts[number].swapaxes(1, 2) + parts_ahead[number]
        return parts, parts_ahead if self._placed else np.zeros(parts.shape)

    def _groups(self, bin_of: Ints) -> Groups:
        """Return the table of groups; `bin_of` maps fine bins to bins with votes."""
        groups, bins, *cells = (np.concatenate(x) for x in zip(*self._by_group, strict=True))
        return group_table([groups, bin_of[bins], *cells], self._share)


def _sum_bins(tensor: Floats, seen: Ints, begins: Ints) -> Floats:
    """Return the bins with votes, with merged bins summed; no copy if all bins are kept."""
    if len(seen) < len(tensor):
        tensor = tensor[seen]
    return tensor if len(begins) == len(seen) else np.add.reduceat(tensor, begins, axis=0)


def _share_of_groups(rows: LogRows) -> float:
    """Return the share of groups to keep, so that memory does not grow with the rows."""
    share = 1.0
    if rows.size <= _MOST_GROUP_ROWS:
        return share
    groups = rows.different_groups()
    while rows.size * share > _MOST_GROUP_ROWS and groups * share > 2 * _FEWEST_GROUPS:
        share /= 2
    return share


# ---- the table of kinds ----


def _outcomes(
    kinds: pl.DataFrame, keys: list[str], words: Mapping[str, float]
) -> list[float | str]:
    """Return for each kind the first option's share of the win, or the reason why it is invalid."""
    return [
        parse_outcome(
            row["first"], row["second"], row.get("winner", row["first"]), row.get("tie"), words
        )
        for row in kinds.select(keys).iter_rows(named=True)
    ]


def _with_outcomes(
    table: pl.DataFrame, keys: list[str], words: Mapping[str, float]
) -> pl.DataFrame:
    """Add the columns `won`, the first option's share of the win, and `why`, the error."""
    kinds = table.select(keys).unique()
    outcomes = _outcomes(kinds, keys, words)
    kinds = kinds.with_columns(
        pl.Series("won", [None if isinstance(s, str) else s for s in outcomes], pl.Float64),
        pl.Series("why", [s if isinstance(s, str) else None for s in outcomes], pl.String),
    )
    return table.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _kinds(rows: LogRows, outcomes: Sequence[float | str], names: tuple[str, ...]) -> _Kinds:
    """Convert the kinds of row to arrays of numbers."""
    place = {name: number for number, name in enumerate(names)}
    a, b = (
        np.array([place.get(name, -1) for name in rows.kinds[column]], np.int64)
        for column in KEYS[:2]
    )
    won = np.array([-1.0 if isinstance(s, str) else s for s in outcomes])
    a[(b < 0) | (won < 0)] = -1
    return _Kinds(a, b, won, rows.sound[: len(a)])


def _merge_bins(fine_bins: Bins, used: Ints, options: int) -> Ints:
    """Return the index of each fine bin among those with votes, or fewer if there are many
    options, within its coarse bin.
    """  # noqa: D205
    has_votes = np.zeros(len(fine_bins.edges), np.bool_)
    has_votes[used] = True
    coarse = fine_bins.coarse
    most = fine_bins_for(options, int(coarse[-1]) + 1)
    several = max(1, -(-int(has_votes.sum()) // most))
    places = np.cumsum(has_votes) - 1
    begins = np.searchsorted(coarse, coarse)  # the first fine bin of the same coarse one
    within = places - np.where(begins > 0, places[begins - 1] + 1, 0)
    label = coarse * (len(coarse) + 1) + np.maximum(within, 0) // several
    numbers = np.unique(label[has_votes], return_inverse=True)[1]
    bin_of = np.zeros(len(coarse), np.int64)
    bin_of[has_votes] = numbers
    return bin_of
