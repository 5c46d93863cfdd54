"""Run the HTTP server of an arena manager until SIGTERM or Ctrl-C."""

import gc
import ipaddress
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from driftduel.arena.addresses import parse_url
from driftduel.arena.manager import ArenaManager
from driftduel.arena.web.app import ArenaApp, make_app
from driftduel.arena.web.connection import Connection
from driftduel.arena.web.settings import ServerSettings
from driftduel.errors import DriftduelError

__all__ = ["in_background", "is_loopback", "serve"]

_LAST_REQUESTS_SECONDS = 10
_KEEP_ALIVE_SECONDS = 30
_TICKS = 10  # uvicorn's ticks per second
# After a commit the writer's thread needs the GIL, which a busy event loop would keep for the
# default of 5 ms: longer than many disks take to sync.
_SWITCH_SECONDS = 0.0005
# Thresholds of the garbage collector, for generations 0, 1 and 2.
_COLLECT_AFTER = (20_000, 20, 50)


class _Server(uvicorn.Server):
    """A server that closes slow connections, and ends board streams before its shutdown waits."""

    def __init__(self, app: ArenaApp, proxies: str) -> None:
        self._app = app
        config = uvicorn.Config(
            app,
            http=Connection,
            lifespan="on",
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies or None,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_LAST_REQUESTS_SECONDS,
        )
        super().__init__(config)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully on the first signal, immediately on the second.

        uvicorn would raise the signal again after the shutdown; here the exit code is 0.
        """
        self.force_exit = self.should_exit
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Close the connections of slow senders once a second."""
        if counter % _TICKS == 0:
            for connection in list(self.server_state.connections):
                assert isinstance(connection, Connection)
                connection.end_if_slow(self._app.service.settings.request_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Release the arenas, finish open requests, then stop."""
        self._app.service.boards.closing.set()
        await self._app.service.hand_over()
        await super().shutdown(sockets)


def serve(
    manager: ArenaManager,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    settings: ServerSettings | None = None,
    proxies: str = "",
    advertise: str | None = None,
    echo: Callable[[str], None] = print,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; then finish open requests and close the manager.

    Parameters
    ----------
    manager
        The arenas.
    host, port
        Address to listen on; loopback by default, and any free port for 0.
    settings
        Limits.
    proxies
        Comma-separated addresses of proxies with trusted forwarding headers.
    advertise
        URL at which the other servers of a PostgreSQL store reach this one; None: the address it
        listens on, unless that is a wildcard.
    echo
        Function that prints a line, such as the URL.
    ready
        Callback with the URL, called when requests are accepted.

    Raises
    ------
    DriftduelError
        If the address is not available.
    """
    with _listen(host, port) as listener:
        url = _url(listener)
        server = _Server(make_app(manager, settings=settings), proxies)
        echo(f"The arena is at {url} (Ctrl-C ends it).")
        if not is_loopback(host):
            echo(
                f"It listens at {host}: every client that reaches this machine can connect, "
                "without encryption. Requests need a token; put a proxy with HTTPS before it."
            )
        address = _address_to_advertise(advertise, host, url)
        if address is not None:
            manager.store.advertise(address)
        elif manager.store.cluster_key() is not None:
            echo("Other servers cannot forward requests to it: pass --advertise http://HOST:PORT.")
        if ready is not None:
            ready(url)
        with _tune_runtime():
            try:
                server.run([listener])
            finally:
                manager.close()


def _address_to_advertise(given: str | None, host: str, url: str) -> str | None:
    """Return the URL to advertise; None if the server listens on a wildcard address."""
    if given is None:
        return None if host in ("0.0.0.0", "::", "") else url
    place = parse_url(given)
    if place.target != "/":
        raise DriftduelError(f"--advertise {given!r} must be http://HOST:PORT, without a path.")
    return given.rstrip("/")


@contextmanager
def _tune_runtime() -> Iterator[None]:
    """Shorten the thread switch interval and make garbage collection less frequent.

    A full collection visits every object: with a compiler in memory that blocks all requests for a
    tenth of a second. Objects that exist before the first request stay alive anyway, so they are
    frozen.
    """
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(interval)


@contextmanager
def in_background(
    manager: ArenaManager, *, port: int = 0, settings: ServerSettings | None = None
) -> Iterator[str]:
    """Serve on loopback in a thread of this process; yield the URL."""
    with _listen("127.0.0.1", port) as listener:
        url = _url(listener)
        server = _Server(make_app(manager, settings=settings), "")
        manager.store.advertise(url)
        thread = threading.Thread(target=server.run, args=([listener],), name="arena", daemon=True)
        thread.start()
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join()
            manager.close()


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, so that requests queue from now on; raise if that fails."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DriftduelError(
            f"the arena cannot listen at {host}, port {port} ({why.lower()}); "
            "choose another --port or --host."
        ) from None


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
