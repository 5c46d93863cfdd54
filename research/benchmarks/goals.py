"""Measure the error rates of algorithms that state one, on random instances.

- ``active-ranking``: a settled rank, or place among the top 2, that the true Borda scores do not
  have, on random matrices without any structure.
- ``knockout``: an arm that some other arm beats with more than 1/2 + eps, on Bradley-Terry models.
- Certificates: `dts`, `king` and `parwis`, stopped by the evidence of goal ``confidence``, on
  matrices with a Condorcet winner; the ranking by `uniform` on Bradley-Terry models.

Instances have 3 to 8 arms. A run that does not finish is not wrong.

`make goals` plays 1,000 of each, and writes research/records/goals.json and the table in
docs/research/benchmarks.md.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftduel._internal.intervals import clopper_pearson
from driftduel.games import play
from driftduel.games.certificate import CertificateObserver
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name
from research.stamps import played

RECORD = RECORDS / "goals.json"
PAGE = DOCS / "research" / "benchmarks.md"
TABLE = "goals"

POLICIES = ("active-ranking", "knockout", "parwis", "dts", "king", "uniform")
ERROR = 0.1
EPS = 0.1
LONG, SHORT = 300_000, 5_000


class Outcome(NamedTuple):
    """The end of one run: the votes until it finished, None if it did not, and its answer."""

    votes: int | None
    wrong: bool


def rank_by_borda(spec: str, arms: int, seed: int, top: int = 0) -> Outcome:
    """Run active ranking on a random matrix; settled ranks must be those of the Borda scores."""
    world = f"uniform-random:arms={arms},rounds={LONG},phases=1"
    observer = CertificateObserver(arms, LONG, 1)
    game = play(spec, world, seed, points=2, benchmark="borda", observer=observer)
    matrix = game.world.preferences(1).matrix
    scores = (matrix.sum(axis=1) - 0.5) / (arms - 1)
    true = np.empty(arms, np.int64)
    true[np.argsort(-scores)] = np.arange(arms)
    rank = game.policy.state.rank
    settled = rank >= 0
    right = (rank < top) == (true < top) if top else rank == true
    declared = game.policy.declared() is not None
    return Outcome(observer.own_votes if declared else None, not bool(right[settled].all()))


def knock_out(spec: str, arms: int, seed: int) -> Outcome:
    """Run Knockout on a Bradley-Terry model; no arm may beat the last one by more than eps."""
    observer = CertificateObserver(arms, LONG, 1)
    world = f"utilities:arms={arms},rounds={LONG},phases=1"
    game = play(spec, world, seed, points=2, observer=observer)
    chosen = game.policy.declared()
    if chosen is None:
        return Outcome(None, False)
    worst = game.world.preferences(1).matrix[:, chosen].max()
    return Outcome(observer.own_votes, bool(worst > 0.5 + EPS))


def certify(
    spec: str, arms: int, seed: int, top: int = 1, kind: str = "random-condorcet"
) -> Outcome:
    """Stop a policy by the evidence; the certificate must be right."""
    observer = CertificateObserver(arms, SHORT, top, ERROR)
    world = f"{kind}:arms={arms},rounds={SHORT},phases=1"
    play(spec, world, seed, points=2, mode="panel", observer=observer)
    found = observer.votes <= SHORT
    return Outcome(observer.votes if found else None, observer.is_right is False)


Run = Callable[[str, int, int], Outcome]
CASES: dict[str, tuple[str, Run]] = {
    "active-ranking, all ranks": (f"active-ranking:delta={ERROR}", rank_by_borda),
    "active-ranking, top 2": (
        f"active-ranking:delta={ERROR},top=2",
        lambda spec, arms, seed: rank_by_borda(spec, arms, seed, 2),
    ),
    "knockout": (f"knockout:eps={EPS},delta={ERROR}", knock_out),
    "parwis, certificate": ("parwis", certify),
    "dts, certificate": ("dts", certify),
    "king, certificate": ("king", certify),
    "uniform, certified ranking": (
        "uniform",
        lambda spec, arms, seed: certify(spec, arms, seed, 0, "utilities"),
    ),
}


def measure(instances: int, cases: tuple[str, ...] = tuple(CASES)) -> dict[str, Any]:
    """Run all cases; return how many finished, how many were wrong, and the votes."""
    rows = []
    for name in cases:
        spec, run = CASES[name]
        played = [run(spec, 3 + seed % 6, seed) for seed in range(instances)]
        wrong = sum(each.wrong for each in played)
        votes = [each.votes for each in played if each.votes is not None]
        low, high = clopper_pearson(wrong, instances)
        rows.append(
            {
                "case": name, "policy": spec, "finished": len(votes), "wrong": wrong,
                "wrong_low": round(float(low), 5), "wrong_high": round(float(high), 5),
                "votes_median": int(statistics.median(votes)) if votes else None,
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return {"instances": instances, "stated": ERROR, "rows": rows}


def table(record: dict[str, Any]) -> str:
    """Write the error rates as a table."""
    lines = ["| algorithm | finished | votes, median | wrong | stated |", "|---" * 5 + "|"]
    for row in record["rows"]:
        wrong = f"{row['wrong']} ({100 * row['wrong_low']:.1f}% to {100 * row['wrong_high']:.1f}%)"
        votes = "-" if row["votes_median"] is None else f"{row['votes_median']:,}"
        done = f"{row['finished']:,} of {record['instances']:,}"
        lines.append(f"| {row['case']} | {done} | {votes} | {wrong} | {record['stated']:.0%} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--instances", type=int, default=1000, metavar="N", help="instances of each (1000)"
    )
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    if not options.page:
        with played(RECORD, pages=[page_name(PAGE)], command="make goals", policies=POLICIES):
            record = measure(options.instances)
            RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    rows = table(json.loads(RECORD.read_text("utf-8")))
    print(rows, end="")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), {TABLE: rows}), "utf-8")


if __name__ == "__main__":
    main()
