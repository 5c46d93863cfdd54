"""Readers of log files and frames: CSV, Parquet, JSON and JSON lines, with nested keys."""

import gzip
import json
import os
import stat
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.logs.rows import collect, translated_errors

__all__ = ["open_rows", "rows_in", "schema_of"]

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_PARQUET = (".parquet", ".pq")
_SEPARATORS = (",", ";", "\t", "|")  # the comma is the default: others may be part of a name
_LONGEST_HEAD = 1 << 20
_MOST_LINES = 1_000_000  # bytes that are searched for the invalid line
_LONGEST_LINE = 1 << 26


def open_rows(source: Any) -> tuple[pl.LazyFrame, int]:
    """Return the rows of a log as a lazy frame, and the number of the first row in its file.

    A nested key becomes a separate column: ``result.winner``.
    """
    frame, first_line = _open(source)
    return _flat(frame), first_line


def _open(source: Any) -> tuple[pl.LazyFrame, int]:
    if isinstance(source, pl.LazyFrame):
        return source, 1
    if isinstance(source, pl.DataFrame):
        return source.lazy(), 1
    if isinstance(source, str | Path):
        return _open_file(source)
    if isinstance(source, Sequence) and source and all(isinstance(s, str | Path) for s in source):
        return _open_files(source)
    if hasattr(source, "__arrow_c_stream__"):
        return pl.DataFrame(source).lazy(), 1
    if type(source).__module__.partition(".")[0] == "pandas":
        return pl.from_pandas(source).lazy(), 1
    raise DriftduelError(
        f"a log is a path, several, or a frame of polars, pandas or Arrow, not "
        f"{type(source).__name__}."
    )


def rows_in(path: str | Path) -> int:
    """Return the number of rows of a file."""
    return int(collect(_open_file(path)[0].select(pl.len())).item())


def schema_of(frame: pl.LazyFrame) -> pl.Schema:
    """Return the columns of a log and their types; raise if the file cannot be read."""
    collect(frame.head(1))
    return frame.collect_schema()


def _open_files(paths: Sequence[str | Path]) -> tuple[pl.LazyFrame, int]:
    """Open several files of one log, which must have the same columns and format."""
    opened = [_open_file(path) for path in paths]
    endings = {_kind(str(path)) for path in paths}
    if len(endings) > 1:
        raise DriftduelError("the files of one log must all have the same format.")
    names = [set(_columns(frame)) for frame, _ in opened]
    different = next((place for place, each in enumerate(names) if each != names[0]), None)
    if different is not None:
        raise DriftduelError(f"{str(paths[different])!r} has other columns than {str(paths[0])!r}.")
    order = _columns(opened[0][0])
    frames = [frame.select(order) for frame, _ in opened]
    # Types are inferred for each JSON file: an integer column of one may be float in another.
    return pl.concat(frames, how="vertical_relaxed"), opened[0][1]


def _kind(name: str) -> str:
    """Return the format of a file by its suffix."""
    name = name.lower()
    for kind, endings in (
        ("text", _TEXT), ("lines", _LINES), ("parquet", _PARQUET), ("json", (".json",)),
    ):  # fmt: skip
        if name.endswith(endings):
            return kind
    return ""


def _open_file(path: str | Path) -> tuple[pl.LazyFrame, int]:
    name = str(path)
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DriftduelError(f"cannot read {name!r}: {why}.") from None
    if not stat.S_ISREG(found.st_mode):
        raise DriftduelError(f"cannot read {name!r}: it is no regular file.")
    if found.st_size == 0:
        raise DriftduelError(f"{name!r} is empty.")
    kind = _kind(name)
    if kind == "parquet":
        return pl.scan_parquet(path, glob=False), 1
    if kind == "lines":
        return _open_lines(name), 1
    if kind == "json":
        return _open_json(name), 1
    if kind == "text":
        # Every column is read as text: types are inferred later, from the values of one role.
        frame = pl.scan_csv(path, infer_schema=False, separator=_separator(name), glob=False)
        return frame, 2
    endings = ", ".join((*_TEXT, *_LINES, ".json", *_PARQUET, ".npz"))
    raise DriftduelError(f"{name!r} cannot be read: its name must end with one of {endings}.")


def _separator(name: str) -> str:
    """Return the separator of the fields; many spreadsheets use semicolons by default."""
    if ".tsv" in name.lower():
        return "\t"
    head = _head(name)
    if b"\0" in head:
        raise DriftduelError(f"{name!r} is not text in UTF-8; save it as CSV in UTF-8.")
    return next((sign for sign in _SEPARATORS if sign.encode() in head), ",")


def _head(name: str) -> bytes:
    """Return the first line; empty if the file cannot be read, which is reported later."""
    try:
        with _binary(name) as file:
            return bytes(file.readline(_LONGEST_HEAD))
    except (OSError, EOFError, zlib.error):
        return b""


def _binary(name: str) -> Any:
    return gzip.open(name) if name.lower().endswith(".gz") else open(name, "rb")


# ---- JSON ----


def _open_lines(name: str) -> pl.LazyFrame:
    """Open JSON lines: one object per line; keys may differ between lines."""
    try:
        # Polars would interpret the characters as a pattern.
        if any(sign in name for sign in "*?["):
            with translated_errors(), _binary(name) as file:
                frame = pl.read_ndjson(file.read(), infer_schema_length=None).lazy()
        else:
            frame = pl.scan_ndjson(name, infer_schema_length=None)
        _columns(frame)
    except DriftduelError as error:
        raise _bad_line(name) or error from None
    return frame


def _bad_line(name: str) -> DriftduelError | None:
    """Return an error that names the first line without a JSON object; polars gives no number."""
    try:
        with _binary(name) as file:
            for number in range(1, _MOST_LINES):
                line = file.readline(_LONGEST_LINE)
                if not line:
                    break
                try:
                    sound = not line.strip() or isinstance(json.loads(line), dict)
                except (ValueError, RecursionError):
                    sound = False
                if not sound:
                    return DriftduelError(
                        f"line {number:,} of {name!r} is not a JSON object; each line must be one."
                    )
    except (OSError, EOFError, zlib.error):
        return DriftduelError(f"{name!r} cannot be read: it is damaged.")
    return None


def _open_json(name: str) -> pl.LazyFrame:
    """Read JSON: an array of objects, also as the value of a key; arrays by column; JSON lines."""
    head = _head(name).strip()
    if head.startswith(b"{") and head.endswith(b"}"):
        try:
            if isinstance(json.loads(head), dict) and _has_more_lines(name):
                return _open_lines(name)
        except (ValueError, RecursionError):
            pass
    try:
        with translated_errors():
            table = pl.read_json(name, infer_schema_length=None)
    except DriftduelError as error:
        raise _bad_json(name) or error from None
    lists = [column for column, kind in table.schema.items() if isinstance(kind, pl.List)]
    if len(table) != 1 or not lists:
        return table.lazy()
    of_objects = [c for c in lists if isinstance(table.schema[c].inner, pl.Struct)]  # type: ignore[attr-defined]
    if len(of_objects) == 1:
        return table.select(of_objects).explode(of_objects).unnest(of_objects).lazy()
    sizes = {len(table[column][0]) for column in lists}
    if len(lists) != len(table.columns) or len(sizes) != 1:
        raise DriftduelError(
            f"{name!r} must hold an array of objects, one for each vote, or an array for each "
            f"column, all of the same length."
        )
    return table.explode(lists).lazy()


def _bad_json(name: str) -> DriftduelError | None:
    """Return an error that describes why a file cannot be read as JSON."""
    try:
        json.loads(Path(name).read_bytes())
    except json.JSONDecodeError as error:
        return DriftduelError(
            f"{name!r} is not JSON: {error.msg} in line {error.lineno:,}, column {error.colno:,}."
        )
    except UnicodeDecodeError:
        return DriftduelError(f"{name!r} is not JSON in UTF-8.")
    except (OSError, ValueError, RecursionError):
        return None
    return DriftduelError(
        f"{name!r} must hold an array of objects, one for each vote, with values of one type under "
        f"each key."
    )


def _has_more_lines(name: str) -> bool:
    with _binary(name) as file:
        file.readline(_LONGEST_HEAD)
        return bool(file.read(1 << 16).strip())


def _columns(frame: pl.LazyFrame) -> list[str]:
    with translated_errors():
        return frame.collect_schema().names()


def _flat(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the frame with a separate column for each nested key: ``result.winner``."""
    with translated_errors():
        schema = frame.collect_schema()
    if not any(isinstance(kind, pl.Struct) for kind in schema.values()):
        return frame
    found: dict[str, pl.Expr] = {}

    def add(name: str, value: pl.Expr, kind: pl.DataType) -> None:
        if isinstance(kind, pl.Struct):
            for field in kind.fields:
                inner = value.struct.field(field.name)
                add(f"{name}.{field.name}", inner, field.dtype)  # type: ignore[arg-type]
        else:
            found.setdefault(name, value.alias(name))

    plain = [(name, kind) for name, kind in schema.items() if not isinstance(kind, pl.Struct)]
    nested = [(name, kind) for name, kind in schema.items() if isinstance(kind, pl.Struct)]
    for name, kind in [*plain, *nested]:
        add(name, pl.col(name), kind)
    return frame.select(list(found.values()))
