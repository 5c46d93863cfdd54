"""Worlds that may have made a log: as a spec, and as a place to compare policies."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.cli import main
from driftduel.errors import DriftduelError
from driftduel.logs import fit, read_log, votes_of
from driftduel.logs.posterior_worlds import (
    benchmark_for,
    compare_on_posterior,
    default_policies,
    draw_world,
    draw_worlds,
    regret_of_log,
)
from driftduel.regret import regret
from driftduel.worlds import Piecewise, load_world, make_world, save_world

NAMES = ("ale", "gin", "tea")
TEA = [[0.5, 0.4, 0.25], [0.6, 0.5, 0.3], [0.75, 0.7, 0.5]]
GIN = [[0.5, 0.3, 0.45], [0.7, 0.5, 0.75], [0.55, 0.25, 0.5]]
CIRCLE = [[0.5, 0.8, 0.2], [0.2, 0.5, 0.8], [0.8, 0.2, 0.5]]


def log_of(*matrices, rounds=3000, seed=4):
    starts = 1 + np.arange(len(matrices)) * (rounds // len(matrices))
    votes = votes_of(Piecewise(matrices, starts, rounds), seed=seed)
    first, second = (np.array(NAMES)[votes[side]] for side in ("first", "second"))
    winner = np.where(votes["outcome"] == 1, first, second)
    columns = {"first": first, "second": second, "winner": winner, "time": votes["time"]}
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def votes():
    return log_of(TEA, GIN)


@pytest.fixture(scope="module")
def fitted(votes):
    return fit(read_log(votes).counts, "utilities")


@pytest.fixture(scope="module")
def path(votes, tmp_path_factory):
    where = tmp_path_factory.mktemp("log") / "votes.csv"
    votes.write_csv(where)
    return str(where)


def same(one, other):
    mine, yours = (world.chunk(1, world.rounds + 1) for world in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(mine, yours, strict=True))


# ---- the spec ----


def test_a_spec_is_the_expected_world_or_a_posterior_draw(path, fitted):
    expected = make_world(f"log:path={path},fit=utilities")
    assert (expected.arms, expected.rounds, expected.names) == (3, 3000, NAMES)
    assert same(expected, fitted.world())
    third = make_world(f"log:path={path},draw=3,fit=utilities,rounds=500")
    assert third.names == NAMES
    assert same(third, draw_world(fitted, 3, 500))
    assert same(third, draw_worlds(fitted, 5, 500)[2])
    assert not same(third, draw_world(fitted, 4, 500))


def test_columns_and_groups_can_be_named(votes, tmp_path):
    other = votes.rename({"first": "x", "second": "y", "winner": "w", "time": "day"})
    other = other.with_columns(voter=pl.col("day") // 2, round=pl.col("day") % 5)
    other.write_parquet(tmp_path / "other.parquet")
    spec = f"log:path={tmp_path}/other.parquet,fit=utilities,first=x,second=y,winner=w,time=day"
    both = make_world(f"{spec},group=voter+round")
    assert both.rounds == 3000
    assert same(both, fit(read_log(tmp_path / "other.parquet", columns={
        "first": "x", "second": "y", "winner": "w", "time": "day", "group": ["voter", "round"],
    }).counts, "utilities").world())  # fmt: skip


def test_names_survive_files_and_wrappers(fitted, tmp_path, path):
    save_world(fitted.world(), tmp_path / "w.npz")
    assert load_world(str(tmp_path / "w.npz")).names == NAMES
    assert make_world(f"log:path={path},fit=utilities,ties=0.2").names == NAMES
    plain = make_world("two-arm:rounds=10")
    save_world(plain, tmp_path / "p.npz")
    assert load_world(str(tmp_path / "p.npz")).names == ()


@pytest.mark.parametrize(
    ("names", "message"),
    [(b'["a"]', "1 names for 2 arms"), (b"[1, 2]", "list of words"), (b"[", "JSON"), (b"", "JSON")],
)
def test_names_that_are_none_are_refused(names, message, tmp_path):
    with open(tmp_path / "w.npz", "wb") as file:
        np.savez(
            file, matrices=np.full((1, 2, 2), 0.5), starts=[1], rounds=9,
            names=np.frombuffer(names, np.uint8),
        )  # fmt: skip
    with pytest.raises(DriftduelError, match=message):
        load_world(str(tmp_path / "w.npz"))


def test_commands_take_the_spec_and_call_options_by_name(path, capsys):
    spec = f"log:path={path},fit=utilities"
    assert main(["measure", "--world", spec]) == 0
    assert "arm 1, gin" in capsys.readouterr().out
    assert main(["measure", "--world", spec, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == list(NAMES)
    assert main(["play", "--policy", "uniform", "--world", f"{spec},rounds=200", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == list(NAMES)
    assert main(["worlds"]) == 0
    assert "log" in capsys.readouterr().out


def test_a_picture_of_a_world_has_the_names(fitted, tmp_path):
    pytest.importorskip("matplotlib")
    from driftduel.figures import plot_world
    from driftduel.measures import measure

    world = fitted.world(500)
    plot_world(world, measure(world), tmp_path / "w.svg")
    assert all(f"<!-- {name} -->" in (tmp_path / "w.svg").read_text("utf-8") for name in NAMES)


def test_a_cell_depends_on_what_the_file_says(votes, tmp_path):
    identity = pytest.importorskip("driftduel.lab.identity")
    one, two, three = (str(tmp_path / f"{n}.csv") for n in "123")
    votes.write_csv(one)
    votes.write_csv(two)
    votes[:-1].write_csv(three)
    ids = [identity.world_identity(f"log:path={path},draw=2") for path in (one, two, three)]
    assert ids[0] == ids[1] != ids[2]
    assert identity.is_fixed(f"log:path={one}")
    assert identity.world_identity(f"log:path={one},draw=1") != ids[0]


def test_a_file_that_changed_is_fitted_anew(votes, tmp_path):
    where = tmp_path / "v.csv"
    votes[:1500].write_csv(where)
    spec = f"log:path={where},fit=utilities"
    assert make_world(spec).rounds == 1500
    votes.write_csv(where)
    assert make_world(spec).rounds == 3000


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("path=nowhere.csv", "No such file"),
        ("draw=1", "needs the key path"),
        ("path={path},draw=-1", "draw=-1 must be"),
        ("path={path},fit=best", "one of auto"),
        ("path={path},group=voter", "no column 'voter'"),
        ("path={path},rounds=1", "rounds=1 must be"),
    ],
)
def test_mistakes_in_a_spec_get_a_sentence(path, keys, message):
    with pytest.raises(DriftduelError, match=message):
        make_world(f"log:{keys.format(path=path)}")


# ---- what the log lost, and what policies would have ----


def test_what_the_log_lost_is_the_regret_of_its_duels(votes, fitted):
    world = fitted.world()
    number = {name: arm for arm, name in enumerate(NAMES)}
    a, b = (votes[side].replace_strict(number).to_numpy() for side in ("first", "second"))
    exact = regret(world, a, b).sum()
    assert regret_of_log(fitted, world) == pytest.approx(exact, rel=1e-9)
    assert regret_of_log(fitted, fitted.world(300)) == pytest.approx(exact / 10, rel=0.01)


def test_policies_meet_the_same_worlds_with_the_same_luck(fitted, monkeypatch):
    games = []

    def note(policy, world, seed, **more):
        games.append((policy, id(world), seed))
        return SimpleNamespace(finished=True, total=10.0 if policy == "dts" else 40.0)

    monkeypatch.setattr("driftduel.logs.posterior_worlds.play", note)
    compared = compare_on_posterior(fitted, ["uniform", "dts"], size=3, runs=2, rounds=600)
    met = {policy: [game[1:] for game in games if game[0] == policy] for policy, *_ in games}
    assert met["uniform"] == met["dts"]
    assert len({seed for _, seed in met["dts"]}) == 6
    assert [one.policy for one in compared.standings] == ["dts", "uniform"]
    dts = compared.standings[0]
    assert (dts.regret, dts.low, dts.high, dts.best_in) == (10, 10, 10, 3)
    assert dts.saves == pytest.approx(1 - 10 / compared.own.mean())
    assert dts.saves_low == pytest.approx(np.quantile(1 - 10 / compared.own, 0.05))
    assert compared.sentence.startswith("dts would have saved")


def test_random_pairs_lose_what_a_log_of_random_pairs_lost(fitted):
    seen = []
    compared = compare_on_posterior(
        fitted, ["uniform"], size=3, runs=2, rounds=600, progress=lambda *now: seen.append(now)
    )
    assert compared.benchmark == "condorcet"
    assert seen[-1] == (6 * 600, 6 * 600)
    assert len({*compared.regret.ravel()}) == 6
    assert abs(compared.standings[0].saves) < 0.1
    assert "No policy has certainly less regret" in compared.sentence
    again = compare_on_posterior(fitted, ["uniform"], size=2, runs=2, rounds=600)
    assert np.array_equal(again.regret, compared.regret[:, :2])


def test_without_winners_regret_is_against_the_von_neumann_winner():
    circle = fit(read_log(log_of(CIRCLE)).counts, "pairs")
    compared = compare_on_posterior(circle, ["uniform"], size=2, runs=1)
    assert compared.benchmark == "von-neumann" == benchmark_for(draw_worlds(circle, 1))
    assert "have no Condorcet winner" in " ".join(compared.remarks)


def test_windows_of_the_cast_suit_the_rounds():
    assert default_policies(100)[3:] == ["sw-dts:window=10", "sw-dts:window=12", "uniform"]
    assert len(default_policies(1_000_000)) == 7


def test_log_compare_prints_a_table_and_json(path, capsys):
    words = ["log", "compare", path, "--fit", "utilities", "--policy", "uniform", "--sisters", "2"]
    assert main([*words, "--runs", "1", "--rounds", "500", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["options"] == list(NAMES)
    assert (record["rounds"], record["sisters"], record["benchmark"]) == (500, 2, "condorcet")
    (row,) = record["policies"]
    assert row["policy"] == "uniform"
    assert row["saves_low"] <= row["saves_high"]
    assert main([*words, "--runs", "1", "--rounds", "500"]) == 0
    shown = capsys.readouterr().out
    assert "the log's own duels" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "kong"], "did you mean king"),
        (["--policy", "dts", "--policy", "dts"], "named twice"),
        (["--sisters", "0"], "sisters=0 must be at least 1"),
        (["--runs", "0"], "runs=0 must be at least 1"),
        (["--rounds", "1"], "rounds=1 must be at least 2"),
        (["--seed", "-1", "--policy", "uniform", "--rounds", "50"], "seed=-1 must be"),
    ],
)
def test_mistakes_of_compare_get_a_sentence(path, capsys, words, message):
    assert main(["log", "compare", path, "--fit", "utilities", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_page_and_the_figures_of_a_sweep_call_options_by_name(path, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    from driftduel.lab import Store, make_plan, sweep
    from driftduel.report import write_report

    spec = f"log:path={path},fit=utilities,rounds=300"
    sweep(make_plan([spec], ["uniform"], runs=1), tmp_path / "out")
    assert Store(tmp_path / "out").plan.worlds[0].names == NAMES
    write_report(tmp_path / "out")
    text = (tmp_path / "out" / "report" / "index.html").read_text("utf-8")
    before, after = (NAMES[who] for _, who in make_world(spec).condorcet_winners())
    assert f"from {before} to {after}" in text
    assert "numbers are arms" not in text
    assert all(f'"name":"{name}"' in text.replace('": "', '":"') for name in NAMES)
    figures = tmp_path / "out" / "report" / "figures"
    drawn = next(figures.glob("shares*.svg")).read_text("utf-8")
    assert all(f"<!-- {name} -->" in drawn for name in NAMES)


def test_names_in_a_plan_are_as_many_as_its_arms(path):
    from driftduel.lab import Plan, make_plan

    plan = make_plan([f"log:path={path},fit=utilities"], ["uniform"])
    record = plan.as_dict()
    assert Plan.from_dict(record) == plan
    record["worlds"][0]["names"].pop()
    with pytest.raises(ValueError):  # noqa: PT011 - it says nothing, as `from_dict` tells
        Plan.from_dict(record)


def test_where_nothing_can_be_lost_nothing_is_saved():
    """As in a posterior draw in which all options are equally good."""
    from driftduel.logs import Comparison

    regret = np.array([[[0.0, 0.0], [1.0, 3.0]], [[0.0, 0.0], [4.0, 4.0]]])
    with np.errstate(all="raise"):
        some = Comparison(("king", "uniform"), regret, np.array([0.0, 4.0]), 50, "condorcet")
        none = Comparison(("king",), 0 * regret[:1], np.zeros(2), 50, "condorcet")
        assert [one.saves for one in some.standings] == [0.5, 0.0]
        assert some.standings[0].saves_low >= 0
        assert none.standings[0].saves == 0
        assert "No policy has certainly less regret" in none.sentence


def test_what_the_log_lost_is_known_if_an_option_was_shown_once():
    log = log_of(TEA, rounds=60)
    for row in range(0, 60, 7):
        once = log.with_row_index().with_columns(
            first=pl.when(pl.col("index") == row).then(pl.lit("rum")).otherwise("first"),
            winner=pl.when(pl.col("index") == row).then(pl.lit("first")).otherwise("winner"),
        )
        found = fit(read_log(once).counts, "utilities", bins=8)
        world = draw_world(found, 1, 50)
        assert np.isfinite(regret_of_log(found, world, benchmark_for([world])))
