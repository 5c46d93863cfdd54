"""Reading and writing of world files. Reading a file never executes code."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.files import atomic_write
from driftduel._internal.reading import MOST_TEXT, arrays, parse_json, read_bytes
from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences
from driftduel.specs import Range
from driftduel.worlds.base import World
from driftduel.worlds.generators import MOST_ROUNDS, WORLDS
from driftduel.worlds.piecewise import Piecewise
from driftduel.worlds.wrappers import WithDelay

__all__ = ["load_world", "save_world"]

# A drifting world is stored with one matrix per round; this number of values is 800 MB.
_MOST_NUMBERS = 100_000_000


@WORLDS.register("file")
def load_world(
    path: Annotated[str, "an NPZ file (matrices, starts, rounds) or one CSV matrix"],
    rounds: Annotated[
        int | None, Range(1, MOST_ROUNDS), "number of rounds; needed for a CSV matrix"
    ] = None,
) -> World:
    """Read a world from an NPZ file or from a single CSV matrix.

    Parameters
    ----------
    path
        NPZ with ``matrices`` (S, K, K), ``starts`` (S,) counted from 1, and ``rounds``; optionally
        ``present`` (S, K) with values 0 and 1 and ``ties`` (S,), see `Piecewise`; ``delay``, a
        number of rounds; and ``names`` of the arms, the bytes of a JSON list. Or a CSV file with
        one matrix, one row per line, with or without a header.
    rounds
        The number of rounds; the default for NPZ files is the value in the file.
    """
    content = read_bytes(path)
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            return _from_npz(content, rounds)
        if path.lower().endswith(".npz"):
            raise DriftduelError("is not an NPZ file, in spite of its suffix.")
        return _from_csv(content, rounds)
    except DriftduelError as error:
        raise DriftduelError(f"{path}: {error}") from None


def _from_npz(packed: bytes, rounds: int | None) -> World:
    try:
        content = arrays(packed)
    except DriftduelError as error:
        raise DriftduelError(f"is not a readable NPZ file without pickles: {error}") from None
    for name, array in content.items():
        if array.dtype.kind not in "iuf":
            raise DriftduelError(f"{name!r} in the NPZ file is not an array of numbers.")
    missing = [name for name in ("matrices", "starts", "rounds") if name not in content]
    if rounds is not None and "rounds" in missing:
        missing.remove("rounds")
    if missing:
        raise DriftduelError(
            f"the NPZ file has no array {missing[0]!r}; it needs matrices, starts and rounds."
        )
    if content["matrices"].ndim != 3:
        raise DriftduelError(
            f"matrices has the shape {content['matrices'].shape}; it must be (S, K, K)."
        )
    if rounds is None:
        rounds = _whole(content, "rounds")
        if rounds > MOST_ROUNDS:
            raise DriftduelError(f"rounds={rounds:g} must be at most {MOST_ROUNDS:,}.")
    present, ties = content.get("present"), content.get("ties")
    world: World = Piecewise(
        content["matrices"], content["starts"], rounds, present=present, ties=ties
    )
    if "names" in content:
        world.names = _names(content["names"], world.arms)
    return WithDelay(world, _whole(content, "delay")) if "delay" in content else world


def _whole(content: dict[str, NDArray[Any]], name: str) -> int:
    """Return the value of one whole number."""
    number = content[name]
    if number.size != 1 or not np.isfinite(number).all() or (number != np.floor(number)).any():
        raise DriftduelError(f"{name}={number} must be one whole number.")
    return int(number.item())


def _names(packed: NDArray[Any], arms: int) -> tuple[str, ...]:
    """Return the names of the arms."""
    names = parse_json(packed.tobytes()) if packed.dtype == np.uint8 else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DriftduelError("names must be the bytes of a list of words in JSON.")
    if len(names) != arms:
        raise DriftduelError(f"there are {len(names)} names for {arms} arms.")
    return tuple(names)


def _from_csv(content: bytes, rounds: int | None) -> World:
    if len(content) > MOST_TEXT:
        raise DriftduelError(
            f"has {len(content):,} bytes; a matrix as text may have {MOST_TEXT:,}."
        )
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        numbered = [(i, cells) for i, cells in enumerate(csv.reader(text), start=1) if cells]
    except (UnicodeDecodeError, csv.Error):
        raise DriftduelError("is neither an NPZ file nor text with one matrix.") from None
    if numbered and all(cell.strip()[:1].isalpha() for cell in numbered[0][1]):
        numbered = numbered[1:]  # a header
    if not numbered:
        raise DriftduelError("has no rows of numbers, so it is no matrix.")
    for line, cells in numbered:
        wrong = next((cell for cell in cells if not _is_number(cell)), None)
        if wrong is not None:
            raise DriftduelError(f"line {line} has {wrong.strip()!r} where a number is needed.")
        if len(cells) != len(numbered):
            raise DriftduelError(
                f"line {line} has {len(cells)} numbers where {len(numbered)} are needed; "
                f"the matrix must be square."
            )
    matrix = Preferences([[float(cell) for cell in cells] for _, cells in numbered])
    if rounds is None:
        raise DriftduelError("a single matrix is a stationary world; set its length with rounds=T.")
    return Piecewise([matrix], [1], rounds)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def save_world(world: World, path: str | Path) -> None:
    """Write a world to an NPZ file for `load_world`, atomically.

    A drifting world is written with one matrix per round, which is refused if it takes more than
    800 MB. So is a world of slates: a file has matrices, not utilities.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise DriftduelError(f"a world is written as .npz; {path.name!r} has another suffix.")
    if world.slate > 2:
        raise DriftduelError(
            "a file has matrices, and slates need utilities; keep the spec of this world, or leave "
            "out slate=."
        )
    parts: dict[str, list[NDArray[Any]]] = {"matrices": [], "present": [], "ties": [], "starts": []}
    numbers = delay = 0
    last: list[NDArray[Any]] | None = None
    for chunk in world.chunks():
        kept = [chunk.row_matrices(), chunk.present, chunk.ties]  # in the order of the chunks
        rows = [array[chunk.rows] if len(array) else array for array in kept]
        new = np.zeros(len(chunk.rows), np.bool_)
        new[0] = last is None
        for i, array in enumerate(rows):
            if len(array):
                before = np.concatenate((array[:1] if last is None else last[i], array[:-1]))
                new |= (array != before).reshape(len(array), -1).any(axis=1)
        for part, array in zip(parts.values(), (*rows, chunk.starts), strict=True):
            part.append(array[new] if len(array) else array)
        last, delay = [array[-1:] for array in rows], chunk.delay
        numbers += parts["matrices"][-1].size
        if numbers > _MOST_NUMBERS:
            raise DriftduelError(
                f"this world changes too often to be written as a file: more than "
                f"{_MOST_NUMBERS:,} numbers by round {chunk.end - 1}; keep its spec instead."
            )
    arrays: dict[str, Any] = {name: np.concatenate(part) for name, part in parts.items()}
    arrays["present"] = arrays["present"].astype(np.int8)
    arrays = {name: array for name, array in arrays.items() if len(array)}
    if delay:
        arrays["delay"] = np.int64(delay)
    if world.names:  # as bytes, because the reader accepts arrays of numbers only
        arrays["names"] = np.frombuffer(json.dumps(world.names).encode(), np.uint8)
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, rounds=np.int64(world.rounds), **arrays)
