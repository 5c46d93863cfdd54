"""Worlds by which `adaptive-logistic` is tuned, and others by which it is judged.

The test worlds and their seeds were written down before anything was tuned; they are played once,
by `research/benchmarks/requests.py`.
"""

__all__ = ["DEVELOPMENT", "MEMORIES", "RIVALS", "RUNS", "TEST", "seed_of"]

# Groups: changing and stationary worlds; `d1` ones are also compared with `king`.
TEST = {
    "piecewise": ("changing", "routing:arms=6,features=4,rounds=20000,phases=4"),
    "piecewise, often": ("changing", "routing:arms=10,features=3,rounds=20000,phases=9"),
    "many options": ("changing", "routing:arms=20,features=3,rounds=20000,phases=4"),
    "slow drift": ("changing", "routing:arms=5,features=5,rounds=20000,change=walk,rate=0.1"),
    "fast drift": ("changing", "routing:arms=6,features=3,rounds=20000,change=walk,rate=0.3"),
    "season": ("changing", "routing:arms=5,features=5,rounds=20000,change=season,phases=2"),
    "one option": ("changing", "routing:arms=6,features=4,rounds=30000,change=one,phases=7"),
    "burst": ("changing", "routing:arms=8,features=4,rounds=20000,change=burst,phases=7"),
    "categories": (
        "changing",
        "routing:arms=6,features=4,categories=4,spread=2,rounds=20000,phases=4",
    ),
    "categories, one option": (
        "changing",
        "routing:arms=5,features=6,categories=6,spread=2.4,rounds=30000,change=one,phases=6",
    ),
    "mixed": ("changing", "routing:arms=6,features=5,categories=3,rounds=20000,phases=4"),
    "no features": ("changing d1", "routing:arms=6,features=0,spread=1,rounds=20000,phases=4"),
    "no features, one option": (
        "changing d1",
        "routing:arms=8,features=0,spread=1,rounds=20000,change=one,phases=8",
    ),
    "d = 32": ("changing", "routing:arms=5,features=31,spread=8,rounds=20000,phases=3"),
    "late answers": ("changing", "routing:arms=6,features=4,rounds=20000,phases=4,delay=50"),
    "prices": (
        "changing",
        "routing:arms=4,features=4,rounds=20000,phases=4,prices=0+0.3+0.6+1",
    ),
    "stationary": ("stationary", "routing:arms=6,features=4,rounds=20000,phases=1"),
    "stationary, d = 16": ("stationary", "routing:arms=5,features=15,rounds=20000,phases=1"),
    "stationary, mixed": (
        "stationary",
        "routing:arms=6,features=5,categories=3,rounds=20000,phases=1",
    ),
    "stationary, categories": (
        "stationary",
        "routing:arms=6,features=4,categories=4,spread=2,rounds=20000,phases=1",
    ),
    "stationary, no features": (
        "stationary d1",
        "routing:arms=6,features=0,spread=1,rounds=20000,phases=1",
    ),
}

DEVELOPMENT = {
    "piecewise": ("changing", "routing:arms=5,features=3,rounds=20000,phases=5"),
    "slow drift": ("changing", "routing:arms=6,features=4,rounds=20000,change=walk,rate=0.12"),
    "season": ("changing", "routing:arms=4,features=4,rounds=20000,change=season,phases=3"),
    "one option": ("changing", "routing:arms=5,features=4,rounds=20000,change=one,phases=5"),
    "categories": (
        "changing",
        "routing:arms=5,features=3,categories=3,spread=1.7,rounds=20000,phases=4",
    ),
    "mixed": ("changing", "routing:arms=5,features=4,categories=2,rounds=20000,phases=3"),
    "no features": ("changing d1", "routing:arms=5,features=0,spread=1,rounds=20000,phases=5"),
    "stationary": ("stationary", "routing:arms=5,features=3,rounds=20000,phases=1"),
    "stationary, categories": (
        "stationary",
        "routing:arms=5,features=3,categories=3,spread=1.7,rounds=20000,phases=1",
    ),
    "stationary, no features": (
        "stationary d1",
        "routing:arms=5,features=0,spread=1,rounds=20000,phases=1",
    ),
}

RUNS = 20
MEMORIES = (300, 1_000, 3_000, 10_000, None)
"""The grid of memories; None: no forgetting."""
RIVALS = {
    "lin-ucb": (0.5, 1.0, 2.0),
    "lin-ts": (0.5, 1.0),
    "maxinp": (1.0, 2.0),
    "colstim": (0.5,),
}
"""The grid of widths of each rival."""


def seed_of(split: str, run: int) -> int:
    """Return the seed of a game."""
    return {"test": 4_100_000, "development": 0}[split] + run
