"""The regret of `king-0` beside the bound that docs/research/king-theory.md proves for it.

One setting, and each of its numbers moved alone: rounds, arms, changes, the gap, the kind of world.
All worlds have SST and STI. A new world is drawn for every run.

- bound: the theorem's, the smaller of its two forms.
- ratio: the mean regret over the bound; by the theorem at most 1.
- coronations: how often a king fell, beside the expected number that Lemma 4 allows.

`make king0` writes research/records/king0.json and the table in docs/research/king-theory.md;
some minutes.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from driftduel.games import play
from research.benchmarks.page_marks import measure_and_write
from research.places import DOCS, RECORDS
from research.policies import registered

RECORD = RECORDS / "king0.json"
PAGE = DOCS / "research" / "king-theory.md"
TABLE = "king0"

RUNS = 40
FALSE_CORONATIONS = math.pi**2 / 6 - 1
with registered():  # the module registers `king-0`, here for the import only
    from research.policies.king_0 import BETS

FLOOR = 2.0 ** -(BETS + 1)
"""Smaller gaps have no stake between themselves and their double."""


@dataclass(frozen=True)
class Setting:
    """A kind of world, and the numbers that the bound depends on."""

    world: str = "total-order"
    rounds: int = 1_000_000
    arms: int = 10
    changes: int = 3
    gap: float = 0.2

    @property
    def spec(self) -> str:
        """Return the world's spec; the winner's smallest gap is `gap`."""
        size = f"arms={self.arms},rounds={self.rounds},phases={self.changes + 1}"
        keys = {
            "total-order": f"p={0.5 + self.gap:g}",
            "lone-winner": f"eps={self.gap:g}",
            "geometric-btl": f"ratio={(0.5 + self.gap) / (0.5 - self.gap):.12g}",
        }
        return f"{self.world}:{size},{keys[self.world]}"

    @property
    def worst(self) -> float:
        """Return what the worst arm loses a round."""
        if self.world != "geometric-btl":
            return self.gap
        odds = ((0.5 + self.gap) / (0.5 - self.gap)) ** (self.arms - 1)
        return odds / (1 + odds) - 0.5

    @property
    def vacuous(self) -> bool:
        """Whether no policy can lose as much as the bound."""
        return smaller(self)[0] >= self.worst * self.rounds


BASE = Setting()
SETTINGS = (
    *(replace(BASE, rounds=rounds) for rounds in (10**4, 10**5, 10**6, 10**7)),
    *(replace(BASE, arms=arms) for arms in (2, 5, 20, 50)),
    *(replace(BASE, changes=changes) for changes in (0, 15, 63)),
    *(replace(BASE, gap=gap) for gap in (0.01, 0.02, 0.05, 0.1, 0.4)),
    *(replace(BASE, world=world) for world in ("geometric-btl", "lone-winner")),
    *(replace(BASE, world="lone-winner", gap=gap) for gap in (0.02, 0.05)),
)


def coronations(arms: int, changes: int) -> float:
    """Return C, the most coronations that Lemma 4 lets one expect."""
    harmonic = sum(1 / i for i in range(1, arms))
    return (changes + 1 + FALSE_CORONATIONS) * (1 + harmonic) - 1


def evidence(rounds: int) -> float:
    """Return the logarithm of the largest capital of a bet when the king falls."""
    return math.log(1.5 * BETS * (rounds + 1.0) ** 2)


def bound(rounds: int, arms: int, changes: int, gap: float | None = None) -> float:
    """Return the bound of the theorem; without a gap, the gap-free one."""
    C, log_bar, phases = coronations(arms, changes), evidence(rounds), changes + 1
    matches = math.sqrt(arms * rounds * (1 + C)) / 2
    waiting = (arms - 1) * C + 2 * math.sqrt(arms * rounds * C)
    if gap is None:
        late = 2 * math.sqrt(2 * (arms - 1) * log_bar * phases * rounds)
        proving = math.sqrt((arms - 1) * log_bar * (phases + C) * rounds) + FLOOR * rounds
    else:
        late = phases * (4 * (arms - 1) * log_bar / gap + 0.5)
        proving = (arms - 1) * log_bar * (phases + C) / gap
    return matches + 1.5 * (waiting + late + proving)


def smaller(setting: Setting) -> tuple[float, str]:
    """Return the smaller form of the bound, and which it is."""
    known = (setting.rounds, setting.arms, setting.changes)
    return min((bound(*known, setting.gap), "gap"), (bound(*known), "root"))


def measured(setting: Setting, runs: int) -> dict[str, Any]:
    """Play; return the numbers of a setting."""
    games = [play("king-0", setting.spec, seed=seed) for seed in range(runs)]
    lost = np.array([game.total for game in games])
    fell = np.array([len(game.restarts) for game in games])
    kings = np.array([play("king", setting.spec, seed=seed).total for seed in range(runs)])
    theirs, form = smaller(setting)
    return {
        **asdict(setting),
        "regret": round(float(lost.mean()), 1),
        "error": round(float(lost.std(ddof=1)) / math.sqrt(runs), 1),
        "bound": round(theirs, 1),
        "form": form,
        "coronations": round(float(fell.mean()), 2),
        "coronations_error": round(float(fell.std(ddof=1)) / math.sqrt(runs), 3),
        "coronations_bound": round(coronations(setting.arms, setting.changes), 2),
        "king": round(float(kings.mean()), 1),
    }


def measure() -> dict[str, Any]:
    """Play all games; return the numbers."""
    rows = []
    for setting in SETTINGS:
        rows.append(measured(setting, RUNS))
        print(rows[-1], flush=True)
    return {"runs": RUNS, "rows": rows}


def table(record: dict[str, Any]) -> str:
    """Write the numbers as a table in Markdown."""
    lines = [
        "| world | T | K | S | gap | regret of `king-0` (95%) | bound | form | ratio "
        "| coronations, allowed | `king` |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        setting = Setting(*(row[name] for name in asdict(BASE)))
        power = round(math.log10(row["rounds"]))
        cells = [
            f"`{row['world']}`",
            f"1e{power}",
            f"{row['arms']}",
            f"{row['changes']}",
            f"{row['gap']:g}",
            f"{row['regret']:,.0f} ± {1.96 * row['error']:,.0f}",
            f"[{row['bound']:,.0f}]" if setting.vacuous else f"{row['bound']:,.0f}",
            row["form"],
            f"{row['regret'] / row['bound']:.3f}",
            f"{row['coronations']:.1f}, {row['coronations_bound']:.1f}",
            f"{row['king']:,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with registered():
        measure_and_write(
            "King-0 beside its proved bound.", measure, table, RECORD, PAGE, TABLE,
            command="make king0", policies=("king-0", "king"),
            worlds=[setting.spec for setting in SETTINGS],
        )  # fmt: skip
