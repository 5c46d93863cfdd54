"""Evidence against a king: bets adapted to the rule that ends a match.

A bet of stake s on the challenger multiplies its wealth by 1 + s or 1 - s. A match ends when the
challenger is one behind; the remaining wealth, at least 1 - s, has no further use. It is better to
lose this remainder and to have more wealth in matches that continue. With *long* a bet on the
challenger and *short* one on the king,

    (1 + s) / (2 s) * long - (1 - s) / (2 s) * short

has the initial value 1, is 0 when the challenger is one behind, and is a martingale while the two
arms are equal, because both bets are. (It is Doob's h-transform of the bet, for a random walk that
stays above its start.) In a long match its wealth approaches (1 + s) / (2 s) times that of the
plain bet: a factor of 20 for the smallest stake, which is the one for small gaps.

**No gain for a worse challenger.** As a function of lead and number n of duels the sum is
(1 - s^2)^(n / 2) sinh((lead + 1) c) / sinh(c), with c = atanh s, which increases with the lead; so
if a win is less likely than a loss, its expected value decreases. It is a nonnegative
supermartingale from 1 for any challenger that is no better, so Ville's inequality applies as for
plain bets.
"""

import math
from typing import Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies._king_matches import remember, settling
from driftduel.policies.info import Contest, nearest_first

__all__ = ["STAKES", "begin", "bet_and_judge", "contest", "least_evidence", "settle", "start_over"]

STAKES = 6
"""Number of stakes: 0.8, 0.4, ..., 0.025."""
_LEAST = 0.001
_EASY = 12.5
_KNOWN = 60  # as in `_king_matches`


@hot
def begin(state: Any, j: int) -> None:
    """Set the bets of a match with `j` to 1: indices 0 to 5 on the challenger, then on the king."""
    stake = 0.8
    for k in range(STAKES):
        state.bets[j, k] = 0.5 + 0.5 / stake
        state.bets[j, k + STAKES] = 0.5 / stake - 0.5
        stake *= 0.5


@hot
def least_evidence(state: Any, j: int) -> Any:
    """Return two thresholds for the match of `j`: for a fall of the king, and for an alarm.

    An equal challenger reaches a threshold b with probability 1 / b. The threshold of a fresh king
    grows with the number of its challengers, since otherwise the winner would not stay king. The
    threshold of an alarm is four times as large plus B / 2 after B matches: at least 50 + B / 2.
    """
    numbers, tries = state.numbers[0], state.arms[j].tries
    easy = max(_EASY, 0.5 * numbers.here)
    needed = easy * 2.0 ** min(60.0, numbers.held / (numbers.here - 1.0))
    if tries < _KNOWN:  # a newcomer with few duels against this king
        needed = min(needed, _EASY * 2.0 ** (tries - 1.0))
    return needed, 4.0 * easy + 0.5 * numbers.matches


@hot
def bet_and_judge(state: Any, j: int, won: int) -> int:
    """Update the bets by a duel of the match of `j`, won by the king (1) or not; return a verdict.

    Values: -1, the match is lost; 0, it continues; 1, the king falls; 2, it falls with an alarm.
    """
    rival = state.arms[j]
    rival.tied = 0
    remember(state, j, won)
    sign = 1 - 2 * won
    rival.lead += sign
    wealth, stake = 0.0, 0.8
    for k in range(STAKES):
        state.bets[j, k] *= 1.0 + sign * stake
        state.bets[j, k + STAKES] *= 1.0 - sign * stake
        wealth += (state.bets[j, k] - state.bets[j, k + STAKES]) / STAKES
        stake *= 0.5
    if rival.lead < 0:
        return 0  # the match is lost
    if wealth < _LEAST:
        return -1
    needed, beyond_doubt = least_evidence(state, j)
    if wealth < min(needed, beyond_doubt):
        return 0
    return 1 if needed < beyond_doubt else 2


@hot
def start_over(state: Any, j: int) -> None:
    """Start the next match of `j` with the pending duels of a lost one."""
    numbers, rival = state.numbers[0], state.arms[j]
    rival.lead = 0
    numbers.matches += 1
    numbers.held += 1
    begin(state, j)


settle = settling(bet_and_judge, start_over)


def contest(state: Any) -> Contest:
    """Return the round of the coronation and the challengers by share of their threshold.

    Evidence is multiplicative, so a share of one half is the square root of the threshold.
    """
    shares = []
    for j in np.flatnonzero(state.arms["on"]):
        bets = state.bets[j]
        evidence = float((bets[:STAKES] - bets[STAKES:]).mean())
        bar = min(least_evidence(state, j))
        shares.append((int(j), math.log(max(1.0, evidence)) / math.log(bar)))
    since = int(state.numbers[0].crowned) or None
    return Contest(since=since, challengers=nearest_first(shares))
