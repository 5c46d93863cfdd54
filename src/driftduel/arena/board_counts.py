"""Counts for the board: votes, pairs, stretches of evidence. The policy does not use them."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftduel.arena.bias import LatencyHistogram, VoterCounts
from driftduel.arena.evidence import PairStatement, Stretch
from driftduel.arena.learning import Learned
from driftduel.arena.ranking import History, Window
from driftduel.arena.slate_votes import ComparedPair, half_of_top

if TYPE_CHECKING:
    from driftduel.arena.state import OpenDuel

__all__ = ["PICKED", "BoardCounts", "Change"]

_LISTED_CHANGES = 500
_COUNTS = (
    "votes",
    "number",
    "counted",
    "ties",
    "skips",
    "late",
    "uncounted",
    "voided",
    "heard",
    "shown_alone",
    "lefts",
    "rights",
    "alarms",
    "crownings",
    "was_sure",
    "since",
)
# Absent in snapshots of earlier versions.
_LATER_COUNTS = ("both_bad", "judged")
_MATRICES = ("wins", "tied", "skipped")
_PARTS: dict[str, Any] = {
    "window": Window,
    "history": History,
    "lateness": LatencyHistogram,
    "voters": VoterCounts,
}

Change = dict[str, Any]
PICKED = {"left": 1, "right": 0, "tie": -1, "both-bad": -1}
"""Result for the option on the left: 1, 0, or -1 without a winner."""


class BoardCounts:
    """Counts of votes as they arrive, and of answers as they are learned.

    Parameters
    ----------
    arms
        Number of options, all of them present.
    leader
        The policy's best guess before the first vote.
    at
        The time, in milliseconds.
    """

    def __init__(self, arms: int, leader: int | None, at: int) -> None:
        self.votes = self.ties = self.skips = self.late = self.uncounted = self.voided = 0
        self.both_bad = 0
        self.judged = 0
        """Votes of automatic judges, without skips."""
        self.heard = self.shown_alone = self.lefts = self.rights = 0
        self.alarms = self.crownings = 0
        self.wins = self._zeros(arms)
        """Counted votes that were learned, a matrix: row over column."""
        self.tied, self.skipped = self._zeros(arms), self._zeros(arms)
        self.stretch: Stretch | None = None
        self.since: list[int] = [1, at, 0]
        """Start of the leader's reign: record, time in milliseconds, votes learned before it."""
        self.number = 0
        """Number of learned votes; votes are numbered in this order."""
        self.counted = 0
        """Number of learned votes without the voided ones."""
        self.window, self.history = Window(arms), History(stride=max(History.STRIDE, arms))
        self.lateness, self.voters = LatencyHistogram(), VoterCounts()
        self.was_sure = False
        """The last value of ``sure`` in the log."""
        self.voided_seqs: list[int] = []
        """Sequence numbers of the voided votes."""
        self.changes: list[Change] = []
        """The last changes of the leader, oldest first."""
        self.statements: dict[tuple[int, int], PairStatement] = {}
        """The last pair statement about each pair (lower arm first)."""
        self.certified: list[Change] = []
        """The last certified changes of preference, oldest first."""
        self._stretches = 0
        self._start(leader, 1, tuple(range(arms)))

    @staticmethod
    def _zeros(arms: int) -> NDArray[np.int64]:
        return np.zeros((arms, arms), np.int64)

    @property
    def leader(self) -> int | None:
        """The arm that leads."""
        return None if self.stretch is None else self.stretch.leader

    def sure(self, present: tuple[int, ...]) -> bool:
        """Return whether the evidence against every present rival reaches its threshold value."""
        return self.stretch is not None and self.stretch.is_sure(present)

    def add_vote(self, ref: int, out: "OpenDuel", at: int, present: tuple[int, ...]) -> None:
        """Count a vote that arrived. Descriptive tables count it now, before it is learned."""
        self._count_arrival(out, 1)
        if out.counts:
            if out.cards:
                self.window.add_slate(out.compared(), ref)
            else:
                left, right = out.shown
                self.window.add(left, right, PICKED[str(out.pick)], ref)
            self.history.see(self.votes, at, self.window.wins, present)

    def remove_vote(self, ref: int, out: "OpenDuel") -> None:
        """Remove a vote that was undone."""
        self._count_arrival(out, -1)
        self.window.remove(ref)

    def _count_arrival(self, out: "OpenDuel", times: int) -> None:
        self.lateness.add(out.took, times)
        if out.pick == "skip":
            self.skips += times
            for first, second in combinations(out.shown, 2):
                self.skipped[first, second] += times
                self.skipped[second, first] += times
            return
        self.votes += times
        self.ties += times * (out.pick == "tie")
        self.both_bad += times * (out.pick == "both-bad")
        self.judged += times * out.judge
        self.voters.add(out.voter or out.source or "", times)

    def give_up(self, ref: int, out: "OpenDuel") -> None:
        """Count a duel that was given up; a vote on it does not count."""
        self.uncounted += out.pick not in (None, "skip")
        self.window.remove(ref)

    def add_learned(
        self,
        answer: Learned,
        out: "OpenDuel",
        voter: int | None,
        seq: int,
        at: int,
        *,
        certify: bool = True,
    ) -> list[Change]:
        """Count a learned vote; return the changes of preferences that it certifies.

        `voter` is the number of the voter in the evidence; None: the vote is not evidence. With
        features no change is certified: a pair meets at requests that change with time.

        A slate is one vote. Each pair that it decides counts apart: against each rival the leader
        has a bet of its own, so that their dependence does not matter.
        """
        ref = answer.duel.round
        self.counted += 1
        self.number += 1
        changes = []
        # The pick itself: a tie stays a tie, even if the policy learned the result of a coin.
        pairs = out.compared()
        for first, second, won, _ in pairs:
            found = None
            if self.stretch is not None and voter is not None:
                found = self.stretch.count(
                    first, second, won, voter=voter, duel=ref, vote=self.number
                )
            if found is not None and certify:
                change = self._certify(found, seq, at)
                changes += [] if change is None else [change]
        ranked = out.ranked()
        half = half_of_top(out.shown, ranked[0]) if ranked else -1
        self._count_pairs(pairs, half, 1)
        return changes

    def _count_pairs(self, pairs: Sequence[ComparedPair], half: int, times: int) -> None:
        """Count wins and ties of pairs, and the half with the best option: 1, 0, -1 for neither."""
        for first, second, won, _ in pairs:
            if won < 0:
                self.tied[first, second] += times
                self.tied[second, first] += times
            else:
                self.wins[(first, second) if won else (second, first)] += times
        self.lefts += times * (half > 0)
        self.rights += times * (half == 0)

    def _certify(self, shown: PairStatement, seq: int, at: int) -> Change | None:
        """Store a pair statement; return a change if the last one about the pair was opposite."""
        pair = min(shown[:2]), max(shown[:2])
        last, self.statements[pair] = self.statements.get(pair), shown
        if last is None or last.winner == shown.winner:
            return None
        # An interval that contains that of an earlier change may be due to the same change.
        if self.certified and last.from_vote <= self.certified[-1]["from_vote"]:
            return None
        change: Change = {
            "before": last.winner, "after": shown.winner,
            "from_vote": last.from_vote, "to_vote": shown.to_vote, "seq": seq, "at": at,
        }  # fmt: skip
        self.certified.append(change)
        del self.certified[:-_LISTED_CHANGES]
        return change

    def change_leader(
        self, leader: int | None, seq: int, at: int, present: tuple[int, ...], *, alarm: bool
    ) -> None:
        """Change the leader. The vote that caused the change is counted in the stretch before."""
        self.changes.append(
            {"seq": seq, "at": at, "vote": self.number, "before": self.leader, "after": leader,
             "alarm": alarm}
        )  # fmt: skip
        del self.changes[:-_LISTED_CHANGES]
        self.alarms += alarm
        self.crownings += 1
        self.since = [seq, at, self.number]
        self.window.cut()
        self._start(leader, seq, present)

    def start_after_departure(self, seq: int, present: tuple[int, ...]) -> None:
        """Start a new stretch with the same leader, because an option has left."""
        self._start(self.leader, seq, present)

    def _start(self, leader: int | None, seq: int, present: tuple[int, ...]) -> None:
        """Start a stretch; a stretch without a counted vote used no error, and no number."""
        last, self.stretch = self.stretch, None
        self._stretches += last is not None and last.counted > 0
        if leader is None:
            return
        rivals = tuple(arm for arm in present if arm != leader)
        before = None
        if last is not None:
            before = last.before if last.leader == leader else last.leader
        self.stretch = Stretch(leader, self._stretches + 1, seq, self.number, rivals, before)

    def void(
        self, seq: int, ref: int, pairs: Sequence[ComparedPair], half: int, learned_at: int
    ) -> None:
        """Remove a vote from the counts.

        `half` is that of the best option, as for `_count_pairs`; `learned_at` is the record by
        which the vote was learned, or -1.
        """
        self.voided += 1
        self.voided_seqs.append(seq)
        self.window.remove(ref)
        if learned_at < 0:
            return
        self.counted -= 1
        if self.stretch is not None:
            for first, second, won, _ in pairs:
                self.stretch.void(first, second, won, duel=ref, vote=self.number)
        self._count_pairs(pairs, half, -1)

    def widen(self) -> None:
        """Add a row and a column of default values for a new option."""
        for name in _MATRICES:
            setattr(self, name, np.pad(getattr(self, name), (0, 1)))
        self.window.widen()

    def to_plain(self) -> dict[str, Any]:
        """Return a dict of plain values for a snapshot."""
        names = (*_COUNTS, *_LATER_COUNTS)
        plain: dict[str, Any] = {name: getattr(self, name) for name in names}
        plain |= {name: getattr(self, name).tolist() for name in _MATRICES}
        plain["changes"], plain["voided_seqs"] = self.changes, self.voided_seqs
        plain |= {name: getattr(self, name).to_plain() for name in _PARTS}
        plain["stretches"], plain["certified"] = self._stretches, self.certified
        plain["stretch"] = None if self.stretch is None else self.stretch.to_plain()
        plain["statements"] = [list(self.statements[pair]) for pair in sorted(self.statements)]
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "BoardCounts":
        """Return the counts of a snapshot."""
        tally = cls.__new__(cls)
        for name in _COUNTS:
            setattr(tally, name, plain[name])
        for name in _LATER_COUNTS:
            setattr(tally, name, plain.get(name, 0))
        for name in _MATRICES:
            setattr(tally, name, np.array(plain[name], np.int64))
        tally.changes, tally.voided_seqs = plain["changes"], plain["voided_seqs"]
        for name, kind in _PARTS.items():
            setattr(tally, name, kind.from_plain(plain[name]))
        stretch = plain["stretch"]
        tally.stretch = None if stretch is None else Stretch.from_plain(stretch)
        tally._stretches, tally.certified = plain["stretches"], plain["certified"]
        shown = [PairStatement(*each) for each in plain["statements"]]
        tally.statements = {(min(each[:2]), max(each[:2])): each for each in shown}
        return tally
