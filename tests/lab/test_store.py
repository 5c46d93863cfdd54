"""The store: nothing is lost, nothing is counted twice, nothing is believed that is damaged."""

import hashlib
import json
import os
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.errors import DriftduelError
from driftduel.lab import Store, compare, load_results, make_plan, sweep
from driftduel.lab.cells import run_cell
from driftduel.lab.store import SCHEMA, TIMINGS
from tests.lab.helpers import (
    WORLD,
    Listener,
    assert_same_games,
    content,
    own_policy,
    start,
    timeless,
)
from tests.waiting import LONG

PLAN = make_plan([WORLD, "two-arm:rounds=60"], ["uniform", "dts"], 3)


def played(folder, plan=PLAN, **more):
    return sweep(plan, folder, engine="threads", workers=2, **more)


def in_small_files(folder, plan=PLAN, size=2):
    """Fill a store with files of a few cells each."""
    store = Store.create(folder, plan)
    cells = list(plan.cells())
    for first in range(0, len(cells), size):
        store.add([run_cell(cell).row for cell in cells[first : first + size]])
    return store


CATEGORIES = ("categories", "category_regret", "category_rounds")


def files(folder):
    return sorted((Path(folder) / "cells").glob("*.parquet"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a store in which everything is finished, in files of two cells; not to be changed."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    in_small_files(folder)
    return folder


@pytest.fixture
def store(whole, tmp_path):
    """Return a copy of it."""
    shutil.copytree(whole, tmp_path / "store")
    return tmp_path / "store"


def test_rows_come_in_the_order_of_the_plan_whatever_the_files(whole):
    games = Store(whole).rows()
    assert games["key"].to_list() == [cell.key for cell in PLAN.cells()]
    assert dict(games.schema) == SCHEMA
    assert len(files(whole)) == len(PLAN) / 2
    few = Store(whole).rows(name for name in ("run", "policy"))
    assert few.columns == ["run", "policy"]
    assert few.rows() == [(cell.run, cell.policy) for cell in PLAN.cells()]


def test_rows_are_what_was_played(whole):
    for cell, row in zip(PLAN.cells(), Store(whole).rows().iter_rows(named=True), strict=True):
        again = run_cell(cell).row
        for name in set(SCHEMA) - set(TIMINGS):
            value = again[name]
            assert row[name] == (value if isinstance(value, str | int | float) else list(value))


def test_threads_that_add_and_that_ask_what_is_finished_wait_for_each_other(tmp_path):
    store = Store.create(tmp_path / "s", PLAN)
    seen = []

    def attempt():
        seen.append(store._looking.acquire(blocking=False))
        if seen[-1]:
            store._looking.release()

    class Noting(dict):
        """What is known of the files; whenever it is touched, nobody else may touch it."""

        def note(self):
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()

        def __setitem__(self, name, keys):
            self.note()
            super().__setitem__(name, keys)

        def values(self):
            self.note()
            return super().values()

        def keys(self):
            self.note()
            return super().keys()

    store._sound = Noting()
    store.add([run_cell(next(PLAN.cells())).row])
    assert len(seen) == 1
    store.done()
    store.refresh()
    assert len(seen) > 3
    assert set(seen) == {False}


def test_a_store_without_results_has_no_rows(tmp_path):
    store = Store.create(tmp_path / "s", PLAN)
    assert len(store.rows()) == 0
    assert dict(store.rows().schema) == SCHEMA
    assert store.rows(("regret", "key")).columns == ["regret", "key"]
    assert store.done() == set()
    assert load_results(tmp_path / "s").missing == len(PLAN)
    assert load_results(tmp_path / "s").summary["runs"].to_list() == [0, 0, 0, 0]


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip, truncate, empty])
def test_a_damaged_file_is_set_aside_and_its_cells_are_played_again(damage, store, whole):
    broken = files(store)[1]
    damage(broken)
    rotten = broken.read_bytes()
    assert len(Store(store).rows()) == len(PLAN) - 2
    assert load_results(store).missing == 2
    watch = Listener()
    found = played(store, watch=watch)
    assert len(watch.outcomes) == 2
    (said,) = watch.said
    assert str(broken) in said
    assert "damaged" in said
    assert not broken.exists()
    assert Path(f"{broken}.damaged").read_bytes() == rotten  # kept, for whoever wants to look
    assert found.missing == 0
    assert_same_games(found.games, Store(whole).rows())
    watch = Listener()
    played(store, watch=watch)  # and that was that
    assert (watch.said, watch.outcomes) == ([], [])


def rewritten(path, change):
    """Change a file of results and give it the name that fits: only its content is wrong."""
    changed = change(pl.read_parquet(path))
    path.unlink()
    changed.write_parquet(path)
    fitting = path.with_name(hashlib.sha256(path.read_bytes()).hexdigest() + ".parquet")
    return path.rename(fitting)


FORGED = {
    "foreign column": lambda f: f.with_columns(pl.lit(1).alias("more")),
    "missing column": lambda f: f.drop("plays"),
    "columns in another order": lambda f: f.select(reversed(f.columns)),
    "retyped number": lambda f: f.with_columns(pl.col("regret").cast(pl.String)),
    "retyped list": lambda f: f.with_columns(pl.col("at").cast(pl.List(pl.Float64))),
    "retyped key": lambda f: f.with_columns(pl.lit(1).alias("key")),
    "no key": lambda f: f.drop("key"),
    "null": lambda f: f.with_columns(pl.lit(None, pl.String).alias("machine")),
    "null key": lambda f: f.with_columns(pl.lit(None, pl.String).alias("key")),
    "nan": lambda f: f.with_columns(pl.lit(float("nan")).alias("regret")),
    "infinite seconds": lambda f: f.with_columns(pl.lit(float("inf")).alias("seconds")),
    "nan in a curve": lambda f: f.with_columns(
        pl.col("regret_weak_curve").list.eval(pl.element() / 0 * 0)
    ),
    "null in a list": lambda f: f.with_columns(
        pl.col("plays").list.eval(pl.lit(None, pl.Int64).append(pl.element()).head(2))
    ),
    "short curve": lambda f: f.with_columns(pl.col("regret_curve").list.head(1)),
    "no curve": lambda f: f.with_columns(
        pl.col("at").list.head(0), pl.col("^regret.*_curve$").list.head(0)
    ),
    "a curve without an end": lambda f: f.with_columns(pl.col("rounds") + 1),
    "no rounds": lambda f: f.with_columns(pl.lit(0, pl.Int64).alias("rounds")),
    "plays of other arms": lambda f: f.with_columns(pl.col("plays").list.head(5)),
    "an arm that is not there wins": lambda f: f.with_columns(
        pl.col("winners").list.eval(pl.element() + 99)
    ),
    "winners of nothing": lambda f: f.with_columns(pl.col("winners").list.head(0)),
    "winners that come late": lambda f: f.with_columns(
        pl.col("winners_from").list.eval(pl.element() + 1)
    ),
    "three bounds": lambda f: f.with_columns(
        pl.concat_list("arms", "arms", "arms").alias("present")
    ),
    "more ties than duels": lambda f: f.with_columns(pl.lit(1.5).alias("ties")),
    "a category without regret": lambda f: f.with_columns(
        pl.lit(pl.Series([["a"]])).first().alias("categories")
    ),
    "rounds of categories that are too few": lambda f: f.with_columns(
        _categories(["a"], [0.0], [1])
    ),
    "a category that is there twice": lambda f: f.with_columns(
        _categories(["a", "a"], [0.0, 0.0], [1, 2])
    ),
    "infinite regret of a category": lambda f: f.with_columns(
        _categories(["a"], [float("inf")], [1])
    ),
    "a stage of other arms": lambda f: f.with_columns(_stage(active=[99])),
    "half a replay": lambda f: f.with_columns(_stage(replays=[1])),
    "a stage after the end": lambda f: f.with_columns(_stage(round=10**9)),
}


def _categories(*values):
    """Make the columns of categories."""
    kinds = [SCHEMA[name] for name in CATEGORIES]
    return [
        pl.lit(pl.Series([value], dtype=kind)).first().alias(name)
        for name, kind, value in zip(CATEGORIES, kinds, values, strict=True)
    ]


def _stage(**changes):
    """Make the column of stages: one, with something wrong in it."""
    stage = {"round": 1, "episode": 1, "replays": [1, 9], "active": [0], "good": [0], **changes}
    return pl.lit(pl.Series([[stage]], dtype=SCHEMA["stages"])).first().alias("stages")


@pytest.mark.parametrize("how", FORGED)
def test_a_file_of_something_else_is_set_aside_although_it_fits_its_name(how, store, whole):
    forged = rewritten(files(store)[1], FORGED[how])
    assert load_results(store).missing == 2
    watch = Listener()
    found = played(store, watch=watch)
    assert len(watch.outcomes) == 2
    assert watch.said == [f"{forged}.damaged: damaged and renamed; its cells are played again."]
    assert_same_games(found.games, Store(whole).rows())


def test_the_forged_stage_is_what_is_wrong(store):
    rewritten(files(store)[1], lambda f: f.with_columns(_stage()))
    assert load_results(store).missing == 0


def test_files_of_driftduel_0_1_stand_beside_newer_ones(store, whole):
    since = ["winners_from", "winners", "present", "ties", "stages", *CATEGORIES]
    rewritten(files(store)[1], lambda f: f.drop(since))
    games = load_results(store).games
    assert len(games) == len(PLAN)
    assert games["winners"].is_null().sum() == 2
    assert timeless(games.drop(since)).equals(timeless(Store(whole).rows().drop(since)))


def test_files_from_before_categories_stand_beside_newer_ones(store, whole):
    rewritten(files(store)[1], lambda f: f.drop(CATEGORIES))
    games = load_results(store).games
    assert len(games) == len(PLAN)
    assert games["categories"].is_null().sum() == 2
    assert timeless(games.drop(CATEGORIES)).equals(timeless(Store(whole).rows().drop(CATEGORIES)))


@pytest.mark.parametrize("change", ["foreign column", "retyped number", "missing column"])
def test_another_versions_files_are_left_alone(change, store):
    old = rewritten(
        files(store)[0],
        lambda f: FORGED[change](f).with_columns(pl.lit("of another version").alias("key")),
    )
    watch = Listener()
    assert played(store, watch=watch).missing == 0
    assert watch.said == []
    assert old.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a pipe")
def test_a_pipe_or_a_folder_among_the_results_is_set_aside(store):
    (store / "cells" / "folder.parquet").mkdir()
    os.mkfifo(store / "cells" / "pipe.parquet")
    watch = Listener()
    assert played(store, watch=watch).missing == 0
    assert len(watch.said) == 2
    assert watch.outcomes == []


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there")
def test_a_folder_whose_name_is_not_utf8(store):
    name = os.fsdecode(os.fsencode(store.parent) + b"/caf\xe9")
    store.rename(name)
    assert_same_games(load_results(name).games, played(name).games)
    assert len(load_results(name).games) == len(PLAN)


def test_damage_is_said_even_if_nobody_looks_on(store):
    flip(files(store)[0])
    with pytest.warns(UserWarning, match="damaged and renamed"):
        played(store)


def test_every_file_may_be_damaged(store, whole):
    for path in files(store):
        flip(path)
    found = played(store, watch=Listener())
    assert_same_games(found.games, Store(whole).rows())


def test_a_damaged_file_that_somebody_else_sets_aside_meanwhile(store):
    flip(files(store)[0])
    one, other = Store(store), Store(store)
    one.done()
    other.done()
    assert len(one.set_aside()) == 1
    assert other.set_aside() == []


def test_a_file_that_is_gone_before_it_is_read(store, monkeypatch):
    gone = files(store)[0]
    opened = Store(store)
    listed = list(os.scandir(store / "cells"))
    monkeypatch.setattr("driftduel.lab.store.os.scandir", lambda folder: listed)
    gone.rename(store / "cells" / "elsewhere")
    assert len(opened.done()) == len(PLAN) - 2
    assert opened.damaged == []


def test_cells_that_were_finished_twice_count_once(tmp_path):
    rows = [run_cell(cell).row for cell in list(PLAN.cells())[:3]]
    one, other = Store.create(tmp_path, PLAN), Store.create(tmp_path, PLAN)
    one.add(rows)
    other.add(rows[1:])
    other.add([{**run_cell(cell).row} for cell in list(PLAN.cells())[:1]])  # other timings
    assert len(files(tmp_path)) == 3
    for each in (one, other, Store(tmp_path)):
        assert each.rows()["key"].to_list() == [row["key"] for row in rows]
        assert len(each.done()) == 3


def test_the_same_rows_make_the_same_file(tmp_path):
    rows = [run_cell(cell).row for cell in list(PLAN.cells())[:2]]
    store = Store.create(tmp_path, PLAN)
    store.add(rows)
    store.add(rows)
    assert len(files(tmp_path)) == 1


def test_stores_are_merged_by_copying_files(tmp_path, whole):
    for i in (1, 2, 3):
        found = played(tmp_path / str(i), shard=f"{i}/3")
        assert found.missing == len(PLAN) - 4
    for i in (2, 3):
        for path in files(tmp_path / str(i)):
            shutil.copy(path, tmp_path / "1" / "cells")
    merged = load_results(tmp_path / "1")
    assert merged.missing == 0
    assert_same_games(merged.games, Store(whole).rows())


def test_files_of_other_plans_and_versions_do_no_harm(store, whole):
    """They stay when a plan takes the place of another."""
    frame = pl.DataFrame({"key": ["a", "b"], "regret": ["as words", "here"], "new": [1, 2]})
    frame.write_parquet(store / "new")
    name = hashlib.sha256((store / "new").read_bytes()).hexdigest()
    (store / "new").rename(store / "cells" / f"{name}.parquet")
    assert {"a", "b"} <= Store(store).done()
    assert_same_games(Store(store).rows(), Store(whole).rows())


def test_an_open_store_sees_what_comes_and_goes(store):
    opened = Store(store)
    assert len(opened.done()) == len(PLAN)
    path = files(store)[0]
    path.rename(store / "kept")
    assert len(opened.done()) == len(opened.rows()) == len(PLAN) - 2
    (store / "kept").rename(path)
    assert len(opened.done()) == len(opened.rows()) == len(PLAN)


def test_another_plan_is_refused_and_nothing_is_touched(store):
    before = content(store)
    others = [
        (make_plan([WORLD, "two-arm:rounds=60"], ["uniform", "wss"], 3), "policies only here: wss"),
        (make_plan([WORLD], ["uniform", "dts"], 3), "worlds only there: two-arm:rounds=60"),
        (replace(PLAN, runs=4), "runs: 3 there, 4 here"),
        (replace(PLAN, seeds=(1,)), r"seeds: \[0\] there, \[1\] here"),
        (replace(PLAN, version="9"), "version: .* there, 9 here"),
        (replace(PLAN, worlds=PLAN.worlds[::-1]), "worlds: in another order"),
    ]
    for other, said in others:
        with pytest.raises(DriftduelError, match=said) as error:
            played(store, other)
        assert "--replan" in str(error.value)
        assert content(store) == before


def test_replan_keeps_the_cells_that_both_plans_have(store, whole):
    more = make_plan(["two-arm:rounds=60", WORLD], ["wss", "dts"], 4)
    watch = Listener()
    found = played(store, more, replan=True, watch=watch)
    assert watch.begun[0][:2] == (16, 6)
    assert len(watch.outcomes) == 10
    assert found.games["key"].to_list() == [cell.key for cell in more.cells()]
    watch = Listener()
    back = played(store, replan=True, watch=watch)  # nothing was lost on the way
    assert watch.outcomes == []
    assert_same_games(back.games, Store(whole).rows())


def test_a_folder_with_other_files_is_refused_and_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("important")
    (tmp_path / "sub").mkdir()
    before = content(tmp_path)
    with pytest.raises(DriftduelError, match="contains other files; pass a new"):
        played(tmp_path)
    assert content(tmp_path) == before


def test_an_empty_folder_or_a_new_one_is_fine(tmp_path):
    assert Store.create(tmp_path, PLAN).plan == PLAN
    assert Store.create(tmp_path / "a" / "b" / "c", PLAN).plan == PLAN
    assert Store.create(tmp_path / "a" / "b" / "c", PLAN).plan == PLAN


def test_two_processes_may_make_a_store_at_the_same_time(tmp_path, monkeypatch):
    """The other's plan may appear between any two looks at the folder."""
    look = Path.iterdir

    def look_late(folder):
        if not (folder / "plan.json").exists():
            shutil.copy(tmp_path / "other" / "plan.json", folder)
        return look(folder)

    Store.create(tmp_path / "other", PLAN)
    (tmp_path / "s").mkdir()
    monkeypatch.setattr(Path, "iterdir", look_late)
    assert Store.create(tmp_path / "s", PLAN).plan == PLAN


def test_a_file_where_the_folder_should_be(tmp_path):
    path = tmp_path / "results"
    path.write_text("")
    with pytest.raises(DriftduelError, match="cannot write to"):
        played(path)
    with pytest.raises(DriftduelError, match="cannot write to"):
        played(path / "below")
    with pytest.raises(DriftduelError, match="cannot write to"):
        played("/proc/no-such-place")


def test_not_a_store(tmp_path):
    with pytest.raises(DriftduelError, match=r"contains no results \(no plan.json\)"):
        load_results(tmp_path)
    with pytest.raises(DriftduelError, match="is not a folder"):
        load_results(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(DriftduelError, match="is not a folder"):
        load_results(tmp_path / "file")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        '"x"',
        "{}",
        '{"format": 1}',
        '{"format": 99}',
        "\xff\xfe",
        "[" * 100_000,
    ],
)
def test_a_damaged_plan(text, store):
    (store / "plan.json").write_bytes(text.encode("latin-1"))
    before = content(store)
    for attempt in (lambda: load_results(store), lambda: played(store)):
        with pytest.raises(DriftduelError, match=r"plan.json' is damaged.*with --replan"):
            attempt()
    assert content(store) == before
    watch = Listener()
    found = played(store, replan=True, watch=watch)  # and what it says to do helps
    assert (watch.outcomes, found.missing) == ([], 0)
    assert Store(store).plan == PLAN


def test_a_plan_of_something_else_is_never_replaced(tmp_path):
    (tmp_path / "plan.json").write_text('{"holidays": "in May"}')
    before = content(tmp_path)
    for replan in (False, True):
        with pytest.raises(DriftduelError, match=r"plan.json' is not a plan of this program"):
            played(tmp_path, replan=replan)
    assert content(tmp_path) == before


def test_a_plan_of_another_format(store):
    record = json.loads((store / "plan.json").read_text())
    world, policy = record["worlds"][0], record["policies"][0]
    for change in (
        {"format": 2}, {"more": 1}, {"worlds": 3}, {"policies": [{}]}, {"worlds": []},
        {"policies": []}, {"seeds": []}, {"seeds": ["1"]}, {"seeds": [-1]}, {"seeds": [1 << 70]},
        {"runs": 10**12}, {"runs": 0}, {"runs": "3"}, {"runs": 3.0}, {"runs": True},
        {"points": 10**12}, {"points": None}, {"benchmark": "x"}, {"imports": [1]}, {"version": 1},
        {"worlds": [{**world, "rounds": "60"}]}, {"worlds": [{**world, "arms": 1}]},
        {"worlds": [{**world, "fixed": 1}]}, {"worlds": [{**world, "spec": ["x"]}]},
        {"policies": [{**policy, "told": [3]}]}, {"policies": [{**policy, "compiled": None}]},
    ):  # fmt: skip
        (store / "plan.json").write_text(json.dumps({**record, **change}))
        with pytest.raises(DriftduelError, match="or of another version of driftduel"):
            load_results(store)


def test_cells_that_went_missing_as_a_whole(store, whole):
    shutil.rmtree(store / "cells")
    with pytest.raises(DriftduelError, match="cannot read"):
        load_results(store).games  # noqa: B018
    assert_same_games(played(store).games, Store(whole).rows())


@pytest.mark.parametrize("name", ["r[1]", "r*", "r?", "a b", "{x}", "$HOME", "caf\xe9", "~"])
def test_any_name_will_do_for_the_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = compare(["uniform"], "two-arm:rounds=20", 2, out=name, workers=1)
    assert found.games["run"].to_list() == [0, 1]
    assert (tmp_path / name / "plan.json").exists()


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    store = Store.create(tmp_path, PLAN)
    rows = [run_cell(cell).row for cell in list(PLAN.cells())[:2]]
    before = content(tmp_path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(DriftduelError, match=r"cannot write .*: No space left on device"):
            store.add(rows)
        with pytest.raises(DriftduelError, match="No space left"):
            Store.create(tmp_path, replace(PLAN, runs=9), replan=True)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        with pytest.raises(DriftduelError, match="No space left"):
            store.add(rows)
    assert content(tmp_path) == before
    assert store.done() == Store(tmp_path).done() == set()
    store.add(rows)
    assert len(Store(tmp_path).done()) == 2


FULL_DISK = """
import resource, sys
from driftduel.lab import read_plan, running, sweep

class Watch(running.NullListener):
    cells = 0
    def cell(self, outcome):
        self.cells += 1
        if self.cells == 5:  # from now on no file can hold more than this
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))

running._SECONDS_A_FILE = 0.0
sweep(read_plan(sys.argv[1]), sys.argv[2], workers=2, watch=Watch())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_a_full_disk_loses_nothing_that_was_finished(tmp_path, whole):
    file = tmp_path / "sweep.toml"
    worlds, policies = ([each.spec for each in some] for some in (PLAN.worlds, PLAN.policies))
    file.write_text(f"worlds = {worlds}\npolicies = {policies}\nruns = 3\n")
    with start(FULL_DISK, file, tmp_path / "s") as process:
        _, err = process.communicate(timeout=LONG)
    assert process.returncode == 1
    assert "DriftduelError: cannot write" in err
    assert "File too large" in err
    left = Store(tmp_path / "s")
    assert len(left.done()) == len(left.rows()) == 4
    assert left.damaged == []
    assert [path.name for path in left.folder.rglob("*.part")] == []
    watch = Listener()
    found = played(tmp_path / "s", watch=watch)
    assert len(watch.outcomes) == len(PLAN) - 4
    assert_same_games(found.games, Store(whole).rows())


def test_failures_are_kept_reported_and_gone_when_the_cell_succeeds(tmp_path, forget_own):
    switch = tmp_path / "broken"
    own = own_policy(
        tmp_path / "own_fails.py",
        "own-fails",
        learn=f"if t == 5 and Path({str(switch)!r}).exists(): raise ValueError('round five')",
    )
    plan = make_plan(["two-arm:rounds=20"], ["uniform", "own-fails"], 3, imports=[own])
    switch.touch()
    watch = Listener()
    found = played(tmp_path / "s", plan, watch=watch)
    names = [f"two-arm:rounds=20 / own-fails / 0.{run}" for run in range(3)]
    assert found.failures == dict.fromkeys(names, "ValueError: round five")
    assert load_results(tmp_path / "s").failures == found.failures
    assert found.missing == 3
    assert found.summary["runs"].to_list() == [3, 0]
    assert sum(outcome.row is None for outcome in watch.outcomes) == 3
    notes = [json.loads(path.read_text()) for path in (tmp_path / "s" / "failed").iterdir()]
    assert {note["cell"] for note in notes} == set(names)
    assert {note["game_seed"] for note in notes} == {cell.game_seed for cell in plan.cells()}
    watch = Listener()
    played(tmp_path / "s", plan, watch=watch)  # they are tried again, and they alone
    assert len(watch.outcomes) == 3
    switch.unlink()
    again = played(tmp_path / "s", plan, only="*fails*0.[01]")
    assert list(again.failures) == names[2:]
    done = played(tmp_path / "s", plan)
    assert done.failures == {}
    assert done.missing == 0
    assert list((tmp_path / "s" / "failed").iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "{}", "\xff"])
def test_a_note_of_a_failure_that_cannot_be_read(text, tmp_path):
    store = Store.create(tmp_path, PLAN)
    cell = next(PLAN.cells())
    store.fail(cell, "oh")
    assert store.failures() == {cell.id: "oh"}
    (tmp_path / "failed" / f"{cell.key}.json").write_bytes(text.encode("latin-1"))
    assert store.failures() == {cell.id: "unknown error: the file in failed/ cannot be read"}


def test_a_failure_counts_no_more_once_the_cell_is_there(store):
    """As after a merge, where nobody removed the note."""
    Store(store).fail(next(PLAN.cells()), "oh")
    assert Store(store).failures() == {}
    stranger = next(make_plan([WORLD], ["wss"], 1).cells())
    Store(store).fail(stranger, "of another plan")
    assert Store(store).failures() == {}


def test_a_folder_that_cannot_be_written_to(tmp_path):
    Store.create(tmp_path, PLAN)
    (tmp_path / "failed").write_text("in the way")
    with pytest.raises(DriftduelError, match="cannot write"):
        Store(tmp_path).fail(next(PLAN.cells()), "oh")


def test_a_store_without_a_folder_of_its_own_is_gone_with_its_results():
    found = compare(["uniform"], "two-arm:rounds=20", 2, workers=1)
    folder = found.store.folder
    assert len(timeless(found.games)) == 2
    assert folder.is_dir()
    del found
    assert not folder.exists()
