"""The contents of an arena's items: read from the store when they are shown, and cached."""

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import msgspec

from driftduel.arena.items import FILE_PREFIX, ItemContent, StoredContent
from driftduel.arena.markdown import to_html
from driftduel.arena.responses import Content
from driftduel.arena.stores import ArenaStore, ItemRow

__all__ = ["AHEAD", "ItemTexts", "decode_item", "encode_item", "files_url", "render"]

_CACHE_BYTES = 64 << 20
#: Maximum number of items that are read together.
AHEAD = 16
_AHEAD_BYTES = 256 << 10
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(ItemContent)
_EMPTY = StoredContent("text", "")
# A line without any markup, which needs no parser: it takes less than a tenth of the time.
_PLAIN = re.compile(
    r"(?!\d{1,9}[.)])[A-Za-z0-9À-ÖØ-öø-ÿ]"
    r"(?:[A-Za-z0-9À-ÖØ-öø-ÿ ,.;:?!'()/%-]*[A-Za-z0-9,.;:?!)])?"
)


def encode_item(content: ItemContent) -> str:
    """Return the contents of an item as the store keeps them."""
    return _encoder.encode(content).decode()


def decode_item(row: ItemRow | None) -> ItemContent:
    """Return the contents of a stored item; a missing or erased one is empty."""
    return ItemContent() if row is None or not row.content else _decoder.decode(row.content)


def render(text: str, files: str) -> str:
    """Return Markdown as HTML, like `to_html`, and fast for a line without markup.

    Examples
    --------
    >>> render("Plain, and short.", "") == to_html("Plain, and short.")
    True
    """
    line = text.rstrip()
    return f"<p>{line}</p>" if _PLAIN.fullmatch(line) else to_html(text, files=files)


def files_url(arena: str) -> str:
    """Return the prefix of the URLs of an arena's uploaded files."""
    return f"/v1/arenas/{arena}/files/"


class _Cached(msgspec.Struct, gc=False):  # thousands would prolong each garbage collection
    """An item in the cache; a content is decoded and rendered when it is first shown."""

    row: ItemRow | None
    size: int
    decoded: ItemContent | None = None
    rendered: dict[str, Content] = {}
    """Contents by the id of the option; "" is the prompt."""

    @staticmethod
    def of(row: ItemRow | None) -> "_Cached":
        # Rendered Markdown is longer than its source; the factor is a rough average.
        return _Cached(row, 1000 + 3 * (0 if row is None else len(row.content)))

    @property
    def item(self) -> ItemContent:
        item = self.decoded
        if item is None:  # two threads may decode it at the same time
            item = self.decoded = decode_item(self.row)
        return item


class ItemTexts:
    """A cache of contents with a limit in bytes; thread-safe.

    A read of the store costs more for the wait for the interpreter than for the data. Items that
    are probably shown soon (`read_ahead`) are therefore read together with the next missing one.

    Parameters
    ----------
    store, arena
        The store, and the name of the arena.
    most_bytes
        Maximum size of the cached texts, in characters.
    """

    def __init__(self, store: ArenaStore, arena: str, most_bytes: int = _CACHE_BYTES) -> None:
        self._store, self._arena, self._most = store, arena, most_bytes
        self._files = files_url(arena)
        self._cache: OrderedDict[int, _Cached] = OrderedDict()
        self._size = self._dropped = 0
        self._ahead: Sequence[int] = ()
        self._lock = threading.Lock()  # not held while the store is read

    def shown(self, number: int, *options: str) -> tuple[Content | None, list[Content]]:
        """Return the prompt of an item, or None, and the answers of options, given by their ids."""
        cached = self._get(number)
        prompt, answers = cached.item.prompt, cached.item.answers
        return (
            self._render(cached, "", prompt) if prompt else None,
            [self._render(cached, each, answers.get(each, _EMPTY)) for each in options],
        )

    def item(self, number: int) -> ItemContent:
        """Return the stored contents of an item."""
        return self._get(number).item

    def answers(self, number: int) -> Mapping[str, Content]:
        """Return all answers to an item, by option id."""
        options = list(self._get(number).item.answers)
        return dict(zip(options, self.shown(number, *options)[1], strict=True))

    def drop(self, number: int) -> None:
        """Remove an item with changed contents from the cache."""
        with self._lock:
            self._dropped += 1
            cached = self._cache.pop(number, None)
            self._size -= cached.size if cached else 0

    def __contains__(self, number: int) -> bool:
        """Return whether the contents of an item are in memory."""
        return number in self._cache

    def read_ahead(self, numbers: Sequence[int]) -> None:
        """Set the items that are read with the next one that is not in memory."""
        self._ahead = numbers

    def _get(self, number: int) -> _Cached:
        with self._lock:
            cached = self._cache.get(number)
            if cached is not None:
                self._cache.move_to_end(number)
                return cached
            wanted = [number, *self._others(number)]
            dropped = self._dropped
        if len(wanted) == 1:
            row = self._store.item(self._arena, number)
            rows = {} if row is None else {number: row}
        else:
            rows = {row.number: row for row in self._store.items_at(self._arena, wanted)}
        cached = _Cached.of(rows.pop(number, None))
        with self._lock:
            # Race: contents that were read before a change must not enter the cache after it.
            if dropped == self._dropped:
                for other, row in rows.items():
                    self._put(other, _Cached.of(row))
                self._put(number, cached)
            while self._size > self._most and len(self._cache) > 1:
                self._size -= self._cache.popitem(last=False)[1].size
        return cached

    def _others(self, number: int) -> list[int]:
        """Return the items to read with this one: none before the size of an item is known."""
        ahead, self._ahead = self._ahead, ()
        if not self._cache:
            return []
        most = min(AHEAD, _AHEAD_BYTES * len(self._cache) // self._size) - 1
        others = [each for each in ahead if each != number and each not in self._cache]
        return others[: max(0, most)]

    def _put(self, number: int, cached: _Cached) -> None:
        if number not in self._cache:
            self._cache[number] = cached
            self._size += cached.size

    def _render(self, cached: _Cached, key: str, stored: StoredContent) -> Content:
        known = cached.rendered.get(key)
        if known is None:
            known = cached.rendered[key] = self._content(stored)
        return known

    def _content(self, stored: StoredContent) -> Content:
        kind, content = stored.kind, stored.content
        if kind == "markdown":
            return Content(kind, content, render(content, self._files))
        if kind in ("image", "audio") and content.startswith(FILE_PREFIX):
            return Content(kind, self._files + content.removeprefix(FILE_PREFIX))
        return Content(kind, content)
