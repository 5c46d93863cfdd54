"""Doubler: a UCB bandit against what it played before."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies._sbm import Alpha, advance, feedback
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, COUNT, MOST, Each, Rule, Within
from driftduel.policies.registry import POLICIES

__all__ = ["Doubler"]

# Where the numbers are in `ints`.
EPOCH, ASKED, LENGTH = range(3)


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
    ints: Annotated[Any, Each(Within(0, 62), COUNT, Within(1, MOST))]
    """(3,) epoch, duels asked for in it, and how many it has."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) alpha."""


@kernel
def _begin(state: Any, rng: Any) -> None:
    """Begin an epoch: twice as long, a new bandit, and left arms from the epoch before."""
    ints, before, now = state.ints, state.before, state.now
    if ints[EPOCH] == 0:
        now[int(uniform(rng) * len(now))] = 1
    for k in range(len(now)):
        before[k] = now[k]
    now[:] = 0
    state.gains[:] = 0.0
    state.pulls[:] = 0.0
    ints[EPOCH] += 1
    ints[ASKED] = 0
    ints[LENGTH] *= 2


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    ints, before = state.ints, state.before
    if ints[EPOCH] == 0 or ints[ASKED] == ints[LENGTH]:
        _begin(state, rng)
    # L has half as many members as this epoch has rounds.
    skip = int(uniform(rng) * (ints[LENGTH] // 2))
    left = 0
    while left + 1 < len(before) and skip >= before[left]:
        skip -= before[left]
        left += 1
    right = advance(state.gains, state.pulls, state.alpha[0], rng)
    state.now[right] += 1
    ints[ASKED] += 1
    notes[0] = ints[EPOCH]
    return left, right


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if notes[0] == state.ints[EPOCH]:
        feedback(state.gains, state.pulls, second, 1 - won)
    return 0


@hot
def _reset(state: Any) -> None:
    state.gains[:] = 0.0
    state.pulls[:] = 0.0
    state.before[:] = 0
    state.now[:] = 0
    state.ints[EPOCH] = 0
    state.ints[ASKED] = 0
    state.ints[LENGTH] = 1


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
class Doubler(KernelPolicy):
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
    arms, rng
        The number of arms K, and its randomness.
    alpha
        How much to explore.
    """

    name: ClassVar[str] = "doubler"
    guarantee: ClassVar[str] = "K log^2 T / Delta, linear utilities, stationary"
    source: ClassVar[str] = (
        "Ailon, Karnin, Joachims: Reducing Dueling Bandits to Cardinal Bandits, ICML 2014"
    )
    confidence: ClassVar[str] = "high: verified against the paper; alpha of public programs"
    notes: ClassVar[tuple[Rule, ...]] = (COUNT,)
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset, _suspect)

    def __init__(self, arms: int, rng: np.random.Generator, alpha: Alpha = 3.0) -> None:
        super().__init__(arms, rng)
        self.state = State(
            gains=np.zeros(arms),
            pulls=np.zeros(arms),
            before=np.zeros(arms, np.int64),
            now=np.zeros(arms, np.int64),
            ints=np.array([0, 0, 1]),
            alpha=np.array([float(alpha)]),
        )

    def check_state(self, state: Any) -> None:
        """Refuse an epoch that would never end."""
        self.require(state.ints[ASKED] <= state.ints[LENGTH])
