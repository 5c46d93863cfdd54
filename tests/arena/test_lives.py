"""Whole lives of arenas: whatever happens, the log folds to the state, and says what was done."""

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

import numpy as np
from hypothesis import given, settings, strategies as st

from driftduel.arena import Arena, ArenaError, open_store
from driftduel.arena.import_export import export_votes
from driftduel.arena.manager import ArenaManager, option_texts
from driftduel.arena.records import Record
from driftduel.arena.replay import digest, replay_log, verify_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.state import ArenaState
from driftduel.errors import LogError
from driftduel.policies.base import generator_state
from tests.arena.audit import audit
from tests.arena.clock import Clock

PICKS = ("left", "right", "tie", "both-bad", "skip")
TAGS = (None, {"lang": "de"}, {"lang": "en", "channel": "app"}, {"judge": "stub"})


def seed_of(arena_settings):
    return np.random.SeedSequence(arena_settings["seed"]).spawn(2)[1]


def refused_as(problem, verb, *args):
    with pytest.raises(ArenaError) as refused:
        verb(*args)
    assert refused.value.problem == problem


def nonzero(matrix):
    return {(a, b): int(matrix[a, b]) for a, b in np.argwhere(matrix).tolist()}


def of_pairs(matrix):
    assert (matrix == matrix.T).all()
    return {frozenset(pair): count for pair, count in nonzero(matrix).items()}


def known(policy):
    """All that a policy knows; answers that wait in whatever order they came."""
    ledger, arrays = policy.ledger, policy.get_state()
    return (
        {name: array.tolist() for name, array in arrays.items()},
        (generator_state(policy.rng), generator_state(ledger.coins)),
        (ledger.asked, ledger.due, ledger.restarts, sorted(ledger.open), sorted(ledger.held)),
        [ledger.open[t] for t in sorted(ledger.open)],
        [ledger.held[t] for t in sorted(ledger.held)],
    )


def live_through(manager, clock, rng, steps, most_out=6):
    """Do at random what people and owners do; return what was acknowledged, by seq."""
    live = manager.arena("life")
    out, done, acknowledged = [], [], {}
    for _ in range(steps):
        what = rng.random()
        clock.now += rng.exponential(0.7)
        if what < 0.4 and len(out) < most_out:
            voter = None if rng.random() < 0.3 else f"voter {rng.integers(4)}"
            try:
                tags = TAGS[int(rng.integers(len(TAGS)))]
                shown = wait_durable(live.ask(voter, tags=tags))
            except ArenaError as error:
                if error.problem != "nothing-left":
                    raise
                continue
            if shown.alone is None:
                out.append(shown.duel)
        elif what < 0.8 and out:
            duel = out.pop(int(rng.integers(len(out))))
            pick = str(rng.choice(PICKS, p=(0.4, 0.4, 0.07, 0.05, 0.08)))
            tags = TAGS[int(rng.integers(len(TAGS)))]
            reason = "as if typed" if rng.random() < 0.3 else ""
            vote = wait_durable(live.vote(duel, pick, tags=tags, reason=reason))
            assert wait_durable(live.vote(duel, pick)) == vote
            acknowledged[vote.seq] = pick
            done.append((duel, pick, vote))
        elif what < 0.86 and done:
            duel, pick, vote = done.pop()
            if vote.undo_until > clock.now:
                wait_durable(live.undo(duel))
                out.append(duel)
            else:
                refused_as("too-late", live.undo, duel)
        elif what < 0.9 and done:
            duel, pick, vote = done[int(rng.integers(len(done)))]
            other = PICKS[(PICKS.index(pick) + 1) % len(PICKS)]
            refused_as("already-answered", live.vote, duel, other)
        elif what < 0.92:
            wait_durable(live.join(f"new {rng.integers(1 << 40)}"))
        elif what < 0.94 and len(live.state.present) > 2:
            arm = int(rng.choice(live.state.present))
            wait_durable(live.leave(live.state.ids[arm]))
        elif what < 0.95 and len(live.state.present) < len(live.state.ids):
            away = [a for a in range(len(live.state.ids)) if a not in live.state.present]
            wait_durable(live.come_back(live.state.ids[away[0]]))
        elif what < 0.955 and out:
            duel = out[int(rng.integers(len(out)))]
            if rng.random() < 0.5:
                live.renew([duel])
            else:
                wait_durable(live.release([duel], float(rng.integers(3))))
        elif what < 0.97:
            clock.now += 40.0  # leases end
            wait_durable(live.tick())
        elif what < 0.985:
            live._handle.broken = RuntimeError("as if the process had died")
        elif done:
            duel, _, vote = done.pop(0)
            if not vote.late:
                wait_durable(live.void([vote.seq], "a test"))
    return live, acknowledged


def checked_against_twin(live, voided):
    records = live.records(0, 100_000)
    plain = records[0].body["settings"]
    twin, state = audit(records, seed_of(plain)), live.state
    tally = state.tally
    assert (tally.votes, tally.late) == (twin.votes, twin.late)
    assert tally.uncounted == twin.uncounted
    assert of_pairs(tally.skipped) == twin.skips
    if not voided:
        assert nonzero(tally.wins) == twin.wins
        assert of_pairs(tally.tied) == twin.ties
    assert known(state.policy) == known(twin.policy)


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("king", {"mode": "panel"}),
        ("king", {"mode": "panel", "order": "arrival"}),
        ("sw-dts:window=50", {"mode": "serve", "ties": "coin"}),
        ("rmed1", {"mode": "panel", "grace": 0.0}),
    ],
)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_log_folds_to_the_state_and_says_what_was_done(policy, options, seed):
    clock, rng = Clock(), np.random.default_rng(seed)
    manager = ArenaManager(open_store("memory:"), clock)
    manager.create(
        "life", ["a", "b", "c"], policy=policy, lease=20.0, votes_a_day=2, seed=seed % 1000,
        **({"grace": 2.0} | options),
    )  # fmt: skip
    live, acknowledged = live_through(manager, clock, rng, 120)
    wait_durable(live.tick())
    state, store = live.state, manager.store
    assert digest(replay_log(store, "life")) == digest(state)
    for upto in rng.integers(1, state.seq, 3):
        half = ArenaState.from_bytes(replay_log(store, "life", int(upto)).to_bytes())
        for record in store.records("life", half.seq, 100_000):
            half.apply(record)
        assert digest(half) == digest(state)
    votes = {r.seq: r.body["pick"] for r in live.records(0, 100_000) if r.kind == "voted"}
    assert votes == acknowledged
    checked_against_twin(live, voided=state.tally.voided)
    manager.close()


def test_a_log_that_was_changed_is_detected():
    clock = Clock()
    manager = ArenaManager(open_store("memory:"), clock)
    manager.create("life", ["a", "b", "c"], grace=0.0)
    live, _ = live_through(manager, clock, np.random.default_rng(5), 60)
    records = live.records(0, 100_000)
    detected = 0
    for place, record in enumerate(records):
        if record.kind not in ("asked", "told"):
            continue
        state = ArenaState.from_first_record(records[0])
        body = dict(record.body)
        if record.kind == "asked":
            body["left"] = sum(body["pair"]) - body["left"]
        else:
            body["leads"] = 17
        forged = type(record)(record.seq, record.at, record.kind, body)
        for each in records[1:place]:
            state.apply(each)
        with pytest.raises(LogError, match=f"record {record.seq} "):
            state.apply(forged)
        detected += 1
    assert detected > 20
    manager.close()


def test_an_arena_goes_on_where_it_was(tmp_path):
    path = str(tmp_path / "votes.db")
    with Arena(path, options=["a", "b", "c"], seed=4) as arena:
        shown = arena.ask("ann")
        for _ in range(30):
            other = arena.ask()
            arena.vote(other.duel, "left")
        before = digest(arena._live.state)
    with Arena(path) as arena:
        again = arena.ask("ann", resume=True)
        assert (again.duel, again.left, again.right) == (shown.duel, shown.left, shown.right)
        vote = arena.vote(again.duel, "right")
        assert arena.vote(again.duel, "right") == vote
        assert digest(arena._live.state) != before
        assert "the replayed state is" in verify_log(arena._live.store, "arena")
    store = open_store(path)
    assert "the replayed state is" in verify_log(store, "arena")
    store.close()


@pytest.mark.parametrize("policy", ["king", "periodic-btw:period=9"])
def test_warming_up_compiles_what_can_be_and_changes_nothing(policy):
    manager = ArenaManager(open_store("memory:"))
    manager.create("life", ["a", "b", "c"], policy=policy)
    live = manager.arena("life")
    before = digest(live.state)
    live.warm()
    assert digest(live.state) == before
    made = live.state.policy
    if policy == "king":  # the other one is plain Python around kernels
        assert made._warm is made.state
    manager.close()


def test_a_log_of_an_older_version_is_refused_with_a_remedy():
    settings = {"lanes": [{"spec": "king", "weight": 1}], "seed": 3}
    body = {"settings": settings, "options": ["o1", "o2"]}
    store = open_store("memory:")
    store.create("old", bytes(32), [Record(1, 0, "opened", body)], option_texts(["a", "b"]))
    with pytest.raises(LogError, match=r"driftduel 0\.2 or older.*arena export"):
        replay_log(store, "old")
    assert export_votes(store, "old").height == 0  # its votes can be exported
    store.close()
