"""Traces: one row a round, in both formats, auditable from the outside."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from driftduel.cli import main
from driftduel.errors import DriftduelError
from driftduel.games import COLUMNS, play, trace, write_trace
from driftduel.worlds import WithAbsences, WithTies, make_world
from tests.policies.audit import audit

GAME = ("anaconda:constant=0.15", "geometric-btl:arms=3,rounds=1500,phases=3,change=winner")


def read_csv(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    return [
        SimpleNamespace(
            **{key: int(value) for key, value in row.items() if key != "active"},
            active=tuple(map(int, row["active"].split())),
        )
        for row in rows
    ]


def test_a_csv_trace_can_be_audited_from_the_outside(tmp_path, capsys):
    path = tmp_path / "t.csv"
    arguments = ["trace", "--policy", GAME[0], "--world", GAME[1], "--seed", "4"]
    assert main([*arguments, "--out", str(path)]) == 0
    assert "1,500 rounds" in capsys.readouterr().out
    rows = read_csv(path)
    assert [row.round for row in rows] == list(range(1, 1501))
    restarts = audit(rows, 3, 1500, 0.15)
    assert restarts
    assert rows[0].replay_end == 1501


def test_parquet_holds_the_same_rows(tmp_path):
    polars = pytest.importorskip("polars")
    played = trace(*GAME, seed=4)
    write_trace(played, tmp_path / "t.csv")
    write_trace(played, tmp_path / "t.parquet")
    frame = polars.read_parquet(tmp_path / "t.parquet")
    assert tuple(frame.columns) == COLUMNS
    assert frame.schema["active"] == polars.List(polars.Int64)
    for row, other in zip(read_csv(tmp_path / "t.csv"), frame.iter_rows(named=True), strict=True):
        assert {**vars(row), "active": list(row.active)} == other
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


def test_the_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    for seed, world in ((4, GAME[1]), (1, "two-arm:rounds=20")):
        path = tmp_path / f"{seed}.png"
        arguments = ["trace", "--policy", GAME[0], "--world", world, "--seed", str(seed)]
        assert main([*arguments, "--plot", str(path)]) == 0
        assert path.stat().st_size > 20_000
    assert "restarts" in capsys.readouterr().out


def test_replays_of_a_trace_nest():
    pytest.importorskip("matplotlib")
    from driftduel.games.replays import nested_replays

    played = trace(*GAME, seed=4)
    replays = nested_replays(played)
    roots = [replay for replay in replays if replay[3] == 0]
    assert [start for start, *_ in roots] == np.unique(played.episode_start).tolist()
    assert all(start <= last <= end for start, end, last, _ in replays)
    begun = {start for start, *_ in replays}
    assert begun == set(np.unique(played.replay_start).tolist())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--out FILE or --plot FILE is required"),
        (["--out", "t.xlsx"], "'t.xlsx' is neither"),
        (["--out", "no/t.csv"], "no folder no"),
        (["--plot", "t.xyz"], "has another suffix"),
    ],
)
def test_bad_paths_are_refused_before_the_game(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code = main(["trace", "--policy", GAME[0], "--world", GAME[1], *arguments])
    err = capsys.readouterr().err
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_polars_is_said_before_the_game(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DriftduelError, match=r"driftduel\[lab\]"):
        write_trace(trace(*GAME[:1], "two-arm:rounds=5"), tmp_path / "t.parquet")


def test_ties_and_absences_are_written_down(tmp_path):
    events = [(1, 2, False), (301, 2, True), (301, 0, False)]
    world = WithTies(WithAbsences(make_world("utilities:arms=3,rounds=600", seed=1), events), 0.3)
    played = trace("dts", world, seed=2)
    game = play("dts", world, seed=2)
    for name, array in game.policy.get_state().items():
        np.testing.assert_array_equal(array, played.policy.get_state()[name])
    assert set(played.first_won.tolist()) == {-1, 0, 1}
    assert played.columns == (*COLUMNS, "present")
    write_trace(played, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["present"] for row in rows[:300]} == {"0 1"}
    assert {row["present"] for row in rows[300:]} == {"1 2"}
    for row, won in zip(rows, played.first_won, strict=True):
        assert {row["first"], row["second"]} <= set(row["present"].split())
        assert row["first_won"] == ("" if won < 0 else str(won))
    polars = pytest.importorskip("polars")
    write_trace(played, tmp_path / "t.parquet")
    frame = polars.read_parquet(tmp_path / "t.parquet")
    assert frame["present"].to_list() == [*[[0, 1]] * 300, *[[1, 2]] * 300]
    assert frame["first_won"].null_count() == (played.first_won < 0).sum() > 20
