"""Take every ingredient of the policy `king` away in turn, and play a development half again.

A variant is king's five files in one, with one idea replaced in their text, so it cannot drift
away from the policy: a piece that no longer occurs exactly once ends the script, and a test
fails before.

- score: mean regret divided by that of the best sliding window in hindsight, geometric mean over
  the worlds with changes of the winner.
- against king: the ratio of the regrets, likewise, with a 95% interval over runs (jackknife; run r
  is the same for every variant, and the windows cancel out).
- where it was weak: the same ratio in worlds of the kinds in which the first edition was weak.
- quiet: its regret above that of `dts` in stationary worlds, in units of sqrt(K T); the largest.
- alarms: per run in the quiet worlds, where none is needed.

`make ablation` writes research/records/ablation.json and the table in docs/research/king.md.
Windows and `dts`, to which scores are ratios, do not depend on king: they are those of the file,
unless it lacks a world or their code has changed since.
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

from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, ROOT, SUITE, page_name

POLICY = ROOT / "src" / "driftduel" / "policies"
RECORD = RECORDS / "ablation.json"
PAGE = DOCS / "research" / "king.md"
TABLE = "ablation"

BASELINE_RUNS = 10
RUNS = 12
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


FILES = ("_king_matches", "_king_evidence", "_king_timing", "_king_succession", "king")


def king_text() -> str:
    """Return king's files as one: its matches, evidence, timing and succession, and the policy."""
    whole = "".join((POLICY / f"{name}.py").read_text("utf-8") for name in FILES)
    names = "|".join(FILES[:-1])
    inside = rf"from driftduel\.policies\.({names}) import (\([^)]*\)|[^(\n]*)\n"
    alone, found = re.subn(inside, "", whole)
    if found != 6:
        raise SystemExit(f"king's files import each other {found} times, not six.")
    return alone


_SPACED = """\
        numbers.due += min(matches(state, t), 1.0)
        return -1 if numbers.due < 1.0 else due(state, t)
"""
_COIN = """\
        if uniform(rng) >= matches(state, t):
            return -1
        numbers.due = 1.0
        return due(state, t)
"""
_CALLABLE = "from collections.abc import Callable\n"
_NEEDED = "needed = easy * 2.0 ** min(60.0, numbers.held / (numbers.here - 1.0))"
_DOUBT = "return needed, 4.0 * easy + 0.5 * numbers.matches"
_FORGET = """\
        rival.record = 0.5
        rival.seen = 0.0
        rival.tries = _KNOWN
"""
_LIKELY = "closest, most = -1, -1.0\n    if numbers.held >= numbers.here - 1:"
_SETTLE = "settle = settling(bet_and_judge, start_over)\n"
_PLAINLY = """\
@hot
def _plainly(state: Any, j: int, won: int) -> int:
    return verdict(state, j, bet(state, j, won))


settle = settling(_plainly, _go_on)
"""
_PLAIN = (
    (_SETTLE, _PLAINLY),
    ("state.bets[j, k] = 0.5 + 0.5 / stake", "state.bets[j, k] = 1.0"),
)
_NO_EXTRA = ("_FRESH = 0.5", "_FRESH = 0.0")

VARIANTS = (
    Variant(
        "first-edition",
        "all of the below: king as it was before",
        (
            *_PLAIN,
            (
                "challenges(without_match, matches_due, _next_one)",
                "challenges(without_match, by_alarms(0.5, 0.5, 1.0), by_turns(without_match))",
            ),
        ),
    ),
    Variant(
        "plain-bets",
        "bets that keep their capital when a match is lost, with the bars of that version",
        _PLAIN,
    ),
    Variant(
        "bar-for-few",
        "the bar of a fresh king does not grow with the number of arms",
        (("easy = max(_EASY, 0.5 * numbers.here)", "easy = _EASY"),),
    ),
    Variant(
        "only-alarms",
        "a fall counts for the rate only if it is an alarm",
        (("said == 2 or numbers.held >= 2 * (numbers.here - 1)", "said == 2"),),
    ),
    Variant(
        "no-rhythm",
        "the rate goes by all falls so far, not by the last ones",
        (("numbers.rhythm = rhythm(state, t)", "numbers.rhythm = 0.0"),),
    ),
    Variant(
        "half-more",
        "(1 + S) / t falls a round, not (1/2 + S) / t",
        (("(0.5 + numbers.falls) / t", "(1.0 + numbers.falls) / t"),),
    ),
    Variant(
        "learns-nothing",
        "the prior probabilities of successors are not updated",
        (("state.successions[state.arms[j].kind] += 1.0", "pass"),),
    ),
    Variant(
        "no-former",
        "former kings are arms like all others",
        (("state.arms[numbers.king].reigned = t", "state.arms[numbers.king].reigned = 0"),),
    ),
    Variant(
        "no-closest",
        "and so is the closest rival",
        ((_LIKELY, _LIKELY.replace("held >= numbers.here - 1", "held < 0")),),
    ),
    Variant(
        "whole-crowd",
        "the rate goes by the number of arms, however likely each is to follow",
        (("numbers.crowd = 1.0 + crowd * crowd", "numbers.crowd = float(numbers.here)"),),
    ),
    Variant(
        "coin",
        "a coin decides every round whether a match begins; not evenly spaced",
        (
            (_SPACED, _COIN),
            ("def challenger(state, t):", "def challenger(state, t, rng):"),
            ("_challenger(state, t)", "_challenger(state, t, rng)"),
            (_CALLABLE, _CALLABLE + "from driftduel._internal.kernel_random import uniform\n"),
        ),
    ),
    Variant(
        "one-match",
        "never a second match beside one that lasts",
        (("\nPATIENCE = 64", "\nPATIENCE = 1 << 60"),),
    ),
    Variant("no-extra", "a fresh king gets no extra matches", (_NO_EXTRA,)),
    Variant(
        "no-ease", "a fresh king is as hard to beat as an old one", ((_NEEDED, "needed = 1e300"),)
    ),
    Variant(
        "fixed-bar",
        "an alarm at 50, however many matches there were: up to n / 50 false ones",
        ((_DOUBT, "return needed, 4.0 * easy"),),
    ),
    Variant(
        "keep-records",
        "records of the rivals are kept when the king falls",
        ((_FORGET, "        rival.tries = _KNOWN\n"),),
    ),
)


def write_variants(folder: Path) -> dict[str, str]:
    """Write each variant to a separate file; return the files by policy."""
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


WEAK = (
    "total-order:arms=200,rounds=300000,phases=2,p=0.55",
    "random-condorcet:arms=10,rounds=300000,phases=300,p_min=0.6",
    "total-order:arms=10,rounds=300000,phases=3,p=0.515",
    "recurring:arms=12,rounds=200000,every=6000,regimes=3",
    "bursts:arms=10,rounds=300000,changes=8,every=1000",
)
"""The last two are of the families of the test half, with other settings, played after it was."""


def ordinary(half: Any) -> tuple[list[str], list[str]]:
    """Return the changing and the quiet worlds: those with phases, and not the longest.

    A loop is compiled for each variant and again for worlds that drift, which would take longer
    than all games.
    """
    worlds = (
        [world for world in kind if "phases=" in world and "rounds=1000000" not in world]
        for kind in (half.changing, half.quiet)
    )
    changing, quiet = worlds
    return changing, quiet


def measure(out: Path) -> dict[str, Any]:
    """Play the missing games of windows and variants; return the numbers."""
    from driftduel.lab import compare
    from driftduel.suite import read_split

    half = read_split(SUITE / "development-1.toml")
    known = json.loads(RECORD.read_text("utf-8"))["worlds"] if _knows_baselines() else []
    baselines = {each["world"]: each for each in known}
    chosen = [world for kind in ordinary(half) for world in kind]
    for world in chosen:
        if world not in baselines:
            baselines[world] = _baseline(world, half, out)
    (out / "sources").mkdir(exist_ok=True)
    files = write_variants(out / "sources")
    worlds = [*chosen, *WEAK]
    found = compare(
        ["king", *files], worlds, RUNS, half.seed, out=out / "variants", points=POINTS,
        imports=list(files.values()), engine="threads", workers=1, replan=True,
    )  # fmt: skip
    _complete(found)
    games = found.games.sort("run")
    regrets = {
        (world, policy): frame["regret"].to_numpy()
        for (world, policy), frame in games.group_by("world", "policy", maintain_order=True)
    }
    alarms = {(row["world"], row["policy"]): row["restarts_mean"] for row in
              found.summary.iter_rows(named=True)}  # fmt: skip
    kept = [baselines[world] for world in chosen]
    return {
        "runs": RUNS,
        "baseline_runs": BASELINE_RUNS,
        "worlds": kept,
        "weak": list(WEAK),
        "variants": [
            _result(name, words, policy, kept, regrets, alarms)
            for name, words, policy in [
                ("king", "the policy as it is", "king"),
                *((each.name, each.words, each.policy) for each in VARIANTS),
            ]
        ],
    }


def _knows_baselines() -> bool:
    """Return whether the record has windows and `dts` as the present code plays them."""
    from research.stamps import read_stamp

    stamp = read_stamp(RECORD.parent, RECORD) if RECORD.exists() else None
    part = None if stamp is None else stamp.parts["all"]
    return part is not None and part.code is not None and not {*part.changed()} - {"policy king"}


def _baseline(world: str, half: Any, out: Path) -> dict[str, Any]:
    """Play `dts` and, where the winner changes, windows in a world."""
    from driftduel.lab import compare

    windows = [f"sw-dts:window={window}" for window in half.windows if world in half.changing]
    name = hashlib.sha256(world.encode()).hexdigest()[:8]
    found = compare(
        ["dts", *windows], world, BASELINE_RUNS, half.seed, out=out / name, workers=1, points=POINTS
    )
    _complete(found)
    means = {row["policy"]: row["regret_mean"] for row in found.summary.iter_rows(named=True)}
    best = min(windows, key=means.__getitem__, default=None)
    (drawn,) = found.plan.worlds
    return {
        "world": world,
        "arms": drawn.arms,
        "rounds": drawn.rounds,
        "dts": round(means["dts"], 2),
        "best_window": best and int(best.partition("=")[2]),
        "best": best and round(means[best], 2),
    }


def _complete(found: Any) -> None:
    if found.failures or found.missing:
        raise SystemExit(f"{found.missing} games are missing: {found.failures}")


def _result(
    name: str, words: str, policy: str, worlds: list[dict[str, Any]], regrets: Any, alarms: Any
) -> dict[str, Any]:
    """Return the numbers of one variant."""
    import numpy as np

    changing = [each for each in worlds if each["best"] is not None]
    quiet = [each for each in worlds if each["best"] is None]
    ratios = [regrets[each["world"], policy].mean() / each["best"] for each in changing]
    costs = [
        (regrets[each["world"], policy].mean() - each["dts"])
        / math.sqrt(each["arms"] * each["rounds"])
        for each in quiet
    ]
    return {
        "name": name,
        "words": words,
        "score": round(float(np.exp(np.log(ratios).mean())), 4),
        "against_king": _against(policy, [each["world"] for each in changing], regrets),
        "where_weak": _against(policy, WEAK, regrets),
        "weak_ratios": [
            round(float(regrets[world, policy].mean() / regrets[world, "king"].mean()), 4)
            for world in WEAK
        ],
        "ratios": [round(float(ratio), 4) for ratio in ratios],
        "quiet_costs": [round(float(cost), 4) for cost in costs],
        "quiet_alarms": [round(alarms[each["world"], policy], 4) for each in quiet],
    }


def _against(policy: str, worlds: Any, regrets: Any) -> list[float]:
    """Return the geometric mean of the ratios of regrets to king's, and its 95% interval."""
    import numpy as np

    mine = np.stack([regrets[world, policy] for world in worlds])
    kings = np.stack([regrets[world, "king"] for world in worlds])
    mean = float(np.log(mine.mean(1) / kings.mean(1)).mean())
    # Leave one run out at a time: the estimate's spread over runs, which all variants share.
    n = mine.shape[1]
    left = [
        np.log(np.delete(mine, run, 1).mean(1) / np.delete(kings, run, 1).mean(1)).mean()
        for run in range(n)
    ]
    error = math.sqrt((n - 1) * float(np.var(left)))
    return [round(math.exp(mean + z * error), 4) for z in (0.0, -2.2, 2.2)]


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        "| variant | difference | score | against king (95%) | where it was weak (95%) "
        "| worst world | quiet | alarms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in record["variants"]:
        against, weak = (
            "1" if each["name"] == "king" else f"{middle:.2f} ({low:.2f} to {high:.2f})"
            for middle, low, high in (each["against_king"], each["where_weak"])
        )
        alarms = sum(each["quiet_alarms"]) / len(each["quiet_alarms"])
        cells = [
            f"**`{each['name']}`**" if each["name"] == "king" else f"`{each['name']}`",
            each["words"],
            f"{each['score']:.2f}",
            against,
            weak,
            f"{max(each['ratios']):.2f}",
            f"{max(each['quiet_costs']):+.2f}",
            f"{alarms:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


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
        from driftduel.suite import read_split
        from research.stamps import played

        half = read_split(SUITE / "development-1.toml")
        with played(
            RECORD, pages=[page_name(PAGE)], command="make ablation",
            policies=("king", "dts", "sw-dts"),
            worlds=[*(world for kind in ordinary(half) for world in kind), *WEAK],
        ):  # fmt: skip
            record = measure(arguments.out)
            RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    rows = table(json.loads(RECORD.read_text("utf-8")))
    print(rows, end="")
    if PAGE.exists():
        PAGE.write_text(on_page(PAGE.read_text("utf-8"), {TABLE: rows}), "utf-8")


if __name__ == "__main__":
    main()
