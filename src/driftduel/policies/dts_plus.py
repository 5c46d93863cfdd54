"""Double Thompson Sampling with a cost-based tie-break."""

from typing import ClassVar

from driftduel.policies.dts import Dts
from driftduel.policies.registry import POLICIES

__all__ = ["DtsPlus"]


@POLICIES.register("dts-plus")
class DtsPlus(Dts):
    """Break the ties of Double Thompson Sampling by the cost of verifying an arm.

    Among candidates with the same sampled score it selects the one with the smallest sum over the
    other arms of the regret of a duel with them, divided by the information that such a duel gives
    about the order of the two.

    **Late answers** are counted on arrival.

    Notes
    -----
    Prior knowledge: none. Verified against: the authors' program (the tie-break rule).

    References
    ----------
    As for `Dts`: the section on DTS+.
    """

    name: ClassVar[str] = "dts-plus"
    plus: ClassVar[int] = 1
