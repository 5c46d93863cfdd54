"""The rows of a log as arrays of numbers, in batches.

A log of any length has few distinct combinations of two options and a result. Each combination is a
*kind* with a number, so that text is parsed once per kind and compiled functions count the rows.
Rows as numbers are small; all but very long logs are read once and kept in memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.logs._row_kernels import count_kinds
from driftduel.logs.columns import quote
from driftduel.logs.numbering import Numbers

__all__ = ["KEYS", "Batch", "LogRows", "collect", "translated_errors"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KEYS = ("first", "second", "winner", "tie")
"""The columns that define a kind."""
_MOST_KEPT = 12_000_000  # rows, of 12 bytes to 28; a larger file is read again
_MOST_KINDS = 2_000_000  # a log of options has fewer
_BATCH = 1 << 17
# Odd factors: the hash of a value depends on its column, and no two values cancel.
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], np.uint64
)


class Batch(NamedTuple):
    """A batch of rows."""

    kind: NDArray[np.int32]
    when: Floats
    """The times; the value NaN marks a missing time."""
    weight: Floats
    """The weights; the value NaN marks an invalid one. Empty if all rows have the default weight.
    """
    group: NDArray[np.uint64]
    """The groups; empty if all rows are independent."""


class LogRows:
    """All rows of a log.

    Parameters
    ----------
    votes
        The return value of `prepare_votes`.
    """

    def __init__(self, votes: pl.LazyFrame) -> None:
        there = votes.collect_schema().names()
        self.votes = votes
        self.keys = [name for name in KEYS if name in there]
        self.weighted, self.grouped = "weight" in there, "group" in there
        self.size = 0
        """The number of rows."""
        self.sound = np.zeros(0, np.int64)
        """The number of rows of each kind with a time and a weight."""
        self.late, self.light = 0, 0
        """The number of rows without a time, and of the other rows without a weight."""
        self._numbers = Numbers()
        self._kept: list[Batch] | None = []
        seen: list[pl.DataFrame] = []
        for batch in self._read(seen):
            self._count_batch(batch)
            if self.size > _MOST_KEPT:
                self._kept = None
            if self._kept is not None:
                self._kept.append(batch)
        if not self.size:
            raise DriftduelError("the log has no rows.")
        self.kinds = pl.concat(seen)
        """The values of each kind in the columns `keys`."""

    @property
    def options(self) -> int:
        """The approximate number of distinct options."""
        return max(2, *(self.kinds[name].drop_nulls().n_unique() for name in KEYS[:2]))

    def batches(self) -> Iterator[Batch]:
        """Return all rows, in order."""
        return iter(self._kept) if self._kept is not None else self._read()

    def times(self, one_of: int = 1) -> Floats:
        """Return the times of all rows that have one, or of a random sample of one in `one_of`."""
        times = self._column("when")
        if one_of > 1:
            times = times.filter(pl.col("when").hash(7) % one_of == 0)
        when = collect(times)["when"].to_numpy()
        return when if np.isfinite(when).all() else when[np.isfinite(when)]

    def different_groups(self) -> int:
        """Return the approximate number of groups."""
        return int(collect(self._column("group").select(pl.col("group").approx_n_unique())).item())

    def _column(self, name: str) -> pl.LazyFrame:
        if self._kept is None:
            return self.votes.select(name)
        return pl.LazyFrame({name: np.concatenate([getattr(batch, name) for batch in self._kept])})

    def _count_batch(self, batch: Batch) -> None:
        """Count the rows of a batch, and the valid rows by kind."""
        self.size += len(batch.kind)
        if len(self.sound) < self._numbers.known:
            self.sound = np.append(
                self.sound, np.zeros(2 * self._numbers.known - len(self.sound), np.int64)
            )
        late, light = count_kinds(batch.kind, batch.when, batch.weight, self.sound)
        self.late, self.light = self.late + late, self.light + light

    def _read(self, seen: list[pl.DataFrame] | None = None) -> Iterator[Batch]:
        """Read all rows; the values of new kinds are appended to the argument `seen`."""
        hashes = [pl.col(name).hash(1).alias(f"#{name}") for name in self.keys]
        for table in _collect_batches(self.votes.with_columns(hashes)):
            keys = np.zeros(len(table), np.uint64)
            for name, multiplier in zip(self.keys, _MULTIPLIERS, strict=False):
                keys += table[f"#{name}"].to_numpy() * multiplier
            kind, new = self._numbers.of(keys)
            if self._numbers.known > _MOST_KINDS:
                raise DriftduelError(
                    f"the log has more than {_MOST_KINDS:,} different comparisons; are the columns "
                    f"for the options and the winner the right ones?"
                )
            if len(new):
                if seen is None:
                    raise DriftduelError("the log has changed while it was read.")
                seen.append(table.select(self.keys)[new])
            yield Batch(
                kind,
                # Writable, so that kernels are compiled for one kind of array.
                table["when"].to_numpy(writable=True),
                table["weight"].to_numpy(writable=True) if self.weighted else _NOTHING,
                table["group"].to_numpy() if self.grouped else _NO_GROUPS,
            )


_NOTHING = np.zeros(0)
_NO_GROUPS = np.zeros(0, np.uint64)


# ---- polars queries, with errors converted to DriftduelError ----


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Run a query without holding all rows in memory."""
    with translated_errors():
        return frame.collect(engine="streaming")


def _collect_batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Run a query, and yield its batches as they are computed."""
    with translated_errors():
        yield from frame.collect_batches(chunk_size=_BATCH, engine="streaming")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Convert polars errors of a file to a one-line `DriftduelError`."""
    try:
        yield
    except _WRONG as error:
        raise _reading_error(error) from None


_WRONG = (
    pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeDecodeError,
)  # fmt: skip


def _reading_error(error: BaseException) -> DriftduelError:
    """Return a polars error as a `DriftduelError` without advice about function arguments."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = quote(lines[0].rstrip("."), 200)[1:-1]
    if "more fields than defined" in lines[0]:
        reason = "a line has more fields than the first line names"
    elif "supertype" in lines[0] or "unexpected value while building" in lines[0]:
        reason = "a key holds an object or a list in one row and a plain value in another"
    elif "empty reader" in lines[0] or "could not infer data-type" in lines[0]:
        reason = "it has no rows"
    elif "invalid utf-8" in lines[0].lower():
        reason = "it is not text in UTF-8"
    return DriftduelError(f"the log cannot be read: {reason}.")
