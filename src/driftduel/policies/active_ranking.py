"""Active ranking by successive elimination of Borda scores."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, ARM_OR_NONE, CONSTANT, COUNT, FLAG
from driftduel.policies.info import Stage
from driftduel.policies.keys import Failure
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["ActiveRanking", "radius"]


class ActiveRankingState(NamedTuple):
    """The Borda score of each arm, and the ranks that are settled."""

    wins: Annotated[Any, COUNT]
    """(K,) number of wins against random opponents."""
    seen: Annotated[Any, COUNT]
    """(K,) number of answers to its duels."""
    asked: Annotated[Any, COUNT]
    """(K,) number of its duels that were chosen and not forgotten."""
    rank: Annotated[Any, ARM_OR_NONE]
    """(K,) its settled rank from 0; -1 while it is active."""
    stage: Annotated[Any, COUNT]
    """(1,) minimum number of answers of an active arm at the last elimination."""
    cut: Annotated[Any, CONSTANT]
    """(K,) whether ranks r and r + 1 are to be separated."""
    failure: Annotated[Any, CONSTANT]
    """(1,) the failure probability, a value of (0, 1)."""
    taken: Annotated[Any, FLAG]
    """(K,) scratch: ranks that are settled."""
    order: Annotated[Any, ANY]
    """(K,) scratch: active arms, best first."""
    free: Annotated[Any, ANY]
    """(K,) scratch: ranks that are not settled, ascending."""


@hot
def radius(arms: float, failure: float, n: float) -> float:
    """Return a bound on the error of a Borda score after n answers, for all arms and all n."""
    return math.sqrt(math.log(125.0 * arms * math.log(1.12 * n) / failure) / n)


@hot
def _mean(state: Any, arm: int) -> float:
    return state.wins[arm] / state.seen[arm] if state.seen[arm] > 0 else 0.5


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    arms = len(state.rank)
    first = -1
    for arm in range(arms):
        if state.rank[arm] < 0 and (first < 0 or state.asked[arm] < state.asked[first]):
            first = arm
    if first < 0:
        best = _best_guess(state)
        return best, best
    state.asked[first] += 1
    second = int(uniform(rng) * (arms - 1))
    return first, second + int(second >= first)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second or state.rank[first] >= 0:
        return 0
    if won < 0:
        state.asked[first] = max(0, state.asked[first] - 1)
        return 0
    state.wins[first] += won
    state.seen[first] += 1
    fewest = state.seen[first]
    for arm in range(len(state.rank)):
        if state.rank[arm] < 0:
            fewest = min(fewest, state.seen[arm])
    if fewest > state.stage[0]:
        state.stage[0] = fewest
        _eliminate(state, fewest)
    return 0


@kernel
def _eliminate(state: Any, fewest: float) -> None:
    """Settle the ranks of arms that are separated from the neighbouring blocks."""
    arms, order, free = len(state.rank), state.order, state.free
    active = 0
    state.taken[:] = 0
    for arm in range(arms):
        if state.rank[arm] >= 0:
            state.taken[state.rank[arm]] = 1
            continue
        place = active  # insertion sort, best first
        while place > 0 and _mean(state, order[place - 1]) < _mean(state, arm):
            order[place] = order[place - 1]
            place -= 1
        order[place] = arm
        active += 1
    count = 0
    for rank in range(arms):
        if state.taken[rank] == 0:
            free[count] = rank
            count += 1
    gap = 2.0 * radius(float(arms), state.failure[0], float(fewest))
    for place in range(active):
        above, below = place - 1, place + 1
        while above >= 0 and not _is_cut(state, free[above], free[place]):
            above -= 1
        while below < active and not _is_cut(state, free[place], free[below]):
            below += 1
        mean = _mean(state, order[place])
        if above >= 0 and _mean(state, order[above]) - mean <= gap:
            continue
        if below < active and mean - _mean(state, order[below]) <= gap:
            continue
        state.rank[order[place]] = free[place]


@hot
def _is_cut(state: Any, high: int, low: int) -> bool:
    """Return whether a boundary lies between two ranks, `high` the better one."""
    cuts = 0
    for rank in range(high, low):
        cuts += state.cut[rank]
    return cuts > 0


@hot
def _best_guess(state: Any) -> int:
    """Return the arm with the highest mean of those that may be in the first block."""
    arms, block, settled = len(state.rank), 1, 0
    while block < arms and state.cut[block - 1] == 0:
        block += 1
    for arm in range(arms):
        settled += int(0 <= state.rank[arm] < block)
    best, score = -1, -1.0
    for arm in range(arms):
        may_be = 0 <= state.rank[arm] < block or (state.rank[arm] < 0 and settled < block)
        if may_be and _mean(state, arm) > score:
            best, score = arm, _mean(state, arm)
    return best


@hot
def _declared(state: Any) -> int:
    for arm in range(len(state.rank)):
        if state.rank[arm] < 0:
            return -1
    return _best_guess(state)


@hot
def _reset(state: Any) -> None:
    for array in (state.wins, state.seen, state.asked):
        array[:] = 0.0
    state.rank[:] = -1
    state.stage[0] = 0.0


@POLICIES.register("active-ranking")
class ActiveRanking(KernelPolicy):
    """Compare each active arm with a random one; settle a rank once its score is separated.

    Heckel, Shah, Ramchandran and Wainwright, *Active Ranking from Pairwise Comparisons and When
    Parametric Assumptions Do Not Help*, Annals of Statistics 47, 2019, Algorithm 1. In each stage
    every active arm meets an opponent drawn from all others. After stage t, an arm is assigned to
    its block of ranks when its mean is more than 2 a_t above the first arm of the next block and
    more than 2 a_t below the last arm of the block before, where
    a_t = sqrt(log(125 K log(1.12 t) / delta) / t). Blocks are single ranks, or with ``top=k`` the
    first k arms and the rest. When all are assigned, the best arm plays itself.

    Guarantee: with probability 1 - delta, the blocks are those of the true Borda scores, if the
    scores at their boundaries differ. The proof needs no model. First, with probability 1 - delta
    no mean is ever further than a_t from its score: by Hoeffding's maximal inequality the error
    exceeds a_t for some t from m to 1.5 m with probability at most 2 (delta / (125 K log 1.12 m))^
    (4/3), and the sum over m = 1.5^k is below delta / K. Second, the (k+1)-th largest mean is then
    at least the (k+1)-th largest score minus a_t, so an arm whose mean is 2 a_t above it has a
    larger score than the (k+1)-th.

    Verified against: the authors' program (the radius) and the paper (sampling and blocks). The
    program eliminates at a gap of a_t, for which the argument above does not hold, and we could not
    check the constant of the printed algorithm, so 2 a_t is ours.

    **Late answers** count for the arm of the round in which the duel was chosen; a stage ends when
    every active arm has as many. A duel with a tie or a lost answer is repeated. Late answers for
    an arm that is settled are dropped.

    Parameters
    ----------
    delta
        The failure probability, a value in (0, 1).
    top
        The number of arms k to separate from the rest; the default 0 means all ranks.
    """

    name = "active-ranking"
    guarantee = "Borda ranking, or top k, right with probability 1 - delta, stationary"
    source = (
        "Heckel, Shah, Ramchandran, Wainwright: Active Ranking from Pairwise Comparisons and When "
        "Parametric Assumptions Do Not Help, Annals of Statistics 2019"
    )
    confidence = "radius as in the authors' program; gap 2 a_t, which is proved here"
    kernels = Kernels(_ask, _tell, _reset, _best_guess, unanswered=True, declared=_declared)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        delta: Failure = 0.05,
        top: Annotated[int, Range(0), "arms to separate from the rest; 0: all ranks"] = 0,
    ) -> None:
        super().__init__(arms, rng)
        if top >= arms:
            raise DriftduelError(f"top={top} must be less than the number of arms, {arms}.")
        cut = np.ones(arms, np.int64)
        if top:
            cut[:] = 0
            cut[top - 1] = 1
        self.state = ActiveRankingState(
            wins=np.zeros(arms),
            seen=np.zeros(arms),
            asked=np.zeros(arms),
            rank=np.full(arms, -1),
            stage=np.zeros(1),
            cut=cut,
            failure=np.array([float(delta)]),
            taken=np.zeros(arms, np.int64),
            order=np.zeros(arms, np.int64),
            free=np.zeros(arms, np.int64),
        )

    def stage(self) -> Stage:
        """Return the active arms: those without a settled rank."""
        return Stage(active=tuple(np.flatnonzero(self.state.rank < 0).tolist()))

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError for ranks that two arms have, and more wins than answers."""
        settled = state.rank[state.rank >= 0]
        self.require(len(set(settled.tolist())) == len(settled))
        self.require((state.wins <= state.seen).all())
