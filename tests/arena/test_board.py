"""What a board says: all keys, the same sentences everywhere, and nothing that a name could do."""

import json
import math

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

import msgspec

from driftduel.arena import Arena
from driftduel.arena.board import Board, board_of
from driftduel.arena.evidence import log_e, needed
from driftduel.arena.sentences import clean, sentences, warnings
from driftduel.arena.state import State
from driftduel.policies import make_policy
from tests.arena.boards import some_board
from tests.arena.xss import CORPUS

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
        shown = arena.ask(voter=f"voter {rng.integers(20)}")
        if shown.alone is not None:
            continue
        gap = strengths[shown.left.id] - strengths[shown.right.id]
        kind, picked = rng.random(), rng.random() < 1 / (1 + math.exp(-gap))
        pick = "skip" if kind < 0.03 else "tie" if kind < 0.08 else "left" if picked else "right"
        arena.vote(shown.duel, pick)
    return arena


@pytest.fixture(scope="module")
def arena():
    arena = lived(policies=["king", "uniform"], votes=1200)
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
    with lived(votes=3000, names=("a", "b"), strengths=(40.0, -40.0), change=False) as clear:
        found = clear.board().to_json()
        json.dumps(found, allow_nan=False)
        assert found["sure"]
        assert found["evidence"][0]["e"] > 1e250


def test_its_numbers_are_those_of_the_arena(arena, board):
    tally = arena._live.state.tally
    assert (
        board["votes"]
        == tally.votes
        == tally.counted
        == sum(lane["votes"] for lane in board["lanes"])
    )
    wins = np.array(board["pairs"]["wins"])
    ties = np.array(board["pairs"]["ties"])
    assert wins.sum() + ties.sum() / 2 == board["counted"]
    assert ties.sum() / 2 == board["ties"] > 0
    assert np.array(board["pairs"]["skips"]).sum() / 2 == board["skips"] > 0
    for arm, option in enumerate(board["options"]):
        assert option["wins"] == wins[arm].sum()
        assert option["votes"] == wins[arm].sum() + wins[:, arm].sum() + ties[arm].sum()
        assert option["low"] < option["strength"] < option["high"]
    by_rank = sorted(board["options"], key=lambda option: option["rank"])
    assert [option["strength"] for option in by_rank] == sorted(
        (option["strength"] for option in by_rank), reverse=True
    )
    assert board["voters"] == 20
    assert board["seq"] == arena._live.state.seq
    assert board["lateness"]["median"] > 0


def test_what_is_out_waits_or_does_not_count_is_counted_apart():
    clock = Clock()
    settings = {"grace": 60.0, "lease": 600.0, "votes_a_day": 1, "seed": 2}
    with Arena(options=["a", "b"], clock=clock, **settings) as arena:
        duels = [arena.ask(voter="ann").duel for _ in range(4)]
        seq = arena.vote(duels[0], "left").seq
        assert not arena.vote(duels[1], "left").counted  # her second vote on this pair today
        board = arena.board()
        assert (board["open"], board["held"], board["votes"], board["counted"]) == (2, 2, 2, 0)
        clock.now += 100  # the grace is over
        arena.tick()
        board = arena.board()
        assert (board["open"], board["held"], board["counted"], board["uncounted"]) == (2, 0, 1, 1)
        clock.now += 1000  # and so are the leases
        arena.tick()
        assert arena.vote(duels[2], "left").late
        arena.void([seq], "a test")
        board = arena.board()
        assert (board["open"], board["late"], board["voided"], board["counted"]) == (0, 1, 1, 0)
        assert "1 late, 1 uncounted, 1 voided" in " ".join(str(board).split())


def test_the_claim_is_the_evidence_of_this_reign(board):
    assert board["leader"]["id"] == "o3"  # the taste has turned, and the last is first
    assert board["sure"]
    assert board["changes"][-1]["to"] == board["leader"]
    assert board["since"]["seq"] == board["changes"][-1]["seq"]
    assert 600 <= board["since"]["votes"] < board["votes"]
    for rival in board["evidence"]:
        assert math.log(rival["e"]) == pytest.approx(log_e(rival["wins"], rival["losses"]))
        assert rival["needed"] == needed(len(board["changes"]) + 1)
        assert rival["wins"] + rival["losses"] <= board["votes"] - board["since"]["votes"]


def test_the_same_log_gives_the_same_board(arena):
    state = arena._live.state
    again = State.from_bytes(state.to_bytes())
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
        assert board["says"]["claim"] == "Nobody leads yet."


def test_terminal_notebook_and_json_say_the_same(arena):
    board = arena.board()
    text, html = " ".join(str(board).split()), board._repr_html_()
    said = board.to_json()["says"]
    for sentence in [value for value in said.values() if isinstance(value, str)] + said["lanes"]:
        assert " ".join(sentence.split()) in text
        assert sentence.replace("'", "&#x27;") in html
    assert "“two words” leads; it took the lead" in text
    assert "Sure: it has beaten every other option" in text
    assert "not evidence" in text
    assert max(map(len, str(board).split("\n"))) <= 80
    assert repr(board) == str(board)


def changed(**others):
    since = {"seq": 5000, "at": 1_763_004_000_000, "votes": 2000}
    return {**some_board(), "crownings": 3, "order": "asked", "since": since, **others}


def test_claims_and_doubts():
    sure = sentences(changed())
    assert sure["claim"].startswith(
        "“Sea levels: new numbers” leads; it took the lead 400 votes ago"
    )
    assert sure["doubt"].startswith("Sure:")
    doubt = sentences({**changed(), **some_board(sure=False), "crownings": 3})["doubt"]
    assert doubt == (
        "Not sure yet: since it began to lead it has not beaten “The coast in 2050” often enough."
    )
    assert "led when the arena was closed" in sentences(changed(closed=True))["claim"]
    first = sentences(changed(changes=[], crownings=0, alarms=0, since={"votes": 0}))
    assert "leads, as it has from the beginning (2,400 votes)" in first["claim"]
    assert first["changes"] == "The lead has not changed so far."
    assert sentences(changed(votes=0, since={"votes": 0}))["claim"].startswith("No votes yet")
    assert sentences(changed(sure=False, evidence=[]))["doubt"] == "Not sure: nobody else is there."
    assert sentences(changed(challenger=None))["challenger"].startswith("No option is on its way")
    many = sentences(changed(alarms=9, counted=2300))["changes"]
    assert "2,300 votes like these would still raise up to 1.8 alarms on average" in many
    assert many.endswith("So many by mistake have a chance of at most 20%.")
    few = sentences(changed(alarms=1, false_alarms_at_most=4.87))["changes"]
    assert "with 1 alarm: a leader" in few
    assert "up to 4.9 alarms on average. So the alarms alone prove no change" in few
    assert "no bound" in sentences(changed(false_alarms_at_most=None))["changes"]
    biased = sentences(changed(left={"share": 0.55, "low": 0.51, "high": 0.59}))["left"]
    assert "people prefer the left side" in biased


def test_what_makes_a_board_worth_less_is_said():
    says = {"says": {"left": "LEFT"}}
    assert warnings(changed(**says)) == []
    for word, others in (
        ("One voter gave 50%", {"votes_a_voter": {"median": 3, "most": 1200}}),
        ("came too late", {"late": 600}),
        ("were skipped", {"skips": 900}),
        ("taken out by the owner", {"voided": 2}),
        ("learned as they come", {"order": "arrival"}),
        ("LEFT", {"left": {"share": 0.55, "low": 0.51, "high": 0.59}}),
    ):
        (found,) = warnings(changed(**says, **others))
        assert word in found


def test_no_name_can_do_anything():
    names = [*CORPUS[:6], "\x1b[31mred\x07", "a\nb", "\u202eright to left", "x" * 200]
    with lived(votes=60, names=names, strengths=range(len(names)), change=False) as arena:
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
    gone = board["options"][1]
    assert not gone["present"]
    assert gone["rank"] is gone["strength"] is None
    assert gone["votes"] > 0
    assert {rival["id"] for rival in board["evidence"]} <= {"o1", "o3"}
    assert sorted(option["rank"] for option in board["options"] if option["present"]) == [1, 2]


def test_a_board_can_be_made_of_what_was_sent():
    data = {**changed(), "warnings": [], "guarantee": "g"}
    data["says"] = {**sentences(data), "lanes": []}
    assert "Sea levels" in str(Board(data))
    assert Board(data)["votes"] == 2400
