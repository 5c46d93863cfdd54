"""Relative Upper Confidence Bound."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import (
    any_present,
    bonus,
    count_duel,
    counting,
    forget_wins,
    possible_winners,
    upper,
)
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, ARM_OR_NONE, CONSTANT, COUNT, PRESENT
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Rucb"]

_NONE = -1


class RucbState(NamedTuple):
    """Win counts and the hypothesised best arm."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 for present arms, else 0."""
    best: Annotated[Any, ARM_OR_NONE]
    """(1,) the arm in B, or -1."""
    champions: Annotated[Any, ANY]
    """(K,) scratch: the arms that may be the Condorcet winner."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) the exploration parameter."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    wins, present = state.wins, state.present
    arms = wins.shape[0]
    width = bonus(state.alpha[0], t)
    count = possible_winners(wins, present, width, state.champions)
    hypothesis_stands = False
    for k in range(count):
        hypothesis_stands |= state.champions[k] == state.best[0]
    if not hypothesis_stands:
        state.best[0] = _NONE  # B is intersected with C
    if count == 0:
        champion = any_present(present, rng)
    elif count == 1:
        champion = state.champions[0]
        state.best[0] = champion
    elif state.best[0] != _NONE and uniform(rng) < 0.5:
        champion = state.best[0]
    else:
        others = count - (1 if state.best[0] != _NONE else 0)
        pick = int(uniform(rng) * others)
        champion = state.champions[0]
        for k in range(count):
            if state.champions[k] != state.best[0]:
                if pick == 0:
                    champion = state.champions[k]
                    break
                pick -= 1
    # The challenger has the largest upper bound; ties are broken at random, and in favour of
    # another arm: a self-duel carries no information.
    challenger = champion
    most, ties = 0.5, 0
    for j in range(arms):
        if j == champion:
            continue
        u = upper(wins, j, champion, width)
        if u < most or present[j] == 0:
            continue
        ties = ties + 1 if u == most and ties > 0 else 1
        if ties == 1 or uniform(rng) * ties < 1.0:
            challenger, most = j, u
    return champion, challenger


@hot
def _reset(state: Any) -> None:
    forget_wins(state.wins)
    state.best[0] = _NONE


@POLICIES.register("rucb")
class Rucb(KernelPolicy):
    """Compare a possible winner with the arm of the largest upper bound against it.

    Source: Zoghi, Whiteson, Munos, de Rijke, *Relative Upper Confidence Bound for the K-Armed
    Dueling Bandit Problem*, ICML 2014. Prior knowledge: none. Guarantee: regret of order K^2 + K
    log T / gap^2 on stationary worlds with a Condorcet winner. Verified against: the paper,
    including the hypothesised best arm B, and two public programs.

    **Late answers** and past votes are counted on arrival. An absent arm keeps its counts; possible
    winners and their opponents are searched among the present arms only: the way of SlDB-UCB (Saha
    and Gaillard, *Dueling Bandits with Adversarial Sleeping*, NeurIPS 2021; from memory).

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
    alpha
        Width of the confidence bounds, above 1/2 in the theory; the default value 0.51 is that of
        published experiments.
    """

    name: ClassVar[str] = "rucb"
    transient: ClassVar[tuple[str, ...]] = ("best",)
    guarantee: ClassVar[str] = "K^2 + K log T / gap^2, stationary"
    in_panel: ClassVar[str] = COUNTED
    source: ClassVar[str] = "Zoghi et al., ICML 2014"
    confidence: ClassVar[str] = "high; paper and public code agree"
    kernels: ClassVar[Kernels] = counting(_ask, count_duel, _reset, presence=True)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Annotated[float, Range(0, open=True), "width of the confidence bounds"] = 0.51,
    ) -> None:
        super().__init__(arms, rng)
        self.state = RucbState(
            wins=np.zeros((arms, arms)),
            present=np.ones(arms, np.int64),
            best=np.full(1, _NONE),
            champions=np.zeros(arms, np.int64),
            alpha=np.array([alpha], dtype=np.float64),
        )
