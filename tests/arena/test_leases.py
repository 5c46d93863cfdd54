"""Open duels: how long others wait for them, who gives them back, and which pairs are capped."""

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

import numpy as np

from driftduel.arena import Arena, ArenaError, ArenaManager, open_store
from driftduel.arena.replay import digest, replay_log, verify_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.settings import Settings, settings_of
from driftduel.arena.state import ArenaState
from tests.arena.clock import Clock

SIX = list("ABCDEF")


@pytest.fixture
def clock():
    return Clock()


def learned(arena):
    return arena._live.state.tally.counted


def whys(arena):
    return [record.body["why"] for record in arena.records() if record.kind == "forgot"]


def test_a_closed_tab_delays_learning_by_at_most_its_lease(clock):
    """The script of a team's first hour: one tab is closed without an answer, others vote."""
    with Arena(options=SIX, seed=1, clock=clock) as arena:
        arena.ask("closed tab")
        for number in range(50):
            clock.now += 10.0
            arena.vote(arena.ask(f"v{number}").duel, "left")
            board = arena.board()
            if number < 5:
                votes = "1 vote waits" if number == 0 else f"{number + 1} votes wait"
                wait = f"{votes} for 1 open duel, at most 60 s longer than its page stays open."
                assert (board.learned, board.says.waiting) == (0, wait)
                assert wait in " ".join(str(board).split())
            else:
                assert (board.learned, board.says.waiting) == (number + 1, "")
            assert board.ranking_votes == number + 1  # what only describes counts on arrival
        assert (board.votes, board.learned) == (50, 50)
        assert whys(arena) == ["lease"]


def test_a_slow_answer_counts_while_no_vote_waits_for_it(clock):
    with Arena(options=SIX, clock=clock) as arena:
        shown = arena.ask("ann")
        clock.now += 300.0
        arena.tick()
        vote = arena.vote(shown.duel, "left")
        assert (vote.late, vote.counted) == (False, True)
        last = arena.ask("ann")
        clock.now += 600.0
        arena.tick()
        assert arena.vote(last.duel, "left").late
        assert whys(arena) == ["lease"]


def test_a_renewed_lease_keeps_a_duel_for_ten_leases_at_most(clock):
    with Arena(options=SIX, clock=clock) as arena:
        shown = arena.ask("ann")
        began = clock.now
        arena.vote(arena.ask("bob").duel, "left")
        while (until := arena.renew(shown.duel)) > 0:
            assert until == min(clock.now + 60.0, began + 600.0)
            assert learned(arena) == 0
            clock.now += 20.0
            assert clock.now < began + 700.0
        assert clock.now == began + 600.0
        assert arena.board()["learned"] == 1
        assert len(arena.records()) < 10  # renewals are not written down


def test_a_released_duel_is_given_back_unless_it_is_renewed_in_time(clock):
    with Arena(options=SIX, clock=clock) as arena:
        shown = arena.ask("ann")
        arena.vote(arena.ask("bob").duel, "left")
        wait_durable(arena._live.release([shown.duel], after=5.0))
        clock.now += 4.0
        assert arena.renew(shown.duel) == clock.now + 60.0
        clock.now += 30.0
        arena.tick()
        assert arena._live.is_open(shown.duel)
        wait_durable(arena._live.release([shown.duel], after=5.0))
        clock.now += 5.0
        assert arena.renew(shown.duel) == 0.0
        assert arena.board()["learned"] == 1
        other = arena.ask("ann")
        arena.release(other.duel)
        arena.release(other.duel)
        assert whys(arena) == ["released", "released"]
        assert arena.vote(other.duel, "left").late


def test_leases_begin_again_with_a_new_process(tmp_path, clock):
    path = str(tmp_path / "arena.db")
    with Arena(path, options=SIX, clock=clock) as arena:
        shown = arena.ask("ann")
        arena.vote(arena.ask("bob").duel, "left")
        clock.now += 50.0
        arena.renew(shown.duel)
    clock.now += 50.0
    with Arena(path, clock=clock) as arena:
        assert arena._live.is_open(shown.duel)
        clock.now += 59.0
        assert not arena.vote(shown.duel, "left").late
        store = arena._live.store
        assert "the replayed state is" in verify_log(store, "arena")


def test_renewals_leave_the_state_what_the_log_makes_of_it(clock):
    with Arena(options=SIX, clock=clock, grace=5.0) as arena:
        duels = [arena.ask(f"v{number}").duel for number in range(5)]
        for duel in (duels[3], duels[0], duels[2]):
            clock.now += 7.0
            arena.renew(duel)
        arena.vote(duels[1], "left")
        arena.undo(duels[1])
        arena._live.release([duels[4]], after=30.0)
        state = arena._live.state
        assert digest(replay_log(arena._live.store, "arena")) == digest(state)
        again = ArenaState.from_bytes(state.to_bytes())
        assert list(again.open) == list(state.open) == sorted(state.open)
        assert digest(again) == digest(state)


def test_the_oldest_open_duel_gives_way_to_a_new_one(clock):
    with Arena(options=SIX, clock=clock, most_open=3) as arena:
        duels = [arena.ask().duel for _ in range(5)]
        assert [arena._live.is_open(duel) for duel in duels] == [False, False, True, True, True]
        assert arena.vote(duels[0], "left").late
        assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)


@pytest.mark.parametrize(("voters", "votes"), [(3, 60), (10, 30)])
def test_a_small_teams_votes_are_used(clock, voters, votes):
    """The two teams of the issue: with default settings at least 95% of the votes are learned."""
    rng = np.random.default_rng(5)
    with Arena(options=SIX, seed=2, clock=clock) as arena:
        for _ in range(votes):
            for voter in range(voters):
                clock.now += 4.0
                shown = arena.ask(f"voter {voter}")
                better = shown.left.name < shown.right.name
                arena.vote(shown.duel, "left" if better == (rng.random() < 0.7) else "right")
        board = arena.board()
        assert board["votes"] == voters * votes
        assert board["learned"] >= 0.95 * voters * votes


def test_a_voter_at_the_cap_gets_another_pair_and_the_log_replays(clock):
    with Arena(options=SIX[:4], seed=3, clock=clock, votes_a_day=3) as arena:
        seen = {}

        def vote_until_refused():
            for _ in range(100):
                shown = arena.ask("ann")
                pair = frozenset((shown.left.name, shown.right.name))
                seen[pair] = seen.get(pair, 0) + 1
                arena.vote(shown.duel, "left" if shown.left.name == "A" else "right")

        with pytest.raises(ArenaError) as done:
            vote_until_refused()
        assert done.value.problem == "nothing-left"
        # The policy compares the leader with its rivals: these pairs are at the cap.
        leader = arena.best().name
        assert all(seen[frozenset((leader, rival))] == 3 for rival in set(SIX[:4]) - {leader})
        assert max(seen.values()) == 3
        assert "capped" in whys(arena)
        board = arena.board()
        assert board["votes"] == board["learned"] == sum(seen.values())
        assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)
        assert arena.ask("bob").duel
        clock.now += 86_400.0
        assert arena.ask("ann").duel  # although nothing else happened on this day


def test_open_duels_count_towards_the_cap(clock):
    with Arena(options=SIX[:2], clock=clock, votes_a_day=2) as arena:
        first, _ = arena.ask("ann"), arena.ask("ann")
        with pytest.raises(ArenaError, match="nothing is left"):
            arena.ask("ann")
        arena.release(first.duel)
        assert arena.ask("ann").duel


def test_an_undone_vote_does_not_count_towards_the_cap(clock):
    with Arena(options=SIX[:2], clock=clock, votes_a_day=1, grace=5.0) as arena:
        shown = arena.ask("ann")
        arena.vote(shown.duel, "left")
        arena.undo(shown.duel)
        arena.release(shown.duel)
        again = arena.ask("ann")
        assert arena.vote(again.duel, "left").counted
        with pytest.raises(ArenaError, match="nothing is left"):
            arena.ask("ann")
        restored = ArenaState.from_bytes(arena._live.state.to_bytes())
        with pytest.raises(ArenaError, match="nothing is left"):
            restored.capped_proposals(restored.at, next(iter(restored.capped)))


def test_in_process_the_last_vote_can_be_undone(clock):
    with Arena(options=SIX, clock=clock) as arena:
        shown = arena.ask("ann")
        arena.vote(shown.duel, "left")
        arena.undo(shown.duel)
        assert arena.board()["votes"] == 0
        arena.vote(shown.duel, "right")
        assert arena.board()["learned"] == 1
        with pytest.raises(ArenaError, match="cannot be undone"):
            arena.undo(shown.duel)
        other = arena.ask("ann")
        arena.vote(other.duel, "right")
        clock.now += 5.0
        with pytest.raises(ArenaError, match="cannot be undone"):
            arena.undo(other.duel)


def test_with_a_grace_votes_can_be_undone_in_process_as_on_a_server(clock):
    with Arena(options=SIX, clock=clock, grace=5.0) as arena:
        shown = arena.ask("ann")
        arena.vote(shown.duel, "left")
        arena.vote(arena.ask("bob").duel, "left")
        assert arena.board()["learned"] == 0
        arena.undo(shown.duel)
        assert arena.board()["votes"] == 1


def test_there_is_one_set_of_defaults(clock):
    manager = ArenaManager(open_store("memory:"), clock)
    manager.create("served", ["a", "b"])
    with Arena(options=["a", "b"], clock=clock) as arena:
        assert arena._live.state.settings == manager.arena("served").state.settings
    made = settings_of(2)
    fields = ("grace", "lease", "votes_a_day", "most_open", "most_open_each")
    assert [getattr(made, field) for field in fields] == [5.0, 60.0, 50, 10_000, 20]
    assert made == Settings(policy=made.policy)
    assert settings_of(2, claim="judges").votes_a_day == 1_000_000
    assert settings_of(2, claim="judges", votes_a_day=7).votes_a_day == 7
    manager.close()
