"""MultiSBM: one UCB bandit for every left arm."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel._random import uniform
from driftduel.policies._sbm import Alpha, Reduction, advance, feedback, forget_bandits, most_pulled
from driftduel.policies.base import Kernels
from driftduel.policies.fields import ARM_OR_NONE, CONSTANT, COUNT
from driftduel.policies.registry import POLICIES

__all__ = ["MultiSBM"]

NONE = -1


class State(NamedTuple):
    """A bandit for every left arm, and whose turn it is."""

    gains: Annotated[Any, COUNT]
    """(K, K) duels with left arm i that right arm j won."""
    pulls: Annotated[Any, COUNT]
    """(K, K) duels."""
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
    """Ask the left arm's own UCB bandit for the right arm, which is the next left arm.

    Ailon, Karnin and Joachims, *Reducing Dueling Bandits to Cardinal Bandits*, ICML 2014.

    Told: nothing. Guarantee: expected regret of order K log T / Delta when outcomes come from
    utilities that stand still, with the linear link. **Not for cycles:** a bandit looks for the
    arm that beats its left arm most, so where losers beat each other by more than the winner
    beats them, it follows them round and does worse than random play.

    Confidence: high, verified against the paper; alpha = 3 as in two public programs. Each bandit
    has a clock of its own, as in Komiyama's program (that of Wu and Liu gives all of them the
    global one).

    **Late answers** count when they come, for the left arm they were asked for. The duel of an
    arm with itself counts too: its coin is what the arm earns.

    Parameters
    ----------
    alpha
        How much to explore.
    """

    guarantee = "K log T / Delta, linear utilities, stationary"
    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    kernels = Kernels(_ask, _tell, _reset, most_pulled)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = State(
            gains=np.zeros((arms, arms)),
            pulls=np.zeros((arms, arms)),
            left=np.array([NONE]),
            alpha=np.array([float(alpha)]),
        )
