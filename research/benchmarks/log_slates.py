"""Measure the statements of `driftduel log` about simulated logs of picks and rankings.

Six options with strengths in the ratio 1.3, in random order; 2,000 slates of random options;
choices after Plackett and Luce. *One change*: after 30% to 70% of the log, the best option
exchanges its strength with a random other one.

`make log-slates` writes research/records/log-slates.json and the table in
docs/research/how-it-was-tested.md.
"""

import multiprocessing
from typing import Any

import numpy as np
import polars as pl

from driftduel.logs import fit, read_log
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "log-slates.json"
PAGE = DOCS / "research" / "how-it-was-tested.md"
TABLE = "log-slates"
CODE = (
    "driftduel.logs.posterior:fit",
    "driftduel.logs.slates:pair_weights",
    "driftduel.logs.slates:strengths_of",
)
NAMES = np.array(["ale", "beer", "cider", "mead", "tea", "wine"])
SLATES = 2_000
RATIO = 1.3
NEAR = 0.05  # of a log: so far from a change it may be found, as in logs_study
ROWS: dict[str, tuple[int, bool, bool]] = {
    f"{what}, {'one change' if changing else 'stationary'}": (size, ranked, changing)
    for what, size, ranked in (("picks from 4", 4, False), ("rankings of 4", 4, True))
    for changing in (False, True)
}  # fmt: skip
"""Size of the slates, whether they are ranked, whether the winner changes."""


def simulated(
    seed: int, size: int, ranked: bool, changing: bool, slates: int = SLATES
) -> tuple[pl.DataFrame, int, str]:
    """Return the rows of a log, the first slate after the change (0: none), and the winner now."""
    rng = np.random.default_rng([seed, size, ranked, changing])
    options = len(NAMES)
    strengths = -np.log(RATIO) * rng.permutation(options)
    before, at = strengths.copy(), 0
    if changing:
        best = int(strengths.argmax())
        other = int(rng.choice([i for i in range(options) if i != best]))
        strengths[[best, other]] = strengths[[other, best]]
        at = int(rng.integers(round(0.3 * slates), round(0.7 * slates)))
    shown = np.argsort(rng.random((slates, options)), axis=1)[:, :size]
    utilities = np.where((np.arange(slates) < at)[:, None], before, strengths)
    value = np.take_along_axis(utilities + rng.gumbel(size=(slates, options)), shown, axis=1)
    order = np.take_along_axis(shown, np.argsort(-value, axis=1), axis=1)
    table = {"shown": NAMES[shown].tolist()}
    table |= {"ranking": NAMES[order].tolist()} if ranked else {"winner": NAMES[order[:, 0]]}
    return pl.DataFrame(table), at, str(NAMES[strengths.argmax()])


def results_of(task: tuple[str, int]) -> dict[str, Any]:
    """Return the results of one log, as numbers and lists that add up."""
    name, seed = task
    frame, at, winner = simulated(seed, *ROWS[name])
    found = fit(read_log(frame).counts)
    now = found.now
    chance = now.no_winner if now.winner is None else now.chances[now.winner]
    right = now.winner == winner
    reported = [change for change in found.changes if change.reported]
    truth, near = at + 1, NEAR * SLATES
    hits = [change for change in reported if at and abs(change.vote - truth) <= near]
    false = [
        change for change in reported
        if change.new_winner
        and not (at and change.vote_low - near <= truth <= change.vote_high + near)
    ]  # fmt: skip
    return {
        "logs": 1,
        "said": int(chance >= 0.95),
        "right": int(chance >= 0.95 and right),
        "sure": int(now.sure),
        "sure right": int(now.sure and right),
        "in the set": int(winner in now.likely),
        "hit": int(bool(hits)),
        "covered": int(bool(hits) and hits[0].vote_low <= truth <= hits[0].vote_high),
        "false": int(bool(false)),
        "reported": int(bool(reported)),
        "false in": [seed] if false else [],
        "switches": int(found.certificate().switches),
        "too many switches": int(found.certificate().switches > int(at > 0)),
        f"chose {found.kind}": 1,
    }


def measure(logs: int, jobs: int) -> dict[str, Any]:
    """Return the results of each row."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in ROWS}
    tasks = [(name, seed) for seed in range(logs) for name in ROWS]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for (name, _), found in zip(tasks, pool.imap(results_of, tasks), strict=True):
            row = rows[name]
            for key, value in found.items():
                row[key] = row[key] + value if key in row else value
            if row["logs"] % 10 == 0:
                print(name, row, flush=True)
    return {"slates": SLATES, "rows": rows}


def _of(part: int, whole: int) -> str:
    from driftduel.logs.calibration import wilson

    if not whole:
        return "-"
    low, high = wilson(part / whole, whole)
    return f"{part / whole:.2f} of {whole} ({low:.2f} to {high:.2f})"


def table(record: dict[str, Any]) -> str:
    """Return the table of the page."""
    lines = [
        f"| {record['slates']:,} rows | logs | right at >= .95 | right if sure | 95% set holds the "
        f"winner | false change of the winner | change found | 95% set holds its date | "
        f"certificate too high |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, row in record["rows"].items():
        changing = ROWS[name][2]
        cells = [
            row["logs"],
            _of(row["right"], row["said"]),
            _of(row["sure right"], row["sure"]),
            _of(row["in the set"], row["logs"]),
            row["false"],
            _of(row["hit"], row["logs"]) if changing else "-",
            _of(row["covered"], row["hit"]) if changing else "-",
            row["too many switches"],
        ]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write."""
    measure_and_write(
        (__doc__ or "").partition("\n")[0], measure, table, RECORD, PAGE, TABLE,
        command="make log-slates", code=CODE,
        sizes={"logs": (100, "logs of each"), "jobs": (1, "processes")},
    )  # fmt: skip


if __name__ == "__main__":
    main()
