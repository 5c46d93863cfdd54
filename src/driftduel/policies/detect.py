"""DETECT around any policy with a kernel `best_guess`."""

import math
import warnings
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.wording import whole
from driftduel.errors import WeakSpotWarning
from driftduel.policies._window_test import forget_windows, nearness, slide
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import ARM_OR_NONE, CONSTANT, COUNT, FLAG, ROUND, Named, records
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.keys import Horizon
from driftduel.policies.modes import COIN
from driftduel.policies.wrapper import Wrapper, no_notes_inside, pass_on
from driftduel.specs import Choice, Range, need_room

__all__ = ["Detect"]

Delta = Annotated[float, Range(0, 1, open=True), "the smallest change"]
PMin = Annotated[float, Range(0.5, 1, open=True), "the winner's smallest chance"]
Setting = Annotated[str, Choice(("1", "2")), "which constants"]


class DetectState(NamedTuple):
    """The wrapped policy, and a window of the incumbent's outcomes against each arm."""

    base: Any
    """The state of the wrapped policy."""
    windows: Annotated[Any, FLAG]
    """(K, w) the last outcomes of the incumbent against each arm."""
    sums: Annotated[Any, COUNT]
    """(K, 2) number of wins in the newer and in the older part of a window."""
    seen: Annotated[Any, COUNT]
    """(K,) number of outcomes since the incumbent was found."""
    numbers: Annotated[
        Any, Named(start=ROUND, explore=CONSTANT, incumbent=ARM_OR_NONE, limit=CONSTANT)
    ]
    """The round that is round 1 since the last alarm; number of rounds of the wrapped policy; the
    suspected winner, -1 while exploring; and b, the limit of the difference between the parts."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    inner_best_guess = inner.best_guess

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        local = max(1, t - numbers.start + 1)
        if local <= numbers.explore:
            notes[0] = -1.0
            return inner_ask(state.base, rng, local, notes[1:])
        incumbent = numbers.incumbent
        if incumbent < 0:
            incumbent = numbers.incumbent = inner_best_guess(state.base)
        other = (local - numbers.explore - 1) % (len(state.seen) - 1)
        notes[0] = incumbent
        no_notes_inside(notes)
        return incumbent, other + int(other >= incumbent)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        if t < numbers.start:
            return 0  # chosen before the alarm
        if notes[0] < 0.0:
            return inner_tell(state.base, t - numbers.start + 1, first, second, won, notes[1:])
        if slide(state, second, won):
            reset(state)
            numbers.start = t + 1
            return RESTARTED
        return 0

    def _reset(state):  # type: ignore[no-untyped-def]
        inner_reset(state.base)
        state.numbers[0].start = 1
        state.numbers[0].incumbent = -1
        forget_windows(state)

    def best_guess(state):  # type: ignore[no-untyped-def]
        incumbent = state.numbers[0].incumbent
        return incumbent if incumbent >= 0 else inner_best_guess(state.base)

    reset = kernel(_reset)
    # No `change` kernel: a better arm that arrived while the incumbent is monitored would win from
    # its first duel on, so its window would show no change and raise no alarm.
    add_past_vote = pass_on(inner)["add_past_vote"]
    return Kernels(hot(ask), hot(tell), reset, kernel(best_guess), add_past_vote=add_past_vote)


class Detect(Wrapper):
    """Explore, then compare the suspected winner with each arm in turn until a change.

    Source: Kolpaczki, Bengs, Huellermeier, *Non-Stationary Dueling Bandits*, 2022 (DETECT). Prior
    knowledge: T, the smallest change delta and the smallest winning probability p_min. For binary
    weak regret: the suspected winner is in every duel after exploration, so strong regret stays
    linear. Formulas as in the authors' program, but exploration is rounded up and not down;
    constants not verified against the paper.

    The kernel `best_guess` of the wrapped policy names the suspected winner at the end of
    exploration: Beat the Winner its incumbent, Winner Stays (strong) the winner of its last round,
    Winner Stays (weak) the arm with most wins minus losses (in the authors' program also the last
    round's winner), a policy with counts the arm with the most pairwise victories. The program
    wraps Beat the Winner and Winner Stays, and notes that one is bad with setting 2 and the other
    with setting 1. This implementation agrees: of a million rounds of ``random-condorcet`` (ten
    arms, ten segments, p_min = 0.55), those without the winner were 7,200 (`detect-wsw`) and
    185,000 (`detect-btw`) with setting 2, 636,000 and 37,000 with setting 1.

    **Weak spot.** Setting 1 explores for (log(T / ((1 - e^-m) log T)) / m + K - 1)^2 rounds with m
    = (2 p_min - 1)^2: 2.5 million at T = 1e6 and p_min = 0.55, so it never monitors. The
    constructor warns if exploration is longer than half of the horizon.

    **Late answers** to duels from before an alarm are dropped; others count on arrival.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    delta, p_min
        The smallest change, and the smallest winning probability of the winner.
    setting
        The authors' choice of constants, 1 or 2 (default).
    """

    prefix = "detect"
    alerts = True
    needs_best_guess = True
    adds_prior_knowledge = ("horizon", "delta", "p_min")
    extra_notes = (ARM_OR_NONE,)
    easy_regret = "weak"
    guarantee = "M (exploration + K w) for binary weak regret"
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
        delta: Delta = 0.3,
        p_min: PMin = 0.6,
        setting: Setting = "2",
    ) -> None:
        super().__init__(arms, rng, base)
        m = (2 * p_min - 1) ** 2
        miss = 1 - math.exp(-m) or m  # m itself if 1 - exp(-m) underflows to 0
        T, logT = horizon, math.log(horizon)
        if setting == "1":
            explore = (math.log(T / (miss * logT)) / m + arms - 1) ** 2
            w = 2 * math.ceil((16 * logT + 6) / delta**2 / 2)
            limit = math.sqrt(w * (logT + 3 / 8))
        else:
            explore = math.sqrt(T)
            log_x = -(T**0.25 - arms + 1) * m - math.log(miss)
            L = max(1.0, math.log(2 * T) - log_x)
            w = 2 * math.ceil(8 * L / delta**2 / 2)
            limit = math.sqrt(w * L / 2)
        need_room(f"detect: delta={delta}: {w:,} outcomes for each of {arms} arms", w * arms)
        if explore > horizon / 2:
            warnings.warn(
                f"DETECT explores for {whole(explore)} of {horizon:,} rounds (setting {setting}, "
                f"K={arms}, p_min={p_min}); little or no time remains for monitoring.",
                WeakSpotWarning,
                stacklevel=2,
            )
        self.state = DetectState(
            base=base.state,
            windows=np.zeros((arms, w), np.int64),
            sums=np.zeros((arms, 2), np.int64),
            seen=np.zeros(arms, np.int64),
            numbers=records(
                1, start=1, explore=math.ceil(min(explore, 1e18)), incumbent=-1, limit=limit
            ),
        )

    def began(self) -> int:
        """Return the first round after the last alarm."""
        return int(self.state.numbers[0].start)

    def contest(self) -> Contest:
        """Return the start of monitoring and each arm's share of the alarm threshold."""
        numbers = self.state.numbers[0]
        if numbers.incumbent < 0:
            return Contest(challengers=())
        shares = enumerate(nearness(self.state))
        others = ((arm, share) for arm, share in shares if arm != numbers.incumbent)
        return Contest(int(numbers.start + numbers.explore), nearest_first(others))
