"""TAB completes commands, options, policies, worlds and their keys."""

import shutil
import subprocess
import sys

import hypothesis.strategies as st
import pytest
from hypothesis import given

from driftduel.cli import COMMANDS, main, parser
from driftduel.cli.completing import candidates

TOP = parser()


def completed(*words):
    return candidates(parser(), words[:-1], words[-1])


def test_commands_and_options():
    assert completed("") == [*COMMANDS, "-h", "--help", "--version"]
    assert completed("com") == ["compare", "completion"]
    assert completed("play", "--po") == ["--policy", "--points"]
    assert "--world" in completed("play", "")
    assert completed("play", "--mode", "") == ["serve", "panel"]
    assert completed("play", "--mode=p") == ["--mode=panel"]
    assert completed("completion", "") == ["bash", "zsh", "fish"]
    assert completed("nonsense", "x") == []
    assert completed("log", "su") == ["summary"]
    assert completed("log", "summary", "--gr") == ["--group"]


def test_specs():
    assert completed("measure", "--world", "geo") == ["geometric-btl", "geometric-btl:"]
    assert completed("measure", "--world=geo")[0] == "--world=geometric-btl"
    assert completed("worlds", "seas") == ["seasonal"]
    assert completed("policies", "sw-dts-") == ["sw-dts-plus"]
    assert completed("play", "--policy", "sw-dts:win") == ["sw-dts:window="]
    keys = completed("play", "--world", "geometric-btl:arms=10,")
    assert "geometric-btl:arms=10,phases=" in keys
    assert "geometric-btl:arms=10,ties=" in keys
    assert "geometric-btl:arms=10,arms=" not in keys
    link = completed("play", "--world", "utilities:link=l")
    assert link == ["utilities:link=logistic", "utilities:link=linear"]
    assert completed("play", "--world", "nowhere:arm") == []


def test_files_are_left_to_the_shell():
    assert completed("measure", "--plot", "wor") == []
    assert completed("table", "") == []


@given(st.lists(st.sampled_from(["play", "--world", "--mode", "worlds", "x", "", "-", "--"])),
       st.text("-:=,two-armsw dts", max_size=20))  # fmt: skip
def test_whatever_is_there_is_completed_or_not(before, current):
    for word in candidates(TOP, before, current):
        assert word.startswith(current)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_can_read_its_script(shell, capsys, tmp_path):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "driftduel" in script
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here")
    path = tmp_path / "script"
    path.write_text(script)
    subprocess.run([shell, "-n", str(path)], check=True)


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("driftduel meas", ["measure"]),
        ("driftduel measure --world geometric-btl:pha", ["phases="]),
        ("driftduel measure --world geometric-btl:arms=10,pha", ["10,phases="]),
        ("driftduel measure --world=seas", ["seasonal", "seasonal:"]),
        ("driftduel measure --world 'seas", []),
        ("driftduel measure --world two-arm --plot ", []),
    ],
)
def test_bash(line, expected, tmp_path):
    """Do what bash does at TAB: set the variables, and call the function."""
    program = tmp_path / "driftduel"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m driftduel "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$("$1" completion bash)"\n'
        'COMP_LINE="$2"; COMP_POINT=${#COMP_LINE}\n'
        '_driftduel "$1" 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"\n'
        "complete -p driftduel >&2\n"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", str(program), line],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == expected
    assert "-F _driftduel driftduel" in done.stderr
