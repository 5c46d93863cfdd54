"""Arenas with items: what is shown to whom, what is in the log, and what survives."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("markdown_it")

from hypothesis import given, settings, strategies as st

from driftduel.arena import Arena, ArenaError, Content, open_store, wait_durable
from driftduel.arena.item_texts import AHEAD, ItemTexts, decode_item, render
from driftduel.arena.items import check_items, group_value, option_names, read_items
from driftduel.arena.manager import ArenaManager
from driftduel.arena.markdown import to_html
from driftduel.arena.replay import digest, load_state, replay_log, verify_log
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ItemRow
from driftduel.cli import main
from driftduel.errors import DriftduelError, LogError
from tests.arena.clock import Clock
from tests.arena.literal_pool import LiteralPool
from tests.arena.test_lives import live_through

LANGUAGES = ("de", "en", "fr")


def some_items(many, models="abcd", first=1):
    return [
        {
            "id": f"p{n}",
            "prompt": f"Question *{n}*",
            "answers": {model: f"{model} on {n}" for model in models},
            "tags": {"lang": LANGUAGES[n % 3]},
        }
        for n in range(first, first + many)
    ]


def refused(problem, call, *args, **named):
    with pytest.raises(ArenaError) as caught:
        call(*args, **named)
    assert caught.value.problem == problem
    assert "\n" not in str(caught.value)
    return str(caught.value)


def bodies(arena, kind):
    return [record.body for record in arena.records(0, 100_000) if record.kind == kind]


# -- showing and voting


def test_a_duel_has_the_prompt_and_the_answers_of_one_item():
    with Arena(items=some_items(5), seed=1) as arena:
        assert [option.name for option in arena.options()] == list("abcd")
        for _ in range(10):
            shown = arena.ask("ann")
            number = shown.prompt.content.removeprefix("Question *")[:-1]
            assert shown.left.content == f"{shown.left.name} on {number}"
            assert shown.right.content == f"{shown.right.name} on {number}"
            assert shown.prompt.html == f"<p>Question <em>{number}</em></p>"
            arena.vote(shown.duel, "left")
            assert bodies(arena, "voted")[-1]["item"] == int(number)
            assert bodies(arena, "asked")[-1]["item"] == int(number)


def test_a_voter_who_has_seen_all_gets_nothing_left():
    with Arena(items=some_items(4, "abc"), seed=2) as arena:
        seen = set()
        for _ in range(3 * 4):
            shown = arena.ask("ann")
            pair = frozenset((shown.left.name, shown.right.name))
            assert (pair, shown.prompt.content) not in seen
            seen.add((pair, shown.prompt.content))
            arena.vote(shown.duel, "left")
        arena.board()  # learns the last vote
        records = len(arena.records(0, 100_000))
        assert "every item with every pair" in refused("nothing-left", arena.ask, "ann")
        assert len(arena.records(0, 100_000)) == records
        assert arena.ask("bob").prompt  # another voter, and votes without a voter
        assert arena.ask().prompt
        arena.add_items([{"id": "new", "answers": {"a": "x", "c": "y"}}])
        assert {arena.ask("ann").left.name for _ in range(1)} <= {"a", "c"}
        refused("nothing-left", arena.ask, "ann")


def test_an_open_duel_keeps_its_item():
    with Arena(items=some_items(5), grace=60.0) as arena:
        shown = arena.ask("ann")
        item = bodies(arena, "asked")[0]["item"]
        arena.retire_item(f"p{item}")
        again = arena.ask("ann", resume=True)
        assert (again.duel, again.prompt, again.left) == (shown.duel, shown.prompt, shown.left)
        arena.vote(shown.duel, "right")
        arena.undo(shown.duel)
        assert arena.vote(shown.duel, "left").counted
        assert [body["item"] for body in bodies(arena, "voted")] == [item, item]


def test_options_without_answers_of_an_item_are_not_shown_on_it():
    items = [
        {"id": "ab", "answers": {"a": "1", "b": "2"}},
        {"id": "bc", "answers": {"b": "1", "c": "2"}},
        {"id": "c", "answers": {"c": "alone"}},
    ]
    with Arena(items=items, seed=4) as arena:
        pairs = {1: {"a", "b"}, 2: {"b", "c"}}
        for voter in range(30):
            shown = arena.ask(f"v{voter}")
            asked = [body for body in bodies(arena, "asked") if "item" in body][-1]
            assert {shown.left.name, shown.right.name} == pairs[asked["item"]]
            arena.vote(shown.duel, "left")
        arena.retire_item("ab")
        arena.retire_item("bc")
        assert "no item has answers" in refused("nothing-left", arena.ask, "new")


def test_evidence_counts_one_vote_per_voter_pair_and_item():
    with Arena(items=some_items(30, "ab"), seed=5) as arena:
        for _ in range(30):
            shown = arena.ask("ann")
            arena.vote(shown.duel, "left" if shown.left.name == "a" else "right")
        board = arena.board()
        assert board.sure
        assert board.counted_voters >= 8  # votes of one voter, each on another item
        assert "of these voters on this pool of items" in board.says.doubt
        assert "these voters and this pool of items" in board.guarantee
    with Arena(options=["a", "b"], seed=5, votes_a_day=100) as arena:
        for _ in range(30):
            shown = arena.ask("ann")
            arena.vote(shown.duel, "left" if shown.left.name == "a" else "right")
        assert not arena.board().sure
        assert "pool of items" not in arena.board().guarantee


def test_votes_of_one_source_on_one_item_are_evidence_once():
    clock = Clock()
    manager = ArenaManager(open_store("memory:"), clock)
    manager.create("x", ["a", "b"], items=True, grace=0.0)
    live = manager.arena("x")
    wait_durable(live.add_items(list(check_items(some_items(3, "ab")))))
    for _ in range(30):
        shown = wait_durable(live.ask(source="an address"))
        wait_durable(live.vote(shown.duel, "left" if shown.left.name == "a" else "right"))
    evidence = live.board().evidence[0]
    assert evidence.wins + evidence.losses <= 3
    manager.close()


def test_judges_can_be_excluded_from_evidence():
    def play(evidence):
        arena = Arena(items=some_items(40, "ab"), seed=6, evidence=evidence)
        for number in range(40):
            shown = arena.ask("a judge", tags={"judge": "stub"} if number % 4 else {})
            arena.vote(shown.duel, "left" if shown.left.name == "a" else "right")
        return arena

    with play("all") as every, play("people") as people:
        one, other = every.board(), people.board()
        assert one.learned == other.learned == 40
        total = other.evidence[0].wins + other.evidence[0].losses
        assert total <= 10 < one.evidence[0].wins
        assert "automatic judges are not evidence" in other.guarantee
        assert "automatic judges" not in one.guarantee


# -- changes of the items


def test_items_are_added_replaced_and_extended():
    with Arena(items=some_items(3, "ab"), options=["a", "b", "c"]) as arena:
        refused("name-taken", arena.add_items, some_items(1, "ab"))
        changed = arena.add_items(
            [
                some_items(1, "ab")[0],
                some_items(1, "abc", first=2)[0],
                {**some_items(1, "ab", first=3)[0], "prompt": "Another question"},
                some_items(1, "abc", first=4)[0],
            ],
            replace=True,
        )
        counts = (changed.added, changed.replaced, changed.extended, changed.unchanged)
        assert counts == (1, 1, 1, 1)
        assert [(item.number, item.id, item.present) for item in arena.items()] == [
            (1, "p1", True), (2, "p2", True), (3, "p3", False), (4, "p3", True), (5, "p4", True),
        ]  # fmt: skip
        assert list(arena.item("p2").answers) == ["a", "b", "c"]
        assert arena.item("p3").prompt.content == "Another question"
        assert arena.board().items.count == 4
        assert arena.board().items.retired == 1
        assert arena.retire_item("p4").present is False
        assert arena.retire_item("p4").present is False  # idempotent
        assert arena.readmit_item("p4").present is True
        refused("no-such-item", arena.retire_item, "p9")
        refused("no-such-option", arena.add_items, [{"id": "x", "answers": {"z": "?"}}])


def test_an_erased_item_leaves_nothing_but_its_number(tmp_path):
    path = tmp_path / "votes.db"
    items = [*some_items(3, "ab"), {"id": "secret id", "answers": {"a": "SECRET", "b": "b"}}]
    with Arena(str(path), items=items) as arena:
        for _ in range(4):
            shown = arena.ask("ann")
            arena.vote(shown.duel, "left")
        arena.erase_item("secret id")
        refused("no-such-item", arena.item, "secret id")
        assert arena.items()[-1].id == ""
        assert len(bodies(arena, "voted")) == 4
        assert "replayed state" in verify_log(arena._live.store, "arena")
    for file in tmp_path.iterdir():
        assert b"SECRET" not in file.read_bytes()
        assert b"secret id" not in file.read_bytes()


def test_the_log_holds_no_contents(tmp_path):
    with Arena(str(tmp_path / "votes.db"), items=some_items(6), balance="lang") as arena:
        for _ in range(5):
            arena.vote(arena.ask("ann").duel, "tie")
        log = json.dumps([record.body for record in arena.records()])
        assert "Question" not in log
        assert " on " not in log
        assert "p1" not in log


def test_an_arena_without_items_stays_one():
    with Arena(options=["a", "b"]) as arena:
        assert "has no items" in refused("bad-request", arena.add_items, some_items(1, "ab"))
        assert arena.items() == []
        assert arena.board().items is None
        shown = arena.ask("ann")
        assert shown.prompt is None
        assert "item" not in bodies(arena, "asked")[0]
    refused("bad-request", Arena, options=["a", "b"], balance="lang")
    refused("bad-request", Arena, items=some_items(2), mode="serve")


@pytest.mark.parametrize(
    ("item", "word"),
    [
        ("text", "object"),
        ({"answers": {"a": "x"}}, "'id' is missing"),
        ({"id": "p"}, "'answers' is missing"),
        ({"id": "", "answers": {"a": "x"}}, "id="),
        ({"id": "a\nb", "answers": {"a": "x"}}, "cannot be shown"),
        ({"id": "\ud800", "answers": {"a": "x"}}, "cannot be shown"),
        ({"id": 7, "answers": {"a": "x"}}, "id=7"),
        ({"id": "p", "answers": {}}, "answers"),
        ({"id": "p", "answers": ["a"]}, "answers"),
        ({"id": "p", "answers": {"a": 3}}, "string"),
        ({"id": "p", "answers": {"a\u200b": "x"}}, "invisible"),
        ({"id": "p", "answers": {"a": "x", "a ": "y"}}, "look the same"),
        ({"id": "p", "answers": {"a": "x\0"}}, "cannot be stored"),
        ({"id": "p", "answers": {"a": {"image": "http://example.org/x.png"}}}, "image"),
        ({"id": "p", "answers": {"a": {"image": "javascript:alert(1)"}}}, "image"),
        ({"id": "p", "answers": {"a": {"audio": "file:../etc"}}}, "audio"),
        ({"id": "p", "answers": {"a": {"video": "https://example.org/x"}}}, "kind"),
        ({"id": "p", "answers": {"a": {"kind": "html", "content": "<b>"}}}, "kind"),
        ({"id": "p", "answers": {"a": {"kind": [], "content": "<b>"}}}, "kind"),
        ({"id": "p", "answers": {"a": "x" * 100_001}}, "100,000"),
        ({"id": "p", "answers": {"a": "x"}, "prompt": ["x"]}, "prompt"),
        ({"id": "p", "answers": {"a": "x"}, "tags": {"k": 1}}, "tag"),
        ({"id": "p", "answers": {"a": "x"}, "tags": {"k": ["x"] * 33}}, "values"),
        ({"id": "p", "answers": {"a": "x"}, "extra": 1}, "'extra'"),
    ],
)
def test_other_items_are_refused_with_their_place(item, word):
    message = refused("bad-request", list, check_items([*some_items(2), item]))
    assert message.startswith("item 3: ")
    assert word in message
    assert len(message) < 300


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"options": ["a", "b", "other"]}, "answer of 'c', which is no option"),
        ({"balance": "language"}, "no item has the balance tag 'language'; the tags are: lang."),
        ({"balance": "number"}, "more than 200 values"),
    ],
)
def test_items_that_do_not_fit_create_no_arena(settings, word, tmp_path, capsys):
    items = some_items(300)
    if settings.get("balance") == "number":
        items = [item | {"tags": {"number": item["id"]}} for item in items]
    manager = ArenaManager(open_store("memory:"))
    with pytest.raises(ArenaError, match=word):
        manager.create(
            "x", settings.get("options"), items=list(check_items(items)),
            **{key: value for key, value in settings.items() if key != "options"},
        )  # fmt: skip
    assert not manager.store.exists("x")
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, items)))
    words = ["arena", "new", "x", "--items", str(path), "--store", f"sqlite:{tmp_path / 'x.db'}"]
    words += [f"--option={each}" for each in settings.get("options", ())]
    words += [f"--balance={settings['balance']}"] if "balance" in settings else []
    assert main(words) == 2
    assert word in capsys.readouterr().err
    assert not (tmp_path / "x.db").exists()


def test_answers_may_name_options_by_id():
    manager = ArenaManager(open_store("memory:"))
    items = [{"id": "1", "answers": {"o1": "A", "cider": "C"}, "tags": {"lang": "de"}}]
    manager.create("x", ["ale", "cider"], items=list(check_items(items)), balance="lang")
    assert {*manager.arena("x").items()[0].answers} == {"ale", "cider"}


def test_files_are_read_line_by_line(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("\ufeff" + "\n".join(map(json.dumps, some_items(3))), "utf-8")
    items = list(read_items(path))
    assert [item.id for item in items] == ["p1", "p2", "p3"]
    assert option_names(items) == list("abcd")
    for text, place in (
        (json.dumps(some_items(1)[0]) + "\n{", "line 2"),
        (json.dumps(some_items(1)[0]) + "\n\n", "line 2"),
        ("[" * 100_000, "line 1"),
        ("\xff", "line 1"),
        (2 * (json.dumps(some_items(1)[0]) + "\n"), "line 2"),
    ):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(DriftduelError, match=place) as caught:
            list(read_items(path))
        assert "\n" not in str(caught.value)
    with pytest.raises(DriftduelError, match="cannot be read"):
        list(read_items(tmp_path / "none.jsonl"))


def test_the_group_of_an_item_is_the_value_of_its_tag():
    assert group_value({"lang": "de"}, "lang") == "de"
    assert group_value({"lang": "de"}, "topic") == group_value({"lang": "de"}, None) == ""


# -- the log


def test_the_log_gives_the_same_choices(tmp_path):
    path = str(tmp_path / "votes.db")
    with Arena(path, items=some_items(20), balance="lang", seed=8) as arena:
        for number in range(200):
            shown = arena.ask(f"v{number % 7}")
            arena.vote(shown.duel, ("left", "right", "tie", "both-bad", "skip")[number % 5])
        before = digest(arena._live.state)
        assert digest(replay_log(arena._live.store, "arena")) == before
    with Arena(path) as arena:  # from a snapshot
        shown = arena.ask("v1")
        assert shown.prompt is not None
        assert "also from the snapshot" in verify_log(arena._live.store, "arena")


def test_another_item_in_the_log_is_detected():
    with Arena(items=some_items(20), seed=9) as arena:
        for number in range(20):
            arena.vote(arena.ask(f"v{number}").duel, "left")
        records = arena.records()
        for place, record in enumerate(records):
            if record.kind != "asked":
                continue
            state = ArenaState.from_first_record(records[0])
            for each in records[1:place]:
                state.apply(each)
            forged = {**record.body, "item": record.body["item"] % 20 + 1}
            with pytest.raises(LogError, match=r"item="):
                state.apply(type(record)(record.seq, record.at, "asked", forged))


def pool_of(records):
    """Return the reference pool of a log, and assert that it makes the same choices."""
    slow = LiteralPool(records[0].body["settings"]["seed"])
    for record in records:
        body = record.body
        if record.kind == "items":
            slow.add([body["sets"][kind] for kind in body.get("added", ())])
            for item in body.get("retired", ()):
                slow.retire(item)
            for item in body.get("readmitted", ()):
                slow.readmit(item)
            for item, arms in body.get("extended", ()):
                slow.extend(item, arms)
        elif record.kind == "asked":
            pair = tuple(sorted(body["pair"]))
            assert slow.show(body.get("voter"), pair) == body.get("item")
            assert ("item" in body) != body.get("passed", False)
    return slow


def items_through(arena, rng, steps):
    """Change items and options at random between the votes of a few voters."""
    known = 8
    for _ in range(steps):
        what = rng.random()
        names = [option.name for option in arena.options() if option.present]
        try:
            if what < 0.75:
                voter = None if rng.random() < 0.1 else f"v{rng.integers(4)}"
                shown = arena.ask(voter)
                if rng.random() < 0.9:
                    arena.vote(shown.duel, str(rng.choice(("left", "right", "tie", "both-bad"))))
            elif what < 0.8:
                known += 1
                some = [name for name in names if rng.random() < 0.7] or names[:1]
                arena.add_items(some_items(1, some, first=known))
            elif what < 0.85:
                arena.retire_item(f"p{rng.integers(1, known + 1)}")
            elif what < 0.88:
                arena.readmit_item(f"p{rng.integers(1, known + 1)}")
            elif what < 0.92:
                number = int(rng.integers(1, known + 1))
                item = some_items(1, names, first=number)[0]
                if rng.random() < 0.3:
                    item["prompt"] = f"Changed {rng.integers(100)}"
                arena.add_items([item], replace=True)
            elif what < 0.94 and len(arena.options()) < 7:
                arena.join(f"new {len(arena.options())}")
            elif what < 0.96 and len(names) > 2:
                arena.leave(names[int(rng.integers(len(names)))])
            elif what < 0.98:
                votes = [r for r in arena.records(0, 100_000) if r.kind == "voted"]
                if votes:
                    seq = votes[int(rng.integers(len(votes)))].seq
                    if seq not in arena._live.state.tally.voided_seqs:
                        arena.void([seq], "a test")
            else:
                arena._live._handle.broken = RuntimeError("as if the process had died")
        except ArenaError as error:
            if error.problem not in ("nothing-left", "bad-request"):
                raise


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_choices_equal_the_reference_whatever_happens(seed):
    rng = np.random.default_rng(seed)
    balance = "lang" if seed % 2 else None
    with Arena(items=some_items(8), seed=seed % 1000, balance=balance) as arena:
        items_through(arena, rng, 80)
        records = arena.records(0, 100_000)
        slow = pool_of(records)
        state = arena._live.state
        assert [item[2] for item in slow.items] == [
            state.pool.is_present(number) for number in range(1, len(state.pool) + 1)
        ]
        assert digest(replay_log(arena._live.store, "arena")) == digest(state)
        half = replay_log(arena._live.store, "arena", int(rng.integers(2, state.seq)))
        half = ArenaState.from_bytes(half.to_bytes())
        for record in records[half.seq :]:
            half.apply(record)
        assert digest(half) == digest(state)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(25))
def test_many_lives_of_items_equal_the_reference(seed):
    with Arena(items=some_items(8), seed=seed, balance=("lang", None)[seed % 2]) as arena:
        items_through(arena, np.random.default_rng(seed), 200)
        pool_of(arena.records(0, 100_000))
        assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)


def test_a_life_with_graces_and_leases_folds_to_the_same_state():
    clock, rng = Clock(), np.random.default_rng(3)
    manager = ArenaManager(open_store("memory:"), clock)
    manager.create(
        "life", None, items=list(check_items(some_items(6, "abc"))), lease=20.0, grace=2.0
    )
    live, acknowledged = live_through(manager, clock, rng, 200)
    wait_durable(live.tick())
    assert digest(replay_log(manager.store, "life")) == digest(live.state)
    votes = {r.seq: r.body["pick"] for r in live.records(0, 100_000) if r.kind == "voted"}
    assert votes == acknowledged
    pool_of(live.records(0, 100_000))
    manager.close()


def test_a_lost_change_of_items_is_made_again(tmp_path):
    path = str(tmp_path / "votes.db")
    with Arena(path, items=some_items(3, "ab")) as arena:
        # The contents of a change are stored, but the process dies before its record.
        store = arena._live.store
        store.put_items("arena", [type(store.item("arena", 1))(4, "p4", '{"answers":{}}')])
    with Arena(path) as arena:
        assert [item.id for item in arena.items()] == ["p1", "p2", "p3"]
        refused("no-such-item", arena.item, "p4")
        arena.add_items([{"id": "p5", "answers": {"a": "x", "b": "y"}}])
        assert [item.id for item in arena.items()] == ["p1", "p2", "p3", "p5"]


@settings(max_examples=400)
@given(
    text=st.text("ab é12,.;:?!'()/%-", max_size=20)
    | st.text("ab é1,.;?!'()/%-*_`#\n\"$:<&", max_size=30)
)
def test_the_fast_way_to_render_changes_nothing(text):
    assert render(text, "") == to_html(text)


def test_contents_beyond_the_cache_are_read_again():
    with Arena(items=some_items(30, "ab")) as arena:
        arena._live._item_texts._most = 3000
        for number in range(60):
            shown = arena.ask(f"v{number % 9}")
            assert shown.left.content.startswith(shown.left.name)
            arena.vote(shown.duel, "left")
        assert len(arena._live._item_texts._cache) < 5


def test_the_items_of_a_pair_are_read_together():
    with Arena(items=some_items(200, "abc"), seed=4) as arena:
        live, reads = arena._live, []
        one, several = live.store.item, live.store.items_at

        def item(name, number):
            reads.append([number])
            return one(name, number)

        def items_at(name, numbers):
            reads.append(numbers)
            return several(name, numbers)

        live.store.item, live.store.items_at = item, items_at
        shown = [arena.ask(f"v{number}") for number in range(150)]
        numbers = [each.prompt.content.split("*")[1] for each in shown]
        assert len(set(numbers)) == 150
        for duel, number in zip(shown, numbers, strict=True):
            for side in (duel.left, duel.right):
                assert side.content == f"{side.name} on {number}"
        assert len(reads) < 30
        assert max(map(len, reads)) == AHEAD


def test_large_items_are_read_one_by_one():
    large = [{"id": f"p{n}", "answers": dict.fromkeys("ab", "x" * 90_000)} for n in range(8)]
    with Arena(items=large) as arena:
        live = arena._live
        live.store.items_at = None  # raises an exception when it is called
        for number in range(8):
            assert len(arena.ask(f"v{number}").left.content) == 90_000


def test_the_store_is_read_without_the_lock(monkeypatch):
    """While a thread reads contents, an event loop must not have to use threads as well."""
    with Arena(items=some_items(30, "ab")) as arena:
        live, free = arena._live, []

        def checked(read):
            def call(name, wanted):
                free.append(in_a_thread(live.can_run_inline))
                return read(name, wanted)

            return call

        for name in ("item", "items_at"):
            monkeypatch.setattr(live.store, name, checked(getattr(live.store, name)))
        live._item_texts._most = 1  # no item stays in memory
        first = wait_durable(live.ask("ann"))
        _, second = wait_durable(live.vote_and_ask(first.duel, "left"))
        assert free == [True, True]
        for shown in (first, second):
            number = shown.prompt.content.split("*")[1]
            sides = [(side.name, side.content) for side in (shown.left, shown.right)]
            assert sorted(sides) == [(name, f"{name} on {number}") for name in "ab"]


def in_a_thread(function):
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result()


def test_contents_read_before_a_change_do_not_enter_the_cache_after_it():
    store = open_store("memory:")
    ArenaManager(store).create("x", None, items=list(check_items(some_items(1, "ab"))))
    texts = ItemTexts(store, "x")
    read, change = store.item, [lambda: store.put_items("x", [ItemRow(1, "", "")])]

    def item(name, number):
        row = read(name, number)
        while change:  # another thread erases the item between the read and its result
            change.pop()()
            texts.drop(number)
        return row

    store.item = item
    assert texts.shown(1)[0].content == "Question *1*"
    assert texts.shown(1, "o1") == (None, [Content("text", "")])
    assert texts.item(1) == decode_item(None)


def test_contents_read_ahead_before_a_change_do_not_enter_the_cache_after_it():
    store = open_store("memory:")
    ArenaManager(store).create("x", None, items=list(check_items(some_items(3, "ab"))))
    texts = ItemTexts(store, "x")
    texts.item(1)
    read, change = store.items_at, [lambda: store.put_items("x", [ItemRow(3, "", "")])]

    def items_at(name, numbers):
        rows = read(name, numbers)
        while change:
            change.pop()()
            texts.drop(3)
        return rows

    store.items_at = items_at
    texts.read_ahead([3])
    assert texts.shown(2)[0].content == "Question *2*"
    assert 3 not in texts
    assert texts.item(3) == decode_item(None)


def test_twenty_voters_on_two_hundred_prompts():
    rng = np.random.default_rng(11)
    clock = Clock()
    manager = ArenaManager(open_store("memory:"), clock)
    items = list(check_items(some_items(200, "abcdef")))
    manager.create("x", None, items=items, grace=0.0, seed=11)
    live = manager.arena("x")
    opened = {}
    for _ in range(1000):
        voter = f"v{rng.integers(20)}"
        if voter in opened:  # several voters have an open duel at any time
            shown = opened.pop(voter)
            better = min(shown.left.name, shown.right.name) == shown.left.name
            live.vote(shown.duel, "left" if better == (rng.random() < 0.7) else "right")
        else:
            opened[voter] = live.ask(voter).answer
    wait_durable(live.tick())
    seen = [
        (body["voter"], tuple(sorted(body["pair"])), body["item"])
        for body in (r.body for r in live.records(0, 100_000) if r.kind == "asked")
        if "item" in body
    ]
    assert len(set(seen)) == len(seen)
    low, high = live.state.pool.extent()
    assert high - low <= 2
    state, _ = load_state(manager.store, "x")
    assert digest(replay_log(manager.store, "x")) == digest(state) == digest(live.state)
    manager.close()
