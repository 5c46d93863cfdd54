"""SIGTERM and SIGHUP end every command as Ctrl-C does: kindly, and nothing half-written is left."""

import os
import signal
from pathlib import Path

import pytest

from driftduel.cli import main

pytest.importorskip("polars")
pytest.importorskip("scipy")
from driftduel.suite import Split

if not hasattr(signal, "SIGHUP"):
    pytest.skip("needs the signals of Unix", allow_module_level=True)

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
WORLD = "geometric-btl:arms=3,rounds=500,phases=2"
COMPARE = ("compare", "--world", WORLD, "--policy", "dts", "--policy", "uniform", "--runs", "3")
TINY = Split("tiny", (WORLD,), ("two-arm:rounds=500",), (20, 500), ("btwr",), 2, 2, 3)
# What each command writes, and how many files it has finished when it is stopped.
COMMANDS = {
    "measure": (("measure", "--world", WORLD, "--save", "w.npz"), 0),
    "trace": (("trace", "--policy", "dts", "--world", WORLD, "--out", "t.csv"), 0),
    "compare": ((*COMPARE, "--out", "results"), 1),
    "sweep": (("sweep", "plan.toml", "--out", "results"), 1),
    "demo": (("demo", "--runs", "2"), 1),
    "suite": (("suite", "--runs", "2", "--worlds", "1", "--out", "results"), 2),
    "report": (("report", "finished", "--no-figures"), 0),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    assert main([*COMPARE, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "finished").symlink_to(finished)
    text = f'worlds = ["{WORLD}"]\npolicies = ["dts", "uniform"]\nruns = 3\n'
    (tmp_path / "plan.toml").write_text(text)
    monkeypatch.setattr("driftduel.suite.read_split", lambda name: TINY)
    monkeypatch.setattr("driftduel.cli.demo._WORLD", WORLD)
    monkeypatch.setattr("driftduel.cli.demo._POLICIES", ("dts", "uniform"))


@pytest.fixture(autouse=True)
def _handlers():
    """Should nobody handle a signal, a test must fail and not die."""

    def nobody(*_):
        pytest.fail("nobody heard the signal")

    before = {sign: signal.getsignal(sign) for sign in SIGNALS}
    for sign in SIGNALS[1:]:
        signal.signal(sign, nobody)
    yield
    left = {sign: signal.getsignal(sign) for sign in SIGNALS}
    for sign, handler in before.items():
        signal.signal(sign, handler)
    assert left[signal.SIGTERM] is left[signal.SIGHUP] is nobody, "the command put nothing back"


def at_file(monkeypatch, sign, after):
    """Send a signal while a file is written that is not called finished yet."""
    fsync = os.fsync
    files = []

    def synced(handle):
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.suffix == ".part":
            files.append(path)
            if len(files) > after:
                signal.raise_signal(sign)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    return files


def code_of(arguments):
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
@pytest.mark.parametrize(
    ("command", "sign"),
    [
        *((command, signal.SIGTERM) for command in COMMANDS),
        *((command, sign) for command in ("measure", "sweep") for sign in SIGNALS[::2]),
    ],
)
def test_stopped_while_it_writes_a_file(command, sign, monkeypatch, capsys, tmp_path):
    arguments, after = COMMANDS[command]
    interrupted = at_file(monkeypatch, sign, after)
    assert code_of(arguments) == 130
    said = capsys.readouterr().err
    assert "driftduel: stopped." in said
    assert "Traceback" not in said
    if after:
        assert "the same command resumes." in said
    assert len(interrupted) > after
    for folder in (tmp_path, tmp_path / "finished"):
        assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize("sign", SIGNALS)
def test_a_game_ends_between_two_stretches_and_is_shown(sign, monkeypatch, capsys):
    monkeypatch.setattr(
        "driftduel.cli.progress.Progress.__call__", lambda *_: signal.raise_signal(sign)
    )
    assert code_of(["play", "--policy", "uniform", "--world", "two-arm:rounds=1e8"]) == 130
    assert "stopped after" in capsys.readouterr().out


def test_under_nohup_the_end_of_the_terminal_is_ignored(monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    at_file(monkeypatch, signal.SIGHUP, 0)
    assert code_of(COMMANDS["measure"][0]) == 0
    assert Path("w.npz").exists()
    assert signal.signal(signal.SIGHUP, before) is signal.SIG_IGN


def test_a_background_job_that_ignores_ctrl_c_ends_for_sigterm(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    at_file(monkeypatch, signal.SIGTERM, 0)
    try:
        assert code_of(COMMANDS["measure"][0]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert not Path("w.npz").exists()


def test_nobody_left_to_tell_is_no_error(monkeypatch):
    class Gone:
        def write(self, text):
            raise OSError(5, "Input/output error")

    at_file(monkeypatch, signal.SIGHUP, 0)
    monkeypatch.setattr("sys.stderr", Gone())
    assert code_of(COMMANDS["measure"][0]) == 130
