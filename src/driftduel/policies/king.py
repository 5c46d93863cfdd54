"""King of the hill: one arm is played, and challenged as often as it pays."""

from typing import Any, ClassVar

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies._king_matches import (
    change,
    contest,
    crown,
    first_state,
    hear,
    open_match,
    present,
    settle,
    suspect,
)
from driftduel.policies._king_panel import panel_kernels
from driftduel.policies._king_timing import challenges
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.info import Contest
from driftduel.policies.registry import POLICIES

__all__ = ["King"]


@hot
def _free(state: Any, i: int) -> bool:
    """Tell whether an arm may be given a match: it is there, not the king, and has none."""
    return i != state.numbers[0].king and not state.arms[i].on and state.present[i]


_challenger = challenges(_free, rate=0.5, fresh_rate=0.5)


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    numbers.now = t
    king = numbers.king
    j = _challenger(state, t)
    return king, king if j < 0 else j


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    return _learn(state, t, first, second, won)


@kernel
def _learn(state: Any, t: int, first: int, second: int, won: int) -> int:
    numbers = state.numbers[0]
    king, j = numbers.king, second
    if first != king:
        if second != king:
            return 0  # the answer came after the reign
        j = first  # asked for when the challenger was king
        won = 1 - won if won >= 0 else won
    rival = state.arms[j]
    if not rival.on or t < rival.since:
        return 0  # the answer came after the match
    said = settle(state, j, won)
    if said <= 0:
        return 0
    since, out = rival.since, rival.out
    crown(state, numbers.now, j)
    if out > 0:
        open_match(state, since, king)  # with duels that are out, and count for both
        state.arms[king].asked = numbers.now
        state.arms[king].out = out
    if said == 1:
        return 0
    numbers.alarms += 1
    return RESTARTED


@POLICIES.register("king")
class King(KernelPolicy):
    """Play one arm against itself, and let it be challenged as often as it pays.

    Ours. Told nothing: no horizon, number of switches, gap or window, and no key to set. Playing
    (king, king) costs nothing if it is the winner, and teaches nothing; everything is in when to
    challenge it, and whom by.

    - **A match** of king and challenger ends when the challenger is one win behind: half of them
      or more, after one duel. It costs a winning king about 1/4 whatever the gap D, 1 / (2 D)
      duels of D / 2, and a challenger that is better by D survives it with probability near 4 D:
      what is lost until then does not depend on the gap either. So matches can be timed without
      knowing it.
    - **When.** With S alarms so far, sqrt(K (1 + S) / t) / 2 matches a round, which balances what
      matches cost with what is lost while a fallen king goes unnoticed; evenly spaced, because the
      wait for the next is then half as long as for one drawn at random.
    - **Whom by.** Everyone in turn; every fourth match is for who came closest, because when
      preferences drift that is who takes over. After 64 duels without an end another match is
      opened beside: between two fallen arms one could last for ever.
    - **The fall.** Six bets of stakes 0.8, 0.4, ..., 0.025 on the challenger start at 1; their mean
      is the evidence. An established king falls when it reaches 50 + B / 2, in B matches so far:
      an *alarm*, listed as a restart. All records are forgotten.
    - **A fresh king** is challenged at once, K / (2 age) more matches a round, and falls more
      easily, at 4 * 2^(h / (K - 1)) in its h-th match: twice as much after every K - 1, until
      that exceeds 50 + B / 2 and it is established. This is also how the first winner is found.

    **Guaranteed**: in the first n matches, at most 2 log(1 + n / 100) false alarms are expected,
    whatever the world does. A false alarm is one in a match in all of whose duels the challenger
    was no better than the king. While that holds, each bet, and their mean, is a nonnegative
    supermartingale from 1, whenever the match stops and however preferences change; by Ville's
    inequality it reaches 50 + B / 2 >= 50 + b / 2 in match number b with probability at most
    2 / (100 + b), given all before it. Summing up gives the bound; with probability 1 - p there are
    at most 1 / p times as many. It does not cover fresh kings, whose falls are no alarms, nor a
    wrong arm that was established and falls to a better one. It holds

    - for answers that come late: in the order of asking whatever delays them, in that of arrival if
      the delay has nothing to do with who won;
    - for answers that are lost, if that has nothing to do with who won, and for ties: what nobody
      won leaves all bets as they are;
    - for options that come and go: what fells a king in favour of a newcomer or an heir is no
      alarm, and a match with who has left is void.

    **Only measured**: the regret. Gaps of less than about 0.006 are beyond the smallest bet.

    **Late answers.** A match has at most 2 lead + 1 duels out; if all wait, others may begin, and
    else the king is shown alone. It is over when the challenger is behind and nothing is out, so no
    vote of it is lost. If the king falls, what is out of that match begins the fallen king's own
    against the new one. Other answers about a king or a match that is gone are dropped, also if
    the same two have another by then. A duel that is neither answered nor forgotten in 10,000
    rounds is taken for lost.

    **Ties** (and forgotten duels) leave a match as it is; after 64 in a row it ends.

    **Options come and go.** The match of a challenger that leaves is void. If the king leaves, the
    arm with the best record against it is crowned, fresh. Who comes, or comes back, has a match
    at once and others whenever it is seven times as old (1 / (2 age) a round), and may fell the
    king at 4, 8, 16, ... in its first, second, third, as nothing is known of the two. K is the
    number of arms present.

    **Past votes** are heard before the first duel: it begins with who leads in them, by majorities,
    then by the share of its votes. It draws nothing after the first order of challengers.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    """

    name: ClassVar[str] = "king"
    guarantee: ClassVar[str] = "2 log(1 + n / 100) false alarms in n matches; regret only measured"
    in_panel: ClassVar[str] = (
        "a form of its own, in which the king meets everyone all the time: 2.6 log(1 + n / 100) "
        "false alarms in n matches; each vote costs what the challenger loses"
    )
    alerts: ClassVar[bool] = True
    source: ClassVar[str] = "ours"
    confidence: ClassVar[str] = "our own"
    kernels: ClassVar[Kernels] = Kernels(
        _ask,
        _tell,
        suspect=suspect,
        unanswered=True,
        change=change,
        present=present,
        hear=hear,
        panel=panel_kernels(hear),
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = first_state(rng.permutation(arms).astype(np.int64))

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Count a vote of the past, before the first duel: it begins with who leads in them."""
        if self.ledger.asked:
            raise DriftduelError(
                f"policy {self.name!r} hears votes of the past before its first duel only; "
                f"{self.ledger.asked} were asked for."
            )
        if not len(self.state.heard):
            self.state = self.state._replace(heard=np.zeros((self.arms, self.arms)))
        super().hear(first, second, winner, weight)

    def contest(self) -> Contest:
        """Tell since when the king reigns, and how near its challengers are to its fall."""
        return contest(self.state)

    def enlarged(self, state: Any, fresh: Any) -> Any:
        """Return the record of one more arm; if votes were heard, with a row for its own."""
        if len(state.heard):
            state = state._replace(heard=np.vstack((state.heard, np.zeros(self.arms))))
        return super().enlarged(state, fresh)

    def check_state(self, state: Any) -> None:
        """Refuse matches that are open and cannot be found, or the other way round."""
        numbers, arms, here = state.numbers[0], state.arms, state.present == 1
        on = arms["on"] == 1
        self.require(here[numbers.king] and numbers.here == here.sum())
        self.require(not on[numbers.king] and not on[~here].any() and numbers.open == on.sum())
        self.require(numbers.wake == (0 if numbers.open else numbers.trial))
        self.require((arms["lead"][~on] == -1).all() and len(state.heard) in (0, self.arms))
