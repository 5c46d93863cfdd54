"""The HTML pages: static shells with scripts that call the HTTP interface with a cookie.

A link has its token in the fragment, which browsers do not send. The page posts it once, and the
response sets the cookie, so that no proxy logs a token.

A shell contains nothing private, and is the same for arenas that do not exist. It is served without
a token, because a browser that follows a link from another site does not send a cookie with
SameSite=Strict before the page itself makes a request.
"""

import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from driftduel._internal.pages import environment
from driftduel.arena.translations import languages
from driftduel.arena.web import static_files
from driftduel.arena.web.cookies import VOTER_COOKIE, set_cookie

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["routes"]


def routes(*, secure: bool = False) -> list[BaseRoute]:
    """Return ``/``, the pages of an arena, and ``/static/{name}``.

    Parameters
    ----------
    secure
        Whether browsers send the cookies over HTTPS only.
    """

    async def home(request: Request) -> Response:
        return _page(request, "home.html")

    async def vote(request: Request) -> Response:
        response = _arena_page(request, "vote")
        if VOTER_COOKIE not in request.cookies:
            # Lax: with Strict, a visit by a link from another site would create a new voter.
            set_cookie(response, VOTER_COOKIE, secrets.token_urlsafe(18), "lax", secure=secure)
        return response

    async def board(request: Request) -> Response:
        return _arena_page(request, "board")

    async def own(request: Request) -> Response:
        return _arena_page(request, "own", languages=languages())

    return [
        Route("/", home),
        Route("/vote/{arena}", vote),
        Route("/board/{arena}", board),
        Route("/own/{arena}", own),
        Route("/static/{name}", static_files.serve),
    ]


@lru_cache(maxsize=1)
def _templates() -> "Environment":
    return environment("driftduel.arena.web", "arena")


def _arena_page(request: Request, page: str, **values: Any) -> Response:
    """Return a page of an arena; refuse a token in the query string, which proxies log."""
    arena = request.path_params["arena"]
    if "token" in request.query_params:
        return _page(request, "old_link.html", 400, arena=arena, page=page)
    return _page(request, f"{page}.html", arena=arena, **values)


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    root = request.scope.get("root_path", "").rstrip("/")
    made = _templates().get_template(template)
    text = made.render(root=root, file=lambda name: root + static_files.url_of(name), **values)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-cache"})
