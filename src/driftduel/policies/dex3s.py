"""DEX3.S: two EXP3.P learners that share, one for each side of a duel; told how much changes."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._compile import hot
from driftduel.errors import DriftduelError
from driftduel.policies._exp3 import chance, draw, phases_for_variation, share
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.registry import POLICIES
from driftduel.specs import Choice, Range, Spec

__all__ = ["Dex3S"]

# Places in `State.floats`.
GAMMA = 0  # exploration
ETA = 1  # learning rate
BETA = 2  # bias: what every arm is credited with, over its probability
SHARE = 3  # what every arm gets in a round, e alpha / K of all weight


class State(NamedTuple):
    """Two players' weights."""

    floats: Any
    """(4,) numbers named above."""
    weights: Any
    """(2, K) of the first and the second player; each row adds up to 1."""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    gamma, weights = state.floats[GAMMA], state.weights
    first = draw(weights, 0, gamma, rng)
    second = draw(weights, 1, gamma, rng)
    notes[0] = chance(weights, 0, gamma, first)
    notes[1] = chance(weights, 1, gamma, second)
    # The bias does not wait for the answer: it depends on this round's probabilities alone.
    bias = state.floats[ETA] * state.floats[BETA]
    for player in range(2):
        total = 0.0
        for i in range(weights.shape[1]):
            weights[player, i] *= math.exp(bias / chance(weights, player, gamma, i))
            total += weights[player, i]
        for i in range(weights.shape[1]):
            weights[player, i] /= total
    return first, second


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    weights, eta, bonus = state.weights, state.floats[ETA], state.floats[SHARE]
    share(weights, 0, first, math.exp(eta * won / notes[0]), bonus)
    share(weights, 1, second, math.exp(eta * (1 - won) / notes[1]), bonus)
    return 0


@hot
def _reset(state: Any) -> None:
    state.weights[:] = 1.0 / state.weights.shape[1]


@POLICIES.register("dex3s")
class Dex3S(KernelPolicy):
    """Let two EXP3.P learners that share weight, told how much changes, play against each other.

    Saha and Gupta, *Optimal and Efficient Dynamic Regret Algorithms for Non-Stationary Dueling
    Bandits*, ICML 2022: their DEX3.P (``dex3p``), where in every round each arm also gets the
    share e alpha / K of a player's weight, alpha = 1/T, so that no arm is ever lost.

    Told: the horizon T, and either the number of switches or the total variation. S in what
    follows is the number of phases, ``switches + 1``, or (V^2 T / K)^(1/3), which balances V T / S
    with sqrt(S K T).

    Guarantee, by the abstract: dynamic regret of order sqrt(S K T), or V^(1/3) K^(1/3) T^(2/3), up
    to logarithms.

    Divergences and confidence: the structure is from memory (medium), the paper's constants are
    unknown to us (low). Ours are those of EXP3.P with the logarithm of the number of arms, log K,
    replaced by that of the sequences with S phases, S log(KT):
    beta = sqrt(S log(KT) / (K T)), eta = 0.95 beta and gamma = 1.05 K beta, at most 1/2. That is
    not small at ordinary horizons: gamma = 0.11 for K = 10, T = 50,000 and S = 4. Not verified
    against the paper. ``exp3s`` is the same idea without bias and with constants of its own.

    **Late answers** are learned at once, weighted with the probabilities of their asking. The bias
    is credited when a duel is asked for, so a forgotten duel leaves its bias and nothing else. The
    coin of a self-duel counts: without it the estimates would be biased.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    horizon
        The number of rounds T.
    switches
        How often the preferences change.
    variation
        V, the sum over rounds of the largest change of any entry.
    by
        Which of the two to go by; the other need not be known.
    """

    name: ClassVar[str] = "dex3s"
    told: ClassVar[tuple[str, ...]] = ("horizon", "switches")
    guarantee: ClassVar[str] = "dynamic regret sqrt(S K T) or (V K)^(1/3) T^(2/3), S or V known"
    source: ClassVar[str] = "Saha and Gupta, ICML 2022"
    confidence: ClassVar[str] = "medium for the structure, low for the constants: not the paper's"
    kernels: ClassVar[Kernels] = Kernels(_ask, _tell, _reset)
    notes: ClassVar[int] = 2
    state: State

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Annotated[int, Range(2), "rounds T"],
        switches: Annotated[int | None, Range(0), "how often preferences change"] = None,
        variation: Annotated[float | None, Range(0), "how much they change in all"] = None,
        by: Annotated[str, Choice(("switches", "variation")), "which of the two counts"] = (
            "switches"
        ),
    ) -> None:
        super().__init__(arms, rng)
        given = {"horizon": horizon, "switches": switches, "variation": variation, "by": by}
        self.parameters = dict(POLICIES.resolve(Spec(self.name, given)).values)
        if by == "switches" and switches is not None:
            phases = switches + 1.0
        elif by == "variation" and variation is not None:
            phases = phases_for_variation(arms, horizon, variation)
        else:
            raise DriftduelError(f"{self.name}: by={by} needs the key {by}.")
        beta = math.sqrt(phases * math.log(arms * horizon) / (arms * horizon))
        gamma = min(0.5, 1.05 * arms * beta)
        bonus = math.e / horizon / arms
        self.state = State(
            floats=np.array([gamma, 0.95 * beta, beta, bonus]),
            weights=np.full((2, arms), 1.0 / arms),
        )
