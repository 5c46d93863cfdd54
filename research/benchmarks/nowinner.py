"""Exploitability of policies without a Condorcet winner, and its growth.

- worlds: T = 300,000 rounds in 6 phases. Exploitability (wins of one arm per phase against the
  arms played; the dynamic regret in rounds with a winner), and Borda and Copeland
  regret of the same games.
- growth: worlds that stand still, up to ten million rounds: exploitability at round T, and the
  exponent of T by least squares on the logarithms of the means. Intervals, here and below, are
  those of 2,000 sets of runs drawn with replacement.
- winner: where a winner always exists, court's regret as a ratio to king's in the same games, on
  the development half of the suite (court's constants were chosen elsewhere).
- goals: worlds that court's second edition was not tuned on, written down before it was tuned and
  played once: circles above other arms (exploitability as a ratio to king's; goal 0.5 for five) and
  worlds with a winner (regret as a ratio to king's; goal 1.1).
- speed: rounds a second of CPU time, of king, of a court of one, and of one that mixes.

`make nowinner` writes research/records/nowinner.json, the tables in docs/research/no-winner.md and
its figure; some minutes. `--page` writes page and figure again, `--only growth` measures one part
again.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftduel.games import play
from driftduel.regret import log_rounds
from driftduel.worlds import Piecewise
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, SUITE, page_name

RECORD = RECORDS / "nowinner.json"
PAGE = DOCS / "research" / "no-winner.md"
FIGURE = DOCS / "assets" / "no-winner.svg"


class Circle(NamedTuple):
    """Worlds with an odd circle of arms above others, in a new order in every phase."""

    circle: int
    arms: int
    p: float
    """How often an arm of the circle beats each of the next half of it."""
    over: float
    """How often an arm beats those below it, outside the circle or below all of it."""
    rounds: int
    phases: int

    def world(self, seed: int) -> Piecewise:
        """Draw one of these worlds."""
        rng, matrices = np.random.default_rng(seed), []
        for _ in range(self.phases):
            matrix, order = np.full((self.arms, self.arms), 0.5), rng.permutation(self.arms)
            for i in range(self.arms):
                for j in range(i + 1, self.arms):
                    wins = self.over
                    if j < self.circle:
                        wins = self.p if j - i <= self.circle // 2 else 1 - self.p
                    matrix[order[i], order[j]], matrix[order[j], order[i]] = wins, 1 - wins
            matrices.append(matrix)
        starts = [1 + phase * self.rounds // self.phases for phase in range(self.phases)]
        return Piecewise(matrices, starts, self.rounds)


ROUNDS, PHASES, RUNS = 300_000, 6, 20
FIRST_SEED = 8000
"""Seeds that nothing was chosen on."""
WORLDS = {
    "rps-top": "rps-top:arms=10",
    "skew-top": "skew-top:arms=10",
    "random": "uniform-random:arms=8",
    "cycle": "cycle:arms=5",
    "clash": "clash:arms=6",
    "mixed": "mixed:arms=10",
    "winner": "geometric-btl:arms=10",
}
POLICIES = (
    "court", "king", "borda-king", "exp3s", "vdb", "dts", "sw-dts:window=10000", "glr-dts",
    "anaconda:constant=0.5", "uniform",
)  # fmt: skip
BESIDE = ("court", "king", "borda-king", "exp3s", "sw-dts:window=10000", "glr-dts")
"""Policies with Borda and Copeland regret on the page."""
MEASURES = ("exploitability", "borda", "copeland")

LONG, LONG_RUNS = 10_000_000, 20
STANDING = {"rps-top": "rps-top:arms=10", "skew-top": "skew-top:arms=10"}
GROWING = ("court", "king")
DECADES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
RATIO_RUNS = 200

GOAL_SEED, GOAL_RUNS = 61_000, 60
CIRCLES = {
    "5 of 8, 0.65 over 0.75": Circle(5, 8, 0.65, 0.75, 150_000, 4),
    "5 of 10, 0.7 over 0.8": Circle(5, 10, 0.7, 0.8, 200_000, 4),
    "5 of 7, 0.6 over 0.7": Circle(5, 7, 0.6, 0.7, 300_000, 3),
    "3 of 8, 0.65 over 0.75": Circle(3, 8, 0.65, 0.75, 150_000, 4),
    "3 of 12, 0.6 over 0.8": Circle(3, 12, 0.6, 0.8, 200_000, 5),
}
WINNERS = (
    "geometric-btl:arms=8,rounds=100000,phases=5",
    "random-condorcet:arms=8,rounds=200000,phases=6,p_min=0.6",
    "total-order:arms=7,rounds=200000,phases=5,p=0.65",
    "utilities:arms=10,rounds=200000,phases=5",
    "geometric-btl:arms=15,rounds=150000,phases=4,change=winner",
    "random-walk:arms=8,rounds=100000,sd=0.008",
    "geometric-btl:arms=12,rounds=200000,phases=1",
    "utilities:arms=6,rounds=300000,phases=1",
    "random-condorcet:arms=7,rounds=100000,phases=1,p_min=0.6",
    "total-order:arms=6,rounds=150000,phases=1,p=0.6",
    "random-condorcet:arms=8,rounds=100000,phases=15,p_min=0.6,change=background",
)
"""In the last five the winner stays."""


def spec(world: str, rounds: int = ROUNDS, phases: int = PHASES) -> str:
    """Return a world of so many rounds and phases."""
    return f"{world},rounds={rounds},phases={phases}"


def lost(policy: str, world: str, seed: int) -> list[float]:
    """Play a game; return the loss by each measure."""
    game = play(policy, world, seed=seed, points=2, benchmark="exploitability")
    return [game.total, *(float(game.regret[name][-1]) for name in MEASURES[1:])]


def worlds() -> list[dict[str, Any]]:
    """Measure every policy in every world."""
    rows = []
    for name, world in WORLDS.items():
        for policy in POLICIES:
            games = np.array([lost(policy, spec(world), FIRST_SEED + run) for run in range(RUNS)])
            row: dict[str, Any] = {"world": name, "policy": policy}
            for measure, found in zip(MEASURES, games.T, strict=True):
                error = found.std(ddof=1) / math.sqrt(RUNS)
                row[measure] = [round(float(found.mean()), 1), round(float(error), 1)]
            print(name, policy, row["exploitability"], flush=True)
            rows.append(row)
    return rows


def growth() -> list[dict[str, Any]]:
    """Measure how exploitability grows where nothing changes."""
    rows = []
    at = np.union1d(log_rounds(LONG, 60), DECADES)
    decades = np.isin(at, DECADES)
    for name, world in STANDING.items():
        for policy in GROWING:
            curves = []
            for run in range(LONG_RUNS):
                game = play(
                    policy, spec(world, LONG, 1), seed=FIRST_SEED + run, points=at,
                    benchmark="exploitability",
                )  # fmt: skip
                curves.append(game.curve)
            found = np.array(curves)
            middle, low, high = exponent(np.array(DECADES), found[:, decades])
            means, errors = found.mean(0), found.std(0, ddof=1) / math.sqrt(LONG_RUNS)
            rows.append({
                "world": name, "policy": policy, "exponent": [middle, low, high],
                "at": at.tolist(), "mean": means.round(1).tolist(),
                "error": errors.round(1).tolist(),
            })  # fmt: skip
            print(name, policy, means[decades].round(0), rows[-1]["exponent"], flush=True)
    return rows


def exponent(at: Any, found: Any) -> list[float]:
    """Fit a power of T to the means of runs (runs, rounds); return it and a 95% interval."""

    def slope(curves: Any) -> float:
        return float(np.polyfit(np.log(at), np.log(curves.mean(0)), 1)[0])

    rng = np.random.default_rng(0)
    again = [slope(found[rng.integers(len(found), size=len(found))]) for _ in range(2000)]
    ends = np.quantile(again, (0.025, 0.975))
    return [round(float(each), 4) for each in (slope(found), *ends)]


def winner() -> list[dict[str, Any]]:
    """Compare court with king where a winner always exists."""
    from driftduel.suite import read_split

    half = read_split(SUITE / "development-1.toml")
    rows = []
    for world in (*half.changing, *half.quiet):
        seeds = range(FIRST_SEED, FIRST_SEED + RATIO_RUNS)
        games = np.array(
            [
                [play(policy, world, seed=seed, points=2).total for seed in seeds]
                for policy in ("court", "king")
            ]
        )
        rows.append({
            "world": world, "changing": world in half.changing,
            "court": round(float(games[0].mean()), 1), "king": round(float(games[1].mean()), 1),
            "ratio": ratio(*games),
        })  # fmt: skip
        print(world, rows[-1]["ratio"], flush=True)
    return rows


def goals() -> dict[str, list[dict[str, Any]]]:
    """Play court and king once in the worlds that were written down before tuning."""
    seeds = range(GOAL_SEED, GOAL_SEED + GOAL_RUNS)
    found: dict[str, list[dict[str, Any]]] = {"circles": [], "winners": []}
    for name, made in CIRCLES.items():
        found["circles"].append(
            _against_king(name, lambda policy, seed, made=made: play(
                policy, made.world(seed), seed=seed, points=2, benchmark="exploitability"
            ).total, seeds)
        )  # fmt: skip
    for world in WINNERS:
        found["winners"].append(
            _against_king(world, lambda policy, seed, world=world: play(
                policy, world, seed=seed, points=2
            ).total, seeds)
        )  # fmt: skip
    return found


def _against_king(name: str, lost: Callable[..., float], seeds: range) -> dict[str, Any]:
    """Return the means of court and king over the same games, and their ratio."""
    games = np.array([[lost(policy, seed) for seed in seeds] for policy in ("court", "king")])
    row = {"world": name, "court": round(float(games[0].mean()), 1),
           "king": round(float(games[1].mean()), 1), "ratio": ratio(*games)}  # fmt: skip
    print(name, row["ratio"], flush=True)
    return row


def ratio(ours: Any, theirs: Any) -> list[float]:
    """Return the ratio of two means over the same runs, with a 95% interval."""
    rng = np.random.default_rng(0)
    runs = rng.integers(len(ours), size=(2000, len(ours)))
    again = ours[runs].mean(1) / theirs[runs].mean(1)
    ends = np.quantile(again, (0.025, 0.975))
    return [round(float(each), 4) for each in (ours.mean() / theirs.mean(), *ends)]


def speed() -> dict[str, float]:
    """Measure millions of rounds a second of CPU time: the best of three games each."""
    games = {
        "king, a winner": ("king", "utilities:arms=10,rounds=2000000,phases=1,seed=1"),
        "court, a winner": ("court", "utilities:arms=10,rounds=2000000,phases=1,seed=1"),
        "court, three of ten mix": ("court", "rps-top:arms=10,rounds=2000000,phases=1,seed=1"),
        "court, all of 21 mix": ("court", "cycle:arms=21,rounds=2000000,phases=1,seed=1"),
    }
    found = {}
    for name, (policy, world) in games.items():
        times = []
        for run in range(4):  # the first one may compile
            begin = time.process_time()
            play(policy, world, seed=run, points=2, benchmark="borda")
            times.append(time.process_time() - begin)
        found[name] = round(2 / min(times[1:]), 2)
        print(name, found[name], flush=True)
    return found


PARTS: dict[str, Callable[[], Any]] = {
    "worlds": worlds, "growth": growth, "winner": winner, "goals": goals, "speed": speed,
}  # fmt: skip


def what_is_played(part: str) -> tuple[list[str], list[str]]:
    """Return the policies and the worlds of a part."""
    if part == "worlds":
        return list(POLICIES), [spec(world) for world in WORLDS.values()]
    if part == "growth":
        return list(GROWING), [spec(world, LONG, 1) for world in STANDING.values()]
    if part == "winner":
        from driftduel.suite import read_split

        half = read_split(SUITE / "development-1.toml")
        return ["court", "king"], [*half.changing, *half.quiet]
    return ["court", "king"], []


# ---- the page ----


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Write the numbers as tables in Markdown, by their marks on the page."""
    return {
        "nowinner": _measured(record["worlds"]),
        "nowinner-growth": _grown(record["growth"]),
        "nowinner-ratio": _ratios(record["winner"]),
        "nowinner-circles": _ratios(record["goals"]["circles"]),
        "nowinner-goals": _ratios(record["goals"]["winners"]),
    }


def _measured(rows: list[dict[str, Any]]) -> str:
    found = {(row["world"], row["policy"]): row for row in rows}
    least = {
        (world, measure): min(found[world, policy][measure][0] for policy in POLICIES)
        for world in WORLDS
        for measure in MEASURES
    }
    lines = [f"| | policy | {' | '.join(WORLDS)} |", "|---|---|" + "---|" * len(WORLDS)]
    for measure in MEASURES:
        for policy in POLICIES if measure == MEASURES[0] else BESIDE:
            cells = []
            for world in WORLDS:
                mean, error = found[world, policy][measure]
                text = f"{mean:,.0f}"
                if measure == "exploitability":
                    text += f" ± {error:,.0f}"
                best = mean <= 1.02 * least[world, measure] and mean > 0
                cells.append(f"**{text}**" if best else text)
            head = f"**{measure.capitalize()}**" if policy == POLICIES[0] else ""
            lines.append(f"| {head} | `{policy}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _grown(rows: list[dict[str, Any]]) -> str:
    heads = " | ".join(f"{each:,}" for each in DECADES)
    lines = [f"| world | policy | {heads} | exponent (95%) |"]
    lines.append("|---|---|" + "---|" * (len(DECADES) + 1))
    for row in rows:
        cells = [f"{row['mean'][row['at'].index(each)]:,.0f}" for each in DECADES]
        middle, low, high = row["exponent"]
        cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
        lines.append(f"| {row['world']} | `{row['policy']}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ratios(rows: list[dict[str, Any]]) -> str:
    lines = ["| world | king | court | ratio (95%) |", "|---|---|---|---|"]
    for row in rows:
        middle, low, high = row["ratio"]
        lines.append(
            f"| `{row['world']}` | {row['king']:,.0f} | {row['court']:,.0f} "
            f"| {middle:.2f} ({low:.2f} to {high:.2f}) |"
        )
    return "\n".join(lines) + "\n"


def draw(record: dict[str, Any]) -> None:
    """Draw how exploitability grows where nothing changes."""
    from driftduel.figures.style import figure, save

    looks = {"court": ("#0072B2", "-"), "king": ("#D55E00", (0, (5, 1.6)))}
    with figure(1, [2.6], width=5.2) as (canvas, (panel,)):
        for row in record["growth"]:
            colour, dashes = looks[row["policy"]]
            at, mean = np.array(row["at"]), np.array(row["mean"])
            shown = at >= 3000
            even = row["world"] == "rps-top"
            power = f"T^{row['exponent'][0]:.2f}"
            panel.plot(
                at[shown], mean[shown], color=colour, ls=dashes, lw=2.0 if even else 1.0,
                label=f"{row['policy']}, {'even' if even else 'skewed'} circle: {power}",
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlabel="round T", ylabel="exploitability")
        panel.legend(frameon=False, fontsize=8)
        panel.set_title("Three of ten arms in a circle on top: wins of a rival")
        save(canvas, FIGURE)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Exploitability without a winner.")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part again")
    arguments = parser.parse_args()
    from research.stamps import played

    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    for part in () if arguments.page else arguments.only or PARTS:
        policies, specs = what_is_played(part)
        with played(
            RECORD, pages=[page_name(PAGE)], command=f"make nowinner ONLY={part}",
            policies=policies, worlds=specs, part=part,
        ):  # fmt: skip
            record[part] = PARTS[part]()
            ordered = {name: record[name] for name in PARTS if name in record}
            RECORD.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), tables(record)), "utf-8")
    draw(record)


if __name__ == "__main__":
    main()
