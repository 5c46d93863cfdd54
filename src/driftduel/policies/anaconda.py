"""ANACONDA, the paper's algorithm."""

from typing import Annotated, Any

import numpy as np

from driftduel.policies._anaconda.eliminations import best_guess
from driftduel.policies._anaconda.record import FREEDMAN, LIST, PAPER, AnacondaState, fresh_state
from driftduel.policies._anaconda.rounds import ask, tell
from driftduel.policies._anaconda.rule import set_horizon
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.calibration import calibrated_constant
from driftduel.policies.fields import Within
from driftduel.policies.info import Stage
from driftduel.policies.keys import Rate
from driftduel.policies.registry import POLICIES
from driftduel.specs import Choice, Range

__all__ = ["Anaconda", "check_engine", "grow_stacks", "stage_of"]

_FIRST_EPOCH = 1024
# Settings that depend on the horizon or, with doubling, on the length of the epoch.
_SETTINGS = ["horizon", "factor", "floor", "offset", "least_rise", "one_win_fires", "plain"]


@POLICIES.register("anaconda")
class Anaconda(KernelPolicy):
    """Eliminate arms by windows, replay eliminated ones at random, restart when none is left.

    Algorithms 1 and 2 of Kleine Buening and Saha, *ANACONDA: An Improved Dynamic Regret Algorithm
    for Adaptive Non-Stationary Dueling Bandits*, AISTATS 2023. All default values are the paper's;
    `tests/policies/anaconda_literal.py` is the reference implementation, a literal recursion.

    Prior knowledge: the horizon T. Guarantee: dynamic regret of order K sqrt(S^CW T) up to log^3 T,
    for an unknown number S^CW of changes of the Condorcet winner, and of order K sqrt(S T) in the
    number of significant changes under SST and STI.

    **Without effect on short horizons.** An arm is eliminated when a window's sum is about C log(T)
    / 0.7 standard errors above zero. With C = 1 at T = 50,000 and K = 10 that never happens, and
    the regret is that of uniform play; the lemma of the proof has an even larger constant
    (docs/research/theory.md). With C = 0.5 it begins to eliminate around T = 1e6 at K = 5. This is
    a property of the algorithm, not an error of this implementation: the theorem is about long
    horizons.

    **Choices where the paper is silent or inconsistent.** The good and the active set are both
    tested after a round, with all rounds up to and including it (as printed, the good set lags by a
    round and a replay can be left without arms). Replay lengths are the powers of two up to
    2^ceil(log2 T). All pairs count, including an arm with itself.

    **Many arms.** Memory grows with the K^2 ordered pairs: 1.1 KB for each pair that is played, so
    after a million rounds 1 GB at K = 1,000 and 4 GB at K = 2,000. Another 8 KB a pair are reserved
    for its windows, which most operating systems allocate lazily.

    **Late answers** are learned in the order of asking. A forgotten duel counts as a round in which
    the pair did not win, which can only delay an elimination. After the horizon the root continues,
    without further replays.

    Parameters
    ----------
    horizon
        The number of rounds T; None: epochs of 1024, 2048, 4096, ... rounds, each with its own
        horizon. Doubling costs a factor of at most 3.42 in the bound and log2 T restarts (not
        listed as such).
    constant
        C of the elimination rule. The guarantee needs it large enough; smaller values eliminate
        sooner, and wrongly when C log T is below about 7: a window of K^2 rounds then fires after
        C log T + 1 chance wins of one pair, an arm's duel with itself included.
    rule
        ``paper``: C log(T) K sqrt(max(n, K^2)). ``freedman``: the paper's concentration lemma with
        its own constants and the sum V of |A_t|^2 over the window, (e-1) (sqrt(V L) + K^2 L) with L
        = 4 log T + 2 log K, and no C. It keeps the guarantee (V is at most K^2 n; as V is random, a
        full proof takes a union bound over its powers of two, a factor of sqrt 2 and a log log
        more) and has a higher threshold than C = 1. ``calibrated``: the paper's with the smallest C
        with a false alarm in at most 1 of 100 measured games, by K and T
        (`driftduel.policies.calibration`); no proof covers a C so small.
    estimate
        ``paper``: a duel updates the ordered pair that was drawn. ``symmetric``: it updates both
        orders with half the weight; unbiased all the same, with half the variance, so every bound
        of the proof still holds.
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
    prior_knowledge = ("horizon",)
    guarantee = "dynamic regret K sqrt(S^CW T) log^3 T, S^CW unknown"
    source = "Kleine Buening and Saha, ANACONDA, AISTATS 2023"
    confidence = "exact: the paper's Algorithms 1 and 2, audited round by round"
    ties = "coin"  # its estimates would be biased without
    kernels = Kernels(ask, tell, best_guess=best_guess, unanswered=True)
    bounded_memory = False  # the stacks of starts grow, slowly
    easy_rounds = 3_000_000
    notes = (Within(0, lambda scope: scope.arms**2),)
    state: AnacondaState

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
            str, Choice(("paper", "symmetric")), "pairs that a duel updates: its order, or both"
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
        """Return active set, good set, start of the episode and running replays."""
        if self.state.numbers[0].episode == 0:
            everyone = tuple(range(self.arms))
            return Stage(everyone, everyone, 1, ())
        return stage_of(self.state)

    def grow(self) -> None:
        """Double the size of each stack that is more than half full; drop dead starts."""
        self.state = grow_stacks(self.state)

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError for a state that causes invalid indices or endless loops."""
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


def stage_of(state: AnacondaState) -> Stage:
    """Return active set, good set, start of the episode and running replays."""
    numbers = state.numbers[0]
    return Stage(
        active=tuple(state.active[: numbers.active_arms].tolist()),
        good=tuple(np.flatnonzero(state.last < numbers.episode).tolist()),
        episode_start=int(numbers.episode),
        replays=tuple(state.replays[: numbers.depth].tolist()),
    )


def grow_stacks(state: AnacondaState) -> AnacondaState:
    """Return a record with twice the size for each stack that was more than half full.

    Dead starts are not copied.
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


def check_engine(policy: KernelPolicy, state: AnacondaState) -> None:
    """Raise DriftduelError for impossible nestings of replays and for invalid stacks."""
    numbers, pairs, stacks = state.numbers[0], state.pairs, state.stacks
    policy.require(
        (pairs["dead"] <= pairs["filled"]).all()
        and (pairs["filled"] + LIST <= pairs["room"]).all()
        and (pairs["pruned"] <= pairs["filled"]).all()
        and (pairs["room"] <= len(stacks) - pairs["begin"]).all()
    )
    # Halving lengths bound the nesting depth, including that of later replays.
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
