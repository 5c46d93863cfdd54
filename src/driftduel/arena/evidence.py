"""Evidence of an arena: which statements its votes allow, and at which level of error.

A *stretch* of evidence starts when the leader changes or an option departs. In it the leader bets
against each rival that it wins more than half of their duels; the e-value of `driftduel.evidence`
is the value of that bet. Two kinds of statements rest on it:

- "sure": in stretch m, e reaches m (m + 1) / .05 against every present rival.
- A *pair statement*: in stretch m the leader beat one rival between two votes. All pair statements
  share a second error level of .05; two opposite ones certify a change of preferences.

docs/research/statements.md has the proofs. They require that the outcome of a vote does not
decide whether it is counted: the vote that made the leader is not part of its stretch, and votes
must not be voided because of their outcome.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from driftduel.evidence import log_e_value, reaches, threshold

__all__ = ["LeaderEvidence", "PairStatement", "Stretch", "certainty_needs", "votes_until_sure"]

_LARGEST_LOG = 690.0  # exp of it is 1e299: JSON has no infinity
_MOST_COUNTED = 100_000  # votes per stretch; later ones are not counted, which bounds the memory
# Error shares within one stretch. They sum to at most 1 over rivals and over blocks.
_AT_START = 0.9  # of the rivals present at the start; joiners share the rest
_FIRST_BLOCK = 0.8
_POOLED = 20.0  # weight, in votes, of the leader's share against all rivals in an estimate
_FEWEST_TO_ESTIMATE, _MOST_TO_ESTIMATE = 5, 10_000_000


class LeaderEvidence(NamedTuple):
    """The evidence of a stretch against one rival, as an immutable value."""

    rival: int
    wins: int
    """Counted duels that the leader won."""
    losses: int
    log_e: float
    needed: float

    @property
    def e(self) -> float:
        """The e-value, cut at 1e299."""
        return math.exp(min(self.log_e, _LARGEST_LOG))

    @property
    def is_enough(self) -> bool:
        """Whether e has reached the threshold of the stretch."""
        return self.log_e >= math.log(self.needed)


class PairStatement(NamedTuple):
    """One option beat another on average over the counted duels between two votes."""

    winner: int
    loser: int
    from_vote: int
    """Number of votes learned before the first of these duels."""
    to_vote: int
    """Number of the vote that completed the evidence."""


@dataclass(slots=True)
class _Rival:
    """Counts of the leader's duels with one rival."""

    share: float
    """Share of the stretch's error for pair statements about this rival."""
    from_vote: int
    wins: int = 0
    losses: int = 0
    is_enough: bool = False
    block: int = 1
    """Number of the current block: each pair statement completes one."""
    block_wins: int = 0
    block_losses: int = 0
    voters: dict[int, int] = field(default_factory=dict)
    """Voter (or, with claim="judges", duel) to the duel that was counted; 0 if it was voided."""


def certainty_needs(stretch: int) -> int:
    """Return the minimum number of voters per rival with which a stretch can become sure.

    Examples
    --------
    >>> certainty_needs(1), certainty_needs(2)
    (8, 10)
    """
    voters = 1
    while not reaches(voters, 0, math.log(threshold(stretch))):
        voters += 1
    return voters


@dataclass
class Stretch:
    """A leader, and its counted votes against each rival since a leader change or a departure.

    Parameters
    ----------
    leader
        The arm that leads.
    number
        Number of the stretch, from 1; stretches without a counted vote use none.
    seq
        The record that started it. The vote that made the leader is not part of the stretch.
    vote
        Number of votes learned before it.
    rivals_at_start
        The rivals that were present when it started.
    before
        The leader of the previous stretch, if it is another option. A statement about this rival
        is the most likely one to certify a change, so it gets half of the error.

    Examples
    --------
    >>> stretch = Stretch(leader=2, number=1, rivals_at_start=(0,))
    >>> for voter in range(8):
    ...     _ = stretch.count(2, 0, won=1, voter=voter, duel=voter + 1, vote=voter + 1)
    >>> stretch.is_sure({0, 2}), stretch.is_sure({0, 1, 2}), stretch.against(0).wins
    (True, False, 8)
    """

    leader: int
    number: int
    seq: int = 0
    vote: int = 0
    rivals_at_start: tuple[int, ...] = ()
    before: int | None = None
    joined: int = 0
    """Number of rivals counted that were absent at the start."""
    rivals: dict[int, _Rival] = field(default_factory=dict)
    counted: int = 0

    def count(
        self, first: int, second: int, won: int, *, voter: int, duel: int, vote: int
    ) -> PairStatement | None:
        """Count a learned vote if it is the voter's first on this pair in this stretch.

        Parameters
        ----------
        first, second, won
            The duel: the value of `won` is 1 if `first` won, 0 if `second` did, and -1 for a tie,
            which only uses up the voter's vote.
        voter
            A number for the voter; the duel itself if every vote counts.
        duel
            The duel's number, the argument by which the method `void` finds it.
        vote
            The number of this vote in the order of learning.

        Returns
        -------
        The pair statement that this vote completes, or None.
        """
        if self.leader not in (first, second) or first == second:
            return None
        rival = first + second - self.leader
        found = self.rivals.get(rival)
        if found is None:
            found = self.rivals[rival] = _Rival(self._share(rival), vote - 1)
        if voter in found.voters or self.counted >= _MOST_COUNTED:
            return None
        found.voters[voter] = duel
        self.counted += 1
        if won < 0:
            return None
        leader_won = (first if won else second) == self.leader
        found.wins += leader_won
        found.losses += not leader_won
        found.block_wins += leader_won
        found.block_losses += not leader_won
        found.is_enough = reaches(found.wins, found.losses, self._log_bar())
        level = found.share * _block_share(found.block)
        if not reaches(found.block_wins, found.block_losses, self._log_bar() - math.log(level)):
            return None
        shown = PairStatement(self.leader, rival, found.from_vote, vote)
        self._next_block(found, vote)
        return shown

    def _share(self, rival: int) -> float:
        """Return the share of a rival that is counted for the first time."""
        if rival not in self.rivals_at_start:
            self.joined += 1
            return (1 - _AT_START) / (self.joined * (self.joined + 1))
        each = 1 / len(self.rivals_at_start)
        if self.before in self.rivals_at_start:
            each = (each + (rival == self.before)) / 2
        return _AT_START * each

    @staticmethod
    def _next_block(rival: _Rival, vote: int) -> None:
        rival.block += 1
        rival.block_wins = rival.block_losses = 0
        rival.from_vote = vote

    def _log_bar(self) -> float:
        return math.log(threshold(self.number))

    def void(self, first: int, second: int, won: int, *, duel: int, vote: int) -> None:
        """Take a vote back, if it was counted in this stretch.

        Its voter is not counted again. The current block of the pair ends without a statement:
        it may have lost a vote, and its level of error is used up.
        """
        rival = self.rivals.get(first + second - self.leader)
        if self.leader not in (first, second) or rival is None:
            return
        voter = next((voter for voter, each in rival.voters.items() if each == duel), None)
        if voter is None:
            return
        rival.voters[voter] = 0
        if won < 0:
            return
        leader_won = (first if won else second) == self.leader
        rival.wins -= leader_won
        rival.losses -= not leader_won
        rival.is_enough = reaches(rival.wins, rival.losses, self._log_bar())
        if rival.block_wins or rival.block_losses:
            self._next_block(rival, vote)

    def against(self, rival: int) -> LeaderEvidence:
        """Return the evidence against one rival."""
        return self.evidence([rival])[0]

    def evidence(self, present: Iterable[int]) -> list[LeaderEvidence]:
        """Return the evidence against each present rival, by number."""
        arms = sorted(set(present) - {self.leader})
        found = [self.rivals.get(arm) for arm in arms]
        counts = [(0, 0) if each is None else (each.wins, each.losses) for each in found]
        wins, losses = np.array(counts, np.float64).reshape(-1, 2).T
        logs, needed = log_e_value(wins, losses).tolist(), threshold(self.number)
        return [
            LeaderEvidence(arm, *count, log_e, needed)
            for arm, count, log_e in zip(arms, counts, logs, strict=True)
        ]

    def voters(self, present: Iterable[int]) -> int:
        """Return the number of distinct voters counted against the present rivals."""
        met = [self.rivals[rival].voters for rival in present if rival in self.rivals]
        return len(set().union(*met))

    def is_sure(self, present: Iterable[int]) -> bool:
        """Return whether the e-value is now large enough against every present rival.

        The value becomes False again if later votes contradict. It requires the leader and a rival.
        """
        rivals, here = 0, False
        for arm in present:
            if arm == self.leader:
                here = True
                continue
            rival = self.rivals.get(arm)
            if rival is None or not rival.is_enough:
                return False
            rivals += 1
        return here and rivals > 0

    def to_plain(self) -> dict[str, Any]:
        """Return a dict of plain values for a snapshot."""
        return {
            "leader": self.leader,
            "number": self.number,
            "seq": self.seq,
            "vote": self.vote,
            "rivals_at_start": list(self.rivals_at_start),
            "before": self.before,
            "joined": self.joined,
            "counted": self.counted,
            "rivals": [[arm, *_pack(self.rivals[arm])] for arm in sorted(self.rivals)],
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the stretch of a snapshot."""
        given = dict(plain)
        given["rivals_at_start"] = tuple(given["rivals_at_start"])
        given["rivals"] = {arm: _unpack(packed) for arm, *packed in given["rivals"]}
        return cls(**given)


def votes_until_sure(evidence: Sequence[LeaderEvidence], learned: int) -> int | None:
    """Estimate the number of votes until a stretch is sure, if preferences stay as they are.

    Each pair goes on with its present share of all votes. Its share of wins is shrunk towards the
    leader's share against all rivals, worth `_POOLED` votes, because the minimum over rivals is
    biased downwards; the shrunk counts give the predictive probability of a win under the mixture
    of the e-value.

    Parameters
    ----------
    evidence
        The evidence against each present rival.
    learned
        Number of votes learned in the stretch.

    Returns
    -------
    0 if the evidence is enough; None if there is too little of it, if a rival is not behind, or
    if it would take more than ten million votes.
    """
    missing = [each for each in evidence if not each.is_enough]
    if not missing:
        return 0 if evidence else None
    wins, losses = np.array([[each.wins, each.losses] for each in missing], np.float64).T
    total = wins + losses
    if total.min() < _FEWEST_TO_ESTIMATE or (wins <= losses).any():
        return None
    won, lost = (sum(getattr(each, side) for each in evidence) for side in ("wins", "losses"))
    pooled = (won + 0.5) / (won + lost + 1)
    shrunk = wins + _POOLED * pooled, losses + _POOLED * (1 - pooled)
    share = np.exp(log_e_value(shrunk[0] + 1, shrunk[1]) - log_e_value(*shrunk)) / 2
    bars = np.log([each.needed for each in missing])
    low, high = np.zeros(len(missing)), np.full(len(missing), float(_MOST_TO_ESTIMATE))
    for _ in range(40):
        more = (low + high) / 2
        there = log_e_value(wins + share * more, losses + (1 - share) * more) >= bars
        low, high = np.where(there, low, more), np.where(there, more, high)
    votes = float((high * learned / total).max())
    return None if votes >= _MOST_TO_ESTIMATE else math.ceil(votes)


def _block_share(block: int) -> float:
    """Return the share of block number `block` in the error of a pair; the shares sum to 1."""
    return _FIRST_BLOCK if block == 1 else (1 - _FIRST_BLOCK) / (block * (block - 1))


def _pack(rival: _Rival) -> list[Any]:
    """Return the counts of a rival as a list, with 16 bytes per voter, independent of history."""
    voters = np.array(sorted(rival.voters.items()), "<i8")
    return [
        rival.share, rival.from_vote, rival.wins, rival.losses, rival.is_enough,
        rival.block, rival.block_wins, rival.block_losses, voters.tobytes(),
    ]  # fmt: skip


def _unpack(packed: list[Any]) -> _Rival:
    *counts, data = packed
    rival = _Rival(*counts)
    rival.voters = dict(np.frombuffer(data, "<i8").reshape(-1, 2).tolist())
    return rival
