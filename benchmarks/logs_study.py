"""Is what is said about a log true? Simulated logs, whose worlds are known.

`make study-logs` asks all questions and writes docs/logs-study.json and the tables in docs/logs.md;
hours. A log at a time is added to the row that lacks most, and all is written every minute: what
was interrupted goes on, and rows grow alike, however soon it ends. Every log has a seed of its own.

    python benchmarks/logs_study.py [--logs N] [--minutes M] [--only still ...] [--page]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from page_marks import on_page

from driftduel.logs.calibration import wilson
from driftduel.logs.posterior import fit
from driftduel.logs.segments import segment
from driftduel.logs.simulate import simulate
from driftduel.measures import measure
from driftduel.worlds import make_world

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "logs-study.json"
PAGE = ROOT / "docs" / "logs.md"
Tally = dict[str, Any]
"""What was seen in some logs: numbers and lists, which add up."""

STILL = {
    "BT K=3 5e3": ("geometric-btl:arms=3,rounds=5000,phases=1,ratio=1.2", None),
    "BT K=8 2e4": ("geometric-btl:arms=8,rounds=20000,phases=1,ratio=1.2", None),
    "random-Condorcet K=8 2e4": ("random-condorcet:arms=8,rounds=20000,phases=1", None),
    "BT K=16 5e3": ("geometric-btl:arms=16,rounds=5000,phases=1,ratio=1.2", None),
    "BT K=8 2e4, sessions of 40": ("geometric-btl:arms=8,rounds=20000,phases=1,ratio=1.2", 40),
}
RECOVERY = {
    "BT K=8 1e4": "geometric-btl:arms=8,rounds=10000,phases=4,lengths=random,ratio=1.2",
    "BT K=8 5e4": "geometric-btl:arms=8,rounds=50000,phases=4,lengths=random,ratio=1.2",
    "BT K=3 1e4": "geometric-btl:arms=3,rounds=10000,phases=4,lengths=random,ratio=1.2",
    "random-Condorcet K=8 1e4": "random-condorcet:arms=8,rounds=10000,phases=4,lengths=random",
    "lone winner K=8 5e4": "lone-winner:arms=8,rounds=50000,phases=4,lengths=random",
}
WINNERS = {
    "BT K=8 1e4": RECOVERY["BT K=8 1e4"],
    "BT K=3 2e3": "geometric-btl:arms=3,rounds=2000,phases=4,lengths=random,ratio=1.2",
    "random-Condorcet K=8 5e3": "random-condorcet:arms=8,rounds=5000,phases=2",
    "uniform-random K=5 5e3": "uniform-random:arms=5,rounds=5000,phases=2",
    "cycle K=5 2e3": "cycle:arms=5,rounds=2000",
    "random walk K=6 2e4": "random-walk:arms=6,rounds=20000,sd=0.006",
}
MEASURED = {
    "pieces": "geometric-btl:arms=8,rounds=50000,phases=6,ratio=1.2",
    "walk": "random-walk:arms=6,rounds=50000,sd=0.006",
    "seasonal": "seasonal:arms=6,rounds=50000",
    "still": "geometric-btl:arms=8,rounds=20000,phases=1,ratio=1.2",
    "BT 2e4": "geometric-btl:arms=8,rounds=20000,phases=4,ratio=1.2",
}


NEAR = 0.02  # of a log: so far from a change it may be found


def still(name: str, seed: int) -> Tally:
    """Say whether a change is claimed in a log that stands still."""
    spec, sessions = STILL[name]
    counts = simulate(make_world(spec, seed=seed), seed, sessions)
    tally: Tally = {}
    for model in ("utilities", "pairs"):
        found = segment(counts, model)
        tally[f"{model} sure"] = int(found.still <= 0.05)
        claims = found.changes() and [c for c in fit(counts, model).changes if c.reported]
        tally[f"{model} reported"] = int(bool(claims))
    return tally


def recovery(name: str, seed: int) -> Tally:
    """Compare the changes found with those that are there, of which there are three."""
    kind = "pairs" if "Condorcet" in name else "utilities"
    world = make_world(RECOVERY[name], seed=seed)
    truth = world.starts[1:]
    changes = [c for c in fit(simulate(world, seed), kind).changes if c.reported]
    near = NEAR * world.rounds
    votes = np.array([c.vote for c in changes])
    errors, covered = [], 0
    for c in changes:
        t = truth[np.abs(truth - c.vote).argmin()]
        if abs(c.vote - t) <= near:
            errors.append(int(abs(c.vote - t)))
            covered += int(c.low <= t <= c.high)
    visible = int(np.diff(world.starts, append=world.rounds + 1).min() >= near)
    return {
        "exact": int(len(votes) == 3),
        "visible": visible,
        "visible and exact": int(visible and len(votes) == 3),
        "hit": sum(bool(len(votes)) and bool(np.abs(votes - t).min() <= near) for t in truth),
        "found": len(votes),
        "errors": errors,
        "covered": covered,
    }


def winners(name: str, seed: int) -> Tally:
    """Compare who is said to win, 20 times a log, with who does."""
    world = make_world(WINNERS[name], **({} if name.startswith("cycle") else {"seed": seed}))
    found = fit(simulate(world, seed))
    truth = world.condorcet_winners()
    firsts = np.array([first for first, _ in truth])
    tally = dict.fromkeys(("sure", "sure right", "rather", "rather right"), 0)
    for share in np.linspace(0.025, 0.975, 20):
        t = int(share * world.rounds) + 1
        real = truth[int(np.searchsorted(firsts, t, side="right")) - 1][1]
        chances = found.winners[int(np.searchsorted(found.starts, t, side="right")) - 1]
        said = int(chances.argmax())
        if chances[said] >= 0.8:
            how = "sure" if chances[said] >= 0.95 else "rather"
            tally[how] += 1
            tally[f"{how} right"] += int((None if said == world.arms else said) == real)
    return {**tally, **{f"{how} logs": int(tally[how] > 0) for how in ("sure", "rather")}}


def measures(name: str, seed: int) -> Tally:
    """Compare significant switches and V with those of the world; the model is chosen."""
    world = make_world(MEASURED[name], seed=seed)
    found = fit(simulate(world, seed))
    truth, said = measure(world), found.measures()
    switches, v = said["significant_switches"], said["total_variation"]
    assert truth.significant_switches is not None
    bound = v.bound
    return {
        "inside": int(switches.low <= truth.significant_switches <= switches.high),
        "said": switches.median,
        "true": truth.significant_switches,
        "V said": [round(v.median, 4)],
        "V true": [round(truth.total_variation, 4)],
        "V told": int(v.told),
        "bounds": int(bound is not None),
        "bounds that hold": int(bound is not None and bound <= truth.total_variation + 0.01),
        f"chose {found.kind}": 1,
    }


QUESTIONS: dict[str, tuple[Callable[[str, int], Tally], dict[str, Any], int]] = {
    "still": (still, STILL, 200),
    "recovery": (recovery, RECOVERY, 100),
    "winners": (winners, WINNERS, 100),
    "measures": (measures, MEASURED, 100),
}
"""What is asked, of which worlds, and of how many logs of each."""


def added(one: Tally, other: Tally) -> Tally:
    """Return what was seen in the logs of both."""
    return {
        key: one[key] + other[key] if key in one and key in other else {**one, **other}[key]
        for key in {**one, **other}
    }


def next_row(record: dict[str, Any], logs: int | None, only: list[str]) -> tuple[str, str] | None:
    """Return the row with the smallest part of the logs that it shall have, if one lacks any."""
    rows = []
    for question in only:
        _, worlds, usual = QUESTIONS[question]
        for name in worlds:
            done = record.get(question, {}).get(name, {"logs": 0})["logs"]
            rows.append((done / (usual if logs is None else logs), question, name))
    part, question, name = min(rows, key=lambda row: row[0], default=(1.0, "", ""))
    return (question, name) if part < 1 else None


# ---- the tables of the page ----


def _interval(share: float, n: int) -> str:
    """Write the 95% interval of a share that n independent cases leave."""
    low, high = wilson(share, n)
    return f"({low:.2f} to {high:.2f})"


def _of(part: float, n: int, cases: int | None = None) -> str:
    """Write a share of n, of which so many cases are independent, with its interval."""
    return f"{part / n:.3f} {_interval(part / n, cases or n)}" if n else "-"


def _still(row: Tally) -> Tally:
    n = row["logs"]
    return {
        f"{model}, {title}": f"{claimed} {_interval(claimed / n, n)}"
        for model in ("utilities", "pairs")
        for title, key in (("P(change) >= .95", "sure"), ("reported", "reported"))
        for claimed in (row[f"{model} {key}"],)
    }


def _recovery(row: Tally) -> Tally:
    n, near = row["logs"], len(row["errors"])
    return {
        "exact number": _of(row["exact"], n),
        f"exact where each stretch has {NEAR:.0%}": _of(row["visible and exact"], row["visible"]),
        "recall": _of(row["hit"], 3 * n),
        "false": f"{1 - near / row['found']:.3f}" if row["found"] else "-",
        "median error, votes": f"{np.median(row['errors']):.0f}" if near else "-",
        "95% set holds the truth": _of(row["covered"], near),
        "changes": near,
    }


def _winners(row: Tally) -> Tally:
    cells: Tally = {}
    for how, title in (("sure", "said at >= .95"), ("rather", "at .80 to .95")):
        said, right = row[how], row[f"{how} right"]
        # Twenty answers about one log are hardly twenty cases.
        cells |= {title: said, f"right, {title}": _of(right, said, row[f"{how} logs"])}
    return cells


def _measures(row: Tally) -> Tally:
    n = row["logs"]
    chosen = {k.removeprefix("chose "): v for k, v in row.items() if k.startswith("chose ")}
    v_said, v_true = (np.array(row[f"V {which}"]) for which in ("said", "true"))
    return {
        "90% interval holds the significant switches": _of(row["inside"], n),
        "said": f"{row['said'] / n:.2f}",
        "true": f"{row['true'] / n:.2f}",
        "V told in": row["V told"],
        "V said": f"{v_said.mean():.3f}",
        "V true": f"{v_true.mean():.3f}",
        "largest V said": f"{v_said.max():.3f}",
        "bound of V holds": f"{row['bounds that hold']} of {row['bounds']}",
        "model": ", ".join(f"{kind} {often}" for kind, often in sorted(chosen.items())),
    }


_CELLS = {"still": _still, "recovery": _recovery, "winners": _winners, "measures": _measures}


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page."""
    return {f"study-{q}": _table(q, record.get(q, {})) for q in QUESTIONS}


def _table(question: str, rows: dict[str, Tally]) -> str:
    if not rows:
        return "Not measured yet; `make study-logs` does.\n"
    rows = {name: rows[name] for name in QUESTIONS[question][1] if name in rows}
    if question == "winners":
        whole: Tally = {}
        for row in rows.values():
            whole = added(whole, row)
        rows["all"] = whole
    cells = {name: {"logs": row["logs"], **_CELLS[question](row)} for name, row in rows.items()}
    titles = ["world", *next(iter(cells.values()))]
    lines = [f"| {' | '.join(titles)} |", f"|---{'|--:' * (len(titles) - 1)}|"]
    lines += [f"| {' | '.join((name, *map(str, row.values())))} |" for name, row in cells.items()]
    return "\n".join(lines) + "\n"


def _write(record: dict[str, Any]) -> None:
    RECORD.write_text(json.dumps(record, indent=None).replace("}, ", "},\n ") + "\n", "utf-8")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), tables(record)), "utf-8")


def main() -> None:
    """Answer the questions, and put the answers on the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, help="logs a row (100, and 200 that stand still)")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after so many of them")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--page", action="store_true", help="only write the tables again")
    arguments = parser.parse_args()
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    only = [] if arguments.page else arguments.only
    began = written = time.monotonic()
    while (row := next_row(record, arguments.logs, only)) is not None:
        question, name = row
        rows = record.setdefault(question, {})
        before = rows.get(name, {"logs": 0})
        rows[name] = added(before, {"logs": 1, **QUESTIONS[question][0](name, before["logs"])})
        if time.monotonic() - written > 60:
            _write(record)
            written = time.monotonic()
            print({q: min(r["logs"] for r in record[q].values()) for q in record}, flush=True)
        if time.monotonic() - began > 60 * arguments.minutes:
            break
    _write(record)


if __name__ == "__main__":
    main()
