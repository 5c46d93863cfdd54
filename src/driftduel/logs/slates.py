"""Logs of slates: picks and rankings of several options as weighted votes of pairs.

A pick of option i from a set R has the Plackett-Luce probability exp(u_i) / sum over R of exp(u_m);
a ranking is a sequence of picks from the options that remain. Each pick becomes one vote of i over
every other option j of R, with the weight

    v_ij = (exp(U_i) + exp(U_j)) / sum over R of exp(U_m)

where U are the strengths of the whole log. In the model of pairs, the gradient of these votes at
u = U is exactly the gradient of the Plackett-Luce likelihood, and their expected information is
exactly its Fisher information:

    gradient: sum over j of v_ij exp(u_j) / (exp(u_i) + exp(u_j)) = 1 - exp(u_i) / sum, and
    -exp(u_j) / sum for the others;
    information of the pair i, j: P(decided) v_ij p (1 - p), p = exp(u_i) / (exp(u_i) + exp(u_j)),
    which is exp(u_i + u_j) / sum^2, as in diag(q) - q q^T with q = exp(u) / sum.

So the likelihood is that of Plackett and Luce to second order around U. Elsewhere, for instance
between two changes, the estimate is consistent for any weights that do not depend on the pick,
because the odds of a decided pair do not depend on the other options shown (independence of
irrelevant alternatives); the width of its intervals is then approximate. At equal strengths of k
options the weight is 2 / k, and with two options it is 1: a slate of two is a duel, to the bit.

U is estimated from the same votes with the weights 2 / k. Weights are multiples of 2^-30, so that
sums do not depend on the order of rows.

Equal places are ties of their pairs, as in a duel. The options of a tie are each compared with all
options from their place downwards. A row in which nothing was picked has no order and adds no vote.

All votes of one slate depend on each other, so without a column of groups each slate is a group.

References
----------
R. L. Plackett, The analysis of permutations, Applied Statistics 24, 1975. R. D. Luce, Individual
choice behavior, 1959. H. Azari Soufiani, W. Chen, D. Parkes, L. Xia, Generalized method-of-moments
for rank aggregation, NIPS 2013 (consistent breaking of rankings into pairs).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.wording import counted, listed, share
from driftduel.errors import DriftduelError
from driftduel.logs.columns import ARENA_COLUMNS, LogColumns, quote
from driftduel.logs.counting import NO_TIME, NO_WEIGHT, Counted, prepare_votes
from driftduel.logs.counts import scramble
from driftduel.logs.rows import collect
from driftduel.logs.slate_cells import (
    BETWEEN,
    NOT_SHOWN,
    NOTHING,
    TIED,
    UNRANKED,
    ListReader,
    Slate,
    option_slate,
    place_slate,
    read_slate,
)
from driftduel.logs.slate_check import MOST_CHECKED, find_dependence
from driftduel.logs.slate_columns import SlateColumns

if TYPE_CHECKING:
    from driftduel.logs.times import Clock

__all__ = ["DUEL_COLUMNS", "SlateRows", "pair_weights", "strengths_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DUEL_COLUMNS = LogColumns("first", "second")
"""The columns of the votes of pairs: winner and loser, without places."""
_ROUND = 2.0**30
_MOST_KINDS = 2_000_000
_MOST_PAIRS = 60_000_000  # votes of pairs of all different slates: a few gigabytes
_MOST_STRENGTHS = 1000
_PRECISION = 0.25  # of the prior of strengths
_KEY = "key "
_SLATE = "slate"
_ROW = "__slate"
_NO_TEXT = (pl.Binary, pl.Object)


def pair_weights(places: Ints, strengths: Floats) -> tuple[Ints, Ints, Ints, Floats, Bools]:
    """Return the votes of slates of one size: row, winner, loser, weight, and whether it is a tie.

    Parameters
    ----------
    places
        (n, k) the places of the options; `UNRANKED` for those below all others.
    strengths
        (n, k) their strengths, positive; all equal give the weights 2 / k.

    Examples
    --------
    >>> picked = np.array([[1, UNRANKED, UNRANKED]])
    >>> row, winner, loser, weight, tie = pair_weights(picked, np.ones((1, 3)))
    >>> winner.tolist(), loser.tolist(), weight.round(3).tolist()
    ([0, 0], [1, 2], [0.667, 0.667])
    """
    parts = []
    for i, j in combinations(range(places.shape[1]), 2):
        one, other = places[:, i], places[:, j]
        tie = one == other
        rows = np.flatnonzero(~tie | (one != UNRANKED))
        stage = np.minimum(one, other)[rows]
        rest = np.where(places[rows] >= stage[:, None], strengths[rows], 0.0).sum(axis=1)
        weight = (strengths[rows, i] + strengths[rows, j]) / rest
        first = one[rows] <= other[rows]
        # At least one unit: a vote of weight 0 would not be a vote.
        weight = np.maximum(np.rint(weight * _ROUND), 1.0) / _ROUND
        parts.append((rows, np.where(first, i, j), np.where(first, j, i), weight, tie[rows]))
    row, winner, loser, weights, ties = (np.concatenate(p) for p in zip(*parts, strict=True))
    return row, winner, loser, weights, ties


def strengths_of(wins: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Return the strength of each option, given votes of pairs (winner, loser) and their weights.

    The options with the most votes are compared; all others have the geometric mean, 1.
    """
    from driftduel.logs.bradley_terry_fit import bradley_terry

    votes: Counter[str] = Counter()
    for (winner, loser), weight in wins.items():
        votes[winner] += weight  # type: ignore[assignment]
        votes[loser] += weight  # type: ignore[assignment]
    names = sorted(votes, key=lambda name: (-votes[name], name))[:_MOST_STRENGTHS]
    place = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for (winner, loser), weight in wins.items():
        if winner in place and loser in place:
            table[place[winner], place[loser]] += weight
    utilities, _ = bradley_terry(table, _PRECISION)
    utilities = np.exp(utilities - utilities.mean())
    return dict(zip(names, utilities.tolist(), strict=True))


def _draw_key(schema: pl.Schema) -> pl.Expr:
    """Return the number by which a pair of a slate is drawn: the row, or the record of an arena.

    The arena draws by its records, because rows of an export move when an earlier vote is voided.
    """
    row = pl.col(_ROW).cast(pl.Int64)
    if not set(schema.names()) >= ARENA_COLUMNS:
        return row
    return pl.coalesce(pl.col("seq").cast(pl.Int64, strict=False), row)


@dataclass(frozen=True)
class _DistinctSlates:
    """The different slates of a log."""

    table: pl.DataFrame
    """Their values in the key columns, and `rows`, `sound`, `late`, `light`: numbers of rows."""
    slates: list[Slate | str]
    """The content of each, or the reason why it is not counted."""


class SlateRows:
    """The rows of a log of slates.

    Parameters
    ----------
    frame, schema
        The rows of the log, and their types.
    columns
        The columns of the log; `columns.slate` is not None.
    clock
        The interpretation of times; None if rows are in the order of time.
    also
        Further columns of the votes, by name.
    """

    def __init__(
        self,
        frame: pl.LazyFrame,
        schema: pl.Schema,
        columns: LogColumns,
        clock: "Clock | None",
        also: Mapping[str, pl.Expr] | None = None,
    ) -> None:
        assert columns.slate is not None
        self.columns = columns.slate
        self.grouped = bool(columns.group)
        keys = _key_columns(self.columns, schema)
        self._keys = list(keys)
        numbered = frame.with_row_index(_ROW)
        also = {_SLATE: pl.col(_ROW), "draw": _draw_key(schema), **(also or {})}
        self.rows = prepare_votes(numbered, replace(columns, tie=None), clock, also, keys)
        self._weighted = columns.weight is not None
        late = pl.col("when").is_finite().not_()
        self._light = pl.col("weight").is_null() if self._weighted else pl.lit(value=False)
        census = self.rows.group_by(self._keys).agg(
            rows=pl.len(),
            late=late.sum(),
            light=(late.not_() & self._light).sum(),
        )
        table = collect(census).sort(self._keys)
        if not len(table):
            raise DriftduelError("the log has no rows.")
        if len(table) > _MOST_KINDS:
            raise DriftduelError(
                f"the log has more than {_MOST_KINDS:,} different slates; are the columns for the "
                f"options and the pick the right ones?"
            )
        self._kinds = _DistinctSlates(table, self._read(table))
        self._refuse_misread()

    # ---- content ----

    @property
    def size(self) -> int:
        """The number of rows, invalid ones included."""
        return int(self._kinds.table["rows"].sum())

    @cached_property
    def _sound(self) -> Ints:
        """The number of rows of each kind with a time and a weight."""
        table = self._kinds.table
        sound: Ints = (table["rows"] - table["late"] - table["light"]).to_numpy().astype(np.int64)
        return sound

    @cached_property
    def _reasons(self) -> dict[str, int]:
        """The number of rows by the reason why they are not counted."""
        table, reasons = self._kinds.table, Counter[str]()
        reasons[NO_TIME], reasons[NO_WEIGHT] = int(table["late"].sum()), int(table["light"].sum())
        for slate, rows in zip(self._kinds.slates, self._sound.tolist(), strict=True):
            if isinstance(slate, str):
                reasons[slate] += rows
        ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        return {why: rows for why, rows in ranked if rows}

    @property
    def skipped(self) -> dict[str, int]:
        """The number of invalid rows by reason."""
        return {why: rows for why, rows in self._reasons.items() if why != NOTHING}

    @property
    def without_pick(self) -> int:
        """The number of rows in which nothing was picked."""
        return self._reasons.get(NOTHING, 0)

    def sizes(self) -> tuple[int, int]:
        """Return the smallest and the largest number of options in a slate."""
        found = [len(slate[0]) for slate in self._kinds.slates if not isinstance(slate, str)]
        return min(found), max(found)

    def _refuse_misread(self) -> None:
        """Raise if there is no slate, or if most picks are not among the options shown."""
        reasons, valid = self._reasons, 0
        for slate, rows in zip(self._kinds.slates, self._sound.tolist(), strict=True):
            valid += 0 if isinstance(slate, str) else rows
        foreign = {why: rows for why, rows in reasons.items() if why.endswith(NOT_SHOWN)}
        if sum(foreign.values()) > valid:
            why = next(iter(foreign))
            raise DriftduelError(
                f"in {sum(foreign.values()):,} rows, more than the others, the pick is not among "
                f"the options shown ({why}); the columns were understood as "
                f"{self.columns.argument()}: name others, or write the pick as one of the options."
            )
        if not valid:
            why = next(iter(reasons))
            raise DriftduelError(
                f"none of the {self.size:,} rows can be read as a slate: {why} ({reasons[why]:,} "
                f"times); the columns were understood as {self.columns.argument()}."
            )

    def _read(self, table: pl.DataFrame) -> list[Slate | str]:
        """Return the content of each kind."""
        cells = {name: table[name].to_list() for name in self._keys}
        nothing = [None] * len(table)
        slate = self.columns

        def values(column: str | None) -> list[Any]:
            return nothing if column is None else cells[_KEY + column]

        winners, ties = values(slate.winner), values(slate.tie)
        if slate.places:
            names = slate.place_names()
            if len(set(names.values())) < len(names):
                names = {name: name for name in names}
            rows = zip(*(values(name) for name in slate.places), strict=True)
            return [place_slate(row, list(names.values())) for row in rows]
        if slate.options:
            rows = zip(*(values(name) for name in slate.options), strict=True)
            return [
                option_slate(row, slate.options, pick, tie)
                for row, pick, tie in zip(rows, winners, ties, strict=True)
            ]
        shown, ranked = (
            None if name is None else ListReader(name, values(name)).read
            for name in (slate.shown, slate.ranking)
        )
        return [
            read_slate(
                shown(one) if shown is not None else None,
                ranked(order) if ranked is not None else None,
                pick,
                tie,
            )
            for one, order, pick, tie in zip(
                values(slate.shown), values(slate.ranking), winners, ties, strict=True
            )
        ]

    # ---- votes ----

    def wins(self) -> dict[tuple[str, str], float]:
        """Return the votes of all pairs (winner, loser) with the weights of equal strengths."""
        kind, winner, loser, weight, tie = self._pairs({})
        weight = weight * self._sound[kind]
        total: Counter[tuple[str, str]] = Counter()
        for part, one, other in ((1.0, winner, loser), (0.5, loser, winner)):
            some = tie if part == 0.5 else np.ones(len(tie), np.bool_)
            value = np.where(tie[some], 0.5, 1.0) * weight[some]
            cell = one[some] * len(self._names) + other[some]
            used, place = np.unique(cell, return_inverse=True)
            for key, amount in zip(used, np.bincount(place, value), strict=True):
                a, b = divmod(int(key), len(self._names))
                total[self._names[a], self._names[b]] += float(amount)  # type: ignore[assignment]
        return dict(total)

    @cached_property
    def _names(self) -> list[str]:
        """All options, in alphabetical order."""
        return sorted({n for s in self._kinds.slates if not isinstance(s, str) for n in s[0]})

    def _pairs(self, strengths: Mapping[str, float]) -> tuple[Ints, Ints, Ints, Floats, Bools]:
        """Return kind, winner, loser, weight and tie of the votes of each kind of slate."""
        number = {name: place for place, name in enumerate(self._names)}
        of_name = np.array([strengths.get(name, 1.0) for name in self._names])
        by_size: dict[int, list[int]] = {}
        for kind, slate in enumerate(self._kinds.slates):
            if not isinstance(slate, str):
                by_size.setdefault(len(slate[0]), []).append(kind)
        pairs = sum(len(kinds) * size * (size - 1) // 2 for size, kinds in by_size.items())
        if pairs > _MOST_PAIRS:
            raise DriftduelError(
                f"the log has {pairs:,} votes of pairs in different slates, more than "
                f"{_MOST_PAIRS:,}; read it in parts with 'driftduel log count', and add the counts."
            )
        parts: list[Any] = []
        for _, kinds in sorted(by_size.items()):
            slates: Any = [self._kinds.slates[kind] for kind in kinds]
            options = np.array([[number[name] for name in names] for names, _ in slates])
            places = np.array([places for _, places in slates])
            row, winner, loser, weight, tie = pair_weights(places, of_name[options])
            columns = np.array(kinds)[row], options[row, winner], options[row, loser], weight, tie
            order = np.argsort(row, kind="stable")
            parts.append(tuple(column[order] for column in columns))
        whole: Any = tuple(np.concatenate(p) for p in zip(*parts, strict=True))
        found: tuple[Ints, Ints, Ints, Floats, Bools] = whole
        return found

    def votes(self, strengths: Mapping[str, float] | None = None) -> pl.LazyFrame:
        """Return the votes of pairs, as rows of `prepare_votes`: first (the winner), second, tie.

        The column ``slate`` is the number of the row, and ``vote weight`` the weight without that
        of the row.

        Parameters
        ----------
        strengths
            The strength of each option; by default those of this log.
        """
        strengths = strengths_of(self.wins()) if strengths is None else strengths
        kind, winner, loser, weight, tie = self._pairs(strengths)
        names = pl.Series(self._names, dtype=pl.String)
        pairs = pl.DataFrame(
            {
                "kind": kind,
                "first": names.gather(winner),
                "second": names.gather(loser),
                "tie": pl.Series(tie).cast(pl.String).replace({"true": "1", "false": "0"}),
                "vote weight": weight,
            }
        )
        kinds = self._kinds.table.select(self._keys).with_row_index("kind")
        rows = self.rows.filter(pl.col("when").is_finite() & self._light.not_())
        votes = rows.join(
            kinds.with_columns(pl.col("kind").cast(pl.Int64)).lazy(),
            on=self._keys, how="inner", nulls_equal=True, maintain_order="left",
        ).join(pairs.lazy(), on="kind", how="inner", maintain_order="left_right")  # fmt: skip
        weight_of_row = pl.col("weight") if self._weighted else pl.lit(1.0)
        votes = votes.with_columns(
            (weight_of_row * pl.col("vote weight")).alias("weight"),
            weight_of_row.alias("row weight"),
        )
        if not self.grouped:
            salt = _digest(self._kinds.table)
            number = pl.col(_SLATE).map_batches(
                lambda rows: pl.Series(scramble(rows.to_numpy().astype(np.uint64) + salt)),
                return_dtype=pl.UInt64, is_elementwise=True,
            )  # fmt: skip
            votes = votes.with_columns(number.alias("group"))
        return votes.drop(*self._keys, "kind")

    def finish(self, counted_rows: Counted, votes: pl.LazyFrame) -> Counted:
        """Return the counts of `votes` with the numbers of slates instead of those of votes."""
        counts = counted_rows.counts
        known = pl.col("first").is_in(list(counts.names)) & pl.col("second").is_in(
            list(counts.names)
        )
        some = votes.filter(known).select(
            rows=pl.col(_SLATE).n_unique(),
            squares=(pl.col("row weight") ** 2 * pl.col("vote weight")).sum(),
        )
        found = collect(some).row(0, named=True)
        ties = float(counts.tied.sum()) / 2 / max(counts.weight, 1e-300) * found["rows"]
        counts = replace(
            counts,
            votes=int(found["rows"]),
            squares=float(found["squares"]),
            ties=ties,
            slates=2 if self.grouped else 1,
        )
        left_out = {name: self._shown(name) for name in counted_rows.left_out}
        return replace(
            counted_rows, counts=counts, rows=self.size, skipped=self.skipped, left_out=left_out
        )

    def _shown(self, name: str) -> int:
        """Return the number of rows that show an option."""
        return sum(
            rows
            for slate, rows in zip(self._kinds.slates, self._sound.tolist(), strict=True)
            if not isinstance(slate, str) and name in slate[0]
        )

    def problems(self, most: int) -> list[tuple[int, str]]:
        """Return the first invalid rows, as tuples (number of the row from 0, reason)."""
        why = [s if isinstance(s, str) and s != NOTHING else None for s in self._kinds.slates]
        kinds = self._kinds.table.select(self._keys).with_columns(
            why=pl.Series(why, dtype=pl.String)
        )
        rows = self.rows.join(kinds.lazy(), on=self._keys, how="inner", nulls_equal=True)
        reason = (
            pl.when(pl.col("when").is_finite().not_()).then(pl.lit(NO_TIME))
            .when(self._light).then(pl.lit(NO_WEIGHT)).otherwise(pl.col("why"))
        )  # fmt: skip
        found = rows.select(_SLATE, why=reason).filter(pl.col("why").is_not_null())
        return [(int(r), w) for r, w in collect(found.sort(_SLATE).head(most)).iter_rows()]

    def dependence(self) -> list[str]:
        """Return a sentence about two options of which the odds depend on a third one, if found."""
        if self.grouped or len(self._names) > MOST_CHECKED:
            return []
        kind, winner, loser, _, tie = self._pairs({})
        number = {name: place for place, name in enumerate(self._names)}
        slates = [() if isinstance(slate, str) else slate[0] for slate in self._kinds.slates]
        shown = np.full((len(slates), max(map(len, slates))), -1)
        for row, names in zip(shown, slates, strict=True):
            row[: len(names)] = [number[name] for name in names]
        some, often = ~tie, self._sound[kind]
        found = find_dependence(
            winner[some], loser[some], shown[kind[some]], often[some], len(self._names)
        )
        if found is None:
            return []
        one, other, third = (self._names[i] for i in found[:3])
        (p, n), (q, m) = found.shown, found.not_shown
        return [
            f"The odds of {one} and {other} seem to depend on {third}: {one} won {share(p)} of "
            f"{n:,} comparisons with {third} shown and {share(q)} of {m:,} without it. Picks and "
            f"rankings are read as Plackett-Luce choices, which assume that they do not."
        ]

    def notes(self) -> list[str]:
        """Return sentences about the interpretation of the rows."""
        low, high = self.sizes()
        slate = self.columns
        sizes = f"{low} options" if low == high else f"{low} to {high} options"
        if slate.places:
            how = f"the places in {_several(slate.places)}"
        elif slate.options:
            how = f"the options in {_several(slate.options)} and the pick in {quote(slate.winner)}"
        else:
            how = " and ".join(
                f"{what} in {quote(name)}"
                for what, name in (("the options shown", slate.shown),
                                   ("the ranking", slate.ranking), ("the pick", slate.winner))
                if name is not None
            )  # fmt: skip
        found = [f"Rows are slates of {sizes}: {how}."]
        if self.without_pick:
            found.append(
                f"In {counted(self.without_pick, 'row')} nothing was picked; they have no order "
                f"and are not counted."
            )
        return found


def _several(names: Sequence[str]) -> str:
    return listed([quote(name) for name in names], most=4)


def _digest(table: pl.DataFrame) -> np.uint64:
    """Return a number for the content of a log, so that slates of two logs are different groups."""
    rows = table.select(pl.struct(pl.all().cast(pl.String)).hash(1)).to_series().to_numpy()
    return np.uint64(np.bitwise_xor.reduce(scramble(rows))) & np.uint64(2**63 - 1)


def _key_columns(slate: SlateColumns, schema: pl.Schema) -> dict[str, pl.Expr]:
    """Return the columns that define a kind of slate, as text."""
    keys = {}
    for name in sorted(slate.used_names()):
        column, kind = pl.col(name), schema[name]
        if isinstance(kind, pl.Array):
            column, kind = column.arr.to_list(), pl.List(kind.inner)
        if isinstance(kind, pl.List):
            if name not in (slate.shown, slate.ranking):
                raise DriftduelError(
                    f"the column {quote(name)} holds lists; a ranked list, best first, is named "
                    f"with --columns ranking={name}, a list of options with --columns shown={name}."
                )
            column = _as_text(name, column, kind)
        elif kind.is_nested() or kind in _NO_TEXT:
            raise DriftduelError(f"the column {quote(name)} of type {kind} holds no names.")
        else:
            column = column.cast(pl.String)
        keys[_KEY + name] = column
    return keys


def _as_text(name: str, column: pl.Expr, kind: pl.List) -> pl.Expr:
    """Return a column of lists as text; inner lists have equal places."""
    inner: Any = kind.inner
    element = pl.element()
    wrong = f"the column {quote(name)} of type {kind} holds no lists of names."
    if isinstance(inner, pl.List):
        if isinstance(inner.inner, pl.List) or inner.inner.is_nested():
            raise DriftduelError(wrong)
        element = element.cast(pl.List(pl.String)).list.join(TIED, ignore_nulls=False)
    elif inner.is_nested() or inner in _NO_TEXT:
        raise DriftduelError(wrong)
    else:
        element = element.cast(pl.String)
    text = column.list.eval(element.fill_null("")).list.join(BETWEEN)
    return pl.when(column.list.len() > 0).then(text + BETWEEN)
