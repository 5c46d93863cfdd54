"""The JSON of the log commands: what each prints is valid by its JSON Schema."""

import argparse
import json
from datetime import UTC, datetime

import numpy as np
import pytest

pytest.importorskip("scipy")
pl = pytest.importorskip("polars")
msgspec = pytest.importorskip("msgspec")

from driftduel.cli import main  # noqa: E402
from driftduel.cli.log import WITH_JSON, configure  # noqa: E402
from driftduel.logs import read_log, votes_of  # noqa: E402
from driftduel.logs.posterior import _most_frequent_pair  # noqa: E402
from driftduel.logs.schemas import OUTPUTS, json_schema, validate  # noqa: E402
from driftduel.worlds import Piecewise  # noqa: E402

NAMES = np.array(["ale", "gin", "tea"])
START = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = {
    "row": None,
    "number": lambda vote: vote * 2.5,
    "date": lambda vote: np.datetime64("2026-01-01") + vote // 4,
    "datetime": lambda vote: np.datetime64("2026-01-01T00:00:00.000") + 60_000 * vote,
}


def log_of(folder, clock, rounds=3000):
    """Tea is best, and from the middle on gin is."""
    tea = [[0.5, 0.4, 0.25], [0.6, 0.5, 0.3], [0.75, 0.7, 0.5]]
    gin = [[0.5, 0.3, 0.45], [0.7, 0.5, 0.75], [0.55, 0.25, 0.5]]
    votes = votes_of(Piecewise([tea, gin], [1, rounds // 2 + 1], rounds), seed=4)
    first, second = NAMES[votes["first"]], NAMES[votes["second"]]
    winner = np.where(votes["outcome"] == 1, first, second)
    frame = pl.DataFrame({"first": first, "second": second, "winner": winner})
    if TIMES[clock] is not None:
        frame = frame.with_columns(time=TIMES[clock](votes["time"] - 1))
    path = folder / f"{clock}.csv"
    frame.write_csv(path)
    return str(path)


def printed(capsys, command, *words):
    assert main(["log", command, *words, "--json"]) == 0
    out = capsys.readouterr().out
    validate(command, out)
    return json.loads(out)


def test_a_time_is_a_number_or_iso_8601(tmp_path, capsys):
    types = {"row": int, "number": int | float, "date": str, "datetime": str}
    for clock, kind in types.items():
        path = log_of(tmp_path, clock)
        about = printed(capsys, "changes", path, "--bins", "64", "--fit", "utilities")
        (change,) = about["changes"]
        assert about["winner_switches"] == 1
        for name in ("time", "low", "high"):
            assert isinstance(change[name], kind), clock
            assert isinstance(change[f"{name}_text"], str)
        assert change["low"] <= change["time"] <= change["high"]
        assert change["vote_low"] <= 1501 <= change["vote_high"]
        assert change["vote_low"] <= change["vote"] <= change["vote_high"]
        assert change["vote_high"] - change["vote_low"] < 600
        assert change["new_winner"]
        more = "--bins", "16", "--fit", "utilities"
        summary = printed(capsys, "summary", path, *more)
        assert isinstance(summary["from"], kind)
        if kind is str:
            assert datetime.fromisoformat(summary["from"]).replace(tzinfo=UTC) == START
    assert summary["from"] == "2026-01-01T00:00:00Z"
    assert summary["from_text"] == "2026-01-01 00:00:00"


def test_the_numbers_of_votes_are_those_at_the_ends_of_the_interval(tmp_path):
    for clock in ("row", "number"):
        (change,) = read_log(log_of(tmp_path, clock)).fit("utilities", bins=64).changes
        step = {"row": 1.0, "number": 2.5}[clock]
        for vote, time in (
            (change.vote, change.time),
            (change.vote_low, change.low),
            (change.vote_high, change.high),
        ):
            assert vote - 1 == pytest.approx(time / step, abs=1)


def test_the_winners_before_and_after_a_change_are_a_pair_that_occurs():
    before, after = np.repeat([[0, 2, 3], [1, 0, 0]], [4, 3, 3], axis=1)
    assert np.bincount(before).argmax() == np.bincount(after).argmax() == 0
    assert _most_frequent_pair(before, after) == (0, 1)


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_command_prints_what_its_schema_says(command, tmp_path, capsys):
    path = log_of(tmp_path, "date", rounds=600)
    more = {
        "measure": ["--draws", "5"],
        "world": ["--save", str(tmp_path / "w.npz")],
        "compare": ["--policy", "uniform", "--sisters", "2", "--runs", "1", "--rounds", "300"],
        "replay": ["--policy", "uniform", "--runs", "2"],
        "tags": ["--by", "winner"],
        "features": ["--features", "winner"],
        "report": ["--out", str(tmp_path / "page"), "--no-policies"],
        "count": ["--save", str(tmp_path / "counts.npz")],
    }.get(command, [])
    fast = [] if command in ("count", "features", "tags") else ["--fit", "utilities"]
    printed(capsys, command, path, "--bins", "16", *more, *fast)


def test_every_command_that_takes_json_has_a_schema():
    assert set(OUTPUTS) == set(WITH_JSON)
    options = {
        action.dest
        for name, command in subcommands()
        if name not in OUTPUTS
        for action in command._actions
    }
    assert "json" not in options


def subcommands():
    parser = argparse.ArgumentParser()
    configure(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def test_weighted_grouped_and_tied_votes_are_valid_output(tmp_path, capsys):
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=400)
    second = (first + rng.integers(1, 3, size=400)) % 3
    winner = np.where(rng.random(400) < 0.3, "tie", NAMES[first])
    table = {"first": NAMES[first], "second": NAMES[second], "winner": winner}
    table |= {"weight": rng.integers(1, 4, 400), "voter": rng.integers(30, size=400)}
    pl.DataFrame(table).write_csv(tmp_path / "votes.csv")
    for command in ("summary", "changes"):
        words = str(tmp_path / "votes.csv"), "--group", "voter", "--bins", "16"
        about = printed(capsys, command, *words)
    assert about["winner_switches"] == sum(row["new_winner"] for row in about["changes"])


def test_the_schema_is_printed_and_refuses_other_output(tmp_path, capsys):
    assert main(["log", "schema", "changes"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == json_schema("changes")
    row = schema["$defs"]["ChangeRow"]["properties"]
    assert row["vote"]["type"] == "integer"
    for command in OUTPUTS:
        for field in json_schema(command)["properties"].values():
            assert field.get("description"), command
    about = printed(capsys, "world", log_of(tmp_path, "row"), "--save", str(tmp_path / "w.npz"))
    for wrong in ({"rounds": "3,000"}, {"more": 1}, {"files": None}):
        with pytest.raises(msgspec.ValidationError):
            validate("world", json.dumps(about | wrong))
    with pytest.raises(SystemExit) as stop:
        main(["log", "schema", "demo"])
    assert stop.value.code == 2
