"""ANACONDA, the paper's algorithm."""

from typing import Annotated, Any

import numpy as np

from driftduel.policies._anaconda.eliminations import suspect
from driftduel.policies._anaconda.record import FREEDMAN, LIST, PAPER, State, fresh_state
from driftduel.policies._anaconda.rounds import ask, tell
from driftduel.policies._anaconda.rule import set_horizon
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.calibration import calibrated_constant
from driftduel.policies.fields import Within
from driftduel.policies.info import Stage
from driftduel.policies.keys import Rate
from driftduel.policies.registry import POLICIES
from driftduel.specs import Choice, Range

__all__ = ["Anaconda", "check_engine", "grown", "stage_of"]

_FIRST_EPOCH = 1024
# What follows from the horizon, or from the epoch's length.
_SETTINGS = ["horizon", "factor", "floor", "offset", "least_rise", "one_win_fires", "plain"]


@POLICIES.register("anaconda")
class Anaconda(KernelPolicy):
    """Eliminate arms by windows, replay eliminated ones at random, restart when none is left.

    Algorithms 1 and 2 of Kleine Buening and Saha, *ANACONDA: An Improved Dynamic Regret Algorithm
    for Adaptive Non-Stationary Dueling Bandits*, AISTATS 2023. The defaults are the paper's, word
    for word; `anaconda_literal` has the same algorithm as slow, obvious code.

    Told: the horizon T. Guarantee: dynamic regret of order K sqrt(S^CW T) up to log^3 T, for an
    unknown number S^CW of changes of the Condorcet winner, and of order K sqrt(S T) in the
    significant ones under SST and STI.

    **When it does nothing.** An arm is eliminated when a window's sum is about C log(T) / 0.7
    standard errors above zero. With C = 1 at T = 50,000 and K = 10 that never happens, and its
    regret is that of uniform play; the proof's own lemma asks for still more (docs/theory.md).
    With C = 0.5 it begins to eliminate around T = 1e6 at K = 5. This is the algorithm, not an
    error: its theorem is about long horizons.

    **Choices where the paper is silent or inconsistent.** The good and the active set are both
    tested after a round, with all rounds up to and including it (as printed, the good set lags by
    a round and a replay can be left without arms). Replay lengths are the powers of two up to
    2^ceil(log2 T). Any pair counts, that of an arm with itself too.

    **Many arms.** Memory grows with the K^2 ordered pairs: 1.1 KB for each that is played, so
    after a million rounds 1 GB at K = 1,000 and 4 GB at K = 2,000. Another 8 KB a pair are reserved
    for its windows, which most operating systems provide only as they fill.

    **Late answers** are learned in the order of asking. A forgotten duel counts as a round in
    which the pair did not win, which can only delay an elimination. After the horizon
    the root goes on, without further replays.

    Parameters
    ----------
    horizon
        The number of rounds T; None: epochs of 1024, 2048, 4096, ... rounds, each with its own
        horizon. Doubling costs a factor of at most 3.42 in the bound and log2 T restarts (not
        counted as such).
    constant
        C of the elimination rule. The guarantee needs it large enough; smaller values eliminate
        sooner, and wrongly when C log T is below about 7: a window of K^2 rounds then fires after
        C log T + 1 chance wins of one pair, an arm's duel with itself included.
    rule
        ``paper``: C log(T) K sqrt(max(n, K^2)). ``freedman``: the paper's concentration lemma
        with its own constants and the sum V of |A_t|^2 that the window really had,
        (e-1) (sqrt(V L) + K^2 L) with L = 4 log T + 2 log K, and no C. It keeps the guarantee (V
        is at most K^2 n; as V is random, a full proof unites over its powers of two, a factor of
        sqrt 2 and a log log more) and asks for more than C = 1 does. ``calibrated``: the paper's
        with the smallest C that was measured to restart falsely in at most 1 game of 100, by K
        and T (`driftduel.policies.calibration`); no proof covers a C so small.
    estimate
        ``paper``: a duel informs the ordered pair it drew. ``symmetric``: it informs both orders
        with half the weight; unbiased all the same, with half the variance, so every bound of
        the proof still holds.
    replay_rate
        Replays start with this multiple of the paper's probability; 1 is the paper. Any other
        constant changes the guarantee by a constant factor only.

    Examples
    --------
    >>> policy = Anaconda(3, np.random.default_rng(0), horizon=1000)
    >>> duel = policy.ask()
    >>> policy.tell(duel, winner=duel.first)
    >>> policy.info().good
    (0, 1, 2)
    """

    in_order = True
    alerts = True
    told = ("horizon",)
    guarantee = "dynamic regret K sqrt(S^CW T) log^3 T, S^CW unknown"
    source = "Kleine Buening and Saha, ANACONDA, AISTATS 2023"
    confidence = "exact: the paper's Algorithms 1 and 2, audited round by round"
    ties = "coin"  # its estimates would be biased without
    kernels = Kernels(ask, tell, suspect=suspect, unanswered=True)
    bounded_memory = False  # the stacks of starts grow, slowly
    easy_rounds = 3_000_000
    notes = (Within(0, lambda scope: scope.arms**2),)
    state: State

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int | None, Range(2), "rounds T; none: doubling"] = None,
        constant: Annotated[float, Range(0, open=True), "C of the elimination rule"] = 1.0,
        rule: Annotated[
            str, Choice(("paper", "freedman", "calibrated")), "elimination rule"
        ] = "paper",
        estimate: Annotated[
            str, Choice(("paper", "symmetric")), "whom a duel informs: its order, or both"
        ] = "paper",
        replay_rate: Rate = 1.0,
    ) -> None:
        super().__init__(arms, rng)
        if rule == "calibrated":
            constant = calibrated_constant(arms, horizon)
        self.state = fresh_state(
            arms,
            doubling=horizon is None,
            rule=FREEDMAN if rule == "freedman" else PAPER,
            symmetric=estimate == "symmetric",
            constant=float(constant),
            replay_rate=float(replay_rate),
        )
        set_horizon(self.state, 1, horizon or _FIRST_EPOCH)

    def stage(self) -> Stage:
        """Tell the active and the good set, the episode and the running replays."""
        if self.state.numbers[0].episode == 0:
            everyone = tuple(range(self.arms))
            return Stage(everyone, everyone, 1, ())
        return stage_of(self.state)

    def grow(self) -> None:
        """Give every stack that is more than half full twice its size, and drop dead starts."""
        self.state = grown(self.state)

    def check_state(self, state: Any) -> None:
        """Refuse a state that would lead the kernels out of their arrays, or round in circles."""
        told = self.parameters["horizon"]
        first = told or _FIRST_EPOCH
        numbers = state.numbers[0]
        epochs, rest = divmod(int(numbers.horizon), first)
        self.require(rest == 0 and epochs.bit_count() == 1 and (epochs == 1 or not told))
        expected = self.state._replace(numbers=self.state.numbers.copy())
        set_horizon(expected, 1, first * epochs)
        self.require(
            (expected.numbers[_SETTINGS] == state.numbers[_SETTINGS]).all()
            and numbers.last_round >= numbers.horizon
        )
        check_engine(self, state)


def stage_of(state: State) -> Stage:
    """Tell the active and the good set, the episode and the running replays."""
    numbers = state.numbers[0]
    return Stage(
        active=tuple(state.active[: numbers.active_arms].tolist()),
        good=tuple(np.flatnonzero(state.last < numbers.episode).tolist()),
        episode_start=int(numbers.episode),
        replays=tuple(state.replays[: numbers.depth].tolist()),
    )


def grown(state: State) -> State:
    """Return a record in which every stack that was more than half full has twice its size.

    Dead starts are left behind.
    """
    old, pairs = state.pairs, state.pairs.copy()
    live = old["filled"] - old["dead"]
    room = np.where(2 * (live + LIST) > old["room"], 2 * old["room"], old["room"])
    begin = np.cumsum(room) - room
    stacks = np.zeros(room.sum(), state.stacks.dtype)
    for p in np.flatnonzero(live):
        first = old["begin"][p] + old["dead"][p]
        stacks[begin[p] : begin[p] + live[p]] = state.stacks[first : first + live[p]]
    pairs["begin"], pairs["room"] = begin, room
    pairs["dead"], pairs["filled"] = 0, live
    pairs["pruned"] = np.clip(old["pruned"] - old["dead"], 0, live)
    return state._replace(pairs=pairs, stacks=stacks)


def check_engine(policy: KernelPolicy, state: State) -> None:
    """Refuse replays that could not have nested so, and stacks that lie outside or out of order."""
    numbers, pairs, stacks = state.numbers[0], state.pairs, state.stacks
    policy.require(
        (pairs["dead"] <= pairs["filled"]).all()
        and (pairs["filled"] + LIST <= pairs["room"]).all()
        and (pairs["pruned"] <= pairs["filled"]).all()
        and (pairs["room"] <= len(stacks) - pairs["begin"]).all()
    )
    # Halving lengths bound how deep replays nest, also those to come.
    replays = state.replays[: numbers.depth]
    lengths = [*(replays["end"] - replays["start"])[1:].tolist(), int(numbers.replay_length)]
    policy.require(
        (np.diff(replays["start"]) > 0).all()
        and (np.diff(replays["end"]) < 0).all()
        and all(length == 0 or length.bit_count() == 1 for length in lengths)
    )
    for pair in pairs[pairs["filled"] - pairs["dead"] > 1]:
        live = stacks[pair.begin + pair.dead : pair.begin + pair.filled]
        policy.require((np.diff(live["balance"]) > 0).all() and (np.diff(live["start"]) > 0).all())
