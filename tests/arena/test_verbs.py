"""What an arena does when it is asked to do something, and when it refuses."""

import threading

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from driftduel.arena import Arena, ArenaError, access, board, live, ranking
from driftduel.arena.access import DuelName
from driftduel.arena.manager import ArenaManager
from driftduel.arena.replay import replay_log
from driftduel.arena.responses import wait_durable
from driftduel.arena.settings import settings_of
from driftduel.errors import DriftduelError
from driftduel.policies import policy_to_bytes
from tests.arena.clock import Clock
from tests.waiting import LONG

OPTIONS = ["red", "green", "blue"]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def arena(store_url, clock):
    with Arena(store_url, options=OPTIONS, clock=clock, grace=5.0, lease=60.0, seed=3) as arena:
        yield arena


def refused(problem, verb, *args, **named):
    with pytest.raises(ArenaError) as error:
        verb(*args, **named)
    assert error.value.problem == problem
    said = str(error.value)
    assert said.endswith(".")
    return said


def kinds(arena):
    return [record.kind for record in arena.records()]


def test_a_vote_is_told_when_its_grace_is_over(arena, clock):
    shown = arena.ask("ann")
    assert {shown.left.name, shown.right.name} < set(OPTIONS)
    assert shown.left != shown.right
    vote = arena.vote(shown.duel, "left")
    assert (vote.counted, vote.late, vote.undo_until) == (True, False, clock.now + 5.0)
    arena.tick()
    assert kinds(arena)[-1] == "voted"
    clock.now += 5.0
    arena.tick()
    assert kinds(arena)[-1] == "told"
    assert refused("too-late", arena.undo, shown.duel)


def test_a_vote_that_was_undone_never_reaches_the_policy(arena, clock):
    before = policy_to_bytes(arena._live.state.policy)
    shown = arena.ask()
    asked = policy_to_bytes(arena._live.state.policy)
    assert before != asked
    arena.vote(shown.duel, "left")
    arena.undo(shown.duel)
    arena.undo(shown.duel)  # a second click
    assert kinds(arena)[-2:] == ["voted", "undone"]
    clock.now += 5.0
    arena.tick()
    assert policy_to_bytes(arena._live.state.policy) == asked
    vote = arena.vote(shown.duel, "right")  # it is open again, for another answer
    assert vote.counted
    assert arena._live.state.tally.votes == 1


def test_the_same_answer_twice_is_one_vote(arena):
    shown = arena.ask()
    vote = arena.vote(shown.duel, "left")
    assert arena.vote(shown.duel, "left") == vote
    assert "answered with 'left'" in refused("already-answered", arena.vote, shown.duel, "right")
    assert kinds(arena).count("voted") == 1


def test_an_old_answer_is_found_in_the_log(arena, clock):
    shown = arena.ask()
    vote = arena.vote(shown.duel, "tie")
    clock.now += 100.0
    arena.tick()
    arena._live._answered.clear()  # as after a restart
    again = arena.vote(shown.duel, "tie")
    assert (again.seq, again.counted) == (vote.seq, vote.counted)
    refused("already-answered", arena.vote, shown.duel, "left")


def keep_waiting(arena, clock):
    """Let another vote wait, for the duels that are open, until its grace is over."""
    arena.vote(arena.ask().duel, "left")
    clock.now += 5.0
    arena.tick()


def test_a_late_vote_is_written_down_and_not_learned(arena, clock):
    shown = arena.ask()
    keep_waiting(arena, clock)
    clock.now += 55.0
    arena.tick()
    learned = policy_to_bytes(arena._live.state.policy)
    vote = arena.vote(shown.duel, "left")
    assert (vote.late, vote.counted) == (True, False)
    assert arena.vote(shown.duel, "left").seq == vote.seq
    clock.now += 60.0
    arena.tick()
    assert policy_to_bytes(arena._live.state.policy) == learned
    assert (arena._live.state.tally.late, arena._live.state.tally.votes) == (1, 1)


def test_an_undone_vote_whose_lease_ends_can_come_late(arena, clock):
    shown = arena.ask()
    arena.vote(shown.duel, "left")
    arena.undo(shown.duel)
    keep_waiting(arena, clock)
    clock.now += 60.0
    arena._live._answered.clear()
    assert arena.vote(shown.duel, "left").late


def test_who_undoes_for_ever_keeps_others_waiting_no_longer_than_ten_leases(arena, clock):
    slow = arena.ask("ann")
    began, other = clock.now, arena.ask("bob")
    arena.vote(other.duel, "left")
    for _ in range(300):
        clock.now += 3.0
        try:
            arena.vote(slow.duel, "left")
            arena.undo(slow.duel)
        except ArenaError:
            break
        arena.ask()  # whose lease ends later
    assert 590.0 <= clock.now - began <= 600.0 + 2 * 5.0
    clock.now = began + 600.0 + 2 * 5.0
    arena.tick()
    assert arena._live.state.held == {}  # what bob said was learned
    assert arena.board()["votes"] == 1


def test_a_vote_undone_at_the_end_of_its_lease_can_be_given_again(arena, clock):
    shown = arena.ask()
    clock.now += 58.0
    arena.vote(shown.duel, "left")
    clock.now += 3.0
    arena.undo(shown.duel)
    clock.now += 1.0
    assert not arena.vote(shown.duel, "right").late


def test_time_goes_on_though_the_clock_was_set_back(arena, clock):
    shown = arena.ask()
    arena.vote(shown.duel, "left")
    clock.now -= 3600.0
    arena.tick()
    clock.now += 2 * 5.0  # at half its speed, until the clock has caught up
    arena.tick()
    assert kinds(arena)[-1] == "told"
    clock.now += 2 * 3600.0
    arena.ask()
    times = [record.at for record in arena.records()]
    assert times == sorted(times)
    assert times[-1] == 1000 * clock.now


def test_a_server_does_not_wait_for_one_who_waits_for_the_store(arena):
    live = arena._live
    assert live.can_run_inline()
    with live._lock:
        assert live.can_run_inline()
        asked = []
        assert meanwhile(lambda: asked.append(live.can_run_inline()))
    assert asked == [False]


def test_an_arena_that_another_process_took_is_let_go(store, clock):
    manager = ArenaManager(store, clock)
    manager.create("tea", OPTIONS)
    wait_durable(manager.arena("tea").ask())
    manager.tick()
    assert manager.live("tea") is not None
    store.disown("tea")
    manager.tick()
    assert manager.live("tea") is None  # its board would be of the past
    wait_durable(manager.arena("tea").ask())
    manager.close()


def test_nobody_votes_on_a_duel_that_was_not_given_out(arena):
    shown = arena.ask()
    ref, epoch, mac = shown.duel.split("-")
    for forged in (
        "",
        "x",
        f"{ref}-{epoch}-",
        f"{ref}-{epoch}-{mac[:-1]}",
        f"2-{epoch}-{mac}",
        "\udc80",
    ):
        refused("no-such-duel", arena.vote, forged, "left")
    secret = arena._live._secret
    unborn = DuelName(7, int(epoch, 16)).encode(secret, "arena")
    refused("duel-lost", arena.vote, unborn, "left")
    other_era = DuelName(int(ref, 16), 9).encode(secret, "arena")
    refused("duel-lost", arena.vote, other_era, "left")
    elsewhere = DuelName(int(ref, 16), int(epoch, 16)).encode(secret, "another")
    refused("no-such-duel", arena.vote, elsewhere, "left")
    refused("bad-vote", arena.vote, shown.duel, "middle")
    assert kinds(arena)[-1] == "asked"


def test_a_voters_votes_on_a_pair_count_up_to_a_limit_a_day(clock):
    with Arena(options=["a", "b"], clock=clock, votes_a_day=2) as arena:
        for _ in range(2):
            assert arena.vote(arena.ask("ann").duel, "left").counted
        said = refused("nothing-left", arena.ask, "ann")
        assert "2 votes on each pair" in said
        assert kinds(arena)[-1] != "asked"  # to find that out changes nothing
        assert arena.vote(arena.ask("bob").duel, "left").counted
        for _ in range(3):
            assert arena.vote(arena.ask().duel, "left").counted
        clock.now += 86_400.0
        assert arena.vote(arena.ask("ann").duel, "left").counted
        board = arena.board()
        assert (board["votes"], board["learned"], board["uncounted"]) == (7, 7, 0)


def test_what_a_voter_was_shown_can_be_shown_again(arena):
    shown = arena.ask("ann")
    assert arena.ask("ann", resume=True) == shown
    assert arena.ask("bob", resume=True) != shown
    arena.vote(shown.duel, "skip")
    assert arena.ask("ann", resume=True) != shown


def test_open_duels_are_bounded(clock):
    with Arena(options=OPTIONS, clock=clock, most_open=5, most_open_each=2, lease=9.0) as arena:
        anns = [arena.ask("ann").duel for _ in range(3)]
        assert [arena._live.is_open(duel) for duel in anns] == [False, True, True]
        others = [arena.ask().duel for _ in range(4)]
        assert [arena._live.is_open(duel) for duel in anns] == [False, False, True]
        others += [arena.ask().duel for _ in range(2)]
        assert [arena._live.is_open(duel) for duel in others] == [False] + 5 * [True]
        assert [r.body["why"] for r in arena.records() if r.kind == "forgot"] == 4 * ["evicted"]


def test_options_come_and_go(arena):
    new = arena.join("violet")
    assert (new.id, new.name, new.present) == ("o4", "violet", True)
    assert not arena.leave("o1").present
    names = {arena.ask().left.name for _ in range(15)}
    assert "red" not in names
    assert arena.join("o1").present
    refused("no-such-option", arena.leave, "o9")
    arena.leave("o1")
    refused("bad-request", arena.leave, "o1")
    arena.leave("o2")
    assert "needs at least two" in refused("bad-request", arena.leave, "o3")


def test_a_leader_that_leaves_is_followed_by_another(clock):
    with Arena(options=OPTIONS, clock=clock) as arena:
        for _ in range(60):
            shown = arena.ask()
            arena.vote(shown.duel, "left" if shown.left.name == "green" else "right")
        assert arena.best().name == "green"
        number = arena._live.state.tally.stretch.number
        arena.leave("o2")
        assert arena.best().name != "green"
        assert arena._live.state.tally.stretch.number == number + 1
        change = arena._live.state.tally.changes[-1]
        assert (change["before"], change["alarm"]) == (1, False)


def test_votes_can_be_voided(arena, clock):
    seqs = []
    for _ in range(4):
        shown = arena.ask()
        seqs.append(arena.vote(shown.duel, "left").seq)
    clock.now += 5.0
    arena.tick()
    shown = arena.ask()
    waiting = arena.vote(shown.duel, "right").seq
    tally = arena._live.state.tally
    assert int(tally.wins.sum()) == 4
    learned = arena._live.state.policy.ledger.due
    assert arena.void([seqs[0], seqs[0], waiting], "a bot") == 2
    assert int(tally.wins.sum()) == 3
    assert (tally.lefts, tally.rights, int(tally.window.wins.sum())) == (3, 0, 3)
    assert arena._live.state.policy.ledger.due == learned + 1  # one was forgotten
    assert "void already" in refused("bad-request", arena.void, [seqs[0]], "again")
    assert "is not a vote" in refused("bad-request", arena.void, [1], "the settings")
    assert arena.void([], "nothing") == 0


def test_a_vote_that_is_voided_while_it_waits_for_another_is_never_counted(store_url, clock):
    with Arena(store_url, options=OPTIONS, clock=clock, grace=0.0, seed=3) as arena:
        late, shown = arena.ask(), arena.ask()
        seq = arena.vote(shown.duel, "left").seq
        assert arena._live.state.held
        assert arena.void([seq], "a test") == 1
        arena.vote(late.duel, "right")
        state = arena._live.state
        assert not state.held  # its turn came
        assert (state.tally.counted, state.tally.lefts, state.tally.rights) == (1, 0, 1)
        assert int(state.tally.wins.sum()) == int(state.tally.window.wins.sum()) == 1
        assert replay_log(arena._live.store, arena._live.name).to_bytes() == state.to_bytes()


def test_others_vote_while_the_log_is_read_for_a_void(store_url, clock):
    with Arena(store_url, options=OPTIONS, clock=clock, grace=0.0, seed=3) as arena:
        late, shown = arena.ask(), arena.ask()
        seq = arena.vote(shown.duel, "left").seq
        assert arena._live.state.held  # it waits for the one before it
        read, asked = arena._live.store.records, []

        def records(*args):
            found = read(*args)
            if not found and not asked:  # all is read, and nothing says that it was learned
                asked.append(True)
                voter = threading.Thread(target=arena.vote, args=(late.duel, "left"))
                voter.start()
                voter.join(LONG)
            return found

        arena._live.store.records = records
        assert arena.void([seq], "a test") == 1
        assert asked
        assert arena._live.state.tally.counted == 1  # the other one
        assert int(arena._live.state.tally.wins.sum()) == 1


def test_others_vote_while_somebody_is_erased(store_url, clock):
    with Arena(store_url, options=OPTIONS, clock=clock) as arena:
        shown = arena.ask("ann")
        drop, free = arena._live.store.drop_voter, []

        def slowly(*args):
            other = threading.Thread(
                target=lambda: free.append(arena.vote(shown.duel, "left").seq), daemon=True
            )
            other.start()
            other.join(LONG)
            return drop(*args)

        arena._live.store.drop_voter = slowly
        assert arena.erase("ann")
        assert free


def test_who_a_voter_is_can_be_erased(store_url, clock):
    with Arena(store_url, options=OPTIONS, clock=clock) as arena:
        arena.vote(arena.ask("ann").duel, "left")
        before = arena.records()
        (known,) = {record.body["voter"] for record in before if "voter" in record.body}
        assert "ann" not in str(before)
        arena.vote(arena.ask("ann").duel, "left")
        assert arena.erase("ann")
        assert not arena.erase("ann")
        assert arena.records()[: len(before)] == before
        arena.ask("ann")
        assert arena.records()[-1].body["voter"] != known


def test_an_arena_that_ended_asks_nobody_and_takes_what_is_out(arena, clock):
    shown = arena.ask()
    arena.end()
    assert refused("closed", arena.ask).startswith("the arena is closed;")
    refused("closed", arena.end)
    refused("closed", arena.join, "more")
    assert arena.vote(shown.duel, "left").counted


def test_votes_of_the_past_are_heard_before_the_first_duel(clock):
    with Arena(options=OPTIONS, clock=clock) as arena:
        votes = [("o3", "o1", "o3"), ("o3", "o2", "o3")] * 20
        assert arena.add_past_votes([*votes, ("o1", "o2", None)]) == 41
        assert arena.best().name == "blue"
        arena.ask()
        refused("too-late", arena.add_past_votes, [("o3", "o1", "o3")])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"options": ["one"]}, "from 2 to 200"),
        ({"options": ["one", "one"]}, "two options have the name 'one'"),
        ({"options": ["one", " "]}, "is empty"),
        ({"options": ["one", {"name": "two", "kind": "film"}]}, "kind='film'"),
        ({"options": ["one", 3]}, "must be a string"),
        ({"options": ["one", {"name": "two", "price": 3}]}, "unknown key 'price'"),
        ({"options": ["one", "x" * 201]}, "at most 200 characters"),
        ({"mode": "race"}, "mode='race' must be serve or panel"),
        ({"order": "random"}, "order='random'"),
        ({"ties": "both"}, "ties='both'"),
        ({"grace": -1.0}, "grace=-1.0 must be from 0"),
        ({"grace": float("nan")}, "grace=nan"),
        ({"lease": 0.0}, "lease=0.0"),
        ({"seed": -3}, "seed=-3"),
        ({"seed": "x"}, "settings are not valid"),
        ({"policy": "kign"}, "king"),
        ({"policies": ["king", "uniform"]}, "unknown field `policies`"),
        ({"name": "Not This"}, "lower-case letters"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_no_arena_is_refused_in_one_sentence(wrong, says):
    with pytest.raises(DriftduelError) as error:
        Arena(**({"options": OPTIONS} | wrong))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_an_arena_without_options_must_be_there():
    refused("no-such-arena", Arena)


def test_an_arena_of_one_name_is_there_once(store):
    manager = ArenaManager(store)
    manager.create("one", OPTIONS)
    refused("name-taken", manager.create, "one", OPTIONS)
    refused("no-such-arena", manager.arena, "two")
    refused("bad-request", manager.token, "one", "everything")
    manager.close()


def test_policies_that_cannot_let_options_go_start_anew():
    assert settings_of(3, policy="rmed1").policy == "anew-rmed1"
    assert settings_of(3, policy="king").policy == "king"


@pytest.mark.long
def test_an_option_shown_alone_asks_nobody(clock):
    with Arena(options=OPTIONS, clock=clock, mode="serve", policy="king") as arena:
        alone = 0
        for _ in range(300):
            shown = arena.ask()
            if shown.alone is not None:
                alone += 1
                assert shown.duel == ""
            else:
                arena.vote(shown.duel, "left" if shown.left.name == "blue" else "right")
        assert alone > 100
        assert arena.best().name == "blue"
        assert arena._live.state.tally.shown_alone == alone


def test_idle_arenas_are_let_go_and_come_back(store, clock):
    manager = ArenaManager(store, clock, most_live=1)
    for name in ("one", "two"):
        manager.create(name, OPTIONS)
        live = manager.arena(name)
        wait_durable(live.vote(wait_durable(live.ask()).duel, "left"))
    manager.tick()
    assert manager.live("one") is not None  # it was used a moment ago
    clock.now += 31.0
    wait_durable(manager.arena("two").ask())
    manager.tick()
    assert manager.live("one") is None
    assert store.newest_snapshot("one") is not None
    assert manager.arena("one").state.tally.votes == 1
    manager.close()


def meanwhile(verb, *args):
    """Do something in another thread, now; return whether it came through."""
    thread = threading.Thread(target=verb, args=args, daemon=True)
    thread.start()
    thread.join(30)
    return not thread.is_alive()


def test_while_a_board_is_made_people_vote(arena, monkeypatch):
    shown, voted = arena.ask("ann"), []

    def rank_options(*args):
        voted.append(meanwhile(arena.vote, shown.duel, "left"))
        return ranking.rank_options(*args)

    monkeypatch.setattr(board, "rank_options", rank_options)
    made = arena.board()
    assert voted == [True]
    # It is of the moment at which it was asked for; the next one has the vote.
    assert (made["votes"], made["open"]) == (0, 1)
    monkeypatch.undo()
    assert arena.board()["votes"] == 1


def test_while_an_options_text_is_written_people_vote(arena, monkeypatch):
    shown, voted, store = arena.ask("ann"), [], arena._live.store
    put_options = store.put_options

    def put(*args):
        if not voted:
            voted.append(meanwhile(arena.vote, shown.duel, "left"))
        put_options(*args)

    monkeypatch.setattr(store, "put_options", put)
    joined = arena.join("yellow")
    assert voted == [True]
    assert arena.board()["votes"] == 1
    assert (joined.name, arena.options()[-1]) == ("yellow", joined)


def test_a_join_that_is_refused_leaves_no_text(arena):
    arena.end()
    refused("closed", arena.join, "yellow")
    live = arena._live
    assert [text.name for text in live.store.options(live.name)] == OPTIONS


def test_those_who_join_at_once_are_two(arena, monkeypatch):
    live, others = arena._live, []
    store = live.store
    put_options = store.put_options

    def put(*args):
        put_options(*args)
        if not others:
            others.append(threading.Thread(target=arena.join, args=("yellow",), daemon=True))
            others[0].start()

    monkeypatch.setattr(store, "put_options", put)
    arena.join("white")
    others[0].join(30)
    assert [option.name for option in arena.options()] == [*OPTIONS, "white", "yellow"]
    assert [text.name for text in store.options(live.name)] == [*OPTIONS, "white", "yellow"]


def test_names_that_are_no_duels_are_not_kept():
    known = access._signature.cache_info().currsize
    for number in range(3):
        with pytest.raises(ArenaError):
            DuelName.decode(f"{number}-1-{'x' * 10_000}", b"secret", "arena")
        with pytest.raises(ArenaError):
            DuelName.decode(f"{'1' * 10_000}{number}-1-x", b"secret", "arena")
    assert access._signature.cache_info().currsize == known


def test_votes_that_wait_make_snapshots_rare(clock, monkeypatch):
    """One answer that is late holds up all others; each snapshot has them all."""
    monkeypatch.setattr(live, "_SNAPSHOT_EVERY", 10)
    with Arena("memory:", options=OPTIONS, clock=clock, grace=0.0, seed=3) as arena:
        taken = []
        append = arena._live.store.append
        arena._live.store.append = lambda batch: (
            taken.extend(entry for entry in batch if entry.snapshot) or append(batch)
        )
        late = arena.ask()
        for _ in range(300):
            arena.vote(arena.ask().duel, "left")
        assert arena._live.state.kept > 300
        assert 2 <= len(taken) < 20  # not 90
        arena.vote(late.duel, "left")
        before = len(taken)
        for _ in range(40):
            arena.vote(arena.ask().duel, "left")
        assert len(taken) - before >= 10
