"""MaxMin-UCB: a possible winner, and the arms with the largest upper bounds against a slate."""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel._internal.kernel_random import uniform
from driftduel.policies._counts import (
    bonus,
    count_duel,
    counting,
    forget_wins,
    possible_winners,
    present_arms,
    upper,
)
from driftduel.policies._slate_kernels import draw_some, tell_slate, write_slate
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, ARM_OR_NONE, CONSTANT, COUNT, PRESENT, Named, records
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.policies.slates import Slate, other_notes
from driftduel.specs import Range

__all__ = ["MaxMinUcb"]

_NONE = -1
_OUT = -1.0


class MaxMinState(NamedTuple):
    """Win counts and the hypothesised best arm."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 for present arms, else 0."""
    best: Annotated[Any, ARM_OR_NONE]
    """(1,) the last sole candidate, or -1 if it is not a candidate any more."""
    chosen: Annotated[Any, ANY]
    """(K,) scratch: the candidates, then the slate."""
    hopes: Annotated[Any, ANY]
    """(K,) scratch: the smallest upper bound of an arm over those of the slate."""
    numbers: Annotated[Any, Named(alpha=CONSTANT, most=CONSTANT)]
    """alpha, and the largest number m of arms shown."""


@hot
def _most_hopeful(hopes: Any, rng: Any) -> int:
    """Return the arm with the largest value, of equal ones a random one; -1 if all are out."""
    arm, most, ties = _NONE, _OUT, 0
    for i in range(len(hopes)):
        if hopes[i] == _OUT or hopes[i] < most:
            continue
        ties = ties + 1 if hopes[i] == most else 1
        if ties == 1 or uniform(rng) * ties < 1.0:
            arm, most = i, hopes[i]
    return arm


@hot
def _build_up(state: Any, rng: Any, anchor: int, width: float) -> int:
    """Extend a slate from one arm by the arms of the largest least bound; return its size."""
    hopes, chosen = state.hopes, state.chosen
    for i in range(len(hopes)):
        hopes[i] = math.inf if state.present[i] == 1 else _OUT
    count, arm = 0, anchor
    while arm != _NONE and count < state.numbers[0].most:
        chosen[count] = arm
        count += 1
        hopes[arm] = _OUT
        if count < state.numbers[0].most:
            for i in range(len(hopes)):
                if hopes[i] != _OUT:
                    hopes[i] = min(hopes[i], upper(state.wins, i, arm, width))
            arm = _most_hopeful(hopes, rng)
    return count


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    chosen, most = state.chosen, state.numbers[0].most
    width = bonus(state.numbers[0].alpha, t)
    count = possible_winners(state.wins, state.present, width, chosen)
    is_candidate = False
    for k in range(count):
        is_candidate |= chosen[k] == state.best[0]
    if not is_candidate:
        state.best[0] = _NONE
    if count == 0:
        count = draw_some(chosen, present_arms(state.present, chosen), most, rng)
    elif count == 1:
        state.best[0] = chosen[0]
    else:
        anchor = state.best[0]
        if anchor == _NONE:
            anchor = chosen[int(uniform(rng) * count)]
        count = _build_up(state, rng, anchor, width)
    return write_slate(chosen, count, most, notes)


@hot
def _reset(state: Any) -> None:
    forget_wins(state.wins)
    state.best[0] = _NONE


@POLICIES.register("maxmin-ucb")
class MaxMinUcb(KernelPolicy):
    """Show a possible winner with the arms of the largest upper bounds against the slate so far.

    After MaxMin-UCB of Saha and Gopalan, *Combinatorial Bandits with Relative Feedback*, NeurIPS
    2019. Upper bounds are those of RUCB: u_ij = w_ij / n_ij + sqrt(alpha log t / n_ij), infinite
    for an unseen pair. Candidates are the arms whose bounds are all at least 1/2. A sole candidate
    is shown alone. Of several, one is the first arm of the slate: the last sole candidate if it is
    still one, else a random one. Then the arm whose smallest bound over those on the slate is the
    largest joins the slate, until it has m arms. Without a candidate, m arms are drawn uniformly.

    Prior knowledge: none. Guarantee: the paper's, for choices after Plackett and Luce in stationary
    worlds, is regret of order (K / n) log T with rankings of the best n arms of a slate, so
    K / (m - 1) log T with rankings of all arms shown, and K log T with picks. It is for the
    authors' algorithm, and not transferred by proof to the differences below.

    Verified against: the paper's abstract; the algorithm is from memory (confidence medium), we did
    not have its text. Not known to agree with it: the rule for the first arm, the case without
    candidates, arms outside of the candidates on a slate, bounds of exactly 1/2 and of unseen
    pairs, ties (drawn at random), the default alpha (that of `rucb`; the theory needs more than
    1/2). Every decided duel counts once (rank breaking).

    **Late answers** and past votes are counted on arrival; a forgotten slate and one from which
    nothing was picked have no effect. An absent arm keeps its counts; all searches are among the
    present arms only. In panel mode a sole candidate gets a second arm, and the answer counts.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
    alpha
        Width of the confidence bounds, above 0.
    slate
        The largest number m of arms shown, from 2 to 8.
    """

    name: ClassVar[str] = "maxmin-ucb"
    transient: ClassVar[tuple[str, ...]] = ("best",)
    guarantee: ClassVar[str] = "(K / m) log T with rankings, Plackett-Luce, stationary"
    in_panel: ClassVar[str] = COUNTED
    source: ClassVar[str] = (
        "Saha, Gopalan: Combinatorial Bandits with Relative Feedback, NeurIPS 2019"
    )
    confidence: ClassVar[str] = "medium: the abstract, and the algorithm from memory"
    kernels: ClassVar[Kernels] = counting(_ask, count_duel, _reset, presence=True)
    _of_slates: ClassVar[Kernels] = kernels._replace(tell=tell_slate)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Annotated[float, Range(0, open=True), "width of the confidence bounds"] = 0.51,
        slate: Slate = 2,
    ) -> None:
        if slate > 2:
            self.slate, self.notes = slate, other_notes(slate)  # type: ignore[misc]
            self.kernels = self._of_slates  # type: ignore[misc]
        super().__init__(arms, rng)
        self.state = MaxMinState(
            wins=np.zeros((arms, arms)),
            present=np.ones(arms, np.int64),
            best=np.full(1, _NONE),
            chosen=np.zeros(arms, np.int64),
            hopes=np.zeros(arms),
            numbers=records(1, alpha=float(alpha), most=int(slate)),
        )
