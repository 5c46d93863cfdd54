"""Draw inputs: valid ones, nearly valid ones, and nonsense."""

import argparse
import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from driftduel.cli import COMMANDS, parser
from driftduel.policies import POLICIES, make_policy, save_policy
from driftduel.specs import Choice, Range
from driftduel.worlds import WORLDS

__all__ = ["SURFACES", "Input", "draw"]

# No slash: nothing may be written outside the folder that an input is given.
LETTERS = [*"abzKT019.,:=-+_{}[]()<>'\"#%&\\|*?! \t\n\r\0", "é", "٣", "\u202e", "\udcff", "😀"]
NUMBERS = [
    "0", "1", "2", "3", "-1", "-0.0", "0.5", "1.5", "1e9", "1e18", "1e19", "1e300", "1e400",
    "-1e400", "1e-320", "nan", "inf", "-inf", "1_0", "0x1F", "٣", "1e", "1.", ".", "1j", "true",
    "none", "", str(2**63 - 1), str(2**63), str(10**30), "9" * 400, "9" * 5000, "0." + "9" * 30,
]  # fmt: skip
WORDS = [
    "",
    " ",
    "none",
    "*",
    "[",
    "x",
    "é",
    "\udcff",
    "a\0b",
    "../x",
    "-",
    "--",
    "%s",
    "{x}",
    "x" * 300,
]
# Long before anything that is allowed, so that a game ends soon.
MOST_ROUNDS = 60


@dataclass
class Input:
    """Files by name, and what to do in their folder: a command line, or a call."""

    surface: str
    files: dict[str, bytes] = field(default_factory=dict)
    argv: list[str] = field(default_factory=list)
    call: str = ""
    """The name of a function of `judge`, instead of a command line."""


Rng = np.random.Generator


def draw(seed: int, number: int, only: str | None = None) -> Input:
    """Return an input, of one surface only if it is named; the same is always given the same."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    names = list(SURFACES)
    weights = np.array([weight for _, weight in SURFACES.values()], dtype=float)
    surface = names[rng.choice(len(names), p=weights / weights.sum())]
    surface = only or surface
    made = SURFACES[surface][0](rng)
    made.surface = surface
    return made


def pick(rng: Rng, things: Any) -> Any:
    things = list(things)
    return things[rng.integers(len(things))]


def mutated(rng: Rng, text: str) -> str:
    """Change a text in one to three places."""
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(text) + 1))
        end = min(len(text), place + int(rng.integers(1, 9)))
        numbers = list(re.finditer(r"-?\d[\d.]*(e\d+)?", text))
        match rng.integers(6):
            case 0:
                text = text[:place] + text[end:]
            case 1:
                text = text[:place] + pick(rng, LETTERS) + text[place:]
            case 2:
                text = text[:end] + text[place:]
            case 3 if numbers:
                found = pick(rng, numbers)
                text = text[: found.start()] + pick(rng, NUMBERS) + text[found.end() :]
            case 4:
                text = text[:place]
            case _:
                text = text[:place] + pick(rng, LETTERS) + text[place + 1 :]
    return text


def damaged(rng: Rng, content: bytes) -> bytes:
    """Change a few bytes of a file, or cut it, or repeat a part of it."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(data) + 1))
        match rng.integers(5):
            case 0:
                data = data[:place]
            case 1:
                data[place:place] = rng.bytes(int(rng.integers(1, 9)))
            case 2:
                data[place : place + 8] = bytes([255] * 8)
            case _:
                for at in rng.integers(max(1, len(data)), size=rng.integers(1, 9)):
                    data[at : at + 1] = rng.bytes(1)
    return bytes(data)


def value(rng: Rng, parameter: Any) -> str:
    """Return what a key may have, now and then what it may not."""
    if rng.random() < 0.08:
        return pick(rng, NUMBERS) if rng.random() < 0.7 else pick(rng, WORDS)
    allowed = parameter.allowed
    if isinstance(allowed, Choice):
        return pick(rng, allowed.words)
    if parameter.kind is bool:
        return pick(rng, ("true", "false"))
    if parameter.kind is str:
        return pick(rng, ("5+9", "+", "3", "m.csv"))
    low = allowed.low if isinstance(allowed, Range) and allowed.low > -1e9 else 0
    high = min(allowed.high, low + 8) if isinstance(allowed, Range) else 8
    if parameter.kind is int:
        most = MOST_ROUNDS if parameter.name in ("rounds", "horizon", "window", "period") else high
        return str(rng.integers(low, max(low, most) + 1))
    return repr(float(rng.choice([low, high, rng.uniform(low, high), rng.uniform(low, high)])))


def spec(rng: Rng, registry: Any, names: Any = None) -> str:
    """Return a spec: often sound, often with one thing wrong, at times nonsense."""
    entry = registry[pick(rng, names or [entry.name for entry in registry])]
    keys = [
        f"{parameter.name}={value(rng, parameter)}"
        for parameter in entry.parameters
        if rng.random() < (0.95 if parameter.required else 0.3)
        and not (
            parameter.name in ("horizon", "switches", "variation", "at") and rng.random() < 0.8
        )
    ]
    text = f"{entry.name}:{','.join(keys)}" if keys else entry.name
    return mutated(rng, text) if rng.random() < 0.25 else text


@cache
def plain_policies() -> tuple[str, ...]:
    """Return every policy, compositions of only a few."""
    inside = ("dts", "rucb")
    return tuple(
        entry.name for entry in POLICIES
        if not hasattr(entry.factory, "wrapper") or entry.name.endswith(inside)
        or "-" not in entry.name
    )  # fmt: skip


def world(rng: Rng) -> str:
    return spec(rng, WORLDS)


def policy(rng: Rng) -> str:
    if rng.random() < 0.03:
        return spec(rng, POLICIES)
    return spec(rng, POLICIES, plain_policies())


def worlds_by_spec(rng: Rng) -> Input:
    argv = ["measure", f"--world={world(rng)}"]
    argv += ["--json"] * (rng.random() < 0.6)
    argv += ["--save", "w.npz"] * (rng.random() < 0.1)
    return Input("", {"m.csv": MATRIX}, argv)


def games_by_spec(rng: Rng) -> Input:
    argv = ["play", f"--policy={policy(rng)}", f"--world={world(rng)}", f"--seed={rng.integers(9)}"]
    argv += ["--json"] * (rng.random() < 0.6)
    other = str(rng.choice(["borda", "von-neumann", "exploitability"]))
    argv += ["--benchmark", other] * (rng.random() < 0.4)
    return Input("", {"m.csv": MATRIX}, argv)


@cache
def options() -> dict[tuple[str, ...], list[Any]]:
    """Return the arguments of every command, and of every command within one."""
    found: dict[tuple[str, ...], list[Any]] = {}

    def walk(at: argparse.ArgumentParser, words: tuple[str, ...]) -> None:
        for action in at._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, below in action.choices.items():
                    walk(below, (*words, name))
                return
        found[words] = [action for action in at._actions if action.dest != "help"]

    walk(parser(), ())
    return found


# Sound ones would play for minutes, or serve until they are stopped: what makes them unsound.
ENDLESS = {
    ("study",): "--only=nothing",
    ("suite",): "--runs=0",
    ("demo",): "--runs=0",
    ("log", "demo"): "--seed=nothing",
    ("arena", "demo"): "--port=nothing",
    ("arena", "serve"): "--port=nothing",
}


def arguments(rng: Rng) -> Input:
    """Return a command line that may ask for anything, but for nothing that takes long."""
    command = pick(rng, COMMANDS)
    words = pick(rng, [words for words in options() if words[0] == command])
    argv = [*words]
    careful = rng.random() < 0.5
    for action in options()[words]:
        if rng.random() < (
            0.98 if careful and action.required else 0.9 if action.required else 0.25
        ):
            name = [pick(rng, action.option_strings)] if action.option_strings else []
            argv += name if action.nargs == 0 else [*name, _argument(rng, action, careful)]
    if words in ENDLESS:
        return Input("", {}, [*argv, ENDLESS[words]])
    for _ in range(0 if careful else rng.integers(3)):
        place = int(rng.integers(1, len(argv) + 1))
        match rng.integers(4):
            case 0:
                argv = argv[:place] + argv[place + 1 :]
            case 1:
                argv.insert(place, pick(rng, [*WORDS, *NUMBERS, "--json", "--help", "--out", "-x"]))
            case 2:
                argv[place - 1 : place] = [mutated(rng, argv[place - 1])]
            case _:
                argv += argv[place : place + 1]
    files = {"m.csv": MATRIX, "p.toml": PLAN.encode()}
    if command == "compare":
        argv += ["--runs=2"]
    if "dask" in argv or "processes" in argv:  # they start others, which takes a second each
        argv = [word for word in argv if word not in ("dask", "processes")]
    return Input("", files, argv)


def _argument(rng: Rng, action: Any, careful: bool) -> str:
    """Return something for an argument: right, or wrong in a way that people are."""
    chance = rng.random() * (5 if careful else 1)
    if chance < 0.12:
        return pick(rng, NUMBERS)
    if chance < 0.2 or (action.dest == "out" and chance < 0.5):
        return pick(rng, WORDS)
    if action.choices:
        return pick(rng, action.choices)
    if action.type is int:
        return str(rng.integers(1, 12))
    return {
        "world": lambda: world(rng),
        "policy": lambda: policy(rng),
        "file": lambda: "p.toml",
        "name": lambda: pick(rng, [*plain_policies(), *(entry.name for entry in WORLDS)]),
        "save": lambda: "w.npz",
        "out": lambda: pick(rng, ("o", "t.csv", "t.parquet", "o/o", "m.csv", "/dev/null")),
        "plot": lambda: pick(rng, ("w.svg", "w.txt", "o/w.png")),
        "imports": lambda: pick(rng, ("json", "nothing.py", "m.csv", "no.module", ".")),
        "cluster": lambda: pick(rng, ("nonsense", "tcp://", "tcp://x")),
        "only": lambda: pick(rng, ("*dts*", "uniform", "[", "nothing")),
        "shard": lambda: pick(rng, ("1/2", "2/2", "0/1", "3/2", "1/0", "a/b")),
        "folder": lambda: pick(rng, ("o", ".", "m.csv")),
        "trace": lambda: pick(rng, ("*", "uniform")),
    }.get(action.dest, lambda: pick(rng, WORDS))()


MATRIX = b"0.5,0.7,0.6\n0.3,0.5,0.55\n0.4,0.45,0.5\n"
PLAN = """worlds = ["two-arm:rounds=40", "geometric-btl:arms=3,rounds={T}"]
policies = ["uniform", "sw-dts:window={w}"]
runs = 1
seed = 3
points = 10
[parameters]
T = [20, 30]
w = [5]
"""


def plans(rng: Rng) -> Input:
    """Return a TOML plan with something wrong in it."""
    text = PLAN
    if rng.random() < 0.5:
        worlds = json.dumps([world(rng) for _ in range(rng.integers(1, 3))])
        policies = json.dumps([policy(rng) for _ in range(rng.integers(1, 3))])
        text = f"worlds = {worlds}\npolicies = {policies}\nruns = 1\nbenchmark = 'borda'\n"
    if rng.random() < 0.8:
        text = mutated(rng, text)
    if rng.random() < 0.05:
        text = f"worlds = {'[' * 3000}"
    content = text.encode("utf-8", "surrogateescape" if rng.random() < 0.5 else "replace")
    if rng.random() < 0.1:
        content = damaged(rng, content)
    argv = ["sweep", "p.toml", "--out", "o", "--engine", "threads", "--workers", "1"]
    return Input("", {"p.toml": content, "m.csv": MATRIX}, argv)


@cache
def saved_world() -> bytes:
    file = io.BytesIO()
    matrices = np.array([[[0.5, 0.7], [0.3, 0.5]], [[0.5, 0.2], [0.8, 0.5]]])
    np.savez(file, matrices=matrices, starts=[1, 9], rounds=30)
    return file.getvalue()


def world_files(rng: Rng) -> Input:
    """Return a file that was a world: bytes changed, or arrays that are none."""
    if rng.random() < 0.4:
        text = mutated(rng, MATRIX.decode())
        content = text.encode("utf-8", "surrogateescape")
        name = pick(rng, ("m.csv", "m.npz", "m"))
    elif rng.random() < 0.5:
        content, name = damaged(rng, saved_world()), "w.npz"
    else:
        content, name = _packed(rng), "w.npz"
    rounds = pick(rng, ("", ",rounds=30", ",rounds=30", f",rounds={pick(rng, NUMBERS)}"))
    argv = ["measure", f"--world=file:path={name}{rounds}", "--json"]
    return Input("", {name: content}, argv)


RANKINGS = {
    "v.soc": "3\n1,A\n2,B\n3,C\n9,9,2\n5,1,2,3\n4,3,1,2\n",
    "v.pwg": "3\n1,A\n2,B\n3,C\n9,9,3\n5,1,2\n2,3,1\n2,2,3\n",
    "v.toi": "# TITLE: x\n# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 9\n"
    "# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n# ALTERNATIVE NAME 3: C\n"
    "5: 1,{2,3}\n4: 3,1\n",
    "ranks.csv": "A,B,C,count\n1,2,3,5\n2,1,2,3\n,1,2,1\n",
    "orders.csv": "1,2,3\nA,B,C\nC,A,\n",
}


def ranking_files(rng: Rng) -> Input:
    """Return a file of rankings with a few changes."""
    name = pick(rng, RANKINGS)
    if rng.random() < 0.8:
        content = mutated(rng, RANKINGS[name]).encode("utf-8", "surrogateescape")
    else:
        content = damaged(rng, RANKINGS[name].encode())
    keys = pick(
        rng, ("", ",rounds=30", ",unseen=even", ",unranked=last", f",prior={pick(rng, NUMBERS)}")
    )
    return Input("", {name: content}, ["measure", f"--world=preflib:path={name}{keys}", "--json"])


def _packed(rng: Rng) -> bytes:
    """Return an NPZ file whose arrays have strange types, shapes and values."""
    kinds = [
        "f8",
        "f4",
        "f2",
        "i8",
        "i1",
        "u8",
        "?",
        "c16",
        "S3",
        "U2",
        "M8[s]",
        "m8[D]",
        "V4",
        ">f8",
    ]
    arrays: dict[str, Any] = {
        "matrices": np.array([[[0.5, 0.7], [0.3, 0.5]], [[0.5, 0.2], [0.8, 0.5]]]),
        "starts": np.array([1, 9]),
        "rounds": np.array(30),
    }
    for name in list(arrays):
        match rng.integers(7):
            case 0:
                del arrays[name]
            case 1:
                shape = tuple(rng.integers(0, 4, size=rng.integers(0, 5)))
                arrays[name] = np.zeros(shape, dtype=pick(rng, kinds))
            case 2:
                with np.errstate(all="ignore"):
                    arrays[name] = arrays[name].astype(pick(rng, ["f4", "f2", "i1", "U9", "c16"]))
            case 3:
                odd = arrays[name].astype(float)
                odd.flat[rng.integers(odd.size)] = float(
                    pick(rng, ("nan", "inf", "-1", "0", "1e300", "2.5", "1e19"))
                )
                arrays[name] = odd
    file = io.BytesIO()
    np.savez(file, **arrays, **({"more": [1]} if rng.random() < 0.1 else {}))
    return file.getvalue()


SAVED = ("uniform", "dts", "anaconda", "king", "vdb", "rmed1", "wss", "sw-dts:window=9", "mdb")


@cache
def saved_policy(name: str) -> bytes:
    import tempfile
    import warnings
    from pathlib import Path

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        made = make_policy(name, 3, 1, horizon=100, switches=2)
        for _ in range(5):
            duel = made.ask()
            made.tell(duel, duel.first)
        made.ask()
        save_policy(made, Path(folder) / "p.npz")
        return (Path(folder) / "p.npz").read_bytes()


def saved_policies(rng: Rng) -> Input:
    """Return a saved policy with damaged bytes, or with a header that was tampered with."""
    whole = saved_policy(pick(rng, SAVED))
    if rng.random() < 0.3:
        return Input("", {"p.npz": damaged(rng, whole)}, call="load_and_play")
    with np.load(io.BytesIO(whole)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if rng.random() < 0.7:
        text = str(arrays["header"][()])
        changed = mutated(rng, text) if rng.random() < 0.5 else _retyped(rng, text)
        arrays["header"] = np.array(changed)
    else:
        name = pick(rng, arrays)
        match rng.integers(3):
            case 0:
                del arrays[name]
            case 1:
                arrays[name] = arrays[name][..., None]
            case _:
                arrays[name] = np.zeros(rng.integers(0, 5), pick(rng, ["f8", "i8", "U3", "?"]))
    file = io.BytesIO()
    np.savez(file, **arrays)
    return Input("", {"p.npz": file.getvalue()}, call="load_and_play")


def _retyped(rng: Rng, text: str) -> str:
    """Put something else in the place of one value of a JSON text, at any depth."""
    record = json.loads(text)
    odd = (
        None,
        True,
        -1,
        0,
        1e308,
        10**30,
        "",
        "x",
        [],
        {},
        [[]],
        {"x": 1},
        float("nan"),
        "é" * 99,
    )
    spot, key = {"": record}, ""
    while True:
        inside = spot[key]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.3:
            break
        spot = inside
        key = pick(rng, inside if isinstance(inside, dict) else range(len(inside)))
    if spot is not None and key != "":
        spot[key] = odd[rng.integers(len(odd))]
    return json.dumps(record)


@cache
def sixth_duel() -> str:
    """Return the duel that `judge.tell_from_json` waits for."""
    policy = make_policy("dts", 3)
    return [policy.ask() for _ in range(6)][-1].to_json()


def duels(rng: Rng) -> Input:
    """Return the JSON of a duel with something wrong in it."""
    text = sixth_duel()
    text = mutated(rng, text) if rng.random() < 0.6 else _retyped(rng, text)
    return Input("", {"duel.json": text.encode("utf-8", "surrogatepass")}, call="tell_from_json")


def notes(rng: Rng) -> Input:
    """Return a study's note that was damaged."""
    seen = {"a": [1, 2, {"b": 0.5}]}
    digest = hashlib.sha256(json.dumps(seen).encode()).hexdigest()
    text = json.dumps({"version": "?", "size": "tiny", "digest": digest, "seen": seen})
    text = mutated(rng, text) if rng.random() < 0.5 else _retyped(rng, text)
    return Input("", {"note.json": text.encode("utf-8", "surrogatepass")}, call="read_note")


@cache
def store() -> dict[str, bytes]:
    """Return the files of a small store."""
    import tempfile
    from pathlib import Path

    from driftduel.lab import Store, make_plan
    from driftduel.lab.cells import run_cell

    plan = make_plan(["two-arm:rounds=20", "cycle:rounds=20"], ["uniform", "dts"], 2,
                     benchmark="borda", points=10)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made = Store.create(folder, plan, scratch=True)
        cells = list(plan.cells())
        for part in (cells[:3], cells[3:7]):
            made.add([run_cell(cell).row for cell in part])
        made.fail(cells[7], "it failed")
        root = Path(folder)
        files = [p for p in root.rglob("*") if p.is_file() and p.name != ".lock"]
        return {f"s/{p.relative_to(root)}": p.read_bytes() for p in files}


def stores(rng: Rng) -> Input:
    """Return a folder of results of which a file was tampered with, and a command that reads it."""
    files = dict(store())
    name = pick(rng, files)
    if rng.random() < 0.5:
        name = "s/plan.json"
    content = files.pop(name)
    if name.endswith(".json"):
        text = content.decode()
        text = mutated(rng, text) if rng.random() < 0.4 else _retyped(rng, text)
        files[name] = text.encode("utf-8", "surrogatepass")
    elif rng.random() < 0.3:
        files[name] = damaged(rng, content)
    else:
        content = _forged(rng, content)
        files[f"s/cells/{hashlib.sha256(content).hexdigest()}.parquet"] = content
    form = pick(rng, ([], ["--json"], ["--json"], ["--csv"], ["--latex"]))
    argv = ["table", "s", *form]
    if rng.random() < 0.01:
        argv = ["report", "s", "--no-figures"]
    elif rng.random() < 0.2:
        worlds = ["--world", "two-arm:rounds=20", "--world", "cycle:rounds=20"]
        argv = ["compare", *worlds, "--policy", "uniform", "--policy", "dts", "--runs", "2",
                "--benchmark", "borda", "--points", "10", "--out", "s", "--engine", "threads",
                "--workers", "1", *["--replan"] * int(rng.integers(2))]  # fmt: skip
    return Input("", files, argv)


def _forged(rng: Rng, content: bytes) -> bytes:
    """Return a Parquet file with columns that are foreign, retyped or hold what is no number."""
    import polars as pl

    frame = pl.read_parquet(io.BytesIO(content))
    column = pick(rng, frame.columns)
    kind = pick(rng, (pl.String, pl.Float64, pl.Int64, pl.Int8, pl.List(pl.Int64), pl.Boolean))
    odd = pick(rng, (None, float("nan"), float("inf"), -1, 0, "x", [1], [], 10**15))
    match rng.integers(6):
        case 0:
            frame = frame.drop(column)
        case 1:
            frame = frame.with_columns(pl.lit(odd).alias(column))
        case 2:
            frame = frame.with_columns(pl.lit(odd).alias("more"))
        case 3:
            try:
                frame = frame.with_columns(pl.col(column).cast(kind, strict=False))
            except pl.exceptions.PolarsError:
                frame = frame.head(0)
        case 4:
            same = frame.schema[column]
            if not isinstance(same, pl.List) and not isinstance(odd, list):
                frame = frame.with_columns(pl.lit(odd).cast(same, strict=False).alias(column))
        case _:
            frame = frame.with_columns(pl.col("^.*_curve$").list.head(int(rng.integers(3))))
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def broken_logs(rng: Rng) -> Input:
    """Return a log of comparisons, and a command that reads it."""
    from tests.fuzz.logs import logs

    return logs(rng)


def broken_requests(rng: Rng) -> Input:
    """Return requests to an arena's server."""
    from tests.fuzz.arena import requests

    return requests(rng)


SURFACES: dict[str, tuple[Callable[[Rng], Input], float]] = {
    "worlds": (worlds_by_spec, 22),
    "games": (games_by_spec, 22),
    "arguments": (arguments, 16),
    "plans": (plans, 6),
    "world files": (world_files, 12),
    "saved policies": (saved_policies, 8),
    "duels": (duels, 4),
    "notes": (notes, 3),
    "stores": (stores, 7),
    "logs": (broken_logs, 6),
    "arena": (broken_requests, 8),
    "rankings": (ranking_files, 6),
}
"""What is given inputs, and how often: what takes long more seldom."""
