"""King-0: a simple king of the hill with a proved regret bound."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import ARM, COUNT, MOST, ROUND, Named, Within, records
from driftduel.policies.info import Contest, nearest_first
from driftduel.policies.registry import POLICIES

__all__ = ["BETS", "King0"]

BETS = 20
"""Stakes 1/2, 1/4, 1/8, ...: one of so many is half to all of twice any gap from 2^-21 up."""
CLOSED = -1


class King0State(NamedTuple):
    """The king, and its matches."""

    numbers: Annotated[Any, Named(king=ARM, crowned=ROUND, coronations=COUNT)]
    """The king, the round of its coronation (0 for the first one) and how many there were."""
    rivals: Annotated[Any, Named(lead=Within(CLOSED, MOST), since=ROUND)]
    """(K,) of each arm: its wins minus losses in its match, -1 if it has none; the round in which
    its last match was opened, so that duels asked for before are not of it."""
    bets: Annotated[Any, Within(0, 1e100)]
    """(K, 20) the bets on each arm, by stake."""


@hot
def _bar(t: int) -> float:
    """Return what one bet must reach in round `t` for the king to fall."""
    return BETS * (t + 1.0) * (t + 1.0)


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, rivals = state.numbers[0], state.rivals
    king, arms = numbers.king, len(rivals)
    # One number for both: the arm, and the digits behind the point are a separate coin.
    drawn = uniform(rng) * (arms - 1)
    place = int(drawn)
    coin = drawn - place
    j = place + 1 if place >= king else place
    if rivals[j].lead < 0:
        if coin * coin * t >= arms * (1.0 + numbers.coronations):
            return king, king
        _open(state, t, j)
    return king, j


@hot
def _open(state: Any, t: int, j: int) -> None:
    state.rivals[j].lead = 0
    state.rivals[j].since = t
    for i in range(BETS):
        state.bets[j, i] = 1.0


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    if first == second:
        return 0
    return _learn(state, t, first, second, won)


@kernel
def _learn(state: Any, t: int, first: int, j: int, won: int) -> int:
    numbers, rival = state.numbers[0], state.rivals[j]
    if first != numbers.king or rival.lead < 0 or t < rival.since:
        return 0  # the answer came after the reign, or after the match
    sign = 1.0 - 2.0 * won
    rival.lead += 1 - 2 * won
    most, stake = 0.0, 0.5
    for i in range(BETS):
        state.bets[j, i] = max(1.0, state.bets[j, i]) * (1.0 + sign * stake)
        most = max(most, state.bets[j, i])
        stake *= 0.5
    if most < _bar(t):
        return 0
    numbers.king = j
    numbers.crowned = t
    numbers.coronations += 1
    for i in range(len(state.rivals)):
        state.rivals[i].lead = CLOSED
    return RESTARTED


@kernel
def _king(state: Any) -> int:
    return state.numbers[0].king


@POLICIES.register("king-0")
class King0(KernelPolicy):
    """King without the parts that are only measured, so that its regret can be bounded.

    Ours, without prior knowledge. It is slower than `king` and not meant to replace it.

    - **Slots.** In every round one of the K - 1 other arms is drawn, each with the same chance. If
      its match with the king is open, the two play a duel of it. If not, one is opened with
      probability min(1, sqrt(K (1 + C) / t)), after C coronations; else the king is shown alone.
    - **A match** ends when the challenger is one win behind.
    - **The fall.** Bets of stakes 1/2, 1/4, ..., 2^-20 on the challenger start at 1 with its match.
      Before a duel each that is below 1 is filled up to 1; then it grows by its stake if the
      challenger wins, and falls by it if not. When one reaches 20 (t + 1)^2, the challenger is
      crowned and all matches are void: a restart.

    **Guaranteed** under SST and STI: regret of order sqrt(K (S + 1) T log K log T), with explicit
    constants, or sqrt(K (S + 1) T log K) + (S + 1) K log K log T / gap, where S counts the changes
    of the arms' order or of the winner's gaps; docs/research/king-theory.md has the proof. T, S
    and the gaps need not be known.

    **Late answers** count if the match for which the duel was asked is still open; more of its
    duels may be asked for meanwhile. The bound assumes answers that come at once. **Ties** leave a
    match as it is.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    """

    name: ClassVar[str] = "king-0"
    guarantee: ClassVar[str] = "sqrt(K (S + 1) T log K log T) under SST and STI, S and T unknown"
    alerts: ClassVar[bool] = True
    source: ClassVar[str] = "ours"
    confidence: ClassVar[str] = "our own"
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, best_guess=_king)

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.state = King0State(
            numbers=records(1, king=int(rng.integers(arms)), crowned=0, coronations=0),
            rivals=records(arms, lead=CLOSED, since=0),
            bets=np.ones((arms, BETS)),
        )

    def contest(self) -> Contest:
        """Tell since when the king reigns, and how near its challengers are to its fall."""
        bar = math.log(_bar(max(1, self.ledger.asked)))
        shares = (
            (int(j), math.log(max(1.0, self.state.bets[j].max())) / bar)
            for j in np.flatnonzero(self.state.rivals["lead"] >= 0)
        )
        since = int(self.state.numbers[0].crowned) or None
        return Contest(since=since, challengers=nearest_first(shares))

    def check_state(self, state: Any) -> None:
        """Refuse a match of the king with itself."""
        self.require(state.rivals["lead"][state.numbers[0].king] == CLOSED)
