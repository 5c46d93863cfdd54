"""What a board says: all keys, the same sentences everywhere, and nothing that a name could do."""

import json
import math
import re

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

import msgspec

from driftduel.arena import Arena
from driftduel.arena.board import Board, board_of
from driftduel.arena.sentences import clean, guarantee, warnings
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import OptionText
from driftduel.evidence import log_e_value, threshold
from driftduel.policies import make_policy
from tests.arena.boards import some_board, typed_board
from tests.arena.xss import CORPUS
from tests.scripts import load_script

NAMES = ("red", "green", "two words")


class Clock:
    """Half a second goes by whenever somebody looks."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        self.now += 0.5
        return self.now


def lived(votes=600, names=NAMES, seed=1, change=True, strengths=(1.5, 0.0, -0.5), **settings):
    """An arena whose taste turns around after half of its votes."""
    rng = np.random.default_rng(seed)
    arena = Arena(options=names, seed=seed, clock=Clock(), **{"votes_a_day": 10**6, **settings})
    strengths = {f"o{i + 1}": value for i, value in enumerate(strengths)}
    for vote in range(votes):
        if change and vote == votes // 2:
            turned = list(strengths.values())[::-1]
            strengths = dict(zip(strengths, turned, strict=True))
        shown = arena.ask(voter=f"voter {rng.integers(400)}")
        if shown.alone is not None:
            continue
        gap = strengths[shown.left.id] - strengths[shown.right.id]
        kind, picked = rng.random(), rng.random() < 1 / (1 + math.exp(-gap))
        pick = "skip" if kind < 0.03 else "tie" if kind < 0.08 else "left" if picked else "right"
        arena.vote(shown.duel, pick)
    return arena


@pytest.fixture(scope="module")
def arena():
    arena = lived(votes=1200)
    yield arena
    arena.close()


@pytest.fixture(scope="module")
def board(arena):
    return arena.board().to_json()


def shape(value):
    """The keys of a board, of mappings in it, and of the first of each list."""
    if isinstance(value, dict):
        return {key: shape(inside) for key, inside in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [shape(value[0])]
    return None


def lacks(found, wanted, path="board"):
    """Which keys are wanted and not there."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, inside in wanted.items():
            if key not in found:
                yield f"{path}.{key}"
            else:
                yield from lacks(found[key], inside, f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from lacks(found[0], wanted[0], path)


def test_it_has_all_that_the_page_was_drawn_for(board):
    assert list(lacks(shape(board), shape(some_board()))) == []


def test_it_is_json_whatever_happened(board):
    assert json.loads(json.dumps(board, allow_nan=False)) == board
    assert msgspec.json.decode(msgspec.json.encode(board)) == board
    with lived(votes=0) as fresh:
        json.dumps(fresh.board().to_json(), allow_nan=False)
    with lived(
        votes=3000, names=("a", "b"), strengths=(40.0, -40.0), change=False, claim="judges"
    ) as clear:
        found = clear.board().to_json()
        json.dumps(found, allow_nan=False)
        assert found["sure"]
        assert found["evidence"][0]["e"] > 1e250


def test_its_numbers_are_those_of_the_arena(arena, board):
    tally = arena._live.state.tally
    assert board["votes"] == board["learned"] == tally.votes == tally.counted
    wins = np.array(board["pairs"]["wins"])
    ties = np.array(board["pairs"]["ties"])
    assert wins.sum() + ties.sum() / 2 == board["ranking_votes"]
    # The votes since the lead changed for the last time.
    assert board["ranking_votes"] == board["votes"] - board["since"]["vote"] > 100
    assert board["ties"] > ties.sum() / 2 > 0
    assert np.array(board["pairs"]["skips"]).sum() / 2 == board["skips"] > 0
    for arm, option in enumerate(board["ranking"]):
        assert option["wins"] == wins[arm].sum()
        assert option["duels"] == wins[arm].sum() + wins[:, arm].sum() + ties[arm].sum()
        assert option["total_wins"] == tally.wins[arm].sum() > option["wins"]
        assert option["total_duels"] > option["duels"]
        assert option["low"] < option["strength"] < option["high"]
    by_rank = sorted(board["ranking"], key=lambda option: option["rank"])
    assert [option["strength"] for option in by_rank] == sorted(
        (option["strength"] for option in by_rank), reverse=True
    )
    assert board["voters"] == tally.voters.voters > 300
    assert board["seq"] == arena._live.state.seq
    assert board["lateness"]["median"] > 0


def test_what_is_out_waits_or_does_not_count_is_counted_apart():
    clock = Clock()
    settings = {"grace": 60.0, "lease": 60.0, "votes_a_day": 2, "seed": 2}
    with Arena(options=["a", "b"], clock=clock, **settings) as arena:
        duels = [arena.ask(voter="ann").duel for _ in range(2)]
        duels += [arena.ask().duel for _ in range(2)]
        seq = arena.vote(duels[0], "left").seq
        arena._live.state.today = dict.fromkeys(arena._live.state.today, 2)  # as if she had voted
        assert not arena.vote(duels[1], "left").counted  # one too many on this pair today
        board = arena.board()
        assert (board["open"], board["waiting"], board["votes"], board["learned"]) == (2, 2, 2, 0)
        clock.now += 100  # the grace is over
        arena.tick()
        board = arena.board()
        assert (board["open"], board.waiting, board["learned"], board["uncounted"]) == (2, 0, 1, 1)
        clock.now += 1000  # and so are the leases
        arena.tick()
        assert arena.vote(duels[2], "left").late
        arena.void([seq], "a test")
        board = arena.board()
        assert (board["open"], board["late"], board["voided"], board["learned"]) == (0, 1, 1, 0)
        assert "1 late, 1 uncounted, 1 voided" in " ".join(str(board).split())


def test_the_claim_is_the_evidence_of_this_reign(board):
    assert board["leader"]["id"] == "o3"  # the taste has turned, and the last is first
    assert board["sure"]
    assert board["changes"][-1]["after"] == board["leader"]
    assert board["since"]["seq"] == board["changes"][-1]["seq"]
    assert 550 <= board["since"]["vote"] < board["votes"]  # of 600 duels some were skipped
    assert board["votes_needed"] == 0
    for rival in board["evidence"]:
        assert math.log(rival["e"]) == pytest.approx(log_e_value(rival["wins"], rival["losses"]))
        assert rival["needed"] == threshold(board["stretch"])
        assert rival["wins"] + rival["losses"] <= board["votes"] - board["since"]["vote"]
    counted = sum(rival["wins"] + rival["losses"] for rival in board["evidence"])
    assert counted / 2 <= board["counted_voters"] <= board["votes"] - board["since"]["vote"]


def test_the_change_of_taste_is_certified(board):
    change = board["certified_changes"][-1]
    assert (change["before"], change["after"]) == ("red", "two words")
    assert (change["before_id"], change["after_id"]) == ("o1", "o3")
    assert change["from_vote"] < 600 < change["to_vote"]
    assert change["level"] == 0.05
    said = (
        f"Preferences changed between vote {change['from_vote']} and vote {change['to_vote']} "
        "(certified): red was preferred to “two words” before, “two words” to red after."
    )
    assert said in board["says"]["certified"]


def test_the_same_log_gives_the_same_board(arena):
    state = arena._live.state
    again = ArenaState.from_bytes(state.to_bytes())
    said = board_of("arena", again, arena.options()).to_json()
    assert said == board_of("arena", state, arena.options()).to_json()


@pytest.mark.long
def test_the_bound_on_false_alarms_is_the_policys_own():
    for name, mode, factor in (("king", "serve", 2.0), ("king", "panel", 2.6),
                               ("court", "panel", 2.0), ("borda-king", "panel", 2.0)):  # fmt: skip
        policy = make_policy(name, 4, 5, mode=mode)
        rng = np.random.default_rng(0)
        for _ in range(2000):
            duel = policy.ask()
            policy.tell(duel, duel.first if rng.random() < 0.5 else duel.second)
        matches = int(policy.state.numbers[0].matches)
        assert matches > 10
        assert policy.false_alarms_at_most() == pytest.approx(factor * math.log(1 + matches / 100))
    assert make_policy("dts", 4).false_alarms_at_most() is None
    with lived(votes=50, policy="uniform") as arena:
        board = arena.board().to_json()
        assert board["false_alarms_at_most"] is None
        assert board["leader"] is None
        assert board["says"]["claim"] == "No leader yet."


def test_terminal_notebook_and_json_say_the_same(arena):
    board = arena.board()
    text, html = " ".join(str(board).split()), board._repr_html_()
    said = board.to_json()["says"]
    for sentence in said.values():
        assert " ".join(sentence.split()) in text
        assert sentence.replace("'", "&#x27;") in html
    assert "“two words” leads; it took the lead" in text
    assert f"Sure, from {board.counted_voters} voters: it has beaten every other" in text
    assert "not evidence" in text
    assert max(map(len, str(board).split("\n"))) <= 80
    assert repr(board) == str(board)


def changed(**others):
    return typed_board(**({"lead_changes": 3, "since": {"seq": 1, "at": 2, "vote": 1900}} | others))


def test_claims_and_doubts():
    sure = changed().says
    assert sure.claim == "“Sea levels: new numbers” leads; it took the lead 400 votes ago."
    assert sure.doubt == "Sure, from 58 voters: it has beaten every other option often enough."
    assert changed(claim="judges").says.doubt.startswith("Sure, from 58 votes of these judges:")
    assert changed(sure=False).says.doubt == (
        "Not sure yet: it has not beaten “The coast in 2050” often enough. About 140 votes until "
        "sure, if preferences stay as they are."
    )
    assert changed(sure=False, votes_needed=None).says.doubt.endswith("often enough.")
    assert changed(sure=False, voters=10).says.doubt.startswith(
        "Not sure: at least 11 voters must compare the leader with each other option, and 10 voters"
    )
    assert changed(sure=False, voters=10, claim="judges").says.doubt.startswith("Not sure yet")
    assert "led when the arena was closed" in changed(closed=True).says.claim
    first = changed(changes=[], lead_changes=0, alarms=0, since={"seq": 1, "at": 1, "vote": 0})
    assert "leads, as it has from the beginning (2,300 votes)" in first.says.claim
    assert first.says.changes == "The lead has not changed so far."
    none = changed(votes=0, leader=None, since=None, evidence=[])
    assert none.says.claim == "No leader yet: no vote has been learned."
    started = {"changes": [], "lead_changes": 0, "imported": 1500}
    past = changed(votes=0, **started)
    assert past.says.claim.endswith("leads after 1,500 imported votes; no vote has been learned "
                                    "here yet.")  # fmt: skip
    assert changed(**started).says.claim.endswith(
        "leads, after 1,500 imported votes and 2,300 votes here."
    )
    assert changed(sure=False, evidence=[]).says.doubt == "Not sure: no other option is present."
    assert changed(challenger=None).says.challenger.startswith("No option is on its way")


def test_alarms_show_that_the_leader_was_beaten_and_nothing_about_tastes():
    said = changed(alarms=34, false_alarms_at_most=6.71).says.changes
    assert said == (
        "The lead changed 3 times, with 34 alarms. At an alarm the leader was beaten too often for "
        "chance: it was not the best option, which does not show that preferences changed. If no "
        "challenger had been better than the leader it met, 2,300 votes would raise at most 6.7 "
        "alarms on average."
    )
    assert "no bound" in changed(false_alarms_at_most=None).says.changes
    assert changed(alarms=0).says.changes == "The lead changed 3 times, with 0 alarms."


def test_certified_changes_are_said():
    assert changed(certified_changes=[]).says.certified == "No change of preferences is certified."
    (change,) = changed().certified_changes
    assert changed().says.certified == (
        "Preferences changed between vote 1,700 and vote 2,060 (certified): “What rising water "
        "means for you” was preferred to “Sea levels: new numbers” before, “Sea levels: new "
        "numbers” to “What rising water means for you” after."
    )
    many = changed(certified_changes=[msgspec.to_builtins(change) for _ in range(5)]).says.certified
    assert many.startswith("5 changes of preferences are certified; the last 3: Preferences")
    assert many.count("(certified)") == 3


def test_no_interval_of_the_left_share_below_thirty_picks():
    with lived(votes=20) as arena:
        left = arena.board().left
        assert left.share is not None
        assert left.low is left.high is None
        assert "fewer than 30 picks" in arena.board().says.left
    biased = changed(left={"share": 0.55, "low": 0.51, "high": 0.59})
    assert "voters prefer the left side" in biased.says.left
    assert biased.says.left in biased.warnings


def test_the_guarantee_states_its_assumption():
    voters, judges = guarantee(changed()), guarantee(changed(claim="judges"))
    assert "If voters vote independently of each other, the probability" in voters
    assert "about these judges, and assume that their votes on a pair are independent" in judges


def test_before_the_first_vote_there_is_no_leader():
    with Arena(options=["a", "b"]) as arena:
        board = arena.board()
        assert board.leader is board.since is board.votes_needed is None
        assert board.evidence == []
        shown = arena.ask("ann")
        arena.vote(shown.duel, "left")
        assert arena.board().leader is not None


def test_after_an_import_the_board_names_the_past_votes():
    with Arena(options=["a", "b"]) as arena:
        arena.add_past_votes([("o1", "o2", "o1")] * 40)
        board = arena.board()
        assert (board.imported, board.leader.name, board.votes) == (40, "a", 0)
        assert board.says.claim == (
            "a leads after 40 imported votes; no vote has been learned here yet."
        )
        assert not board.sure  # imported votes are not evidence


def test_what_makes_a_board_worth_less_is_said():
    assert warnings(changed()) == []
    for word, others in (
        ("One voter or source gave 50%", {"votes_per_voter": {"median": 3, "most": 1200}}),
        ("came too late", {"late": 600}),
        ("were skipped", {"skips": 900}),
        ("taken out by the owner", {"voided": 2}),
        ("learned as they arrive", {"order": "arrival"}),
        ("prefer the left side", {"left": {"share": 0.55, "low": 0.51, "high": 0.59}}),
    ):
        (found,) = warnings(changed(**others))
        assert word in found


def test_no_name_can_do_anything():
    names = [*CORPUS[:6], "\x1b[31mred\x07", "a\nb", "\u202eright to left", "x" * 200]
    plain = [f"name {number}" for number in range(len(names))]
    with lived(votes=60, names=plain, strengths=range(len(names)), change=False) as arena:
        live = arena._live  # such names are refused today; a store may have them from before
        live._texts = {
            f"o{i}": OptionText(f"o{i}", name, "text", "") for i, name in enumerate(names, 1)
        }
        board = arena.board()
        html, text = board._repr_html_(), str(board)
    allowed = ("p", "strong", "table", "thead", "tbody", "tr", "th", "td")
    bare = html
    for tag in allowed:
        bare = bare.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert "<" not in bare
    assert ">" not in bare
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert max(map(len, text.split("\n"))) <= 80
    assert clean("x" * 3000).endswith("…")


def test_an_option_that_left_has_no_rank():
    with lived(votes=100) as arena:
        arena.leave("o2")
        board = arena.board().to_json()
    gone = board["ranking"][1]
    assert not gone["present"]
    assert gone["rank"] is gone["strength"] is None
    assert gone["duels"] > 0
    assert {rival["id"] for rival in board["evidence"]} <= {"o1", "o3"}
    assert sorted(option["rank"] for option in board["ranking"] if option["present"]) == [1, 2]


def test_a_board_can_be_made_of_what_was_sent():
    sent = json.dumps(some_board())
    board = msgspec.json.decode(sent, type=Board)
    assert "Sea levels" in str(board)
    assert board == typed_board()
    assert board["votes"] == board.votes == 2400
    assert board["leader"]["name"] == board.leader.name
    assert dict(board)["seed"] == 7
    assert list(board.keys()) == list(board.to_json())
    with pytest.raises(KeyError):
        board["nothing"]


def test_the_reference_describes_every_field_of_the_board():
    table = load_script("docs/generate.py").board()
    described = re.findall(r"^\| `(\w+)` \| `.+` \| \S", table, re.MULTILINE)
    assert described == list(Board.__struct_fields__)
