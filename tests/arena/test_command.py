"""The arena on the command line."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("polars")

import polars as pl

from driftduel.arena import Arena, ArenaManager, open_store
from driftduel.arena.client import ArenaClient
from driftduel.arena.import_export import export_votes, write_votes
from driftduel.arena.responses import wait_durable
from driftduel.arena.settings import settings_of
from driftduel.arena.stores.chain import checksum
from driftduel.arena.webhook_events import EVENTS
from driftduel.cli import arena_owning, main
from driftduel.logs import read_log


@pytest.fixture
def run(capsys, lasting_url):
    def command(*words, code=0):
        assert main(["arena", *words, "--store", lasting_url]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return command


def voted(url, votes=40):
    manager = ArenaManager(open_store(url))
    live = manager.arena("tea")
    for number in range(votes):
        shown = wait_durable(live.ask(f"voter {number % 5}"))
        pick = "tie" if number % 10 == 9 else "left" if shown.left.name == "green" else "right"
        wait_durable(live.vote(shown.duel, pick))
    manager.close()


def test_an_arena_from_its_opening_to_its_export(run, lasting_url, tmp_path):
    made = json.loads(
        run("new", "tea", "--option", "green", "--option", "black", "--option", "tie",
            "--grace", "0", "--votes-a-day", "1000", "--json")
    )  # fmt: skip
    assert made["arena"] == "tea"
    assert made["token"].startswith("dd-own-")
    voted(lasting_url)
    board = json.loads(run("board", "tea", "--json"))
    keys = {"leader", "since", "sure", "votes", "ranking", "changes", "policy"}
    assert keys <= board.keys()
    assert (board["leader"]["name"], board["votes"], board["policy"]) == ("green", 40, "king")
    assert "green leads" in run("board", "tea")
    assert "the replayed state is" in run("check", "tea")
    for name in ("votes.csv", "votes.jsonl", "votes.parquet"):
        out = str(tmp_path / name)
        assert run("export", "tea", "--out", out) == f"40 votes in {out}\n"
        log = read_log(out, group="voter")
        assert set(log.names) == {"green", "black", "tie (o3)"}
        assert log.counts.votes == 40
        assert not log.skipped
        again = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[
            name.rpartition(".")[2]
        ](out)
        assert (again["winner"] == "tie").sum() == 4
    assert "must end with .csv, .jsonl or .parquet" in run(
        "export", "tea", "--out", "votes.txt", code=2
    )


def test_an_export_records_joins_and_departures(tmp_path):
    with Arena(options=["a", "b", "tie"], policy="uniform", seed=1, grace=0.0) as arena:

        def vote(often):
            for number in range(often):
                arena.vote(arena.ask(f"voter {number}").duel, "left")

        vote(10)
        arena.leave("o3")
        late = arena.join("late")
        vote(10)
        arena.leave(late.id)
        vote(10)
        arena.join("o3")  # after the last vote, and it is present all the same
        votes = export_votes(arena._live.store, arena._live.name)
    written = {row: json.loads(text) for row, text in enumerate(votes["options"]) if text}
    assert written == {
        0: ["a", "b", "tie (o3)"],
        9: ["a", "b", "late"],
        19: ["a", "b"],
        29: ["a", "b", "tie (o3)"],
    }
    for name in ("votes.csv", "votes.jsonl", "votes.parquet"):
        write_votes(votes, tmp_path / name)
        counts = read_log(tmp_path / name).counts
        assert counts.present == ("a", "b", "tie (o3)")
        assert counts.adaptive
        assert counts.placed


def test_names_like_formulas_stay_and_somebody_is_told(run, capsys, lasting_url, tmp_path):
    names = ["=1+1", "+1 month", "-10%", "@home", "plain = plain"]
    manager = ArenaManager(open_store(lasting_url))
    manager.create("tea", names, grace=0.0)
    manager.close()
    voted(lasting_url)
    for ending in ("csv", "parquet"):
        out = str(tmp_path / f"votes.{ending}")
        assert main(["arena", "export", "tea", "--out", out, "--store", lasting_url]) == 0
        said = capsys.readouterr().err
        assert ("'+1 month'" in said) == (ending == "csv")
        assert set(read_log(out).names) <= set(names)
        run("import", f"again-{ending}", out)
    assert main(["arena", "board", "again-csv", "--json", "--store", lasting_url]) == 0
    again = {option["name"] for option in json.loads(capsys.readouterr().out)["ranking"]}
    assert again == set(read_log(str(tmp_path / "votes.csv")).names)


def test_votes_of_the_past_are_imported(run, lasting_url, tmp_path):
    path = tmp_path / "past.csv"
    rows = ["winner,loser"] + ["sun,rain"] * 30 + ["rain,sun"] * 5 + ["sun,snow"] * 20
    path.write_text("\n".join(rows))
    said = run("import", "sky", str(path))
    assert "imported: 55 votes" in said
    assert json.loads(run("board", "sky", "--json"))["leader"]["name"] == "sun"
    other = tmp_path / "other.csv"
    other.write_text("winner,loser\nsun,hail\n")
    assert "'hail'" in run("import", "sky", str(other), code=2)


@pytest.mark.parametrize(
    ("name", "says"), [("su\u200bn", "invisible character"), ("ｓｕｎ", "options have the name")]
)
def test_names_that_look_the_same_are_not_imported(run, lasting_url, tmp_path, name, says):
    open_store(lasting_url).close()
    path = tmp_path / "past.csv"
    path.write_text(f"winner,loser\nsun,rain\n{name},rain\n", "utf-8")
    assert says in run("import", "sky", str(path), code=2)
    assert "no arenas" in run("list")


@pytest.fixture
def tea(run):
    run("new", "tea", "--option", "green", "--option", "black", "--option", "red", "--grace", "0")


def test_an_owner_sees_the_arenas_and_their_options(run, tea):
    run("new", "wine", "--option", "red", "--option", "white")
    assert run("list") == "tea  (3 options, 1 record)\nwine  (2 options, 1 record)\n"
    rows = json.loads(run("list", "--json"))
    assert rows[1] == {"arena": "wine", "options": 2, "records": 1}
    assert run("options", "tea") == "o1    green\no2    black\no3    red\n"
    assert json.loads(run("options", "tea", "--json"))[2]["name"] == "red"


def test_an_owner_changes_closes_and_voids(run, tea, lasting_url):
    assert run("leave", "tea", "black") == "left: o2    black  (left)\n"
    assert run("options", "tea").splitlines()[1] == "o2    black  (left)"
    assert run("join", "tea", "o2") == "joined: o2    black\n"
    words = ["white", "--kind", "markdown", "--content", "*w*", "--json"]
    new = json.loads(run("join", "tea", *words))
    assert new == {"id": "o4", "name": "white", "present": True}
    assert "taken by option o4" in run("join", "tea", "white", code=2)
    voted(lasting_url, votes=4)
    manager = ArenaManager(open_store(lasting_url))
    seqs = [r.seq for r in manager.store.records("tea", 0, 1000) if r.kind == "voted"]
    manager.close()
    assert run("void", "tea", *map(str, seqs[:2]), "--why", "a bot") == "voided: 2 votes\n"
    assert "is void already" in run("void", "tea", str(seqs[0]), code=2)
    assert json.loads(run("board", "tea", "--json"))["voided"] == 2
    assert "open duels may still be answered" in run("close", "tea")
    assert "the arena is closed" in run("join", "tea", "late", code=2)


def test_an_owner_registers_webhooks(run, tea):
    words = ["http://127.0.0.1:9/x", "--event", "sure", "--private-hooks", "--json"]
    made = json.loads(run("hook", "tea", *words))
    assert made["secret"].startswith("whsec_")
    assert run("hook", "tea", "--list") == f"{made['id']}  http://127.0.0.1:9/x  sure\n"
    assert "127.0.0.1" in run("hook", "tea", "http://127.0.0.1:9/x", code=2)
    assert "pass one of" in run("hook", "tea", code=2)
    assert run("hook", "tea", "--drop", made["id"]) == f"deleted: {made['id']}\n"
    assert "see --list" in run("hook", "tea", "--drop", made["id"], code=2)
    assert run("hook", "tea", "--list") == "no webhooks\n"


def test_a_link_has_its_token_in_the_fragment(run, tea, lasting_url):
    links = json.loads(run("link", "tea", "--server", "https://arena.example.org/", "--json"))
    for page, scope in (("vote", "vote"), ("board", "read")):
        address, _, token = links[page].partition("#token=")
        assert address == f"https://arena.example.org/{page}/tea"
        manager = ArenaManager(open_store(lasting_url))
        assert manager.token_grant(token) == ("tea", scope)
        manager.close()
    assert run("token", "tea", "--drop", "link") == "2 tokens deleted\n"
    assert "must begin with http" in run("link", "tea", "--server", "arena", code=2)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("o.txt", "\ufeffgreen\n\n black \n", ["green", "black"]),
        ("o.json", '["green", {"name": "black", "kind": "markdown", "content": "*b*"}]',
         ["green", "black"]),
        ("o.jsonl", '{"name": "green"}\n\n"black"\n', ["green", "black"]),
    ],
)  # fmt: skip
def test_options_come_from_a_file(run, tmp_path, name, text, options):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    run("new", "tea", "--option", "red", "--options", str(path))
    names = [each["name"] for each in json.loads(run("options", "tea", "--json"))]
    assert names == ["red", *options]


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "is not JSON"), ("{}", "must be a list"), ("[1, 2]", "must be a list"),
     ('["a", "a"]', "two options have the name 'a'"), ('["a", "b\u200b"]', "invisible"),
     ('["a", {"title": "b"}]', "unknown key 'title'")],
)  # fmt: skip
def test_a_file_of_options_that_is_wrong_gets_a_sentence(run, lasting_url, tmp_path, text, says):
    open_store(lasting_url).close()
    path = tmp_path / "options.json"
    path.write_text(text, "utf-8")
    assert says in run("new", "tea", "--options", str(path), code=2)
    assert "cannot be read" in run("new", "tea", "--options", str(tmp_path / "none"), code=2)
    assert "no arenas" in run("list")


def test_the_help_names_the_defaults_of_the_settings(capsys):
    with pytest.raises(SystemExit):
        main(["arena", "new", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    made = settings_of(2)
    assert f"a vote can be undone ({made.grace:g})" in said
    assert f"unless renewed ({made.lease:g})" in said
    assert f"in one day ({made.votes_a_day})" in said


def test_the_events_of_a_webhook_are_those_of_the_server():
    assert set(arena_owning._EVENTS) == set(EVENTS)


def test_tokens_are_made_listed_and_dropped(run):
    run("new", "tea", "--option", "green", "--option", "black")
    token = run("token", "tea", "--scope", "vote", "--label", "poster").strip()
    assert token.startswith("dd-vote-")
    listed = run("token", "tea", "--list")
    assert token not in listed
    assert "vote  poster" in listed
    assert run("token", "tea", "--drop", "poster") == "1 token deleted\n"
    assert "poster" not in run("token", "tea", "--list")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["board", "none"], "arena 'none' does not exist"),
        (["check", "none"], "arena 'none' does not exist"),
        (["token", "none"], "arena 'none' does not exist"),
        (["options", "none"], "arena 'none' does not exist"),
        (["join", "none", "x"], "arena 'none' does not exist"),
        (["leave", "none", "x"], "arena 'none' does not exist"),
        (["close", "none"], "arena 'none' does not exist"),
        (["void", "none", "1"], "arena 'none' does not exist"),
        (["hook", "none", "--list"], "arena 'none' does not exist"),
        (["link", "none"], "arena 'none' does not exist"),
        (["export", "none", "--out", "x.csv"], "arena 'none' does not exist"),
        (["new", "tea", "--option", "one"], "must be from 2 to 200"),
        (["new", "Tea!", "--option", "one", "--option", "two"], "lower-case letters"),
        (["new", "tea", "--option", "a", "--option", "b", "--policy", "kign"], "king"),
    ],
)
def test_mistakes_get_a_sentence(run, lasting_url, words, says):
    open_store(lasting_url).close()
    said = run(*words, code=2)
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [["board"], ["check"], ["token"], ["export", "--out", "x.csv"], ["options"], ["join", "x"]],
)
def test_who_only_looks_makes_no_file(capsys, tmp_path, words):
    path = tmp_path / "mistyped.db"
    assert main(["arena", words[0], "tea", *words[1:], "--store", f"sqlite:{path}"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_of_another_version_does_not_matter(capsys, tmp_path):
    import sqlite3

    url = f"sqlite:{tmp_path / 'arena.db'}"
    with Arena(url, options=["green", "black", "red"], name="tea") as arena:
        arena.vote(arena.ask().duel, "left")
    with sqlite3.connect(tmp_path / "arena.db") as database:
        sql = "UPDATE arena_snapshots SET state = x'80', checksum = ?"
        ((head,),) = database.execute("SELECT hash FROM arena_log ORDER BY seq DESC LIMIT 1")
        assert database.execute(sql, [checksum(head, b"\x80")]).rowcount == 1
    database.close()
    assert main(["arena", "check", "tea", "--store", url]) == 0
    assert "another version wrote the snapshot" in capsys.readouterr().out


def test_a_log_that_was_changed_is_not_the_state(capsys, tmp_path):
    import sqlite3

    url = f"sqlite:{tmp_path / 'arena.db'}"
    with Arena(url, options=["green", "black", "red"], name="tea") as arena:
        for _ in range(20):
            arena.vote(arena.ask().duel, "left")
    with sqlite3.connect(tmp_path / "arena.db") as database:
        database.execute(
            "UPDATE arena_log SET body = replace(body, '\"left\"', '\"right\"') "
            "WHERE kind = 'voted' AND seq = (SELECT min(seq) FROM arena_log WHERE kind = 'voted')"
        )
    database.close()
    assert main(["arena", "check", "tea", "--store", url]) == 2
    assert "(voted) of arena 'tea' was changed after it was written" in capsys.readouterr().err


@pytest.fixture
def served(lasting_url):
    manager = ArenaManager(open_store(lasting_url))
    token = manager.create("tea", ["green", "black", "red"], grace=0.0)
    manager.close()
    words = [sys.executable, "-m", "driftduel", "arena", "serve", "--port", "0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*words, "--store", lasting_url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    url = process.stdout.readline().split("at ")[1].split()[0]
    yield process, url, token
    process.kill()
    process.communicate()


@pytest.mark.long
def test_a_server_is_asked_stopped_and_the_log_is_whole(served, lasting_url, capsys):
    process, url, token = served
    with ArenaClient(url, token, arena="tea") as client:
        votes = [client.vote(client.ask("ann").duel, "left") for _ in range(12)]
        assert client.board()["votes"] == 12
    process.send_signal(signal.SIGTERM)
    err = process.communicate()[1]
    assert process.returncode == 0
    assert "Traceback" not in err
    assert main(["arena", "check", "tea", "--store", lasting_url]) == 0
    assert "12 votes" in capsys.readouterr().out
    assert [vote.seq for vote in votes] == sorted({vote.seq for vote in votes})


@pytest.mark.long
def test_a_command_asks_the_server_that_has_the_arena(served, lasting_url, capsys):
    _, url, token = served

    def command(*words, code=0):
        assert main(["arena", *words, "--store", lasting_url]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    with ArenaClient(url, token, arena="tea") as client:
        vote = client.vote(client.ask("ann").duel, "left")
        if lasting_url.startswith("sqlite:"):  # PostgreSQL has the owner's address
            assert "pass --server" in command("leave", "tea", "red", code=2)
            server = ["--server", url]
        else:
            server = []
        assert command("leave", "tea", "red", *server) == "left: o3    red  (left)\n"
        assert command("join", "tea", "red", *server) == "joined: o3    red\n"
        assert command("void", "tea", str(vote.seq), *server) == "voided: 1 vote\n"
        assert command("close", "tea", *server).startswith("closed: tea")
        assert client.board()["closed"]
    assert command("token", "tea", "--list").count("\n") == 1  # the commands' tokens are gone


@pytest.mark.long
def test_the_demo_ends_by_itself(capsys):
    words = ["arena", "demo", "--votes", "60", "--rate", "0", "--port", "0", "--no-open"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "/board/models#token=" in out
    assert "60 votes of" in out
