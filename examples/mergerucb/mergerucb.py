"""MergeRUCB, written outside of driftduel: first in plain Python, then as kernels.

Source: Zoghi, Whiteson, de Rijke, *MergeRUCB: A Method for Large-Scale Online Ranker Evaluation*,
WSDM 2015. The arms are split into batches. In turn, each batch drops the arms that lose to another
arm of the batch with certainty, and plays a random arm against the one that has the
largest upper bound of its probability to win. When half of the arms are gone, batches are merged.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel.authoring import (
    POLICIES,
    KernelPolicy,
    Kernels,
    Policy,
    Range,
    fields,
    inline_kernel,
    kernel,
    uniform,
)

Alpha = Annotated[float, Range(0.5, open=True), "width of the confidence bounds"]
Size = Annotated[int, Range(2), "arms of a batch"]
Delta = Annotated[float, Range(0, 1, open=True), "chance to drop the winner"]


def rounds_ahead(arms: int, alpha: float, delta: float) -> float:
    """Return C(delta) of the paper, by which the clock of the confidence bounds is ahead."""
    return ((4 * alpha - 1) * arms**2 / ((2 * alpha - 1) * delta)) ** (1 / (2 * alpha - 1))


@POLICIES.register("plain-mergerucb")
class PlainMergeRUCB(Policy):
    """Duel within batches that merge as arms are dropped, in plain Python."""

    any_duel = True

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Alpha = 1.01,
        size: Size = 4,
        delta: Delta = 0.01,
    ) -> None:
        super().__init__(arms, rng)
        self.alpha, self.size = alpha, size
        self.ahead = rounds_ahead(arms, alpha, delta)
        self.wins = np.zeros((arms, arms))
        self.batches = [list(range(arms))[i : i + size] for i in range(0, arms, size)]
        self.phase = 1

    def upper(self, i: int, j: int, t: int) -> float:
        """Return the upper confidence bound of the probability that i beats j."""
        n = self.wins[i, j] + self.wins[j, i]
        if n == 0:
            return math.inf
        return self.wins[i, j] / n + math.sqrt(self.alpha * math.log(t + self.ahead) / n)

    def drop_losers(self, batch: list[int], t: int) -> None:
        """Drop every arm that loses to another of the batch with certainty."""
        for i in list(batch):
            if any(self.upper(i, j, t) < 0.5 for j in batch if j != i):
                batch.remove(i)

    def merge(self) -> None:
        """Pair small batches with large ones, up to one and a half times the first size."""
        by_size = sorted(self.batches, key=len)
        self.batches.clear()
        while by_size:
            large = by_size.pop()
            if by_size and len(by_size[0]) + len(large) <= 1.5 * self.size:
                large = sorted(by_size.pop(0) + large)
            self.batches.append(large)

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Choose two arms of the batch of this round."""
        place = t % len(self.batches)
        self.drop_losers(self.batches[place], t)
        if sum(map(len, self.batches)) <= self.arms / 2**self.phase and len(self.batches) > 1:
            self.merge()
            self.phase += 1
            place = t % len(self.batches)
        if len(self.batches[place]) == 1 and len(self.batches) > 1:
            alone = self.batches.pop(place)  # it has no opponent: it joins the next batch
            place %= len(self.batches)
            self.batches[place] = sorted(self.batches[place] + alone)
        batch = self.batches[place]
        first = batch[int(self.rng.random() * len(batch))]
        bounds = {j: self.upper(j, first, t) for j in batch if j != first}
        rivals = [j for j, bound in bounds.items() if bound == max(bounds.values())] or [first]
        return first, rivals[int(self.rng.random() * len(rivals))], ()

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Count the winner's win."""
        if first != second:
            self.wins[(first, second) if won else (second, first)] += 1
        return 0


class State(NamedTuple):
    """The same as arrays."""

    wins: Annotated[Any, fields.COUNT]
    """(K, K) how often i beat j."""
    batch: Annotated[Any, fields.ARM_OR_NONE]
    """(K,) the number of each arm's batch, -1 for an arm that was dropped."""
    sizes: Annotated[Any, fields.ANY]
    """(K,) scratch: the arms in each batch."""
    renamed: Annotated[Any, fields.ANY]
    """(K,) scratch: the number of each batch after a merger."""
    numbers: Annotated[
        Any,
        fields.Named(
            batches=fields.Within(1, fields.ARMS),
            phase=fields.Within(1, 60),
            alpha=fields.CONSTANT,
            full=fields.CONSTANT,
            ahead=fields.CONSTANT,
        ),
    ]
    """How many batches there are; how often they were merged, plus one; and the parameters."""


@inline_kernel
def upper(state: Any, i: int, j: int, t: int) -> float:
    """Return the upper confidence bound of the probability that i beats j."""
    n = state.wins[i, j] + state.wins[j, i]
    if n == 0.0:
        return math.inf
    numbers = state.numbers[0]
    return state.wins[i, j] / n + math.sqrt(numbers.alpha * math.log(t + numbers.ahead) / n)


@kernel
def drop_losers(state: Any, place: int, t: int) -> None:
    """Drop every arm that loses to another of the batch with certainty."""
    for i in range(len(state.batch)):
        for j in range(len(state.batch)):
            both = state.batch[i] == place and state.batch[j] == place
            if both and i != j and upper(state, i, j, t) < 0.5:
                state.batch[i] = -1


@kernel
def count_sizes(state: Any) -> int:
    """Count the arms of each batch, and return the arms of all."""
    state.sizes[:] = 0
    arms = 0
    for i in range(len(state.batch)):
        if state.batch[i] >= 0:
            state.sizes[state.batch[i]] += 1
            arms += 1
    return arms


@kernel
def merge(state: Any) -> None:
    """Pair small batches with large ones, up to one and a half times the first size."""
    numbers, sizes, renamed = state.numbers[0], state.sizes, state.renamed
    left, made = numbers.batches, 0
    for b in range(numbers.batches):
        renamed[b] = -1
    while left > 0:
        large, small = -1, -1  # of equal sizes, the last is large and the first is small
        for b in range(numbers.batches):
            if renamed[b] < 0 and (large < 0 or sizes[b] >= sizes[large]):
                large = b
        for b in range(numbers.batches):
            if renamed[b] < 0 and b != large and (small < 0 or sizes[b] < sizes[small]):
                small = b
        renamed[large] = made
        left -= 1
        if small >= 0 and sizes[small] + sizes[large] <= 1.5 * numbers.full:
            renamed[small] = made
            left -= 1
        made += 1
    for i in range(len(state.batch)):
        if state.batch[i] >= 0:
            state.batch[i] = renamed[state.batch[i]]
    numbers.batches = made


@kernel
def join_next(state: Any, place: int) -> None:
    """Move the arms of a batch to the next one, and decrease the numbers behind it by 1."""
    numbers = state.numbers[0]
    numbers.batches -= 1
    for i in range(len(state.batch)):
        if state.batch[i] == place:
            state.batch[i] = place % numbers.batches
        elif state.batch[i] > place:
            state.batch[i] -= 1


@inline_kernel
def ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    """Choose two arms of the batch of this round."""
    numbers, batch = state.numbers[0], state.batch
    place = t % numbers.batches
    drop_losers(state, place, t)
    arms = count_sizes(state)
    if arms <= len(batch) / 2**numbers.phase and numbers.batches > 1:
        merge(state)
        count_sizes(state)
        numbers.phase += 1
        place = t % numbers.batches
    if state.sizes[place] == 1 and numbers.batches > 1:
        join_next(state, place)
        count_sizes(state)
        place %= numbers.batches
    pick, first = int(uniform(rng) * state.sizes[place]), -1
    while pick >= 0:
        first += 1
        pick -= int(batch[first] == place)
    most, ties = -1.0, 1
    for j in range(len(batch)):
        if batch[j] == place and j != first:
            bound = upper(state, j, first, t)
            ties = ties + 1 if bound == most else (1 if bound > most else ties)
            most = max(most, bound)
    pick, second = int(uniform(rng) * ties), first
    for j in range(len(batch)):
        if batch[j] == place and j != first and upper(state, j, first, t) == most:
            if pick == 0:
                second = j
            pick -= 1
    return first, second


@inline_kernel
def tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    """Count the winner's win."""
    if first != second:
        if won == 1:
            state.wins[first, second] += 1.0
        else:
            state.wins[second, first] += 1.0
    return 0


@kernel
def reset(state: Any) -> None:
    """Reset the state."""
    numbers = state.numbers[0]
    state.wins[:] = 0.0
    for i in range(len(state.batch)):
        state.batch[i] = i // numbers.full
    numbers.batches = (len(state.batch) + numbers.full - 1) // numbers.full
    numbers.phase = 1


@kernel
def best_guess(state: Any) -> int:
    """Return the arm with the most pairwise victories of those that were not dropped."""
    best, most = 0, -1
    for i in range(len(state.batch)):
        if state.batch[i] >= 0:
            victories = 0
            for j in range(len(state.batch)):
                victories += int(state.wins[i, j] > state.wins[j, i])
            if victories > most:
                best, most = i, victories
    return best


@POLICIES.register("mergerucb")
class MergeRUCB(KernelPolicy):
    """Duel within batches that merge as arms are dropped.

    **Late answers** are counted when they come.
    """

    kernels = Kernels(ask, tell, reset, best_guess, any_duel=True)
    guarantee = "K log T / gap^2 on stationary worlds with a Condorcet winner"
    source = "Zoghi, Whiteson and de Rijke, WSDM 2015"
    confidence = "the paper's outline; arms are dropped in the order of their numbers"
    easy_rounds = 40_000

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        alpha: Alpha = 1.01,
        size: Size = 4,
        delta: Delta = 0.01,
    ) -> None:
        super().__init__(arms, rng)
        self.state = State(
            wins=np.zeros((arms, arms)),
            batch=np.arange(arms) // size,
            sizes=np.zeros(arms, np.int64),
            renamed=np.zeros(arms, np.int64),
            numbers=fields.records(
                1,
                batches=-(-arms // size),
                phase=1,
                alpha=float(alpha),
                full=size,
                ahead=rounds_ahead(arms, alpha, delta),
            ),
        )

    def check_state(self, state: Any) -> None:
        """Refuse a saved state in which a batch has no arms."""
        present = {int(b) for b in state.batch if b >= 0}
        self.require(present == set(range(int(state.numbers[0].batches))))
