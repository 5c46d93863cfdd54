"""ANACONDA's engine: exact, and almost as fast as drawing the arms.

The paper asks after every round, for every pair and every window, whether a sum of estimates is
above a threshold. These facts (each checked against the literal recursion in the tests) answer
that exactly in near-constant time:

1. `last[a]`, the largest start of any window that has fired against arm a, is the whole
   elimination state. A replay that began in t0 has the active set {a : last[a] < t0}, the good
   set is {a : last[a] < t_l}, and the call tree is a stack of (start, end).
2. A pair's sum rises only when the pair is played and its first arm wins. (One exception: a window
   of two rounds whose only win is the first of them, see `SHORT`.)
3. With D(s) = (weight won before round s) - (s - 1)/2, a window's sum is D(t + 1) - D(s). A later
   start with a smaller or equal D is better for every window that ends after it: the useful
   starts of a pair form a stack with D increasing, and only winning rounds need be on it.
4. For a block of that stack, the oldest start bounds every sum from above and the newest every
   threshold from below. Floating point keeps both inequalities (rounding is monotone), so blocks
   are refuted exactly, and the newest firing start is found by galloping.
5. No window can fire before D has risen by the smallest threshold above its lowest value since
   the pair was last looked at, or by what the older starts then lacked. Until then the pair is
   not looked at; its wins wait in a short list, entered without a branch that a processor could
   guess wrong, and go onto the stack many at a time.
6. A start matters only if it lies in a running replay in which the arm is still active (or, while
   the arm is good, in the episode); older ones never will again. Starts between the same two
   running replays' beginnings have the same effect, so of those only what can still be the best
   at some time is kept; see `_prune`.
7. Replays start ever more rarely, so the next start is drawn by skipping ahead and thinning.

Twice every sum is an integer, and is kept as one.
"""

import math
from typing import Annotated, Any, NamedTuple

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.policies import fields
from driftduel.policies.base import GROW, RESTARTED

__all__ = [
    "State",
    "ask",
    "enter",
    "next_replay",
    "refresh_active",
    "set_horizon",
    "tell",
    "threshold",
    "turn",
]

DEEPEST = 66
"""Replays that can still resume have ever smaller powers of two as lengths; 64 suffice."""

# Places in `State.ints`.
EPISODE = 0  # t_l, the first round of the episode
NEXT = 1  # the next round in which a replay starts or ends
SPAWN = 2  # the next round in which a replay starts
LENGTH = 3  # and its length m
DEPTH = 4  # replays on the stack
ACTIVE = 5  # |A_t|
LEARN_FROM = 6  # answers of rounds before this one are of no use: t_l, or never once it ended
HORIZON = 7  # T, or the length of the current epoch when doubling
LAST_ROUND = 8  # the last round of the horizon or epoch
DOUBLING = 9  # 1 when the horizon is unknown
RULE = 10  # PAPER or FREEDMAN
SYMMETRIC = 11  # 1 when a duel informs both orders of its pair
CLOCK = 12  # the sum of |A_t|^2 over all rounds learned, for FREEDMAN
SHORT = 13  # 1 when a single win can fire
SHORT_ROUND = 14  # the last round with such a win
SHORT_ARM = 15  # and the arm it was won against
LEAST = 16  # twice the smallest threshold of any window, rounded down
DRAWN = 17  # how many of the duels in `State.duels` have been asked for
PLAIN = 18  # 1 for the paper's rule and estimate when no single win can fire
WEIGHT = 19  # |A_t|^2
INTS = 20

PAPER, FREEDMAN = 0, 1

# Places in `State.floats`.
CONSTANT = 0  # C
RATE = 1  # replay rate; 1 is the paper's
FACTOR = 2  # threshold(x) = FACTOR * sqrt(max(x, FLOOR)) + OFFSET
FLOOR = 3
OFFSET = 4
FLOATS = 5

NEVER = 1 << 62
_FAR = 1 << 60
_E1 = math.e - 1
_ROOT2 = math.sqrt(2.0)


# Columns of `State.pairs`: a row for each ordered pair, the busy columns on one cache line.
WON = 0  # twice the weight won in this episode; 2 D(s) = WON - (s - 1)
LOWEST = 1  # 2 D at the lowest start since the pair was looked at
WAITING = 2  # wins in its list
BASE = 3  # where its stack begins in `State.stacks`
ROOM = 4  # how many starts fit
LOW = 5  # how many of the oldest are of no more use
SIZE = 6  # how many there are
LIMIT = 7  # what 2 D must exceed for an older start to fire
PRUNED = 8  # how many starts, from the oldest on, have been pruned already
PAIR = 16

# Columns of `State.stacks` and of the lists of waiting wins.
START = 0  # the round s
SUM = 1  # 2 D(s)
TIME = 2  # the sum of |A|^2 before s, which FREEDMAN measures windows by, as PAPER does by s
ENTRY = 3

LIST = 32
"""Wins that wait at most before they go onto the stack."""


_CONSTANT, _COUNT, _FLAG = fields.CONSTANT, fields.COUNT, fields.FLAG
_LATER = fields.Within(0, NEVER)
_WHOLE = fields.Within(-NEVER, NEVER)

INT_RULES = (
    fields.ROUND, _LATER, _LATER, _LATER, fields.Within(0, DEEPEST - 1),
    fields.Within(0, fields.ARMS), _LATER, _COUNT, _COUNT, _CONSTANT, _CONSTANT, _CONSTANT,
    _COUNT, _FLAG, fields.Within(-1, fields.MOST), fields.ARM, _WHOLE, fields.Within(0, 64),
    _FLAG, fields.Within(0, lambda scope: scope.arms**2),
)  # fmt: skip
FLOAT_RULES = (_CONSTANT, _CONSTANT, fields.FINITE, fields.FINITE, fields.FINITE)
_PAIR_RULES = (
    _WHOLE, fields.ANY, fields.Within(0, LIST - 1), _COUNT, _COUNT, _COUNT, _COUNT, fields.ANY,
    _COUNT, *(PAIR - PRUNED - 1) * (fields.ANY,),
)  # fmt: skip


class State(NamedTuple):
    """All that ANACONDA knows. K arms; P = K * K ordered pairs, (a, b) at a * K + b."""

    ints: Annotated[Any, fields.Each(*INT_RULES)]
    """(20,) numbers named above."""
    floats: Annotated[Any, fields.Each(*FLOAT_RULES)]
    """(5,) numbers named above."""
    last: Annotated[Any, fields.ANY]
    """(K,) largest start of any window that fired against an arm, as far as it matters."""
    active: Annotated[Any, fields.ARM]
    """(K,) the active arms, ascending, then rubbish."""
    replays: Annotated[Any, fields.Each(fields.ROUND, _LATER)]
    """(66, 2) t0 and t0 + m0 of the running replays, outermost first."""
    pairs: Annotated[Any, fields.Each(*_PAIR_RULES)]
    """(P, 16) numbers named above."""
    waiting: Annotated[Any, fields.ANY]
    """(96 P,) up to 32 wins a pair that are not yet on its stack, each an entry."""
    stacks: Annotated[Any, fields.Growing(fields.ANY)]
    """(N, 3) the useful starts of all pairs."""
    passed: Annotated[Any, fields.Growing(fields.ANY)]
    """(N,) for starts that have been pruned: when the one before overtakes them."""
    draws: Annotated[Any, fields.Within(0, 1 - 2**-53)]
    """(64,) a uniform number for each of the coming rounds."""
    duels: Annotated[Any, fields.ARM]
    """(128,) the arms they pick from the active set, in pairs. Picked ahead, because where a round
    writes must be known early for the next to begin before it is over."""


@kernel
def set_horizon(state: Any, first: int, horizon: int) -> None:
    """Take a horizon of rounds that begins in round `first`, and the thresholds it implies."""
    ints, floats = state.ints, state.floats
    arms = len(state.last)
    ints[HORIZON] = horizon
    ints[LAST_ROUND] = first + horizon - 1
    if ints[RULE] == PAPER:
        floats[FACTOR] = floats[CONSTANT] * math.log(float(horizon)) * arms
        floats[FLOOR] = float(arms * arms)
        floats[OFFSET] = 0.0
    else:
        # Freedman's inequality for all windows and pairs at once, at confidence 1 - 1/T^2.
        confidence = 4.0 * math.log(float(horizon)) + 2.0 * math.log(float(arms))
        half = 0.5 if ints[SYMMETRIC] == 1 else 1.0  # of the variance, and of the largest step
        floats[FACTOR] = _E1 * math.sqrt(half * confidence)
        floats[FLOOR] = 0.0
        floats[OFFSET] = _E1 * half * arms * arms * confidence
    ints[LEAST] = int(2.0 * threshold(state, 0))
    heaviest = arms * arms if ints[SYMMETRIC] == 1 else 2 * arms * arms
    ints[SHORT] = 1 if heaviest - 2.0 > 2.0 * threshold(state, 1) else 0
    ints[PLAIN] = 1 if ints[RULE] == PAPER and ints[SYMMETRIC] == 0 and ints[SHORT] == 0 else 0


@hot
def threshold(state: Any, x: int) -> float:
    """Return what the sum over a window must exceed; `x` is its length by the rule's clock."""
    floats = state.floats
    return floats[FACTOR] * math.sqrt(max(float(x), floats[FLOOR])) + floats[OFFSET]


@kernel
def next_replay(rng: Any, passed: int, most: int, log_longest: int, rate: float) -> tuple[int, int]:
    """Draw the next replay of an episode.

    Parameters
    ----------
    passed
        Rounds of the episode decided so far: B[t_l + passed, .] was the last.
    most
        Rounds of the episode in all.
    log_longest
        Lengths are 2, 4, ..., 2^log_longest.

    Returns
    -------
    Its start as s - t_l, and its length m; the start is above `most` when there is none.
    """
    d = passed
    while d < most:
        bound = _chance(d + 1, log_longest, rate)
        skip = 1.0
        if bound < 1.0:  # the rounds until something fires if the chance stayed as it is
            skip = 1.0 + math.floor(math.log1p(-uniform(rng)) / math.log1p(-bound))
        if skip > most - d:
            break
        d += int(skip)
        # The chance has fallen since: the same number keeps the round with the ratio of the two,
        # and finds the longest length that fires.
        u = uniform(rng) * bound
        p = rate / math.sqrt(math.ldexp(float(d), log_longest))
        none_longer = 1.0
        for k in range(log_longest, 0, -1):
            u -= none_longer * min(1.0, p)
            if u < 0.0:
                return d, 1 << k
            none_longer *= 1.0 - min(1.0, p)
            p *= _ROOT2
    return most + 1, 0


@kernel
def _chance(d: int, log_longest: int, rate: float) -> float:
    """Return the chance that any of B[t_l + d, m], each 1 with rate / sqrt(m d), is 1."""
    p = rate / math.sqrt(math.ldexp(float(d), log_longest))
    none = 1.0
    for _ in range(log_longest):
        none *= 1.0 - min(1.0, p)
        p *= _ROOT2
    return 1.0 - none


@kernel
def _draw_replay(state: Any, rng: Any, after: int) -> None:
    """Put the next replay that starts after a round into the state."""
    ints = state.ints
    longest = 1
    while (1 << longest) < ints[HORIZON]:
        longest += 1
    start = ints[EPISODE]
    d, length = next_replay(
        rng, after - start, ints[LAST_ROUND] - start, longest, state.floats[RATE]
    )
    ints[SPAWN] = start + d if length > 0 else NEVER
    ints[LENGTH] = length


@kernel
def _begin_episode(state: Any, rng: Any, t: int) -> None:
    ints = state.ints
    ints[EPISODE] = ints[LEARN_FROM] = t
    ints[SHORT_ROUND] = -1
    # `last` needs no reset: all it holds lies before t.
    for p in range(len(state.pairs)):
        pair = state.pairs[p]
        pair[WON] = pair[WAITING] = pair[LOW] = pair[SIZE] = pair[PRUNED] = 0
        pair[LOWEST] = pair[LIMIT] = NEVER
    ints[DEPTH] = 1
    state.replays[0, 0] = t
    state.replays[0, 1] = ints[LAST_ROUND] + 1
    _draw_replay(state, rng, t)


@kernel
def turn(state: Any, rng: Any, t: int) -> None:
    """Start and end what starts and ends in round t."""
    ints, replays = state.ints, state.replays
    if ints[DOUBLING] == 1 and t > ints[LAST_ROUND]:
        set_horizon(state, t, 2 * ints[HORIZON])
        ints[LEARN_FROM] = NEVER
    if ints[LEARN_FROM] == NEVER:
        _begin_episode(state, rng, t)
    else:
        while ints[DEPTH] > 1 and replays[ints[DEPTH] - 1, 1] < t:
            ints[DEPTH] -= 1
        if t == ints[SPAWN]:
            end = t + ints[LENGTH]
            # Whatever this one outlives will never resume.
            while ints[DEPTH] > 0 and replays[ints[DEPTH] - 1, 1] <= end:
                ints[DEPTH] -= 1
            replays[ints[DEPTH], 0] = t
            replays[ints[DEPTH], 1] = end
            ints[DEPTH] += 1
            _draw_replay(state, rng, t)
    if replays[ints[DEPTH] - 1, 1] < t:  # the horizon is over: the root goes on
        ints[DEPTH] = 1
        replays[0, 0] = ints[EPISODE]
        replays[0, 1] = ints[LAST_ROUND] + 1
    refresh_active(state)
    ints[NEXT] = min(ints[SPAWN], replays[ints[DEPTH] - 1, 1] + 1)
    if ints[DOUBLING] == 1:
        ints[NEXT] = min(ints[NEXT], ints[LAST_ROUND] + 1)


@kernel
def refresh_active(state: Any) -> None:
    """Find the active set anew, and the duels that the numbers already drawn pick from it."""
    start = state.replays[state.ints[DEPTH] - 1, 0]
    count = 0
    for a in range(len(state.last)):
        if state.last[a] < start:
            state.active[count] = a
            count += 1
    state.ints[ACTIVE] = count
    state.ints[WEIGHT] = count * count
    _pick(state)


@kernel
def _pick(state: Any) -> None:
    """Pick the duels of the numbers drawn and not yet used."""
    count = state.ints[ACTIVE]
    for k in range(state.ints[DRAWN], len(state.draws)):
        # One number picks both arms: its integer part, and its fraction spread out again.
        x = state.draws[k] * count
        i = int(x)
        state.duels[2 * k] = state.active[i]
        state.duels[2 * k + 1] = state.active[int((x - i) * count)]


@kernel
def _draw(state: Any, rng: Any) -> None:
    for k in range(len(state.draws)):
        state.draws[k] = uniform(rng)
    state.ints[DRAWN] = 0
    _pick(state)


@hot
def ask(state: Any, rng: Any, t: int, notes: Any) -> tuple[int, int]:
    """Draw two arms of the active set A; note |A|^2, the weight of a win."""
    ints = state.ints
    if t >= ints[NEXT]:
        turn(state, rng, t)
    if ints[DRAWN] == len(state.draws):
        _draw(state, rng)
    k = ints[DRAWN]
    ints[DRAWN] = k + 1
    notes[0] = ints[WEIGHT]
    return state.duels[2 * k], state.duels[2 * k + 1]


@hot
def tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    """Learn the outcome of round t; rounds arrive in order."""
    weight = int(notes[0])
    if state.ints[PLAIN] == 0:
        return _tell_otherwise(state, t, first, second, won, weight)
    if t < state.ints[LEARN_FROM]:
        return 0  # asked for in an episode that is over
    return enter(state, t, first, second, int(won == 1), 2 * weight)


@kernel
def _tell_otherwise(state: Any, t: int, first: int, second: int, won: int, weight: int) -> int:
    """Learn under another rule or estimate, or when a single win can fire."""
    ints = state.ints
    ints[CLOCK] += weight
    if t < ints[LEARN_FROM]:
        return 0
    winner, loser, credit, twice = first, second, int(won == 1), 2 * weight
    if ints[SYMMETRIC] == 1:
        credit, twice = int(won >= 0), weight
        if won == 0:
            winner, loser = second, first
    if ints[RULE] == FREEDMAN:
        p = winner * len(state.last) + loser
        place = state.pairs[p, WAITING]
        state.waiting[(p * LIST + place) * ENTRY + TIME] = ints[CLOCK] - weight
    short = ints[SHORT] == 1 and _short_windows(state, t, loser, twice * credit)
    flags = enter(state, t, winner, loser, credit, twice)
    if short and flags & RESTARTED == 0:
        flags |= _after_firing(state, t)
    return flags


@hot
def enter(state: Any, t: int, winner: int, loser: int, credit: int, weight: int) -> int:
    """Enter a win of some weight (credit 1), or a round that passed without one (credit 0).

    Arithmetic instead of branches: no processor can guess who won.
    """
    weight *= credit
    p = winner * len(state.last) + loser
    # Without a win, the next entry in the list overwrites this one.
    pairs, waiting = state.pairs, state.waiting
    before = pairs[p, WON] - (t - 1)
    place = pairs[p, WAITING]
    entry = (p * LIST + place) * ENTRY
    waiting[entry + START] = t
    waiting[entry + SUM] = before
    lowest = min(pairs[p, LOWEST], before + (1 - credit) * _FAR)
    now = before + weight - 1
    pairs[p, WAITING] = place + credit
    pairs[p, LOWEST] = lowest
    pairs[p, WON] += weight
    quiet = now - lowest <= state.ints[LEAST] and now <= pairs[p, LIMIT]
    if quiet and place + 1 < LIST:
        return 0
    return _examine(state, t, p, loser, credit)


@kernel
def _examine(state: Any, t: int, p: int, loser: int, credit: int) -> int:
    """See to a pair that may fire, or whose list is full."""
    ints, pair = state.ints, state.pairs[p]
    waiting = state.waiting[p * LIST * ENTRY : (p + 1) * LIST * ENTRY]
    # The win of this round stays behind: it makes older starts useless, but only for windows that
    # end after it.
    count = pair[WAITING] - credit
    _stack(state, p, count)
    pair[WAITING] = credit
    fired = False
    if credit == 1:
        for column in range(ENTRY):
            waiting[column] = waiting[count * ENTRY + column]
        now = pair[WON] - t
        if now - pair[LOWEST] > ints[LEAST] or now > pair[LIMIT]:
            fired = _look(state, t, p, loser)
            pair[LOWEST] = waiting[SUM]
    flags = 0
    if pair[SIZE] + LIST > pair[ROOM]:
        _prune(state, t, p)
        if pair[SIZE] + LIST > pair[ROOM] // 2:  # or it would soon be pruned again, for little
            flags = GROW
    if fired:
        flags |= _after_firing(state, t)
    return flags


@kernel
def _after_firing(state: Any, t: int) -> int:
    """See whom the windows that fired eliminate."""
    refresh_active(state)
    if not _no_good_arm(state):
        return 0
    state.ints[LEARN_FROM] = NEVER
    state.ints[NEXT] = t + 1
    return RESTARTED


@kernel
def _no_good_arm(state: Any) -> bool:
    good = 0
    for a in range(len(state.last)):
        good += int(state.last[a] < state.ints[EPISODE])
    return good == 0


@kernel
def _short_windows(state: Any, t: int, loser: int, weight: int) -> bool:
    """Fire the windows of two rounds with a single win that suffices, in either of them."""
    ints = state.ints
    fired = False
    if ints[SHORT_ROUND] == t - 1 and state.last[ints[SHORT_ARM]] < t - 1:
        state.last[ints[SHORT_ARM]] = t - 1
        fired = True
    if weight - 2.0 > 2.0 * threshold(state, 1):
        ints[SHORT_ROUND] = t
        ints[SHORT_ARM] = loser
        if t > ints[EPISODE] and state.last[loser] < t - 1:
            state.last[loser] = t - 1
            fired = True
    return fired


@kernel
def _stack(state: Any, p: int, count: int) -> None:
    """Move the first wins of a pair's list onto its stack, as far as they are useful."""
    pair, stacks = state.pairs[p], state.stacks
    waiting = state.waiting[p * LIST * ENTRY : (p + 1) * LIST * ENTRY]
    # Backwards: a start is useful if its sum is below all later ones. The useful ones move to
    # the end of the list, again without branches.
    lowest = NEVER
    first = count
    for i in range(count - 1, -1, -1):
        for column in range(ENTRY):
            waiting[(first - 1) * ENTRY + column] = waiting[i * ENTRY + column]
        value = waiting[(first - 1) * ENTRY + SUM]
        first -= int(value < lowest)
        lowest = min(lowest, value)
    base, low, size = pair[BASE], pair[LOW], pair[SIZE]
    while size > low and stacks[base + size - 1, SUM] >= lowest:
        size -= 1
    if size == low:
        pair[LOW] = size = 0
    pair[PRUNED] = min(pair[PRUNED], size)
    for i in range(first, count):
        for column in range(ENTRY):
            stacks[base + size, column] = waiting[i * ENTRY + column]
        size += 1
    pair[SIZE] = size


@kernel
def _prune(state: Any, t: int, p: int) -> None:
    """Drop the starts that will never again be the best of their stretch.

    The thresholds of two starts i < j grow apart and close up again, so j is better than i only
    from some time on (when both windows are longer than the rule's floor) until `_overtaken`.
    Hence j is never the best again if i has overtaken it, or will before j overtakes a later k
    that is already past its floor. Rounding is on the safe side of both comparisons.
    """
    pair, stacks, replays = state.pairs[p], state.stacks, state.replays
    base, low, size = pair[BASE], pair[LOW], pair[SIZE]
    clock, time = (t, START) if state.ints[RULE] == PAPER else (state.ints[CLOCK], TIME)
    now = float(clock)
    factor, floor = 2.0 * state.floats[FACTOR], math.sqrt(state.floats[FLOOR])
    if low > 0:  # close the gap that dead starts left
        for i in range(base, base + size - low):
            for column in range(ENTRY):
                stacks[i, column] = stacks[i + low, column]
            state.passed[i] = state.passed[i + low]
    kept = max(0, pair[PRUNED] - low)
    begun = 0
    for new in range(kept, size - low):
        k = base + new
        while begun < state.ints[DEPTH] and replays[begun, 0] <= stacks[k, START]:
            begun += 1
        stretch = replays[begun - 1, 0] if begun > 0 else state.ints[EPISODE]
        j_passes_k = 0.0
        while kept > 0:
            j = base + kept - 1
            j_passes_k = _overtaken(stacks, j, k, time, factor)
            if kept == 1 or stacks[j - 1, START] < stretch:
                break
            i_passes_j = state.passed[j]
            slack = 1.0 + 1e-9 * (abs(i_passes_j) + abs(j_passes_k))
            lead = (stacks[k, SUM] - stacks[j, SUM]) / factor
            settled = now - stacks[k, time] > (floor + lead) ** 2 * (1.0 + 1e-9) + 1.0
            if i_passes_j + slack < now or (settled and i_passes_j + slack < j_passes_k):
                kept -= 1
            else:
                break
        for column in range(ENTRY):
            stacks[base + kept, column] = stacks[k, column]
        state.passed[base + kept] = j_passes_k
        kept += 1
    pair[LOW] = 0
    pair[SIZE] = pair[PRUNED] = kept


@hot
def _overtaken(stacks: Any, i: int, j: int, time: int, factor: float) -> float:
    """Return the time from which the older start i is for ever better than j."""
    d = float(stacks[j, time] - stacks[i, time])
    h = (stacks[j, SUM] - stacks[i, SUM]) / factor
    if h * h >= d:
        return float(stacks[j, time])
    return float(stacks[j, time]) + ((d - h * h) / (2.0 * h)) ** 2


@kernel
def _first_that_matters(state: Any, arm: int) -> int:
    """Return the first round of the outermost replay or episode that has not dropped the arm."""
    if state.last[arm] < state.ints[EPISODE]:
        return state.ints[EPISODE]
    for depth in range(state.ints[DEPTH]):
        if state.replays[depth, 0] > state.last[arm]:
            return state.replays[depth, 0]
    return NEVER


@kernel
def _look(state: Any, t: int, p: int, loser: int) -> bool:
    """Find the newest start of a window that ends in t and fires; set the limit anew."""
    pair, stacks = state.pairs[p], state.stacks
    base, low, newest = pair[BASE], pair[LOW], pair[SIZE] - 1
    matters = _first_that_matters(state, loser)
    now = pair[WON] - t
    clock, time = (t, START) if state.ints[RULE] == PAPER else (state.ints[CLOCK], TIME)
    margin = 0.5 * state.ints[LEAST]
    nearest = -float(NEVER)
    block = 1
    fired = False
    while newest >= low:
        if stacks[base + newest, START] < matters:
            pair[LOW] = newest + 1
            break
        oldest = max(low, newest - block + 1)
        most = float(now - stacks[base + oldest, SUM])
        excess = most - 2.0 * threshold(state, clock - stacks[base + newest, time])
        # Blocks are refuted with a margin, so that the next look is not due at once.
        if excess <= -margin or (oldest == newest and excess <= 0.0):
            nearest = max(nearest, excess)
            newest = oldest - 1
            block *= 2
        elif oldest == newest:
            state.last[loser] = stacks[base + newest, START]
            pair[LOW] = newest + 1
            fired = True
            break
        else:
            block = (newest - oldest + 1) // 2
    pair[LIMIT] = now + int(-nearest)
    return fired


@kernel
def suspect(state: Any) -> int:
    """Return the arm whose last elimination lies furthest back: a good one while there is one."""
    best = 0
    for a in range(1, len(state.last)):
        if state.last[a] < state.last[best]:
            best = a
    return best
