"""Whatever is done to them, all stores say the same: the one in memory is the obvious twin."""

from contextlib import closing, nullcontext

import pytest

pytest.importorskip("msgspec")

from hypothesis import given, settings, strategies as st

from driftduel.arena.records import Record
from driftduel.arena.stores import Append, OptionText, StoreError, open_store
from driftduel.arena.stores.memory import MemoryStore

ARENAS = ("a", "b")
names = st.sampled_from(ARENAS)
few = st.integers(0, 4)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
keys = st.binary(max_size=3)
# JSON has no infinity: what is written as null cannot be what a store in memory keeps.
numbers = st.floats(allow_nan=False, allow_infinity=False)
bodies = st.dictionaries(texts, st.integers(-(2**53), 2**53) | numbers | texts)


@st.composite
def entries(draw):
    """An append: what it begins with is said as a distance from what would fit."""
    kinds = draw(st.lists(st.sampled_from(["voted", "undone", "told"]), max_size=4))
    bodies_ = [{**draw(bodies), "ref": draw(few)} for _ in kinds]
    off = draw(st.sampled_from([0, 0, 0, 0, -1, 1]))
    snapshot = draw(st.none() | keys)
    voters = draw(st.lists(st.tuples(keys, texts), max_size=2))
    return draw(names), off, list(zip(kinds, bodies_, strict=True)), snapshot, voters


deeds = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(entries(), max_size=4)),
        st.tuples(st.just("create"), names, keys, st.lists(st.tuples(few, texts), max_size=3)),
        st.tuples(st.just("put_options"), names, st.lists(st.tuples(few, texts), max_size=3)),
        st.tuples(st.just("put_voter"), names, keys, texts),
        st.tuples(st.just("drop_voter"), names, keys),
        st.tuples(st.just("put_token"), keys, names, texts, texts),
        st.tuples(st.just("drop_token"), names, texts),
    ),
    max_size=12,
)


def do(store, deed):
    """Do something, and say what came of it."""
    what, *rest = deed
    try:
        match what:
            case "append":
                batch, lasts = [], {name: store.last_seq(name) for name in ARENAS}
                for name, off, said, snapshot, voters in rest[0]:
                    first = lasts[name] + 1 + off
                    records = [Record(first + i, i, *each) for i, each in enumerate(said)]
                    batch.append(Append(name, records, snapshot, None, voters))
                    lasts[name] += len(said)
                return [(type(answer), str(answer)) for answer in store.append(batch)]
            case "create":
                name, secret, options = rest
                return store.create(name, secret, [Record(1, 0, "opened", {})], _options(options))
            case "put_options":
                return store.put_options(rest[0], _options(rest[1]))
            case _:
                return getattr(store, what)(*rest)
    except StoreError as error:
        return str(error)


def _options(said):
    return [OptionText(f"o{number}", text) for number, text in said]


def all_of(store):
    """Everything that a store says of two arenas."""
    return [
        store.arenas(),
        *(
            [
                store.records(name),
                store.records(name, 1, 2),
                store.last_seq(name),
                [store.vote_of(name, ref) for ref in range(5)],
                [store.newest_snapshot(name, upto) for upto in (None, *range(8))],
                store.options(name),
                store.tokens(name),
                [store.voter(name, key) for key in (b"", b"\0", b"\1")],
                store.secret(name) if store.exists(name) else None,
            ]
            for name in ARENAS
        ),
    ]


def agree(store, said):
    twin = MemoryStore()
    for deed in said:
        assert do(store, deed) == do(twin, deed)
    assert all_of(store) == all_of(twin)


@given(deeds)
@settings(max_examples=40)
def test_sqlite_agrees(tmp_path_factory, said):
    folder = tmp_path_factory.mktemp("agree")
    with closing(open_store(folder / "arena.db")) as store:
        agree(store, said)
        last = all_of(store)
    with closing(open_store(folder / "arena.db")) as again:
        assert all_of(again) == last


@pytest.fixture(scope="module")
def emptied(server):
    """A PostgreSQL of which all tables are emptied whenever it is asked for."""
    import psycopg

    uri = server.get_uri() + "&options=-csearch_path%3Dagreeing"
    with psycopg.connect(uri, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA agreeing")
        with closing(open_store(uri)) as store:
            tables = "arenas arena_log arena_snapshots arena_options arena_tokens arena_voters"

            def empty():
                for table in tables.split():
                    admin.execute(f"DELETE FROM {table}")
                return nullcontext(store)

            yield empty
        admin.execute("SET client_min_messages = warning")
        admin.execute("DROP SCHEMA agreeing CASCADE")


@given(deeds)
@settings(max_examples=40)
def test_postgresql_agrees(emptied, said):
    with emptied() as store:
        agree(store, said)
