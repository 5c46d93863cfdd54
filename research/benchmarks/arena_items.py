"""What do items cost? Votes per CPU second of the arena's server, with items and without.

The application is called in this process, without sockets: 50 requests at a time vote and ask for
the next duel, on SQLite. Arenas with the same options and no items, with 200 items, and with
200,000 are measured in turns, so that other work on the machine affects all of them; CPU is that of
the whole process, with the thread that writes. With 200 items the contents are in memory after the
first turn; of 200,000 each vote shows an item for the first time, and its contents are read from
the store, decoded and rendered. All arenas are in this process, so a full garbage collection during
the turn of one would visit the objects of all: those that exist after the first turn are exempt.

    python -m research.benchmarks.arena_items [--votes 2000] [--rounds 5] [--many 200000]
"""

import argparse
import asyncio
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from driftduel.arena import ArenaManager, ServerSettings, in_batches, open_store, wait_durable
from driftduel.arena.items import check_items
from driftduel.arena.web import make_app
from driftduel.arena.web.settings import Rate

MODELS = [f"model {number}" for number in range(6)]
TEXT = "An answer of the usual kind, with a few words of text and nothing else in it. " * 4
AT_ONCE, VOTERS = 50, 400


def items(many: int) -> Iterator[dict[str, Any]]:
    """Yield items with one answer per model; each item has other texts."""
    for number in range(many):
        answers = {model: f"{model[-1]} {number}: {TEXT}" for model in MODELS}
        yield {"id": f"p{number}", "prompt": f"Question {number}?", "answers": answers}


def make(folder: Path, name: str, many: int | None) -> tuple[ArenaManager, str]:
    """Create an arena with this number of items; None: without, and with texts of options."""
    manager = ArenaManager(open_store(folder / f"{name}.db"))
    options = [{"name": each, "kind": "markdown", "content": TEXT} for each in MODELS]
    manager.create("load", options, items=many is not None, votes_a_day=10**6, grace=0.0, seed=1)
    live = manager.arena("load")
    for batch in in_batches(check_items(items(many or 0))):
        wait_durable(live.add_items(batch))
    return manager, manager.token("load", "vote", "page")


async def call(app: Any, path: str, token: str, body: dict[str, Any]) -> Any:
    """Send one request to the application; return the decoded response."""
    content, got = json.dumps(body).encode(), []
    path, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "root_path": "", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "state": {}, "headers": [
            (b"host", b"arena"), (b"authorization", b"Bearer " + token.encode()),
            (b"content-type", b"application/json"),
        ],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        got.append(message)

    await app(scope, receive, send)
    assert got[0]["status"] == 200, got
    return json.loads(b"".join(each.get("body", b"") for each in got[1:]))


async def load(app: Any, token: str, votes: int, voters: list[str]) -> float:
    """Let voters vote; return the votes per second of CPU."""
    path = "/v1/arenas/load/duels"

    async def voter(name: str, many: int) -> None:
        shown = await call(app, path, token, {"voter": name, "resume": True})
        for number in range(many):
            pick = ("left", "right", "tie", "left")[number % 4]
            answer = await call(app, f"{path}/{shown['duel']}/vote?next=1", token, {"pick": pick})
            shown = answer["next"]

    start = time.process_time()
    for first in range(0, len(voters), AT_ONCE):
        some = voters[first : first + AT_ONCE]
        await asyncio.gather(*(voter(name, votes // len(voters)) for name in some))
    return votes / (time.process_time() - start)


async def compare(votes: int, rounds: int, many: int) -> dict[str, Any]:
    """Return votes per CPU second by arena, and ratios to the arena without items."""
    wide = Rate(1e6, 10**6)
    settings = ServerSettings(per_address=wide, per_token=wide, hooks=False)
    sizes = {"without": None, "200 items": 200, f"{many:,} items": many}
    speeds: dict[str, list[float]] = {name: [] for name in sizes}
    with tempfile.TemporaryDirectory() as folder:
        made = {name: make(Path(folder), name[:6], size) for name, size in sizes.items()}
        apps = {name: make_app(manager, settings=settings) for name, (manager, _) in made.items()}
        for turn in range(rounds + 1):  # the first one compiles, and fills caches
            if turn == 1:
                gc.collect()
                gc.freeze()
            for name, app in apps.items():
                voters = [f"voter {turn} {number}" for number in range(VOTERS)]
                async with running(app):
                    speeds[name].append(await load(app, made[name][1], votes, voters))
    kept = {name: each[1:] for name, each in speeds.items()}
    ratios = {
        name: [a / b for a, b in zip(each, kept["without"], strict=True)]
        for name, each in kept.items()
    }
    best = {name: max(each) for name, each in kept.items()}
    return {
        "votes_per_cpu_second": {name: statistics.median(each) for name, each in kept.items()},
        "best": best,
        "ratio_of_best": {name: each / best["without"] for name, each in best.items()},
        "ratio": {name: statistics.median(each) for name, each in ratios.items()},
        "ratios": ratios,
    }


class running:  # noqa: N801 - used like a function
    """Run the background tasks of an application; the arenas stay open afterwards."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __aenter__(self) -> None:
        manager = self._app.service.manager
        self._close, manager.close = manager.close, lambda: None
        self._running = self._app.service.running()
        await self._running.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await self._running.__aexit__(*error)
        self._app.service.manager.close = self._close


def main() -> None:
    """Measure, and print a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--many", type=int, default=200_000)
    given = parser.parse_args()
    print(json.dumps(asyncio.run(compare(given.votes, given.rounds, given.many)), indent=1))


if __name__ == "__main__":
    main()
