"""DETECT around any policy that can name whom it takes for the winner."""

import math
import warnings
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.errors import WeakSpotWarning
from driftduel.policies._halves import forget_windows, nearness, slide
from driftduel.policies.around import Around, no_notes_inside, pass_on
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import ARM_OR_NONE, CONSTANT, COUNT, FLAG, ROUND, Named, records
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.keys import Horizon
from driftduel.policies.modes import COIN
from driftduel.specs import Choice, Range, need_room
from driftduel.wording import whole

__all__ = ["Detect"]

Delta = Annotated[float, Range(0, 1, open=True), "the smallest change"]
PMin = Annotated[float, Range(0.5, 1, open=True), "the winner's smallest chance"]
Setting = Annotated[str, Choice(("1", "2")), "which constants"]


class State(NamedTuple):
    """The policy inside, and a window of the incumbent's outcomes against everyone."""

    base: Any
    """The state of the policy inside."""
    windows: Annotated[Any, FLAG]
    """(K, w) the last outcomes of the incumbent against each arm."""
    sums: Annotated[Any, COUNT]
    """(K, 2) wins in the newer and in the older half of a window."""
    seen: Annotated[Any, COUNT]
    """(K,) outcomes seen since the incumbent was found."""
    numbers: Annotated[
        Any, Named(start=ROUND, explore=CONSTANT, incumbent=ARM_OR_NONE, limit=CONSTANT)
    ]
    """The round that is round 1 since the last alarm; the rounds for the policy inside; the
    suspected winner, -1 while exploring; and b, how far the halves may differ."""


@cache
def _wrap(inner: Kernels) -> Kernels:
    inner_ask, inner_tell, inner_reset = inner.ask, inner.tell, inner.reset
    inner_suspect = inner.suspect

    def ask(state, rng, t, notes):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        local = max(1, t - numbers.start + 1)
        if local <= numbers.explore:
            notes[0] = -1.0
            return inner_ask(state.base, rng, local, notes[1:])
        incumbent = numbers.incumbent
        if incumbent < 0:
            incumbent = numbers.incumbent = inner_suspect(state.base)
        other = (local - numbers.explore - 1) % (len(state.seen) - 1)
        notes[0] = incumbent
        no_notes_inside(notes)
        return incumbent, other + int(other >= incumbent)

    def tell(state, t, first, second, won, notes):  # type: ignore[no-untyped-def]
        numbers = state.numbers[0]
        if t < numbers.start:
            return 0  # asked for before the alarm
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

    def suspect(state):  # type: ignore[no-untyped-def]
        incumbent = state.numbers[0].incumbent
        return incumbent if incumbent >= 0 else inner_suspect(state.base)

    reset = kernel(_reset)
    # Somebody better who comes while the incumbent is monitored would beat it from the first duel
    # on: nothing changes, and there would be no alarm. So nobody comes.
    hear = pass_on(inner)["hear"]
    return Kernels(hot(ask), hot(tell), reset, kernel(suspect), hear=hear)


class Detect(Around):
    """Explore, then let the suspected winner meet everyone in turn until something changes.

    Source: Kolpaczki, Bengs, Huellermeier, *Non-Stationary Dueling Bandits*, 2022 (DETECT). Told T,
    the smallest change delta and the smallest winning probability p_min. For binary weak regret:
    the suspected winner is in every duel after exploration, so strong regret stays linear. Formulas
    as in the authors' program, but exploration is rounded up and not down; constants not verified
    against the paper.

    The policy inside names whom it suspects when exploration ends: Beat the Winner its incumbent,
    Winner Stays (strong) the winner of its last round, Winner Stays (weak) who has the most wins
    minus losses (in the authors' program the last round's winner, too), a policy with counts the
    arm with the most pairwise victories. The program puts Beat the Winner and Winner Stays inside,
    and notes that one is bad with setting 2 and the other with setting 1. So it is here: of a
    million rounds of ``random-condorcet`` (ten arms, ten segments, p_min = 0.55), those without the
    winner were 7,200 (`detect-wsw`) and 185,000 (`detect-btw`) with setting 2, 636,000 and 37,000
    with setting 1.

    **Weak spot.** Setting 1 explores for (log(T / ((1 - e^-m) log T)) / m + K - 1)^2 rounds with
    m = (2 p_min - 1)^2: 2.5 million at T = 1e6 and p_min = 0.55, so it never monitors. Creating it
    warns when exploration is longer than half of the horizon.

    **Late answers** to duels from before an alarm are dropped; others count when they come.

    Parameters
    ----------
    horizon
        The number of rounds T.
    delta, p_min
        The smallest change, and the smallest probability with which the winner wins.
    setting
        Which of the authors' two choices of constants.
    """

    prefix = "detect"
    alerts = True
    needs_suspect = True
    tells = ("horizon", "delta", "p_min")
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
        miss = 1 - math.exp(-m) or m  # the same where m is lost beside 1
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
                f"K={arms}, p_min={p_min}); it hardly monitors, if at all.",
                WeakSpotWarning,
                stacklevel=2,
            )
        self.state = State(
            base=base.state,
            windows=np.zeros((arms, w), np.int64),
            sums=np.zeros((arms, 2), np.int64),
            seen=np.zeros(arms, np.int64),
            numbers=records(
                1, start=1, explore=math.ceil(min(explore, 1e18)), incumbent=-1, limit=limit
            ),
        )

    def began(self) -> int:
        """Return the first round since the last alarm."""
        return int(self.state.numbers[0].start)

    def contest(self) -> Contest:
        """Tell since when the incumbent is watched, and how near its duels are to an alarm."""
        numbers = self.state.numbers[0]
        if numbers.incumbent < 0:
            return Contest(challengers=())
        shares = enumerate(nearness(self.state))
        others = ((arm, share) for arm, share in shares if arm != numbers.incumbent)
        return Contest(int(numbers.start + numbers.explore), nearest_first(others))
