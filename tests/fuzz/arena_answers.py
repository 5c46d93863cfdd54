"""Send drawn requests to a new server, and say what is wrong with what it answers."""

import asyncio
import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from driftduel.arena.items import NewItem, check_items
from driftduel.arena.manager import ArenaManager
from driftduel.arena.problems import PROBLEMS
from driftduel.arena.replay import replay_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.stores import open_store
from driftduel.arena.web import ServerSettings, make_app
from driftduel.arena.web.settings import Rate
from driftduel.errors import DriftduelError

__all__ = ["ask_arena"]

_NO_LIMIT = Rate(0, 0)
_NOW = 1_700_000_000.0


def ask_arena() -> None:
    """Send all requests; every answer must be one that the server may give.

    If the last one is a problem, its sentence is raised, for whoever counts refusals.
    """
    sent = json.loads(Path("requests.json").read_bytes())
    refused = asyncio.run(_ask(sent))
    if refused:
        raise DriftduelError(refused)


async def _ask(sent: list[dict[str, Any]]) -> str | None:
    manager = ArenaManager(open_store("memory:"), lambda: _NOW)
    tokens = {"own": manager.create("colours", ["red", "green", "blue"], policy="uniform")}
    tokens |= {scope: manager.token("colours", scope) for scope in ("vote", "read")}
    tokens["make"] = manager.token("*", "own")
    tokens["ownitems"] = manager.create("prompts", None, items=_items(), balance="lang")
    tokens["voteitems"] = manager.token("prompts", "vote", "page")
    manager.create("slates", list("abcdef"), show=4, feedback="ranking")
    tokens["voteslates"] = manager.token("slates", "vote", "page")
    settings = ServerSettings(
        per_address=_NO_LIMIT, per_token=_NO_LIMIT, hooks=False, clock=lambda: _NOW
    )
    app = make_app(manager, settings=settings)
    refused = None
    async with app.service.running():
        live = manager.arena("colours")
        voted = live.vote(live.ask("bob").answer.duel, "right").answer
        given = {"<duel>": live.ask("ann").answer.duel, '"<seq>"': str(voted.seq)}
        prompts = manager.arena("prompts")
        given["<itemduel>"] = prompts.ask("ann").answer.duel
        slates = manager.arena("slates")
        given["<slate>"] = slates.ask("ann").answer.duel
        given |= {f"<{scope}>": token for scope, token in tokens.items()}

        def filled(text: str) -> str:
            return re.sub(r'<\w+>|"<seq>"', lambda found: given.get(found[0], found[0]), text)

        for request in sent:
            status, headers, body = await _answer(app, request, filled)
            refused = _checked(request, status, headers, body)
        for each in (live, prompts, slates):
            wait_durable(each.tick())
            again = replay_log(manager.store, each.name)
            assert again.to_bytes() == each.state.to_bytes(), "the log folds to another state"
    return refused


def _items() -> list[NewItem]:
    return list(
        check_items(
            {
                "id": f"p{number}",
                "prompt": f"Question {number}",
                "answers": {"one": "*a*", "two": "b", "three": "c"},
                "tags": {"lang": ("de", "en")[number % 2]},
            }
            for number in range(3)
        )
    )


async def _answer(
    app: Any, request: dict[str, Any], filled: Callable[[str], str]
) -> tuple[int, dict[str, str], bytes]:
    path, _, query = filled(request["target"]).partition("?")
    content = base64.b64decode(request["content"])
    content = filled(content.decode("latin-1")).encode("latin-1")
    raw = [
        (key.encode("latin-1"), filled(value).encode("utf-8"))
        for key, value in {"host": "arena", **request["headers"]}.items()
    ]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
        "method": request["method"].upper(), "scheme": "http", "root_path": "",
        "path": unquote_to_bytes(path.encode("latin-1")).decode("utf-8", "replace"),
        "raw_path": path.encode("latin-1"), "query_string": query.encode("latin-1"),
        "headers": raw, "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip
    size = -(-len(content) // request["parts"]) or 1
    parts = [content[at : at + size] for at in range(0, len(content), size)] or [b""]
    got: list[dict[str, Any]] = []
    begun = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if parts:
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        await begun.wait()  # the client stays until it has what it asked for
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        got.append(message)
        if message.get("body"):
            begun.set()  # a board that is watched would go on for ever

    async with asyncio.timeout(600):
        await app(scope, receive, send)
    head = {key.decode("latin-1"): value.decode("latin-1") for key, value in got[0]["headers"]}
    return got[0]["status"], head, b"".join(each.get("body", b"") for each in got[1:])


def _checked(
    request: dict[str, Any], status: int, headers: dict[str, str], body: bytes
) -> str | None:
    """Check an answer; return its sentence if it is a problem."""
    method = request["method"]
    for needed in ("content-security-policy", "x-content-type-options", "referrer-policy"):
        assert needed in headers, f"{needed} is missing"
    assert "unsafe" not in headers["content-security-policy"]
    assert b"Traceback" not in body
    assert status < 500 or status == 503, (status, body[:500])
    media = headers.get("content-type", "")
    if media == "application/json" and method.upper() != "HEAD":
        json.loads(body)
    if status < 400:
        return None
    if method.upper() == "HEAD" and not body:
        return "Nothing."
    if media.startswith("text/html"):  # a page says it to a person, an operation to a program
        assert request["target"].startswith(("/vote/", "/board/")), request["target"]
        return "A page."
    assert media == "application/problem+json", media
    said = json.loads(body)
    name = said["type"].removeprefix("/problems/")
    assert name in PROBLEMS, name
    assert said["status"] == status == PROBLEMS[name][0], (status, said)
    assert len(said["detail"]) < 1500, said
    detail: str = said["detail"]
    return detail
