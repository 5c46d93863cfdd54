"""Versatile dueling bandits: follow the regularised leader with Tsallis entropy."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies import _exp3 as exp3
from driftduel.policies.base import Kernels
from driftduel.policies.fields import ANY, CONSTANT, FINITE, records
from driftduel.policies.registry import POLICIES
from driftduel.specs import Choice, Range

__all__ = ["VersatileDuelingBandits"]

Players = Annotated[str, Choice(("two", "shared")), "the players that draw the two arms"]
Estimate = Annotated[str, Choice(("plain", "reduced")), "how losses are estimated"]
Rate = Annotated[float | None, Range(0, open=True), "eta sqrt(t); 2 plain, 4 reduced"]

BASELINE = 0.5  # B of the reduced estimate: the loss of a fair duel


class VdbState(NamedTuple):
    """Estimated losses; when the player is shared, only the first row is used."""

    numbers: Annotated[Any, CONSTANT]
    """Whether both arms come from one player; whether estimates have reduced variance; and the
    learning rate eta, times sqrt(t)."""
    losses: Annotated[Any, FINITE]
    """(2, K) sums of the estimated losses of the first and the second player."""
    weights: Annotated[Any, ANY]
    """(2, K) the probabilities of each; recomputed in every round."""


@hot
def _rate(state: Any, t: int) -> float:
    return state.numbers[0].rate / math.sqrt(float(t))


@hot
def _lead(losses: Any, weights: Any, row: int, rate: float) -> None:
    """Find the probabilities 4 / (rate (loss - x))^2; x normalises their sum.

    Their sum is convex and increasing in x, and at least 1 where the start puts it: Newton's method
    descends monotonically to the root.
    """
    arms = losses.shape[1]
    lowest = losses[row, 0]
    for i in range(1, arms):
        lowest = min(lowest, losses[row, i])
    below = 2.0 / rate  # lowest - x
    total = 0.0
    for _ in range(100):
        total = 0.0
        slope = 0.0
        for i in range(arms):
            root = 2.0 / (rate * (losses[row, i] - lowest + below))
            weights[row, i] = root * root
            total += root * root
            slope += root * root * root
        if total < 1.0 + 1e-12:
            break
        below += (total - 1.0) / (rate * slope)
    for i in range(arms):
        weights[row, i] /= total


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    losses, weights, rate = state.losses, state.weights, _rate(state, t)
    other = 1 - state.numbers[0].shared
    for row in range(1 + other):
        _lead(losses, weights, row, rate)
    first = exp3.pick(weights, 0, uniform(rng))
    second = exp3.pick(weights, other, uniform(rng))
    notes[0] = weights[0, first]
    notes[1] = weights[other, second]
    # The baseline of every arm, played or not, is credited before the answer, because it depends on
    # this round's probabilities only. A shared player averages two estimates with one baseline.
    for row in range(1 + other):
        for i in range(losses.shape[1]):
            losses[row, i] += _baseline(state, weights[row, i], rate)
    return first, second


@hot
def _baseline(state: Any, p: float, rate: float) -> float:
    """Return B of an arm that is drawn with probability p."""
    return BASELINE if state.numbers[0].reduced == 1 and p >= rate * rate else 0.0


@hot
def _estimate(state: Any, loss: float, p: float, rate: float) -> float:
    """Return the increment of the estimated loss of the arm that was played."""
    return (loss - _baseline(state, p, rate)) / p


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    losses, rate = state.losses, _rate(state, t)
    other = 1 - state.numbers[0].shared
    weight = 0.5 + 0.5 * other
    losses[0, first] += weight * _estimate(state, 1.0 - won, notes[0], rate)
    losses[other, second] += weight * _estimate(state, float(won), notes[1], rate)
    return 0


@hot
def _reset(state: Any) -> None:
    state.losses[:] = 0.0
    exp3.forget_shares(state)


@POLICIES.register("vdb")
class VersatileDuelingBandits(exp3.Players):
    """Let two Tsallis-INF learners, without any prior knowledge, play against each other.

    Saha and Gaillard, *Versatile Dueling Bandits: Best-of-both World Analyses for Learning from
    Relative Preferences*, ICML 2022, built on Tsallis-INF (Zimmert and Seldin 2021). Each player
    draws arm i with probability 4 / (eta (L_i - x))^2, where L are its importance-weighted losses
    so far, x makes the sum 1, and eta = rate/sqrt(t). A player loses 1 when its arm loses the
    duel.

    Prior knowledge: none, not even the horizon. Guarantee: regret of order sqrt(K T) against the
    best fixed arm of an adversarial sequence, and sum_i log(T) / Delta_i in a stationary world with
    a Condorcet winner. No bound for changing winners.

    Verified against: an independent public implementation by S. Huan for formulas and default
    rates, whose comments refer to the paper's Algorithm 3 (two players) and Remark 2 (shared), and
    to Theorem 1 of Zimmert and Seldin for the rates: 2/sqrt(t) for plain estimates, 4/sqrt(t) for
    reduced ones. The experiments of Saha and Gaillard have 4/sqrt(t): pass ``rate=4`` for them with
    plain estimates.

    **Late answers** are learned immediately, with the probabilities and the rate of the round of
    their choice. A forgotten duel has no effect with ``plain``; with ``reduced`` its baselines
    remain, which are added when a duel is chosen. The coin of a self-duel counts: without it the
    two players' estimates would be biased.

    Parameters
    ----------
    players
        ``two``: one learner per side of the duel. ``shared``: both arms come from one learner, with
        half the weight per answer.
    estimate
        ``plain``: [arm played] loss / p. ``reduced``, with less variance:
        [arm played] (loss - B) / p + B for every arm, with B = 1/2 for an arm whose p is at least
        eta^2, else 0. Both are unbiased.
    rate
        The learning rate eta times sqrt(t); the default value is 2 with plain and 4 with reduced
        estimates.
    """

    guarantee = "static: sqrt(K T) adversarial, sum_i log T / Delta_i stationary"
    source = "Saha and Gaillard, ICML 2022"
    confidence = "high: as in public code; the paper's experiments have rate=4"
    kernels = Kernels(_ask, _tell, _reset, exp3.heaviest)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        players: Players = "two",
        estimate: Estimate = "plain",
        rate: Rate = None,
    ) -> None:
        super().__init__(arms, rng)
        reduced = int(estimate == "reduced")
        rate = rate or (4.0 if reduced else 2.0)
        self.state = VdbState(
            numbers=records(1, shared=int(players == "shared"), reduced=reduced, rate=rate),
            losses=np.zeros((2, arms)),
            weights=np.full((2, arms), 1.0 / arms),
        )
