"""Static files, served under a name with a content hash and cached without expiry.

``drift-duel.js`` is also served under its plain name, which pages of other sites use, and is cached
for minutes only; so is ``drift-slate.js``, which it loads for arenas with slates. Modules import
each other by plain names in the source; the served files import the hashed names.
"""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["PUBLIC", "serve", "url_of"]

PUBLIC = frozenset({"drift-duel.js", "drift-slate.js"})
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_SHARED = ("layout.css", "layout.js")
"""Files that all pages of driftduel share, from the package `driftduel._internal.pages`."""
_IMPORT = re.compile(r'(?<=from "\./)[\w.-]+(?=")')
_FOR_EVER = "public, max-age=31536000, immutable"
_FOR_MINUTES = "public, max-age=300"


class _StaticFile(NamedTuple):
    body: bytes
    kind: str
    hashed: str
    tag: str


@lru_cache(maxsize=1)
def _load_files() -> tuple[dict[str, _StaticFile], dict[str, str]]:
    """Return two dicts: files by hashed name, and hashed names by plain name."""
    source = {
        entry.name: entry.read_text("utf-8")
        for folder, wanted in _folders()
        for entry in folder.iterdir()
        if wanted(entry.name)
    }
    made: dict[str, _StaticFile] = {}

    def make(name: str) -> str:
        if name not in made:
            body = _IMPORT.sub(lambda found: make(found[0]), source[name]).encode()
            stem, dot, end = name.rpartition(".")
            tag = hashlib.sha256(body).hexdigest()[:16]
            made[name] = _StaticFile(body, _TYPES[dot + end], f"{stem}.{tag}.{end}", tag)
        return made[name].hashed

    names = {name: make(name) for name in sorted(source)}
    return {file.hashed: file for file in made.values()}, names


def _folders() -> list[tuple[Traversable, Callable[[str], bool]]]:
    ours, shared = files(__package__) / "static", files("driftduel._internal.pages") / "templates"
    return [(ours, lambda name: name.endswith(tuple(_TYPES))), (shared, _SHARED.__contains__)]


def url_of(name: str) -> str:
    """Return the path of a file below the server's root: its name with a content hash."""
    return f"/static/{_load_files()[1][name]}"


async def serve(request: Request) -> Response:
    """Respond with a file, or with 304 if the value of If-None-Match is current."""
    served, names = _load_files()
    name = request.path_params["name"]
    public = name in PUBLIC
    file = served.get(names[name] if public else name)
    if file is None:
        raise HTTPException(404)
    headers = {
        "Cache-Control": _FOR_MINUTES if public else _FOR_EVER,
        "ETag": f'"{file.tag}"',
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "cross-origin" if public else "same-origin",
    }
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.kind, headers=headers)
