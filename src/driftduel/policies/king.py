"""Policy `king`: exploits one arm and tests it against challengers in sequential matches."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies import _king_panel
from driftduel.policies._king_evidence import STAKES, begin, contest, settle
from driftduel.policies._king_matches import (
    NUMBERS,
    RIVALS,
    WEALTH,
    add_past_vote,
    best_guess,
    change,
    crown,
    false_alarms,
    first_state,
    open_match,
    present,
)
from driftduel.policies._king_panel import PANEL, PanelState, first_panel_state, holds_together
from driftduel.policies._king_slates import on_slates
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
from driftduel.policies.slates import Slate, other_notes

__all__ = ["King"]


class KingState(NamedTuple):
    """The king, its matches, and statistics of past successions."""

    numbers: Annotated[
        Any,
        Named(**NUMBERS.rules, falls=COUNT, crowd=Within(1, MOST), rhythm=Within(0, 1)),
    ]
    """Fields of `_king_matches`, and: number of falls that count for the rate; effective number of
    arms (one more than the number of equally likely rivals); rate of the last falls per round."""
    order: Annotated[Any, ORDER]
    """(K,) tie-break: the order of challengers that are equally overdue."""
    arms: Annotated[
        Any,
        Named(**RIVALS.rules, reigned=ROUND, credit=Within(-MOST, MOST), kind=Within(0, KINDS - 1)),
    ]
    """(K,) fields of `_king_matches`, and: the round in which its last long reign ended, or 0; the
    credit of matches not yet opened; its kind at the last opportunity to open one."""
    bets: Annotated[Any, WEALTH]
    """(K, 12) wealth of six bets on the challenger and, from index 6, of six bets on the king."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 if the arm is present, else 0."""
    heard: Annotated[Any, Growing(COUNT)]
    """(K, K) wins in past votes; shape (0, K) if there are none."""
    successions: Annotated[Any, COUNT]
    """(4,) number of falls to an arm of each kind."""
    ended: Annotated[Any, ROUND]
    """(64,) ring buffer of the rounds of the last falls; fall n is at index n modulo 64."""


_next_one = by_succession(without_match)
_challenger = challenges(without_match, matches_due, _next_one)


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
            return 0  # the answer arrived after the end of the reign
        j = first  # the challenger was king when this duel was chosen
        won = 1 - won if won >= 0 else won
    rival = state.arms[j]
    if not rival.on or t < rival.since:
        return 0  # the answer arrived after the end of the match
    said = settle(state, j, won)
    if said <= 0:
        return 0
    since, out = rival.since, rival.out
    if said == 2 or numbers.held >= 2 * (numbers.here - 1):
        note_fall(state, numbers.now)
    remember_succession(state, numbers.now, j)
    crown(state, numbers.now, j)
    if out > 0:
        open_match(state, since, king)  # its pending duels count for the new match as well
        begin(state, king)
        state.arms[king].asked = numbers.now
        state.arms[king].out = out
    if said == 1:
        return 0
    numbers.alarms += 1
    return RESTARTED


def _first_state(order: Any) -> KingState:
    """Return the initial record of a policy; the first king is the first arm in `order`."""
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
    """Exploit one arm, the king, and test it against challengers at a data-driven rate.

    Our own algorithm. Prior knowledge: none; it has no horizon, number of switches, gap or window
    as a parameter. The duel (king, king) has no regret if the king is the winner, but carries no
    information either; the algorithm consists of rules for the time and the opponent of a test.

    - **A match** of king and challenger ends when the challenger is one win behind; at least half
      of the matches end after one duel. Against a king that is better by D, a match costs about
      1/4 for each gap D, namely 1 / (2 D) duels of regret D / 2; a challenger that is better by D
      survives with probability near 4 D, and the loss until then is independent of the gap, too.
      Matches can therefore be scheduled without knowledge of the gap.
    - **Choice of the challenger.** By the probability of being the next king: a king that has met
      all arms falls to its closest rival, the last king, one of the two before, or any other arm,
      and the counts of these four cases give a probability per arm. The share of matches of an arm
      is proportional to the square root of this probability; the cost is that of monitoring C
      equally likely arms. The prior counts are three cases of equally likely arms and three of the
      closest rival.
    - **Rate of matches.** sqrt((C + 1) F) / 2 per round, which balances the cost of matches and the
      loss until a change is detected. F is the rate of falls: with S falls so far (1/2 + S) / t,
      or n / 2 over the time of the last n = 2, 4, 8, ..., whichever is larger. Alarms count as
      falls, and so do falls of kings that had met all arms twice. Matches are evenly spaced; at
      random times the mean wait for the next match would be twice as long. After 64 duels without
      an end a second match is opened in parallel, because a match of two equal arms is unbounded.
    - **The fall.** Six bets of stakes 0.8, 0.4, ..., 0.025 on the challenger start with the value 1
      and become 0 when it is one behind, see `_king_evidence`; the evidence is their mean. An
      established king falls at evidence 4 E + B / 2 after B matches: an *alarm*, listed as a
      restart. E is the larger of 12.5 and half the number of arms. All records are reset.
    - **A fresh king** is tested immediately, with K / (2 age) additional matches per round, and has
      a lower threshold, E 2^(h / (K - 1)) in match h: it doubles with every K - 1 matches until it
      exceeds 4 E + B / 2 and the king is established. The first winner is found by the same rule.

    **Guarantee**: in the first n matches, the expected number of false alarms is at most
    2 log(1 + n / 100) in every environment. An alarm is false if the challenger was no better than
    the king in every duel of the match. Under this hypothesis each bet, and their mean, is a
    nonnegative supermartingale with initial value 1, for every stopping rule and any changes of
    preferences; by Ville's inequality it reaches 4 E + B / 2 >= 50 + b / 2 in match number b with
    conditional probability at most 2 / (100 + b). The sum over b gives the bound; with probability
    1 - p the number is at most 1 / p times as large. The bound excludes fresh kings, whose falls
    are not alarms, and a wrong arm that was established and falls to a better one. It holds

    - for late answers: with order "asked" for any delay, with order "arrival" if the delay is
      independent of the winner;
    - for lost answers, if the loss is independent of the winner, and for ties, which leave the
      value of all bets unchanged;
    - for options that come and go: a fall to a newcomer or an heir is not an alarm, and a match
      with an arm that has left is void.

    **Measured only**: the regret. Gaps below about 0.006 are beyond the smallest bet.

    **Late answers.** A match has at most 2 lead + 1 pending duels; meanwhile other matches may
    begin; otherwise the king is shown alone. If a match is lost with pending duels, these become
    the first duels of the next match, so no vote is lost. If the king falls, the pending duels of
    that match become the first of a match of the fallen king against the new one. Other answers
    about a former king or match are dropped, even if a later match has the same two arms. A duel
    without an answer after 10,000 rounds counts as lost.

    **Ties** and forgotten duels leave a match unchanged; after 64 in a row it ends.

    **Options come and go.** The match of a challenger that leaves is void. If the king leaves, its
    heir becomes the fresh king: the arm with the best record against it. An arm that arrives has a
    match immediately and further ones at a rate of 1 / (2 age) per round (each time its age has
    grown by a factor of about seven), with thresholds 12.5, 25, 50, ... in its first, second,
    third match, because its strength is unknown. K is the number of present arms.

    **Past votes** are accepted before the first duel and select the first king: the arm with most
    majorities, ties broken by its share of votes. The only random draw is the initial order of
    challengers.

    **Panel mode**: a Bayes filter on the leader's lead over each rival chooses the pair and the
    leader, see `_king_belief`; the bets only decide which falls are alarms, see `_king_panel`. Past
    votes are accepted at any time.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object for the initial
        order.
    slate
        The largest number of arms shown at once. With 3 or more, up to ``slate - 1`` challengers
        meet the king in one round, and an answer is a decided duel of the king and each challenger
        that it orders against the king; see `_king_slates`. The guarantee then needs choices after
        Plackett and Luce (the independence of irrelevant alternatives).

    References
    ----------
    docs/research/king.md has the derivation, the measurements and the test worlds.
    """

    name: ClassVar[str] = "king"
    guarantee: ClassVar[str] = "2 log(1 + n / 100) false alarms in n matches; regret only measured"
    in_panel: ClassVar[str] = (
        "separate kernels: a Bayes filter chooses pair and leader, bets certify alarms, "
        "2.6 log(1 + n / 100) false ones in n matches; each vote costs what the rival loses"
    )
    alerts: ClassVar[bool] = True
    source: ClassVar[str] = "ours"
    confidence: ClassVar[str] = "our own"
    kernels: ClassVar[Kernels] = Kernels(
        _ask,
        _tell,
        best_guess=best_guess,
        unanswered=True,
        change=change,
        present=present,
        add_past_vote=add_past_vote,
        panel=PANEL,
    )

    def __init__(self, arms: int, rng: np.random.Generator, slate: Slate = 2) -> None:
        if slate > 2:
            self.slate, self.notes = slate, other_notes(slate)  # type: ignore[misc]
            self.kernels = on_slates(type(self).kernels, slate, _next_one)  # type: ignore[misc]
        super().__init__(arms, rng)
        self.state = _first_state(rng.permutation(arms).astype(np.int64))

    def add_past_vote(
        self, first: int, second: int, winner: int | None, weight: float = 1.0
    ) -> None:
        """Count a past vote; in serve mode before the first duel only, else DriftduelError."""
        if self.ledger.asked and not self._in_panel():
            raise DriftduelError(
                f"policy {self.name!r} accepts past votes before its first duel only; "
                f"{self.ledger.asked} duels were already chosen."
            )
        if not len(self.state.heard):
            self.state = self.state._replace(heard=np.zeros((self.arms, self.arms)))
        super().add_past_vote(first, second, winner, weight)

    def _enter_mode(self) -> None:
        """Install kernels and record of the present mode; past votes are counted again."""
        super()._enter_mode()
        before = self.state
        if isinstance(before, PanelState) == self._in_panel():
            return
        make: Any = first_panel_state if self._in_panel() else _first_state
        self.state = make(before.order)
        for winner, loser in np.argwhere(before.heard):
            self.add_past_vote(int(winner), int(loser), int(winner), before.heard[winner, loser])

    def wider(self) -> "King":
        """Return a new policy with one more arm and the same parameters; no array is shared."""
        fresh: Any = super().wider()
        fresh.configure(mode=self.mode)
        return fresh

    def contest(self) -> Contest:
        """Return the round of the coronation and the challengers by share of their threshold."""
        return _king_panel.contest(self.state) if self._in_panel() else contest(self.state)

    def false_alarms_at_most(self) -> float | None:
        """Return the bound for the matches so far; in panel mode a match begins with a win."""
        return false_alarms(self.state, 2.6 if self._in_panel() else 2.0)

    def _in_panel(self) -> bool:
        """Return whether the policy is in panel mode."""
        return self.mode == "panel" and type(self).kernels.panel is not None

    def enlarge_state(self, state: Any, fresh: Any) -> Any:
        """Return the record for one more arm, with a row of past votes if there are any."""
        if len(state.heard):
            state = state._replace(heard=np.vstack((state.heard, np.zeros(self.arms))))
        return super().enlarge_state(state, fresh)

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError if counters disagree with the flags of open matches."""
        if self._in_panel():
            self.require(holds_together(state))
            return
        numbers, arms, here = state.numbers[0], state.arms, state.present == 1
        on = arms["on"] == 1
        self.require(here[numbers.king] and numbers.here == here.sum())
        self.require(not on[numbers.king] and not on[~here].any() and numbers.open == on.sum())
        self.require(numbers.wake == (0 if numbers.open else numbers.trial))
        self.require((arms["lead"][~on] == -1).all() and len(state.heard) in (0, self.arms))
