"""Winner Stays, for weak and for strong regret."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import (
    ARM,
    ARM_OR_NONE,
    CONSTANT,
    COUNT,
    MOST,
    Named,
    Within,
    records,
)
from driftduel.policies.modes import SAME
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["WinnerStaysStrong", "WinnerStaysWeak"]

Growth = Annotated[float, Range(1, open=True), "growth of the self-duels"]

NONE = -1
LONGEST = 1e15  # self-duels in a row; more would not fit an integer


class WinnerStaysState(NamedTuple):
    """The record of Winner Stays for weak regret."""

    score: Annotated[Any, Within(-MOST, MOST)]
    """(K,) C: wins minus losses."""
    last: Annotated[Any, ARM_OR_NONE]
    """(2,) the arms of the last duel; -1 before the first."""


class StrongState(NamedTuple):
    """The record of Winner Stays for strong regret, with the phase of the round."""

    score: Annotated[Any, Within(-MOST, MOST)]
    """(K,) C: wins minus losses."""
    last: Annotated[Any, ARM_OR_NONE]
    """(2,) the arms of the last duel of two arms; -1 before the first."""
    phase: Annotated[Any, Named(lap=Within(1, MOST), left=COUNT, champion=ARM, beta=CONSTANT)]
    """Round l (a lap: `round` is a method of arrays), number of remaining self-duels, their arm,
    and beta."""


@hot
def _best(score: Any, last: Any, taken: int, rng: Any) -> int:
    """Return an arm with the highest score, one of the last duel if possible, but not `taken`."""
    top, ties = -(1 << 62), 0
    for k in range(len(score)):
        if k != taken:
            if score[k] > top:
                top, ties = score[k], 1
            elif score[k] == top:
                ties += 1
    for k in last:
        if k not in (NONE, taken) and score[k] == top:
            return k
    skip = int(uniform(rng) * ties)
    for k in range(len(score)):
        if k != taken and score[k] == top:
            if skip == 0:
                return k
            skip -= 1
    return 0  # unreachable: one of them has the highest score


@hot
def _ask_weak(state: Any, rng: Any, t: int, notes: Any) -> Any:
    last = state.last
    first = _best(state.score, last, NONE, rng)
    second = _best(state.score, last, first, rng)
    last[0] = first
    last[1] = second
    return first, second


@hot
def _ask_strong(state: Any, rng: Any, t: int, notes: Any) -> Any:
    phase, last = state.phase[0], state.last
    if phase.left > 0:
        phase.left -= 1
        return phase.champion, phase.champion
    first = _best(state.score, last, NONE, rng)
    second = _best(state.score, last, first, rng)
    if state.score[second] <= -phase.lap:  # all arms but one are eliminated in this round
        phase.left = int(min(phase.beta ** float(phase.lap), LONGEST)) - 1
        phase.champion = first
        phase.lap += 1
        return first, first
    last[0] = first
    last[1] = second
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    change = 2 * won - 1
    state.score[first] += change  # in a duel with itself the two cancel
    state.score[second] -= change
    return 0


@hot
def _reset_weak(state: Any) -> None:
    state.score[:] = 0
    state.last[:] = NONE


@hot
def _reset_strong(state: Any) -> None:
    _reset_weak(state)
    state.phase[0].lap = 1
    state.phase[0].left = 0
    state.phase[0].champion = 0


@kernel
def _leader(state: Any) -> int:
    """Return an arm with the highest score, one of the last duel if possible."""
    best = 0
    for k in range(len(state.score)):
        if state.score[k] > state.score[best]:
            best = k
    for k in state.last:
        if k != NONE and state.score[k] == state.score[best]:
            return k
    return best


@kernel
def _last_winner(state: Any) -> int:
    """Return the winner of the last completed round; before its end, the leader."""
    return state.phase[0].champion if state.phase[0].lap > 1 else _leader(state)


@POLICIES.register("wsw")
class WinnerStaysWeak(KernelPolicy):
    """Play the two arms with the most wins minus losses; of equals, those of the last duel.

    WS-W of Chen and Frazier, *Dueling Bandits with Weak Regret*, ICML 2017. Seen as rounds: in
    round r the incumbent meets the others one after the other, an iteration ends when the loser has
    the score -r, and the remaining arm is the incumbent of the next round.

    Prior knowledge: none. Guarantee: expected weak regret of order K^2, or K log K under a total
    order, constant in T, on a stationary world with a Condorcet winner. The lead that protects a
    winner grows with time, so it is not for changing worlds.

    Verified against: the paper. Two public programs agree with it except for the first opponent of
    a new round: by the tie rule it is the last loser (as here and in duelpy), in Kolpaczki's
    program a random arm.

    **Late answers** count on arrival; so does every duel that was chosen meanwhile.
    """

    easy_regret = "weak"
    guarantee = "weak regret K^2, constant in T, stationary"
    in_panel = SAME
    source = "Chen, Frazier: Dueling Bandits with Weak Regret, ICML 2017"
    confidence = "high: verified against the paper"
    kernels = Kernels(_ask_weak, _tell, _reset_weak, _leader)

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = WinnerStaysState(np.zeros(arms, np.int64), np.full(2, NONE))


@POLICIES.register("wss")
class WinnerStaysStrong(KernelPolicy):
    """Play rounds of Winner Stays, and after round l its winner alone, beta^l times.

    WS-S of Chen and Frazier, *Dueling Bandits with Weak Regret*, ICML 2017: rounds as in `wsw`,
    and after round l the incumbent meets itself floor(beta^l) times.

    Prior knowledge: beta. Guarantee: expected strong regret of order K^2 + K log T, or K log K + K
    log T under a total order, on a stationary world with a Condorcet winner. A round's winner is
    wrong with a probability of order ((1-p)/p)^l, where p is the winner's smallest chance, so beta
    must be below p/(1-p): 1.2 for p = 0.55, and 2 needs p above 2/3.

    Verified against: as for `wsw`. The default beta is that of Kolpaczki's program; duelpy has 2,
    and exploits after every duel instead of every round.

    **Late answers** count on arrival; a round ends when all arms but one have a score of -l or
    below, by any duels.

    Parameters
    ----------
    beta
        The growth factor of the number of self-duels per round, above 1; the default value is 1.05.
    """

    prior_knowledge = ("beta",)
    guarantee = "strong regret K^2 + K log T, stationary"
    source = "Chen, Frazier: Dueling Bandits with Weak Regret, ICML 2017"
    confidence = "high: verified against the paper; default beta of public code"
    kernels = Kernels(_ask_strong, _tell, _reset_strong, _last_winner)

    def __init__(self, arms: int, rng: np.random.Generator, beta: Growth = 1.05) -> None:
        super().__init__(arms, rng)
        phase = records(1, lap=1, left=0, champion=0, beta=float(beta))
        self.state = StrongState(np.zeros(arms, np.int64), np.full(2, NONE), phase)
