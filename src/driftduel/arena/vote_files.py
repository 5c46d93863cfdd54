"""Votes in files with prompts, tags and reasons: exports of an arena, and public arena logs.

A public log has the columns `model_a`, `model_b` and `winner` (``model_a``, ``model_b``, ``tie``,
``tie (bothbad)``), or one column ``winner_*`` for each of these; the texts are in `conversation_a`
and `conversation_b` (lists of messages), or in `prompt`, `response_a` and `response_b`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from driftduel.arena.items import NewItem, check_items
from driftduel.arena.problems import ArenaError
from driftduel.arena.slate_votes import MOST_SHOW, RANKED
from driftduel.arena.tags import LONGEST_REASON, LONGEST_TAG, MOST_TAGS, check_reason
from driftduel.errors import DriftduelError

__all__ = ["FileVote", "new_items", "option_names_of", "read_votes"]

_PUBLIC = {"model_a", "model_b"}
_OWN = {"first", "second", "pick"}
_WINNERS = {
    "model_a": "left", "model_b": "right", "tie": "tie", "tie (bothbad)": "both-bad",
    "both_bad": "both-bad", "bothbad": "both-bad", "tie(bothbad)": "both-bad",
    "a": "left", "b": "right",
}  # fmt: skip
_ONE_HOT = {
    "winner_model_a": "left", "winner_model_b": "right", "winner_tie": "tie",
    "winner_tie (bothbad)": "both-bad", "winner_bothbad": "both-bad",
}  # fmt: skip
_VOTERS = ("judge", "voter", "user", "evaluation_session_id")
_TIMES = ("tstamp", "timestamp", "time")
_IDS = ("question_id", "item", "id", "conversation_id")
_TAG_COLUMNS = ("language", "category", "turn", "topic", "lang")
_MOST_TEXT = 100_000
_MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip


class FileVote(msgspec.Struct, frozen=True, kw_only=True):
    """A vote that was read from a file."""

    first: str
    second: str
    pick: str
    weight: float = 1.0
    time: int | None = None
    """Milliseconds since 1970."""
    voter: str | None = None
    item: str | None = None
    prompt: str = ""
    answers: tuple[str, str] | None = None
    """Answers of the first and of the second option."""
    tags: dict[str, str] = {}
    reason: str = ""
    request: dict[str, Any] = {}
    """The features of the request; numbers may be text."""
    shown: tuple[str, ...] = ()
    """The options of a slate; `first` and `second` are empty."""
    ranking: tuple[str, ...] = ()
    """The options of a slate that were picked or ranked, the best first."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options that were compared."""
        return self.shown or (self.first, self.second)

    @property
    def item_key(self) -> str:
        """The id of its item: that of the file, or a hash of the prompt; empty without both."""
        if self.item:
            return self.item
        if self.answers is None:
            return ""
        return "q-" + blake2b(self.prompt.encode(), digest_size=8).hexdigest()

    def known_fields(
        self, pseudonym: Callable[[str], str], number: int, request: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the fields that the log keeps; contents are in the item with this number."""
        fields = {
            "pick": self.pick,
            "time": self.time,
            "voter": None if self.voter is None else pseudonym(self.voter),
            "item": number,
            "item_id": None if number else self.item,
            "tags": self.tags,
            "reason": self.reason,
            "request": request,
        }
        return {key: value for key, value in fields.items() if value}


def option_names_of(votes: Iterable[FileVote]) -> list[str]:
    """Return the names of the options, in the order in which they occur."""
    return list(dict.fromkeys(name for vote in votes for name in vote.options))


def new_items(votes: Iterable[FileVote]) -> Iterator[NewItem]:
    """Yield the items of votes with texts; the first answer of an option to an item is kept."""
    items: dict[str, dict[str, Any]] = {}
    for vote in votes:
        if vote.answers is None:
            continue
        item = items.setdefault(
            vote.item_key,
            {"id": vote.item_key, "prompt": vote.prompt, "answers": {}, "tags": vote.tags},
        )
        for name, answer in zip((vote.first, vote.second), vote.answers, strict=True):
            item["answers"].setdefault(name, answer)
    yield from check_items(items.values())


def read_votes(path: str | Path) -> list[FileVote] | None:
    """Return the votes of an export of an arena or of a public log, with all fields.

    The value is None for a file of another format, which `driftduel.logs.read_log` may read.

    Raises
    ------
    DriftduelError
        With the number of the row, for the first vote that is not valid.
    """
    rows = _rows(Path(path))
    if rows is None:
        return None
    votes = []
    for number, row in enumerate(rows, 1):
        try:
            vote = _own_vote(row) if row.keys() >= _OWN else _public_vote(row)
        except DriftduelError as error:
            raise ArenaError("bad-request", f"{str(path)!r}, row {number}: {error}") from None
        except _MALFORMED as error:
            raise ArenaError(
                "bad-request",
                f"{str(path)!r}, row {number}: a field is missing or malformed ({error!r:.80}).",
            ) from None
        if vote is not None:
            votes.append(vote)
    return votes


def _rows(path: Path) -> Iterable[dict[str, Any]] | None:
    """Return the rows of a file as dicts; None if its columns are not known here."""
    name = path.name.lower()
    try:
        if name.endswith((".jsonl", ".ndjson")):
            return _known(_json_lines(path))
        if name.endswith(".json"):
            value = msgspec.json.decode(path.read_bytes())
            return _known(iter(value)) if isinstance(value, list) else None
        if name.endswith(".parquet"):
            return _known(pl.scan_parquet(path).collect().iter_rows(named=True))
        if name.endswith(".csv"):
            frame = pl.read_csv(path, infer_schema=False)  # all columns are text
            return _known(frame.iter_rows(named=True))
    except OSError as error:
        raise DriftduelError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    except (pl.exceptions.PolarsError, msgspec.DecodeError, UnicodeDecodeError) as error:
        line = str(error).partition("\n")[0]
        raise DriftduelError(f"{str(path)!r} cannot be read: {line:.200}.") from None
    return None


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                raise DriftduelError(f"{str(path)!r}, line {number} is not JSON.") from None


def _known(rows: Iterator[Any]) -> Iterable[dict[str, Any]] | None:
    first = next(rows, None)
    if not isinstance(first, dict):
        return None
    public = first.keys() >= _PUBLIC and ("winner" in first or first.keys() & _ONE_HOT.keys())
    if not (public or first.keys() >= _OWN):
        return None
    return _chained(first, rows)


def _chained(first: dict[str, Any], rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    yield first
    for row in rows:
        if not isinstance(row, dict):
            raise DriftduelError("a line is not a JSON object.")
        yield row


def _own_vote(row: Mapping[str, Any]) -> FileVote | None:
    """Return a vote of an export."""
    tags = row.get("tags") or {}
    start = "tags."
    tags |= {k.removeprefix(start): v for k, v in row.items() if k.startswith(start) and v}
    voter, shown, pick = row.get("voter"), _names(row.get("shown")), str(row["pick"])
    if shown and not (row["first"] and row["second"]):
        vote = _slate_vote(row, shown, pick, voter=voter, tags=tags)
    else:
        vote = _vote(row, row["first"], row["second"], pick, voter=voter, tags=tags)
    nested = row.get("request")
    request = dict(nested) if isinstance(nested, Mapping) else {}
    start = "request."
    request |= {
        k.removeprefix(start): v
        for k, v in row.items()
        if k.startswith(start) and v not in (None, "")
    }
    return None if vote is None else msgspec.structs.replace(vote, request=request)


def _slate_vote(
    row: Mapping[str, Any],
    shown: tuple[str, ...],
    pick: str,
    *,
    voter: Any,
    tags: Mapping[str, Any],
) -> FileVote | None:
    """Return a vote on a slate."""
    ranking = _names(row.get("ranking"))
    if pick == RANKED and not ranking:
        ranking = (str(row["winner"]),)
    if not 2 <= len(shown) <= MOST_SHOW or len(set(shown)) < len(shown):
        raise DriftduelError(f"shown={list(shown)!r:.80} must be 2 to {MOST_SHOW} different names.")
    if bool(ranking) != (pick == RANKED) or len(set(ranking)) < len(ranking):
        raise DriftduelError(f"ranking={list(ranking)!r:.80} does not fit pick={pick!r:.40}.")
    unknown = next((name for name in ranking if name not in shown), None)
    if unknown is not None:
        raise DriftduelError(f"the option {unknown!r:.40} of the ranking was not shown.")
    # The other fields are those of a duel.
    like = _vote(row, shown[0], shown[1], "tie" if pick == RANKED else pick, voter=voter, tags=tags)
    if like is None:
        return None
    return msgspec.structs.replace(
        like, first="", second="", pick=pick, shown=shown, ranking=ranking
    )


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of a list, which may be JSON; empty without one."""
    if isinstance(value, str) and value:
        value = json.loads(value)
    if not isinstance(value, list | tuple | type(None)):
        raise DriftduelError(f"the list {value!r:.40} must be a JSON array of names.")
    return tuple(str(each) for each in value or ())


def _public_vote(row: Mapping[str, Any]) -> FileVote | None:
    """Return a vote of a public log; None if it has no winner."""
    winner = row.get("winner")
    if winner is None:
        winner = next((key for key in _ONE_HOT if _is_true(row.get(key))), None)
        pick = None if winner is None else _ONE_HOT[winner]
    else:
        pick = _WINNERS.get(str(winner).strip().lower())
        if pick is None and winner in (row["model_a"], row["model_b"]):
            pick = "left" if winner == row["model_a"] else "right"
        if pick is None:
            raise DriftduelError(
                f"winner={winner!r:.40} must be model_a, model_b, tie or tie (bothbad)."
            )
    if pick is None:
        return None
    tags = {key: row[key] for key in _TAG_COLUMNS if row.get(key) not in (None, "")}
    nested = row.get("tags")
    tags |= nested if isinstance(nested, Mapping) else {}
    voter = next((row[key] for key in _VOTERS if row.get(key) not in (None, "")), None)
    return _vote(row, row["model_a"], row["model_b"], pick, voter=voter, tags=tags)


def _vote(
    row: Mapping[str, Any],
    first: Any,
    second: Any,
    pick: str,
    *,
    voter: Any,
    tags: Mapping[str, Any],
) -> FileVote | None:
    if pick == "skip":
        return None
    if pick not in ("left", "right", "tie", "both-bad"):
        raise DriftduelError(f"pick={pick!r:.40} must be left, right, tie or both-bad.")
    if not (first and second) or first == second:
        raise DriftduelError(f"the options {first!r:.40} and {second!r:.40} must be two names.")
    item = next((row[key] for key in _IDS if row.get(key) not in (None, "")), None)
    prompt, answers = _texts(row)
    reason = row.get("reason") or ""
    return FileVote(
        first=str(first), second=str(second), pick=pick,
        time=_time(next((row[key] for key in _TIMES if row.get(key) is not None), None)),
        voter=None if voter in (None, "") else str(voter),
        item=None if item is None else str(item)[:200],
        prompt=prompt, answers=answers, tags=_short_tags(tags),
        reason=check_reason(str(reason)[:LONGEST_REASON]),
    )  # fmt: skip


def _texts(row: Mapping[str, Any]) -> tuple[str, tuple[str, str] | None]:
    """Return the prompt of a row, and its two answers, if it has texts."""
    if row.get("conversation_a") is not None and row.get("conversation_b") is not None:
        one, other = (_messages(row[key]) for key in ("conversation_a", "conversation_b"))
        if one and other:
            prompt = "\n\n".join(text for role, text in one if role == "user")
            answers = tuple(
                "\n\n".join(text for role, text in each if role != "user") for each in (one, other)
            )
            return prompt[:_MOST_TEXT], (answers[0][:_MOST_TEXT], answers[1][:_MOST_TEXT])
    if row.get("response_a") is not None and row.get("response_b") is not None:
        return _text(row.get("prompt")), (_text(row["response_a"]), _text(row["response_b"]))
    return _text(row.get("prompt")), None


def _messages(value: Any) -> list[tuple[str, str]]:
    """Return role and text of each message of a conversation, which may be encoded as JSON."""
    if isinstance(value, str):
        value = json.loads(value)
    found = []
    for message in value:
        role, content = str(message.get("role", "")), message.get("content", "")
        if isinstance(content, list):  # parts of a message, of which the texts are kept
            content = " ".join(str(part.get("text") or "") for part in content)
        found.append((role, str(content or "")))
    return found


def _text(value: Any) -> str:
    """Return a text, or the joined texts of a list, which may be encoded as JSON."""
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, list):
        value = "\n\n".join(str(each) for each in value if each is not None)
    return "" if value is None else str(value)[:_MOST_TEXT]


def _short_tags(tags: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags with a short plain value, at most as many as a vote may have."""
    kept = {}
    for key, value in tags.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        plain = not isinstance(value, Mapping) and value is not None
        short = 0 < len(text) <= LONGEST_TAG and 0 < len(str(key)) <= LONGEST_TAG
        if plain and short and text.isprintable() and str(key).isprintable():
            kept[str(key)] = text
    return {key: kept[key] for key in sorted(kept)[:MOST_TAGS]}


def _time(value: Any) -> int | None:
    """Return a time in milliseconds since 1970, from seconds, a text or a datetime."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return round(1000 * value.timestamp())
    try:
        return round(1000 * float(value))
    except ValueError:
        return round(1000 * datetime.fromisoformat(str(value)).timestamp())


def _is_true(value: Any) -> bool:
    return str(value).lower() in ("true", "1", "1.0")
