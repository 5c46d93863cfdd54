"""Doubler: a UCB bandit against what it played before."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies._sbm import Alpha, Reduction, advance, feedback, forget_bandits
from driftduel.policies.base import Kernels
from driftduel.policies.fields import CONSTANT, COUNT, MOST, Named, Within, records
from driftduel.policies.registry import POLICIES

__all__ = ["Doubler"]


class State(NamedTuple):
    """The bandit of this epoch, and the arms of this one and the last."""

    gains: Annotated[Any, COUNT]
    """(K,) duels that the right arm won in this epoch."""
    pulls: Annotated[Any, COUNT]
    """(K,) duels of this epoch that were answered."""
    before: Annotated[Any, COUNT]
    """(K,) how often the last epoch played an arm on the right: the multiset L."""
    now: Annotated[Any, COUNT]
    """(K,) how often this one has."""
    numbers: Annotated[Any, Named(epoch=Within(0, 62), asked=COUNT, length=Within(1, MOST))]
    """The epoch, duels asked for in it, and how many it has."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@kernel
def _begin(state: Any, rng: Any) -> None:
    """Begin an epoch: twice as long, a new bandit, and left arms from the epoch before."""
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
def _suspect(state: Any) -> int:
    """Return the arm that this epoch and the one before have played most often on the right."""
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
    has 2^i rounds and a bandit of its own, whose opponents do not change while it learns: left
    arms are drawn from the right arms of the epoch before (in the first, one random arm).

    Told: nothing. Guarantee: expected regret of order K log^2 T / Delta when outcomes come from
    utilities that stand still, with the linear link.

    Confidence: high, verified against the paper; the bandit's alpha = 3 as for `sparring`.

    **Late answers** count while their epoch is on, and are ignored after it. The duel of an arm
    with itself counts: its coin is what the arm earns.

    Parameters
    ----------
    alpha
        How much to explore.
    """

    guarantee = "K log^2 T / Delta, linear utilities, stationary"
    source = "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    notes = (COUNT,)
    kernels = Kernels(_ask, _tell, _reset, _suspect)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = State(
            gains=np.zeros(arms),
            pulls=np.zeros(arms),
            before=np.zeros(arms, np.int64),
            now=np.zeros(arms, np.int64),
            numbers=records(1, epoch=0, asked=0, length=1),
            alpha=np.array([float(alpha)]),
        )

    def check_state(self, state: Any) -> None:
        """Refuse an epoch that would never end."""
        self.require(state.numbers[0].asked <= state.numbers[0].length)
