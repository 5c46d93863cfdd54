"""Measure the speed of `dts` and `rucb` over worlds, at the size at which others were measured.

Speed depends on the world: DTS draws few samples once the game is settled, and many while it is
open. Rounds per CPU second of whole games with 10 arms and 20,000 rounds, compilation aside, the
best of fifteen; `research/benchmarks/run.py` has the speeds of other libraries at this size.

`make dts-speed` writes research/records/dts-speed.json; README.md quotes the lowest and
the highest.
"""

import json
import platform
import time
from typing import Any

from research.places import RECORDS

RECORD = RECORDS / "dts-speed.json"
POLICIES = ("dts", "rucb")
ROUNDS = 20_000
REPEATS = 15
WORLDS = tuple(
    f"{world},rounds={ROUNDS}"
    for world in (
        "geometric-btl:arms=10,phases=1",
        "geometric-btl:arms=10,phases=4",
        "geometric-btl:arms=10,phases=4,change=winner",
        "random-condorcet:arms=10,phases=4,p_min=0.6",
        "total-order:arms=10,phases=4,p=0.6",
        "lone-winner:arms=10,phases=4,eps=0.1",
        "utilities:arms=10,phases=4",
        "seasonal:arms=10",
        "random-walk:arms=10",
    )
)


def rounds_per_second(policy: str, spec: str) -> float:
    """Return the rounds per CPU second of one game."""
    from driftduel import make_world, play

    world = make_world(spec, seed=1)
    play(policy, world, seed=1)  # compiles
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        play(policy, world, seed=1)
        times.append(time.process_time() - begun)
    return world.rounds / min(times)


def measure() -> dict[str, Any]:
    """Measure all policies in all worlds."""
    speeds = {
        policy: {world: round(rounds_per_second(policy, world), -4) for world in WORLDS}
        for policy in POLICIES
    }
    return {"machine": platform.machine(), "repeats": REPEATS, "rounds_per_second": speeds}


def in_words(record: dict[str, Any], policy: str) -> str:
    """Write the lowest and the highest speed of a policy.

    >>> in_words({"rounds_per_second": {"dts": {"a": 1_240_000.0, "b": 5_980_000.0}}}, "dts")
    '1.2 to 6.0 million'
    """
    speeds = record["rounds_per_second"][policy].values()
    return f"{min(speeds) / 1e6:.1f} to {max(speeds) / 1e6:.1f} million"


def main() -> None:
    """Measure, write, print."""
    from research.stamps import played

    # No page of the site shows the record; README.md does.
    with played(RECORD, pages=[], command="make dts-speed", policies=POLICIES, worlds=WORLDS):
        record = measure()
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(json.dumps(record, indent=1))
    for policy in POLICIES:
        print(f"{policy}: {in_words(record, policy)} rounds/s")


if __name__ == "__main__":
    main()
