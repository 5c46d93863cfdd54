"""How fast logs are read and fitted, as ratios within one run of CPU time.

- counting: `read_log` of Parquet files against a bare group-by of polars on the same files and
  columns, in 256 stretches of time, which is what one would write by hand; and against one that
  does not look at the times;
- fitting: the time of a fit to 10,000,000 rows against that to 100,000: it depends on options and
  bins only;
- many: a log with 100 options is fitted;
- memory (`--rows 1e8`, not part of `make bench-logs`): the most that a process held while it
  counted that many rows.

Logs are made on the fly, with times in order and pairs at random.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from driftduel.logs import fit, read_log
from driftduel.logs.simulate import simulate
from driftduel.worlds import make_world

OPTIONS = 8
CHUNK = 5_000_000
TARGETS = {"counting": 1.5, "fitting": 1.3}


def write_log(folder: Path, rows: int, options: int = OPTIONS) -> list[Path]:
    """Write a log into files of a few million rows each, so that this takes little memory."""
    utilities = np.linspace(1, -1, options)
    names = pl.Series([f"model {i}" for i in range(options)])
    files = []
    for begin in range(0, rows, CHUNK):
        size = min(CHUNK, rows - begin)
        rng = np.random.default_rng(begin)
        first = rng.integers(options, size=size)
        second = (first + 1 + rng.integers(options - 1, size=size)) % options
        # The best and the worst change places in the middle.
        turn = np.where(np.arange(begin, begin + size) < rows / 2, 1, -1)
        p = 1 / (1 + np.exp(turn * (utilities[second] - utilities[first])))
        votes = {"first": first, "second": second}
        votes["winner"] = np.where(rng.random(size) < p, first, second)
        frame = pl.DataFrame({name: names.gather(who) for name, who in votes.items()})
        seconds = np.arange(begin, begin + size) // 3 + 1_600_000_000
        files.append(folder / f"{rows}-{begin}.parquet")
        frame.with_columns(time=seconds).write_parquet(files[-1])
    return files


def bare(files: list[Path], *, binned: bool) -> None:
    """Group by what a vote says, and by 256 stretches of time if asked for, and nothing else."""
    rows = pl.scan_parquet(files)
    keys: list[Any] = ["first", "second", "winner"]
    if binned:
        low, high = (
            rows.select(pl.col("time").min(), pl.col("time").max().alias("high")).collect().row(0)
        )
        keys.append((pl.col("time") - low) // ((high - low) // 256 + 1))
    rows.group_by(keys).agg(pl.len()).collect(engine="streaming")


def cpu(work: Callable[[], Any], times: int = 3) -> float:
    """Return the median CPU time of this process, all its threads together, in seconds."""
    seconds = []
    for _ in range(times):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return median(seconds)


def counting(folder: Path, rows: int) -> dict[str, float]:
    """Compare counting with a bare group-by."""
    files = write_log(folder, rows)
    bare(files, binned=True)
    ours = cpu(lambda: read_log(files))
    binned, least = (cpu(lambda b=b: bare(files, binned=b)) for b in (True, False))
    return {
        "rows": rows,
        "seconds": ours,
        "ratio": ours / binned,
        "ratio_without_times": ours / least,
    }


def fitting(folder: Path, few: int, many: int) -> dict[str, float]:
    """Compare the fit of a long log with that of a short one, both already counted."""
    logs = [read_log(write_log(folder, rows)).counts for rows in (few, many)]

    def work(counts: Any) -> Callable[[], Any]:
        return lambda: (fitted := fit(counts)).now and fitted.changes

    work(logs[0])()  # compiles
    short, long = (cpu(work(counts)) for counts in logs)
    return {"few": few, "many": many, "seconds": long, "ratio": long / short}


def hundred() -> dict[str, float]:
    """Fit a log with 100 options."""
    world = make_world("geometric-btl:arms=100,rounds=200000,phases=2,change=winner", seed=1)
    counts = simulate(world, seed=1)
    begun = time.process_time()
    found = fit(counts)
    changes = [change for change in found.changes if change.reported]
    return {
        "options": counts.options,
        "fitted": len(found.names),
        "changes": len(changes),
        "seconds": time.process_time() - begun,
    }


def memory(folder: Path, rows: int) -> dict[str, float]:
    """Count a very long log in a process of its own, and see how much it held at most."""
    files = [str(path) for path in write_log(folder, rows)]
    code = f"from driftduel.logs import read_log; print(read_log({files!r}).counts.votes)"
    subprocess.run([sys.executable, "-c", code], check=True)
    held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {"rows": rows, "bytes": held}


def main() -> None:
    """Measure, and print what came out as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, help="only: the memory for so many rows")
    parser.add_argument("--only", choices=("counting", "fitting", "many"), action="append")
    parser.add_argument("--out", type=Path, help="write the numbers here too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], dict[str, float]]] = {
            "counting": lambda: counting(folder, 10_000_000),
            "fitting": lambda: fitting(folder, 100_000, 10_000_000),
            "many": hundred,
        }
        if arguments.rows:
            parts = {"memory": lambda: memory(folder, int(arguments.rows))}
        wanted = arguments.only or list(parts)
        numbers = {}
        for part in wanted:
            numbers[part] = parts[part]()
            target = f" (target {TARGETS[part]})" if part in TARGETS else ""
            print(f"{part}: {json.dumps(numbers[part])}{target}", flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
