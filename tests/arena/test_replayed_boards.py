"""Every statement of a board follows from the log: by replay, and by a slow reader of records."""

import math
from dataclasses import dataclass, field

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

import numpy as np
from hypothesis import given, settings, strategies as st

from driftduel.arena import open_store
from driftduel.arena.board import board_of
from driftduel.arena.manager import ArenaManager
from driftduel.arena.replay import replay_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.state import ArenaState
from driftduel.evidence import log_e_value
from tests.arena.clock import Clock
from tests.arena.simulated import Simulated

ALPHA = 0.05


@dataclass
class Pair:
    """Counted votes between the leader and one rival in one stretch."""

    share: float
    start: int
    votes: dict = field(default_factory=dict)  # voter: (duel, 1 if the leader won, 0, None)
    void: set = field(default_factory=set)
    block: int = 1
    since: list = field(default_factory=list)  # results of the current block

    def results(self):
        return [
            won for duel, won in self.votes.values() if won is not None and duel not in self.void
        ]


class Reader:
    """Reads records, of arenas that learn in the order of arrival; knows nothing of `Tally`."""

    def __init__(self, records, claim):
        first = ArenaState.from_first_record(records[0])
        self.claim, self.leader = claim, first.leader
        self.present = list(range(len(first.ids)))
        self.ids = list(first.ids)
        self.stretch, self.number, self.since = 1, 0, 0
        self.duels, self.arrived, self.fresh = {}, [], 0
        self.before, self.shown, self.certified = None, {}, []
        self.start(self.leader)
        for record in records[1:]:
            getattr(self, record.kind, lambda body: None)(record.body)
            if "leads" in record.body:
                self.since, self.fresh = self.number, 0
                self.trim()
                self.next_stretch(record.body["leads"])

    def start(self, leader):
        if leader != self.leader:
            self.before = self.leader
        self.leader, self.pairs, self.joins = leader, {}, 0
        self.at_start = [arm for arm in self.present if arm != leader]

    def next_stretch(self, leader):
        self.stretch += any(pair.votes for pair in self.pairs.values())
        self.start(leader)

    def voted(self, body):
        if body.get("late") or body["pick"] == "skip":
            return
        self.duels[body["ref"]] = body
        if not body.get("uncounted"):
            self.arrived.append(body["ref"])
            self.fresh += 1
            self.trim()

    def trim(self):
        del self.arrived[: -min(1000, max(100, self.fresh))]

    def undone(self, body):
        self.remove(body["ref"])

    def forgot(self, body):
        self.remove(body["ref"])

    def remove(self, ref):
        if ref in self.arrived:
            self.fresh -= len(self.arrived) - self.arrived.index(ref) <= self.fresh
            self.arrived.remove(ref)

    def joined(self, body):
        if body["option"] not in self.ids:
            self.ids.append(body["option"])
        self.present.append(self.ids.index(body["option"]))

    def left(self, body):
        self.present.remove(self.ids.index(body["option"]))
        self.next_stretch(self.leader)

    def told(self, body):
        vote = self.duels[body["ref"]]
        self.number += 1
        left, right = vote["shown"]
        if self.leader not in (left, right):
            return
        rival = left + right - self.leader
        if rival not in self.pairs:
            self.pairs[rival] = Pair(self.share(rival), self.number - 1)
        pair = self.pairs[rival]
        voter = body["ref"] if self.claim == "judges" else vote.get("voter") or ""
        if voter in pair.votes:
            return
        winner = {"left": left, "right": right, "tie": None}[vote["pick"]]
        won = None if winner is None else int(winner == self.leader)
        pair.votes[voter] = body["ref"], won
        if won is None:
            return
        pair.since.append(won)
        part = 0.8 if pair.block == 1 else 0.2 / (pair.block * (pair.block - 1))
        bar = self.stretch * (self.stretch + 1) / (ALPHA * pair.share * part)
        if log_e_value(sum(pair.since), len(pair.since) - sum(pair.since)) >= math.log(bar):
            self.state_pair(rival, pair)

    def share(self, rival):
        if rival not in self.at_start:
            self.joins += 1
            return 0.1 / (self.joins * (self.joins + 1))
        if self.before in self.at_start:
            return 0.45 / len(self.at_start) + 0.45 * (rival == self.before)
        return 0.9 / len(self.at_start)

    def state_pair(self, rival, pair):
        both = frozenset((self.leader, rival))
        last = self.shown.get(both)
        self.shown[both] = self.leader, pair.start
        newest = self.certified[-1][2] if self.certified else -1
        if last is not None and last[0] == rival and last[1] > newest:
            self.certified.append((rival, self.leader, last[1], self.number))
        self.end_block(pair)

    def end_block(self, pair):
        pair.block, pair.start, pair.since = pair.block + 1, self.number, []

    def voided(self, body):
        for _, ref, first, second, won, learned_at in body["votes"]:
            self.remove(ref)
            pair = self.pairs.get(first + second - self.leader)
            if self.leader not in (first, second) or learned_at < 0 or pair is None:
                continue
            if ref in [duel for duel, _ in pair.votes.values()]:
                pair.void.add(ref)
                if won >= 0 and pair.since:
                    self.end_block(pair)


def expected(reader):
    """Return the evidence against each present rival, and whether it is enough."""
    needed = reader.stretch * (reader.stretch + 1) / ALPHA
    rows, sure = [], bool(reader.at_start)
    for rival in sorted(set(reader.present) - {reader.leader}):
        pair = reader.pairs.get(rival)
        results = pair.results() if pair else []
        wins, losses = sum(results), len(results) - sum(results)
        sure &= log_e_value(wins, losses) >= math.log(needed)
        rows.append((f"o{rival + 1}", wins, losses, needed))
    return rows, sure


def check_statements(board, reader):
    assert board.learned + board.voided >= reader.number - board.voided
    rows, sure = expected(reader)
    assert (board.leader.id, board.since.vote) == (f"o{reader.leader + 1}", reader.since)
    assert board.stretch == reader.stretch
    found = [(each.id, each.wins, each.losses, each.needed) for each in board.evidence]
    assert found == rows
    assert board.sure == sure
    voters = {voter for arm in reader.present if arm in reader.pairs
              for voter in reader.pairs[arm].votes}  # fmt: skip
    assert board.counted_voters == len(voters)
    changes = [
        (each.before_id, each.after_id, each.from_vote, each.to_vote)
        for each in board.certified_changes
    ]
    assert changes == [(f"o{a + 1}", f"o{b + 1}", x, y) for a, b, x, y in reader.certified]
    assert board.ranking_votes == len(reader.arrived)
    for ref in reader.arrived:
        left, right = reader.duels[ref]["shown"]
        if reader.duels[ref]["pick"] != "tie":
            winner, loser = (left, right) if reader.duels[ref]["pick"] == "left" else (right, left)
            assert board.pairs.wins[winner][loser] > 0
    assert sum(map(sum, board.pairs.wins)) + sum(map(sum, board.pairs.ties)) / 2 == len(
        reader.arrived
    )


def live_through(manager, clock, rng, steps):
    """Vote with a taste that changes; undo, void, join, leave, import and answer late at times."""
    live, out, done = manager.arena("life"), [], []
    if rng.random() < 0.3:
        wait_durable(live.add_past_votes([[0, 1, int(rng.integers(2)), 1.0] for _ in range(20)]))
    for step in range(steps):
        clock.now += rng.exponential(0.3)
        what, best = rng.random(), int(2 * step >= steps)
        if what < 0.88:
            voter = None if rng.random() < 0.05 else f"voter {rng.integers(400)}"
            shown = wait_durable(live.ask(voter))
            liked = [int(each.id[1:]) - 1 == best for each in (shown.left, shown.right)]
            p = 0.9 if liked[0] else 0.1 if liked[1] else 0.5
            pick = "left" if rng.random() < p else "right"
            pick = str(rng.choice([pick, "tie", "skip"], p=(0.92, 0.05, 0.03)))
            if rng.random() < 0.05:
                out.append((shown.duel, pick))  # answered later, or too late
            else:
                done.append((shown.duel, wait_durable(live.vote(shown.duel, pick))))
        elif what < 0.92 and out:
            duel, pick = out.pop(int(rng.integers(len(out))))
            done.append((duel, wait_durable(live.vote(duel, pick))))
        elif what < 0.94 and done and done[-1][1].undo_until > clock.now:
            duel, _ = done.pop()
            wait_durable(live.undo(duel))
            out.append((duel, "left"))
        elif what < 0.96 and done:
            _, vote = done.pop(int(rng.integers(max(0, len(done) - 30), len(done))))
            if not vote.late and vote.seq not in live.state.tally.voided_seqs:
                wait_durable(live.void([vote.seq], "a test"))
        elif what < 0.965 and len(live.state.ids) < 6:
            wait_durable(live.join(f"new {len(live.state.ids)}"))
        elif what < 0.975 and len(live.state.present) > 2:
            arm = int(rng.choice([arm for arm in live.state.present if arm > 1] or [0]))
            wait_durable(live.leave(live.state.ids[arm]))
        elif what < 0.98 and len(live.state.present) < len(live.state.ids):
            away = [a for a in range(len(live.state.ids)) if a not in live.state.present]
            wait_durable(live.come_back(live.state.ids[away[0]]))
        elif what < 0.985:
            clock.now += 700.0  # leases end
            wait_durable(live.tick())
    clock.now += 5.0
    wait_durable(live.tick())
    return live


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"order": "arrival", "grace": 0.0},
        {"order": "arrival", "grace": 2.0},
        {"order": "arrival", "grace": 0.0, "claim": "judges"},
        {"order": "asked", "grace": 2.0},
    ],
)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_board_follows_from_the_log(options, seed):
    clock, rng = Clock(), np.random.default_rng(seed)
    manager = ArenaManager(open_store("memory:"), clock)
    manager.create(
        "life", ["a", "b", "c"], lease=20.0, votes_a_day=10**6, seed=seed % 1000, **options
    )
    live = live_through(manager, clock, rng, 400)
    board = board_of("life", live.state, live.options())
    again = replay_log(manager.store, "life")
    assert board_of("life", again, live.options()).to_json() == board.to_json()
    half = ArenaState.from_bytes(
        replay_log(manager.store, "life", int(live.state.seq // 2)).to_bytes()
    )
    for record in manager.store.records("life", half.seq, 10**6):
        half.apply(record)
    assert board_of("life", half, live.options()).to_json() == board.to_json()
    if options["order"] == "arrival" and board.leader is not None:
        check_statements(board, Reader(live.records(0, 10**6), options.get("claim", "voters")))
    manager.close()


def test_the_crowning_vote_is_of_the_stretch_before_and_voiding_it_changes_no_evidence():
    arena, tally = Simulated(2, 5), None
    for _ in range(200):
        arena.vote(lambda a, b: 0.9 if a == 0 else 0.1)
    tally = arena.tally
    while tally.leader == 0:  # tastes have changed
        arena.vote(lambda a, b: 0.1 if a == 0 else 0.9)
    assert (tally.stretch.counted, tally.stretch.seq) == (0, arena.state.seq)
    left, right, won, ref = tally.window.votes[-1]
    wins = tally.wins.copy()
    winner, loser = (left, right) if won else (right, left)
    assert (winner, loser) == (1, 0)
    arena.state.void(arena.at, [[7, ref, left, right, won, tally.stretch.seq]], "a test")
    assert tally.wins[1, 0] == wins[1, 0] - 1
    assert (tally.stretch.counted, tally.stretch.rivals) == (0, {})
    # The next vote is counted, and voiding it takes it back.
    arena.vote(lambda a, b: float(a == 1))
    left, right, won, ref = tally.window.votes[-1]
    assert tally.stretch.against(0).wins == 1
    arena.state.void(arena.at, [[8, ref, left, right, won, arena.state.seq]], "a test")
    assert (tally.stretch.against(0).wins, tally.stretch.against(0).losses) == (0, 0)


def test_votes_learned_after_the_crown_by_one_record_are_of_the_new_stretch():
    """In the order of asking one record can teach votes of two stretches."""
    arena = Simulated(2, 5, order="asked")
    for _ in range(200):
        arena.vote(lambda a, b: 0.9 if a == 0 else 0.1)
    first = arena.ask()
    held = [arena.ask() for _ in range(60)]
    for ref in held:
        out = arena.state.open[ref]
        arena.answer(ref, "left" if out.left == 1 else "right")
    assert arena.tally.leader == 0
    out = arena.state.open[first]
    arena.answer(first, "left" if out.left == 1 else "right")
    tally = arena.tally
    assert tally.leader == 1
    counted = tally.stretch.against(0).wins
    assert 0 < counted < 60
    last = held[-1]
    shown = next(vote for vote in tally.window.votes if vote[3] == last)
    arena.state.void(arena.at, [[9, last, *shown[:3], arena.state.seq]], "a test")
    assert tally.stretch.against(0).wins == counted - 1
    early = held[0]  # learned before the crown, by the same record
    shown = next(vote for vote in tally.window.votes if vote[3] == early)
    arena.state.void(arena.at, [[10, early, *shown[:3], arena.state.seq - 1]], "a test")
    assert tally.stretch.against(0).wins == counted - 1
