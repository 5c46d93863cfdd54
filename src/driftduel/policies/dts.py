"""Double Thompson Sampling."""

from typing import Annotated, ClassVar

import numpy as np

from driftduel.policies._counts import count_duel, counting
from driftduel.policies._dts_kernels import State, ask, reset
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Dts"]


@POLICIES.register("dts")
class Dts(KernelPolicy):
    """Sample from the posterior twice: for the champion, and for who should meet it.

    Source: Wu and Liu, *Double Thompson Sampling for Dueling Bandits*, NIPS 2016. Told nothing.
    Guarantee on stationary worlds: K log T + K^2 log log T with a Condorcet winner, K^2 log T in
    Copeland regret without. Confidence is high, from the paper and the authors' program. Of the
    paper's samples only those are drawn that can change the choice, see `_dts_kernels`: the duels
    are the same in distribution, and a round of a settled game looks at K pairs and not at K^2.

    **Many arms.** While nothing is known, a round draws up to K^2 / 2 posterior samples, as the
    paper has it: with 2,000 arms that takes 0.1 to 0.2 s, a settled round with 10 some 0.2 us.

    **Late answers** are counted when they come, and votes of the past when they are heard. An arm
    that is away keeps its counts; candidates, sample and opponent are those who are there.

    Parameters
    ----------
    arms, rng
        The number of arms K, and its randomness.
    alpha
        Width of the confidence bounds, above 1/2 in the theory; the authors use 0.51.
    """

    name: ClassVar[str] = "dts"
    guarantee: ClassVar[str] = "K log T + K^2 log log T, stationary"
    in_panel: ClassVar[str] = COUNTED
    source: ClassVar[str] = "Wu and Liu, NIPS 2016"
    confidence: ClassVar[str] = "high; paper and authors' code agree"
    kernels: ClassVar[Kernels] = counting(ask, count_duel, reset, presence=True)
    plus: ClassVar[int] = 0

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Annotated[float, Range(0, open=True), "width of the confidence bounds"] = 0.51,
    ) -> None:
        super().__init__(arms, rng)
        self.state = State(
            wins=np.zeros((arms, arms)),
            present=np.ones(arms, np.int64),
            candidates=np.zeros(arms, np.int64),
            sample=np.zeros((arms, arms)),
            scores=np.zeros(arms),
            alpha=np.array([alpha], dtype=np.float64),
            plus=np.array([self.plus]),
        )
