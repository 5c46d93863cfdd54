"""Export votes to a file that `driftduel log` reads; import past votes from such a file."""

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
    """Return the votes of an arena: left option (first), right option (second), winner.

    Votes that were undone, voided, skipped or late are left out. The column `options` holds the
    names of the options present after a vote, as a JSON array; it is written on the first row, and
    on a row after which an option joins or leaves.

    Raises
    ------
    ArenaError
        ``no-such-arena``, if the arena does not exist.
    """
    _require_arena(store, arena)
    present: list[str] = []
    # Sequence number of a record, and the options present from it on.
    changes: list[tuple[int, tuple[str, ...]]] = []
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
        raise ArenaError("no-such-arena", f"arena {arena!r:.80} does not exist.")


def _records(store: ArenaStore, arena: str) -> Iterator[Any]:
    seq = 0
    while records := store.records(arena, seq, _BATCH):
        yield from records
        seq = records[-1].seq


def labels(options: Sequence[OptionText]) -> dict[str, str]:
    """Return a dict from option ids to unambiguous names for a file.

    A name gets its id as a suffix if another option has the same name, or if it is a word for a
    tie.
    """
    names = [option.name for option in options]

    def plain(name: str) -> bool:
        return names.count(name) == 1 and name.strip().lower() not in _WORDS

    return {
        option.id: option.name if plain(option.name) else f"{option.name} ({option.id})"
        for option in options
    }


def csv_of(votes: pl.DataFrame) -> str:
    """Return votes as a CSV string that `driftduel log` reads."""
    return votes.write_csv(datetime_format=_MOMENT)


def formula_like_names(votes: pl.DataFrame) -> list[str]:
    """Return the names that a spreadsheet would evaluate as formulas when it opens a CSV file.

    They are written unchanged: an escape character would become part of the name for every other
    reader of the file.
    """
    names = set(votes["first"]) | set(votes["second"])
    return sorted(name for name in names if name.startswith(_FORMULAS))


def write_votes(votes: pl.DataFrame, path: str | Path) -> None:
    """Write votes as CSV, JSON lines or Parquet; the file is replaced atomically."""
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".jsonl", ".parquet"):
        raise DriftduelError(
            f"the format of {str(path)!r} is unknown; the name must end with .csv, .jsonl or "
            ".parquet."
        )
    with whole_file(path) as temporary:
        if ending == ".csv":
            Path(temporary).write_text(csv_of(votes), "utf-8", newline="")
        elif ending == ".jsonl":
            moment = pl.col("time").dt.strftime(_MOMENT)
            votes.with_columns(moment).write_ndjson(temporary)
        else:
            votes.write_parquet(temporary)


def past_votes(log: Log, called: Mapping[str, int]) -> Iterator[list[Any]]:
    """Yield the votes of a log as an arena imports them: two arms, 1, 0 or -1, and a weight.

    Parameters
    ----------
    log
        A log that `driftduel.logs.read_log` returned.
    called
        Dict from names of options in the log to arms; votes on other options are left out.
    """
    if log.votes is None or log.meaning is None:
        raise DriftduelError(
            "a file of counts has no single votes; import the file of votes it was counted from."
        )
    rows = log.meaning(log.votes.sort("when").collect()).filter(pl.col("won").is_not_null())
    if "weight" not in rows.columns:
        rows = rows.with_columns(weight=pl.lit(1.0))
    for first, second, won, weight in rows.select("first", "second", "won", "weight").iter_rows():
        if first in called and second in called:
            yield [called[first], called[second], -1 if won == 0.5 else int(won), float(weight)]


def import_log(live: LiveArena, log: Log) -> int:
    """Import the votes of a log into an arena; return their number.

    Options are matched by their labels. An option of the log that the arena lacks is an error; its
    votes are not dropped silently.

    Raises
    ------
    ArenaError
        ``no-such-option``, if the arena lacks an option of the log.
    """
    options = {name: live.state.arm(option_id) for option_id, name in _labels_of(live).items()}
    unknown = [name for name in log.names if name not in options]
    if unknown:
        raise ArenaError(
            "no-such-option",
            f"option {unknown[0]!r:.80} of the log does not exist in arena {live.name!r}; add it, "
            f"or rename it to one of {', '.join(sorted(options))[:200]}.",
        )
    imported = 0
    batch: list[list[Any]] = []
    for vote in past_votes(log, options):
        batch.append(vote)
        if len(batch) == _IMPORT_BATCH:
            imported += wait_durable(live.add_past_votes(batch))
            batch = []
    return imported + (wait_durable(live.add_past_votes(batch)) if batch else 0)


def _labels_of(live: LiveArena) -> dict[str, str]:
    return labels([OptionText(o.id, o.name, o.kind, o.content) for o in live.options()])
