"""ANACONDA, the paper's algorithm."""

from typing import Annotated, Any

import numpy as np

from driftduel.policies import _anaconda_kernels as engine
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.calibration import calibrated_constant
from driftduel.policies.fields import Within
from driftduel.policies.info import Stage
from driftduel.policies.keys import Rate
from driftduel.policies.registry import POLICIES
from driftduel.specs import Choice, Range

__all__ = ["Anaconda", "check_engine", "fresh_state", "stage_of"]

_FIRST_EPOCH = 1024
_FIRST_ROOM = 256
_DRAWS = 64


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

    **Many arms.** Memory grows with the K^2 ordered pairs: 0.9 KB for each that is played, so
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
    kernels = Kernels(engine.ask, engine.tell, suspect=engine.suspect, unanswered=True)
    bounded_memory = False  # the stacks of starts grow, slowly
    easy_rounds = 3_000_000
    notes = (Within(0, lambda scope: scope.arms**2),)
    state: engine.State

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
        self.state = fresh_state(arms)
        ints, floats = self.state.ints, self.state.floats
        ints[engine.DOUBLING] = horizon is None
        ints[engine.RULE] = engine.FREEDMAN if rule == "freedman" else engine.PAPER
        ints[engine.SYMMETRIC] = estimate == "symmetric"
        ints[engine.DRAWN] = _DRAWS
        ints[engine.LEARN_FROM] = engine.NEVER  # so that round 1 begins the first episode
        if rule == "calibrated":
            constant = calibrated_constant(arms, horizon)
        floats[engine.CONSTANT], floats[engine.RATE] = constant, replay_rate
        engine.set_horizon(self.state, 1, horizon or _FIRST_EPOCH)

    def stage(self) -> Stage:
        """Tell the active and the good set, the episode and the running replays."""
        if self.state.ints[engine.EPISODE] == 0:
            everyone = tuple(range(self.arms))
            return Stage(everyone, everyone, 1, ())
        return stage_of(self.state)

    def grow(self) -> None:
        """Give every stack that is more than half full twice its size, and drop dead starts."""
        old, pairs = self.state, self.state.pairs.copy()
        live = pairs[:, engine.SIZE] - pairs[:, engine.LOW]
        room = pairs[:, engine.ROOM]
        room = np.where(2 * (live + engine.LIST) > room, 2 * room, room)
        base = np.cumsum(room) - room
        stacks = np.zeros((int(room.sum()), engine.ENTRY), np.int64)
        passed = np.zeros(len(stacks))
        for p in np.flatnonzero(live):
            first = old.pairs[p, engine.BASE] + old.pairs[p, engine.LOW]
            stacks[base[p] : base[p] + live[p]] = old.stacks[first : first + live[p]]
            passed[base[p] : base[p] + live[p]] = old.passed[first : first + live[p]]
        pairs[:, engine.BASE], pairs[:, engine.ROOM] = base, room
        pruned = np.clip(pairs[:, engine.PRUNED] - pairs[:, engine.LOW], 0, live)
        pairs[:, engine.LOW], pairs[:, engine.SIZE], pairs[:, engine.PRUNED] = 0, live, pruned
        self.state = old._replace(pairs=pairs, stacks=stacks, passed=passed)

    def check_state(self, state: Any) -> None:
        """Refuse a state that would lead the kernels out of their arrays, or round in circles."""
        told = self.parameters["horizon"]
        first = told or _FIRST_EPOCH
        epochs, rest = divmod(int(state.ints[engine.HORIZON]), first)
        self.require(rest == 0 and epochs.bit_count() == 1 and (epochs == 1 or not told))
        # What follows from the horizon, or from the epoch's length.
        expected = self.state._replace(ints=self.state.ints.copy(), floats=self.state.floats.copy())
        engine.set_horizon(expected, 1, first * epochs)
        places = [engine.HORIZON, engine.SHORT, engine.LEAST, engine.PLAIN]
        self.require(
            (expected.ints[places] == state.ints[places]).all()
            and (expected.floats == state.floats).all()
            and state.ints[engine.LAST_ROUND] >= state.ints[engine.HORIZON]
        )
        check_engine(self, state)


def stage_of(state: engine.State) -> Stage:
    """Tell the active and the good set, the episode and the running replays."""
    ints = state.ints
    return Stage(
        active=tuple(state.active[: ints[engine.ACTIVE]].tolist()),
        good=tuple(np.flatnonzero(state.last < ints[engine.EPISODE]).tolist()),
        episode_start=int(ints[engine.EPISODE]),
        replays=tuple((start, end) for start, end in state.replays[: ints[engine.DEPTH]].tolist()),
    )


def check_engine(policy: KernelPolicy, state: engine.State) -> None:
    """Refuse replays that could not have nested so, and stacks that lie outside or out of order."""
    ints, pairs, stacks = state.ints, state.pairs, state.stacks
    base, room, low, size, pruned = (
        pairs[:, column]
        for column in (engine.BASE, engine.ROOM, engine.LOW, engine.SIZE, engine.PRUNED)
    )
    policy.require(
        len(state.passed) == len(stacks)
        and (low <= size).all()
        and (size + engine.LIST <= room).all()
        and (pruned <= size).all()
        and (room <= len(stacks) - base).all()
    )
    # Halving lengths bound how deep replays nest, also those to come.
    start, end = state.replays[: ints[engine.DEPTH]].T
    lengths = [*(end - start)[1:].tolist(), int(ints[engine.LENGTH])]
    policy.require(
        (np.diff(start) > 0).all()
        and (np.diff(end) < 0).all()
        and all(length == 0 or length.bit_count() == 1 for length in lengths)
    )
    for p in np.flatnonzero(size - low > 1):
        live = stacks[base[p] + low[p] : base[p] + size[p]]
        policy.require(
            (live[1:, engine.SUM] > live[:-1, engine.SUM]).all()
            and (live[1:, engine.START] > live[:-1, engine.START]).all()
        )


def fresh_state(arms: int) -> engine.State:
    """Return the engine's record before the first round."""
    pairs = np.zeros((arms * arms, engine.PAIR), np.int64)
    pairs[:, engine.ROOM] = _FIRST_ROOM
    pairs[:, engine.BASE] = np.arange(arms * arms) * _FIRST_ROOM
    return engine.State(
        ints=np.zeros(engine.INTS, np.int64),
        floats=np.zeros(engine.FLOATS),
        last=np.full(arms, -1, np.int64),
        active=np.zeros(arms, np.int64),
        replays=np.zeros((engine.DEEPEST, 2), np.int64),
        pairs=pairs,
        waiting=np.zeros(arms * arms * engine.LIST * engine.ENTRY, np.int64),
        stacks=np.zeros((arms * arms * _FIRST_ROOM, engine.ENTRY), np.int64),
        passed=np.zeros(arms * arms * _FIRST_ROOM),
        draws=np.zeros(_DRAWS),
        duels=np.zeros(2 * _DRAWS, np.int64),
    )
