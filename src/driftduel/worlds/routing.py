"""`routing`: options with utilities linear in the request, and changes of all kinds."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.requests import MOST_FEATURES, RequestShape
from driftduel.specs import Choice, Range, need_room
from driftduel.worlds.generators import MOST_ROUNDS, WORLDS, Arms, Seed
from driftduel.worlds.requests import (
    BLOCK,
    REFERENCES,
    Prices,
    RequestWorld,
    read_prices,
    switch_rounds,
)

__all__ = ["Routing"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEP = 50  # rounds between two steps of a drift
_REQUESTS, _REFERENCE = 1, 2  # streams of a world, after that of its coefficients


class Routing(RequestWorld):
    """Options with coefficients theta that are constant between changes.

    Parameters
    ----------
    starts
        (S,) first round of each segment, ascending from 1.
    thetas
        (S, K, d) the coefficients of each segment.
    rounds
        The number of rounds.
    shape
        The shape of a request.
    categories
        The number of leading features that are one group of indicators.
    prices
        (K,) log-odds; by default 0.
    seed
        The seed of the requests.
    """

    def __init__(
        self,
        starts: ArrayLike,
        thetas: ArrayLike,
        rounds: int,
        shape: RequestShape,
        categories: int = 0,
        prices: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        self.starts = np.asarray(starts, np.int64)
        self.thetas = np.asarray(thetas, np.float64)
        self.arms, self.rounds, self.shape = self.thetas.shape[1], rounds, shape
        self.prices = np.zeros(self.arms) if prices is None else np.asarray(prices, np.float64)
        self.categories = categories
        self.category_names = tuple(f"category {c + 1}" for c in range(categories))
        self._seed = seed
        self._last: tuple[int, tuple[Floats, Ints, Floats]] | None = None

    def block(self, index: int) -> tuple[Floats, Ints, Floats]:
        """Return the requests of a block, their categories, and the requests again."""
        if self._last is None or self._last[0] != index:
            requests, categories = self._draw((_REQUESTS, index), BLOCK)
            self._last = index, (requests, categories, requests)
        return self._last[1]

    def utilities(self, segment: int, keys: Floats) -> Floats:
        """Return the (n, K) utilities of requests in a segment, before prices."""
        # Not `@`: the last bit of a matrix product may depend on how rounds are cut into chunks.
        utilities: Floats = (keys[:, None, :] * self.thetas[segment]).sum(axis=2)
        return utilities

    def references(self) -> Floats:
        """Return the fixed reference requests."""
        return self._draw((_REFERENCE,), REFERENCES)[0]

    def _draw(self, key: tuple[int, ...], rounds: int) -> tuple[Floats, Ints]:
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))
        numbers = self.shape.features - self.categories
        categories = np.zeros(rounds, np.int64)
        raw = np.zeros((rounds, self.shape.features))
        if self.categories:
            categories = rng.integers(self.categories, size=rounds)
            raw[np.arange(rounds), categories] = 1.0
        raw[:, self.categories :] = rng.normal(size=(rounds, numbers))
        return self.shape.scale_all(raw), categories


Change = Annotated[
    str,
    Choice(("all", "one", "walk", "season", "burst")),
    "what changes: all coefficients, one option, slowly, in periods, or all, often and briefly",
]
Categories = Annotated[
    int, Range(0, MOST_FEATURES), "leading features that are one group of 0/1 indicators"
]


@WORLDS.register("routing")
def _routing(
    arms: Arms = 6,
    features: Annotated[int, Range(0, MOST_FEATURES), "numbers of a request"] = 4,
    rounds: Annotated[int, Range(1, MOST_ROUNDS), "number of rounds T"] = 40_000,
    phases: Annotated[int, Range(1, 10**6), "phases, or periods of the season"] = 4,
    change: Change = "all",
    categories: Categories = 0,
    spread: Annotated[float, Range(0, open_low=True), "size of an option's coefficients"] = 4.0,
    rate: Annotated[float, Range(0), "relative step of a walk in 1,000 rounds"] = 0.1,
    prices: Prices = None,
    seed: Seed = 0,
) -> RequestWorld:
    """Give each option a utility that is linear in the request, and change the coefficients."""
    if categories > features:
        raise DriftduelError(
            f"categories={categories} must be at most features={features}: they are features."
        )
    if categories == 1:
        raise DriftduelError("categories=1 is no choice; use 0, or 2 and more.")
    one_hot = categories > 0 and categories == features
    shape = RequestShape(features, one_hot).check()
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    size, radius = arms * shape.size, spread * np.sqrt(arms)

    def sphere() -> Floats:
        vector = rng.normal(size=size)
        vector *= radius / np.linalg.norm(vector)
        return vector

    if change in ("walk", "season"):
        need_room(
            f"rounds={rounds:,}: coefficients of every {_STEP} rounds", rounds // _STEP * size
        )
        starts = np.arange(1, rounds + 1, _STEP)
        thetas = np.empty((len(starts), size))
        one = sphere()
        if change == "season":
            other = rng.normal(size=size)
            other -= one * (one @ other) / radius**2
            other *= radius / np.linalg.norm(other)
            angles = 2 * np.pi * phases * (starts - 1)[:, None] / rounds
            thetas[:] = np.cos(angles) * one + np.sin(angles) * other
        else:
            length = rate * radius * np.sqrt(_STEP / 1000)
            for row in thetas:
                row[:] = one
                step = rng.normal(size=size)
                step -= one * (one @ step) / radius**2
                one = one + step * (length / np.linalg.norm(step))
                one *= radius / np.linalg.norm(one)
    else:
        need_room(f"phases={phases}: coefficients of every phase", phases * size)
        starts = switch_rounds(rng, rounds, phases, change)
        thetas = np.empty((len(starts), size))
        thetas[0] = sphere()
        for phase in range(1, len(starts)):
            fresh = sphere()
            if change == "one":
                arm = int(rng.integers(arms))
                block = slice(arm * shape.size, (arm + 1) * shape.size)
                kept = thetas[phase - 1].copy()
                kept[block] = fresh[block]
                fresh = kept
            thetas[phase] = fresh
    return Routing(
        starts,
        thetas.reshape(len(starts), arms, shape.size),
        rounds,
        shape,
        categories,
        read_prices(prices, arms),
        seed,
    )
