"""Worlds of slates in experiments: plans, engines, tables and reports."""

from functools import partial

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab import compare, make_plan
from driftduel.lab.plan import Plan
from driftduel.worlds import WithSlates, make_world
from tests.games.slate_policies import Shower
from tests.lab.helpers import assert_same_games

pytestmark = pytest.mark.usefixtures("forget_own")

WORLDS = [
    "utilities:arms=5,rounds=400,slate=4,feedback=ranking",
    "utilities:arms=5,rounds=400,slate=3,ties=0.25,delay=4",
]


@pytest.fixture(scope="module")
def results():
    return compare(["uniform", Shower], WORLDS, runs=3, engine="threads", workers=1)


@pytest.mark.parametrize(
    ("policies", "engine", "workers"),
    [(["uniform", Shower], "threads", 3), ("uniform", "processes", 2)],
)
def test_games_do_not_depend_on_the_workers(results, policies, engine, workers):
    again = compare(policies, WORLDS, runs=3, engine=engine, workers=workers)
    assert not again.failures
    names = again.games["policy"].unique().to_list()
    assert_same_games(results.games.filter(pl.col("policy").is_in(names)), again.games)
    assert len(again.games) == 6 * len(names)


def test_the_plan_has_the_slates(results):
    plan = results.plan
    assert [(world.slate, world.ranked) for world in plan.worlds] == [(4, True), (3, False)]
    assert Plan.from_dict(plan.as_dict()) == plan
    record = make_plan("utilities:rounds=400", "uniform", 1).as_dict()
    assert not {"slate", "ranked"} & set(record["worlds"][0])  # as earlier plans
    for slate in (1, 9, 3.0, "3"):
        damaged = plan.as_dict()
        damaged["worlds"][0]["slate"] = slate
        with pytest.raises(ValueError):  # noqa: PT011 - it says nothing, as `from_dict` tells
            Plan.from_dict(damaged)


def test_a_report_says_what_is_shown(results, tmp_path):
    from driftduel.report import write_report

    pages = write_report(results, tmp_path, figures=False)
    text = "".join(page.read_text() for page in tmp_path.glob("*.html")) or pages.read_text()
    assert "Up to 4 arms are shown at a time and ranked; regret is their mean." in text
    assert "Up to 3 arms are shown at a time and picked from; regret is their mean." in text
    assert "Nothing is picked in 25% of the rounds." in text
    assert "of the duels of two arms" not in text.lower()
    assert "slate=4" in repr(results)


def test_a_world_object_is_known_by_its_slates():
    inside = make_world("utilities:arms=5,rounds=400", 1)
    worlds = [
        WithSlates(inside, 3),
        WithSlates(inside, 4),
        WithSlates(inside, 4, "ranking"),
        WithSlates(inside, 4, "ranking", 0.5),
    ]
    keys = {cell.key for cell in make_plan(worlds, "uniform", 1).cells()}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("policy", "world", "keys", "said"),
    [
        (Shower, WORLDS[0], {"goal": "best"}, "goal 'best' is not defined for worlds of slates"),
        (Shower, WORLDS[0], {"benchmark": "exploitability"}, "for duels, not for slates"),
        (partial(Shower, slate=4), WORLDS[1], {}, "use slate=3, or add slate=4 to the world"),
        (
            partial(Shower, slate=4),
            "utilities:arms=5",
            {},
            "use slate=2, or add slate=4 to the world",
        ),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(policy, world, keys, said):
    with pytest.raises(DriftduelError, match=said) as error:
        make_plan(world, policy, 1, **keys)
    assert "\n" not in str(error.value)
