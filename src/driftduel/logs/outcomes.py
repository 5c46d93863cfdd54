"""A log's real outcomes as a world: a round is an event with all pairs, or a block of votes.

In each round a policy chooses one pair. The outcome is a vote of that pair from the log; if the log
has none, the outcome is missing. The estimate is unbiased only if the choice of pairs did not
depend on the quality of the options, so logs with unevenly shown pairs are refused.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.wording import decimals
from driftduel.errors import DriftduelError
from driftduel.logs.posterior import Fit
from driftduel.logs.reading import Log
from driftduel.logs.rows import collect
from driftduel.logs.times import time_text
from driftduel.specs import need_room
from driftduel.worlds import NO_LINK, Chunk, World

__all__ = ["LEAST_ANSWERED", "RealOutcomes", "real_outcomes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_ANSWERED = 0.9
"""The smallest share of duels with an outcome; below it, missing outcomes dominate the result."""
_VOTES_A_PAIR = 3  # votes per pair and block: e^-3 or 5% of the pairs are then missing
_FEWEST_ROUNDS = 20
_MOST_VOTES = 50_000_000
_VOTES_A_CELL = 20  # votes per pair in a stretch that is tested for evenness
_MOST_STRETCHES = 50
_UNEVEN = 0.2  # largest coefficient of variation of the shares of pairs
_CHANCE = 0.001
_INSTEAD = "'driftduel log compare' simulates instead"


class RealOutcomes(World):
    """The outcomes of a log, round by round; P is NaN where a round has no vote of a pair.

    If a pair has several votes in one round, one is drawn at random: P is their mean value.

    Parameters
    ----------
    matrices
        (R, K, K) the share of a pair's votes that its first option won, NaN without votes.
    shares
        (R,) the middle of each round, as a share of the log.
    votes
        The number of votes of the log that are used.
    how
        ``events`` or ``blocks``.
    names
        The options.
    """

    def __init__(
        self, matrices: Floats, shares: Floats, votes: int, how: str, names: tuple[str, ...]
    ) -> None:
        self.matrices, self.shares, self.votes, self.how = matrices, shares, votes, how
        self.names = names
        self.rounds, self.arms = len(matrices), matrices.shape[1]
        self.chunk_rounds = max(16, (1 << 20) // self.arms**2)

    @property
    def compression(self) -> float:
        """The number of votes per round."""
        return self.votes / self.rounds

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        return Chunk(
            starts=np.arange(first, end),
            end=end,
            rows=np.arange(end - first),
            matrices=self.matrices[first - 1 : end - 1],
            utilities=np.empty((0, self.arms)),
            link=NO_LINK,
            unknown=True,
        )


@dataclass(frozen=True)
class _Votes:
    """The votes of a log in order of time; votes of the same time are in random order."""

    low: Ints
    high: Ints
    """The two options, the smaller number first."""
    won: Floats
    """The share of the win of option `low`."""
    weight: Floats
    when: Floats
    group: NDArray[np.uint64] | None

    def __len__(self) -> int:
        return len(self.low)


def real_outcomes(log: Log, fit: Fit) -> RealOutcomes:
    """Return the outcomes of a log as a world.

    If events (consecutive groups, or times) have all pairs, a round is an event. If pairs were
    always shown evenly, a round is a block of the number of votes that answer 95% of all questions.
    If both hold, the method with more rounds is used.

    Parameters
    ----------
    log
        The log with its rows; an object loaded from saved counts has none.
    fit
        The fitted log; its options are used.

    Raises
    ------
    DriftduelError
        If a replay of this log would be misleading; the message gives the reason.
    """
    if log.counts.slates:
        raise DriftduelError(
            "a replay needs the outcomes of duels, and these rows are slates of several options; "
            "'driftduel log world' writes a fitted world for 'driftduel compare'."
        )
    if log.votes is None or log.meaning is None:
        raise DriftduelError(
            f"a replay needs the rows of a log, and these are counts only; {_INSTEAD}."
        )
    if log.counts.votes > _MOST_VOTES:
        raise DriftduelError(
            f"a replay keeps all votes in memory, at most {_MOST_VOTES:,} of them; this log has "
            f"{log.counts.votes:,}."
        )
    votes = _votes(log, fit.names)
    pairs = len(fit.names) * (len(fit.names) - 1) // 2
    block = _VOTES_A_PAIR * pairs
    blocks = np.arange(len(votes)) // block
    kept = len(votes) // block
    events = _events(log, votes, pairs)
    if events is not None and events.max() + 1 >= max(kept, _FEWEST_ROUNDS):
        return _as_world(votes, events, int(events.max()) + 1, "events", fit.names)
    _need_even(votes, fit, pairs)
    if kept < _FEWEST_ROUNDS:
        raise DriftduelError(
            f"the log has {len(votes):,} votes, enough for {kept:,} rounds of a replay at {block} "
            f"votes each, and at least {_FEWEST_ROUNDS} are needed; {_INSTEAD}."
        )
    return _as_world(votes, blocks, kept, "blocks", fit.names)


def _votes(log: Log, names: tuple[str, ...]) -> _Votes:
    """Read the valid rows between the given options."""
    assert log.votes is not None
    assert log.meaning is not None
    there = log.votes.collect_schema().names()
    keys = [name for name in ("first", "second", "winner", "tie") if name in there]
    number = {name: place for place, name in enumerate(names)}
    place = {
        short: pl.col(name).replace_strict(number, default=-1, return_dtype=pl.Int64)
        for short, name in (("a", "first"), ("b", "second"))
    }
    kinds = log.meaning(collect(log.votes.select(keys).unique())).with_columns(**place)
    kinds = kinds.filter(pl.col("won").is_not_null() & (pl.col("a") >= 0) & (pl.col("b") >= 0))
    kinds = kinds.with_columns(
        low=pl.min_horizontal("a", "b"),
        high=pl.max_horizontal("a", "b"),
        won=pl.when(pl.col("a") < pl.col("b")).then("won").otherwise(1 - pl.col("won")),
    ).select(*keys, "low", "high", "won")
    rows = log.votes.filter(pl.col("when").is_finite())
    if "weight" in there:
        rows = rows.filter(pl.col("weight").is_not_null())
    else:
        rows = rows.with_columns(weight=pl.lit(1.0))
    columns = ["low", "high", "won", "weight", "when", *(["group"] if "group" in there else [])]
    rows = rows.join(kinds.lazy(), on=keys, how="inner", nulls_equal=True).select(columns)
    # Sort by content first, so that the random order does not depend on the order of rows.
    table = collect(rows).sort("when", *columns[:4], *columns[5:])
    when = table["when"].to_numpy()
    order = np.lexsort((np.random.default_rng(0).random(len(when)), when))
    column = {name: table[name].to_numpy()[order] for name in columns}
    return _Votes(
        column["low"], column["high"], column["won"], column["weight"], column["when"],
        column.get("group"),
    )  # fmt: skip


def _events(log: Log, votes: _Votes, pairs: int) -> Ints | None:
    """Number the events, in order of time, if nearly all of them have all pairs."""
    labels: list[NDArray[np.float64] | NDArray[np.uint64]] = []
    if votes.group is not None:
        labels.append(votes.group)
    if log.columns is not None and log.columns.time is not None:
        labels.append(votes.when)
    for label in labels:
        _, event = np.unique(label, return_inverse=True)
        begins, ends = np.full(event.max() + 1, np.inf), np.full(event.max() + 1, -np.inf)
        np.minimum.at(begins, event, votes.when)
        np.maximum.at(ends, event, votes.when)
        order = np.lexsort((ends, begins))
        if (ends[order[:-1]] > begins[order[1:]]).any():
            continue  # groups overlap, as those of concurrent voters do, so a group is not an event
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        met = np.unique(rank[event] * _square(votes) + _pair(votes))
        if len(met) >= LEAST_ANSWERED * pairs * len(order):
            return rank[event]
    return None


def _square(votes: _Votes) -> int:
    """Return the number of entries of a (K, K) matrix."""
    return int(votes.high.max() + 1) ** 2


def _pair(votes: _Votes) -> Ints:
    return votes.low * int(votes.high.max() + 1) + votes.high


def _need_even(votes: _Votes, fit: Fit, pairs: int) -> None:
    """Raise if, in any stretch of the log, some pairs were shown much more often than others."""
    from scipy.stats import chi2

    if pairs == 1:
        return
    stretches = int(np.clip(len(votes) // (_VOTES_A_CELL * pairs), 1, _MOST_STRETCHES))
    options = len(fit.names)
    worst = (0.0, 0)
    tables = []
    for stretch, here in enumerate(np.array_split(np.arange(len(votes)), stretches)):
        table = np.zeros((options, options))
        np.add.at(table, (votes.low[here], votes.high[here]), 1)
        tables.append(table)
        expected = len(here) / pairs
        seen = table[np.triu_indices(options, 1)]
        distance = float(((seen - expected) ** 2).sum() / expected)
        varies = np.sqrt(max(0.0, distance - (pairs - 1)) / len(here))
        if chi2.sf(distance, pairs - 1) * stretches < _CHANCE and varies > max(_UNEVEN, worst[0]):
            worst = float(varies), stretch
    if not worst[0]:
        return
    table = tables[worst[1]]
    a, b = np.unravel_index(int(table.argmax()), table.shape)
    often = table.max() * pairs / table.sum()
    middle = votes.when[int((worst[1] + 0.5) * len(votes) / stretches)]
    raise DriftduelError(
        f"pairs were not shown evenly all the time, so a replay would mislead: around "
        f"{time_text(float(middle), fit.counts.clock)}, {fit.names[a]} met {fit.names[b]} "
        f"{decimals(often, 1)} times as often as two options did on average; {_INSTEAD}."
    )


def _as_world(
    votes: _Votes, round_of: Ints, rounds: int, how: str, names: tuple[str, ...]
) -> RealOutcomes:
    K = len(names)
    need_room(f"a replay of {rounds:,} rounds between {K} options", 2 * rounds * K * K)
    kept = round_of < rounds
    at = (round_of[kept], votes.low[kept], votes.high[kept])
    wins, met = np.zeros((rounds, K, K)), np.zeros((rounds, K, K))
    np.add.at(wins, at, votes.weight[kept] * votes.won[kept])
    np.add.at(met, at, votes.weight[kept])
    with np.errstate(invalid="ignore"):
        P = wins / met  # NaN where there is no vote, and below the diagonal
    a, b = np.triu_indices(K, 1)
    P[:, b, a] = 1 - P[:, a, b]
    P[:, np.arange(K), np.arange(K)] = 0.5
    weights = np.bincount(round_of, votes.weight)
    ends = np.cumsum(weights) / weights.sum()
    shares = (ends - weights / weights.sum() / 2)[:rounds]
    return RealOutcomes(P, shares, int(kept.sum()), how, names)
