"""Play `king` in worlds where its first edition was weak, beside that edition and windows.

Each row is a world of one kind of trouble: many arms, answers that come late, winners that change
all the time, bursts, small gaps, slow crossings, winners that come back, and no change at all. A
cell is regret divided by that of the reference: the best of four sliding windows in hindsight,
`uniform` play or `dts`.

`make weak-spots` writes research/records/weak-spots.json and the table in docs/research/king.md;
some minutes.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from research.benchmarks import ablation
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "weak-spots.json"
PAGE = DOCS / "research" / "king.md"
TABLE = "weak-spots"
RUNS = 10
SEED = 7
WINDOWS = tuple(f"sw-dts:window={window}" for window in (1000, 3000, 10_000, 30_000))
FIRST = "king-first-edition"


class Row(NamedTuple):
    """A kind of trouble, a world that has it, and what regret is divided by there."""

    trouble: str
    world: str
    yardsticks: tuple[str, ...] = WINDOWS
    runs: int = RUNS


_LATE = "geometric-btl:arms=10,rounds=100000,phases=4,change=winner"
ROWS = (
    Row("answers are 10 rounds late", f"{_LATE},delay=10"),
    Row("100 rounds late", f"{_LATE},delay=100"),
    Row("1,000 rounds late", f"{_LATE},delay=1000"),
    Row("200 arms", "total-order:arms=200,rounds=1000000,phases=2,p=0.55", ("uniform",), 4),
    Row("500 arms", "total-order:arms=500,rounds=1000000,phases=2,p=0.6", ("uniform",), 4),
    Row("a new winner every 1,000 rounds", "total-order:arms=10,rounds=100000,phases=100,p=0.7"),
    Row("the same, longer", "total-order:arms=10,rounds=1000000,phases=1000,p=0.7", runs=4),
    Row("a burst after long quiet", "bursts:arms=10,rounds=700000,bursts=1,changes=10,every=3000"),
    Row("gaps of 0.015", "total-order:arms=10,rounds=300000,phases=3,p=0.515"),
    Row("gaps of 0.02", "lone-winner:arms=5,rounds=300000,phases=3,eps=0.02"),
    Row("two leaders cross slowly", "crossing:arms=6,rounds=100000,crossings=3"),
    Row("seasons", "seasonal:arms=10,rounds=300000,seasons=3"),
    Row("two winners take turns", "recurring:arms=20,rounds=200000,every=10000,regimes=2"),
    Row("nothing changes", "geometric-btl:arms=10,rounds=100000,phases=1", ("dts",)),
    Row("nothing changes, 3 arms", "geometric-btl:arms=3,rounds=100000,phases=1", ("dts",)),
    Row("nothing changes, small gaps", "named:matrix=six-rankers,rounds=100000", ("dts",)),
)


def measure(out: Path) -> dict[str, Any]:
    """Play all rows, except for what `out` has already; return the numbers."""
    from driftduel.lab import compare
    from driftduel.suite.scoring import ratio_interval

    sources = out / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    first = ablation.write_variants(sources)[FIRST]
    rows = []
    for place, row in enumerate(ROWS):
        found = compare(
            ["king", FIRST, *row.yardsticks], row.world, row.runs, SEED, out=out / f"row-{place}",
            imports=[first], workers=2, points=10, replan=True,
        )  # fmt: skip
        if found.failures or found.missing:
            raise SystemExit(f"{found.missing} games are missing: {found.failures}")
        games = found.games.sort("run")
        regrets = {
            spec: games.filter(policy=spec)["regret"].to_numpy()
            for spec in ("king", FIRST, *row.yardsticks)
        }
        best = min(row.yardsticks, key=lambda spec, of=regrets: float(of[spec].mean()))
        rows.append(
            {
                "trouble": row.trouble,
                "world": row.world,
                "runs": row.runs,
                "yardstick": best,
                "king": [
                    round(x or 0.0, 3) for x in ratio_interval(regrets["king"], regrets[best])
                ],
                "first": [
                    round(x or 0.0, 3) for x in ratio_interval(regrets[FIRST], regrets[best])
                ],
                "regret": round(float(regrets["king"].mean()), 1),
            }
        )
        print(rows[-1], flush=True)
    return {"rows": rows}


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        "| where | world | measured by | first edition | king (95%) |",
        "|---|---|---|--:|--:|",
    ]
    for row in record["rows"]:
        ratio, low, high = row["king"]
        lines.append(
            f"| {row['trouble']} | {row['world'].replace(',', ', ')} | `{row['yardstick']}` | "
            f"{row['first'][0]:.2f} | {ratio:.2f} ({low:.2f} to {high:.2f}) |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="King where it was weak.")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir(), "weak-spots"))
    parser.add_argument("--page", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    if not arguments.page:
        from research.stamps import played

        with played(
            RECORD, pages=[page_name(PAGE)], command="make weak-spots",
            policies=["king", *(spec for row in ROWS for spec in row.yardsticks)],
            worlds=[row.world for row in ROWS],
        ):  # fmt: skip
            RECORD.write_text(json.dumps(measure(arguments.out), indent=1) + "\n", "utf-8")
    rows = table(json.loads(RECORD.read_text("utf-8")))
    print(rows, end="")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), {TABLE: rows}), "utf-8")


if __name__ == "__main__":
    main()
