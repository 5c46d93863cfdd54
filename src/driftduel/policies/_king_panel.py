"""King in panels: the leader by belief meets a rival in every vote; bets certify its falls.

In serve mode a duel of the king with a challenger costs regret, so matches are rationed. People who
came to compare see two different arms in every vote, so here the leader meets rivals all the time.

- **The belief** (`_king_belief`) decides the pair and the leader. The rival shown is the one with
  the largest expected loss if it is better, divided by 1 + its open duels + its ties in a row. It
  takes over when it is better than the leader with a probability above a threshold.
- **The bets** decide what is an alarm, and nothing else. A rival has a *match* from the first duel
  that it wins until its evidence, the mean of six bets, falls below 1. If a rival takes over with
  evidence of at least 50 + B / 2 after B matches, this is an alarm. If it takes over with less, its
  match continues on later duels of the two, and the alarm is raised when it gets there. All other
  matches are void when the leader changes.

**Guaranteed**: in the first n matches, at most 2.6 log(1 + n / 100) false alarms are expected. The
pair of a vote depends on the past only. So the evidence of a match is a nonnegative supermartingale
from 1.2625, the mean of 1.8, 1.4, ..., 1.025, while the challenger is no better than the leader; it
reaches 50 + B / 2 >= 50 + b / 2 in match number b with probability at most 2.525 / (100 + b),
whatever chooses pairs and leaders. There is at most one alarm per match.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
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
from driftduel.policies._king_matches import WEALTH, hear, present, suspect
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

__all__ = ["PANEL", "PanelState", "contest", "first_panel_state", "holds_together"]

_BETS = 6
_SURE = 0.9  # probability at which a rival takes over from a settled leader
_EARLY = 0.2  # 1 minus that for the first leader, and for the first one after a settled leader
_EQUAL = 1.0 + 1e-9  # promises whose ratio is less are equal
_RICHEST = 1e90  # a bet that owns more owns this
_PAST = 50.0  # past votes of a pair that count, at most
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
    """The leader; the place in the order of the last rival shown; the round of the coronation; the
    round asked for last; arms present; whether the leader is settled; leaders since the last
    settled one that fell without being settled; falls of settled leaders; alarms; matches; the
    former leader against which the leader's match continues, or -1; the probability of a global
    change in this reign; its rate per vote; and the falls by global and by local changes."""
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
    """(K,) of each arm: whether it has a match; its ties with the leader in a row; the round in
    which it came, if it did; the round in which its last settled reign ended, or 0; its kind and
    the rate of a change of it (`_king_belief`); and of its two posteriors the probability that it
    is better than the leader, the expected loss if it is, and the mean of the leader's lead."""
    kept: Annotated[Any, SHARES]
    """(K, 18) posterior of the leader's lead over each arm without a global change."""
    redrawn: Annotated[Any, SHARES]
    """(K, 18) the same after a global change in this reign."""
    prior: Annotated[Any, SHARES]
    """(2, 18) learned distributions of leads: in a reign, and after a global change."""
    slots: Annotated[Any, Named(arm=ARM_OR_NONE, time=ROUND)]
    """(16,) former settled leaders whose leads are remembered, or -1, and since when."""
    memory: Annotated[Any, SHARES]
    """(16, K, 18) posteriors of their leads."""
    successions: Annotated[Any, COUNT]
    """(4,) how often a leader fell to an arm of each kind."""
    ended: Annotated[Any, ROUND]
    """(64,) the rounds of the last falls; fall number n is at n modulo 64."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on each rival, from 1 at the start of its match."""
    claim: Annotated[Any, WEALTH]
    """(6,) the same of the leader, in the match that continues."""
    pending: Annotated[Any, COUNT]
    """(K, K) duels of each pair without an answer, in both orders."""
    present: Annotated[Any, PRESENT]
    """(K,) whether it is there."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in votes of the past; (0, K) if there were none."""


def first_panel_state(order: Any) -> PanelState:
    """Return the record of a policy without any vote, whose first leader is the first in order."""
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
    """Return whether rival `j` is likely enough to be better, and better on average."""
    return behind(state, j) > _threshold(state.numbers[0]) and mean_lead(state, j) < 0.0


# ---- rounds ----


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, arms = state.numbers[0], state.arms
    king = numbers.king
    numbers.now = t
    if numbers.here == 1:
        return king, king
    if t % STEP == 0:
        drift(state, t)
    j, most, at, place = king, -1.0, 0, numbers.last
    for _ in range(len(arms)):
        place = place + 1 if place + 1 < len(arms) else 0
        i = state.order[place]
        if i != king and state.present[i]:
            promise = gain(state, i) / (1.0 + state.pending[king, i] + arms[i].tied)
            if promise > most * _EQUAL:
                j, most, at = i, promise, place
    numbers.last = at
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
        return 0  # it has left since, or another one is there by its name
    if not state.present[first] or not state.present[second]:
        return 0
    king = state.numbers[0].king
    if first == king:
        return _learn(state, second, won)
    if second == king:
        return _learn(state, first, 1 - won if won >= 0 else won)
    return 0  # neither is the leader any more


@kernel
def _learn(state: Any, j: int, won: int) -> int:
    """Learn that the leader won a duel with `j` (1), lost it (0), or neither (-1)."""
    numbers, rival = state.numbers[0], state.arms[j]
    if won < 0:
        rival.tied += 1
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
    """Let `j` take over; return whether this is an alarm."""
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
    """Make `j` the leader after round `t`; all matches are void."""
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
    """Settle six bets on a side that won (1.0) or lost (-1.0); return their mean."""
    wealth, stake = 0.0, 0.8
    for k in range(_BETS):
        bets[k] = min(_RICHEST, bets[k] * (1.0 + sign * stake))
        wealth += bets[k]
        stake *= 0.5
    return wealth / _BETS


@hot
def _bet(state: Any, j: int, won: int) -> bool:
    """Bet on a duel of the leader and `j`; return whether the leader's own match is an alarm."""
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
    """Let an arm come, about which nothing is known, or leave before round `t`."""
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
def _hear(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a vote of the past.

    Before the first duel the leader in all of them leads, and the belief about each rival starts
    from the votes of the two, scaled down to 50. Later a vote changes the belief if the leader is
    one of the two, up to 50 votes of a pair. The ages of the votes are unknown, hence the limit.
    """
    numbers, heard = state.numbers[0], state.heard
    before = heard[winner, loser] + heard[loser, winner]
    if numbers.now == 0:
        hear(state, winner, loser, weight)
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
    """Return since when the leader leads, and how near its rivals are to taking over.

    A rival that is as likely to be worse as better has no share of the way; from there its share is
    that of the log-odds which the threshold asks for.
    """
    numbers, arms = state.numbers[0], state.arms
    threshold = getattr(_threshold, "py_func", _threshold)  # faster than a compiled one from here
    needed, g = _log_odds(threshold(numbers)), float(numbers.changed)
    better = (1.0 - g) * arms["behind"] + g * arms["behind_redrawn"]
    ahead = (better > 0.5) & (state.present == 1) & (np.arange(len(arms)) != numbers.king)
    shares = ((int(j), _log_odds(float(better[j])) / needed) for j in np.flatnonzero(ahead))
    return Contest(since=int(numbers.crowned) or None, challengers=nearest_first(shares))


def _log_odds(probability: float) -> float:
    return math.log(probability / max(1e-12, 1.0 - probability))


def holds_together(state: Any) -> bool:
    """Return whether the fields of a record, each within its range, belong together."""
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
    suspect=suspect,
    unanswered=True,
    change=_change,
    present=present,
    hear=_hear,
)
"""The kernels of panel mode."""
