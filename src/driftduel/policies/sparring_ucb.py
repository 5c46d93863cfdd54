"""Sparring: two UCB bandits, each the other's adversary."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.policies._sbm import Alpha, Reduction, advance, feedback, forget_bandits, most_pulled
from driftduel.policies.base import Kernels
from driftduel.policies.fields import CONSTANT, COUNT
from driftduel.policies.registry import POLICIES

__all__ = ["Sparring"]


class State(NamedTuple):
    """The left and the right bandit."""

    gains: Annotated[Any, COUNT]
    """(2, K) duels won by the left bandit's arms, and by the right one's."""
    pulls: Annotated[Any, COUNT]
    """(2, K) duels."""
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
    """Let two UCB bandits pick one arm each; the winner's earns 1, the loser's 0.

    Ailon, Karnin and Joachims, *Reducing Dueling Bandits to Cardinal Bandits*, ICML 2014.

    Told: nothing. Guarantee: none in the paper for random outcomes, where it is offered as a
    conjecture and does well in experiments.

    Confidence: high, verified against the paper; alpha = 3 as in two public programs (one of them
    writes 2.5 for (alpha+2)/2). They try the arms in the order of their numbers, so that the two
    bandits first meet as equals; here each begins at random.

    **Late answers** count when they come. The duel of an arm with itself counts too, as in the
    paper: its coin is what the two bandits earn.

    Parameters
    ----------
    alpha
        How much to explore.
    """

    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    kernels = Kernels(_ask, _tell, forget_bandits, most_pulled)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = State(np.zeros((2, arms)), np.zeros((2, arms)), np.array([float(alpha)]))
