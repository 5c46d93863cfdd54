"""Sparring: two UCB bandits, each the other's adversary."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies._sbm import Alpha, Reduction, advance, feedback, forget_bandits, most_pulled
from driftduel.policies.base import Kernels
from driftduel.policies.fields import CONSTANT, COUNT
from driftduel.policies.registry import POLICIES

__all__ = ["Sparring"]


class SparringState(NamedTuple):
    """The left and the right bandit."""

    gains: Annotated[Any, COUNT]
    """(2, K) number of wins of the left bandit's arms, and of the right one's."""
    pulls: Annotated[Any, COUNT]
    """(2, K) number of answered duels."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    gains, pulls, alpha = state.gains, state.pulls, state.alpha[0]
    left = advance(gains[0], pulls[0], alpha, rng)
    return left, advance(gains[1], pulls[1], alpha, rng)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    feedback(state.gains[0], state.pulls[0], first, won)
    feedback(state.gains[1], state.pulls[1], second, 1 - won)
    return 0


@POLICIES.register("sparring")
class Sparring(Reduction):
    """Let two UCB bandits pick one arm each; rewards are 1 for the winner, 0 for the loser.

    Ailon, Karnin and Joachims, *Reducing Dueling Bandits to Cardinal Bandits*, ICML 2014.

    Prior knowledge: none. Guarantee: none in the paper for random outcomes, where it is a
    conjecture supported by experiments.

    Verified against: the paper; alpha = 3 as in two public programs (one of them writes 2.5 for
    (alpha+2)/2). They try the arms in index order, so that both bandits choose the same arms at
    first; here each begins at random.

    **Late answers** count on arrival. The duel of an arm with itself counts too, as in the paper:
    its coin is the reward of the two bandits.

    Parameters
    ----------
    alpha
        The exploration parameter of the UCB radius, a value of at least 0. Default 3.0.
    """

    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    kernels = Kernels(_ask, _tell, forget_bandits, most_pulled)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = SparringState(
            np.zeros((2, arms)), np.zeros((2, arms)), np.array([float(alpha)])
        )
