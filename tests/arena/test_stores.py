"""All stores do the same, to the letter."""

import hashlib
import sqlite3
import sys

import pytest

pytest.importorskip("msgspec")

from driftduel.arena.records import Record, ref_of
from driftduel.arena.stores import (
    Append,
    FencedError,
    ItemRow,
    OptionText,
    StoreError,
    open_store,
    take,
)
from driftduel.arena.stores.base import KEPT_EVENTS
from driftduel.errors import DriftduelError, MissingExtraError


def some(first, count=1, kind="told", **body):
    return [
        Record(seq, 1000 + seq, kind, body or {"n": seq}) for seq in range(first, first + count)
    ]


def make(store, *names):
    for name in names or ("a",):
        store.create(name, b"s-" + name.encode(), some(1, kind="opened"), [])


def test_a_log_is_read_as_it_was_written(store):
    body = {
        "text": "ü\0\U0001f600",
        "x": [0.1, 1e300, -0.0, None, True],
        "n": 2**60,
        "deep": {"a": {}},
    }
    make(store)
    records = [*some(2), Record(3, 5, "heard", body)]
    assert store.append([Append("a", records)]) == [None]
    assert store.records("a") == some(1, kind="opened") + records
    assert store.records("a", after=1, limit=1) == records[:1]
    assert store.records("a", after=3) == []
    assert store.records("a", limit=0) == []
    assert store.last_seq("a") == 3
    assert str(store.records("a")[2].body["x"][2]) == "-0.0"


def test_an_arena_that_is_not_there_has_nothing(store):
    assert store.records("x") == []
    assert store.last_seq("x") == 0
    assert store.vote_of("x", 1) is None
    assert store.newest_snapshot("x") is None
    assert store.options("x") == []
    assert store.tokens("x") == []
    assert store.hooks("x") == []
    assert store.voter("x", b"v") is None
    assert not store.drop_voter("x", b"v")
    assert not store.drop_hook("x", "h")
    assert store.drop_token("x", "label") == 0
    assert not store.exists("x")
    assert store.items("x") == []
    assert store.item("x", 1) is None
    assert store.item_numbers("x", ["p"]) == []
    assert store.file("x", "f") is None
    assert store.page("x") is None
    for refused in (
        lambda: store.put_items("x", [ItemRow(1, "p", "{}")]),
        lambda: store.put_file("x", "f", "image/png", b""),
        lambda: store.put_page("x", "{}"),
        lambda: store.secret("x"),
        lambda: store.put_options("x", [OptionText("o", "O")]),
        lambda: store.put_voter("x", b"v", "p"),
        lambda: store.put_hook("x", "http://h", b"", ["alarm"]),
    ):
        with pytest.raises(StoreError, match="arena 'x' does not exist"):
            refused()


def test_an_entry_that_does_not_fit_leaves_the_others(store):
    make(store, "a", "b", "c")
    answers = store.append(
        [
            Append("a", some(2, 2)),
            Append("b", some(1)),
            Append("c", some(3)),
            Append("x", some(1)),
            Append("a", some(4)),
        ]
    )
    assert [type(answer) for answer in answers] == [
        type(None),
        FencedError,
        StoreError,
        StoreError,
        type(None),
    ]
    assert "record 1 of arena 'b' exists already" in str(answers[1])
    assert "does not follow the last stored record 1 " in str(answers[2])
    assert [store.last_seq(name) for name in "abc"] == [4, 1, 1]


def test_after_an_entry_that_is_fenced_none_of_that_arena_is_written(store):
    """Its record 3 would follow somebody else's record 2."""
    make(store)
    assert store.append([Append("a", some(2, kind="era"))]) == [None]
    answers = store.append([Append("a", some(2)), Append("a", some(3))])
    assert all(isinstance(answer, FencedError) for answer in answers)
    assert store.last_seq("a") == 2
    assert store.append([Append("a", some(3))]) == [None]


def test_a_gap_within_an_entry_is_refused(store):
    make(store)
    (answer,) = store.append([Append("a", [*some(2), *some(4)])])
    assert isinstance(answer, StoreError)
    assert store.last_seq("a") == 1


def test_nothing_to_append_is_no_trouble(store):
    make(store)
    assert store.append([]) == []
    assert store.append([Append("a", [])]) == [None]
    assert store.last_seq("a") == 1


def test_a_vote_is_found_by_its_duel(store):
    make(store, "a", "b")
    votes = [
        Record(2, 1, "voted", {"ref": 7, "pick": "left"}),
        Record(3, 2, "voted", {"ref": 3 << 40 | 7}),
        Record(4, 3, "undone", {"ref": 7}),
        Record(5, 4, "told", {"ref": 7}),
    ]
    assert store.append([Append("a", votes)]) == [None]
    assert store.vote_of("a", 7) == votes[2]  # it is open again
    assert store.vote_of("a", 3 << 40 | 7) == votes[1] == store.vote_of("a", ref_of(votes[1]))
    assert store.vote_of("a", 8) is None
    assert store.vote_of("b", 7) is None


def test_new_voters_are_written_with_their_votes(store):
    make(store, "a", "b")
    some_voters = [(b"key 1", "first"), (b"key 2", "second")]
    assert store.append([Append("a", some(2), voters=some_voters)]) == [None]
    assert store.append([Append("a", some(3), voters=[(b"key 1", "other")])]) == [None]
    assert store.voter("a", b"key 1") == "first"
    assert store.voter("a", b"key 2") == "second"
    assert store.voter("b", b"key 1") is None
    (answer,) = store.append([Append("a", some(3), voters=[(b"key 3", "third")])])
    assert isinstance(answer, FencedError)
    assert store.voter("a", b"key 3") is None


def test_the_newest_three_snapshots_are_kept(store):
    make(store, "a", "b")
    for seq in range(2, 8):
        assert store.append([Append("a", some(seq), b"state %d\0" % seq)]) == [None]
    assert store.newest_snapshot("a") == (7, b"state 7\0")
    assert store.newest_snapshot("a", upto=6) == (6, b"state 6\0")
    assert store.newest_snapshot("a", upto=5) == (5, b"state 5\0")
    assert store.newest_snapshot("a", upto=4) is None
    assert store.newest_snapshot("b") is None


def test_a_snapshot_alone_is_of_the_last_record_or_refused(store):
    make(store)
    assert store.append([Append("a", [], b"one", 1)]) == [None]
    assert store.append([Append("a", [], b"again", 1)]) == [None]
    assert store.newest_snapshot("a") == (1, b"again")
    assert store.append([Append("a", some(2))]) == [None]
    fenced, early = (store.append([Append("a", [], b"x", upto)])[0] for upto in (1, 3))
    assert isinstance(fenced, FencedError)
    assert type(early) is StoreError
    assert store.newest_snapshot("a") == (1, b"again")


def test_an_arena_is_made_once_and_whole(store):
    options = [OptionText("o1", "A"), OptionText("o2", "B", "markdown", "*b*")]
    store.create("ä", b"secret\0", some(1, 2), options)
    with pytest.raises(StoreError, match="arena 'ä' exists already"):
        store.create("ä", b"other", some(1), [])
    with pytest.raises(StoreError, match="does not follow"):
        store.create("b", b"other", some(2), [])
    assert store.arenas() == ["ä"]
    assert store.exists("ä")
    assert store.secret("ä") == b"secret\0"
    assert store.options("ä") == options
    assert store.last_seq("ä") == 2


def test_options_change_in_place_and_new_ones_come_last(store):
    store.create("a", b"", some(1), [OptionText("o1", "A"), OptionText("o2", "B")])
    store.put_options("a", [OptionText("o3", "C"), OptionText("o1", "A2", "image", "u")])
    assert store.options("a") == [
        OptionText("o1", "A2", "image", "u"),
        OptionText("o2", "B"),
        OptionText("o3", "C"),
    ]


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_what_is_no_text_is_refused_before_any_store_sees_it(text):
    with pytest.raises(DriftduelError, match="cannot be stored"):
        OptionText("o1", "A", "text", text)


def test_tokens(store):
    make(store, "a", "b")
    digests = [bytes([n]) * 32 for n in range(4)]
    store.put_token(digests[0], "a", "own", "mine")
    store.put_token(digests[1], "a", "vote", "page")
    store.put_token(digests[2], "b", "vote", "page")
    store.put_token(digests[3], "*", "own", "")
    assert store.token(digests[1]) == ("a", "vote")
    assert store.token(digests[3]) == ("*", "own")
    assert store.token(b"no") is None
    assert store.tokens("a") == [("00000000", "own", "mine"), ("01010101", "vote", "page")]
    assert store.drop_token("a", "0") == 0
    assert store.drop_token("a", "page") == 1
    assert store.drop_token("a", "00000000") == 1
    assert store.tokens("a") == []
    assert store.token(digests[0]) is None
    assert store.token(digests[2]) == ("b", "vote")


def test_a_voters_first_pseudonym_wins_until_it_is_forgotten(store):
    make(store, "a", "b")
    assert store.put_voter("a", b"k\0", "v1") == "v1"
    assert store.put_voter("a", b"k\0", "v2") == "v1"
    assert store.voter("a", b"k\0") == "v1"
    assert store.voter("b", b"k\0") is None
    assert store.drop_voter("a", b"k\0")
    assert not store.drop_voter("a", b"k\0")
    assert store.put_voter("a", b"k\0", "v3") == "v3"


def test_hooks(store):
    make(store, "a", "b")
    hook = store.put_hook("a", "http://h/?x", b"key\0", ["alarm", "sure"], done=1)
    other = store.put_hook("b", "http://h/", b"", [])
    assert store.hooks("a") == [(hook, "a", "http://h/?x", b"key\0", ("alarm", "sure"), 1)]
    store.mark_delivered(hook, 5)
    store.mark_delivered(hook, 3)
    store.mark_delivered("none", 3)
    assert store.hooks("a")[0].done == 5
    assert not store.drop_hook("a", other)
    assert store.drop_hook("a", hook)
    assert store.hooks("a") == []
    assert len(store.hooks("b")) == 1


def test_snapshots_delete_events_that_no_webhook_needs(store):
    make(store, "a", "b")
    seq = {"a": store.last_seq("a"), "b": store.last_seq("b")}

    def add(arena, records, *, events=(), snapshot=None):
        new = [Record(seq[arena] + i, 0, "told", {}) for i in range(1, records + 1)]
        seq[arena] += records
        events = [(new[i].seq, 0, "{}") for i in events]
        assert store.append([Append(arena, new, snapshot, events=events)]) == [None]
        return [event[0] for event in events]

    def kept(arena):
        return [found for found, _ in store.events(arena, 0, 99)]

    first = add("a", 2, events=[0, 1])
    slow, quick = (store.put_hook("a", f"http://{h}/", b"", ["sure"], done=1) for h in "hi")
    both = [*first, *add("a", KEPT_EVENTS + 9, events=[0, 99])]
    other = add("b", 9, events=[0])
    store.mark_delivered(quick, seq["a"])
    add("a", 1, snapshot=b"state")
    assert kept("a") == both, "the slow webhook needs them"
    store.mark_delivered(slow, first[0] + KEPT_EVENTS)
    assert kept("a") == both, "without a snapshot nothing is deleted"
    add("a", 1, snapshot=b"state")
    assert kept("a") == both[1:]
    store.mark_delivered(slow, seq["a"])
    add("a", 1, snapshot=b"state")
    assert kept("a") == both[3:]
    assert kept("b") == other, "another arena keeps its events"
    add("b", KEPT_EVENTS, snapshot=b"state")
    assert kept("b") == [], "without webhooks nobody reads them"


def test_ownership(store):
    make(store, "a", "b")
    assert store.owner("a") is None
    assert store.own("a")
    assert store.own("a")
    assert "process" in store.owner("a")
    take(store, "b")
    assert store.owned_arenas() == {"a", "b"}
    store.disown("a")
    assert store.owned_arenas() == {"b"}
    store.disown("b")
    store.disown("b")
    assert store.owner("b") is None
    assert store.owned_arenas() == frozenset()


@pytest.mark.parametrize("where", ["x", "mysql://x", "sqlite:", "sqlite::memory:", "", "a\0.db"])
def test_what_is_no_store_is_said(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DriftduelError, match="store"):
        open_store(where)
    assert list(tmp_path.iterdir()) == []


def test_what_postgresql_needs_is_said(monkeypatch):
    monkeypatch.delitem(sys.modules, "driftduel.arena.stores.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"needs psycopg.*driftduel\[postgres\]"):
        open_store("postgresql://ann@127.0.0.1/x")


def test_nothing_of_what_was_erased_is_in_the_files(tmp_path):
    store = open_store(f"sqlite:{tmp_path / 'arena.db'}")
    store.create("a", b"secret", [Record(1, 1, "opened", {})], [])
    keys = [hashlib.sha256(b"%d" % number).digest() for number in range(300)]
    for start in range(0, 300, 50):
        new = [(key, key.hex()[:16]) for key in keys[start : start + 50]]
        store.append([Append("a", [], voters=new)])
    store.put_options("a", [OptionText("o1", "Anna Smith", "text", "of Long Lane " * 500)])

    def there(text):
        return any(text in file.read_bytes() for file in tmp_path.glob("arena.db*"))

    assert there(keys[0])
    assert there(b"Anna Smith")
    gone = keys[::8]
    for key in gone:
        assert store.drop_voter("a", key)
    store.put_options("a", [OptionText("o1", "somebody", "text", "")])
    assert not [key for key in gone if there(key)]
    assert not there(b"Anna Smith")
    assert not there(b"of Long Lane")
    # While somebody reads, an erasure waits for the end of that, and nobody waits for the erasure.
    reader = sqlite3.connect(tmp_path / "arena.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM arena_voters").fetchone() == (262,)
    assert store.drop_voter("a", keys[2])
    assert there(keys[2])
    reader.close()
    store.append([Append("a", [Record(2, 2, "told", {})])])
    assert not there(keys[2])
    assert there(keys[1])
    assert store.voter("a", keys[1]) == keys[1].hex()[:16]
    store.close()


ODD_TEXTS = ("", " ", "1 2 3 ", "😀\u00fc\n\u001f\u001e", "' || \"", "\u0301" * 50, "x" * 70_000)


def test_items_are_found_by_number_and_by_id(store):
    make(store, "a", "b")
    rows = [ItemRow(number, f"p{number % 600}", '{"n": "ü"}') for number in range(1, 1301)]
    store.put_items("a", rows)
    store.put_items("b", [ItemRow(1, "p1", "other")])
    assert store.items("a", after=1298) == rows[1298:]
    assert store.items("a", limit=2) == rows[:2]
    assert store.item("a", 7) == rows[6]
    assert store.item("a", 1301) is None
    found = store.items_at("a", [1300, 7, 1301, 7])
    assert sorted(found) == [rows[6], rows[1299]]
    assert sorted(store.items_at("a", range(1, 1301))) == rows
    assert store.items_at("a", []) == store.items_at("none", [1]) == []
    odd = [ItemRow(n, f"1 2 {n} 😀", text) for n, text in enumerate(ODD_TEXTS, 2000)]
    store.put_items("a", [*odd, ItemRow(3000, "", "")])
    wanted = [each.number for each in odd] + [3000]
    assert sorted(store.items_at("a", wanted)) == [*odd, ItemRow(3000, "", "")]
    assert store.item_numbers("a", ["p1", "p1", "none"]) == [("p1", 1), ("p1", 601), ("p1", 1201)]
    ids = [f"p{number}" for number in range(600)]
    assert [number for _, number in store.item_numbers("a", ids)] == list(range(1, 1301))
    store.put_items("a", [ItemRow(601, "renamed", "")])
    assert store.item("a", 601) == ItemRow(601, "renamed", "")
    assert store.item_numbers("a", ["p1", "renamed"]) == [("p1", 1), ("renamed", 601), ("p1", 1201)]
    assert store.item("b", 1) == ItemRow(1, "p1", "other")
    store.put_items("a", [])


def test_files_and_pages_belong_to_an_arena(store):
    make(store, "a", "b")
    store.put_file("a", "f1", "image/png", b"\x00\xff" * 1000)
    store.put_file("a", "f1", "image/gif", b"other")  # the id depends on the data: no change
    assert store.file("a", "f1") == ("image/png", b"\x00\xff" * 1000)
    assert store.file("b", "f1") is None
    store.put_page("a", '{"title": "ü"}')
    store.put_page("a", '{"title": "new"}')
    assert (store.page("a"), store.page("b")) == ('{"title": "new"}', None)
