"""A client for an arena on another machine: the methods of `Arena`, over HTTP."""

import http.client
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec

from driftduel.arena.board import Board
from driftduel.arena.items import BATCH
from driftduel.arena.names import find_named
from driftduel.arena.page_settings import PageSettings
from driftduel.arena.problems import PROBLEMS, ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import Item, ItemsChanged, Option, ShownDuel, Vote
from driftduel.arena.tag_report import ItemShare, TagCounts
from driftduel.errors import DriftduelError
from driftduel.logs import Subgroups

__all__ = ["ArenaClient"]

Answer = TypeVar("Answer")
_TRIES = 4
_MOST_WAITS, _LONGEST_WAIT = 3, 30.0
_WAIT = (429, 503)
_LOST = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError, OSError)
_LONGEST_ANSWER = 64 << 20
_BODY_BYTES = 7 << 20  # a server accepts 8 MiB of items


class ArenaClient:
    """A client of an arena server.

    Idempotent calls are repeated if the connection is lost. If the server answers 429 or 503 with
    ``Retry-After``, the client waits that long, at most 30 s, and tries again, at most three times.
    A client can be shared by threads; each thread has a separate persistent connection.

    Parameters
    ----------
    url
        Address of the server, such as ``http://127.0.0.1:8000``; or the link of a vote page or a
        board, which contains arena and token.
    token
        A token from the server or from ``driftduel arena token``.
    arena
        Name of the arena; None: the arena in the link, or the one of the token.
    timeout
        Timeout of a request in seconds.
    sleep
        Function that waits for a number of seconds before a call is repeated.

    Examples
    --------
    >>> arena = ArenaClient("http://127.0.0.1:8000", "dd-own-...")  # doctest: +SKIP
    >>> shown = arena.ask("ann")  # doctest: +SKIP
    >>> arena.vote(shown.duel, "left").seq  # doctest: +SKIP
    17
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        arena: str | None = None,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise DriftduelError(
                f"url={url[:80]!r} is not a valid URL; pass http://HOST:PORT."
            ) from None
        if parts.scheme not in ("http", "https") or not self._host:
            raise DriftduelError(f"url={url[:80]!r} must begin with http:// or https://.")
        self._secure, self._timeout, self._sleep = parts.scheme == "https", timeout, sleep
        root, named = _split_path(parts.path)
        self._root = root
        self._token = token or parse_qs(parts.fragment).get("token", [""])[0]
        if not self._token.isascii() or not self._token.isprintable():
            raise DriftduelError(
                "the token has characters outside printable ASCII; copy it again from its source."
            )
        self._name = arena or named
        self._threads = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._closed = False

    @property
    def name(self) -> str:
        """Name of the arena."""
        if self._name is None:
            self._name = str(self._call("GET", "/v1/token", answer=dict[str, str])["arena"])
        return self._name

    def ask(
        self,
        voter: str | None = None,
        *,
        resume: bool = False,
        tags: Mapping[str, str] | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> ShownDuel:
        """Choose the next duel; `resume` returns the voter's open duel, if there is one.

        The tags (at most 8, of at most 64 characters) become tags of the vote. An arena with
        features needs the request, a dict with a value of each feature; a duel is resumed for an
        equal request only.

        Raises
        ------
        ArenaError
            ``nothing-left``, if the voter reached the cap on every pair that is to be compared.
        """
        body: dict[str, Any] = {"resume": resume} | ({} if voter is None else {"voter": voter})
        if tags:
            body["tags"] = dict(tags)
        if request is not None:
            body["request"] = dict(request)
        return self._call("POST", self._at("duels"), body, answer=ShownDuel)

    def renew(self, duel: str) -> float:
        """Renew the lease of a duel; return its end in seconds since 1970, 0 if it is not open."""
        body = {"duels": [duel]}
        return self._call("POST", self._at("leases"), body, answer=dict[str, list[float]])[
            "expires"
        ][0]

    def release(self, duel: str) -> None:
        """Release a duel without an answer, so that later votes do not wait for it."""
        body = {"duels": [duel], "release": True}
        self._call("POST", self._at("leases"), body, answer=dict[str, list[float]])

    def vote(
        self,
        duel: str,
        pick: str | int | None = None,
        *,
        ranking: Sequence[str | int] | None = None,
        tags: Mapping[str, str] | None = None,
        reason: str = "",
    ) -> Vote:
        """Record an answer: left, right, tie, both-bad or skip.

        Of a slate, `pick` is the number of a card (the first of ``shown.options`` has number 1) or
        its letter, or `ranking` has the cards from the best one on; cards may be left out.
        Repeating the same answer is idempotent. Tags (as in `ask`) and a reason of at most 1,000
        characters are kept in the log, and exported with the vote.
        """
        body: dict[str, Any] = {} if pick is None else {"pick": pick}
        if ranking is not None:
            body["ranking"] = list(ranking)
        if tags:
            body["tags"] = dict(tags)
        if reason:
            body["reason"] = reason
        return self._call("POST", self._at("duels", duel, "vote"), body, answer=Vote)

    def skip(self, duel: str) -> Vote:
        """Record that the voter gave no answer."""
        return self.vote(duel, "skip")

    def undo(self, duel: str) -> int:
        """Undo a vote within the grace period; return the sequence number of the new record."""
        path = self._at("duels", duel, "undo")
        return self._call("POST", path, answer=dict[str, int])["seq"]

    def join(self, name: str, kind: str = "text", content: str = "") -> Option:
        """Add an option, or readmit one that left; the first argument is its id or name.

        The arguments `kind` and `content` are used for a new option only.
        """
        there = find_named(self.options(), name)
        if there is not None and (there.id == name or not there.present):
            return self._present(there.id, True)
        body = {"name": name, "kind": kind, "content": content}
        return self._call("POST", self._at("options"), body, answer=Option, again=False)

    def leave(self, option: str) -> Option:
        """Retire an option: it is no longer shown. The argument is its id or unique name."""
        there = find_named(self.options(), option)
        return self._present(option if there is None else there.id, False)

    def _present(self, option: str, present: bool) -> Option:
        return self._call("PATCH", self._at("options", option), {"present": present}, answer=Option)

    def options(self) -> list[Option]:
        """Return all options, with those that left."""
        return [
            Option(str(each["id"]), str(each["name"]), present=bool(each["present"]))
            for each in self.board().ranking
        ]

    def add_items(
        self, items: Iterable[Mapping[str, Any]], *, replace: bool = False
    ) -> ItemsChanged:
        """Add items, as for the constructor of `Arena`; return how many were added.

        With `replace` an item may have an existing id: it gets new answers and tags, or, if
        contents have changed, takes the place of the old one.
        """
        changed, path = ItemsChanged(), self._at("items")
        for batch in _bodies(items):
            body = {"items": batch, "replace": replace}
            changed += self._call("POST", path, body, answer=ItemsChanged, again=False)
        return changed

    def retire_item(self, item: str) -> Item:
        """Retire an item, given by its id: it is no longer shown."""
        return self._call("PATCH", self._at("items", item), {"present": False}, answer=Item)

    def readmit_item(self, item: str) -> Item:
        """Readmit a retired item."""
        return self._call("PATCH", self._at("items", item), {"present": True}, answer=Item)

    def erase_item(self, item: str) -> None:
        """Retire an item, and delete its contents from the store; votes on it stay."""
        self._call("DELETE", self._at("items", item), answer=type(None), again=False)

    def item(self, item: str) -> Item:
        """Return an item by its id."""
        return self._call("GET", self._at("items", item), answer=Item)

    def items(self, after: int = 0, limit: int = 1000) -> list[Item]:
        """Return items with a number above `after`, with retired ones and old versions."""
        path = f"{self._at('items')}?{urlencode({'after': after, 'limit': limit})}"
        return self._call("GET", path, answer=_ItemsReply).items

    def put_file(self, data: bytes, media: str = "") -> str:
        """Store an image or audio file; return its reference for contents of items."""
        media = media or "application/octet-stream"
        return self._call("POST", self._at("files"), data, answer=dict[str, str], media=media)[
            "file"
        ]

    def page(self) -> PageSettings:
        """Return the settings of the vote page."""
        return _page(self._call("GET", self._at("page"), answer=dict[str, Any]))

    def set_page(self, **changes: Any) -> PageSettings:
        """Change settings of the vote page, the fields of `PageSettings`."""
        return _page(self._call("PATCH", self._at("page"), changes, answer=dict[str, Any]))

    def void(self, seqs: Iterable[int], why: str) -> int:
        """Remove votes from all counts; the policy keeps its state. Return their number."""
        body = {"seqs": list(seqs), "why": why}
        path = self._at("votes", "void")
        return self._call("POST", path, body, answer=dict[str, int], again=False)["voided"]

    def erase(self, voter: str) -> bool:
        """Delete the link from a voter to its pseudonym; the votes stay.

        Returns
        -------
        Whether the voter was known.
        """
        try:
            self._call("DELETE", f"/v1/voters/{quote(voter, safe='')}", answer=dict[str, bool])
        except ArenaError as error:
            if error.problem != "no-such-voter":
                raise
            return False
        return True

    def end(self) -> None:
        """Close the arena: no new duels; open duels can still be answered."""
        self._call("POST", self._at("close"), answer=dict[str, bool], again=False)

    def best(self, request: Mapping[str, Any] | None = None) -> Option | None:
        """Return the option to use for a request after prices, or None.

        Without a request it is the leader: the best one for the mean of the last requests.
        """
        if request is None:
            leader = self.board()["leader"]
            return None if leader is None else Option(str(leader["id"]), str(leader["name"]))
        body = {"request": dict(request)}
        return self._call("POST", self._at("best"), body, answer=_BestReply).option

    def prices(self) -> dict[str, float]:
        """Return the price of each option by its id; an empty dict if the policy takes none."""
        found = self._call("GET", self._at("prices"), answer=dict[str, dict[str, float]])
        return found["prices"]

    def set_prices(self, prices: Mapping[str, float]) -> dict[str, float]:
        """Change the prices of some options (ids or names), in log-odds; return all by id."""
        body = {"prices": dict(prices)}
        path = self._at("prices")
        return self._call("PATCH", path, body, answer=dict[str, dict[str, float]])["prices"]

    def board(self, tag: str | None = None) -> Board:
        """Return the board; with `tag` (``KEY:VALUE``) ranking and pairs describe its votes."""
        query = "" if tag is None else f"?{urlencode({'tag': tag})}"
        return self._call("GET", self._at("board") + query, answer=Board)

    def tags(self) -> list[TagCounts]:
        """Return the tags of votes and of their items, with the numbers of votes."""
        found = self._call("GET", self._at("tags"), answer=dict[str, Any])
        return msgspec.convert(found["tags"], list[TagCounts])

    def differences(self, by: str) -> Subgroups:
        """Return shares of the options by value of a tag, and whether preferences depend on it."""
        path = f"{self._at('differences')}?{urlencode({'by': by})}"
        return self._call("GET", path, answer=Subgroups)

    def lost_items(self, option: str, limit: int = 20) -> list[ItemShare]:
        """Return the items on which an option, given by its id, wins least."""
        path = f"{self._at('lost-items')}?{urlencode({'option': option, 'limit': limit})}"
        found = self._call("GET", path, answer=dict[str, Any])
        return msgspec.convert(found["items"], list[ItemShare])

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return records of the log after sequence number `after`; by default from the first."""
        path = f"{self._at('log')}?{urlencode({'after': after, 'limit': limit})}"
        page = self._call("GET", path, answer=dict[str, Any])
        return msgspec.convert(page["records"], list[Record])

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        for connection in list(self._open):
            connection.close()
        self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.board()._repr_html_()

    # -- requests

    def _at(self, *parts: str) -> str:
        return "/".join(["/v1/arenas", *(quote(part, safe="") for part in (self.name, *parts))])

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        answer: type[Answer],
        again: bool = True,
        media: str = "application/json",
    ) -> Answer:
        """Send a request and return the decoded response.

        Parameters
        ----------
        method, path, body
            The request; `body` is encoded as JSON, unless it is bytes of the type `media`.
        answer
            Type of the response.
        again
            Whether the call is idempotent, so that it may be repeated if the connection is lost
            before the response.
        """
        content = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        for waits in range(_MOST_WAITS + 1):
            status, received, wait = self._exchange(
                method, self._root + path, content, again, media
            )
            # 429: the request was not processed. 503: a proxy may have lost the response, so only
            # idempotent calls are repeated.
            if status not in _WAIT or wait is None or not (again or status == 429):
                break
            if waits < _MOST_WAITS:
                self._sleep(wait)
        if status == 204:
            return cast(Answer, None)  # the response has no content
        if status < 300:
            try:
                return msgspec.json.decode(received, type=answer)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                raise ArenaError(
                    "no-answer",
                    f"the response of {self._where} is not one of an arena server; check the URL.",
                ) from None
        raise self._problem(status, received)

    def _problem(self, status: int, received: bytes) -> ArenaError:
        """Return the error that a problem response describes."""
        try:
            problem = msgspec.json.decode(received, type=dict[str, Any])
            name, detail = str(problem["type"]).rpartition("/")[2], str(problem["detail"])
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
            return ArenaError(
                "no-answer", f"{self._where} responded with status {status} and no problem details."
            )
        return ArenaError(name if name in PROBLEMS else "no-answer", detail)

    @property
    def _where(self) -> str:
        return f"{'https' if self._secure else 'http'}://{self._host}:{self._port or ''}"

    def _exchange(
        self, method: str, path: str, content: bytes | None, again: bool, media: str
    ) -> tuple[int, bytes, float | None]:
        """Return the status, the body, and the seconds of ``Retry-After``.

        Raises
        ------
        ArenaError
            ``no-answer``, if the server cannot be reached.
        """
        if self._closed:
            raise DriftduelError("the client is closed; create a new ArenaClient.")
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self._token}"}
        if content is not None:
            headers["Content-Type"] = media
        if not again:
            self._drop_connection()  # the server may have closed an idle connection
        for left in reversed(range(_TRIES if again else 1)):
            connection = self._connection()
            try:
                connection.request(method, path, content, headers)
                response = connection.getresponse()
                if response.length is None or response.length > _LONGEST_ANSWER:
                    # An arena server always sends a length; without one the head is truncated.
                    raise http.client.IncompleteRead(b"")
                received = response.read()
            except _LOST as error:
                self._drop_connection()
                if not left:
                    why = str(error) or type(error).__name__
                    raise ArenaError(
                        "no-answer", f"{self._where} does not respond ({why})."
                    ) from None
            except BaseException:
                self._drop_connection()  # the next call must not read the rest of this response
                raise
            else:
                return response.status, received, _seconds(response.getheader("Retry-After"))
        raise AssertionError

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._threads, "connection", None)
        if kept is None:
            assert self._host is not None
            if self._secure:
                kept = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout)
            else:
                kept = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            self._threads.connection = kept
            self._open.add(kept)
        return kept

    def _drop_connection(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._threads, "connection", None)
        if kept is not None:
            kept.close()
            self._open.discard(kept)
            self._threads.connection = None


class _BestReply(msgspec.Struct):
    """The option to use for a request."""

    option: Option | None


class _ItemsReply(msgspec.Struct):
    """A page of items."""

    items: list[Item]


def _bodies(items: Iterable[Mapping[str, Any]]) -> Iterator[list[msgspec.Raw]]:
    """Yield encoded items in lists that a server accepts."""
    batch: list[msgspec.Raw] = []
    size = 0
    for item in items:
        encoded = msgspec.json.encode(item)
        if batch and (len(batch) == BATCH or size + len(encoded) > _BODY_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(msgspec.Raw(encoded))
        size += len(encoded) + 1
    if batch:
        yield batch


def _page(fields: dict[str, Any]) -> PageSettings:
    return msgspec.convert(
        {key: fields[key] for key in PageSettings.__struct_fields__}, PageSettings
    )


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` value, at most 30; None if it has none."""
    if retry_after is None or not retry_after.isdecimal():
        return None
    return min(float(retry_after[:9]), _LONGEST_WAIT)


def _split_path(path: str) -> tuple[str, str | None]:
    """Return the root path of the server, and the arena in the link of a page or None."""
    for page in ("/vote/", "/board/", "/v1/arenas/"):
        root, found, rest = path.rpartition(page)
        if found and rest.partition("/")[0]:
            return root, rest.partition("/")[0]
    return path.rstrip("/"), None
