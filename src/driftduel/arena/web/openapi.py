"""The OpenAPI document, generated from the list of operations and the types of their messages."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from driftduel import __version__
from driftduel.arena.problems import PROBLEMS
from driftduel.arena.uploads import MEDIA as FILE_MEDIA
from driftduel.arena.web.operations import Operation
from driftduel.arena.web.problems import MEDIA, ProblemDetails

__all__ = ["document", "path_of", "problems_of"]

_TEMPLATE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_ABOUT_PATH = {
    "arena": "name of an arena",
    "duel": "id of a duel, from the response that showed it",
    "option": "id or unique name of an option",
    "item": "id of an item",
    "file": "id of an uploaded file",
    "token": "label of tokens, or at least eight digits of a token's digest",
    "hook": "id of a webhook",
    "voter": "name of a voter, as sent in the field voter",
    "problem": "name of a problem",
}


def path_of(operation: Operation) -> str:
    """Return the path of an operation in OpenAPI's syntax, without the router's types."""
    return _PARAMETER.sub(r"{\1}", operation.path)


def problems_of(operation: Operation) -> list[str]:
    """Return the names of all problems that an operation can respond with, sorted."""
    names = {"too-many", "broken", "bad-request", *operation.problems}
    if operation.scope is not None:
        names |= {"no-token", "wrong-scope", "cross-site", "store-trouble"}
    if "{arena}" in operation.path:
        names |= {"no-such-arena", "cross-site"}
        if operation.live:
            names |= {"owned-elsewhere", "store-trouble", "damaged-log"}
    if operation.takes is not None:
        names |= {"too-large", "too-slow", "wrong-media-type"}
    return sorted(names)


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of these operations as a dict."""
    types = {one for each in operations for one in (each.takes, each.gives, each.query) if one}
    _, schemas = msgspec.json.schema_components(
        [*sorted(types, key=lambda one: one.__name__), ProblemDetails], ref_template=_TEMPLATE
    )
    for one in types:  # what types cannot say, such as that one of two fields is required
        schemas[one.__name__] |= getattr(one, "more_schema", {})
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(path_of(each), {})[each.method.lower()] = _operation(each, schemas)
    for query in {each.query.__name__ for each in operations}:
        schemas.pop(query, None)
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "driftduel arena",
            "version": __version__,
            "description": "Pairwise votes with drifting preferences; the board reports the leader "
            "and its statistical evidence.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(each: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.about,
        "parameters": [*_path_parameters(each), *_query_parameters(each, schemas)],
        "responses": {str(each.status): _answer(each), **_errors(problems_of(each))},
        "security": [] if each.scope is None else [{"token": []}],
    }
    if each.scope:
        described["description"] = f"Requires a token with the scope `{each.scope}`."
    if each.file:
        described["requestBody"] = {
            "required": True,
            "content": {
                media: {"schema": {"type": "string", "format": "binary"}} for media in FILE_MEDIA
            },
        }
    if each.takes is not None:
        described["requestBody"] = {
            "required": not each.body_optional,
            "content": {"application/json": {"schema": _ref(each.takes)}},
        }
    return described


def _ref(type_: type) -> dict[str, str]:
    return {"$ref": _TEMPLATE.format(name=type_.__name__)}


def _answer(each: Operation) -> dict[str, Any]:
    if each.status == 204:
        return {"description": each.about}
    content: dict[str, Any] = {each.media: {"schema": _ref(each.gives)} if each.gives else {}}
    for media in each.other_media:
        content[media] = {"schema": {"type": "string"}}
    return {"description": each.about, "content": content}


def _errors(names: Iterable[str]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for name in names:
        by_status.setdefault(PROBLEMS[name][0], []).append(name)
    return {
        str(status): {
            "description": "; ".join(f"`{name}`: {PROBLEMS[name][1]}" for name in each),
            "content": {MEDIA: {"schema": _ref(ProblemDetails)}},
        }
        for status, each in sorted(by_status.items())
    }


def _path_parameters(each: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _ABOUT_PATH[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in _PARAMETER.findall(each.path)
    ]


def _query_parameters(each: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    query = schemas[each.query.__name__]
    required = query.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in query["properties"].items()
    ]
