"""Let policies hold panels: two different arms in every round, and many duels out at once.

Every round a voter is shown two arms. A vote arrives when `--out` duels are pending; it belongs to
one of them, drawn uniformly. The mean delay of an answer is thus the number of pending duels, and
answers arrive in no order.

- right: the share of votes in which `best()` is the winner when the duel is asked for.
- until: votes until the new winner is named and stays so for 100 votes, on average over phases (the
  first one, too); a phase in which that never happens counts in full. (A policy that
  names another arm every few votes names the winner soon, by chance.)
- regret: what the two arms shown lose against the winner, per vote, on average.
- past: the share of answers that came when neither of the two arms was the leader any more.
- changes: how often the leader changed.

`uniform` names no arm; it is given the leader of a window of 3,000 votes, the arm with most
majorities in it, and of these the one with most of its votes.

`make panel` plays it, and writes research/records/panel.json and two tables in
docs/research/king.md. The king of an older version is measured with that version's Python:
`OLD/.venv/bin/python -m research.benchmarks.panel --before`; the record has that of commit ac61cc6.
"""

import argparse
import gc
import json
import math
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import kernel
from driftduel.games import identify
from driftduel.games.game import streams
from driftduel.policies import make_policy
from driftduel.policies._counts import most_victories
from driftduel.worlds import make_world
from research.benchmarks.page_marks import on_page
from research.places import DOCS, RECORDS, page_name

RECORD = RECORDS / "panel.json"
PAGE = DOCS / "research" / "king.md"

WINDOW = 3000
POLICIES = ("king", "btwr", "wsw", "dts", f"sw-dts:window={WINDOW}", "uniform")
WORLDS = (
    "geometric-btl:arms=10,rounds=20000,phases=4,change=winner",
    "random-condorcet:arms=10,rounds=20000,phases=4,p_min=0.6",
    "total-order:arms=10,rounds=20000,phases=4,p=0.7",
    "utilities:arms=10,rounds=20000,phases=4,sd=1",
)
OUT = (1, 25, 100, 1000)
# Written down before king's panel form was tuned. It may be tuned on the first eight; the others
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
    ask, tell, best_guess = kernels.ask, kernels.tell, kernels.best_guess
    windowed = best_guess is None
    if windowed:
        best_guess = most_victories

    def hold(  # type: ignore[no-untyped-def]
        matrices, phases, state, rng, notes, luck, order, waiting, kept, votes, leaders, shown,
    ):  # fmt: skip
        n, past = 0, 0
        arms = matrices.shape[1]
        for t in range(1, len(luck) + 1):
            leaders[t - 1] = best_guess(votes) if windowed else best_guess(state)
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
                leader = best_guess(state)
                past += int(leader not in (a, b))
            tell(state, asked, a, b, won, notes)
        return past

    return kernel(hold)


class Held(NamedTuple):
    """The results of one panel, or the mean of several."""

    right: float
    until: float
    regret: float
    past: float
    changes: float
    alarms: float


class Panel(NamedTuple):
    """What happened in one panel."""

    leaders: Any
    """(votes,) the leader when each duel was asked for."""
    shown: Any
    """(votes, 2) the arms of each duel."""
    past: int
    alarms: float


def vote(policy: str, matrices: Any, phases: Any, seed: Any, rng: Any, out: int) -> Panel:
    """Let a policy choose the duels of one panel, with as many duels out at once."""
    arms, votes = matrices.shape[1], len(phases)
    luck, order = rng.random(votes), rng.random(votes)
    made: Any = make_policy(policy, arms, seed, mode="panel")
    leaders, shown = np.zeros(votes, np.int64), np.zeros((votes, 2), np.int64)
    window = Votes(np.zeros((arms, arms)), np.full(WINDOW, -1))
    past = _loop(made.kernels)(
        matrices, phases, made.state, made.rng_address, made.scratch, luck, order,
        np.zeros((out, 4), np.int64), np.zeros((out, len(made.scratch))), window, leaders, shown,
    )  # fmt: skip
    alarms = int(made.state.numbers[0].alarms) if policy == "king" else math.nan
    return Panel(leaders, shown, past, alarms)


def hold(policy: str, world: str, seed: int, out: int) -> Held:
    """Hold one panel; the seed fixes world, outcomes and policy, as in `play`."""
    for_world, for_outcomes, for_policy = streams(seed)
    drawn = make_world(world, int(for_world.generate_state(1)[0]))
    matrices, winners, phases = _rows(drawn)
    rng = np.random.default_rng(for_outcomes)
    leaders, shown, past, alarms = vote(policy, matrices, phases, for_policy, rng, out)
    winners = winners[phases]
    measured = identify(leaders, winners)
    losses = matrices[phases[:, None], winners[:, None], shown] - 0.5
    return Held(
        right=measured.right,
        until=measured.until,
        regret=float(losses.mean()),
        past=past / (drawn.rounds - out + 1),
        changes=int(np.count_nonzero(np.diff(leaders))),
        alarms=alarms,
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


def _held(
    policy: str, world: str, out: int, runs: int, first: int, *, whole: bool = False
) -> dict[str, Any]:
    """Hold panels; return their means, and the error, or all values, of the right leader."""
    held = np.array([hold(policy, world, first + run, out) for run in range(runs)])
    gc.collect()  # drifting worlds have a matrix per round, and hold themselves in cycles
    named = dict(zip(Held._fields, held.mean(axis=0).tolist(), strict=True))
    error = float(held[:, 0].std(ddof=1) / math.sqrt(runs))
    row = {"out": out, "policy": policy, "world": world, **_known(named)}
    row["right_error"] = round(error, 5)
    return row | {"rights": held[:, 0].round(5).tolist()} if whole else row


def measure(policies: Iterable[str], runs: int, first: int) -> dict[str, Any]:
    """Hold all panels: the four worlds with each policy, the families with `king`."""
    rows = []
    for out in OUT:
        for policy in policies:
            rows += [_held(policy, world, out, runs, first) for world in WORLDS]
            print(f"{out} out: {policy}", flush=True)
    worlds = [world for half in FAMILIES.values() for world in half]
    families = [_held("king", world, 1, runs, first, whole=True) for world in worlds]
    return {"runs": runs, "first_seed": first, "rows": rows, "families": families}


def _known(named: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in named.items() if not math.isnan(value)}


def table(record: dict[str, Any]) -> str:
    """Write the panels as a table: right leader and votes until it leads, world by world."""
    heads = [world.partition(":")[0] for world in WORLDS]
    lines = [f"| out | policy | {' | '.join(heads)} | all four | past |", "|---" * 8 + "|"]
    for out in OUT:
        for policy in POLICIES:
            lines.append(_line(record["rows"], out, policy, f"`{policy}`", bold=policy == "king"))
            if policy == "king":
                lines.append(_line(record["before"]["rows"], out, policy, "king until 0.3"))
    return "\n".join(lines) + "\n"


def _line(rows: Any, out: int, policy: str, name: str, *, bold: bool = False) -> str:
    held = [row for row in rows if (row["out"], row["policy"]) == (out, policy)]
    if [row["world"] for row in held] != list(WORLDS):
        raise SystemExit("the record has other rows than the script.")
    cells = [f"{100 * each['right']:.1f}%, {each['until']:,.0f}" for each in held]
    right, until = (np.mean([each[key] for each in held]) for key in ("right", "until"))
    mean = f"{100 * right:.1f}%, {until:,.0f}"
    mark = "**" if bold else ""
    past = f"{100 * max(each['past'] for each in held):.1f}%" if policy == "king" else ""
    return f"| {out:,} | {mark}{name}{mark} | {' | '.join(cells)} | {mark}{mean}{mark} | {past} |"


def family_table(record: dict[str, Any]) -> str:
    """Write the families as a table: king now and before, and the gain with its 95% interval."""
    lines = ["| family | king until 0.3 | king | gain in points (95%) |", "|---" * 4 + "|"]
    now = {row["world"]: row for row in record["families"]}
    before = {row["world"]: row for row in record["before"]["families"]}
    for half, worlds in FAMILIES.items():
        lines += [_family(f"`{world}`", [before[world]], [now[world]]) for world in worlds]
        both = [[rows[world] for world in worlds] for rows in (before, now)]
        lines.append(_family(f"**all of the {half} half**", *both))
    return "\n".join(lines) + "\n"


def gain(before: Any, now: Any) -> tuple[float, float]:
    """Return the mean gain in points of rows over others, panel by panel, and half its interval."""
    pairs = zip(before, now, strict=True)
    gains = np.array([np.subtract(b["rights"], a["rights"]) for a, b in pairs])
    errors = gains.std(axis=1, ddof=1) / math.sqrt(gains.shape[1])
    return 100 * float(gains.mean()), 196 * math.sqrt((errors**2).sum()) / len(gains)


def _family(name: str, before: Any, now: Any) -> str:
    cells = []
    for rows in (before, now):
        right, until = (np.mean([row[key] for row in rows]) for key in ("right", "until"))
        cells.append(f"{100 * right:.1f}%, {until:,.0f}")
    points, half = gain(before, now)
    interval = f"{points:+.1f} ({points - half:.1f} to {points + half:.1f})"
    return f"| {name} | {' | '.join(cells)} | {interval} |"


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return all tables of the page, by name."""
    return {
        "panel": table(record),
        "panel-families": family_table(record),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40, metavar="N", help="panels of each (40)")
    parser.add_argument("--first", type=int, default=8000, metavar="SEED", help="first seed (8000)")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument(
        "--before", action="store_true", help="measure the king of an older driftduel, and stop"
    )
    options = parser.parse_args()
    record = json.loads(RECORD.read_text("utf-8"))
    if options.before:
        record["before"] = measure(["king"], options.runs, options.first)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        return
    if not options.page:
        from research.stamps import played

        before = record["before"]
        worlds = [*WORLDS, *(world for half in FAMILIES.values() for world in half)]
        with played(
            RECORD, pages=[page_name(PAGE)], command="make panel", policies=POLICIES,
            worlds=worlds, mode="panel",
        ):  # fmt: skip
            record = measure(POLICIES, options.runs, options.first) | {"before": before}
            RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    made = tables(record)
    print("\n".join(made.values()), end="")
    PAGE.write_text(on_page(PAGE.read_text("utf-8"), made), "utf-8")


if __name__ == "__main__":
    main()
