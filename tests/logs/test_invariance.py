"""Names, places and the order of rows within an event do not matter; guests are listed.

End to end: from a file to the JSON that `driftduel log` prints.
"""

import contextlib
import io
import json

import numpy as np
import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.cli import main  # noqa: E402
from driftduel.logs import fit, read_log, votes_of  # noqa: E402
from driftduel.worlds import Piecewise  # noqa: E402

NAMES = ("ale", "gin", "tea", "water")
COMMANDS = (("summary",), ("changes",), ("measure", "--draws", "12"))


def make_votes(rounds=2400, seed=5):
    """Return a log in which tea is best and, from the middle on, gin; eight votes an event."""
    utilities = np.array([[0.0, 0.4, 1.3, -0.5], [0.1, 1.4, 0.2, -0.4]])
    matrices = 1 / (1 + np.exp(utilities[:, None, :] - utilities[:, :, None]))
    votes = votes_of(Piecewise(matrices, [1, rounds // 2 + 1], rounds), seed)
    names = np.array(NAMES)
    first, second = names[votes["first"]], names[votes["second"]]
    winner = np.where(votes["outcome"] == 1, first, second)
    event = (votes["time"] - 1) // 8
    day = np.datetime64("2021-03-01") + event
    return pl.DataFrame({"first": first, "second": second, "winner": winner, "time": day,
                         "group": event})  # fmt: skip


def printed(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["log", *words]) == 0
    return out.getvalue()


def answers(frame, path, *options):
    """Return what the commands say about a log, as JSON."""
    frame.write_csv(path)
    return [
        json.loads(printed(command, str(path), *more, "--bins", "64", "--json", *options))
        for command, *more in COMMANDS
    ]


def renamed(value, names):
    """Put other names into an answer: as values, as keys, and within sentences."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, str):
        for name, other in names.items():
            value = value.replace(name, other)
    return value


@pytest.fixture(scope="module")
def votes():
    return make_votes()


@pytest.fixture(scope="module")
def before(votes, tmp_path_factory):
    return answers(votes, tmp_path_factory.mktemp("log") / "votes.csv")


def shuffled_within_events(frame):
    order = np.random.default_rng(1).permutation(len(frame))
    return frame[order].sort("time", maintain_order=True)


def swapped_at_random(frame):
    """Swap who was shown first in half of the rows, which the summary counts."""
    swap = pl.Series(np.random.default_rng(2).random(len(frame)) < 0.5)
    return frame.with_columns(
        first=pl.when(swap).then("second").otherwise("first"),
        second=pl.when(swap).then("first").otherwise("second"),
    )


CHANGES = {
    "first and second swapped": lambda votes: votes.rename({"first": "second", "second": "first"}),
    "some swapped": swapped_at_random,
    "rows of an event in another order": shuffled_within_events,
    "all rows in another order": lambda votes: votes.sample(fraction=1, shuffle=True, seed=3),
    "columns in another order": lambda votes: votes.select(reversed(votes.columns)),
    "names that sort alike": lambda votes: votes.with_columns(
        pl.col("first", "second", "winner").str.replace("^", "the ")
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_what_does_not_matter_changes_nothing(change, votes, before, tmp_path):
    options = []
    if change == "some swapped":  # which matters unless places do not
        options = ["--no-first-place"]
        before = answers(votes, tmp_path / "votes.csv", *options)
    after = answers(CHANGES[change](votes), tmp_path / "other.csv", *options)
    names = {name: f"the {name}" for name in NAMES} if "names" in change else {}
    expected = renamed(before, names)
    if "swapped" in change:  # only what is said about the first place is the other way round
        places = [answer[0].pop("first_advantage") for answer in (after, expected)]
        ends = [answer[0].pop("first_advantage_between") for answer in (after, expected)]
        if change == "first and second swapped":
            logits = [answer[0].pop("first_place") for answer in (after, expected)]
            assert sum(logits) == pytest.approx(0)
            for answer in (after, expected):
                answer[0]["remarks"] = [r for r in answer[0]["remarks"] if "first place" not in r]
            assert sum(places) == pytest.approx(1)
            assert np.add(ends[0], ends[1][::-1]) == pytest.approx(1)
        close(after, expected, 0.01)  # sums in another order round differently
        return
    assert after == expected


def close(ours, theirs, draws):
    """Compare answers: what is drawn may differ as draws do, and nothing else."""
    if isinstance(ours, dict):
        assert set(ours) == set(theirs)
        for key in ours:
            close(ours[key], theirs[key], draws)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, abs=draws, rel=1e-6)
    elif isinstance(ours, list) and ours and not isinstance(ours[0], str):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            close(one, other, draws)
    else:
        assert ours == theirs


@pytest.mark.long
def test_names_in_another_order_change_nothing_but_the_luck_of_draws(votes, before, tmp_path):
    """Options are fitted in the order of their names, so draws are others; the posterior is not."""
    names = dict(zip(NAMES, ("zebra", "yak", "bear", "ant"), strict=True))
    other = votes.with_columns(pl.col("first", "second", "winner").replace_strict(names))
    after = answers(other, tmp_path / "other.csv")
    expected = renamed(before, names)  # a copy
    for one in (after, expected):
        for answer in one:
            answer["options"] = sorted(answer["options"])
            answer.pop("remarks")  # rounded numbers
    close(after[0], expected[0], 0.05)
    close(after[1], expected[1], 0.05)
    for name in ("significant_switches", "condorcet_switches", "preference_switches"):
        assert after[2][name]["median"] == expected[2][name]["median"] == 1
    assert after[2]["total_variation"]["median"] == pytest.approx(
        expected[2]["total_variation"]["median"], rel=0.1
    )


# ---- options that come and go ----


def with_a_guest(votes, begin, end, name="rum"):
    """Let a guest take the place of the first option in some of the votes of a while."""
    rows = np.arange(len(votes))
    there = (rows >= begin * len(votes)) & (rows < end * len(votes)) & (rows % 5 == 0)
    wins = rows % 2 == 0
    there = pl.Series(there)
    return votes.with_columns(
        first=pl.when(there).then(pl.lit(name)).otherwise("first"),
        winner=pl.when(there & pl.Series(wins)).then(pl.lit(name))
        .when(there).then("second").otherwise("winner"),
    )  # fmt: skip


@pytest.mark.parametrize(("begin", "end"), [(0.0, 0.4), (0.3, 0.7), (0.6, 1.0)])
def test_an_option_of_a_while_is_fitted_and_spoils_nothing(votes, begin, end):
    frame = with_a_guest(votes, begin, end)
    found = fit(read_log(frame).counts, bins=64)
    assert found.names == (*NAMES[:2], "rum", *NAMES[2:])
    assert found.counts.votes == len(votes)
    without = frame.filter((pl.col("first") != "rum") & (pl.col("second") != "rum"))
    plain = fit(read_log(without).counts, bins=64)
    assert found.now.winner == plain.now.winner == "gin"
    assert ("rum" in found.now.chances) == (end == 1.0)
    assert found.now.absent == (() if end == 1.0 else ("rum",))
    (change,) = (c for c in found.changes if c.reported)
    assert change.low <= plain.changes[0].time <= change.high


def test_the_commands_name_absent_options(votes, tmp_path):
    (summary, *_) = answers(with_a_guest(votes, 0.3, 0.6), tmp_path / "votes.csv")
    assert summary["absent"] == ["rum"]
    assert "rum" not in summary["now"]
    text = printed("summary", str(tmp_path / "votes.csv"), "--bins", "64")
    assert "not present: rum." in " ".join(text.split())
    (summary, *_) = answers(with_a_guest(votes, 0.6, 1.0), tmp_path / "votes.csv")
    assert summary["absent"] == []
    assert 0 <= summary["now"]["rum"] < 0.5
    (summary, *_) = answers(
        with_a_guest(votes, 0.6, 1.0), tmp_path / "votes.csv", "--present", "ale,gin"
    )
    assert set(summary["now"]) == {"ale", "gin"}


def test_options_that_never_meet_are_answered_for_the_last_ones():
    rows = 900
    pairs = np.array([("a", "b"), ("c", "d"), ("e", "f")])[np.arange(rows) // 300]
    winner = pairs[np.arange(rows), np.arange(rows) % 2]
    frame = pl.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1], "winner": winner})
    found = fit(read_log(frame).counts)
    assert set(found.now.chances) == {"e", "f"}
    assert found.now.absent == ("a", "b", "c", "d")
    assert max(found.now.chances.values()) < 0.9


def test_more_options_than_asked_for_are_listed(votes):
    log = read_log(with_a_guest(votes, 0.9, 0.91), most=4)
    assert list(log.left_out) == ["rum"]
    assert "rum" in " ".join(log.notes)
