"""Cells: the seed, the rounds of the curves, and what is written down of a game."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

pytest.importorskip("polars")

from driftduel import __version__
from driftduel.games import play, trace
from driftduel.lab.cells import CURVES, SLICES, Stopped, _world, marks, run_cell, slice_ends
from driftduel.lab.identity import world_of
from driftduel.lab.plan import game_seed, make_plan
from driftduel.lab.store import SCHEMA
from driftduel.regret import BENCHMARKS, kinds_of
from driftduel.worlds import make_world, save_world
from tests.lab.helpers import POLICIES, WORLD, own_policy


def test_without_polars_the_lab_says_what_to_install():
    code = "import sys; sys.modules['polars'] = None\nimport driftduel.lab"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert "polars" in last
    assert "pip install driftduel[lab]" in last


def test_the_seed_of_a_run_is_shared_by_all_policies_and_worlds():
    plan = make_plan([WORLD, "two-arm:rounds=50"], ["uniform", "dts"], 4, (0, 7))
    seeds = {}
    for cell in plan.cells():
        seeds.setdefault((cell.seed, cell.run), set()).add(cell.game_seed)
    assert len(seeds) == 8
    assert all(len(each) == 1 for each in seeds.values())


def test_the_seeds_of_runs_are_distinct_and_survive_json():
    seeds = [game_seed(seed, run) for seed in range(40) for run in range(50)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert max(seeds) > 2**52  # the bits are used
    assert json.loads(json.dumps([float(seed) for seed in seeds])) == seeds
    assert all(type(seed) is int for seed in seeds)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cell_is_the_very_game_that_play_repeats(policy):
    plan = make_plan([WORLD], [policy], 2, (3,))
    for cell in plan.cells():
        row = run_cell(cell).row
        game = play(cell.policy, cell.world, cell.game_seed)
        assert game.total == row["regret"]
        assert game.restarts == row["restarts"]
        assert game.switches == row["switches"]
        for kind, column in zip(kinds_of("condorcet"), CURVES, strict=True):
            assert game.regret[kind][-1] == row[column] == row[f"{column}_curve"][-1]
        rows = trace(cell.policy, cell.world, cell.game_seed)
        ends = slice_ends(300)
        plays = np.reshape(row["plays"], (len(ends), 3))
        for end, counted in zip(ends, plays, strict=True):
            duels = np.concatenate((rows.first[:end], rows.second[:end]))
            np.testing.assert_array_equal(counted, np.bincount(duels, minlength=3))


def test_a_row_has_the_regret_of_the_plans_benchmark():
    for benchmark in BENCHMARKS:
        plan = make_plan([WORLD], ["uniform"], 1, benchmark=benchmark)
        row = run_cell(next(plan.cells())).row
        game = play("uniform", WORLD, row["game_seed"], benchmark=benchmark)
        for kind, column in zip(kinds_of(benchmark), CURVES, strict=True):
            assert game.regret[kind][-1] == row[column] == row[f"{column}_curve"][-1]


def test_a_row_has_the_columns_of_the_store():
    row = run_cell(next(make_plan([WORLD], ["uniform"], 1).cells())).row
    assert set(row) == set(SCHEMA)
    assert len(row["plays"]) == SLICES * 3
    assert 0 < row["seconds"] <= row["seconds_game"] <= row["seconds_cell"]


@pytest.mark.parametrize("rounds", [1, 2, 10, 39, 40, 41])
def test_short_games_have_fewer_slices(rounds):
    plan = make_plan([f"geometric-btl:arms=3,rounds={rounds},phases=1"], ["uniform"], 1)
    row = run_cell(next(plan.cells())).row
    assert len(row["plays"]) == min(rounds, SLICES) * 3
    assert sum(row["plays"][-3:]) == 2 * rounds
    assert list(row["at"]) == list(range(1, rounds + 1))


@settings(max_examples=200)
@example(1, 10)
@example(2, 10)
@example(10, 10)
@given(st.integers(1, 10**15), st.integers(10, 2000))
def test_marks_ascend_to_the_last_round_and_contain_the_ends_of_slices(rounds, points):
    at = marks(rounds, points)
    assert at[0] >= 1
    assert at[-1] == rounds
    assert (np.diff(at) > 0).all()
    ends = slice_ends(rounds)
    assert ends[-1] == rounds
    assert np.isin(ends, at).all()
    assert len(ends) == min(rounds, SLICES)
    if rounds >= SLICES:  # equal stretches, up to rounding
        lengths = np.diff(ends, prepend=0)
        assert lengths.max() - lengths.min() <= 2
    assert len(at) <= points + SLICES + 3


def test_a_game_can_be_stopped_and_watched():
    import threading

    cell = next(make_plan(["geometric-btl:arms=3,rounds=400000"], ["uniform"], 1).cells())
    seen = []
    run_cell(cell, tick=seen.append)
    assert sum(seen) == 400_000
    assert len(seen) > 1
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        run_cell(cell, stop)


def test_half_a_game_is_no_result():
    """Ctrl-C ends a game early, which `play` returns all the same."""
    cell = next(make_plan(["geometric-btl:arms=3,rounds=400000"], ["uniform"], 1).cells())
    with pytest.raises(Stopped):
        run_cell(cell, tick=lambda _: signal.raise_signal(signal.SIGINT))


def test_every_thread_has_a_world_of_its_own():
    cell = next(make_plan([WORLD], ["uniform"], 1).cells())
    ours = _world(cell)
    assert _world(cell) is ours
    with ThreadPoolExecutor(1) as another:
        assert another.submit(_world, cell).result() is not ours


def test_a_world_file_that_changed_is_not_played(tmp_path):
    path = tmp_path / "w.npz"
    save_world(make_world("total-order:arms=3,rounds=200,phases=1,p=0.6"), path)
    first, second = make_plan([f"file:path={path}"], ["uniform"], 2).cells()
    before = run_cell(first).row["regret"]
    save_world(make_world("total-order:arms=3,rounds=200,phases=1,p=0.99"), path)
    assert run_cell(first).row["regret"] == before  # the world of the cell before is still there
    assert f"{str(path)!r} has changed" in run_cell(second).error
    run_cell(first)
    anew = next(make_plan([f"file:path={path}"], ["uniform"], 2).cells())
    assert run_cell(anew).row["regret"] == play("uniform", anew.world, anew.game_seed).total
    assert anew[:5] == first[:5]


def test_a_mistake_becomes_part_of_the_outcome(tmp_path):
    path = tmp_path / "w.npz"
    save_world(make_world(WORLD), path)
    cell = next(make_plan([f"file:path={path}"], ["uniform"], 1).cells())
    path.unlink()
    outcome = run_cell(cell)
    assert outcome.row is None
    assert str(path) in outcome.error
    cell = next(make_plan(["cycle:rounds=20"], ["uniform"], 1, benchmark="borda").cells())
    no_winner = cell._replace(benchmark="condorcet").keyed(__version__)
    assert "no Condorcet winner" in run_cell(no_winner).error


def test_the_world_of_a_cell_is_the_one_that_play_draws():
    cell = next(make_plan([WORLD], ["uniform"], 1).cells())
    game = play("uniform", cell.world, cell.game_seed)
    np.testing.assert_array_equal(
        world_of(cell.world, cell.game_seed).matrices, game.world.matrices
    )


def test_a_policy_that_calls_exit_ends_its_own_game_only(tmp_path, forget_own):
    path = own_policy(tmp_path / "quitter.py", "quitter", learn="raise SystemExit(3)")
    cell = next(make_plan([WORLD], ["quitter"], 1, imports=[path]).cells())
    assert run_cell(cell).error == "SystemExit: 3"
