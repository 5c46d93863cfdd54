"""Goals beside regret: plans, stores, statistics, tables and pages."""

import importlib
import json
import math

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.errors import DriftduelError
from driftduel.games import Identification, checkpoints, play
from driftduel.games.certificate import CertificateObserver
from driftduel.lab import Store, compare, export, load_results, make_plan, sweep
from driftduel.lab.cells import run_cell
from driftduel.lab.goals.best import votes_until
from driftduel.lab.plan import Plan
from driftduel.lab.tables import as_html, as_text
from driftduel.policies import POLICIES as CATALOGUE
from driftduel.worlds import make_world

WORLD = "ladder:arms=3,rounds=300,p=0.7"
CHANGING = "geometric-btl:arms=3,rounds=300,phases=3,change=winner"
POLICIES = ["king", "uniform"]


@pytest.fixture(scope="module")
def best(tmp_path_factory):
    folder = tmp_path_factory.mktemp("best")
    return compare(POLICIES, [WORLD, CHANGING], 6, 3, goal="best", mode="panel", out=folder)


def test_a_plan_without_a_goal_is_as_it_always_was():
    plain, goal = (make_plan([WORLD], ["uniform"], 2, goal=g) for g in ("regret", "best"))
    assert "goal" not in plain.as_dict()
    assert goal.as_dict()["goal"] == "best"
    for plan in (plain, goal):
        assert Plan.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
    keys = [{cell.key for cell in plan.cells()} for plan in (plain, goal)]
    assert keys[0].isdisjoint(keys[1])
    cell = next(plain.cells())
    assert cell.key == cell._replace(goal="regret").keyed(plain.version).key


def test_games_are_the_same_and_the_numbers_those_of_the_measure(best):
    plain = compare(POLICIES, [WORLD, CHANGING], 6, 3, mode="panel")
    assert best.narrow.drop("seconds").equals(plain.narrow.drop("seconds"))
    for row in best.goal_games.iter_rows(named=True):
        cell = next(
            c
            for c in best.plan.cells()
            if (c.world, c.policy, c.run) == (row["world"], row["policy"], row["run"])
        )
        observer = Identification(300)
        play(cell.policy, cell.world, cell.game_seed, mode="panel", observer=observer)
        assert row["goal_score"] == observer.right
        assert row["goal_votes"] == observer.settled
        assert row["goal_until"] == observer.until
        assert row["goal_curve"] == observer.right_at.astype(float).tolist()


def test_the_summary_and_the_curves_are_means_over_runs(best):
    games, summary = best.goal_games, best.goal_summary
    for row in summary.iter_rows(named=True):
        own = games.filter(world=row["world"], policy=row["policy"])
        assert row["runs"] == row["planned"] == 6
        assert math.isclose(row["right_mean"], own["goal_score"].mean())
        assert math.isclose(row["until_mean"], own["goal_until"].mean())
        assert row["end"] == own["goal_right"].mean()
        assert row["end_low"] <= row["end"] <= row["end_high"]
        curve = best.goal_curves.filter(world=row["world"], policy=row["policy"])
        table = np.array(own["goal_curve"].to_list())
        assert curve["votes"].to_list() == checkpoints(300).tolist()
        assert np.allclose(curve["mean"], table.mean(axis=0))
        assert ((curve["low"] <= curve["mean"]) & (curve["mean"] <= curve["high"])).all()
    assert summary.filter(world=CHANGING)["votes_90"].is_null().all()
    assert summary.filter(world=WORLD, policy="king")["votes_90"].is_not_null().all()


def test_the_difference_to_the_best_is_taken_run_by_run(best):
    rows = best.goal_summary.filter(world=WORLD)
    king, other = (rows.filter(policy=policy).to_dicts()[0] for policy in POLICIES)
    assert king["score_difference"] is None
    scores = [best.goal_games.filter(world=WORLD, policy=p)["goal_score"] for p in POLICIES]
    assert math.isclose(other["score_difference"], (scores[1] - scores[0]).mean())
    assert other["score_difference_low"] < other["score_difference"]


def test_the_votes_until_a_share_is_right_against_a_reference():
    rng = np.random.default_rng(5)
    at = checkpoints(400)
    for _ in range(300):
        runs = int(rng.integers(1, 15))
        begin = rng.integers(0, len(at) + 5, runs)
        right = np.arange(len(at)) >= begin[:, None]
        right &= rng.random(right.shape) > rng.choice([0, 0.01, 0.3])
        low, middle, high = votes_until(right, at)
        slow = [int(n) for i, n in enumerate(at) if all(right[:, i:].mean(axis=0) >= 0.9 - 1e-12)]
        assert middle == (slow[0] if slow else None)
        if runs > 1 and middle is not None:
            assert low is not None
            assert low <= middle
            assert high is None or high >= middle


@pytest.mark.long
def test_the_bootstrap_interval_holds_the_true_votes_about_as_often_as_it_states():
    rng = np.random.default_rng(6)
    at, runs = checkpoints(1000), 100
    # Runs settle after an exponential time with mean 100: 90 % of them after 230.3 votes.
    true = math.log(10) * 100
    hits = 0
    for _ in range(200):
        right = at >= rng.exponential(100, runs)[:, None]
        low, _, high = votes_until(right, at)
        hits += low <= math.ceil(true * 1.01) and high >= math.floor(true)
    assert hits >= 180  # of 190 expected


def test_tables_json_and_csv_show_the_goal(best):
    text = as_text(best, 200)
    assert "king" in text
    assert "over worlds" in text
    one = compare(POLICIES, WORLD, 3, 3, goal="best", mode="panel")
    for shown in (as_text(one, 200), as_html(one)):
        assert "votes to 90%" in shown
        assert "names the right leader in" in shown
    record = export.results_as_json(one)
    assert record["goal"] == "best"
    king = record["goal_policies"][0]
    assert king["curve"]["votes"] == checkpoints(300).tolist()
    assert len(king["curve"]["low"]) == len(king["curve"]["mean"])
    json.dumps(record, allow_nan=False)
    lines = export.as_csv(one).splitlines()
    assert "votes_90" in lines[0].split(",")
    assert len(lines) == 3


def test_a_store_keeps_both_kinds_of_games(tmp_path, best):
    compare(POLICIES, [WORLD], 2, 3, mode="panel", out=tmp_path)
    mixed = compare(POLICIES, [WORLD], 2, 3, mode="panel", goal="best", out=tmp_path, replan=True)
    assert mixed.goal_summary["runs"].to_list() == [2, 2]
    again = load_results(tmp_path)
    assert again.missing == 0
    assert again.goal_summary.equals(mixed.goal_summary)
    back = compare(POLICIES, [WORLD], 2, 3, mode="panel", out=tmp_path, replan=True)
    assert back.missing == 0
    with pytest.raises(DriftduelError, match="regret only"):
        _ = back.goal_summary
    with pytest.raises(DriftduelError, match="goal: best there, regret here"):
        compare(POLICIES, [WORLD, CHANGING], 6, 3, mode="panel", out=best.store.folder)


@pytest.mark.parametrize(
    ("column", "value"),
    [("goal_curve", [0.0, 2.0]), ("goal_votes", 302), ("goal_changes", -1), ("goal_until", -1.0)],
)
def test_a_row_that_no_game_gives_is_damaged(tmp_path, column, value):
    plan = make_plan([WORLD], ["uniform"], 1, goal="best")
    store = Store.create(tmp_path, plan)
    row = run_cell(next(plan.cells())).row
    store.add([row | {column: value}])
    assert not Store(tmp_path).done()


def test_a_sweep_may_have_a_goal(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        f'worlds = ["{WORLD}"]\npolicies = ["uniform"]\nruns = 1\ngoal = "best"\n', "utf-8"
    )
    assert sweep(path, tmp_path / "out").goal_summary["right_mean"].to_list() == [0.0]
    path.write_text(path.read_text("utf-8").replace('"best"', '"bset"'), "utf-8")
    with pytest.raises(DriftduelError, match="key 'goal': goal 'bset' does not exist; did you"):
        sweep(path, tmp_path / "out")


def test_a_goal_needs_the_condorcet_winner():
    with pytest.raises(DriftduelError, match="benchmark='borda' must be condorcet"):
        make_plan([WORLD], ["uniform"], 1, goal="best", benchmark="borda")
    with pytest.raises(DriftduelError, match="winner"):
        make_plan(["cycle:rounds=50"], ["uniform"], 1, goal="best")


def test_the_page_and_the_figure_show_the_goal(best, tmp_path):
    pytest.importorskip("plotly")
    pytest.importorskip("matplotlib")
    from driftduel.report import write_report

    page = write_report(best, tmp_path, figures=False).read_text("utf-8")
    assert "Which policy names the best arm" in page
    assert "votes to 90%" in page
    figure = best.plot_goal(world=WORLD, path=tmp_path / "goal.png")
    assert (tmp_path / "goal.png").stat().st_size > 1000
    (panel,) = figure.axes
    assert panel.get_ylabel() == "share of runs right"
    assert panel.get_xscale() == "log"
    curve = best.goal_curves.filter(world=WORLD, policy="king")
    assert panel.lines[0].get_ydata()[-1] == curve["mean"][-1]
    plain = compare(["uniform"], WORLD, 1, 3)
    with pytest.raises(DriftduelError, match="regret only"):
        plain.plot_goal()


@pytest.mark.parametrize("goal", ["confidence", "ranking", "top-2"])
def test_certificates_are_counted_over_runs(goal, tmp_path):
    world = "total-order:arms=3,rounds=400,p=0.8,phases=1"
    played = compare(["uniform", "king"], world, 5, 3, goal=goal, mode="panel", out=tmp_path)
    for row in played.goal_summary.iter_rows(named=True):
        own = played.goal_games.filter(policy=row["policy"])
        found = []
        for cell in played.plan.cells():
            if cell.policy == row["policy"]:
                observer = CertificateObserver(
                    3, 400, {"confidence": 1, "ranking": 0, "top-2": 2}[goal]
                )
                play(cell.policy, world, cell.game_seed, mode="panel", observer=observer)
                found.append(observer)
        votes = [min(each.votes, 400) for each in found]
        assert own["goal_votes"].to_list() == [each.votes for each in found]
        assert math.isclose(row["used_mean"], np.mean(votes))
        assert row["certified"] == np.mean([each.votes <= 400 for each in found])
        assert row["wrong"] == np.mean([each.is_right is False for each in found])
        assert row["wrong_low"] <= row["wrong"] <= row["wrong_high"]
        if goal != "confidence":
            assert math.isclose(row["pairs_mean"], np.mean([each.shares[-1] for each in found]))
            assert row["end"] == np.mean([each.shares[-1] == 1 for each in found])
    text = as_text(played, 200)
    assert "votes used" in text
    assert load_results(tmp_path).goal_summary.equals(played.goal_summary)
    json.dumps(export.results_as_json(played), allow_nan=False)
    assert "wrong_low" in export.as_csv(played)


def test_the_own_stop_of_an_algorithm_is_shown():
    world = "total-order:arms=3,rounds=3000,p=0.9,phases=1"
    played = compare(["knockout:eps=0.2", "uniform"], world, 3, 3, goal="confidence")
    knockout, uniform = played.goal_summary.to_dicts()
    assert 0 < knockout["own_mean"] < 3000
    assert knockout["own_wrong"] == 0
    assert uniform["own_mean"] is None
    assert "own stop" in as_text(played, 200)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("top-3", "goal 'top-3' needs more than 3 arms; this world has 3"),
        ("top-0", "goal 'top-0' does not exist"),
        ("rankin", "did you mean ranking"),
    ],
)
def test_a_goal_without_an_answer_gets_one_sentence(goal, said):
    with pytest.raises(DriftduelError, match=said):
        make_plan([WORLD], ["uniform"], 1, goal=goal)


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["best", "confidence", "ranking", "top-2"])
def test_every_policy_of_the_catalogue_is_measured(goal):
    names = [entry.name for entry in CATALOGUE if not hasattr(entry.factory, "wrapper")]
    played = compare(names, "geometric-btl:arms=3,rounds=300,phases=1", 2, goal=goal)
    assert not played.failures
    assert played.goal_summary["runs"].to_list() == [2] * len(names)


def test_the_ladder_has_the_steps_it_states():
    world = make_world("ladder:arms=4,rounds=10,p=0.6,step=0.12", 3)
    matrix = world.preferences(1).matrix
    order = matrix.sum(axis=1).argsort()[::-1]
    ranked = matrix[np.ix_(order, order)]
    assert math.isclose(ranked[0, 1], 0.6)
    steps = np.log(ranked[1:-1, 2:].diagonal() / (1 - ranked[1:-1, 2:].diagonal()))
    assert np.allclose(steps, 0.12)


@pytest.mark.parametrize("name", ["few_votes", "goals"])
def test_the_tables_on_the_page_are_those_of_the_records(name):
    from research.benchmarks import page_marks as marks

    script = importlib.import_module(f"research.benchmarks.{name}")
    record = json.loads(script.RECORD.read_text("utf-8"))
    page = script.PAGE.read_text("utf-8")
    assert marks.on_page(page, {script.TABLE: script.table(record)}) == page


def test_the_error_rates_of_the_record_are_within_what_is_stated():
    from research.benchmarks import goals as script

    record = json.loads(script.RECORD.read_text("utf-8"))
    assert record["instances"] == 1000
    assert [row["case"] for row in record["rows"]] == list(script.CASES)
    for row in record["rows"]:
        assert row["wrong_low"] <= record["stated"]
        assert row["finished"] > 100


def test_the_few_votes_table_has_every_world():
    from research.benchmarks import few_votes as script

    record = json.loads(script.RECORD.read_text("utf-8"))
    cells = {(row["kind"], row["arms"], row["chance"]) for row in record["rows"]}
    assert cells == set(script.worlds())
    for row in record["rows"]:
        assert row["votes_90"] is None or row["votes_90_low"] <= row["votes_90"]
