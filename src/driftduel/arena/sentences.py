"""What a board says in sentences: the page, a terminal and a notebook all say these.

They are made of the board's own data, and have no time of day in them: a page writes times as its
reader's clock has them.
"""

import math
from collections.abc import Mapping
from typing import Any

from driftduel.arena.evidence import ALPHA
from driftduel.arena.ranking import Window
from driftduel.wording import counted, interval, listed, often, share

__all__ = ["clean", "guarantee", "sentences", "warnings"]

Data = Mapping[str, Any]
_MUCH = 0.1  # a part of all votes that is worth a warning
_FEW = 30  # votes below which no part of them is
_LONGEST_NAME = 60


def sentences(board: Data) -> dict[str, Any]:
    """Return every sentence of a board, by what it is about."""
    return {
        "claim": _claim(board),
        "doubt": _doubt(board),
        "challenger": _challenger(board),
        "changes": _changes(board),
        "ranking": "A description, not evidence: how often each option would be preferred to "
        f"another one drawn at random, in the last {counted(Window.SIZE, 'vote')} (a "
        "Bradley-Terry model), with bands of 95% for one look.",
        "left": _left(board),
    }


def clean(name: str) -> str:
    r"""Leave nothing in a name that a terminal could take for an order, and cut what is long.

    Examples
    --------
    >>> clean("two\nlines \x1b[31m"), len(clean("x" * 100))
    ('two lines [31m', 60)
    """
    kept = " ".join("".join(sign if sign.isprintable() else " " for sign in name).split())
    return kept if len(kept) <= _LONGEST_NAME else f"{kept[: _LONGEST_NAME - 1]}…"


def _quoted(name: str) -> str:
    """Mark where a name of several words begins and ends."""
    name = clean(name)
    return f"“{name}”" if any(sign.isspace() for sign in name) else name


def _claim(board: Data) -> str:
    leader = board["leader"]
    if leader is None:
        return "Nobody leads yet."
    name, ago = _quoted(leader["name"]), board["votes"] - board["since"]["votes"]
    if board["votes"] == 0:
        return f"No votes yet: {name} is where {board['policy']} begins."
    verb = "led when the arena was closed" if board["closed"] else "leads"
    if not board["changes"]:
        return f"{name} {verb}, as it has from the beginning ({counted(ago, 'vote')})."
    return f"{name} {verb}; it took the lead {counted(ago, 'vote')} ago."


def _doubt(board: Data) -> str:
    if board["leader"] is None:
        return f"{counted(board['votes'], 'vote')} so far; there is nothing to be sure of."
    if board["sure"]:
        return "Sure: it has beaten every other option often enough since it began to lead."
    missing = [rival for rival in board["evidence"] if rival["e"] < rival["needed"]]
    if not missing:
        return "Not sure: nobody else is there."
    # What is furthest away first: that is what everybody waits for.
    missing.sort(key=lambda rival: math.log(max(rival["e"], 1e-300)))
    names = listed([_quoted(rival["name"]) for rival in missing], most=4, last="or")
    return f"Not sure yet: since it began to lead it has not beaten {names} often enough."


def _challenger(board: Data) -> str:
    nearest = board["challenger"]
    if nearest is None:
        return "No option is on its way to take the lead."
    part = share(nearest["share"])
    return f"Nearest challenger: {_quoted(nearest['name'])}, {part} of the way to the lead."


def _changes(board: Data) -> str:
    many, alarms, bound = board["crownings"], board["alarms"], board["false_alarms_at_most"]
    if not many and not alarms:
        return "The lead has not changed so far."
    said = (
        f"The lead changed {often(many)}, with {counted(alarms, 'alarm')}: a leader that was "
        "beaten too often for chance."
    )
    if bound is None:
        return f"{said} {board['policy']} has no bound on how many of them are mistakes."
    said += (
        " That can be a mistake: if nobody ever changed their taste, "
        f"{counted(board['counted'], 'vote')} like these would still raise up to {bound:.1f} "
        f"{'alarm' if bound <= 1 else 'alarms'} on average."
    )
    if alarms <= bound:
        return f"{said} So the alarms alone prove no change; the word “sure” does not rest on them."
    # Markov's inequality.
    return f"{said} So many by mistake have a chance of at most {share(bound / alarms)}."


def _left(board: Data) -> str:
    side = board["left"]
    if side["share"] is None:
        return "It is not known yet whether people prefer a side."
    ends = interval(side["low"], side["high"], lambda value: share(value, 1))
    band = f"{share(side['share'], 1)} of all picks were on the left ({ends})"
    if side["low"] <= 0.5 <= side["high"]:
        return f"{band}: no preference for a side can be seen."
    which = "left" if side["low"] > 0.5 else "right"
    return (
        f"{band}: people prefer the {which} side. A fair coin decides who is there, so it favours "
        "nobody; it makes everything slower."
    )


def guarantee(board: Data) -> str:
    """Say what can be relied on."""
    return (
        f"The chance that this arena ever says “sure” of a leader that does not, on average over "
        f"its reign, win more than half of its duels with everybody else is at most {share(ALPHA)}."
    )


def warnings(board: Data) -> list[str]:
    """Say what makes the board worth less than it looks."""
    found = []
    votes, voters = board["votes"], board["votes_a_voter"]
    most = voters["most"] or 0
    if votes >= _FEW and most > _MUCH * votes:
        found.append(
            f"One voter gave {share(most / votes)} of all votes: the board may say what one person "
            "likes."
        )
    came = votes + board["late"]
    if came >= _FEW and board["late"] > _MUCH * came:
        found.append(
            f"{share(board['late'] / came)} of the votes came too late to be counted; if that "
            "depends on what people pick, the board is wrong. A longer lease helps."
        )
    seen = votes + board["skips"]
    if seen >= _FEW and board["skips"] > 2 * _MUCH * seen:
        found.append(
            f"{share(board['skips'] / seen)} of the pairs were skipped; if that depends on who "
            "would have won, the board is wrong."
        )
    if board["voided"]:
        found.append(
            f"{counted(board['voided'], 'vote')} taken out by the owner: if it was because of whom "
            "they helped, “sure” means nothing."
        )
    if board["order"] == "arrival" and board["mode"] == "panel":
        found.append(
            "Votes are learned as they come: if how long people take depends on what they pick, "
            "the board is wrong. The order of asking has no such weakness."
        )
    if not board["left"]["low"] <= 0.5 <= board["left"]["high"]:
        found.append(board["says"]["left"])
    return found
