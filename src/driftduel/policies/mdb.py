"""Monitored Dueling Bandits around any policy that can be restarted."""

import math
import warnings
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel._random import uniform
from driftduel.errors import WeakSpotWarning
from driftduel.policies._halves import forget_windows, nearness, slide
from driftduel.policies.around import (
    Around,
    no_notes_inside,
    pass_on,
    presence_inside,
    since_alarm,
)
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import ARM, CONSTANT, COUNT, FLAG, ROUND, Named, Within, records
from driftduel.policies.info import Contest, of_pairs
from driftduel.policies.keys import Horizon
from driftduel.policies.modes import COIN
from driftduel.specs import Range, need_room
from driftduel.wording import decimals, share

__all__ = ["Monitored"]

Switches = Annotated[int, Range(0), "how often the preferences change"]
Delta = Annotated[float, Range(0, 1, open=True), "the smallest change"]


class State(NamedTuple):
    """The policy inside, and a window of outcomes for every pair."""

    base: Any
    """The state of the policy inside."""
    order: Annotated[Any, ARM]
    """(N, 2) the pairs in the order in which they are monitored."""
    windows: Annotated[Any, FLAG]
    """(N, w) the last outcomes of each pair, newest over oldest."""
    sums: Annotated[Any, COUNT]
    """(N, 2) wins in the newer and in the older half of a window."""
    seen: Annotated[Any, COUNT]
    """(N,) outcomes seen since the last alarm."""
    numbers: Annotated[Any, Named(start=ROUND, cycle=CONSTANT, shuffled=FLAG, limit=CONSTANT)]
    """The round that is round 1 since the last alarm; D, every D rounds each pair is monitored
    once; whether the order of the pairs has been drawn; and b, how far the halves may differ."""


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
            return 0  # asked for before the alarm
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
        while place < len(state.order):  # the order in which they were made
            state.order[place, 0], state.order[place, 1] = a, b
            place += 1
            b += 1
            if b == a:
                a, b = a + 1, 0

    passed = {**pass_on(inner, since_alarm), "any_duel": False}
    return Kernels(hot(ask), hot(tell), kernel(reset), **passed)


class Monitored(Around):
    """Visit every pair now and then, and start anew when one of them has changed.

    Source: Kolpaczki, Bengs, Huellermeier, *Non-Stationary Dueling Bandits*, 2022 (MDB). Told T,
    the number of switches and the smallest change delta. Guarantee for binary strong regret:
    K sqrt(M T log T) / delta plus M times the regret of the policy inside. Formulas as in the
    authors' program; constants not verified against the paper. Around RUCB and Winner Stays
    (strong) it is theirs: the program has these two, and no other.

    Monitored outcomes go to the policy inside if it keeps win counts, which take any duel. Beat the
    Winner and Winner Stays never hear of them: to a match or a round of theirs a duel that they did
    not ask for means nothing. In the authors' program it is the same, RUCB alone listens.

    **Weak spot.** The share of rounds spent on monitoring is gamma = (K-1)/2 sqrt(M w / T): 58%
    for T = 1e6, K = 10, M = 10, delta = 0.3. Creating it warns when that is above a quarter.

    **Late answers** to duels from before an alarm are dropped; others enter their window when they
    come. In the turn of a pair of which one is away, the policy inside plays. One more arm than
    there ever was makes the windows another length: they begin anew.

    Parameters
    ----------
    horizon
        The number of rounds T.
    switches
        How often the preferences change; there are M = switches + 1 segments.
    delta
        The smallest change to be found: of each segment's most changed entry.
    """

    prefix = "mdb"
    alerts = True
    adds_draws = True  # the order of the monitored pairs
    tells = ("horizon", "switches", "delta")
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
        C = max(0.0, C)  # below 0 for a handful of rounds; a window has two halves all the same
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
        self.state = State(
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
        """Return the first round since the last alarm."""
        return int(self.state.numbers[0].start)

    def contest(self) -> Contest:
        """Tell how near each arm's duels are to an alarm: the nearest of its pairs."""
        others = {*self.present} - {self.best()}
        return Contest(
            challengers=of_pairs(self.state.order.tolist(), nearness(self.state), others)
        )

    def enlarged(self, state: Any, fresh: Any) -> Any:
        """Return the record of one more arm, whose windows have another length: they are empty."""
        empty = {name: getattr(fresh, name)[:0] for name in ("windows", "sums", "seen")}
        return super().enlarged(state._replace(**empty), fresh)
