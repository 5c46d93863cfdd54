"""Serve a hall's arenas over HTTP until somebody says stop."""

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
_TICKS = 10  # uvicorn's, in a second
# The writer's thread comes back from the disk and needs Python's lock, which the busy loop would
# keep for 5 ms: longer than many a disk takes.
_SWITCH_SECONDS = 0.0005
# New objects before garbage is looked for among them, and rounds of that before older ones are.
_COLLECT_AFTER = (20_000, 20, 50)


class _Server(uvicorn.Server):
    """A server that ends slow senders, and live boards before it waits for the last answers."""

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
        """Stop when told to; told twice, at once. It is no error: the process goes on to its end.

        uvicorn would raise the signal again when it has stopped.
        """
        self.force_exit = self.should_exit
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Do what is due now and then: end the connections of those who send too slowly."""
        if counter % _TICKS == 0:
            for connection in list(self.server_state.connections):
                assert isinstance(connection, Connection)
                connection.end_if_slow(self._app.service.settings.request_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was asked, then end."""
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
    """Serve until SIGTERM or Ctrl-C; then answer what was asked, and close the hall.

    Parameters
    ----------
    hall
        The arenas.
    host, port
        Where; loopback unless something else is said, and any free port for 0.
    settings
        Limits.
    proxies
        Addresses of proxies whose word is taken for where requests come from, with commas.
    advertise
        Address at which the other servers of a PostgreSQL reach this one; None: that at which it
        listens, unless that stands for all addresses of the machine.
    say
        Tells whoever started it where it is, and what that means.
    ready
        Called with the address as soon as it can be asked.
    """
    with _listen(host, port) as listener:
        url = _url(listener)
        server = _Server(make_app(manager, settings=settings), proxies)
        echo(f"The arena is at {url} (Ctrl-C ends it).")
        if not is_loopback(host):
            echo(
                f"It listens at {host}: whoever reaches this machine reaches it, unencrypted. "
                "Nobody votes or reads without a token; put a proxy with HTTPS before it."
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
    """Return the address to advertise; None if it cannot be known."""
    if given is None:
        return None if host in ("0.0.0.0", "::", "") else url
    place = parse_url(given)
    if place.target != "/":
        raise DriftduelError(f"--advertise {given!r} must be http://HOST:PORT, without a path.")
    return given.rstrip("/")


@contextmanager
def _tune_runtime() -> Iterator[None]:
    """Let threads take turns sooner, and garbage lie longer, than Python does by itself.

    A full collection looks at every object there is: with a compiler in memory that is a tenth of
    a second in which nobody is answered. What is there before the first request stays anyway, so
    it is not looked at again.
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
    """Serve on loopback in a thread of this process; yield the address."""
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
    """Tell whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that requests wait from now on; or say why it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DriftduelError(
            f"the arena cannot listen at {host}, port {port} ({why.lower()}); "
            "say another --port, or another --host."
        ) from None


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
