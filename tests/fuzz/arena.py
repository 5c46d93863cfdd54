"""Draw requests to an arena's server: sound ones, and ones broken in every way that HTTP allows."""

import base64
import json
from typing import Any

from tests.fuzz.inputs import LETTERS, NUMBERS, WORDS, Input, Rng, damaged, mutated, pick

__all__ = ["requests"]

# `<duel>`, `<seq>` and the tokens stand for what the server has given out.
_DUELS = "/v1/arenas/colours/duels"
_ITEM_DUELS = "/v1/arenas/prompts/duels"
_SLATES = "/v1/arenas/slates/duels"
_SOUND: tuple[tuple[str, str, Any, str], ...] = (
    ("POST", _DUELS, {"voter": "ann", "resume": True}, "vote"),
    ("POST", _DUELS, {}, "vote"),
    ("POST", _DUELS + "/<duel>/vote", {"pick": "left"}, "vote"),
    ("POST", _DUELS + "/<duel>/vote?next=1", {"pick": "skip"}, "vote"),
    ("POST", _DUELS + "/<duel>/undo", None, "vote"),
    ("GET", "/v1/arenas/colours/board", None, "read"),
    ("GET", "/v1/arenas/colours/log?after=1&limit=5", None, "read"),
    ("POST", "/v1/arenas/colours/options", {"name": "mauve", "kind": "markdown", "content": "*m*"},
     "own"),
    ("PATCH", "/v1/arenas/colours/options/o1", {"name": "pink", "content": "p", "present": False},
     "own"),
    ("POST", "/v1/arenas/colours/votes/void", {"seqs": ["<seq>"], "why": "no"}, "own"),
    ("POST", "/v1/arenas/colours/close", None, "own"),
    ("POST", "/v1/arenas/colours/tokens", {"scope": "read", "label": "r"}, "own"),
    ("POST", "/v1/arenas/colours/hooks", {"url": "http://127.0.0.1/x", "events": ["sure"]}, "own"),
    ("GET", "/v1/arenas/colours/hooks", None, "own"),
    ("DELETE", "/v1/arenas/colours/hooks/1", None, "own"),
    ("DELETE", "/v1/voters/ann", None, "own"),
    ("POST", "/v1/arenas", {
        "name": "new", "options": ["a", {"name": "b", "kind": "text", "content": "c"}],
        "policies": [{"spec": "king", "weight": 2}, {"spec": "uniform"}], "mode": "panel",
        "order": "asked", "ties": "coin", "seed": 1, "grace": 0, "lease": 60, "votes_a_day": 3,
        "origins": ["https://friend.example"],
    }, "make"),
    ("POST", "/v1/arenas", {"name": "more", "options": ["a", "b", "c"], "show": 3,
                            "feedback": "ranking"}, "make"),
    ("GET", "/v1/token", None, "read"),
    ("GET", "/v1/openapi.json", None, ""),
    ("GET", "/healthz", None, ""),
    ("GET", "/problems/too-late", None, ""),
    ("GET", "/vote/colours?token=<vote>", None, ""),
    ("POST", "/v1/arenas/colours/session?page=vote", None, "vote"),
    ("POST", "/v1/arenas/colours/leases", {"duels": ["<duel>"], "release": False}, "vote"),
    ("POST", _ITEM_DUELS, {"voter": "ann", "resume": True, "tags": {"lang": "de"}}, "voteitems"),
    ("POST", _ITEM_DUELS + "/<itemduel>/vote?next=1",
     {"pick": "both-bad", "tags": {"judge": "j"}, "reason": "a\nb"}, "voteitems"),
    ("POST", _ITEM_DUELS + "/<itemduel>/undo", None, "voteitems"),
    ("GET", "/v1/arenas/prompts/page", None, "voteitems"),
    ("POST", _SLATES, {"voter": "ann", "resume": True}, "voteslates"),
    ("POST", _SLATES + "/<slate>/vote", {"pick": 2}, "voteslates"),
    ("POST", _SLATES + "/<slate>/vote?next=1", {"ranking": [3, "a"]}, "voteslates"),
    ("POST", _SLATES + "/<slate>/undo", None, "voteslates"),
    ("GET", "/v1/arenas/slates/page", None, "voteslates"),
    ("GET", "/v1/arenas/prompts/board", None, "ownitems"),
    ("PATCH", "/v1/arenas/prompts/page", {
        "title": "t", "question": "q", "instructions": "i", "language": "de", "reveal": True,
        "buttons": ["left", "right", "both-bad"], "reasons": True, "words": {"skip": "weiter"},
    }, "ownitems"),
    ("POST", "/v1/arenas/prompts/items", {"replace": True, "items": [
        {"id": "p1", "prompt": {"image": "https://example.org/x.png"}, "tags": {"lang": ["de"]},
         "answers": {"one": "*x*", "two": {"kind": "text", "content": "y"}}},
        {"id": "new", "answers": {"one": "x"}},
    ]}, "ownitems"),
    ("GET", "/v1/arenas/prompts/items?after=1&limit=2", None, "ownitems"),
    ("GET", "/v1/arenas/prompts/items/p1", None, "ownitems"),
    ("PATCH", "/v1/arenas/prompts/items/p1", {"present": False}, "ownitems"),
    ("DELETE", "/v1/arenas/prompts/items/p2", None, "ownitems"),
    ("POST", "/v1/arenas/prompts/files", {"not": "an image"}, "ownitems"),
    ("GET", "/v1/arenas/prompts/files/0", None, ""),
    ("GET", "/v1/arenas/prompts/tokens", None, "ownitems"),
    ("DELETE", "/v1/arenas/prompts/tokens/page", None, "ownitems"),
    ("GET", "/board/colours", None, ""),
    ("GET", "/static/drift-duel.js", None, ""),
    ("GET", "/static/drift-slate.js", None, ""),
)  # fmt: skip
_ODD = (
    None, True, False, 0, -1, 1.5, 1e308, 2**63, 10**30, "", "x", "left", "\0", "\ud800", "x" * 300,
    "x" * 25_000, [], [[]], {}, {"a": 1}, ["left"], "ann", "<duel>", "<script>", "../..", "é😀",
)  # fmt: skip
_METHODS = ("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE", "X", "get")
_ORIGINS = (
    "http://arena",
    "https://friend.example",
    "https://evil.example",
    "null",
    "",
    "http://[",
)
_ACCEPTS = ("text/csv", "application/x-ndjson", "*/*", "x", "text/csv;q=0, application/json", "")
_COOKIE = "dd_token_vote_" + b"colours".hex()
_TYPES = ("application/json", "application/json; charset=utf-8", "text/plain", "", "x" * 500)


def requests(rng: Rng) -> Input:
    """Return one to five requests that are sent one after the other to a new server."""
    sent = [_request(rng) for _ in range(rng.integers(1, 6))]
    return Input("", {"requests.json": json.dumps(sent).encode()}, call="ask_arena")


def _request(rng: Rng) -> dict[str, Any]:
    method, target, body, scope = pick(rng, _SOUND)
    headers = {"authorization": f"Bearer <{scope}>"} if scope else {}
    if rng.random() < 0.3 and isinstance(body, dict):
        body = _changed(rng, body)
    content = b"" if body is None else json.dumps(body).encode()
    if content:
        headers["content-type"] = "application/json"
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        match rng.integers(9):
            case 0:
                method = pick(rng, _METHODS)
            case 1:
                target = mutated(rng, target)
            case 2:
                content = damaged(rng, content)
            case 3:
                content = mutated(rng, content.decode("utf-8", "replace")).encode(
                    "utf-8", "surrogatepass"
                )
            case 4:
                key, value = _header(rng)
                headers[key] = value
            case 5 if headers:
                del headers[pick(rng, headers)]
            case 6:
                target += pick(rng, ("?", "&", "?next=1", "&next=2", "?after=", "#", "/", "%2F"))
                target += pick(rng, (*NUMBERS, *WORDS))
            case 7:
                content = pick(rng, (b"", b"[]", b"null", b"\xff", b"{" * 40_000, b"1" * 70_000))
            case _:
                headers["authorization"] = f"Bearer <{pick(rng, ('vote', 'read', 'own', 'make'))}>"
    return {
        "method": method,
        "target": target.encode("utf-8", "surrogatepass").decode("latin-1"),
        "headers": headers,
        "content": base64.b64encode(content).decode(),
        "parts": int(rng.choice([1, 1, 1, 3])),
    }


def _changed(rng: Rng, body: dict[str, Any]) -> dict[str, Any]:
    """Put something odd into a body, or take something out of it."""
    body = dict(body)
    key = pick(rng, body) if body else "voter"
    match rng.integers(4):
        case 0:
            body.pop(key, None)
        case 1:
            body[pick(rng, ("x", "Pick", "pick ", "", "voter", *LETTERS))] = pick(rng, _ODD)
        case 2 if isinstance(body.get(key), list) and body[key]:
            one = list(body[key])
            one[rng.integers(len(one))] = pick(rng, _ODD)
            body[key] = one * int(rng.choice([1, 1, 300]))
        case _:
            body[key] = pick(rng, _ODD)
    return body


def _header(rng: Rng) -> tuple[str, str]:
    key, values = pick(
        rng,
        (
            ("origin", _ORIGINS),
            ("accept", _ACCEPTS),
            ("content-type", _TYPES),
            ("content-length", (*NUMBERS[:20], "70000")),
            ("cookie", ("dd_voter=x", f"{_COOKIE}=<vote>", ";;=", "\xff", "a" * 9999)),
            ("x-driftduel", ("1", "0", "")),
            ("host", ("arena", "evil.example", "", "arena:80")),
            ("authorization", ("", "Bearer", "Bearer ", "Basic eDp4", "Bearer \xe9", "x" * 9999)),
        ),
    )  # fmt: skip
    return key, pick(rng, values)
