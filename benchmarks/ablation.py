"""Take every ingredient of the policy `king` away in turn, and play the development half again.

A variant is king's three files in one, with one idea replaced in their text, so it cannot drift
away from the policy: a piece that no longer occurs exactly once ends the script, and a test says
so before.

- score: mean regret divided by that of the best sliding window in hindsight, geometric mean over
  the worlds whose winner changes.
- against king: the ratio of the regrets, likewise, with a 95 % interval over runs (jackknife; run r
  is the same for every variant, and the windows cancel out).
- quiet: what it loses more than `dts` where the winner stays, in units of sqrt(K T); the dearest.
- alarms: per run in the quiet worlds, where none is needed.

`make ablation` writes docs/ablation.json and the table in docs/champion.md. The windows are slow
and take some twenty minutes the first time; they are kept in the folder `--out`.
"""

import argparse
import hashlib
import json
import math
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
POLICY = ROOT / "src" / "driftduel" / "policies"
RECORD = ROOT / "docs" / "ablation.json"
PAGE = ROOT / "docs" / "champion.md"
BEGIN, END = "<!-- table: ablation -->\n", "<!-- /table -->"

BASELINE_RUNS = 10
RUNS = 40
POINTS = 10


@dataclass(frozen=True)
class Variant:
    """The policy without one of its ideas."""

    name: str
    words: str
    pieces: tuple[tuple[str, str], ...]
    """What stands in king's text, exactly once, and what takes its place."""

    @property
    def policy(self) -> str:
        """The name it is registered under."""
        return f"king-{self.name}"

    def source(self, king: str) -> str:
        """Return king's text with its pieces replaced, registered under another name."""
        renamed = (('@POLICIES.register("king")', f'@POLICIES.register("{self.policy}")'),)
        renamed += ((' = "king"\n', f' = "{self.policy}"\n'),)
        for old, new in (*self.pieces, *renamed):
            if (found := king.count(old)) != 1:
                raise SystemExit(f"{self.name}: king has {old!r} {found} times, not once.")
            king = king.replace(old, new)
        return king


def king_text() -> str:
    """Return king's three files as one: its matches, their timing, and the policy."""
    names = ("_king_matches", "_king_timing", "king")
    whole = "".join((POLICY / f"{name}.py").read_text("utf-8") for name in names)
    inside = r"from driftduel\.policies\.(_king_matches|_king_timing) import (\([^)]*\)|[^(\n]*)\n"
    alone, found = re.subn(inside, "", whole)
    if found != 3:
        raise SystemExit(f"king's files import each other {found} times, not three.")
    return alone


_SPACED = """\
        numbers.due += min(matches, 1.0)
        return -1 if numbers.due < 1.0 else due(state, t)
"""
_COIN = """\
        if uniform(rng) >= matches:
            return -1
        numbers.due = 1.0
        return due(state, t)
"""
_CALLABLE = "from collections.abc import Callable\n"
_BY_TIME = "rate * math.sqrt(here * (1.0 + numbers.alarms) / t)"
_NEEDED = "needed = 4.0 * 2.0 ** min(60.0, numbers.held / (numbers.here - 1.0))"
_FORGET = """\
        rival.record = 0.5
        rival.seen = 0.0
        rival.tries = _KNOWN
"""
_NO_EXTRA = ("fresh_rate=0.5", "fresh_rate=0.0")
_NO_EASE = (_NEEDED, "needed = 50.0 + 0.5 * numbers.matches")

VARIANTS = (
    Variant(
        "coin",
        "a coin decides every round whether a match begins; not evenly spaced",
        (
            (_SPACED, _COIN),
            ("def challenger(state, t):", "def challenger(state, t, rng):"),
            ("_challenger(state, t)", "_challenger(state, t, rng)"),
            (_CALLABLE, _CALLABLE + "from driftduel._random import uniform\n"),
        ),
    ),
    Variant(
        "no-alarms-in-rate",
        "sqrt(K / t) / 2 matches a round: the rate does not rise with alarms",
        ((_BY_TIME, "rate * math.sqrt(here / t)"),),
    ),
    Variant(
        "rate-by-age",
        "sqrt(K / age) / 2 matches a round, by the age of this king's reign instead",
        ((_BY_TIME, "rate * math.sqrt(here / age)"),),
    ),
    Variant(
        "fixed-rate",
        "one match in a hundred rounds, whatever the time and the alarms",
        ((_BY_TIME, "0.01"),),
    ),
    Variant(
        "no-focus",
        "everyone strictly in turn; no match for who came closest",
        (("numbers.matches % 4 == 3", "numbers.matches % 4 == 4"),),
    ),
    Variant(
        "one-match",
        "never a second match beside one that lasts",
        (("\nPATIENCE = 64", "\nPATIENCE = 1 << 60"),),
    ),
    Variant(
        "two-behind",
        "a match ends when the challenger is two behind, not one",
        (("    rival.lead = 0\n", "    rival.lead = 1\n"),),
    ),
    Variant(
        "never-hopeless",
        "no end to a match whose evidence has sunk below 0.001",
        (("_LEAST = 0.001", "_LEAST = 0.0"),),
    ),
    Variant(
        "one-bet",
        "one bet of stake 0.2 in place of six",
        (("_BETS = 6", "_BETS = 1"), ("wealth, stake = 0.0, 0.8", "wealth, stake = 0.0, 0.2")),
    ),
    Variant(
        "fixed-bar",
        "an alarm at 50, however many matches there were: up to n / 50 false ones",
        (("return needed, 50.0 + 0.5 * numbers.matches", "return needed, 50.0"),),
    ),
    Variant(
        "high-bar",
        "an alarm at 1000, likewise: up to n / 1000 false ones",
        (("return needed, 50.0 + 0.5 * numbers.matches", "return needed, 1000.0"),),
    ),
    Variant("no-extra", "a fresh king gets no extra matches", (_NO_EXTRA,)),
    Variant("no-ease", "a fresh king is as hard to beat as an old one", (_NO_EASE,)),
    Variant("no-fresh", "neither of the two: established at once", (_NO_EXTRA, _NO_EASE)),
    Variant(
        "keep-records",
        "what was known of the rivals outlives the king it was about",
        ((_FORGET, "        rival.tries = _KNOWN\n"),),
    ),
)


def write_variants(folder: Path) -> dict[str, str]:
    """Write every variant as a file of its own; return the files by policy."""
    king = king_text()
    files = {}
    for variant in VARIANTS:
        source = variant.source(king)
        mark = hashlib.sha256(source.encode()).hexdigest()[:8]
        path = folder / f"{variant.policy.replace('-', '_')}_{mark}.py"
        if not path.exists():  # the compiler keeps its work beside the file, by the file's time
            path.write_text(source, "utf-8")
        files[variant.policy] = str(path)
    return files


def measure(out: Path) -> dict[str, Any]:
    """Play windows and variants, except for what `out` has already; return the numbers."""
    from driftduel.lab import compare
    from driftduel.suite import read_half

    half = read_half("development")
    quiet, worlds = list(half.quiet), [*half.changing, *half.quiet]
    windows = [f"sw-dts:window={window}" for window in half.windows]
    long = [world for world in half.changing if "rounds=1000000" in world]
    rest = [world for world in half.changing if world not in long]
    baselines: dict[str, dict[str, float]] = {}
    for name, some, policies in (
        ("quiet", quiet, ["dts"]),
        ("changing", rest, ["dts", *windows]),
        ("long", long, ["dts", *windows]),
    ):
        found = compare(
            policies, some, BASELINE_RUNS, half.seed, out=out / name, workers=1, points=POINTS
        )
        _complete(found)
        for row in found.summary.iter_rows(named=True):
            baselines.setdefault(row["world"], {})[row["policy"]] = row["regret_mean"]
    (out / "sources").mkdir(exist_ok=True)
    files = write_variants(out / "sources")
    found = compare(
        ["king", *files], worlds, RUNS, half.seed, out=out / "variants", points=POINTS,
        imports=list(files.values()), engine="threads", workers=1, replan=True,
    )  # fmt: skip
    _complete(found)
    sizes = {world.spec: (world.arms, world.rounds) for world in found.plan.worlds}
    games = found.games.sort("run")
    regrets = {
        (world, policy): frame["regret"].to_numpy()
        for (world, policy), frame in games.group_by("world", "policy", maintain_order=True)
    }
    alarms = {(row["world"], row["policy"]): row["restarts_mean"] for row in
              found.summary.iter_rows(named=True)}  # fmt: skip
    return {
        "runs": RUNS,
        "baseline_runs": BASELINE_RUNS,
        "worlds": [_world(world, baselines[world], sizes[world]) for world in worlds],
        "variants": [
            _result(name, words, policy, worlds, baselines, sizes, regrets, alarms)
            for name, words, policy in [
                ("king", "the policy as it is", "king"),
                *((each.name, each.words, each.policy) for each in VARIANTS),
            ]
        ],
    }


def _complete(found: Any) -> None:
    if found.failures or found.missing:
        raise SystemExit(f"{found.missing} games are missing: {found.failures}")


def _world(world: str, baseline: dict[str, float], size: tuple[int, int]) -> dict[str, Any]:
    windows = {name: mean for name, mean in baseline.items() if name != "dts"}
    best = min(windows, key=windows.__getitem__) if windows else None
    return {
        "world": world,
        "arms": size[0],
        "rounds": size[1],
        "dts": round(baseline["dts"], 2),
        "best_window": best and int(best.partition("=")[2]),
        "best": best and round(windows[best], 2),
    }


def _result(
    name: str, words: str, policy: str, worlds: list[str], baselines: Any, sizes: Any,
    regrets: Any, alarms: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return the numbers of one variant."""
    import numpy as np

    changing = [world for world in worlds if len(baselines[world]) > 1]
    quiet = [world for world in worlds if len(baselines[world]) == 1]
    best = [min(v for k, v in baselines[world].items() if k != "dts") for world in changing]
    mine = np.stack([regrets[world, policy] for world in changing])
    kings = np.stack([regrets[world, "king"] for world in changing])
    ratios = mine.mean(1) / best
    costs = [
        (regrets[world, policy].mean() - baselines[world]["dts"])
        / math.sqrt(math.prod(sizes[world]))
        for world in quiet
    ]
    # Leave one run out at a time: the estimate's spread over runs, which all variants share.
    against = float(np.log(mine.mean(1) / kings.mean(1)).mean())
    n = mine.shape[1]
    left = [
        np.log(np.delete(mine, run, 1).mean(1) / np.delete(kings, run, 1).mean(1)).mean()
        for run in range(n)
    ]
    error = math.sqrt((n - 1) * float(np.var(left)))
    return {
        "name": name,
        "words": words,
        "score": round(float(np.exp(np.log(ratios).mean())), 4),
        "against_king": [round(math.exp(against + z * error), 4) for z in (0.0, -2.02, 2.02)],
        "ratios": [round(float(ratio), 4) for ratio in ratios],
        "quiet_costs": [round(float(cost), 4) for cost in costs],
        "quiet_alarms": [round(alarms[world, policy], 4) for world in quiet],
        "regret": [round(float(regrets[world, policy].mean()), 1) for world in worlds],
    }


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        "| variant | what is different | score | against king (95 %) | worst world "
        "| quiet | alarms |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in record["variants"]:
        middle, low, high = each["against_king"]
        against = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        alarms = sum(each["quiet_alarms"]) / len(each["quiet_alarms"])
        cells = [
            f"**`{each['name']}`**" if each["name"] == "king" else f"`{each['name']}`",
            each["words"],
            f"{each['score']:.2f}",
            "1" if each["name"] == "king" else against,
            f"{max(each['ratios']):.2f}",
            f"{max(each['quiet_costs']):+.2f}",
            f"{alarms:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def on_page(page: str, rows: str) -> str:
    """Return a page with the table between its marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise SystemExit(f"the page has no {BEGIN.strip()} ... {END}.")
    return f"{before}{mark}{rows}{end}{after}"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="The policy king, without each of its ideas.")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir(), "champion-ablation")
    )
    parser.add_argument("--page", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    if not arguments.page:
        arguments.out.mkdir(parents=True, exist_ok=True)
        record = measure(arguments.out)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    rows = table(json.loads(RECORD.read_text("utf-8")))
    print(rows, end="")
    if PAGE.exists():
        PAGE.write_text(on_page(PAGE.read_text("utf-8"), rows), "utf-8")


if __name__ == "__main__":
    main()
