"""Requests with features in an arena: asked, recorded, folded, served, exported."""

import random

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from driftduel.arena import (
    Arena,
    ArenaError,
    export_votes,
    import_votes,
    read_votes,
    wait_durable,
    write_votes,
)
from driftduel.arena.records import Record
from driftduel.arena.replay import digest, load_state, replay_log, verify_log
from driftduel.arena.state import ArenaState
from driftduel.errors import LogError
from driftduel.requests import TypedFeatures
from tests.arena.clock import Clock
from tests.requests_of import FEATURES, broken, valid

OPTIONS = ["small", "large", "coder"]
QUALITY = {
    "chat": {"small": 1.5, "coder": -1.5},
    "code": {"small": -1.5, "coder": 1.5},
    "Übung": {"large": 1.5},
}


def requests(rng, count):
    for _ in range(count):
        category = list(QUALITY)[rng.integers(3)]
        yield {"category": category, "length": float(rng.normal(100, 50))}


def vote_of(arena, shown, request, rng):
    lead = QUALITY[request["category"]]
    gap = lead.get(shown.left.name, 0.0) - lead.get(shown.right.name, 0.0)
    return arena.vote(shown.duel, "left" if rng.random() < 1 / (1 + np.exp(-gap)) else "right")


def play(arena, votes, seed=0):
    rng = np.random.default_rng(seed)
    for number, request in enumerate(requests(rng, votes)):
        vote_of(arena, arena.ask(f"voter {number}", request=request), request, rng)


def open_arena(store=None, **more):
    settings = {"options": OPTIONS, "features": FEATURES, "seed": 4} | more
    return Arena(store, **settings)


def test_the_default_policy_routes_by_the_request():
    with open_arena() as arena:
        assert arena.board().policy == "adaptive-logistic:features=4"
        play(arena, 400)
        best = {name: arena.best({"category": name, "length": 100}).name for name in QUALITY}
        assert best == {"chat": "small", "code": "coder", "Übung": "large"}
        seq = arena._live.seq
        arena.best({"category": "chat", "length": 1})
        assert arena._live.seq == seq  # nothing is written
        leaders = {each.value: each.leader.name for each in arena.board().requests.leaders}
        assert leaders == best


def test_the_arena_asks_what_the_policy_alone_would_ask():
    """The arena adds sides, graces and records, and no choice of its own."""
    from driftduel import make_policy

    features = TypedFeatures.of(FEATURES)
    seeds = np.random.SeedSequence(4).spawn(2)
    policy = make_policy("adaptive-logistic:features=4", 3, seeds[1], mode="panel", order="asked")
    rng = np.random.default_rng(1)
    with open_arena() as arena:
        for number, request in enumerate(requests(rng, 300)):
            shown = arena.ask(f"voter {number}", request=request)
            duel = policy.ask(features.numbers(request))
            assert {shown.left.id, shown.right.id} == {f"o{duel.first + 1}", f"o{duel.second + 1}"}
            vote_of(arena, shown, request, rng)
            record = arena.records(arena._live.seq - 1)[0]
            left, right = record.body["shown"]
            policy.tell(duel, left if record.body["pick"] == "left" else right)
        assert arena._live.state.policy.best() == policy.best()


@pytest.mark.parametrize("policy", ["adaptive-logistic", "lin-ts:memory=500"])
def test_the_log_folds_to_the_same_state_with_everything_that_can_happen(tmp_path, policy):
    path, clock, rng = str(tmp_path / "a.db"), Clock(), np.random.default_rng(2)
    coin = random.Random(2)
    settings = {"policy": policy, "grace": 3.0, "votes_a_day": 2, "prices": {"large": 0.2}}
    with open_arena(path, clock=clock, **settings) as arena:
        opened = []
        for number, request in enumerate(requests(rng, 400)):
            clock.now += 1
            try:
                opened.append((arena.ask(f"voter {number % 9}", request=request), request))
            except ArenaError:  # the voter gave all votes of this day
                clock.now += 86_400
                continue
            if coin.random() < 0.7:
                shown, about = opened.pop(coin.randrange(len(opened)))
                vote = vote_of(arena, shown, about, rng)
                if coin.random() < 0.1 and not vote.late:
                    arena.undo(shown.duel)
            if coin.random() < 0.05 and opened:
                arena.release(opened.pop()[0].duel)
            if number == 100:
                arena.join("fourth")
            if number % 90 == 50:
                arena.set_prices({"coder": number / 100})
            if number == 200:
                arena.leave("fourth")
        kinds = {record.kind for record in arena.records()}
        reasons = {r.body["why"] for r in arena.records() if r.kind == "forgot"}
        before = digest(arena._live.state)
        assert digest(replay_log(arena._live.store, "arena")) == before
    assert kinds >= {"priced", "joined", "left", "undone", "forgot", "told"}
    assert reasons >= ({"capped"} if policy.startswith("lin-ts") else {"released"})
    with Arena(path, clock=clock) as arena:  # from the snapshot
        assert arena.prices()["o3"] == 3.2
        arena.ask("voter 1", request={"category": "chat", "length": 0})
        state, snapshot = load_state(arena._live.store, "arena")
        asked = sum(record.kind == "asked" for record in arena.records())
        assert state.means.counts.sum() == asked  # each request has one category
        assert snapshot > 0
        assert digest(state) == digest(replay_log(arena._live.store, "arena"))
        assert "all hashes are correct" in verify_log(arena._live.store, "arena")


def test_every_asked_record_has_the_request_and_its_scaled_form():
    features = TypedFeatures.of(FEATURES)
    for policy in ("adaptive-logistic", "lin-ucb:memory=500", "king"):
        with open_arena(policy=policy) as arena:
            play(arena, 20)
            asked = [record.body for record in arena.records() if record.kind == "asked"]
            for body in asked:
                scaled = body.get("scaled") or body["notes"][-5:]
                assert scaled == list(features.scale(body["request"]))
            assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)


def test_a_duel_is_resumed_for_an_equal_request_only():
    with open_arena() as arena:
        one = {"category": "chat", "length": 1}
        first = arena.ask("ann", request=one)
        assert arena.ask("ann", request=dict(reversed(one.items())), resume=True).duel == first.duel
        other = arena.ask("ann", request={**one, "length": 2}, resume=True)
        assert other.duel != first.duel
        assert arena.ask("ann", request=one, resume=True).duel == first.duel


def test_the_next_duel_of_a_vote_has_its_request():
    with open_arena() as arena:
        request = {"category": "code", "length": 30.0}
        shown = arena.ask("ann", request=request)
        _, following = wait_durable(arena._live.vote_and_ask(shown.duel, "left"))
        again = arena._live.vote_and_ask(shown.duel, "left").answer[1]  # the response was lost
        assert again.duel == following.duel
        assert arena.records(arena._live.seq - 1)[0].body["request"] == request


def test_requests_work_with_items_and_forced_duels():
    items = [
        {"id": f"q{n}", "answers": {name: f"{name} {n}" for name in OPTIONS[: 2 + n % 2]}}
        for n in range(6)
    ]
    with open_arena(options=None, items=items, features=["category=chat,code,Übung"]) as arena:
        assert arena._live.state.settings.policy == "adaptive-logistic:features=3,one_hot=true"
        rng = np.random.default_rng(0)
        for request in requests(rng, 12):  # the number of items times their pairs
            del request["length"]
            vote_of(arena, arena.ask("ann", request=request), request, rng)
        with pytest.raises(ArenaError, match="nothing is left"):
            arena.ask("ann", request={"category": "chat"})
        forced = [r for r in arena.records() if r.body.get("forced")]
        assert forced
        assert all(record.body["scaled"] for record in forced)
        assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)


def test_prices_count_in_choices_and_are_not_learned():
    with open_arena() as arena:
        play(arena, 200)
        assert arena.best({"category": "chat", "length": 100}).name == "small"
        means = arena._live.state.policy.state.mean.copy()
        assert arena.set_prices({"small": 9.0, "o3": 9}) == {"o1": 9.0, "o2": 0.0, "o3": 9.0}
        assert (arena._live.state.policy.state.mean == means).all()
        assert arena.best({"category": "chat", "length": 100}).name == "large"
        assert "Prices in log-odds: small 9 and coder 9;" in arena.board().says.requests
        seq = arena._live.seq
        arena.set_prices({"small": 9.0})  # no change, no record
        assert arena._live.seq == seq
        for price in (float("nan"), 101, "1", None, True, 10**5000):
            with pytest.raises(ArenaError, match="a price is"):
                arena.set_prices({"small": price})
        with pytest.raises(ArenaError, match="does not exist"):
            arena.set_prices({"nobody": 1})
    with Arena(options=["a", "b"]) as arena:
        assert arena.prices() == {}
        with pytest.raises(ArenaError, match="takes no prices"):
            arena.set_prices({"a": 1})


def test_what_cannot_be_created():
    for settings, fault in [
        ({"policy": "king", "prices": {"small": 1}}, "takes no prices"),
        ({"prices": {"nobody": 1}}, "of a price does not exist"),
        ({"prices": {"small": 1e9}}, "a price is"),
        ({"policy": "adaptive-logistic:features=3"}, "leave out features="),
        ({"features": ["c=" + ",".join(map(str, range(30)))], "options": 20}, "600 coefficients"),
    ]:
        options = settings.pop("options", 3)
        names = OPTIONS[:options] + [f"o {each}" for each in range(options - 3)]
        with pytest.raises(Exception, match=fault):
            open_arena(options=names, **settings)
    with pytest.raises(ArenaError, match="leave out features="):
        Arena(options=["a", "b"], policy="adaptive-logistic:features=3")


def test_features_never_change(tmp_path):
    path = str(tmp_path / "a.db")
    open_arena(path).close()
    open_arena(path).close()
    Arena(path).close()
    with pytest.raises(ArenaError, match="cannot change; create a new arena"):
        open_arena(path, features=["category=chat,code"])


def test_options_join_up_to_the_number_of_coefficients():
    with open_arena(features=["c=" + ",".join(map(str, range(32))), "x:number"]) as arena:
        for number in range(4, 16):
            arena.join(f"option {number}")
        with pytest.raises(ArenaError) as error:
            arena.join("one more")
        assert error.value.problem == "too-many"
        arena.ask(request={"c": "3", "x": 0})
        assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)


def test_broken_requests_change_nothing():
    rng = random.Random(3)
    with open_arena() as arena:
        arena.ask("ann", request=valid(rng))
        before = digest(arena._live.state)
        for _ in range(500):
            for call in (lambda r: arena.ask("bob", request=r), arena._live.state.check_request):
                with pytest.raises(ArenaError) as error:
                    call(broken(rng))
                assert error.value.problem == "wrong-request"
        assert digest(arena._live.state) == before
    with Arena(options=["a", "b"]) as arena, pytest.raises(ArenaError, match="has no features"):
        arena.ask(request={})


def damaged(body, rng):
    """Return a copy of the body of a record with one changed field."""
    body = dict(body)
    name = rng.choice([key for key in body if key in ("request", "notes", "scaled", "prices")])
    old = body[name]
    match rng.randrange(5):
        case 0:
            del body[name]
        case 1:
            body[name] = rng.choice([None, 1, "x", [], {}, [[]], old.__class__()])
        case 2 if isinstance(old, dict):
            body[name] = broken(rng)
        case 3 if isinstance(old, dict):
            body[name] = {**old, "length": old["length"] + (40 if old["length"] < 100 else -40)}
        case _ if isinstance(old, list):
            place = rng.randrange(len(old))
            wrong = rng.choice([None, "x", float("nan"), 1e300])
            if name != "prices" and rng.random() < 0.5:  # another price would be valid
                wrong = old[place] + 0.3
            body[name] = [*old[:place], wrong, *old[place + 1 :]]
        case _:
            body[name] = None
    return body


def test_damaged_records_are_found():
    with open_arena(prices={"large": 0.2}) as arena:
        play(arena, 30)
        arena.set_prices({"small": 0.5})
        records = arena.records()
    rng = random.Random(8)
    known = [r for r in records[1:] if {"request", "notes", "prices"} & r.body.keys()]
    state, snapshots = ArenaState.from_first_record(records[0]), {}
    for record in records[1:]:
        snapshots[record.seq] = state.to_bytes()
        state.apply(record)
    for _ in range(600):
        record = rng.choice(known)
        body = damaged(record.body, rng)
        state = ArenaState.from_bytes(snapshots[record.seq])
        with pytest.raises(LogError) as error:
            state.apply(Record(record.seq, record.at, record.kind, body))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_export_keeps_the_requests_and_is_imported_again(tmp_path, ending):
    path = tmp_path / f"votes.{ending}"
    with open_arena() as arena:
        play(arena, 80)
        votes = export_votes(arena._live.store, "arena")
        given = [r.body["request"] for r in arena.records() if r.kind == "voted"]
    assert votes["request.category"].to_list() == [each["category"] for each in given]
    assert votes["request.length"].to_list() == [each["length"] for each in given]
    write_votes(votes, path)
    with open_arena() as arena:
        assert import_votes(arena._live, read_votes(path)) == 80
        again = export_votes(arena._live.store, "arena", imported=True)
        assert again["request.length"].to_list() == votes["request.length"].to_list()
        assert arena._live.state.policy.state.numbers[0].clock == 80
        assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)
    with Arena(options=OPTIONS) as arena, pytest.raises(ArenaError, match="vote 1 of the file has"):
        import_votes(arena._live, read_votes(path))
    other = open_arena(features=["category=chat,other", "length:number"])
    with other, pytest.raises(ArenaError, match="vote 1 of the file: the feature 'category' is"):
        import_votes(other._live, read_votes(path))


def test_a_vote_without_a_request_is_not_imported():
    with open_arena() as arena, pytest.raises(ArenaError, match="the arena has features"):
        arena.add_past_votes([("small", "large", "small")])


# ---- the board


def voted(votes, quality=QUALITY, seed=0, **settings):
    """Return an arena with votes of judges, or of different voters, on random pairs."""
    arena = open_arena(policy="uniform", **settings)
    rng = np.random.default_rng(seed)
    for number, request in enumerate(requests(rng, votes)):
        known = {each.name: request[each.name] for each in arena._live.state.features.features}
        shown = arena.ask(f"voter {number}", request=known)
        lead = quality[request["category"]]
        gap = lead.get(shown.left.name, 0.0) - lead.get(shown.right.name, 0.0)
        arena.vote(shown.duel, "left" if rng.random() < 1 / (1 + np.exp(-gap)) else "right")
    return arena


def test_the_evidence_of_the_board_is_that_of_the_log(tmp_path):
    """Looks are at 50 votes and 10% more each; with categories only, the scaling is the same."""
    from driftduel.logs import feature_evidence, read_log
    from driftduel.logs.feature_votes import feature_votes

    path = tmp_path / "votes.csv"
    weak = {"chat": {"small": 0.8}, "code": {"coder": 0.8}, "Übung": {}}
    with voted(140, weak, 3, features=["category=chat,code,Übung"]) as arena:
        found = arena.board().requests.evidence
        votes = export_votes(arena._live.store, "arena")
    write_votes(votes.head(found.looked), path)
    assert (found.votes, found.looked) == (140, 138)
    log = read_log(path, features=["category"], columns={"group": "voter"})
    again = feature_evidence(feature_votes(log))
    assert found.e == pytest.approx(np.exp(again.largest), rel=1e-9)
    assert found.matters == again.matters


def test_a_dependence_is_found_and_its_absence_is_not_claimed_away():
    with voted(600) as arena:
        board = arena.board()
        assert board.requests.evidence.matters
        assert board.requests.evidence.which == ["category"]
        assert "Preferences depend on the features (evidence" in board.says.requests
        assert board.says.requests in board.to_json()["says"]["requests"]
        assert "uniform ignores the requests: its leader is the same for all." in str(board)
    with voted(300, quality={name: {"small": 1.0} for name in QUALITY}) as arena:
        said = arena.board().says.requests
        assert "So far no dependence of preferences on the features is established (ev" in said
    with voted(20) as arena:
        assert "it takes 50 votes of different voters with a winner, and there are 20." in (
            arena.board().says.requests
        )


def test_looks_are_a_function_of_the_log(tmp_path):
    """The board of a reader, and of an arena that was read at every vote, are the same."""
    from driftduel.arena import load_board

    path = str(tmp_path / "a.db")
    with open_arena(path) as arena:
        rng = np.random.default_rng(5)
        looked = set()
        for number, request in enumerate(requests(rng, 80)):
            vote_of(arena, arena.ask(f"voter {number}", request=request), request, rng)
            looked.add(arena.board().requests.evidence.looked)
        assert looked == {0, 50, 55, 61, 68, 75}
        assert load_board(arena._live.store, "arena") == arena.board()
        seq = [r.seq for r in arena.records() if r.kind == "voted"][3]
        before = arena.board().requests.evidence
        arena.void([seq], "a test")
        assert arena.board().requests.evidence.e != before.e
        assert load_board(arena._live.store, "arena") == arena.board()


def test_one_voter_is_one_vote_for_each_pair():
    with open_arena() as arena:
        rng = np.random.default_rng(5)
        for request in requests(rng, 60):
            vote_of(arena, arena.ask("ann", request=request), request, rng)
        assert arena.board().requests.evidence.votes <= 3
    with open_arena(claim="judges") as arena:
        for request in requests(rng, 60):
            vote_of(arena, arena.ask("ann", request=request), request, rng)
        assert arena.board().requests.evidence.votes == 60


def test_another_mix_of_requests_certifies_no_change():
    """Preferences of each request stay; the requests change. Without features it is certified."""
    certified = []
    for features in (FEATURES[:1], []):
        with open_arena(options=["small", "coder"], features=features, policy="king") as arena:
            rng = np.random.default_rng(1)
            for number in range(400):
                request = {"category": "chat" if number < 200 else "code"}
                shown = arena.ask(f"v {number}", request=request if features else None)
                vote_of(arena, shown, request, rng)
            board = arena.board()
            certified.append(len(board.certified_changes))
            assert ("With features no change" in board.says.certified) == bool(features)
            assert ("ever certifies a change" in board.guarantee) != bool(features)
            assert digest(replay_log(arena._live.store, "arena")) == digest(arena._live.state)
    assert certified[0] == 0
    assert certified[1] > 0


def test_a_sure_board_says_over_which_requests():
    with open_arena(options=["small", "coder"]) as arena:
        rng = np.random.default_rng(1)
        for number in range(60):
            request = {"category": "chat", "length": 100.0}
            vote_of(arena, arena.ask(f"v {number}", request=request), request, rng)
        board = arena.board()
    assert board.sure
    assert "over the requests at which they met" in board.says.doubt
    assert "small leads for the mean request" in board.says.claim
    assert board.says.requests.startswith("Leaders by category: small for chat.")
    assert "odds against the leader, for the mean request and after prices" in board.says.challenger


def test_the_mean_of_the_last_requests_with_a_value_follows_their_other_features():
    with open_arena(options=["a", "b"], features=FEATURES) as arena:
        for number in range(1200):
            arena.ask(request={"category": "chat", "length": 100.0 + (150 if number > 200 else 0)})
        rows = {value: (count, mean) for _, value, count, mean in arena._live.state.means.rows()}
    assert rows["code"][0] == 0
    features = TypedFeatures.of(FEATURES)
    old, new = (np.array(features.scale({"category": "chat", "length": x})) for x in (100, 250))
    share, weight = 0.0, 0.0
    for number in range(1, 1201):
        weight = 1 / min(number, 1000)
        share += ((number > 201) - share) * weight
    assert rows["chat"][0] == 1200
    assert rows["chat"][1] == pytest.approx(old + share * (new - old))


def test_hostile_names_reach_a_page_escaped():
    name = "<img src=x onerror=alert(1)>"
    features = [{"name": name, "values": [name, "'\"&"]}, "constructor:number"]
    with open_arena(features=features) as arena:
        for number in range(60):
            shown = arena.ask(f"v {number}", request={name: name, "constructor": number})
            arena.vote(shown.duel, "left")
        html = arena.board()._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html
