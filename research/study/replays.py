"""Part of experiment 5: games looked at round by round, for what replays do."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from driftduel._internal.wording import rough, share, whole
from driftduel.games import Trace, play, trace
from driftduel.games.replays import nested_replays
from driftduel.lab.plan import game_seed
from research.study.common import Chart, Claim, Panel, Series, Size, Table
from research.study.fits import share_interval

__all__ = ["observe", "replay_charts", "replay_claims", "replay_tables"]

_GAP = 0.45
_LEVEL = 5.0
"""C log T of the games that are written down: small, so that something is eliminated."""
_SEGMENT = 8.0
"""c_3 of the proof's bad segments, in multiples of C."""
# Rounds and number of traces; runs in which the good set is looked at when they end.
_SIZES: dict[Size, tuple[int, int, int]] = {
    "tiny": (3_000, 1, 3),
    "quick": (200_000, 1, 60),
    "full": (200_000, 8, 200),
}
_LEVELS = (3.0, 4.0, 5.0, 6.0, 8.0)


_ARMS = (2, 5)
"""Numbers of arms of the stationary games with a recorded good set."""


def observe(size: Size, say: Callable[[str], None]) -> dict[str, Any]:
    """Play the traced games, and return the observations as plain data."""
    rounds, traces, runs = _SIZES[size]
    seen: dict[str, Any] = {"rounds": rounds, "winner": [], "traces": [], "level": _LEVEL}
    short = min(rounds, 100_000)
    seen["short"] = short
    for arms in _ARMS:
        for level in _LEVELS:
            say(f"good sets, K = {arms}, C log T = {rough(level)}")
            policy = f"anaconda:constant={level / math.log(short):.4f}"
            gone = restarted = 0
            for run in range(runs):
                game = play(policy, _world(short, 1, arms), game_seed(1, run))
                if not game.finished:  # a game ends at its next stretch, and we with it
                    raise KeyboardInterrupt
                winner = game.world.condorcet_winners()[0][1]
                restarted += bool(game.restarts)
                gone += bool(game.restarts) or winner not in (game.policy.info().good or ())
            seen["winner"].append([arms, level, gone, restarted, runs])
    for run in range(traces):
        say(f"trace {run + 1} of {traces}")
        policy = f"anaconda:constant={_LEVEL / math.log(rounds):.4f}"
        played = trace(policy, _world(rounds, 2), game_seed(1, run))
        seen["traces"].append(_summary(played))
        if run == 0:
            seen["picture"] = _picture(played)
    return seen


def _world(rounds: int, phases: int, arms: int = 2) -> str:
    return f"total-order:arms={arms},rounds={rounds},phases={phases},p={0.5 + _GAP}"


def _summary(played: Trace) -> dict[str, Any]:
    """Sum up a trace: regret by kind and length of the innermost replay; perfect replays."""
    rounds = len(played)
    edges = [first for first, _ in played.world.condorcet_winners()] + [rounds + 1]
    winners = np.empty(rounds, np.int64)
    for (first, winner), end in zip(played.world.condorcet_winners(), edges[1:], strict=True):
        winners[first - 1 : end - 1] = -1 if winner is None else winner
    loss = _GAP * ((played.first != winners) / 2 + (played.second != winners) / 2)
    sums: dict[str, list[float]] = {}
    inside = played.replay_start != played.episode_start
    own = {"confined": [0, 0.0], "unconfined": [0, 0.0], "root": [int((~inside).sum()), 0.0]}
    own["root"][1] = float(loss[~inside].sum())
    # A replay is named by its start: at most one starts in a round.
    by_start: dict[int, float] = {}
    counts: dict[int, int] = {}
    for start, value in zip(
        played.replay_start[inside].tolist(), loss[inside].tolist(), strict=True
    ):
        by_start[start] = by_start.get(start, 0.0) + value
        counts[start] = counts.get(start, 0) + 1
    number_of = {"confined": 0, "unconfined": 0}
    for start, end, _, depth in nested_replays(played):
        if depth == 0:
            continue
        confined = any(low <= start and end < high for low, high in pairwise(edges))
        kind = "confined" if confined else "unconfined"
        number_of[kind] += 1
        own[kind][0] += counts.get(start, 0)
        own[kind][1] += by_start.get(start, 0.0)
        cell = sums.setdefault(f"{kind} {end - start}", [0, 0.0, 0.0])
        cell[0] += 1
        cell[1] += by_start.get(start, 0.0)
        cell[2] = max(cell[2], by_start.get(start, 0.0))
    perfect, eliminated = _perfect(played, edges, winners)
    return {
        "own": own, "replays": number_of, "lengths": sums, "perfect": perfect,
        "eliminated": eliminated, "restarts": list(played.policy.restarts),
    }  # fmt: skip


def _perfect(played: Trace, edges: list[int], winners: Any) -> tuple[int, int]:
    """Count perfect replays (Proposition A.1), and those that eliminate their arm.

    K = 2 and the gap is constant, so each phase is cut into bad segments of one length, restarted
    with every episode.
    """
    length = math.ceil((_SEGMENT * _LEVEL * 2 / _GAP) ** 2)
    episodes = [*np.unique(played.episode_start).tolist(), len(played) + 1]
    perfect = hits = 0
    replays = [(s, e) for s, e, _, depth in nested_replays(played) if depth]
    for begin, end in pairwise(sorted({*edges, *episodes})):
        for first in range(begin, end - length, length):
            loser = 1 - int(winners[first - 1])
            for start, planned in replays:
                if not (first <= start <= first + length / 2 and planned - start >= length):
                    continue
                perfect += 1
                # Inactive in this replay or in a child of it: a window inside it has fired.
                stretch = range(start - 1, first + length - 1)
                inside = (t for t in stretch if played.replay_start[t] >= start)
                hits += any(loser not in played.active[t] for t in inside)
    return perfect, hits


def _picture(played: Trace) -> dict[str, Any]:
    """Keep what the figure of replays needs."""
    edges = [first for first, _ in played.world.condorcet_winners()] + [len(played) + 1]
    spans = [
        (start, end, last, any(low <= start and end < high for low, high in pairwise(edges)))
        for start, end, last, depth in nested_replays(played)
        if depth and end - start >= 64
    ]
    return {"spans": spans, "switches": edges[1:-1], "restarts": list(played.policy.restarts)}


def replay_charts(seen: dict[str, Any]) -> list[Chart]:
    """Draw the paper's figure from a real game, and regret against the length of replays."""
    picture = seen["picture"]
    lanes = _lanes(picture["spans"])
    spans = []
    for style, (name, wanted) in enumerate((("confined replay", True), ("unconfined", False))):
        chosen = [
            (s, lane) for s, lane in zip(picture["spans"], lanes, strict=True) if s[3] is wanted
        ]
        spans.append(
            Series(
                name, [s[0] for s, _ in chosen],
                [math.log2(s[1] - s[0]) + 0.31 * (lane - 1) for s, lane in chosen],
                kind="spans", to=[s[2] + 1 for s, _ in chosen], style=style,
            )
        )  # fmt: skip
    lines = []
    merged = _merged(seen)
    for style, kind in enumerate(("confined", "unconfined")):
        cells = sorted((m, c) for (k, m), c in merged.items() if k == kind and c[1] > 0)
        lines.append(
            Series(
                f"{kind}: mean", [float(m) for m, _ in cells], [c[1] / c[0] for _, c in cells],
                style=style,
            )
        )  # fmt: skip
        if kind == "confined":
            most = [c[2] for _, c in cells]
            lines.append(
                Series("confined: the dearest", [float(m) for m, _ in cells], most, style=2)
            )
    lengths = sorted({float(m) for _, m in merged})
    bound = [_LEVEL * 2 * math.sqrt(m) for m in lengths]
    guide = Series("C log(T) K sqrt(m), Lemma A.8", lengths, bound, kind="guide", style=1)
    switch = Panel(
        "replays of 64 rounds and more", "round",
        "planned length m, as log2", spans, x_log=False, y_log=False,
        marks=[float(s) for s in picture["switches"]], marks_name="switch of the winner",
    )  # fmt: skip
    return [
        Chart(
            "lemmas-replays", "Confined and unconfined replays in a real game", [switch],
            "A replay is confined if its planned rounds lie in one phase, and end with the game or "
            "before; drawn are the rounds "
            "until it ended or was dropped by a restart. K = 2, restarts after rounds "
            + (", ".join(f"{r:,}" for r in picture["restarts"]) or "none") + ".",
        ),
        Chart(
            "lemmas-replay-regret", "Cost of a replay, by its length",
            [Panel("own rounds of each replay", "planned length m", "regret", [*lines, guide])],
            "Rounds in which a child replay runs count for the child.",
        ),
    ]  # fmt: skip


def _lanes(spans: list[list[int]]) -> list[int]:
    """Place replays of one length that overlap on three rows, so that all are visible."""
    busy: dict[tuple[int, int], int] = {}
    lanes = []
    for start, end, last, _ in spans:
        lane = next((n for n in range(3) if busy.get((end - start, n), 0) < start), 2)
        busy[end - start, lane] = last
        lanes.append(lane)
    return lanes


def _merged(seen: dict[str, Any]) -> dict[tuple[str, int], list[float]]:
    merged: dict[tuple[str, int], list[float]] = {}
    for game in seen["traces"]:
        for name, (count, total, most) in game["lengths"].items():
            kind, length = name.split()
            cell = merged.setdefault((kind, int(length)), [0, 0.0, 0.0])
            cell[0] += count
            cell[1] += total
            cell[2] = max(cell[2], most)
    return merged


def replay_tables(seen: dict[str, Any]) -> list[Table]:
    """Tabulate the winner's eliminations, and rounds and regret by kind of replay."""
    winner = [
        [
            str(arms),
            rough(level),
            f"{gone} of {runs}",
            share_interval(gone, runs),
            f"{restarted} of {runs}",
        ]
        for arms, level, gone, restarted, runs in seen["winner"]
    ]
    games, rounds = len(seen["traces"]), seen["rounds"] * len(seen["traces"])
    total = sum(cell[1] for game in seen["traces"] for cell in game["own"].values())
    kinds = []
    for kind in ("confined", "unconfined", "root"):
        own = [game["own"][kind] for game in seen["traces"]]
        count = sum(game["replays"].get(kind, 0) for game in seen["traces"])
        played = sum(cell[0] for cell in own) / rounds
        loss = sum(cell[1] for cell in own) / total if total else 0.0
        kinds.append([kind, whole(count or None), share(played, 1), share(loss, 1)])
    return [
        Table(
            f"The winner eliminated from the good set of a stationary world "
            f"(p = {0.5 + _GAP}, T = {seen['short']:,})",
            ["K", "C log T", "runs in which it was", "exact 95% interval", "runs that restarted"],
            winner,
            "Eliminations inside replays were not looked at.",
        ),
        Table(
            f"Rounds and regret by the innermost replay ({games} traced games of "
            f"{seen['rounds']:,} rounds, K = 2, p = {0.5 + _GAP}, "
            f"C log T = {rough(seen['level'])})",
            ["replay", "how many", "of the rounds", "of the regret"],
            kinds,
            "The root is the call that opens an episode. Hardly a round is its own: at such a "
            "horizon some replay is always running.",
        ),
    ]


def replay_claims(seen: dict[str, Any]) -> list[Claim]:
    """Judge whether the winner stays, perfect replays, and the cost of a confined one."""
    perfect = sum(game["perfect"] for game in seen["traces"])
    hits = sum(game["eliminated"] for game in seen["traces"])
    claims = [
        *(_stays(arms, seen) for arms in dict.fromkeys(row[0] for row in seen["winner"])),
        Claim(
            "Proposition A.1",
            f"a perfect replay eliminates its arm (bad segments with c_3 = {_SEGMENT:g} C; "
            f"{_where(seen)})",
            f"{hits} of {perfect} perfect replays did, many of which overlap"
            if perfect
            else "none was perfect",
            "not independent: no interval" if perfect else "-",
            "undecided: none was seen"
            if not perfect
            else "holds"
            if hits == perfect
            else f"not seen up to T = {seen['rounds']:,}",
        ),
    ]
    scale = _LEVEL * 2  # C log(T) K
    # Shorter ones cannot cost more, whatever is played.
    long = {m: c for (k, m), c in _merged(seen).items() if k == "confined" and m > _idle(scale)}
    worst = max((c[2] / (scale * math.sqrt(m)) for m, c in long.items()), default=0.0)
    claims.append(
        Claim(
            "Lemma A.8",
            "a weaker form: a confined replay of length m loses at most C log(T) K sqrt(m) in its "
            f"own rounds, its children's apart ({_where(seen)})",
            f"at most {rough(worst)} times as much, in {whole(sum(c[0] for c in long.values()))} "
            f"replays that could have lost more (m above {whole(_idle(scale))})",
            "the largest of all",
            "undecided: none was seen"
            if not long
            else "holds"
            if worst <= 1
            else f"not seen up to T = {seen['rounds']:,}",
        )
    )
    return claims


def _where(seen: dict[str, Any]) -> str:
    return f"K = 2, C log T = {rough(seen['level'])}, T = {seen['rounds']:,}"


def _idle(scale: float) -> float:
    """Return the length below which a replay that always loses stays within the bound."""
    return (scale / _GAP) ** 2


def _stays(arms: int, seen: dict[str, Any]) -> Claim:
    """Return the C log T from which on the winner stayed in the good set in all runs."""
    rows = [row[1:] for row in seen["winner"] if row[0] == arms]
    first = len(rows)
    while first and rows[first - 1][1] == 0:
        first -= 1
    level, gone, _, runs = rows[min(first, len(rows) - 1)]
    return Claim(
        "Lemma 4.3",
        f"a weaker form: the winner is never eliminated from the good set in its own phase, for C "
        f"large enough (K = {arms}, T = {seen['short']:,})",
        f"eliminated in {gone} of {runs} runs at C log T = {rough(level)}",
        share_interval(gone, runs) + ", the level chosen by looking",
        f"begins at C log T = {rough(level)}"
        if first < len(rows)
        else f"not seen up to T = {seen['short']:,}",
    )
