"""Double Thompson Sampling with better ties."""

from typing import ClassVar

from driftduel.policies.dts import Dts
from driftduel.policies.registry import POLICIES

__all__ = ["DtsPlus"]


@POLICIES.register("dts-plus")
class DtsPlus(Dts):
    """Break the ties of Double Thompson Sampling by what an arm will cost to verify.

    Source: as for `Dts`, Section on DTS+. Among candidates with the same sampled score it takes the
    one with the smallest sum over the others of the regret of a duel with them divided by how fast
    such duels tell the two apart. Confidence is high for the rule, from the authors' program.

    **Late answers** are counted when they come.
    """

    name: ClassVar[str] = "dts-plus"
    plus: ClassVar[int] = 1
