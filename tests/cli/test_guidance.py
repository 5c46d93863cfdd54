"""Whoever does not know the way is shown it: a guide, examples, and guesses at what was meant."""

import shlex

import pytest

from driftduel.cli import COMMANDS, main, parser
from driftduel.cli.arena import COMMANDS as ARENA_COMMANDS
from driftduel.cli.examples import EXAMPLES
from driftduel.cli.guide import _TRY, guide
from driftduel.cli.log import COMMANDS as LOG_COMMANDS
from driftduel.cli.suggestions import suggest


def run(capsys, *arguments):
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def commands_of(line):
    """Return the words after each ``driftduel`` of a line for a shell, up to where it ends."""
    words = shlex.split(line.replace("\\\n", " ").replace('"$(', " ").replace(')"', " "))
    assert "driftduel" in words
    words = words[words.index("driftduel") + 1 :]
    return words[: words.index(">")] if ">" in words else words


def test_the_program_alone_is_a_guide(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for name, summary in COMMANDS.items():
        assert f"  {name:<10}  {summary}" in lines
    assert [line.strip() for line in lines if line.startswith("  driftduel ")] == list(_TRY)
    assert len(_TRY) == 3
    assert len(lines) < 40
    assert max(map(len, lines)) <= 80
    for line in _TRY:
        parser().parse_args(commands_of(line))


def test_a_command_that_nobody_grouped_is_in_the_guide():
    assert "\nMore\n  novelty     does something\n" in guide({"novelty": "does something"})


def test_every_command_has_examples():
    of_logs = [f"log {name}" for name in LOG_COMMANDS]
    of_arenas = [f"arena {name}" for name in ARENA_COMMANDS]
    assert set(EXAMPLES) == {*COMMANDS, *of_logs, *of_arenas}


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_parse_and_help_shows_them(capsys, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, *command.split(), "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for line, what in EXAMPLES[command]:
        assert f"  {line}\n      {what}\n" in out + "\n"
        words = commands_of(line)
        assert words[: len(command.split())] == command.split()
        parser().parse_args(words)


COMPILED = {"play", "trace"}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.long] if command in COMPILED else [])
        for command in ("worlds", "policies", "measure", "completion", *sorted(COMPILED))
        for line, _ in EXAMPLES[command]
    ],
)
def test_examples_run(capsys, line, tmp_path, monkeypatch):
    if ".png" in line:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("0.5,0.6\n0.4,0.5\n")
    code, _, err = run(capsys, *commands_of(line))
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("compar", "there is no command 'compar'; did you mean compare?"),
        ("help", "did you mean --help?"),
        ("Measure --world x", "did you mean measure?"),
        ("measure --worlds two-arm", "measure has no option '--worlds'; did you mean --world?"),
        ("play --polcy dts --world two-arm", "did you mean --policy?"),
        ("measure prefs.csv", "did you mean --world file:path=prefs.csv,rounds=50000?"),
        ("measure ./x.npz", "did you mean --world file:path=./x.npz?"),
        ("measure seasonal:arms=3", "did you mean --world seasonal:arms=3?"),
        ("play king --world two-arm", "play does not take 'king' here; did you mean --policy king"),
        ("play", "driftduel: play needs --policy, --world; see 'driftduel play --help'."),
        ("table here there", "table does not take 'there' here; see"),
        ("--world two-arm measure", "the command comes before its options"),
        ("--verson", "there is no option '--verson'; did you mean --version?"),
        ("measure --world ./x.npz", "a world in a file is written 'file:path=./x.npz'."),
        ("measure --world x.csv:rounds=9", "is written 'file:path=x.csv,rounds=9'."),
        ("play --policy DTS --world two-arm", "there is no policy named 'DTS'; did you mean dts?"),
        ("play --policy mine.py --world two-arm", "loaded by '--import mine.py'."),
        ("play --policy dts:Alpa=1 --world two-arm", "did you mean alpha?"),
        ("play --policy dts --world two-arm --mode sreve", "did you mean serve?"),
        ("play --policy dts --world two-arm --mode x", "valid values: serve, panel; see"),
        ("worlds TWO_ARM", "did you mean two-arm?"),
    ],
)
def test_guesses(capsys, arguments, said):
    code, out, err = run(capsys, *arguments.split())
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("driftduel: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "play --pol uniform --wor two-arm:rounds=9",  # beginnings of options
        "play --policy=uniform --world=two-arm:rounds=9 --seed 3",
        "worlds -- two-arm",
    ],
)
def test_what_is_right_is_not_complained_about(capsys, arguments):
    assert run(capsys, *arguments.split())[0] == 0


def test_another_option_is_not_the_value_of_one_that_needs_none():
    words = ["compare", "--world", "x", "--policy", "y", "--report", "--engine", "threads"]
    assert suggest(parser(), words) is None
    assert suggest(parser(), [*words, "more"])[1] == "compare does not take 'more' here"
