"""King of the hill: one arm is played, and challenged as often as it pays."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies import _king_panel
from driftduel.policies._king_evidence import STAKES, begin, contest, settle
from driftduel.policies._king_matches import (
    NUMBERS,
    RIVALS,
    WEALTH,
    change,
    crown,
    false_alarms,
    first_state,
    hear,
    open_match,
    present,
    suspect,
)
from driftduel.policies._king_panel import PANEL, PanelState, first_panel_state, holds_together
from driftduel.policies._king_succession import (
    KINDS,
    RECENT,
    by_succession,
    matches_due,
    note_fall,
    remember_succession,
)
from driftduel.policies._king_timing import challenges, without_match
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import (
    COUNT,
    MOST,
    ORDER,
    PRESENT,
    ROUND,
    Growing,
    Named,
    Within,
    records,
)
from driftduel.policies.info import Contest
from driftduel.policies.registry import POLICIES

__all__ = ["King"]


class KingState(NamedTuple):
    """The king, its matches, and what was learned from successions."""

    numbers: Annotated[
        Any,
        Named(**NUMBERS.rules, falls=COUNT, crowd=Within(1, MOST), rhythm=Within(0, 1)),
    ]
    """As in `_king_matches`; and: falls that count for the rate; one more than the arms, all as
    likely, that are as hard to watch as these; and the rate of the last falls."""
    order: Annotated[Any, ORDER]
    """(K,) the order of challengers that are as much overdue."""
    arms: Annotated[
        Any,
        Named(**RIVALS.rules, reigned=ROUND, credit=Within(-MOST, MOST), kind=Within(0, KINDS - 1)),
    ]
    """(K,) as in `_king_matches`; and: the round in which its last long reign ended, or 0; matches
    that it is owed; and what kind of arm it was when it last could be given one."""
    bets: Annotated[Any, WEALTH]
    """(K, 12) what six bets on the challenger own and, from 6 on, what those on the king do."""
    present: Annotated[Any, PRESENT]
    """(K,) whether it is there."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in votes of the past; (0, K) if there were none."""
    successions: Annotated[Any, COUNT]
    """(4,) how often a king fell to an arm of each kind."""
    ended: Annotated[Any, ROUND]
    """(64,) the rounds of the last falls; fall number n is at n modulo 64."""


_challenger = challenges(without_match, matches_due, by_succession(without_match))


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    numbers.now = t
    king, before = numbers.king, numbers.matches
    j = _challenger(state, t)
    if j < 0:
        return king, king
    if numbers.matches > before:
        begin(state, j)
    return king, j


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
    if said == 2 or numbers.held >= 2 * (numbers.here - 1):
        note_fall(state, numbers.now)
    remember_succession(state, numbers.now, j)
    crown(state, numbers.now, j)
    if out > 0:
        open_match(state, since, king)  # with duels that are out, and count for both
        begin(state, king)
        state.arms[king].asked = numbers.now
        state.arms[king].out = out
    if said == 1:
        return 0
    numbers.alarms += 1
    return RESTARTED


def _first_state(order: Any) -> KingState:
    """Return the record of a policy that has seen nothing, and begins with the first in order."""
    arms = len(order)
    plain = first_state(order, falls=0, crowd=float(arms), rhythm=0.0)._asdict()
    rivals = plain.pop("arms")
    more = {name: rivals[name][0].item() for name in rivals.dtype.names}
    return KingState(
        **{**plain, "bets": np.ones((arms, 2 * STAKES))},
        arms=records(arms, **more, reigned=0, credit=0.0, kind=0),
        successions=np.zeros(KINDS),
        ended=np.zeros(RECENT, np.int64),
    )


@POLICIES.register("king")
class King(KernelPolicy):
    """Play one arm against itself, and let it be challenged as often as it pays.

    Ours. It is told nothing: no horizon, number of switches, gap or window, and has no settings.
    Playing (king, king) costs nothing if the king is the winner, but teaches nothing either; so
    everything depends on when to challenge it, and with whom.

    - **A match** of king and challenger ends when the challenger is one win behind; at least half
      of them end after one duel. It costs a winning king about 1/4 whatever the gap D, 1 / (2 D)
      duels of D / 2, and a challenger that is better by D survives it with probability near 4 D:
      what is lost until then does not depend on the gap either. So matches can be timed without
      knowing it.
    - **Whom by.** By who is likely to follow: once it has met everybody, a king falls to its
      closest rival, the last king, one of the two before, or any other arm, and how often each
      happened says how likely an arm is to be the next. Arms have shares of the matches in
      proportion to the square root of that, which is as much work as watching C arms that are all
      as likely. Before the first succession, three count as seen by arms that are all as likely,
      and three by the closest rival.
    - **When.** sqrt((C + 1) F) / 2 matches a round, which balances the cost of matches against what
      is lost until a change is noticed. F is the rate of falls: with S so far (1/2 + S) / t or, if
      that is more, n / 2 over the time of the last n = 2, 4, 8, ... Falls that count are alarms,
      and those of kings that had met everybody twice. Matches are evenly spaced, because the wait
      for the next one is then half as long as if a coin decided. If one has not ended after 64
      duels, another is opened beside it: between two equal arms one could last for ever.
    - **The fall.** Six bets of stakes 0.8, 0.4, ..., 0.025 on the challenger start at 1, and lose
      everything when it is one behind, see `_king_evidence`; their mean is the evidence. An
      established king falls when it reaches 4 E + B / 2, after B matches: an *alarm*, listed as a
      restart. E is 12.5, or half the number of arms if that is more. All records are forgotten.
    - **A fresh king** is challenged at once, K / (2 age) more matches a round, and falls more
      easily, at E 2^(h / (K - 1)) in its h-th match: twice as much after every K - 1, until that
      exceeds 4 E + B / 2 and it is established. This is also how the first winner is found.

    **Guaranteed**: in the first n matches, at most 2 log(1 + n / 100) false alarms are expected,
    whatever the world does. An alarm is false if the challenger was no better than the king in
    every duel of the match. While that holds, each bet, and their mean, is a nonnegative
    supermartingale from 1, whenever the match stops and however preferences change; by Ville's
    inequality it reaches 4 E + B / 2 >= 50 + b / 2 in match number b with probability at most 2 /
    (100 + b), given all before it. Summing up gives the bound; with probability 1 - p there are at
    most 1 / p times as many. It does not cover fresh kings, whose falls are not alarms, nor a wrong
    arm that was established and falls to a better one. It holds

    - for late answers: in the order of asking whatever delays them, in the order of arrival if the
      delay does not depend on who won;
    - for lost answers, if the loss does not depend on who won, and for ties, which leave all bets
      as they are;
    - for options that come and go: a fall to a newcomer or an heir is not an alarm, and a match
      with an arm that has left is void.

    **Only measured**: the regret. Gaps of less than about 0.006 are beyond the smallest bet.

    **Late answers.** A match has at most 2 lead + 1 duels out; while all wait, others may begin;
    otherwise the king is shown alone. If duels are out when a match is lost, they are the first of
    another one, so none of its votes are lost. If the king falls, the duels of that match that are
    still out become the first of the fallen king's own match against the new one. Other answers
    about a former king or match are dropped, even if the same two arms have another match by then.
    A duel that is neither answered nor forgotten within 10,000 rounds counts as lost.

    **Ties** (and forgotten duels) leave a match as it is; after 64 in a row it ends.

    **Options come and go.** The match of a challenger that leaves is void. If the king leaves, the
    arm with the best record against it becomes the new, fresh king. An arm that comes, or comes
    back, has a match at once and another whenever it is seven times as old (1 / (2 age) a round),
    and takes over at 12.5, 25, 50, ... in its first, second, third match, as nothing is known about
    the two. K is the number of arms present.

    **Past votes** are taken before the first duel: it begins with the arm that leads in them, by
    majorities, then by the share of its votes. After the first order of challengers it draws no
    random numbers.

    **In panels** a Bayes filter on the leader's lead over each rival chooses the pair and the
    leader, see `_king_belief`, and the bets only certify which falls are alarms, see `_king_panel`.
    Past votes are taken at any time.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    """

    name: ClassVar[str] = "king"
    guarantee: ClassVar[str] = "2 log(1 + n / 100) false alarms in n matches; regret only measured"
    in_panel: ClassVar[str] = (
        "a form of its own: a Bayes filter chooses pair and leader, bets certify alarms, "
        "2.6 log(1 + n / 100) false ones in n matches; each vote costs what the rival loses"
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
        panel=PANEL,
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = _first_state(rng.permutation(arms).astype(np.int64))

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Count a vote of the past: in panels at any time, else before the first duel."""
        if self.ledger.asked and not self._in_panel():
            raise DriftduelError(
                f"policy {self.name!r} hears votes of the past before its first duel only; "
                f"{self.ledger.asked} were asked for."
            )
        if not len(self.state.heard):
            self.state = self.state._replace(heard=np.zeros((self.arms, self.arms)))
        super().hear(first, second, winner, weight)

    def _enter_mode(self) -> None:
        """Put the kernels of this mode in place, and its record; past votes are counted again."""
        super()._enter_mode()
        before = self.state
        if isinstance(before, PanelState) == self._in_panel():
            return
        make: Any = first_panel_state if self._in_panel() else _first_state
        self.state = make(before.order)
        for winner, loser in np.argwhere(before.heard):
            self.hear(int(winner), int(loser), int(winner), before.heard[winner, loser])

    def wider(self) -> "King":
        """Return a fresh policy like this one, for one more arm; it shares nothing."""
        fresh: Any = super().wider()
        fresh.configure(mode=self.mode)
        return fresh

    def contest(self) -> Contest:
        """Tell since when the king reigns, and how near its challengers are to its fall."""
        return _king_panel.contest(self.state) if self._in_panel() else contest(self.state)

    def false_alarms_at_most(self) -> float | None:
        """Return the bound for the matches so far; in panels they begin with a duel won."""
        return false_alarms(self.state, 2.6 if self._in_panel() else 2.0)

    def _in_panel(self) -> bool:
        """Whether the rules are those of panels."""
        return self.mode == "panel" and type(self).kernels.panel is not None

    def enlarged(self, state: Any, fresh: Any) -> Any:
        """Return the record of one more arm; if votes were heard, with a row for its own."""
        if len(state.heard):
            state = state._replace(heard=np.vstack((state.heard, np.zeros(self.arms))))
        return super().enlarged(state, fresh)

    def check_state(self, state: Any) -> None:
        """Refuse matches that are open and cannot be found, or the other way round."""
        if self._in_panel():
            self.require(holds_together(state))
            return
        numbers, arms, here = state.numbers[0], state.arms, state.present == 1
        on = arms["on"] == 1
        self.require(here[numbers.king] and numbers.here == here.sum())
        self.require(not on[numbers.king] and not on[~here].any() and numbers.open == on.sum())
        self.require(numbers.wake == (0 if numbers.open else numbers.trial))
        self.require((arms["lead"][~on] == -1).all() and len(state.heard) in (0, self.arms))
