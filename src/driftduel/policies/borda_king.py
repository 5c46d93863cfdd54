"""King of the hill by Borda scores: who wins most duels against everybody, not who beats all."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies._king_matches import (
    NUMBERS,
    RIVALS,
    WEALTH,
    change,
    contest,
    crown,
    first_state,
    present,
    settle,
    suspect,
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

_IDLE, _CHALLENGER, _KING = 0.0, 1.0, 2.0  # what a duel is for: nothing, or half of a step


class State(NamedTuple):
    """The king, its matches, and the step that is half asked for or half answered."""

    numbers: Annotated[Any, Named(**NUMBERS.rules, rival=ARM_OR_NONE, judge=ARM, won=Within(-1, 1))]
    """As of a king; and: whose step is half asked for, or -1; the arm that it met; and how the
    challenger did in the step that is half answered."""
    order: Annotated[Any, ORDER]
    """(K,) the order in which challengers come."""
    arms: Annotated[Any, RIVALS]
    """(K,) of each arm, as of a king's challengers, with steps in place of duels."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on the challenger, from 1 at the start of its match."""
    present: Annotated[Any, PRESENT]
    """(K,) whether it is there."""
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
    """Draw one of the arms that are there, other than `j`."""
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
    """Learn how the challenger, or then the king, did against the arm of a step."""
    numbers, rival = state.numbers[0], state.arms[j]
    if not of_king:
        numbers.won = won
        return 0
    if not rival.on or t < rival.since:
        return 0  # the answer came after the match
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
def _hear(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a vote of the past, and begin with the largest Borda score in all of them.

    A pair without votes counts as even. Of equals the first in the order of challengers.
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
    """Play one arm against itself, and challenge it by who wins more duels against everybody.

    Ours: `king` for those who mean the Borda winner, the arm that wins most on average against an
    arm drawn at random; there always is one, and it need not be the Condorcet winner. Told nothing,
    and no key to set.

    - **A step** of a match is two duels, in two rounds: of the challenger with an arm drawn
      uniformly from all others that are there, and then of the king with the same arm, or with the
      challenger if it was the king. The challenger leads by one more if only it won, and by one
      less if only the king did.
    - **All else** is as of the first edition of `king`, with steps in place of duels, see `court`:
      a match ends at one behind, the mean of six plain bets on the challenger is the evidence, with
      an alarm at 50 + B / 2. A step may cost a lot however small the gap is, so there are fewer
      matches: 0.15 sqrt(K (1 + S) / t) a round with S alarms so far, and K / (4 age) more for a
      fresh king.

    **Guaranteed**: in the first n matches at most 2 log(1 + n / 100) false alarms are expected. A
    false alarm is one in a match in all of whose steps the challenger was no better than the king
    in Borda score (where preferences change between the two rounds of a step: the challenger's in
    the first than the king's in the second). Given all before it a step is then fair or worse on
    average, so each bet is a nonnegative supermartingale as king's are. **Only measured**: Borda
    regret, and it grows like T^(2/3) at best.

    **Ties** are decided by a coin: a step without them would weigh an arm by how rarely it ties.
    **Late answers** are learned in the order of asking. A step teaches nothing if half of it is
    forgotten, which for the guarantee must have nothing to do with who met whom and who won, nor if
    the arm drawn leaves in between. What is out when a match ends is dropped.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
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
        suspect=suspect,
        unanswered=True,
        change=change,
        present=present,
        hear=_hear,
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = State(*first_state(self.state.order, rival=-1, judge=0, won=0))

    def contest(self) -> Contest:
        """Tell since when the king reigns, and how near its challengers are to its fall."""
        return contest(self.state)
