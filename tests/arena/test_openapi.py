"""The OpenAPI document and the server say the same."""

import json
import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import msgspec

from driftduel.arena import Board
from driftduel.arena.items import check_items
from driftduel.arena.problems import PROBLEMS, ArenaError
from driftduel.arena.web.openapi import problems_of
from tests.arena.served import served


@pytest.fixture(scope="module")
def arena():
    with served() as made:
        yield made


@pytest.fixture(scope="module")
def document(arena):
    return arena.client.get("/v1/openapi.json").json()


def routes(app):
    """Return what the server answers, apart from pages and their files."""
    assert not [route for route in app.routes if route.path.startswith(("/v1/", "/healthz"))]
    return {
        (method, re.sub(r"\{(\w+):\w+\}", r"{\1}", entry.path))
        for entry in app.table
        for method in entry.methods
    }


def documented(document):
    return {
        (method.upper(), path): said
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    }


def test_every_route_is_documented_and_nothing_else(arena, document):
    assert documented(document).keys() == routes(arena.client.app)
    assert len(documented(document)) > 15


def test_the_paths_that_others_rely_on_are_there(document):
    arena = "/v1/arenas/{arena}"
    assert documented(document).keys() >= {
        ("POST", "/v1/arenas"), ("POST", f"{arena}/duels"), ("POST", f"{arena}/options"),
        ("POST", f"{arena}/duels/{{duel}}/vote"), ("POST", f"{arena}/duels/{{duel}}/undo"),
        ("PATCH", f"{arena}/options/{{option}}"), ("GET", f"{arena}/board"),
        ("GET", f"{arena}/board/events"), ("GET", f"{arena}/log"), ("POST", f"{arena}/votes/void"),
        ("POST", f"{arena}/close"), ("DELETE", "/v1/voters/{voter}"),
    }  # fmt: skip


def test_every_reference_leads_somewhere_and_every_type_is_used(document):
    named = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert named == document["components"]["schemas"].keys()


def test_parameters_are_those_of_the_path(document):
    for (_, path), said in documented(document).items():
        in_path = {each["name"] for each in said["parameters"] if each["in"] == "path"}
        assert in_path == set(re.findall(r"\{(\w+)\}", path))


def test_every_problem_can_happen_somewhere(arena):
    said = {name for each in arena.client.app.operations for name in problems_of(each)}
    # These are said of paths and methods that are not there, and by clients.
    assert PROBLEMS.keys() - said == {"method-not-allowed", "no-answer"}


def test_names_of_operations_are_their_own(document):
    names = [said["operationId"] for said in documented(document).values()]
    assert len(names) == len(set(names))


def test_what_needs_a_token_says_so(arena, document):
    for operation in arena.client.app.operations:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        said = document["paths"][path][operation.method.lower()]
        assert said["security"] == ([] if operation.scope is None else [{"token": []}])
        assert ("401" in said["responses"]) == (operation.scope is not None)


def test_the_schema_of_the_board_is_that_of_its_type(document):
    schema = msgspec.json.schema(Board, ref_template="#/components/schemas/{name}")
    schemas = document["components"]["schemas"]
    for name, part in json.loads(json.dumps(schema["$defs"])).items():
        assert schemas[name] == part
    assert set(schemas["Board"]["properties"]) == set(Board.__struct_fields__)
    answer = document["paths"]["/v1/arenas/{arena}/board"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Board"}


def test_the_board_that_is_sent_follows_the_schema(arena):
    sent = arena.call("GET", "board", token=arena.reading)
    assert msgspec.json.decode(sent.content, type=Board, strict=True).arena == "colours"


@pytest.mark.parametrize(
    ("item", "allowed"),
    [
        ({"id": "a", "answers": {"red": "x"}}, True),
        ({"id": "a", "answers": {"red": {"text": "x"}}, "prompt": None, "tags": None}, True),
        ({"id": "a", "answers": {"red": "x"}, "tags": {"topic": ["a", "b"], "lang": "de"}}, True),
        ({"id": "a", "answers": {"red": {"image": "HTTPS://example.org/a.png"}}}, True),
        ({"id": "a", "answers": {"red": {"image": "data:image/PNG;base64,AA=="}}}, True),
        ({"id": "a", "answers": {"red": {"kind": "audio", "content": "file:" + "0" * 32}}}, True),
        ({"id": "a"}, False),
        ({"id": "a", "answers": {}}, False),
        ({"id": "a", "answers": {"red": "x"}, "tags": ""}, False),
        ({"id": "a", "answers": {"red": "x"}, "tag": {}}, False),
        ({"id": "a", "answers": {"red": {"image": "http://example.org/a.png"}}}, False),
        ({"id": "a", "answers": {"red": {"audio": "data:image/png;base64,AA=="}}}, False),
        ({"id": "a\n", "answers": {"red": "x"}}, False),
    ],
)
def test_the_schema_of_items_allows_what_the_server_accepts(document, item, allowed):
    schemas = pytest.importorskip("jsonschema_rs")
    schema = document["components"]["schemas"]["NewItems"]
    valid = schemas.Draft202012Validator(schema).is_valid({"items": [item]})
    try:
        accepted = bool(list(check_items([item])))
    except ArenaError:
        accepted = False
    assert (valid, accepted) == (allowed, allowed)
