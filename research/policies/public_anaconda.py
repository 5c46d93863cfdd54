"""The published research code that is named ANACONDA but is another algorithm: a replica.

For every pair and every grid start s_k = t0 + 2^k - 1 of the running base that began in t0, that
code keeps the weight won since s_k, in K K T numbers, and adds up over k. A win in round u is
counted once for each s_k <= u, so the sum over the grid is that of weight (1 + floor log2(u-t0+1)):
one number for each pair and base, and nothing of size T is needed.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import uniform
from driftduel.policies.base import GROW, RESTARTED, KernelPolicy, Kernels
from driftduel.policies.fields import (
    ANY,
    ARMS,
    CONSTANT,
    COUNT,
    FINITE,
    FLAG,
    ROUND,
    Growing,
    Named,
    Within,
    records,
)
from driftduel.policies.info import Stage
from driftduel.policies.keys import Constant, Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["PublicAnaconda"]

ReplayRate = Annotated[float, Range(0), "replays; 1 is the paper"]

_FIRST_ROOM = 8
_ENDLESS = 1 << 62
_LATER = Within(0, _ENDLESS)
_HALF = math.sqrt(0.5)


class PublicAnacondaState(NamedTuple):
    """What the code keeps of an episode. K arms; P = K * K ordered pairs; D bases, outermost first.

    The good arms are called master arms there.
    """

    numbers: Annotated[
        Any,
        Named(
            episode=ROUND,  # its first round, 0 before it began
            depth=COUNT,  # bases on the stack
            active_arms=Within(0, ARMS),  # how many the base that learned last had left
            last_round=ROUND,  # learned
            last_pair=Within(0, lambda scope: scope.arms**2 - 1),  # its winner * K + its loser
            last_weight=Within(0, lambda scope: scope.arms**2),
            longest=CONSTANT,  # M: replays have the lengths 4, ..., 2^M
            factor=CONSTANT,  # threshold(n) = factor * sqrt(n) + offset
            offset=CONSTANT,
            replay_rate=CONSTANT,
        ),
    ]
    """(1,) named here."""
    bases: Annotated[Any, Growing(Named(start=_LATER, end=_LATER))]
    """(D,) first and last round of the running bases."""
    arms: Annotated[Any, Growing(FLAG)]
    """(D, K) 1 for the arms of each base."""
    good: Annotated[Any, FLAG]
    """(K,) 1 for the good arms."""
    kept: Annotated[Any, ANY]
    """(K,) scratch: the arms that a base leaves to the one below."""
    sums: Annotated[Any, Growing(FINITE)]
    """(D, P) weight won by each pair, counted once for each grid start of the base before it."""
    outer: Annotated[Any, Growing(FINITE)]
    """(D, P) the same for the grid of the episode, up to the start of the base."""


@kernel
def _log2(n: int) -> int:
    """Return the floor of log2(n)."""
    power = 0
    while n > 1:
        n >>= 1
        power += 1
    return power


@kernel
def _thresholds(state: Any, age: int, last: int) -> float:
    """Add up the thresholds, and the single 1/2, of windows that began `age` - 2^k + 1 ago."""
    numbers, total = state.numbers[0], 0.0
    for k in range(last + 1):
        n = age - (1 << k) + 2
        total += numbers.factor * math.sqrt(float(n)) + numbers.offset + 0.5
    return total


@kernel
def _begin(state: Any, t: int) -> None:
    numbers = state.numbers[0]
    numbers.episode = t
    numbers.depth = 1
    numbers.active_arms = len(state.good)
    numbers.last_round = 0
    state.bases[0].start = t
    state.bases[0].end = _ENDLESS
    state.arms[0, :] = 1
    state.good[:] = 1
    state.sums[0, :] = 0.0


@kernel
def _replay_length(state: Any, rng: Any, d: int) -> int:
    """Draw the longest of the replays B[d, 2^i], i = 2..M, that fire; 0 if none does."""
    numbers = state.numbers[0]
    p = numbers.replay_rate / math.sqrt(float(d))
    u = uniform(rng)
    if u >= p * 0.5 / (1.0 - _HALF):  # more than all their chances together
        return 0
    none_longer = 1.0
    for i in range(numbers.longest, 1, -1):
        chance = min(1.0, p * math.pow(_HALF, i))
        u -= none_longer * chance
        if u < 0.0:
            return 1 << i
        none_longer *= 1.0 - chance
    return 0


@kernel
def _push(state: Any, start: int, length: int) -> None:
    """Start a base in a round that has been played already, as the code does."""
    numbers, depth = state.numbers[0], state.numbers[0].depth
    if depth == len(state.bases):
        return
    numbers.depth = depth + 1
    state.bases[depth].start = start
    state.bases[depth].end = start + 1 + length
    state.arms[depth, :] = 1
    state.sums[depth, :] = 0.0
    for p in range(state.sums.shape[1]):
        state.outer[depth, p] = state.sums[0, p]
    if numbers.last_round == start:
        p, weight, age = numbers.last_pair, numbers.last_weight, start - numbers.episode
        state.sums[depth, p] = weight
        state.outer[depth, p] += weight * (_log2(age) - _log2(age + 1))


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers = state.numbers[0]
    arms = len(state.good)
    if numbers.episode == 0:
        _begin(state, t)
    elif t > numbers.episode + 1 and numbers.active_arms < arms:
        length = _replay_length(state, rng, t - 1 - numbers.episode)
        if length > 0:
            _push(state, t - 1, length)
    active = state.arms[numbers.depth - 1]
    count = 0
    for a in range(arms):
        count += active[a]
    notes[0] = count * count
    x = int(uniform(rng) * count)
    y = x
    if count > 1:
        y = int(uniform(rng) * (count - 1))
        y += int(y >= x)
    first = second = seen = 0
    for a in range(arms):
        if active[a] == 1:
            if seen == x:
                first = a
            if seen == y:
                second = a
            seen += 1
    return first, second


@kernel
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    numbers, bases, good = state.numbers[0], state.bases, state.good
    arms, episode = len(good), numbers.episode
    if episode == 0 or t < episode:
        return 0  # asked for in an episode that is over
    winner, loser = first, second
    if won == 0:
        winner, loser = second, first
    pair, weight = winner * arms + loser, int(notes[0])
    numbers.last_round = t
    numbers.last_pair = pair
    numbers.last_weight = weight
    for depth in range(numbers.depth):
        start = bases[depth].start
        if t >= start:
            state.sums[depth, pair] += weight * (1 + _log2(t - start + 1))
            if depth > 0:
                state.outer[depth, pair] += weight * (1 + _log2(start - episode))
    top = numbers.depth - 1
    start = bases[top].start
    dropped = -1
    if t > start:
        age = t - start
        if first != second and state.sums[top, pair] > _thresholds(state, age, _log2(age + 1)):
            dropped = loser
            good[loser] = 0
        # Not asked here, in that code: whether the arm was dueling itself.
        if start > episode and good[loser] == 1:
            limit = _thresholds(state, t - episode, _log2(start - episode))
            if state.outer[top, pair] > limit:
                good[loser] = 0
    masters = 0
    for a in range(arms):
        masters += good[a]
    if masters == 0:
        numbers.episode = 0
        return RESTARTED
    return _clean(state, t, masters, dropped)


@kernel
def _clean(state: Any, t: int, masters: int, dropped: int) -> int:
    """End what ends; whatever a base that ends had dropped, the one below it drops too."""
    numbers, arms, kept = state.numbers[0], state.arms, state.kept
    top = numbers.depth - 1
    numbers.active_arms = 0
    for a in range(len(kept)):
        kept[a] = int(arms[top, a] == 1 and a != dropped)
        numbers.active_arms += kept[a]
    while top > 0:
        count = 0
        for a in range(len(kept)):
            count += arms[top, a]
        if t < state.bases[top].end and count != masters:
            break
        for a in range(len(kept)):
            kept[a] *= arms[top, a]
        top -= 1
    for a in range(len(kept)):
        arms[top, a] *= kept[a]
    numbers.depth = top + 1
    return GROW if top + 2 >= len(state.bases) else 0


@kernel
def _reset(state: Any) -> None:
    numbers = state.numbers[0]
    numbers.episode = 0
    numbers.depth = 0
    numbers.active_arms = 0
    numbers.last_round = 0
    numbers.last_pair = 0
    numbers.last_weight = 0
    for depth in range(len(state.bases)):
        state.bases[depth].start = 0
        state.bases[depth].end = 0
    state.arms[:] = 0
    state.good[:] = 0
    state.kept[:] = 0
    state.sums[:] = 0.0
    state.outer[:] = 0.0


@kernel
def _best_guess(state: Any) -> int:
    """Return a good arm: it has no opinion on which of them."""
    for a in range(len(state.good)):
        if state.good[a] == 1:
            return a
    return 0


@POLICIES.register("public-anaconda")
class PublicAnaconda(KernelPolicy):
    """Replicate the public research code named ANACONDA, which is not the paper's algorithm.

    The file dueling_algos.jl of github.com/joesuk/nonstationary-duel, published with Suk and
    Agarwal, *When Can We Track Significant Preference Shifts in Dueling Bandits?*, NeurIPS 2023.
    It is here so that the figures made with it can be reproduced and explained. For the algorithm
    of Kleine Buening and Saha use ``anaconda``.

    Prior knowledge: the horizon T. Guarantee: none. It restarts about once in 750 rounds (K = 10,
    T = 50,000)
    whether or not anything changes; read its regret beside its restarts on a stationary world.

    **Where the code differs from the paper's algorithm**, all replicated:

    - the 1/2 is subtracted once from a sum, not in every round: sums grow without a preference;
    - an arm is dropped when the sum over a grid of windows of (sum - threshold) is positive, not
      when one window is above its threshold; the grid is fine at the base's start, not at its end;
    - pairs are drawn without replacement but weighted with |A|^2, and a duel informs both orders;
    - the last arm's duels with itself count as wins over itself, and can drop it;
    - replays begin in the round before they play, have lengths of at least 4, start only when an
      arm is missing, and end when they have as many arms as there are good ones;
    - the base below a replay that ends drops what the replay dropped;
    - the threshold is C (e-1) (K sqrt(L n) + K^2 L) with L = 4 log2 T + 2 log2 K; the proof's
      constant would be 1, and 0.01 is used.

    Divergences from the code: its replay schedule is drawn when needed, not in advance, and its
    K K T sums are kept as two numbers for each pair and running base, which gives the same
    decisions. Verified against: the code, line by line, and a literal reference implementation.

    **Late answers** are learned at once, with the weight of their asking, by the base that runs
    when they come; those asked for before a restart are ignored. A forgotten duel changes nothing.

    Parameters
    ----------
    horizon
        The number of rounds T.
    constant
        C of the threshold; 0.01 in the published notebook.
    replay_rate
        Replays start with this multiple of the paper's probability; 0.1 in the notebook.
    """

    alerts = True
    prior_knowledge = ("horizon",)
    guarantee = "none: restarts about once in 750 rounds whatever happens"
    source = "research code of Suk and Agarwal, NeurIPS 2023"
    confidence = "exact replica of the code, which is not the paper's algorithm"
    ties = "coin"  # its estimates would be biased without
    kernels = Kernels(_ask, _tell, _reset, _best_guess)
    notes = (Within(0, lambda scope: scope.arms**2),)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Horizon,
        constant: Constant = 0.01,
        replay_rate: ReplayRate = 0.1,
    ) -> None:
        super().__init__(arms, rng)
        confidence = 4.0 * math.log2(horizon) + 2.0 * math.log2(arms)
        scale = constant * (math.e - 1.0)
        self.state = PublicAnacondaState(
            numbers=records(
                1,
                episode=0,
                depth=0,
                active_arms=0,
                last_round=0,
                last_pair=0,
                last_weight=0,
                longest=round(math.log2(horizon)),
                factor=scale * arms * math.sqrt(confidence),
                offset=scale * arms * arms * confidence,
                replay_rate=float(replay_rate),
            ),
            bases=records(_FIRST_ROOM, start=0, end=0),
            arms=np.zeros((_FIRST_ROOM, arms), np.int64),
            good=np.zeros(arms, np.int64),
            kept=np.zeros(arms, np.int64),
            sums=np.zeros((_FIRST_ROOM, arms * arms)),
            outer=np.zeros((_FIRST_ROOM, arms * arms)),
        )

    def stage(self) -> Stage:
        """Tell the active and the good set, the episode and the running replays."""
        numbers, state = self.state.numbers[0], self.state
        if numbers.episode == 0:
            return Stage()
        depth = int(numbers.depth)
        return Stage(
            active=tuple(np.flatnonzero(state.arms[depth - 1]).tolist()),
            good=tuple(np.flatnonzero(state.good).tolist()),
            episode_start=int(numbers.episode),
            replays=tuple(state.bases[:depth].tolist()),
        )

    def grow(self) -> None:
        """Make room for twice as many bases."""
        old = self.state
        self.state = old._replace(
            bases=np.concatenate((old.bases, np.zeros_like(old.bases))),
            arms=np.vstack((old.arms, np.zeros_like(old.arms))),
            sums=np.vstack((old.sums, np.zeros_like(old.sums))),
            outer=np.vstack((old.outer, np.zeros_like(old.outer))),
        )

    def check_state(self, state: Any) -> None:
        """Refuse bases that are not there, or have no arms."""
        numbers, room = state.numbers[0], len(state.bases)
        began, depth = numbers.episode != 0, numbers.depth
        self.require(
            all(len(array) == room for array in (state.arms, state.sums, state.outer))
            and began <= depth <= room
            and (not began or (state.arms[:depth].sum(axis=1) > 0).all())
        )
