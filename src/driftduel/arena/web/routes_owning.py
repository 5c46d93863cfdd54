"""Operations for owners: arenas, options, voids, tokens and webhooks."""

import secrets

from anyio import to_thread
from msgspec import UNSET, Struct
from starlette.responses import Response

from driftduel.arena.addresses import parse_url, resolve_address
from driftduel.arena.manager import option_text
from driftduel.arena.responses import Option
from driftduel.arena.web import messages as m
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.service import Service
from driftduel.arena.webhooks import format_secret

__all__ = ["owner_operations"]

_ARENA = "/v1/arenas/{arena}"


def owner_operations(service: Service) -> list[Operation]:
    """Return the operations that require a token with the scope ``own``."""
    manager, store = service.manager, service.manager.store

    async def make(call: Call) -> Struct:
        settings = m.set_fields(call.body)
        name, options = settings.pop("name"), settings.pop("options")
        if "features" in settings:
            settings["features"] = [m.set_fields(each) for each in settings["features"]]
        texts = [each if isinstance(each, str) else m.set_fields(each) for each in options]
        token = await to_thread.run_sync(lambda: manager.create(name, texts, **settings))
        return m.ArenaMade(name, token)

    async def join(call: Call) -> Struct:
        new = option_text("", call.body.name, call.body.kind, call.body.content)
        return await service.run_durably(lambda: call.arena.join(new.name, new.kind, new.content))

    async def change(call: Call) -> Struct:
        arena, new = call.arena, call.body
        now = arena.need(call.path["option"])
        option = now.id
        name = now.name if new.name is UNSET else new.name
        content = now.content if new.content is UNSET else new.content
        option_text(option, name, now.kind, content)
        if new.present is not UNSET and new.present != now.present:
            move = arena.come_back if new.present else arena.leave
            await service.run_durably(lambda: move(option))
        if (name, content) != (now.name, now.content):
            await to_thread.run_sync(arena.rewrite, option, name, content)
        return arena.option(option)

    async def price(call: Call) -> Struct:
        prices = call.body.prices
        return m.Prices(await service.run_durably(lambda: call.arena.set_prices(prices)))

    async def prices(call: Call) -> Struct:
        return m.Prices(call.arena.prices())

    async def void(call: Call) -> Struct:
        voided = await service.run_durably(lambda: call.arena.void(call.body.seqs, call.body.why))
        return m.Voided(voided)

    async def close(call: Call) -> Struct:
        await service.run_durably(call.arena.end)
        return m.Closed(True)

    async def erase(call: Call) -> Struct:
        if not await to_thread.run_sync(call.arena.erase, call.path["voter"]):
            raise ProblemError(
                "no-such-voter", "No voter of this name has voted, or the voter was erased before."
            )
        return m.Erased(True)

    async def token(call: Call) -> Struct:
        new: m.NewToken = call.body
        made = await to_thread.run_sync(manager.token, call.path["arena"], new.scope, new.label)
        return m.TokenMade(made)

    async def tokens(call: Call) -> Struct:
        found = await to_thread.run_sync(store.tokens, call.path["arena"])
        return m.Tokens([m.TokenShown(*token) for token in found])

    async def drop_token(call: Call) -> Response:
        arena, wanted = call.path["arena"], call.path["token"]
        if not await to_thread.run_sync(store.drop_token, arena, wanted):
            raise ProblemError(
                "no-such-token", "The token does not exist; GET /tokens lists digits and labels."
            )
        return Response(status_code=204)

    async def options(call: Call) -> Struct:
        return m.Options(call.arena.options())

    async def waiting(call: Call) -> Struct:
        state = call.arena.state
        return m.Waiting(len(state.voted) + len(state.held), *state.waiting())

    async def hook(call: Call) -> Struct:
        await resolve_address(parse_url(call.body.url), service.settings.private_hooks)
        wanted = ["changed" if each == "crowned" else each for each in call.body.events]
        secret, events = secrets.token_bytes(32), tuple(dict.fromkeys(wanted))
        arena = call.arena
        # Events before the registration are not sent.
        made = await to_thread.run_sync(
            lambda: store.put_hook(arena.name, call.body.url, secret, events, arena.seq)
        )
        return m.HookMade(made, format_secret(secret))

    async def hooks(call: Call) -> Struct:
        found = await to_thread.run_sync(store.hooks, call.path["arena"])
        return m.Hooks([m.HookShown(h.id, h.url, h.events, h.done) for h in found])

    async def drop_hook(call: Call) -> Response:
        arena = call.path["arena"]
        if not await to_thread.run_sync(store.drop_hook, arena, call.path["hook"]):
            raise ProblemError(
                "no-such-hook", "The webhook does not exist; GET /hooks lists the ids."
            )
        return Response(status_code=204)

    of_options, one_hook = f"{_ARENA}/options", f"{_ARENA}/hooks/{{hook}}"
    return [
        Operation(
            "make_arena", "POST", "/v1/arenas", "Create an arena", make, m.ArenaMade,
            scope="own", takes=m.NewArena, status=201, live=False, every_arena=True,
            problems=("name-taken",),
        ),
        Operation(
            "join", "POST", of_options, "Add an option", join, Option,
            scope="own", takes=m.NewOption, status=201, problems=("closed", "name-taken"),
        ),
        Operation(
            "change_option", "PATCH", f"{of_options}/{{option}}",
            "Change, retire or readmit an option", change, Option,
            scope="own", takes=m.OptionChange, problems=("no-such-option", "closed", "name-taken"),
        ),
        Operation(
            "options", "GET", of_options, "List the options", options, m.Options, scope="own",
        ),
        Operation(
            "change_prices", "PATCH", f"{_ARENA}/prices", "Change prices of options", price,
            m.Prices, scope="own", takes=m.PricesChange, problems=("no-such-option", "closed"),
        ),
        Operation(
            "prices", "GET", f"{_ARENA}/prices", "List the prices", prices, m.Prices, scope="own",
        ),
        Operation(
            "waiting", "GET", f"{_ARENA}/votes/waiting", "Count the waiting votes", waiting,
            m.Waiting, scope="own",
        ),
        Operation(
            "void", "POST", f"{_ARENA}/votes/void", "Void votes", void, m.Voided,
            scope="own", takes=m.VoidVotes,
        ),
        Operation(
            "close", "POST", f"{_ARENA}/close", "Close the arena", close,
            m.Closed, scope="own", problems=("closed",),
        ),
        Operation(
            "erase_voter", "DELETE", "/v1/voters/{voter:path}",
            "Erase the identity of a voter", erase, m.Erased,
            scope="own", problems=("no-such-voter", "owned-elsewhere"),
        ),
        Operation(
            "make_token", "POST", f"{_ARENA}/tokens", "Create a token",
            token, m.TokenMade, scope="own", takes=m.NewToken, status=201, live=False,
        ),
        Operation(
            "tokens", "GET", f"{_ARENA}/tokens", "List the tokens", tokens, m.Tokens,
            scope="own", live=False,
        ),
        Operation(
            "drop_token", "DELETE", f"{_ARENA}/tokens/{{token:path}}",
            "Delete tokens by label or digits", drop_token, None,
            scope="own", status=204, live=False, problems=("no-such-token",),
        ),
        Operation(
            "make_hook", "POST", f"{_ARENA}/hooks", "Register a webhook", hook,
            m.HookMade, scope="own", takes=m.NewHook, status=201, problems=("bad-address",),
        ),
        Operation(
            "hooks", "GET", f"{_ARENA}/hooks", "List the webhooks", hooks, m.Hooks,
            scope="own", live=False,
        ),
        Operation(
            "drop_hook", "DELETE", one_hook, "Delete a webhook", drop_hook, None,
            scope="own", status=204, live=False, problems=("no-such-hook",),
        ),
    ]  # fmt: skip
