"""Measure the lab as ratios within one run: threads, overhead, memory.

A grid of 10 policies x 5 worlds x 40 runs at T = 50,000 is played with one thread and with two.

- `speedup`: the time with one thread divided by the time with two.
- `overhead`: the share of a worker's time that is not spent in games (in `play`): finding work,
  building worlds, waiting, writing results.
- `outside_loops`: the share that is not spent in compiled loops, where policies play: the overhead,
  and other parts of a game: the world's rounds, its losses, outcome draws.
- `memory`: the peak of a process that plays the whole grid divided by that of one that plays an
  eighth of it (5 of the 40 runs).
- `pile`: the time to hand out a cell of 60,000 divided by that of 3,000.

Each measurement of the grid runs in a separate process, on a warm cache.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORLDS = [
    "geometric-btl:arms=10,rounds=50000,phases=4",
    "random-condorcet:arms=10,rounds=50000,phases=4",
    "total-order:arms=5,rounds=50000,phases=10",
    "seasonal:arms=5,rounds=50000",
    "utilities:arms=10,rounds=50000,phases=1",
]
POLICIES = [
    "uniform", "dts", "sw-dts:window=2000", "rucb", "rmed1", "rcs", "anaconda:constant=0.5",
    "self-sparring", "rex3", "wss",
]  # fmt: skip
RUNS = 40
AIMS = {"speedup": "at least 1.7", "overhead": "below 0.10", "memory": "near 1", "pile": "near 1"}


def measure(workers: int, runs: int) -> dict[str, float]:
    """Play the grid in a separate process; return wall time, time in loops, peak memory."""
    command = [sys.executable, "-m", "research.benchmarks.lab", "--child", str(workers), str(runs)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(answer.stdout))


def child(workers: int, runs: int) -> None:
    """Play and print the times."""
    from driftduel.lab import compare

    compare(POLICIES, WORLDS, runs=1, seed=1, workers=1)  # kernels are loaded, worlds are not kept
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        found = compare(POLICIES, WORLDS, runs=runs, workers=workers, out=folder)
        wall = time.perf_counter() - begun
        spent = found.store.rows(["seconds", "seconds_game"]).sum().row(0, named=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall": wall, **spent, "peak_mb": peak}))


def pile(count: int) -> float:
    """Return the seconds it takes to hand out a cell of so many, one by one."""
    from driftduel.lab import make_plan
    from driftduel.lab.running import Speeds, WorkQueue

    cell = next(make_plan(["two-arm:rounds=20"], ["uniform"]).cells())
    cells = WorkQueue([cell._replace(key=str(number)) for number in range(count)], Speeds())
    begun = time.perf_counter()
    while cells.take(0.0):
        pass
    return (time.perf_counter() - begun) / count


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="bench-lab.json")
    parser.add_argument("--child", nargs=2, type=int)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    small = measure(2, RUNS // 8)
    one, two = measure(1, RUNS), measure(2, RUNS)
    record = {
        "speedup": one["wall"] / two["wall"],
        "overhead": 1 - two["seconds_game"] / (2 * two["wall"]),
        "overhead_one_thread": 1 - one["seconds_game"] / one["wall"],
        "outside_loops": 1 - two["seconds"] / (2 * two["wall"]),
        "memory": two["peak_mb"] / small["peak_mb"],
        "pile": min(pile(60_000) for _ in range(3)) / min(pile(3_000) for _ in range(3)),
        "cells": len(WORLDS) * len(POLICIES) * RUNS,
        "seconds_one_thread": one["wall"],
        "seconds_two_threads": two["wall"],
        "peak_mb": two["peak_mb"],
    }
    for name, value in record.items():
        print(f"lab {name:<20} {value:10.2f}   {AIMS.get(name, '')}")
    Path(arguments.out).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
