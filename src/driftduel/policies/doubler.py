"""Doubler: a UCB bandit against its own arms of the previous epoch."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._sbm import Alpha, Reduction, advance, feedback, forget_bandits
from driftduel.policies.base import Kernels
from driftduel.policies.fields import CONSTANT, COUNT, MOST, Named, Within, records
from driftduel.policies.registry import POLICIES

__all__ = ["Doubler"]


class DoublerState(NamedTuple):
    """The bandit of this epoch, and the arms of this one and the last."""

    gains: Annotated[Any, COUNT]
    """(K,) number of wins of the right arm in this epoch."""
    pulls: Annotated[Any, COUNT]
    """(K,) number of answered duels of this epoch."""
    before: Annotated[Any, COUNT]
    """(K,) number of plays of each arm on the right in the last epoch: the multiset L."""
    now: Annotated[Any, COUNT]
    """(K,) number of plays of each arm on the right in this epoch."""
    numbers: Annotated[Any, Named(epoch=Within(0, 62), asked=COUNT, length=Within(1, MOST))]
    """The epoch, the number of duels chosen in it, and its length."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@kernel
def _begin(state: Any, rng: Any) -> None:
    """Begin an epoch of twice the length with a new bandit and left arms of the last epoch."""
    numbers, before, now = state.numbers[0], state.before, state.now
    if numbers.epoch == 0:
        now[int(uniform(rng) * len(now))] = 1
    for k in range(len(now)):
        before[k] = now[k]
    now[:] = 0
    forget_bandits(state)
    numbers.epoch += 1
    numbers.asked = 0
    numbers.length *= 2


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, before = state.numbers[0], state.before
    if numbers.epoch == 0 or numbers.asked == numbers.length:
        _begin(state, rng)
    # L has half as many members as this epoch has rounds.
    skip = int(uniform(rng) * (numbers.length // 2))
    left = 0
    while left + 1 < len(before) and skip >= before[left]:
        skip -= before[left]
        left += 1
    right = advance(state.gains, state.pulls, state.alpha[0], rng)
    state.now[right] += 1
    numbers.asked += 1
    notes[0] = numbers.epoch
    return left, right


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if notes[0] == state.numbers[0].epoch:
        feedback(state.gains, state.pulls, second, 1 - won)
    return 0


@hot
def _reset(state: Any) -> None:
    forget_bandits(state)
    state.before[:] = 0
    state.now[:] = 0
    state.numbers[0].epoch = 0
    state.numbers[0].asked = 0
    state.numbers[0].length = 1


@kernel
def _best_guess(state: Any) -> int:
    """Return the arm with most plays on the right in this epoch and the one before."""
    best, most = 0, -1
    for k in range(len(state.now)):
        played = int(state.before[k]) + int(state.now[k])
        if played > most:
            best, most = k, played
    return best


@POLICIES.register("doubler")
class Doubler(Reduction):
    """Let a UCB bandit pick the right arm; draw the left one from its picks of the last epoch.

    Ailon, Karnin and Joachims, *Reducing Dueling Bandits to Cardinal Bandits*, ICML 2014. Epoch i
    has 2^i rounds and a new bandit, whose distribution of opponents is constant: left arms are
    drawn from the right arms of the epoch before (in the first, one random arm).

    Prior knowledge: none. Guarantee: expected regret of order K log^2 T / Delta when outcomes come
    from utilities that are stationary, with the linear link.

    Verified against: the paper; the bandit's alpha = 3 as for `sparring`.

    **Late answers** count until the end of their epoch and are ignored afterwards. The duel of an
    arm with itself counts: its coin is the arm's reward.

    Parameters
    ----------
    alpha
        The exploration parameter of the UCB radius, a value of at least 0. Default 3.0.
    """

    guarantee = "K log^2 T / Delta, linear utilities, stationary"
    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    notes = (COUNT,)
    kernels = Kernels(_ask, _tell, _reset, _best_guess)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = DoublerState(
            gains=np.zeros(arms),
            pulls=np.zeros(arms),
            before=np.zeros(arms, np.int64),
            now=np.zeros(arms, np.int64),
            numbers=records(1, epoch=0, asked=0, length=1),
            alpha=np.array([float(alpha)]),
        )

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError for an epoch that cannot end."""
        self.require(state.numbers[0].asked <= state.numbers[0].length)
