"""Sparring EXP3.S: two adversarial learners that forget slowly, one for each side of a duel."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.policies._exp3 import chance, draw, exp3s_gamma, heaviest, share
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, PROBABILITY, SHARES, Rule
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Exp3S"]

# Places in `State.floats`.
GAMMA = 0  # exploration
SHARE = 1  # what every arm gets in a round, e alpha / K of all weight


class State(NamedTuple):
    """Two players' weights."""

    floats: Annotated[Any, CONSTANT]
    """(2,) numbers named above."""
    weights: Annotated[Any, SHARES]
    """(2, K) of the first and the second player; each row adds up to 1."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    gamma, weights = state.floats[GAMMA], state.weights
    first = draw(weights, 0, gamma, rng)
    second = draw(weights, 1, gamma, rng)
    notes[0] = chance(weights, 0, gamma, first)
    notes[1] = chance(weights, 1, gamma, second)
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    weights, bonus = state.weights, state.floats[SHARE]
    rate = state.floats[GAMMA] / weights.shape[1]
    share(weights, 0, first, math.exp(rate * won / notes[0]), bonus)
    share(weights, 1, second, math.exp(rate * (1 - won) / notes[1]), bonus)
    return 0


@hot
def _reset(state: Any) -> None:
    state.weights[:] = 1.0 / state.weights.shape[1]


@POLICIES.register("exp3s")
class Exp3S(KernelPolicy):
    """Let two EXP3.S learners, told how often the world switches, play against each other.

    EXP3.S of Auer, Cesa-Bianchi, Freund and Schapire, *The Nonstochastic Multiarmed Bandit
    Problem*, SIAM J. Comput. 2002, Section 8, on each side of the duel (sparring, Ailon, Karnin
    and Joachims 2014): the first player gains 1 for a win, the second for a defeat of the first.
    gamma = min(1, sqrt(K (S log(KT) + e) / ((e-1) T))) and alpha = 1/T.

    Told: the horizon T, and the number of switches. The S of the formula is the number of phases,
    ``switches + 1``, as in the source (there: hardness).

    Guarantee: each player has regret of order sqrt(S K T log(KT)) against any sequence of arms
    with S phases, hence so has the pair against the Condorcet winners.

    Divergences: none from the source. The research code of Suk and Agarwal (2023) puts the number
    of switches for S, and updates both players at the first player's arm, which is a mistake.

    **Late answers** are learned at once, weighted with the probabilities of their asking. A
    forgotten duel changes nothing. The coin of a self-duel counts: without it the estimates of
    the two players would be biased.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    horizon
        The number of rounds T.
    switches
        How often the best arm changes.
    """

    name: ClassVar[str] = "exp3s"
    told: ClassVar[tuple[str, ...]] = ("horizon", "switches")
    guarantee: ClassVar[str] = "dynamic regret sqrt(S K T log(K T)), S known"
    source: ClassVar[str] = "Auer et al., SIAM J. Comput. 2002; sparring: Ailon et al., ICML 2014"
    confidence: ClassVar[str] = "high: textbook formulas, on both sides of the duel"
    ties: ClassVar[str] = "coin"  # its estimates would be biased without
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset, heaviest)
    notes: ClassVar[tuple[Rule, ...]] = (PROBABILITY, PROBABILITY)
    state: State

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
        switches: Annotated[int, Range(0), "how often the best arm changes"],
    ) -> None:
        super().__init__(arms, rng)
        gamma = exp3s_gamma(arms, horizon, switches + 1)
        bonus = math.e / horizon / arms
        self.state = State(np.array([gamma, bonus]), np.full((2, arms), 1.0 / arms))
