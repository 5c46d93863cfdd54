"""Knockout: a tournament of random pairs for a nearly best arm."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ARMS, CONSTANT, COUNT, FLAG, ORDER, Each, Within
from driftduel.policies.info import Stage
from driftduel.policies.keys import Failure
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Knockout"]

_SHRINK = 2.0 ** (1.0 / 3.0) - 1.0
# Indices into the array of numbers.
_LEFT, _ROUND, _TURN, _OPEN = range(4)


class KnockoutState(NamedTuple):
    """The contestants of this round, and their matches."""

    order: Annotated[Any, ORDER]
    """(K,) first the remaining arms, with match m between the indices 2 m and 2 m + 1; then the
    rest."""
    won: Annotated[Any, COUNT]
    """(K,) wins of the first arm of each match of this round."""
    played: Annotated[Any, COUNT]
    """(K,) duels of each match."""
    over: Annotated[Any, FLAG]
    """(K,) whether a match is decided; its winner is then at index 2 m."""
    numbers: Annotated[Any, Each(Within(1, ARMS), Within(1, 60), Within(0, ARMS), Within(0, ARMS))]
    """(4,) number of remaining arms, round, the match of the next duel, and number of undecided
    matches, 0 while the pairs of the round are not drawn."""
    settings: Annotated[Any, CONSTANT]
    """(3,) epsilon, delta, gamma."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, order = state.numbers, state.order
    left = numbers[_LEFT]
    if left == 1:
        return order[0], order[0]
    if numbers[_OPEN] == 0:
        for i in range(left - 1):
            j = i + int(uniform(rng) * (left - i))
            order[i], order[j] = order[j], order[i]
        numbers[_OPEN] = left // 2
    match = numbers[_TURN]
    while state.over[match] == 1:
        match = match + 1 if match + 1 < left // 2 else 0
    numbers[_TURN] = match + 1 if match + 1 < left // 2 else 0
    notes[0], notes[1] = numbers[_ROUND], match
    return order[2 * match], order[2 * match + 1]


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    numbers, match = state.numbers, int(notes[1])
    if first == second or notes[0] != numbers[_ROUND] or state.over[match] == 1:
        return 0
    state.won[match] += won
    state.played[match] += 1
    i = float(numbers[_ROUND])
    eps = _SHRINK * state.settings[0] / (state.settings[2] * 2.0 ** (i / 3.0))
    delta = state.settings[1] / 2.0**i
    n = float(state.played[match])
    share = state.won[match] / n
    width = math.sqrt(math.log(4.0 * n * n / delta) / (2.0 * n))
    budget = math.log(2.0 / delta) / (2.0 * eps * eps)
    if abs(share - 0.5) > width - eps or n > budget:
        order = state.order
        if share <= 0.5:
            order[2 * match], order[2 * match + 1] = order[2 * match + 1], order[2 * match]
        state.over[match] = 1
        numbers[_OPEN] -= 1
        if numbers[_OPEN] == 0:
            _next_round(state)
    return 0


@hot
def _next_round(state: Any) -> None:
    """Move the winners, and the arm without a match, to the next round."""
    numbers, order = state.numbers, state.order
    left = (numbers[_LEFT] + 1) // 2
    for place in range(left):  # the list remains a permutation of the arms
        order[place], order[2 * place] = order[2 * place], order[place]
    for match in range(len(order)):
        state.won[match] = state.played[match] = state.over[match] = 0
    numbers[_LEFT] = left
    numbers[_ROUND] += 1
    numbers[_TURN] = 0


@hot
def _best_guess(state: Any) -> int:
    """Return the arm with the largest lead in this round."""
    numbers, order = state.numbers, state.order
    best, most = order[0], -1.0
    for match in range(numbers[_LEFT] // 2):
        lead = 2.0 * state.won[match] - state.played[match]
        if abs(lead) > most:
            ahead = state.over[match] == 1 or lead >= 0.0
            best, most = order[2 * match] if ahead else order[2 * match + 1], abs(lead)
    return best


@hot
def _declared(state: Any) -> int:
    return state.order[0] if state.numbers[_LEFT] == 1 else -1


@hot
def _reset(state: Any) -> None:
    for arm in range(len(state.order)):
        state.order[arm] = arm
        state.won[arm] = state.played[arm] = state.over[arm] = 0
    numbers = state.numbers
    numbers[:] = 0
    numbers[_LEFT] = len(state.order)
    numbers[_ROUND] = 1


@POLICIES.register("knockout")
class Knockout(KernelPolicy):
    """Play matches of random pairs; the winners advance to the next round, until one remains.

    Falahatgar, Orlitsky, Pichapati and Suresh, *Maximum Selection and Ranking under Noisy
    Comparisons*, ICML 2017, Algorithms 1 to 3. In round i a match has the bias
    eps_i = (2^(1/3) - 1) eps / (gamma 2^(i/3)) and the failure probability d_i = delta / 2^i. It
    ends when the share of wins is further from 1/2 than sqrt(log(4 n^2 / d_i) / (2 n)) - eps_i, or
    after log(2 / d_i) / (2 eps_i^2) duels. The matches of a round are played in turns, a duel each.
    The last arm plays itself.

    Guarantee: with probability 1 - delta the last arm loses to no other with more than 1/2 + eps,
    if preferences are strongly (gamma = 1) stochastically transitive and obey the stochastic
    triangle inequality, with at most a constant times K (1 + log(1 / delta)) / eps^2 duels.

    Verified against: the paper and two independent programs. (One of them computes the width of a
    match from delta in place of d_i.)

    **Late answers** count until the end of their match and are dropped afterwards. Before the end
    of the tournament `best` is the arm with the largest lead in this round.

    Parameters
    ----------
    eps
        The tolerated lead of the best arm over the chosen one, in (0, 0.5).
    delta
        The failure probability, a value in (0, 1).
    gamma
        The constant of stochastic transitivity; the default value 1 means strong transitivity.
    """

    name = "knockout"
    notes = (Within(0, 60), Within(0, ARMS))
    guarantee = "best arm up to eps with probability 1 - delta, SST and STI, stationary"
    source = (
        "Falahatgar, Orlitsky, Pichapati, Suresh: Maximum Selection and Ranking under Noisy "
        "Comparisons, ICML 2017"
    )
    confidence = "high: constants as in the paper"
    kernels = Kernels(_ask, _tell, _reset, _best_guess, declared=_declared)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        eps: Annotated[float, Range(0, 0.5, open=True), "lead that may be missed"] = 0.05,
        delta: Failure = 0.05,
        gamma: Annotated[float, Range(1), "constant of stochastic transitivity"] = 1.0,
    ) -> None:
        super().__init__(arms, rng)
        self.state = KnockoutState(
            order=np.arange(arms),
            won=np.zeros(arms),
            played=np.zeros(arms),
            over=np.zeros(arms, np.int64),
            numbers=np.array([arms, 1, 0, 0]),
            settings=np.array([eps, delta, gamma], np.float64),
        )

    def stage(self) -> Stage:
        """Return the remaining arms."""
        numbers, order = self.state.numbers, self.state.order
        return Stage(active=tuple(sorted(order[: numbers[_LEFT]].tolist())))

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError for matches that cannot occur in a round."""
        left, _, turn, still = state.numbers.tolist()
        matches = left // 2
        self.require(turn < max(1, matches) and still <= matches)
        self.require((state.won <= state.played).all())
        decided = int(state.over[:matches].sum())
        self.require(not state.over[matches:].any())
        self.require(decided == (matches - still if still else 0))
