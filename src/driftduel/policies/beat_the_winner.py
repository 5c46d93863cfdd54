"""Beat the Winner and Beat the Winner Reset: a queue of challengers, and matches to r wins."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, COUNT, ORDER, Named, Within, records
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.modes import SAME
from driftduel.policies.registry import POLICIES

__all__ = ["BeatTheWinner", "BeatTheWinnerReset"]


class BeatTheWinnerState(NamedTuple):
    """The queue of arms, and the score of the current match."""

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
    """Whether r resets; the number of the match; index of the challenger; r; and the wins of the
    two."""


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
    # In a ring buffer the loser's index is the end of the queue once the head has passed it.
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
def _best_guess(state: Any) -> int:
    return state.order[0]


class _Queue(KernelPolicy):
    """The base class of both policies; they differ in one constant."""

    notes = (COUNT,)
    kernels = Kernels(_ask, _tell, _reset, _best_guess)
    resets: ClassVar[bool]

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        numbers = records(
            1, resets=int(self.resets), match=0, head=1, r=1, incumbent=0, challenger=0
        )
        self.state = BeatTheWinnerState(np.arange(arms), numbers)

    def contest(self) -> Contest:
        """Return the challenger with its share of the wins that end the match."""
        order, numbers = self.state.order, self.state.numbers[0]
        share = numbers.challenger / numbers.r
        return Contest(challengers=nearest_first([(int(order[numbers.head]), share)]))


@POLICIES.register("btw")
class BeatTheWinner(_Queue):
    """Let the winner stay and challengers queue; match number r is won by the first to r wins.

    Pekoz, Ross and Zhang, *Dueling Bandit Problems*, 2022. All arms are in a queue in random order.
    The incumbent meets the first of them; the loser goes to the back, the winner stays; every match
    takes one win more than the one before.

    Prior knowledge: none. Guarantee: weak regret bounded in T on a stationary world with a
    Condorcet winner. **Not for changing worlds:** after n matches a match takes n wins, so that a
    new winner may wait for K matches of that length before its first duel; see `btwr`.

    Verified against: the code of Kolpaczki and others (2022), where it is a baseline; the constants
    of the paper are not verified.

    **Late answers** count until the end of their match and are ignored afterwards.
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

    Kolpaczki, Bengs and Huellermeier, *Non-Stationary Dueling Bandits* (arXiv 2202.00935; TMLR 2024
    as *Piecewise-Stationary Dueling Bandits*). As `btw`, but a challenger that wins its match sets
    r back to 1, so that old victories do not protect the incumbent.

    Prior knowledge: none. Guarantee: binary weak regret of order M K log K / Delta^2 on M
    stationary segments, each with a Condorcet winner that beats all others by Delta. There is no
    bound on strong regret: one of the two arms is always a challenger.

    **Effect.** It helps where gaps are wide: with p = 0.7, K = 10 and 40 changes in 200,000 rounds
    its binary weak regret is 0.15 times that of `btw`, with 10 changes 0.27 times. Where the winner
    leads by 0.05 only (``random-condorcet``, ten segments of 100,000) chance losses keep setting r
    back, and it was no better than `btw` (52,000 to 42,000).

    Verified against: the authors' public code (the rule); the order of the bound is from memory,
    its constant (about 20) is not verified. The variant for strong regret in the same code is
    omitted: in our runs it did not work.

    **Late answers** count until the end of their match and are ignored afterwards.
    """

    easy_regret = "weak"
    guarantee = "weak regret M K log K / Delta^2 on M segments"
    in_panel = SAME
    source = "Kolpaczki, Bengs, Huellermeier: Piecewise-Stationary Dueling Bandits, TMLR 2024"
    confidence = "rule read in the authors' code; constants of the bound not checked"
    resets: ClassVar[bool] = True
