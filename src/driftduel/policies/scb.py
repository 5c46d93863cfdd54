"""SCB: scalable Copeland bandits."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import count_duel, most_victories
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import (
    ANY,
    ARM,
    ARM_OR_NONE,
    ARMS,
    CONSTANT,
    COUNT,
    Named,
    Within,
    records,
)
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Scb"]

Alpha = Annotated[float, Range(0, open=True), "factor on the level of significance"]
FirstBudget = Annotated[int, Range(2), "rounds of the first epoch"]

_NOBODY = -1
_UNKNOWN, _WINS, _LOSES = 0, 1, -1


class ScbState(NamedTuple):
    """One epoch: decided pairs, and the bandit with their results as rewards."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j in this epoch."""
    verdict: Annotated[Any, Within(-1, 1)]
    """(K, K) 1 if i beats j, -1 if it loses, 0 if undecided."""
    remaining: Annotated[Any, ARM]
    """(K,) the remaining arms: the first `left` entries."""
    rewards: Annotated[Any, COUNT]
    """(K,) number of wins against random opponents."""
    draws: Annotated[Any, COUNT]
    """(K,) number of random opponents drawn."""
    highs: Annotated[Any, ANY]
    """(K,) scratch: upper bounds on an arm's Copeland score."""
    numbers: Annotated[
        Any,
        Named(
            winner=ARM_OR_NONE,
            first=ARM_OR_NONE,
            second=ARM_OR_NONE,
            turn=ARM,
            left=Within(1, ARMS),
            alpha=CONSTANT,
            first_budget=CONSTANT,
            budget=Within(2, 1e150),
            step=Within(0, 1e150),
        ),
    ]
    """The winner, or -1; the pair being compared, or -1; index of the arm in turn and number of
    remaining arms; alpha; and the budgets (floats, because they overflow integers): of the first
    epoch, of this one, and the used part of it."""


@kernel
def _begin_epoch(state: Any, budget: float) -> None:
    numbers = state.numbers[0]
    K = len(state.wins)
    state.wins[:] = 0.0
    state.verdict[:] = _UNKNOWN
    for i in range(K):
        state.remaining[i] = i
    state.rewards[:] = 0.0
    state.draws[:] = 0.0
    state.highs[:] = 0.0
    numbers.winner = numbers.first = numbers.second = _NOBODY
    numbers.turn = 0
    numbers.left = K
    numbers.budget = budget
    numbers.step = 0.0


@hot
def _kl(p: float, q: float) -> float:
    left = p * math.log(p / q) if p > 0.0 else 0.0
    return left + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


@hot
def _level(state: Any, horizon: float) -> float:
    """Return the threshold of divergence times number of samples for a decision."""
    K, step = len(state.wins), state.numbers[0].step
    iterated = math.log(max(1.0, math.log(step)))
    return state.numbers[0].alpha * (math.log(4.0 * horizon * K) + 2.0 * max(1.0, iterated))


@kernel
def _farthest(p: float, end: float, radius: float) -> float:
    """Return the q between p and `end` (0 or 1) with kl(p, q) = radius."""
    near, far = p, end
    for _ in range(40):
        q = 0.5 * (near + far)
        if 0.0 < q < 1.0 and _kl(p, q) < radius:
            near = q
        else:
            far = q
    return near


@kernel
def _reward(state: Any, won: bool) -> None:
    """Reward the arm in turn; after a sweep eliminate arms that cannot have the best score."""
    remaining, rewards, draws, highs = state.remaining, state.rewards, state.draws, state.highs
    numbers = state.numbers[0]
    arm = remaining[numbers.turn]
    draws[arm] += 1.0
    rewards[arm] += won
    numbers.turn += 1
    if numbers.turn < numbers.left:
        return
    numbers.turn = 0
    level = _level(state, state.numbers[0].budget)
    low = 0.0
    for k in range(numbers.left):
        i = remaining[k]
        p, radius = rewards[i] / draws[i], level / draws[i]
        highs[i] = _farthest(p, 1.0, radius)
        low = max(low, _farthest(p, 0.0, radius))
    left = 0
    for k in range(numbers.left):
        i = remaining[k]
        if highs[i] >= low:
            remaining[left] = i
            left += 1
    numbers.left = left
    if left == 1:
        numbers.winner = remaining[0]


@kernel
def _all_decided(state: Any) -> bool:
    for k in range(state.numbers[0].left):
        i = state.remaining[k]
        for j in range(len(state.wins)):
            if j != i and state.verdict[i, j] == _UNKNOWN:
                return False
    return True


@kernel
def _copeland_winner(state: Any) -> int:
    """Return the arm with most victories; undecided pairs count by their present majority."""
    wins = state.wins
    best, most = 0, -1
    for i in range(len(wins)):
        score = 0
        for j in range(len(wins)):
            score += int(i != j and wins[i, j] > wins[j, i])
        if score > most:
            best, most = i, score
    return best


@kernel
def _next_pair(state: Any, rng: Any) -> None:
    """Draw opponents until a pair is undecided or the winner is determined."""
    numbers, verdict = state.numbers[0], state.verdict
    K = len(state.wins)
    numbers.first = _NOBODY
    while numbers.winner == _NOBODY and numbers.first == _NOBODY:
        if _all_decided(state):
            numbers.winner = _copeland_winner(state)
            return
        arm = state.remaining[numbers.turn]
        other = int(uniform(rng) * (K - 1))
        other += int(other >= arm)
        if verdict[arm, other] == _UNKNOWN:
            numbers.first = arm
            numbers.second = other
        else:
            _reward(state, verdict[arm, other] == _WINS)


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, wins = state.numbers[0], state.wins
    if numbers.step >= numbers.budget:
        _begin_epoch(state, numbers.budget**2)
    numbers.step += 1.0
    if numbers.winner == _NOBODY:
        first, second = numbers.first, numbers.second
        if first == _NOBODY:
            _next_pair(state, rng)
        else:
            n = wins[first, second] + wins[second, first]
            level = _level(state, numbers.step)
            if n > 0.0 and n * _kl(wins[first, second] / n, 0.5) > level:
                won = wins[first, second] > wins[second, first]
                state.verdict[first, second] = _WINS if won else _LOSES
                state.verdict[second, first] = _LOSES if won else _WINS
                _reward(state, won)
                _next_pair(state, rng)
    if numbers.winner != _NOBODY:
        return numbers.winner, numbers.winner
    return numbers.first, numbers.second


@hot
def _reset(state: Any) -> None:
    _begin_epoch(state, state.numbers[0].first_budget)


@kernel
def _best_guess(state: Any) -> int:
    winner = state.numbers[0].winner
    return winner if winner >= 0 else most_victories(state)


@POLICIES.register("scb")
class Scb(KernelPolicy):
    """Decide random pairs one by one, eliminate by Copeland score, then play the winner.

    SCB of Zoghi, Karnin, Whiteson and de Rijke, *Copeland Dueling Bandits*, NeurIPS 2015: for many
    arms. In epochs of 4, 16, 256, 65536, ... rounds, each the square of the last and each from
    scratch, it plays a bandit on the same arms: the reward is 1 if the arm beats an opponent drawn
    at random, which is decided by comparing the two until the result is significant. Arms with an
    upper bound on their score below another's lower bound are eliminated in sweeps; the last one is
    played against itself for the rest of the epoch.

    Prior knowledge: none. Guarantee: regret of order K (L_C + log K) log(T) / Delta^2 on a
    stationary world, where Copeland winners lose to at most L_C arms; it needs no Condorcet winner.

    **Ordinary horizons.** With gaps of 0.1 and ten arms a pair is decided after some 400 duels, so
    the epoch of 256 rounds decides nothing, and that of 65536 rounds spends thousands exploring.

    **Verified against**: the public program of Wu and Liu (confidence medium), where a pair is
    decided if n kl(p, 1/2) > alpha (log(4 s K) + 2 max(1, log log s)) with s the round of the
    epoch, and the score has the same with the epoch's length for s; the paper has the failure
    probability log(T) / T in the logarithm and no alpha, from memory. That program begins with an
    epoch of 1000 rounds.

    **Late answers** count for their pair on arrival, also from an earlier epoch; for a decided pair
    they have no effect. Until an answer arrives the same pair is chosen again, as without delay. A
    forgotten duel still counts as a round of the epoch.

    Parameters
    ----------
    alpha
        Factor on the level of significance; default 0.51 as in the program of Wu and Liu; 1 in the
        paper, from memory.
    first_budget
        Rounds of the first epoch; the default 4 is the paper's value, 1000 that of Wu and Liu.
    """

    guarantee = "K (L_C + log K) log T / Delta^2 on stationary worlds, Copeland"
    source = "Zoghi, Karnin, Whiteson, de Rijke: Copeland Dueling Bandits, NeurIPS 2015"
    confidence = "medium: bounds as in a public program, not as in the paper"
    kernels = Kernels(_ask, count_duel, _reset, _best_guess)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Alpha = 0.51,
        first_budget: FirstBudget = 4,
    ) -> None:
        super().__init__(arms, rng)
        self.state = ScbState(
            wins=np.zeros((arms, arms)),
            verdict=np.zeros((arms, arms), np.int64),
            remaining=np.arange(arms),
            rewards=np.zeros(arms),
            draws=np.zeros(arms),
            highs=np.zeros(arms),
            numbers=records(
                1,
                winner=_NOBODY,
                first=_NOBODY,
                second=_NOBODY,
                turn=0,
                left=arms,
                alpha=alpha,
                first_budget=float(first_budget),
                budget=float(first_budget),
                step=0.0,
            ),
        )  # fmt: skip

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError for an index out of range or rewards without draws."""
        numbers = state.numbers[0]
        had_their_turn = state.remaining[: numbers.turn]
        self.require(
            (numbers.first == _NOBODY or numbers.second >= 0)
            and numbers.turn < numbers.left
            and (state.draws >= state.rewards).all()
            and (state.draws[had_their_turn] >= 1).all()
        )
