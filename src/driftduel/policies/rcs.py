"""RCS: relative confidence sampling."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import beta_above_half, uniform
from driftduel.policies._counts import count_duel, counting, upper
from driftduel.policies.base import KernelPolicy
from driftduel.policies.fields import ANY, CONSTANT, COUNT
from driftduel.policies.keys import Width
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES

__all__ = ["Rcs"]


class RcsState(NamedTuple):
    """Win counts and counts of champions."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    champions: Annotated[Any, COUNT]
    """(K,) number of rounds in which the arm was champion."""
    beaten: Annotated[Any, ANY]
    """(K,) scratch: whether an arm loses a duel of this round's sample."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    wins, champions, beaten = state.wins, state.champions, state.beaten
    K = len(wins)
    beaten[:] = 0
    for i in range(K):
        for j in range(i):
            if beta_above_half(rng, wins[i, j] + 1.0, wins[j, i] + 1.0):
                beaten[j] = 1
            else:
                beaten[i] = 1
    # The sample's Condorcet winner; without one, the arm with the fewest rounds as champion.
    first = 0
    ties = 0
    for i in range(K):
        if beaten[i] == 0:
            first = i
            break
        if ties == 0 or champions[i] < champions[first]:
            first = i
            ties = 1
        elif champions[i] == champions[first]:
            ties += 1
            if uniform(rng) * ties < 1.0:
                first = i
    champions[first] += 1
    width = state.alpha[0] * math.log(t)
    second = first
    highest = 0.5
    ties = 1
    for j in range(K):
        if j != first:
            u = upper(wins, j, first, width)
            if u > highest:
                second, highest, ties = j, u, 1
            elif u == highest:
                ties += 1
                if uniform(rng) * ties < 1.0:
                    second = j
    return first, second


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0
    state.champions[:] = 0
    state.beaten[:] = 0


@POLICIES.register("rcs")
class Rcs(KernelPolicy):
    """Sample a champion from the posterior, and challenge it by upper confidence bounds.

    RCS of Zoghi, Whiteson, de Rijke and Munos, *Relative Confidence Sampling for Efficient On-line
    Ranker Evaluation*, WSDM 2014. Every pair's probability is drawn from its Beta posterior with a
    uniform prior. The champion c is the arm that beats all others in the sample, or, where none
    does, the arm that was champion least often; the challenger is the arm with the highest
    p_jc + sqrt(alpha log t / n_jc), where c itself counts 1/2.

    Prior knowledge: none. Guarantee: no finite-time bound published; made for stationary worlds
    with a Condorcet winner.

    **Verified against**: the public program of Wu and Liu; compared with the paper from memory only
    (confidence medium to high). Pairs never compared come first, and ties are broken at random
    (there: by the lowest index).

    **Late answers** count for their pair on arrival. A forgotten duel has no effect, except that
    its first arm was champion once more.

    Parameters
    ----------
    alpha
        Width of the confidence bounds; the default value 0.51 is that of the program of Wu and Liu,
        just above the 1/2 that the theory of the related RUCB requires.
    """

    in_panel = COUNTED
    source = (
        "Zoghi, Whiteson, de Rijke, Munos: Relative Confidence Sampling for Efficient On-line "
        "Ranker Evaluation, WSDM 2014"
    )
    confidence = "medium to high: as in a public program, paper not at hand"
    kernels = counting(_ask, count_duel, _reset)
    transient = ("champions",)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Width = 0.51) -> None:
        super().__init__(arms, rng)
        self.state = RcsState(
            wins=np.zeros((arms, arms)),
            champions=np.zeros(arms, np.int64),
            beaten=np.zeros(arms, np.int64),
            alpha=np.array([alpha], dtype=np.float64),
        )
