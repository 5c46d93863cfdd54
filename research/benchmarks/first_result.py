"""Measure the first result with an empty cache of compiled kernels; part of `make bench`.

For each policy: the CPU time of `driftduel play` on a short game of 10 arms, nearly all of which is
compilation. For `driftduel demo`: the time until its first result is printed, which is a wall time,
so the machine must be quiet. With another checkout (AGAINST=DIR) both are measured in turns.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from driftduel.cli.text import table
from research.places import ROOT

POLICIES = ("king", "dts", "anaconda")
WORLD = "geometric-btl:arms=10,rounds=1000"
TURNS = 3
_FIRST = "first result after"


def environment(checkout: Path, folder: str) -> dict[str, str]:
    """Return the environment of a process that runs the code of a checkout with an empty cache."""
    return {**os.environ, "PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": folder}


def cold_game(checkout: Path, policy: str) -> float:
    """Return the CPU time of a short game, of the process and of its children."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        subprocess.run(
            [sys.executable, "-m", "driftduel", "play", "--policy", policy, "--world", WORLD],
            env=environment(checkout, folder), check=True, capture_output=True,
        )  # fmt: skip
        after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def cold_demo(checkout: Path) -> float:
    """Return the time in seconds until the demo prints the result of its first game."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "driftduel", "demo", "--out", f"{folder}/demo"],
            env=environment(checkout, folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if _FIRST in line:
                    return time.monotonic() - begun
        finally:
            process.kill()
            process.wait()
            process.stderr.close()
    raise SystemExit(f"the demo of {checkout} printed no line with {_FIRST!r}.")


def main() -> None:
    """Measure, print the table, write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", type=Path, nargs="*", help="other checkouts of driftduel")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"the least of N counts ({TURNS})")
    parser.add_argument("--out", default="bench-first.json")
    arguments = parser.parse_args()
    checkouts = [*(path.resolve() for path in arguments.checkouts), ROOT]
    for checkout in checkouts:
        if not (checkout / "src" / "driftduel").is_dir():
            raise SystemExit(f"{checkout} is no checkout: it has no src/driftduel.")
    measures: dict[str, Callable[[Path], float]] = {
        f"play --policy {policy}, s of CPU": lambda checkout, p=policy: cold_game(checkout, p)
        for policy in POLICIES
    }
    measures["demo, s until its first result"] = cold_demo
    found: list[dict] = []
    for name, measure in measures.items():
        times: dict[str, list[float]] = {str(checkout): [] for checkout in checkouts}
        for _ in range(arguments.turns):
            for checkout in checkouts:
                times[str(checkout)].append(measure(checkout))
                print(".", end="", flush=True, file=sys.stderr)
        least = {checkout: round(min(each), 2) for checkout, each in times.items()}
        found.append({"name": name, "turns": arguments.turns, "seconds": least})
    print(file=sys.stderr)
    rows = [(each["name"], *(f"{s:.1f}" for s in each["seconds"].values())) for each in found]
    heads = [*(str(path) for path in arguments.checkouts), "here"]
    print(table(rows, ("empty cache", *heads), right="".join(map(str, range(1, len(heads) + 1)))))
    Path(arguments.out).write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
