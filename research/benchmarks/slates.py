"""Measure what slates of three and more options cost and gain, beside duels.

The worlds have 12 options and logistic utilities, so choices follow Plackett and Luce. They were
written down before any of them was played. All policies play the same worlds; ratios are those of
mean regrets, with intervals at 95 % from the paired runs.

`make slates` plays it, and writes research/records/slates.json and the tables in
docs/research/slates.md.
"""

import argparse
import json
from typing import Any

import numpy as np

from driftduel import play
from driftduel._internal.intervals import student
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "slates.json"
PAGE = DOCS / "research" / "slates.md"

ROUNDS = 40_000
WORLDS = {
    "4 changes": f"utilities:arms=12,rounds={ROUNDS},phases=5",
    "19 changes": f"utilities:arms=12,rounds={ROUNDS},phases=20",
    "random walk": f"random-walk:arms=12,rounds={ROUNDS},sd=0.004",
    "stationary": f"utilities:arms=12,rounds={ROUNDS},phases=1",
}
SLATES = (2, 4, 8)
ANSWERS = ("pick", "ranking")
RIVALS = (
    "king", "slate-king", "slate-dts", "slate-dts:learn=pairs", "self-sparring", "maxmin-ucb",
    "multi-dueling",
)  # fmt: skip
RIVAL_SLATE = 4


def world_of(name: str, slate: int, answer: str) -> str:
    """Return the spec of a world with slates; without the keys for duels."""
    return WORLDS[name] + (f",slate={slate},feedback={answer}" if slate > 2 else "")


def games(policy: str, world: str, runs: int) -> dict[str, list[float]]:
    """Play a policy in a world; return both kinds of regret of each run."""
    played = [play(policy, world, seed, points=2) for seed in range(runs)]
    return {
        kind: [round(float(game.regret[kind][-1]), 3) for game in played]
        for kind in ("dynamic", "weak")
    }


def measure(runs: int) -> dict[str, Any]:
    """Play everything; return the regret of each run."""
    rows = []
    shapes = [(2, "pick"), *((m, answer) for m in SLATES[1:] for answer in ANSWERS)]
    cells = [("king", name, *shape) for name in WORLDS for shape in shapes]
    cells += [
        (policy, name, RIVAL_SLATE, answer)
        for policy in RIVALS
        for name in WORLDS
        for answer in ANSWERS
    ]
    for policy, name, slate, answer in dict.fromkeys(cells):
        spec = policy
        if policy.startswith("slate-"):
            spec += f"{',' if ':' in policy else ':'}slate={slate}"
        regret = games(spec, world_of(name, slate, answer), runs)
        rows.append({"policy": policy, "world": name, "slate": slate, "answer": answer, **regret})
        print(policy, name, slate, answer, round(float(np.mean(regret["dynamic"]))), flush=True)
    return {"runs": runs, "rounds": ROUNDS, "worlds": WORLDS, "rows": rows}


def ratio(numbers: list[float], base: list[float]) -> tuple[float, float]:
    """Return a ratio of means over paired runs and half the width of its 95 % interval."""
    x, y = np.array(numbers), np.array(base)
    value = float(x.mean() / y.mean())
    error = (x - value * y).std(ddof=1) / np.sqrt(len(x)) / y.mean()
    return value, float(student(len(x) - 1) * error)


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Write the tables of the page."""
    rows = {(r["policy"], r["world"], r["slate"], r["answer"]): r for r in record["rows"]}
    return {
        "slates-king": _king(rows),
        "slates-target": _target(rows),
        "slates-rivals": _rivals(rows),
    }


def _king(rows: dict[Any, Any]) -> str:
    heads = [f"{m}, {answer}" for m in SLATES[1:] for answer in ANSWERS]
    lines = [f"| world | regret | duels | {' | '.join(heads)} |", "|---|---|---|" + "--:|" * 4]
    for name in WORLDS:
        base = rows["king", name, 2, "pick"]
        for kind, label in (("dynamic", "mean of those shown"), ("weak", "best of those shown")):
            cells = []
            for m in SLATES[1:]:
                for answer in ANSWERS:
                    value, width = ratio(rows["king", name, m, answer][kind], base[kind])
                    cells.append(f"{value:.2f} ± {width:.2f}")
            lines.append(f"| {name} | {label} | {np.mean(base[kind]):,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _target(rows: dict[Any, Any]) -> str:
    lines = [
        "| options shown, answer | mean over the worlds | best of those shown |",
        "|---|--:|--:|",
    ]
    for m in SLATES[1:]:
        for answer in ANSWERS:
            cells = []
            for kind in ("dynamic", "weak"):
                ratios = [
                    ratio(rows["king", n, m, answer][kind], rows["king", n, 2, "pick"][kind])
                    for n in WORLDS
                ]
                mean = np.mean([value for value, _ in ratios])
                width = np.sqrt(sum(w * w for _, w in ratios)) / len(ratios)
                cells.append(f"{mean:.2f} ± {width:.2f}")
            lines.append(f"| {m}, {answer} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rivals(rows: dict[Any, Any]) -> str:
    heads = [f"{name}, {answer}" for name in WORLDS for answer in ANSWERS]
    lines = [f"| policy | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for policy in RIVALS:
        cells = [
            f"{np.mean(rows[policy, name, RIVAL_SLATE, answer]['dynamic']):,.0f}"
            for name in WORLDS
            for answer in ANSWERS
        ]
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40, metavar="N", help="games of each (40)")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    if not options.page:
        from research.stamps import played

        with played(
            RECORD, pages=[page_name(PAGE)], command="make slates",
            policies=[f"{name}" for name in RIVALS], worlds=list(WORLDS.values()),
        ):  # fmt: skip
            record = measure(options.runs)
            rows = ",\n".join(f"  {json.dumps(row)}" for row in record.pop("rows"))
            head = json.dumps(record, indent=1).removesuffix("\n}")
            RECORD.write_text(f'{head},\n "rows": [\n{rows}\n ]\n}}\n', "utf-8")
    written = tables(json.loads(RECORD.read_text("utf-8")))
    print("\n".join(written.values()), end="")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), written), "utf-8")


if __name__ == "__main__":
    main()
