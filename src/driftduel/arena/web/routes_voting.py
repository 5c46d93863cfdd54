"""What voters do: be asked, vote, take it back."""

from msgspec import UNSET, Struct

from driftduel.arena.problems import ArenaError
from driftduel.arena.said import Shown
from driftduel.arena.web.cookies import voter_in
from driftduel.arena.web.messages import Ask, Pick, Undone, Voted, VoteQuery
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import Problem
from driftduel.arena.web.service import Service

__all__ = ["voting"]

_DUELS = "/v1/arenas/{arena}/duels"


def voting(service: Service) -> list[Operation]:
    """Return the operations that a token with the scope ``vote`` allows."""
    opened = service.open_duels

    async def ask(call: Call) -> Struct:
        body: Ask = call.body or Ask()
        voter = body.voter
        if call.grant.by_cookie:
            if voter is not None:
                raise Problem("bad-request", "With a cookie the voter is the browser's; name none.")
            voter = voter_in(call.request)
        arena = call.arena
        with opened.place(call) as place:
            shown = await service.done(
                lambda: arena.ask(voter, resume=body.resume), arena.at_once(voter=voter)
            )
            place.duel = shown.duel
        return shown

    async def vote(call: Call) -> Struct:
        arena, duel, pick = call.arena, call.path["duel"], call.body.pick
        at_once = arena.at_once(duel=duel)
        opened.answered(call, duel)
        try:
            another = opened.place(call) if call.query.next else None
        except ArenaError:
            another = None  # too many are open: the vote is taken all the same
        if another is None:
            return await service.done(lambda: arena.vote(duel, pick), at_once)
        with another:
            taken, shown = await service.done(lambda: arena.vote_and_ask(duel, pick), at_once)
            another.duel = "" if shown is None else shown.duel
        return Voted(taken.seq, taken.undo_until, taken.counted, taken.late, shown or UNSET)

    async def undo(call: Call) -> Struct:
        arena, duel = call.arena, call.path["duel"]
        with opened.place(call) as place:
            seq = await service.done(lambda: arena.undo(duel), arena.at_once(duel=duel))
            place.duel = duel
        return Undone(seq)

    lost = ("no-such-duel", "duel-lost")
    return [
        Operation(
            "vote", "POST", f"{_DUELS}/{{duel}}/vote",
            "Answer a duel; the same answer again is the same vote", vote, Voted,
            scope="vote", takes=Pick, query=VoteQuery,
            problems=(*lost, "already-answered", "bad-vote"),
        ),
        Operation(
            "ask", "POST", _DUELS, "Ask for a duel: two options, or one to show alone", ask, Shown,
            scope="vote", takes=Ask, body_optional=True, problems=("closed",),
        ),
        Operation(
            "undo", "POST", f"{_DUELS}/{{duel}}/undo",
            "Take a vote back while its grace lasts", undo, Undone,
            scope="vote", problems=(*lost, "too-late"),
        ),
    ]  # fmt: skip
