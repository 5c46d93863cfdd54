"""Slates: three to six options at once, picked or ranked; state, log, evidence, items, files."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")
pytest.importorskip("scipy")

import msgspec

from driftduel.arena import Arena, ArenaError
from driftduel.arena.board import load_board
from driftduel.arena.file_schemas import FILES
from driftduel.arena.import_export import (
    export_votes,
    import_votes,
    lines_of,
    preference_pairs,
    write_pairs,
    write_votes,
)
from driftduel.arena.replay import digest, replay_log
from driftduel.arena.slate_votes import card_number, compared_pairs, half_of_top
from driftduel.arena.state import ArenaState
from driftduel.arena.vote_files import read_votes
from driftduel.errors import LogError
from driftduel.logs import describe_subgroups, read_log, tagged_votes
from driftduel.policies import policy_to_bytes
from tests.arena.audit import audit
from tests.arena.clock import Clock
from tests.arena.simulated import Simulated

NAMES = list("abcdefg")


def gumbel_order(rng, utilities):
    """Return places in the order of a Plackett-Luce ranking."""
    return np.argsort(-(np.asarray(utilities) + rng.gumbel(size=len(utilities)))).tolist()


def eventful(seed, feedback, votes=120, **settings):
    """Yield an arena at the end of a random history with every kind of record."""
    rng, clock = np.random.default_rng([seed, 32]), Clock()
    utility = dict(zip([*NAMES, "new"], rng.normal(size=8).tolist(), strict=True))
    arena = Arena(
        options=NAMES[:6], show=4, feedback=feedback, seed=seed, clock=clock, grace=5.0, **settings
    )
    done = []
    for number in range(votes):
        clock.now += float(rng.integers(1, 4))
        shown = arena.ask(f"voter {rng.integers(40)}", tags={"page": "ab"[number % 2]})
        draw = rng.random()
        order = [1 + p for p in gumbel_order(rng, [utility[o.name] for o in shown.options])]
        if draw < 0.08:
            arena.release(shown.duel)
            arena.tick()
            if draw < 0.04:
                assert arena.vote(shown.duel, "c").late
        elif draw < 0.2:
            arena.vote(shown.duel, ["tie", "both-bad", "skip"][number % 3])
        elif feedback == "pick":
            arena.vote(shown.duel, order[0])
        else:
            arena.vote(shown.duel, ranking=order[: int(rng.integers(1, len(order) + 1))])
        if 0.2 < draw < 0.25:
            arena.undo(shown.duel)
        elif draw > 0.2:
            done.append(shown)
        if number == 40:
            arena.leave("a")
        if number == 60:
            arena.join("new")
        if number == 90:
            arena.tick()
            seqs = [r.seq for r in arena.records() if r.kind == "voted" and "shown" in r.body]
            assert arena.void(rng.choice(seqs[:-9], 5, replace=False).tolist(), "a test") == 5
    return arena


@pytest.mark.parametrize("feedback", ["pick", "ranking"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_state_is_the_fold_of_its_log_and_of_its_snapshots(seed, feedback):
    with eventful(seed, feedback) as arena:
        live = arena._live
        kinds = {record.kind for record in arena.records()}
        assert kinds >= {"asked", "voted", "told", "forgot", "undone", "voided", "joined", "left"}
        whole = replay_log(live.store, live.name)
        assert digest(whole) == digest(live.state)
        again = ArenaState.from_bytes(live.state.to_bytes())
        assert digest(again) == digest(live.state)
        middle = replay_log(live.store, live.name, 200)  # with open duels and waiting votes
        middle = ArenaState.from_bytes(middle.to_bytes())
        for record in arena.records(200):
            middle.apply(record)
        assert digest(middle) == digest(live.state)
        assert load_board(live.store, live.name) == arena.board()


@pytest.mark.parametrize("feedback", ["pick", "ranking"])
def test_another_reader_of_the_log_gets_the_same_policy(feedback):
    with eventful(6, feedback) as arena:
        arena.tick()
        state = arena._live.state
        seed = np.random.SeedSequence(6).spawn(2)[1]
        assert policy_to_bytes(audit(arena.records(), seed).policy) == policy_to_bytes(state.policy)


@pytest.mark.parametrize("feedback", ["pick", "ranking"])
def test_counts_of_pairs_are_those_of_the_log(feedback):
    """Count the pairs of the log in the most literal way, with dictionaries."""
    with eventful(3, feedback) as arena:
        clock = arena._live._clock
        clock.now += 10_000
        arena.tick()
        records = arena.records()
        votes, gone = {}, set()
        for record in records:
            if record.kind == "voted" and not record.body.get("late"):
                votes[record.body["ref"]] = record
            elif record.kind == "undone":
                del votes[record.body["ref"]]
            elif record.kind == "voided":
                gone |= {each[0] for each in record.body["votes"]}
        wins, ties, skips = Counter(), Counter(), Counter()
        learned = {r.body["ref"] for r in records if r.kind == "told"}
        for ref, record in votes.items():
            shown, ranking = record.body["shown"], record.body.get("ranking", [])
            for one, other in itertools.permutations(shown, 2):
                if record.body["pick"] == "skip":
                    skips[one, other] += 1
                elif record.seq in gone or ref not in learned:
                    continue
                elif not ranking:
                    ties[one, other] += 1
                elif one in ranking and (
                    other not in ranking or ranking.index(one) < ranking.index(other)
                ):
                    wins[one, other] += 1
        tally = arena._live.state.tally
        for pair in itertools.permutations(range(len(tally.wins)), 2):
            assert tally.wins[pair] == wins[pair], pair
            assert tally.tied[pair] == ties[pair], pair
            assert tally.skipped[pair] == skips[pair], pair
        assert wins
        assert ties
        board = arena.board()
        assert board.votes == sum(r.body["pick"] != "skip" for r in votes.values())
        assert board.learned == sum(
            ref in learned and record.seq not in gone and record.body["pick"] != "skip"
            for ref, record in votes.items()
        )


@pytest.mark.parametrize(
    "settings", [{"mode": "serve"}, {"policy": "slate-uniform"}, {"show": 6}, {"claim": "judges"}]
)
def test_other_settings_fold_too(settings):
    alone, sizes = 0, set()
    with Arena(options=NAMES, grace=0.0, seed=1, **({"show": 4} | settings)) as arena:
        for number in range(60):
            shown = arena.ask(f"v{number % 20}")
            alone += shown.alone is not None
            sizes.add(len(shown.options))
            if shown.options and number % 5:
                arena.vote(shown.duel, 1)
        live = arena._live
        assert digest(replay_log(live.store, live.name)) == digest(live.state)
        assert digest(ArenaState.from_bytes(live.state.to_bytes())) == digest(live.state)
    assert bool(alone) == ("mode" in settings)
    assert max(sizes) == settings.get("show", 4)


def test_the_log_names_the_options_as_shown_and_as_ranked():
    with Arena(options=NAMES, show=4, feedback="ranking", seed=5) as arena:
        shown = arena.ask("ann")
        arena.vote(shown.duel, ranking=[2, "d"])
        asked, voted = arena.records()[-2:]
        cards = [int(option.id[1:]) - 1 for option in shown.options]
        assert asked.body["cards"] == voted.body["shown"] == cards
        assert {*asked.body["pair"], *asked.body["others"]} == {*cards}
        assert asked.body["notes"] == asked.body["others"]
        assert (voted.body["pick"], voted.body["ranking"]) == ("ranked", [cards[1], cards[3]])
        assert arena.records(0, 1)[0].body["settings"]["policy"] == "king:slate=4"


def test_a_vote_that_differs_from_the_log_is_detected():
    with Arena(options=NAMES, show=3, seed=5, grace=0.0) as arena:
        for number in range(20):
            arena.vote(arena.ask(f"v{number}").duel, 1)
        live = arena._live
        records = arena.records()
        for place, record in enumerate(records):
            if record.kind != "voted":
                continue
            state = replay_log(live.store, live.name, record.seq - 1)
            for changed in ({"ranking": [99]}, {"ranking": record.body["shown"][1:2]},
                            {"shown": record.body["shown"][::-1]}, {"ranking": []},
                            {"pick": "left"}, {"ranking": "x"}, {"cards": ["a"]}):  # fmt: skip
                body = {**record.body, **changed}
                try:
                    state.apply(type(record)(record.seq, record.at, "voted", body))
                    for later in records[place + 1 :]:
                        state.apply(later)
                except LogError:
                    pass
                else:
                    # The pick of another card is possible; the policy then shows other options.
                    assert changed == {"ranking": record.body["shown"][1:2]}
                state = replay_log(live.store, live.name, record.seq - 1)
            break


def test_cards_are_in_random_order():
    first = Counter()
    with Arena(options=NAMES[:4], show=4, seed=2, lease=1.0) as arena:
        for number in range(800):
            shown = arena.ask(f"v{number}")
            first[tuple(option.name for option in shown.options)] += 1
            arena.vote(shown.duel, "skip")
    assert len(first) == 24
    expected = 800 / 24
    chi = sum((count - expected) ** 2 / expected for count in first.values())
    assert chi < 23 + 4 * (2 * 23) ** 0.5


def test_an_arena_with_duels_is_written_as_before():
    with Arena(options=NAMES, seed=1) as arena:
        settings = arena.records(0, 1)[0].body["settings"]
        assert not {"show", "feedback"} & settings.keys()
        shown = arena.ask("ann")
        assert shown.options == ()
        arena.vote(shown.duel, "left")
        asked, voted = arena.records()[-2:]
        assert asked.body.keys() == {"ref", "pair", "left", "voter"}
        assert voted.body.keys() == {"ref", "pick", "shown", "voter"}
        assert "show" not in arena.board().to_json()
        for wrong in (1, "a", None):
            with pytest.raises(ArenaError, match="must be left, right, tie, both-bad, skip"):
                arena.vote(arena.ask("bob").duel, wrong)
        with pytest.raises(ArenaError, match="a duel has no ranking"):
            arena.vote(arena.ask("bob").duel, ranking=[1, 2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"show": 4, "policy": "dts"},
            "'dts' cannot show 4 options at once; use policy='king' or 'slate-dts', or show=2.",
        ),
        ({"show": 7}, "show=7 must be a whole number from 2 to 6"),
        ({"show": 1}, "show=1 must be"),
        ({"show": True}, "show=True must be"),
        ({"show": 4, "policy": "king:slate=4"}, "leave out slate="),
        ({"policy": "king:slate=4"}, "leave out slate=, and pass show="),
        ({"feedback": "ranking"}, "feedback='ranking' needs show=3"),
        ({"show": 3, "feedback": "best"}, "feedback='best' must be pick or ranking"),
        ({"show": 3, "features": ["kind=a,b"]}, "show=3 does not support features"),
        ({"show": 3, "prices": {"a": 0.5}}, "use policy='king'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, said):
    with pytest.raises(ArenaError, match=said.replace("(", r"\(")) as refused:
        Arena(options=NAMES, **settings)
    assert refused.value.problem == "bad-request"
    assert str(refused.value).count(". ") == 0


def test_answers_that_cannot_be_are_refused():
    with Arena(options=NAMES, show=4, feedback="ranking", seed=1) as arena:
        duel, before = arena.ask("ann").duel, arena.records()[-1].seq
        for pick, said in [
            ("left", "pick='left' must be the number or the letter of a card"),
            (5, "card 5 was not shown; the cards are 1 to 4"),
            ("e", "card 5 was not shown"), (0, "pick=0 must be"), (True, "pick=True must be"),
            (2.0, "pick=2.0 must be"), (None, "not both or neither"),
        ]:  # fmt: skip
            with pytest.raises(ArenaError, match=said):
                arena.vote(duel, pick)
        for ranking, said in [
            ([], "must be a list"), ("ab", "must be a list"), (3, "must be a list"),
            ([1, 1], "has a card twice"), ([1, 6], "card 6 was not shown"), ([1, "x"], "must be"),
        ]:  # fmt: skip
            with pytest.raises(ArenaError, match=said):
                arena.vote(duel, ranking=ranking)
        with pytest.raises(ArenaError, match="not both or neither"):
            arena.vote(duel, 1, ranking=[1])
        assert arena.records()[-1].seq == before
        vote = arena.vote(duel, ranking=["c", 1])
        assert arena.vote(duel, ranking=[3, "a"]) == vote  # the same answer
        for other in ({"ranking": [1, 3]}, {"ranking": [3]}, {"pick": 3}, {"pick": "tie"}):
            with pytest.raises(ArenaError, match="answered with '3 > 1' before"):
                arena.vote(duel, **other)
    with Arena(options=NAMES, show=4, seed=1) as arena:
        with pytest.raises(ArenaError, match="takes the pick of one card"):
            arena.vote(arena.ask("ann").duel, ranking=[2, 1])
        duel = arena.ask("ann").duel
        assert arena.vote(duel, ranking=[2]) == arena.vote(duel, "B")


def test_a_repeated_answer_is_known_after_a_restart(tmp_path):
    path = str(tmp_path / "a.db")
    with Arena(path, options=NAMES, show=4, feedback="ranking", seed=1) as arena:
        shown, late = arena.ask("ann"), arena.ask("bob")
        vote = arena.vote(shown.duel, ranking=[4, 2])
        arena.release(late.duel)
        arena.tick()
        assert arena.vote(late.duel, ranking=[3, 1]).late
    with Arena(path) as arena:
        assert arena.vote(shown.duel, ranking=["d", "b"]).seq == vote.seq
        with pytest.raises(ArenaError, match="answered with '4 > 2' before"):
            arena.vote(shown.duel, 4)
        assert arena.vote(late.duel, ranking=[3, 1]).late
        with pytest.raises(ArenaError, match="answered with '3 > 1' before"):
            arena.vote(late.duel, ranking=[1, 3])


def test_resume_undo_and_a_departure_while_a_slate_is_open():
    with Arena(options=NAMES, show=4, seed=1, grace=60.0) as arena:
        shown = arena.ask("ann")
        assert arena.ask("ann", resume=True).duel == shown.duel
        gone = shown.options[1]
        arena.leave(gone.id)
        again = arena.ask("ann", resume=True)
        assert [o.id for o in again.options] == [o.id for o in shown.options]
        assert arena.vote(shown.duel, 2).counted  # open slates can still be answered
        arena.undo(shown.duel)
        assert arena.ask("ann", resume=True).duel == shown.duel
        assert arena.vote(shown.duel, 1).counted
        for _ in range(30):
            new = arena.ask("bob")
            assert gone.id not in {option.id for option in new.options}
        for option in [o for o in arena.options() if o.present][3:]:
            arena.leave(option.id)
        assert len(arena.ask("eve").options) == 3  # fewer are present
        arena.leave(next(o.id for o in arena.options() if o.present))
        pair = arena.ask("zoe")
        assert len(pair.options) == 2
        assert pair.left is None
        assert arena.vote(pair.duel, "b").counted


def test_the_daily_cap_is_for_a_set_of_options():
    clock = Clock()
    with Arena(options=NAMES[:3], show=3, seed=1, votes_a_day=3, clock=clock) as arena:
        for _ in range(3):
            arena.vote(arena.ask("ann").duel, 1)
        with pytest.raises(ArenaError, match="nothing is left to compare today"):
            arena.ask("ann")
        arena.ask("bob")
        clock.now += 86_400
        arena.ask("ann")


# -- evidence


def test_each_decided_pair_of_the_leader_is_evidence_once_per_voter():
    simulated = Simulated(4, seed=1, show=4, feedback="ranking")
    state, tally = simulated.state, simulated.tally

    def vote(voter, ranked):
        ref = simulated.ask(voter)
        shown = state.open[ref].cards
        simulated.at += 1
        wanted = [arm for arm in ranked if arm in shown]
        state.vote(simulated.at, ref, "ranked", cards=[shown.index(arm) + 1 for arm in wanted])
        simulated.settle()

    for number in range(30):
        vote(f"x{number}", [0, 1, 2, 3])
    assert tally.leader == 0
    before = {each.rival: each.wins for each in tally.stretch.evidence(state.present)}
    vote("ann", [1])  # decides 1 over 0; of 0 and 2 nothing is known
    after = {each.rival: (each.wins, each.losses) for each in tally.stretch.evidence(state.present)}
    assert after == {1: (before[1], 1), 2: (before[2], 0), 3: (before[3], 0)}
    vote("ann", [2, 0])  # her first decided vote on 0 and 2, and on 0 and 3; her second on 0 and 1
    after = {each.rival: (each.wins, each.losses) for each in tally.stretch.evidence(state.present)}
    assert after == {1: (before[1], 1), 2: (before[2], 1), 3: (before[3] + 1, 0)}
    assert tally.number == tally.votes == 32


def test_a_slate_is_one_vote_of_weight_two_over_its_size():
    assert compared_pairs([5, 7], [7]) == [(7, 5, 1, 1.0)]
    picked = compared_pairs([0, 1, 2, 3], [2])
    assert [pair[:3] for pair in picked] == [(2, 0, 1), (2, 1, 1), (2, 3, 1)]
    assert {pair.weight for pair in picked} == {0.5}
    ranked = compared_pairs([0, 1, 2], [2, 0, 1])
    assert [pair[:3] for pair in ranked] == [(2, 0, 1), (2, 1, 1), (0, 1, 1)]
    assert [round(pair.weight, 6) for pair in ranked] == [0.666667, 0.666667, 1.0]
    assert all(pair.won == -1 for pair in compared_pairs([0, 1, 2], []))
    assert [half_of_top(range(5), top) for top in range(5)] == [1, 1, -1, 0, 0]
    assert [card_number(x) for x in ("F", "6", 6, "g", 0, "10", 1.0)] == [6, 6, 6, *[None] * 4]


def test_bands_of_picks_have_the_width_of_plackett_and_luce():
    """Of equal options, a pick from four says 3/4 of what its decided pairs would say as duels."""
    simulated = Simulated(4, seed=1, show=4)
    window = simulated.tally.window
    for number in range(40):
        window.add_slate(compared_pairs([0, 1, 2, 3], [number % 4]), number)
    pairs = 4 * 3 / 2
    # The Fisher information of a pick, summed over pairs, is the sum over pairs of 1/16.
    assert window.wins.sum() / 4 == pytest.approx(40 * pairs / 16)


@pytest.mark.long
@pytest.mark.parametrize("feedback", ["pick", "ranking"])
def test_equal_options_are_rarely_called_sure(feedback):
    """The two best of five are equal: a false "sure" is at most 5%, though pairs are dependent."""
    utilities, wrong = [0.8, 0.8, 0.0, -0.4, -0.8], 0
    for seed in range(80):
        simulated = Simulated(5, seed, show=4, feedback=feedback)
        state = simulated.state
        ever = False
        for _ in range(250):
            ref = simulated.ask()
            shown = state.open[ref].cards
            order = [1 + p for p in gumbel_order(simulated.rng, [utilities[a] for a in shown])]
            simulated.at += 1
            state.vote(
                simulated.at, ref, "ranked", cards=order if feedback == "ranking" else order[:1]
            )
            simulated.settle()
            ever |= simulated.is_sure
        wrong += ever
    assert wrong <= 9  # a bound of 4 in 80; ten or more have a probability below 1%


@pytest.mark.long
def test_a_clear_winner_is_sure_and_a_change_is_certified():
    simulated = Simulated(4, 1, show=4, feedback="ranking")
    state, utilities = simulated.state, [1.5, 0.0, 0.0, 0.0]
    sure = False
    for vote in range(900):
        if vote == 450:
            utilities = [0.0, 1.5, 0.0, 0.0]
        ref = simulated.ask()
        shown = state.open[ref].cards
        order = [1 + p for p in gumbel_order(simulated.rng, [utilities[a] for a in shown])]
        simulated.at += 1
        state.vote(simulated.at, ref, "ranked", cards=order)
        simulated.settle()
        sure |= vote < 450 and simulated.is_sure
    assert sure
    assert simulated.tally.leader == 1
    found = {(each["before"], each["after"]) for each in simulated.tally.certified}
    assert (0, 1) in found


def test_the_board_says_what_slates_need():
    with Arena(options=NAMES, show=3, seed=1) as arena:
        for number in range(40):
            arena.vote(arena.ask(f"v{number}").duel, 1)
        board = arena.board()
        assert board.show == board["show"] == 3
        assert "independence of irrelevant alternatives" in board.guarantee
        assert "Plackett-Luce" in board.says.ranking
        assert board.says.left.endswith("more votes are needed.")  # always the first card
        assert "first cards" in board.says.left
        assert board.ranking_votes <= 40
        assert sum(option.wins for option in board.ranking) == 2 * board.ranking_votes


# -- items


def items(count, answers=lambda number: "abcdef", **more):
    return [
        {"id": f"p{number}", "prompt": f"Question {number}", **more,
         "answers": {name: f"{name} to {number}" for name in answers(number)}}
        for number in range(count)
    ]  # fmt: skip


def test_an_item_has_answers_of_all_options_shown_and_is_new_to_the_voter():
    some = items(20, lambda n: "abcdef" if n % 2 else "abcde")
    with Arena(items=some, show=4, seed=3) as arena:
        seen, counts = set(), Counter()
        for number in range(160):
            shown = arena.ask("ann" if number % 2 else f"v{number}")
            record = next(r for r in reversed(arena.records(0, 10**6)) if r.kind == "asked")
            body = record.body
            if "f" in {option.name for option in shown.options}:
                assert body["item"] % 2 == 0  # items are numbered from 1
            assert all(o.content.startswith(o.name) for o in shown.options)
            counts[body["item"]] += 1
            if number % 2:
                key = body["item"], frozenset(body["cards"])
                assert key not in seen
                seen.add(key)
            arena.vote(shown.duel, 1 + number % 4)
        assert len(counts) == 20
        for part in (0, 1):  # items with an answer of f, and the others
            shown = [count for item, count in counts.items() if item % 2 == part]
            assert max(shown) - min(shown) <= 3
        live = arena._live
        assert digest(replay_log(live.store, live.name)) == digest(live.state)
        assert digest(ArenaState.from_bytes(live.state.to_bytes())) == digest(live.state)


def test_a_slate_shrinks_if_items_lack_answers():
    """Three of six options have an answer: the arena shows these three, and evens out the items."""
    some = items(12, lambda n: ["abc", "bcd", "def"][n % 3])
    whole = [{"id": "whole", "answers": {name: name for name in "abcdef"}}]
    with Arena(items=whole, show=4, seed=3) as arena:
        arena.add_items(some)
        arena.retire_item("whole")
        counts = Counter()
        for number in range(60):
            shown = arena.ask(f"v{number}")
            names = {option.name for option in shown.options}
            assert names in ({*"abc"}, {*"bcd"}, {*"def"})
            body = next(r.body for r in reversed(arena.records(0, 10**6)) if r.kind == "asked")
            assert body["forced"]
            counts[body["item"]] += 1
            arena.vote(shown.duel, 1)
        assert len(counts) == 12
        assert max(counts.values()) == min(counts.values())
        assert arena.board().votes == 60
        live = arena._live
        assert digest(replay_log(live.store, live.name)) == digest(live.state)


def test_items_with_fewer_answers_than_are_shown_are_refused():
    with pytest.raises(ArenaError, match="no item has more than 3 answers; pass show=3"):
        Arena(items=items(4, lambda n: ["abc", "bc"][n % 2]), show=4)


def test_nothing_is_left_after_all_sets_of_options():
    with Arena(items=items(2, lambda n: "abcd"), show=3, seed=3) as arena:
        seen = set()
        for _ in range(8):  # 2 items, 4 sets of three options
            shown = arena.ask("ann")
            seen.add((shown.prompt.content, frozenset(o.name for o in shown.options)))
            arena.vote(shown.duel, 2)
        assert len(seen) == 8
        before = arena.records(0, 10**6)[-1].seq
        with pytest.raises(ArenaError, match="seen every item with every set of options"):
            arena.ask("ann")
        arena.tick()
        assert {r.kind for r in arena.records(before)} <= {"told"}
        arena.ask("bob")
        arena.add_items([{"id": "new", "answers": dict.fromkeys("abcd", "x")}])
        assert arena.ask("ann").options
        live = arena._live
        assert digest(replay_log(live.store, live.name)) == digest(live.state)


def test_values_of_a_balance_tag_are_shown_equally_often():
    some = [
        {**each, "tags": {"lang": "en" if n < 30 else "de"}} for n, each in enumerate(items(40))
    ]
    with Arena(items=some, show=4, seed=3, balance="lang") as arena:
        for number in range(100):
            arena.vote(arena.ask(f"v{number}").duel, 1)
        records = [r.body["item"] for r in arena.records(0, 10**6) if r.kind == "voted"]
        german = sum(item > 30 for item in records)
        assert 45 <= german <= 55


# -- files


@pytest.mark.parametrize("feedback", ["pick", "ranking"])
def test_exports_are_read_by_the_log_and_imported_again(tmp_path, feedback):
    with eventful(4, feedback) as arena:
        arena.board()
        live = arena._live
        votes = export_votes(live.store, live.name)
        assert {"shown", "ranking"} <= set(votes.columns)
        boards = []
        for ending in ("csv", "jsonl", "parquet"):
            path = tmp_path / f"votes.{ending}"
            write_votes(votes, path)
            log = read_log(path)
            assert (log.counts.votes, log.counts.slates, log.counts.adaptive) == (len(votes), 1, 1)
            settings = {"show": 4, "feedback": feedback, "seed": 3, "clock": Clock()}
            with Arena(options=[*NAMES[:6], "new"], **settings) as other:
                assert import_votes(other._live, read_votes(path)) == len(votes)
                boards.append(other.board().to_json())
                there = other._live
                assert digest(replay_log(there.store, there.name)) == digest(there.state)
                again = export_votes(there.store, there.name, imported=True)
                own = ["seq", "duel", "asked", "voter", "options"]
                assert again.drop(own).equals(votes.drop(own))
        assert boards[0] == boards[1] == boards[2]
        for line in lines_of(votes):
            msgspec.convert(json.loads(line), FILES["votes"])
        line = json.loads((tmp_path / "votes.jsonl").read_text().partition("\n")[0])
        assert line["first"] is None
        assert len(line["shown"]) == 4
        assert line["ranking"] is None or line["ranking"][0] == line["winner"]


@pytest.mark.parametrize("feedback", ["pick", "ranking"])
def test_board_and_log_agree(feedback):
    """Leader and winner, and the differences by tag, drawn pair by pair."""
    utilities = dict(zip(NAMES, [2.2, 0.9, 0.6, 0.3, 0.0, -0.3, -0.6], strict=True))
    rng = np.random.default_rng(8)
    with Arena(options=NAMES, show=4, feedback=feedback, seed=8) as arena:
        for number in range(300):
            tags = {"kind": "xy"[int(rng.integers(2))]}
            shown = arena.ask(f"v{number}", tags=tags)
            twist = -3.0 if tags["kind"] == "y" else 0.0
            order = [1 + p for p in gumbel_order(
                rng, [utilities[o.name] + twist * (o.name == "b") for o in shown.options]
            )]  # fmt: skip
            if number % 30 == 7:
                arena.vote(shown.duel, "tie")
            elif feedback == "pick":
                arena.vote(shown.duel, order[0])
            else:
                arena.vote(shown.duel, ranking=order)
        voided = [r.seq for r in arena.records(0, 10**6) if r.kind == "voted"][5:12]
        arena.void(voided, "a test")
        board, about = arena.board(), arena.differences("kind")
        live = arena._live
        votes = export_votes(live.store, live.name)
    assert board.leader.name == "a"
    log = read_log(votes, by="tags.kind")
    assert log.counts.votes == len(votes) == board.votes - 7
    now = log.fit("utilities").now
    assert (now.winner, board.sure) == ("a", True)
    assert now.sure
    told = describe_subgroups(tagged_votes(log), "kind")
    assert about.evidence == pytest.approx(told["evidence"])
    assert about.votes == told["votes"] == len(votes)


def test_a_filtered_board_and_tags_count_slates():
    with Arena(options=NAMES[:4], show=4, feedback="ranking", seed=8) as arena:
        for number in range(12):
            shown = arena.ask(f"v{number}", tags={"kind": "x" if number < 5 else "y"})
            arena.vote(shown.duel, ranking=[1, 2, 3, 4])
        (tag,) = arena.tags()
        assert {each.value: each.votes for each in tag.values} == {"x": 5, "y": 7}
        board = arena.board("kind:x")
        assert (board.filter.votes, board.ranking_votes) == (5, 5)
        assert np.sum(board.pairs.wins) == 5 * 6


def test_preferences_are_the_decided_pairs(tmp_path):
    with Arena(items=items(10), show=4, feedback="ranking", seed=3) as arena:
        shown = arena.ask("ann")
        arena.vote(shown.duel, ranking=[3, 1], reason="short")
        arena.vote(arena.ask("bob").duel, "tie")
        pairs = list(preference_pairs(arena._live.store, "arena"))
        assert write_pairs(pairs, tmp_path / "p.jsonl") == 5
        names = [option.name for option in shown.options]
        assert [(pair["chosen_option"], pair["rejected_option"]) for pair in pairs] == [
            (names[2], names[0]), (names[2], names[1]), (names[2], names[3]),
            (names[0], names[1]), (names[0], names[3]),
        ]  # fmt: skip
        assert all(pair["chosen"].startswith(pair["chosen_option"]) for pair in pairs)
        assert {pair["reason"] for pair in pairs} == {"short"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"shown": '["a"]'}, "2 to 6 different names"),
        ({"shown": '["a", "a", "b"]'}, "2 to 6 different names"),
        ({"shown": "[1"}, "malformed"),
        ({"shown": '"abc"'}, "must be a JSON array"),
        ({"ranking": '["z"]'}, "was not shown"),
        ({"ranking": '["a", "a"]'}, "does not fit"),
        ({"pick": "left"}, "does not fit"),
        ({"pick": "tie"}, "does not fit"),
    ],
)
def test_damaged_exports_are_refused_in_a_sentence(tmp_path, changed, said):
    row = {"first": None, "second": None, "pick": "ranked", "winner": "a",
           "shown": '["a", "b", "c"]', "ranking": '["a"]'}  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text(json.dumps(row | changed))
    with pytest.raises(ArenaError, match=said):
        read_votes(path)
    path.write_text(json.dumps(row))
    (vote,) = read_votes(path)
    assert (vote.shown, vote.ranking) == (("a", "b", "c"), ("a",))
