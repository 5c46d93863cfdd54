"""An arena that another machine serves: the same verbs as `Arena`, through HTTP."""

import http.client
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec

from driftduel.arena.board import Board
from driftduel.arena.names import find_named
from driftduel.arena.problems import PROBLEMS, ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import Option, ShownDuel, Vote
from driftduel.errors import DriftduelError

__all__ = ["ArenaClient"]

Answer = TypeVar("Answer")
_TRIES = 4
_MOST_WAITS, _LONGEST_WAIT = 3, 30.0
_WAIT = (429, 503)
_LOST = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError, OSError)
_LONGEST_ANSWER = 64 << 20


class ArenaClient:
    """Asks an arena's server.

    A call that may be repeated is repeated if the connection is lost: voting the same twice is one
    vote. If the server answers 429 or 503 with ``Retry-After``, the client waits that long, at most
    30 s, and tries again, at most three times. It may be used by several threads; each has a
    connection of its own, which stays open.

    Parameters
    ----------
    url
        The server, such as ``http://127.0.0.1:8000``; or the link of a vote page or a board, which
        has arena and token in it.
    token
        What the server, or ``driftduel arena token``, gave out.
    arena
        The arena's name; None: the one that the link names, or the one that the token is for.
    timeout
        Seconds after which a silent server counts as lost.
    sleep
        Waits for a number of seconds, before a call is repeated.

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
            raise DriftduelError(f"url={url[:80]!r} is no address of a server.") from None
        if parts.scheme not in ("http", "https") or not self._host:
            raise DriftduelError(f"url={url[:80]!r} must begin with http:// or https://.")
        self._secure, self._timeout, self._sleep = parts.scheme == "https", timeout, sleep
        root, named = _split_path(parts.path)
        self._root = root
        self._token = token or parse_qs(parts.fragment).get("token", [""])[0]
        if not self._token.isascii() or not self._token.isprintable():
            raise DriftduelError("the token has characters that no token has.")
        self._name = arena or named
        self._threads = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._closed = False

    @property
    def name(self) -> str:
        """The arena's name."""
        if self._name is None:
            self._name = str(self._call("GET", "/v1/token", answer=dict[str, str])["arena"])
        return self._name

    def ask(self, voter: str | None = None, *, resume: bool = False) -> ShownDuel:
        """Choose what to show; `resume` shows again what this voter has not answered.

        Raises
        ------
        ArenaError
            ``nothing-left``, if the voter reached the cap on every pair that is to be compared.
        """
        body = {"resume": resume} | ({} if voter is None else {"voter": voter})
        return self._call("POST", self._at("duels"), body, answer=ShownDuel)

    def renew(self, duel: str) -> float:
        """Renew the lease of a duel; return its end in seconds since 1970, 0 if it is not open."""
        body = {"duels": [duel]}
        return self._call("POST", self._at("leases"), body, answer=dict[str, list[float]])[
            "expires"
        ][0]

    def release(self, duel: str) -> None:
        """Give a duel back without an answer, so that no vote has to wait for it."""
        body = {"duels": [duel], "release": True}
        self._call("POST", self._at("leases"), body, answer=dict[str, list[float]])

    def vote(self, duel: str, pick: str) -> Vote:
        """Take an answer: left, right, tie or skip. Saying the same twice does no harm."""
        return self._call("POST", self._at("duels", duel, "vote"), {"pick": pick}, answer=Vote)

    def skip(self, duel: str) -> Vote:
        """Note that somebody does not want to answer."""
        return self.vote(duel, "skip")

    def undo(self, duel: str) -> int:
        """Take a vote back, within the arena's grace; return the place in the log."""
        path = self._at("duels", duel, "undo")
        return self._call("POST", path, answer=dict[str, int])["seq"]

    def join(self, name: str, kind: str = "text", content: str = "") -> Option:
        """Let an option take part: one that left by its id or name, or a new one by its name."""
        there = find_named(self.options(), name)
        if there is not None and (there.id == name or not there.present):
            return self._present(there.id, True)
        body = {"name": name, "kind": kind, "content": content}
        return self._call("POST", self._at("options"), body, answer=Option, again=False)

    def leave(self, option: str) -> Option:
        """Retire an option, given by its id or unique name: it is no longer shown."""
        there = find_named(self.options(), option)
        return self._present(option if there is None else there.id, False)

    def _present(self, option: str, present: bool) -> Option:
        return self._call("PATCH", self._at("options", option), {"present": present}, answer=Option)

    def options(self) -> list[Option]:
        """Return every option that ever was."""
        return [
            Option(str(each["id"]), str(each["name"]), present=bool(each["present"]))
            for each in self.board().ranking
        ]

    def void(self, seqs: Iterable[int], why: str) -> int:
        """Take votes out of all counts; what policies learned from them stays learned."""
        body = {"seqs": list(seqs), "why": why}
        path = self._at("votes", "void")
        return self._call("POST", path, body, answer=dict[str, int], again=False)["voided"]

    def erase(self, voter: str) -> bool:
        """Forget who a voter is; the votes stay, and nobody can tell whose they are."""
        try:
            self._call("DELETE", f"/v1/voters/{quote(voter, safe='')}", answer=dict[str, bool])
        except ArenaError as error:
            if error.problem != "no-such-voter":
                raise
            return False
        return True

    def end(self) -> None:
        """Ask for no more duels; open ones may still be answered."""
        self._call("POST", self._at("close"), answer=dict[str, bool], again=False)

    def best(self) -> Option | None:
        """Return the option to ship now."""
        leader = self.board()["leader"]
        return None if leader is None else Option(str(leader["id"]), str(leader["name"]))

    def board(self) -> Board:
        """Return what there is to say: who leads, how sure that is, what changed."""
        return self._call("GET", self._at("board"), answer=Board)

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return what is in the log."""
        path = f"{self._at('log')}?{urlencode({'after': after, 'limit': limit})}"
        said = self._call("GET", path, answer=dict[str, Any])
        return msgspec.convert(said["records"], list[Record])

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
        body: Mapping[str, Any] | None = None,
        *,
        answer: type[Answer],
        again: bool = True,
    ) -> Answer:
        """Ask, and return what is answered.

        `again`: whether it may be asked twice, should the connection be lost before the answer.
        """
        content = None if body is None else msgspec.json.encode(body)
        for waits in range(_MOST_WAITS + 1):
            status, said, wait = self._exchange(method, self._root + path, content, again)
            # With 429 nothing was done; with 503 a proxy may have lost the answer.
            if status not in _WAIT or wait is None or not (again or status == 429):
                break
            if waits < _MOST_WAITS:
                self._sleep(wait)
        if status < 300:
            try:
                return msgspec.json.decode(said, type=answer)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                raise ArenaError("no-answer", f"{self._where} is no arena of ours.") from None
        raise self._problem(status, said)

    def _problem(self, status: int, said: bytes) -> ArenaError:
        """Return the error that the server speaks of."""
        try:
            problem = msgspec.json.decode(said, type=dict[str, Any])
            name, detail = str(problem["type"]).rpartition("/")[2], str(problem["detail"])
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
            return ArenaError("no-answer", f"{self._where} answers with {status}, and no reason.")
        return ArenaError(name if name in PROBLEMS else "no-answer", detail)

    @property
    def _where(self) -> str:
        return f"{'https' if self._secure else 'http'}://{self._host}:{self._port or ''}"

    def _exchange(
        self, method: str, path: str, content: bytes | None, again: bool
    ) -> tuple[int, bytes, float | None]:
        """Return the status, the body, and the seconds of ``Retry-After``."""
        if self._closed:
            raise DriftduelError("the client is closed; make another.")
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self._token}"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if not again:
            self._drop_connection()  # a connection that was idle may be closed at its other end
        for left in reversed(range(_TRIES if again else 1)):
            connection = self._connection()
            try:
                connection.request(method, path, content, headers)
                response = connection.getresponse()
                if response.length is None or response.length > _LONGEST_ANSWER:
                    # All that a server of ours says has a length: this head is cut short.
                    raise http.client.IncompleteRead(b"")
                said = response.read()
            except _LOST as error:
                self._drop_connection()
                if not left:
                    why = str(error) or type(error).__name__
                    raise ArenaError(
                        "no-answer", f"{self._where} does not answer ({why})."
                    ) from None
            except BaseException:
                self._drop_connection()  # half of an answer must not be read by the next call
                raise
            else:
                return response.status, said, _seconds(response.getheader("Retry-After"))
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


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds that a server asks for, within bounds; None if it names none."""
    if retry_after is None or not retry_after.isdecimal():
        return None
    return min(float(retry_after[:9]), _LONGEST_WAIT)


def _split_path(path: str) -> tuple[str, str | None]:
    """Return where the server's paths begin, and the arena that a page's link names."""
    for page in ("/vote/", "/board/", "/v1/arenas/"):
        root, found, rest = path.rpartition(page)
        if found and rest.partition("/")[0]:
            return root, rest.partition("/")[0]
    return path.rstrip("/"), None
