"""Are the statements about a log true? Simulated logs with a known truth.

`make study-logs` measures all rows and writes research/records/logs-study.json and the tables in
docs/research/how-it-was-tested.md; it takes hours. Logs are added to the row with the smallest
share of its logs, and the record is written every minute: an interrupted run continues, and all
rows grow at the same pace. Log number n of a row has the seed n. A row is measured again when the
code of the fit changes (`fingerprint`).

    python -m research.benchmarks.logs_study [--only situations] [--rows newcomer ...]
                                    [--lengths short] [--logs N] [--minutes M] [--jobs N] [--page]
"""

import argparse
import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from driftduel.lab.source import installed
from driftduel.logs.calibration import wilson
from driftduel.logs.counts import counts_from_votes
from driftduel.logs.posterior import fit
from driftduel.logs.segments import segment
from driftduel.logs.simulate import simulate
from driftduel.measures import measure
from driftduel.worlds import make_world
from research.benchmarks.log_situations import LENGTHS, SITUATIONS, Situation, draw_situation
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "logs-study.json"
PAGE = DOCS / "research" / "how-it-was-tested.md"
Tally = dict[str, Any]
"""Results of some logs: numbers and lists, which add up."""

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
ROWS = {
    f"{name}, {votes:,}": (name, length, votes)
    for name in SITUATIONS
    for length, votes in LENGTHS[name].items()
}

NEAR = 0.02  # of a log: so far from a change it may be found
FOUND = 0.05  # of a log: the same in `situations`, with shorter logs
MATCHED = 0.10  # of a log: a reported change this near to a true one is a dating of that one
BANDS = {">= .95": (0.95, 1.01), ".80 to .95": (0.80, 0.95), ".50 to .80": (0.50, 0.80)}


def still(name: str, seed: int) -> Tally:
    """Return whether a change is claimed in a stationary log."""
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
    """Compare the stated winner with the true one, 20 times in a log."""
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
        "V told": int(v.determined),
        "bounds": int(bound is not None),
        "bounds that hold": int(bound is not None and bound <= truth.total_variation + 0.01),
        f"chose {found.kind}": 1,
    }


def situations(name: str, seed: int) -> Tally:
    """Compare the stated winner and the reported changes with the truth."""
    situation, _, votes = ROWS[name]
    log = draw_situation(situation, votes, seed)
    began = time.process_time()
    tally = _compare_scores(log, votes, seed)
    tally["seconds"] = round(time.process_time() - began, 2)
    if "group" in log.votes:
        alone = _compare_scores(log.without_groups(), votes, seed)
        tally |= {f"no groups, {key}": value for key, value in alone.items()}
    return tally


def _compare_scores(log: Situation, votes: int, seed: int) -> Tally:
    found = fit(counts_from_votes(**log.votes))
    now, truth = found.now, np.array(log.changes)
    chance = now.no_winner if now.winner is None else now.chances[now.winner]
    right = now.winner == log.votes["names"][log.winner]
    tally: Tally = {}
    for band, (low, high) in BANDS.items():
        tally[f"said {band}"] = int(low <= chance < high)
        tally[f"right {band}"] = int(low <= chance < high and right)
    tally["wrong"] = [seed] if chance >= 0.95 and not right else []
    tally["sure"], tally["sure right"] = int(now.sure), int(now.sure and right)
    reported = [c for c in found.changes if c.reported]
    claims = [c for c in reported if c.new_winner]
    # A winner that joins or leaves is no change of preferences.
    changes = [c for c in reported if c.cause == "preferences"]
    near = FOUND * votes
    false = [c for c in claims if not any(c.low - near <= t <= c.high + near for t in log.switches)]
    tally["false winner"] = int(bool(false))
    tally["false winner in"] = [seed] if false else []
    if log.gradual:
        return tally
    at = np.array([c.vote for c in changes])
    dated = [c for c in changes if len(truth) and np.abs(truth - c.vote).min() <= MATCHED * votes]
    return tally | {
        "datable": 1,
        "true": len(truth),
        "hit": sum(bool(len(at)) and bool(np.abs(at - t).min() <= near) for t in truth),
        "exact": int(len(changes) == len(truth)),
        "reported": len(changes),
        "dated": len(dated),
        "covered": sum(
            bool(c.low <= truth[np.abs(truth - c.vote).argmin()] <= c.high) for c in dated
        ),
    }


QUESTIONS: dict[str, tuple[Callable[[str, int], Tally], dict[str, Any], int]] = {
    "still": (still, STILL, 200),
    "recovery": (recovery, RECOVERY, 100),
    "winners": (winners, WINNERS, 100),
    "measures": (measures, MEASURED, 100),
    "situations": (situations, ROWS, 100),
}
"""The function that measures a log, the rows, and the number of logs of a row."""


@cache
def fingerprint() -> str:
    """Return a hash of the code that decides the results: the fit, and the simulated logs.

    Comments, docstrings and messages of the package do not count.
    """
    fitted = installed().fingerprint("driftduel.logs.posterior", "fit")
    drawn = Path(__file__).with_name("log_situations.py").read_bytes()
    return hashlib.sha256(fitted.encode() + drawn).hexdigest()[:12]


def measure_log(task: tuple[str, str, int]) -> Tally:
    """Return the results of one log: (question, row, seed)."""
    question, name, seed = task
    return {"logs": 1, **QUESTIONS[question][0](name, seed)}


def added(one: Tally, other: Tally) -> Tally:
    """Return the results of the logs of both."""
    return {
        key: one[key] + other[key] if key in one and key in other else {**one, **other}[key]
        for key in {**one, **other}
    }


def logs_of(record: dict[str, Any], question: str, name: str) -> int:
    """Return how many logs of a row this version of the code has measured."""
    row = record.get(question, {}).get(name, {})
    return int(row["logs"]) if row.get("code") == fingerprint() else 0


def next_tasks(
    record: dict[str, Any], logs: int | None, rows: list[tuple[str, str]], size: int
) -> list[tuple[str, str, int]]:
    """Return the next logs to measure, of the rows with the smallest share of their logs."""
    done = {row: logs_of(record, *row) for row in rows}
    wanted = {row: QUESTIONS[row[0]][2] if logs is None else logs for row in rows}
    tasks = []
    while len(tasks) < size:
        row = min(rows, key=lambda row: done[row] / wanted[row], default=None)
        if row is None or done[row] >= wanted[row]:
            break
        tasks.append((*row, done[row]))
        done[row] += 1
    return tasks


def chosen_rows(only: list[str], words: list[str], lengths: list[str]) -> list[tuple[str, str]]:
    """Return (question, row) of the rows with one of these words in the name; none: all."""
    return [
        (question, name)
        for question in only
        for name, row in QUESTIONS[question][1].items()
        if (not words or any(word in name for word in words))
        and (question != "situations" or row[1] in lengths)
    ]


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
    for how, title in (("sure", "stated at >= .95"), ("rather", "at .80 to .95")):
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
        "measured": f"{row['said'] / n:.2f}",
        "true": f"{row['true'] / n:.2f}",
        "V determined in": row["V told"],
        "V measured": f"{v_said.mean():.3f}",
        "V true": f"{v_true.mean():.3f}",
        "largest V measured": f"{v_said.max():.3f}",
        "bound of V holds": f"{row['bounds that hold']} of {row['bounds']}",
        "model": ", ".join(f"{kind} {often}" for kind, often in sorted(chosen.items())),
    }


def _situations(row: Tally) -> Tally:
    cells: Tally = {f"right at {b}": _right(row, f"right {b}", f"said {b}") for b in BANDS}
    cells["right if sure"] = _right(row, "sure right", "sure")
    # In stationary logs every claim is false.
    cells["logs with a false change of the winner"] = row["false winner"]
    changing = row.get("true", 0) > 0
    cells["recall"] = _right(row, "hit", "true") if changing else "-"
    cells["95% set holds the truth"] = _right(row, "covered", "dated") if changing else "-"
    cells["exact number"] = f"{row['exact'] / row['datable']:.2f}" if "exact" in row else "-"
    return cells


def _right(row: Tally, part: str, whole: str) -> str:
    """Write a share and the number of cases."""
    return f"{row[part] / row[whole]:.2f} of {row[whole]}" if row.get(whole) else "-"


def _without_groups(rows: dict[str, Tally]) -> dict[str, Tally]:
    """Add the same logs without groups as rows below theirs."""
    wide: dict[str, Tally] = {}
    for name, row in rows.items():
        wide[name] = row
        mark = "no groups, "
        other = {key.removeprefix(mark): row[key] for key in row if key.startswith(mark)}
        if other:
            wide[f"{name}, groups ignored"] = {"logs": row["logs"], "code": row["code"], **other}
    return wide


_CELLS = {
    "still": _still,
    "recovery": _recovery,
    "winners": _winners,
    "measures": _measures,
    "situations": _situations,
}


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page."""
    return {f"study-{q}": _table(q, record.get(q, {})) for q in QUESTIONS}


def _table(question: str, rows: dict[str, Tally]) -> str:
    if not rows:
        return "Not measured yet; `make study-logs` does.\n"
    rows = {name: rows[name] for name in QUESTIONS[question][1] if name in rows}
    stale = {name for name, row in rows.items() if row.get("code") != fingerprint()}
    whole: Tally = {}
    for row in rows.values():
        whole = added(whole, {key: value for key, value in row.items() if key != "code"})
    if question == "situations":
        rows = _without_groups(rows)
    if question in ("winners", "situations"):
        rows["all"] = whole
    cells = {name: {"logs": row["logs"], **_CELLS[question](row)} for name, row in rows.items()}
    titles = ["log" if question == "situations" else "world", *next(iter(cells.values()))]
    lines = [f"| {' | '.join(titles)} |", f"|---{'|--:' * (len(titles) - 1)}|"]
    lines += [
        f"| {' | '.join((name + '*' * (name in stale), *map(str, row.values())))} |"
        for name, row in cells.items()
    ]
    if stale:
        lines += ["", "\\* Measured with an earlier version of the code."]
    return "\n".join(lines) + "\n"


def misses(record: dict[str, Any]) -> list[str]:
    """Return the targets of `situations` that the measured rows miss, one line each."""
    lines = []
    rows = record.get("situations", {})
    said, right = (sum(row[f"{key} >= .95"] for row in rows.values()) for key in ("said", "right"))
    if said and right / said < 0.93:
        lines.append(f"all rows: stated at >= .95 right in {right} of {said}, target .93")
    said, right = (
        sum(row[f"{key} .50 to .80"] for row in rows.values()) for key in ("said", "right")
    )
    if said and not 0.5 <= right / said <= 0.8:
        lines.append(
            f"all rows: stated at .50 to .80 right in {right} of {said}, target .50 to .80"
        )
    for name, row in rows.items():
        said, right, logs = row["said >= .95"], row["right >= .95"], row["logs"]
        if said >= 20 and right / said < 0.9:
            lines.append(f"{name}: stated at >= .95 right in {right} of {said}, target .90")
        if row.get("true") == 0 and row["false winner"] > 0.02 * logs:
            lines.append(f"{name}: false change of the winner in {row['false winner']} of {logs}")
        if row.get("true", 0) and row["dated"] and row["covered"] / row["dated"] < 0.9:
            lines.append(f"{name}: 95% sets cover {row['covered']} of {row['dated']}, target .90")
        if row.get("true", 0) and "no groups, hit" in row:
            lost = (row["no groups, hit"] - row["hit"]) / row["true"]
            if lost > 0.05:
                lines.append(f"{name}: recall is {lost:.2f} below that without groups, target .05")
    return lines


def _write(record: dict[str, Any]) -> None:
    RECORD.write_text(json.dumps(record, indent=None).replace("}, ", "},\n ") + "\n", "utf-8")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), tables(record)), "utf-8")
    from research.stamps import stamp

    for question, rows in record.items():  # each row has a hash of the code that measured it
        stamp(
            RECORD, pages=[page_name(PAGE)], command="make study-logs", part=question,
            code=["driftduel.logs.posterior:fit"],
            unknown=any(row.get("code") != fingerprint() for row in rows.values()),
        )  # fmt: skip


def _run(
    record: dict[str, Any],
    rows: list[tuple[str, str]],
    logs: int | None,
    minutes: float,
    jobs: int,
    write: Callable[[dict[str, Any]], None],
) -> None:
    """Measure logs until all rows have theirs or the time is over; call `write` every minute."""
    began = written = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        while tasks := next_tasks(record, logs, rows, 4 * jobs):
            for (question, name, _), more in zip(tasks, pool.imap(measure_log, tasks), strict=True):
                measured = record.setdefault(question, {})
                before = measured[name] if logs_of(record, question, name) else {"logs": 0}
                measured[name] = {**added(before, more), "code": fingerprint()}
            if time.monotonic() - written > 60:
                write(record)
                written = time.monotonic()
                print(f"{sum(logs_of(record, *row) for row in rows):,} logs", flush=True)
            if time.monotonic() - began > 60 * minutes:
                break


def main() -> None:
    """Measure, and write the record and the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, help="logs of a row (100, and 200 in `still`)")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after this time")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--rows", nargs="+", default=[], help="parts of names of rows")
    parser.add_argument(
        "--lengths", nargs="+", choices=("short", "long"), default=["short", "long"]
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--page", action="store_true", help="only write the tables again")
    parser.add_argument(
        "--scratch", type=Path, metavar="FILE", help="record here; do not touch docs/"
    )
    arguments = parser.parse_args()
    place = arguments.scratch or RECORD
    record: dict[str, Any] = json.loads(place.read_text("utf-8")) if place.exists() else {}

    def write(record: dict[str, Any]) -> None:
        if arguments.scratch is None:
            _write(record)
        else:
            place.write_text(json.dumps(record), "utf-8")

    if not arguments.page:
        rows = chosen_rows(arguments.only, arguments.rows, arguments.lengths)
        _run(record, rows, arguments.logs, arguments.minutes, max(1, arguments.jobs), write)
    write(record)
    if arguments.scratch is not None or arguments.only == ["situations"]:
        print(tables(record)["study-situations"])
    print("\n".join(misses(record)) or "no target is missed")


if __name__ == "__main__":
    main()
