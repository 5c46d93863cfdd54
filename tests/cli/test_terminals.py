"""Whatever the command line's streams are: nothing is said twice, wrongly, or in a traceback."""

import os
import shlex
import subprocess
import sys

import pytest

from driftduel.cli.streams import sentence

DRIFTDUEL = f"{shlex.quote(sys.executable)} -m driftduel"
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a shell")


def shell(command, cwd, **environment):
    """Run a line of bash in which D stands for the command line; return code, stdout, stderr."""
    ended = subprocess.run(
        ["bash", "-c", f"D='{DRIFTDUEL}'\n{command}"],
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "", **environment},
    )
    said = ended.stderr.splitlines(keepends=True)  # compiled or not depends on earlier runs
    return ended.returncode, ended.stdout, b"".join(x for x in said if b": compiling" not in x)


@pytest.mark.parametrize("command", ["policies", "--help", "worlds --json"])
def test_a_reader_that_has_seen_enough(command, tmp_path):
    # The reader is gone before anything is written: nobody has to be fast.
    line = f"exec 3> >(exec true); wait $!; $D {command} >&3"
    assert shell(line, tmp_path) == (141, b"", b"")


def test_a_reader_of_complaints_that_is_gone(tmp_path):
    line = "exec 3> >(exec true); wait $!; $D measure --world none 2>&3"
    assert shell(line, tmp_path) == (2, b"", b"")


@pytest.mark.parametrize("command", ["worlds", "--help", "measure --world two-arm --save w.npz"])
def test_a_closed_stdout(command, tmp_path):
    assert shell(f"$D {command} >&-", tmp_path) == (0, b"", b"")
    if "save" in command:  # and nothing was printed into it
        assert shell("$D measure --world file:path=w.npz", tmp_path)[0] == 0


def test_a_closed_stderr(tmp_path):
    """What is wrong is not said on stdout instead."""
    assert shell("$D measure --world none 2>&-", tmp_path) == (2, b"", b"")
    assert shell("$D worlds --nonsense 2>&-", tmp_path) == (2, b"", b"")


def test_everything_closed(tmp_path):
    assert shell("$D measure --world two-arm --save w.npz <&- >&- 2>&-", tmp_path)[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["w.npz"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(tmp_path):
    code, out, err = shell("$D policies >/dev/full", tmp_path)
    assert (code, out, err) == (2, b"", b"driftduel: No space left on device.\n")


def test_words_of_others_stay_in_one_line_and_move_no_cursor():
    said = sentence("no world named 'a\n\x1b[2Jb\udcff\u202e\0é'.")
    assert said == r"no world named 'a\n\x1b[2Jb\udcff\u202e\x00é'."
    assert len(sentence("x" * 10**6)) < 1100


def test_a_terminal_that_knows_ascii_only(tmp_path):
    for command in ("policies", "worlds", "policies --markdown"):
        code, out, err = shell(f"$D {command}", tmp_path, **ASCII)
        assert (code, err) == (0, b"")
        assert out.isascii()


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there")
@pytest.mark.parametrize("environment", [{}, ASCII])
@pytest.mark.long
def test_names_that_are_not_utf8(environment, tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.csv", "w", encoding="ascii") as file:
        file.write("0.5,0.6\n0.4,0.5\n")
    name = r"$'caf\xe9.csv'"
    line = f"$D measure --world file:path={name},rounds=100"
    code, out, err = shell(line, tmp_path, **environment)
    assert (code, err) == (0, b"")
    assert out.startswith(rb"file:path=caf\udce9.csv,rounds=100")
    code, out, err = shell(f"{line[:-3]}0", tmp_path, **environment)
    assert (code, out) == (2, b"")
    assert err.count(b"\n") == 1
    code, out, err = shell(r"$D measure --world two-arm --save $'\xe9.npz'", tmp_path)
    assert (code, err) == (0, b"")
    pytest.importorskip("polars")
    code, out, err = shell(r"$D table $'\xe9'", tmp_path, **environment)
    assert (code, out) == (2, b"")
    assert err.startswith(rb"driftduel: '\udce9' is not a folder")
