"""How fast logs are read and fitted, as ratios of CPU time within one run.

- counting: `read_log` against a bare group-by of polars over the same columns of the same files,
  which is the usual program for it: by the words of a vote, by 256 stretches of time where
  there are times, and by the voter where votes depend on voters. Both take turns, with the same
  threads, and medians are compared;
- fitting: a fit to 10,000,000 rows against one to 100,000: it depends on options and bins only;
- many: a log with 100 options is fitted, and the ignored votes are reported;
- memory: the most that a process held while it counted 100,000,000 rows. Minutes, and 1.2 GB of
  disk, so only if asked for.

Logs are made on the fly, with times in order and pairs at random. The figures are written to
research/records/logs-speed.json and the tables in docs/research/benchmarks.md.

    python -m research.benchmarks.logs_speed [--only counting ...] [--page]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from driftduel.logs import Log, counts_from_votes, fit, read_log, votes_of
from driftduel.logs.descriptions import caveats
from driftduel.worlds import make_world
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "logs-speed.json"
PAGE = DOCS / "research" / "benchmarks.md"
OPTIONS = 8
CHUNK = 5_000_000
SESSION = 40  # votes of a voter
WORDS = ("first", "second", "winner")
SHAPES = {
    "first, second, winner": WORDS,
    "and time": (*WORDS, "time"),
    "and time, group": (*WORDS, "time", "voter"),
}
TURNS = 5


def chunks(rows: int, options: int = OPTIONS) -> Iterator[pl.DataFrame]:
    """Make a log a few million rows at a time, so that this takes little memory."""
    utilities = np.linspace(1, -1, options)
    names = pl.Series([f"model {i}" for i in range(options)])
    for begin in range(0, rows, CHUNK):
        size = min(CHUNK, rows - begin)
        rng = np.random.default_rng(begin)
        first = rng.integers(options, size=size)
        second = (first + 1 + rng.integers(options - 1, size=size)) % options
        row = np.arange(begin, begin + size)
        turn = np.where(row < rows / 2, 1, -1)  # best and worst change places in the middle
        p = 1 / (1 + np.exp(turn * (utilities[second] - utilities[first])))
        winner = np.where(rng.random(size) < p, first, second)
        votes = zip(WORDS, (first, second, winner), strict=True)
        frame = pl.DataFrame({name: names.gather(who) for name, who in votes})
        yield frame.with_columns(
            time=pl.Series(row // 3 + 1_600_000_000), voter=pl.Series(row // SESSION)
        )


def write_log(folder: Path, rows: int, kind: str = "parquet") -> list[Path]:
    """Write a log into files of a few million rows each."""
    files = []
    for number, frame in enumerate(chunks(rows)):
        files.append(folder / f"{rows}-{number}.{kind}")
        frame.write_csv(files[-1]) if kind == "csv" else frame.write_parquet(files[-1])
    return files


def bare(files: list[Path], columns: tuple[str, ...]) -> None:
    """Group by all columns, the times in 256 stretches, and nothing else."""
    rows = (pl.scan_csv if files[0].suffix == ".csv" else pl.scan_parquet)(files)
    keys: list[Any] = [name for name in columns if name != "time"]
    if "time" in columns:
        ends = pl.col("time").min().alias("low"), pl.col("time").max().alias("high")
        low, high = rows.select(ends).collect(engine="streaming").row(0)
        keys.append((pl.col("time") - low) // ((high - low) // 256 + 1))
    rows.group_by(keys).agg(pl.len()).collect(engine="streaming")


def ours(files: list[Path], columns: tuple[str, ...]) -> Log:
    """Read the same columns."""
    csv = files[0].suffix == ".csv"
    rows = pl.scan_csv(files, infer_schema=False) if csv else pl.scan_parquet(files)
    return read_log(rows.select(columns), group="voter" if "voter" in columns else None)


def cpu(*work: Callable[[], Any], turns: int = TURNS) -> list[float]:
    """Return the median CPU time of each, all threads of this process together, in seconds."""
    seconds: list[list[float]] = [[] for _ in work]
    for turn in range(turns + 1):
        for each, spent in zip(work, seconds, strict=True):
            begun = time.process_time()
            each()
            if turn:  # the first compiles, and warms up
                spent.append(time.process_time() - begun)
    return [median(spent) for spent in seconds]


def counting(folder: Path) -> list[dict[str, Any]]:
    """Compare counting with a bare group-by."""
    measured = []
    for kind in ("parquet", "csv"):
        for rows in (1_000_000, 10_000_000):
            files = write_log(folder, rows, kind)
            for shape, columns in SHAPES.items():
                one, other = cpu(partial(ours, files, columns), partial(bare, files, columns))
                measured.append({"file": kind, "rows": rows, "columns": shape,
                                 "seconds": round(one, 3), "bare": round(other, 3)})  # fmt: skip
                print(measured[-1], round(one / other, 2), flush=True)
            for file in files:
                file.unlink()
    return measured


def fitting(folder: Path, few: int = 100_000, many: int = 10_000_000) -> dict[str, float]:
    """Compare the fit of a long log with that of a short one, both already counted."""
    logs = [read_log(write_log(folder, rows)).counts for rows in (few, many)]

    def work(counts: Any) -> Callable[[], Any]:
        return lambda: (fitted := fit(counts)).now and fitted.changes

    short, long = cpu(*(work(counts) for counts in logs), turns=3)
    return {"few": few, "many": many, "short": round(short, 2), "long": round(long, 2)}


def many(_: Path, options: int = 100, guests: int = 5) -> dict[str, Any]:
    """Fit a log with 100 options, some of which come when half of it is over."""
    world = make_world(f"geometric-btl:arms={options},rounds=200000,phases=2,change=winner", seed=1)
    votes = votes_of(world, seed=1)
    late = np.maximum(votes["first"], votes["second"]) >= options - guests
    there = ~(late & (votes["time"] < world.rounds / 2))
    counts = counts_from_votes(**{name: column[there] for name, column in votes.items()})
    begun = time.process_time()
    found = fit(counts)
    changes = [change for change in found.changes if change.reported]
    seconds = time.process_time() - begun
    return {
        "options": counts.options,
        "votes": counts.votes,
        "fitted": len(found.names),
        "left out": list(found.left_out),
        "true changes": len(world.starts) - 1,
        "changes": len(changes),
        "seconds": round(seconds, 1),
        "said": caveats(found),
    }


def memory(folder: Path, rows: int = 100_000_000) -> dict[str, float]:
    """Count a very long log in a separate process; return its peak memory."""
    files = [str(path) for path in write_log(folder, rows)]
    # Its own high-water mark: rusage would return that of this process, from which it was forked.
    code = f"""
from driftduel.logs import read_log
assert read_log({files!r}).counts.votes == {rows}
print(next(x.split()[1] for x in open("/proc/self/status") if x.startswith("VmHWM")))"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"rows": rows, "bytes": 1024 * int(out.stdout),
            "seconds": round(used.ru_utime + used.ru_stime, 1)}  # fmt: skip


PARTS: dict[str, Callable[[Path], Any]] = {
    "counting": counting,
    "fitting": fitting,
    "many": many,
    "memory": memory,
}


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page."""
    counted = ["| file | rows | columns | `read_log`, s | bare group-by, s | ratio |",
               "|---|--:|---|--:|--:|--:|"]  # fmt: skip
    counted += [
        f"| {row['file']} | {row['rows']:,} | {row['columns']} | {row['seconds']:.2f} "
        f"| {row['bare']:.2f} | {row['seconds'] / row['bare']:.2f} |"
        for row in record["counting"]
    ]
    fits, hundred, held = (record[part] for part in ("fitting", "many", "memory"))
    rest = [
        "| what | measured |",
        "|---|---|",
        f"| fit of {fits['many']:,} votes against one of {fits['few']:,} | {fits['long']:.2f} s "
        f"against {fits['short']:.2f} s: {fits['long'] / fits['short']:.2f} times |",
        f"| {held['rows']:,} rows of Parquet | counted in {held['seconds']:.0f} s, with at most "
        f"{held['bytes'] / 1e6:.0f} MB |",
        f"| {hundred['options']} options, {len(hundred['left out'])} of which come late, and "
        f"{hundred['true changes']} change | {hundred['fitted']} fitted and the others named; "
        f"changes reported: {hundred['changes']}; {hundred['seconds']:.0f} s |",
    ]
    return {
        "speed-counting": "\n".join(counted) + "\n",
        "speed-rest": "\n".join(rest) + "\n",
    }


def main() -> None:
    """Measure, and write the results to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="all but memory")
    parser.add_argument("--page", action="store_true", help="only write the tables again")
    arguments = parser.parse_args()
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    wanted = arguments.only or [part for part in PARTS if part != "memory"]
    for part in [] if arguments.page else wanted:
        from research.stamps import played

        with (
            tempfile.TemporaryDirectory() as name,
            played(
                RECORD, pages=[page_name(PAGE)], part=part,
                command=f"python -m research.benchmarks.logs_speed --only {part}",
            ),
        ):  # fmt: skip
            record[part] = PARTS[part](Path(name))
            RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        print(f"{part}: {json.dumps(record[part])}", flush=True)
    if all(part in record for part in PARTS):
        PAGE.write_text(on_page(PAGE.read_text("utf-8"), tables(record)), "utf-8")


if __name__ == "__main__":
    main()
