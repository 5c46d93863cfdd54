"""Multi-dueling bandits: all possible champions on one slate."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.policies._counts import (
    bonus,
    count_duel,
    counting,
    forget_wins,
    possible_winners,
    present_arms,
)
from driftduel.policies._slate_kernels import draw_some, tell_slate, write_slate
from driftduel.policies.base import KernelPolicy, Kernels
from driftduel.policies.fields import ANY, CONSTANT, COUNT, PRESENT, Named, records
from driftduel.policies.modes import COUNTED
from driftduel.policies.registry import POLICIES
from driftduel.policies.slates import Slate, other_notes
from driftduel.specs import Range

__all__ = ["MultiDueling"]


class MultiDuelingState(NamedTuple):
    """Win counts and the widths of both confidence bounds."""

    wins: Annotated[Any, COUNT]
    """(K, K) number of wins of i over j."""
    present: Annotated[Any, PRESENT]
    """(K,) 1 for present arms, else 0."""
    champions: Annotated[Any, ANY]
    """(K,) scratch: the arms that may be champion."""
    numbers: Annotated[Any, Named(alpha=CONSTANT, beta=CONSTANT, most=CONSTANT)]
    """alpha of the narrow bounds, beta for the wide ones, and the largest number m of arms shown"""


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, champions = state.numbers[0], state.champions
    width = bonus(numbers.alpha, t)
    count = possible_winners(state.wins, state.present, width, champions)
    if count != 1:
        width *= numbers.beta
        count = possible_winners(state.wins, state.present, width, champions)
    if count == 0:
        count = present_arms(state.present, champions)
    count = draw_some(champions, count, numbers.most, rng)
    return write_slate(champions, count, numbers.most, notes)


@hot
def _reset(state: Any) -> None:
    forget_wins(state.wins)


@POLICIES.register("multi-dueling")
class MultiDueling(KernelPolicy):
    """Show a sole possible champion alone, else all that may be champion by wider bounds.

    Source: Brost, Seldin, Cox, Lioma, *Multi-Dueling Bandits and Their Application to Online Ranker
    Evaluation*, CIKM 2016, where it is called MDB (here `mdb` is another algorithm). With
    u_ij = w_ij / n_ij + sqrt(alpha log t / n_ij), 1 or more for an unseen pair, E is the set of
    arms i with u_ij >= 1/2 for all j, and F the same with beta alpha in place of alpha. A single
    arm in E is shown alone; else all arms in F are shown, and all arms if F is empty.

    Prior knowledge: none. Guarantee: none known to us; the authors measure regret.

    Verified against: two public programs by others, of which one has both bounds and one the narrow
    ones; we did not have the paper's text. alpha = 0.51 is that of both programs, beta = 1.5 is
    from memory (confidence low; the program has 1). Ours: the authors show any number of arms, here
    a set F of more than m arms is replaced by m of them, drawn uniformly in each round. In the
    paper every pair of arms shown has a result; here every decided duel counts, so a pick has no
    effect on pairs without the arm that was picked.

    **Late answers** and past votes are counted on arrival; a forgotten slate and one from which
    nothing was picked have no effect. An absent arm keeps its counts; champions are searched among
    the present arms only. In panel mode a sole champion gets a second arm, and the answer counts.

    Parameters
    ----------
    arms, rng
        The number of arms K, at least 2, and the `numpy.random.Generator` object of all random
        numbers.
    alpha
        Width of the narrow confidence bounds, above 0.
    beta
        Factor of alpha in the wide bounds, at least 1.
    slate
        The largest number m of arms shown, from 2 to 8.
    """

    name: ClassVar[str] = "multi-dueling"
    in_panel: ClassVar[str] = COUNTED
    source: ClassVar[str] = (
        "Brost, Seldin, Cox, Lioma: Multi-Dueling Bandits and Their Application to Online Ranker "
        "Evaluation, CIKM 2016"
    )
    confidence: ClassVar[str] = "medium: two public programs; the limit of m arms is ours"
    kernels: ClassVar[Kernels] = counting(_ask, count_duel, _reset, presence=True)
    _of_slates: ClassVar[Kernels] = kernels._replace(tell=tell_slate)

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Annotated[float, Range(0, open=True), "width of the narrow bounds"] = 0.51,
        beta: Annotated[float, Range(1), "factor of alpha in the wide bounds"] = 1.5,
        slate: Slate = 2,
    ) -> None:
        if slate > 2:
            self.slate, self.notes = slate, other_notes(slate)  # type: ignore[misc]
            self.kernels = self._of_slates  # type: ignore[misc]
        super().__init__(arms, rng)
        self.state = MultiDuelingState(
            wins=np.zeros((arms, arms)),
            present=np.ones(arms, np.int64),
            champions=np.zeros(arms, np.int64),
            numbers=records(1, alpha=float(alpha), beta=float(beta), most=int(slate)),
        )
