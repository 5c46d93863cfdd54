"""Automatic judges: programs that read JSON lines and write picks, and their agreement."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("scipy")
pytest.importorskip("markdown_it")

from driftduel.arena import Arena, judge
from driftduel.arena.judge_agreement import AgreementCounter, ratio_interval
from driftduel.arena.records import Record
from driftduel.errors import DriftduelError
from tests.arena.test_items import some_items
from tests.waiting import LONG

EXAMPLE = Path(__file__).parents[2] / "examples" / "judge.py"
HEAD = "import json, sys\nfor line in sys.stdin:\n    duel = json.loads(line)\n"


def program(tmp_path, body, name="judge.py"):
    path = tmp_path / name
    path.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    return f"'{sys.executable}' '{path}'"


def answer(pick, reason="''"):
    fields = f"{{'id': duel['id'], 'pick': {pick}, 'reason': {reason}}}"
    return f"print(json.dumps({fields}), flush=True)"


def voted(arena):
    arena.board()
    return [r.body for r in arena.records(0, 100_000) if r.kind == "voted"]


def test_a_program_votes_until_nothing_is_left(tmp_path):
    command = program(tmp_path, answer("'ab'[duel['a']['content'] > duel['b']['content']]", "'r'"))
    with Arena(items=some_items(3, "abc"), seed=1) as arena:
        done = judge(arena, "alphabet", command, jobs=2)
        assert (done.votes, done.failed, done.ended) == (9, 0, "nothing left")
        votes = voted(arena)
        assert len(votes) == 9
        for body in votes:
            assert body["tags"] == {"judge": "alphabet"}
            assert body["reason"] == "r"
            better = min(body["shown"])
            assert body["pick"] == ("left" if body["shown"][0] == better else "right")
        assert arena.board().judges[0].votes == 9
        assert judge(arena, "alphabet", command).votes == 0  # the same voter has seen all
        assert judge(arena, "another", command, votes=4).ended == "enough"


def test_the_program_sees_no_names_of_options(tmp_path):
    seen = tmp_path / "seen.jsonl"
    body = f"open({str(seen)!r}, 'a').write(line)\n" + answer("'tie'")
    items = [
        {**item, "answers": {f"model {name}": text for name, text in item["answers"].items()}}
        for item in some_items(4, "ab")
    ]
    with Arena(items=items) as arena:
        judge(arena, "j", program(tmp_path, body))
    lines = [json.loads(line) for line in seen.read_text().splitlines()]
    assert len(lines) == 4
    assert "model" not in seen.read_text()
    assert all(set(line) == {"id", "prompt", "a", "b"} for line in lines)
    assert lines[0]["prompt"]["content"].startswith("Question")


def test_both_orders_measure_the_position_bias(tmp_path):
    rule = "first = duel['prompt']['content'][10:-1] in list('123')\n" + answer(
        "'a' if first or duel['a']['content'] < duel['b']['content'] else 'b'"
    )
    with Arena(items=some_items(12, "ab"), seed=1) as arena:
        judge(arena, "lazy", program(tmp_path, rule), both_orders=True)
        votes = voted(arena)
        ties = [body for body in votes if body["pick"] == "tie"]
        assert len(ties) == 3  # on three questions the first answer always wins
        assert {body["tags"]["orders"] for body in ties} == {"left/right"}
        shown = arena.board().judges[0]
        assert (shown.both_orders, shown.consistent) == (12, 0.75)
        assert shown.first_share == (3 * 2 + 9) / 24
        assert shown.first_low < shown.first_share < shown.first_high
        assert "judged in both orders" in str(arena.board())


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit(3)", "ended"),
        ("print('no json', flush=True)", "not a JSON object"),
        ("print(json.dumps({'id': 'x', 'pick': 'a'}), flush=True)", "id of its line"),
        (answer("'left'"), "not a JSON object"),
        (answer("['a']"), "not a JSON object"),
        ("print('[' * 100000, flush=True)", "not a JSON object"),
        ("import time; time.sleep(60)", "no answer within"),
    ],
)
def test_a_program_without_valid_answers_is_stopped(tmp_path, body, why):
    with Arena(items=some_items(20, "ab")) as arena:
        seconds = 0.3 if why == "no answer within" else LONG
        done = judge(arena, "j", program(tmp_path, body), retries=1, seconds=seconds)
        assert (done.votes, done.failed, done.ended) == (0, 5, "failures")
        assert why in done.failure
        assert voted(arena) == []
        assert not arena._live.state.open or arena._live.state.leaving


def test_a_failed_duel_is_tried_again(tmp_path):
    mark = tmp_path / "failed"
    body = (
        f"import os\nif not os.path.exists({str(mark)!r}):\n    open({str(mark)!r}, 'w')\n"
        "    sys.exit(1)\n" + answer("'b'", "'again'")
    )
    with Arena(items=some_items(3, "ab")) as arena:
        done = judge(arena, "j", program(tmp_path, body))
        assert (done.votes, done.failed) == (3, 0)


def test_other_arguments_are_refused():
    with Arena(items=some_items(3, "ab")) as arena:
        for change in (
            {"command": ""},
            {"command": "'"},
            {"command": "/no/such/program"},
            {"jobs": 0},
            {"jobs": 17},
            {"retries": -1},
            {"votes": 0},
            {"seconds": 0.0},
            {"name": "x" * 65},
            {"name": ""},
        ):
            given = {"name": "j", "command": "true"} | change
            with pytest.raises(DriftduelError):
                judge(arena, **given)


def test_the_example_judges():
    with Arena(items=some_items(5, "ab")) as arena:
        done = judge(arena, "example", f"'{sys.executable}' '{EXAMPLE}'", both_orders=True)
        assert done.votes == 5
        assert {body["pick"] for body in voted(arena)} == {"tie"}


# -- agreement


def naive_agreement(votes):
    """Return shared keys and mean agreement from a list of key, judge or None, and result."""
    shares = []
    for key in {key for key, judged, _ in votes if judged}:
        own = [r for k, judged, r in votes if judged and k == key]
        people = [r for k, judged, r in votes if not judged and k == key]
        if people:
            shares.append(np.mean([[a == b for a in own] for b in people]))
    return len(shares), (float(np.mean(shares)) if shares else None)


def test_agreement_equals_the_obvious_computation():
    rng = np.random.default_rng(4)
    counter, votes, body_of = AgreementCounter(), {}, {}
    for ref in range(1, 601):
        left, right = rng.choice(3, 2, replace=False).tolist()
        pick = str(rng.choice(["left", "right", "tie", "both-bad", "skip"]))
        judged = bool(rng.random() < 0.4)
        body = {"ref": ref, "pick": pick, "shown": [left, right], "item": int(rng.integers(1, 9))}
        if judged:
            body["tags"] = {"judge": "j"}
        counter.see(Record(ref, 0, "voted", body))
        if pick != "skip":
            winner = {"left": left, "right": right}.get(pick)
            key = (min(left, right), max(left, right), body["item"])
            votes[ref], body_of[ref] = (key, judged, winner), body
        if rng.random() < 0.1 and votes:
            gone = int(rng.choice(list(votes)))
            del votes[gone]
            kind = rng.integers(3)
            counter.see(
                Record(ref, 0, "undone", {"ref": gone})
                if kind == 0
                else Record(ref, 0, "forgot", {"ref": gone, "why": "voided"})
                if kind == 1
                else Record(ref, 0, "voided", {"votes": [[1, gone, 0, 1, 1, 5]]})
            )
    found = counter.agreements()[0]
    shared, agreement = naive_agreement(list(votes.values()))
    assert found.votes == sum(judged for _, judged, _ in votes.values())
    assert found.shared == shared
    assert found.agreement == pytest.approx(agreement)
    assert found.low < agreement < found.high


def test_the_interval_of_a_ratio_covers_the_truth():
    rng = np.random.default_rng(7)
    covered, truth = 0, float(np.clip(rng.normal(0.7, 0.15, 1_000_000), 0, 1).mean())
    for _ in range(2000):
        sizes = rng.integers(1, 6, 40)
        each = np.clip(rng.normal(0.7, 0.15, 40), 0, 1)  # items differ
        counts = rng.binomial(sizes, each)
        _, low, high = ratio_interval(zip(counts, sizes, strict=True))
        covered += low <= truth <= high
    assert 0.93 <= covered / 2000 <= 0.98


def test_agreement_of_a_judge_is_on_the_board_of_a_file(tmp_path):
    from driftduel.arena import load_board, open_store

    path = str(tmp_path / "votes.db")
    with Arena(path, items=some_items(10, "ab"), seed=2) as arena:
        for place in range(10):
            shown = arena.ask("ann")
            arena.vote(shown.duel, "left" if shown.left.name == "a" else "right")
            shown = arena.ask("bot", tags={"judge": "bot"})
            same = (shown.left.name == "a") == (place != 0)
            arena.vote(shown.duel, "left" if same else "right")
        live = arena.board()
    store = open_store(path)
    try:
        board = load_board(store, "arena")
    finally:
        store.close()
    assert board.judges == live.judges
    assert (board.judges[0].shared, board.judges[0].agreement) == (10, 0.9)
    assert "agrees with 90% of people's votes" in str(board)


@pytest.mark.parametrize("both_orders", [False, True])
def test_a_judge_picks_from_slates(tmp_path, both_orders):
    """The program prefers early letters; people agree; the board counts each slate once."""
    seen = tmp_path / "seen.jsonl"
    body = f"open({str(seen)!r}, 'a').write(line)\n" + answer(
        "min((key for key in 'abcdef' if key in duel), key=lambda key: duel[key]['content'])"
    )
    with Arena(items=some_items(3, "abcd"), show=3, seed=1) as arena:
        done = judge(arena, "early", program(tmp_path, body), both_orders=both_orders)
        assert (done.failed, done.ended) == (0, "nothing left")
        assert done.votes == 3 * 4  # three items, four sets of three options
        for vote in voted(arena):
            assert vote["ranking"] == [min(vote["shown"])]
            orders = vote["tags"].get("orders", "")
            assert len({*orders.split("/")}) == 1
        lines = [json.loads(line) for line in seen.read_text().splitlines()]
        assert all(set(line) == {"id", "prompt", "a", "b", "c"} for line in lines)
        assert len(lines) == 12 * (1 + both_orders)
        for number in range(6):
            shown = arena.ask(f"v{number}")
            names = [option.name for option in shown.options]
            arena.vote(shown.duel, names.index(min(names)) + 1)
        (found,) = arena.board().judges
        assert (found.votes, found.agreement) == (12, 1.0)
        assert found.first_share is None  # it is the share of the left of two


def test_different_picks_in_both_orders_of_a_slate_are_a_tie(tmp_path):
    with Arena(items=some_items(2, "abc"), show=3, seed=1) as arena:
        judge(arena, "first", program(tmp_path, answer("'a'")), both_orders=True)
        votes = voted(arena)
        assert [vote["pick"] for vote in votes] == ["tie"] * 2
        assert {vote["tags"]["orders"] for vote in votes} == {"a/c"}
