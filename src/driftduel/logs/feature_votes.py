"""The votes of a log with the features of their requests: numbers and categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.wording import counted
from driftduel.errors import DriftduelError
from driftduel.logs.columns import quote
from driftduel.logs.tagged import find_column, pair_rows
from driftduel.requests import (
    MOST_FEATURES,
    MOST_VALUES,
    RequestShape,
    indicators,
    standardised,
)

if TYPE_CHECKING:
    from driftduel.logs.reading import Log

__all__ = ["FEATURE", "FeatureColumn", "FeatureVotes", "feature_column", "feature_votes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEATURE = "feature "
"""The prefix of the names of feature columns among the rows of a log."""
_LEAST_VOTES = 50


@dataclass(frozen=True)
class FeatureColumn:
    """One feature of the requests.

    Parameters
    ----------
    name
        Its column.
    numbers
        (n, w) standardised number (w = 1), or indicators of the categories.
    categories
        The categories; empty for a number.
    """

    name: str
    numbers: Floats
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class FeatureVotes:
    """Decided votes with requests, in order of time.

    Parameters
    ----------
    names
        The options.
    features
        The features.
    low, high
        (n,) the two options of each vote, ``low < high``.
    won
        (n,) whether `low` won.
    when
        (n,) times.
    adaptive
        Whether pairs were chosen by earlier votes.
    """

    names: Sequence[str]
    features: tuple[FeatureColumn, ...]
    low: Ints
    high: Ints
    won: NDArray[np.bool_]
    when: Floats
    adaptive: bool = False

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def pair(self) -> Ints:
        """(n,) the index of the pair of each vote."""
        return self.low * len(self.names) + self.high

    def shape(self, chosen: Sequence[FeatureColumn]) -> RequestShape:
        """Return the shape of a request of these features."""
        one_hot = len(chosen) == 1 and bool(chosen[0].categories)
        return RequestShape(sum(f.numbers.shape[1] for f in chosen), one_hot)

    def requests(self, chosen: Sequence[FeatureColumn]) -> Floats:
        """Return the scaled requests (n, d) of these features; without any, d = 1."""
        columns = [f.numbers for f in chosen]
        rows = np.concatenate(columns, axis=1) if columns else np.zeros((len(self), 0))
        return np.ascontiguousarray(self.shape(chosen).scale_all(rows))


def feature_column(schema: pl.Schema, name: str) -> pl.Expr:
    """Return the column of a feature as a number or a text."""
    found = find_column(schema, name, "to use as a feature")
    kind = schema[found]
    if kind.is_numeric():
        return pl.col(found).cast(pl.Float64)
    if kind.is_nested() or kind.is_temporal():
        raise DriftduelError(
            f"the column {quote(name)} of type {kind} is no feature; a feature is a number or a "
            f"category."
        )
    return pl.col(found).cast(pl.String)


def feature_votes(log: "Log") -> FeatureVotes:
    """Return the decided votes of a log that was read with ``features=``, in order of time.

    Numbers are standardised over the log. With a group (a voter), the first vote of each group and
    pair is returned, because later ones are not independent of it.

    Raises
    ------
    DriftduelError
        If a feature has a gap, one value or too many, or there are few votes.
    """
    if log.votes is None:
        raise DriftduelError("counts of votes hold no requests; read the log itself.")
    there = log.votes.collect_schema().names()
    names = [name for name in there if name.startswith(FEATURE)]
    if not names:
        raise DriftduelError("the log was read without features; pass features=[...] to read_log.")
    table = pair_rows(log, pl.lit(value=True)).filter(pl.col("won") != 0.5)
    if "group" in table.columns:
        table = table.unique(["group", "low", "high"], keep="first", maintain_order=True)
    if len(table) < _LEAST_VOTES:
        raise DriftduelError(
            f"the log has {counted(len(table), 'decided vote')} to compare requests by; at least "
            f"{_LEAST_VOTES} are needed."
        )
    features = tuple(_feature(table[name], name.removeprefix(FEATURE)) for name in names)
    size = sum(feature.numbers.shape[1] for feature in features)
    if size > MOST_FEATURES:
        raise DriftduelError(
            f"the features are {size} numbers, one for each category; at most {MOST_FEATURES} are "
            f"possible: choose fewer features, or coarser ones."
        )
    return FeatureVotes(
        log.names,
        features,
        table["low"].to_numpy(writable=True),
        table["high"].to_numpy(writable=True),
        table["won"].to_numpy() > 0.5,
        table["when"].to_numpy(),
        log.counts.adaptive,
    )


def _feature(column: pl.Series, name: str) -> FeatureColumn:
    """Return a column as a feature, or raise; text of which all values are numbers is a number."""
    gaps = column.is_null()
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() == column.null_count() < len(column):
            column = numbers
    if column.dtype == pl.Float64:
        gaps |= ~column.is_finite().fill_null(value=False)
    if gaps.any():
        raise DriftduelError(
            f"the feature {quote(name)} has no {'finite number' if _is_number(column) else 'value'}"
            f" in {counted(int(gaps.sum()), 'vote')}; fill the gaps, or leave these rows out."
        )
    if column.n_unique() < 2:
        raise DriftduelError(
            f"the feature {quote(name)} has the value {quote(column[0])} in all votes; choose "
            f"another column."
        )
    if _is_number(column):
        values = standardised(column.to_numpy())
        if values is None:
            raise DriftduelError(
                f"the values of the feature {quote(name)} differ by less than their precision; "
                f"choose another column."
            )
        return FeatureColumn(name, values[:, None])
    categories = sorted(column.unique().to_list())
    if len(categories) > MOST_VALUES:
        raise DriftduelError(
            f"the feature {quote(name)} has {len(categories):,} different values; a category has "
            f"at most {MOST_VALUES}: choose a coarser column."
        )
    return FeatureColumn(name, indicators(column.to_list(), categories), tuple(categories))


def _is_number(column: pl.Series) -> bool:
    return column.dtype == pl.Float64
