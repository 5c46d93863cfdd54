"""Episodes and replays: fact 7, the next replay is drawn in advance; and the call tree."""

import math
from typing import Any

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies._anaconda.eliminations import refresh_active
from driftduel.policies._anaconda.record import NEVER
from driftduel.policies._anaconda.rule import set_horizon
from driftduel.policies._anaconda.starts import forget_starts

__all__ = ["next_replay", "turn"]

_ROOT2 = math.sqrt(2.0)


# ---- when the next replay starts ----


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
        if bound < 1.0:  # geometric wait for a constant probability
            skip = 1.0 + math.floor(math.log1p(-uniform(rng)) / math.log1p(-bound))
        if skip > most - d:
            break
        d += int(skip)
        # The probability has decreased since (thinning): the same number accepts the round with the
        # ratio of the two probabilities, and selects the longest length that starts.
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


@hot
def _plan_replay(state: Any, rng: Any, after: int) -> None:
    """Store the next replay that starts after round `after`."""
    numbers = state.numbers[0]
    log_longest = 1
    while (1 << log_longest) < numbers.horizon:
        log_longest += 1
    start = numbers.episode
    d, length = next_replay(
        rng, after - start, numbers.last_round - start, log_longest, numbers.replay_rate
    )
    numbers.next_replay = start + d if length > 0 else NEVER
    numbers.replay_length = length


# ---- what starts and ends in a round ----


@kernel
def turn(state: Any, rng: Any, t: int) -> None:
    """Start and end the replays and episodes of round t."""
    numbers, replays = state.numbers[0], state.replays
    if numbers.doubling == 1 and t > numbers.last_round:
        set_horizon(state, t, 2 * numbers.horizon)
        numbers.learn_from = NEVER
    if numbers.learn_from == NEVER:
        _begin_episode(state, rng, t)
    else:
        while numbers.depth > 1 and replays[numbers.depth - 1].end < t:
            numbers.depth -= 1
        if t == numbers.next_replay:
            _begin_replay(state, t, t + numbers.replay_length)
            _plan_replay(state, rng, t)
    if replays[numbers.depth - 1].end < t:  # after the horizon the root continues
        _root_alone(state)
    refresh_active(state)
    numbers.next_event = min(numbers.next_replay, replays[numbers.depth - 1].end + 1)
    if numbers.doubling == 1:
        numbers.next_event = min(numbers.next_event, numbers.last_round + 1)


@kernel
def _begin_episode(state: Any, rng: Any, t: int) -> None:
    """Begin an episode in round t, with all arms good: all values in `last` are less than t."""
    numbers = state.numbers[0]
    numbers.episode = t
    numbers.learn_from = t
    numbers.single_win = -1
    forget_starts(state)
    _root_alone(state)
    _plan_replay(state, rng, t)


@hot
def _root_alone(state: Any) -> None:
    """Reset the call tree to the root, the replay that lasts as long as the episode."""
    numbers, root = state.numbers[0], state.replays[0]
    numbers.depth = 1
    root.start = numbers.episode
    root.end = numbers.last_round + 1


@hot
def _begin_replay(state: Any, start: int, end: int) -> None:
    """Push a replay; running replays that end before it are removed, since they cannot resume."""
    numbers, replays = state.numbers[0], state.replays
    while numbers.depth > 0 and replays[numbers.depth - 1].end <= end:
        numbers.depth -= 1
    replays[numbers.depth].start = start
    replays[numbers.depth].end = end
    numbers.depth += 1
