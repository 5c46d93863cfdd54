"""Measure speed as ratios within one run; machines are shared and noisy, so times are no tests.

`make bench` prints a table and writes bench.json: a list of records with name, arms, rounds,
ns_per_round, ratio_to_bare and peak_mb; for policies also fold_ratio, the cost of
replaying a vote of a log, in rounds of a game. The bare loop draws two arms and an outcome with
numpy's generator in compiled code and adds the regret, and does nothing else.
"""

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from driftduel._internal.kernel_random import address_of
from driftduel.cli.text import table
from driftduel.errors import WeakSpotWarning
from driftduel.games import play, streams, trace
from driftduel.games.prior_knowledge import knowledge
from driftduel.policies import KINDS, POLICIES, EventLog, fold, kernel, make_policy, uniform
from driftduel.worlds import make_world
from research.policies import registered

REPEATS = 5
SPEC = "anaconda:constant=0.5"
HEAD = ("name", "arms", "rounds", "ns/round", "x bare", "peak MB", "rounds/s", "fold", "others")
# Rounds per CPU-second of what else there is, on this class of machine at K = 10, T = 20,000.
OTHERS = {
    "rmed1": ("C++", 277_000),
    "rucb": ("C++", 471_000),
    "btm": ("C++", 1_043_000),
    "wss": ("duelpy", 125_600),
    "wsw": ("duelpy", 6_130),
    "rcs": ("duelpy", 3_010),
    "dts": ("duelpy", 1_020),
    "public-anaconda": ("the Julia original", 50_000 / 8.5),
}
WORLD = "utilities:arms={arms},rounds={rounds},phases=5"


@kernel
def bare(matrices, starts, end, losses, policy_rng, outcome_rng, sums):
    """Draw two arms, draw the outcome, add the regret."""
    arms = matrices.shape[1]
    for phase in range(len(starts)):
        last = starts[phase + 1] if phase + 1 < len(starts) else end
        for _ in range(starts[phase], last):
            a = int(uniform(policy_rng) * arms)
            b = int(uniform(policy_rng) * arms)
            won = uniform(outcome_rng) < matrices[phase, a, b]
            sums[0] += 0.5 * (losses[phase, a] + losses[phase, b])
            sums[1] += won


def time_bare(arms: int, rounds: int) -> float:
    """Return nanoseconds a round of the bare loop."""
    world = make_world(WORLD.format(arms=arms, rounds=rounds), seed=1)
    winners = [winner for _, winner in world.condorcet_winners()]
    losses = np.stack([m[w] - 0.5 for m, w in zip(world.matrices, winners, strict=True)])
    generators = [np.random.default_rng(seed) for seed in (1, 2)]
    addresses = [address_of(generator) for generator in generators]
    sums = np.zeros(2)
    bare(world.matrices, world.starts, 2, losses, *addresses, sums)
    begun = time.process_time()
    bare(world.matrices, world.starts, rounds + 1, losses, *addresses, sums)
    return (time.process_time() - begun) / rounds * 1e9


def time_policy(spec: str, arms: int, rounds: int, mode: str = "serve") -> float:
    """Return nanoseconds a round of a policy, compilation aside, all else included."""
    world = WORLD.format(arms=arms, rounds=rounds)
    play(spec, WORLD.format(arms=arms, rounds=100), seed=1, mode=mode)
    begun = time.process_time()
    play(spec, world, seed=1, mode=mode)
    return (time.process_time() - begun) / rounds * 1e9


def time_ask_tell(spec: str, arms: int, rounds: int, mode: str = "serve") -> float:
    """Return nanoseconds a duel by ask and tell in Python."""
    policy = make_policy(spec, arms, 1, rounds, mode=mode)
    won = np.random.default_rng(2).integers(2, size=rounds).tolist()
    policy.tell(duel := policy.ask(), duel.first)
    begun = time.process_time()
    for outcome in won:
        policy.tell_first_won(policy.ask(), outcome)
    return (time.process_time() - begun) / rounds * 1e9


def time_requests(rounds: int) -> float:
    """Return nanoseconds a duel by ask and tell with a request, 64 coefficients."""
    policy = make_policy("adaptive-logistic", 8, 1, features=7)
    rng = np.random.default_rng(2)
    requests = rng.normal(size=(rounds, 7)).tolist()
    won = rng.integers(2, size=rounds).tolist()
    policy.tell(duel := policy.ask(requests[0]), duel.first)
    begun = time.process_time()
    for request, outcome in zip(requests, won, strict=True):
        policy.tell_first_won(policy.ask(request), outcome)
    return (time.process_time() - begun) / rounds * 1e9


def time_fold(name: str) -> float:
    """Return nanoseconds per vote, with its duel, of replaying the log of such a game."""
    world = make_world("geometric-btl:arms=10,rounds=20000,phases=4", seed=1)
    game = trace(name, world, seed=1)
    votes = np.arange(1, len(game) + 1)
    kinds = np.tile([KINDS.index("asked"), KINDS.index("decided")], len(game))
    columns = (np.repeat(each, 2) for each in (votes, game.first, game.second, game.first_won))
    log = EventLog.from_columns(kinds, *columns)
    fresh = make_policy(name, world.arms, streams(1)[2], **knowledge(name, world))
    fold(fresh, EventLog(log[event] for event in range(2)))
    begun = time.process_time()
    fold(fresh, log)
    return (time.process_time() - begun) / len(game) * 1e9


def rivals() -> list[str]:
    """Name the policies to time: all, and the compositions around DTS."""
    return [
        entry.name
        for entry in POLICIES
        if not hasattr(entry.factory, "wrapper") or entry.name.endswith("-dts")
    ]


def time_rival(name: str) -> float:
    """Return nanoseconds a round at the size other libraries were measured at."""
    world = make_world("geometric-btl:arms=10,rounds=20000,phases=4", seed=1)
    play(name, make_world("geometric-btl:arms=10,rounds=100,phases=4"), seed=1)
    return 1e9 / play(name, world, seed=1).rounds_per_second


PEAK = """
from pathlib import Path
from driftduel.errors import WeakSpotWarning
from driftduel.games import play
def memory(key):
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith(key))
    return int(line.split()[1]) / 1024
play("{spec}", "{small}", seed=1)
Path("/proc/self/clear_refs").write_text("5")  # forget the peak of importing and compiling
before = memory("VmRSS")
play("{spec}", "{world}", seed=1)
print(memory("VmHWM") - before)
"""


def peak_mb(spec: str, arms: int, rounds: int) -> float:
    """Return the memory a game takes beyond the interpreter and the compiled code, in MB."""
    code = PEAK.format(
        spec=spec,
        small=WORLD.format(arms=arms, rounds=100),
        world=WORLD.format(arms=arms, rounds=rounds),
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def record(name: str, arms: int, rounds: int, measure, *, spec: str | None = SPEC) -> dict:
    """Measure something and the bare loop in turns, and keep the best of each."""
    times, bares = [], []
    for _ in range(REPEATS if rounds < 10**8 else 1):
        gc.collect()
        bares.append(time_bare(arms, min(rounds, 2_000_000)))
        times.append(measure())
    return {
        "name": name,
        "arms": arms,
        "rounds": rounds,
        "ns_per_round": round(min(times), 2),
        "ratio_to_bare": round(min(times) / min(bares), 3),
        "peak_mb": None if spec is None else round(peak_mb(spec, arms, rounds), 1),
    }


def main() -> None:
    """Run all benchmarks, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="bench.json")
    parser.add_argument("--quick", action="store_true", help="shorter games, for trying things")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", WeakSpotWarning)
    scale = 100 if arguments.quick else 1
    records = [record("bare", 10, 10**7 // scale, lambda: time_bare(10, 10**7 // scale), spec=None)]
    for arms, rounds in (
        *((arms, 10**7 // scale) for arms in (2, 5, 10, 20, 50)),
        (10, 10**5),
        (5, 10**8 // scale),
    ):
        name = "anaconda"
        records.append(record(name, arms, rounds, lambda a=arms, r=rounds: time_policy(SPEC, a, r)))
        print(".", end="", flush=True, file=sys.stderr)
    for spec in ("anaconda:constant=1", "anaconda:rule=freedman", f"{SPEC},estimate=symmetric"):
        rounds = 10**7 // scale
        measured = record(
            spec, 10, rounds, lambda s=spec, r=rounds: time_policy(s, 10, r), spec=spec
        )
        records.append(measured)
    rounds = 20_000
    ask_tell = record(
        "ask and tell", 10, rounds, lambda: time_ask_tell(SPEC, 10, rounds), spec=None
    )
    records.append(ask_tell)
    records.append(
        record("requests, ask and tell, D = 64", 8, 2_000, lambda: time_requests(2_000), spec=None)
    )
    panels = (("king in panels", time_policy), ("king in panels, ask and tell", time_ask_tell))
    for name, measure in panels:
        rounds = 20_000 if measure is time_ask_tell else 2 * 10**6 // scale
        records.append(
            record(name, 10, rounds, lambda m=measure, r=rounds: m("king", 10, r, "panel"),
                   spec=None)
        )  # fmt: skip
    for name in rivals():
        rival = record(name, 10, 20_000, lambda n=name: time_rival(n), spec=None)
        rival["rounds_per_second"] = round(1e9 / rival["ns_per_round"])
        rival["fold_ratio"] = round(time_fold(name) / rival["ns_per_round"], 2)
        if name in OTHERS:
            rival["times_other"] = round(rival["rounds_per_second"] / OTHERS[name][1], 1)
            rival["other"] = OTHERS[name][0]
        records.append(rival)
        print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    rows = [
        (
            r["name"],
            f"{r['arms']}",
            f"{r['rounds']:,}",
            f"{r['ns_per_round']:,.1f}",
            f"{r['ratio_to_bare']:.2f}",
            "" if r["peak_mb"] is None else f"{r['peak_mb']:.1f}",
            f"{1e9 / r['ns_per_round']:,.0f}",
            f"{r['fold_ratio']:.1f}" if "fold_ratio" in r else "",
            f"{r['times_other']:,.0f} x {r['other']}" if "times_other" in r else "",
        )
        for r in records
    ]
    print(table(rows, HEAD, right="1234567"))
    by_size = {
        (r["arms"], r["rounds"]): r["ns_per_round"] for r in records if r["name"] == "anaconda"
    }
    if not arguments.quick:
        growth = by_size[10, 10**7] / by_size[10, 10**5]
        print(f"\nper-round cost at T=1e7 is {growth:.2f} times that at T=1e5 (K=10)")
    Path(arguments.out).write_text(json.dumps(records, indent=2) + "\n", "utf-8")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    with registered():
        main()
