"""Reproduce published numbers: a table of theirs, ours with a 95 % interval, and a verdict.

`make reproduce` takes some minutes; `--quick` runs few games and is what the tests call. What
misses its tolerance is reported as a miss, with a reason where we know one; nothing is tuned.
"""

import argparse
import json
import math
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from driftduel import play
from driftduel.cli.text import table
from driftduel.errors import WeakSpotWarning

LINEAR = "named:matrix=linear-order,rounds=20000"
GEOMETRIC = "geometric-btl:arms=10,rounds=50000,phases=4"
KOMIYAMA = "Komiyama et al. 2015 / authors' code"
PROGRAMS = "two C++ programs, 5 runs each"
SUK = "Suk and Agarwal 2023 / our earlier measurements"


@dataclass(frozen=True)
class Row:
    """One published number and how to get ours."""

    policy: str
    world: str
    published: tuple[float, ...]
    tolerance: float
    runs: int
    source: str
    note: str = ""
    ratio_to: str | None = None
    """Compare the ratio to this policy's regret instead of the regret."""
    benchmark: str = "condorcet"
    result: dict = field(default_factory=dict, compare=False)


def rows() -> list[Row]:
    """List everything that is reproduced."""
    listed = []
    # rmed1, rmed2, rmed2fh, rucb: published, authors' code
    stationary = {
        "six-rankers": ((265, 276), (309, 316), (328, 294), (563, 545)),
        "cyclic": ((70.5, 69.7), (14.0, 14.7), (18.7, 21.5), (94.5, 94.1)),
        "arithmetic": ((175, 171), (213, 212), (245, 250), (346, 358)),
    }
    for matrix, published in stationary.items():
        for policy, values in zip(("rmed1", "rmed2", "rmed2fh", "rucb"), published, strict=True):
            world = f"named:matrix={matrix},rounds=100000"
            listed.append(Row(policy, world, values, 0.10, 200, KOMIYAMA))
    linear = {
        "uniform": (3597, 3607), "dts": (96,), "rcs": (218,), "dts-plus": (128,), "ccb": (368,),
        "savage": (1699, 1875), "if": (2803, 3068), "sparring": (874, 891),
        "multisbm": (1908, 2014),
    }  # fmt: skip
    notes = {
        "dts-plus": "the figure is a mean of 5 runs of a program whose tie rule we know only from "
        "a note; ours loses less",
    }
    listed += [
        Row(policy, LINEAR, values, 0.20, 100, PROGRAMS, notes.get(policy, ""))
        for policy, values in linear.items()
    ]
    changing = {
        "uniform": (18685,), "dts": (4932,), "sw-dts:window=5000": (743,), "oracle-dts": (219,),
        "exp3s": (3942,), "public-anaconda": (5305, 5143, 5330),
    }  # fmt: skip
    for policy, values in changing.items():
        listed.append(
            Row(policy, GEOMETRIC, values, 0.01 if policy == "uniform" else 0.15, 100, SUK)
        )
    switching = "saha-gupta-switching:arms=10,rounds=1000000,phases=10"
    for policy, value in {"rex3": 43.3, "dex3p": 44.0, "dex3s": 32.9}.items():
        ratio = Row(
            policy, switching, (value / 146.0,), 0.30, 10, "Saha and Gupta 2022, ratio to random",
            "the instance and the regret notion are unpublished; this is Borda regret, in which "
            "uniform play matches the published figure but the learners do not: they seek the von "
            "Neumann winner; a best-response regret came nearer for two of the three in a few runs "
            "that this script does not make",
            ratio_to="uniform", benchmark="borda",
        )  # fmt: skip
        listed.append(ratio)
    return listed


def measure(row: Row, runs: int) -> dict:
    """Play a row's games; return the mean, its 95 % half width (t) and the verdict."""

    def totals(policy: str) -> np.ndarray:
        games = (play(policy, row.world, seed, benchmark=row.benchmark) for seed in range(runs))
        return np.array([game.total for game in games])

    values = totals(row.policy)
    if row.ratio_to is not None:
        values = values / totals(row.ratio_to)
    half = 1.96 * (1 + 1.2 / runs) * values.std(ddof=1) / math.sqrt(runs)
    mean = float(values.mean())
    low, high = min(row.published), max(row.published)
    inside = (1 - row.tolerance) * low <= mean <= (1 + row.tolerance) * high
    near = mean + half >= (1 - row.tolerance) * low and mean - half <= (1 + row.tolerance) * high
    verdict = "ok" if inside else "ok within its interval" if near else "MISS"
    return {"mean": mean, "half": float(half), "runs": runs, "verdict": verdict}


def main() -> int:
    """Measure every row and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few games, for the tests")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="rows whose policy or world has it"
    )
    parser.add_argument("--out", metavar="FILE", help="write the table as JSON")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", WeakSpotWarning)
    chosen = [row for row in rows() if arguments.only in f"{row.policy} {row.world}"]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(measure, r, max(3, r.runs // 20) if arguments.quick else r.runs)
            for r in chosen
        ]
        for row, job in zip(chosen, jobs, strict=True):
            row.result.update(job.result())
            print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    lines = []
    for row in chosen:
        digits = 3 if row.ratio_to else 1
        lines.append(
            (
                row.policy,
                row.world.partition(",rounds")[0].removeprefix("named:matrix="),
                " / ".join(f"{value:,.{digits}f}" for value in row.published),
                f"{row.result['mean']:,.{digits}f} +- {row.result['half']:,.{digits}f}",
                f"{row.result['runs']}",
                f"{row.tolerance:.0%}",
                row.result["verdict"],
            )
        )
    head = ("policy", "world", "published", "ours, 95 % interval", "runs", "within", "verdict")
    print(table(lines, head, right="2345"))
    misses = [row for row in chosen if row.result["verdict"] == "MISS"]
    for row in misses:
        print(f"\n{row.policy} on {row.world}: {row.note or 'no explanation yet'} ({row.source})")
    if arguments.out:
        records = [
            {
                "policy": r.policy,
                "world": r.world,
                "published": r.published,
                "source": r.source,
                **r.result,
            }
            for r in chosen
        ]
        Path(arguments.out).write_text(json.dumps(records, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
