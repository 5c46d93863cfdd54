"""Restarts on a generalised likelihood ratio alarm, around any policy that keeps win counts."""

import math
from functools import cache
from itertools import repeat
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import CONSTANT, COUNT, MOST, ROUND, Named, Within, records
from driftduel.policies.info import Contest, of_pairs
from driftduel.policies.wrapper import (
    Wrapper,
    pass_on,
    pick_inside,
    presence_inside,
    since_alarm,
)
from driftduel.specs import Range

__all__ = ["GlrRestart"]

Explore = Annotated[float, Range(0, 1), "share of rounds that explore"]
Delta = Annotated[float, Range(0, 1, open=True), "false alarms per pair"]

_SPLITS = 64


class GlrState(NamedTuple):
    """The wrapped policy, and a thinned history of every pair."""

    base: Any
    """The state of the wrapped policy."""
    totals: Annotated[Any, COUNT]
    """(P, 2) duels of each pair a < b since the last alarm, and those a won."""
    splits: Annotated[Any, COUNT]
    """(P, 64, 2) the values of `totals` at earlier times: the candidate change points."""
    pairs: Annotated[Any, Named(kept=Within(0, _SPLITS), apart=Within(1, MOST))]
    """(P,) the number of stored splits, and the number of duels between two."""
    numbers: Annotated[Any, Named(start=ROUND, explore=CONSTANT, delta=CONSTANT)]
    """The round that is round 1 since the last alarm, the share of rounds that explore, and the
    false alarm rate."""


@hot
def _divergence(p: float, q: float) -> float:
    """Return kl(p, q) of two coins."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q)
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return total


@hot
def _limit(n: int, delta: float) -> float:
    """Return the threshold of the log-likelihood ratio for n outcomes."""
    return math.log(3.0 * n * math.sqrt(float(n)) / delta)


@hot
def _ratio(total: Any, split: Any, mean: float) -> float:
    """Return the log-likelihood ratio of a split of a pair's history."""
    before, before_won = split[0], split[1]
    after = total[0] - before
    ratio = before * _divergence(before_won / before, mean)
    return ratio + after * _divergence((total[1] - before_won) / after, mean)


@kernel
def _nearness(total: Any, splits: Any, count: int, delta: float) -> float:
    """Return the maximum share of the alarm threshold over the splits of a pair's history."""
    n, most = total[0], 0.0
    if 0 < total[1] < n:
        for k in range(count):
            if splits[k, 0] < n:
                most = max(most, _ratio(total, splits[k], total[1] / n))
        most /= _limit(n, delta)
    return most


@kernel
def _has_changed(state: Any, p: int) -> bool:
    """Append a new outcome to a pair's history; return whether a change is detected."""
    n, won = state.totals[p, 0], state.totals[p, 1]
    pair = state.pairs[p]
    count = pair.kept
    mean = won / n
    fired = False
    if 0.0 < mean < 1.0:
        limit = _limit(n, state.numbers[0].delta)
        for k in range(count):
            if _ratio(state.totals[p], state.splits[p, k], mean) > limit:
                fired = True
                break
    if n % pair.apart == 0:
        if count == state.splits.shape[1]:  # keep every second split, at twice the distance
            for k in range(count // 2):
                state.splits[p, k, 0] = state.splits[p, 2 * k + 1, 0]
                state.splits[p, k, 1] = state.splits[p, 2 * k + 1, 1]
            count //= 2
            pair.apart *= 2
        if n % pair.apart == 0:
            state.splits[p, count, 0] = n
            state.splits[p, count, 1] = won
            count += 1
        pair.kept = count
    return fired


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    here, pick = presence_inside(inner), pick_inside(inner)

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        # Without exploration a change of an arm that is not played is undetectable.
        if uniform(rng) < state.numbers[0].explore:
            count = 0
            for i in range(state.base.wins.shape[0]):
                count += here(state, i)
            if count > 1:
                first = pick(state, int(uniform(rng) * count), -1)
                return first, pick(state, int(uniform(rng) * (count - 1)), first)
        return inner_ask(state.base, rng, since_alarm(state, t), notes)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        start = state.numbers[0].start
        if t < start:
            return 0  # chosen before the alarm
        flags = inner_tell(state.base, t - start + 1, first, second, won, notes)
        if first != second and won >= 0:
            high, low = max(first, second), min(first, second)
            p = high * (high - 1) // 2 + low
            state.totals[p, 0] += 1
            state.totals[p, 1] += won if first == low else 1 - won
            if _has_changed(state, p):
                reset(state)
                state.numbers[0].start = t + 1
                flags |= RESTARTED
        return flags

    def _reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        state.numbers[0].start = 1
        for p in range(len(state.totals)):
            state.totals[p, 0] = state.totals[p, 1] = 0
            state.pairs[p].kept = 0
            state.pairs[p].apart = 1

    reset = kernel(_reset)
    return Kernels(hot(ask), hot(tell), reset, **pass_on(inner, since_alarm))


class GlrRestart(Wrapper):
    """Restart when a likelihood-ratio test rejects that a pair's outcomes are stationary.

    The test of Besson and Kaufmann for ordinary bandits, on the pairs: an alarm when some split of
    a pair's history makes it more likely by log(3 n sqrt(n) / delta). A history keeps 64 splits,
    evenly spaced and thinned as it grows, which can only delay an alarm. Our composition; we have
    found no paper with this test for duels. A change of any pair raises an alarm, including one
    that is irrelevant for the winner.

    **Late answers** to duels from before an alarm are dropped; others count on arrival. While an
    arm is absent the histories of its pairs are unchanged; if it returns with other preferences,
    that is an alarm. Past votes are counted by the wrapped policy, and are in no history.

    Parameters
    ----------
    arms, rng, base
        The number of arms K, the generator of all random numbers, and the wrapped policy, which
        must accept the results of duels that it did not choose.
    explore
        The share of rounds in which a random pair is played, a value in [0, 1].
    delta
        The probability of a false alarm per pair, a value in (0, 1).
    """

    prefix = "glr"
    alerts = True
    adds_draws = True  # the rounds that explore
    needs_wins = True
    adds_prior_knowledge = ("explore",)
    guarantee = "none known for duels; false alarms of a pair at most delta"
    source = "ours, after Besson and Kaufmann, 2019"
    confidence = "our own composition"
    wrap = staticmethod(_wrap)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        base: KernelPolicy,
        explore: Explore = 0.02,
        delta: Delta = 0.001,
    ) -> None:
        super().__init__(arms, rng, base)
        pairs = arms * (arms - 1) // 2
        self.state = GlrState(
            base=base.state,
            totals=np.zeros((pairs, 2), np.int64),
            splits=np.zeros((pairs, _SPLITS, 2), np.int64),
            pairs=records(pairs, kept=0, apart=1),
            numbers=records(1, start=1, explore=float(explore), delta=float(delta)),
        )

    def began(self) -> int:
        """Return the first round after the last alarm."""
        return int(self.state.numbers[0].start)

    def contest(self) -> Contest:
        """Return each arm's share of the alarm threshold: the maximum over its pairs."""
        state, delta = self.state, self.state.numbers[0].delta
        shares = map(_nearness, state.totals, state.splits, state.pairs["kept"], repeat(delta))
        pairs = [(a, b) for a in range(self.arms) for b in range(a)]
        return Contest(challengers=of_pairs(pairs, shares, {*self.present} - {self.best()}))

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError unless the splits of each history are nested."""
        kept = np.arange(_SPLITS) < state.pairs["kept"][:, None]
        total, won = state.totals[:, :1], state.totals[:, 1:]
        before, before_won = state.splits[..., 0], state.splits[..., 1]
        lost, before_lost = total - won, before - before_won
        parts = (before >= 1) & (before <= total) & (before_won <= won) & (before_lost <= lost)
        parts &= before_lost >= 0
        parts[:, 1:] &= before[:, 1:] > before[:, :-1]
        self.require((parts | ~kept).all() and (won <= total).all())
