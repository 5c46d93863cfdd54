"""Operations for owners of arenas with items: items, files, settings of the vote page."""

from anyio import to_thread
from msgspec import Struct
from starlette.responses import Response

from driftduel.arena.items import check_items
from driftduel.arena.responses import Item, ItemsChanged
from driftduel.arena.translations import words_of
from driftduel.arena.uploads import FILE_HEADERS, MEDIA
from driftduel.arena.web import messages as m
from driftduel.arena.web.operations import Call, Operation
from driftduel.arena.web.problems import ProblemError
from driftduel.arena.web.service import Service

__all__ = ["item_operations"]

_ARENA = "/v1/arenas/{arena}"
_MOST_BYTES = 8 << 20


def item_operations(service: Service) -> list[Operation]:
    """Return the operations on items, files and the settings of the vote page."""
    store = service.manager.store

    async def add(call: Call) -> Struct:
        arena, body = call.arena, call.body
        return await service.run_durably(
            lambda: arena.add_items(list(check_items(body.items)), replace=body.replace)
        )

    async def items(call: Call) -> Struct:
        after, limit = call.query.after, call.query.limit
        found = await to_thread.run_sync(call.arena.items, after, limit)
        return m.Items(found, found[-1].number if len(found) == limit else None)

    async def item(call: Call) -> Struct:
        return await to_thread.run_sync(call.arena.item, call.path["item"])

    async def change(call: Call) -> Struct:
        arena, item_id, present = call.arena, call.path["item"], call.body.present
        return await service.run_durably(lambda: arena.set_item_present(item_id, present))

    async def erase(call: Call) -> Response:
        await service.run_durably(lambda: call.arena.erase_item(call.path["item"]))
        return Response(status_code=204)

    async def upload(call: Call) -> Struct:
        arena = call.arena
        media = call.request.headers.get("content-type", "")
        reference = await to_thread.run_sync(arena.put_file, call.content, media)
        return m.FileStored(reference, arena.file_url(reference))

    async def download(call: Call) -> Response:
        found = await to_thread.run_sync(store.file, call.path["arena"], call.path["file"])
        if found is None:
            raise ProblemError("no-such-file", "The file does not exist; check its address.")
        media, data = found
        return Response(data, media_type=media, headers=FILE_HEADERS)

    async def set_page(call: Call) -> Struct:
        arena = call.arena
        changes = m.set_fields(call.body)
        page = await to_thread.run_sync(lambda: arena.set_page(**changes))
        words = words_of(page.language, page.words)
        made = m.Page(**m.set_fields(page), translated=words, items=arena.has_items)
        return m.with_slates(made, arena.state.settings)

    async def lost(call: Call) -> Struct:
        option, limit = call.query.option, call.query.limit
        found = await to_thread.run_sync(
            call.arena.lost_items, option, limit, limiter=service.comparers
        )
        return m.LostItems(found)

    one = f"{_ARENA}/items/{{item:path}}"
    return [
        Operation(
            "lost_items", "GET", f"{_ARENA}/lost-items",
            "List the items on which an option wins least", lost, m.LostItems,
            scope="own", query=m.LostItemsQuery, problems=("no-such-option",),
        ),
        Operation(
            "add_items", "POST", f"{_ARENA}/items", "Add or replace items", add, ItemsChanged,
            scope="own", takes=m.NewItems, status=201, body_bytes=_MOST_BYTES,
            problems=("closed", "name-taken", "no-such-option"),
        ),
        Operation(
            "items", "GET", f"{_ARENA}/items", "List the items", items, m.Items,
            scope="own", query=m.ItemsQuery,
        ),
        Operation(
            "item", "GET", one, "Get an item", item, Item,
            scope="own", problems=("no-such-item",),
        ),
        Operation(
            "change_item", "PATCH", one, "Retire or readmit an item", change, Item,
            scope="own", takes=m.ItemChange, problems=("no-such-item", "closed"),
        ),
        Operation(
            "erase_item", "DELETE", one, "Erase the contents of an item", erase, None,
            scope="own", status=204, problems=("no-such-item", "closed"),
        ),
        Operation(
            "upload", "POST", f"{_ARENA}/files", "Store an image or audio file", upload,
            m.FileStored, scope="own", status=201, file=True, body_bytes=max(MEDIA.values()),
            problems=("too-large", "too-slow"),
        ),
        Operation(
            "file", "GET", f"{_ARENA}/files/{{file}}", "Get an uploaded file", download, None,
            media="application/octet-stream", live=False,
            problems=("no-such-file", "store-trouble"),
        ),
        Operation(
            "set_page", "PATCH", f"{_ARENA}/page", "Change settings of the vote page", set_page,
            m.Page, scope="own", takes=m.PageChange,
        ),
    ]  # fmt: skip
