"""A court: a mixture of arms for worlds without a Condorcet winner."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel._internal.minimax import least_exploited, solve, workspace
from driftduel.policies._king_evidence import STAKES, begin, bet_and_judge, contest, start_over
from driftduel.policies._king_matches import (
    NUMBERS,
    RIVALS,
    WEALTH,
    best_guess,
    change,
    close_match,
    crown,
    false_alarms,
    first_state,
    heir,
    present,
    settling,
)
from driftduel.policies._king_timing import by_alarms, by_turns, challenges
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

_RECENT = 100.0  # maximum number of recent duels of a pair in court
_MEMORY = 200.0  # maximum number of duels of a pair in a court of age 1, see _age
_STALE = 30.0  # the part of the recent duels that is kept after a detected difference
_DOUBT = 20.0  # threshold of the test in squared standard errors, plus 2 for each pair
_HEARSAY = 10.0  # old duels of a joining arm that count, with arms it did not meet
_PRESUMED = 1.0  # prior wins over arms that it never met
_LONG = 256.0  # duels of a match after which the estimates decide
_SOLVE_AFTER = 64.0  # answers in court between two solutions of a court of age 1
_AGEING = 0.1  # increase of the age per solution
_SMALL = 0.02  # a share below this is dropped if no arm gains more than _HARM by it
_LARGE = 0.9  # a share above this becomes 1 if no arm gains more than _SMALL by it
_HARM = 0.01
_AHEAD = 0.5  # number of rounds to compensate past gains, as a fraction of the rounds so far
_PLAN = 128.0  # the minimum of that number
_TILT = 0.5  # fraction of tilted play; the rest follows the shares, so that all pairs are compared
_ITERATIONS = 20  # of the fixed point for the weights of opponents
_APART = 0.45  # largest share at which self-duels can be avoided


class CourtState(NamedTuple):
    """The court (arms with a positive share), and the matches of the arms outside."""

    numbers: Annotated[
        Any,
        Named(**NUMBERS.rules, seats=Within(1, ARMS), answers=COUNT, solved=COUNT),
    ]
    """Fields of a king, which is the arm with the largest share; `here` counts the court as one
    arm, plus the arms outside. And: number of arms with a share; answers in court since the shares
    were computed, and number of solutions since an arm joined or a difference was detected."""
    order: Annotated[Any, ORDER]
    """(K,) the order of challengers."""
    arms: Annotated[Any, RIVALS]
    """(K,) values of each arm as a challenger, see `_king_matches`."""
    bets: Annotated[Any, WEALTH]
    """(K, 12) wealth of six bets on the challenger and, from index 6, of six bets on the court."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 if the arm is present, else 0."""
    shares: Annotated[Any, SHARES]
    """(K,) the mixture; 0 for arms outside."""
    tilted: Annotated[Any, SHARES]
    """(K,) the probabilities of the arms in court, see `_tilt`."""
    pairing: Annotated[Any, Within(0, 1)]
    """(K,) the weights of the opponents, see `_pair`; all 0 if self-duels are allowed."""
    played: Annotated[Any, COUNT]
    """(K,) number of plays of each arm since the last detected change."""
    known: Annotated[Any, FLAG]
    """(K,) 1 if the arm is known: it has, or had, a seat."""
    wins: Annotated[Any, COUNT]
    """(K, K) stored wins of the known arms over each other."""
    recent: Annotated[Any, COUNT]
    """(K, K) the recent part of these wins."""
    met: Annotated[Any, COUNT]
    """(K, K) wins in the match of an arm outside; on the diagonal the number of its duels."""
    members: Annotated[Any, ANY]
    """(K,) scratch: indices of the known arms."""
    gaps: Annotated[Any, ANY]
    """(K, K) scratch: estimated gaps between these arms."""
    mixture: Annotated[Any, ANY]
    """(K,) scratch: their shares."""
    table: Annotated[Any, ANY]
    """(K + 1, K + 1) scratch of the solver."""
    names: Annotated[Any, ANY]
    """(2, K) scratch of the solver."""


# ---- rounds ----


@hot
def _free(state: Any, i: int) -> bool:
    """Return whether a match may be opened for an arm: present, no seat, without a match."""
    return state.shares[i] == 0.0 and not state.arms[i].on and state.present[i]


_challenger = challenges(_free, by_alarms(rate=0.5, fresh_rate=0.5, prior=0.5), by_turns(_free))


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    numbers.now = t
    notes[0] = 0.0
    mixing = numbers.seats > 1
    j = _challenger(state, t)
    if j >= 0:
        if state.arms[j].since == t:
            _clear(state.met, j)
            begin(state, j)
        i = _draw_seat(state.shares, numbers.king, rng) if mixing else numbers.king
        state.played[i] += 1.0
        return i, j
    if not mixing:
        state.played[numbers.king] += 2.0
        return numbers.king, numbers.king
    notes[0] = 1.0
    i = _draw_seat(state.tilted, numbers.king, rng)
    j = _another(state, i, rng)
    state.played[i] += 1.0
    state.played[j] += 1.0
    return i, j


@hot
def _age(state: Any) -> float:
    """Return the age of a court: about sqrt(answers) / 18, and at least 1."""
    return 1.0 + _AGEING * state.numbers[0].solved


@kernel
def _clear(counts: Any, j: int) -> None:
    """Reset the counts of an arm against the others to 0."""
    for i in range(len(counts)):
        counts[i, j] = 0.0
        counts[j, i] = 0.0


@hot
def _draw_seat(shares: Any, king: int, rng: Any) -> int:
    """Draw an arm of the court."""
    u, j = uniform(rng), king
    for i in range(len(shares)):
        if shares[i] > 0.0:
            j = i
            u -= shares[i]
            if u < 0.0:
                break
    return j


@hot
def _another(state: Any, i: int, rng: Any) -> int:
    """Draw the opponent of an arm of the court: a different one, if the shares allow it."""
    pairing = state.pairing
    whole = 0.0
    for k in range(len(pairing)):
        whole += pairing[k]
    if whole == 0.0:
        return _draw_seat(state.tilted, i, rng)
    u, j = uniform(rng) * (whole - pairing[i]), i
    for k in range(len(pairing)):
        if pairing[k] > 0.0 and k != i:
            j = k
            u -= pairing[k]
            if u < 0.0:
                break
    return j


@hot
def _pair(state: Any) -> None:
    """Compute weights of opponents that avoid self-duels and keep the probabilities of play.

    A self-duel carries no information. If arm i is drawn with probability q_i, and its opponent k
    with probability w_k / (1 - w_i), the opponent has the distribution q as well if w_i (1 - w_i)
    is proportional to q_i: a fixed point, which exists if no q_i exceeds 1/2.
    """
    tilted, pairing = state.tilted, state.pairing
    most = 0.0
    for i in range(len(tilted)):
        most = max(most, tilted[i])
    for i in range(len(tilted)):
        pairing[i] = tilted[i] if most < _APART else 0.0
    if most >= _APART:
        return
    for _ in range(_ITERATIONS):
        whole = 0.0
        for i in range(len(tilted)):
            pairing[i] = tilted[i] / (1.0 - pairing[i])
            whole += pairing[i]
        for i in range(len(tilted)):
            pairing[i] /= whole


# ---- answers ----


@hot
def _start_over(state: Any, j: int) -> None:
    """Start the next match of `j` with the pending duels of a lost one."""
    _clear(state.met, j)
    start_over(state, j)


_settle = settling(bet_and_judge, _start_over)


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    return _learn(state, t, first, second, won, notes[0] == 1.0)


@kernel
def _learn(state: Any, t: int, first: int, second: int, won: int, in_court: bool) -> int:
    rival = state.arms[second]
    if (
        in_court or not rival.on or t < rival.since
    ):  # or the answer arrived after the end of the match
        if won >= 0 and state.known[first] and state.known[second]:
            _remember(state, first, second, won)
        return 0
    if won >= 0:
        state.met[first if won else second, second if won else first] += 1.0
        state.met[second, second] += 1.0
    said = _settle(state, second, won)
    if said > 0:
        _join(state, second, said == 2)
    elif said == 0 and state.numbers[0].seats > 1 and state.met[second, second] >= _LONG:
        # Against a mixture an even match is unbounded; the mixture is exploitable meanwhile.
        close_match(state, second)
        _introduce(state, second)
        _seat(state)
    if said < 2:
        return 0
    state.numbers[0].alarms += 1
    return RESTARTED


@hot
def _remember(state: Any, first: int, second: int, won: int) -> None:
    """Count a duel between two arms of the court; recompute the shares periodically."""
    numbers = state.numbers[0]
    winner, loser = (first, second) if won else (second, first)
    state.wins[winner, loser] += 1.0
    state.recent[winner, loser] += 1.0
    _fade(state.wins, first, second, _MEMORY * _age(state))
    _fade(state.recent, first, second, _RECENT)
    numbers.answers += 1
    if numbers.answers >= _SOLVE_AFTER * _age(state):
        numbers.solved += 1
        if _has_changed(state):
            _renew(state, _STALE)
            state.played[:] = 0.0
        _seat(state)


@hot
def _has_changed(state: Any) -> bool:
    """Return whether recent duels of the court differ from the earlier ones.

    Recent duels have decreasing weights, so a weight of n has the information of 2 n equal ones.
    """
    wins, recent = state.wins, state.recent
    doubt, pairs = 0.0, 0
    for i in range(len(wins)):
        for j in range(i):
            n, before = recent[i, j] + recent[j, i], wins[i, j] + wins[j, i]
            if n >= 0.5 * _RECENT and before >= 2.0 * n:
                p = wins[i, j] / before
                off = recent[i, j] / n - p
                doubt += 2.0 * n * off * off / (p * (1.0 - p) + 1.0 / n)
                pairs += 1
    return doubt > _DOUBT + 2.0 * pairs


@hot
def _renew(state: Any, most: float) -> None:
    """Keep the recent duels only, at most `most` per pair."""
    for i in range(len(state.wins)):
        for j in range(i):
            _fade(state.recent, i, j, most)
            _copy(state, i, j)
    state.numbers[0].solved = 0


@hot
def _copy(state: Any, i: int, j: int) -> None:
    """Keep the recent duels of a pair only."""
    state.wins[i, j], state.wins[j, i] = state.recent[i, j], state.recent[j, i]


# ---- the court ----


@kernel
def _join(state: Any, j: int, alarm: bool) -> None:
    """Add a challenger that won its match to the court."""
    numbers = state.numbers[0]
    if alarm and numbers.seats == 1:
        # The former winner has lost, so the preferences have changed: all counts are outdated.
        for i in range(len(state.arms)):
            if i != numbers.king:
                _forget(state, i)
    if alarm:
        state.played[:] = 0.0
    _introduce(state, j)
    _renew(state, _MEMORY)
    crown(state, numbers.now, j)
    _seat(state)


@kernel
def _introduce(state: Any, j: int) -> None:
    """Add a challenger to the known arms; its match provides its counts."""
    recent, met = state.recent, state.met
    for i in range(len(state.arms)):
        if not state.known[i] or i == j:
            continue
        if met[i, j] + met[j, i] > 0.0:
            recent[i, j], recent[j, i] = met[i, j], met[j, i]
        elif recent[i, j] + recent[j, i] > 0.0:
            _fade(recent, i, j, _HEARSAY)
        else:
            recent[j, i] = _PRESUMED
        _copy(state, i, j)
    state.known[j] = 1


@hot
def _fade(wins: Any, i: int, j: int, most: float) -> None:
    """Scale the counts of a pair in the array `wins` down to at most `most` duels."""
    n = wins[i, j] + wins[j, i]
    if n > most:
        wins[i, j] *= most / n
        wins[j, i] *= most / n


@hot
def _forget(state: Any, i: int) -> None:
    state.known[i] = 0
    state.played[i] = 0.0
    _clear(state.wins, i)
    _clear(state.recent, i)


@kernel
def _seat(state: Any) -> None:
    """Compute the shares: a mixture of known arms that, by the estimates, no arm beats."""
    numbers = state.numbers[0]
    members, mixture, shares = state.members, state.mixture, state.shares
    n = _estimate(state)
    solve(state.gaps, n, state.table, state.names, mixture)
    _round(state.gaps, n, mixture, _age(state))
    for i in range(len(shares)):
        if shares[i] > 0.0:  # an arm that lost its seat is outside
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
    _tilt(state, n)
    _pair(state)


@hot
def _tilt(state: Any, n: int) -> None:
    """Compute the probabilities of play in court that compensate past gains of opponents.

    An opponent's gain is the sum of its arm's gaps over all plays, so an arm with a positive gain
    so far, by the present estimates, must lose in the next rounds. The solution of that game
    minimises the maximum gain over both periods; half of the plays follow it.
    """
    members, gaps, mixture = state.members, state.gaps, state.mixture
    shares, tilted, played = state.shares, state.tilted, state.played
    for i in range(len(shares)):
        tilted[i] = shares[i]
    if state.numbers[0].seats == 1:
        return
    ahead = max(_PLAN, _AHEAD * played.sum())
    seats = 0
    for a in range(n):
        if shares[members[a]] == 0.0:
            continue
        gained = 0.0
        for b in range(n):
            gained += played[members[b]] * gaps[a, b]
        column = 0
        for b in range(n):  # compaction in place; no value is read after a write
            if shares[members[b]] > 0.0:
                gaps[seats, column] = gaps[a, b] + gained / ahead
                column += 1
        seats += 1
    least_exploited(gaps, seats, state.table, state.names, mixture)
    seats = 0
    for a in range(n):
        i = members[a]
        if shares[i] > 0.0:
            tilted[i] += _TILT * (mixture[seats] - tilted[i])
            seats += 1


@hot
def _estimate(state: Any) -> int:
    """Estimate the gaps of the known arms with one prior win each; return the number of arms."""
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
def _round(gaps: Any, n: int, mixture: Any, age: float) -> None:
    """Drop small shares, or all but one, if the loss is below a limit that decreases with age."""
    top = 0
    for a in range(n):
        if mixture[a] > mixture[top]:
            top = a
    least = min(_SMALL / age, mixture[top])
    large = 0.0
    for a in range(n):
        if mixture[a] >= least:
            large += mixture[a]
    alone, rounded = 0.0, 0.0  # the maximum loss by either
    for a in range(n):
        gain = 0.0
        for b in range(n):
            if mixture[b] >= least:
                gain += gaps[a, b] * mixture[b] / large
        rounded = max(rounded, gain)
        alone = max(alone, gaps[a, top])
    if mixture[top] > _LARGE and alone <= _SMALL / age:
        large, least = mixture[top], mixture[top]
    elif rounded > _HARM / age:
        return
    for a in range(n):
        mixture[a] = mixture[a] / large if mixture[a] >= least else 0.0


# ---- arms that come and go; the past ----


@kernel
def _change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Update the record for an arm that arrives or leaves before round `t`; a leaver is reset."""
    if state.present[arm] == here:
        return
    seated = state.shares[arm] > 0.0
    if here == 0:
        _forget(state, arm)
    if not seated:
        change(state, rng, t, arm, here)
        return
    state.present[arm] = 0
    if state.known.sum() == 0:  # the arm with the best record becomes king, as the heir of a king
        j = heir(state)
        state.known[j] = 1
        crown(state, t - 1, j)
        state.numbers[0].solved = 0
    _seat(state)


@kernel
def _add_past_vote(state: Any, winner: int, loser: int, weight: float) -> None:
    """Count a past vote and recompute the initial shares from all past votes."""
    for arm in (winner, loser):
        state.known[arm] = state.present[arm]
    if state.known[winner] == 1 and state.known[loser] == 1:
        state.wins[winner, loser] += weight
        state.recent[winner, loser] += weight
        _fade(state.recent, winner, loser, _RECENT)
        _seat(state)


@POLICIES.register("court")
class Court(KernelPolicy):
    """Play a mixture that no arm beats, and test it against challengers at a data-driven rate.

    Our own algorithm: `king` for worlds that may have no Condorcet winner. Prior knowledge: none;
    there are no parameters. There is always a mixture of arms that no arm beats on average, the von
    Neumann winner; where one arm beats all others, it is that arm alone, and a court of one is a
    king.

    - **In court** an arm is drawn from the mixture, and then another one such that both are played
      with the frequencies of the mixture (unless a share is 0.45 or more: then both are drawn from
      it), so the duels also give information about the arms of the mixture. After 64 A answers the
      mixture is computed again, exactly, from (wins + 1) / (duels + 2); for each pair 200 A duels
      count. Here A is the age of the court, 1 when an arm joins and 0.1 more each time. A share
      below 0.02 / A is dropped if, by these estimates, no arm gains more than 0.01 / A from that; a
      share above 0.9 becomes 1 if no arm beats that one by more than 0.02 / A.
    - **Compensation.** The gain of an opponent with one arm is the sum of its gaps over all plays.
      Half of the plays in court follow the shares of the mixture. The other half follows the
      solution of another game, in which an arm's payoff is its gap plus, divided by the number of
      plays ahead, its gain since the last detected change by the present estimates. The number of
      plays ahead is half of the plays so far, and at least 128. This compensates past errors,
      including those of an inexact mixture.
    - **Recent duels**, 100 of each pair, are also counted separately. If they differ significantly
      from all counted duels, only 30 of them are kept: preferences within the court have changed.
    - **A match** is played by an arm without a share against arms drawn from the mixture, and ends
      at one behind, with the bets and bars of `king`: an alarm at 4 E + B / 2 after B matches, and
      a fresh court is joined at E 2^(h / (K - 1)) in its h-th; E is 12.5, or K / 2 if that is more.
      The court counts as one arm. With S alarms so far there are sqrt(K (1/2 + S) / t) / 2 matches
      a round, and K / (2 age) more for a fresh court; for all arms in turn, and every fourth for
      the one that came closest.
    - **An arm that wins a match joins.** Its match provides the counts against the arms it met,
      which replace the stored values; against the others ten old duels count, and against arms it
      never met one prior win. If an established king without other seats falls, all other counts
      are reset, too: it was the winner, and the world has changed. If a match against a mixture has
      not ended after 256 duels, the estimates decide: the challenger gets the share they give it,
      if any. Answers of lost matches are not stored: such matches stop at one behind, which would
      bias the estimate to 49%.

    **Guarantee**: in the first n matches, the expected number of false alarms is at most 2 log(1 +
    n / 100). An alarm is false if in every duel of the match the challenger was no better than the
    mixture of the round in which it was chosen: for any past, the opponent is drawn from that
    mixture, so each bet is a nonnegative supermartingale, as in `king`, also where it loses all at
    one behind. Answers must be learned in the order of asking, or late by a delay that is
    independent of pairs and winners. The bound does not cover a fresh court, nor a mixture that was
    wrong and is beaten. **Measured only**: exploitability.

    **Late answers** of a match that is over are counted if both arms have a seat, or had one.
    `best` is the arm with the largest share; `info` has all shares.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
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
        best_guess=best_guess,
        unanswered=True,
        change=_change,
        present=present,
        add_past_vote=_add_past_vote,
    )

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        order = rng.permutation(arms).astype(np.int64)
        alone = first_state(order, seats=1, answers=0, solved=0)._asdict()
        del alone["heard"]
        alone["bets"] = np.ones((arms, 2 * STAKES))
        shares = np.zeros(arms)
        shares[order[0]] = 1.0
        table, names = workspace(arms)
        self.state = CourtState(
            **alone,
            shares=shares,
            tilted=shares.copy(),
            pairing=np.zeros(arms),
            played=np.zeros(arms),
            known=(shares > 0).astype(np.int64),
            wins=np.zeros((arms, arms)),
            recent=np.zeros((arms, arms)),
            met=np.zeros((arms, arms)),
            members=np.zeros(arms, np.int64),
            gaps=np.zeros((arms, arms)),
            mixture=np.zeros(arms),
            table=table,
            names=names,
        )

    def contest(self) -> Contest:
        """Return the shares, the round of the coronation and the challengers for a seat."""
        return contest(self.state)._replace(shares=tuple(self.state.shares.tolist()))

    def false_alarms_at_most(self) -> float | None:
        """Return the bound for the matches so far."""
        return false_alarms(self.state)

    def enlarge_state(self, state: Any, fresh: Any) -> Any:
        """Return the record for one more arm, which has no seat."""
        wide = super().enlarge_state(state, fresh)
        wide.shares[-1] = wide.tilted[-1] = wide.known[-1] = 0
        return wide

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError if seats and matches are inconsistent."""
        numbers, arms, here = state.numbers[0], state.arms, state.present == 1
        on, known, seated = arms["on"] == 1, state.known == 1, state.shares > 0
        self.require(seated[numbers.king] and not (seated & ~known).any())
        self.require(not (known & ~here).any() and numbers.seats == seated.sum())
        self.require((state.tilted[~seated] == 0).all() and (state.pairing[~seated] == 0).all())
        self.require(numbers.here == here.sum() + 1 - numbers.seats)
        self.require(not on[seated].any() and not on[~here].any() and numbers.open == on.sum())
        self.require(numbers.wake == (0 if numbers.open else numbers.trial))
        self.require((arms["lead"][~on] == -1).all())
