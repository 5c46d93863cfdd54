"""Votes in and out: a file that `driftduel log` reads, and votes of the past from such a file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from driftduel._files import whole_file
from driftduel.arena.live import LiveArena
from driftduel.arena.problems import ArenaError
from driftduel.arena.responses import wait_durable
from driftduel.arena.stores import ArenaStore, OptionText
from driftduel.errors import DriftduelError
from driftduel.logs import Log
from driftduel.logs.presence import OPTIONS

__all__ = [
    "csv_of",
    "export_votes",
    "formula_like_names",
    "import_log",
    "labels",
    "past_votes",
    "write_votes",
]

_BATCH = 10_000
_IMPORT_BATCH = 1000
_WORDS = {"tie", "tied", "draw", "equal", "even", "same", "both", "neither", "first", "second"}
_MOMENT = "%Y-%m-%dT%H:%M:%S%.3fZ"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "seq": pl.Int64,
    "time": pl.Datetime("ms", "UTC"),
    "first": pl.String,
    "second": pl.String,
    "winner": pl.String,
    "voter": pl.String,
    "counted": pl.Boolean,
    OPTIONS: pl.String,
}


def export_votes(store: ArenaStore, arena: str) -> pl.DataFrame:
    """Return the votes of an arena: who was left (first), who right (second), who was preferred.

    Votes that were undone or voided are left out, and so are skips and those that came too late.
    The column `options` holds the names of the options present after a vote, as a JSON array; it
    is written on the first row, and on a row after which an option joins or leaves.
    """
    _require_arena(store, arena)
    present: list[str] = []
    changes: list[
        tuple[int, tuple[str, ...]]
    ] = []  # the present options, and the record since when
    called = labels(store.options(arena))
    votes: dict[int, tuple[Any, ...]] = {}
    voided: set[int] = set()
    for record in _records(store, arena):
        body = record.body
        if record.kind == "voted" and "shown" in body and body["pick"] != "skip":
            left, right = (called[f"o{arm + 1}"] for arm in body["shown"])
            winner = {"left": left, "right": right, "tie": "tie"}[body["pick"]]
            votes[body["ref"]] = (
                record.seq,
                datetime.fromtimestamp(record.at / 1000, UTC),
                left,
                right,
                winner,
                body.get("voter"),
                not body.get("uncounted", False),
            )
        elif record.kind == "undone" or (record.kind == "forgot" and body["why"] == "voided"):
            votes.pop(body["ref"], None)
        elif record.kind == "voided":
            voided |= {vote[0] for vote in body["votes"]}
        elif record.kind in ("opened", "joined", "left"):
            if record.kind == "opened":
                present.extend(body["options"])
            else:
                (present.append if record.kind == "joined" else present.remove)(body["option"])
            changes.append((record.seq, tuple(present)))
    kept = sorted(vote for vote in votes.values() if vote[0] not in voided)
    texts = _presence([vote[0] for vote in kept], changes, called)
    rows = [(*vote, text) for vote, text in zip(kept, texts, strict=True)]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _presence(
    votes: Sequence[int], changes: Sequence[tuple[int, tuple[str, ...]]], called: Mapping[str, str]
) -> list[str | None]:
    """Return the column `options`: the options present before the next vote, where they change."""
    column: list[str | None] = []
    written: tuple[str, ...] | None = None
    change = 0
    for next_vote in [*votes[1:], None]:
        while change + 1 < len(changes) and (
            next_vote is None or changes[change + 1][0] < next_vote
        ):
            change += 1
        present = changes[change][1]
        names = None if present == written else [called[each] for each in present]
        column.append(None if names is None else json.dumps(names, ensure_ascii=False))
        written = present
    return column[: len(votes)]


def _require_arena(store: ArenaStore, arena: str) -> None:
    if not store.exists(arena):
        raise ArenaError("no-such-arena", f"there is no arena {arena!r:.80}.")


def _records(store: ArenaStore, arena: str) -> Iterator[Any]:
    seq = 0
    while records := store.records(arena, seq, _BATCH):
        yield from records
        seq = records[-1].seq


def labels(options: Sequence[OptionText]) -> dict[str, str]:
    """Return by id what options are called in a file, where every name must mean one thing."""
    names = [option.name for option in options]

    def plain(name: str) -> bool:
        return names.count(name) == 1 and name.strip().lower() not in _WORDS

    return {
        option.id: option.name if plain(option.name) else f"{option.name} ({option.id})"
        for option in options
    }


def csv_of(votes: pl.DataFrame) -> str:
    """Write votes as CSV that `driftduel log` reads."""
    return votes.write_csv(datetime_format=_MOMENT)


def formula_like_names(votes: pl.DataFrame) -> list[str]:
    """Return the options that a spreadsheet which opens a CSV would take for formulas, and run.

    They are written as they are: whoever reads the file shall find the names that the arena has,
    and every mark that keeps a spreadsheet from it would be part of the name to all others.
    """
    names = set(votes["first"]) | set(votes["second"])
    return sorted(name for name in names if name.startswith(_FORMULAS))


def write_votes(votes: pl.DataFrame, path: str | Path) -> None:
    """Write votes as CSV, JSON lines or Parquet; the file appears whole or not at all."""
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".jsonl", ".parquet"):
        raise DriftduelError(f"{str(path)!r} must end with .csv, .jsonl or .parquet.")
    with whole_file(path) as temporary:
        if ending == ".csv":
            Path(temporary).write_text(csv_of(votes), "utf-8", newline="")
        elif ending == ".jsonl":
            moment = pl.col("time").dt.strftime(_MOMENT)
            votes.with_columns(moment).write_ndjson(temporary)
        else:
            votes.write_parquet(temporary)


def past_votes(log: Log, called: Mapping[str, int]) -> Iterator[list[Any]]:
    """Yield a log's votes as an arena hears them: two arms, 1, 0 or -1, and a weight.

    Parameters
    ----------
    log
        What `driftduel.logs.read_log` returned.
    called
        Which arm an option of the log is.
    """
    if log.votes is None or log.meaning is None:
        raise DriftduelError(
            "counts have no single votes; import the files of which they were counted."
        )
    rows = log.meaning(log.votes.sort("when").collect()).filter(pl.col("won").is_not_null())
    if "weight" not in rows.columns:
        rows = rows.with_columns(weight=pl.lit(1.0))
    for first, second, won, weight in rows.select("first", "second", "won", "weight").iter_rows():
        if first in called and second in called:
            yield [called[first], called[second], -1 if won == 0.5 else int(won), float(weight)]


def import_log(live: LiveArena, log: Log) -> int:
    """Let an arena hear the votes of a log; return how many there were.

    Options are recognised by what they are called. One that the log has and the arena has not is
    a mistake, not something to leave out silently.
    """
    options = {name: live.state.arm(option_id) for option_id, name in _labels_of(live).items()}
    unknown = [name for name in log.names if name not in options]
    if unknown:
        raise ArenaError(
            "no-such-option",
            f"the log has the option {unknown[0]!r:.80}, the arena {live.name!r} has not; it has "
            f"{', '.join(sorted(options))[:200]}.",
        )
    heard = 0
    batch: list[list[Any]] = []
    for vote in past_votes(log, options):
        batch.append(vote)
        if len(batch) == _IMPORT_BATCH:
            heard += wait_durable(live.add_past_votes(batch))
            batch = []
    return heard + (wait_durable(live.add_past_votes(batch)) if batch else 0)


def _labels_of(live: LiveArena) -> dict[str, str]:
    return labels([OptionText(o.id, o.name, o.kind, o.content) for o in live.options()])
