"""Damage saved policies in every way one can think of, load them, and let them play on.

Run as a program, in a process of its own, because what is looked for ends it: a kernel that leaves
its arrays, or never comes back. Before every attempt it writes down what it is about to do.
"""

import argparse
import copy
import faulthandler
import io
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np

from driftduel.errors import DriftduelError, WeakSpotWarning
from driftduel.games.prior_knowledge import knowledge
from driftduel.policies import POLICIES, code_of, load_policy, make_policy, save_policy
from driftduel.worlds import make_world

ROUNDS = 50
HANGS = 300  # seconds after which one attempt, which takes milliseconds, will never end
NUMBERS = [
    -1, 0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 63, 64, 65, 66, 99, -2000, 10**6, 2**31, 2**53,
    2**60, 2**62, 2**63 - 1, -(2**63), 0.5, -0.5, 1e-9, 5e-324, 1e308, -1e308, -1e9,
    float("nan"), float("inf"), -float("inf"),
]  # fmt: skip
THINGS = [None, True, "", "x", [], {}, [[]], 10**30, 10**400, 1e400, *NUMBERS]
WORLD = "random-condorcet:arms={arms},rounds=400,phases=2,p_min=0.6"


def saved(spec, arms, rounds, folder):
    """Play some rounds, leave some duels open, and return what saving writes."""
    world = make_world(WORLD.format(arms=arms), seed=5)
    policy = make_policy(spec, arms, 3, **knowledge(spec, world))
    luck = np.random.default_rng(rounds)
    open_duels = []
    for t in range(rounds):
        if t == 30 and policy.can_change:
            policy.retire(arms - 1)
        if t == 90 and policy.can_change:
            policy.admit()
        open_duels.append(ask(policy, luck))
        while len(open_duels) > 4:
            duel = open_duels.pop(int(luck.integers(len(open_duels))))
            policy.tell_first_won(duel, result(duel, luck))
    save_policy(policy, Path(folder) / "p.npz")
    with np.load(Path(folder) / "p.npz") as archive:
        content = dict(archive)
    return json.loads(str(content.pop("header")[()])), content


def damage(header, content, rng):
    """Change something, and say what."""
    kind = rng.choice(["element", "elements", "array", "shape", "header", "duel", "parameter"],
                      p=[0.45, 0.15, 0.1, 0.05, 0.1, 0.1, 0.05])  # fmt: skip
    name = str(rng.choice(sorted(content))) if content else ""
    if kind in ("element", "elements") and content and content[name].size:
        for _ in range(1 if kind == "element" else int(rng.integers(2, 5))):
            change_element(content[name], rng)
    elif kind == "array" and content:
        value = cast(NUMBERS[rng.integers(len(NUMBERS))], content[name].dtype)
        content[name] = np.full_like(content[name], value)
    elif kind == "shape" and content:
        content[name] = reshaped(content, name, rng)
    elif kind == "duel" and header["pending"]:
        change_duel(header, rng)
    elif kind == "parameter" and header["parameters"]:
        name = str(rng.choice(sorted(header["parameters"])))
        header["parameters"][name] = THINGS[rng.integers(len(THINGS))]
        if rng.random() < 0.1:
            header["parameters"][name] = 10**12
    else:
        kind, name = "header", str(rng.choice(sorted(header)))
        header[name] = THINGS[rng.integers(len(THINGS))]
        if rng.random() < 0.1:
            header[name] = "[" * 100_000
    return f"{kind} of {name}"


def change_element(array, rng):
    """Put an extreme value, a neighbouring one, or another element of the array in its place."""
    flat = array.reshape(-1)
    i = int(rng.integers(len(flat)))
    choice = rng.random()
    if choice < 0.6:
        flat[i] = cast(NUMBERS[rng.integers(len(NUMBERS))], array.dtype)
    elif choice < 0.8 and array.dtype.kind != "b":
        flat[i] += rng.choice([-1, 1, 2, -2])
    else:
        flat[i] = flat[rng.integers(len(flat))]


def cast(number, dtype):
    """Turn a number into what an array can hold."""
    if dtype.kind == "f":
        return float(number)
    if not np.isfinite(number) or abs(number) > 2**63:
        number = -(2**63)
    return bool(number) if dtype.kind == "b" else min(int(number), 2**63 - 1)


def reshaped(content, name, rng):
    """Give an array another shape or type, or that of another field."""
    array = content[name]
    return [
        lambda: array[None],
        lambda: array.ravel()[:-1],
        lambda: array[..., :0],
        lambda: np.concatenate((array, array)),
        lambda: np.concatenate((array, array[:1])),
        lambda: array[:-1],
        array.T.copy,
        lambda: array.astype(np.float32),
        lambda: array.astype(np.int32),
        lambda: array.astype(str),
        lambda: np.zeros((0,) * array.ndim, array.dtype),
        lambda: content[str(rng.choice(sorted(content)))],
    ][rng.integers(12)]()


def change_duel(header, rng):
    """Change a duel that waits for its answer."""
    duel = header["pending"][rng.integers(len(header["pending"]))]
    place = int(rng.integers(len(duel)))
    if place > 2 and duel[place]:
        duel[place][rng.integers(len(duel[place]))] = THINGS[rng.integers(len(THINGS))]
    else:
        duel[place] = THINGS[rng.integers(len(THINGS))]


def ask(policy, rng):
    """Ask for a duel, with a request if the policy takes one."""
    features, one_hot = policy.request_shape
    if not features:
        return policy.ask()
    request = np.eye(features)[rng.integers(features)] if one_hot else rng.normal(size=features)
    return policy.ask(request)


def play_on(policy, rng):
    """Ask, tell and forget."""
    waiting = list(policy.ledger.open.values())
    for _ in range(ROUNDS):
        duel = ask(policy, rng)
        assert {*duel.shown} <= {*policy.present}
        waiting.append(duel)
        while len(waiting) > 3:
            duel = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                policy.forget(duel)
            else:
                policy.tell_first_won(duel, result(duel, rng))


def result(duel, rng):
    """Return a result of a duel, or of a slate the code of a pick or of a ranking."""
    if not duel.others:
        return int(rng.random() < 0.5 + 0.3 * (duel.first < duel.second))
    places = rng.permutation(len(duel.shown)).tolist()
    return code_of(places[: int(rng.integers(1, len(places) + 1))])


def main():
    """Try so many damages of each policy; print how many were refused and how many played on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("specs", nargs="*")
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--log", help="a file that says what is being tried")
    options = parser.parse_args()
    warnings.simplefilter("ignore", WeakSpotWarning)
    warnings.simplefilter("ignore", RuntimeWarning)  # without the compiler numpy says inf and NaN
    specs = options.specs or [entry.name for entry in POLICIES]
    counts = {"refused": 0, "played": 0}
    wrong = []
    with (
        tempfile.TemporaryDirectory() as folder,
        open(options.log or Path(folder) / "log", "w") as log,
    ):
        sources = {}
        for number in range(options.first, options.first + options.states):
            spec = specs[number % len(specs)]
            rng = np.random.default_rng(number)
            arms, rounds = int(rng.choice([2, 4, 5])), int(rng.choice([0, 7, 60, 200]))
            key = (spec, arms, rounds)
            if key not in sources:
                sources[key] = saved(*key, folder)
            header, content = copy.deepcopy(sources[key])
            what = f"state {number}: {spec}, arms {arms}, rounds {rounds}: "
            what += damage(header, content, rng)
            log.seek(0)
            log.write(f"{what}\n")
            log.truncate()
            log.flush()
            packed = io.BytesIO()
            np.savez(packed, header=np.array(json.dumps(header)), **content)
            path = Path(folder) / "damaged.npz"
            path.write_bytes(packed.getvalue())
            faulthandler.dump_traceback_later(HANGS, exit=True)
            try:
                try:
                    policy = load_policy(path)
                except DriftduelError as error:
                    if "\n" in str(error) or len(str(error)) > 700:
                        raise AssertionError("this is not one sentence") from error
                    counts["refused"] += 1
                else:
                    play_on(policy, rng)
                    counts["played"] += 1
            except Exception as error:
                wrong.append(f"{what}: {error!r:.300}")
                print(wrong[-1], flush=True)
            finally:
                faulthandler.cancel_dump_traceback_later()
    print(counts)
    raise SystemExit(len(wrong) > 0)


if __name__ == "__main__":
    main()
