"""Identification: the votes in which `Policy.best` names the Condorcet winner."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.compiler import hot, kernel
from driftduel.games.observer import Observer, leader_of
from driftduel.policies import Policy
from driftduel.worlds import Chunk

__all__ = ["LASTING", "Identification", "checkpoints", "identify"]

LASTING = 100
"""A new winner leads when it is named in this many consecutive votes, or up to the end of its
phase."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_STEP = 1.01  # ratio of successive checkpoints
_EVEN = 400  # evenly spaced checkpoints, for the time after a change
# Places in the array of counters.
_RIGHT, _CHANGES, _LEADER, _WRONG, _MARK, _WINNER, _PHASE, _STREAK, _LEADS, _UNTIL, _PHASES = range(
    11
)


@lru_cache(maxsize=16)
def checkpoints(rounds: int) -> Ints:
    """Return the numbers of votes at which a game of `rounds` rounds is examined.

    They are every vote up to 100, steps of 1%, and 400 evenly spaced ones.

    Examples
    --------
    >>> checkpoints(5).tolist(), len(checkpoints(20_000)), int(checkpoints(20_000)[-1])
    ([1, 2, 3, 4, 5], 1018, 20000)
    """
    steps = np.arange(np.ceil(np.log(max(rounds, 2)) / np.log(_STEP)) + 1)
    geometric = np.ceil(_STEP**steps).astype(np.int64)
    even = np.rint(np.linspace(0, rounds, _EVEN + 1)).astype(np.int64)
    votes = np.unique(np.concatenate((geometric, even, [rounds])))
    return votes[(votes >= 1) & (votes <= rounds)]


class _IdentificationArrays(NamedTuple):
    """The arrays of an identification."""

    winners: Any
    """The Condorcet winner of each round of the chunk."""
    begin: Any
    """(1,) the first round of the chunk."""
    marks: Any
    """The checkpoints, ascending."""
    right: Any
    """Whether the leader was right at each of them."""
    counters: Any


@hot
def _vote(counters, t, leader, winner):  # type: ignore[no-untyped-def]
    """Count the leader and the winner at the moment when the duel of round t is chosen."""
    if winner != counters[_WINNER]:
        _end_phase(counters, t)
        counters[_WINNER] = winner
        counters[_PHASE], counters[_STREAK], counters[_LEADS] = t, 0, 0
        counters[_PHASES] += 1
    if leader != counters[_LEADER]:
        counters[_CHANGES] += int(counters[_LEADER] >= 0)
        counters[_LEADER] = leader
    if leader != winner:
        counters[_STREAK] = 0
        counters[_WRONG] = t
        return
    counters[_RIGHT] += 1
    if counters[_STREAK] == 0:
        counters[_STREAK] = t
    if counters[_LEADS] == 0 and t - counters[_STREAK] + 1 >= LASTING:
        counters[_LEADS] = 1
        counters[_UNTIL] += counters[_STREAK] - counters[_PHASE]


@hot
def _end_phase(counters, t):  # type: ignore[no-untyped-def]
    """Close the phase before round t."""
    if counters[_PHASES] > 0 and counters[_LEADS] == 0:
        led = counters[_STREAK] if counters[_STREAK] > 0 else t
        counters[_UNTIL] += led - counters[_PHASE]


@hot
def _note(seen, t, leader):  # type: ignore[no-untyped-def]
    winner = seen.winners[t - seen.begin[0]]
    _vote(seen.counters, t, leader, winner)
    mark = seen.counters[_MARK]
    if mark < len(seen.marks) and t - 1 == seen.marks[mark]:
        seen.right[mark] = leader == winner
        seen.counters[_MARK] = mark + 1


@kernel
def _note_all(seen, leaders):  # type: ignore[no-untyped-def]
    for t in range(1, len(leaders) + 1):
        _note(seen, t, leaders[t - 1])


class Identification(Observer):
    """Whether a policy names the Condorcet winner, vote by vote.

    The leader after n votes is compared with the winner of round n + 1; after the last vote, with
    the winner of the last round.

    Parameters
    ----------
    rounds
        The number of rounds of the game.
    """

    note = staticmethod(_note)

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        marks = checkpoints(rounds)
        counters = np.zeros(11, np.int64)
        counters[_LEADER] = counters[_WINNER] = -2
        self.seen = _IdentificationArrays(
            np.zeros(0, np.int64), np.zeros(1, np.int64), marks, np.zeros(len(marks), np.bool_),
            counters,
        )  # fmt: skip

    def expect(self, chunk: Chunk) -> None:
        """Prepare for the rounds of a chunk, before they are played."""
        lengths = np.diff(np.append(chunk.starts, chunk.end))
        winners = np.repeat(chunk.row_winners()[chunk.rows], lengths)
        self.seen = self.seen._replace(winners=winners, begin=chunk.starts[:1].copy())

    def finish(self, policy: Policy) -> None:
        """Examine the leader after the last vote."""
        self._end(leader_of(policy))

    def _end(self, leader: int) -> None:
        counters = self.seen.counters
        _end_phase(counters, self.rounds + 1)
        right = leader == counters[_WINNER]
        self.seen.right[-1] = right
        if not right:
            counters[_WRONG] = self.rounds + 1

    @property
    def right(self) -> float:
        """The share of votes in which the leader was right when the duel was chosen."""
        return float(self.seen.counters[_RIGHT]) / self.rounds

    @property
    def right_at(self) -> Bools:
        """Whether the leader was right at each of the `checkpoints`."""
        flags: Bools = self.seen.right
        return flags

    @property
    def settled(self) -> int:
        """The votes after which the leader was right to the end; rounds + 1 if it never was."""
        return int(self.seen.counters[_WRONG])

    @property
    def until(self) -> float:
        """The mean over phases of the votes until the winner leads, see `LASTING`.

        The first phase is included. A phase in which the winner never leads counts in full.
        """
        return float(self.seen.counters[_UNTIL]) / max(1, int(self.seen.counters[_PHASES]))

    @property
    def changes(self) -> int:
        """How often the leader changed."""
        return int(self.seen.counters[_CHANGES])


def identify(leaders: Ints, winners: Ints) -> Identification:
    """Return the identification of a game from its leaders and winners, round by round.

    Parameters
    ----------
    leaders
        (T,) the leader when the duel of each round was chosen, -1 for none; a last entry T + 1, the
        leader after the last vote, is optional.
    winners
        (T,) the Condorcet winner of each round.

    Examples
    --------
    >>> identify(np.array([1, 0, 0, 0]), np.array([0, 0, 0, 0])).right
    0.75
    """
    measured = Identification(len(winners))
    measured.seen = measured.seen._replace(
        winners=np.asarray(winners, np.int64), begin=np.ones(1, np.int64)
    )
    _note_all(measured.seen, np.asarray(leaders[: len(winners)], np.int64))
    measured._end(int(leaders[-1]))
    return measured
