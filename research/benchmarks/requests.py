"""Judge `adaptive-logistic` on test worlds that were written down before it was tuned.

The reference of a world is the best of `lin-ucb`, `lin-ts`, `maxinp` and `colstim` with memory and
width chosen in hindsight: all of a grid play the same seeds. On worlds without features `king`
plays, too. A second part counts false alarms in stationary worlds: prompt answers, late ones, ties.

`make requests` plays it, and writes research/records/requests.json and the tables in
docs/research/requests.md.
"""

import argparse
import json
from typing import Any

import numpy as np

from driftduel import play
from driftduel.worlds import make_world
from research.benchmarks.page_marks import on_page
from research.benchmarks.requests_worlds import MEMORIES, RIVALS, RUNS, TEST, seed_of
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "requests.json"
PAGE = DOCS / "research" / "requests.md"
CANDIDATE = "adaptive-logistic"
ALARM_WORLDS, ALARM_ROUNDS = 1_000, 4_000
TARGETS = {"changing": 0.85, "worst": 1.1, "stationary": 1.5, "king": 1.2}

_ALARM_KINDS = {
    "prompt answers": "",
    "late answers": ",delay=30",
    "ties": ",ties=0.3",
}
_ALARM_SHAPES = (
    "routing:arms=4,features=2",
    "routing:arms=4,features=3,categories=3,spread=1.7",
    "routing:arms=4,features=0,spread=1",
    "routing:arms=3,features=3,categories=2",
)


def grid(small: bool = False) -> list[str]:
    """Return the specs of all rivals; with `small`, those of `lin-ucb` and three of `lin-ts`."""
    return [
        f"{name}:width={width}" + ("" if memory is None else f",memory={memory}")
        for name, widths in RIVALS.items()
        for width in widths
        for memory in MEMORIES
        if not small
        or name == "lin-ucb"
        or (name == "lin-ts" and width == widths[0] and memory not in (MEMORIES[0], MEMORIES[-2]))
    ]


def _totals(policy: str, world: str, runs: range) -> list[float]:
    return [play(policy, world, seed_of("test", run), points=2).total for run in runs]


def best_rival(spec: str, runs: int, small: bool) -> tuple[str, list[float]]:
    """Return the best rival of a world in hindsight, and its regret in every run."""
    rivals = {rival: _totals(rival, spec, range(runs)) for rival in grid(small)}
    return min(rivals.items(), key=lambda item: float(np.mean(item[1])))


def measure_world(name: str, runs: int, small: bool = False) -> dict[str, Any]:
    """Play one world; return the regret of the candidate, of the best rival, and of `king`."""
    group, spec = TEST[name]
    games = [play(CANDIDATE, spec, seed_of("test", run), points=2) for run in range(runs)]
    regret = np.array([game.total for game in games])
    seconds = sum(game.seconds for game in games)
    best, rival = best_rival(spec, runs, small)
    world = make_world(spec, 0)
    shape = getattr(world, "shape")  # noqa: B009 - a world with requests
    row = {
        "world": name, "group": group, "spec": spec, "coefficients": world.arms * shape.size,
        "rounds": world.rounds, "regret": regret.tolist(), "best": best, "rival": rival,
        "alarms": float(np.mean([len(game.restarts) for game in games])),
        "small": small,
        "rounds_per_second": runs * world.rounds / seconds,
    }  # fmt: skip
    if group.endswith("d1"):
        row["king"] = _totals("king", spec, range(runs))
    print(f"{name}: {regret.mean():.0f} against {np.mean(rival):.0f} of {best}", flush=True)
    return row


def measure_alarms(worlds: int, rounds: int) -> dict[str, Any]:
    """Count false alarms and their bound in stationary worlds."""
    found: dict[str, Any] = {"worlds": worlds, "rounds": rounds, "kinds": {}}
    for kind, key in _ALARM_KINDS.items():
        counts, bounds = [], []
        for number in range(worlds):
            shape = _ALARM_SHAPES[number % len(_ALARM_SHAPES)]
            spec = f"{shape},rounds={rounds},phases=1{key}"
            game = play(CANDIDATE, spec, seed_of("test", 10_000 + number), points=2)
            counts.append(len(game.restarts))
            bounds.append(game.policy.false_alarms_at_most())
        found["kinds"][kind] = {
            "mean": float(np.mean(counts)),
            "se": float(np.std(counts, ddof=1) / np.sqrt(worlds)),
            "without": float(np.mean(np.array(counts) == 0)),
            "most": int(max(counts)),
            "bound": float(np.mean([bound or 0.0 for bound in bounds])),
        }
        print(kind, found["kinds"][kind], flush=True)
    return found


def ratio(row: dict[str, Any], other: str = "rival") -> tuple[float, float]:
    """Return the ratio of mean regrets and its standard error over paired runs."""
    mine, theirs = np.array(row["regret"]), np.array(row[other])
    value = float(mine.mean() / theirs.mean())
    error = (mine - value * theirs).std(ddof=1) / np.sqrt(len(mine)) / theirs.mean()
    return value, float(error)


def geometric_mean(rows: list[dict[str, Any]], group: str) -> float:
    """Return the geometric mean of the ratios of the worlds of a group."""
    logs = [np.log(ratio(row)[0]) for row in rows if row["group"].startswith(group)]
    return float(np.exp(np.mean(logs)))


def table(record: dict[str, Any]) -> str:
    """Write the worlds as a table."""
    lines = [
        "| world | D | regret | best rival in hindsight | its regret | ratio | alarms |",
        "|---|--:|--:|---|--:|--:|--:|",
    ]
    for row in record["rows"]:
        mine, theirs = np.array(row["regret"]), np.array(row["rival"])
        value, error = ratio(row)
        star = "*" if row["small"] else ""
        lines.append(
            f"| {row['world']}{star} | {row['coefficients']} | {_mean(mine)} | `{row['best']}` | "
            f"{_mean(theirs)} | {value:.2f} ± {error:.2f} | {row['alarms']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def _mean(values: Any) -> str:
    return f"{values.mean():,.0f} ± {values.std(ddof=1) / np.sqrt(len(values)):,.0f}"


def targets(record: dict[str, Any]) -> str:
    """Write each target, the figure, and whether it is met."""
    rows = record["rows"]
    changing = [row for row in rows if row["group"].startswith("changing")]
    stationary = [row for row in rows if row["group"].startswith("stationary")]
    worst = max(changing, key=lambda row: ratio(row)[0])
    lines = ["| target | measured | met |", "|---|---|---|"]

    def line(what: str, said: str, met: bool) -> None:
        lines.append(f"| {what} | {said} | {'yes' if met else '**no**'} |")

    mean = geometric_mean(rows, "changing")
    line(
        f"changing worlds, geometric mean at most {TARGETS['changing']}",
        f"{mean:.2f} of {len(changing)} worlds",
        mean <= TARGETS["changing"],
    )
    most = ratio(worst)[0]
    above = sum(ratio(row)[0] > TARGETS["worst"] for row in changing)
    line(
        f"no changing world above {TARGETS['worst']}",
        f"{most:.3f} ({worst['world']}); {above} above",
        most <= TARGETS["worst"],
    )
    for row in stationary:
        value, bound = ratio(row)[0], 0.5 * np.sqrt(row["coefficients"] * row["rounds"])
        mine = float(np.mean(row["regret"]))
        line(
            f"{row['world']}: ratio at most {TARGETS['stationary']}, regret at most "
            f"0.5 sqrt(D T) = {bound:.0f}",
            f"{value:.2f}, {mine:.0f}",
            value <= TARGETS["stationary"] and mine <= bound,
        )
    for row in rows:
        if "king" in row:
            value, error = ratio(row, "king")
            line(
                f"{row['world']}: at most {TARGETS['king']} times the regret of `king`",
                f"{value:.2f} ± {error:.2f}",
                value <= TARGETS["king"],
            )
    return "\n".join(lines) + "\n"


def alarms(record: dict[str, Any]) -> str:
    """Write the false alarms as a table."""
    found = record["alarms"]
    lines = [
        f"| {found['worlds']:,} stationary worlds, {found['rounds']:,} rounds | false alarms, mean "
        "| bound, mean | games without one | most in a game |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {kind} | {row['mean']:.3f} ± {row['se']:.3f} | {row['bound']:.1f} | "
        f"{100 * row['without']:.1f}% | {row['most']} |"
        for kind, row in found["kinds"].items()
    ]
    return "\n".join(lines) + "\n"


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return all tables of the page, by name."""
    return {
        "requests-worlds": table(record),
        "requests-targets": targets(record),
        "requests-alarms": alarms(record),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"games ({RUNS})")
    parser.add_argument("--part", choices=("worlds", "alarms"), help="play this part only")
    parser.add_argument("--small", action="store_true", help="a smaller grid of rivals")
    parser.add_argument("--worlds", default="", metavar="A-B", help="play only these, from 1")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    record: dict[str, Any] = {}
    if RECORD.exists():
        record = json.loads(RECORD.read_text("utf-8"))
    if not options.page:
        from research.stamps import played

        names = list(TEST)
        if options.worlds:
            low, high = map(int, options.worlds.split("-"))
            names = names[low - 1 : high]
        for part in ("worlds", "alarms"):
            if options.part not in (None, part):
                continue
            label = f"worlds {options.worlds}" if options.worlds and part == "worlds" else part
            specs = [TEST[name][1] for name in names] if part == "worlds" else []
            with played(
                RECORD, pages=[page_name(PAGE)], command="make requests",
                policies=[CANDIDATE, *RIVALS, "king"], worlds=specs, part=label,
            ):  # fmt: skip
                if part == "worlds":
                    rows = {row["world"]: row for row in record.get("rows", [])}
                    rows |= {n: measure_world(n, options.runs, options.small) for n in names}
                    record["runs"] = options.runs
                    record["rows"] = [rows[name] for name in TEST if name in rows]
                else:
                    record["alarms"] = measure_alarms(ALARM_WORLDS, ALARM_ROUNDS)
                RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    made = tables(record)
    print(*made.values(), sep="\n")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), made), "utf-8")


if __name__ == "__main__":
    main()
