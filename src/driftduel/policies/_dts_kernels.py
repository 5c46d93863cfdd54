"""Kernels of Double Thompson Sampling that draw only the samples which can affect the choice.

Both samples consist of independent draws, so they may be drawn in any order, and a draw that cannot
change the choice may be omitted. Three facts save most draws:

1. **No arm wins more than all duels.** The duels of one arm, the leader, are drawn first. If it
   wins all of them it is the sampled winner, and no other draw matters. While its optimistic score
   is maximal, it is a candidate, and the set of other candidates does not matter either.
2. **An arm with more losses than another is not the winner.** Otherwise the arms with the minimum
   number of defeats so far come next, until all remaining arms have more losses than one of those.
3. **All samples below 1/2 are equivalent** (`_tails`). This comparison is nearly certain in
   advance: biased coins of small probability replace the draws. One uniform number determines the
   next coin that shows heads, and in most rounds none does.
"""

import math
from typing import Annotated, Any, NamedTuple

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import beta, uniform
from driftduel.policies._counts import bonus, forget_wins, may_beat
from driftduel.policies._tails import beats, doubt, resolve
from driftduel.policies.fields import ANY, CONSTANT, COUNT, PRESENT

__all__ = ["DtsState", "ask", "reset"]

_DRAWN = 2  # mark of a candidate after all its duels are drawn


class DtsState(NamedTuple):
    """Win counts, parameters and scratch arrays; a field with the rule ANY has no memory."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 for present arms, else 0."""
    candidates: Annotated[Any, ANY]
    """(K,) scratch: 1 for the arms with the maximum optimistic Copeland score. Between two rounds 1
    for the leader; its sample is drawn first and the distribution of the choice does not depend on
    the leader."""
    sample: Annotated[Any, ANY]
    """(K, K) scratch: preferences drawn from the posterior, for DTS+."""
    scores: Annotated[Any, ANY]
    """(K,) scratch: number of lost duels in the sample so far."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) the exploration parameter."""
    plus: Annotated[Any, CONSTANT]
    """(1,) 1 for DTS+, which breaks ties of the first arm by cost."""


# ---- the common case: the leader wins all duels of both samples ----


@hot
def ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    """Choose the champion and its opponent by two samples from the posterior."""
    width = bonus(state.alpha[0], t)
    leader = _leader(state)
    quiet = _quiet(state, leader, width)
    u = uniform(rng)
    if u < quiet * quiet:  # no coin shows heads in either sample
        return leader, leader
    return _ask_closely(state, rng, leader, width, u)


@hot
def _leader(state: Any) -> int:
    for i in range(len(state.candidates)):
        if state.candidates[i] == 1:
            return i
    return 0


@hot
def _quiet(state: Any, leader: int, width: float) -> float:
    """Return a lower bound on the probability that no arm beats the leader in a sample, or 0.

    The value 0 is returned if the leader might not be a candidate.
    """
    wins, present = state.wins, state.present
    quiet = float(present[leader])
    for j in range(len(present)):
        if j != leader and present[j] == 1:
            if not may_beat(wins, leader, j, width):
                return 0.0
            quiet *= 1.0 - doubt(wins[j, leader] + 1.0, wins[leader, j] + 1.0)
    return quiet


# ---- the general case ----


@kernel
def _ask_closely(state: Any, rng: Any, leader: int, width: float, u: float) -> Any:
    """Draw the samples that decide, beginning with the leader's duels.

    Parameters
    ----------
    u
        A uniform number from [0, 1) that has not been used for a coin.
    """
    first, count, left = leader, 0, 1.0
    sure = _may_beat_all(state, leader, width)
    if not sure:
        count, first = _find_candidates(state, width)
    if count != 1:
        drawn = sure or state.candidates[leader] == 1
        upsets = 1
        if drawn:
            upsets, u, left = _draw_leader(state, rng, leader, u)
        if upsets == 0:  # no other arm can win as many duels
            first = leader
        else:
            if sure:
                _find_candidates(state, width)
            first = _sampled_winner(state, rng, leader if drawn else -1)
    _remember(state, leader, first)
    return first, _second(state, rng, first, width, u, left)


@kernel
def _may_beat_all(state: Any, i: int, width: float) -> bool:
    """Return whether an arm is a candidate for every set of other candidates."""
    for j in range(len(state.present)):
        if j != i and state.present[j] == 1 and not may_beat(state.wins, i, j, width):
            return False
    return state.present[i] == 1


@kernel
def _remember(state: Any, leader: int, first: int) -> None:
    """Replace the leader if it is behind in its duels with another arm."""
    wins, present = state.wins, state.present
    behind = present[leader] == 0
    for j in range(len(present)):
        behind |= present[j] == 1 and wins[leader, j] < wins[j, leader]
        state.candidates[j] = 0
    state.candidates[first if behind else leader] = 1


@kernel
def _find_candidates(state: Any, width: float) -> Any:
    """Mark the arms with the maximum optimistic score; return their number, and one of them."""
    wins, candidates, present = state.wins, state.candidates, state.present
    arms = wins.shape[0]
    for i in range(arms):
        candidates[i] = present[i] - 1  # an absent arm has a score below that of any present one
    for i in range(arms):
        if present[i] == 0:
            continue
        for j in range(i):
            if present[j] == 1:
                candidates[i] += int(may_beat(wins, i, j, width))
                candidates[j] += int(may_beat(wins, j, i, width))
    most, count, one = -1, 0, 0
    for i in range(arms):
        if candidates[i] > most:
            most, count, one = candidates[i], 1, i
        elif candidates[i] == most:
            count += 1
    for i in range(arms):
        candidates[i] = 1 if candidates[i] == most else 0
    return count, one


@kernel
def _draw_leader(state: Any, rng: Any, leader: int, u: float) -> Any:
    """Draw the duels against the leader; return the number of its defeats and the unused u.

    One number u determines the first coin that shows heads: the first with u >= the product of the
    probabilities of tails so far. Then a new number is drawn for the next one.
    """
    wins, lost = state.wins, state.scores
    left, upsets = 1.0, 0
    for j in range(len(state.present)):
        if j == leader or state.present[j] == 0:
            continue
        a, b = wins[j, leader] + 1.0, wins[leader, j] + 1.0
        doubted = doubt(a, b)
        left *= 1.0 - doubted
        x = 0.0
        if u >= left:
            if doubted == 1.0 and state.plus[0] == 0:
                x = 1.0 if beats(rng, a, b) else 0.0
            else:
                x = resolve(rng, a, b, doubted)
            u, left = uniform(rng), 1.0
        lost[j] = 0.0 if x > 0.5 else 1.0
        upsets += int(x > 0.5)
        if state.plus[0] == 1:
            state.sample[j, leader] = x
    lost[leader] = float(upsets)
    return upsets, u, left


@kernel
def _sampled_winner(state: Any, rng: Any, leader: int) -> int:
    """Return the candidate with the minimum number of defeats in a sample from the posterior.

    The duels of an arm are drawn if it has no more defeats so far than the best arm with drawn
    duels. DTS+ draws all duels, because its costs depend on them.

    Parameters
    ----------
    leader
        The candidate with duels already drawn, or -1.
    """
    candidates, lost = state.candidates, state.scores
    plus = state.plus[0] == 1
    if leader < 0:
        lost[:] = 0.0
    if plus:
        _draw_all(state, rng, leader)
    winner, ties, fewest, least = leader, 0, math.inf, math.inf
    i = leader if leader >= 0 else _next_candidate(state, fewest)
    while i >= 0:
        if not plus and i != leader:
            _draw_duels(state, rng, i)
        candidates[i] = _DRAWN
        cost = _cost(state, i) if plus else 0.0
        if lost[i] < fewest or (lost[i] == fewest and cost < least):
            winner, ties, fewest, least = i, 1, lost[i], cost
        elif lost[i] == fewest and cost == least:
            ties += 1
            if uniform(rng) * ties < 1.0:
                winner = i
        i = _next_candidate(state, fewest)
    return winner


@hot
def _draw_duels(state: Any, rng: Any, i: int) -> None:
    """Draw the winners of an arm's duels, except for those already drawn."""
    wins, lost = state.wins, state.scores
    for j in range(len(lost)):
        if j != i and state.present[j] == 1 and state.candidates[j] != _DRAWN:
            won = beats(rng, wins[i, j] + 1.0, wins[j, i] + 1.0)
            lost[i] += 0.0 if won else 1.0
            lost[j] += 1.0 if won else 0.0


@kernel
def _next_candidate(state: Any, fewest: float) -> int:
    """Return the candidate with the fewest defeats so far; -1 if another has fewer in all duels."""
    best = -1
    for i in range(len(state.candidates)):
        beaten = state.scores[i] > fewest if best < 0 else state.scores[i] >= state.scores[best]
        if state.candidates[i] == 1 and not beaten:
            best = i
    return best


@kernel
def _draw_all(state: Any, rng: Any, leader: int) -> None:
    """Draw all values of a sample, for DTS+; for the leader only the missing ones."""
    wins, sample, present, lost = state.wins, state.sample, state.present, state.scores
    for i in range(len(present)):
        for j in range(i):
            if present[i] == 0 or present[j] == 0:
                continue
            a, b = (i, j) if leader != j else (j, i)
            if leader == a:  # of a value below 1/2 only this fact is drawn so far
                known = sample[b, a] > 0.0
                x = sample[b, a] if known else 1.0
                while not known and x > 0.5:
                    x = beta(rng, wins[b, a] + 1.0, wins[a, b] + 1.0)
                sample[b, a], sample[a, b] = x, 1.0 - x
            else:
                x = beta(rng, wins[a, b] + 1.0, wins[b, a] + 1.0)
                sample[a, b], sample[b, a] = x, 1.0 - x
                lost[b if x > 0.5 else a] += 1.0


@kernel
def _cost(state: Any, i: int) -> float:
    """Return the estimated cost of separating arm i from the others, if the sample is true."""
    total = 0.0
    for j in range(state.wins.shape[0]):
        if j != i and state.present[j] == 1:
            p = state.sample[i, j]
            divergence = p * math.log(2.0 * p) + (1.0 - p) * math.log(2.0 - 2.0 * p)
            more = state.scores[j] - state.scores[i]  # nonnegative: i has the minimum
            if more > 0.0:
                total += more / max(divergence, 1e-300)
    return total


@kernel
def _second(state: Any, rng: Any, first: int, width: float, u: float, left: float) -> int:
    """Draw a second sample of the duels against `first`; return the best plausible opponent."""
    wins = state.wins
    second, most = first, 0.5
    for j in range(wins.shape[0]):
        # l_j,first <= 1/2 is u_first,j >= 1/2
        if j != first and state.present[j] == 1 and may_beat(wins, first, j, width):
            a, b = wins[j, first] + 1.0, wins[first, j] + 1.0
            doubted = doubt(a, b)
            left *= 1.0 - doubted
            if u >= left:
                x = resolve(rng, a, b, doubted)
                if x > most:
                    second, most = j, x
                u, left = uniform(rng), 1.0
    return second


@hot
def reset(state: Any) -> None:
    """Reset all counts to zero."""
    forget_wins(state.wins)
    state.candidates[:] = 0
