"""Operations without a token: health, the OpenAPI document, descriptions of problems."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from starlette.responses import Response

from driftduel.arena.problems import PROBLEMS
from driftduel.arena.web.messages import Health, Owner
from driftduel.arena.web.openapi import document
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import ProblemDetails, ProblemError
from driftduel.arena.web.service import Service

__all__ = ["is_open", "public_operations"]

_DOCUMENT, _HEALTH, _PROBLEMS = "/v1/openapi.json", "/healthz", "/problems/"


def is_open(path: str) -> bool:
    """Return whether pages of all origins may read a path: its response is public."""
    return path == _DOCUMENT


def public_operations(service: Service, others: Sequence[Operation]) -> list[Operation]:
    """Return the operations about the server itself."""
    written: list[bytes] = []

    async def health(call: Call) -> Struct:
        await service.read_store()
        damaged = service.manager.damaged
        return Health(damaged == 0, damaged)

    async def openapi(call: Call) -> Response:
        if not written:
            written.append(msgspec.json.encode(document([*others, *own])))
        return Response(written[0], media_type="application/json")

    async def token(call: Call) -> Struct:
        return Owner(call.grant.arena, call.grant.scope)

    async def problem(call: Call) -> Struct:
        name = call.path["problem"]
        if name not in PROBLEMS:
            raise ProblemError("not-found", f"The problem {name[:80]!r} does not exist.")
        status, title = PROBLEMS[name]
        return ProblemDetails(f"{_PROBLEMS}{name}", title, status, f"{title}.")

    own = [
        Operation(
            "token", "GET", "/v1/token", "Get arena and scope of the token", token,
            Owner, scope="", live=False,
        ),
        Operation(
            "openapi", "GET", _DOCUMENT, "Get this OpenAPI document", openapi, None, live=False,
        ),
        Operation(
            "health", "GET", _HEALTH, "Check server, store and logs", health, Health, live=False,
            problems=("store-trouble",),
        ),
        Operation(
            "problem", "GET", f"{_PROBLEMS}{{problem}}", "Describe a problem", problem,
            ProblemDetails, live=False, problems=("not-found",),
        ),
    ]  # fmt: skip
    return own
