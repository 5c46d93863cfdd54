"""King of the hill by Borda scores: the arm with most wins against a random arm."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._king_matches import (
    NUMBERS,
    RIVALS,
    WEALTH,
    best_guess,
    change,
    contest,
    crown,
    first_state,
    present,
    settle,
)
from driftduel.policies._king_timing import by_alarms, by_turns, challenges, without_match
from driftduel.policies.base import RESTARTED, Kernels
from driftduel.policies.fields import (
    ARM,
    ARM_OR_NONE,
    COUNT,
    ORDER,
    PRESENT,
    Growing,
    Named,
    Within,
)
from driftduel.policies.info import Contest
from driftduel.policies.king import King
from driftduel.policies.modes import COIN
from driftduel.policies.registry import POLICIES

__all__ = ["BordaKing"]

_IDLE, _CHALLENGER, _KING = 0.0, 1.0, 2.0  # the role of a duel: none, first or second of a step


class BordaKingState(NamedTuple):
    """The king, its matches, and the current step of two duels."""

    numbers: Annotated[Any, Named(**NUMBERS.rules, rival=ARM_OR_NONE, judge=ARM, won=Within(-1, 1))]
    """Fields of a king, and: the challenger of a step that lacks the second duel, or -1; the
    opponent in this step; and the challenger's result in the step without the second answer."""
    order: Annotated[Any, ORDER]
    """(K,) the order of challengers."""
    arms: Annotated[Any, RIVALS]
    """(K,) values of each arm as a challenger, see `_king_matches`, with steps in place of
    duels."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on the challenger, from 1 at the start of its match."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 if the arm is present, else 0."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in votes of the past; (0, K) if there were none."""


_challenger = challenges(
    without_match, by_alarms(rate=0.15, fresh_rate=0.25, prior=1.0), by_turns(without_match)
)


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    numbers.now = t
    king = numbers.king
    if numbers.rival >= 0:
        j, z = numbers.rival, numbers.judge
        numbers.rival = -1
        if state.arms[j].on:
            if state.present[z]:
                notes[0], notes[1] = _KING, j
                return king, z if z != king else j
            settle(state, j, -1)
    notes[0], notes[1] = _IDLE, 0.0
    j = _challenger(state, t)
    if j < 0:
        return king, king
    numbers.rival, numbers.judge = j, _another(state, rng, j)
    notes[0], notes[1] = _CHALLENGER, j
    return j, numbers.judge


@hot
def _another(state: Any, rng: Any, j: int) -> int:
    """Draw a present arm other than `j`."""
    place, i = int(uniform(rng) * (state.numbers[0].here - 1)), -1
    while place >= 0:
        i += 1
        place -= int(i != j and state.present[i] == 1)
    return i


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if notes[0] == _IDLE:
        return 0
    return _learn(state, t, int(notes[1]), won, notes[0] == _KING)


@kernel
def _learn(state: Any, t: int, j: int, won: int, of_king: bool) -> int:
    """Learn the result of the first or the second duel of a step."""
    numbers, rival = state.numbers[0], state.arms[j]
    if not of_king:
        numbers.won = won
        return 0
    if not rival.on or t < rival.since:
        return 0  # the answer arrived after the end of the match
    even = won < 0 or numbers.won < 0 or won == numbers.won
    said = settle(state, j, -1 if even else won)
    if said <= 0:
        return 0
    crown(state, numbers.now, j)
    if said == 1:
        return 0
    numbers.alarms += 1
    return RESTARTED


@kernel
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a past vote and make the arm with the largest Borda score of all votes king.

    A pair without votes counts as even. Ties are broken by the order of challengers.
    """
    heard = state.heard
    heard[winner, loser] += weight
    best = -1.0
    for i in state.order:
        if not state.present[i]:
            continue
        score = 0.0
        for j in range(len(state.arms)):
            votes = heard[i, j] + heard[j, i]
            if state.present[j]:
                score += heard[i, j] / votes if votes > 0.0 else 0.5
        if score > best:
            best = score
            state.numbers[0].king = i


@POLICIES.register("borda-king")
class BordaKing(King):
    """Exploit one arm, and test it against challengers by Borda scores.

    Our own algorithm: `king` for the Borda winner, the arm with the largest mean probability of a
    win against an arm drawn at random; it always exists and may differ from the Condorcet winner.
    Prior knowledge: none; there are no parameters.

    - **A step** of a match is two duels, in two rounds: of the challenger with an arm drawn
      uniformly from all other present arms, and then of the king with the same arm, or with the
      challenger if it was the king. The challenger leads by one more if only it won, and by one
      less if only the king did.
    - **All other rules** are those of the first edition of `king`, with steps in place of duels,
      see `court`: a match ends at one behind, the mean of six plain bets on the challenger is the
      evidence, with an alarm at 50 + B / 2. A step may have a large regret for any gap, so there
      are fewer matches: 0.15 sqrt(K (1 + S) / t) a round with S alarms so far, and K / (4 age) more
      for a fresh king.

    **Guarantee**: in the first n matches, the expected number of false alarms is at most 2 log(1 +
    n / 100). An alarm is false if in all steps of the match the challenger was no better than the
    king in Borda score (where preferences change between the two rounds of a step: the challenger's
    in the first than the king's in the second). Conditional on the past the expected result of a
    step is then zero or negative, so each bet is a nonnegative supermartingale as in `king`.
    **Measured only**: Borda regret, which grows like T^(2/3) at best.

    **Ties** are decided by a coin: a step without them would weigh an arm by how rarely it ties.
    **Late answers** are learned in the order of asking. A step has no effect if one of its duels is
    forgotten, which for the guarantee must be independent of pairs and winners, or if the arm drawn
    leaves in between. Duels that are pending when a match ends are dropped.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
    """

    in_order: ClassVar[bool] = True
    ties: ClassVar[str] = "coin"
    easy_regret: ClassVar[str] = "borda"
    guarantee: ClassVar[str] = (
        "2 log(1 + n / 100) false alarms in n matches; Borda regret only measured"
    )
    in_panel: ClassVar[str] = COIN
    notes = (Within(0, 2), ARM)
    kernels: ClassVar[Kernels] = Kernels(
        _ask,
        _tell,
        best_guess=best_guess,
        unanswered=True,
        change=change,
        present=present,
        add_past_vote=_add_past_vote,
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = BordaKingState(*first_state(self.state.order, rival=-1, judge=0, won=0))

    def contest(self) -> Contest:
        """Return the round of the coronation and the challengers by share of their threshold."""
        return contest(self.state)
