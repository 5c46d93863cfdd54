"""Write a policy in plain Python, and compare it with built-in ones."""

# %%
import builtins
from typing import Annotated

import numpy as np

from driftduel import POLICIES, Policy, compare
from driftduel.specs import Range
from driftduel.testing import check_policy

show = getattr(builtins, "display", print)  # rich display in a notebook, else plain text

# %% [markdown]
# Keep a champion, and challenge it with a random arm. A challenger that wins five times in a row
# takes its place. After a defeat of the challenger the champion is shown alone for some rounds. The
# policy has no prior knowledge and no guarantee.


# %%
@POLICIES.register("stubborn")
class Stubborn(Policy):
    """Challenge a champion between rests; five losses in a row replace it."""

    name = "stubborn"

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        rest: Annotated[int, Range(0), "rounds alone"] = 20,
    ) -> None:
        super().__init__(arms, rng)
        self.rest = rest
        self.champion, self.challenger, self.lost, self.alone = 0, 1, 0, 0

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:  # noqa: D102 - documented by Policy
        return self.champion, self.champion if self.alone else self.challenger, ()

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:  # noqa: D102 - documented by Policy
        if first == second:
            self.alone -= 1
        elif won:
            self.lost, self.alone = 0, self.rest
            self.challenger = (first + 1 + int(self.rng.random() * (self.arms - 1))) % self.arms
        else:
            self.lost += 1
            if self.lost == 5:
                self.champion, self.challenger, self.lost = second, first, 0
        return 0


# %% [markdown]
# It passes the checks that every policy here passes, but one: it has no `get_state`.

# %%
check_policy("stubborn", skip=["saving and loading change nothing"])
worlds = ["geometric-btl:arms=5,rounds=10000,phases=4", "random-condorcet:arms=5,rounds=10000"]
policies = ["stubborn", "dts", "sw-dts:window=1000", "btwr", "uniform"]
results = compare(policies, worlds, runs=5)
show(results.summary.sort("world", "regret_mean").select("world", "policy", "regret_mean", "told"))
