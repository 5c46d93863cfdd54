"""ANACONDA as the paper prints it: recursive, brute force, T^2 K^2. For reading and testing.

`anaconda` plays the same duels from the same random numbers, some million times faster; the
tests compare the two round by round. Numbers in brackets are the lines of Algorithms 1 and 2.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LiteralRound", "literal_anaconda", "literal_schedule", "replay_lengths"]

Schedule = Callable[[int], NDArray[np.bool_]]


class LiteralRound(NamedTuple):
    """What happened in one round."""

    first: int
    second: int
    first_won: int
    active: tuple[int, ...]
    replay_start: int
    replay_end: int
    episode_start: int


def replay_lengths(horizon: int) -> list[int]:
    """Return the lengths 2, 4, ..., 2^ceil(log2 T)."""
    return [2**k for k in range(1, max(1, math.ceil(math.log2(horizon))) + 1)]


def literal_schedule(
    rng: np.random.Generator, horizon: int, start: int, rate: float = 1.0
) -> NDArray[np.bool_]:
    """Draw B[s, m] for s = 0..T (used from s > t_l on) and every length m [1.6-1.7]."""
    lengths = replay_lengths(horizon)
    B = np.zeros((horizon + 2, len(lengths)), dtype=np.bool_)
    for s in range(start + 1, horizon + 1):
        for column, m in enumerate(lengths):
            B[s, column] = rng.random() < min(1.0, rate / math.sqrt(m * (s - start)))
    return B


def literal_anaconda(
    arms: int,
    horizon: int,
    constant: float,
    schedule: Schedule,
    picks: Sequence[float],
    outcome: Callable[[int, int, int], int],
    *,
    rule: str | Callable[[int, int], float] = "paper",
    estimate: str = "paper",
) -> list[LiteralRound]:
    """Play T rounds.

    Parameters
    ----------
    arms, horizon, constant, rule, estimate
        As for `Anaconda`. A rule may also be a function of n = s2 - s1 and the sum of |A_t|^2.
    schedule
        Maps the first round t_l of an episode to its B[s, m].
    picks
        A number in [0, 1) for every round; it picks both arms.
    outcome
        Maps round and arms to 1 if the first won, else 0.
    """
    K, T, C = arms, horizon, constant
    rounds: list[LiteralRound] = []
    # Sums up to each round, index 0 being none: of twice dhat(a, b), a whole number; of |A_t|^2.
    twice_sums = [np.zeros((K, K), dtype=np.int64)]
    squares = [0]
    # fires[a, s1, s2]: the window [s1, s2] eliminates arm a.
    fires = np.zeros((K, T + 1, T + 1), dtype=np.bool_)
    t = 1

    def eliminated(a: int, first: int, last: int) -> bool:
        """Tell whether some window [s1, s2] inside [first, last] eliminates arm a."""
        return bool(fires[a, first : last + 1, first : last + 1].any())

    def limit(n: int, V: int) -> float:
        if callable(rule):
            return rule(n, V)
        if rule == "paper":
            return C * math.log(T) * K * math.sqrt(max(n, K**2))
        L = 4 * math.log(T) + 2 * math.log(K)
        half = 0.5 if estimate == "symmetric" else 1.0
        return (math.e - 1) * math.sqrt(half * L) * math.sqrt(V) + (math.e - 1) * half * K * K * L

    def record(a: int, b: int, won: int, size: int) -> None:
        """Write down dhat_t for every ordered pair, and every window that ends in t and fires."""
        twice = np.full((K, K), -1, dtype=np.int64)  # -1/2 in every round, for every pair
        if estimate == "paper":
            twice[a, b] += 2 * size**2 * won
        elif won:
            twice[a, b] += size**2
        else:
            twice[b, a] += size**2
        twice_sums.append(twice_sums[-1] + twice)
        squares.append(squares[-1] + size**2)
        for s1 in range(1, t):
            sums = (twice_sums[t] - twice_sums[s1 - 1]) / 2
            fires[:, s1, t] = sums.max(axis=0) > limit(t - s1, squares[t] - squares[s1 - 1])

    def condalet(t0: int, m0: int) -> None:
        """Run CondaLet(t0, m0)."""
        nonlocal t
        active = list(range(K))  # [2.2]
        while t <= T and t <= t0 + m0 and good:  # [2.3]
            size = len(active)
            x = picks[t - 1] * size
            a, b = active[int(x)], active[int((x - int(x)) * size)]  # [2.4]
            won = outcome(t, a, b)
            record(a, b, won, size)
            rounds.append(LiteralRound(a, b, won, tuple(active), t0, t0 + m0, t_l))
            # Both sets are tested after the round, with all rounds up to and including it.
            good.difference_update([arm for arm in good if eliminated(arm, t_l, t)])  # [2.5]
            local = active  # [2.6]
            t += 1  # [2.7]
            if t <= T and good and B[t].any():  # [2.8]
                condalet(t, max(m for m, fires in zip(lengths, B[t], strict=True) if fires))
            active = [arm for arm in local if not eliminated(arm, t0, t - 1)]  # [2.10]

    lengths = replay_lengths(T)
    while t <= T:  # [1.3]
        t_l = t
        good = set(range(K))
        B = schedule(t_l)
        condalet(t_l, T + 1 - t_l)
    return rounds
