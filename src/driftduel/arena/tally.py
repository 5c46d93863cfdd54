"""What the board counts: votes, pairs, reigns. It only listens; nothing here chooses a duel."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftduel.arena.bias import Lateness, VotesAVoter
from driftduel.arena.evidence import Reign
from driftduel.arena.lanes import Learned
from driftduel.arena.lanes_compared import LanesCompared
from driftduel.arena.ranking import History, Window

if TYPE_CHECKING:
    from driftduel.arena.state import Out

__all__ = ["Change", "Tally"]

_LISTED_CHANGES = 500
_COUNTS = (
    "votes", "counted", "ties", "skips", "late", "uncounted", "voided", "heard",
    "shown_alone", "lefts", "rights", "reigns", "alarms", "crownings", "was_sure",
)  # fmt: skip
_MATRICES = ("wins", "tied", "skipped")
_PARTS: dict[str, Any] = {
    "window": Window,
    "history": History,
    "lateness": Lateness,
    "voters": VotesAVoter,
    "lanes": LanesCompared,
}

Change = dict[str, Any]


class Tally:
    """Counts that a board needs, of votes as they come and of answers as they are learned.

    Parameters
    ----------
    arms
        The number of options.
    leader
        Who leads before the first vote.
    at
        When that is, in milliseconds.
    lanes
        How many policies there are.
    """

    def __init__(self, arms: int, leader: int | None, at: int, lanes: int = 1) -> None:
        self.votes = self.ties = self.skips = self.late = self.uncounted = self.voided = 0
        self.heard = self.shown_alone = self.lefts = self.rights = 0
        self.reigns = self.alarms = self.crownings = 0
        self.wins = self._zeros(arms)
        """Counted votes that were learned: row over column."""
        self.tied, self.skipped = self._zeros(arms), self._zeros(arms)
        self.reign: Reign | None = None
        self.counted = 0
        """Votes that were learned and not voided."""
        self.window, self.history = Window(arms), History(stride=max(History.STRIDE, arms))
        self.lateness, self.voters = Lateness(), VotesAVoter()
        self.lanes = LanesCompared(lanes, arms)
        self.was_sure = False
        """What the log last said of that."""
        self.voided_seqs: list[int] = []
        """Votes that were voided, by their place in the log."""
        self.changes: list[Change] = []
        """The last changes of the leader, oldest first."""
        if leader is not None:
            self.reigns = 1
            self.reign = Reign(leader, 1, seq=1, at=at)

    @staticmethod
    def _zeros(arms: int) -> NDArray[np.int64]:
        return np.zeros((arms, arms), np.int64)

    @property
    def leader(self) -> int | None:
        """Who leads."""
        return None if self.reign is None else self.reign.leader

    def sure(self, present: tuple[int, ...]) -> bool:
        """Tell whether the leader is known to beat everybody who is there."""
        return self.reign is not None and self.reign.sure(present)

    def voted(self, out: "Out", times: int = 1) -> None:
        """Count a vote that came; `times=-1`: one that was undone."""
        self.lateness.add(out.took, times)
        if out.pick == "skip":
            self.skips += times
            self.skipped[out.first, out.second] += times
            self.skipped[out.second, out.first] += times
            return
        self.votes += times
        self.ties += times * (out.pick == "tie")
        if out.voter is not None:
            self.voters.add(out.voter, times)

    def forgot(self, out: "Out") -> None:
        """Count a duel that was given up, and whose vote does not count."""
        self.uncounted += out.pick not in (None, "skip")

    def learned(
        self, lane: int, answer: Learned, out: "Out", seq: int, at: int, present: tuple[int, ...]
    ) -> None:
        """Count a vote whose turn has come."""
        first, second = answer.duel.first, answer.duel.second
        # What was picked, not what a coin made of a tie: left and right, as `void` will say it.
        picked = {"left": 1, "right": 0, "tie": -1}[str(out.pick)]
        right = first + second - out.left
        self.window.add(out.left, right, picked, seq)
        self.lanes.vote(lane, out.left, right, picked, out.voter)
        self.counted += 1
        self.history.see(self.counted, at, self.window.wins, present)
        if out.pick == "tie":
            self.tied[first, second] += 1
            self.tied[second, first] += 1
            return
        winner = first if answer.won else second
        loser = first + second - winner
        self.wins[winner, loser] += 1
        self.lefts += out.pick == "left"
        self.rights += out.pick == "right"
        if self.reign is not None:
            self.reign.count(winner, loser)

    def alone(self, lane: int, arm: int) -> None:
        """Count an option that was shown alone."""
        self.shown_alone += 1
        self.lanes.alone(lane, arm)

    def crown(self, leader: int | None, seq: int, at: int, *, alarm: bool) -> None:
        """Begin a reign. The vote by which it began was counted in the one before."""
        self.changes.append(
            {"seq": seq, "at": at, "votes": self.votes, "from": self.leader, "to": leader,
             "alarm": alarm}
        )  # fmt: skip
        del self.changes[:-_LISTED_CHANGES]
        self.alarms += alarm
        self.crownings += 1
        self.reign = None
        if leader is not None:
            self.reigns += 1
            self.reign = Reign(leader, self.reigns, seq=seq, at=at, votes=self.votes)

    def void(self, seq: int, first: int, second: int, won: int, learned_at: int) -> None:
        """Take a vote out of the counts.

        `first` was on the left; `learned_at` is the record by which it was learned, or -1.
        """
        self.voided += 1
        self.voided_seqs.append(seq)
        if learned_at < 0:
            return
        self.counted -= 1
        self.window.void(first, second, won, learned_at)
        if won < 0:
            self.tied[first, second] -= 1
            self.tied[second, first] -= 1
            return
        self.lefts -= won
        self.rights -= 1 - won
        winner, loser = (first, second) if won else (second, first)
        self.wins[winner, loser] -= 1
        if self.reign is not None and learned_at > self.reign.seq:
            self.reign.count(winner, loser, times=-1)

    def widen(self) -> None:
        """Make room for one more option."""
        for name in _MATRICES:
            setattr(self, name, np.pad(getattr(self, name), (0, 1)))
        self.window.widen()
        self.lanes.widen()

    def to_plain(self) -> dict[str, Any]:
        """Return numbers and lists only, for a snapshot."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in _COUNTS}
        plain |= {name: getattr(self, name).tolist() for name in _MATRICES}
        plain["changes"], plain["voided_seqs"] = self.changes, self.voided_seqs
        plain |= {name: getattr(self, name).to_plain() for name in _PARTS}
        plain["reign"] = None if self.reign is None else self.reign.to_plain()
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Tally":
        """Return what a snapshot tells of."""
        tally = cls.__new__(cls)
        for name in _COUNTS:
            setattr(tally, name, plain[name])
        for name in _MATRICES:
            setattr(tally, name, np.array(plain[name], np.int64))
        tally.changes, tally.voided_seqs = plain["changes"], plain["voided_seqs"]
        for name, kind in _PARTS.items():
            setattr(tally, name, kind.from_plain(plain[name]))
        reign = plain["reign"]
        tally.reign = None if reign is None else Reign.from_plain(reign)
        return tally
