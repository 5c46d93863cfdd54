"""Strengths of the options in recent votes, and their history: a description, not evidence.

The bands are 95% for one look at votes with constant preferences; a reader of daily rankings will
sooner or later see a wrong order. Statements with a bound on the error come from `evidence`.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from driftduel.arena.slate_votes import ComparedPair
from driftduel.logs import bradley_terry, preferences_of

__all__ = ["History", "Ranking", "Window", "WindowVote", "pairs_of", "rank_options", "wins_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WindowVote = tuple[int, int, int, int] | tuple[Sequence[ComparedPair], int]
"""A vote on a duel: left arm, right arm, pick (1 left, 0 right, -1 tie), duel. A vote on a slate:
the pairs that it compares, duel."""

_Z = 1.959963984540054
# Precision of the prior: a standard deviation of two logits. An option without votes has a band
# from 2% to 98%; with hundreds of votes the prior has no visible effect.
_PRECISION = 0.25


@dataclass(frozen=True)
class Ranking:
    """The strength of each option: its probability to beat a random other present option.

    The values of absent options are NaN. All attributes have shape (K,).
    """

    strength: Floats
    low: Floats
    high: Floats
    """Ends of the 95% band."""
    place: Ints
    """1 for the strongest; 0 for an absent option."""


def rank_options(wins: Floats, present: Iterable[int]) -> Ranking:
    """Fit the Bradley-Terry model to wins (K, K), row over column; a tie counts 1/2 for each.

    Votes on options that have left still inform about the options they were compared with.

    Examples
    --------
    >>> ranking = rank_options(np.array([[0.0, 60.0], [20.0, 0.0]]), [0, 1])
    >>> [round(float(x), 2) for x in (ranking.strength[0], ranking.low[0], ranking.high[0])]
    [0.75, 0.64, 0.83]
    """
    K, there = len(wins), np.array(sorted(set(present)), np.int64)
    strength, low, high = (np.full(K, np.nan) for _ in range(3))
    place = np.zeros(K, np.int64)
    if len(there) < 2:
        strength[there], low[there], high[there], place[there] = 0.5, 0.0, 1.0, 1
        return Ranking(strength, low, high, place)
    utilities, factor = bradley_terry(wins, _PRECISION)
    P = preferences_of(utilities)[there]
    average = P[:, there].sum(axis=1) - 0.5
    bend = np.zeros_like(P)
    bend[:, there] = (P * (1 - P))[:, there]
    bend[np.arange(len(there)), there] -= bend.sum(axis=1)
    # Both sums are over the other options. Bands on the scale of log odds stay within (0, 1).
    mean = average / (len(there) - 1)
    slope = -bend / (len(there) - 1) / (mean * (1 - mean))[:, None]
    error = np.linalg.norm(_solve_lower(factor, slope.T), axis=0)
    odds = np.log(mean / (1 - mean))
    strength[there] = mean
    low[there], high[there] = (1 / (1 + np.exp(-odds + side * _Z * error)) for side in (1, -1))
    # The sort is stable: of equal options the lower index comes first.
    place[there[np.argsort(-strength[there], kind="stable")]] = np.arange(1, len(there) + 1)
    return Ranking(strength, low, high, place)


def _solve_lower(factor: Floats, right: Floats) -> Floats:
    """Solve a lower triangular system for many right sides; numpy has a general solver only."""
    solved = np.zeros_like(right)
    for row, weights in enumerate(factor):
        solved[row] = (right[row] - weights[:row] @ solved[:row]) / weights[row]
    return solved


def pairs_of(vote: WindowVote) -> Sequence[ComparedPair]:
    """Return the pairs that a vote compares."""
    return vote[0] if len(vote) == 2 else (ComparedPair(*vote[:3]),)


def wins_of(votes: Iterable[WindowVote], options: int) -> Floats:
    """Return the wins of the row over the column; a tie counts 1/2 for each."""
    wins = np.zeros((options, options))
    for vote in votes:
        _add_to(wins, vote, 1)
    return wins


def _add_to(wins: Floats, vote: WindowVote, times: int) -> None:
    for first, second, won, weight in pairs_of(vote):
        ahead = 0.5 if won < 0 else float(won)
        wins[first, second] += times * weight * ahead
        wins[second, first] += times * weight * (1 - ahead)


class Window:
    """The last votes and their sum: those since the last change of the leader.

    Parameters
    ----------
    arms
        Number of options.
    size
        Maximum number of votes.
    least
        Number of votes that are kept when the leader changes.
    """

    SIZE, LEAST = 1000, 100

    def __init__(self, arms: int, size: int = SIZE, least: int = LEAST) -> None:
        self.size, self.least = size, least
        self.wins = np.zeros((arms, arms))
        """Wins of the row over the column among these votes; a tie counts 1/2 for each."""
        self.votes: deque[WindowVote] = deque()
        """The votes, oldest first."""
        self._fresh = 0
        """Votes since the last change of the leader."""

    def add(self, first: int, second: int, won: int, ref: int) -> None:
        """Add a vote: 1 if the first won, 0 if the second did, -1 for a tie, and its duel."""
        self._append((first, second, won, ref))

    def add_slate(self, pairs: Sequence[ComparedPair], ref: int) -> None:
        """Add a vote on a slate: the pairs that it compares, and its duel."""
        self._append((pairs, ref))

    def _append(self, vote: WindowVote) -> None:
        self.votes.append(vote)
        self._count(vote, 1)
        self._fresh += 1
        self._trim()

    def cut(self) -> None:
        """Restart after a change of the leader, with the last `least` votes."""
        self._fresh = 0
        self._trim()

    def _trim(self) -> None:
        most = min(self.size, max(self.least, self._fresh))
        while len(self.votes) > most:
            self._count(self.votes.popleft(), -1)

    def remove(self, ref: int) -> None:
        """Remove the vote on a duel, if it is in the window; dropped votes are not restored."""
        for back, vote in enumerate(reversed(self.votes)):
            if vote[-1] == ref:
                self._count(vote, -1)
                del self.votes[len(self.votes) - 1 - back]
                self._fresh -= back < self._fresh
                return

    def _count(self, vote: WindowVote, times: int) -> None:
        _add_to(self.wins, vote, times)

    def widen(self) -> None:
        """Add a row and a column for a new option."""
        self.wins = np.pad(self.wins, (0, 1))

    def to_plain(self) -> dict[str, Any]:
        """Return a dict of plain values for a snapshot; oldest vote first."""
        return {
            "arms": len(self.wins), "size": self.size, "least": self.least,
            "fresh": self._fresh, "votes": [list(vote) for vote in self.votes],
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the window of a snapshot."""
        window = cls(plain["arms"], plain["size"], plain["least"])
        window._fresh = plain["fresh"]
        for each in plain["votes"]:
            vote: WindowVote
            if len(each) == 2:
                vote = tuple(ComparedPair(*pair) for pair in each[0]), each[1]
            else:
                first, second, won, ref = each
                vote = first, second, won, ref
            window.votes.append(vote)
            window._count(vote, 1)
        return window


class History:
    """Strengths over time, in at most `most` points; when full, every other point is dropped.

    Parameters
    ----------
    most
        Maximum number of points, an even number.
    stride
        Initial number of votes between points. With hundreds of options a fit takes a tenth of
        a second; the stride should then be at least their number.
    """

    MOST, STRIDE = 200, 20

    def __init__(self, most: int = MOST, stride: int = STRIDE) -> None:
        self.most, self.stride = most, stride
        self._points: list[tuple[int, int, list[list[float | None]]]] = []

    def see(self, votes: int, at: int, wins: Floats, present: Iterable[int]) -> None:
        """Add a point if one is due.

        Parameters
        ----------
        votes
            Number of counted votes so far; call after each of them.
        at
            The time, in milliseconds.
        wins
            The matrix of the window.
        present
            The present options.
        """
        if votes % self.stride or (self._points and votes <= self._points[-1][0]):
            return  # a void may decrease the count: existing points stay
        if len(self._points) == self.most:
            self.stride *= 2
            self._points = [point for point in self._points if point[0] % self.stride == 0]
            if votes % self.stride:
                return
        now = rank_options(wins, present)
        # Four digits, so that snapshots do not depend on the last bits of a platform.
        lines = [
            [None if math.isnan(x) else round(x, 4) for x in line.tolist()]
            for line in (now.strength, now.low, now.high)
        ]
        self._points.append((votes, at, lines))

    def copy(self) -> "History":
        """Return a copy that does not change; the points are immutable."""
        copied = History(self.most, self.stride)
        copied._points = list(self._points)
        return copied

    def lines(self, arms: int) -> dict[str, Any]:
        """Return a dict of `votes`, `at` and `series`, with three lists for each arm.

        The value is None where an option was absent.
        """

        def line(arm: int, which: int) -> list[float | None]:
            rows = (lines[which] for _, _, lines in self._points)
            return [row[arm] if arm < len(row) else None for row in rows]

        return {
            "votes": [votes for votes, _, _ in self._points],
            "at": [at for _, at, _ in self._points],
            "series": [
                {"strength": line(arm, 0), "low": line(arm, 1), "high": line(arm, 2)}
                for arm in range(arms)
            ],
        }

    def to_plain(self) -> dict[str, Any]:
        """Return a dict of plain values for a snapshot."""
        points = [list(point) for point in self._points]
        return {"most": self.most, "stride": self.stride, "points": points}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the history of a snapshot."""
        history = cls(plain["most"], plain["stride"])
        history._points = [(votes, at, lines) for votes, at, lines in plain["points"]]
        return history
