"""Differences by tag: the board's answers, those of an exported file, filters and lost items."""

import json

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("starlette")

import msgspec

from driftduel.arena import Arena, ArenaError
from driftduel.arena.board_fields import CertifiedChange
from driftduel.arena.import_export import export_votes
from driftduel.arena.tag_report import compare_tag
from driftduel.arena.vote_table import VoteTable
from driftduel.cli import main
from driftduel.logs import TaggedVotes, describe_subgroups, option_shares, read_log, tagged_votes
from driftduel.logs.schemas import validate
from tests.arena.served import served

OPTIONS = "abcd"
STRENGTHS = {"a": 1.2, "b": 0.3, "c": 0.0, "d": -0.5, "late": 0.1}
TOPICS = ("code", "maths", "letters")


def new_items(count=24):
    return [
        {
            "id": f"p{i}",
            "prompt": f"question {i}",
            "answers": {name: f"{name} answers {i}" for name in OPTIONS},
            "tags": {"topic": TOPICS[i % 3], "kind": ["long", "hard"] if i % 2 else "long"},
        }
        for i in range(count)
    ]


def vote_often(arena, rng, count, begin=0, undo=True):
    """Vote with two votes per voter; option a is the worst on mathematics."""
    for number in range(begin, begin + count):
        voter = f"voter {number // 2}"
        shown = arena.ask(voter, tags={"lang": "de" if number % 4 < 2 else "en"})
        strengths = dict(STRENGTHS)
        if int(shown.prompt.content.split()[1]) % 3 == 1:
            strengths["a"] = -1.5
        gap = strengths[shown.left.name] - strengths[shown.right.name]
        chance = rng.random()
        pick = "left" if rng.random() < 1 / (1 + np.exp(-gap)) else "right"
        if chance < 0.1:
            pick = "tie" if chance < 0.05 else "both-bad"
        arena.vote(shown.duel, "skip" if 0.1 < chance < 0.13 else pick)
        if undo and number % 50 == 7:
            arena.undo(shown.duel)
            arena.vote(shown.duel, "right" if pick == "left" else "left")


@pytest.fixture(scope="module")
def arena():
    rng = np.random.default_rng(1)
    with Arena(items=new_items(), seed=1, grace=5.0) as arena:
        vote_often(arena, rng, 500)
        arena.join("late")
        arena.add_items(
            [each | {"answers": each["answers"] | {"late": "late"}} for each in new_items()],
            replace=True,
        )
        vote_often(arena, rng, 500, 500)
        arena.board()
        arena.void([row["seq"] for row in export_votes(*stored(arena)).head(9).to_dicts()], "test")
        yield arena


def stored(arena):
    return arena._live.store, arena._live.name


@pytest.mark.parametrize("by", ["topic", "lang", "kind", "item"])
def test_an_export_gives_the_same_answer_as_the_arena(arena, by, tmp_path):
    here = msgspec.to_builtins(arena.differences(by))
    frame = export_votes(*stored(arena))
    path = tmp_path / "votes.csv"
    frame.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
    for source in (frame, path):
        there = describe_subgroups(tagged_votes(read_log(source, by=by, group="voter")), by)
        assert there == here
    assert by == "item" or here["matters"] == (by == "topic")


def test_the_tag_that_matters_is_named_with_its_reversal(arena):
    about = arena.differences("topic")
    assert "Preferences depend on `topic`" in about.statement
    assert "if each pair changed at most once" in about.statement
    assert {(row.value, row.better) for row in about.reversed} >= {("maths", "a")}
    assert not {row.value for row in about.reversed} - {"maths"}
    tags = {each.tag: {v.value: v.votes for v in each.values} for each in arena.tags()}
    votes = export_votes(*stored(arena))
    assert tags["lang"] == dict(votes["tags.lang"].value_counts().iter_rows())
    assert tags["kind"]["long"] == len(votes)
    assert tags["kind"]["hard"] == (votes["tags.kind"] == "long + hard").sum()


def test_a_table_that_is_continued_equals_a_new_one():
    """Undone, voided and joined records arrive between two reads."""
    rng = np.random.default_rng(2)
    with Arena(items=new_items(), seed=2) as arena:
        table = VoteTable(*stored(arena))
        for step in range(6):
            vote_often(arena, rng, 30, 30 * step)
            if step == 2:
                arena.join("late")
            if step == 4:
                arena.board()
                arena.void(
                    [row["seq"] for row in export_votes(*stored(arena)).head(3).to_dicts()], "x"
                )
            table.update()
        fresh = VoteTable(*stored(arena)).update()
        names = [*OPTIONS, "late"]
        for key in ("topic", "lang", "kind", "item"):
            one, other = table.tagged(key, names), fresh.tagged(key, names)
            for name in ("low", "high", "won", "value", "joined"):
                assert getattr(one, name).tolist() == getattr(other, name).tolist()
            assert (one.values, one.first) == (other.values, other.first)
            assert table.counts(key) == fresh.counts(key)
        assert fresh.joined == [0, 0, 0, 0, 1]
        assert fresh.first == 4


def test_a_filtered_board_has_ranking_and_pairs_of_these_votes_and_no_claim(arena):
    board, whole = arena.board(tag="topic:maths"), arena.board()
    votes = export_votes(*stored(arena))
    mine = votes.filter(votes["tags.topic"] == "maths")
    assert board.filter.votes == len(mine)
    assert not board.sure
    assert board.leader is None
    assert [board.evidence, board.certified_changes, board.guarantee] == [[], [], ""]
    assert "makes no claim" in board.says.doubt
    assert [option.id for option in board.ranking] == [option.id for option in whole.ranking]
    for option in board.ranking:
        won = (mine["winner"] == option.name).sum()
        met = ((mine["first"] == option.name) | (mine["second"] == option.name)).sum()
        assert (option.total_wins, option.total_duels) == (won, met)
    tables = [arena.board(tag=f"topic:{topic}") for topic in TOPICS]
    for name in ("wins", "ties"):
        parts = sum(np.array(getattr(each.pairs, name)) for each in tables)
        assert parts.tolist() == getattr(whole.pairs, name)
    assert sum(each.ranking_votes for each in tables) == whole.ranking_votes
    assert "makes no claim" in str(board)
    none = arena.board(tag="topic:nothing")
    assert (none.filter.votes, none.ranking_votes) == (0, 0)


def test_items_lost_most(arena):
    rows = arena.lost_items("o1", 5)
    assert 1 <= len(rows) <= 5
    assert all(int(row.item[1:]) % 3 == 1 for row in rows)  # mathematics
    assert all(row.low <= row.share <= row.high for row in rows)
    assert [row.share - row.overall for row in rows] == sorted(
        row.share - row.overall for row in rows
    )


def test_shares_of_one_option_equal_those_of_all():
    rng = np.random.default_rng(3)
    low = rng.integers(3, size=200)
    votes = TaggedVotes(
        OPTIONS, ("x", "y"), low, 3 + 0 * low, rng.random(200).round(), rng.integers(2, size=200)
    )
    every = option_shares(votes)
    assert option_shares(votes, options=(1,)) == [row for row in every if row.option == "b"]


def test_pairs_with_several_certified_changes_add_nothing(arena):
    """With all pairs changed twice, only pairs without votes remain in the evidence."""
    table, board = VoteTable(*stored(arena)).update(), arena.board()
    names = [option.name for option in board.ranking]
    ids = [option.id for option in board.ranking]
    votes = table.tagged("topic", names)
    twice = [
        CertifiedChange(names[a], names[b], 1, 2, 0.05, ids[a], ids[b], 3, 4)
        for a, b in [*votes.pairs.tolist(), *votes.pairs[:, ::-1].tolist()]
    ]
    about = compare_tag(table, msgspec.structs.replace(board, certified_changes=twice), "topic")
    assert about.evidence <= 1.0
    assert not about.matters
    assert any("more than one certified change" in line for line in about.remarks)
    once = msgspec.structs.replace(board, certified_changes=twice[: len(twice) // 2])
    assert compare_tag(table, once, "topic") == arena.differences("topic")


@pytest.mark.parametrize("key", ["lan", "only"])
def test_a_tag_that_cannot_be_compared_gets_a_sentence(key):
    with Arena(options=["a", "b"], seed=1) as arena:
        for voter in "xy":
            arena.vote(arena.ask(voter, tags={"only": "one"}).duel, "left")
        with pytest.raises(ArenaError, match="subgroups cannot be compared") as refused:
            arena.differences(key)
        assert refused.value.problem == "not-comparable"
        with pytest.raises(ArenaError, match="must be KEY:VALUE"):
            arena.board(tag="only")
        assert arena.lost_items("o1") == []


def test_votes_of_judges_are_not_evidence_if_only_people_are():
    with Arena(options=["a", "b"], seed=1, evidence="people") as arena:
        for number in range(40):
            tags = {"lang": "de" if number % 2 else "en"}
            tags |= {"judge": "j" if number % 3 else "k"} if number < 30 else {}
            arena.vote(arena.ask(f"voter {number}", tags=tags).duel, "left")
        assert arena.differences("lang").votes == 10
        assert arena.differences("judge").votes == 30


def test_the_command_prints_both(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    store = f"sqlite:{tmp_path / 'arena.db'}"
    with Arena(store, name="prompts", items=new_items(), seed=1) as arena:
        vote_often(arena, np.random.default_rng(4), 400, undo=False)
        here = msgspec.to_builtins(arena.differences("topic"))
    command = ["arena", "board", "prompts", "--store", store]
    assert main([*command, "--by", "topic", "--json"]) == 0
    printed = capsys.readouterr().out
    validate("tags", printed)
    assert json.loads(printed) == here
    assert main([*command, "--by", "topic"]) == 0
    shown = capsys.readouterr().out
    assert "95% interval" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert main([*command, "--tag", "topic:code"]) == 0
    assert "makes no claim" in capsys.readouterr().out
    assert main([*command, "--by", "topc"]) == 2
    assert "subgroups cannot be compared" in capsys.readouterr().err


# ---- over HTTP


def test_readers_see_differences_and_owners_see_items():
    with served(items=True) as server:
        items = [
            {"id": f"secret-{i}", "answers": dict.fromkeys(("red", "green", "blue"), "text")}
            | {"tags": {"topic": TOPICS[i % 2]}}
            for i in range(4)
        ]
        assert server.call("POST", "items", {"items": items}).status_code == 201
        for number in range(12):
            shown = server.ask(voter=f"v{number}", tags={"lang": "de" if number % 2 else "en"})
            assert server.vote(shown["duel"]).status_code == 200
        reading = server.reading
        tags = server.call("GET", "tags", token=reading).json()["tags"]
        assert {each["tag"]: each["count"] for each in tags} == {"lang": 2, "topic": 2}
        about = server.call("GET", "differences?by=topic", token=reading)
        validate("tags", about.content)
        board = server.call("GET", "board?tag=topic:code", token=reading).json()
        assert (
            board["filter"]["votes"]
            + server.call("GET", "board?tag=topic:maths", token=reading).json()["filter"]["votes"]
            == 12
        )
        assert (board["sure"], board["leader"]) == (False, None)
        assert server.call("GET", "board", token=reading).json()["filter"] is None
        assert server.call("GET", "lost-items?option=o1").status_code == 200
        for path in ("tags", "differences?by=topic", "board?tag=topic:code", "board"):
            answer = server.call("GET", path, token=server.voting)
            assert answer.status_code == 403
            assert "secret" not in server.call("GET", path, token=reading).text
        assert server.call("GET", "lost-items?option=o1", token=reading).status_code == 403
        for path in ("differences", "board?tag=topic", "lost-items"):
            answer = server.call("GET", path)
            assert answer.status_code == 422, path
        answer = server.call("GET", "differences?by=nothing")
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/not-comparable")
        assert server.call("GET", "lost-items?option=o9").status_code == 404


def test_a_changed_log_changes_the_cached_answer(arena):
    before = arena.differences("lang")
    assert arena.differences("lang") is before
    vote_often(arena, np.random.default_rng(5), 2, 2000, undo=False)
    assert arena.differences("lang").votes == before.votes + 2
