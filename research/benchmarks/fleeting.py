"""The price of intransitivity: regret in worlds without significant switches.

In `fleeting` worlds a fair coin mirrors three arms in every round, and of SST and STI one holds
while the other fails by a factor gamma. The lower bound of docs/research/theory.md gives the
loss of every policy there, averaged over the roles of the arms: (2 gamma + 1) / 3 times sqrt(T)
without STI, (gamma + 3) / 6 times sqrt(T) without SST.

`make fleeting` writes research/records/fleeting.json and the table in docs/research/theory.md;
some minutes.
"""

import math
from typing import Any

import numpy as np

from driftduel.games import play
from driftduel.measures import measure as measures
from driftduel.worlds import make_world
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "fleeting.json"
PAGE = DOCS / "research" / "theory.md"
TABLE = "fleeting"

ROUNDS = 1_000_000
RUNS = 100
GAMMAS = (1, 4, 16, 64, 250)
POLICIES = ("uniform", "anaconda", "king")


def world(kind: str, gamma: float) -> str:
    """Return the spec of a world."""
    return f"fleeting:kind={kind},rounds={ROUNDS},gamma={gamma:g}"


def bound(kind: str, gamma: float) -> float:
    """Return the lower bound of the theory for every policy, in units of sqrt(T)."""
    return (2 * gamma + 1) / 3 if kind == "sst" else (gamma + 3) / 6


def regrets(policy: str, kind: str, gamma: float, runs: int) -> Any:
    """Return the regret of every run, in units of sqrt(T)."""
    spec = world(kind, gamma)
    found = [play(policy, spec, seed=seed).total for seed in range(runs)]
    return np.array(found) / math.sqrt(ROUNDS)


def measure() -> dict[str, Any]:
    """Play all games; return the numbers."""
    rows = []
    for kind in ("sst", "sti"):
        for gamma in GAMMAS:
            row: dict[str, Any] = {"kind": kind, "gamma": gamma}
            row["bound"] = round(bound(kind, gamma), 6)
            found = measures(make_world(world(kind, gamma), seed=0))
            row["significant"] = found.significant_switches
            row["switches"] = found.condorcet_switches
            for policy in POLICIES:
                lost = regrets(policy, kind, gamma, RUNS)
                error = float(lost.std(ddof=1)) / math.sqrt(RUNS)
                row[policy] = [round(float(lost.mean()), 4), round(error, 4)]
                print(kind, gamma, policy, row[policy], flush=True)
            rows.append(row)
    return {"rounds": ROUNDS, "runs": RUNS, "rows": rows}


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        f"| fails | gamma | bound | {' | '.join(f'`{each}`' for each in POLICIES)} |",
        f"|---|---|---|{'---|' * len(POLICIES)}",
    ]
    for row in record["rows"]:
        cells = ["STI" if row["kind"] == "sst" else "SST", f"{row['gamma']}"]
        cells.append(f"{row['bound']:.3f}")
        for policy in POLICIES:
            mean, half = row[policy][0], max(1e-4, 1.96 * row[policy][1])
            digits = min(4, max(0, 1 - math.floor(math.log10(half))))
            cells.append(f"{mean:.{digits}f} ± {half:.{digits}f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    measure_and_write(
        "Regret in unlearnable worlds.", measure, table, RECORD, PAGE, TABLE,
        command="make fleeting", policies=POLICIES,
        worlds=[world(kind, gamma) for kind in ("sst", "sti") for gamma in GAMMAS],
    )  # fmt: skip
