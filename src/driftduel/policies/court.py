"""A court: king of the hill for worlds in which nobody beats everybody."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._minimax import solve, workspace
from driftduel._random import uniform
from driftduel.policies._king_matches import (
    NUMBERS,
    RIVALS,
    WEALTH,
    change,
    close_match,
    contest,
    crown,
    first_state,
    heir,
    present,
    settle,
    suspect,
)
from driftduel.policies._king_timing import challenges
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import (
    ANY,
    ARMS,
    COUNT,
    FLAG,
    ORDER,
    PRESENT,
    SHARES,
    Named,
    Within,
)
from driftduel.policies.info import Contest
from driftduel.policies.registry import POLICIES

__all__ = ["Court"]

_MEMORY = 300.0  # duels of a pair in court that count
_HEARSAY = 10.0  # duels that count of one who joins with those it did not meet in its match
_SOLVE_AFTER = 64.0  # answers in court after which its shares are computed anew ...
_AGEING = 0.1  # ... and so much later each time
_REST = 16  # duels since the last match was opened, for each round of rest between two of them
_SMALL = 0.02  # a share that is dropped, if nobody gains more than _HARM by it
_LARGE = 0.9  # a share that is made 1, if nobody gains more than _SMALL by it
_HARM = 0.01


class State(NamedTuple):
    """The court, and the matches for a seat in it."""

    numbers: Annotated[
        Any,
        Named(**NUMBERS.rules, seats=Within(1, ARMS), rested=COUNT, answers=COUNT, solved=COUNT),
    ]
    """As of a king, which is the arm with the largest share; those here are the court, as one, and
    everyone outside. And: arms with a share; rounds since the last duel of a match; answers in
    court since the shares were computed, and how often they were since somebody joined."""
    order: Annotated[Any, ORDER]
    """(K,) the order in which challengers come."""
    arms: Annotated[Any, RIVALS]
    """(K,) of each arm, as of a king's challengers."""
    bets: Annotated[Any, WEALTH]
    """(K, 6) the wealth of six bets on the challenger, from 1 at the start of its match."""
    present: Annotated[Any, PRESENT]
    """(K,) whether it is there."""
    shares: Annotated[Any, SHARES]
    """(K,) how often each arm is played in court; 0 for those outside."""
    known: Annotated[Any, FLAG]
    """(K,) whether it is remembered: it has, or had, a seat."""
    wins: Annotated[Any, COUNT]
    """(K, K) remembered wins of those known over each other."""
    met: Annotated[Any, COUNT]
    """(K, K) wins in the open match of the one that is outside."""
    members: Annotated[Any, ANY]
    """(K,) scratch: who is known."""
    gaps: Annotated[Any, ANY]
    """(K, K) scratch: how much more often than not these beat each other, as estimated."""
    mixture: Annotated[Any, ANY]
    """(K,) scratch: their shares."""
    table: Annotated[Any, ANY]
    """(K + 1, K + 1) scratch of the solver."""
    names: Annotated[Any, ANY]
    """(2, K) scratch of the solver."""


# ---- rounds ----


@hot
def _free(state: Any, i: int) -> bool:
    """Tell whether an arm may be given a match: it is there, without a seat, and has none."""
    return state.shares[i] == 0.0 and not state.arms[i].on and state.present[i]


_challenger = challenges(_free, rate=0.5, fresh_rate=0.5)


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    numbers.now = t
    notes[0] = 0.0
    mixing = numbers.seats > 1
    # A match against a mixture that is wrong may last for ever; the court learns on meanwhile.
    if not (mixing and numbers.open > 0 and numbers.rested < numbers.waited // _REST):
        j = _challenger(state, t)
        if j >= 0:
            numbers.rested = 0
            if state.arms[j].since == t:
                _clear(state.met, j)
            return _seated(state, rng) if mixing else numbers.king, j
    numbers.rested += 1
    if not mixing:
        return numbers.king, numbers.king
    notes[0] = 1.0
    return _seated(state, rng), _seated(state, rng)


@kernel
def _clear(counts: Any, j: int) -> None:
    """Forget how an arm did against the others."""
    for i in range(len(counts)):
        counts[i, j] = 0.0
        counts[j, i] = 0.0


@hot
def _seated(state: Any, rng: Any) -> int:
    """Draw one of the court."""
    u, j = uniform(rng), state.numbers[0].king
    for i in range(len(state.arms)):
        if state.shares[i] > 0.0:
            j = i
            u -= state.shares[i]
            if u < 0.0:
                break
    return j


# ---- answers ----


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    return _learn(state, t, first, second, won, notes[0] == 1.0)


@kernel
def _learn(state: Any, t: int, first: int, second: int, won: int, in_court: bool) -> int:
    rival = state.arms[second]
    if in_court or not rival.on or t < rival.since:  # or the answer came after the match
        if won >= 0 and state.known[first] and state.known[second]:
            _remember(state, first, second, won)
        return 0
    if won >= 0:
        state.met[first if won else second, second if won else first] += 1.0
    said = settle(state, second, won)
    if said <= 0:
        return 0
    _join(state, second, said == 2)
    if said == 1:
        return 0
    state.numbers[0].alarms += 1
    return RESTARTED


@hot
def _remember(state: Any, first: int, second: int, won: int) -> None:
    """Note how two of the court did against each other; now and then compute its shares."""
    numbers, wins = state.numbers[0], state.wins
    wins[first if won else second, second if won else first] += 1.0
    _fade(wins, first, second, _MEMORY)
    numbers.answers += 1
    if numbers.answers >= _SOLVE_AFTER * (1.0 + _AGEING * numbers.solved):
        numbers.solved += 1
        _seat(state)


# ---- the court ----


@kernel
def _join(state: Any, j: int, alarm: bool) -> None:
    """Let a challenger join the court: its match tells how it does against those it met."""
    numbers, wins = state.numbers[0], state.wins
    arms = len(state.arms)
    if alarm and numbers.seats == 1:
        # It was a winner, and is none: what was known of the others is of another time.
        for i in range(arms):
            if i != numbers.king:
                _forget(state, i)
    for i in range(arms):
        if state.known[i] and state.met[i, j] + state.met[j, i] > 0.0:
            wins[i, j], wins[j, i] = state.met[i, j], state.met[j, i]
        else:
            _fade(wins, i, j, _HEARSAY)
    state.known[j] = 1
    crown(state, numbers.now, j)
    numbers.solved = 0
    _seat(state)


@hot
def _fade(wins: Any, i: int, j: int, most: float) -> None:
    """Let the duels of a pair count for no more than `most`."""
    n = wins[i, j] + wins[j, i]
    if n > most:
        wins[i, j] *= most / n
        wins[j, i] *= most / n


@hot
def _forget(state: Any, i: int) -> None:
    state.known[i] = 0
    _clear(state.wins, i)


@kernel
def _seat(state: Any) -> None:
    """Compute the shares of those known: a mixture that, as far as is known, nobody beats."""
    numbers = state.numbers[0]
    members, mixture, shares = state.members, state.mixture, state.shares
    n = _estimate(state)
    solve(state.gaps, n, state.table, state.names, mixture)
    _round(state.gaps, n, mixture)
    for i in range(len(shares)):
        if shares[i] > 0.0:  # who lost its seat is a stranger
            state.arms[i].record = 0.5
            state.arms[i].seen = 0.0
        shares[i] = 0.0
    numbers.seats = 0
    most = 0.0
    for a in range(n):
        i = members[a]
        shares[i] = mixture[a]
        if mixture[a] > 0.0:
            numbers.seats += 1
            if state.arms[i].on:
                close_match(state, i)
        if mixture[a] > most:
            most, numbers.king = mixture[a], i
    numbers.here = state.present.sum() + 1 - numbers.seats
    numbers.answers = 0


@hot
def _estimate(state: Any) -> int:
    """Estimate the gaps of those known, as if each had one win more; return how many they are."""
    gaps, wins, n = state.gaps, state.wins, 0
    for i in range(len(state.known)):
        if state.known[i]:
            state.members[n] = i
            n += 1
    for a in range(n):
        gaps[a, a] = 0.0
        for b in range(a):
            i, j = state.members[a], state.members[b]
            gaps[a, b] = (wins[i, j] + 1.0) / (wins[i, j] + wins[j, i] + 2.0) - 0.5
            gaps[b, a] = -gaps[a, b]
    return n


@hot
def _round(gaps: Any, n: int, mixture: Any) -> None:
    """Drop small shares, or all but one, where that gives hardly anything away."""
    top = 0
    for a in range(n):
        if mixture[a] > mixture[top]:
            top = a
    least = min(_SMALL, mixture[top])
    large = 0.0
    for a in range(n):
        if mixture[a] >= least:
            large += mixture[a]
    alone, rounded = 0.0, 0.0  # what is given away
    for a in range(n):
        gain = 0.0
        for b in range(n):
            if mixture[b] >= least:
                gain += gaps[a, b] * mixture[b] / large
        rounded = max(rounded, gain)
        alone = max(alone, gaps[a, top])
    if mixture[top] > _LARGE and alone <= _SMALL:
        large, least = mixture[top], mixture[top]
    elif rounded > _HARM:
        return
    for a in range(n):
        mixture[a] = mixture[a] / large if mixture[a] >= least else 0.0


# ---- arms that come and go; the past ----


@kernel
def _change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Let an arm come, as a newcomer, or leave before round `t`; who leaves is forgotten."""
    if state.present[arm] == here:
        return
    seated = state.shares[arm] > 0.0
    if here == 0:
        _forget(state, arm)
    if not seated:
        change(state, rng, t, arm, here)
        return
    state.present[arm] = 0
    if state.known.sum() == 0:  # the best record is crowned, as a king's heir is
        j = heir(state)
        state.known[j] = 1
        crown(state, t - 1, j)
        state.numbers[0].solved = 0
    _seat(state)


@kernel
def _hear(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a vote of the past, and begin with the shares that all of them give."""
    for arm in (winner, loser):
        state.known[arm] = state.present[arm]
    if state.known[winner] == 1 and state.known[loser] == 1:
        state.wins[winner, loser] += weight
        _fade(state.wins, winner, loser, _MEMORY)
        _seat(state)


@POLICIES.register("court")
class Court(KernelPolicy):
    """Play a mixture that nobody beats, and let it be challenged as often as it pays.

    Ours: `king`, where nobody may beat everybody. Told nothing, and no key to set. There is always
    a mixture of arms that no arm beats on average, the von Neumann winner; where one arm beats all
    others it is that arm alone, and a court of one is a king.

    - **In court** both arms of a round are drawn from the mixture, so that playing it teaches how
      its own arms do against each other. These answers are remembered, of each pair as many as 300
      count for. After 64 of them, and each time after 6.4 more than the time before, the mixture is
      computed anew, exactly, from (wins + 1) / (duels + 2). Shares below 0.02 are dropped, and one
      above 0.9 is made all, where by these estimates hardly anybody gains by it.
    - **A match** is played by an arm without a share against arms drawn from the mixture. When, by
      whom, and with what evidence is as of `king`, to whom the court is one arm. After n duels
      since the last match was opened, the court plays n / 16 rounds among itself before the next
      one: against a mixture that is wrong a match may be even for ever, and only the court's own
      duels can tell.
    - **Who wins a match joins.** Its match says how it does against those it met, and replaces what
      was remembered; of the others ten old duels count. If a king that stood alone and was
      established falls, all else is forgotten, too: it was the winner, and the world has changed.
      Answers of lost matches are not remembered: they stop at one behind, and would look like 49 %.

    **Guaranteed**: in the first n matches at most 2 log(1 + n / 100) false alarms are expected. A
    false alarm is one in a match in all of whose duels the challenger was no better than the
    mixture of the round in which it was asked for: whatever happened before, the opponent is drawn
    from that mixture, so each bet is a nonnegative supermartingale as king's are. It takes answers
    that are learned in the order of asking, or late by a delay that has nothing to do with who met
    whom and who won. It does not cover a fresh court, nor a mixture that was wrong and is beaten.
    **Only measured**: exploitability.

    **Late answers** of a match that is over are remembered if both arms have a seat, or had one.
    `best` is the arm with the largest share; `info` has all shares.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    """

    name: ClassVar[str] = "court"
    guarantee: ClassVar[str] = (
        "2 log(1 + n / 100) false alarms in n matches; exploitability only measured"
    )
    alerts: ClassVar[bool] = True
    source: ClassVar[str] = "ours"
    confidence: ClassVar[str] = "our own"
    notes = (FLAG,)
    kernels: ClassVar[Kernels] = Kernels(
        _ask,
        _tell,
        suspect=suspect,
        unanswered=True,
        change=_change,
        present=present,
        hear=_hear,
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        order = rng.permutation(arms).astype(np.int64)
        alone = first_state(order, seats=1, rested=0, answers=0, solved=0)._asdict()
        del alone["heard"]
        shares = np.zeros(arms)
        shares[order[0]] = 1.0
        table, names = workspace(arms)
        self.state = State(
            **alone,
            shares=shares,
            known=(shares > 0).astype(np.int64),
            wins=np.zeros((arms, arms)),
            met=np.zeros((arms, arms)),
            members=np.zeros(arms, np.int64),
            gaps=np.zeros((arms, arms)),
            mixture=np.zeros(arms),
            table=table,
            names=names,
        )

    def contest(self) -> Contest:
        """Tell the shares, since when somebody has a seat, and how near others are to one."""
        return contest(self.state)._replace(shares=tuple(self.state.shares.tolist()))

    def enlarged(self, state: Any, fresh: Any) -> Any:
        """Return the record of one more arm, which has no seat."""
        wide = super().enlarged(state, fresh)
        wide.shares[-1] = wide.known[-1] = 0
        return wide

    def check_state(self, state: Any) -> None:
        """Refuse seats and matches that do not belong together."""
        numbers, arms, here = state.numbers[0], state.arms, state.present == 1
        on, known, seated = arms["on"] == 1, state.known == 1, state.shares > 0
        self.require(seated[numbers.king] and not (seated & ~known).any())
        self.require(not (known & ~here).any() and numbers.seats == seated.sum())
        self.require(numbers.here == here.sum() + 1 - numbers.seats)
        self.require(not on[seated].any() and not on[~here].any() and numbers.open == on.sum())
        self.require(numbers.wake == (0 if numbers.open else numbers.trial))
        self.require((arms["lead"][~on] == -1).all())
