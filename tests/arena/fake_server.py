"""An arena for the pages alone: it forgets everything, and goes wrong on request.

The pages are tried in a browser against this, because here a test can say which answer comes next:
an error of any kind, a pair alone, a board of any shape. The real server has tests of its own.
"""

import asyncio
import itertools
import json
import threading
from contextlib import contextmanager
from email.utils import formatdate

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from driftduel.arena.markdown import to_html
from driftduel.arena.web.cookies import keep_token
from driftduel.arena.web.pages import routes
from driftduel.arena.web.security import SafeHeaders
from driftduel.arena.web.settings import ServerSettings
from tests.waiting import eventually

NOW = 1_800_000_000
"""What this server's clock says, always: no test depends on how fast it is."""
GRACE = 3600.0
CLOCK = {"date_header": False, "headers": [("Date", formatdate(NOW, usegmt=True))]}


def option(name, kind="text", content="", place=0):
    made = {"id": f"o{place}", "name": name, "kind": kind, "content": content}
    return made | ({"html": to_html(content)} if kind == "markdown" else {})


def problem(name, status, after=None):
    body = {"type": f"/problems/{name}", "title": name, "status": status, "detail": f"{name}!"}
    headers = {"Retry-After": str(after)} if after else None
    return JSONResponse(body, status, headers, "application/problem+json")


class Safe:
    """The headers of the real server: what its policy forbids, a page must not do here either."""

    def __init__(self, app):
        self.app, self.headers = app, SafeHeaders(ServerSettings())

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, self.headers.around(send, scope["path"]))


class FakeArena:
    """Shows its options two by two; keeps what the browser sent."""

    def __init__(self, options=("Alpha", "Beta", "Gamma"), board=None):
        self.options = [
            option(one, place=i) if isinstance(one, str) else option(**one, place=i)
            for i, one in enumerate(options)
        ]
        self.rounds = itertools.count(1)
        self.grace = GRACE
        self.duels, self.open_of, self.votes, self.undone = {}, {}, {}, []
        self.answers, self.headers, self.leases = [], [], []
        self.closed = set()
        """Duels whose lease cannot be renewed any more."""
        self.refuse_links = self.nothing_left = False
        self.wrong = []
        """Answers that come instead of what was asked for, one a request, first in first out."""
        self.alone = 0
        """How many of the next duels are one option alone."""
        self.board = board
        self.settings = {}
        """What the owner has chosen for the page."""
        self.prompt = None
        self.reasons, self.revealed = [], None
        self.push, self.refusal = True, None

    def asked(self, voter):
        if self.alone:
            self.alone -= 1
            return {"alone": self.options[0]}
        t = next(self.rounds)
        left, right = self.options[t % len(self.options)], self.options[(t + 1) % len(self.options)]
        shown = {"duel": f"d{t}", "left": left, "right": right, "expires": NOW + 600}
        if self.prompt is not None:
            shown["prompt"] = option("", "markdown", self.prompt)
        self.duels[f"d{t}"] = voter
        self.open_of[voter] = shown
        return shown

    async def duel(self, request: Request):
        self.headers.append(request.headers)
        body = await request.json()
        if self.wrong:
            return self.wrong.pop(0)
        if self.nothing_left:
            return problem("nothing-left", 409)
        voter = body.get("voter") or request.cookies.get("dd_voter")
        if body.get("resume") and voter in self.open_of:
            return JSONResponse(self.open_of[voter])
        return JSONResponse(self.asked(voter))

    async def vote(self, request: Request):
        self.headers.append(request.headers)
        body = await request.json()
        name, pick = request.path_params["duel"], body["pick"]
        if "reason" in body:
            self.reasons.append(body["reason"])
        self.answers.append((name, pick))
        if self.wrong:
            return self.wrong.pop(0)
        if name not in self.duels:
            return problem("no-such-duel", 404)
        if self.votes.setdefault(name, pick) != pick:
            return problem("already-answered", 409)
        voter = self.duels[name]
        if self.open_of.get(voter, {}).get("duel") == name:
            del self.open_of[voter]
        until = NOW + self.grace if self.grace else None
        told = {"seq": len(self.votes), "undo_until": until, "counted": True, "late": False}
        if self.revealed is not None:
            told["revealed"] = self.revealed
        if request.query_params.get("next") == "1" and not self.nothing_left:
            told["next"] = self.open_of.get(voter) or self.asked(voter)
        return JSONResponse(told)

    async def undo(self, request: Request):
        name = request.path_params["duel"]
        if self.wrong:
            return self.wrong.pop(0)
        del self.votes[name]
        self.undone.append(name)
        return JSONResponse({"seq": 1})

    async def lease(self, request: Request):
        body = await request.json()
        self.leases.append(body | {"cookie": request.headers.get("cookie", "")})
        if body.get("release"):
            return JSONResponse({"expires": [0 for _ in body["duels"]]})
        return JSONResponse(
            {"expires": [0 if d in self.closed else NOW + 60 for d in body["duels"]]}
        )

    async def session(self, request: Request):
        if self.refuse_links:
            return problem("no-token", 401)
        token = request.headers["authorization"].partition(" ")[2]
        response = Response(status_code=204)
        page, arena = request.query_params["page"], request.path_params["arena"]
        keep_token(response, page, arena, token, secure=False)
        return response

    async def page(self, request: Request):
        return JSONResponse(self.settings)

    async def read(self, request: Request):
        return self.refusal or JSONResponse(self.board)

    async def events(self, request: Request):
        if not self.push:
            return problem("too-many", 429)

        async def told():
            sent = None
            while not await request.is_disconnected():
                if self.board is not sent:
                    sent = self.board
                    yield f"event: board\ndata: {json.dumps(sent)}\n\n"
                await asyncio.sleep(0.02)

        return StreamingResponse(told(), media_type="text/event-stream")

    async def log(self, request: Request):
        return JSONResponse({"accepted": request.headers["accept"]})

    def app(self):
        base = "/v1/arenas/{arena}"
        return Starlette(
            middleware=[
                Middleware(Safe),
                Middleware(
                    CORSMiddleware,
                    allow_origins=["*"],
                    allow_methods=["GET", "POST"],
                    allow_headers=["Authorization", "Content-Type"],
                ),
            ],
            routes=[
                Route(f"{base}/duels", self.duel, methods=["POST"]),
                Route(base + "/duels/{duel}/vote", self.vote, methods=["POST"]),
                Route(base + "/duels/{duel}/undo", self.undo, methods=["POST"]),
                Route(f"{base}/leases", self.lease, methods=["POST"]),
                Route(f"{base}/session", self.session, methods=["POST"]),
                Route(f"{base}/page", self.page),
                Route(f"{base}/board", self.read),
                Route(f"{base}/board/events", self.events),
                Route(f"{base}/log", self.log),
                *routes(),
            ],
        )


@contextmanager
def serving(app, **settings):
    """Serve an app on a free port of this machine; give its address."""
    usual = {"host": "127.0.0.1", "port": 0, "log_level": "error", "timeout_graceful_shutdown": 1}
    server = uvicorn.Server(uvicorn.Config(app, **usual, **settings))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
