"""Double Thompson Sampling."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import beta, beta_above_half, uniform
from driftduel.policies._counts import bonus, count_win, counting, forget_wins, may_beat
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, CONSTANT, COUNT, PRESENT
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Dts"]


class State(NamedTuple):
    """Win counts."""

    wins: Annotated[Any, COUNT]
    """(K, K) how often i beat j."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 for the arms that may be asked for."""
    candidates: Annotated[Any, ANY]
    """(K,) scratch: 1 for the arms whose optimistic Copeland score is the largest."""
    sample: Annotated[Any, ANY]
    """(K, K) scratch: preferences drawn from the posterior, for DTS+."""
    scores: Annotated[Any, ANY]
    """(K,) scratch: sampled Copeland scores."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) the exploration parameter."""
    plus: Annotated[Any, CONSTANT]
    """(1,) 1 for DTS+, which breaks ties of the first arm by cost."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    width = bonus(state.alpha[0], t)
    count, only = _find_candidates(state, width)
    first = only if count == 1 else _sampled_winner(state, rng)
    return first, _second(state, rng, first, width)


@kernel
def _find_candidates(state: Any, width: float) -> Any:
    """Mark the arms that optimistically beat most others; return how many, and one of them."""
    wins, candidates, present = state.wins, state.candidates, state.present
    arms = wins.shape[0]
    for i in range(arms):
        candidates[i] = present[i] - 1  # whoever is away beats fewer than anybody
    for i in range(arms):
        if present[i] == 0:
            continue
        for j in range(i):
            if present[j] == 1:
                candidates[i] += int(may_beat(wins, i, j, width))
                candidates[j] += int(may_beat(wins, j, i, width))
    most, count, one = -1, 0, 0
    for i in range(arms):
        if candidates[i] > most:
            most, count, one = candidates[i], 1, i
        elif candidates[i] == most:
            count += 1
    for i in range(arms):
        candidates[i] = 1 if candidates[i] == most else 0
    return count, one


@kernel
def _sampled_winner(state: Any, rng: Any) -> int:
    """Return the candidate that wins most duels of a sample from the posterior."""
    wins, sample, scores, present = state.wins, state.sample, state.scores, state.present
    arms = wins.shape[0]
    for i in range(arms):
        scores[i] = 0.0
    for i in range(arms):
        if present[i] == 0:
            continue
        for j in range(i):
            if present[j] == 0:
                continue
            a, b = wins[i, j] + 1.0, wins[j, i] + 1.0
            if state.plus[0] == 1:  # the costs need the number itself
                sample[i, j] = beta(rng, a, b)
                sample[j, i] = 1.0 - sample[i, j]
                better = sample[i, j] > 0.5
            else:
                better = beta_above_half(rng, a, b)
            scores[i if better else j] += 1.0
    most = -1.0
    for i in range(arms):
        if state.candidates[i] == 1:
            most = max(most, scores[i])
    winner, ties, least = 0, 0, math.inf
    for i in range(arms):
        if state.candidates[i] == 0 or scores[i] < most:
            continue
        cost = _cost(state, i, most) if state.plus[0] == 1 else 0.0
        if cost < least:
            winner, ties, least = i, 1, cost
        elif cost == least:
            ties += 1
            if uniform(rng) * ties < 1.0:
                winner = i
    return winner


@kernel
def _cost(state: Any, i: int, most: float) -> float:
    """Return what telling arm i from the others will cost, if the sample is the truth."""
    total = 0.0
    for j in range(state.wins.shape[0]):
        if j != i and state.present[j] == 1:
            p = state.sample[i, j]
            divergence = p * math.log(2.0 * p) + (1.0 - p) * math.log(2.0 - 2.0 * p)
            lost = 2.0 * most - state.scores[i] - state.scores[j]
            if lost > 0.0:
                total += lost / max(divergence, 1e-300)
    return total


@kernel
def _second(state: Any, rng: Any, first: int, width: float) -> int:
    """Draw again how everyone does against the first; the best that is not surely worse."""
    wins = state.wins
    second, most = first, 0.5
    for j in range(wins.shape[0]):
        # l_j,first <= 1/2 is u_first,j >= 1/2
        if j != first and state.present[j] == 1 and may_beat(wins, first, j, width):
            x = beta(rng, wins[j, first] + 1.0, wins[first, j] + 1.0)
            if x > most:
                second, most = j, x
    return second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    count_win(state.wins, first, second, won)
    return 0


@hot
def _reset(state: Any) -> None:
    forget_wins(state.wins)


@POLICIES.register("dts")
class Dts(KernelPolicy):
    """Sample from the posterior twice: for the champion, and for who should meet it.

    Source: Wu and Liu, *Double Thompson Sampling for Dueling Bandits*, NIPS 2016. Told nothing.
    Guarantee on stationary worlds: K log T + K^2 log log T with a Condorcet winner, K^2 log T in
    Copeland regret without. Confidence is high, from the paper and the authors' program. When only
    one arm can be the Copeland winner no first sample is drawn: it would not change the choice.

    **Many arms.** A round draws up to K^2 / 2 posterior samples, as the paper has it, so twice the
    arms cost four times the time: a round with 2,000 arms takes about 30,000 times as long as one
    with 10, some 0.1 s.

    **Late answers** are counted when they come, and votes of the past when they are heard. An arm
    that is away keeps its counts; candidates, sample and opponent are those who are there.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    alpha
        Width of the confidence bounds, above 1/2 in the theory; the authors use 0.51.
    """

    name: ClassVar[str] = "dts"
    guarantee: ClassVar[str] = "K log T + K^2 log log T, stationary"
    in_panel: ClassVar[str] = COUNTED
    source: ClassVar[str] = "Wu and Liu, NIPS 2016"
    confidence: ClassVar[str] = "high; paper and authors' code agree"
    kernels: ClassVar[Kernels] = counting(_ask, _tell, _reset, presence=True)
    plus: ClassVar[int] = 0

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Annotated[float, Range(0, open=True), "width of the confidence bounds"] = 0.51,
    ) -> None:
        super().__init__(arms, rng)
        self.state = State(
            wins=np.zeros((arms, arms)),
            present=np.ones(arms, np.int64),
            candidates=np.zeros(arms, np.int64),
            sample=np.zeros((arms, arms)),
            scores=np.zeros(arms),
            alpha=np.array([alpha], dtype=np.float64),
            plus=np.array([self.plus]),
        )
