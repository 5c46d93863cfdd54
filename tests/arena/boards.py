"""Boards to look at: what an arena of five headlines might say after three changes of taste."""

import math
import random

import msgspec

from driftduel.arena.board import Board
from driftduel.arena.board_fields import Sentences
from driftduel.arena.sentences import guarantee, sentences, warnings

START = 1_763_000_000_000
NAMES = (
    "Why the sea is rising faster than we thought",
    "Sea levels: new numbers",
    "The coast in 2050",
    "What rising water means for you",
    "Five charts about the sea",
)


def some_board(names=NAMES, votes=2400, sure=True, **changed):
    """Return a board as the API sends it; `changed` is what shall be different about it."""
    return typed_board(names, votes, sure, **changed).to_json()


def typed_board(names=NAMES, votes=2400, sure=True, **changed):
    """Return such a board as an object."""
    dice = random.Random(4)
    options = [{"id": f"o{i}", "name": name} for i, name in enumerate(names)]
    points = list(range(100, max(votes, 200) + 1, max(1, votes // 120)))
    series = []
    for i, each in enumerate(options):
        middle = [0.5 + 0.25 * math.sin(t / 500 + 2 * i) + 0.03 * dice.random() for t in points]
        series.append({"id": each["id"], "strength": middle})
        series[-1] |= {"low": [m - 0.08 for m in middle], "high": [m + 0.08 for m in middle]}
    ranked = sorted(range(len(options)), key=lambda i: -series[i]["strength"][-1])
    size = range(len(options))
    wins = [[0 if i == j else dice.randrange(20, 90) for j in size] for i in size]
    ties = [[0 if i == j else (i + j) % 4 for j in size] for i in size]
    board = {
        "arena": "headlines", "mode": "panel", "policy": "king", "seed": 7, "seq": 3 * votes,
        "at": START + votes * 2000, "order": "asked", "closed": False, "leader": options[1],
        "since": {"seq": 5000, "at": START + 4_000_000, "vote": 1990}, "sure": sure,
        "claim": "voters", "stretch": 3, "counted_voters": 58, "voters_required": 11,
        "votes_needed": 0 if sure else 137, "imported": 0, "ranking_votes": 310,
        "evidence": [
            {**each, "wins": 60 - 7 * i, "losses": 20 + i,
             "e": 900.0 if sure or i != 2 else 14.0, "needed": 240.0}
            for i, each in enumerate(options) if i != 1
        ],
        "challenger": {**options[2], "share": 0.41},
        "votes": votes, "learned": max(0, votes - 100), "ties": 50, "skips": 12, "late": 3,
        "uncounted": 20, "voided": 0, "open": 7, "waiting": 2, "voters": 61,
        "held": 0, "held_by": 0, "lease": 60.0,
        "ranking": [
            {**each, "present": i != 4, "duels": sum(wins[i]) + sum(row[i] for row in wins),
             "wins": sum(wins[i]), "total_wins": 9 * sum(wins[i]),
             "total_duels": 5000, "rank": ranked.index(i) + 1,
             **{key: series[i][key][-1] for key in ("strength", "low", "high")}}
            for i, each in enumerate(options)
        ],
        "changes": [
            {"seq": 2000, "at": START + 1_600_000, "vote": 800, "before": options[0],
             "after": options[3], "alarm": True},
            {"seq": 5000, "at": START + 4_000_000, "vote": 1990, "before": options[3],
             "after": options[1], "alarm": True},
        ],
        "certified_changes": [
            {"before": options[3]["name"], "after": options[1]["name"], "from_vote": 1700,
             "to_vote": 2060, "level": 0.05, "before_id": options[3]["id"],
             "after_id": options[1]["id"], "seq": 5100, "at": START + 4_100_000},
        ],
        "lead_changes": 2, "alarms": 2, "false_alarms_at_most": 1.8,
        "pairs": {"ids": [each["id"] for each in options], "wins": wins, "ties": ties,
                  "skips": [[0 for _ in size] for _ in size]},
        "history": {"votes": points, "at": [START + t * 2000 for t in points], "series": series},
        "left": {"share": 0.52, "low": 0.49, "high": 0.55},
        "lateness": {"median": 2.1, "p90": 9.0}, "votes_per_voter": {"median": 12, "most": 80},
        **changed,
    }  # fmt: skip
    says = dict.fromkeys(Sentences.__struct_fields__, "")
    board = msgspec.convert({"says": says, "guarantee": "", "warnings": []} | board, Board)
    if "says" not in changed:
        board = msgspec.structs.replace(board, says=sentences(board))
    said = {"guarantee": guarantee(board), "warnings": warnings(board)}
    return msgspec.structs.replace(board, **(said | {k: changed[k] for k in said if k in changed}))
