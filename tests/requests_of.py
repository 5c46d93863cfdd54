"""Requests for tests: valid ones, and broken ones of every kind."""

import random
import string
from typing import Any

FEATURES = ["category=chat,code,Übung", "length:number:100:50"]
_NAMES = [
    "category",
    "length",
    "__proto__",
    "constructor",
    "",
    "Category",
    "length ",
    "\x00",
    "a.b",
]
_WORDS = [
    "chat",
    "code",
    "Übung",
    "CHAT",
    "",
    "<script>",
    "\ud800",
    "\u2028",
    "chat\n",
    "x" * 10_000,
]


def valid(rng: random.Random) -> dict[str, Any]:
    """Return a valid request."""
    length = rng.choice([rng.gauss(100, 50), 3, -0.0, 1e300, -1e308, 5e-324])
    return {"category": rng.choice(["chat", "code", "Übung"]), "length": length}


def broken(rng: random.Random) -> Any:
    """Return a request with at least one fault."""
    match rng.randrange(4):
        case 0:
            return anything(rng, 3) if rng.random() < 0.9 else deep()
        case 1:
            request = valid(rng)
            del request[rng.choice(list(request))]
            return request
        case 2:
            name = rng.choice([*_NAMES[2:], "".join(rng.choices(string.printable, k=5))])
            return valid(rng) | {name: anything(rng, 2)}
    faults: dict[str, Any] = {
        "category": rng.choice([*_WORDS[3:], 1, None, True, ["chat"], {"chat": 1}, 0.5]),
        "length": rng.choice(
            [
                "1",
                "",
                None,
                True,
                [1],
                {},
                float("nan"),
                float("inf"),
                -float("inf"),
                10**400,
                "NaN",
            ]
        ),
    }
    name = rng.choice(list(faults))
    return valid(rng) | {name: faults[name]}


def anything(rng: random.Random, depth: int) -> Any:
    """Return any value; an object has no complete set of features."""
    match rng.randrange(9 if depth else 7):
        case 0:
            return rng.choice(_WORDS)
        case 1:
            return rng.choice([0, -1, 2**63, 10**30, 10**5000])
        case 2:
            return rng.choice([0.0, float("nan"), float("inf"), 1e308])
        case 3:
            return rng.random() < 0.5
        case 4:
            return b"bytes"
        case 5:
            return ()
        case 6:
            return object
        case 7:
            return [anything(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(_NAMES[1:]): anything(rng, depth - 1) for _ in range(rng.randrange(3))}


def deep(levels: int = 400) -> Any:
    """Return a deeply nested value."""
    value: Any = {}
    for _ in range(levels):
        value = {"category": [value]}
    return value
