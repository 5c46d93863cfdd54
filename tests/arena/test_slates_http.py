"""Slates over HTTP: what is sent, what is accepted, and that nothing identifies an option."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("polars")

from driftduel.arena import ArenaClient, ArenaError, ArenaManager, open_store
from driftduel.arena.items import check_items
from driftduel.arena.responses import wait_durable
from driftduel.arena.serving import in_background
from tests.arena.served import problem, served

NAMES = [f"secret-model-{letter}" for letter in "abcdef"]


def with_slates(**settings):
    return served(**({"show": 3, "feedback": "ranking"} | settings))


def test_a_slate_has_a_list_of_cards_and_takes_picks_and_rankings():
    with with_slates() as arena:
        shown = arena.ask(voter="ann")
        assert shown.keys() == {"duel", "expires", "options"}
        assert {option["name"] for option in shown["options"]} == {"red", "green", "blue"}
        vote = arena.vote(shown["duel"], 2)
        assert vote.status_code == 200, vote.text
        assert vote.json()["counted"]
        assert arena.vote(shown["duel"], "b").json() == vote.json()
        problem(arena.vote(shown["duel"], 1), 409, "already-answered")
        body = {"ranking": ["c", 1]}
        duel = arena.ask(voter="ann")["duel"]
        ranked = arena.call("POST", f"duels/{duel}/vote?next=1", body, arena.voting)
        assert len(ranked.json()["next"]["options"]) == 3
        arm = arena.call("GET", "log").json()["records"]
        votes = [fields for _, _, kind, fields in arm if kind == "voted"]
        assert [len(fields["ranking"]) for fields in votes] == [1, 2]
        for pick in ("tie", "both-bad", "skip"):
            assert arena.vote(arena.ask()["duel"], pick).status_code == 200


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"pick": "left"}, "bad-vote"), ({"pick": "f"}, "bad-vote"), ({"pick": 4}, "bad-vote"),
        ({"pick": 7}, "bad-request"), ({"pick": 0}, "bad-request"), ({"pick": "3"}, "bad-request"),
        ({"pick": "red"}, "bad-request"), ({"pick": None}, "bad-request"),
        ({"pick": 1.5}, "bad-request"), ({"pick": True}, "bad-request"), ({}, "bad-vote"),
        ({"ranking": []}, "bad-request"), ({"ranking": [1, 1]}, "bad-vote"),
        ({"ranking": [4]}, "bad-vote"), ({"ranking": "ab"}, "bad-request"),
        ({"ranking": [1, 2, 3, 1, 2, 3, 1]}, "bad-request"), ({"ranking": None}, "bad-request"),
        ({"ranking": [1], "pick": 1}, "bad-vote"), ({"rank": [1]}, "bad-request"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_in_a_sentence(body, name):
    with with_slates() as arena:
        duel = arena.ask()["duel"]
        problem(arena.call("POST", f"duels/{duel}/vote", body, arena.voting), 422, name)
        assert arena.vote(duel, 1).status_code == 200


@pytest.mark.parametrize("body", [{"pick": 1}, {"pick": "a"}, {"ranking": [1, 2]}, {}])
def test_an_arena_with_duels_refuses_the_answers_of_slates(body):
    with served() as arena:
        duel = arena.ask()["duel"]
        problem(arena.call("POST", f"duels/{duel}/vote", body, arena.voting), 422, "bad-request")
        assert "show" not in arena.call("GET", "page", token=arena.voting).json()
        assert arena.ask().keys() == {"duel", "left", "right", "expires"}


def test_late_undone_and_released_slates():
    with with_slates() as arena:
        duel = arena.ask(voter="ann")["duel"]
        assert arena.vote(duel, "a").status_code == 200
        undone = arena.call("POST", f"duels/{duel}/undo", token=arena.voting)
        assert undone.status_code == 200
        again = arena.ask(voter="ann", resume=True)
        assert again["duel"] == duel
        released = {"duels": [duel], "release": True}
        assert arena.call("POST", "leases", released, arena.voting).json() == {"expires": [0.0]}
        late = arena.call("POST", f"duels/{duel}/vote", {"ranking": [2, 3]}, arena.voting).json()
        assert late["late"]
        repeated = arena.call("POST", f"duels/{duel}/vote", {"ranking": [2, 3]}, arena.voting)
        assert repeated.json() == late
        problem(arena.vote(duel, 2), 409, "already-answered")


def test_the_page_knows_what_to_ask_for():
    with with_slates() as arena:
        page = arena.call("GET", "page", token=arena.voting).json()
        assert (page["show"], page["feedback"]) == (3, "ranking")
        page = arena.call("PATCH", "page", {"title": "Colours"}).json()
        assert (page["show"], page["feedback"], page["title"]) == (3, "ranking", "Colours")


def test_arenas_with_slates_are_made_over_http():
    with served() as arena:
        body = {"name": "new", "options": ["a", "b", "c"], "show": 3, "feedback": "ranking"}
        assert arena.call("POST", "/v1/arenas", body, arena.making).status_code == 201
        body |= {"name": "other", "show": 7}
        problem(arena.call("POST", "/v1/arenas", body, arena.making), 422, "bad-request")


def test_nothing_identifies_an_option_on_items():
    items = [
        {"id": f"item-{n}", "prompt": "?",
         "answers": {name: f"Answer {n} {place}" for place, name in enumerate(NAMES)}}
        for n in range(30)
    ]  # fmt: skip
    with served() as arena:
        own = arena.manager.create(
            "blind", None, items=list(check_items(items)), show=4, feedback="pick", seed=1
        )
        voting = arena.manager.token("blind", "vote")

        def call(path, body, token=voting):
            return arena.client.post(
                f"/v1/arenas/blind/{path}", json=body, headers={"Authorization": f"Bearer {token}"}
            )

        places = set()
        for number in range(30):
            sent = call("duels", {"voter": f"v{number}"})
            assert "secret" not in sent.text
            assert "item-" not in sent.text
            shown = sent.json()
            for option in shown["options"]:
                assert option["id"] == option["name"] == ""
                assert option.keys() == {"id", "name", "kind", "content", "present", "html"}
            places |= {
                (place, option["content"][-1]) for place, option in enumerate(shown["options"])
            }
            assert "secret" not in call(f"duels/{shown['duel']}/vote?next=1", {"pick": 1}).text
        assert len(places) == 4 * 6  # every option on every card
        owned = call("duels", {}, own).json()
        assert {option["name"] for option in owned["options"]} < set(NAMES)
        arena.manager.arena("blind").set_page(reveal=True)
        shown = call("duels", {"voter": "x"}).json()
        told = call(f"duels/{shown['duel']}/vote", {"pick": 2}).json()
        assert [option["name"] in NAMES for option in told["revealed"]["options"]] == [True] * 4
        assert "left" not in told["revealed"]


def test_the_client_has_the_methods_of_an_arena():
    manager = ArenaManager(open_store("memory:"))
    own = manager.create("colours", list("abcdef"), show=4, feedback="ranking", grace=60.0)
    with in_background(manager) as url, ArenaClient(url, own, arena="colours") as client:
        shown = client.ask("ann")
        assert len(shown.options) == 4
        vote = client.vote(shown.duel, ranking=[4, "a"])
        assert client.vote(shown.duel, ranking=["d", 1]) == vote
        with pytest.raises(ArenaError, match="answered with '4 > 1' before"):
            client.vote(shown.duel, 2)
        client.undo(shown.duel)
        assert client.vote(shown.duel, "b").counted
        assert client.skip(client.ask("bob").duel).counted is False
        assert client.board().show == 4
        assert client.page().language == "en"


def test_webhook_events_and_voids_count_a_slate_once():
    with with_slates(grace=0.0) as arena:
        live = arena.manager.arena("colours")
        for number in range(40):
            shown = wait_durable(live.ask(f"v{number}"))
            names = [option.name for option in shown.options]
            wait_durable(live.vote(shown.duel, ranking=[names.index("red") + 1]))
        board = arena.call("GET", "board").json()
        assert (board["votes"], board["leader"]["name"], board["sure"]) == (40, "red", True)
        voted = [r for r in live.records() if r.kind == "voted"]
        assert arena.call("POST", "votes/void", {"seqs": [voted[-1].seq]}).json() == {"voided": 1}
        assert arena.call("GET", "board").json()["learned"] == 39
