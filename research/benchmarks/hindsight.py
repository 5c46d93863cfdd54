"""Play the suite's rivals of `king` at several settings, and score each at its best one per world.

The suite plays every rival at one setting. Here each rival has those of `driftduel.suite.SETTINGS`,
and the one with the lowest mean regret is chosen per world, in hindsight: no user of the rival
could have chosen it beforehand. The choice uses the same runs as the score, which favours the
rival. `king` has no setting.

`make hindsight` writes research/records/hindsight.json and the table in docs/research/king.md;
about half an hour.
"""

import math
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "hindsight.json"
PAGE = DOCS / "research" / "king.md"
TABLE = "hindsight"
RUNS = 8
SPLIT = "test"


def measure() -> dict[str, Any]:
    """Play all settings on the changing worlds of a split, except for cells played before."""
    from driftduel.lab import compare
    from driftduel.suite import SETTINGS, read_split
    from driftduel.suite.scoring import ratio_interval

    split = read_split(SPLIT)
    specs = [spec for settings in SETTINGS.values() for spec in settings]
    kept = Path(os.environ.get("OUT", Path(tempfile.gettempdir(), "hindsight")))
    worlds = []
    for place, world in enumerate(split.changing):
        found = compare(
            ["king", *specs], world, RUNS, split.seed, out=kept / f"world-{place}", points=10,
            replan=True, workers=int(os.environ.get("WORKERS", "2")),
        )  # fmt: skip
        if found.missing:
            raise SystemExit(f"{found.missing} games are missing: {found.failures}")
        games = found.narrow.sort("run")
        regrets = {
            spec: games.filter(policy=spec)["regret"].to_numpy() for spec in ("king", *specs)
        }
        rivals = {}
        for rival, settings in SETTINGS.items():
            best = min(settings, key=lambda spec, of=regrets: float(of[spec].mean()))
            ratio, low, high = ratio_interval(regrets[best], regrets["king"])
            rivals[rival] = {
                "best": best,
                "ratio": round(ratio, 3),
                "low": round(low or ratio, 3),
                "high": round(high or ratio, 3),
                "regrets": {spec: round(float(regrets[spec].mean()), 1) for spec in settings},
            }
        regret = round(float(regrets["king"].mean()), 1)
        worlds.append({"world": world, "king": regret, "rivals": rivals})
        print(world, {name: row["ratio"] for name, row in rivals.items()}, flush=True)
    return {"split": SPLIT, "runs": RUNS, "seed": split.seed, "worlds": worlds}


def rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row per rival: its regret over king's, at the suite's and at the best setting."""
    from driftduel.suite import SETTINGS

    worlds = record["worlds"]
    found = []
    for rival, settings in SETTINGS.items():
        of = [world["rivals"][rival] for world in worlds]
        suite = [
            each["regrets"][settings[0]] / world["king"]
            for each, world in zip(of, worlds, strict=True)
        ]
        nearest = min(range(len(of)), key=lambda place: of[place]["ratio"])
        found.append(
            {
                "rival": rival,
                "settings": len(settings),
                "suite": _geometric_mean(suite),
                "best": _geometric_mean([each["ratio"] for each in of]),
                "nearest": of[nearest],
                "where": worlds[nearest]["world"],
                "chosen": Counter(each["best"] for each in of).most_common(1)[0],
            }
        )
    return sorted(found, key=lambda row: row["best"])


def _geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    count = len(record["worlds"])
    lines = [
        "| rival | settings | regret / king's, first setting | at the best in hindsight | "
        "the nearest world (95%) | chosen most often |",
        "|---|--:|--:|--:|---|---|",
    ]
    for row in rows(record):
        nearest, (spec, times) = row["nearest"], row["chosen"]
        lines.append(
            f"| `{row['rival']}` | {row['settings']} | {row['suite']:.1f} | {row['best']:.1f} | "
            f"{nearest['ratio']:.2f} ({nearest['low']:.2f} to {nearest['high']:.2f}), "
            f"{row['where'].replace(',', ', ')} | `{spec}`, in {times} of {count} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    measure_and_write(
        "Score the suite's rivals at their best setting in hindsight.", measure, table, RECORD,
        PAGE, TABLE,
    )  # fmt: skip
