"""Let policies hold panels: two different arms in every round, and many duels out at once.

Every round somebody is shown two arms; a vote comes when as many duels are out as `--out` says, and
it is that of any of them, drawn uniformly. So an answer is as many rounds late as duels are out, on
average, and comes in no order.

- right: the share of votes in which `best()` is the winner when the duel is asked for.
- until: votes until the new winner is named and stays so for 100 votes, on average over phases (the
  first one, too); a phase in which that never happens counts in full. (Who names another arm every
  few votes names the winner soon, by chance.)
- regret: what the two arms shown lose against the winner, per vote, on average.
- past: the share of answers that came when neither of the two arms was the leader any more.
- changes: how often the leader changed.

`uniform` names nobody; it is given the leader of a window of 3,000 votes, the arm with most
majorities in it, and of these the one with most of its votes.

`make panel` plays it, and writes docs/panel.json and the table in docs/champion.md.
"""

import argparse
import json
import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from page_marks import on_page

from driftduel._compile import kernel
from driftduel.games.game import streams
from driftduel.policies import make_policy
from driftduel.policies._counts import most_victories
from driftduel.worlds import make_world

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "panel.json"
PAGE = ROOT / "docs" / "champion.md"
TABLE = "panel"

WINDOW = 3000
LASTING = 100
POLICIES = ("king", "btwr", "wsw", f"sw-dts:window={WINDOW}", "uniform")
WORLDS = (
    "geometric-btl:arms=10,rounds=20000,phases=4,change=winner",
    "random-condorcet:arms=10,rounds=20000,phases=4,p_min=0.6",
    "total-order:arms=10,rounds=20000,phases=4,p=0.7",
    "utilities:arms=10,rounds=20000,phases=4,sd=1",
)
OUT = (1, 25, 100, 1000)
# Written down before king's panel form was built. It may be tuned on the first eight; the others
# are played once, when it is finished.
FAMILIES = {
    "development": (
        "overtake:arms=8,rounds=12000,phases=4,gap=0.05",
        "recurring:arms=6,rounds=12000,every=2000,gap=0.08",
        "lone-winner:arms=10,rounds=12000,phases=2,eps=0.1",
        "random-condorcet:arms=5,rounds=12000,phases=3,p_min=0.55",
        "seasonal:arms=8,rounds=12000,seasons=1",
        "geometric-btl:arms=20,rounds=12000,phases=3,change=winner",
        "crossing:arms=5,rounds=12000,crossings=2,gap=0.15",
        "total-order:arms=6,rounds=12000,phases=3,p=0.6,lengths=random",
    ),
    "test": (
        "restless:arms=12,rounds=12000,every=2500,gap=0.08",
        "league:arms=8,rounds=12000,seasons=6,sd=0.5",
        "surges:arms=10,rounds=12000,every=3000,fade=3000",
        "random-walk:arms=5,rounds=12000,sd=0.01",
        "random-condorcet:arms=15,rounds=12000,phases=3,p_min=0.57",
        "utilities:arms=20,rounds=12000,phases=3,sd=1,link=probit",
        "tastes:arms=6,rounds=12000,turns=1",
        "bursts:arms=6,rounds=12000,bursts=2,changes=4",
    ),
}


class Votes(NamedTuple):
    """What `uniform` is given to name a leader."""

    wins: Any
    """(K, K) wins among the last votes."""
    ring: Any
    """(WINDOW,) these votes, as winner * K + loser; -1 for none yet."""


@cache
def _loop(kernels: Any) -> Any:
    ask, tell, suspect = kernels.ask, kernels.tell, kernels.suspect
    windowed = suspect is None
    if windowed:
        suspect = most_victories

    def hold(  # type: ignore[no-untyped-def]
        matrices, phases, state, rng, notes, luck, order, waiting, kept, votes, leaders, shown,
    ):  # fmt: skip
        n, past = 0, 0
        arms = matrices.shape[1]
        for t in range(1, len(luck) + 1):
            leaders[t - 1] = suspect(votes) if windowed else suspect(state)
            a, b = ask(state, rng, t, notes)
            shown[t - 1, 0], shown[t - 1, 1] = a, b
            waiting[n, 0], waiting[n, 1], waiting[n, 2] = t, a, b
            waiting[n, 3] = int(luck[t - 1] < matrices[phases[t - 1], a, b])
            for k in range(len(notes)):
                kept[n, k] = notes[k]
            n += 1
            if n < len(waiting):
                continue
            i = int(order[t - 1] * n)
            asked, a, b, won = waiting[i, 0], waiting[i, 1], waiting[i, 2], waiting[i, 3]
            n -= 1
            for k in range(4):
                waiting[i, k] = waiting[n, k]
            for k in range(len(notes)):
                notes[k] = kept[i, k]
                kept[i, k] = kept[n, k]
            if windowed:
                vote = a * arms + b if won == 1 else b * arms + a
                place = t % len(votes.ring)
                oldest = votes.ring[place]
                if oldest >= 0:
                    votes.wins[oldest // arms, oldest % arms] -= 1.0
                votes.ring[place] = vote
                votes.wins[vote // arms, vote % arms] += 1.0
            if not windowed:
                leader = suspect(state)
                past += int(leader not in (a, b))
            tell(state, asked, a, b, won, notes)
        return past

    return kernel(hold)


class Held(NamedTuple):
    """What came of one panel, or of several on average."""

    right: float
    until: float
    regret: float
    past: float
    changes: float
    alarms: float


def hold(policy: str, world: str, seed: int, out: int) -> Held:
    """Hold one panel; the seed fixes world, luck and policy, as in `play`."""
    for_world, for_outcomes, for_policy = streams(seed)
    drawn = make_world(world, int(for_world.generate_state(1)[0]))
    matrices, winners, phases = _rows(drawn)
    rng = np.random.default_rng(for_outcomes)
    luck, order = rng.random(drawn.rounds), rng.random(drawn.rounds)
    made: Any = make_policy(policy, drawn.arms, for_policy, mode="panel")
    leaders = np.zeros(drawn.rounds, np.int64)
    shown = np.zeros((drawn.rounds, 2), np.int64)
    votes = Votes(np.zeros((drawn.arms, drawn.arms)), np.full(WINDOW, -1))
    past = _loop(made.kernels)(
        matrices, phases, made.state, made.rng_address, made.scratch, luck, order,
        np.zeros((out, 4), np.int64), np.zeros((out, len(made.scratch))), votes, leaders, shown,
    )  # fmt: skip
    winners = winners[phases]
    right = leaders == winners
    begins = [start - 1 for start, _ in drawn.condorcet_winners()]
    until = [_lasting(named) for named in np.split(right, begins[1:])]
    losses = matrices[phases[:, None], winners[:, None], shown] - 0.5
    return Held(
        right=float(right.mean()),
        until=float(np.mean(until)),
        regret=float(losses.mean()),
        past=past / (drawn.rounds - out + 1),
        changes=int(np.count_nonzero(np.diff(leaders))),
        alarms=int(made.state.numbers[0].alarms) if policy == "king" else math.nan,
    )


def _rows(world: Any) -> tuple[Any, Any, Any]:
    """Return the matrices of a world, the winner of each, and the matrix of every round."""
    matrices, winners, phases, before = [], [], [], 0
    for chunk in world.chunks():
        rows = np.repeat(chunk.rows, np.diff([*chunk.starts.tolist(), chunk.end]))
        matrices.append(chunk.row_matrices())
        winners.append(chunk.row_winners())
        phases.append(rows + before)
        before += len(matrices[-1])
    return np.concatenate(matrices), np.concatenate(winners), np.concatenate(phases)


def _lasting(named: Any) -> int:
    """Return after how many votes of a phase its winner is named for 100, or to the end."""
    wrong = np.append(np.flatnonzero(~named), len(named))
    since = np.append(0, wrong[:-1] + 1)
    stays = (wrong - since >= LASTING) | ((wrong == len(named)) & (wrong > since))
    return int(since[stays.argmax()]) if stays.any() else len(named)


def measure(runs: int, first: int) -> dict[str, Any]:
    """Hold all panels; return their means and standard errors."""
    rows = []
    for out in OUT:
        for policy in POLICIES:
            for world in WORLDS:
                held = np.array([hold(policy, world, first + run, out) for run in range(runs)])
                errors = held.std(axis=0, ddof=1) / math.sqrt(runs)
                named = dict(zip(Held._fields, held.mean(axis=0).tolist(), strict=True))
                rows.append({"out": out, "policy": policy, "world": world, **_known(named)})
                rows[-1]["right_error"] = round(float(errors[0]), 5)
            print(f"{out} out: {policy}", flush=True)
    return {"runs": runs, "first_seed": first, "rows": rows}


def _known(named: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in named.items() if not math.isnan(value)}


def table(record: dict[str, Any]) -> str:
    """Write the panels as a table: right leader and votes until it leads, world by world."""
    heads = [world.partition(":")[0] for world in WORLDS]
    lines = [f"| out | policy | {' | '.join(heads)} | all four | past |", "|---" * 8 + "|"]
    rows = iter(record["rows"])
    for out in OUT:
        for policy in POLICIES:
            held = [next(rows) for _ in WORLDS]
            if any((each["out"], each["policy"]) != (out, policy) for each in held):
                raise SystemExit("the record has other rows than the script.")
            cells = [f"{100 * each['right']:.1f}%, {each['until']:,.0f}" for each in held]
            right, until = (np.mean([each[name] for each in held]) for name in ("right", "until"))
            king = policy == "king"
            mean = f"{100 * right:.1f}%, {until:,.0f}"
            cells.append(f"**{mean}**" if king else mean)
            most = max(each["past"] for each in held)
            cells.append(f"{100 * most:.1f}%" if king else "")
            name = f"**`{policy}`**" if king else f"`{policy}`"
            lines.append(f"| {out:,} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40, metavar="N", help="panels of each (40)")
    parser.add_argument("--first", type=int, default=1000, metavar="SEED", help="first seed (1000)")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    if not options.page:
        record = measure(options.runs, options.first)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    rows = table(json.loads(RECORD.read_text("utf-8")))
    print(rows, end="")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), {TABLE: rows}), "utf-8")


if __name__ == "__main__":
    main()
