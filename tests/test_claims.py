"""Claims of README.md and the docs that a record or the code can contradict."""

import json
import re
from pathlib import Path

import pytest

from driftduel.policies import POLICIES, make_policy
from driftduel.worlds import make_world
from research.benchmarks import dts_speed as speed, hindsight, page_marks as marks, run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CHAMPION = (ROOT / "docs" / "research" / "king.md").read_text("utf-8")


def row(name):
    """Return the cells of a row of the table of neighbours."""
    (line,) = [line for line in README.splitlines() if line.startswith(f"| {name}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_column_of_speeds_is_that_of_the_records():
    record = json.loads(speed.RECORD.read_text("utf-8"))
    for policy in speed.POLICIES:
        assert list(record["rounds_per_second"][policy]) == list(speed.WORLDS)
    assert row("driftduel")[3] == f"{speed.in_words(record, 'dts')} rounds/s"
    others = run.OTHERS
    assert row("duelpy")[3] == f"{others['dts'][1]:,} rounds/s"
    ours = speed.in_words(record, "rucb")
    assert row("DuelingBanditLib")[3].endswith(f"{others['rucb'][1]:,} rounds/s, ours {ours}")
    assert f"in games of {speed.ROUNDS:,} rounds" in README
    assert len(speed.WORLDS) == 9


def test_the_field_is_described_as_it_is():
    field = (ROOT / "docs" / "research" / "rivals.md").read_text("utf-8")
    for text in (README, field, (ROOT / "docs" / "index.md").read_text("utf-8")):
        assert all(absent in text for absent in ("sleeping", "slates"))
    assert {"dex3s", "mdb", "anaconda"} <= {entry.name for entry in POLICIES}
    words = " ".join(entry.name for entry in POLICIES)
    assert not any(absent in words for absent in ("sleep", "sldb"))


def test_the_games_of_the_demo_are_counted():
    from driftduel._internal.defaults import RUNS
    from driftduel.cli import demo

    tuned = sum(len(values) for _, values in demo._SETTINGS.values())
    games = (len(demo._POLICIES) - len(demo._SETTINGS) + tuned) * RUNS
    assert f"The demo plays\n{games} games of 50,000 duels" in README
    assert set(demo._SETTINGS) < set(demo._POLICIES)
    assert len(demo._POLICIES) == 8  # "eight policies", in several places


def test_rivals_at_their_best_setting_are_those_of_the_record():
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    record = json.loads(hindsight.RECORD.read_text("utf-8"))
    split = suite.read_split(record["split"])
    assert record["runs"] == hindsight.RUNS
    assert [world["world"] for world in record["worlds"]] == list(split.changing)
    every = [spec for settings in suite.SETTINGS.values() for spec in settings]
    assert set(split.rivals) <= set(every)  # the suite's own settings are among them
    for world in record["worlds"]:
        for rival, settings in suite.SETTINGS.items():
            found = world["rivals"][rival]
            assert list(found["regrets"]) == list(settings)
            assert found["best"] == min(found["regrets"], key=found["regrets"].__getitem__)
            ratio = found["regrets"][found["best"]] / world["king"]
            assert found["ratio"] == pytest.approx(ratio, rel=2e-3)
            assert found["low"] <= found["ratio"] <= found["high"]
    table = {hindsight.TABLE: hindsight.table(record)}
    assert marks.on_page(CHAMPION, table) == CHAMPION


def test_the_text_about_rivals_at_their_best_is_that_of_the_table():
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    record = json.loads(hindsight.RECORD.read_text("utf-8"))
    rows = hindsight.rows(record)
    text = CHAMPION.partition("### Rivals at their best setting")[2].partition("\n## ")[0]
    after = " ".join(text.partition(marks.END)[2].split())
    nearest = min(rows, key=lambda row: row["nearest"]["ratio"])
    times = f"{nearest['nearest']['ratio']:.1f} times"
    assert f"`{nearest['rival']}` comes nearest in a world, with {times}" in after
    best = rows[0]
    assert f"`{best['rival']}` comes nearest on average, with {best['best']:.1f} times" in after
    lows = [found["low"] for world in record["worlds"] for found in world["rivals"].values()]
    assert (min(lows) > 1) == ("In every world every interval lies above 1" in after)
    assert re.search(r"first\s+8 runs", text)
    explored = []
    for world in map(make_world, suite.read_split(record["split"]).changing):
        policy = make_policy("detect-rucb:setting=1", world.arms, horizon=world.rounds)
        explored.append(int(policy.state.numbers[0].explore))
    least, most = (f"{round(rounds, -3):,}" for rounds in (min(explored), max(explored)))
    assert f"is plain `rucb` for the first {least} to {most} rounds" in after


def locked(name):
    """Return the packages of a lock file as (name, version and marker)."""
    lines = (ROOT / "requirements" / f"{name}.lock").read_text("utf-8").splitlines()
    return {line.removesuffix(" \\") for line in lines if re.match("[a-z]", line)}


def test_the_demo_needs_few_packages_in_the_versions_of_the_tests():
    demo = locked("demo")
    names = {line.partition("==")[0] for line in demo}
    assert {"numpy", "numba", "polars", "matplotlib", "plotly", "uvicorn"} <= names
    assert len(names) <= 35
    assert {line.partition(" ;")[0] for line in demo} <= {
        line.partition(" ;")[0] for line in locked("dev")
    }
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "arena"):
        assert re.search(rf"(?m)^{target}: \$\(DEMO\)/.ready ", makefile)
