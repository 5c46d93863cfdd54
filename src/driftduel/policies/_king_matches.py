"""The record of a king and its matches, and the kernels that open, update and end a match.

`court`, `borda-king` and `king` extend this record by fields; `king` has separate kernels for the
evidence (`_king_evidence`), and its panel mode another record (`_king_panel`).
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
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
    "MatchState",
    "add_past_vote",
    "bars",
    "begin_match",
    "best_guess",
    "bet",
    "change",
    "close_match",
    "contest",
    "crown",
    "false_alarms",
    "first_state",
    "heir",
    "newcomer",
    "open_match",
    "present",
    "remember",
    "settle",
    "settling",
    "verdict",
]

PATIENCE = 64
"""Number of duels without an end after which another match opens, or of ties that end a match."""
NEVER = MOST
"""A round beyond the maximum, used as infinity."""
_BETS = 6
_LEAST = 0.001
_KNOWN = 60  # tries of an arm that is no newcomer: a separate threshold 4 * 2^60 is out of reach
_OLDER = 7.389056  # e^2: at a rate of 1 / (2 age) one match is due per growth of the age by this


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
    due=Within(-2, 1),
)
"""Rules for the numbers of a king's record; other policies extend them."""
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
"""Rules for the fields of each arm's record."""
WEALTH = Within(0, 1e100)
"""Rule for the wealth of a bet."""


class MatchState(NamedTuple):
    """The record of a king and its matches."""

    numbers: Annotated[Any, NUMBERS]
    """The king; number of open matches; the last challenger; the round of the coronation; number of
    alarms; the index in the order; number of matches; duels since a match was opened; matches of
    this king; the last round; number of present arms; the round of the next newcomer's match; the
    round until which no match has to be opened or continued; and the matches that are due:
    a fraction, or below 0 if slates opened some early."""
    order: Annotated[Any, ORDER]
    """(K,) the order of challengers."""
    arms: Annotated[Any, RIVALS]
    """(K,) of each arm: whether it has a match; its wins minus losses in it, or -1; number of
    pending duels; number of ties in a row; the round in which its last match was opened, so that
    duels of earlier rounds do not count; the round of its last duel; for a newcomer, the round of
    its arrival, the round of its next separate match, and its number of matches since, else 60 or
    more; its estimated rate of wins against this king; and the number of these duels."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on the challenger, 1 at the start of its match."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 if the arm is present, else 0."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in past votes; shape (0, K) if there are none."""


def first_state(order: Any, **more: float) -> MatchState:
    """Return the initial record of a policy; the first king is the first arm in `order`.

    Parameters
    ----------
    order
        (K,) permutation of the arms: the order of challengers.
    more
        Names and initial values of further fields in `numbers`.
    """
    arms = len(order)
    return MatchState(
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
    """Return the round of the coronation and the challengers by share of their threshold.

    Evidence is multiplicative, so a share of one half is the square root of the threshold.
    """
    shares = (
        (int(j), math.log(max(1.0, state.bets[j].mean())) / math.log(min(bars(state, j))))
        for j in np.flatnonzero(state.arms["on"])
    )
    since = int(state.numbers[0].crowned) or None
    return Contest(since=since, challengers=nearest_first(shares))


def false_alarms(state: Any, factor: float = 2.0) -> float:
    """Return an upper bound on the expected number of false alarms in the matches so far."""
    return factor * math.log1p(float(state.numbers[0].matches) / 100)


# ---- a match ----


@hot
def open_match(state: Any, t: int, j: int) -> int:
    """Open a match of the king and `j` in round `t` and count its first duel as pending."""
    numbers, rival = state.numbers[0], state.arms[j]
    begin_match(state, t, j)
    rival.out = 1
    rival.asked = t
    numbers.waited = 0
    numbers.last = j
    return j


@hot
def begin_match(state: Any, t: int, j: int) -> None:
    """Start a match of the king and `j` in round `t` with all bets at 1."""
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
    """Close the match of `j`."""
    numbers = state.numbers[0]
    state.arms[j].on = 0
    state.arms[j].lead = -1
    numbers.open -= 1
    if numbers.open == 0:
        numbers.wake = numbers.trial


@hot
def remember(state: Any, j: int, won: int) -> None:
    """Update the record of `j` against the king by one duel."""
    rival = state.arms[j]
    rival.seen += 1.0
    step = max(0.05, 1.0 / (rival.seen + 2.0))
    rival.record += step * (1.0 - won - rival.record)


@hot
def bet(state: Any, j: int, won: int) -> float:
    """Update the bets of the match of `j` by one duel; return the evidence against the king."""
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
    """Return two thresholds for the match of `j`: for a fall of the king, and for an alarm.

    For a fresh king, and for a newcomer with few duels, the first is lower: such falls belong to
    the search for the winner and are no alarms.
    """
    numbers, tries = state.numbers[0], state.arms[j].tries
    needed = 4.0 * 2.0 ** min(60.0, numbers.held / (numbers.here - 1.0))
    if tries < _KNOWN:
        needed = min(needed, 4.0 * 2.0 ** (tries - 1.0))
    return needed, 50.0 + 0.5 * numbers.matches


@hot
def verdict(state: Any, j: int, wealth: float) -> int:
    """Return the verdict: -1, the match is lost; 0, continue; 1, the king falls; 2, alarm."""
    if wealth < _LEAST:
        return -1
    needed, beyond_doubt = bars(state, j)
    if wealth < min(needed, beyond_doubt):
        return 0
    return 1 if needed < beyond_doubt else 2


def settling(learn: Any, start_over: Any) -> Any:
    """Return a kernel that updates a match by the result of one duel and returns a verdict.

    ``settle(state, j, won)`` takes the result for the king; -1 is a tie. It returns the value of
    `verdict`, or -1 if the match is closed. A match is closed after 64 ties in a row, and if it is
    lost and has no pending duels that could turn it.

    Parameters
    ----------
    learn
        Kernel ``(state, j, won)`` that updates the bets and returns the verdict.
    start_over
        Kernel ``(state, j)`` for a match that is lost while duels are pending.
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
    """Continue the match: pending duels may turn it."""


settle = settling(_bet_and_judge, _go_on)


@kernel
def crown(state: Any, t: int, j: int) -> None:
    """Make `j` the king after round `t` and reset the records of its predecessor."""
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
    """Update the record for an arm that arrives as a newcomer, or leaves, before round `t`."""
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
    """Return the present arm with the best record against a king that has left."""
    j, most = -1, -1.0
    for i in state.order:
        if state.present[i] and state.arms[i].record > most:
            j, most = i, state.arms[i].record
    return j


@kernel
def newcomer(state: Any, t: int) -> int:
    """Return a newcomer without a match and with one due, or -1; schedule the next."""
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
    """Return 1 if an arm is present, else 0."""
    return state.present[arm]


@kernel
def best_guess(state: Any) -> int:
    """Return the king."""
    return state.numbers[0].king


@kernel
def add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a past vote and make the leader of all votes king: most majorities, then vote share.

    Ties are broken by the order of challengers. The array `heard` must have K rows: the method
    `add_past_vote` allocates them before the call.
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
