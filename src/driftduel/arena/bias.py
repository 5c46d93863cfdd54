"""What may be wrong with votes: the left side wins, answers come late, a few people vote for all.

Each is a few numbers, bounded however long an arena lives, and the same from any snapshot.
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
    """How often the left side was picked, and 95% bounds that hold at all times together."""

    share: float | None
    low: float
    high: float

    @property
    def biased(self) -> bool:
        """Return whether a fair coin for the sides is out of the question."""
        return not self.low <= 0.5 <= self.high


def left_share(lefts: int, rights: int) -> SideBias:
    """Return how often the left side is picked, however often one looks.

    A fair coin decides which option is on the left, so half of all picks are on the left if people
    look at the options only, whatever they are. The bounds are about the mean over the votes so far
    of the chance that the left is picked, which may change from vote to vote. Whatever it is,
    exp(s D - s^2 n / 8) is a nonnegative supermartingale for every stake s (Hoeffding), D being
    how many picks more than expected were on the left; so is its mean over normal stakes, and where
    that stays below 20 the truth is inside with 95%, at all times together.

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
    """How long people take: a histogram whose bins are 1/16 of their value wide, or less.

    Examples
    --------
    >>> late = Lateness()
    >>> for milliseconds in (1500, 2100, 2100, 9000):
    ...     late.add(milliseconds)
    >>> late.quantile(0.5), late.quantile(0.9)
    (2.1115, 8.9595)
    """

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        self.count = 0

    def add(self, milliseconds: int, times: int = 1) -> None:
        """Count an answer that took so long; `times=-1` takes it back."""
        place = _bin_of(max(0, milliseconds))
        self.count += times
        left = self._bins.get(place, 0) + times
        if left:
            self._bins[place] = left
        else:
            self._bins.pop(place, None)

    def quantile(self, share: float) -> float | None:
        """Return within how many seconds this share of answers came, to about 3%."""
        if self.count < 1:
            return None
        rank, seen = max(1, math.ceil(share * self.count)), 0
        for place in sorted(self._bins):
            seen += self._bins[place]
            if seen >= rank:
                return _middle_of(place) / 1000
        raise AssertionError

    def to_plain(self) -> list[list[int]]:
        """Return numbers and lists only, for a snapshot."""
        return [[place, self._bins[place]] for place in sorted(self._bins)]

    @classmethod
    def from_plain(cls, plain: list[list[int]]) -> Self:
        """Return what a snapshot tells of."""
        late = cls()
        late._bins = {int(place): int(count) for place, count in plain}
        late.count = sum(late._bins.values())
        return late


def _bin_of(value: int) -> int:
    """Return the bin of a whole number: its leading bits, so that no machine rounds otherwise."""
    shift = max(0, value.bit_length() - 5)
    return shift * _STEPS + (value >> shift)


def _middle_of(place: int) -> float:
    """Return the middle of the numbers in a bin."""
    shift = max(0, place // _STEPS - 1)
    low = (place - shift * _STEPS) << shift
    return low + ((1 << shift) - 1) / 2


class VoterCounts:
    """How many votes each voter gave: exact up to `most` voters, then of a fair sample of them.

    When there are too many, those stay whose hash begins with one more zero: half of them. Who
    stays was there from their first vote on, so the counts of the sample are exact.

    Parameters
    ----------
    most
        How many voters are remembered.

    Examples
    --------
    >>> given = VotesAVoter()
    >>> for voter in ("ann", "bob", "ann", "eve", "ann"):
    ...     given.add(voter)
    >>> given.voters, given.median, given.most
    (3, 1, 3)
    """

    def __init__(self, most: int = _MOST_VOTERS) -> None:
        self.room = most
        self.level = 0
        """How many zeros a hash must begin with; 0: everybody is there."""
        self._counts: dict[str, int] = {}
        self._most_gone = 0

    def add(self, voter: str, times: int = 1) -> None:
        """Count a vote; `times=-1` takes it back."""
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
        """Whether everybody is counted."""
        return self.level == 0

    @property
    def voters(self) -> int:
        """How many voters there are; above `room` an estimate."""
        return len(self._counts) << self.level

    @property
    def median(self) -> int | None:
        """How many votes half of the voters gave, or fewer."""
        given = sorted(self._counts.values())
        return given[(len(given) - 1) // 2] if given else None

    @property
    def most(self) -> int | None:
        """The most that one voter gave; at least so many, if not everybody is counted."""
        return max(self._most_gone, *self._counts.values()) if self._counts else None

    def to_plain(self) -> dict[str, Any]:
        """Return numbers and lists only, for a snapshot."""
        return {
            "room": self.room,
            "level": self.level,
            "most_gone": self._most_gone,
            "counts": dict(sorted(self._counts.items())),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return what a snapshot tells of."""
        given = cls(plain["room"])
        given.level, given._most_gone = plain["level"], plain["most_gone"]
        given._counts = dict(plain["counts"])
        return given


def _zeros(voter: str) -> int:
    """Return how many zeros the hash of a voter begins with."""
    digest = blake2b(voter.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return 64 - int.from_bytes(digest).bit_length()
