"""The lab's commands, as a user meets them."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from driftduel.cli import main, parser
from driftduel.regret import BENCHMARKS
from tests.waiting import LONG, eventually

pytest.importorskip("polars")
pytest.importorskip("scipy")

WORLD = "geometric-btl:arms=3,rounds=1000,phases=2"
DRIFT = "random-walk:arms=3,rounds=800"
PAIR = ("--policy", "dts", "--policy", "uniform")
ASKED = {
    "policy", "told", "runs", "regret_mean", "regret_sd", "regret_ci95", "regret_weak_mean",
    "regret_binary_weak_mean", "regret_binary_strong_mean", "restarts_mean", "rounds_per_second",
}  # fmt: skip
PLAN = """
worlds = ["geometric-btl:arms=3,phases={phases}"]
policies = [
  "uniform",
  "wss",
]
runs = 3
seed = 5
horizons = [400, 8e2]

[parameters]
phases = [1, 2]
"""


def run(capsys, *arguments):
    code = 0
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def without_timings(text):
    """Parse JSON and drop what depends on the clock."""
    record = json.loads(text)
    for world in record.get("worlds", [record]):
        for policy in world["policies"]:
            del policy["rounds_per_second"]
    return record


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def test_compare_for_people(capsys):
    code, out, err = run(capsys, "compare", "--world", WORLD, *PAIR, "--runs", "4")
    assert code == 0
    assert "K = 3, T = 1,000" in out
    table = [line for line in out.splitlines() if line.startswith(("dts", "uniform"))]
    assert table[0].startswith("dts ")  # sorted by regret, whatever the order asked for
    assert "the best" in table[0]
    assert "dts has the lowest regret" in out
    assert "Student's t at 95%" in out
    assert "first result after" in err


@pytest.mark.parametrize(
    ("benchmark", "moves", "what"),
    [
        ("exploitability", "the preferences switch twice", "exploitability, the gain of one"),
        (
            "von-neumann",
            "the set of arms without regret switches twice",
            "against the von Neumann winner of",
        ),
    ],
)
def test_compare_where_nobody_beats_everybody(capsys, tmp_path, benchmark, moves, what):
    world = ("--world", "rps-top:arms=4,rounds=900,phases=3,seed=1")
    code, _, err = run(capsys, "compare", *world, *PAIR, "--runs", "2")
    assert code == 2
    assert err.count("\n") == 1
    assert "; add --benchmark exploitability (in Python and in a sweep: benchmark=" in err
    out = ("--out", str(tmp_path / "found"))
    arguments = ("compare", *world, *PAIR, "--runs", "2", "--benchmark", benchmark, *out)
    code, shown, _ = run(capsys, *arguments)
    assert code == 0
    assert f"K = 4, T = 900, {moves}\nregret: {what}" in shown
    code, shown, _ = run(capsys, *arguments, "--json")
    found = json.loads(shown)
    assert found["benchmark"] == benchmark
    from driftduel import load_results

    games = load_results(out[1]).games.filter(policy="dts", run=1)
    seed = games["game_seed"][0]
    game = ("play", "--policy", "dts", *world, "--seed", str(seed), "--benchmark", benchmark)
    code, shown, _ = run(capsys, *game, "--json")
    played = json.loads(shown)
    assert played["benchmark"] == benchmark
    assert "dynamic" not in played["regret"]
    assert games["regret"][0] == played["regret"][benchmark][-1]
    code, shown, _ = run(capsys, *game)
    head = shown.splitlines()[2].split()
    if benchmark == "exploitability":
        assert head == ["round", "exploitability", "von-neumann", "borda", "copeland"]
        for name in head[2:]:
            beside = run(capsys, *game[:-1], name, "--json")[1]
            beside = json.loads(beside)["regret"][name][-1]
            assert played["regret"][name][-1] == pytest.approx(beside, abs=1e-8)
    else:
        assert head[1] == benchmark


def test_the_benchmarks_of_the_command_line_are_those_there_are(capsys):
    for benchmark in BENCHMARKS:
        assert parser().parse_args(["play", *PAIR[:2], "--world", WORLD, "--benchmark", benchmark])
        assert benchmark in run(capsys, "play", "--help")[1]
    code, _, err = run(capsys, "play", *PAIR[:2], "--world", WORLD, "--benchmark", "x")
    assert code == 2
    assert f"valid values: {', '.join(BENCHMARKS)};" in err


def test_compare_json_has_what_was_promised_in_the_order_asked_for(capsys):
    asked = ("--policy", "uniform", "--policy", "dex3s", "--policy", "dts")
    code, out, _ = run(capsys, "compare", "--world", WORLD, *asked, "--runs", "4", "--json")
    assert code == 0
    record = json.loads(out)
    assert record["world"] == WORLD
    assert record["measures"]["arms"] == 3
    assert record["measures"]["preference_switches"] == 1
    assert [entry["policy"] for entry in record["policies"]] == ["uniform", "dex3s", "dts"]
    for entry in record["policies"]:
        assert entry.keys() >= ASKED
        low, high = entry["regret_ci95"]
        assert low < entry["regret_mean"] < high
        assert entry["runs"] == 4
    assert record["policies"][1]["told"] == ["horizon", "switches"]
    pairs = {(row["first"], row["second"]) for row in record["differences"]}
    assert pairs == {("uniform", "dex3s"), ("uniform", "dts"), ("dex3s", "dts")}


def test_the_mean_is_that_of_games_anybody_can_repeat(capsys, tmp_path):
    out = str(tmp_path / "out")
    arguments = ("compare", "--world", WORLD, *PAIR, "--runs", "3", "--out", out, "--json")
    _, text, _ = run(capsys, *arguments)
    from driftduel import load_results

    games = load_results(out).games.filter(policy="dts")
    totals = []
    for seed in games["game_seed"]:
        game = ("play", "--policy", "dts", "--world", WORLD, "--seed", str(seed), "--json")
        totals.append(json.loads(run(capsys, *game)[1])["regret"]["dynamic"][-1])
    assert games["regret"].to_list() == totals
    mean = json.loads(text)["policies"][0]["regret_mean"]
    assert mean == pytest.approx(sum(totals) / 3, rel=1e-12)


def test_several_worlds_make_a_grid(capsys):
    arguments = ("compare", "--world", WORLD, "--world", DRIFT, *PAIR, "--runs", "2")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "over worlds" in out
    record = json.loads(run(capsys, *arguments, "--json")[1])
    assert [world["world"] for world in record["worlds"]] == [WORLD, DRIFT]


def test_a_single_run_has_no_interval_and_says_so(capsys):
    code, out, _ = run(capsys, "compare", "--world", WORLD, *PAIR, "--runs", "1")
    assert code == 0
    assert "in a single run, which gives no interval" in out
    record = json.loads(run(capsys, "compare", "--world", WORLD, *PAIR, "--runs", "1", "--json")[1])
    assert record["policies"][0]["regret_ci95"] is None


def test_a_sweep_shows_its_plan_plays_it_and_does_not_play_it_again(capsys, tmp_path, plan):
    out = str(tmp_path / "out")
    code, text, _ = run(capsys, "sweep", str(plan), "--dry-run")
    assert code == 0
    assert "24 cells, 0 finished; 14,400 rounds to play" in text
    assert "geometric-btl:arms=3,phases=1,rounds=400 / uniform / 5.0" in text
    assert not (tmp_path / "out").exists()
    code, text, _ = run(capsys, "sweep", str(plan), "--out", out)
    assert code == 0
    files = {path: path.stat().st_mtime_ns for path in Path(out, "cells").iterdir()}
    code, again, err = run(capsys, "sweep", str(plan), "--out", out)
    assert code == 0
    assert "24 of 24 cells are already finished" in err
    assert again == text
    assert files == {path: path.stat().st_mtime_ns for path in Path(out, "cells").iterdir()}
    assert "24 cells, 24 finished" in run(capsys, "sweep", str(plan), "--out", out, "--dry-run")[1]


def test_parts_of_a_sweep_make_the_whole(capsys, tmp_path, plan):
    whole, parts = str(tmp_path / "whole"), str(tmp_path / "parts")
    run(capsys, "sweep", str(plan), "--out", whole)
    code, text, _ = run(capsys, "sweep", str(plan), "--out", parts, "--only", "wss")
    assert code == 0
    assert "12 of 24 cells are missing" in text
    assert "0 of 3" in text
    for shard in ("2/2", "1/2"):
        assert run(capsys, "sweep", str(plan), "--out", parts, "--shard", shard)[0] == 0
    tables = [run(capsys, "table", each, "--json")[1] for each in (whole, parts)]
    assert without_timings(tables[0]) == without_timings(tables[1])


def test_tables_as_csv_and_latex(capsys, tmp_path, plan):
    out = str(tmp_path / "out")
    run(capsys, "sweep", str(plan), "--out", out)
    code, text, _ = run(capsys, "table", out, "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert code == 0
    assert len(rows) == 8
    assert rows[0]["world"] == "geometric-btl:arms=3,phases=1,rounds=400"
    assert float(rows[0]["regret_low"]) < float(rows[0]["regret_mean"])
    code, text, _ = run(capsys, "table", out, "--latex")
    assert code == 0
    assert text.count(r"\begin{tabular}") == 4
    assert r"\texttt{uniform}" in text


def test_labels_of_wide_tables_and_figures(capsys, tmp_path, plan):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    out = str(tmp_path / "out")
    run(capsys, "sweep", str(plan), "--out", out)
    table = run(capsys, "table", out, "--csv")[1].splitlines()
    spec = next(row["world"] for row in csv.DictReader(table))
    code, text, _ = run(capsys, "table", out, "--latex", "--wide", "--label", f"{spec}=A = B")
    assert code == 0
    assert text.count(r"\begin{tabular}") == 1
    assert " & A = B & " in text
    assert "wss} & $" in text
    code, _, err = run(capsys, "table", out, "--latex", "--label", "nobody=X")
    assert code == 2
    assert "--label 'nobody=X' must be SPEC=NAME" in err
    words = ("--width", "page", "--legend", "outside", "--logx", "--label", f"{spec}=A = B")
    code, text, _ = run(capsys, "report", out, *words)
    assert code == 0
    drawn = (tmp_path / "out" / "report" / "figures" / "facets.svg").read_text()
    assert "<!-- A = B -->" in drawn
    assert 'width="486pt"' in drawn  # 6.75 inches
    assert run(capsys, "report", out, "--width", "poster")[0] == 2


def test_latex_escapes_what_it_must():
    from driftduel.lab.export import _escape

    assert _escape("a_b{50%}&#~\\^$") == (
        r"a\_b\{50\%\}\&\#\textasciitilde{}\textbackslash{}\textasciicircum{}\$"
    )


def test_another_plan_is_refused_and_replan_keeps_what_both_have(capsys, tmp_path, plan):
    out = tmp_path / "out"
    run(capsys, "sweep", str(plan), "--out", str(out))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    plan.write_text(PLAN.replace("runs = 3", "runs = 4"))
    code, _, err = run(capsys, "sweep", str(plan), "--out", str(out))
    assert code == 2
    assert "runs: 3 there, 4 here" in err
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, _, err = run(capsys, "sweep", str(plan), "--out", str(out), "--replan")
    assert code == 0
    assert "24 of 32 cells are already finished" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"wss",', '"wws",'), "plan.toml, key 'policies[1]': there is no policy named 'wws'"),
        (("runs = 3", "runs = 0"), "plan.toml, key 'runs': runs=0 must be"),
        (("runs = 3", "runs = "), "(at line 7, column 8)"),
        (("seed = 5", "seeds = 5"), "key 'seeds': unknown key 'seeds'; did you mean"),
        (("phases={phases}", "phases={phase}"), "key 'worlds[0]'"),
    ],
)
def test_mistakes_in_a_plan_are_said_with_file_and_key(capsys, plan, change, said):
    plan.write_text(PLAN.replace(*change))
    code, out, err = run(capsys, "sweep", str(plan), "--out", str(plan.parent / "out"))
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert not (plan.parent / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "--world", WORLD, "--policy", "dtss"), "did you mean dts"),
        (("compare", "--world", WORLD, *PAIR, "--runs", "0"), "runs=0 must be"),
        (("compare", "--world", WORLD, *PAIR, "--seed", "-1"), "seed=-1 must be"),
        (("compare", "--world", WORLD, *PAIR, "--workers", "0"), "workers=0 must be"),
        (("compare", "--world", WORLD, *PAIR, "--out", "/proc/x"), "cannot write to '/proc/x'"),
        (("compare", "--world", WORLD, "--policy", "dts", "--policy", "dts"), "is listed twice"),
        (("compare", "--world", "file:path=/no/such", *PAIR), "/no/such"),
        (("compare", "--world", WORLD, *PAIR, "--import", "nowhere"), "cannot import 'nowhere'"),
        (("compare", "--world", "cycle:rounds=100", *PAIR), "; add --benchmark exploitability ("),
        (("compare", "--world", WORLD, *PAIR, "--runs", "10000000000000"), "between 1 and"),
        (("compare", "--world", WORLD, *PAIR, "--points", "99999999999"), "between 10 and"),
        (("suite", "--runs", "0", "--out", "/tmp/nowhere"), "runs=0 must be"),
        (("trace", *PAIR[:2], "--world", "two-arm:rounds=1e12", "--out", "x.csv"), "every round"),
        (("table", "/etc/hostname"), "is not a folder"),
        (("table", "/proc"), "contains no results"),
        (("table", "/no/such"), "is not a folder"),
        (("sweep", "/no/such.toml", "--out", "/tmp/x"), "cannot read '/no/such.toml'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_a_sweep_needs_a_folder(capsys, plan):
    code, _, err = run(capsys, "sweep", str(plan))
    assert code == 2
    assert "--out DIR" in err


def start(plan, out, rounds=20_000):
    """Start a sweep that takes some seconds and wait until something of it is finished."""
    plan.write_text(
        PLAN.replace("runs = 3", "runs = 40").replace('"wss"', '"dts"').replace("8e2", str(rounds))
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "driftduel", "sweep", str(plan), "--out", str(out)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert eventually(
        lambda: list(Path(out, "cells").glob("*.parquet")) or process.poll() is not None
    )
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_says_how_to_go_on(capsys, tmp_path, plan, sign):
    if signal.getsignal(sign) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as by nohup")
    out = tmp_path / "out"
    process = start(plan, out, rounds=2_000_000)  # more than it can finish before the signal
    process.send_signal(sign)
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert "the same command resumes" in err
    assert "Traceback" not in err
    code, text, _ = run(capsys, "table", str(out))
    assert code == 0
    assert "cells are missing" in text


def test_killed_and_resumed_it_ends_with_the_same_tables(capsys, tmp_path, plan):
    out, whole = tmp_path / "out", tmp_path / "whole"
    process = start(plan, out)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert run(capsys, "sweep", str(plan), "--out", str(out))[0] == 0
    assert run(capsys, "sweep", str(plan), "--out", str(whole))[0] == 0
    tables = [run(capsys, "table", str(each), "--json")[1] for each in (out, whole)]
    assert without_timings(tables[0]) == without_timings(tables[1])


def test_a_failed_cell_is_said_counted_and_makes_the_exit_code_1(capsys, tmp_path):
    (tmp_path / "grumpy_policy.py").write_text(
        "from driftduel.policies import POLICIES, Policy\n"
        "@POLICIES.register('grumpy')\n"
        "class Grumpy(Policy):\n"
        "    'Refuses half of its games.'\n"
        "    name = 'grumpy'\n"
        "    def choose(self, t):\n"
        "        if t == 1 and self.rng.random() < 0.5: raise RuntimeError('not today')\n"
        "        return 0, 1, ()\n"
        "    def learn(self, t, first, second, won, notes): return 0\n"
    )
    from driftduel.policies import POLICIES

    mine = ("--policy", "grumpy", "--import", str(tmp_path / "grumpy_policy.py"))
    try:
        code, out, err = run(
            capsys, "compare", "--world", WORLD, *PAIR, *mine, "--runs", "8",
            "--engine", "threads",
        )  # fmt: skip
    finally:
        POLICIES.remove("grumpy")
        sys.modules.pop("grumpy_policy", None)
    assert code == 1
    assert "not today" in err
    assert "cells are missing" in out
    assert "of them failed" in out
    assert "8 of 8" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "--world", WORLD, "--policy", "dts"),
        ("suite", "--out", "/tmp/nowhere"),
        ("table", "/tmp"),
    ],
)
def test_the_lab_without_its_extra_says_what_to_install(arguments):
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "from driftduel.cli import main\n"
        f"sys.exit(main({list(arguments)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'pip install driftduel[lab]' installs it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_the_demo_ends_with_a_page_and_what_to_try_next(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    out = tmp_path / "demo"
    code, text, _ = run(capsys, "demo", "--out", str(out), "--runs", "2")
    assert code == 0
    assert "has the lowest regret" in text
    # The rivals with a setting have the best one in hindsight; recomputed from all of their games.
    import polars as pl

    kept = pl.concat(pl.read_parquet(path) for path in (out / "cells").glob("*.parquet"))
    means = dict(kept.group_by("policy").agg(pl.col("regret").mean()).iter_rows())
    for rival, settings in (("sw-dts", 5), ("mdb", 4)):
        tried = {spec: mean for spec, mean in means.items() if spec.startswith(f"{rival}:")}
        assert len(tried) == settings
        best = min(tried, key=tried.__getitem__)
        assert f"{best}: Tuned in hindsight on the same games: the best of {settings}" in text
        assert not any(f"\n{spec} " in text for spec in tried if spec != best)
    assert "MDB monitors" in text
    page = out / "report" / "index.html"
    shown = page.read_text("utf-8")
    assert shown.count("Tuned in hindsight") == 2
    assert "MDB monitors" in shown
    assert 'data-scale="log"></div>' in shown  # the chart of regret opens with a log axis
    assert str(page) in text
    assert page.stat().st_size > 1_000_000
    assert list((out / "report" / "figures").glob("*.svg"))
    tries = [
        line.split("driftduel ", 1)[1] for line in text.splitlines() if "driftduel play" in line
    ]
    assert run(capsys, *tries[0].split())[0] == 0
    assert run(capsys, "table", str(out), "--csv")[0] == 0


@pytest.mark.parametrize("command", [("demo",), ("suite",)])
def test_nothing_takes_over_the_folder_of_a_sweep(capsys, tmp_path, plan, command):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    out = tmp_path / "out"
    run(capsys, "sweep", str(plan), "--out", str(out))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert run(capsys, *command, "--out", str(out))[0] == 2
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_a_report_of_nothing_is_one_sentence(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    for folder in (tmp_path, tmp_path / "nowhere"):
        code, out, err = run(capsys, "report", str(folder))
        assert code == 2
        assert out == ""
        assert err.count("\n") == 1


def test_compare_writes_the_page_in_one_go(capsys, tmp_path):
    pytest.importorskip("plotly")
    arguments = ("compare", "--world", WORLD, *PAIR, "--runs", "2", "--workers", "1")
    code, out, err = run(capsys, *arguments, "--report")
    assert (code, out) == (2, "")
    assert "--report without DIR needs --out DIR" in err
    code, out, _ = run(capsys, *arguments, "--report", str(tmp_path / "page"))
    assert code == 0
    assert f"page:     {tmp_path / 'page' / 'index.html'}" in out
    assert "</html>" in (tmp_path / "page" / "index.html").read_text()
    kept = ("--out", str(tmp_path / "kept"))
    code, out, err = run(capsys, *arguments, *kept, "--report", "--json")
    assert code == 0
    assert json.loads(out)["cells"] == 4
    assert str(tmp_path / "kept" / "report" / "index.html") in err
    assert (tmp_path / "kept" / "report" / "index.html").exists()


def test_a_sweep_writes_the_page_in_one_go(capsys, tmp_path):
    pytest.importorskip("plotly")
    (tmp_path / "plan.toml").write_text(f'worlds = ["{WORLD}"]\npolicies = ["uniform"]\nruns = 2\n')
    out = tmp_path / "out"
    code, said, _ = run(capsys, "sweep", str(tmp_path / "plan.toml"), "--out", str(out), "--report")
    assert code == 0
    assert f"page:     {out / 'report' / 'index.html'}" in said
    assert (out / "report" / "index.html").exists()


def test_compare_in_a_panel_is_another_comparison(capsys):
    arguments = ("compare", "--world", WORLD, *PAIR, "--runs", "2", "--workers", "1", "--json")
    served = without_timings(run(capsys, *arguments)[1])
    panel = without_timings(run(capsys, *arguments, "--mode", "panel")[1])
    assert without_timings(run(capsys, *arguments, "--mode", "serve")[1]) == served
    assert panel["policies"][1]["regret_mean"] != served["policies"][1]["regret_mean"]
    shown = run(capsys, *arguments[:-1], "--mode", "panel")[1]
    assert "two different arms are shown in every round" in shown


def test_defaults_are_those_of_python(capsys):
    import inspect

    from driftduel.lab import compare

    chosen = parser().parse_args(["compare", "--world", WORLD, *PAIR])
    defaults = {n: p.default for n, p in inspect.signature(compare).parameters.items()}
    for name in ("runs", "seed", "points", "benchmark", "mode"):
        assert getattr(chosen, name) == defaults[name]
