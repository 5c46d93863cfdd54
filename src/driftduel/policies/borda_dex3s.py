"""Borda-DEX3.S: exponential weights on Borda scores with weight sharing, for S known."""

import math
from typing import Annotated, Any

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.fields import PROBABILITY, Within
from driftduel.policies.keys import Horizon
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["BordaDex3S"]

Switches = Annotated[int, Range(0), "number of changes of the Borda winner"]
Delta = Annotated[float, Range(0, 1, open=True), "probability of failure"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, weights = state.numbers[0], state.weights
    duel = exp3.draw_jointly(weights, numbers.gamma, rng, notes)
    # The bias is credited before the answer, because it depends on this round's probabilities
    # alone.
    notes[1] = numbers.share / exp3.credit(weights, 0, numbers.gamma, numbers.eta * numbers.beta)
    return duel


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    weights = state.weights
    score = won / (weights.shape[1] * notes[0])
    exp3.share(weights, 0, first, math.exp(state.numbers[0].eta * score), notes[1])
    return 0


@POLICIES.register("borda-dex3s")
class BordaDex3S(exp3.Players):
    """Draw both arms by exponential weights on Borda scores, with weight sharing.

    Saha and Gupta, *Optimal and Efficient Dynamic Regret Algorithms for Non-Stationary Dueling
    Bandits*, ICML 2022, Algorithm 3: both arms a, b come from p = (1-gamma) w + gamma/K; arm k is
    credited with s(k) = [k = a] o / (K p(a) p(b)) + beta / p(k), where o is 1 for a win of a: an
    estimate of the mean of P(k, .), and a bias that makes it hold with high probability. Then
    w'(k) = w(k) exp(eta s(k)) + e alpha sum(w), normed.

    Prior knowledge: the horizon T, and the number of switches. The guarantee is against any
    sequence of arms, so the relevant switches are those of the Borda winner. S in the formulas is
    the number of phases, ``switches + 1``. (`play` passes the number of switches of the Condorcet
    winner, or without one those of the preferences; pass ``switches=...`` if the number for the
    Borda winner differs.)

    Guarantee: dynamic Borda regret of order (S K)^(1/3) T^(2/3) up to logarithms. It maximises
    Borda scores: in a world whose Condorcet winner is not the Borda winner its Condorcet regret is
    linear.

    Constants: those of the paper's Theorem 6.1, eta = (S log(K) / (T sqrt(2 K)))^(2/3), gamma =
    sqrt(2 eta K), alpha = 1 / (K T) and beta = S^(1/3) sqrt(log(2 K / delta)) / ((2 eta)^(1/4)
    K^(3/4) sqrt(T)). Our additions: S is at most T, and eta at most 1 / (2 K), where gamma is 1 and
    play is uniform.

    **Late answers** are learned immediately, weighted by the probabilities of the round of their
    choice. The bias is credited when a duel is chosen, so the only effect of a forgotten duel is
    its bias. The coin of a self-duel counts: the mean that is estimated includes P(k, k) = 1/2.

    Parameters
    ----------
    horizon
        The number of rounds T, an integer of at least 2; `play` passes the length of the world as
        default value.
    switches
        The number of changes of the Borda winner, from 0; see above for the default value of
        `play`.
    delta
        The failure probability of the regret bound, in (0, 1).
    """

    prior_knowledge = ("horizon", "switches")
    guarantee = "dynamic Borda regret (S K)^(1/3) T^(2/3), S known"
    source = "Saha and Gupta, ICML 2022"
    confidence = "high: constants printed in the paper (Theorem 6.1)"
    kernels = Kernels(_ask, _tell, exp3.forget_shares, exp3.heaviest)
    notes = (PROBABILITY, Within(0, 3))

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        horizon: Horizon,
        switches: Switches,
        delta: Delta = 0.05,
    ) -> None:
        super().__init__(arms, rng)
        phases = min(switches + 1, horizon)
        eta = (phases * math.log(arms) / (horizon * math.sqrt(2.0 * arms))) ** (2.0 / 3.0)
        eta = min(eta, 0.5 / arms)
        gamma = math.sqrt(2.0 * eta * arms)
        beta = (
            phases ** (1.0 / 3.0)
            * math.sqrt(math.log(2.0 * arms / delta))
            / ((2.0 * eta) ** 0.25 * arms**0.75 * math.sqrt(horizon))
        )
        bonus = math.e / (arms * horizon)
        self.state = exp3.fresh_shares(1, arms, gamma=gamma, eta=eta, beta=beta, share=bonus)
