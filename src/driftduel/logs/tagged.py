"""The votes of a log with the value of a tag: its column, and rows as `TaggedVotes`."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.wording import counted
from driftduel.errors import DriftduelError
from driftduel.logs.columns import quote
from driftduel.logs.counts import scramble
from driftduel.logs.rows import collect
from driftduel.logs.subgroups import SEVERAL, TaggedVotes
from driftduel.specs import near

if TYPE_CHECKING:
    from driftduel.logs.reading import Log

__all__ = [
    "MOST_VALUES", "check_values", "draw_pairs", "find_column", "pair_rows", "tag_column",
    "tagged_votes",
]  # fmt: skip

Ints = NDArray[np.int64]
_PREFIXES = ("", "request.", "tags.", "tag_", "tags_")
MOST_VALUES = 2_000


def find_column(schema: pl.Schema, name: str, purpose: str) -> str:
    """Return the column of a name, which may omit the prefix ``request.`` or ``tags.``.

    Raises
    ------
    DriftduelError
        If there is no such column.
    """
    for prefix in _PREFIXES:
        if prefix + name in schema:
            return prefix + name
    raise DriftduelError(
        f"the log has no column {quote(name)} {purpose}; {near(name, schema.names())}"
    )


def tag_column(schema: pl.Schema, name: str) -> pl.Expr:
    """Return the text of a tag's column.

    Several values of one vote, a list, are one text, as in an arena export: ``code + maths``.
    """
    found = find_column(schema, name, "to compare by")
    if isinstance(schema[found], pl.List):
        return pl.col(found).cast(pl.List(pl.String)).list.sort().list.join(SEVERAL)
    return pl.col(found).cast(pl.String)


def pair_rows(log: "Log", valid: pl.Expr) -> pl.DataFrame:
    """Return the valid rows of a log in order of time, with options as numbers, ``low < high``.

    The column ``won`` is the share of the win of ``low``. Of a slate, one vote is returned, drawn
    at random among its decided pairs: votes of one slate depend on each other. The draw does not
    depend on the order of the two options, so the odds of each pair are unchanged.

    Parameters
    ----------
    log
        The log, with its rows.
    valid
        A further condition.
    """
    assert log.votes is not None
    assert log.meaning is not None
    rows = log.votes.filter(pl.col("when").is_finite() & valid)
    table = log.meaning(collect(rows)).filter(pl.col("won").is_not_null())
    number = {name: place for place, name in enumerate(log.names)}
    place = {
        short: pl.col(name).replace_strict(number, default=-1, return_dtype=pl.Int64)
        for short, name in (("a", "first"), ("b", "second"))
    }
    table = table.with_columns(**place).filter((pl.col("a") >= 0) & (pl.col("b") >= 0))
    table = table.with_columns(
        low=pl.min_horizontal("a", "b"),
        high=pl.max_horizontal("a", "b"),
        won=pl.when(pl.col("a") < pl.col("b")).then("won").otherwise(1 - pl.col("won")),
    )
    if log.counts.slates:
        key, low, high, slate = (
            table[name].to_numpy() for name in ("draw", "low", "high", "slate")
        )
        kept = draw_pairs(key, low, high, log.names, slate)
        table = table[np.sort(kept).tolist()]
    return table.sort("when", maintain_order=True)


def draw_pairs(
    key: Ints, low: Ints, high: Ints, names: Sequence[str], slate: Ints | None = None
) -> Ints:
    """Return one row of each slate, drawn at random among its pairs.

    The draw depends on the key of the slate and on the names of the options, not on their numbers,
    so that an arena and its export draw the same pairs.

    Parameters
    ----------
    key
        (n,) a number for each slate.
    low, high
        (n,) the two options of each row.
    names
        The names of the options.
    slate
        (n,) the slate of each row, if keys are not unique.
    """
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    of_name = np.array([int.from_bytes(each) for each in digests], np.uint64)
    drawn = scramble(scramble(key.astype(np.uint64)) ^ (of_name[low] + of_name[high]))
    slate = key if slate is None else slate
    order = np.lexsort((drawn, slate))
    _, first = np.unique(slate[order], return_index=True)
    kept: Ints = order[first]
    return kept


def tagged_votes(log: "Log") -> TaggedVotes:
    """Return the valid votes of a log that was read with ``by=``, in order of time.

    Votes without a value are left out. With a group (a voter), the first vote of each group, pair
    and value is returned, because later ones are not independent of it.

    Raises
    ------
    DriftduelError
        If no vote has a value, all have the same one, or there are too many values.
    """
    if log.votes is None or log.meaning is None or "by" not in log.votes.collect_schema().names():
        raise DriftduelError("the log was read without subgroups; pass by=COLUMN to read_log.")
    table = pair_rows(log, pl.col("by").is_not_null())
    if "group" in table.columns:
        table = table.unique(["group", "low", "high", "by"], keep="first", maintain_order=True)
    values = table["by"].unique().sort().to_list()
    check_values(values)
    index = table["by"].replace_strict({v: i for i, v in enumerate(values)}, return_dtype=pl.Int64)
    return TaggedVotes(
        log.names,
        tuple(values),
        table["low"].to_numpy(),
        table["high"].to_numpy(),
        np.asarray(table["won"].to_numpy(), np.float64),
        index.to_numpy(),
        *_joined(log),
    )


def _joined(log: "Log") -> tuple[Ints | None, int | None]:
    """Return the last two arguments of `TaggedVotes`: the recorded order of joining."""
    if log.joining is None:
        return None, None
    order = [log.joining.later.get(name, 0) for name in log.names]
    return np.array(order, np.int64), log.joining.first


def check_values(values: Sequence[str]) -> None:
    """Raise DriftduelError if the values of a tag cannot be compared: fewer than 2, or too many."""
    if len(values) < 2:
        only = f"all have the value {quote(values[0])}" if values else "no vote has a value"
        raise DriftduelError(f"subgroups cannot be compared: {only}; choose another tag.")
    if len(values) > MOST_VALUES:
        raise DriftduelError(
            f"the tag has {counted(len(values), 'value')}; at most {MOST_VALUES:,} subgroups can "
            f"be compared: choose a coarser tag."
        )
