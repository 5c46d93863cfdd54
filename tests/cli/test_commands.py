"""The command line, as a user meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from driftduel.cli import COMMANDS, main
from driftduel.worlds import WORLDS, load_world


def run(capsys, *arguments):
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_worlds_lists_every_world_and_key(capsys):
    code, out, _ = run(capsys, "worlds")
    assert code == 0
    for entry in WORLDS:
        assert entry.name in out
        assert entry.summary not in out
    code, out, _ = run(capsys, "worlds", "--long")
    for entry in WORLDS:
        assert f"{entry.name}\n  {entry.summary}" in out
    code, out, _ = run(capsys, "worlds", "--json")
    listed = json.loads(out)
    assert list(listed) == [entry.name for entry in WORLDS]
    for entry in WORLDS:
        names = [parameter["name"] for parameter in listed[entry.name]["parameters"]]
        assert names == [parameter.name for parameter in (*entry.parameters, *WORLDS.shared)]
    shared = [parameter.name for parameter in WORLDS.shared]
    assert shared == ["ties", "delay", "slate", "feedback"]
    _, out, _ = run(capsys, "worlds", "two-arm")
    assert "Every world also takes:\n    ties      0.0" in out
    assert "\n    delay     0" in out


@pytest.mark.long
def test_worlds_with_ties_and_absences_are_measured_and_played(capsys, tmp_path):
    spec = "sleeping:arms=4,rounds=800,events=20,seed=1,ties=0.25"
    code, out, _ = run(capsys, "measure", "--world", spec)
    assert code == 0
    assert "ties" in out
    assert "25%" in out
    assert "Arms join and leave" in out
    assert "the paper's bounds" not in out
    code, out, _ = run(capsys, "measure", "--world", spec, "--json")
    found = json.loads(out)
    assert found["absences"] is True
    assert found["ties"] == 0.25
    assert found["significant_switches"] is None
    code, _, error = run(capsys, "play", "--world", spec, "--policy", "anaconda")
    assert code == 2
    assert error.count("\n") == 1
    assert "'anew-anaconda', which restarts it at every change" in error
    tied = "two-arm:rounds=300,ties=0.5"
    path = tmp_path / "trace.csv"
    code, *_ = run(capsys, "trace", "--world", tied, "--policy", "dts", "--out", str(path))
    assert code == 0
    answers = [row.split(",")[3] for row in path.read_text().splitlines()[1:]]
    assert set(answers) == {"0", "1", ""}


def test_measure_json_has_everything(capsys):
    spec = "geometric-btl:arms=10,rounds=50000,phases=4,change=winner"
    code, out, _ = run(capsys, "measure", "--world", spec, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["arms"] == 10
    assert found["rounds"] == 50000
    assert found["preference_switches"] == found["condorcet_switches"] == 3
    assert found["significant_switches"] == 3
    assert found["total_variation"] >= found["condorcet_variation"] > 0
    assert [first for first, _ in found["condorcet_winners"]] == [1, 12501, 25001, 37501]
    assert found["bounds"]["switches"] == pytest.approx(10 * (4 * 50000) ** 0.5)


def test_measure_for_people(capsys):
    code, out, _ = run(capsys, "measure", "--world", "alternating:rounds=1000")
    assert code == 0
    assert "S^P" in out
    assert "999" in out
    assert "arm 0" in out
    code, out, _ = run(capsys, "measure", "--world", "cycle:rounds=100")
    assert code == 0
    assert "Round 1 has no Condorcet winner" in out
    code, out, _ = run(capsys, "measure", "--world", "mixed:arms=4,rounds=1000,phases=3")
    assert code == 0
    said = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "with a Condorcet winner 667 66.7%",
        "without one 333 33.3%",
        "Condorcet winner switches S^CW -",
        "from one winner to another 1 round 667",
        "against the von Neumann winner 1 round 693",
        "over rounds with a winner 0.589",
        "arms in the Smith set, mean 1.67 at most 3",
        "Smith set switches 2 rounds 334, 667",
        "334 - 666 arms 1, 2, 3",
    ):
        assert line in said
    assert "Round 334 has no Condorcet winner" in out


def test_measure_saves_the_world(capsys, tmp_path):
    target = tmp_path / "w.npz"
    code, _, _ = run(capsys, "measure", "--world", "two-arm:rounds=9", "--save", str(target))
    assert code == 0
    assert load_world(str(target)).condorcet_winners() == [(1, 0), (5, 1)]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_measure_draws(capsys, tmp_path, ending):
    pytest.importorskip("matplotlib")
    for spec in ("seasonal:arms=4,rounds=300", "cycle:rounds=5", "sleeping:rounds=900,ties=0.2"):
        target = tmp_path / f"w.{ending}"
        code, _, err = run(capsys, "measure", "--world", spec, "--plot", str(target))
        assert (code, err) == (0, "")
        assert target.stat().st_size > 5000
        assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_play_for_people_and_programs(capsys):
    arguments = ("play", "--policy", "anaconda:constant=0.1", "--world", "two-arm:rounds=3000")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "prior knowledge: horizon" in out
    assert "to ship:  arm " in out
    assert "restarts: " in out
    code, out, _ = run(capsys, *arguments, "--json", "--seed", "3")
    game = json.loads(out)
    assert code == 0
    assert game["finished"]
    assert game["rounds"] == game["at"][-1] == 3000
    assert game["best"] in (0, 1)
    assert set(game["regret"]) == {"dynamic", "weak", "binary-weak", "binary-strong"}
    assert game["regret"]["dynamic"][-1] > 0


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("anaconda:constant=0", "constant=0 must be a number above 0"),
        ("anaconda:horizon=1", "horizon=1 must be a whole number at least 2"),
        ("anacodna", "did you mean anaconda"),
        ("anaconda:rule=paepr", "one of paper, freedman, calibrated"),
    ],
)
def test_bad_policies_get_one_sentence_and_exit_code_2(capsys, policy, said):
    code, out, err = run(capsys, "play", "--policy", policy, "--world", "two-arm")
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def bad_files(folder):
    np.savez(folder / "sum.npz", matrices=[[[0.5, 0.7], [0.7, 0.5]]], starts=[1], rounds=9)
    np.savez(folder / "nan.npz", matrices=[[[0.5, np.nan], [0.5, 0.5]]], starts=[1], rounds=9)
    np.savez(folder / "one.npz", matrices=[[[0.5]]], starts=[1], rounds=9)
    two = np.full((2, 2, 2), 0.5)
    np.savez(folder / "order.npz", matrices=two, starts=[1, 1], rounds=9)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("geometric-btl:arms=1", "arms=1"),
        ("geometric-btl:rounds=0", "rounds=0"),
        ("geometric-btl:rounds=x", "rounds=x"),
        ("geometric-blt", "did you mean geometric-btl"),
        ("file:path={0}/sum.npz", "P[0,1]"),
        ("file:path={0}/nan.npz", "nan"),
        ("file:path={0}/one.npz", "1"),
        ("file:path={0}/order.npz", "not after phase 1"),
        ("file:path={0}/missing.npz", "No such file"),
        ("file:path={0}", "directory"),
        ("", "is not a spec"),
    ],
)
def test_bad_worlds_get_one_sentence_and_exit_code_2(capsys, tmp_path, spec, said):
    bad_files(tmp_path)
    code, out, err = run(capsys, "measure", "--world", spec.format(tmp_path))
    assert code == 2
    assert out == ""
    assert said in err
    assert err.startswith("driftduel: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["measure"],
        ["measure", "--world", "two-arm", "--significance", "x"],
        ["nothing"],
        ["worlds", "nothing"],
        ["measure", "--world", "two-arm", "--seed", "x"],
    ],
)
def test_bad_arguments_get_one_line_and_exit_code_2(capsys, arguments):
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    err = capsys.readouterr().err
    assert code == 2
    assert err.startswith("driftduel: ")
    assert err.count("\n") == 1


def test_an_unwritable_figure_is_one_sentence(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    for target in (tmp_path / "no" / "w.png", tmp_path / "w.xyz"):
        code, _, err = run(capsys, "measure", "--world", "two-arm", "--plot", str(target))
        assert code == 2
        assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_says_which_one(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    target = tmp_path / "w.png"
    code, _, err = run(capsys, "measure", "--world", "two-arm", "--plot", str(target))
    assert code == 2
    assert "driftduel[plot]" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "usage" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--policy", "--world"])
def test_two_dashes_are_no_value(capsys, option):
    words = {"--policy": "uniform", "--world": "two-arm", option: "--"}
    with pytest.raises(SystemExit) as stop:
        main(["play", *(f"{name}={value}" for name, value in words.items())])
    assert stop.value.code == 2
    assert f"'{option}=--' gives no value" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m driftduel worlds | head -1"
    out = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert out.returncode == 0
    assert out.stderr == ""
