"""How fast is the arena's server? Ratios within one run: this machine is shared and noisy.

The same load - clients that vote and fetch the next duel in one request - on four servers, in
turns: no log (memory), SQLite with group commit, SQLite with a commit for each event, and one that
always gives the same answer, for machines differ. CPU is the server's own, from the kernel, so that
others' work does not count.
The same once more where each commit takes some milliseconds longer, as on a disk that is slow to
sync: on a fast one a commit for each event costs little, and a vote's CPU is all there is.
Then the start after many votes, with a snapshot; memory over a soak; and many arenas in a process.

    python benchmarks/arena_server.py [--part load|slow|soak|many] [--out FILE]

With ``--out docs/arena-speed.json``, and then ``--page``, the numbers are put on the arena's page.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from page_marks import on_page

from driftduel.arena import Hall, open_store
from driftduel.arena.said import lasting
from driftduel.arena.stores.base import Append
from driftduel.arena.writer import Writer

OPTIONS = [f"option {number}" for number in range(10)]
PARTS = ("load", "slow", "soak", "many")
SLOW_MS = 5.0
"""What a sync takes longer on the slow disk: that of a cloud's volume, or of a plain SSD."""
ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "arena-speed.json"
PAGE = ROOT / "docs" / "arena.md"
TABLE = "arena-speed"
NOTHING = "nothing"


# ---- the server, in a process of its own ----


def serve(store: str, grouping: bool, slower_ms: float) -> None:
    """Serve until killed; print address and token."""
    from driftduel.arena.serving import serve as serve_hall
    from driftduel.arena.web.settings import Rate, ServerSettings

    wide = Rate(1e6, 10**6)  # nobody reaches it, but it is counted
    hall = Hall(open_store(store))
    if slower_ms:
        append = hall.store.append

        def slowly(batch: Sequence[Append]) -> Sequence[Exception | None]:
            answers = append(batch)
            time.sleep(slower_ms / 1000)
            return answers

        hall.store.append = slowly  # type: ignore[method-assign]
    if not grouping:
        hall.writer.close()
        hall.writer = Writer(hall.store, grouping=False)
    name = "load"
    token = hall.create(name, OPTIONS, votes_a_day=10**6, grace=0.0, most_open_each=10**6)
    live = hall.arena(name)
    for _ in range(20):  # compiles what is needed
        lasting(live.vote(lasting(live.ask()).duel, "left"))
    free = ServerSettings(per_address=wide, per_token=wide)
    serve_hall(
        hall,
        port=0,
        settings=free,
        say=lambda line: None,
        ready=lambda url: print(json.dumps([url, token]), flush=True),
    )


def serve_nothing() -> None:
    """Serve an answer that is always the same: what HTTP alone takes on this machine."""
    import uvicorn

    shown = {"duel": "x", "left": {"id": "o1", "name": OPTIONS[0]}, "expires": 0.0}
    content = msgspec.json.encode({**shown, "seq": 1, "next": shown})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        print(json.dumps([url, "none"]), flush=True)
        config = uvicorn.Config(answer, lifespan="off", log_level="warning", access_log=False)
        uvicorn.Server(config).run([listener])


class Server:
    """One server under load."""

    def __init__(self, store: str, grouping: bool = True, slower_ms: float = 0.0) -> None:
        words = [sys.executable, __file__, "--serve", store, "--grouping", str(int(grouping))]
        words += ["--slower-ms", str(slower_ms)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url, self.token = json.loads(self.process.stdout.readline())

    def cpu(self) -> float:
        """Return the seconds of CPU it has used so far."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


# ---- clients: one connection each, as little work as possible ----


class Client:
    """Votes again and again, and fetches the next duel with each vote."""

    def __init__(self, url: str, token: str, number: int) -> None:
        self.host, _, port = url.removeprefix("http://").partition(":")
        self.port, self.token = int(port), token
        self.voter = f"voter {number}"
        self.rng = np.random.default_rng(number)
        self.votes = 0
        self.asks: list[float] = []

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer."""
        packed = msgspec.json.encode(body)
        self.writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
            + packed
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer = await self.reader.readexactly(length)
        assert head.startswith(b"HTTP/1.1 200"), (head, answer)
        return msgspec.json.decode(answer)

    async def run(self, until: float, pause: float) -> None:
        """Vote until the time is over."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        base = "/v1/arenas/load/duels"
        shown = await self.post(base, {"voter": self.voter})
        while time.monotonic() < until:
            pick = "left" if self.rng.random() < 0.5 else "right"
            began = time.monotonic()
            answer = await self.post(f"{base}/{shown['duel']}/vote?next=1", {"pick": pick})
            self.asks.append(time.monotonic() - began)
            shown = answer["next"]
            self.votes += 1
            if pause:
                await asyncio.sleep(self.rng.exponential(pause))
        # Answered, not left open: in the order of asking all later votes would wait for it.
        await self.post(f"{base}/{shown['duel']}/vote", {"pick": "left"})
        self.writer.close()


def load(server: Server, clients: int, seconds: float, pause: float = 0.0) -> dict[str, float]:
    """Put a server under load; return what it did."""
    crowd = [Client(server.url, server.token, number) for number in range(clients)]

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(client.run(until, pause) for client in crowd))

    began, cpu, own = time.monotonic(), server.cpu(), time.process_time()
    asyncio.run(all_of_them())
    took, cpu, own = time.monotonic() - began, server.cpu() - cpu, time.process_time() - own
    votes = sum(client.votes for client in crowd)
    waits = sorted(wait for client in crowd for wait in client.asks)
    return {
        "votes": votes,
        "a_second": votes / took,
        "a_cpu_second": votes / cpu,
        "clients_a_cpu_second": votes / own,
        "p50_ms": 1000 * waits[len(waits) // 2],
        "p99_ms": 1000 * waits[int(0.99 * len(waits))],
    }


def fsync_ms(folder: str) -> float:
    """Return how long the disk takes to sync a few bytes, the median of many."""
    times = []
    with open(Path(folder) / "sync", "wb") as file:
        for _ in range(60):
            file.write(b"x" * 400)
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


# ---- start, soak, many ----


def soaked(votes: int, folder: str) -> dict[str, Any]:
    """Vote so often in process; return memory on the way, and how long the next start takes."""
    path = f"sqlite:{folder}/soak.db"
    hall = Hall(open_store(path))
    hall.create("soak", OPTIONS, grace=0.0, votes_a_day=10**6)
    live, tenth = hall.arena("soak"), max(1, votes // 10)
    sizes: list[float] = []
    cpu = time.process_time()
    for number in range(1, votes + 1):
        pending = live.vote(live.ask(f"voter {number % 5000}").answer.duel, "left")
        if number % 500 == 0:
            lasting(pending)
        if number % tenth == 0:
            sizes.append(_memory())
            print(f"{number:,} votes: {sizes[-1]:.0f} MB", flush=True)
    lasting(pending)
    cpu = time.process_time() - cpu
    disk = sum(file.stat().st_size for file in Path(folder).glob("soak.db*")) / 1e6
    # As if it had been killed: no snapshot at the end.
    hall.writer.close()
    hall.store.close()
    began, start = time.perf_counter(), time.process_time()
    again = Hall(open_store(path))
    again.arena("soak")
    took = {"start_s": time.perf_counter() - began, "start_cpu_s": time.process_time() - start}
    assert again.arena("soak").board()["votes"] == votes
    again.close()
    return took | {"votes": votes, "mb": sizes, "disk_mb": disk, "a_cpu_second": votes / cpu}


def _memory() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def many(arenas: int) -> dict[str, float]:
    """Open so many arenas at once; return what each costs."""
    hall = Hall(open_store("memory:"), most_live=arenas)
    before = _memory()
    for number in range(arenas):
        hall.create(f"arena-{number}", OPTIONS[:5], grace=0.0)
        live = hall.arena(f"arena-{number}")
        lasting(live.vote(lasting(live.ask()).duel, "left"))
    each = 1024 * (_memory() - before) / arenas
    hall.close()
    return {"arenas": arenas, "kb_each": each}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="How fast is the arena's server?")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--soak", type=int, default=1_000_000)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--part", choices=PARTS, action="append", help="all, if none is named")
    parser.add_argument("--out", type=Path, help="write the numbers here; parts not run stay")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--serve")
    parser.add_argument("--grouping", type=int, default=1)
    parser.add_argument("--slower-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    if arguments.serve == NOTHING:
        serve_nothing()
        return
    if arguments.serve:
        serve(arguments.serve, bool(arguments.grouping), arguments.slower_ms)
        return
    if arguments.page:
        said: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
        PAGE.write_text(on_page(PAGE.read_text("utf-8"), {TABLE: _table(said)}), "utf-8")
        return
    out: Path | None = arguments.out
    said = json.loads(out.read_text("utf-8")) if out and out.exists() else {}
    for part in arguments.part or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            busy = os.getloadavg()[0]
            said[part] = _measured(part, arguments, folder)
            # What else the machine did: beside these numbers belongs how much was ours.
            said[part]["others"] = round(max(busy, os.getloadavg()[0]), 1)
        if out:
            out.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
    print("\n".join(f"{what}: {found} (asked: {asked})" for what, found, asked in _rows(said)))


def _measured(part: str, arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    if part == "soak":
        return soaked(arguments.soak, folder)
    if part == "many":
        return many(arguments.many)
    return _loads(arguments, folder, SLOW_MS if part == "slow" else 0.0)


def _loads(arguments: argparse.Namespace, folder: str, slower_ms: float) -> dict[str, Any]:
    single = f"sqlite:{folder}/single.db"
    servers = {
        "no log": Server("memory:"),
        "sqlite": Server(f"sqlite:{folder}/grouped.db", slower_ms=slower_ms),
        "a commit each": Server(single, grouping=False, slower_ms=slower_ms),
        "nothing": Server(NOTHING),
    }
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
    syncs = []
    for _ in range(arguments.rounds):
        for name, server in servers.items():
            runs[name].append(load(server, arguments.clients, arguments.seconds))
            syncs.append(fsync_ms(folder))
    said: dict[str, Any] = {
        name: {key: statistics.median(run[key] for run in each) for key in each[0]}
        # Others' work makes ours slower, never faster: the best run is the least disturbed.
        | {"best_a_cpu_second": max(run["a_cpu_second"] for run in each)}
        for name, each in runs.items()
    }
    pause = arguments.clients / (said["sqlite"]["a_second"] / 2)
    halves = []
    for _ in range(arguments.rounds):
        halves.append(load(servers["sqlite"], arguments.clients, arguments.seconds, pause))
        syncs.append(fsync_ms(folder))
    said["half load"] = {key: statistics.median(run[key] for run in halves) for key in halves[0]}
    said["fsync_ms"] = statistics.median(syncs) + slower_ms
    for server in servers.values():
        server.close()
    for name in (*servers, "half load"):
        print(name, {key: round(value, 2) for key, value in said[name].items()}, flush=True)
    return said


def _load_rows(loads: dict[str, Any]) -> list[tuple[str, str, str]]:
    none, grouped, single = (loads[name] for name in ("no log", "sqlite", "a commit each"))
    half, sync, nothing = loads["half load"], loads["fsync_ms"], loads["nothing"]
    commit, cpu = 1000 / single["a_second"], 1000 / grouped["a_cpu_second"]
    return [
        (
            "durable votes, each with its next duel, a second of the server's CPU",
            f"{grouped['a_cpu_second']:,.0f} (best run {grouped['best_a_cpu_second']:,.0f})",
            "2,000",
        ),
        (
            "the CPU of such a vote, in that of a request to which HTTP alone answers",
            f"{nothing['a_cpu_second'] / grouped['a_cpu_second']:.1f} "
            f"({1e6 / grouped['a_cpu_second']:.0f} and {1e6 / nothing['a_cpu_second']:.0f} us)",
            "-",
        ),
        (
            "against the same server without a log, by CPU; by the clock",
            f"{grouped['a_cpu_second'] / none['a_cpu_second']:.2f}; "
            f"{grouped['a_second'] / none['a_second']:.2f}",
            "0.7",
        ),
        (
            "against a commit for each request, by the clock",
            f"{grouped['a_second'] / single['a_second']:.1f} (one after the other, each takes "
            f"{commit:.1f} ms; a vote {cpu:.2f} ms of CPU: on one core at most "
            f"{commit / cpu:.1f})",
            "8",
        ),
        (
            "99 of 100 votes with their next duel at half load, in fsyncs",
            f"{half['p99_ms'] / sync:.1f} ({half['p99_ms']:.1f} ms; an fsync {sync:.1f} ms)",
            "6",
        ),
    ]


def _rows(said: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what was measured, what came out, and what was asked for."""
    rows = []
    if "load" in said:
        rows += _load_rows(said["load"])
    if "slow" in said:
        where = f", on a disk that takes {SLOW_MS:g} ms more to sync"
        rows += [(what + where, *row) for what, *row in _load_rows(said["slow"])]
    if "soak" in said:
        soak = said["soak"]
        rows += [
            (
                f"start after {soak['votes']:,} votes, with a snapshot",
                f"{soak['start_s']:.2f} s ({soak['start_cpu_s']:.2f} s of CPU)",
                "3 s",
            ),
            (
                f"memory after each tenth of {soak['votes']:,} votes",
                ", ".join(f"{size:.0f}" for size in soak["mb"]) + " MB",
                "flat",
            ),
        ]
    if "many" in said:
        found = said["many"]
        rows.append(
            (
                "arenas in one process, each with a vote",
                f"{found['arenas']:,}, {found['kb_each']:.0f} KB each",
                "10,000",
            )
        )
    return rows


def _table(said: dict[str, Any]) -> str:
    lines = ["| what | measured | asked |", "|---|---|---|"]
    lines += [f"| {what} | {found} | {asked} |" for what, found, asked in _rows(said)]
    busy = ", ".join(f"{said[part]['others']:g} ({part})" for part in PARTS if part in said)
    return "\n".join(lines) + f"\n\nLoad average of the two cores meanwhile: {busy}.\n"


if __name__ == "__main__":
    main()
