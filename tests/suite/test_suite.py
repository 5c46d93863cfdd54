"""The suite: its worlds are what they claim, and scores are what they say."""

import hashlib
import json
import math
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.cli import main
from driftduel.errors import DriftduelError
from driftduel.lab.identity import world_of
from driftduel.policies import POLICIES
from driftduel.specs import Spec
from driftduel.suite import SETTINGS, SPLITS, Split, as_markdown, read_split, run_suite, score
from driftduel.suite.scoring import _best, ratio_interval
from research.places import SUITE

TINY = Split(
    name="tiny",
    changing=(
        "total-order:arms=3,rounds=3000,phases=3,p=0.9",
        "geometric-btl:arms=3,rounds=2000,phases=2,change=winner",
    ),
    quiet=("total-order:arms=3,rounds=2000,phases=1,p=0.9",),
    windows=(20, 500),
    rivals=("anaconda", "btwr"),
    runs=8,
    trial_runs=4,
    seed=3,
)


def test_there_is_no_third_half():
    with pytest.raises(DriftduelError, match="split 'tset' does not exist; did you mean test"):
        read_split("tset")


@pytest.mark.parametrize("name", SPLITS)
def test_every_family_and_size_is_there(name):
    half = read_split(name)
    worlds = [*half.changing, *half.quiet]
    specs = [Spec.parse(world) for world in worlds]
    assert len(worlds) >= 12
    assert {int(spec.values["rounds"]) for spec in specs} & {300_000, 1_000_000}
    text = " ".join(worlds)
    assert "background" in text
    assert "phases=1" in text
    if name == "test":
        families = {spec.name for spec in specs}
        assert families == {
            "restless", "recurring", "bursts", "overtake", "league", "crossing", "surges", "tastes",
        }  # fmt: skip
        assert len(half.changing) >= 16
        assert "delay=" in text
        assert max(int(spec.values["arms"]) for spec in specs) >= 100
    else:
        for family in ("geometric-btl", "random-condorcet", "uneven", "seasonal", "random-walk"):
            assert family in text
    assert half.windows == (300, 1000, 3000, 10000, 30000, 100000)
    assert half.runs >= 40


def test_the_halves_share_no_family_and_no_seed():
    one, other = read_split("development"), read_split("test")
    families = [{Spec.parse(world).name for world in (*h.changing, *h.quiet)} for h in (one, other)]
    assert not families[0] & families[1]
    assert one.seed != other.seed


def test_development_has_all_that_was_looked_at():
    grown = read_split("development")
    for name in ("development-1", "test-1"):
        before = read_split(SUITE / f"{name}.toml")
        assert {*before.changing} <= {*grown.changing}
        assert {*before.quiet} <= {*grown.quiet}


def test_the_test_half_is_the_one_that_was_written_down_before_king_was_changed():
    """The same hash is in the message of the commit that added it."""
    text = (files("driftduel.suite") / "test.toml").read_bytes()
    assert hashlib.sha256(text).hexdigest() == (
        "77afcf980a12f3cd922a157fe1e1793d6983e37e26fab21840099fd0cc23af2a"
    )


@pytest.mark.parametrize("name", SPLITS)
def test_winners_change_where_they_should_and_nowhere_else(name):
    half = read_split(name)
    for world in half.changing:
        if world_of(world, 5).rounds <= 300_000:
            assert any(len(world_of(world, seed).condorcet_winners()) > 1 for seed in (5, 6, 7))
    for world in half.quiet:
        for seed in (5, 6):
            assert len(world_of(world, seed).condorcet_winners()) == 1


def test_the_interval_of_a_ratio_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        shared = rng.normal(0, 1, 20)
        first = 10 + shared + rng.normal(0, 1, 20)
        second = 5 + shared + rng.normal(0, 1, 20)
        ratio, low, high = ratio_interval(first, second)
        assert ratio == pytest.approx(first.mean() / second.mean())
        inside += low < 2 < high
    assert abs(inside / 2000 - 0.95) < 0.02


def test_a_single_run_has_a_ratio_and_no_interval():
    assert ratio_interval(np.array([1.0]), np.array([4.0])) == (0.25, None, None)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return run_suite(TINY, ["king"], tmp_path_factory.mktemp("suite"), workers=2)


def test_scores_are_ratios_of_means_over_shared_runs(played):
    found = score("tiny", "king", *played)
    _, changing, quiet = played
    for each in found.changing:
        games = changing.games.filter(world=each.world)
        window = games.filter(policy=f"sw-dts:window={each.best_window}")["regret"]
        king = games.filter(policy="king")["regret"]
        assert len(window) == len(king) == each.runs == 8
        assert each.score == pytest.approx(king.mean() / window.mean())
        assert each.low < each.score < each.high
        oracle = games.filter(policy="oracle-dts")["regret"].mean()
        assert each.to_oracle == pytest.approx(king.mean() / oracle)
        assert each.nearest_rival in TINY.rivals
    logs = [math.log(each.score) for each in found.changing]
    assert found.geometric_mean == pytest.approx(math.exp(sum(logs) / 2))
    widths = [math.log(each.high / each.score) for each in found.changing]
    factor = math.exp(math.hypot(*widths) / 2)
    mean = found.geometric_mean
    assert (found.low, found.high) == pytest.approx((mean / factor, mean * factor))
    assert found.worst == max(each.score for each in found.changing)
    (calm,) = found.quiet
    games = quiet.games
    means = {p: games.filter(policy=p)["regret"].mean() for p in ("king", "dts")}
    assert calm.cost == pytest.approx((means["king"] - means["dts"]) / math.sqrt(3 * 2000))
    assert calm.to_oracle == pytest.approx(means["king"] / means["dts"])
    assert calm.needless_restarts >= 0


def test_what_has_clearly_lost_is_not_played_on_and_nothing_else_is_left_out(played):
    _, changing, quiet = played
    assert quiet.missing == 0
    runs = {
        (row["world"], row["policy"]): row["runs"] for row in changing.summary.iter_rows(named=True)
    }
    for world in TINY.changing:
        for policy in ("king", "dts", "oracle-dts"):
            assert runs[world, policy] == 8
        for kind in (("sw-dts:window=20", "sw-dts:window=500"), TINY.rivals):
            counts = [runs[world, policy] for policy in kind]
            assert max(counts) == 8
            assert set(counts) <= {4, 8}
    # A window of 20 rounds is hopeless, and so is not played on.
    assert runs[TINY.changing[0], "sw-dts:window=20"] == 4


def test_who_was_not_played_to_the_end_is_not_the_best_however_lucky():
    regrets = {"lucky": [1.0, 1.0], "best": [1.0, 2.0, 3.0, 2.0], "worse": [1.0, 2.0, 3.0, 3.0]}
    rows = [(policy, regret) for policy, each in regrets.items() for regret in each]
    games = pl.DataFrame(rows, schema=["policy", "regret"], orient="row")
    assert _best(games, regrets) == "best"
    assert _best(games, []) is None


def test_a_second_policy_costs_only_itself(played, monkeypatch):
    counted = []
    from driftduel.lab.engines import threads

    original = threads.run_cell
    monkeypatch.setattr(
        threads, "run_cell", lambda cell, *rest: (counted.append(cell), original(cell, *rest))[1]
    )
    out = played.changing.store.folder.parent
    again = run_suite(TINY, ["king", "wss"], out, workers=1)
    assert {cell.policy for cell in counted} == {"wss"}
    assert score("tiny", "king", *again).quiet == score("tiny", "king", *played).quiet


@pytest.fixture(scope="module")
def windows_under_test(tmp_path_factory):
    """Windows under test: two of the half, one of them spelled otherwise, and one that is not."""
    more = ("sw-dts:window=20", "btwr", "dts", "oracle-dts")
    policies = ["sw-dts:window=5e2", "sw-dts:window=200", *more]
    return run_suite(TINY, policies, tmp_path_factory.mktemp("windows"), workers=2)


def means(games, world):
    frames = games.filter(world=world).group_by("policy")
    return {spec: float(frame["regret"].mean()) for (spec,), frame in frames}


def test_a_window_under_test_is_scored_against_the_halfs_own_windows(windows_under_test):
    games = windows_under_test.changing.games
    ours = ("sw-dts:window=20", "sw-dts:window=5e2")  # a window under test is not one of them
    for policy in windows_under_test.roster.tested:
        for each in score("tiny", policy, *windows_under_test).changing:
            regret = means(games, each.world)
            best = min(ours, key=regret.__getitem__)
            assert each.best_window == {"sw-dts:window=20": "20", "sw-dts:window=5e2": "500"}[best]
            assert each.score == pytest.approx(regret[policy] / regret[best])
            assert each.runs == 8  # whatever it lost to, it is played to the end
    equal = score("tiny", "sw-dts:window=5e2", *windows_under_test)
    assert min(each.score for each in equal.changing) >= 1  # equal to one of the six or worse
    other = score("tiny", "sw-dts:window=200", *windows_under_test)
    assert all(each.score != 1 for each in other.changing)


def test_rivals_are_the_halfs_and_not_the_others_under_test(windows_under_test):
    for policy in windows_under_test.roster.tested:
        for each in score("tiny", policy, *windows_under_test).changing:
            rivals = [rival for rival in TINY.rivals if rival != policy]
            regret = means(windows_under_test.changing.games, each.world)
            assert each.nearest_rival == min(rivals, key=regret.__getitem__)


@pytest.mark.parametrize("name", SPLITS)
def test_every_rival_of_a_half_has_settings(name):
    half = read_split(name)
    rivals = half.with_settings().rivals
    assert rivals[: len(half.rivals)] == half.rivals
    assert {spec.partition(":")[0] for spec in half.rivals} == set(SETTINGS)
    assert set(rivals) == {spec for settings in SETTINGS.values() for spec in settings}
    for rival, settings in SETTINGS.items():
        assert settings[0] == rival
        assert {POLICIES[spec.partition(":")[0]].name for spec in settings} == {rival}


def test_the_nearest_rival_is_at_its_best_setting_in_hindsight(tmp_path):
    half = replace(
        read_split("development").smaller(1, 2), rivals=("mdb",), windows=(300,),
        changing=("two-arm:rounds=3000",), quiet=("two-arm:rounds=300",),
    ).with_settings()  # fmt: skip
    played = run_suite(half, ["uniform"], tmp_path / "out", workers=1)
    found = score("development", "uniform", *played).changing[0]
    games = played.changing.narrow
    means = {
        spec: games.filter(policy=spec)["regret"].mean() for spec in SETTINGS["mdb"]
    }  # fmt: skip
    full = {spec: mean for spec, mean in means.items() if len(games.filter(policy=spec)) == 2}
    assert found.nearest_rival == min(full, key=full.__getitem__)
    assert min(full.values()) == min(means.values())
    assert found.nearest_rival != "mdb"  # or the test shows nothing


def test_a_rival_may_be_a_window_by_its_name(tmp_path):
    half = replace(TINY, changing=TINY.changing[:1], rivals=("sw-dts:window=100",), runs=2)
    played = run_suite(half, ["uniform"], tmp_path, workers=1)
    (found,) = score("tiny", "uniform", *played).changing
    assert found.nearest_rival == "sw-dts:window=100"
    assert found.best_window in ("20", "500")


def test_the_baseline_and_the_oracle_may_be_tested_too(windows_under_test):
    assert windows_under_test.quiet.missing == 0
    plain = score("tiny", "dts", *windows_under_test)
    assert [each.cost for each in plain.quiet] == [0.0]
    told = score("tiny", "oracle-dts", *windows_under_test)
    assert [each.to_oracle for each in told.changing] == [1.0, 1.0]


def test_a_policy_that_is_tested_twice_is_refused(tmp_path):
    with pytest.raises(DriftduelError, match="policy 'king' is listed twice"):
        run_suite(TINY, ["king", "king"], tmp_path)
    with pytest.raises(DriftduelError, match="is the same as 'sw-dts:window=5e2'"):
        run_suite(TINY, ["sw-dts:window=5e2", "sw-dts:window=500"], tmp_path)


def test_tables_for_a_page(played):
    text = as_markdown(score("tiny", "king", *played))
    assert text.startswith("king on the tiny split: geometric mean ")
    assert text.count("|---|") >= 2
    for world in (*TINY.changing, *TINY.quiet):
        assert world.replace(",", ", ") in text


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("driftduel.suite.read_split", lambda name: TINY)
    arguments = ["suite", "--out", str(tmp_path), "--runs", "2", "--worlds", "1"]
    assert main([*arguments, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["policy"] == "king"
    assert len(found["changing"]) == len(found["quiet"]) == 1
    assert main([*arguments, "--markdown"]) == 0
    assert "| world |" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "king on the tiny split" in capsys.readouterr().out


def test_the_suite_with_another_benchmark(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("driftduel.suite.read_split", lambda name: TINY)
    arguments = ["suite", "--runs", "2", "--worlds", "1", "--json"]
    found = {}
    for benchmark in ("condorcet", "von-neumann", "exploitability"):
        out = ["--out", str(tmp_path / benchmark), "--benchmark", benchmark]
        assert main([*arguments, *out]) == 0
        (found[benchmark],) = json.loads(capsys.readouterr().out)
        assert found[benchmark].pop("benchmark") == benchmark
    assert found["von-neumann"] == found["condorcet"]
    (paper,), (exploited,) = (found[name]["changing"] for name in ("condorcet", "exploitability"))
    # In a total order the winner beats nobody by less than others do.
    assert exploited["regret"] == pytest.approx(paper["regret"])
    assert main([*arguments[:-1], *out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Regret: exploitability, the gain of one arm per phase" in said


def test_a_world_without_a_winner_in_the_suite_says_what_to_add(tmp_path):
    half = replace(TINY, changing=("rps-top:arms=4,rounds=500",))
    with pytest.raises(DriftduelError, match="add --benchmark exploitability"):
        run_suite(half, ["king"], tmp_path)
