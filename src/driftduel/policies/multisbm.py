"""MultiSBM: one UCB bandit per left arm."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies._sbm import Alpha, Reduction, advance, feedback, forget_bandits, most_pulled
from driftduel.policies.base import Kernels
from driftduel.policies.fields import ARM_OR_NONE, CONSTANT, COUNT
from driftduel.policies.registry import POLICIES

__all__ = ["MultiSBM"]

NONE = -1


class MultiSbmState(NamedTuple):
    """One bandit per left arm, and the next left arm."""

    gains: Annotated[Any, COUNT]
    """(K, K) number of wins of right arm j against left arm i."""
    pulls: Annotated[Any, COUNT]
    """(K, K) number of answered duels."""
    left: Annotated[Any, ARM_OR_NONE]
    """(1,) the next left arm; -1 before the first round."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    left = state.left[0]
    if left == NONE:
        left = int(uniform(rng) * len(state.pulls))
    right = advance(state.gains[left], state.pulls[left], state.alpha[0], rng)
    state.left[0] = right
    return left, right


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    feedback(state.gains[first], state.pulls[first], second, 1 - won)
    return 0


@hot
def _reset(state: Any) -> None:
    forget_bandits(state)
    state.left[0] = NONE


@POLICIES.register("multisbm")
class MultiSBM(Reduction):
    """Choose the right arm by the left arm's UCB bandit; it is the next left arm.

    Ailon, Karnin and Joachims, *Reducing Dueling Bandits to Cardinal Bandits*, ICML 2014.

    Prior knowledge: none. Guarantee: expected regret of order K log T / Delta when outcomes come
    from utilities that are stationary, with the linear link. **Not for cycles:** a bandit searches
    for the arm that beats its left arm most, so if losers beat each other by more than the winner
    beats them, it cycles among them and is worse than random play.

    Verified against: the paper; alpha = 3 as in two public programs. Each bandit has a separate
    clock, as in Komiyama's program (that of Wu and Liu uses a global one).

    **Late answers** count on arrival, for the left arm of their duel. The duel of an arm with
    itself counts, too: its coin is the arm's reward.

    Parameters
    ----------
    alpha
        The exploration parameter of the UCB radius, a value of at least 0. Default 3.0.
    """

    guarantee = "K log T / Delta, linear utilities, stationary"
    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    kernels = Kernels(_ask, _tell, _reset, most_pulled)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = MultiSbmState(
            gains=np.zeros((arms, arms)),
            pulls=np.zeros((arms, arms)),
            left=np.array([NONE]),
            alpha=np.array([float(alpha)]),
        )
