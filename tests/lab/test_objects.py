"""Worlds, classes and policies as objects: what a researcher has at hand, planned like a spec."""

import gc
import importlib
from functools import partial

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.errors import DriftduelError
from driftduel.lab import Store, compare, load_results, make_plan, sweep
from driftduel.policies import POLICIES, Policy, make_policy
from driftduel.policies.dts import Dts
from driftduel.policies.king import King
from driftduel.policies.window import SlidingWindow
from driftduel.preferences import lone_winner
from driftduel.worlds import (
    Chunk,
    Piecewise,
    RandomWalk,
    Seasonal,
    WithDelay,
    World,
    make_world,
)
from tests.lab.helpers import WORLD, assert_same_games

pytestmark = pytest.mark.usefixtures("forget_own")


def piecewise(eps=0.2, rounds=300):
    matrices = [lone_winner(3, winner=arm, eps=eps) for arm in (0, 2)]
    return Piecewise(matrices, [1, rounds // 2], rounds)


def keys(policies="uniform", worlds=WORLD, **more):
    return [cell.key for cell in make_plan(worlds, policies, 1, **more).cells()]


def refused(policies="uniform", worlds=WORLD, **more):
    with pytest.raises(DriftduelError) as error:
        compare(policies, worlds, runs=1, workers=1, **more)
    return str(error.value)


def written(first=0, name=None):
    """Write a class of policies, as somebody does who tries something, and tries it again."""

    class MyPolicy(Policy):
        """Play `first` against an arm of one's choice."""

        def __init__(self, arms, rng, second: int = 1):
            super().__init__(arms, rng)
            self.second = second

        def choose(self, t):
            return first, self.second, ()

        def learn(self, t, first, second, won, notes):
            return 0

    if name is not None:
        MyPolicy.name = name
    return MyPolicy


# Policies


def test_registered_classes_and_policies_are_their_specs():
    rng = np.random.default_rng(0)
    given = [
        King, partial(Dts, alpha=0.6), Dts(5, rng, alpha=0.7), make_policy("sw-dts:window=300", 4),
        "uniform", make_policy("anaconda:constant=0.5", 3, horizon=100),
    ]  # fmt: skip
    specs = [
        "king", "dts:alpha=0.6", "dts:alpha=0.7", "sw-dts:window=300", "uniform",
        "anaconda:horizon=100,constant=0.5",
    ]  # fmt: skip
    plan = make_plan(WORLD, given, 1)
    assert [policy.spec for policy in plan.policies] == specs
    assert plan == make_plan([WORLD], specs, 1)
    assert make_plan(WORLD, King, 1) == make_plan(WORLD, (King,), 1) == make_plan(WORLD, "king", 1)


def test_a_class_of_ones_own_plays_and_is_stored_under_a_name_to_read(tmp_path):
    mine = written()
    found = compare(
        [mine, partial(mine, second=2), "uniform"], WORLD, runs=2, workers=1, out=tmp_path / "out"
    )
    assert not found.failures
    assert found.summary["policy"].to_list() == ["my-policy", "my-policy:second=2", "uniform"]
    again = load_results(tmp_path / "out")  # as another program would
    assert_same_games(again.games, found.games)
    assert again.summary.equals(found.summary)


def test_what_is_finished_is_not_played_again_and_another_class_is(tmp_path):
    def play(mine, **more):
        return compare(
            [mine, "uniform"], piecewise(), runs=2, workers=1, out=tmp_path / "out", **more
        )

    first = play(written())
    files = sorted((tmp_path / "out" / "cells").iterdir())
    assert_same_games(play(written()).games, first.games)  # the same text, another class
    assert sorted((tmp_path / "out" / "cells").iterdir()) == files
    with pytest.raises(DriftduelError, match="another plan"):
        play(written(first=1))
    changed = play(written(first=1), replan=True)
    assert changed.missing == 0
    assert len(Store(tmp_path / "out").done()) == 6  # uniform's two, and two of each class
    assert set(changed.games["key"]) & set(first.games["key"]) == set(
        first.games.filter(policy="uniform")["key"]
    )


def test_the_key_is_that_of_the_code_and_of_the_parameters():
    before = keys(written())
    assert keys(written()) == before
    assert keys(written(first=1)) != before
    assert keys(partial(written(), second=1)) == before  # the default
    assert keys(partial(written(), second=2)) != before
    assert keys(written()) == before  # whatever was planned meanwhile


def test_a_class_is_the_same_after_another_of_its_name_has_played():
    one, other = written(0), written(1)
    before = keys(one)
    assert keys(other) != before
    assert keys(one) == before


def test_a_plan_is_not_played_by_a_class_that_was_written_later():
    plan = make_plan(WORLD, written(0), 1)
    make_plan(WORLD, written(1), 1)
    found = sweep(plan, workers=1)
    assert ["differs from the planned one" in why for why in found.failures.values()]
    assert found.missing == 1


def test_two_classes_of_one_name_need_two_names():
    assert "two classes are named" in refused([written(0), written(1)])
    found = compare([written(0), written(1, "other")], WORLD, runs=1, workers=1)
    assert found.summary["policy"].to_list() == ["my-policy", "other"]


def test_a_subclass_of_ours_is_not_ours():
    class Slower(Dts):
        """Somebody's own."""

    assert [policy.spec for policy in make_plan(WORLD, Slower, 1).policies] == ["slower"]
    assert keys(Slower) != keys("dts")
    built = Slower(3, np.random.default_rng(0))
    assert [policy.spec for policy in make_plan(WORLD, built, 1).policies] == ["slower"]
    around = SlidingWindow(3, np.random.default_rng(0), built)
    assert [policy.spec for policy in make_plan(WORLD, around, 1).policies] == ["sw-slower"]
    assert keys(around) != keys("sw-dts")


def test_what_is_no_policy_is_refused_in_a_sentence():
    fresh = make_policy("dts", 3)
    played = make_policy("dts", 3)
    played.ask()
    panel = make_policy("dts", 3, mode="panel")
    mine = written()

    class Untyped(written()):
        def __init__(self, arms, rng, alpha=2):
            super().__init__(arms, rng)

    class Arrays(written()):
        def __init__(self, arms, rng, table: list):
            super().__init__(arms, rng)

    class Uniform(written()):
        """Ours has this name."""

    for given, said in (
        (3, "3 is not a policy; pass a spec"),
        (piecewise, "is not a policy"),
        (Policy, "does not define choose, learn"),
        (SlidingWindow, "pass both as a spec, such as 'sw-dts'"),
        (partial(Dts, 0.6), "must name its keys"),
        (partial(Dts, arms=3), "sets arms, which every game sets"),
        (partial(Dts, alpga=3), "has no key 'alpga'; did you mean alpha"),
        (partial(Dts, alpha="1,alpha=2"), "gives alpha twice"),
        (partial(Dts, alpha="1,beta=2"), "cannot hold the values"),
        (played, "has asked for 1 duels"),
        (panel, "was configured"),
        (mine(3, np.random.default_rng(0), second=2), "<locals>.MyPolicy, second=...)"),
        (Untyped, ".Untyped has no type; add one, such as alpha: float = 1"),
        (Arrays, "must be of the types int, float, str or bool"),
        (Uniform, "cannot be registered as 'uniform': this policy exists"),
        ([fresh, "dts"], "'dts' is listed twice"),
    ):  # fmt: skip
        sentence = refused(given)
        assert said in sentence, (given, sentence)
        assert "\n" not in sentence
    assert not refused_names() & {"untyped", "arrays"}
    assert not compare(panel, WORLD, runs=1, workers=1, mode="panel").failures


def refused_names():
    return {entry.name for entry in POLICIES}


# Other processes

MODULE = """
from driftduel.policies import Policy

class Imported(Policy):
    '''A class that nobody registers.'''

    def __init__(self, arms, rng, second: int = 1):
        super().__init__(arms, rng)
        self.second = second

    def choose(self, t):
        return 0, self.second, ()

    def learn(self, t, first, second, won, notes):
        return 0
"""


@pytest.mark.parametrize("engine", ["processes", pytest.param("dask", marks=pytest.mark.long)])
def test_a_class_of_a_module_plays_in_other_processes(engine, tmp_path, monkeypatch):
    if engine == "dask":
        pytest.importorskip("distributed")
    (tmp_path / "own_classes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("own_classes")
    given = [module.Imported, partial(module.Imported, second=2)]
    there = compare(given, WORLD, runs=2, engine=engine, workers=1)
    assert not there.failures
    assert there.plan.policies[0].home == "own_classes:Imported"
    here = compare(given, WORLD, runs=2, engine="threads", workers=1)
    assert_same_games(there.games, here.games)
    by_name = make_plan(WORLD, "imported", 1, imports=["own_classes:Imported"])
    assert [cell.key for cell in by_name.cells()] == keys(module.Imported)


def test_what_no_other_process_can_see_plays_here_or_not_at_all():
    assert "plays in other processes" in refused(written(), engine="processes")
    assert "world object" in refused("uniform", piecewise(), engine="processes")
    found = compare(written(), piecewise(), runs=1, workers=1)  # plain Python, and yet on threads
    assert not found.failures


# Worlds


def test_a_world_is_known_by_its_content():
    before = keys(worlds=piecewise())
    assert keys(worlds=[piecewise()]) == before
    assert keys(worlds=piecewise(eps=0.3)) != before
    assert keys(worlds=piecewise(rounds=301)) != before
    spec = make_plan(piecewise(), "uniform", 1).worlds[0].spec
    assert spec.startswith("piecewise:arms=3,rounds=300,content=")
    ties = Piecewise([lone_winner(3)], [1], 50, ties=[0.1])
    plain = Piecewise([lone_winner(3)], [1], 50)
    present = Piecewise([lone_winner(3)], [1], 50, present=[[1, 1, 0]])
    late = WithDelay(plain, 3)
    assert len({keys(worlds=world)[0] for world in (ties, plain, present, late)}) == 4
    spec = make_plan(late, "uniform", 1).worlds[0].identity
    assert spec != make_plan(WithDelay(plain, 4), "uniform", 1).worlds[0].identity


def test_a_world_object_plays_the_games_of_its_spec(tmp_path):
    spec = f"{WORLD},seed=7"
    by_spec = compare(["uniform", "dts"], spec, runs=2, workers=2).games
    by_object = compare(["uniform", "dts"], make_world(spec), runs=2, workers=2).games
    drop = ("key", "world")
    assert_same_games(by_spec.drop(drop), by_object.drop(drop))


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomWalk(np.arange(3.0), 0.05, 3000, seed=3),
        lambda: Seasonal([0, 1, 2], [3, 2, 1], [0, 0.2, 0.5], 500, 3000),
    ],
)
def test_drifting_worlds_are_read_by_each_thread_for_itself(make):
    world = make()
    before = keys(worlds=world, benchmark="borda")
    world.chunk(2000, 2100)  # some remember where they were
    assert keys(worlds=world, benchmark="borda") == keys(worlds=make(), benchmark="borda") == before
    given = (["uniform", "dts"], world, 4)
    one = compare(*given, benchmark="borda", workers=1).games
    two = compare(*given, benchmark="borda", workers=3).games
    assert_same_games(one, two)


class Switch(World):
    """A world of somebody's own, whose matrices can be changed."""

    chunk_rounds = 100

    def __init__(self, rounds=100):
        self.arms, self.rounds = 2, rounds
        self.matrices = np.array([[[0.5, 0.9], [0.1, 0.5]]])

    def chunk(self, first, end):
        none = np.empty((0, 2))
        return Chunk(np.array([first]), end, np.array([0]), self.matrices, none, -1)


def test_a_world_that_changes_after_it_was_planned_plays_as_planned():
    world = Switch()
    plan = make_plan(world, "dts", 1)
    world.matrices[0] = 0.5
    world.matrices[0, 0, 1], world.matrices[0, 1, 0] = 0.1, 0.9
    played = sweep(plan, workers=1).games
    changed = compare("dts", world, runs=1, workers=1).games
    assert played["plays"].to_list() != changed["plays"].to_list()
    assert_same_games(played, compare("dts", Switch(), runs=1, workers=1).games)
    assert keys("dts", world) != [cell.key for cell in plan.cells()]
    assert keys("dts", Switch()) == [cell.key for cell in plan.cells()]
    assert plan.worlds[0].spec.startswith("switch:arms=2,rounds=100,content=")


def test_worlds_that_cannot_be_known_are_refused_in_a_sentence(monkeypatch):
    class Locked(Switch):
        def __init__(self):
            super().__init__()
            self.generator = (x for x in ())  # cannot be copied

    class Broken(Switch):
        def chunk(self, first, end):
            raise RuntimeError("oh")

    assert "cannot be copied and read" in refused(worlds=Locked())
    assert "RuntimeError('oh')" in refused(worlds=Broken())
    assert "is not a world; pass a spec" in refused(worlds=np.eye(3))
    assert "is not a world; policies are the first argument" in refused(worlds=[Dts])
    assert "is listed twice" in refused(worlds=[Switch(), Switch()])
    monkeypatch.setattr("driftduel.lab.objects._MOST_NUMBERS", 10)
    assert "too many to hash" in refused(worlds=Switch(rounds=1000))


def test_results_outlive_the_world_and_worlds_go_with_their_plan(tmp_path):
    found = compare(["uniform", "dts"], Switch(), runs=2, workers=1, out=tmp_path / "out")
    spec = found.plan.worlds[0].spec
    assert make_plan(spec, "uniform", 1).worlds[0].identity == found.plan.worlds[0].identity
    del found
    gc.collect()
    assert load_results(tmp_path / "out").summary["runs"].to_list() == [2, 2]
    with pytest.raises(DriftduelError, match="was an object of a process that has ended"):
        make_plan(spec, "uniform", 1)


# Modes


def test_a_panel_is_another_game_and_the_key_of_serving_stays():
    assert keys("dts", mode="serve") == keys("dts")
    assert keys("dts", mode="panel") != keys("dts")
    found = compare("dts", WORLD, runs=2, workers=1, mode="panel")
    assert not found.failures
    assert found.plan.as_dict()["mode"] == "panel"
    served = compare("dts", WORLD, runs=2, workers=1)
    assert found.games["regret"].to_list() != served.games["regret"].to_list()
    assert "mode='both' must be serve or panel" in refused(mode="both")


def test_old_plans_have_no_mode_and_are_read(tmp_path):
    plan = make_plan(WORLD, "uniform", 1)
    record = plan.as_dict()
    del record["mode"]
    assert type(plan).from_dict(record) == plan
