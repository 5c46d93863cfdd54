"""A log's real outcomes as a world: a round is an event with all pairs, or a block of votes.

In a round a policy asks for one pair, and the log answers if it has a vote of that pair there; if
it has none, nobody knows. That is fair only if who was asked about did not depend on who was good,
so logs whose pairs were not shown evenly are refused.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.logs.posterior import Fit
from driftduel.logs.reading import Log
from driftduel.logs.rows import collected
from driftduel.logs.times import time_text
from driftduel.specs import need_room
from driftduel.wording import decimals
from driftduel.worlds import NO_LINK, Chunk, World

__all__ = ["LEAST_ANSWERED", "RealOutcomes", "real_outcomes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_ANSWERED = 0.9
"""Of the duels asked for, below which a replay says more about the gaps than about the policy."""
_VOTES_A_PAIR = 3  # in a block: e^-3, 5% of the pairs, are then not there
_FEWEST_ROUNDS = 20
_MOST_VOTES = 50_000_000
_VOTES_A_CELL = 20  # of a pair in a stretch of time whose evenness is judged
_MOST_STRETCHES = 50
_UNEVEN = 0.2  # how much the shares of pairs may differ, as a coefficient of variation
_CHANCE = 0.001
_INSTEAD = "'driftduel log compare' simulates instead"


class RealOutcomes(World):
    """The outcomes of a log, round by round; P is NaN where a round has no vote of a pair.

    Several votes of a pair in one round are one of them at random: P is their mean.

    Parameters
    ----------
    matrices
        (R, K, K) the share of a pair's votes that its first option won, NaN without votes.
    shares
        (R,) how much of the log was over in the middle of each round.
    votes
        How many of the log's votes it is made of.
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
        """How many votes of the log make a round."""
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
    """The votes of a log in the order of time; those of one time in an order of chance."""

    low: Ints
    high: Ints
    """The two options, the smaller number first."""
    won: Floats
    """What share of the win `low` has."""
    weight: Floats
    when: Floats
    group: NDArray[np.uint64] | None

    def __len__(self) -> int:
        return len(self.low)


def real_outcomes(log: Log, fit: Fit) -> RealOutcomes:
    """Return the outcomes of a log as a world, or say in one sentence why they would mislead.

    If events (groups that follow each other, or times) have all pairs, a round is an event. If
    pairs were shown evenly all the time, it is a block of as many votes as answer 95% of all
    questions. If both are so, it is what gives more rounds.

    Parameters
    ----------
    log
        With its rows, which counts that were saved do not have.
    fit
        Whose options are meant.
    """
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
            f"votes each, and {_FEWEST_ROUNDS} are the fewest that say anything; {_INSTEAD}."
        )
    return _as_world(votes, blocks, kept, "blocks", fit.names)


def _votes(log: Log, names: tuple[str, ...]) -> _Votes:
    """Read the rows that make sense, between options that are meant."""
    assert log.votes is not None
    assert log.meaning is not None
    there = log.votes.collect_schema().names()
    keys = [name for name in ("first", "second", "winner", "tie") if name in there]
    number = {name: place for place, name in enumerate(names)}
    place = {
        short: pl.col(name).replace_strict(number, default=-1, return_dtype=pl.Int64)
        for short, name in (("a", "first"), ("b", "second"))
    }
    kinds = log.meaning(collected(log.votes.select(keys).unique())).with_columns(**place)
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
    told = ["low", "high", "won", "weight", "when", *(["group"] if "group" in there else [])]
    rows = rows.join(kinds.lazy(), on=keys, how="inner", nulls_equal=True).select(told)
    # By what they say first, so that the order of chance does not depend on that of the rows.
    table = collected(rows).sort("when", *told[:4], *told[5:])
    when = table["when"].to_numpy()
    order = np.lexsort((np.random.default_rng(0).random(len(when)), when))
    column = {name: table[name].to_numpy()[order] for name in told}
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
            continue  # they overlap, as the votes of many voters do, and are no moments
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        met = np.unique(rank[event] * _square(votes) + _pair(votes))
        if len(met) >= LEAST_ANSWERED * pairs * len(order):
            return rank[event]
    return None


def _square(votes: _Votes) -> int:
    return int(votes.high.max() + 1) ** 2


def _pair(votes: _Votes) -> Ints:
    return votes.low * int(votes.high.max() + 1) + votes.high


def _need_even(votes: _Votes, fit: Fit, pairs: int) -> None:
    """Refuse a log in some stretch of which some pairs were shown much more often than others."""
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
