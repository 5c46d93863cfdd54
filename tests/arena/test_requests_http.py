"""Requests with features over HTTP, by the client, and on the command line."""

import json
import random

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("polars")

from driftduel.arena import Arena, ArenaClient, ArenaError, ArenaManager, open_store
from driftduel.arena.serving import in_background
from driftduel.cli import main
from tests.arena.served import problem, served
from tests.requests_of import FEATURES, broken, deep, valid
from tests.waiting import no_hanging

MADE = [
    {"name": "category", "values": ["chat", "code", "Übung"]},
    {"name": "length", "centre": 100, "scale": 50},
]


def test_an_arena_with_features_is_created_asked_and_served():
    with served() as server:
        new = {"name": "router", "options": ["a", "b"], "features": MADE, "prices": {"b": 0.5}}
        made = server.call("POST", "/v1/arenas", new, server.making)
        assert made.status_code == 201, made.text
        own, path = made.json()["token"], "/v1/arenas/router"
        assert server.call("GET", f"{path}/prices", token=own).json() == {
            "prices": {"o1": 0.0, "o2": 0.5}
        }
        request = {"category": "chat", "length": 3}
        shown = server.call("POST", f"{path}/duels", {"request": request}, own).json()
        vote = server.call(
            "POST", f"{path}/duels/{shown['duel']}/vote?next=1", {"pick": "left"}, own
        )
        assert vote.json()["next"]["duel"]
        best = server.call("POST", f"{path}/best", {"request": request}, own).json()
        assert best["option"]["name"] == "a"
        assert server.call("POST", f"{path}/best", token=own).json()["option"]["name"] == "a"
        changed = server.call("PATCH", f"{path}/prices", {"prices": {"a": 5}}, own)
        assert changed.json() == {"prices": {"o1": 5.0, "o2": 0.5}}
        best = server.call("POST", f"{path}/best", {"request": request}, own).json()
        assert best["option"]["name"] == "b"
        board = server.call("GET", f"{path}/board", token=own).json()
        assert board["requests"]["features"][0] == MADE[0] | {"centre": 0.0, "scale": 1.0}
        assert "Prices in log-odds: a 5 and b 0.5" in board["says"]["requests"]


def test_faults_of_requests_and_prices():
    with served(features=FEATURES) as server:
        ask, best = "duels", "best"
        for body in (None, {}, {"request": None}, {"request": {"category": "x", "length": 1}}):
            problem(server.call("POST", ask, body), 409, "wrong-request")
        problem(server.call("POST", best, {"request": []}), 409, "wrong-request")
        problem(server.call("POST", best, {"requests": {}}), 422, "bad-request")
        problem(server.call("PATCH", "prices", {"prices": {"nobody": 1}}), 404, "no-such-option")
        problem(server.call("PATCH", "prices", {"prices": {"red": "1"}}), 422, "bad-request")
        problem(server.call("POST", best, {}, server.voting), 403, "wrong-scope")
        problem(
            server.call("PATCH", "prices", {"prices": {"red": 1}}, server.reading),
            403,
            "wrong-scope",
        )
        new = {"name": "r", "options": ["a", "b"], "features": [{"name": "x", "values": ["y"]}]}
        said = problem(server.call("POST", "/v1/arenas", new, server.making), 422, "bad-request")
        assert said == "the feature 'x' has 1 value; a category has 2 to 32."
    with served() as server:
        said = problem(server.call("POST", ask, {"request": {}}), 409, "wrong-request")
        assert "has no features" in said
        problem(server.call("PATCH", "prices", {"prices": {"red": 1}}), 422, "bad-request")


def test_five_hundred_broken_requests_give_one_sentence_each():
    rng = random.Random(9)
    with served(features=FEATURES) as server:
        before = server.manager.arena("colours").seq
        for number in range(500):
            try:
                text = json.dumps({"request": broken(rng)}, ensure_ascii=True)
            except (TypeError, ValueError):
                text = '{"request": ' + "[" * rng.randrange(1, 60_000)
            if number == 7:
                text = json.dumps({"request": {"category": deep(300), "length": 1}})
            headers = {"Authorization": f"Bearer {server.own}", "Content-Type": "application/json"}
            where = f"/v1/arenas/colours/{rng.choice(['duels', 'best'])}"
            answer = server.client.post(where, content=text.encode(), headers=headers)
            if text == '{"request": null}' and where.endswith("best"):
                continue
            assert answer.status_code in (409, 422), (text[:200], answer.text)
            detail = answer.json()["detail"]
            assert detail.isprintable()
            assert detail.endswith(".")
            assert len(detail) < 1000
        assert server.manager.arena("colours").seq == before
        server.call("POST", "duels", {"request": valid(rng)})


def test_the_client_asks_and_serves_with_requests():
    manager = ArenaManager(open_store("memory:"))
    token = manager.create("router", ["a", "b"], features=FEATURES)
    request = {"category": "chat", "length": 3}
    with no_hanging(), in_background(manager) as url, ArenaClient(url, token) as client:
        shown = client.ask("ann", request=request)
        assert client.ask("ann", request=request, resume=True).duel == shown.duel
        assert client.best(request).name in ("a", "b")
        assert client.set_prices({"a": 1, "o2": 2}) == {"o1": 1.0, "o2": 2.0} == client.prices()
        for call in (client.ask, client.best):
            with pytest.raises(ArenaError, match="has no feature 'length'") as error:
                call(request={"category": "chat"})
            assert error.value.problem == "wrong-request"


def test_the_commands(tmp_path, capsys):
    store = ["--store", f"sqlite:{tmp_path}/a.db"]
    options = ["--option", "small", "--option", "large"]
    features = ["--feature", FEATURES[0], "--feature", FEATURES[1]]
    assert main(["arena", "new", "r", *store, *options, *features, "--price", "large=0.4"]) == 0
    capsys.readouterr()
    assert main(["arena", "price", "r", *store, "small=0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"o1": 0.1, "o2": 0.4}
    with Arena(f"{tmp_path}/a.db", name="r") as arena:
        for number in range(60):
            shown = arena.ask(f"v {number}", request=valid(random.Random(number)))
            arena.vote(shown.duel, "left" if number % 3 else "right")
    assert main(["arena", "export", "r", *store, "--out", f"{tmp_path}/v.jsonl"]) == 0
    capsys.readouterr()
    log = ["log", "features", f"{tmp_path}/v.jsonl", "--features", "category,length", "--json"]
    assert main(log) == 0
    assert json.loads(capsys.readouterr().out)["features"][0]["values"] == ["chat", "code", "Übung"]
    more = ["arena", "import", "again", f"{tmp_path}/v.jsonl", *store, *features]
    assert main(more) == 0
    assert "imported: 60 votes" in capsys.readouterr().out
    for words, fault in [
        (["arena", "price", "r", *store, "small"], "is no price such as small=0.1"),
        (["arena", "new", "s", *store, *options, "--feature", "x"], "must be NAME=VALUE,VALUE"),
        (["arena", "new", "s", *store, *options, "--price", "tiny=1"], "of a price does not exist"),
    ]:
        assert main(words) == 2
        assert fault in capsys.readouterr().err
