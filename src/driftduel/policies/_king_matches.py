"""A king and its matches: what is remembered, how a match is opened, bet on and ended.

`court` and `borda-king` have records with more fields, and so has `king`, whose evidence is its own
(`_king_evidence`). King's panel form has another record (`_king_panel`).
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.policies.fields import (
    ARM,
    ARMS,
    COUNT,
    FLAG,
    MOST,
    ORDER,
    PRESENT,
    ROUND,
    Growing,
    Named,
    Within,
    records,
)
from driftduel.policies.info import Contest, nearest_first

__all__ = [
    "NEVER",
    "NUMBERS",
    "PATIENCE",
    "RIVALS",
    "WEALTH",
    "State",
    "bars",
    "begin_match",
    "bet",
    "change",
    "close_match",
    "contest",
    "crown",
    "false_alarms",
    "first_state",
    "hear",
    "heir",
    "newcomer",
    "open_match",
    "present",
    "remember",
    "settle",
    "settling",
    "suspect",
    "verdict",
]

PATIENCE = 64
"""Duels without an end after which another match is opened, and without an answer, ended."""
NEVER = MOST
"""A round that does not come."""
_BETS = 6
_LEAST = 0.001
_KNOWN = 60  # tries of an arm that is no newcomer: its own bar, 4 * 2^60, is beyond reach
_OLDER = 7.389056  # e^2: 1 / (2 age) a round make one match until an arm is so many times as old


NUMBERS = Named(
    king=ARM,
    open=Within(0, ARMS),
    last=ARM,
    crowned=ROUND,
    alarms=COUNT,
    next=ARM,
    matches=COUNT,
    waited=COUNT,
    held=COUNT,
    now=ROUND,
    here=Within(1, ARMS),
    trial=COUNT,
    wake=COUNT,
    due=Within(0, 1),
)
"""What the numbers of a king's record, and of those with more fields, may be."""
RIVALS = Named(
    on=FLAG,
    lead=Within(-MOST, MOST),
    out=COUNT,
    tied=COUNT,
    since=ROUND,
    asked=ROUND,
    came=ROUND,
    trial=COUNT,
    tries=COUNT,
    record=Within(0, 1),
    seen=COUNT,
)
"""The same of each arm's."""
WEALTH = Within(0, 1e100)
"""The same of a bet's."""


class State(NamedTuple):
    """The king, and its matches."""

    numbers: Annotated[Any, NUMBERS]
    """The king; open matches; the last challenger played; the round of the coronation; alarms;
    the place in the order; matches so far; duels since one was opened; matches of this king; the
    round asked for last; arms present; when the next newcomer's match is due; until when nothing is
    to be done, which is then or, while matches are open, always over; and the part of the next
    match that is due."""
    order: Annotated[Any, ORDER]
    """(K,) the order in which challengers come."""
    arms: Annotated[Any, RIVALS]
    """(K,) of each arm: whether it has a match; its wins minus losses in it, -1 if it has none;
    duels that are out, without an answer; those in a row that nobody won; the round in which its
    last match was opened, so that duels asked for before are not of it; that of its last duel; if
    it is a newcomer, the round in which it came, that in which its own next match is due, and its
    matches since, else 60 or more; about how often it beats this king; and in how many duels."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on the challenger, from 1 at the start of its match."""
    present: Annotated[Any, PRESENT]
    """(K,) whether it is there."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in votes of the past; (0, K) if there were none."""


def first_state(order: Any, **more: float) -> State:
    """Return the record of a policy that has seen nothing, and begins with the first in order.

    Parameters
    ----------
    order
        The order in which challengers come.
    more
        Numbers beyond those of a king, if there are any.
    """
    arms = len(order)
    return State(
        numbers=records(
            1, king=int(order[0]), open=0, last=0, crowned=0, alarms=0, next=0, matches=0, waited=0,
            held=0, now=0, here=arms, trial=NEVER, wake=NEVER,
            due=0.0, **more,
        ),
        order=order,
        arms=records(
            arms, on=0, lead=-1, out=0, tied=0, since=0, asked=0, came=0, trial=NEVER, tries=_KNOWN,
            record=0.5, seen=0.0,
        ),
        bets=np.ones((arms, _BETS)),
        present=np.ones(arms, np.int64),
        heard=np.zeros((0, arms)),
    )  # fmt: skip


def contest(state: Any) -> Contest:
    """Tell since when the king reigns, and how near its challengers are to its fall.

    Evidence multiplies, so half of what it takes is the square root of the bar.
    """
    shares = (
        (int(j), math.log(max(1.0, state.bets[j].mean())) / math.log(min(bars(state, j))))
        for j in np.flatnonzero(state.arms["on"])
    )
    since = int(state.numbers[0].crowned) or None
    return Contest(since=since, challengers=nearest_first(shares))


def false_alarms(state: Any, factor: float = 2.0) -> float:
    """Return how many false alarms are expected in the matches so far, at most."""
    return factor * math.log1p(float(state.numbers[0].matches) / 100)


# ---- a match ----


@hot
def open_match(state: Any, t: int, j: int) -> int:
    """Open a match of the king and `j`, and ask for its first duel in round `t`."""
    numbers, rival = state.numbers[0], state.arms[j]
    begin_match(state, t, j)
    rival.out = 1
    rival.asked = t
    numbers.waited = 0
    numbers.last = j
    return j


@hot
def begin_match(state: Any, t: int, j: int) -> None:
    """Let a match of the king and `j` begin in round `t`, with all bets at 1."""
    numbers, rival = state.numbers[0], state.arms[j]
    rival.on = 1
    rival.lead = 0
    rival.tied = 0
    rival.since = t
    rival.tries += 1
    for k in range(_BETS):
        state.bets[j, k] = 1.0
    numbers.open += 1
    numbers.wake = 0
    numbers.matches += 1
    numbers.held += 1


@hot
def close_match(state: Any, j: int) -> None:
    """End the match of `j`."""
    numbers = state.numbers[0]
    state.arms[j].on = 0
    state.arms[j].lead = -1
    numbers.open -= 1
    if numbers.open == 0:
        numbers.wake = numbers.trial


@hot
def remember(state: Any, j: int, won: int) -> None:
    """Let the record of `j` against the king follow a duel of theirs."""
    rival = state.arms[j]
    rival.seen += 1.0
    step = max(0.05, 1.0 / (rival.seen + 2.0))
    rival.record += step * (1.0 - won - rival.record)


@hot
def bet(state: Any, j: int, won: int) -> float:
    """Settle a duel of the match of `j`, won by the king or not; return the evidence against it."""
    rival = state.arms[j]
    rival.tied = 0
    remember(state, j, won)
    sign = 1 - 2 * won
    rival.lead += sign
    wealth, stake = 0.0, 0.8
    for k in range(_BETS):
        state.bets[j, k] *= 1.0 + sign * stake
        wealth += state.bets[j, k] / _BETS
        stake *= 0.5
    return wealth


@hot
def bars(state: Any, j: int) -> Any:
    """Return what it takes to fell the king in the match of `j`, and what is beyond doubt.

    A king that hardly reigned, or a newcomer that it hardly met, needs less to fall than is beyond
    doubt: that is still finding the winner, and no alarm.
    """
    numbers, tries = state.numbers[0], state.arms[j].tries
    needed = 4.0 * 2.0 ** min(60.0, numbers.held / (numbers.here - 1.0))
    if tries < _KNOWN:
        needed = min(needed, 4.0 * 2.0 ** (tries - 1.0))
    return needed, 50.0 + 0.5 * numbers.matches


@hot
def verdict(state: Any, j: int, wealth: float) -> int:
    """Return what the evidence says: -1, it is hopeless; 0, go on; 1, the king falls; 2, alarm."""
    if wealth < _LEAST:
        return -1
    needed, beyond_doubt = bars(state, j)
    if wealth < min(needed, beyond_doubt):
        return 0
    return 1 if needed < beyond_doubt else 2


def settling(learn: Any, start_over: Any) -> Any:
    """Return a kernel that learns how a duel of a match ended, and returns what that says.

    ``settle(state, j, won)`` takes the other side's outcome for the challenger `j`. It returns the
    verdict, see `verdict`; or -1 if the match is over. One of which nobody won 64 duels in a row
    is, and one that is lost when no duels are out that might turn it.

    Parameters
    ----------
    learn
        A kernel of the state, the challenger and who won: it bets, and returns the verdict.
    start_over
        A kernel of the state and the challenger, for a match that is lost while duels are out.
    """

    def settle(state, j, won):  # type: ignore[no-untyped-def]
        numbers, rival = state.numbers[0], state.arms[j]
        rival.out = max(0, rival.out - 1)
        numbers.waited += 1
        if won < 0:
            rival.tied += 1
            said = -1 if rival.tied >= PATIENCE else 0
        else:
            said = learn(state, j, won)
        if said < 0 or (rival.lead < 0 and rival.out == 0):
            close_match(state, j)
            return -1
        if rival.lead < 0:
            start_over(state, j)
        return said

    return hot(settle)


@hot
def _bet_and_judge(state: Any, j: int, won: int) -> int:
    return verdict(state, j, bet(state, j, won))


@hot
def _go_on(state: Any, j: int) -> None:
    """Let it catch up."""


settle = settling(_bet_and_judge, _go_on)


@kernel
def crown(state: Any, t: int, j: int) -> None:
    """Make `j` the king after round `t`, and forget all about the one before."""
    numbers = state.numbers[0]
    for i in range(len(state.arms)):
        rival = state.arms[i]
        rival.on = 0
        rival.lead = -1
        rival.out = 0
        rival.record = 0.5
        rival.seen = 0.0
        rival.tries = _KNOWN
        rival.trial = NEVER
    numbers.king = j
    numbers.open = 0
    numbers.crowned = t
    numbers.waited = 0
    numbers.held = 0
    numbers.trial = NEVER
    numbers.wake = NEVER


# ---- arms that come and go ----


@kernel
def change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Let an arm come, as a newcomer, or leave before round `t`."""
    numbers, rival = state.numbers[0], state.arms[arm]
    if state.present[arm] == here:
        return
    state.present[arm] = here
    if here == 1:
        numbers.here += 1
        rival.tries = 0
        rival.came = t
        rival.trial = t
        numbers.trial = min(numbers.trial, t)
        numbers.wake = min(numbers.wake, t)
        return
    numbers.here -= 1
    rival.tries = _KNOWN
    rival.trial = NEVER
    if rival.on:
        close_match(state, arm)
    if arm == numbers.king:
        crown(state, t - 1, heir(state))


@hot
def heir(state: Any) -> int:
    """Return who did best against a king that left, of those present."""
    j, most = -1, -1.0
    for i in state.order:
        if state.present[i] and state.arms[i].record > most:
            j, most = i, state.arms[i].record
    return j


@kernel
def newcomer(state: Any, t: int) -> int:
    """Return a newcomer whose own match is due and that has none, or -1; plan the next."""
    due, soonest = -1, NEVER
    for i in range(len(state.arms)):
        rival = state.arms[i]
        if rival.trial <= t and due < 0:
            rival.trial = rival.came + max(4, int(_OLDER * (t - rival.came)))
            if not rival.on:
                due = i
        soonest = min(soonest, rival.trial)
    numbers = state.numbers[0]
    numbers.trial = soonest
    if numbers.open == 0:
        numbers.wake = soonest
    return due


@kernel
def present(state: Any, arm: int) -> int:
    """Return 1 if an arm is there, else 0."""
    return state.present[arm]


@kernel
def suspect(state: Any) -> int:
    """Return the king."""
    return state.numbers[0].king


@kernel
def hear(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a vote of the past, and begin with who leads: most majorities, then share of its votes.

    Of equals the first in the order of challengers. There must be room for what is heard.
    """
    heard = state.heard
    heard[winner, loser] += weight
    most, best = -1, -1.0
    for i in state.order:
        if not state.present[i]:
            continue
        majorities, won, lost = 0, 0.0, 0.0
        for j in range(len(state.arms)):
            majorities += int(heard[i, j] > heard[j, i])
            won += heard[i, j]
            lost += heard[j, i]
        share = won / (won + lost) if won + lost > 0.0 else 0.5
        if majorities > most or (majorities == most and share > best):
            most, best = majorities, share
            state.numbers[0].king = i
