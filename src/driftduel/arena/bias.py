"""Diagnostics of voting behaviour: preference for a side, time to answer, votes per voter.

Each statistic has bounded memory and is restored exactly from a snapshot.
"""

import math
from hashlib import blake2b
from typing import Any, NamedTuple, Self

__all__ = ["LatencyHistogram", "SideBias", "VoterCounts", "left_share"]

_ALPHA = 0.05
# The precision of the mixture over stakes. Every value is valid; with this one the bounds are as
# narrow as they can be after a thousand votes, and at most 28% wider from a hundred to a million.
_PRECISION = 30.0
_STEPS = 16
_MOST_VOTERS = 10_000


class SideBias(NamedTuple):
    """The share of picks on the left, with 95% bounds that hold at all times together.

    The value of `share` is None without picks.
    """

    share: float | None
    low: float
    high: float

    @property
    def biased(self) -> bool:
        """Whether the bounds exclude a share of one half."""
        return not self.low <= 0.5 <= self.high


def left_share(lefts: int, rights: int) -> SideBias:
    """Return the share of picks on the left with anytime-valid bounds.

    A fair coin decides which option is on the left, so half of all picks are on the left if voters
    look at the options only. The bounds are for the mean, over the votes so far, of the probability
    that the left side is picked; this probability may change from vote to vote. For every stake s,
    exp(s D - s^2 n / 8) is a nonnegative supermartingale (Hoeffding), where D is the number of left
    picks minus its expectation. Its mean over normally distributed stakes is one, too; where that
    mean is below 20, the true value is inside with probability 95% at all times together.

    Examples
    --------
    >>> found = left_share(540, 460)
    >>> round(found.share, 2), round(found.low, 2), round(found.high, 2), found.biased
    (0.54, 0.49, 0.59, False)
    """
    n = lefts + rights
    if n == 0:
        return SideBias(None, 0.0, 1.0)
    spread = n / 4 + _PRECISION
    half = math.sqrt(2 * spread * (math.log(1 / _ALPHA) + math.log(spread / _PRECISION) / 2)) / n
    share = lefts / n
    return SideBias(share, max(0.0, share - half), min(1.0, share + half))


class LatencyHistogram:
    """A histogram of times to answer; the width of a bin is at most 1/16 of its value.

    Examples
    --------
    >>> late = LatencyHistogram()
    >>> for milliseconds in (1500, 2100, 2100, 9000):
    ...     late.add(milliseconds)
    >>> late.quantile(0.5), late.quantile(0.9)
    (2.1115, 8.9595)
    """

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        self.count = 0

    def add(self, milliseconds: int, times: int = 1) -> None:
        """Count an answer; `times=-1` removes it."""
        place = _bin_of(max(0, milliseconds))
        self.count += times
        left = self._bins.get(place, 0) + times
        if left:
            self._bins[place] = left
        else:
            self._bins.pop(place, None)

    def quantile(self, share: float) -> float | None:
        """Return a quantile in seconds, with a relative error of about 3%; None without answers."""
        if self.count < 1:
            return None
        rank, seen = max(1, math.ceil(share * self.count)), 0
        for place in sorted(self._bins):
            seen += self._bins[place]
            if seen >= rank:
                return _middle_of(place) / 1000
        raise AssertionError

    def to_plain(self) -> list[list[int]]:
        """Return a list of numbers for a snapshot."""
        return [[place, self._bins[place]] for place in sorted(self._bins)]

    @classmethod
    def from_plain(cls, plain: list[list[int]]) -> Self:
        """Return the histogram of a snapshot."""
        late = cls()
        late._bins = {int(place): int(count) for place, count in plain}
        late.count = sum(late._bins.values())
        return late


def _bin_of(value: int) -> int:
    """Return the bin index of an integer: its leading bits, the same on every platform."""
    shift = max(0, value.bit_length() - 5)
    return shift * _STEPS + (value >> shift)


def _middle_of(place: int) -> float:
    """Return the middle of the values in a bin."""
    shift = max(0, place // _STEPS - 1)
    low = (place - shift * _STEPS) << shift
    return low + ((1 << shift) - 1) / 2


class VoterCounts:
    """The number of votes of each voter: exact up to `most` voters, then for a uniform sample.

    When the table is full, only voters are kept for which the hash begins with one more zero bit,
    which is half of them. Voters in the sample were counted from their first vote, so their counts
    are exact.

    Parameters
    ----------
    most
        Maximum number of voters in the table.

    Examples
    --------
    >>> given = VoterCounts()
    >>> for voter in ("ann", "bob", "ann", "eve", "ann"):
    ...     given.add(voter)
    >>> given.voters, given.median, given.most
    (3, 1, 3)
    """

    def __init__(self, most: int = _MOST_VOTERS) -> None:
        self.room = most
        self.level = 0
        """Number of leading zero bits required of a hash; 0: every voter is counted."""
        self._counts: dict[str, int] = {}
        self._most_gone = 0

    def add(self, voter: str, times: int = 1) -> None:
        """Count a vote; `times=-1` removes it."""
        if self.level and _zeros(voter) < self.level:
            return
        given = self._counts.get(voter, 0) + times
        if given <= 0:
            self._counts.pop(voter, None)
            return
        self._counts[voter] = given
        while len(self._counts) > self.room:
            self.level += 1
            for other in [each for each in self._counts if _zeros(each) < self.level]:
                self._most_gone = max(self._most_gone, self._counts.pop(other))

    @property
    def exact(self) -> bool:
        """Whether every voter is counted."""
        return self.level == 0

    @property
    def voters(self) -> int:
        """The number of voters; an estimate if it exceeds `room`."""
        return len(self._counts) << self.level

    @property
    def median(self) -> int | None:
        """The median number of votes per voter."""
        given = sorted(self._counts.values())
        return given[(len(given) - 1) // 2] if given else None

    @property
    def most(self) -> int | None:
        """The maximum number of votes of one voter; a lower bound unless `exact`."""
        return max(self._most_gone, *self._counts.values()) if self._counts else None

    def to_plain(self) -> dict[str, Any]:
        """Return a dict of plain values for a snapshot."""
        return {
            "room": self.room,
            "level": self.level,
            "most_gone": self._most_gone,
            "counts": dict(sorted(self._counts.items())),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the counts of a snapshot."""
        given = cls(plain["room"])
        given.level, given._most_gone = plain["level"], plain["most_gone"]
        given._counts = dict(plain["counts"])
        return given


def _zeros(voter: str) -> int:
    """Return the number of leading zero bits of the hash of a voter."""
    digest = blake2b(voter.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return 64 - int.from_bytes(digest).bit_length()
