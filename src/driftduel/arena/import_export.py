"""Export votes to a file that `driftduel log` reads; import past votes from such a file."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from driftduel._internal.files import atomic_write
from driftduel.arena.board_counts import PICKED
from driftduel.arena.item_texts import decode_item
from driftduel.arena.items import in_batches
from driftduel.arena.live import LiveArena
from driftduel.arena.problems import ArenaError
from driftduel.arena.responses import wait_durable
from driftduel.arena.slate_votes import RANKED, compared_pairs
from driftduel.arena.stores import ArenaStore, OptionText
from driftduel.arena.vote_files import FileVote, new_items, option_names_of
from driftduel.errors import DriftduelError
from driftduel.logs import OPTIONS, SEVERAL, Log
from driftduel.requests import TypedFeatures

__all__ = [
    "PAIR_COLUMNS",
    "ItemNames",
    "csv_of",
    "export_votes",
    "formula_like_names",
    "import_log",
    "import_votes",
    "item_names",
    "labels",
    "lines_of",
    "past_votes",
    "preference_pairs",
    "write_pairs",
    "write_votes",
]

_BATCH = 10_000
_IMPORT_BATCH = 1000
_WORDS = {"tie", "tied", "draw", "equal", "even", "same", "both", "neither", "first", "second"}
_MOMENT = "%Y-%m-%dT%H:%M:%S%.3fZ"
_REQUEST = "request."
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
    "duel": pl.Int64,
    "item": pl.String,
    "pick": pl.String,
    "asked": pl.Datetime("ms", "UTC"),
    "reason": pl.String,
}
_LISTS = ("shown", "ranking")
"""Columns of slates: JSON arrays in CSV and Parquet, lists in JSON lines."""
PAIR_COLUMNS = (
    "prompt", "chosen", "rejected", "chosen_option", "rejected_option", "item", "voter", "reason",
    "tags",
)  # fmt: skip
"""Columns of an export of preference pairs."""
_TEXTS = {"text", "markdown"}
_ITEM_BATCH = 1000
_TIMES = ("time", "asked")


def export_votes(store: ArenaStore, arena: str, *, imported: bool = False) -> pl.DataFrame:
    """Return the votes of an arena: left option (first), right option (second), winner, and more.

    Votes that were undone, voided, skipped or late are left out. The column `options` holds the
    names of the options present after a vote, as a JSON array; it is written on the first row, and
    on a row after which an option joins or leaves. Tags of the vote and of its item are columns
    ``tags.KEY``, in which several values are joined by `` + ``. With features, requests are columns
    ``request.NAME``. With slates, the columns `shown` and `ranking` have the options as shown and
    as ranked; `first` and `second` are empty. docs/reference/vote-files.md describes all columns.

    Parameters
    ----------
    store, arena
        The store, and the name of the arena.
    imported
        Whether to return past votes that were imported, too.

    Raises
    ------
    ArenaError
        ``no-such-arena``, if the arena does not exist.
    """
    votes = _votes_of(store, arena, imported=imported)
    settings = store.records(arena, 0, 1)[0].body["settings"]
    features = TypedFeatures.of(settings.get("features", ()))
    return _frame(*votes, features, slates=settings.get("show", 2) > 2)


def _votes_of(
    store: ArenaStore, arena: str, *, imported: bool
) -> tuple[list[dict[str, Any]], list[str | None]]:
    """Return the votes of an export as dicts, and its column `options`."""
    _require_arena(store, arena)
    present: list[str] = []
    # Sequence number of a record, and the options present from it on.
    changes: list[tuple[int, tuple[str, ...]]] = []
    called = labels(store.options(arena))
    items = item_names(store, arena)
    votes: dict[Any, dict[str, Any]] = {}
    asked: dict[int, int] = {}
    voided: set[int] = set()
    for record in _records(store, arena):
        body = record.body
        if record.kind == "asked":
            asked[body["ref"]] = record.at
        elif record.kind == "voted" and "shown" in body and body["pick"] != "skip":
            vote = _vote(record, called, items)
            votes[body["ref"]] = vote | {
                "seq": record.seq, "time": record.at, "voter": body.get("voter"),
                "counted": not body.get("uncounted", False), "duel": body["ref"],
                "asked": asked.get(body["ref"]),
            }  # fmt: skip
        elif record.kind == "undone" or (record.kind == "forgot" and body["why"] == "voided"):
            votes.pop(body["ref"], None)
        elif record.kind == "voided":
            voided |= {vote[0] for vote in body["votes"]}
        elif record.kind == "heard" and imported:
            for place, vote in enumerate(body["votes"]):
                votes[record.seq, place] = _past_vote(record, vote, called, items)
        elif record.kind in ("opened", "joined", "left"):
            if record.kind == "opened":
                present.extend(body["options"])
            else:
                (present.append if record.kind == "joined" else present.remove)(body["option"])
            changes.append((record.seq, tuple(present)))
    kept = [vote for vote in votes.values() if vote["seq"] not in voided]
    kept.sort(key=lambda vote: vote["seq"])
    texts = _presence([vote["seq"] for vote in kept], changes, called)
    return kept, texts


def _vote(record: Any, called: Mapping[str, str], items: "ItemNames") -> dict[str, Any]:
    """Return the columns of a vote that do not depend on its kind of record."""
    body = record.body
    shown = [called[f"o{arm + 1}"] for arm in body["shown"]]
    ranking = [called[f"o{arm + 1}"] for arm in body.get("ranking", ())]
    left, right = (None, None) if ranking or len(shown) > 2 else shown
    item, tags = items.get(body.get("item", 0), (body.get("item_id"), {}))
    return {
        "first": left,
        "second": right,
        "winner": {"left": left, "right": right}.get(body["pick"], (*ranking, "tie")[0]),
        "shown": shown,
        "ranking": ranking,
        "pick": body["pick"],
        "item": item,
        "number": body.get("item", 0),
        "reason": body.get("reason"),
        "request": body.get("request") or {},
        "tags": {**tags, **body.get("tags", {})},
    }


def _past_vote(
    record: Any, vote: Sequence[Any], called: Mapping[str, str], items: "ItemNames"
) -> dict[str, Any]:
    """Return the columns of an imported vote; those that its file did not have are empty."""
    first, second, won, _, *more = vote
    known = more[0] if more else {}
    if isinstance(first, list):
        answer = {"pick": RANKED if second else "tie", **known, "shown": first, "ranking": second}
    else:
        usual = ("right", "left", "tie")[won]
        answer = {"pick": usual, **known, "shown": [first, second]}
    like = type(record)(record.seq, record.at, "voted", answer)
    return _vote(like, called, items) | {
        "seq": record.seq, "time": known.get("time"), "voter": known.get("voter"),
        "counted": True, "duel": None, "asked": None,
    }  # fmt: skip


ItemNames = dict[int, tuple[str, dict[str, Any]]]


class _TagsOnly(msgspec.Struct):
    """The tags of a stored item; prompt and answers are not decoded."""

    tags: dict[str, Any] = {}


def item_names(store: ArenaStore, arena: str) -> ItemNames:
    """Return id and tags of each item, by number."""
    names: ItemNames = {}
    decoder, after = msgspec.json.Decoder(_TagsOnly), 0
    while rows := store.items(arena, after, _ITEM_BATCH):
        for row in rows:
            names[row.number] = row.id, decoder.decode(row.content).tags if row.content else {}
        after = rows[-1].number
    return names


def _frame(
    votes: Sequence[dict[str, Any]],
    options: Sequence[str | None],
    features: TypedFeatures,
    *,
    slates: bool,
) -> pl.DataFrame:
    """Return votes as a frame with one column for each feature, and for each key of their tags.

    With slates a duel is a slate of two options, so that all rows have one form.
    """
    keys = sorted({key for vote in votes for key in vote["tags"]})
    slates = slates or any(vote["first"] is None for vote in votes)
    lists = dict.fromkeys(_LISTS, pl.String) if slates else {}
    about: dict[str, Any] = {
        _REQUEST + each.name: pl.String if each.values else pl.Float64 for each in features.features
    }
    schema = {**_SCHEMA, **lists, **about, **{f"tags.{key}": pl.String for key in keys}}
    rows = [
        {
            **vote,
            OPTIONS: text,
            **{key: _json_list(vote[key]) for key in lists},
            **{_REQUEST + key: each for key, each in vote["request"].items()},
            **{f"tags.{key}": _joined(each) for key, each in vote["tags"].items()},
        }
        for vote, text in zip(votes, options, strict=True)
    ]
    columns = {name: [row.get(name) for row in rows] for name in schema}
    counts = {**schema, **dict.fromkeys(_TIMES, pl.Int64())}  # milliseconds since 1970
    return pl.DataFrame(columns, schema=counts).cast(dict.fromkeys(_TIMES, _SCHEMA["time"]))


def _json_list(names: Sequence[str]) -> str | None:
    return json.dumps(names, ensure_ascii=False) if names else None


def _joined(value: str | list[str]) -> str:
    return value if isinstance(value, str) else SEVERAL.join(value)


def preference_pairs(store: ArenaStore, arena: str) -> Iterator[dict[str, Any]]:
    """Yield the votes on items as pairs for training: prompt, chosen and rejected answer.

    A slate gives all pairs that it decides.

    Ties, answers without text, and votes of `export_votes` that do not count are left out.
    """
    named = {label: option for option, label in labels(store.options(arena)).items()}
    for vote in _votes_of(store, arena, imported=True)[0]:
        if not vote["number"] or vote["winner"] == "tie" or not vote["counted"]:
            continue
        content = decode_item(store.item(arena, vote["number"]))
        shown, ranking = vote["shown"], vote["ranking"] or [vote["winner"]]
        places = [shown.index(name) for name in ranking]
        for better, worse, *_ in compared_pairs(range(len(shown)), places):
            winner, other = shown[better], shown[worse]
            chosen, rejected = (content.answers.get(named[name]) for name in (winner, other))
            if not (chosen and rejected and {chosen.kind, rejected.kind} <= _TEXTS):
                continue
            yield {
                "prompt": content.prompt.content if content.prompt else "",
                "chosen": chosen.content,
                "rejected": rejected.content,
                "chosen_option": winner,
                "rejected_option": other,
                "item": vote["item"],
                "voter": vote["voter"],
                "reason": vote["reason"],
                "tags": vote["tags"],
            }


def _tags_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a row of an export."""
    start = "tags."
    return {
        key.removeprefix(start): value
        for key, value in row.items()
        if key.startswith(start) and value is not None
    }


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


def lines_of(votes: pl.DataFrame) -> Iterator[str]:
    """Yield votes as JSON objects, one per line, with the tags in one object."""
    times = [
        pl.col(name).dt.strftime(_MOMENT) for name in ("time", "asked") if name in votes.columns
    ]
    for row in votes.with_columns(times).iter_rows(named=True):
        nested = ("tags.", _REQUEST)
        plain = {key: value for key, value in row.items() if not key.startswith(nested)}
        request = {
            key.removeprefix(_REQUEST): value
            for key, value in row.items()
            if key.startswith(_REQUEST) and value is not None
        }
        plain |= {key: _list_of(plain[key]) for key in _LISTS if key in plain}
        plain |= {"tags": _tags_of(row), "request": request}
        yield json.dumps(plain, ensure_ascii=False)


def _list_of(text: str | None) -> list[str] | None:
    names: list[str] | None = None if text is None else json.loads(text)
    return names


def formula_like_names(votes: pl.DataFrame) -> list[str]:
    """Return the names that a spreadsheet would evaluate as formulas when it opens a CSV file.

    They are written unchanged: an escape character would become part of the name for every other
    reader of the file.
    """
    names = (set(votes["first"]) | set(votes["second"])) - {None}
    for text in votes["shown"].unique() if "shown" in votes.columns else ():
        names |= set(_list_of(text) or ())
    return sorted(name for name in names if name.startswith(_FORMULAS))


def write_votes(votes: pl.DataFrame, path: str | Path) -> None:
    """Write votes as CSV, JSON lines or Parquet; the file is replaced atomically."""
    ending = _ending(path)
    with atomic_write(path) as temporary:
        if ending == ".csv":
            Path(temporary).write_text(csv_of(votes), "utf-8", newline="")
        elif ending == ".jsonl":
            with Path(temporary).open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"{line}\n" for line in lines_of(votes))
        else:
            votes.write_parquet(temporary)


def write_pairs(pairs: Iterable[dict[str, Any]], path: str | Path) -> int:
    """Write preference pairs as CSV, JSON lines or Parquet; return their number."""
    ending, count = _ending(path), 0
    with atomic_write(path) as temporary:
        if ending == ".jsonl":
            with Path(temporary).open("w", encoding="utf-8", newline="") as file:
                for pair in pairs:
                    file.write(json.dumps(pair, ensure_ascii=False) + "\n")
                    count += 1
            return count
        rows = [{**pair, "tags": json.dumps(pair["tags"], ensure_ascii=False)} for pair in pairs]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(PAIR_COLUMNS, pl.String))
        if ending == ".csv":
            frame.write_csv(temporary)
        else:
            frame.write_parquet(temporary)
        return len(frame)


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".jsonl", ".parquet"):
        raise DriftduelError(
            f"the format of {str(path)!r} is unknown; the name must end with .csv, .jsonl or "
            ".parquet."
        )
    return ending


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
    if log.counts.slates:
        raise DriftduelError(
            "a log of slates cannot be imported as past duels; 'driftduel log' analyses it."
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
    if live.state.features:
        raise ArenaError(
            "bad-request",
            f"arena {live.name!r} has features, which the votes lack; import an export with the "
            "columns request.NAME.",
        )
    options = {name: live.state.arm(option_id) for option_id, name in _labels_of(live).items()}
    unknown = [name for name in log.names if name not in options]
    if unknown:
        raise _no_such_option(live, unknown[0], options)
    imported = 0
    batch: list[list[Any]] = []
    for vote in past_votes(log, options):
        batch.append(vote)
        if len(batch) == _IMPORT_BATCH:
            imported += wait_durable(live.add_past_votes(batch))
            batch = []
    return imported + (wait_durable(live.add_past_votes(batch)) if batch else 0)


def import_votes(live: LiveArena, votes: Iterable[FileVote]) -> int:
    """Import votes with all their fields into an arena; return their number.

    With items, prompts and answers of the votes become items. Names of voters are replaced by
    pseudonyms. Options are matched by their labels, as by `import_log`.
    """
    arms = {name: live.state.arm(option_id) for option_id, name in _labels_of(live).items()}
    votes, imported = list(votes), 0
    for name in option_names_of(votes):
        if name not in arms:
            raise _no_such_option(live, name, arms)
    requests = [_request_of(live, vote, number) for number, vote in enumerate(votes, 1)]
    items = _import_items(live, votes) if live.has_items else {}
    for start in range(0, len(votes), _IMPORT_BATCH):
        rows = [
            [
                *_answer_of(vote, arms), vote.weight,
                vote.known_fields(live.pseudonym, items.get(vote.item_key, 0), request),
            ]
            for vote, request in zip(
                votes[start : start + _IMPORT_BATCH],
                requests[start : start + _IMPORT_BATCH],
                strict=True,
            )
        ]  # fmt: skip
        imported += wait_durable(live.add_past_votes(rows))
    return imported


def _answer_of(vote: FileVote, arms: Mapping[str, int]) -> list[Any]:
    """Return two arms and the result, or the lists of arms of a slate and whether it has a pick."""
    if vote.shown:
        shown, ranking = ([arms[name] for name in names] for names in (vote.shown, vote.ranking))
        return [shown, ranking, 1 if ranking else -1]
    return [arms[vote.first], arms[vote.second], PICKED[vote.pick]]


def _request_of(live: LiveArena, vote: FileVote, number: int) -> dict[str, Any]:
    """Return the checked request of a vote, or raise; an empty dict without features."""
    features = live.state.features
    if not features and not vote.request:
        return {}
    if not features:
        raise ArenaError(
            "bad-request",
            f"vote {number} of the file has a request; create the arena with its features, or "
            "leave out the columns request.NAME.",
        )
    try:
        return features.parse(vote.request)
    except DriftduelError as error:
        raise ArenaError("bad-request", f"vote {number} of the file: {error}") from None


def _import_items(live: LiveArena, votes: Sequence[FileVote]) -> dict[str, int]:
    """Add the prompts and answers of votes as items; return their numbers by key of the vote."""
    for batch in in_batches(new_items(votes)):
        wait_durable(live.add_items(batch, replace=True))
    keys = list(dict.fromkeys(vote.item_key for vote in votes if vote.item_key))
    return dict(live.store.item_numbers(live.name, keys))


def _no_such_option(live: LiveArena, name: str, known: Iterable[str]) -> ArenaError:
    return ArenaError(
        "no-such-option",
        f"option {name!r:.80} of the log does not exist in arena {live.name!r}; add it, "
        f"or rename it to one of {', '.join(sorted(known))[:200]}.",
    )


def _labels_of(live: LiveArena) -> dict[str, str]:
    return labels([OptionText(o.id, o.name, o.kind, o.content) for o in live.options()])
