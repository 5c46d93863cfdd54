"""How sure it is who leads, however often somebody looks: the e-process of a reign.

A reign begins when an option becomes the leader. From then on the leader bets against each rival
that it wins more than half of their duels, and e is what a bet of 1 has become. If it does not win
more than half, e is a nonnegative supermartingale: the chance that it ever reaches 40 is at most
1/40, whoever looks, whenever. Pairs are chosen from the past only, so that holds whatever a policy
asks. A claim needs every rival, so no rival has to be paid for; reigns do, because a leader that
falls for nothing gets another try. Reign r has the part .05 / (r (r + 1)) of the error, and the
parts of all reigns together are .05.

What e says is an average: in this reign, over the duels of this pair, the leader wins more than
half. It is broken by whatever lets an answer depend on itself: the vote that crowned the leader
must not be counted, nor votes be voided because of whom they help.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from driftduel.errors import DriftduelError

__all__ = ["ALPHA", "Evidence", "Reign", "log_e", "needed"]

ALPHA = 0.05
"""The chance that an arena ever claims a leader that is none."""

_LARGEST_LOG = 690.0  # exp of it is 1e299: JSON has no infinity
_NEGLIGIBLE = 39.0  # exp(-39) is 1e-17


def needed(reign: int) -> float:
    """Return how large e must be against every rival in the reign of this number, from 1.

    Examples
    --------
    >>> [round(needed(reign)) for reign in (1, 2, 3)]
    [40, 120, 240]
    """
    return reign * (reign + 1) / ALPHA


def log_e(wins: int, losses: int) -> float:
    """Return the log of the evidence that the leader wins more than half of the duels of a pair.

    It is the mean, over all p from 1/2 to 1, of what a bet on p has become:

        e = 2 * integral of (2 p)^w (2 (1 - p))^l dp  =  integral of (1 + x)^w (1 - x)^l dx

    with p = (1 + x) / 2 and x from 0 to 1. (`logs.certificate.e_value` prefers p near 1/2 and near
    1, by Jeffreys' prior; it allows for parts of votes, and needs scipy.)

    Examples
    --------
    >>> log_e(0, 0), round(math.exp(log_e(1, 0)), 9), round(math.exp(log_e(40, 12)), 1)
    (0.0, 1.5, 823.4)
    """
    if wins <= losses:
        return math.log(_behind(wins, losses))
    # The integral over x from -1 to 1 is the leader's half and the rival's, which is the smaller.
    both = _log_both(wins, losses)
    return both + math.log1p(-_behind(losses, wins) * math.exp(-both))


def _behind(wins: int, losses: int) -> float:
    """Return e where there are no more wins than losses.

    By parts, e(w, l) = (1 + w e(w - 1, l + 1)) / (l + 1): a series whose terms only fall, and whose
    j-th term is at most exp(-(j (l - w) + j^2) / (n + 1)) of the first.
    """
    gap, size = losses - wins, _NEGLIGIBLE * (wins + losses + 1)
    terms = min(wins, math.ceil((math.sqrt(gap * gap + 4 * size) - gap) / 2))
    steps = np.arange(terms, dtype=np.float64)
    falling = np.cumprod((wins - steps) / (losses + 2.0 + steps))
    return (1.0 + float(falling.sum())) / (losses + 1.0)


def _log_both(wins: int, losses: int) -> float:
    """Return the log of 2^(n + 1) / ((n + 1) C(n, w)), the integral over x from -1 to 1.

    From factorials it would be a difference of large numbers; this is Loader's way around it.
    """
    n = wins + losses
    if losses == 0:
        return (n + 1) * math.log(2) - math.log(n + 1)
    lead = (wins - losses) / n
    won = wins * math.log1p(lead) + losses * math.log1p(-lead)
    rest = math.log(2 * math.pi * wins * losses / n) / 2
    return (
        math.log(2 / (n + 1)) + won + rest
        - _stirling(n) + _stirling(wins) + _stirling(losses)
    )  # fmt: skip


def _stirling(n: int) -> float:
    """Return by how much log n! exceeds Stirling's formula."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - math.log(2 * math.pi) / 2
    s = 1.0 / (n * n)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / n


class Evidence(NamedTuple):
    """What a reign's votes say about one rival."""

    rival: int
    wins: int
    """The leader's."""
    losses: int
    log_e: float
    needed: float

    @property
    def e(self) -> float:
        """Return e, or a number so large that nobody minds."""
        return math.exp(min(self.log_e, _LARGEST_LOG))

    @property
    def enough(self) -> bool:
        """Return whether e is at least what is needed."""
        return self.log_e >= math.log(self.needed)


@dataclass
class Reign:
    """A leader, since when it leads, and its votes against each rival since then.

    Parameters
    ----------
    leader
        The arm that leads.
    number
        How many reigns there were, with this one.
    seq, at, votes
        Where it began: the record that made the leader, its time, and the votes until then. The
        vote that crowned the leader is not one of the reign's.
    counts
        For each rival that was met: the leader's wins and losses.

    Examples
    --------
    >>> reign = Reign(leader=2, number=1)
    >>> for _ in range(12):
    ...     reign.count(winner=2, loser=0)
    >>> reign.sure({0, 2}), reign.sure({0, 1, 2}), reign.against(0).wins
    (True, False, 12)
    """

    leader: int
    number: int
    seq: int = 0
    at: int = 0
    votes: int = 0
    counts: dict[int, list[int]] = field(default_factory=dict)
    _logs: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def count(self, winner: int, loser: int, times: int = 1) -> None:
        """Count a vote of this reign; `times=-1` takes one back that was voided.

        Votes between two rivals say nothing about the leader, and are left out.
        """
        if self.leader not in (winner, loser) or winner == loser:
            return
        won = winner == self.leader
        rival = loser if won else winner
        votes = self.counts.setdefault(rival, [0, 0])
        if votes[not won] + times < 0:
            raise DriftduelError(
                f"arm {winner} has {votes[not won]} votes over arm {loser} in reign {self.number}; "
                f"{-times} cannot be taken back."
            )
        votes[not won] += times
        self._logs.pop(rival, None)

    def against(self, rival: int) -> Evidence:
        """Return what is known about one rival."""
        wins, losses = self.counts.get(rival, (0, 0))
        return Evidence(rival, wins, losses, self._log_e(rival), needed(self.number))

    def _log_e(self, rival: int) -> float:
        known = self._logs.get(rival)
        if known is None:
            wins, losses = self.counts.get(rival, (0, 0))
            known = self._logs[rival] = log_e(wins, losses)
        return known

    def evidence(self, present: Iterable[int]) -> list[Evidence]:
        """Return what is known about each rival that is there, in the order of their numbers."""
        return [self.against(rival) for rival in sorted(set(present) - {self.leader})]

    def sure(self, present: Iterable[int]) -> bool:
        """Return whether e is now large enough against every rival that is there.

        Now, not ever: a claim ends when the votes turn. A leader that is gone, or alone, is no
        leader to be sure of.
        """
        bar, rivals, here = math.log(needed(self.number)), 0, False
        for arm in present:
            if arm == self.leader:
                here = True
            elif self._log_e(arm) < bar:
                return False
            else:
                rivals += 1
        return here and rivals > 0

    def to_plain(self) -> dict[str, Any]:
        """Return numbers and lists only, for a snapshot."""
        return {
            "leader": self.leader, "number": self.number,
            "seq": self.seq, "at": self.at, "votes": self.votes,
            "counts": [[rival, *self.counts[rival]] for rival in sorted(self.counts)],
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the reign of which a snapshot tells."""
        counts = {rival: [wins, losses] for rival, wins, losses in plain["counts"]}
        return cls(
            plain["leader"], plain["number"], plain["seq"], plain["at"], plain["votes"], counts
        )
