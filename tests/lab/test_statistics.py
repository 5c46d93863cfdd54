"""Statistics: against scipy, against slow and obvious twins, and by hand."""

import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl
from scipy import stats

from driftduel._internal.intervals import student
from driftduel.lab import compare, make_plan
from driftduel.lab.statistics import (
    NEEDED,
    count_false_alarms,
    delays,
    differences,
    summary,
    t_interval,
)
from driftduel.lab.tables import verdict

WORLD = "two-arm:rounds=100"
PLAN = make_plan([WORLD], ["uniform", "dts", "wss"], 4)


def game(policy, run, regret, world=WORLD, seed=0, **more):
    return {
        "world": world,
        "policy": policy,
        "seed": seed,
        "run": run,
        "rounds": 100,
        "regret": float(regret),
        "regret_weak": regret / 2.0,
        "regret_binary_weak": regret * 2.0,
        "regret_binary_strong": regret * 3.0,
        "restarts": [],
        "switches": [],
        "seconds": 0.5,
        **more,
    }


def table(*games):
    schema = {
        "world": pl.String, "policy": pl.String, "seed": pl.Int64, "run": pl.Int64,
        "rounds": pl.Int64, "regret": pl.Float64, "regret_weak": pl.Float64,
        "regret_binary_weak": pl.Float64, "regret_binary_strong": pl.Float64,
        "restarts": pl.List(pl.Int64), "switches": pl.List(pl.Int64), "seconds": pl.Float64,
    }  # fmt: skip
    assert tuple(schema) == NEEDED
    return pl.DataFrame(list(games), schema=schema)


def rows(*games, plan=PLAN):
    found = summary(table(*games), plan)
    return {row["policy"]: row for row in found.iter_rows(named=True)}


# Intervals


@settings(max_examples=200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_the_interval_is_that_of_scipy(values):
    low, high = t_interval(values)
    mean, error = np.mean(values), stats.sem(values)
    if error == 0:
        assert low == high == pytest.approx(mean)
        return
    expected = stats.t.interval(0.95, len(values) - 1, mean, error)
    assert (low, high) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "quantile"), [(2, 12.706), (3, 4.303), (5, 2.776), (10, 2.262), (20, 2.093), (31, 2.042)]
)
def test_the_quantiles_are_those_of_any_textbook(n, quantile):
    values = list(range(n))
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    low, high = t_interval(values)
    assert (low + high) / 2 == pytest.approx(mean)
    assert (high - low) / 2 == pytest.approx(quantile * math.sqrt(variance / n), rel=3e-4)


def test_fewer_than_two_values_have_no_interval():
    assert t_interval([]) is None
    assert t_interval([3.0]) is None
    assert t_interval([3.0, 3.0]) == (3.0, 3.0)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = sum(low < 0 < high for low, high in map(t_interval, rng.normal(size=(4000, 5))))
    assert abs(inside / 4000 - 0.95) < 0.015


def test_without_scipy_an_interval_says_what_to_install():
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from driftduel.lab.statistics import t_interval\n"
        "assert t_interval([1.0]) is None\n"
        "t_interval([1.0, 2.0])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert "scipy" in last
    assert "pip install driftduel[lab]" in last


# Restarts and switches

ROUNDS = st.lists(st.integers(1, 60), unique=True, max_size=15).map(sorted)


def slow_needless_restarts(restarts, switches):
    """Count restarts with no true switch since the one before."""
    count, before = 0, 0
    for r in restarts:
        known = [tau for tau in switches if before < tau <= r + 1]
        if not known:
            count += 1
        before = r + 1
    return count


def slow_delays(restarts, switches):
    """Go through the rounds from each switch on until a new start or the next switch comes."""
    found = []
    for tau in switches:
        t = tau
        while t <= 100:
            if t > tau and t in switches:
                break
            if t - 1 in restarts:
                found.append(t - tau)
                break
            t += 1
    return found


@settings(max_examples=500)
@given(ROUNDS, ROUNDS)
def test_needless_restarts_and_delays_equal_their_slow_twins(restarts, switches):
    assert count_false_alarms(restarts, switches) == slow_needless_restarts(restarts, switches)
    assert delays(restarts, switches) == slow_delays(restarts, switches)
    # A switch that was found has a restart of its own, which was not needless.
    assert len(delays(restarts, switches)) <= len(restarts) - count_false_alarms(restarts, switches)


@pytest.mark.parametrize(
    ("restarts", "switches", "needless", "waits"),
    [
        ([], [], 0, []),
        ([], [10, 20], 0, []),
        ([5], [], 1, []),
        ([5, 6, 7], [], 3, []),
        ([10], [10], 0, [1]),  # right after the first round of the phase
        ([9], [10], 0, [0]),  # an oracle: it starts anew in the round of the switch
        ([8], [10], 1, []),
        ([15, 16], [10], 1, [6]),
        ([25], [10, 20], 0, [6]),  # one restart answers the last switch only
        ([18, 19], [10, 20], 0, [9, 0]),
        ([19, 20], [10, 20], 1, [0]),
    ],
)
def test_needless_restarts_and_delays_by_hand(restarts, switches, needless, waits):
    assert count_false_alarms(restarts, switches) == needless
    assert delays(restarts, switches) == waits


# Summaries


def test_a_summary_by_hand():
    found = rows(
        game("uniform", 0, 10), game("uniform", 1, 14), game("uniform", 2, 12),
        game("dts", 0, 4, seconds=1.0), game("dts", 1, 6, seconds=3.0), game("dts", 2, 5),
        game("wss", 0, 5),
    )  # fmt: skip
    assert list(found) == ["uniform", "dts", "wss"]
    uniform, dts, wss = found.values()
    assert [row["runs"] for row in found.values()] == [3, 3, 1]
    assert [row["planned"] for row in found.values()] == [4, 4, 4]
    assert [row["told"] for row in found.values()] == [[], [], ["beta"]]
    assert (uniform["regret_mean"], uniform["regret_sd"]) == (12, 2)
    half = 4.30265 * 2 / math.sqrt(3)
    assert uniform["regret_low"] == pytest.approx(12 - half, rel=1e-5)
    assert uniform["regret_high"] == pytest.approx(12 + half, rel=1e-5)
    assert uniform["ratio_to_best"] == pytest.approx(12 / 5)
    assert uniform["difference_to_best"] == pytest.approx(7)  # 6, 8, 7
    half = 4.30265 * 1 / math.sqrt(3)
    assert uniform["difference_low"] == pytest.approx(7 - half, rel=1e-5)
    assert uniform["difference_high"] == pytest.approx(7 + half, rel=1e-5)
    assert uniform["regret_weak_mean"] == 6
    assert uniform["regret_binary_weak_mean"] == 24
    assert uniform["regret_binary_strong_mean"] == 36
    assert uniform["rounds_per_second"] == pytest.approx(300 / 1.5)
    assert dts["rounds_per_second"] == pytest.approx(300 / 4.5)
    assert dts["ratio_to_best"] == 1
    assert dts["difference_to_best"] is None
    assert wss["ratio_to_best"] == 1  # as good as the best, by its one run
    assert wss["difference_to_best"] == 1  # but not in that run


def test_one_run_says_nothing_about_chance():
    found = rows(game("uniform", 0, 10), game("dts", 0, 4))
    for row in (found["uniform"], found["dts"]):
        for name in ("regret_sd", "regret_low", "regret_high", "difference_low", "difference_high"):
            assert row[name] is None
    assert found["uniform"]["difference_to_best"] == 6


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ((5.0, 5.1, 5.2), "dts has the lowest regret, and against the other the paired interval"),
        ((4.0, 4.0, 4.0), "the runs cannot distinguish it from uniform:"),
        ((1.0, 9.0, 5.0), "the runs cannot distinguish it from uniform:"),
    ],
)
def test_a_verdict_is_as_sure_as_the_paired_interval(others, said):
    games = [game("dts", run, 4.0) for run in range(3)]
    games += [game("uniform", run, regret) for run, regret in enumerate(others)]
    plan = make_plan([WORLD], ["dts", "uniform"])
    found = SimpleNamespace(plan=plan, summary=summary(table(*games), plan))
    assert said in verdict(found, WORLD)


def test_a_policy_without_runs_has_a_row_of_nothing():
    found = rows(game("uniform", 0, 10), game("uniform", 1, 11))
    assert list(found) == ["uniform", "dts", "wss"]
    for name, value in found["dts"].items():
        if name in ("world", "policy", "told", "planned"):
            assert value is not None
        else:
            assert value == (0 if name == "runs" else None), name
    empty = summary(table(), PLAN)
    assert empty["runs"].to_list() == [0, 0, 0]
    assert empty.schema == summary(table(game("dts", 0, 1)), PLAN).schema


def test_there_is_no_ratio_to_nothing():
    found = rows(game("uniform", 0, 3), game("dts", 0, 0), game("uniform", 1, 4), game("dts", 1, 0))
    assert found["uniform"]["ratio_to_best"] is None
    assert found["dts"]["ratio_to_best"] is None
    assert found["uniform"]["difference_to_best"] == 3.5


def test_restarts_and_switches_are_summed_up_over_runs():
    found = rows(
        game("uniform", 0, 9, switches=[21, 61]),
        game("uniform", 1, 9, switches=[51]),
        game("dts", 0, 1, switches=[21, 61], restarts=[10, 30]),
        game("dts", 1, 1, switches=[51], restarts=[54, 60, 70]),
        game("wss", 0, 2, switches=[], restarts=[7]),
    )
    uniform, dts, wss = found["uniform"], found["dts"], found["wss"]
    assert (uniform["switches_mean"], uniform["restarts_mean"]) == (1.5, 0)
    assert uniform["switches_detected"] is None  # it never restarts, so nothing can be said
    assert uniform["detection_delay_mean"] is None
    assert dts["restarts_mean"] == 2.5
    assert dts["restarts_needless_mean"] == (1 + 2) / 2
    assert dts["switches_detected"] == pytest.approx(2 / 3)
    assert dts["detection_delay_mean"] == (10 + 4) / 2
    assert wss["restarts_needless_mean"] == 1
    assert wss["switches_detected"] is None  # there was nothing to detect
    late = rows(game("dts", 0, 1, switches=[50], restarts=[20]))["dts"]
    assert late["switches_detected"] == 0
    assert late["detection_delay_mean"] is None


def test_worlds_are_apart():
    plan = make_plan([WORLD, "two-arm:rounds=200"], ["uniform", "dts"], 1)
    other = "two-arm:rounds=200"
    found = summary(
        table(
            game("dts", 0, 8, other), game("uniform", 0, 2, other),
            game("dts", 0, 1), game("uniform", 0, 5),
        ),
        plan,
    )  # fmt: skip
    assert found["world"].to_list() == [WORLD, WORLD, other, other]
    assert found["policy"].to_list() == ["uniform", "dts"] * 2
    assert found["ratio_to_best"].to_list() == [5, 1, 1, 4]


def test_shared_luck_makes_differences_narrower():
    rng = np.random.default_rng(1)
    luck, noise = rng.normal(100, 30, 20), rng.normal(5, 2, 20)
    plan = make_plan([WORLD], ["uniform", "dts"], 20)
    games = [
        game("uniform", run, x + d) for run, (x, d) in enumerate(zip(luck, noise, strict=True))
    ]
    games += [game("dts", run, x) for run, x in enumerate(luck)][::-1]  # pairs, in any order
    (pair,) = differences(table(*games), plan).iter_rows(named=True)
    assert (pair["low"], pair["high"]) == pytest.approx(t_interval(noise))
    assert pair["low"] > 0
    found = rows(*games, plan=plan)
    widths = [found[name]["regret_high"] - found[name]["regret_low"] for name in ("uniform", "dts")]
    assert 5 * (pair["high"] - pair["low"]) < min(widths)
    assert found["uniform"]["difference_low"] == pytest.approx(pair["low"])
    assert found["uniform"]["difference_high"] == pytest.approx(pair["high"])


def test_the_luck_of_real_games_is_shared():
    world = "utilities:arms=3,rounds=1000,phases=2,sd=0.3"  # some are much harder than others
    found = compare(["dts", "wss"], world, 16, workers=2)
    (pair,) = found.differences.iter_rows(named=True)
    first, second = (
        found.games.filter(policy=name).sort("run")["regret"].to_numpy() for name in ("dts", "wss")
    )
    assert pair["difference"] == pytest.approx((first - second).mean())
    assert (pair["low"], pair["high"]) == pytest.approx(t_interval(first - second))
    unpaired = math.sqrt(first.var(ddof=1) + second.var(ddof=1))
    assert (first - second).std(ddof=1) < 0.7 * unpaired


def test_differences_are_antisymmetric():
    rng = np.random.default_rng(2)
    games = table(
        *(game(name, run, rng.random()) for name in ("uniform", "dts", "wss") for run in range(4))
    )
    names = ["uniform", "dts", "wss"]
    forth = differences(games, PLAN)
    back = differences(games, make_plan([WORLD], names[::-1], 4))
    assert forth.select("first", "second").rows() == [
        ("uniform", "dts"), ("uniform", "wss"), ("dts", "wss"),
    ]  # fmt: skip
    mirrored = {(row["second"], row["first"]): row for row in back.iter_rows(named=True)}
    for row in forth.iter_rows(named=True):
        other = mirrored[row["first"], row["second"]]
        assert row["runs"] == other["runs"] == 4
        assert row["difference"] == pytest.approx(-other["difference"])
        assert row["low"] == pytest.approx(-other["high"])
        assert row["high"] == pytest.approx(-other["low"])


def test_differences_are_over_runs_that_both_have_finished():
    games = table(
        game("uniform", 0, 10), game("uniform", 1, 20), game("uniform", 2, 90),
        game("dts", 2, 1, seed=7), game("dts", 1, 4), game("dts", 0, 3),
    )  # fmt: skip
    plan = make_plan([WORLD], ["uniform", "dts", "wss"], 3, (0, 7))
    (pair,) = differences(games, plan).iter_rows(named=True)  # wss has not played
    assert (pair["first"], pair["second"], pair["runs"]) == ("uniform", "dts", 2)
    assert pair["difference"] == (7 + 16) / 2
    apart = table(game("uniform", 0, 10), game("dts", 1, 4))
    (pair,) = differences(apart, plan).iter_rows(named=True)
    assert (pair["runs"], pair["difference"], pair["low"]) == (0, None, None)
    assert len(differences(table(), plan)) == 0
    assert differences(table(), plan).schema == differences(apart, plan).schema


def test_differences_equal_their_slow_twin():
    rng = np.random.default_rng(5)
    worlds = [WORLD, "two-arm:rounds=200"]
    names = ["uniform", "dts", "wss", "rucb"]
    plan = make_plan(worlds, names, 5, (0, 3))
    games = [
        game(name, run, 100 * rng.random(), world, seed)
        for world in worlds
        for name in names
        for seed in (0, 3)
        for run in range(5)
        if rng.random() < {"rucb": 0.2}.get(name, 0.8)
    ]
    rng.shuffle(games)
    expected = []
    for world in worlds:
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                ours, theirs = (
                    {
                        (each["seed"], each["run"]): each["regret"]
                        for each in games
                        if (each["world"], each["policy"]) == (world, name)
                    }
                    for name in (first, second)
                )
                if ours and theirs:
                    each = [ours[luck] - theirs[luck] for luck in ours.keys() & theirs.keys()]
                    mean = np.mean(each) if each else None
                    ends = t_interval(each) or (None, None)
                    expected.append((world, first, second, len(each), mean, *ends))
    found = differences(table(*games), plan).rows()
    assert len({row[3] for row in found}) > 3
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    for row, other in zip(found, expected, strict=True):
        assert row[4:] == pytest.approx(other[4:], nan_ok=False)


def test_student_is_what_tables_print():
    printed = {1: 12.706, 9: 2.262, 30: 2.042, 10**9: 1.960}
    assert student(list(printed)) == pytest.approx(list(printed.values()), abs=5e-4)
