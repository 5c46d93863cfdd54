"""Beat the Winner and Beat the Winner Reset: a queue of challengers, and matches to r wins."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, COUNT, ORDER, Named, Within, records
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.modes import SAME
from driftduel.policies.registry import POLICIES

__all__ = ["BeatTheWinner", "BeatTheWinnerReset"]


class State(NamedTuple):
    """The queue, and the score of the match that is on."""

    order: Annotated[Any, ORDER]
    """(K,) the incumbent, then a ring of challengers."""
    numbers: Annotated[
        Any,
        Named(
            resets=CONSTANT,
            match=COUNT,
            head=Within(1, lambda scope: scope.arms - 1),
            r=COUNT,
            incumbent=COUNT,
            challenger=COUNT,
        ),
    ]
    """Whether r resets; the match's number; the challenger's place; r; and the wins of each."""


@kernel
def _shuffle(order: Any, rng: Any) -> None:
    for i in range(len(order) - 1, 0, -1):
        j = int(uniform(rng) * (i + 1))
        order[i], order[j] = order[j], order[i]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    order, numbers = state.order, state.numbers[0]
    if numbers.match == 0:
        _shuffle(order, rng)
        numbers.match = 1
    notes[0] = numbers.match
    return order[0], order[numbers.head]


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    order, numbers = state.order, state.numbers[0]
    if notes[0] != numbers.match:
        return 0
    numbers.incumbent += won
    numbers.challenger += 1 - won
    if max(numbers.incumbent, numbers.challenger) < numbers.r:
        return 0
    # In a ring the loser's place is the back of the queue, once the head has moved past it.
    head = numbers.head
    if numbers.challenger > numbers.incumbent:
        order[0], order[head] = order[head], order[0]
        if numbers.resets:
            numbers.r = 0
    numbers.r += 1
    numbers.head = head + 1 if head + 1 < len(order) else 1
    numbers.incumbent = 0
    numbers.challenger = 0
    numbers.match += 1
    return 0


@hot
def _reset(state: Any) -> None:
    for i in range(len(state.order)):
        state.order[i] = i
    numbers = state.numbers[0]
    numbers.match = 0
    numbers.head = 1
    numbers.r = 1
    numbers.incumbent = 0
    numbers.challenger = 0


@kernel
def _suspect(state: Any) -> int:
    return state.order[0]


class _Queue(KernelPolicy):
    """What both have in common: all but one number."""

    notes = (COUNT,)
    kernels = Kernels(_ask, _tell, _reset, _suspect)
    resets: ClassVar[bool]

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        numbers = records(
            1, resets=int(self.resets), match=0, head=1, r=1, incumbent=0, challenger=0
        )
        self.state = State(np.arange(arms), numbers)

    def contest(self) -> Contest:
        """Tell how many of the wins that the match takes the challenger has."""
        order, numbers = self.state.order, self.state.numbers[0]
        share = numbers.challenger / numbers.r
        return Contest(challengers=nearest_first([(int(order[numbers.head]), share)]))


@POLICIES.register("btw")
class BeatTheWinner(_Queue):
    """Let the winner stay and challengers queue; match number r is won by the first to r wins.

    Pekoz, Ross and Zhang, *Dueling Bandit Problems*, 2022. All arms stand in a random queue. The
    incumbent meets the first of them; the loser goes to the back, the winner stays; every match
    takes one win more than the one before.

    Told: nothing. Guarantee: weak regret bounded in T on a world with a Condorcet winner that
    stands still. **Not for changing worlds:** after n matches a match takes n wins, so that a new
    winner may wait for K matches of that length before it is even seen; see `btwr`.

    Confidence: the rule was read in the code of Kolpaczki and others (2022), who compare with it;
    the paper's own constants were not checked.

    **Late answers** count while their match is on, and are ignored after it.
    """

    easy_regret = "weak"
    guarantee = "weak regret constant in T, stationary"
    in_panel = SAME
    source = "Pekoz, Ross, Zhang: Dueling Bandit Problems, 2022"
    confidence = "rule read in public code, not in the paper"
    resets: ClassVar[bool] = False


@POLICIES.register("btwr")
class BeatTheWinnerReset(_Queue):
    """Play matches to r wins; r grows while the incumbent wins, and is 1 again when it loses.

    Kolpaczki, Bengs and Huellermeier, *Non-Stationary Dueling Bandits* (arXiv 2202.00935; TMLR
    2024 as *Piecewise-Stationary Dueling Bandits*). As `btw`, but a challenger that wins its
    match sets r back to 1, so that old victories do not protect anyone.

    Told: nothing. Guarantee: binary weak regret of order M K log K / Delta^2 on M stationary
    segments, each with a Condorcet winner that beats all others by Delta. It says nothing about
    strong regret: one of the two arms is always a challenger, whatever is known.

    **When it helps.** Where gaps are wide: with p = 0.7, K = 10 and 40 changes in 200,000 rounds
    its binary weak regret is 0.15 times that of `btw`, with 10 changes 0.27 times. Where the
    winner leads by 0.05 only (``random-condorcet``, ten segments of 100,000) chance losses keep
    setting r back, and it was no better than `btw` (52,000 to 42,000).

    Confidence: the rule was read in the authors' public code; the order of the bound is from
    memory, its constant (about 20) is not verified. The variant for strong regret in the same
    code is left out: in our runs it did not work.

    **Late answers** count while their match is on, and are ignored after it.
    """

    easy_regret = "weak"
    guarantee = "weak regret M K log K / Delta^2 on M segments"
    in_panel = SAME
    source = "Kolpaczki, Bengs, Huellermeier: Piecewise-Stationary Dueling Bandits, TMLR 2024"
    confidence = "rule read in the authors' code; constants of the bound not checked"
    resets: ClassVar[bool] = True
