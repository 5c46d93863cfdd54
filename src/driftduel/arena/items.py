"""Items as their owner writes them: a prompt, an answer per option, and tags. Validation, files.

An item in JSON, one per line of a file::

    {"id": "p17", "prompt": "Why is the sky blue?", "tags": {"lang": "en"},
     "answers": {"model-a": "Because of ...", "model-b": {"image": "https://example.org/b.png"}}}
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from driftduel.arena.item_pool import MOST_GROUPS
from driftduel.arena.markdown import is_image
from driftduel.arena.names import check_name, find_named, name_key
from driftduel.arena.problems import ArenaError
from driftduel.arena.settings import MOST_OPTIONS
from driftduel.arena.stores import OptionText, require_storable
from driftduel.arena.tags import check_tag_text
from driftduel.errors import DriftduelError

__all__ = [
    "BATCH",
    "CONTENT_KINDS",
    "FILE_PREFIX",
    "LONGEST_CONTENT",
    "LONGEST_ID",
    "MOST_ITEM_TAGS",
    "MOST_TAG_VALUES",
    "ItemContent",
    "ItemTags",
    "NewItem",
    "StoredContent",
    "check_items",
    "group_value",
    "in_batches",
    "option_names",
    "plain_items",
    "read_items",
]

#: Number of items that are added in one transaction.
BATCH = 1000
CONTENT_KINDS = ("text", "markdown", "image", "audio")
FILE_PREFIX = "file:"
LONGEST_ID, LONGEST_CONTENT = 200, 100_000
MOST_ITEM_TAGS, MOST_TAG_VALUES = 32, 32
_LONGEST_LINE = 16 << 20
_KEYS = ("id", "prompt", "answers", "tags")
_FILE = re.compile(r"file:[0-9a-f]{32}")
_AUDIO = re.compile(r"https://[^\s/]\S*", re.IGNORECASE)

ItemTags = dict[str, str | list[str]]


class StoredContent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A prompt or an answer: its kind, and a text, an URL or the reference of an uploaded file."""

    kind: str
    content: str


class ItemContent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The contents of an item as they are stored, with answers by option id."""

    answers: dict[str, StoredContent] = {}
    prompt: StoredContent | None = None
    tags: ItemTags = {}


class NewItem(NamedTuple):
    """An item as its owner wrote it, checked; answers are by the name or the id of an option."""

    id: str
    prompt: StoredContent | None
    answers: dict[str, StoredContent]
    tags: ItemTags


def check_items(given: Iterable[Any], place: str = "item") -> Iterator[NewItem]:
    """Check items one by one, and yield them.

    Parameters
    ----------
    given
        Mappings with the keys `id`, `answers`, and optionally `prompt` and `tags`.
    place
        Word before the number of an item in messages: ``item``, or ``line`` of a file.

    Raises
    ------
    ArenaError
        ``bad-request``, for the first item that is not valid, or that repeats an id.
    """
    seen: dict[str, int] = {}
    for number, each in enumerate(given, 1):
        try:
            item = _check_item(each)
        except DriftduelError as error:
            raise ArenaError("bad-request", f"{place} {number}: {error}") from None
        if item.id in seen:
            raise ArenaError(
                "bad-request",
                f"{place} {number}: the id {item.id!r:.80} occurs in {place} {seen[item.id]}, too; "
                "ids must be unique.",
            )
        seen[item.id] = number
        yield item


def _check_item(given: Any) -> NewItem:
    if not isinstance(given, Mapping):
        raise _wrong("it must be an object with id, answers, and optionally prompt and tags.")
    unknown = next((key for key in given if key not in _KEYS), None)
    if unknown is not None:
        raise _wrong(f"unknown key {unknown!r:.40}; use {', '.join(_KEYS)}.")
    for key in ("id", "answers"):
        if key not in given:
            raise _wrong(f"the key {key!r} is missing.")
    item_id, answers = given["id"], given["answers"]
    if not isinstance(item_id, str) or not 0 < len(item_id) <= LONGEST_ID:
        raise _wrong(f"id={item_id!r:.40} must be a string of 1 to {LONGEST_ID} characters.")
    if not item_id.isprintable():
        raise _wrong(f"id={item_id!a:.80} has a character that cannot be shown; remove it.")
    if not isinstance(answers, Mapping) or not 1 <= len(answers) <= MOST_OPTIONS:
        raise _wrong(f"answers must be an object with 1 to {MOST_OPTIONS} names of options.")
    for name in answers:
        if not isinstance(name, str) or len(name) > LONGEST_ID:
            raise _wrong(f"the option {name!r:.40} of an answer must be a name.")
        check_name(name)
    if len({name_key(name) for name in answers}) < len(answers):
        raise _wrong("two answers have names of options that look the same; rename one.")
    prompt = given.get("prompt")
    return NewItem(
        item_id,
        None if prompt is None else _check_content(prompt, "the prompt"),
        {
            name: _check_content(each, f"the answer of {name!r:.40}")
            for name, each in answers.items()
        },
        _check_tags({} if given.get("tags") is None else given["tags"]),
    )


def _check_content(given: Any, what: str) -> StoredContent:
    """Return a content from a string (Markdown), ``{"image": URL}`` or ``{"kind", "content"}``."""
    kind, content = "markdown", given
    if isinstance(given, Mapping):
        if set(given) == {"kind", "content"}:
            kind, content = given["kind"], given["content"]
        elif len(given) == 1:
            ((kind, content),) = given.items()
        else:
            raise _wrong(f"{what} must be a string, or an object with kind and content.")
    if kind not in CONTENT_KINDS:
        raise _wrong(f"{what} has the kind {kind!r:.40}; use {', '.join(CONTENT_KINDS)}.")
    if not isinstance(content, str) or len(content) > LONGEST_CONTENT:
        raise _wrong(f"{what} must be a string of at most {LONGEST_CONTENT:,} characters.")
    require_storable(content)
    valid = is_image(content) if kind == "image" else _AUDIO.fullmatch(content) is not None
    if kind in ("image", "audio") and not valid and not _FILE.fullmatch(content):
        raise _wrong(
            f"{what} is {content!r:.60}, which is not the address of an {kind}; use https://..., "
            "or the reference of an uploaded file."
        )
    return StoredContent(kind, content)


def _check_tags(given: Any) -> ItemTags:
    """Return the tags of an item: strings, or lists of strings."""
    if not isinstance(given, Mapping) or len(given) > MOST_ITEM_TAGS:
        raise _wrong(f"tags must be an object with at most {MOST_ITEM_TAGS} keys.")
    tags: ItemTags = {}
    for key, value in given.items():
        check_tag_text(key, "key of a tag")
        values = value if isinstance(value, list) else [value]
        if len(values) > MOST_TAG_VALUES:
            raise _wrong(f"the tag {key!r} has more than {MOST_TAG_VALUES} values.")
        for each in values:
            check_tag_text(each, f"value of tag {key!r:.40}")
        tags[key] = list(dict.fromkeys(values)) if isinstance(value, list) else value
    return {key: tags[key] for key in sorted(tags)}


def _wrong(message: str) -> ArenaError:
    return ArenaError("bad-request", message)


def group_value(tags: ItemTags, balance: str | None) -> str:
    """Return the value of the balance tag of an item; several values are one combination.

    Examples
    --------
    >>> group_value({"lang": "de", "topic": ["b", "a"]}, "topic")
    'a, b'
    """
    value = tags.get(balance, "") if balance else ""
    return value if isinstance(value, str) else ", ".join(sorted(value))


def option_names(
    items: Iterable[NewItem],
    options: Sequence[OptionText] | None = None,
    balance: str | None = None,
) -> list[str]:
    """Check the items of a new arena; return the names of the options with an answer, in order.

    Parameters
    ----------
    items
        All items that are added with the arena.
    options
        The options of the arena; None: those with an answer.
    balance
        The balance tag of the arena.

    Raises
    ------
    ArenaError
        ``bad-request``, for an answer of another option, for too many options or values of the
        balance tag, and if no item has this tag.
    """
    names: dict[str, str] = {}
    groups: set[str] = set()
    count, tags = 0, dict[str, None]()
    for item in items:
        for name in item.answers:
            if name_key(name) not in names:
                if options is not None and find_named(options, name) is None:
                    raise _wrong(
                        f"item {item.id!r:.80} has an answer of {name!r:.40}, which is no option; "
                        "add the option, or omit the options: then they are those with an answer."
                    )
                names[name_key(name)] = name
        if len(names) > MOST_OPTIONS:
            raise _wrong(f"the items have answers of more than {MOST_OPTIONS} options.")
        count += 1
        if balance is not None:
            tags |= dict.fromkeys(item.tags)
            groups.add(group_value(item.tags, balance))
            if len(groups) > MOST_GROUPS:
                raise _wrong(
                    f"the balance tag {balance!r:.40} has more than {MOST_GROUPS} values; use a "
                    "tag with fewer."
                )
    if count and balance is not None and balance not in tags:
        known = ", ".join(list(tags)[:8]) or "none"
        raise _wrong(f"no item has the balance tag {balance!r:.40}; the tags are: {known}.")
    return list(names.values())


def in_batches(items: Iterable[NewItem]) -> Iterator[list[NewItem]]:
    """Yield lists of at most `BATCH` items."""
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        yield batch


def plain_items(items: Iterable[NewItem]) -> Iterator[dict[str, Any]]:
    """Yield checked items as the plain values that `check_items` and a server accept."""
    for item in items:
        answers = {name: _plain(content) for name, content in item.answers.items()}
        plain: dict[str, Any] = {"id": item.id, "answers": answers, "tags": item.tags}
        if item.prompt is not None:
            plain["prompt"] = _plain(item.prompt)
        yield plain


def _plain(content: StoredContent) -> dict[str, str]:
    return {"kind": content.kind, "content": content.content}


def read_items(path: str | Path) -> Iterator[NewItem]:
    """Yield the items of a file of JSON lines, checked; memory does not grow with contents.

    Raises
    ------
    DriftduelError
        With the number of the line, for the first line that is not an item.
    """
    yield from check_items(_decoded(Path(path)), f"{str(path)!r}, line")


def _decoded(path: Path) -> Iterator[Any]:
    """Yield the value of each line; empty lines are not allowed, so that line numbers are right."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise _wrong(f"{str(path)!r}, line {number} is longer than 16 MiB.")
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if not text.strip():
                    raise _wrong(f"{str(path)!r}, line {number} is empty; remove it.")
                try:
                    value = msgspec.json.decode(text)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    raise _wrong(
                        f"{str(path)!r}, line {number} is not JSON: {error!s:.100}."
                    ) from None
                yield value
    except OSError as error:
        raise DriftduelError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
