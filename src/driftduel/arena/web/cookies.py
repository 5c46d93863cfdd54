"""Cookies of the pages: the token of an arena, and a random id of the voter."""

import re
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

__all__ = [
    "TOKEN_COOKIE",
    "VOTER_COOKIE",
    "keep_token",
    "set_cookie",
    "token_cookie",
    "tokens_in",
    "voter_in",
]

TOKEN_COOKIE, VOTER_COOKIE = "dd_token", "dd_voter"
_PAGES = ("vote", "board", "own")
_YEAR = 365 * 24 * 3600
_VOTERS = re.compile(r"[A-Za-z0-9_-]{16,64}")


def token_cookie(page: str, arena: str) -> str:
    """Return the name of a token cookie: one per page and arena, so that links do not collide."""
    return f"{TOKEN_COOKIE}_{page}_{arena.encode('utf-8', 'surrogatepass').hex()}"


def tokens_in(request: Request, arena: str) -> list[str]:
    """Return the tokens of an arena in a request's cookies, as a list."""
    cookies = request.cookies
    names = (token_cookie(page, arena) for page in _PAGES)
    return [cookies[name] for name in names if name in cookies]


def voter_in(request: Request) -> str | None:
    """Return the voter's random id from the cookie; None if it is missing or malformed."""
    name = request.cookies.get(VOTER_COOKIE, "")
    return name if _VOTERS.fullmatch(name) else None


def keep_token(response: Response, page: str, arena: str, token: str, *, secure: bool) -> None:
    """Set the cookie with the token of a page; an owner's ends with the browser's session."""
    age = None if page == "own" else _YEAR
    name = token_cookie(page, arena)
    set_cookie(response, name, token, "strict", secure=secure, max_age=age)


def set_cookie(
    response: Response,
    name: str,
    value: str,
    same_site: Literal["lax", "strict"],
    *,
    secure: bool,
    max_age: int | None = _YEAR,
) -> None:
    """Set a cookie that scripts cannot read (attribute HttpOnly)."""
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path="/",
        secure=secure,
        httponly=True,
        samesite=same_site,
    )
