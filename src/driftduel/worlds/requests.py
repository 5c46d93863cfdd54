"""Worlds of requests with features: the best option depends on the request.

Option i has the utility u_{t,i}(x) for the scaled request x of round t, and wins against j with
probability sigma(u_i - u_j). Prices, in log-odds, are subtracted by the benchmark
only: answers are about quality.
"""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences import LINKS
from driftduel.requests import RequestShape
from driftduel.specs import need_room
from driftduel.worlds.base import LINK_CODES, NO_LINK, Chunk, World

__all__ = [
    "BLOCK",
    "REFERENCES",
    "Prices",
    "RequestChunk",
    "RequestWorld",
    "read_prices",
    "switch_rounds",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REFERENCES = 256
"""The number of fixed requests by which worlds are measured."""
BLOCK = 1 << 12
"""The number of rounds with requests from one stream."""
_sigma = LINKS["logistic"]


class RequestChunk(NamedTuple):
    """Consecutive rounds of a world of requests, as plain arrays for compiled functions."""

    starts: Ints
    """(S,) first round of each segment, in which the coefficients are constant."""
    end: int
    """The round after the last of the chunk."""
    requests: Floats
    """(n, d) the scaled request of each round."""
    utilities: Floats
    """(n, K) the utility of each option for it, before prices."""
    losses: Floats
    """(n, K) the regret of showing each option: P(best beats it) - 1/2, after prices."""
    categories: Ints
    """(n,) the category of each request; 0 if the requests have none."""
    turnover: Floats
    """(S,) the share of reference requests with a new best option when a segment starts."""
    ties: float = 0.0
    """The probability of a tie of two different options."""
    delay: int = 0
    """The number of further duels before an outcome is delivered."""


class RequestWorld(World):
    """The base class of worlds with a request in every round.

    The method `chunk` of such a world is its *duel view*: the preferences of every round, for
    measures and for policies without features; they change with every request.

    A subclass sets the attributes of `World`, `shape` and `prices`, and defines `block`,
    `utilities` and `references`.
    """

    shape: RequestShape
    prices: Floats
    """(K,) the price of each option in log-odds."""
    category_names: tuple[str, ...] = ()
    """The names of the categories by which regret is reported; empty if there are none."""
    ties: float = 0.0
    delay: int = 0
    drifts = True
    chunk_rounds = BLOCK

    starts: Ints
    """(S,) first round of each segment with constant utilities per request."""

    @abstractmethod
    def block(self, index: int) -> tuple[Floats, Ints, Floats]:
        """Return the requests (n, d), the categories (n,) and keys of a block of rounds.

        The last array (n, ...) is whatever `utilities` needs of each request.
        """

    @abstractmethod
    def utilities(self, segment: int, keys: Floats) -> Floats:
        """Return the (n, K) utilities of requests in a segment, before prices."""

    @abstractmethod
    def references(self) -> Floats:
        """Return the keys of the fixed reference requests."""

    def request_chunks(self, first: int = 1, limit: int | None = None) -> Iterator[RequestChunk]:
        """Yield the rounds from `first` on in chunks of at most `limit` rounds."""
        step = self.chunk_rounds if limit is None else min(limit, self.chunk_rounds)
        while first <= self.rounds:
            end = min(((first - 1) // step + 1) * step, self.rounds) + 1
            yield self.request_chunk(first, end)
            first = end

    def request_chunk(self, first: int, end: int) -> RequestChunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        requests, categories, keys = self._rows(first, end)
        low = int(np.searchsorted(self.starts, first, side="right")) - 1
        high = int(np.searchsorted(self.starts, end, side="left"))
        starts = self.starts[low:high].copy()
        starts[0] = first
        turnover = self.turnover[low:high].copy()
        if self.starts[low] != first:
            turnover[0] = 0.0
        utilities = np.empty((end - first, self.arms))
        for segment, begin, stop in zip(
            range(low, high), starts, np.append(starts[1:], end), strict=True
        ):
            rows = slice(begin - first, stop - first)
            utilities[rows] = self.utilities(segment, keys[rows])
        net = utilities - self.prices
        losses = (1.0 - self.ties) * (_sigma(net.max(axis=1, keepdims=True) - net) - 0.5)
        return RequestChunk(
            starts, end, requests, utilities, losses, categories, turnover, self.ties, self.delay
        )

    def _rows(self, first: int, end: int) -> tuple[Floats, Ints, Floats]:
        parts = []
        for index in range((first - 1) // BLOCK, (end - 2) // BLOCK + 1):
            begin = index * BLOCK + 1
            rows = slice(max(first - begin, 0), end - begin)
            parts.append([array[rows] for array in self.block(index)])
        requests, categories, keys = (np.concatenate(column) for column in zip(*parts, strict=True))
        return np.ascontiguousarray(requests), categories, keys

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the duel view of the rounds ``first, ..., end - 1``: one row for every round."""
        chunk = self.request_chunk(first, end)
        rounds = np.arange(first, end, dtype=np.int64)
        empty = np.empty((0, self.arms, self.arms))
        view = Chunk(
            rounds, end, rounds - first, empty, chunk.utilities, LINK_CODES["logistic"],
            delay=self.delay,
        )  # fmt: skip
        if not self.ties:
            return view
        matrices = 0.5 + (1.0 - self.ties) * (view.row_matrices() - 0.5)
        return view._replace(
            matrices=matrices,
            utilities=np.empty((0, self.arms)),
            link=NO_LINK,
            ties=np.full(len(rounds), self.ties),
        )

    @cached_property
    def best_by_segment(self) -> Ints:
        """The (S, R) best option after prices for every reference request."""
        keys = self.references()
        need_room(f"{len(self.starts):,} segments", len(self.starts) * len(keys))
        best = [
            (self.utilities(segment, keys) - self.prices).argmax(axis=1)
            for segment in range(len(self.starts))
        ]
        return np.array(best, np.int64)

    @cached_property
    def turnover(self) -> Floats:
        """The (S,) share of reference requests with a new best option at a segment's start."""
        best = self.best_by_segment
        changed = (best[1:] != best[:-1]).mean(axis=1)
        return np.concatenate(([0.0], changed))

    @cached_property
    def best_single(self) -> list[tuple[int, int | None]]:
        """(first round, option) for every stretch with one best single option.

        The best single option of a segment has the least mean regret on the reference requests.
        """
        keys = self.references()
        stretches: list[tuple[int, int | None]] = []
        for segment, start in enumerate(self.starts.tolist()):
            net = self.utilities(segment, keys) - self.prices
            gaps = (_sigma(net.max(axis=1, keepdims=True) - net) - 0.5).mean(axis=0)
            best = int(gaps.argmin())
            if not stretches or stretches[-1][1] != best:
                stretches.append((start, best))
        return stretches


Prices = Annotated[str | None, "prices of the options in log-odds, joined by '+'"]
"""The parameter of a world that `read_prices` reads."""


def read_prices(text: str | None, arms: int) -> Floats | None:
    """Return the prices in a spec, ``0+0.5+1``, or None if there are none."""
    if not text:
        return None
    try:
        prices = np.array([float(part) for part in text.split("+")])
    except ValueError:
        prices = np.empty(0)
    if prices.shape != (arms,) or not np.isfinite(prices).all():
        raise DriftduelError(
            f"prices={text} must be {arms} numbers joined by '+', one for each option."
        )
    return prices


def switch_rounds(rng: np.random.Generator, rounds: int, phases: int, change: str) -> Ints:
    """Return the first rounds of the phases; switches in the same round are one."""
    n = phases - 1
    if change == "burst":
        at = rounds * np.sort(rng.uniform(0.4, 0.6, size=n))
    else:
        places = np.arange(1, n + 1) + 0.6 * (rng.random(n) - 0.5)
        at = rounds * places / (n + 1)
    starts = np.unique(np.clip(at.astype(np.int64) + 1, 1, rounds))
    return np.union1d([1], starts).astype(np.int64)
