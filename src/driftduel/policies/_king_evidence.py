"""What speaks against a king: bets that know when the match ends.

A bet of stake s on the challenger multiplies what it owns by 1 + s or 1 - s. A match ends when the
challenger is one behind, and what a bet still owns then, at least 1 - s, is thrown away. Better to
lose all of it there, and to own more as long as the match goes on. With *long* a bet on the
challenger and *short* one on the king,

    (1 + s) / (2 s) * long - (1 - s) / (2 s) * short

begins at 1, is 0 as soon as the challenger is one behind, and is fair while the two are equal,
because both bets are. (It is Doob's transform of the bet: the odds of a walk that never falls below
its start.) In a match that lasts, it comes to own (1 + s) / (2 s) times as much as the plain bet:
20 times for the smallest stake, which is the one for small gaps.

**A challenger that is worse does not gain by it.** In lead and duels the sum is
(1 - s^2)^(n / 2) sinh((lead + 1) c) / sinh(c), with c = atanh s, which grows with the lead; so if a
win is less likely than a loss, the sum falls on average. It is a nonnegative supermartingale from 1
for any challenger that is no better, and Ville's inequality says the same as of plain bets.
"""

import math
from typing import Any

import numpy as np

from driftduel._compile import hot
from driftduel.policies._king_matches import remember, settling
from driftduel.policies.info import Contest, nearest_first

__all__ = ["STAKES", "begin", "bet_and_judge", "contest", "least_evidence", "settle", "start_over"]

STAKES = 6
"""0.8, 0.4, ..., 0.025."""
_LEAST = 0.001
_EASY = 12.5
_KNOWN = 60  # as in `_king_matches`


@hot
def begin(state: Any, j: int) -> None:
    """Let the bets on `j` begin: first those on the challenger, then those on the king."""
    stake = 0.8
    for k in range(STAKES):
        state.bets[j, k] = 0.5 + 0.5 / stake
        state.bets[j, k + STAKES] = 0.5 / stake - 0.5
        stake *= 0.5


@hot
def least_evidence(state: Any, j: int) -> Any:
    """Return what it takes to fell the king in the match of `j`, and what is beyond doubt.

    An equal challenger gets as far as a bar b with probability 1 / b. So a fresh king, who meets
    everybody, needs a bar that grows with their number to stay if it is the winner. What is beyond
    doubt is four times as much and, after B matches, B / 2 more: at least 50 + B / 2.
    """
    numbers, tries = state.numbers[0], state.arms[j].tries
    easy = max(_EASY, 0.5 * numbers.here)
    needed = easy * 2.0 ** min(60.0, numbers.held / (numbers.here - 1.0))
    if tries < _KNOWN:  # a newcomer, that it hardly met
        needed = min(needed, _EASY * 2.0 ** (tries - 1.0))
    return needed, 4.0 * easy + 0.5 * numbers.matches


@hot
def bet_and_judge(state: Any, j: int, won: int) -> int:
    """Settle a duel of the match of `j`, won by the king or not; return what the evidence says.

    -1, it is hopeless; 0, go on; 1, the king falls; 2, it falls, and that is an alarm.
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
    """Let the duels of a lost match that are still out be the first of another one."""
    numbers, rival = state.numbers[0], state.arms[j]
    rival.lead = 0
    numbers.matches += 1
    numbers.held += 1
    begin(state, j)


settle = settling(bet_and_judge, start_over)


def contest(state: Any) -> Contest:
    """Tell since when the king reigns, and how near its challengers are to its fall.

    Evidence multiplies, so half of what it takes is the square root of the bar.
    """
    shares = []
    for j in np.flatnonzero(state.arms["on"]):
        bets = state.bets[j]
        evidence = float((bets[:STAKES] - bets[STAKES:]).mean())
        bar = min(least_evidence(state, j))
        shares.append((int(j), math.log(max(1.0, evidence)) / math.log(bar)))
    since = int(state.numbers[0].crowned) or None
    return Contest(since=since, challengers=nearest_first(shares))
