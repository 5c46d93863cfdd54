"""The HTTP interface of an arena: `make_app` returns the ASGI application."""

from driftduel.arena.web.app import make_app
from driftduel.arena.web.settings import ServerSettings

__all__ = ["ServerSettings", "make_app"]
