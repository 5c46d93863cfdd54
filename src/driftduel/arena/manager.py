"""The arenas of one process: loaded from the store on demand, released when idle."""

import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Unpack

from driftduel.arena.access import SCOPES, hash_token, make_token
from driftduel.arena.items import NewItem, in_batches, option_names
from driftduel.arena.live import LiveArena
from driftduel.arena.markdown import is_image
from driftduel.arena.names import check_name, require_distinct
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import wait_durable
from driftduel.arena.settings import ArenaSettings, plain_settings, settings_of
from driftduel.arena.state import ArenaState, check_price
from driftduel.arena.stores import ArenaStore, OptionText, StoreError
from driftduel.arena.writer import Writer
from driftduel.errors import LogError

__all__ = ["KINDS", "ArenaManager", "option_text", "option_texts"]

KINDS = ("text", "markdown", "image")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LONGEST_NAME, _LONGEST_CONTENT = 200, 20_000
_IDLE = 30.0
#: A damaged log is not read again before this many seconds have passed: it may be long.
_DAMAGED_SECONDS = 60.0
_ANY = "*"


class ArenaManager:
    """The arenas of one store that this process has loaded. Thread-safe.

    Parameters
    ----------
    store
        The store.
    clock
        Function that returns the time in seconds since 1970.
    most_live
        Maximum number of arenas in memory, not counting those used in the last 30 seconds.
    """

    def __init__(
        self, store: ArenaStore, clock: Callable[[], float] = time.time, most_live: int = 1000
    ) -> None:
        self.store, self._clock, self._most = store, clock, most_live
        self.writer = Writer(store)
        self._live: dict[str, LiveArena] = {}
        self._lock = threading.Lock()  # guards the dicts below; never held while a log is read
        self.stopping = False
        """Whether this process releases its arenas and opens no more."""
        self._opening: dict[str, threading.Lock] = {}
        self._damaged: dict[str, tuple[float, LogError]] = {}

    def create(
        self,
        name: str,
        options: Iterable[str | Mapping[str, Any]] | None,
        *,
        items: bool | Collection[NewItem] | None = None,
        prices: Mapping[str, Any] | None = None,
        **settings: Unpack[ArenaSettings],
    ) -> str:
        """Create an arena; return its owner's token.

        Parameters
        ----------
        name
            Lower-case letters, digits, hyphens and underscores.
        options
            Names, or mappings with `name`, `kind` and `content`; None: those with an answer.
        items
            Checked items to compare the options on; True: they are added later; None or False: the
            arena has none.
        prices
            Prices of options by name, in log-odds.
        settings
            Keyword arguments of `driftduel.arena.settings.settings_of`.

        Raises
        ------
        ArenaError
            ``bad-request`` for an invalid argument, ``name-taken`` if the arena exists.
        """
        if not _NAME.fullmatch(name):
            raise ArenaError(
                "bad-request",
                f"the arena's name {name!r:.80} is not valid; use at most 63 lower-case letters, "
                "digits, '-' and '_'.",
            )
        if self.store.exists(name):
            raise ArenaError("name-taken", f"arena {name!r} exists already; choose another name.")
        checked = [] if items is None or isinstance(items, bool) else items
        texts = None if options is None else option_texts(options)
        if checked or texts is None:
            names = option_names(checked, texts, settings.get("balance"))
            texts = option_texts(names) if texts is None else texts
        with_items = items is not None and items is not False
        made = settings_of(len(texts), items=with_items, priced=bool(prices), **settings)
        most = max((len(item.answers) for item in checked), default=made.show)
        if 2 <= most < made.show:  # the policy would learn no vote
            raise ArenaError(
                "bad-request",
                f"show={made.show}: no item has more than {most} answers; pass show={most}.",
            )
        body = {"settings": plain_settings(made), "options": [text.id for text in texts]}
        records = [Record(1, int(1000 * self._clock()), "opened", body)]
        if prices:
            state = ArenaState.from_first_record(records[0])
            priced = state.set_prices(state.at, _prices_of(texts, prices))
            records.append(Record(state.seq, state.at, "priced", priced))
        self.store.create(name, secrets.token_bytes(32), records, texts)
        if checked:
            live = self.arena(name)
            for batch in in_batches(checked):
                wait_durable(live.add_items(batch))
        return self.token(name, "own", "owner")

    def token(self, name: str, scope: str, label: str = "") -> str:
        """Create a token for an arena, or for ``*``, which allows creating arenas.

        Parameters
        ----------
        name
            Name of the arena, or ``*``.
        scope
            One of the values in `SCOPES`.
        label
            A label for lists of tokens; empty by default.
        """
        if scope not in SCOPES:
            raise ArenaError("bad-request", f"scope={scope!r} must be {', '.join(SCOPES)}.")
        if name != _ANY:
            self._require_arena(name)
        token = make_token(scope)
        self.store.put_token(hash_token(token), name, scope, label)
        return token

    def token_grant(self, token: str) -> tuple[str, str] | None:
        """Return the arena and the scope of a token; None if the token is unknown."""
        return self.store.token(hash_token(token))

    def _require_arena(self, name: str) -> None:
        if not self.store.exists(name):
            raise ArenaError("no-such-arena", f"arena {name!r:.80} does not exist.")

    def live(self, name: str) -> LiveArena | None:
        """Return the object of an arena if it is in memory, else None; never block."""
        return self._live.get(name)

    def arena(self, name: str) -> LiveArena:
        """Return the object of an arena, loaded from the store if necessary.

        Replaying a long log takes minutes, so each arena has a separate lock for loading: only
        callers of this method that need the same arena block.
        """
        live = self._live.get(name)
        if live is not None:
            return live
        self._require_arena(name)
        with self._opening_lock(name):
            live = self._live.get(name)
            if live is None:
                live = self._open(name)
            return live

    def _opening_lock(self, name: str) -> threading.Lock:
        with self._lock:
            return self._opening.setdefault(name, threading.Lock())

    def _open(self, name: str) -> LiveArena:
        """Load an arena from the store; call with its opening lock held."""
        self._require_running(name)
        known = self._damaged.get(name)
        if known is not None and 0.0 <= self._clock() - known[0] < _DAMAGED_SECONDS:
            raise LogError(str(known[1]), known[1].place)
        try:
            live = LiveArena(self.store, self.writer, name, self._clock)
        except LogError as error:
            self._damaged[name] = self._clock(), error
            raise
        try:
            with self._lock:
                self._require_running(name)  # `hand_over` may have started during the replay
                self._damaged.pop(name, None)
                self._live[name] = live
        except ArenaError:
            live.suspend()
            raise
        return live

    def _require_running(self, name: str) -> None:
        if self.stopping:
            raise ArenaError(
                "owned-elsewhere", f"this server is shutting down; repeat the request for {name!r}."
            )

    @property
    def damaged(self) -> int:
        """The number of arenas with a damaged log among those that this process has read."""
        return len(self._damaged)

    def tick(self) -> None:
        """Process expired graces and leases in every arena; release idle arenas.

        An error in one arena does not stop the others; the first error is raised at the end.
        """
        self._drop_lost()
        trouble: Exception | None = None
        for live in list(self._live.values()):
            try:
                if live.due():
                    live.tick()
            except Exception as error:
                trouble = trouble or error
        if len(self._live) > self._most:
            self._release_idle()
        if trouble is not None:
            raise trouble

    def _drop_lost(self) -> None:
        """Drop arenas that another process has taken over, or with a damaged log."""
        here = list(self._live.values())
        owned = self.store.owned_arenas()
        with self._lock:
            for live in here:
                if live.damage is not None:
                    self._damaged[live.name] = self._clock(), live.damage
                if (live.damage or live.name not in owned) and self._live.get(live.name) is live:
                    del self._live[live.name]

    def _release_idle(self) -> None:
        now = self._clock()
        oldest = sorted(self._live.values(), key=lambda live: live.used)
        for live in oldest[: len(self._live) - self._most]:
            if now - live.used > _IDLE:
                self._release(live)

    def _release(self, live: LiveArena) -> None:
        """Write a snapshot and release an arena; concurrent callers of `arena` block until then."""
        with self._opening_lock(live.name):
            with self._lock:
                if self._live.get(live.name) is not live:
                    return
                del self._live[live.name]
            live.suspend()

    def hand_over(self) -> None:
        """Stop opening arenas and release the open ones, the most recently used first."""
        with self._lock:
            self.stopping = True
        for live in sorted(self._live.values(), key=lambda live: -live.used):
            with suppress(StoreError):  # ownership ends with the process in any case
                self._release(live)

    def close(self) -> None:
        """Write snapshots, flush the writer, and close the store."""
        self.hand_over()
        self.writer.close()
        self.store.close()


def _prices_of(texts: list[OptionText], prices: Mapping[str, Any]) -> list[float]:
    """Return the price of each option; 0 for those that are not named."""
    places = {text.name: place for place, text in enumerate(texts)}
    found = [0.0] * len(texts)
    for name, price in prices.items():
        if name not in places:
            raise ArenaError(
                "no-such-option",
                f"option {name!r:.80} of a price does not exist; the options are "
                f"{', '.join(places)[:200]}.",
            )
        found[places[name]] = check_price(price)
    return found


def option_texts(options: Iterable[str | Mapping[str, Any]], first: int = 1) -> list[OptionText]:
    """Validate options, and assign ids; the argument `first` is the number of the first id."""
    texts = []
    for number, option in enumerate(options, start=first):
        given = option if isinstance(option, Mapping) else {"name": option}
        unknown = next((key for key in given if key not in ("name", "kind", "content")), None)
        if unknown is not None:
            raise ArenaError(
                "bad-request",
                f"unknown key {unknown!r:.40} of an option; use name, kind and content.",
            )
        texts.append(option_text(f"o{number}", **given))
    require_distinct([text.name for text in texts])
    return texts


def option_text(
    option_id: str, name: Any = "", kind: Any = "text", content: Any = ""
) -> OptionText:
    """Validate the fields of one option.

    Raises
    ------
    ArenaError
        ``bad-request``, if a field is too long, of a wrong type or not allowed.
    """
    for key, value, longest in (
        ("name", name, _LONGEST_NAME),
        ("content", content, _LONGEST_CONTENT),
    ):
        if not isinstance(value, str) or len(value) > longest:
            raise ArenaError(
                "bad-request",
                f"the {key} of an option must be a string of at most {longest} characters.",
            )
    check_name(name)
    if kind not in KINDS:
        raise ArenaError("bad-request", f"kind={kind!r:.40} must be {', '.join(KINDS)}.")
    if kind == "image" and not is_image(content):
        raise ArenaError(
            "bad-request",
            f"content={content!r:.60} is not the address of an image; pass a URL that begins with "
            "https://, or a base64 data URL of type png, jpeg, webp or gif.",
        )
    return OptionText(option_id, name, kind, content)
