"""The pages: a shell each, which then asks the API with the cookie that its link has set.

A shell says nothing that is private, and the same of an arena that is not there: it is served
without a token, because a browser that comes from another site's link does not send a cookie with
SameSite=Strict until the page itself asks.
"""

import re
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from driftduel._pages import environment
from driftduel.arena.web import static_files
from driftduel.arena.web.cookies import VOTER_COOKIE, token_cookie

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["routes"]

_YEAR = 365 * 24 * 3600
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{1,200}")


def routes(*, secure: bool = False) -> list[BaseRoute]:
    """Return ``/``, ``/vote/{arena}``, ``/board/{arena}`` and ``/static/{name}``.

    Parameters
    ----------
    secure
        Whether browsers send the cookies over HTTPS only.
    """

    async def home(request: Request) -> Response:
        return _page(request, "home.html")

    async def vote(request: Request) -> Response:
        arena = request.path_params["arena"]
        response = _with_token(request, "vote", secure) or _page(request, "vote.html", arena=arena)
        if VOTER_COOKIE not in request.cookies:
            # Lax: with Strict, everybody who comes by a link from elsewhere would be somebody new.
            _set(response, VOTER_COOKIE, secrets.token_urlsafe(18), "lax", secure)
        return response

    async def board(request: Request) -> Response:
        arena = request.path_params["arena"]
        return _with_token(request, "board", secure) or _page(request, "board.html", arena=arena)

    return [
        Route("/", home),
        Route("/vote/{arena}", vote),
        Route("/board/{arena}", board),
        Route("/static/{name}", static_files.serve),
    ]


@lru_cache(maxsize=1)
def _templates() -> "Environment":
    return environment("driftduel.arena.web", "arena")


def _page(request: Request, template: str, **values: str) -> Response:
    root = request.scope.get("root_path", "").rstrip("/")
    made = _templates().get_template(template)
    text = made.render(root=root, file=lambda name: root + static_files.url_of(name), **values)
    return HTMLResponse(text, headers={"Cache-Control": "no-cache"})


def _with_token(request: Request, page: str, secure: bool) -> Response | None:
    """Take the token out of the address, where others could read it, and into a cookie."""
    token = request.query_params.get("token")
    if token is None:
        return None
    rest = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
    clean = request.scope["path"] + (f"?{urlencode(rest)}" if rest else "")
    response = RedirectResponse(
        # A path that begins with two slashes would lead to another host.
        "/" + clean.lstrip("/"),
        status_code=303,
        headers={"Cache-Control": "no-store"},
    )
    if _TOKEN.fullmatch(token):
        _set(response, token_cookie(page, request.path_params["arena"]), token, "strict", secure)
    return response


def _set(
    response: Response, name: str, value: str, same_site: Literal["lax", "strict"], secure: bool
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=_YEAR,
        path="/",
        secure=secure,
        httponly=True,
        samesite=same_site,
    )
