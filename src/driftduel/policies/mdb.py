"""Monitored Dueling Bandits around any policy that can be restarted."""

import math
import warnings
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel._internal.wording import decimals, share
from driftduel.errors import WeakSpotWarning
from driftduel.policies._window_test import forget_windows, nearness, slide
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import ARM, CONSTANT, COUNT, FLAG, ROUND, Named, Within, records
from driftduel.policies.info import Contest, of_pairs
from driftduel.policies.keys import Horizon
from driftduel.policies.modes import COIN
from driftduel.policies.wrapper import (
    Wrapper,
    no_notes_inside,
    pass_on,
    presence_inside,
    since_alarm,
)
from driftduel.specs import Range, need_room

__all__ = ["Monitored"]

Switches = Annotated[int, Range(0), "number of changes of the preferences"]
Delta = Annotated[float, Range(0, 1, open=True), "the smallest change"]


class MonitorState(NamedTuple):
    """The wrapped policy, and a window of outcomes for every pair."""

    base: Any
    """The state of the wrapped policy."""
    order: Annotated[Any, ARM]
    """(N, 2) the pairs in the order in which they are monitored."""
    windows: Annotated[Any, FLAG]
    """(N, w) the last outcomes of each pair, newest over oldest."""
    sums: Annotated[Any, COUNT]
    """(N, 2) number of wins in the newer and in the older part of a window."""
    seen: Annotated[Any, COUNT]
    """(N,) number of outcomes since the last alarm."""
    numbers: Annotated[Any, Named(start=ROUND, cycle=CONSTANT, shuffled=FLAG, limit=CONSTANT)]
    """The round that is round 1 since the last alarm; D, every D rounds each pair is monitored
    once; whether the order of the pairs has been drawn; and b, the limit of the difference between
    the parts."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    any_duel = inner.any_duel
    here = presence_inside(inner)

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        numbers, order = state.numbers[0], state.order
        pairs = len(order)
        if numbers.shuffled == 0:
            for i in range(pairs - 1, 0, -1):
                j = int(uniform(rng) * (i + 1))
                for k in range(2):
                    order[i, k], order[j, k] = order[j, k], order[i, k]
            numbers.shuffled = 1
        local = since_alarm(state, t)
        place = (local - 1) % numbers.cycle
        if place < pairs and here(state, order[place, 0]) and here(state, order[place, 1]):
            notes[0] = place
            no_notes_inside(notes)
            return order[place, 0], order[place, 1]
        notes[0] = -1.0
        return inner_ask(state.base, rng, local, notes[1:])

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        start = state.numbers[0].start
        if t < start:
            return 0  # chosen before the alarm
        flags = 0
        p = int(notes[0])
        if p < 0 or (any_duel and won >= 0):
            flags = inner_tell(state.base, t - start + 1, first, second, won, notes[1:])
        if p >= 0 and won >= 0 and slide(state, p, won):
            forget(state)
            state.numbers[0].start = t + 1
            flags |= RESTARTED
        return flags

    @kernel
    def forget(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        forget_windows(state)

    def reset(state):  # type: ignore[no-untyped-def]
        forget(state)
        state.numbers[0].start = 1
        state.numbers[0].shuffled = 0
        place, a, b = 0, 1, 0
        while place < len(state.order):  # the original order
            state.order[place, 0], state.order[place, 1] = a, b
            place += 1
            b += 1
            if b == a:
                a, b = a + 1, 0

    passed = {**pass_on(inner, since_alarm), "any_duel": False}
    return Kernels(hot(ask), hot(tell), kernel(reset), **passed)


class Monitored(Wrapper):
    """Sample every pair periodically, and restart when one of them has changed.

    Source: Kolpaczki, Bengs, Huellermeier, *Non-Stationary Dueling Bandits*, 2022 (MDB). Prior
    knowledge: T, the number of switches and the smallest change delta. Guarantee for binary strong
    regret: K sqrt(M T log T) / delta plus M times the regret of the wrapped policy. Formulas as in
    the authors' program; constants not verified against the paper. With RUCB and Winner Stays
    (strong) it is their algorithm: the program has these two wrapped policies only.

    Monitored outcomes are passed to the wrapped policy if it has win counts, which accept any duel.
    They are not passed to Beat the Winner and Winner Stays, whose matches and rounds have no place
    for a duel that they did not choose. The authors' program does the same.

    **Weak spot.** The share of rounds spent on monitoring is gamma = (K-1)/2 sqrt(M w / T): 58% for
    T = 1e6, K = 10, M = 10, delta = 0.3. The constructor warns if it is above a quarter.

    **Late answers** to duels from before an alarm are dropped; others enter their window on
    arrival. The turn of a pair with an absent arm is given to the wrapped policy. A new arm changes
    the length of the windows: they are reset.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    switches
        The number of changes of the preferences, from 0; there are M = switches + 1 segments.
        `play` passes the value of the world as default.
    delta
        The smallest change to detect: that of each segment's most changed entry.
    """

    prefix = "mdb"
    alerts = True
    adds_draws = True  # the order of the monitored pairs
    adds_prior_knowledge = ("horizon", "switches", "delta")
    extra_notes = (Within(-1, lambda scope: scope.arms * (scope.arms - 1) // 2 - 1),)
    guarantee = "K sqrt(M T log T) / delta + M times that of the policy inside, binary strong"
    in_panel = COIN
    source = "Kolpaczki, Bengs and Huellermeier, 2022"
    confidence = "medium: the authors' code; constants not verified against the paper"
    wrap = staticmethod(_wrap)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        base: KernelPolicy,
        horizon: Horizon,
        switches: Switches,
        delta: Delta = 0.3,
    ) -> None:
        super().__init__(arms, rng, base)
        segments = switches + 1
        C = math.log((4 * horizon + 2) * math.sqrt(horizon) / (math.sqrt(segments) * arms))
        C = max(0.0, C)  # negative for very few rounds; a window still needs two parts
        w = max(2, 2 * math.ceil(8 * C / delta**2 / 2))
        many = arms * (arms - 1) // 2
        need_room(f"mdb: delta={delta}: {w:,} outcomes for each of {many:,} pairs", w * many)
        gamma = (arms - 1) / 2 * math.sqrt(segments * w / horizon)
        pairs = np.array([(a, b) for a in range(arms) for b in range(a)], dtype=np.int64)
        if gamma > 0.25:
            warnings.warn(
                f"MDB monitors {share(min(gamma, 1))} of the rounds for T={horizon}, K={arms}, "
                f"M={segments}, delta={delta} (gamma = {decimals(gamma)}).",
                WeakSpotWarning,
                stacklevel=2,
            )
        self.state = MonitorState(
            base=base.state,
            order=pairs,
            windows=np.zeros((len(pairs), w), np.int64),
            sums=np.zeros((len(pairs), 2), np.int64),
            seen=np.zeros(len(pairs), np.int64),
            numbers=records(
                1,
                start=1,
                cycle=max(1, int(len(pairs) / gamma)),
                shuffled=0,
                limit=math.sqrt(w * C / 2),
            ),
        )

    def began(self) -> int:
        """Return the first round after the last alarm."""
        return int(self.state.numbers[0].start)

    def contest(self) -> Contest:
        """Return each arm's share of the alarm threshold: the maximum over its pairs."""
        others = {*self.present} - {self.best()}
        return Contest(
            challengers=of_pairs(self.state.order.tolist(), nearness(self.state), others)
        )

    def enlarge_state(self, state: Any, fresh: Any) -> Any:
        """Return the record for one more arm, with empty windows of another length."""
        empty = {name: getattr(fresh, name)[:0] for name in ("windows", "sums", "seen")}
        return super().enlarge_state(state._replace(**empty), fresh)
