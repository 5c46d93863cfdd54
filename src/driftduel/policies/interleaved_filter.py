"""Interleaved Filter: a candidate against all others at once."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ARM_OR_NONE, ARMS, CONSTANT, COUNT, FLAG, Each, Within
from driftduel.policies.info import Stage
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["InterleavedFilter"]

NONE = -1

# Where the numbers are in `ints`.
CANDIDATE, NEXT, PRUNE = range(3)


class State(NamedTuple):
    """Who is left, who is the candidate, and who beat whom."""

    wins: Annotated[Any, COUNT]
    """(K, K) how often i beat j."""
    alive: Annotated[Any, FLAG]
    """(K,) whether an arm is the candidate or in W."""
    ints: Annotated[Any, Each(ARM_OR_NONE, Within(0, ARMS), CONSTANT)]
    """(3,) candidate (-1: not drawn yet), arm at which the sweep goes on, whether to prune."""
    spread: Annotated[Any, CONSTANT]
    """(1,) 4 log(1/delta), the squared confidence radius times n."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    alive, ints = state.alive, state.ints
    if ints[CANDIDATE] == NONE:
        ints[CANDIDATE] = int(uniform(rng) * len(alive))
    for sweep in range(2):
        for k in range(ints[NEXT], len(alive)):
            if alive[k] and k != ints[CANDIDATE]:
                ints[NEXT] = k + 1
                return ints[CANDIDATE], k
        if sweep == 0:
            _review(state.wins, alive, ints, state.spread[0])
        ints[NEXT] = 0
    return ints[CANDIDATE], ints[CANDIDATE]


@hot
def _verdict(wins: Any, candidate: int, k: int, spread: float) -> float:
    """Return the candidate's lead over 1/2 beyond doubt: above 0, below 0, or 0 for not known."""
    n = wins[candidate, k] + wins[k, candidate]
    if n <= 0.0:
        return 0.0
    lead = wins[candidate, k] / n - 0.5
    return lead if lead * lead > spread / n else 0.0


@kernel
def _review(wins: Any, alive: Any, ints: Any, spread: float) -> None:
    """Drop whom the candidate beats beyond doubt; hand over to one who beats it so."""
    candidate, winner = ints[CANDIDATE], NONE
    for k in range(len(alive)):
        if alive[k] and k != candidate:
            verdict = _verdict(wins, candidate, k, spread)
            if verdict > 0.0:
                alive[k] = False
            elif verdict < 0.0 and winner == NONE:
                winner = k
    if winner == NONE:
        return
    alive[candidate] = False
    ints[CANDIDATE] = winner
    if ints[PRUNE]:
        for k in range(len(alive)):
            if wins[candidate, k] > wins[k, candidate]:
                alive[k] = False


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first != second:
        state.wins[first, second] += won
        state.wins[second, first] += 1 - won
    return 0


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0
    state.alive[:] = True
    state.ints[CANDIDATE] = NONE
    state.ints[NEXT] = 0


@kernel
def _suspect(state: Any) -> int:
    return max(0, state.ints[CANDIDATE])


@POLICIES.register("if")
class InterleavedFilter(KernelPolicy):
    """Let a candidate meet all others in turn; drop losers, and follow whoever beats it.

    Yue, Broder, Kleinberg and Joachims, *The K-armed Dueling Bandits Problem*, COLT 2009 and JCSS
    2012. A random candidate meets every arm of W once a sweep. After a sweep the arms it beats by
    more than sqrt(4 log(T K^2)/n) leave; if one beats it by as much, the candidate leaves and
    that one takes its place. With `prune` (the paper's Interleaved Filter 2) so do then all that
    have won fewer than half of their duels with it. The last one left plays itself.

    Told: the horizon T. Guarantee: expected regret of order K log T / eps, where eps is the lead
    of the best arm over the second, under a total order, SST and STI, on a world that stands
    still.

    Confidence: formulas as in the program of Komiyama and others (COLT 2015), from memory the
    paper's; not verified against it. Records need not be cleared for a new candidate: it has
    only met candidates before it, who have left.

    **Late answers** count for their pair whenever they come; a review at the end of a sweep goes
    by those that are there.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    horizon
        The number of rounds T.
    prune
        Whether a fallen candidate takes along those that were behind it.
    """

    name: ClassVar[str] = "if"
    told: ClassVar[tuple[str, ...]] = ("horizon",)
    guarantee: ClassVar[str] = "K log T / eps, SST and STI, stationary"
    source: ClassVar[str] = (
        "Yue, Broder, Kleinberg, Joachims: The K-armed Dueling Bandits Problem, JCSS 2012"
    )
    confidence: ClassVar[str] = "as in a public program, not verified against the paper"
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset, _suspect)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
        prune: Annotated[bool, "drop who is behind a fallen candidate (IF2)"] = True,
    ) -> None:
        super().__init__(arms, rng)
        self.state = State(
            wins=np.zeros((arms, arms)),
            alive=np.ones(arms, np.bool_),
            ints=np.array([NONE, 0, int(prune)]),
            spread=np.array([4.0 * math.log(horizon * arms**2)]),
        )

    def stage(self) -> Stage:
        """Tell who is left, the candidate included."""
        return Stage(active=tuple(np.flatnonzero(self.state.alive).tolist()))
