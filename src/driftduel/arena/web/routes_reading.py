"""Operations for readers: the board, its stream, the log."""

from collections.abc import AsyncIterator

import msgspec
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from driftduel.arena.board import Board
from driftduel.arena.import_export import csv_of, export_votes
from driftduel.arena.live import LiveArena
from driftduel.arena.web.limits import client_address
from driftduel.arena.web.messages import (
    Best,
    BestQuery,
    BoardQuery,
    DifferencesQuery,
    LogPage,
    LogQuery,
    TagList,
)
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.service import Service
from driftduel.logs import Subgroups

__all__ = ["reader_operations"]

_NDJSON, _CSV = "application/x-ndjson", "text/csv"
_BATCH = 5000


def reader_operations(service: Service) -> list[Operation]:
    """Return the operations that a token with the scope ``read`` allows."""

    async def board(call: Call) -> Response | Board:
        tag = call.query.tag
        if tag is not None:
            return await to_thread.run_sync(call.arena.board, tag, limiter=service.comparers)
        content = await service.boards.json(call.arena)
        return Response(content, media_type="application/json")

    async def best(call: Call) -> Best:
        request = None if call.body is None else call.body.request
        if call.arena.can_run_inline():
            return Best(call.arena.best(request))
        return Best(await to_thread.run_sync(call.arena.best, request))

    async def tags(call: Call) -> TagList:
        return TagList(await to_thread.run_sync(call.arena.tags, limiter=service.comparers))

    async def differences(call: Call) -> Subgroups:
        by = call.query.by
        return await to_thread.run_sync(call.arena.differences, by, limiter=service.comparers)

    async def events(call: Call) -> Response:
        grant, client = call.grant, call.request.client

        async def is_allowed() -> bool:
            return await service.authenticator.is_still_valid(grant)

        address = client_address(client.host if client else None)
        return service.boards.watch(call.arena.name, address, is_allowed)

    async def log(call: Call) -> Response | LogPage:
        after, limit = call.query.after, call.query.limit
        media = _download_media(call.request)
        if media is not None:
            return _download(call.arena, media)
        records = await to_thread.run_sync(call.arena.records, after, limit)
        following = records[-1].seq if len(records) == limit else None
        return LogPage([[each.seq, each.at, each.kind, each.body] for each in records], following)

    arena = "/v1/arenas/{arena}"
    return [
        Operation(
            "board", "GET", f"{arena}/board", "Get the board",
            board, Board, scope="read", query=BoardQuery,
        ),
        Operation(
            "best", "POST", f"{arena}/best", "Get the option to use for a request, after prices",
            best, Best, scope="read", takes=BestQuery, body_optional=True,
            problems=("wrong-request",),
        ),
        Operation(
            "tags", "GET", f"{arena}/tags", "List the tags of votes and items",
            tags, TagList, scope="read",
        ),
        Operation(
            "differences", "GET", f"{arena}/differences",
            "Get shares by the value of a tag, and whether the tag matters",
            differences, Subgroups, scope="read", query=DifferencesQuery,
            problems=("not-comparable",),
        ),
        Operation(
            "watch", "GET", f"{arena}/board/events", "Stream the board after each change",
            events, None, scope="read", media="text/event-stream",
        ),
        Operation(
            "log", "GET", f"{arena}/log", "Get the log, or export votes", log, LogPage,
            scope="read", query=LogQuery, other_media=(_NDJSON, _CSV),
        ),
    ]  # fmt: skip


def _download_media(request: Request) -> str | None:
    """Return the media type of a requested download; None for a page of JSON."""
    accept = request.headers.get("accept", "")
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return next((kind for kind in kinds if kind in (_NDJSON, _CSV)), None)


def _download(arena: LiveArena, media: str) -> StreamingResponse:
    """Return a response that streams the whole log, or its votes as CSV."""
    parts = _lines(arena) if media == _NDJSON else _votes(arena)
    suffix = "ndjson" if media == _NDJSON else "csv"
    headers = {"Content-Disposition": f'attachment; filename="{arena.name}.{suffix}"'}
    return StreamingResponse(parts, media_type=media, headers=headers)


async def _lines(arena: LiveArena) -> AsyncIterator[bytes]:
    """Yield batches of records, so that memory does not grow with the log."""
    after = 0
    while records := await to_thread.run_sync(arena.records, after, _BATCH):
        after = records[-1].seq
        yield b"".join(msgspec.json.encode(record) + b"\n" for record in records)


async def _votes(arena: LiveArena) -> AsyncIterator[bytes]:
    yield await to_thread.run_sync(lambda: csv_of(export_votes(arena.store, arena.name)).encode())
