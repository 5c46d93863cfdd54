"""Compare the speed of this checkout with that of another, in one run: `make bench AGAINST=DIR`.

Each checkout plays in a separate process, on command and in turns, on CPU time; the best of several
turns counts. Three tables: compiled games, every policy in the same world; single duels by ask and
tell; and, of this checkout alone, games in which all arms are always present, with and without an
array of presence. A ratio above 1 means that this checkout is slower.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from driftduel.cli.text import table
from driftduel.policies import POLICIES, make_policy
from research.places import ROOT

TURNS = 5
SECONDS = 0.4
LIVE = 20_000
GAMES, PRESENCE = 1.03, 1.05  # largest ratios that count as equally fast
SHORT, LONG = 20_000, 20_000_000
PLAYER = """
import json, sys, time, warnings
import numpy as np
from driftduel.games import play
from driftduel.policies import make_policy
from driftduel.worlds import make_world

warnings.simplefilter("ignore")

def world_of(rounds, present):
    world = make_world(f"utilities:arms=10,rounds={rounds},phases=5", seed=1)
    if not present:
        return world
    from driftduel.worlds import Piecewise
    here = np.ones(world.matrices.shape[:2], bool)
    return Piecewise(world.matrices, world.starts, rounds, present=here)

def game(spec, rounds, present=False):
    world = world_of(rounds, present)
    begun = time.process_time()
    play(spec, world, seed=1, points=2)
    return time.process_time() - begun

def duels(spec, rounds):
    policy = make_policy(spec, 10, 1, 10**6)
    draws = np.random.default_rng(2).integers(2, size=rounds).tolist()
    policy.tell(duel := policy.ask(), duel.first)
    begun = time.process_time()
    for won in draws:
        duel = policy.ask()
        policy.tell(duel, duel[won])
    return time.process_time() - begun

for line in sys.stdin:
    what, *arguments = json.loads(line)
    print(json.dumps({"game": game, "live": duels}[what](*arguments)), flush=True)
"""


class Player:
    """A process that plays with the package of a checkout, and returns the time."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLAYER],
            env={**os.environ, "PYTHONPATH": str(checkout / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *what: object) -> float:
        """Play, and return seconds of CPU time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"cannot play {what}: see above")
        return float(json.loads(answer))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def in_turns(one: Callable[[], float], other: Callable[[], float], turns: int) -> tuple:
    """Return the least time of each; the first one of a turn alternates."""
    times = [], []
    for turn in range(turns):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            times[which].append((one, other)[which]())
    return min(times[0]), min(times[1])


def fitting(player: Player, spec: str) -> int:
    """Return so many rounds that a game takes about half a second."""
    player("game", spec, 100)
    return round(min(LONG, max(SHORT, SHORT * SECONDS / max(player("game", spec, SHORT), 1e-6))))


def measured(name: str, rounds: int, before: float, now: float) -> dict:
    """Return a row as it is written down."""
    return {
        "name": name,
        "rounds": rounds,
        "ns_before": round(before / rounds * 1e9, 2),
        "ns_now": round(now / rounds * 1e9, 2),
        "ratio": round(now / before, 3),
    }


def show(title: str, records: list[dict], limit: float) -> None:
    """Print a table, and the rows above the limit."""
    rows = [
        (r["name"], f"{r['rounds']:,}", f"{r['ns_before']:,.1f}", f"{r['ns_now']:,.1f}", r["ratio"])
        for r in records
    ]
    print(f"\n{title}\n")
    print(table([(*row[:4], f"{row[4]:.3f}") for row in rows], _HEAD, right="1234"))
    slow = [r["name"] for r in records if r["ratio"] > limit]
    print(f"\nabove {limit}: {', '.join(slow) or 'none'}")


_HEAD = ("name", "rounds", "ns before", "ns now", "ratio")


def main() -> None:
    """Play, print the tables, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="another checkout of driftduel")
    parser.add_argument("--only", nargs="*", metavar="SPEC", help="these policies and no others")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--out", default="bench-against.json")
    arguments = parser.parse_args()
    if not (arguments.checkout / "src" / "driftduel").is_dir():
        raise SystemExit(f"{arguments.checkout} is no checkout: it has no src/driftduel.")
    before, now = Player(arguments.checkout.resolve()), Player(ROOT)
    found: dict[str, list[dict]] = {"games": [], "live": [], "presence": []}
    specs = arguments.only or [
        entry.name
        for entry in POLICIES
        if not hasattr(entry.factory, "wrapper") or entry.name.endswith("-dts")
    ]
    for spec in specs:
        before("game", spec, 100)
        rounds = fitting(now, spec)
        least = in_turns(
            lambda s=spec, r=rounds: before("game", s, r),
            lambda s=spec, r=rounds: now("game", s, r),
            arguments.turns,
        )
        found["games"].append(measured(spec, rounds, *least))
        if make_policy(spec, 10, horizon=SHORT, switches=4, at="2").kernels.change is not None:
            now("game", spec, 100, True)
            least = in_turns(
                lambda s=spec, r=rounds: now("game", s, r),
                lambda s=spec, r=rounds: now("game", s, r, True),
                arguments.turns,
            )
            found["presence"].append(measured(spec, rounds, *least))
        print(".", end="", flush=True, file=sys.stderr)
    for spec in ("king",):
        least = in_turns(
            lambda s=spec: before("live", s, LIVE), lambda s=spec: now("live", s, LIVE),
            arguments.turns,
        )  # fmt: skip
        found["live"].append(measured(spec, LIVE, *least))
    for player in (before, now):
        player.close()
    print(file=sys.stderr)
    show(f"compiled games, before: {arguments.checkout}", found["games"], GAMES)
    show("a duel by ask and tell", found["live"], 1.0)
    show(
        "this checkout, all arms present: without (before) and with an array",
        found["presence"],
        PRESENCE,
    )
    Path(arguments.out).write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
