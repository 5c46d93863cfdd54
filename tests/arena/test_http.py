"""The API, verb by verb, as a program that speaks JSON meets it."""

import csv
import io
import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from tests.arena.served import problem, served


@pytest.fixture(scope="module")
def arena():
    with served() as made:
        yield made


@pytest.fixture
def fresh():
    with served() as made:
        yield made


def test_a_duel_shows_two_options_and_says_until_when(arena):
    shown = arena.ask(voter="ann")
    assert {shown["left"]["name"], shown["right"]["name"]} < {"red", "green", "blue"}
    assert shown["left"]["id"] != shown["right"]["id"]
    assert shown["expires"] == arena.clock.now + 60
    assert set(shown["left"]) >= {"id", "name", "kind", "content"}


def test_a_duel_can_be_asked_for_without_a_body(arena):
    answer = arena.client.post(
        "/v1/arenas/colours/duels", headers={"Authorization": f"Bearer {arena.voting}"}
    )
    assert answer.status_code == 200
    assert answer.json()["duel"]


def test_a_vote_has_a_place_in_the_log_and_the_same_again_is_the_same(arena):
    duel = arena.ask()["duel"]
    first, again = arena.vote(duel), arena.vote(duel)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    said = first.json()
    assert said["undo_until"] == arena.clock.now + 5
    assert (said["counted"], said["late"]) == (True, False)
    assert "next" not in said
    problem(arena.vote(duel, "right"), 409, "already-answered")


def test_a_vote_is_in_the_log_when_it_is_answered(arena):
    duel = arena.ask()["duel"]
    seq = arena.vote(duel, "right").json()["seq"]
    (record,) = arena.manager.store.records("colours", seq - 1, 1)
    assert (record.kind, record.body["pick"]) == ("voted", "right")


def test_a_vote_can_bring_the_next_duel(fresh):
    shown = fresh.ask(voter="ann")
    said = fresh.vote(shown["duel"], "left", "?next=1").json()
    assert said["next"]["duel"] != shown["duel"]
    assert said["next"]["left"]["id"] != said["next"]["right"]["id"]
    # It is for the same voter: asking again with `resume` finds it.
    assert fresh.ask(voter="ann", resume=True)["duel"] == said["next"]["duel"]


def test_a_vote_whose_answer_was_lost_brings_the_same_next_duel_again(fresh):
    shown = fresh.ask(voter="ann")
    first = fresh.vote(shown["duel"], "left", "?next=1").json()
    assert fresh.vote(shown["duel"], "left", "?next=1").json() == first


def test_the_last_vote_of_a_closed_arena_brings_no_next_duel(fresh):
    duel = fresh.ask()["duel"]
    assert fresh.call("POST", "close").json() == {"closed": True}
    said = fresh.vote(duel, "left", "?next=1")
    assert said.status_code == 200
    assert "next" not in said.json()
    problem(fresh.call("POST", "duels", {}), 409, "closed")
    problem(fresh.call("POST", "close"), 409, "closed")


def test_a_vote_can_be_undone_until_its_grace_is_over(arena):
    duel = arena.ask()["duel"]
    arena.vote(duel)
    undone = arena.call("POST", f"duels/{duel}/undo", token=arena.voting)
    assert undone.status_code == 200
    assert arena.vote(duel, "right").status_code == 200
    arena.clock.now += 6
    problem(arena.call("POST", f"duels/{duel}/undo", token=arena.voting), 409, "too-late")


def test_ties_and_skips_are_votes(arena):
    for pick in ("tie", "skip"):
        assert arena.vote(arena.ask()["duel"], pick).status_code == 200


@pytest.mark.parametrize("duel", ["x", "1-1-AAAA", "é", "0-0-", "1-1-" + "A" * 16, "%00"])
def test_a_duel_that_nobody_was_given_is_not_found(arena, duel):
    problem(arena.vote(duel), 404, "no-such-duel")


def test_the_board_says_at_least_what_others_rely_on(arena):
    board = arena.call("GET", "board", token=arena.reading).json()
    assert set(board) >= {"leader", "since", "sure", "votes", "ranking", "changes", "policy"}
    before = board["votes"]
    arena.vote(arena.ask()["duel"])
    assert arena.call("GET", "board", token=arena.reading).json()["votes"] == before + 1


def test_the_log_is_read_in_pages(arena):
    arena.vote(arena.ask()["duel"])
    records, after = [], 0
    while after is not None:
        page = arena.call("GET", f"log?after={after}&limit=3", token=arena.reading).json()
        records += page["records"]
        assert len(page["records"]) <= 3
        after = page["next"]
    assert [record[0] for record in records] == list(range(1, len(records) + 1))
    assert records[0][2] == "opened"
    assert {"asked", "voted"} <= {record[2] for record in records}


def test_the_whole_log_can_be_had_as_lines(arena):
    answer = arena.call("GET", "log", headers={"Accept": "application/x-ndjson"})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert "colours.ndjson" in answer.headers["content-disposition"]
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line[0] for line in lines] == list(range(1, len(lines) + 1))


def test_the_votes_can_be_had_as_a_table(fresh):
    shown = fresh.ask(voter="ann")
    fresh.vote(shown["duel"], "right")
    answer = fresh.call("GET", "log", headers={"Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert row["first"] == shown["left"]["name"]
    assert row["winner"] == row["second"] == shown["right"]["name"]
    assert row["voter"] not in ("", "ann")


def test_options_come_change_and_go(fresh):
    made = fresh.call("POST", "options", {"name": "mauve", "kind": "markdown", "content": "*m*"})
    assert made.status_code == 201
    option = made.json()
    assert (option["name"], option["kind"], option["content"]) == ("mauve", "markdown", "*m*")
    assert "<em>m</em>" in option["html"]
    path = f"options/{option['id']}"
    assert fresh.call("PATCH", path, {"name": "lilac"}).json()["name"] == "lilac"
    assert fresh.call("PATCH", path, {"content": "_l_"}).json()["content"] == "_l_"
    assert fresh.call("PATCH", path, {"present": False}).json()["present"] is False
    # What is so already may be said again.
    assert fresh.call("PATCH", path, {"present": False}).status_code == 200
    assert fresh.call("PATCH", path, {"present": True}).json()["present"] is True
    problem(fresh.call("PATCH", "options/o99", {"present": False}), 404, "no-such-option")
    for wrong in ({"name": "p", "kind": "image", "content": "javascript:x"}, {"name": " "}):
        problem(fresh.call("POST", "options", wrong), 422, "bad-request")
    problem(fresh.call("PATCH", path, {"name": " "}), 422, "bad-request")


def test_an_option_is_shown_with_what_belongs_to_it():
    with served(grace=0.0) as made:
        new = {"name": "picture", "kind": "image", "content": "https://example.org/a.png"}
        made.call("PATCH", "options/o1", {"content": "deep red"})
        made.call("POST", "options", new)
        seen = {}
        for _ in range(60):
            shown = made.ask()
            seen |= {side["name"]: side for side in (shown["left"], shown["right"])}
            made.vote(shown["duel"])
        assert seen["red"]["content"] == "deep red"
        assert seen["picture"]["kind"] == "image"
        assert seen["picture"]["content"] == new["content"]


def test_votes_can_be_voided(fresh):
    duel = fresh.ask()["duel"]
    seq = fresh.vote(duel).json()["seq"]
    fresh.clock.now += 6
    assert fresh.call("POST", "votes/void", {"seqs": [seq], "why": "a test"}).json() == {
        "voided": 1
    }
    assert fresh.call("GET", "board").json()["voided"] == 1
    problem(fresh.call("POST", "votes/void", {"seqs": [1], "why": ""}), 422, "bad-request")


@pytest.mark.parametrize("voter", ["ann", "a/b", "ann@example.org", "Zoë", "?x=1", "a b"])
def test_a_voter_can_be_forgotten(arena, voter):
    from urllib.parse import quote

    arena.ask(voter=voter)
    path = f"/v1/voters/{quote(voter, safe='')}"
    assert arena.call("DELETE", path).json() == {"erased": True}
    problem(arena.call("DELETE", path), 404, "no-such-voter")


def test_an_arena_is_made_by_those_who_may(fresh):
    new = {
        "name": "prompts",
        "options": ["short", {"name": "long", "kind": "markdown", "content": "**much**"}],
        "policy": "uniform",
        "mode": "panel",
        "grace": 0,
        "origins": ["https://example.org"],
    }
    made = fresh.call("POST", "/v1/arenas", new, fresh.making)
    assert made.status_code == 201
    assert made.json()["arena"] == "prompts"
    token = made.json()["token"]
    assert fresh.call("GET", "/v1/token", token=token).json() == {
        "arena": "prompts",
        "scope": "own",
    }
    assert fresh.call("POST", "/v1/arenas/prompts/duels", {}, token).status_code == 200
    problem(fresh.call("POST", "/v1/arenas", new, fresh.making), 409, "name-taken")
    for token in (fresh.own, fresh.voting):
        problem(fresh.call("POST", "/v1/arenas", new, token), 403, "wrong-scope")


WRONG_ARENAS = {
    "one option": {"options": ["a"]},
    "too many options": {"options": [str(n) for n in range(201)]},
    "the same twice": {"options": ["a", "a"]},
    "no name": {"options": ["a", ""]},
    "a number": {"options": ["a", 1]},
    "a long name": {"options": ["a", "x" * 201]},
    "much content": {"options": ["a", {"name": "b", "content": "x" * 20_001}]},
    "an unknown kind": {"options": ["a", {"name": "b", "kind": "html"}]},
    "an unknown policy": {"policy": "emperor"},
    "a policy with a key of another": {"policy": "king:window=3"},
    "an unknown mode": {"mode": "war"},
    "a name with capitals": {"name": "Prompts"},
    "a name that is a path": {"name": "../x"},
    "an empty name": {"name": ""},
    "a name that ends a line": {"name": "x\n"},
    "NUL": {"options": ["a", "b\0"]},
    "a slip": {"polcy": "king"},
    "an origin that is a path": {"origins": ["https://example.org/x"]},
    "any origin": {"origins": ["*"]},
    "grace for ever": {"grace": 1e9},
    "a word for a number": {"seed": "1"},
    "a fraction for a number": {"seed": 1.5},
    "two policies": {"policies": ["king", "uniform"]},
}


@pytest.mark.parametrize("wrong", WRONG_ARENAS)
def test_what_is_no_arena_is_refused_in_a_sentence(arena, wrong):
    new = {"name": "x", "options": ["a", "b"]} | WRONG_ARENAS[wrong]
    problem(arena.call("POST", "/v1/arenas", new, arena.making), 422, "bad-request")
    assert "x" not in arena.manager.store.arenas()


WRONG_BODIES = {
    "nothing": b"",
    "half": b'{"pick": "le',
    "a list": b"[]",
    "another word": b'{"pick": "up"}',
    "a number": b'{"pick": 1}',
    "not UTF-8": b'{"pick": "\xff"}',
    "half a character": b'{"pick": "\\ud800"}',
    "too deep": b"[" * 60_000,
    "one too many": b'{"pick": "left", "times": 2}',
    "two": b'{"pick": "left"} {"pick": "left"}',
}


@pytest.mark.parametrize("wrong", WRONG_BODIES)
def test_what_is_no_vote_is_refused_in_a_sentence(arena, wrong):
    duel = arena.ask()["duel"]
    answer = arena.client.post(
        f"/v1/arenas/colours/duels/{duel}/vote",
        content=WRONG_BODIES[wrong],
        headers={"Authorization": f"Bearer {arena.voting}", "Content-Type": "application/json"},
    )
    problem(answer, 422, "bad-request")
    assert arena.vote(duel).status_code == 200


@pytest.mark.parametrize(
    "query", ["after=x", "after=-1", "limit=0", "limit=10001", "after=1&after=2", "afer=1",
              "after=", "after=1.5", "after=99999999999999999999"]
)  # fmt: skip
def test_what_stands_after_the_question_mark_is_checked(arena, query):
    problem(arena.call("GET", f"log?{query}"), 422, "bad-request")


def test_what_is_not_there_is_said_as_a_problem(arena):
    problem(arena.call("GET", "/v2/nothing"), 404, "not-found")
    problem(arena.call("GET", "/v1/arenas/colours/board/"), 404, "not-found")
    answer = arena.call("DELETE", "board")
    problem(answer, 405, "method-not-allowed")
    assert "GET" in answer.headers["allow"]
    allowed = arena.call("PUT", "hooks").headers["allow"]
    assert {each.strip() for each in allowed.split(",")} >= {"GET", "POST"}


def test_a_mistake_of_the_server_is_said_without_its_traceback(arena, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(arena.manager.live("colours"), "ask", fail)
    answer = arena.call("POST", "duels", {})
    problem(answer, 500, "broken")
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "content-security-policy" in answer.headers
    assert "secret of the house" in caplog.text


def test_every_problem_has_a_page(arena):
    from driftduel.arena.problems import PROBLEMS

    for name, (status, title) in PROBLEMS.items():
        said = arena.client.get(f"/problems/{name}").json()
        assert (said["status"], said["title"]) == (status, title)
    problem(arena.client.get("/problems/none"), 404, "not-found")


def test_the_server_says_that_it_runs(arena):
    assert arena.client.get("/healthz").json() == {"ok": True, "damaged": 0}


def test_a_store_in_trouble_is_said_and_nothing_is_taken(fresh, monkeypatch):
    from driftduel.arena.stores import StoreError

    duel = fresh.ask()["duel"]
    store, append = fresh.manager.store, fresh.manager.store.append

    def full(batch):
        raise StoreError("the disk is full.")

    monkeypatch.setattr(store, "append", full)
    answer = fresh.vote(duel)
    assert "the disk is full" in problem(answer, 503, "store-trouble")
    assert answer.headers["retry-after"] == "1"
    monkeypatch.setattr(store, "append", append)
    assert fresh.vote(duel, "right").status_code == 200  # the first one never was


# -- leases


def leases(arena, *duels, **body):
    return arena.call("POST", "leases", {"duels": list(duels), **body}, arena.voting)


def test_a_lease_is_renewed_and_a_duel_released(arena):
    duel, other = arena.ask(voter="ann")["duel"], arena.ask(voter="ann")["duel"]
    arena.clock.now += 20
    assert leases(arena, duel, other).json() == {"expires": [arena.clock.now + 60] * 2}
    assert leases(arena, duel, release=True, after=5).json() == {"expires": [0.0]}
    arena.clock.now += 4
    assert leases(arena, duel).json() == {"expires": [arena.clock.now + 60]}
    assert leases(arena, other, release=True).status_code == 200
    assert leases(arena, duel, other).json()["expires"][1] == 0.0
    assert arena.vote(other).json()["late"]
    problem(leases(arena, "1-1-guess"), 404, "no-such-duel")
    problem(leases(arena), 422, "bad-request")
    problem(leases(arena, duel, after=61), 422, "bad-request")


def test_a_voter_at_the_cap_is_done_for_today():
    with served(votes_a_day=1, grace=0.0) as arena:
        seen = []
        while (answer := arena.call("POST", "duels", {"voter": "ann"}, arena.voting)).is_success:
            seen.append(arena.vote(answer.json()["duel"], query="?next=0").json()["counted"])
        assert "nothing is left to compare today" in problem(answer, 409, "nothing-left")
        assert 2 <= len(seen) <= 3
        assert all(seen)
        last = arena.ask(voter="bob")
        for _ in seen:
            voted = arena.vote(last["duel"], query="?next=1").json()
            last = voted.get("next")
        assert last is None  # the vote is taken all the same
        arena.clock.now += 86_400
        assert arena.ask(voter="ann")["duel"]


def sources_of(made):
    records = made.call("GET", "log?limit=1000", token=made.reading).json()["records"]
    return [body.get("source") for _, _, kind, body in records if kind == "asked"]


def test_votes_without_a_voter_belong_to_their_source(fresh):
    """Token and address are one source, under a random pseudonym; a named voter has none."""
    for token in (fresh.voting, fresh.own):
        for _ in range(3):
            duel = fresh.call("POST", "duels", {}, token).json()["duel"]
            path = f"duels/{duel}/vote?next=1"
            assert fresh.call("POST", path, {"pick": "left"}, token).status_code == 200
    fresh.call("POST", "duels", {"voter": "ann"}, fresh.own)
    found = sources_of(fresh)
    assert [len(set(part)) for part in (found[:6], found[6:12])] == [1, 1]
    assert len(set(found[:12])) == 2
    assert None not in found[:12]
    assert found[12] is None
    assert "testclient" not in str(found)
    assert fresh.call("GET", "board", token=fresh.reading).json()["voters"] == 2


def test_judges_are_a_setting_of_a_new_arena(fresh):
    new = {"name": "panel", "options": ["a", "b"], "claim": "judges", "grace": 0}
    token = fresh.call("POST", "/v1/arenas", new, fresh.making).json()["token"]
    board = fresh.call("GET", "/v1/arenas/panel/board", token=token).json()
    assert board["claim"] == "judges"
    assert "about these judges" in board["guarantee"]
    wrong = new | {"name": "other", "claim": "everybody"}
    problem(fresh.call("POST", "/v1/arenas", wrong, fresh.making), 422, "bad-request")
