"""Self-Sparring: Thompson sampling against itself."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import beta
from driftduel.policies._counts import add_past_win
from driftduel.policies._slate_kernels import count_slate
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import COUNT
from driftduel.policies.registry import POLICIES
from driftduel.policies.slates import Slate, other_notes

__all__ = ["SelfSparring"]


class SelfSparringState(NamedTuple):
    """The array of win counts."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j; on the diagonal, duels of an arm with itself."""


@hot
def _counts_of(wins: Any, i: int) -> Any:
    """Return the parameters of an arm's Beta distribution: its wins and its losses, plus 1."""
    a, b = 1.0, 1.0
    for j in range(len(wins)):
        a += wins[i, j]
        b += wins[j, i]
    return a, b


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    wins = state.wins
    first, second = 0, 0
    top, other_top = -1.0, -1.0
    for i in range(len(wins)):
        a, b = _counts_of(wins, i)
        x = beta(rng, a, b)
        if x > top:
            top, first = x, i
        x = beta(rng, a, b)
        if x > other_top:
            other_top, second = x, i
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    # A self-duel counts, too: one win and one loss for either result of the coin.
    state.wins[first, second] += won
    state.wins[second, first] += 1 - won
    return 0


@hot
def _best_of_a_sample(wins: Any, rng: Any) -> int:
    """Return the arm with the largest draw from the distributions of all arms."""
    best, top = 0, -1.0
    for i in range(len(wins)):
        a, b = _counts_of(wins, i)
        x = beta(rng, a, b)
        if x > top:
            top, best = x, i
    return best


@hot
def _ask_slate(state: Any, rng: Any, t: int, notes: Any) -> Any:
    first = _best_of_a_sample(state.wins, rng)
    second = first
    for k in range(len(notes)):
        notes[k] = -1.0
    shown = 1
    for _ in range(1 + len(notes)):
        arm = _best_of_a_sample(state.wins, rng)
        new = arm not in (first, second)
        for k in range(shown - 2):
            new = new and notes[k] != arm
        if new and shown == 1:
            second = arm
        elif new:
            notes[shown - 2] = arm
        shown += int(new)
    return first, second


@hot
def _tell_slate(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return _tell(state, t, first, second, won, notes)
    count_slate(state.wins, first, second, won, notes)
    return 0


@hot
def _reset(state: Any) -> None:
    state.wins[:] = 0.0


@kernel
def _best_guess(state: Any) -> int:
    """Return the arm that wins the largest share of its duels."""
    wins = state.wins
    best, most = 0, -1.0
    for i in range(len(wins)):
        won, lost = _counts_of(wins, i)
        if won / (won + lost) > most:
            best, most = i, won / (won + lost)
    return best


@POLICIES.register("self-sparring")
class SelfSparring(KernelPolicy):
    """Draw each arm from one Thompson sampler over all wins and losses.

    Sui, Zhuang, Burdick and Yue, *Multi-dueling Bandits with Dependent Arms*, UAI 2017, the
    independent form: each of the m arms of a round, two by default, is the best of a sample of its
    own from Beta(S_i + 1, F_i + 1), where arm i has won S_i and lost F_i of all its duels. An arm
    that was drawn repeatedly is shown once, so a slate can have fewer than m arms, or one.

    Prior knowledge: none. Guarantee: regret of order K log T / Delta, asymptotically, on a world
    with approximately linear utilities that is stationary.

    Verified against: the paper, from memory (confidence high), with learning rate 1; a public
    program also draws its m arms independently. The duel of an arm with itself counts as a win and
    a loss, by the rule: it moves the leader towards 1/2, so that the others are tried again.
    Without this a wrong leader can stay: of 80 runs on ``arithmetic`` with 100,000 rounds one then
    had a regret of 5,018, where the mean with it is 127. Pooling wins over opponents, its regret
    may be below lower bounds for the class of all Condorcet worlds; it has no guarantee for this
    class.

    On a slate every decided duel counts, as in the paper, where all pairs have results. Ours: of m
    equal draws one duel of the arm with itself counts, not one per pair of draws; if another arm
    was drawn, too, none.

    **Late answers** count on arrival. A forgotten duel, and a slate from which nothing was picked,
    has no effect.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
    slate
        The largest number m of arms shown, from 2 to 8.
    """

    guarantee = "K log T / Delta, approximately linear utilities, stationary"
    source = "Sui, Zhuang, Burdick, Yue: Multi-dueling Bandits with Dependent Arms, UAI 2017"
    confidence = "from memory, high"
    kernels = Kernels(_ask, _tell, _reset, _best_guess, add_past_vote=add_past_win)
    _of_slates = kernels._replace(ask=_ask_slate, tell=_tell_slate)

    def __init__(self, arms: int, rng: np.random.Generator, slate: Slate = 2) -> None:
        if slate > 2:
            self.slate, self.notes = slate, other_notes(slate)  # type: ignore[misc]
            self.kernels = self._of_slates  # type: ignore[misc]
        super().__init__(arms, rng)
        self.state = SelfSparringState(np.zeros((arms, arms)))
