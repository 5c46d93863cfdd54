"""What people see: lines that fit their screen, and colour where it helps."""

import io
import os
import re
import struct
import subprocess
import sys
from types import SimpleNamespace

import pytest

from driftduel.cli import catalogue, main, terminal
from driftduel.cli.progress import Progress
from driftduel.policies import POLICIES
from driftduel.regret import BENCHMARKS
from driftduel.worlds import WORLDS

COLOUR = re.compile(r"\x1b\[\d+m")


def on_terminal(*words, columns=80, **environment):
    """Run the command line on a terminal of so many columns; return all that was shown."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {key: value for key, value in os.environ.items() if not key.endswith("_COLOR")}
    env = {**env, "TERM": "xterm", **environment}
    env.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-m", "driftduel", *words], stdout=theirs, stderr=theirs, env=env
    ):
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture
def narrow(monkeypatch):
    """Make stdout a screen of so many columns."""

    def make(columns):
        monkeypatch.setattr(terminal, "width", lambda: columns)
        monkeypatch.setenv("COLUMNS", str(columns))

    return make


def lines_of(capsys, *words):
    assert main(words) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "words",
    [
        ("policies",),
        ("policies", "--long"),
        ("worlds",),
        ("worlds", "--long"),
        ("measure", "--world", "mixed:arms=4,rounds=1e6,phases=30"),
        ("measure", "--world", "sleeping:arms=4,rounds=8e5,events=20,seed=1,ties=0.25"),
        ("play", "--policy", "uniform", "--world", "seasonal:arms=4,rounds=2e5,spread=2,seed=3"),
    ],
)
def test_everything_fits(capsys, narrow, columns, words):
    narrow(columns)
    lines = lines_of(capsys, *words)
    assert max(map(len, lines)) <= columns


def test_the_winners_over_time_use_what_room_there_is(capsys, narrow):
    words = ("measure", "--world", "two-arm:rounds=1000")
    whole = next(line for line in lines_of(capsys, *words) if line.startswith("winner over"))
    assert whole == f"winner over time   1 {'0' * 32}{'1' * 32} 1,000"
    narrow(60)
    short = next(line for line in lines_of(capsys, *words) if line.startswith("winner over"))
    assert len(short) == 60
    assert short.startswith("winner over time   1 0000")
    assert short.endswith("1111 1,000")


@pytest.mark.parametrize(("groups", "registry"), [("POLICIES", POLICIES), ("WORLDS", WORLDS)])
def test_the_short_lists_name_everything_once(groups, registry):
    listed = [name for group in getattr(catalogue, groups).values() for name in group]
    assert len(listed) == len(set(listed))
    single = {name for name in listed if not name.endswith("-*")}
    prefixes = {name[:-1] for name in listed if name.endswith("-*")}
    for entry in registry:
        if entry.factory.__module__.startswith("research.study"):
            continue  # there only once somebody has imported the study
        wrapper = getattr(entry.factory, "wrapper", None)
        assert (f"{wrapper.prefix}-" in prefixes) if wrapper else (entry.name in single), entry.name
    for name in single:
        assert name in registry
    for prefix in prefixes:
        assert f"{prefix}dts" in registry or f"{prefix}rex3" in registry


def test_a_policy_of_ones_own_is_listed_last(capsys):
    from driftduel.policies import Policy

    class Mine(Policy):
        """Do something that takes many, many, many, many words to say, and more than one line."""

    try:
        POLICIES.register("mine")(Mine)
        lines = lines_of(capsys, "policies")
    finally:
        POLICIES.remove("mine")
    place = lines.index("Others")
    assert lines[place + 1].split()[:3] == ["mine", "Do", "something"]
    assert lines[place + 1].endswith(" ...")
    assert len(lines[place + 1]) <= 80


def test_compare_on_a_narrow_screen_says_what_it_leaves_out(capsys, narrow, tmp_path):
    pytest.importorskip("polars")
    pytest.importorskip("scipy")
    world = "geometric-btl:arms=3,rounds=500,phases=2"
    words = ("compare", "--world", world, "--policy", "uniform", "--policy", "wss", "--runs", "3")
    kept = ("--out", str(tmp_path / "out"))
    whole = lines_of(capsys, *words, *kept)
    assert not any("Left out" in line for line in whole)
    assert "rounds/s" in next(line for line in whole if line.startswith("policy"))
    narrow(80)
    lines = lines_of(capsys, "table", kept[1])
    assert max(map(len, lines)) <= 80
    said = " ".join(lines[-2:])
    assert "Left out to fit 80 columns: " in said
    assert said.endswith("--wide, a wider terminal or a pipe shows them.")
    head = next(line for line in lines if line.startswith("policy"))
    for title in ("regret", "interval", "paired"):
        assert title in head
    assert "rounds/s" in said
    assert "rounds/s" not in head
    narrow(120)
    assert "told" in next(x for x in lines_of(capsys, "table", kept[1]) if x.startswith("policy"))


def test_wide_shows_everything_on_any_screen(capsys, monkeypatch, tmp_path):
    pytest.importorskip("polars")
    pytest.importorskip("scipy")
    words = ("--world", "geometric-btl:arms=3,rounds=500,phases=2", "--policy", "uniform")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    out = str(tmp_path / "out")
    assert any("Left out" in x for x in lines_of(capsys, "compare", *words, "--out", out))
    for command in (("compare", *words, "--out", out, "--wide"), ("table", out, "--wide")):
        lines = lines_of(capsys, *command)
        assert not any("Left out" in x for x in lines)
        assert "rounds/s" in next(x for x in lines if x.startswith("policy"))
    assert any("Left out" in x for x in lines_of(capsys, "table", out))  # no longer


def test_switches_take_one_line_each(capsys, narrow):
    words = ("measure", "--world", "geometric-btl:rounds=1e6,phases=12")
    whole = lines_of(capsys, *words)
    narrow(80)
    lines = lines_of(capsys, *words)
    assert len(lines) == len(whole)
    assert sum(line.endswith("rounds 83,334, 166,667, ...") for line in lines) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_colour_and_width_on_a_terminal():
    shown = on_terminal("worlds")
    assert COLOUR.search(shown)
    assert "From data and from the literature" in shown
    assert max(len(COLOUR.sub("", line)) for line in shown.splitlines()) <= 80
    assert on_terminal("worlds", NO_COLOR="1") == COLOUR.sub("", shown)
    assert on_terminal("worlds", TERM="dumb") == COLOUR.sub("", shown)
    assert on_terminal("worldz") == (
        "\x1b[31mdriftduel:\x1b[0m there is no command 'worldz'; did you mean worlds?\n"
    )
    narrow = on_terminal("measure", "--world", "two-arm", columns=60)
    assert max(len(COLOUR.sub("", line)) for line in narrow.splitlines()) <= 71  # the bounds
    assert "\nwinner over time   1 000" in narrow


def test_no_colour_in_a_pipe_unless_forced(capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    main(["worlds"])
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["worlds"])
    painted = capsys.readouterr().out
    assert COLOUR.search(painted)
    assert COLOUR.sub("", painted) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    main(["worlds"])
    assert capsys.readouterr().out == plain


def test_the_bar_keeps_its_numbers_whatever_is_said_beside_it(monkeypatch):
    console = pytest.importorskip("rich.console")
    from driftduel.lab.progress import _TerminalBar

    monkeypatch.setenv("COLUMNS", "80")
    bar = _TerminalBar(1600)
    try:
        bar.show(312, "91.4k rounds/s  best so far: anaconda:constant=0.25 (in 12 of 24 worlds)")
        screen = console.Console(width=80, file=io.StringIO(), record=True)
        screen.print(bar._bar.get_renderable())
    finally:
        bar.close()
    lines = screen.export_text().splitlines()
    assert len(lines) == 1
    assert " 312/1600 cells 0:00:00 91.4k rounds/s  best so far: ana" in lines[0]
    assert lines[0].endswith("...")


def test_the_suite_may_do_without_columns_that_it_has():
    pytest.importorskip("polars")
    pytest.importorskip("scipy")
    from driftduel.cli import suite
    from driftduel.suite import scoring

    assert set(suite._OPTIONAL) <= {*scoring._CHANGING, *scoring._QUIET}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_game_of_any_regret_fits(benchmark, capsys, narrow):
    narrow(80)
    world = ("--world", "geometric-btl:arms=3,rounds=2e5,phases=2")
    lines = lines_of(capsys, "play", "--policy", "uniform", *world, "--benchmark", benchmark)
    assert max(map(len, lines)) <= 80


def test_the_time_left_says_nothing_of_the_time_to_compile(capsys, monkeypatch):
    now = iter((100.0, 101.0))  # after a minute of compiling
    monkeypatch.setattr("driftduel.cli.progress.time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = Progress("play")
    progress(1, 10_001)
    assert not capsys.readouterr().err
    progress(2_001, 10_001)
    assert " ".join(capsys.readouterr().err.split()) == "play: 20.0% 2k rounds/s 4.0 s left"
