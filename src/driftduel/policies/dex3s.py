"""DEX3.S: two EXP3.P learners with weight sharing, one per side of a duel."""

import math
from typing import Annotated, Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.errors import DriftduelError
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.fields import Within
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Choice, Range

__all__ = ["Dex3S"]

Switches = Annotated[int | None, Range(0), "number of changes of the best arm"]
Variation = Annotated[float | None, Range(0), "V: total variation"]
By = Annotated[str, Choice(("switches", "variation")), "the parameter in use"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, weights = state.numbers[0], state.weights
    duel = exp3.draw_both(weights, 0, 1, numbers.gamma, rng, notes)
    # The bias is credited before the answer, because it depends on this round's probabilities
    # alone.
    bias = numbers.eta * numbers.beta
    for player in range(2):
        notes[2 + player] = numbers.share / exp3.credit(weights, player, numbers.gamma, bias)
    return duel


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    weights, eta = state.weights, state.numbers[0].eta
    exp3.share(weights, 0, first, math.exp(eta * won / notes[0]), notes[2])
    exp3.share(weights, 1, second, math.exp(eta * (1 - won) / notes[1]), notes[3])
    return 0


@POLICIES.register("dex3s")
class Dex3S(exp3.Players):
    """Let two EXP3.P learners with weight sharing, tuned to S or V, play against each other.

    Saha and Gupta, *Optimal and Efficient Dynamic Regret Algorithms for Non-Stationary Dueling
    Bandits*, ICML 2022: their DEX3.P (``dex3p``), where in every round each arm also receives the
    share e alpha of a player's total weight, so that no weight vanishes.

    Prior knowledge: the horizon T, and either a number of switches or the total variation V. The
    guarantee is against any sequence of arms, so the relevant switches are those of the comparison
    sequence: for dynamic regret those of the Condorcet winner, not those of other preferences. S in
    the formulas is the number of phases, ``switches + 1``, so S^CW + 1.

    Guarantee: dynamic regret of order sqrt(S K T), or V^(1/3) K^(1/3) T^(2/3), up to logarithms.

    Constants: those of the paper, eta = beta = sqrt(S / (K T)) (Theorem 4.1; it has S = 1, our
    ``switches=0``, for unknown S) or V^(1/3) / (4 K^(2/3) T^(1/3)) (Theorem 4.4), gamma = 2 eta K
    and alpha = 1/T. Our additions: S and V are at most T, as in any world; eta is at most 1 / (2
    K), where gamma is 1 and play is uniform; and for V = 0, where eta would be 0 without any
    learning, S is 1. ``exp3s`` is the same idea without bias, with other constants and a K-th of
    the share. At ordinary horizons it mostly loses far less: here bias and share spend many rounds
    on bad arms.

    **Late answers** are learned immediately, weighted by the probabilities of the round of their
    choice. The bias is credited when a duel is chosen, so the only effect of a forgotten duel is
    its bias. The coin of a self-duel counts: without it the estimates would be biased.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    switches
        The number of changes of the best arm, from 0; `play` passes the value of the world as
        default.
    variation
        V, the sum over rounds of the largest change of any entry.
    by
        The parameter in use, ``switches`` or ``variation``; the other may be None.
    """

    prior_knowledge = ("horizon", "switches")
    guarantee = "dynamic regret sqrt(S K T) or (V K)^(1/3) T^(2/3), S or V known"
    source = "Saha and Gupta, ICML 2022"
    confidence = "high: constants printed in the paper (Theorems 4.1 and 4.4)"
    kernels = Kernels(_ask, _tell, exp3.forget_shares, exp3.heaviest)
    notes = (*exp3.Players.notes, Within(0, 3), Within(0, 3))

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Horizon,
        switches: Switches = None,
        variation: Variation = None,
        by: By = "switches",
    ) -> None:
        super().__init__(arms, rng)
        if by == "switches" and switches is not None:
            eta = math.sqrt(min(switches + 1, horizon) / (arms * horizon))
        elif by == "variation" and variation is not None:
            eta = (min(variation, horizon) / horizon / arms**2) ** (1.0 / 3.0) / 4.0
            eta = eta or math.sqrt(1.0 / (arms * horizon))
        else:
            raise DriftduelError(f"{self.name}: by={by} needs the key {by}.")
        eta = min(eta, 0.5 / arms)
        gamma, bonus = 2.0 * eta * arms, math.e / horizon
        self.state = exp3.fresh_shares(2, arms, gamma=gamma, eta=eta, beta=eta, share=bonus)
