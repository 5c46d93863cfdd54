"""Items over HTTP: what a voter's token can read, and what an owner can do."""

import base64
import json
import re
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from driftduel.arena import ArenaClient, wait_durable
from driftduel.arena.items import check_items
from tests.arena.served import problem, served
from tests.arena.test_items import some_items
from tests.arena.xss import CORPUS

MODELS = ["secret alpha", "secret beta", "secret gamma"]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def blind_items(many=40):
    return [
        {
            "id": f"secret item {n}",
            "prompt": f"Question {n}",
            "answers": {model: f"Text {place} of {n}" for place, model in enumerate(MODELS)},
            "tags": {"secret tag": f"group {n % 2}"},
        }
        for n in range(many)
    ]


@contextmanager
def with_items(many=40, **settings):
    """Serve the arena `colours`, with items."""
    with served(grace=5.0, items=True, **settings) as made:
        live = made.manager.arena("colours")
        for model, option in zip(MODELS, live.options(), strict=True):
            live.rewrite(option.id, model, None)
        wait_durable(live.add_items(list(check_items(blind_items(many)))))
        yield made


# -- blindness


def vote_responses(arena, steps=60):
    """Use every route that a voter's token can read; yield the responses of the votes."""
    shown = arena.ask(voter="ann")
    for number in range(steps):
        pick = ("left", "right", "tie", "both-bad", "skip")[number % 5]
        yield shown
        if number % 7 == 0:
            arena.call("POST", "leases", {"duels": [shown["duel"]]}, arena.voting)
        if number % 3 == 0:
            answer = arena.vote(shown["duel"], pick)
            yield answer.json()
            again = arena.vote(shown["duel"], pick)
            yield again.json()
            if number % 2 == 0:
                yield arena.call("POST", f"duels/{shown['duel']}/undo", None, arena.voting).json()
                yield arena.vote(shown["duel"], "left").json()
            other = arena.vote(shown["duel"], "right" if pick != "right" else "left")
            yield other.json()
            shown = arena.ask(voter="ann")
        else:
            answer = arena.vote(shown["duel"], pick, "?next=1").json()
            yield answer
            shown = answer["next"]
        yield arena.ask(voter=f"v{number}", resume=True)


def _filled(found):
    return "colours" if found[1] == "arena" else "x"


def names_in(text):
    return [name for name in (*MODELS, "secret item", "secret tag") if name in text]


def test_no_response_to_a_voter_tells_options_apart():
    with with_items() as arena:
        ids = {option.id for option in arena.manager.arena("colours").options()}
        count = 0
        for response in vote_responses(arena):
            text = json.dumps(response)
            assert "secret" not in text
            assert "group" not in text
            for duel in (response, response.get("next") or {}):
                if "left" not in duel:
                    continue
                count += 1
                for side in (duel["left"], duel["right"]):
                    assert (side["id"], side["name"]) == ("", "")
                    assert side["present"] is True
                    assert set(side) == {"id", "name", "kind", "content", "present", "html"}
                    assert not any(option in str(side) for option in ids)
                assert set(duel) <= {"duel", "left", "right", "expires", "prompt"}
        assert count > 60
        # Nothing else that the token can read names an option.
        for operation in arena.client.app.operations:
            if operation.method != "GET":
                continue
            path = re.sub(r"\{(\w+)(:\w+)?\}", _filled, operation.path)
            assert not names_in(arena.call("GET", path, None, arena.voting).text), path
        for path in ("/vote/colours", "/board/colours", "/own/colours"):
            assert not names_in(arena.client.get(path).text), path


def test_sides_of_equal_options_do_not_differ():
    """Two options with the same answer give the same JSON, whatever their names."""
    with with_items(0) as arena:
        same = [{"id": "p", "answers": dict.fromkeys(MODELS, "The same")}]
        assert arena.call("POST", "items", {"items": same}).status_code == 201
        sides = set()
        for voter in range(20):
            shown = arena.ask(voter=f"v{voter}")
            sides |= {json.dumps(shown["left"]), json.dumps(shown["right"])}
        assert len(sides) == 1


def test_an_open_duel_does_not_tell_which_option_has_left():
    with with_items() as arena:
        shown = arena.ask(voter="ann")
        live = arena.manager.arena("colours")
        for option in live.options():
            wait_durable(live.leave(option.id))
            again = arena.ask(voter="ann", resume=True)
            assert again["duel"] == shown["duel"]
            assert (again["left"], again["right"]) == (shown["left"], shown["right"])
            wait_durable(live.come_back(option.id))


def test_an_owner_sees_the_names():
    with with_items() as arena:
        shown = arena.call("POST", "duels", {"voter": "ann"}).json()
        assert shown["left"]["name"] in MODELS
        assert shown["prompt"]["content"].startswith("Question")


def test_names_are_revealed_after_the_vote_if_the_owner_says_so():
    with with_items() as arena:
        assert arena.call("PATCH", "page", {"reveal": True}).json()["reveal"] is True
        shown = arena.ask(voter="ann")
        assert "secret" not in json.dumps(shown)
        answer = arena.vote(shown["duel"], "left", "?next=1").json()
        assert {answer["revealed"][side]["name"] for side in ("left", "right")} < set(MODELS)
        assert "secret" not in json.dumps(answer["next"])
        assert answer["undo_until"] == 0
        problem(
            arena.call("POST", f"duels/{shown['duel']}/undo", None, arena.voting), 409, "too-late"
        )
        assert arena.vote(shown["duel"], "left").json()["revealed"] == answer["revealed"]
        skipped = answer["next"]["duel"]
        assert "revealed" not in arena.vote(skipped, "skip").json()
        assert arena.call("POST", f"duels/{skipped}/undo", None, arena.voting).status_code == 200
        assert "revealed" in arena.vote(skipped, "right").json()


# -- votes and pages


def test_tags_and_reasons_arrive_in_the_log():
    with with_items() as arena:
        body = {"voter": "ann", "tags": {"lang": "de"}}
        duel = arena.call("POST", "duels", body, arena.voting).json()["duel"]
        vote = {"pick": "both-bad", "tags": {"device": "phone"}, "reason": "both wrong"}
        assert arena.call("POST", f"duels/{duel}/vote", vote, arena.voting).status_code == 200
        record = arena.manager.arena("colours").records(0, 1000)[-1].body
        assert record["tags"] == {"device": "phone", "lang": "de"}
        assert record["reason"] == "both wrong"
        for bad in ({"tags": {"k": "v" * 65}}, {"reason": "x" * 1001}, {"tags": {"a\n": "b"}}):
            answer = arena.call("POST", f"duels/{duel}/vote", vote | bad, arena.voting)
            problem(answer, 422, "bad-request")


def test_nothing_left_is_a_problem():
    with with_items(1) as arena:
        for _ in range(3):
            arena.vote(arena.ask(voter="ann")["duel"])
        answer = arena.call("POST", "duels", {"voter": "ann"}, arena.voting)
        assert "every item" in problem(answer, 409, "nothing-left")
        shown = arena.ask(voter="bob")
        assert "next" in arena.vote(shown["duel"], "left", "?next=1").json()


def test_the_page_has_settings_and_words():
    with with_items() as arena:
        page = arena.call("GET", "page", None, arena.voting).json()
        assert page["buttons"] == ["left", "right", "tie", "skip"]
        changes = {
            "title": "T", "question": "Q?", "language": "de", "words": {"skip": "Weiter"},
            "buttons": ["both-bad", "right", "left"], "reasons": True,
        }  # fmt: skip
        assert arena.call("PATCH", "page", changes).status_code == 200
        page = arena.call("GET", "page", None, arena.voting).json()
        assert page["buttons"] == ["left", "right", "both-bad"]
        assert (page["title"], page["question"], page["words"]) == ("T", "Q?", {"skip": "Weiter"})
        assert page["translated"]["skip"] == "Weiter"
        assert len(page["translated"]) > 5
        assert page["items"] is True
        for bad in (
            {"buttons": ["left", "tie"]}, {"language": "../x"}, {"title": "x" * 201}, {"x": 1},
            {"reveal": "yes"}, {"words": {"a": 3}},
        ):  # fmt: skip
            problem(arena.call("PATCH", "page", bad), 422, "bad-request")
        assert arena.manager.store.page("colours") is not None
        problem(arena.call("PATCH", "page", {"title": "x"}, arena.voting), 403, "wrong-scope")


# -- owners


def test_items_are_managed_over_http():
    with with_items(3) as arena:
        new = {"id": "a/b?c", "prompt": "P", "answers": {MODELS[0]: "x", MODELS[1]: "y"}}
        made = arena.call("POST", "items", {"items": [new]})
        assert made.status_code == 201
        assert made.json() == {"added": 1, "replaced": 0, "extended": 0, "unchanged": 0}
        problem(arena.call("POST", "items", {"items": [new]}), 409, "name-taken")
        again = arena.call("POST", "items", {"items": [new], "replace": True})
        assert again.json()["unchanged"] == 1
        page = arena.call("GET", "items?limit=2").json()
        assert [item["number"] for item in page["items"]] == [1, 2]
        page = arena.call("GET", f"items?limit=2&after={page['next']}").json()
        assert [item["id"] for item in page["items"]] == ["secret item 2", "a/b?c"]
        one = arena.call("GET", "items/a%2Fb%3Fc").json()
        assert one["answers"][MODELS[0]] == {"kind": "markdown", "content": "x", "html": "<p>x</p>"}
        changed = arena.call("PATCH", "items/a%2Fb%3Fc", {"present": False}).json()
        assert changed["present"] is False
        assert arena.call("DELETE", "items/a%2Fb%3Fc").status_code == 204
        problem(arena.call("GET", "items/a%2Fb%3Fc"), 404, "no-such-item")
        for bad in ([], [{"id": "x"}], [3], [new, new]):
            problem(arena.call("POST", "items", {"items": bad}), 422, "bad-request")
        for token in (arena.voting, arena.reading):
            problem(arena.call("GET", "items", None, token), 403, "wrong-scope")
        problem(arena.call("POST", "items", {"items": [new] * 1001}), 422, "bad-request")


def test_long_lists_of_items_are_accepted():
    with with_items(0) as arena:
        many = [{"id": f"p{n}", "answers": dict.fromkeys(MODELS, "x" * 2000)} for n in range(500)]
        assert arena.call("POST", "items", {"items": many}).json()["added"] == 500  # 3 MB
        text = json.dumps({"items": [{"id": "p", "answers": {MODELS[0]: "x" * (9 << 20)}}]})
        headers = {"Authorization": f"Bearer {arena.own}", "Content-Type": "application/json"}
        answer = arena.client.post("/v1/arenas/colours/items", content=text, headers=headers)
        problem(answer, 413, "too-large")


def test_files_are_served_with_safe_headers():
    with with_items(0) as arena:
        headers = {"Authorization": f"Bearer {arena.own}", "Content-Type": "image/png"}
        made = arena.client.post("/v1/arenas/colours/files", content=PIXEL, headers=headers)
        assert made.status_code == 201, made.text
        stored = made.json()
        answer = arena.client.get(stored["url"])
        assert answer.content == PIXEL
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        items = [{"id": "p", "answers": {model: {"image": stored["file"]} for model in MODELS}}]
        assert arena.call("POST", "items", {"items": items}).status_code == 201
        assert arena.ask(voter="ann")["left"]["content"] == stored["url"]
        problem(arena.client.get("/v1/arenas/colours/files/" + "0" * 32), 404, "no-such-file")
        html = arena.client.post(
            "/v1/arenas/colours/files", content=b"<script>alert(1)</script>", headers=headers
        )
        problem(html, 422, "bad-request")
        headers["Authorization"] = f"Bearer {arena.voting}"
        answer = arena.client.post("/v1/arenas/colours/files", content=PIXEL, headers=headers)
        problem(answer, 403, "wrong-scope")


def test_tokens_options_and_waiting_votes_are_listed():
    with with_items() as arena:
        labels = {each["label"] for each in arena.call("GET", "tokens").json()["tokens"]}
        assert {"page", "board"} <= labels
        assert arena.call("DELETE", "tokens/board").status_code == 204
        problem(arena.call("DELETE", "tokens/board"), 404, "no-such-token")
        names = [each["name"] for each in arena.call("GET", "options").json()["options"]]
        assert names == MODELS
        arena.vote(arena.ask(voter="ann")["duel"])
        waiting = arena.call("GET", "votes/waiting").json()
        assert waiting == {"waiting": 1, "held": 0, "held_by": 0}


@pytest.mark.parametrize("payload", CORPUS)
def test_hostile_contents_reach_nobody_unescaped(payload):
    with with_items(0) as arena:
        text = payload.replace("\0", "")
        item = {
            "id": "".join(sign for sign in text if sign.isprintable())[:100] or "x",
            "prompt": text,
            "answers": dict.fromkeys(MODELS, text),
        }
        assert arena.call("POST", "items", {"items": [item]}).status_code == 201
        shown = arena.ask(voter="ann")
        for html in (shown["prompt"]["html"], shown["left"]["html"]):
            Checked().feed(html)


class Checked(HTMLParser):
    """A parser that allows only what the renderer itself writes."""

    def handle_starttag(self, tag, attributes):
        assert tag in ALLOWED, tag
        for name, value in attributes:
            assert not name.startswith("on"), name
            if name in ("href", "src"):
                assert value.startswith(("https://", "http://", "data:image/", "/v1/")), value


ALLOWED = {
    "p", "br", "em", "strong", "s", "code", "pre", "span", "ul", "ol", "li", "input", "blockquote",
    "table", "thead", "tbody", "tr", "th", "td", "hr", "a", "img", "math", "mrow", "mi", "mn", "mo",
    "msup", "msub", "mfrac", "msqrt", "mtext", "mspace", "mstyle", "semantics", "mtable", "mtr",
    "mtd", "munder", "mover", "munderover", "msubsup", "div", "label",
}  # fmt: skip


def test_the_client_has_all_of_it(tmp_path):
    with with_items(2) as arena:
        client = ArenaClient("http://testserver", arena.own, arena="colours")

        def exchange(method, path, content, again, media):
            headers = {"Authorization": f"Bearer {arena.own}", "Content-Type": media}
            answer = arena.client.request(method, path, content=content, headers=headers)
            return answer.status_code, answer.content, None

        client._exchange = exchange
        changed = client.add_items(some_items(1200, MODELS, first=100))
        assert changed.added == 1200
        assert client.item("p100").present
        assert not client.retire_item("p100").present
        assert client.readmit_item("p100").present
        client.erase_item("p101")
        assert len(client.items(after=1000)) == 202
        assert client.set_page(question="Which?").question == client.page().question == "Which?"
        reference = client.put_file(PIXEL, "image/png")
        assert client.put_file(PIXEL) == reference  # the server reads the type from the bytes
        assert reference.startswith("file:")
        shown = client.ask("ann", tags={"lang": "en"})
        assert shown.prompt.content
        assert client.vote(shown.duel, "both-bad", tags={"x": "y"}, reason="r").counted
        assert client.board().both_bad == 1
