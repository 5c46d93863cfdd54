"""Exports and imports with all fields, public arena logs, and preference pairs."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")
pytest.importorskip("markdown_it")

import msgspec
import polars as pl
from hypothesis import given, strategies as st

from driftduel.arena import Arena
from driftduel.arena.file_schemas import FILES, file_schema
from driftduel.arena.import_export import (
    PAIR_COLUMNS,
    export_votes,
    import_votes,
    lines_of,
    preference_pairs,
    write_pairs,
    write_votes,
)
from driftduel.arena.problems import ArenaError
from driftduel.arena.replay import digest, replay_log
from driftduel.arena.vote_files import option_names_of, read_votes
from driftduel.errors import DriftduelError
from driftduel.logs import read_log
from tests.arena.test_items import some_items

WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
PICKS = ("left", "right", "tie", "both-bad")


def voted(number=24):
    """Return an arena with votes that have all fields."""
    arena = Arena(items=some_items(12, "abc"), seed=2)
    for place in range(number):
        shown = arena.ask(f"v{place % 5}", tags={"channel": "app"})
        tags = {"judge": "stub"} if place % 7 == 0 else {"lang": "overridden"}
        arena.vote(shown.duel, PICKS[place % 4], tags=tags, reason='wéll\n, "why"' * (place % 2))
    arena.board()
    return arena


def without(rows, *keys):
    return [{key: value for key, value in row.items() if key not in keys} for row in rows]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_all_fields_survive_a_file_and_an_import(ending, tmp_path):
    path = tmp_path / f"votes.{ending}"
    with voted() as arena:
        votes = export_votes(arena._live.store, "arena")
        write_votes(votes, path)
        records = [r for r in arena.records(0, 10_000) if r.kind == "voted"]
    rows = [json.loads(line) for line in lines_of(votes)]
    assert [row["pick"] for row in rows] == [r.body["pick"] for r in records]
    assert [row["reason"] for row in rows] == [r.body.get("reason") for r in records]
    for row, record in zip(rows, records, strict=True):
        item = int(row["item"][1:])
        language = ("de", "en", "fr")[item % 3]
        assert row["tags"] == {"lang": language} | record.body["tags"]
        assert record.body["item"] == item
        assert row["asked"] <= row["time"]
        assert row["duel"] == record.body["ref"]
    read = read_votes(path)
    assert [vote.item for vote in read] == [row["item"] for row in rows]
    with Arena(items=some_items(12, "abc"), seed=3) as other:
        assert import_votes(other._live, read) == len(rows)
        again = export_votes(other._live.store, "arena", imported=True)
        assert digest(replay_log(other._live.store, "arena")) == digest(other._live.state)
        assert export_votes(other._live.store, "arena").height == 0
        assert other.board().imported == len(rows)
    lines = [json.loads(line) for line in lines_of(again)]
    changed = ("seq", "voter", "duel", "asked", "options")
    assert without(lines, *changed) == without(rows, *changed)
    voters = {row["voter"]: line["voter"] for row, line in zip(rows, lines, strict=True)}
    assert len(voters) == len(set(voters.values())) == 5


def test_an_export_is_still_a_log(tmp_path):
    with voted(40) as arena:
        votes = export_votes(arena._live.store, "arena")
    for name in ("votes.csv", "votes.jsonl", "votes.parquet"):
        write_votes(votes, tmp_path / name)
        log = read_log(tmp_path / name, group="voter", by="tags.lang")
        assert log.counts.adaptive
        assert sorted(log.names) == ["a", "b", "c"]


def public(number=24, **fields):
    return [
        {
            "question_id": f"q{n // 2}",
            "model_a": "xyz"[n % 3],
            "model_b": "xyz"[(n + 1) % 3],
            "winner": WINNERS[n % 4],
            "judge": f"user {n % 5}",
            "conversation_a": [
                {"role": "user", "content": f"Question {n // 2}"},
                {"role": "assistant", "content": f"{'xyz'[n % 3]} on {n // 2}"},
            ],
            "conversation_b": [
                {"role": "user", "content": f"Question {n // 2}"},
                {"role": "assistant", "content": f"{'xyz'[(n + 1) % 3]} on {n // 2}"},
            ],
            "language": "English",
            "tstamp": 1.7e9 + n,
        }
        | fields
        for n in range(number)
    ]


def written(tmp_path, rows, ending):
    path = tmp_path / f"public.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif ending == "json":
        path.write_text(json.dumps(rows), "utf-8")
    elif ending == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        flat = [
            {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows
        ]
        pl.DataFrame(flat).write_csv(path)
    return path


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "csv"])
def test_public_logs_keep_prompts_and_tags(ending, tmp_path):
    votes = read_votes(written(tmp_path, public(), ending))
    assert [vote.pick for vote in votes] == [PICKS[n % 4] for n in range(24)]
    assert votes[3].prompt == "Question 1"
    assert votes[3].answers == ("x on 1", "y on 1")
    assert votes[3].tags == {"language": "English"}
    assert votes[3].time == round(1000 * (1.7e9 + 3))
    assert votes[3].voter == "user 3"
    assert option_names_of(votes) == ["x", "y", "z"]
    with Arena(options=["x", "y", "z"], items=[]) as arena:
        import_votes(arena._live, votes)
        assert [item.id for item in arena.items()] == [f"q{n}" for n in range(12)]
        item = arena.item("q1")
        assert item.prompt.content == "Question 1"
        assert {name: text.content for name, text in item.answers.items()} == {
            name: f"{name} on 1" for name in ("x", "y", "z")
        }
        assert item.tags == {"language": "English"}
        log = json.dumps([record.body for record in arena.records()])
        assert "Question" not in log
        assert "user 3" not in log
        pairs = list(preference_pairs(arena._live.store, "arena"))
    assert len(pairs) == 12
    for pair in pairs:
        assert pair["chosen"] == f"{pair['chosen_option']} on {pair['item'][1:]}"
        assert pair["rejected"] == f"{pair['rejected_option']} on {pair['item'][1:]}"
        assert pair["prompt"] == f"Question {pair['item'][1:]}"


def test_other_spellings_of_public_logs(tmp_path):
    rows = [
        {"model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0,
         "prompt": '["one", "two"]', "response_a": '["1", null]', "response_b": "plain"},
        {"model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 1,
         "prompt": None, "response_a": "[odd", "response_b": ""},
        {"model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 0,
         "prompt": "", "response_a": "", "response_b": ""},
    ]  # fmt: skip
    votes = read_votes(written(tmp_path, rows, "jsonl"))
    assert [vote.pick for vote in votes] == ["right", "tie"]
    assert votes[0].prompt == "one\n\ntwo"
    assert votes[0].answers == ("1", "plain")
    named = read_votes(written(tmp_path, [{"model_a": "x", "model_b": "y", "winner": "y"}], "json"))
    assert named[0].pick == "right"
    parts = [{"role": "user", "content": [{"type": "text", "text": "Q"}, {"type": "image"}]}]
    rows = public(1, conversation_a=parts, conversation_b=parts)
    assert read_votes(written(tmp_path, rows, "jsonl"))[0].prompt.strip() == "Q"
    assert read_votes(written(tmp_path, [{"first": "x", "second": "y"}], "jsonl")) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"winner": "nobody"}, "winner='nobody'"),
        ({"model_a": "", "model_b": "y"}, "two names"),
        ({"model_a": "x", "model_b": "x"}, "two names"),
        ({"conversation_a": "no json"}, "malformed"),
        ({"conversation_a": [3]}, "malformed"),
        ({"tstamp": "yesterday"}, "malformed"),
    ],
)
def test_other_votes_are_refused_with_their_row(tmp_path, change, word):
    rows = [*public(2), public(1)[0] | change]
    path = tmp_path / "public.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(ArenaError, match="row 3") as caught:
        read_votes(path)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


@given(data=st.binary(max_size=300), ending=st.sampled_from(["jsonl", "json", "csv", "parquet"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data, ending):
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(data)
    caught = None
    try:
        assert read_votes(path) is None
    except DriftduelError as error:
        caught = str(error)
    assert "\n" not in (caught or "")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_preference_pairs_are_of_the_version_that_was_shown(ending, tmp_path):
    path = tmp_path / f"pairs.{ending}"
    with Arena(items=some_items(1, "ab"), seed=1) as arena:
        arena.vote(arena.ask("ann").duel, "left", reason="shorter")
        changed = {**some_items(1, "ab")[0], "answers": {"a": "new", "b": "newer"}}
        arena.add_items([changed], replace=True)
        arena.vote(arena.ask("ann").duel, "right")
        arena.vote(arena.ask("bob").duel, "both-bad")
        arena.board()
        assert write_pairs(preference_pairs(arena._live.store, "arena"), path) == 2
        bodies = [r.body for r in arena.records() if r.kind == "voted"][:2]
        names = ["ab"[body["shown"][side]] for side, body in enumerate(bodies)]
    if ending == "jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    else:
        frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
        rows = frame.to_dicts()
    assert tuple(rows[0]) == PAIR_COLUMNS
    assert rows[0]["chosen"] == f"{names[0]} on 1"
    assert rows[0]["reason"] == "shorter"
    assert rows[1]["chosen"] == {"a": "new", "b": "newer"}[names[1]]


def test_votes_that_do_not_count_are_left_out():
    with Arena(items=some_items(5, "ab"), seed=1, grace=0.0) as arena:
        shown = arena.ask("ann")
        vote = arena.vote(shown.duel, "left")
        arena.vote(arena.ask("ann").duel, "skip")
        arena.void([vote.seq], "a test")
        assert export_votes(arena._live.store, "arena").height == 0
        assert list(preference_pairs(arena._live.store, "arena")) == []


def test_the_schemas_describe_what_is_written():
    with voted() as arena:
        store = arena._live.store
        rows = [json.loads(line) for line in lines_of(export_votes(store, "arena"))]
        pairs = json.loads(json.dumps(list(preference_pairs(store, "arena"))))
    assert len(rows) == 24
    assert len(pairs) == 12
    for kind, lines in (("votes", rows), ("preferences", pairs), ("items", some_items(3))):
        for line in lines:
            known = set(file_schema(kind)["$defs"][FILES[kind].__name__]["properties"])
            assert set(line) == known - {"shown", "ranking"}  # those are in arenas with slates only
            msgspec.convert(line, FILES[kind])
            with pytest.raises(msgspec.ValidationError):
                msgspec.convert(line | {"unknown": 1}, FILES[kind])


def test_the_reference_describes_every_field():
    text = Path("docs/reference/vote-files.md").read_text("utf-8")
    for kind, line in FILES.items():
        table = text.partition(f"## {kind.capitalize()}")[2].partition("\n## ")[0]
        described = re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE)
        assert described == list(line.__struct_fields__), kind
