"""The kernels of Double Thompson Sampling: draw what decides, and nothing else.

Both samples consist of independent draws, so they may be drawn in any order, and what cannot change
the choice need not be drawn at all. Three facts save most of it:

1. **Nobody wins more than all duels.** There is one arm, the leader, whose duels are drawn first.
   If it wins all of them it is the sampled winner, and no other duel matters. While it may beat
   everybody, it is a candidate, and who else is one does not matter either.
2. **Whoever has lost more than another will not win.** Else the arms with the fewest defeats so far
   come next, until all that are left have lost more often than one of those.
3. **A sample below 1/2 is as good as any other such** (`_tails`). Whether it is, is mostly clear
   beforehand: coins that hardly ever fall stand for the draws. One number decides when the next
   coin falls, and in most rounds none does.
"""

import math
from typing import Annotated, Any, NamedTuple

from driftduel._compile import hot, kernel
from driftduel._random import beta, uniform
from driftduel.policies._counts import bonus, forget_wins, may_beat
from driftduel.policies._tails import beats, doubt, resolve
from driftduel.policies.fields import ANY, CONSTANT, COUNT, PRESENT

__all__ = ["State", "ask", "reset"]

_DRAWN = 2  # a mark of candidates all of whose duels were drawn


class State(NamedTuple):
    """Win counts."""

    wins: Annotated[Any, COUNT]
    """(K, K) how often i beat j."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 for the arms that may be asked for."""
    candidates: Annotated[Any, ANY]
    """(K,) scratch: 1 for the arms whose optimistic Copeland score is the largest. Between two
    rounds 1 for the leader, whose sample is drawn first; whoever that is, the choice is the same in
    distribution."""
    sample: Annotated[Any, ANY]
    """(K, K) scratch: preferences drawn from the posterior, for DTS+."""
    scores: Annotated[Any, ANY]
    """(K,) scratch: duels of the sample that were lost so far."""
    alpha: Annotated[Any, CONSTANT]
    """(1,) the exploration parameter."""
    plus: Annotated[Any, CONSTANT]
    """(1,) 1 for DTS+, which breaks ties of the first arm by cost."""


# ---- most rounds: the leader wins every duel of both samples ----


@hot
def ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    """Choose by two samples from the posterior: a champion, and who should meet it."""
    width = bonus(state.alpha[0], t)
    leader = _leader(state)
    quiet = _quiet(state, leader, width)
    u = uniform(rng)
    if u < quiet * quiet:  # no coin falls, in neither sample
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
    """Bound the chance that a sample has nobody beat the leader; 0 if it is no sure candidate."""
    wins, present = state.wins, state.present
    quiet = float(present[leader])
    for j in range(len(present)):
        if j != leader and present[j] == 1:
            if not may_beat(wins, leader, j, width):
                return 0.0
            quiet *= 1.0 - doubt(wins[j, leader] + 1.0, wins[leader, j] + 1.0)
    return quiet


# ---- all others ----


@kernel
def _ask_closely(state: Any, rng: Any, leader: int, width: float, u: float) -> Any:
    """Draw what decides, beginning with the leader's duels.

    Parameters
    ----------
    u
        A number from [0, 1) that no coin has used yet.
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
        if upsets == 0:  # nobody else can win as many duels
            first = leader
        else:
            if sure:
                _find_candidates(state, width)
            first = _sampled_winner(state, rng, leader if drawn else -1)
    _remember(state, leader, first)
    return first, _second(state, rng, first, width, u, left)


@kernel
def _may_beat_all(state: Any, i: int, width: float) -> bool:
    """Tell whether an arm is a candidate whatever the others are."""
    for j in range(len(state.present)):
        if j != i and state.present[j] == 1 and not may_beat(state.wins, i, j, width):
            return False
    return state.present[i] == 1


@kernel
def _remember(state: Any, leader: int, first: int) -> None:
    """Let another lead if the leader is behind in its duels with anybody."""
    wins, present = state.wins, state.present
    behind = present[leader] == 0
    for j in range(len(present)):
        behind |= present[j] == 1 and wins[leader, j] < wins[j, leader]
        state.candidates[j] = 0
    state.candidates[first if behind else leader] = 1


@kernel
def _find_candidates(state: Any, width: float) -> Any:
    """Mark the arms that optimistically beat most others; return how many, and one of them."""
    wins, candidates, present = state.wins, state.candidates, state.present
    arms = wins.shape[0]
    for i in range(arms):
        candidates[i] = present[i] - 1  # whoever is away beats fewer than anybody
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
    """Draw how the others do against the leader; return how many beat it, and the open number.

    One number u decides when the first coin falls: the first with u >= the product of all chances
    so far that none does. Then another number is drawn, and so on.
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
    """Return the candidate that loses fewest duels of a sample from the posterior.

    An arm's duels are drawn when it has lost no more often so far than whoever has lost least of
    those whose duels are drawn; DTS+ draws all, its costs need them.

    Parameters
    ----------
    leader
        The candidate whose duels were drawn already; -1 for none.
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
    """Draw who wins an arm's duels, but for those that were drawn already."""
    wins, lost = state.wins, state.scores
    for j in range(len(lost)):
        if j != i and state.present[j] == 1 and state.candidates[j] != _DRAWN:
            won = beats(rng, wins[i, j] + 1.0, wins[j, i] + 1.0)
            lost[i] += 0.0 if won else 1.0
            lost[j] += 1.0 if won else 0.0


@kernel
def _next_candidate(state: Any, fewest: float) -> int:
    """Return the candidate with the fewest defeats so far; -1 if it has more than somebody has."""
    best = -1
    for i in range(len(state.candidates)):
        beaten = state.scores[i] > fewest if best < 0 else state.scores[i] >= state.scores[best]
        if state.candidates[i] == 1 and not beaten:
            best = i
    return best


@kernel
def _draw_all(state: Any, rng: Any, leader: int) -> None:
    """Draw all numbers of a sample, for DTS+; of the leader's, only what is missing."""
    wins, sample, present, lost = state.wins, state.sample, state.present, state.scores
    for i in range(len(present)):
        for j in range(i):
            if present[i] == 0 or present[j] == 0:
                continue
            a, b = (i, j) if leader != j else (j, i)
            if leader == a:  # of a number below 1/2 no more may be known
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
    """Return what telling arm i from the others will cost, if the sample is the truth."""
    total = 0.0
    for j in range(state.wins.shape[0]):
        if j != i and state.present[j] == 1:
            p = state.sample[i, j]
            divergence = p * math.log(2.0 * p) + (1.0 - p) * math.log(2.0 - 2.0 * p)
            more = state.scores[j] - state.scores[i]  # no candidate has lost less than i
            if more > 0.0:
                total += more / max(divergence, 1e-300)
    return total


@kernel
def _second(state: Any, rng: Any, first: int, width: float, u: float, left: float) -> int:
    """Draw again how everyone does against the first; the best that is not surely worse."""
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
    """Forget everything."""
    forget_wins(state.wins)
    state.candidates[:] = 0
