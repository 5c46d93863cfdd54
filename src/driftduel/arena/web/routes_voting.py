"""Operations for voters: ask, vote, undo, renew or release leases."""

from contextlib import suppress
from typing import Any

import msgspec
from anyio import to_thread
from msgspec import Struct
from starlette.responses import Response

from driftduel.arena.board_fields import OptionName
from driftduel.arena.problems import ArenaError
from driftduel.arena.responses import ShownDuel, Vote, blind
from driftduel.arena.state import PICKS
from driftduel.arena.translations import words_of
from driftduel.arena.web.cookies import keep_token, voter_in
from driftduel.arena.web.limits import client_address
from driftduel.arena.web.messages import (
    Ask,
    DuelPick,
    Leased,
    Leases,
    Page,
    Pick,
    Revealed,
    SessionQuery,
    Undone,
    Voted,
    VoteQuery,
    set_fields,
    with_slates,
)
from driftduel.arena.web.open_duels import Reservation
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.security import is_foreign
from driftduel.arena.web.service import Service

__all__ = ["voter_operations"]

_ARENA = "/v1/arenas/{arena}"
_DUELS = f"{_ARENA}/duels"
_PAGE_SCOPES = {"vote": "vote", "board": "read", "own": "own"}


def _check_duel_pick(given: dict[str, Any]) -> None:
    """Raise ProblemError for the answer to a slate in an arena with duels."""
    try:
        msgspec.convert(given, DuelPick)
    except msgspec.ValidationError as error:
        raise ProblemError("bad-request", f"The body is not valid: {error}.") from None


def voter_operations(service: Service) -> list[Operation]:
    """Return the operations that a token with the scope ``vote`` allows."""
    opened = service.open_duels

    async def place_for(call: Call) -> Reservation:
        place, evicted = opened.reserve(call)
        if evicted:
            arena = call.arena
            with suppress(ArenaError):  # a duel of an earlier process, which is not open
                await service.run_durably(lambda: arena.release(evicted), arena.can_run_inline())
        return place

    async def ask(call: Call) -> Struct:
        body: Ask = call.body or Ask()
        voter = body.voter
        if call.grant.by_cookie:
            if voter is not None:
                raise ProblemError(
                    "bad-request", "With a cookie the browser is the voter; omit the field voter."
                )
            voter = voter_in(call.request)
        arena = call.arena
        with await place_for(call) as place:
            source = None if voter is not None else _source(call)
            shown = await service.run_durably(
                lambda: arena.ask(
                    voter, resume=body.resume, source=source, tags=body.tags, request=body.request
                ),
                arena.can_run_inline(voter=voter or source),
            )
            place.duel = shown.duel
        return _hidden(call, shown)

    async def vote(call: Call) -> Struct:
        arena, duel, body = call.arena, call.path["duel"], call.body
        given = set_fields(body)
        if not arena.state.settings.has_slates and (
            "ranking" in given or given.get("pick") not in PICKS
        ):
            _check_duel_pick(given)
        answer: dict[str, Any] = {key: given.get(key) for key in ("pick", "ranking")}
        answer |= {"tags": body.tags, "reason": body.reason}
        inline = arena.can_run_inline(duel=duel)
        opened.drop(call, duel)
        if not call.query.next:
            taken = await service.run_durably(lambda: arena.vote(duel, **answer), inline)
            return _vote_response(call, taken, None)
        with await place_for(call) as another:
            taken, shown = await service.run_durably(
                lambda: arena.vote_and_ask(duel, **answer), inline
            )
            another.duel = "" if shown is None else shown.duel
        return _vote_response(call, taken, shown)

    async def undo(call: Call) -> Struct:
        arena, duel = call.arena, call.path["duel"]
        if arena.has_items and call.grant.scope == "vote" and arena.revealed(duel) is not None:
            raise ProblemError("too-late", "The vote has revealed the options; it is final.")
        with await place_for(call) as place:
            seq = await service.run_durably(
                lambda: arena.undo(duel), arena.can_run_inline(duel=duel)
            )
            place.duel = duel
        return Undone(seq)

    async def lease(call: Call) -> Struct:
        arena, body = call.arena, call.body
        inline = arena.can_run_inline()
        if body.release:
            await service.run_durably(lambda: arena.release(body.duels, body.after), inline)
            return Leased([0.0] * len(body.duels))
        if inline:
            return Leased(arena.renew(body.duels))
        return Leased(await to_thread.run_sync(arena.renew, body.duels))

    async def page(call: Call) -> Struct:
        settings = call.arena.page
        fields = msgspec.structs.asdict(settings)
        words = words_of(settings.language, settings.words)
        made = Page(**fields, translated=words, items=call.arena.has_items)
        return with_slates(made, call.arena.state.settings)

    async def session(call: Call) -> Response:
        # Login CSRF: a page of another site must not choose the token of this browser.
        if is_foreign(call.request.headers):
            raise ProblemError("cross-site", "The cookie can be set by a page of this server only.")
        bearer = call.request.headers.get("authorization", "").partition(" ")[2].strip()
        if not bearer:
            raise ProblemError("no-token", "Send the token as 'Authorization: Bearer TOKEN'.")
        page, arena = call.query.page, call.path["arena"]
        await service.authenticator.authorise(call.request, arena, _PAGE_SCOPES[page])
        response = Response(status_code=204)
        keep_token(response, page, arena, bearer, secure=service.settings.secure_cookies)
        return response

    def _hidden(call: Call, shown: ShownDuel) -> ShownDuel:
        """Return a duel as the holder of a token may see it: on items, voters see no names."""
        return blind(shown) if call.arena.has_items and call.grant.scope != "own" else shown

    def _vote_response(call: Call, vote: Vote, shown: ShownDuel | None) -> Struct:
        arena = call.arena
        voted = Voted(vote.seq, vote.undo_until, vote.counted, vote.late)
        if shown is not None:
            voted = msgspec.structs.replace(voted, next=_hidden(call, shown))
        if not (arena.has_items and arena.page.reveal):
            return voted
        names = arena.revealed(call.path["duel"])
        if names is None:
            return voted
        options = [OptionName(option.id, option.name) for option in names]
        if arena.state.settings.has_slates:
            revealed = Revealed(options=options)
        else:
            revealed = Revealed(left=options[0], right=options[1])
        return msgspec.structs.replace(voted, revealed=revealed, undo_until=0.0)

    def _source(call: Call) -> str:
        """Return the name of the source of votes without a voter: token and address."""
        client = call.request.client
        address = client_address(client.host if client else None)
        return f"source\n{call.grant.key.hex()}\n{address}"

    lost = ("no-such-duel", "duel-lost")
    return [
        Operation(
            "vote", "POST", f"{_DUELS}/{{duel}}/vote",
            "Answer a duel", vote, Voted,
            scope="vote", takes=Pick, query=VoteQuery,
            problems=(*lost, "already-answered", "bad-vote"),
        ),
        Operation(
            "ask", "POST", _DUELS, "Ask for a duel", ask, ShownDuel,
            scope="vote", takes=Ask, body_optional=True,
            problems=("closed", "nothing-left", "wrong-request"),
        ),
        Operation(
            "undo", "POST", f"{_DUELS}/{{duel}}/undo",
            "Undo a vote", undo, Undone,
            scope="vote", problems=(*lost, "too-late"),
        ),
        Operation(
            "lease", "POST", f"{_ARENA}/leases", "Renew or release open duels", lease, Leased,
            scope="vote", takes=Leases, problems=lost, beacon=True,
        ),
        Operation(
            "page", "GET", f"{_ARENA}/page", "Get settings of the vote page", page, Page,
            scope="vote",
        ),
        Operation(
            "session", "POST", f"{_ARENA}/session", "Store the token in a cookie", session,
            None, scope="", query=SessionQuery, status=204, live=False,
        ),
    ]  # fmt: skip
