"""Measure false and true claims of `driftduel log features`, and its time.

*Stationary*: no effect of the request. *Changing*: no effect; strengths and the mix of requests
change together in the middle. *Chosen pairs*: no effect, pairs are chosen by earlier votes.
*Swing*: the probability of a preference differs by 10 points between two categories.

`make log-features` writes research/records/log-features.json and the table in
docs/research/how-it-was-tested.md.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.logs.feature_votes import FeatureColumn, FeatureVotes
from driftduel.logs.features import dependence_changes, feature_evidence, routing_gain
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS

RECORD = RECORDS / "log-features.json"
PAGE = DOCS / "research" / "how-it-was-tested.md"
TABLE = "log-features"

CODE = tuple(
    f"driftduel.logs.features:{name}"
    for name in ("feature_evidence", "dependence_changes", "routing_gain")
)
VOTES = 3_000
OPTIONS = (2, 6, 12)
NAMES = ("ale", "beer", "cider", "mead", "tea", "wine", *(f"option {i}" for i in range(6, 50)))
_MEMORY = 30  # votes for each option that the leader of chosen pairs is the best of


def simulated(
    rng: np.random.Generator,
    votes: int,
    options: int,
    *,
    swing: float = 0.0,
    categories: int = 2,
    numbers: int = 0,
    spread: float = 0.5,
    changing: bool = False,
    chosen: bool = False,
) -> FeatureVotes:
    """Return a simulated log.

    Parameters
    ----------
    rng
        Randomness.
    votes, options
        Their numbers.
    swing
        Difference between two categories of the probability that an option with an even number is
        preferred to an equal one with an odd number.
    categories
        Number of categories; those after the first are alike.
    numbers
        Number of numerical features without effect.
    spread
        Standard deviation of the utilities.
    changing
        Whether utilities and the mix of requests change in the middle.
    chosen
        Whether the leader so far is shown more often, most of all in the first category.
    """
    half = np.arange(votes) >= votes // 2
    category = rng.integers(categories, size=votes)
    utilities = rng.normal(0.0, spread, (2, options))
    if changing:
        category = np.where(rng.random(votes) < 0.8, half.astype(np.int64), category)
    shift = np.arctanh(swing) * np.where(category == 0, 1.0, -1.0)
    u = utilities[half.astype(int) if changing else np.zeros(votes, int)]
    u = u + shift[:, None] * np.where(np.arange(options) % 2 == 0, 1.0, -1.0)
    a = rng.integers(options, size=votes)
    b = (a + rng.integers(1, options, size=votes)) % options
    coins = rng.random(votes)
    low, high = np.minimum(a, b), np.maximum(a, b)
    won = np.zeros(votes, np.bool_)
    score = np.zeros(options)
    for t in range(votes):
        if chosen and rng.random() < (0.9 if category[t] == 0 else 0.3):
            leader = int(score.argmax())
            other = b[t] if b[t] != leader else (leader + 1) % options
            low[t], high[t] = min(leader, other), max(leader, other)
        won[t] = coins[t] < 1 / (1 + np.exp(u[t, high[t]] - u[t, low[t]]))
        score *= 1 - 1 / (_MEMORY * options)
        score[low[t] if won[t] else high[t]] += 1
        score[high[t] if won[t] else low[t]] -= 1
    indicators = np.eye(categories)[category]
    features = [FeatureColumn("category", indicators, tuple("abcdefgh"[:categories]))]
    for place in range(numbers):
        values = rng.normal(size=votes)
        values = (values - values.mean()) / values.std()
        features.append(FeatureColumn(f"number {place}", values[:, None]))
    return FeatureVotes(
        NAMES[:options], tuple(features), low, high, won, np.arange(votes, dtype=np.float64), chosen
    )


def situations() -> dict[str, tuple[int, dict[str, Any]]]:
    """Return the simulated logs by name: the number of options, and arguments of `simulated`."""
    cells: dict[str, tuple[int, dict[str, Any]]] = {}
    for options in OPTIONS:
        cells[f"stationary, {options} options"] = options, {}
        cells[f"changing, {options} options"] = options, {"changing": True}
        cells[f"chosen pairs, {options} options"] = options, {"chosen": True}
    cells["stationary, 6 options, 4 numbers"] = 6, {"numbers": 4}
    for options in (2, 4, 6):
        cells[f"swing of 10 points, {options} options"] = options, {"swing": 0.1, "spread": 0.0}
    cells["swing of 20 points, 6 options"] = 6, {"swing": 0.2, "spread": 0.0}
    cells["swing of 10 points, 2 options, chosen pairs"] = (
        2, {"swing": 0.1, "spread": 0.0, "chosen": True},
    )  # fmt: skip
    return cells


def measure(logs: int, seed: int) -> dict[str, Any]:
    """Return the claims in each situation, and the CPU seconds of a large log."""
    rows = []
    for place, (name, (options, how)) in enumerate(situations().items()):
        claims = np.zeros(3, np.int64)
        for number in range(logs):
            rng = np.random.default_rng([seed, place, number])
            votes = simulated(rng, VOTES, options, **how)
            claims += claims_of(votes)
        rows.append(
            {"situation": name, "matters": int(claims[0]), "change": int(claims[1]),
             "gain": int(claims[2])}
        )  # fmt: skip
        print(rows[-1], flush=True)
    large = simulated(np.random.default_rng(seed), 100_000, 6, numbers=14)
    claims_of(simulated(np.random.default_rng(seed), 200, 6, numbers=14))  # compile
    started = time.process_time()
    claims_of(large)
    seconds = time.process_time() - started
    return {"logs": logs, "seed": seed, "votes": VOTES, "rows": rows, "seconds": round(seconds, 1)}


def claims_of(votes: FeatureVotes) -> NDArray[np.int64]:
    """Return whether an effect, a change and a gain are claimed."""
    return np.array(
        [
            feature_evidence(votes).matters,
            bool(dependence_changes(votes)),
            routing_gain(votes).found,
        ],
        np.int64,
    )


def table(record: dict[str, Any]) -> str:
    """Return the table of the page."""
    lines = [
        f"| {record['logs']} logs of {record['votes']:,} votes | features matter | change | gain |",
        "|---|---|---|---|",
    ]
    for row in record["rows"]:
        shares = (f"{row[key] / record['logs']:.1%}" for key in ("matters", "change", "gain"))
        lines.append(f"| {row['situation']} | {' | '.join(shares)} |")
    lines.append("")
    lines.append(
        f"A log of 100,000 votes, 6 options, 14 numbers and a category (d = 17) takes "
        f"{record['seconds']} CPU seconds."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write."""
    measure_and_write(
        (__doc__ or "").partition("\n")[0], measure, table, RECORD, PAGE, TABLE,
        command="make log-features", code=CODE,
        sizes={"logs": (200, "logs of each"), "seed": (31, "fixes everything")},
    )  # fmt: skip


if __name__ == "__main__":
    main()
