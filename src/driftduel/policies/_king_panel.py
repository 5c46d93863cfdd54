"""Panel mode of king: the leader meets a rival in each vote; bets certify its falls as alarms.

In serve mode a duel of the king with a challenger costs regret, so matches are rationed. In panel
mode each vote has two different arms, so the leader meets rivals all the time.

- **The belief** (`_king_belief`) decides the pair and the leader. The rival shown is the one with
  the largest expected loss if it is better, divided by 1 + its pending duels + its ties in a row.
  It takes over if it is better than the leader with a probability above a threshold.
- **The bets** only decide which falls are alarms. A rival has a *match* from its first won duel
  until its evidence, the mean of six bets, falls below 1. If a rival takes over with evidence of at
  least 50 + B / 2 after B matches, this is an alarm. If it takes over with less, its match
  continues on later duels of the two, and the alarm is raised when the evidence reaches this value.
  All other matches are void when the leader changes.

**Guarantee**: in the first n matches, the expected number of false alarms is at most
2.6 log(1 + n / 100). The pair of a vote depends on the past only. So the evidence of a match is a
nonnegative supermartingale with initial value 1.2625, the mean of 1.8, 1.4, ..., 1.025, while the
challenger is no better than the leader; it reaches 50 + B / 2 >= 50 + b / 2 in match number b with
probability at most 2.525 / (100 + b), for every rule that chooses pairs and leaders. There is at
most one alarm per match.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._king_belief import (
    EVEN,
    GAIN,
    LEADS,
    SLOTS,
    STEP,
    VALUES,
    behind,
    closest,
    condition_on_past,
    drift,
    forget_arm,
    forget_lead,
    gain,
    inherit,
    is_settled,
    mean_lead,
    remember_fall,
    remember_leads,
    update_row,
)
from driftduel.policies._king_matches import WEALTH, add_past_vote, best_guess, present
from driftduel.policies._king_succession import KINDS, RECENT
from driftduel.policies.base import RESTARTED, Kernels
from driftduel.policies.fields import (
    ARM,
    ARM_OR_NONE,
    ARMS,
    COUNT,
    FLAG,
    ORDER,
    PRESENT,
    ROUND,
    SHARES,
    Growing,
    Named,
    Within,
    records,
)
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.ledger import UNANSWERED

__all__ = [
    "PANEL", "PanelState", "contest", "first_panel_state", "holds_together", "most_promising",
]  # fmt: skip

_BETS = 6
_SURE = 0.9  # probability at which a rival takes over from a settled leader
_EARLY = 0.2  # 1 minus that for the first leader, and for the first one after a settled leader
_EQUAL = 1.0 + 1e-9  # scores are equal if their ratio is below this (rounding)
_RICHEST = 1e90  # the wealth of a bet is capped here, against overflow
_PAST = 50.0  # maximum number of past votes of a pair that count
_LEAD = Within(-1, 1)


class PanelState(NamedTuple):
    """The leader, the belief about its leads, and the bets against it."""

    numbers: Annotated[
        Any,
        Named(
            king=ARM, last=ARM, crowned=ROUND, now=ROUND, here=Within(1, ARMS), settled=FLAG,
            fleeting=COUNT, falls=COUNT, alarms=COUNT, matches=COUNT, claim=ARM_OR_NONE,
            changed=Within(0, 1), hazard=Within(0, 1), globals=COUNT, locals=COUNT,
        ),
    ]  # fmt: skip
    """The leader; the index in the order of the last rival shown; the round of the coronation; the
    last round; number of present arms; whether the leader is settled; number of leaders since the
    last settled one that fell without being settled; falls of settled leaders; alarms; matches; the
    former leader against which the leader's match continues, or -1; the probability of a global
    change in this reign; its rate per vote; the numbers of falls by global and local changes."""
    order: Annotated[Any, ORDER]
    """(K,) the order of equal rivals."""
    arms: Annotated[
        Any,
        Named(
            on=FLAG, tied=COUNT, came=ROUND, reigned=ROUND, kind=Within(0, KINDS - 1),
            hazard=Within(0, 1), behind=Within(0, 1.001), gain=Within(0, 1), lead=_LEAD,
            behind_redrawn=Within(0, 1.001), gain_redrawn=Within(0, 1), lead_redrawn=_LEAD,
        ),
    ]  # fmt: skip
    """(K,) of each arm: whether it has a match; its ties with the leader in a row; the round of its
    arrival, if any; the round in which its last settled reign ended, or 0; its kind and the hazard
    rate of its change (`_king_belief`); and of its two posteriors the probability that it is better
    than the leader, the expected loss if it is, and the mean of the leader's lead."""
    kept: Annotated[Any, SHARES]
    """(K, 18) posterior of the leader's lead over each arm without a global change."""
    redrawn: Annotated[Any, SHARES]
    """(K, 18) posterior of the same lead after a global change in this reign."""
    prior: Annotated[Any, SHARES]
    """(2, 18) learned distributions of leads: in a reign, and after a global change."""
    slots: Annotated[Any, Named(arm=ARM_OR_NONE, time=ROUND)]
    """(16,) former settled leaders with stored leads, or -1, and the round of storage."""
    memory: Annotated[Any, SHARES]
    """(16, K, 18) posteriors of their leads."""
    successions: Annotated[Any, COUNT]
    """(4,) number of falls to an arm of each kind."""
    ended: Annotated[Any, ROUND]
    """(64,) ring buffer of the rounds of the last falls; fall n is at index n modulo 64."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on each rival, 1 at the start of its match."""
    claim: Annotated[Any, WEALTH]
    """(6,) the wealth of the leader's bets in the match that continues."""
    pending: Annotated[Any, COUNT]
    """(K, K) number of pending duels of each pair, symmetric."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 if the arm is present, else 0."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in past votes; shape (0, K) if there are none."""


def first_panel_state(order: Any) -> PanelState:
    """Return the initial record; the leader is the first arm in `order`."""
    arms = len(order)
    return PanelState(
        numbers=records(
            1, king=int(order[0]), last=0, crowned=0, now=0, here=arms, settled=0, fleeting=0,
            falls=0, alarms=0, matches=0, claim=-1, changed=0.0, hazard=0.0, globals=0.0,
            locals=0.0,
        ),
        order=order,
        arms=records(
            arms, on=0, tied=0, came=0, reigned=0, kind=0, hazard=0.0, behind=0.5, gain=GAIN,
            lead=0.0, behind_redrawn=0.5, gain_redrawn=GAIN, lead_redrawn=0.0,
        ),
        kept=np.full((arms, VALUES), EVEN),
        redrawn=np.full((arms, VALUES), EVEN),
        prior=np.full((2, VALUES), EVEN),
        slots=records(SLOTS, arm=-1, time=0),
        memory=np.full((SLOTS, arms, VALUES), EVEN),
        successions=np.zeros(KINDS),
        ended=np.zeros(RECENT, np.int64),
        bets=np.ones((arms, _BETS)),
        claim=np.ones(_BETS),
        pending=np.zeros((arms, arms), np.int64),
        present=np.ones(arms, np.int64),
        heard=np.zeros((0, arms)),
    )  # fmt: skip


@hot
def _threshold(numbers: Any) -> float:
    """Return the probability of being better at which a rival takes over."""
    if numbers.settled:
        return _SURE
    u = numbers.fleeting
    return 1.0 - _EARLY / (1.0 + 0.5 * u * (u + 1.0))


@hot
def _takes_over(state: Any, j: int) -> bool:
    """Return whether rival `j` exceeds the threshold and is better on average."""
    return behind(state, j) > _threshold(state.numbers[0]) and mean_lead(state, j) < 0.0


# ---- rounds ----


@hot
def most_promising(state: Any, shown: int, others: Any, more: int) -> int:
    """Return the rival to show, or -1: the largest expected loss per pending duel and tie.

    Not counted are the arm `shown` and the first `more` of `others`. Ties are broken by the order,
    from the arm after the last one.
    """
    numbers, arms = state.numbers[0], state.arms
    king, place = numbers.king, numbers.last
    j, most, at = -1, -1.0, place
    for _ in range(len(arms)):
        place = place + 1 if place + 1 < len(arms) else 0
        i = state.order[place]
        if i in (king, shown) or not state.present[i]:
            continue
        is_free = True
        for k in range(more):
            is_free = is_free and others[k] != i
        if is_free:
            promise = gain(state, i) / (1.0 + state.pending[king, i] + arms[i].tied)
            if promise > most * _EQUAL:
                j, most, at = i, promise, place
    numbers.last = at
    return j


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    king = numbers.king
    numbers.now = t
    if numbers.here == 1:
        return king, king
    if t % STEP == 0:
        drift(state, t)
    j = most_promising(state, -1, notes, 0)
    state.pending[king, j] += 1
    state.pending[j, king] += 1
    return king, j


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    if state.pending[first, second] > 0:
        state.pending[first, second] -= 1
        state.pending[second, first] -= 1
    if t < state.arms[first].came or t < state.arms[second].came:
        return 0  # it has left, or a new arm has its index
    if not state.present[first] or not state.present[second]:
        return 0
    king = state.numbers[0].king
    if first == king:
        return _learn(state, second, won)
    if second == king:
        return _learn(state, first, 1 - won if won >= 0 else won)
    return 0  # neither arm is the leader now


@kernel
def _learn(state: Any, j: int, won: int) -> int:
    """Learn the result of a duel with `j`: the leader won (1), lost (0), or neither (-1)."""
    numbers, rival = state.numbers[0], state.arms[j]
    if won < 0:
        rival.tied += int(won == UNANSWERED)  # a slate that orders other arms only is no tie
        return 0
    rival.tied = 0
    alarm = _bet(state, j, won)
    update_row(state, j, won)
    if _takes_over(state, j):
        alarm = _fall(state, j) or alarm
    elif not numbers.settled and is_settled(state):
        numbers.settled = 1
        numbers.fleeting = 0
    if not alarm:
        return 0
    numbers.alarms += 1
    return RESTARTED


@kernel
def _fall(state: Any, j: int) -> bool:
    """Make `j` the leader; return whether this fall is an alarm."""
    numbers, rival = state.numbers[0], state.arms[j]
    king, is_new = numbers.king, rival.came > numbers.crowned
    certified, claimed = False, False
    if rival.on and not is_new:
        certified = state.bets[j].sum() / _BETS >= _alarm_bar(numbers)
        claimed = not certified
    if numbers.settled and not is_new:
        remember_fall(state, numbers.now, j)
    if not numbers.settled:
        numbers.fleeting += 1
    _crown(state, numbers.now, j)
    if claimed:
        numbers.claim = king
        for k in range(_BETS):
            state.claim[k] = state.bets[j, k]
    return certified


@kernel
def _crown(state: Any, t: int, j: int) -> None:
    """Make `j` the leader after round `t` and update all beliefs; all matches become void."""
    numbers = state.numbers[0]
    if numbers.settled:
        remember_leads(state, t)
    inherit(state, t, j)
    for i in range(len(state.arms)):
        state.arms[i].on = 0
        state.arms[i].tied = 0
    numbers.king = j
    numbers.crowned = t
    numbers.settled = 0
    numbers.claim = -1


# ---- the certificate ----


@hot
def _alarm_bar(numbers: Any) -> float:
    return 50.0 + 0.5 * numbers.matches


@hot
def _stake(bets: Any, sign: float) -> float:
    """Update six bets on a side that won (1.0) or lost (-1.0); return their mean."""
    wealth, stake = 0.0, 0.8
    for k in range(_BETS):
        bets[k] = min(_RICHEST, bets[k] * (1.0 + sign * stake))
        wealth += bets[k]
        stake *= 0.5
    return wealth / _BETS


@hot
def _bet(state: Any, j: int, won: int) -> bool:
    """Update the bets by a duel with `j`; return whether the leader's own match is an alarm."""
    numbers, rival = state.numbers[0], state.arms[j]
    alarm = False
    if numbers.claim == j:
        evidence = _stake(state.claim, 2.0 * won - 1.0)
        alarm = evidence >= _alarm_bar(numbers)
        if alarm or evidence < 1.0:
            numbers.claim = -1
    if not rival.on and not won:
        rival.on = 1
        numbers.matches += 1
        for k in range(_BETS):
            state.bets[j, k] = 1.0
    if rival.on:
        rival.on = int(_stake(state.bets[j], 1.0 - 2.0 * won) >= 1.0)
    return alarm


# ---- arms that come and go, votes of the past ----


@kernel
def _change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Update the record for an arm that arrives with the prior, or leaves, before round `t`."""
    numbers, rival = state.numbers[0], state.arms[arm]
    if state.present[arm] == here:
        return
    if here == 1:
        forget_arm(state, arm)
        state.present[arm] = 1
        numbers.here += 1
        rival.came = t
        rival.on = 0
        rival.tied = 0
        return
    if arm == numbers.king:
        _crown(state, t - 1, closest(state))
    state.present[arm] = 0
    numbers.here -= 1
    rival.on = 0
    if numbers.claim == arm:
        numbers.claim = -1


@kernel
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a past vote.

    Before the first duel the leader is that of all votes, and the belief about each rival starts
    from the votes of the pair, scaled down to 50. Later a vote updates the belief if the leader is
    one of the two arms, up to 50 votes of a pair. The limit exists because votes have no age.
    """
    numbers, heard = state.numbers[0], state.heard
    before = heard[winner, loser] + heard[loser, winner]
    if numbers.now == 0:
        add_past_vote(state, winner, loser, weight)
        king = numbers.king
        for i in range(len(state.arms)):
            if i != king and state.present[i]:
                votes = heard[king, i] + heard[i, king]
                scale = min(1.0, _PAST / max(1.0, votes))
                forget_lead(state, i)
                condition_on_past(state, i, scale * heard[king, i], scale * heard[i, king])
        return
    heard[winner, loser] += weight
    counted = min(weight, _PAST - before)
    if counted <= 0.0 or not state.present[winner] or not state.present[loser]:
        return
    if winner == numbers.king:
        condition_on_past(state, loser, counted, 0.0)
    elif loser == numbers.king:
        condition_on_past(state, winner, 0.0, counted)
        if _takes_over(state, winner):
            _crown(state, numbers.now, winner)


def contest(state: Any) -> Contest:
    """Return the round of the coronation and the rivals by share of the threshold.

    The share is 0 for a rival that is better with probability 1/2 or less; above it is the ratio of
    its log-odds to those of the threshold.
    """
    numbers, arms = state.numbers[0], state.arms
    # The Python function is faster here than a call into compiled code from the interpreter.
    threshold = getattr(_threshold, "py_func", _threshold)
    needed, g = _log_odds(threshold(numbers)), float(numbers.changed)
    better = (1.0 - g) * arms["behind"] + g * arms["behind_redrawn"]
    ahead = (better > 0.5) & (state.present == 1) & (np.arange(len(arms)) != numbers.king)
    shares = ((int(j), _log_odds(float(better[j])) / needed) for j in np.flatnonzero(ahead))
    return Contest(since=int(numbers.crowned) or None, challengers=nearest_first(shares))


def _log_odds(probability: float) -> float:
    return math.log(probability / max(1e-12, 1.0 - probability))


def holds_together(state: Any) -> bool:
    """Return whether the fields of a record, each valid by its rule, are consistent."""
    numbers, arms, here = state.numbers[0], state.arms, state.present == 1
    rivals = here.copy()
    rivals[numbers.king] = False
    if not (here[numbers.king] and numbers.here == here.sum()):
        return False
    for rows, suffix in ((state.kept, ""), (state.redrawn, "_redrawn")):
        sums = {"behind": rows @ (LEADS < 0), "gain": rows @ np.maximum(0, -LEADS)}
        sums["lead"] = rows @ LEADS
        for name, known in sums.items():
            if not np.allclose(arms[name + suffix][rivals], known[rivals], atol=1e-6):
                return False
    return bool(
        not arms["on"][~rivals].any()
        and (numbers.claim < 0 or rivals[numbers.claim])
        and (state.pending == state.pending.T).all()
        and not state.pending.diagonal().any()
        and len(state.heard) in (0, len(arms))
    )


PANEL = Kernels(
    _ask,
    _tell,
    best_guess=best_guess,
    unanswered=True,
    change=_change,
    present=present,
    add_past_vote=_add_past_vote,
)
"""The kernels of panel mode."""
