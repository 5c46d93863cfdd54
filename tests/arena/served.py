"""An arena behind HTTP, for tests: in this process, with a clock that a test moves."""

import warnings
from contextlib import contextmanager

with warnings.catch_warnings():  # it would rather have httpx2, which few have
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from driftduel.arena.manager import ArenaManager
from driftduel.arena.stores import open_store
from driftduel.arena.web import ServerSettings, make_app
from driftduel.arena.web.settings import Rate

NO_LIMIT = Rate(0, 0)
PROBLEM = "application/problem+json"


class Clock:
    """A time that passes when a test says so."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


class Served:
    """A client of a server with one arena, and that arena's tokens."""

    def __init__(self, client, manager, clock, own):
        self.client, self.manager, self.clock = client, manager, clock
        self.own = own
        self.voting = manager.token("colours", "vote", "page")
        self.reading = manager.token("colours", "read", "board")
        self.making = manager.token("*", "own", "admin")

    def call(self, method, path, body=None, token=None, **more):
        headers = {"Authorization": f"Bearer {token or self.own}", **more.pop("headers", {})}
        if not path.startswith("/"):
            path = f"/v1/arenas/colours/{path}"
        return self.client.request(method, path, json=body, headers=headers, **more)

    def ask(self, **body):
        answer = self.call("POST", "duels", body, self.voting)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def vote(self, duel, pick="left", query=""):
        return self.call("POST", f"duels/{duel}/vote{query}", {"pick": pick}, self.voting)


@contextmanager
def served(store="memory:", *, limits=None, **settings):
    """Serve one arena, `colours`, with red, green and blue."""
    clock = Clock()
    manager = ArenaManager(open_store(store), clock)
    own = manager.create(
        "colours", ["red", "green", "blue"], **({"grace": 5.0, "seed": 3} | settings)
    )
    limits = {"clock": clock, "per_address": NO_LIMIT, "per_token": NO_LIMIT} | (limits or {})
    app = make_app(manager, settings=ServerSettings(**limits))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Served(client, manager, clock, own)


def problem(answer, status, name):
    """Check that an answer is a problem of this name, said in a sentence."""
    assert answer.headers["content-type"] == PROBLEM, answer.text
    said = answer.json()
    assert (answer.status_code, said["type"]) == (status, f"/problems/{name}"), answer.text
    assert said["status"] == status
    assert said["title"]
    assert said["detail"].endswith((".", "?"))
    return said["detail"]
