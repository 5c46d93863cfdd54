"""King of the hill: one arm is played, and challenged as often as it pays."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import ARM, ARMS, COUNT, MOST, ORDER, ROUND, Each, Within
from driftduel.policies.registry import POLICIES

__all__ = ["King"]

_BETS = 6
_RATE = 0.5
_FRESH_RATE = 0.5
_PATIENCE = 64
_LEAST = 0.001

# Places in State.numbers.
_KING, _OPEN, _LAST, _CROWNED, _ALARMS, _NEXT, _MATCHES, _WAITED, _HELD = range(9)


class State(NamedTuple):
    """The king, and its matches."""

    numbers: Annotated[Any, Each(ARM, Within(0, ARMS), ARM, ROUND, COUNT, ARM, COUNT, COUNT, COUNT)]
    """(9,) the king, open matches, the last challenger played, the round of the coronation, alarms,
    place in the order, matches so far, duels since one was opened, matches of this king."""
    due: Annotated[Any, Within(0, 1)]
    """(1,) the part of the next match that is due."""
    order: Annotated[Any, ORDER]
    """(K,) the order in which challengers come."""
    lead: Annotated[Any, Within(-1, MOST)]
    """(K,) wins minus losses of a challenger in its match; -1 if it has none."""
    bets: Annotated[Any, Within(0, 1e100)]
    """(K, 6) the wealth of six bets on the challenger, from 1 at the start of its match."""
    record: Annotated[Any, Within(0, 1)]
    """(K,) about how often it beats this king."""
    seen: Annotated[Any, COUNT]
    """(K,) duels with this king."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, lead = state.numbers, state.lead
    king, arms = numbers[_KING], lead.shape[0]
    if numbers[_OPEN] == 0:
        age = max(1, t - numbers[_CROWNED])
        rate = _RATE * math.sqrt(arms * (1.0 + numbers[_ALARMS]) / t) + _FRESH_RATE * arms / age
        state.due[0] += min(rate, 1.0)
        if state.due[0] < 1.0:
            return king, king
        state.due[0] -= 1.0
        return king, _open(state)
    if numbers[_WAITED] >= _PATIENCE and numbers[_OPEN] < arms - 1:
        return king, _open(state)
    j = numbers[_LAST]
    while True:  # open matches take turns
        j = j + 1 if j + 1 < arms else 0
        if lead[j] >= 0:
            break
    numbers[_LAST] = j
    return king, j


@kernel
def _open(state: Any) -> int:
    """Open a match: every fourth for the closest rival, the others in turn."""
    numbers, lead = state.numbers, state.lead
    king, arms = numbers[_KING], lead.shape[0]
    j, most = -1, -1.0
    if numbers[_MATCHES] % 4 == 3 and numbers[_HELD] >= arms - 1:
        for i in range(arms):
            if i != king and lead[i] < 0 and state.record[i] > most:
                j, most = i, state.record[i]
    while j < 0:
        i = state.order[numbers[_NEXT]]
        numbers[_NEXT] = numbers[_NEXT] + 1 if numbers[_NEXT] + 1 < arms else 0
        if i != king and lead[i] < 0:
            j = i
    lead[j] = 0
    for k in range(_BETS):
        state.bets[j, k] = 1.0
    numbers[_OPEN] += 1
    numbers[_MATCHES] += 1
    numbers[_HELD] += 1
    numbers[_WAITED] = 0
    numbers[_LAST] = j
    return j


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    return _learn(state, t, first, second, won)


@kernel
def _learn(state: Any, t: int, king: int, j: int, won: int) -> int:
    numbers, lead = state.numbers, state.lead
    if king != numbers[_KING] or lead[j] < 0:
        return 0  # the answer came after the match
    arms = lead.shape[0]
    numbers[_WAITED] += 1
    state.seen[j] += 1.0
    step = max(0.05, 1.0 / (state.seen[j] + 2.0))
    state.record[j] += step * (1.0 - won - state.record[j])
    sign = 1 - 2 * won
    lead[j] += sign
    wealth, stake = 0.0, 0.8
    for k in range(_BETS):
        state.bets[j, k] *= 1.0 + sign * stake
        wealth += state.bets[j, k] / _BETS
        stake *= 0.5
    if lead[j] < 0 or wealth < _LEAST:
        lead[j] = -1
        numbers[_OPEN] -= 1
        return 0
    beyond_doubt = 50.0 + 0.5 * numbers[_MATCHES]
    needed = 4.0 * 2.0 ** min(60.0, numbers[_HELD] / (arms - 1.0))
    if wealth < min(needed, beyond_doubt):
        return 0
    for i in range(arms):
        lead[i] = -1
        state.record[i] = 0.5
        state.seen[i] = 0.0
    numbers[_KING] = j
    numbers[_OPEN] = 0
    numbers[_CROWNED] = t
    numbers[_WAITED] = 0
    numbers[_HELD] = 0
    if needed < beyond_doubt:
        return 0  # it had hardly reigned: still finding the winner
    numbers[_ALARMS] += 1
    return RESTARTED


@kernel
def _suspect(state: Any) -> int:
    return state.numbers[_KING]


@POLICIES.register("king")
class King(KernelPolicy):
    """Play one arm against itself, and let it be challenged as often as it pays.

    Ours. Told nothing: no horizon, number of switches, gap or window, and no key to set. Playing
    (king, king) costs nothing if it is the winner, and teaches nothing; everything is in when to
    challenge it, and whom by.

    - **A match** of king and challenger ends when the challenger is one win behind: half of them
      or more, after one duel. It costs a winning king about 1/4 whatever the gap D, 1 / (2 D)
      duels of D / 2, and a challenger that is better by D survives it with probability near 4 D:
      what is lost until then does not depend on the gap either. So matches can be timed without
      knowing it.
    - **When.** With S alarms so far, sqrt(K (1 + S) / t) / 2 matches a round, which balances what
      matches cost with what is lost while a fallen king goes unnoticed; evenly spaced, because the
      wait for the next is then half as long as for one drawn at random.
    - **Whom by.** Everyone in turn; every fourth match is for who came closest, because when
      preferences drift that is who takes over. After 64 duels without an end another match is
      opened beside: between two fallen arms one could last for ever.
    - **The fall.** Six bets of stakes 0.8, 0.4, ..., 0.025 on the challenger start at 1; their mean
      is the evidence. An established king falls when it reaches 50 + B / 2, in B matches so far:
      an *alarm*, listed as a restart. All records are forgotten.
    - **A fresh king** is challenged at once, K / (2 age) more matches a round, and falls more
      easily, at 4 * 2^(h / (K - 1)) in its h-th match: twice as much after every K - 1, until
      that exceeds 50 + B / 2 and it is established. This is also how the first winner is found.

    **Guaranteed**: in the first n matches, at most 2 log(1 + n / 100) false alarms are expected,
    whatever the world does. A false alarm is one in a match in all of whose duels the challenger
    was no better than the king. While that holds, each bet, and their mean, is a nonnegative
    supermartingale from 1, whenever the match stops and however preferences change; by Ville's
    inequality it reaches 50 + B / 2 >= 50 + b / 2 in match number b with probability at most
    2 / (100 + b), given all before it. Summing up gives the bound; with probability 1 - p there are
    at most 1 / p times as many. It takes answers that come before the next duel, or late by a delay
    that has nothing to do with who won. It does not cover fresh kings, whose falls are no alarms,
    nor a wrong arm that was established and falls to a better one. **Only measured**: the regret.
    Gaps of less than about 0.006 are beyond the smallest bet.

    **Late answers** count if a match of the two is still open, or open again; else they are
    dropped. It draws nothing after the first order of challengers.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    """

    name: ClassVar[str] = "king"
    guarantee: ClassVar[str] = "2 log(1 + n / 100) false alarms in n matches; regret only measured"
    source: ClassVar[str] = "ours"
    confidence: ClassVar[str] = "our own"
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, suspect=_suspect)

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        order = rng.permutation(arms).astype(np.int64)
        numbers = np.zeros(9, np.int64)
        numbers[_KING] = order[0]
        self.state = State(
            numbers=numbers,
            due=np.zeros(1),
            order=order,
            lead=np.full(arms, -1),
            bets=np.ones((arms, _BETS)),
            record=np.full(arms, 0.5),
            seen=np.zeros(arms),
        )

    def check_state(self, state: Any) -> None:
        """Refuse matches that are open and cannot be found, or the other way round."""
        numbers, lead = state.numbers, state.lead
        self.require(lead[numbers[_KING]] < 0 and numbers[_OPEN] == (lead >= 0).sum())
