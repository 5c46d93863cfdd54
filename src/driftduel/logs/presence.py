"""The options present at the end of a log, and whether its pairs were chosen adaptively.

An arena export records both: its columns are recognised, and `OPTIONS` holds a JSON array of the
options present after a vote, on the first row and on every row after which it changes.
"""

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from driftduel._internal.wording import listed
from driftduel.errors import DriftduelError
from driftduel.logs.columns import ARENA_COLUMNS, quote
from driftduel.logs.counts import Counts
from driftduel.logs.rows import collect

__all__ = [
    "OPTIONS",
    "Joining",
    "is_arena_export",
    "recorded_joining",
    "recorded_options",
    "with_presence",
]

OPTIONS = "options"
"""The column of an arena export that holds the options present after a vote."""


def is_arena_export(columns: Collection[str]) -> bool:
    """Return whether a log with these columns was exported from an arena."""
    return set(columns) >= ARENA_COLUMNS


class Joining(NamedTuple):
    """The options of an arena at its first vote, and those that joined later."""

    first: int
    """Number of options at the first vote."""
    later: Mapping[str, int]
    """1 for the first option that joined later, 2 for the second, and so on."""


def recorded_options(frame: pl.LazyFrame) -> tuple[str, ...] | None:
    """Return the options that an arena export records as present at its end.

    The return value is None for other logs, and for exports of versions that did not record it.
    """
    written = _written_options(frame)
    if written is None:
        return None
    last = collect(written.tail(1))
    return _names_in(last[OPTIONS].item()) if len(last) else None


def recorded_joining(frame: pl.LazyFrame) -> Joining | None:
    """Return the order in which the options of an arena export joined; None for other logs."""
    written = _written_options(frame)
    rows = [] if written is None else collect(written)[OPTIONS].to_list()
    if not rows:
        return None
    first = _names_in(rows[0])
    order = dict.fromkeys(name for row in rows for name in _names_in(row))
    later = [name for name in order if name not in first]
    return Joining(len(first), {name: place for place, name in enumerate(later, 1)})


def _written_options(frame: pl.LazyFrame) -> pl.LazyFrame | None:
    """Return the values of the column `OPTIONS` in the order of the votes; None for other logs."""
    columns = frame.collect_schema().names()
    if not is_arena_export(columns) or OPTIONS not in columns:
        return None
    text = pl.col(OPTIONS).cast(pl.String)
    rows = frame.select(pl.col("seq").cast(pl.Int64, strict=False), text)
    return rows.filter(pl.col(OPTIONS).str.len_bytes() > 0).sort("seq")


def _names_in(written: str) -> tuple[str, ...]:
    """Return the names in a value of the column `OPTIONS`, without duplicates."""
    try:
        names = json.loads(written)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DriftduelError(
            f"the column {OPTIONS!r} of this arena export must hold JSON arrays of names, not "
            f"{quote(written)}; remove the column, or name the options with --present A,B,C."
        )
    return tuple(dict.fromkeys(names))


def with_presence(
    counts: Counts,
    given: Sequence[str] | None,
    recorded: Sequence[str] | None = None,
    *,
    adaptive: bool = False,
) -> tuple[Counts, list[str]]:
    """Return the counts with the options present at the end, and sentences about them.

    Parameters
    ----------
    counts
        The counts of the log.
    given
        The present options as an argument of the user; each must be in the log.
    recorded
        The present options as recorded; options without votes are left out and reported.
    adaptive
        Whether the pairs of the log were chosen adaptively.
    """
    notes = []
    present = counts.present
    if given is not None:
        for name in given:
            if name not in counts.names:
                close = difflib.get_close_matches(name, counts.names, n=1)
                known = f"did you mean {close[0]!r}?" if close else "it is not among its options."
                raise DriftduelError(f"the log has no votes on {quote(name)}; {known}")
        if not given:
            raise DriftduelError("at least one option must be present at the end of the log.")
        present = tuple(dict.fromkeys(given))
    elif recorded is not None:
        present = tuple(name for name in recorded if name in counts.names) or None
        without = [name for name in recorded if name not in counts.names]
        if without:
            notes.append(
                f"The arena also has {listed(without, most=5)}, without votes in this log; no "
                f"statement is about {'it' if len(without) == 1 else 'them'}."
            )
    return replace(counts, present=present, adaptive=counts.adaptive or adaptive), notes
