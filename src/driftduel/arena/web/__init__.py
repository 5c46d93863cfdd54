"""The arena over HTTP: `make_app` is the whole of it, as an ASGI application."""

from driftduel.arena.web.app import make_app
from driftduel.arena.web.settings import ServerSettings

__all__ = ["ServerSettings", "make_app"]
