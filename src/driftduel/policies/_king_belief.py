"""Belief state of king's panel mode: a Bayes filter on the leader's lead over each rival.

The leader beats rival j with probability 1/2 + d. The lead d takes 18 values, 9 of each sign. Each
rival has two posteriors over them: `kept`, conditional on no *global* change (of all leads) in this
reign, and `redrawn`, conditional on one. The posterior probability of a global change weighs the
two. A *local* change redraws one lead. The rates of both kinds of change, the kind of rival that
takes over, and the distributions of leads before and after a global change are learned from the
falls of settled leaders; there are no parameters.

Transitions are applied once per four votes. Apart from the weights of past votes all arithmetic is
addition, multiplication and division of doubles in a fixed order, so states are reproducible on
all machines.
"""

from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.policies._king_succession import RECENT, rhythm

__all__ = [
    "EVEN",
    "GAIN",
    "LEADS",
    "SLOTS",
    "STEP",
    "VALUES",
    "behind",
    "closest",
    "condition_on_past",
    "drift",
    "forget_arm",
    "forget_lead",
    "gain",
    "inherit",
    "is_settled",
    "mean_lead",
    "remember_fall",
    "remember_leads",
    "update_row",
]

_SIZES = np.array([0.01, 0.025, 0.045, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4])
LEADS = np.concatenate([-_SIZES[::-1], _SIZES])
"""(18,) the values of a lead, ascending; for values below 0 the rival is better."""
VALUES = len(LEADS)
_HALF = VALUES // 2
EVEN = 1.0 / VALUES
"""(18,) the prior probability of each value."""
GAIN = float(_SIZES.sum()) * EVEN
"""The prior gain of a rival without votes."""
SLOTS = 16
"""Maximum number of former leaders with stored leads."""
STEP = 4
"""Number of votes per transition step."""
_FASTEST = 0.05  # maximum rate of falls per vote
_ALIKE, _CLOSE = 3.0, 3.0  # prior counts of falls: to a uniformly drawn rival, to the closest one
_PRIOR = 3.0  # number of falls after which a learned distribution has the weight of the prior
_DOUBT = 0.1  # weight of the learned distribution in the leads that a new leader inherits
_SETTLED = 0.2  # a leader is settled if the probabilities of better rivals sum to less than this
_EQUAL = 1e-9  # tolerance for rounding errors in comparisons of leads


# ---- a rival ----


@hot
def behind(state: Any, i: int) -> float:
    """Return the posterior probability that rival `i` is better than the leader."""
    g, rival = state.numbers[0].changed, state.arms[i]
    return (1.0 - g) * rival.behind + g * rival.behind_redrawn


@hot
def gain(state: Any, i: int) -> float:
    """Return the expected loss per vote of not leading with rival `i`."""
    g, rival = state.numbers[0].changed, state.arms[i]
    return (1.0 - g) * rival.gain + g * rival.gain_redrawn


@hot
def mean_lead(state: Any, i: int) -> float:
    """Return the posterior mean of the leader's lead over rival `i`."""
    g, rival = state.numbers[0].changed, state.arms[i]
    return (1.0 - g) * rival.lead + g * rival.lead_redrawn


@hot
def _is_rival(state: Any, i: int) -> bool:
    return state.present[i] == 1 and i != state.numbers[0].king


@hot
def _summarize(state: Any, i: int) -> None:
    """Update the cached values of `behind`, `gain` and `mean_lead` of rival `i`."""
    rival, kept, redrawn = state.arms[i], state.kept[i], state.redrawn[i]
    a = b = c = x = y = z = 0.0
    for k in range(_HALF):
        a += kept[k]
        b -= LEADS[k] * kept[k]
        x += redrawn[k]
        y -= LEADS[k] * redrawn[k]
    for k in range(_HALF, VALUES):
        c += LEADS[k] * kept[k]
        z += LEADS[k] * redrawn[k]
    rival.behind, rival.gain, rival.lead = a, b, c - b
    rival.behind_redrawn, rival.gain_redrawn, rival.lead_redrawn = x, y, z - y


@hot
def update_row(state: Any, j: int, won: int) -> None:
    """Condition the posteriors of rival `j` on a duel that the leader won (1) or lost (0)."""
    numbers = state.numbers[0]
    kept, redrawn = state.kept[j], state.redrawn[j]
    sign = 2.0 * won - 1.0
    if_kept = if_redrawn = 0.0
    for k in range(VALUES):
        like = 0.5 + sign * LEADS[k]
        kept[k] *= like
        redrawn[k] *= like
        if_kept += kept[k]
        if_redrawn += redrawn[k]
    one, other = 1.0 / if_kept, 1.0 / if_redrawn
    for k in range(VALUES):
        kept[k] *= one
        redrawn[k] *= other
    part = numbers.changed * if_redrawn
    numbers.changed = part / (part + (1.0 - numbers.changed) * if_kept)
    _summarize(state, j)


@hot
def condition_on_past(state: Any, j: int, won: float, lost: float) -> None:
    """Condition the posteriors of rival `j` on past duels; `won`, `lost` count from the leader."""
    kept, redrawn = state.kept[j], state.redrawn[j]
    if_kept = if_redrawn = 0.0
    for k in range(VALUES):
        like = (0.5 + LEADS[k]) ** won * (0.5 - LEADS[k]) ** lost
        kept[k] *= like
        redrawn[k] *= like
        if_kept += kept[k]
        if_redrawn += redrawn[k]
    for k in range(VALUES):
        kept[k] /= if_kept
        redrawn[k] /= if_redrawn
    _summarize(state, j)


@hot
def is_settled(state: Any) -> bool:
    """Return whether all rivals are likely to be worse than the leader."""
    total = 0.0
    for i in range(len(state.arms)):
        if _is_rival(state, i):
            total += behind(state, i)
    return total < _SETTLED


@kernel
def closest(state: Any) -> int:
    """Return the rival with the minimum mean lead; ties are broken by the order."""
    j, least = -1, 1.0
    for i in state.order:
        if _is_rival(state, i):
            lead = mean_lead(state, i)
            if lead < least - _EQUAL:
                j, least = i, lead
    return j


# ---- time ----


@hot
def drift(state: Any, t: int) -> None:
    """Apply the transition of a few votes to all posteriors before round `t`."""
    _set_rates(state, t)
    numbers, prior = state.numbers[0], state.prior[1]
    g, x = numbers.changed, STEP * numbers.hazard
    numbers.changed = g + (1.0 - g) * x
    mixed = (1.0 - g) * x / max(numbers.changed, 1e-300)
    a = b = c = 0.0
    for k in range(_HALF):
        a += prior[k]
        b -= LEADS[k] * prior[k]
    for k in range(_HALF, VALUES):
        c += LEADS[k] * prior[k]
    for i in range(len(state.arms)):
        if not _is_rival(state, i):
            continue
        rival, kept, redrawn = state.arms[i], state.kept[i], state.redrawn[i]
        e = min(0.5, 2.0 * STEP * rival.hazard)
        f = mixed + (1.0 - mixed) * e
        for k in range(VALUES):
            kept[k] += e * (EVEN - kept[k])
            redrawn[k] += f * (prior[k] - redrawn[k])
        rival.behind += e * (0.5 - rival.behind)
        rival.gain += e * (GAIN - rival.gain)
        rival.lead -= e * rival.lead
        rival.behind_redrawn += f * (a - rival.behind_redrawn)
        rival.gain_redrawn += f * (b - rival.gain_redrawn)
        rival.lead_redrawn += f * (c - b - rival.lead_redrawn)


@hot
def _set_rates(state: Any, t: int) -> None:
    """Set the hazard rates of a global change and of local changes, and the kind of each rival.

    Kinds: 1, the closest rival; 2, the last settled leader of the others; 3, the two before that
    one; 0, the rest.
    """
    numbers, arms = state.numbers[0], state.arms
    falls = min(_FASTEST, max((0.5 + numbers.falls) / t, rhythm(state, t)))
    share = (0.5 + numbers.globals) / (1.0 + numbers.globals + numbers.locals)
    numbers.hazard = falls * share
    near = closest(state)
    a = b = c = -1
    for i in range(len(arms)):
        ended = arms[i].reigned
        if ended == 0 or i == near or not _is_rival(state, i):
            continue
        if a < 0 or ended > arms[a].reigned:
            a, b, c = i, a, b
        elif b < 0 or ended > arms[b].reigned:
            b, c = i, b
        elif c < 0 or ended > arms[c].reigned:
            c = i
    last, earlier = int(a >= 0), int(b >= 0) + int(c >= 0)
    others = numbers.here - 2 - last - earlier
    rivals = numbers.here - 1.0
    first = _ALIKE / rivals + _CLOSE + state.successions[1]
    second = _ALIKE * last / rivals + state.successions[2] * last
    third = (_ALIKE * earlier / rivals + state.successions[3]) if earlier else 0.0
    rest = (_ALIKE * others / rivals + state.successions[0]) if others else 0.0
    unit = falls * (1.0 - share) / (first + second + third + rest)
    for i in range(len(arms)):
        if not _is_rival(state, i):
            continue
        if i == near:
            arms[i].kind, arms[i].hazard = 1, unit * first
        elif i == a:
            arms[i].kind, arms[i].hazard = 2, unit * second
        elif i in (b, c):
            arms[i].kind, arms[i].hazard = 3, unit * third / max(1, earlier)
        else:
            arms[i].kind, arms[i].hazard = 0, unit * rest / max(1, others)


# ---- a new leader ----


@kernel
def remember_fall(state: Any, t: int, j: int) -> None:
    """Update the learned rates and distributions by the fall of a settled leader to `j`."""
    numbers = state.numbers[0]
    king, g = numbers.king, numbers.changed
    state.ended[numbers.falls % RECENT] = t
    numbers.falls += 1
    state.arms[king].reigned = t
    numbers.globals += g
    numbers.locals += 1.0 - g
    state.successions[state.arms[j].kind] += 1.0 - g
    weight = 1.0 / (numbers.falls + _PRIOR)
    for k in range(VALUES):
        kept = redrawn = 0.0
        for i in range(len(state.arms)):
            if _is_rival(state, i):
                kept += EVEN if i == j else state.kept[i, k]
                redrawn += state.redrawn[i, k]
        rivals = numbers.here - 1.0
        state.prior[0, k] += weight * (kept / rivals - state.prior[0, k])
        state.prior[1, k] += weight * g * (redrawn / rivals - state.prior[1, k])


@hot
def _slot_of(state: Any, arm: int) -> int:
    """Return the index of the stored leads of a former leader, or -1."""
    found = -1
    for s in range(SLOTS):
        if state.slots[s].arm == arm:
            found = s
    return found


@kernel
def remember_leads(state: Any, t: int) -> None:
    """Store the leader's leads in the slot that was written longest ago."""
    numbers = state.numbers[0]
    s = _slot_of(state, numbers.king)
    if s < 0:
        s = 0
        for k in range(1, SLOTS):
            if state.slots[k].time < state.slots[s].time:
                s = k
    state.slots[s].arm, state.slots[s].time = numbers.king, t
    g = numbers.changed
    for i in range(len(state.arms)):
        for k in range(VALUES):
            state.memory[s, i, k] = (1.0 - g) * state.kept[i, k] + g * state.redrawn[i, k]


@kernel
def inherit(state: Any, t: int, j: int) -> None:
    """Convert the belief about the leader's leads to that about the leads of its successor `j`.

    Because `j` beats the leader, its leads are taken to be those of the leader. The stored leads of
    its last reign are mixed in with the probability of no change since then. The lead between the
    two is mirrored.
    """
    numbers = state.numbers[0]
    king, g, s = numbers.king, numbers.changed, _slot_of(state, j)
    for i in range(len(state.arms)):
        if i == j or not _is_rival(state, i):
            continue
        fresh = 1.0
        if s >= 0:
            age = (t - state.slots[s].time) * (2.0 * state.arms[i].hazard + numbers.hazard)
            fresh = age / (1.0 + age)
        for k in range(VALUES):
            lead = (1.0 - g) * state.kept[i, k] + g * state.prior[0, k]
            if s >= 0:
                lead = (1.0 - fresh) * state.memory[s, i, k] + fresh * lead
            state.kept[i, k] = (1.0 - _DOUBT) * lead + _DOUBT * state.prior[0, k]
            state.redrawn[i, k] = state.prior[1, k]
        _summarize(state, i)
    for k in range(VALUES):
        lead = (1.0 - g) * state.kept[j, k] + g * state.redrawn[j, k]
        state.kept[king, VALUES - 1 - k] = lead
        state.redrawn[king, VALUES - 1 - k] = lead
    _summarize(state, king)
    numbers.changed = 0.0


@hot
def forget_lead(state: Any, i: int) -> None:
    """Reset the belief about the lead over rival `i` to the prior."""
    for k in range(VALUES):
        state.kept[i, k] = EVEN
        state.redrawn[i, k] = EVEN
    _summarize(state, i)


@kernel
def forget_arm(state: Any, arm: int) -> None:
    """Reset all values of an arm: its reigns, the leads over it, and its stored leads."""
    rival = state.arms[arm]
    rival.reigned, rival.kind, rival.hazard = 0, 0, 0.0
    forget_lead(state, arm)
    for s in range(SLOTS):
        if state.slots[s].arm == arm:
            state.slots[s].arm, state.slots[s].time = -1, 0
        for k in range(VALUES):
            state.memory[s, arm, k] = EVEN
