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

from driftduel.arena import Arena, Hall, open_store
from driftduel.arena.client import ArenaClient
from driftduel.arena.said import lasting
from driftduel.cli import main
from driftduel.logs import read_log


@pytest.fixture
def run(capsys, lasting_url):
    def command(*words, code=0):
        assert main(["arena", *words, "--store", lasting_url]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return command


def voted(url, votes=40):
    hall = Hall(open_store(url))
    live = hall.arena("tea")
    for number in range(votes):
        shown = lasting(live.ask(f"voter {number % 5}"))
        pick = "tie" if number % 10 == 9 else "left" if shown.left.name == "green" else "right"
        lasting(live.vote(shown.duel, pick))
    hall.close()


def test_an_arena_from_its_opening_to_its_export(run, lasting_url, tmp_path):
    made = json.loads(
        run("new", "tea", "--option", "green", "--option", "black", "--option", "tie",
            "--grace", "0", "--votes-a-day", "1000", "--json")
    )  # fmt: skip
    assert made["arena"] == "tea"
    assert made["token"].startswith("dd-own-")
    voted(lasting_url)
    board = json.loads(run("board", "tea", "--json"))
    keys = {"leader", "since", "sure", "votes", "options", "changes", "policy"}
    assert keys <= board.keys()
    assert (board["leader"]["name"], board["votes"], board["policy"]) == ("green", 40, "king")
    assert "green leads" in run("board", "tea")
    assert "folds to the state" in run("check", "tea")
    for name in ("votes.csv", "votes.parquet"):
        out = str(tmp_path / name)
        assert run("export", "tea", "--out", out) == f"40 votes in {out}\n"
        log = read_log(out, group="voter")
        assert set(log.names) == {"green", "black", "tie (o3)"}
        assert log.counts.votes == 40
        assert not log.skipped
        again = pl.read_csv(out) if name.endswith("csv") else pl.read_parquet(out)
        assert (again["winner"] == "tie").sum() == 4
    assert "must end with .csv or .parquet" in run("export", "tea", "--out", "votes.txt", code=2)


def test_names_like_formulas_stay_and_somebody_is_told(run, capsys, lasting_url, tmp_path):
    names = ["=1+1", "+1 month", "-10%", "@home", "plain = plain"]
    hall = Hall(open_store(lasting_url))
    hall.create("tea", names, grace=0.0)
    hall.close()
    voted(lasting_url)
    for ending in ("csv", "parquet"):
        out = str(tmp_path / f"votes.{ending}")
        assert main(["arena", "export", "tea", "--out", out, "--store", lasting_url]) == 0
        said = capsys.readouterr().err
        assert ("'+1 month'" in said) == (ending == "csv")
        assert set(read_log(out).names) <= set(names)
        run("import", f"again-{ending}", out)
    assert main(["arena", "board", "again-csv", "--json", "--store", lasting_url]) == 0
    again = {option["name"] for option in json.loads(capsys.readouterr().out)["options"]}
    assert again == set(read_log(str(tmp_path / "votes.csv")).names)


def test_votes_of_the_past_are_imported(run, lasting_url, tmp_path):
    path = tmp_path / "past.csv"
    rows = ["winner,loser"] + ["sun,rain"] * 30 + ["rain,sun"] * 5 + ["sun,snow"] * 20
    path.write_text("\n".join(rows))
    said = run("import", "sky", str(path))
    assert "heard: 55 votes" in said
    assert json.loads(run("board", "sky", "--json"))["leader"]["name"] == "sun"
    other = tmp_path / "other.csv"
    other.write_text("winner,loser\nsun,hail\n")
    assert "'hail'" in run("import", "sky", str(other), code=2)


def test_tokens_are_made_listed_and_dropped(run):
    run("new", "tea", "--option", "green", "--option", "black")
    token = run("token", "tea", "--scope", "vote", "--label", "poster").strip()
    assert token.startswith("dd-vote-")
    listed = run("token", "tea", "--list")
    assert token not in listed
    assert "vote  poster" in listed
    assert run("token", "tea", "--drop", "poster") == "1 dropped\n"
    assert "poster" not in run("token", "tea", "--list")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["board", "none"], "there is no arena 'none'"),
        (["check", "none"], "there is no arena 'none'"),
        (["token", "none"], "there is no arena 'none'"),
        (["export", "none", "--out", "x.csv"], "there is no arena 'none'"),
        (["new", "tea", "--option", "one"], "from 2 to 200 options"),
        (["new", "Tea!", "--option", "one", "--option", "two"], "small letters"),
        (["new", "tea", "--option", "a", "--option", "b", "--policy", "kign"], "king"),
    ],
)
def test_mistakes_get_a_sentence(run, lasting_url, words, says):
    open_store(lasting_url).close()
    said = run(*words, code=2)
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("words", [["board"], ["check"], ["token"], ["export", "--out", "x.csv"]])
def test_who_only_looks_makes_no_file(capsys, tmp_path, words):
    path = tmp_path / "mistyped.db"
    assert main(["arena", words[0], "tea", *words[1:], "--store", f"sqlite:{path}"]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_of_another_version_does_not_matter(capsys, tmp_path):
    import sqlite3

    url = f"sqlite:{tmp_path / 'arena.db'}"
    with Arena(url, options=["green", "black", "red"], name="tea") as arena:
        arena.vote(arena.ask().duel, "left")
    with sqlite3.connect(tmp_path / "arena.db") as database:
        changed = database.execute("UPDATE arena_snapshots SET state = x'80'").rowcount
    database.close()
    assert changed == 1
    assert main(["arena", "check", "tea", "--store", url]) == 0
    assert "cannot be read" in capsys.readouterr().out


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
    assert "record " in capsys.readouterr().err


@pytest.fixture
def served(lasting_url):
    hall = Hall(open_store(lasting_url))
    token = hall.create("tea", ["green", "black", "red"], grace=0.0)
    hall.close()
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
def test_the_demo_ends_by_itself(capsys):
    words = ["arena", "demo", "--votes", "60", "--rate", "0", "--port", "0", "--no-open"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "/board/headlines?token=" in out
    assert "60 votes of" in out
