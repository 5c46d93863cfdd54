"""Double Thompson Sampling."""

from typing import Annotated, ClassVar

import numpy as np

from driftduel.policies._counts import count_duel, counting
from driftduel.policies._dts_kernels import DtsState, ask, reset
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.specs import Range

__all__ = ["Dts"]


@POLICIES.register("dts")
class Dts(KernelPolicy):
    """Sample from the posterior twice: for the champion, and for its opponent.

    Prior knowledge: none. Guarantee on stationary worlds: regret K log T + K^2 log log T with a
    Condorcet winner, Copeland regret K^2 log T without. Of the paper's samples only those are drawn
    that can change the choice, see `_dts_kernels`: the duels have the same distribution, and a
    round of a settled game needs O(K) instead of O(K^2) operations.

    **Many arms.** Before any learning a round draws up to K^2 / 2 posterior samples, as in the
    paper: with 2,000 arms that takes 0.1 to 0.2 s, a settled round with 10 some 0.2 us.

    **Late answers** and past votes are counted on arrival. An absent arm keeps its counts;
    candidates, sample and opponent are restricted to present arms. A forgotten duel has no effect.

    Parameters
    ----------
    arms, rng
        The number of arms K, and the generator of the posterior samples.
    alpha
        Width of the confidence bounds, above 1/2 in the theory; the default value 0.51 is that of
        the authors.

    Notes
    -----
    Verified against: the paper and the authors' program, which agree.

    References
    ----------
    Wu and Liu, *Double Thompson Sampling for Dueling Bandits*, NIPS 2016.
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
        self.state = DtsState(
            wins=np.zeros((arms, arms)),
            present=np.ones(arms, np.int64),
            candidates=np.zeros(arms, np.int64),
            sample=np.zeros((arms, arms)),
            scores=np.zeros(arms),
            alpha=np.array([alpha], dtype=np.float64),
            plus=np.array([self.plus]),
        )
