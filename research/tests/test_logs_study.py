"""The simulated logs of the study, and how it chooses and judges its rows."""

import numpy as np
import pytest

from research.benchmarks import log_situations as logs, logs_study as study

pytest.importorskip("polars")
pytest.importorskip("scipy")


@pytest.mark.parametrize("name", logs.SITUATIONS)
def test_a_situation_has_the_truth_that_it_states(name):
    one, again = (logs.draw_situation(name, 20_000, 3) for _ in range(2))
    votes = one.votes
    for key in ("first", "second", "outcome"):
        assert (votes[key] == again.votes[key]).all()
    last = np.r_[votes["first"][-2000:], votes["second"][-2000:]]
    assert set(one.present) <= set(last.tolist())
    assert one.winner in one.present
    assert (votes["first"] != votes["second"]).all()
    # The stated winner wins most of its last votes, as far as a walk or an advantage allows.
    if not one.gradual and "first place" not in name and "voter" not in name:
        since = max(one.switches, default=1) - 1
        mine = votes["first"][since:] == one.winner
        theirs = votes["second"][since:] == one.winner
        won = votes["outcome"][since:][mine].sum() + (1 - votes["outcome"][since:][theirs]).sum()
        assert won > 0.5 * (mine.sum() + theirs.sum())


def test_situations_differ_by_what_their_names_say():
    def draw(name):
        return logs.draw_situation(name, 20_000, 1)

    assert 0.25 < (draw("30% ties, stationary").votes["outcome"] == 0.5).mean() < 0.32
    assert 0.28 < (draw("heavy voter").votes["group"] == 0).mean() < 0.32
    assert len(np.unique(draw("returning voters, stationary").votes["group"])) == 400
    assert "group" not in draw("heavy voter").without_groups().votes
    newcomer = draw("newcomer, best")
    assert newcomer.winner == 4
    assert (np.flatnonzero(newcomer.votes["first"] == 4) >= 12_000).all()
    assert newcomer.switches == (12_001,)
    assert not newcomer.changes
    left = draw("leader leaves")
    assert len(left.present) == 4
    assert left.switches == (14_001,)
    assert len(draw("two changes").changes) == 2
    assert draw("seasonal").changes == (5001, 10_001, 15_001)
    first = draw("first place, stationary").votes
    shown = [np.mean(first["second"][10_000:] == k) for k in range(5)]
    assert sorted(shown)[0] == 0 < sorted(shown)[1]


def test_rows_of_an_older_code_are_measured_again():
    rows = study.chosen_rows(["situations"], ["newcomer"], ["short"])
    assert [name for _, name in rows] == ["newcomer, best, 2,000", "newcomer, not best, 2,000"]
    record = {
        "situations": {
            rows[0][1]: {"logs": 3, "code": "older"},
            rows[1][1]: {"logs": 3, "code": study.fingerprint()},
        }
    }
    tasks = study.next_tasks(record, 5, rows, 20)
    assert [(name, seed) for _, name, seed in tasks if "not" not in name] == [
        (rows[0][1], seed) for seed in range(5)
    ]
    assert [seed for _, name, seed in tasks if "not" in name] == [3, 4]


def test_missed_targets_are_named():
    good = {
        "logs": 100, "said >= .95": 50, "right >= .95": 48, "said .50 to .80": 10,
        "right .50 to .80": 7, "false winner": 2, "true": 0, "dated": 0, "covered": 0,
    }  # fmt: skip
    changing = good | {"true": 200, "hit": 180, "no groups, hit": 185, "dated": 180, "covered": 170}
    assert study.misses({"situations": {"a": good, "b": changing}}) == []
    for worse, word in (
        (good | {"right >= .95": 44}, ">= .95"),
        (good | {"right .50 to .80": 1}, ".50 to .80"),
        (good | {"false winner": 3}, "false change"),
        (changing | {"covered": 161}, "cover"),
        (changing | {"no groups, hit": 195}, "recall"),
    ):
        assert any(word in line for line in study.misses({"situations": {"a": worse}})), word
