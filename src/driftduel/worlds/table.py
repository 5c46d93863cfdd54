"""`table`: a file of requests and the scores of every option for each of them."""

import csv
import io
import math
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.reading import read_text
from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.requests import (
    MOST_FEATURES,
    MOST_VALUES,
    RequestShape,
    indicators,
    standardised,
)
from driftduel.specs import Choice, Range
from driftduel.worlds.generators import MOST_ROUNDS, WORLDS, Seed
from driftduel.worlds.requests import (
    BLOCK,
    REFERENCES,
    Prices,
    RequestWorld,
    read_prices,
    switch_rounds,
)

__all__ = ["Table"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_REQUESTS = 1
_WINDOW = 0.2  # share of the table from which a drifting mix is drawn
_SAMPLE = 1 << 12


class Table(RequestWorld):
    """A world with the rows of a table as requests, and a score of every option.

    An option's utility is its score times `scale`, so a difference of 1 / scale wins 73% of the
    duels. At each switch the options exchange their columns at random.

    Parameters
    ----------
    requests
        (N, d) the scaled requests.
    scores
        (N, K) the scores.
    rounds
        The number of rounds; by default one for each row.
    shape
        The shape of a request.
    order
        ``file``: in the order of the rows, again and again. ``shuffled``: drawn at random.
        ``drifting``: drawn from a fifth of the rows, sorted by the first feature, that moves from
        the beginning to the end.
    phases
        One more than the number of switches.
    scale
        Log-odds for each unit of score.
    prices
        (K,) log-odds.
    categories, category_names
        The category of each row, and the names.
    seed
        The seed of the switches and of the draws.
    """

    def __init__(
        self,
        requests: Floats,
        scores: Floats,
        shape: RequestShape,
        rounds: int = 0,
        order: str = "shuffled",
        phases: int = 1,
        scale: float = 1.0,
        prices: Floats | None = None,
        categories: Ints | None = None,
        category_names: tuple[str, ...] = (),
        seed: int = 0,
    ) -> None:
        self.requests, self.scores, self.shape = requests, scale * scores, shape
        self.arms, self.rounds = scores.shape[1], rounds or len(scores)
        self.order = order
        self.prices = np.zeros(self.arms) if prices is None else prices
        self.row_categories = np.zeros(len(scores), np.int64) if categories is None else categories
        self.category_names = category_names
        self._seed = seed
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        self.starts = switch_rounds(rng, self.rounds, phases, "all")
        columns = [np.arange(self.arms)]
        columns += [rng.permutation(self.arms) for _ in self.starts[1:]]
        self.columns = np.array(columns)
        """(S, K) the column of each option in every phase."""
        first = np.argsort(requests[:, min(1, shape.size - 1)], kind="stable")
        self._sorted = first

    def block(self, index: int) -> tuple[Floats, Ints, Floats]:
        """Return the requests of a block, their categories, and their rows in the table."""
        size = len(self.scores)
        rounds = np.arange(index * BLOCK, (index + 1) * BLOCK)
        if self.order == "file":
            rows = rounds % size
        else:
            key = (_REQUESTS, index)
            rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))
            draws = rng.random(BLOCK)
            if self.order == "drifting":
                window = max(1, math.ceil(_WINDOW * size))
                begin = np.minimum(rounds / max(1, self.rounds - 1), 1.0) * (size - window)
                rows = self._sorted[(begin + draws * window).astype(np.int64).clip(0, size - 1)]
            else:
                rows = (draws * size).astype(np.int64)
        return self.requests[rows], self.row_categories[rows], rows.astype(np.float64)

    def utilities(self, segment: int, keys: Floats) -> Floats:
        """Return the (n, K) utilities of rows in a segment, before prices."""
        return self.scores[keys.astype(np.int64)][:, self.columns[segment]]

    def references(self) -> Floats:
        """Return up to 256 rows, evenly spaced."""
        size = len(self.scores)
        return np.floor(np.linspace(0, size - 1, min(size, REFERENCES)))


@WORLDS.register("table")
def _table(
    path: Annotated[str, "a CSV or Parquet file: one row for each request"],
    options: Annotated[str, "the columns with the options' scores, joined by '+'"],
    features: Annotated[str | None, "the columns with the features, joined by '+'"] = None,
    rounds: Annotated[int, Range(0, MOST_ROUNDS), "number of rounds; 0: one for each row"] = 0,
    order: Annotated[
        str, Choice(("file", "shuffled", "drifting")), "order of the requests"
    ] = "shuffled",
    phases: Annotated[int, Range(1, 10**6), "the options exchange their columns in between"] = 1,
    scale: Annotated[float, Range(0, open_low=True), "log-odds for each unit of score"] = 1.0,
    prices: Prices = None,
    seed: Seed = 0,
) -> RequestWorld:
    """Play on a file of requests with the scores, or judgements, of all options."""
    try:
        columns = _read(path)
        names = _named(options, columns, "options")
        if len(names) < 2:
            raise DriftduelError("options= must name two columns at least, joined by '+'.")
        scores = np.column_stack([_number_column(name, columns[name]) for name in names])
        requests, shape, categories, category_names = _features(
            _named(features, columns, "features"), columns, len(scores)
        )
    except DriftduelError as error:
        raise DriftduelError(f"{path}: {error}") from None
    world = Table(
        requests, scores, shape, rounds, order, phases, scale, read_prices(prices, len(names)),
        categories, category_names, seed,
    )  # fmt: skip
    world.names = names
    return world


def _read(path: str) -> dict[str, list[str]]:
    """Return the columns of a file as text."""
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path)
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    try:
        rows = [row for row in reader if row]
    except csv.Error:
        raise DriftduelError("is not a CSV file.") from None
    if len(rows) < 2:
        raise DriftduelError("needs a header and at least one row.")
    header = [cell.strip() for cell in rows[0]]
    if len(set(header)) < len(header):
        raise DriftduelError("has two columns of one name; rename one of them.")
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise DriftduelError(f"row {line} has {len(row)} cells where {len(header)} are named.")
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(header)}


def _read_parquet(path: str) -> dict[str, list[str]]:
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "lab", "reading Parquet") from None
    try:
        frame = polars.read_parquet(path)
        texts = {name: frame[name].cast(polars.String).to_list() for name in frame.columns}
    except OSError as error:
        raise DriftduelError(f"cannot be read: {error.strerror or 'not a file'}.") from None
    except polars.exceptions.PolarsError:
        raise DriftduelError("is not a Parquet file of numbers and words.") from None
    if not texts or not frame.height:
        raise DriftduelError("has no rows.")
    return {name: ["" if cell is None else cell for cell in cells] for name, cells in texts.items()}


def _named(text: str | None, columns: dict[str, list[str]], key: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (text or "").split("+") if name.strip())
    for name in names:
        if name not in columns:
            raise DriftduelError(
                f"{key}: there is no column {name!r:.40}; its columns are "
                f"{', '.join(list(columns)[:12])}."
            )
    if len(set(names)) < len(names):
        raise DriftduelError(f"{key}={text} names a column twice.")
    return names


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _number_column(name: str, cells: list[str]) -> Floats:
    numbers = np.array([_number(cell) for cell in cells])
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise DriftduelError(
            f"column {name!r:.40} has {cells[wrong[0]]!r:.40} in row {wrong[0] + 2}; every cell "
            f"must be a finite number."
        )
    return numbers


def _features(
    names: tuple[str, ...], columns: dict[str, list[str]], size: int
) -> tuple[Floats, RequestShape, Ints | None, tuple[str, ...]]:
    """Return the scaled requests, their shape, and the categories by the first column of words."""
    parts: list[Floats] = []
    categories: Ints | None = None
    category_names: tuple[str, ...] = ()
    for name in names:
        cells = columns[name]
        values = sorted(set(cells))
        if all(math.isfinite(_number(cell)) for cell in values):
            numbers = _number_column(name, cells)
            scaled = standardised(numbers)
            parts.append((np.zeros(size) if scaled is None else scaled)[:, None])
            continue
        if len(values) > MOST_VALUES:
            raise DriftduelError(
                f"column {name!r:.40} has {len(values)} different words; a category may have "
                f"{MOST_VALUES} at most."
            )
        parts.append(indicators(cells, values))
        if categories is None:
            categories, category_names = parts[-1].argmax(axis=1), tuple(values)
    raw = np.hstack(parts) if parts else np.zeros((size, 0))
    if raw.shape[1] > MOST_FEATURES:
        raise DriftduelError(
            f"features= are {raw.shape[1]} numbers, with one for each word; {MOST_FEATURES} are "
            f"allowed."
        )
    only = len(names) == 1 and categories is not None and len(category_names) > 1
    shape = RequestShape(raw.shape[1], only)
    return shape.scale_all(raw), shape, categories, category_names
