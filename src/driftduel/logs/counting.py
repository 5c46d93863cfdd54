"""From rows to counts in one pass, by polars: the only code that sees a log's rows.

Rows are grouped by all that they say: stretch of time, the two options, the word for the winner.
What the words mean is then decided on that small table, in plain Python. Memory does not grow with
the rows, and what makes no sense is counted, never dropped silently.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.logs.columns import Columns, outcome_of, quoted, words_for_numbers
from driftduel.logs.counts import (
    PARTS,
    Counts,
    Groups,
    even_bins,
    fine_bins_for,
    group_table,
    scramble,
    time_words,
)
from driftduel.logs.times import Clock

__all__ = [
    "NO_TIME",
    "NO_WEIGHT",
    "Bins",
    "Counted",
    "collected",
    "count_rows",
    "make_bins",
    "prepared",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_TIMES = 4_000_000  # beyond, the bins are made of a sample of the times
_SAMPLE_OF_TIMES = 500_000
_MOST_WORDS = 8_000_000  # different comparisons in all fine bins; more is no log of options
_SAMPLE = 100_000
_MOST_GROUP_ROWS = 4_000_000
_FEWEST_GROUPS = 1000
NO_TIME, NO_WEIGHT = "the time is missing or cannot be read", "the weight is not above 0"
_KEYS = ("first", "second", "winner", "tie")


@dataclass(frozen=True)
class Counted:
    """Counts, and what was left out of them."""

    counts: Counts
    rows: int
    """All rows, with those that make no sense."""
    skipped: Mapping[str, int]
    """Why rows were left out, and how many."""
    left_out: Mapping[str, int]
    """Options with too few votes to be counted among `most`, and their votes."""
    meaning: Callable[[pl.DataFrame], pl.DataFrame] | None
    """Adds to rows what they say: `won`, the first option's share of the win, or `why` not. None
    where the counting was done elsewhere."""


def prepared(frame: pl.LazyFrame, columns: Columns, clock: Clock | None) -> pl.LazyFrame:
    """Return the columns that matter under our names: first, second, winner, tie, when, ..."""
    kept = dict(zip(("first", "second"), columns.pair, strict=True))
    if columns.placed:  # else the first of each pair is the winner
        kept["winner"] = columns.winner
    if columns.tie is not None:
        kept["tie"] = columns.tie
    wanted = [pl.col(name).cast(pl.String).alias(ours) for ours, name in kept.items()]
    if clock is None:
        frame = frame.with_row_index("__row")
        wanted.append(pl.col("__row").cast(pl.Float64).alias("when"))
    else:
        wanted.append(clock.when.fill_null(float("nan")).alias("when"))
    if columns.weight is not None:
        weight = pl.col(columns.weight).cast(pl.Float64, strict=False).fill_null(0.0)
        wanted.append(pl.when(weight.is_finite() & (weight > 0)).then(weight).alias("weight"))
    if columns.group:
        # The same words give the same number in every part of a log.
        words = pl.struct(pl.col(name).cast(pl.String) for name in columns.group)
        wanted.append(words.hash(1).alias("group"))
    return frame.select(wanted)


@dataclass(frozen=True)
class Bins:
    """Fine bins, by time."""

    edges: Floats
    """(F,) the first time of each."""
    coarse: Ints
    """(F,) the coarse bin each belongs to."""
    events: Floats
    """(F,) about how many different times each has."""
    exact: bool = True
    """Whether all times were looked at; in very long logs, a sample is."""


def make_bins(votes: pl.LazyFrame, bins: int, *, counted_rows: bool = False) -> Bins:
    """Make fine bins of about equal votes; none cuts an event, which is all votes of one time.

    Parameters
    ----------
    votes
        As `prepared` makes them.
    bins
        Coarse bins.
    counted_rows
        Whether the times are the numbers of the rows.
    """
    if not counted_rows:
        when, kept, options = some_times(votes)
        return bins_of_times(when, np.full(len(when), kept), options, bins)
    rows, options = _size(votes)
    wished = min(fine_bins_for(options, bins, long=rows > _MOST_TIMES), rows)
    edges = np.unique(np.floor(np.linspace(0, rows, wished, endpoint=False)))
    lengths = np.diff(edges, append=rows)
    return Bins(edges, even_bins(lengths, bins), lengths, rows <= _MOST_TIMES)


def _size(votes: pl.LazyFrame) -> tuple[int, int]:
    """Return how many rows there are, and about how many options."""
    rows = int(collected(votes.select(pl.len())).item())
    if not rows:
        raise DriftduelError("the log has no rows.")
    start = collected(votes.select("first", "second").head(_SAMPLE))
    return rows, max(2, *(start[name].n_unique() for name in start.columns))


def some_times(votes: pl.LazyFrame) -> tuple[Floats, float, int]:
    """Return the times of a log, or of a very long one a sample of them.

    Returns
    -------
    tuple
        The times, how many each stands for, and about how many options there are.
    """
    rows, options = _size(votes)
    times, kept = votes.select("when"), 1
    if rows > _MOST_TIMES:
        kept = 1 << int(np.ceil(np.log2(rows / _SAMPLE_OF_TIMES)))
        times = times.filter(pl.col("when").hash(7) % kept == 0)
    when = collected(times)["when"].to_numpy()
    when = when[np.isfinite(when)]
    if not len(when) and kept > 1:  # a few huge events, none of which is in the sample
        when = collected(votes.select(pl.col("when").unique()))["when"].to_numpy()
        when, kept = when[np.isfinite(when)], 1
    if not len(when):
        raise DriftduelError("no row has a time that can be read.")
    return when, float(kept), options


def bins_of_times(when: Floats, weights: Floats, options: int, bins: int) -> Bins:
    """Make fine bins of about equal votes, given times and how many votes each stands for."""
    events, event_of = np.unique(when, return_inverse=True)
    sizes = np.bincount(event_of, weights)
    exact = bool((weights == 1).all())
    fine = fine_bins_for(options, bins, long=not exact)
    bin_of = even_bins(sizes.astype(np.float64), fine)
    edges = events[np.flatnonzero(np.diff(bin_of, prepend=-1))]
    coarse = even_bins(np.bincount(bin_of, sizes).astype(np.float64), bins)
    often = weights[np.unique(event_of, return_index=True)[1]]
    return Bins(edges, coarse, np.bincount(bin_of, often).astype(np.float64), exact)


def count_rows(
    votes: pl.LazyFrame,
    fine_bins: Bins,
    *,
    most: int = 200,
    clock: str = "number",
    placed: bool = True,
) -> Counted:
    """Count the rows of a log.

    Parameters
    ----------
    votes
        As `prepared` makes them.
    fine_bins
        As `make_bins` makes them: of this log, or of one that this is a part of.
    most
        At most so many options are counted, those with the most votes.
    clock, placed
        As of `counts_from_votes`.
    """
    there = votes.collect_schema().names()
    keys = [name for name in _KEYS if name in there]
    tables, share = _tables(votes, keys, fine_bins)
    winners = tables["cells"]["winner"].unique().to_list() if placed else []
    numbers = words_for_numbers(winners)

    def meaning(table: pl.DataFrame) -> pl.DataFrame:
        return _with_outcomes(table, keys, numbers)

    cells = meaning(tables["cells"])
    if "weight" not in there:
        cells = cells.with_columns(sum=pl.col("rows").cast(pl.Float64), no_weight=pl.lit(0))
        cells = cells.with_columns(squares=pl.col("sum"))
    rows, skipped = int(cells["rows"].sum()), _skipped(cells)
    cells = cells.filter(pl.col("won").is_not_null() & (pl.col("fine") >= 0) & (pl.col("sum") > 0))
    if not len(cells):
        reason = max(skipped, key=lambda why: skipped[why])
        raise DriftduelError(
            f"none of the {rows:,} rows can be read as a comparison: {reason} ({skipped[reason]:,} "
            f"times)."
        )
    cells = cells.with_columns(votes=pl.col("rows") - pl.col("no_weight"))
    names, left_out = _options(cells, most)
    cells = _placed(cells, names)
    bin_of = _merged_bins(fine_bins, cells["fine"].to_numpy(), len(names))
    parts = _placed(meaning(tables["parts"]), names) if "parts" in tables else None
    groups = None
    if "groups" in tables:
        groups = _group_cells(_placed(meaning(tables["groups"]), names), bin_of, share)
    counts = _assembled(cells, parts, groups, fine_bins, bin_of, names, clock, placed)
    return Counted(counts, rows, skipped, left_out, meaning)


def _tables(
    votes: pl.LazyFrame, keys: list[str], fine_bins: Bins
) -> tuple[dict[str, pl.DataFrame], float]:
    """Group the rows in one pass: by fine bin, by part and coarse bin, by group.

    Returns
    -------
    tuple
        The tables ``cells``, ``parts`` (unless they follow from the cells) and ``groups`` (if there
        are any), and which share of all groups was looked at.
    """
    there = votes.collect_schema().names()
    weighted, grouped = "weight" in there, "group" in there
    votes = votes.with_columns(
        pl.col("when")
        .map_batches(_places(fine_bins.edges), return_dtype=pl.Int32, is_elementwise=True)
        .alias("fine")
    )
    sums = [
        pl.len().alias("rows"),
        pl.col("when").min().alias("from"),
        pl.col("when").max().alias("to"),
    ]
    weight = pl.len().cast(pl.Float64).alias("sum")
    if weighted:
        weight = pl.col("weight").sum().alias("sum")
        squares = (pl.col("weight") ** 2).sum().alias("squares")
        sums += [weight, squares, pl.col("weight").null_count().alias("no_weight")]
    queries = {"cells": votes.group_by("fine", *keys).agg(sums)}
    sound = votes.filter(pl.col("fine") >= 0)
    if weighted:
        sound = sound.filter(pl.col("weight").is_not_null())
    if grouped or fine_bins.exact:
        # Dealt into parts by group or event. A very long log's, by fine bin, which costs nothing.
        by = pl.col("group" if grouped else "when")
        look_up = _through(fine_bins.coarse)
        coarse = pl.col("fine").map_batches(look_up, return_dtype=pl.Int32, is_elementwise=True)
        queries["parts"] = (
            sound.with_columns(
                by.map_batches(_parts, return_dtype=pl.UInt8, is_elementwise=True).alias("part"),
                coarse.alias("coarse"),
            )
            .group_by("coarse", "part", *keys)
            .agg(weight)
        )
    share = 1.0
    if grouped:
        share = _share_of_groups(votes)
        if share < 1:
            rank = pl.col("group").map_batches(_ranks, return_dtype=pl.Float64, is_elementwise=True)
            sound = sound.filter(rank < share)
        queries["groups"] = sound.group_by("group", "fine", *keys).agg(weight)
    tables = dict(zip(queries, collected_all(list(queries.values())), strict=True))
    if len(tables["cells"]) > _MOST_WORDS:
        raise DriftduelError(
            f"the log has {len(tables['cells']):,} different comparisons in its stretches of time; "
            f"are the columns for the options and the winner the right ones?"
        )
    return tables, share


def _share_of_groups(votes: pl.LazyFrame) -> float:
    """Return which share of all groups to look at, so that memory does not grow with the rows."""
    rows, groups = collected(
        votes.select(pl.len(), pl.col("group").approx_n_unique().alias("groups"))
    ).row(0)
    share = 1.0
    while rows * share > _MOST_GROUP_ROWS and groups * share > 2 * _FEWEST_GROUPS:
        share /= 2
    return share


def _assembled(
    cells: pl.DataFrame,
    parts: pl.DataFrame | None,
    groups: Groups | None,
    fine_bins: Bins,
    bin_of: Ints,
    names: tuple[str, ...],
    clock: str,
    placed: bool,
) -> Counts:
    """Add the cells up to counts."""
    F, K, C = int(bin_of.max()) + 1, len(names), int(fine_bins.coarse[-1]) + 1
    place = cells["fine"].to_numpy()
    fine = bin_of[place]
    if parts is not None:
        dealt = _tensor(
            (PARTS, C), (parts["part"].to_numpy(), parts["coarse"].to_numpy()), parts, K
        )
    else:
        part = (scramble(time_words(fine_bins.edges)) % PARTS).astype(np.int64)
        dealt = _tensor((PARTS, C), (part[place], fine_bins.coarse[place]), cells, K)
    shown, shown_wins = np.zeros((K, K)), np.zeros((K, K))
    if placed:
        a, b, weights, won = _columns(cells)
        np.add.at(shown, (a, b), weights)
        np.add.at(shown_wins, (a, b), weights * won)
    first, last, events = np.full(F, np.inf), np.full(F, -np.inf), np.zeros(F)
    np.minimum.at(first, fine, cells["from"].to_numpy())
    np.maximum.at(last, fine, cells["to"].to_numpy())
    seen = np.unique(place)
    np.add.at(events, bin_of[seen], fine_bins.events[seen])
    coarse = np.zeros(F, np.int64)
    coarse[bin_of[seen]] = fine_bins.coarse[seen]
    used, coarse = np.unique(coarse, return_inverse=True)
    return Counts(
        names=names,
        wins=_tensor((F,), (fine,), cells, K),
        first=first,
        last=last,
        events=np.where(first == last, 1, np.maximum(events, 1)).astype(np.int64),
        coarse=coarse,
        parts=dealt[:, used],
        shown=shown,
        shown_wins=shown_wins,
        votes=int(cells["votes"].sum()),
        ties=float(cells.filter(pl.col("won") == 0.5)["votes"].sum()),
        weight=float(cells["sum"].sum()),
        squares=float(cells["squares"].sum()),
        clock=clock,
        groups=groups,
    )


# ---- what is done to every row ----


def _places(edges: Floats) -> Callable[[pl.Series], pl.Series]:
    def place(when: pl.Series) -> pl.Series:
        numbers = when.to_numpy()
        # Edges of a sample, or of another part of the log, may begin after the first vote.
        if (numbers[1:] >= numbers[:-1]).all() and len(numbers) > len(edges):  # in order: few cuts
            cuts = np.searchsorted(numbers, edges[1:], side="left")
            lengths = np.diff(cuts, prepend=0, append=len(numbers))
            return pl.Series(np.repeat(np.arange(len(edges), dtype=np.int32), lengths))
        fine = np.searchsorted(edges[1:], numbers, side="right").astype(np.int32)
        fine[~np.isfinite(numbers)] = -1
        return pl.Series(fine)

    return place


def _through(table: Ints) -> Callable[[pl.Series], pl.Series]:
    def look_up(places: pl.Series) -> pl.Series:
        return pl.Series(table[places.to_numpy()].astype(np.int32))

    return look_up


def _parts(column: pl.Series) -> pl.Series:
    values = column.to_numpy()
    words = values if values.dtype == np.uint64 else time_words(values)
    return pl.Series((scramble(words) % PARTS).astype(np.uint8))


def _ranks(groups: pl.Series) -> pl.Series:
    return pl.Series(scramble(scramble(groups.to_numpy())) / 2.0**64)


# ---- what is done to the small table ----


def _with_outcomes(
    table: pl.DataFrame, keys: list[str], numbers: Mapping[str, float]
) -> pl.DataFrame:
    """Add what each row says: `won`, the first option's share of the win, or `why` it is none."""
    kinds = table.select(keys).unique()
    said = [
        outcome_of(
            row["first"], row["second"], row.get("winner", row["first"]), row.get("tie"), numbers
        )
        for row in kinds.iter_rows(named=True)
    ]
    kinds = kinds.with_columns(
        pl.Series("won", [None if isinstance(s, str) else s for s in said], pl.Float64),
        pl.Series("why", [s if isinstance(s, str) else None for s in said], pl.String),
    )
    return table.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _skipped(cells: pl.DataFrame) -> dict[str, int]:
    """Count the rows that make no sense, by the first reason."""
    late = pl.col("fine") < 0
    reasons = cells.select(
        pl.when(late).then("rows").otherwise(0).sum().alias(NO_TIME),
        pl.when(late.not_()).then("no_weight").otherwise(0).sum().alias(NO_WEIGHT),
    ).row(0, named=True)
    wrong = cells.filter(late.not_() & pl.col("why").is_not_null())
    for why, rows in (
        wrong.group_by("why")
        .agg((pl.col("rows") - pl.col("no_weight")).sum())
        .sort("rows", "why", descending=[True, False])
        .iter_rows()
    ):
        reasons[why] = rows
    return {why: int(rows) for why, rows in reasons.items() if rows}


def _options(cells: pl.DataFrame, most: int) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the options in the order of their names, and those left out, with their votes.

    An order of their own, so that nothing depends on the order of rows.
    """
    both = [cells.select(pl.col(name).alias("option"), "votes") for name in _KEYS[:2]]
    votes = pl.concat(both).group_by("option").agg(pl.col("votes").sum())
    ranked = votes.sort("votes", "option", descending=[True, False]).rows()
    return tuple(sorted(name for name, _ in ranked[:most])), dict(ranked[most:])


def _placed(table: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """Keep what is sound and between these options, which become numbers a and b."""
    number = {name: place for place, name in enumerate(names)}
    table = table.filter(pl.col("won").is_not_null() & (pl.col("sum") > 0))
    a, b = (
        pl.col(name).replace_strict(number, default=-1, return_dtype=pl.Int64).alias(short)
        for name, short in zip(_KEYS[:2], "ab", strict=True)
    )
    return table.with_columns(a, b).filter((pl.col("a") >= 0) & (pl.col("b") >= 0))


def _columns(table: pl.DataFrame) -> tuple[Ints, Ints, Floats, Floats]:
    a, b, weights, won = (table[name].to_numpy() for name in ("a", "b", "sum", "won"))
    return a, b, weights, won


def _tensor(
    shape: tuple[int, ...], places: tuple[Any, ...], table: pl.DataFrame, options: int
) -> Floats:
    """Add the wins of both options of each row up."""
    tensor = np.zeros((*shape, options, options))
    a, b, weights, won = _columns(table)
    np.add.at(tensor, (*places, a, b), weights * won)
    np.add.at(tensor, (*places, b, a), weights * (1 - won))
    return tensor


def _merged_bins(fine_bins: Bins, used: Ints, options: int) -> Ints:
    """Return the place of each fine bin among those that have votes, or fewer if there are many
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


def _group_cells(cells: pl.DataFrame, bin_of: Ints, share: float) -> Groups:
    a, b, weights, won = _columns(cells)
    keys, fine = cells["group"].to_numpy(), bin_of[cells["fine"].to_numpy()]
    sides = [(keys, fine, a, b, weights * won), (keys, fine, b, a, weights * (1 - won))]
    return group_table([np.concatenate(side) for side in zip(*sides, strict=True)], share)


def collected(frame: pl.LazyFrame) -> pl.DataFrame:
    """Run a query without holding all rows in memory; what is wrong with the file is said."""
    return collected_all([frame])[0]


def collected_all(frames: list[pl.LazyFrame]) -> list[pl.DataFrame]:
    """Run queries over the same rows in one pass."""
    try:
        return pl.collect_all(frames, engine="streaming")
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise DriftduelError(f"the log cannot be read: {_reason(error)}.") from None


def _reason(error: BaseException) -> str:
    """Say what polars says, in a sentence; of its advice for programmers nothing is left."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if "more fields than defined" in lines[0]:
        return "a line has more fields than the first line names"
    if "invalid utf-8" in lines[0].lower():
        return "it is not text in UTF-8"
    return quoted(lines[0].rstrip("."), 200)[1:-1]
