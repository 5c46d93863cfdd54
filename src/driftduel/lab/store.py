"""Results on disk: immutable Parquet files, each named by a hash of its content.

A store is a folder::

    plan.json             the plan
    cells/HASH.parquet    finished cells, one row each; HASH is the SHA-256 of the file
    failed/KEY.json       the error of a failed cell; removed when it succeeds

Files are never changed in place. A row is durable (fsync) before its cell is reported as finished.
A file is damaged if its content does not match its name, or if it contains cells of the plan with
values that no game can give. A cell that two processes finished concurrently has two rows with
equal content and is counted once. To merge two stores of one plan, copy the files of one into the
other.
"""

import hashlib
import io
import json
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from driftduel._internal.defaults import GOAL
from driftduel._internal.files import atomic_write, durable_folder
from driftduel._internal.reading import parse_json, read_bytes, read_text
from driftduel._internal.wording import counted
from driftduel.errors import DriftduelError
from driftduel.lab import goals
from driftduel.lab.cells import CURVES
from driftduel.lab.identity import same_but_code
from driftduel.lab.plan import Cell, Plan
from driftduel.specs import Spec

__all__ = ["SCHEMA", "TIMINGS", "Store"]

SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "world": pl.String,
    "policy": pl.String,
    "seed": pl.Int64,
    "run": pl.Int64,
    "game_seed": pl.Int64,
    "rounds": pl.Int64,
    "arms": pl.Int64,
    **dict.fromkeys(CURVES, pl.Float64),
    "restarts": pl.List(pl.Int64),
    "switches": pl.List(pl.Int64),
    "at": pl.List(pl.Int64),
    **{f"{column}_curve": pl.List(pl.Float64) for column in CURVES},
    "plays": pl.List(pl.Int64),
    "winners_from": pl.List(pl.Int64),
    "winners": pl.List(pl.Int64),
    "present": pl.List(pl.Int64),
    "ties": pl.Float64,
    "categories": pl.List(pl.String),
    "category_regret": pl.List(pl.Float64),
    "category_rounds": pl.List(pl.Int64),
    "stages": pl.List(
        pl.Struct(
            {
                "round": pl.Int64,
                "episode": pl.Int64,
                "replays": pl.List(pl.Int64),
                "active": pl.List(pl.Int64),
                "good": pl.List(pl.Int64),
            }
        )
    ),
    "seconds": pl.Float64,
    "seconds_game": pl.Float64,
    "seconds_cell": pl.Float64,
    "finished_at": pl.String,
    "version": pl.String,
    "machine": pl.String,
}
"""The columns of the store; list columns are curves over the rounds ``at``.

``seconds`` is the time in the policy's compiled loop, ``seconds_game`` that of the whole game
(world, outcome draws, regret, and compilation), ``seconds_cell`` that of the cell.

The columns of the run's world are those that a page shows, so that the world need not be rebuilt:
``winners`` and ``winners_from`` (the best arm, -1 for none, and the first rounds), ``present`` (the
minimum and maximum number of present arms; empty if all are present), the share of ``ties``, the
``categories`` of requests with the regret and the rounds of each (empty without categories).
``stages`` are recorded stages of a policy with replays, in the first run only, for the figure of
the game. Files of driftduel 0.1 lack these columns, and files from before requests had categories
lack those; `Store.rows` returns null for them.
"""
TIMINGS = ("seconds", "seconds_game", "seconds_cell", "finished_at", "machine")
"""Columns that differ when a cell is played again."""

_SINCE_02 = ("winners_from", "winners", "present", "ties", "stages")
_GOAL_SCHEMA = {**SCHEMA, **goals.SCHEMA}  # of games with a goal beside regret
_CATEGORIES = ("categories", "category_regret", "category_rounds")


def _without(schema: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: kind for name, kind in schema.items() if name not in names}


_OLD_SCHEMA = _without(SCHEMA, (*_SINCE_02, *_CATEGORIES))
_BEFORE_CATEGORIES = [_without(schema, _CATEGORIES) for schema in (SCHEMA, _GOAL_SCHEMA)]
_SCHEMAS = (SCHEMA, _GOAL_SCHEMA, _OLD_SCHEMA, *_BEFORE_CATEGORIES)
_PLAN = "plan.json"
_FORMAT = 1


class _DamagedPlanError(DriftduelError):
    """Raised for an unreadable plan, which `replan` may replace."""


class Store:
    """The results in a folder.

    Several processes may add rows concurrently. Within a process, one thread writes and any thread
    may read.

    Parameters
    ----------
    folder
        An existing folder of results; `create` creates one.
    scratch
        Whether the folder is temporary, so that its files are not flushed to disk with fsync.
    """

    def __init__(self, folder: str | Path, *, scratch: bool = False) -> None:
        self.folder = Path(folder)
        self.scratch = scratch
        self._sound: dict[str, list[str]] = {}  # valid files: name -> keys of their cells
        self._kinds: dict[str, int] = {}  # file name -> index in `_SCHEMAS`
        self._looking = threading.RLock()  # guards the index of files: any thread may read it
        self.outdated: str | None = None
        """A message about finished cells with outdated built-in code; None if there are none."""
        self.damaged: list[str] = []
        """Names of damaged files; their cells are played again."""
        path = self.folder / _PLAN
        try:
            if not path.exists():
                raise FileNotFoundError
            record = parse_json(read_text(path))
            if record.pop("format") != _FORMAT:
                raise ValueError
            self.plan = Plan.from_dict(record)
        except (FileNotFoundError, NotADirectoryError):
            what = "contains no results" if self.folder.is_dir() else "is not a folder"
            raise DriftduelError(
                f"{str(self.folder)!r} {what} (no {_PLAN}); "
                f"'driftduel sweep' and 'driftduel compare --out' create such a folder."
            ) from None
        except OSError as error:
            raise DriftduelError(f"cannot read {str(path)!r}: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            if not (self.folder / "cells").is_dir():
                raise DriftduelError(f"{str(path)!r} is not a plan of this program.") from None
            raise _DamagedPlanError(
                f"{str(path)!r} is damaged, or of another version of driftduel; repeat the command "
                f"with --replan, which rewrites the plan and keeps finished cells."
            ) from None

    @classmethod
    def create(
        cls, folder: str | Path, plan: Plan, *, replan: bool = False, scratch: bool = False
    ) -> "Store":
        """Open or create the store of a plan.

        Parameters
        ----------
        folder
            The folder; created if missing.
        plan
            The plan.
        replan
            Whether to replace another or a damaged plan; finished cells of both plans are kept.
        scratch
            See `Store`.

        Raises
        ------
        DriftduelError
            If the folder contains another plan, without `replan`, or other files.
        """
        folder = Path(folder)
        path = folder / _PLAN
        store = None
        try:
            durable_folder(folder)
            others = [each.name for each in folder.iterdir() if not each.name.startswith(".")]
            # The order avoids a race: another process may create the same store concurrently and
            # write plan.json after the folder was listed.
            if others and others != ["cells"] and not path.exists():
                raise DriftduelError(
                    f"{str(folder)!r} contains other files; pass a new or empty folder."
                )
            if path.exists():
                try:
                    store = cls(folder, scratch=scratch)
                except _DamagedPlanError:
                    if not replan:
                        raise
            changed = [] if store is None else _changed_code(store.plan, plan)
            if store is not None and not replan and not _is_same_but(changed, store.plan, plan):
                how = _differences(store.plan, plan)
                raise DriftduelError(
                    f"{str(folder)!r} contains results of another plan ({how}); choose another "
                    f"folder, or pass --replan to replace the plan and keep the common cells."
                )
            (folder / "cells").mkdir(exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise DriftduelError(f"cannot write to {str(folder)!r}: {reason}.") from None
        if store is not None and store.plan == plan:
            return store
        outdated = None if store is None else store._outdated_by(changed)
        text = json.dumps({"format": _FORMAT, **plan.as_dict()}, indent=1)
        with atomic_write(path, lasting=not scratch) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
        store = cls(folder, scratch=scratch)
        store.outdated = outdated
        return store

    def _outdated_by(self, changed: Sequence[str]) -> str | None:
        """Return a message about cells outdated by changed code; None if there are none."""
        done = self.done() if changed else set()
        lost = sum(
            cell.key in done and not {cell.world, cell.policy}.isdisjoint(changed)
            for cell in self.plan.cells()
        )
        if not lost:
            return None
        names = list(dict.fromkeys(Spec.parse(spec).name for spec in changed))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        cells = f"{counted(lost, 'finished cell')} of {len(self.plan):,}"
        again = "is played again" if lost == 1 else "are played again"
        if not any(" " in identity for identity in _identities(self.plan).values()):
            return f"{cells} {again}: an earlier version did not record their code."
        return f"{cells} {again}: the code of {', '.join(names[:3])}{more} has changed since."

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows as one new file, atomically and durably."""
        buffer = io.BytesIO()
        schema = _GOAL_SCHEMA if "goal_score" in rows[0] else SCHEMA
        frame = pl.DataFrame({name: [row[name] for row in rows] for name in schema}, schema=schema)
        frame.write_parquet(buffer, compression="zstd")
        content = buffer.getvalue()
        name = hashlib.sha256(content).hexdigest() + ".parquet"
        with atomic_write(self.folder / "cells" / name, lasting=not self.scratch) as temporary:
            temporary.write_bytes(content)
        with self._looking:
            self._kinds[name] = _SCHEMAS.index(schema)
            self._sound[name] = [row["key"] for row in rows]
        for row in rows:
            (self.folder / "failed" / f"{row['key']}.json").unlink(missing_ok=True)

    def refresh(self) -> None:
        """Read and validate the files that other processes have written since the last call."""
        with self._looking:
            self._refresh()

    def _refresh(self) -> None:
        folder = self.folder / "cells"
        try:
            names = {entry.name for entry in os.scandir(folder) if entry.name.endswith(".parquet")}
        except OSError as error:
            raise DriftduelError(f"cannot read {str(folder)!r}: {error.strerror}.") from None
        for gone in self._sound.keys() - names:
            del self._sound[gone]
        for name in sorted(names - self._sound.keys()):
            try:
                keys = self._keys(name, read_bytes(folder / name))
            except DriftduelError:
                if not os.path.lexists(folder / name):  # race: another process has renamed it
                    continue
                if (folder / name).is_file():
                    raise
                keys = None  # a folder or a pipe
            if keys is not None:
                self._sound[name] = keys
            elif name not in self.damaged:
                self.damaged.append(name)

    def _keys(self, name: str, content: bytes) -> list[str] | None:
        """Return the keys of the cells in a file; None if it is damaged, so that no row is used."""
        if hashlib.sha256(content).hexdigest() + ".parquet" != name:
            return None
        try:
            frame = pl.read_parquet(io.BytesIO(content))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
            return None
        for kind, schema in enumerate(_SCHEMAS):
            if frame.schema == pl.Schema(schema):
                self._kinds[name] = kind
                return frame["key"].to_list() if _is_sound(frame, kind) else None
        # Files of other versions have other columns, and keys that no plan of this version has.
        if frame.schema.get("key") != pl.String or frame["key"].has_nulls():
            return None
        keys = frame["key"].to_list()
        planned = {cell.key for cell in self.plan.cells()}
        return keys if planned.isdisjoint(keys) else None

    def set_aside(self) -> list[str]:
        """Rename damaged files to ``*.damaged``, which are not read again; return their paths."""
        folder = self.folder / "cells"
        aside = []
        while self.damaged:
            name = self.damaged.pop()
            try:
                (folder / name).rename(folder / f"{name}.damaged")
            except FileNotFoundError:  # race: another process has renamed it
                continue
            except OSError as error:
                raise DriftduelError(
                    f"cannot rename the damaged file {name}: {error.strerror}."
                ) from None
            aside.append(str(folder / f"{name}.damaged"))
        return aside

    def done(self) -> set[str]:
        """Return a set of the keys of all finished cells; thread-safe."""
        with self._looking:
            self._refresh()
            return {key for keys in self._sound.values() for key in keys}

    def rows(self, columns: Iterable[str] = SCHEMA) -> pl.DataFrame:
        """Return the finished cells of the plan in its order, with the given columns."""
        self.refresh()
        columns = list(columns)
        wanted = list(dict.fromkeys(("key", *columns)))
        order = pl.DataFrame(
            [
                (cell.key, cell.world, cell.policy, cell.seed, cell.run)
                for cell in self.plan.cells()
            ],
            schema=["key", "world", "policy", "seed", "run"],
            orient="row",
        )
        # Absolute paths without glob expansion, because polars interprets "~" and "[" in names.
        # Files without a cell of the plan are skipped: another version has other columns.
        folder, planned = self.folder.absolute() / "cells", set(order["key"])
        sound = sorted(self._sound.items())
        files = [name for name, keys in sound if not planned.isdisjoint(keys)]
        by_kind = [[n for n in files if self._kinds.get(n, 0) == k] for k in range(len(_SCHEMAS))]
        frames = [_scan(folder, names, wanted) for names in by_kind if names]
        if not frames:
            return pl.DataFrame(schema={name: _GOAL_SCHEMA[name] for name in columns})
        rows = pl.concat(frames).unique("key", keep="first", maintain_order=True).collect()
        named = [name for name in order.columns if name != "key" and name in wanted]
        joined = order.join(rows.drop(named), on="key", how="inner", maintain_order="left")
        return joined.select(columns)

    def fail(self, cell: Cell, error: str) -> None:
        """Write the error of a failed cell to a file."""
        folder = self.folder / "failed"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as problem:
            raise DriftduelError(f"cannot write to {str(folder)!r}: {problem.strerror}.") from None
        record = {"cell": cell.id, "game_seed": cell.game_seed, "error": error}
        # Not durable, because a failed cell is retried with or without this file.
        with atomic_write(folder / f"{cell.key}.json", lasting=False) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    def failures(self) -> dict[str, str]:
        """Return the errors by id of the cells that failed and have not succeeded since."""
        failed = {path.stem: path for path in (self.folder / "failed").glob("*.json")}
        if not failed:
            return {}
        done = self.done()
        result = {}
        for cell in self.plan.cells():
            if cell.key in failed and cell.key not in done:
                try:
                    result[cell.id] = str(parse_json(read_text(failed[cell.key]))["error"])
                except (DriftduelError, KeyError, TypeError):
                    result[cell.id] = "unknown error: the file in failed/ cannot be read"
        return result


def _scan(folder: Path, names: Sequence[str], columns: Sequence[str]) -> pl.LazyFrame:
    """Scan files with the same schema; columns that they lack are null."""
    sources: list[Any] = [folder / name for name in names]
    try:
        str(folder).encode()
    except UnicodeEncodeError:  # polars cannot open names that are invalid in UTF-8
        sources = [io.BytesIO(read_bytes(file)) for file in sources]
    frame = pl.scan_parquet(sources, glob=False)
    there = set(frame.collect_schema().names())
    return frame.select(
        pl.col(name) if name in there else pl.lit(None, _GOAL_SCHEMA[name]).alias(name)
        for name in columns
    )


def _is_sound(frame: pl.DataFrame, kind: int) -> bool:
    """Return whether rows are valid: no null values, and every number finite and in range."""
    at = pl.col("at").list.len()
    curves = [f"{column}_curve" for column in CURVES]
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    checks = (
        pl.col("rounds") >= 1,
        pl.col("arms") >= 2,
        pl.col("plays").list.len() >= pl.col("arms"),
        pl.col("plays").list.len() % pl.col("arms") == 0,
        at >= 1,
        pl.col("at").list.last() == pl.col("rounds"),
        *(pl.col(name).list.len() == at for name in curves),
        *(pl.col(name).is_finite() for name, kind in frame.schema.items() if kind == pl.Float64),
        *(pl.col(name).list.eval(pl.element().is_null()).list.any().not_() for name in lists),
        *(pl.col(name).list.eval(pl.element().is_finite()).list.all() for name in curves),
    )
    if not all(count == 0 for count in frame.null_count().row(0)):
        return False
    if "goal_score" in _SCHEMAS[kind]:
        checks = (*checks, *_goal_checks())
    if "categories" in _SCHEMAS[kind]:
        checks = (*checks, *_category_checks())
    sound = bool(frame.select(pl.all_horizontal(*checks).all()).item())
    return sound and (_SCHEMAS[kind] is _OLD_SCHEMA or _has_sound_scenes(frame))


def _goal_checks() -> tuple[pl.Expr, ...]:
    """Return the checks of the columns that a goal adds."""
    curve = pl.col("goal_curve")
    return (
        curve.list.len() >= 1,
        curve.list.min() >= 0,
        curve.list.max() <= 1,
        pl.col("goal_votes").is_between(0, pl.col("rounds") + 1),
        pl.col("goal_changes") >= 0,
        pl.col("goal_until") >= 0,
    )


def _category_checks() -> tuple[pl.Expr, ...]:
    """Return the checks of the categories of requests."""
    names, regret, rounds = map(pl.col, _CATEGORIES)
    return (
        regret.list.len() == names.list.len(),
        rounds.list.len() == names.list.len(),
        names.list.n_unique() == names.list.len(),
        regret.list.eval(pl.element().is_finite()).list.all(),
        rounds.list.min().fill_null(0) >= 0,
        (names.list.len() == 0) | (rounds.list.sum() == pl.col("rounds")),
    )


def _has_sound_scenes(frame: pl.DataFrame) -> bool:
    """Return whether the columns of worlds and of replays have possible values."""
    arms, winners = pl.col("arms"), pl.col("winners")
    scenes = (
        winners.list.len() == pl.col("winners_from").list.len(),
        pl.col("winners_from").list.first() == 1,
        pl.col("winners_from").list.last() <= pl.col("rounds"),
        winners.list.min() >= -1,
        winners.list.max() < arms,
        pl.col("present").list.len().is_in([0, 2]),
        pl.col("ties").is_between(0, 1),
    )
    seen = frame.select("arms", "rounds", "stages").explode("stages").drop_nulls("stages")
    seen = seen.unnest("stages")
    numbers = pl.concat_list("replays", "active", "good")
    stages = (
        pl.col("round").is_between(1, pl.col("rounds")),
        pl.col("replays").list.len() % 2 == 0,
        numbers.list.eval(pl.element().is_null()).list.any().not_(),
        *(pl.col(name).list.min().fill_null(0) >= 0 for name in ("active", "good")),
        *(pl.col(name).list.max().fill_null(0) < arms for name in ("active", "good")),
    )
    return all(
        bool(part.select(pl.all_horizontal(*checks).all()).item())
        for part, checks in ((frame, scenes), (seen, stages))
    )


def _identities(plan: Plan) -> dict[str, str]:
    """Return a dict of the identities of a plan's worlds and policies by spec."""
    found = {each.spec: each.identity for each in plan.worlds}
    return {**found, **{each.spec: each.identity for each in plan.policies}}


def _changed_code(old: Plan, new: Plan) -> list[str]:
    """Return the specs of both plans that differ in their built-in code."""
    before, after = _identities(old), _identities(new)
    homes = {each.spec: each.home for each in new.worlds}
    homes |= {each.spec: each.home for each in new.policies}
    return [
        spec
        for spec, identity in after.items()
        if homes[spec].partition(".")[0] == "driftduel"
        and before.get(spec, identity) != identity
        and same_but_code(before[spec], identity)
    ]


def _is_same_but(changed: Sequence[str], old: Plan, new: Plan) -> bool:
    """Return whether two plans have equal values except for the code of some specs."""
    now = _identities(new)

    def updated(planned: Any) -> Any:
        return tuple(
            replace(each, identity=now[each.spec]) if each.spec in changed else each
            for each in planned
        )

    return replace(old, worlds=updated(old.worlds), policies=updated(old.policies)) == new


def _differences(old: Plan, new: Plan) -> str:
    """Return a short description of the differences of two plans."""
    found = []
    before, after = old.as_dict(), new.as_dict()
    before, after = ({"goal": GOAL, **record} for record in (before, after))
    for name in before:
        if before[name] == after[name]:
            continue
        if name not in ("worlds", "policies"):
            found.append(f"{name}: {before[name]} there, {after[name]} here")
            continue
        specs = [{each["spec"] for each in record[name]} for record in (before, after)]
        for place, only in (("there", specs[0] - specs[1]), ("here", specs[1] - specs[0])):
            if only:
                more = f" and {len(only) - 2} more" if len(only) > 2 else ""
                found.append(f"{name} only {place}: {', '.join(sorted(only)[:2])}{more}")
        if specs[0] == specs[1]:
            found.append(f"{name}: in another order, or with other content")
    return "; ".join(found)
