"""The commands about logs: what they print, for people and for programs."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.cli import main
from driftduel.logs import load_counts, read_log, votes_of
from driftduel.measures import measure
from driftduel.worlds import Piecewise, load_world, make_world

NAMES = np.array(["ale", "gin", "tea"])


@pytest.fixture(scope="module")
def votes():
    """Tea is best, and from the middle on gin is."""
    tea = [[0.5, 0.4, 0.25], [0.6, 0.5, 0.3], [0.75, 0.7, 0.5]]
    gin = [[0.5, 0.3, 0.45], [0.7, 0.5, 0.75], [0.55, 0.25, 0.5]]
    found = votes_of(Piecewise([tea, gin], [1, 1501], 3000), seed=4)
    first, second = NAMES[found["first"]], NAMES[found["second"]]
    winner = np.where(found["outcome"] == 1, first, second)
    day = np.datetime64("2020-01-01") + found["time"] // 4
    return pl.DataFrame({"first": first, "second": second, "winner": winner, "time": day})


@pytest.fixture(scope="module")
def path(votes, tmp_path_factory):
    where = tmp_path_factory.mktemp("log") / "votes.csv"
    votes.write_csv(where)
    return str(where)


def said(capsys, *words):
    assert main(["log", *words]) == 0
    return capsys.readouterr()


def told(capsys, *words):
    return json.loads(said(capsys, *words, "--json").out)


def test_the_summary_says_who_is_best_now(path, capsys):
    record = told(capsys, "summary", path)
    assert record["options"] == ["ale", "gin", "tea"]
    assert record["votes"] == 3000
    assert record["now"]["gin"] > 0.95
    assert sum(record["now"].values()) + record["nobody"] == pytest.approx(1)
    assert record["phi"] == 1
    assert "2020-12-25" < record["since"] < "2021-01-31"
    text = said(capsys, "summary", path).out
    assert "gin is best now" in text
    assert "2020-01-01 to 2022-01-20" in text


def test_the_change_is_found_and_said(path, capsys):
    record = told(capsys, "changes", path)
    (change,) = record["changes"]
    assert (change["before"], change["after"]) == ("tea", "gin")
    assert change["low"] <= "2021-01-10" <= change["high"]
    assert change["winner_changed"] > 0.9
    assert change["q"] < 0.05
    assert record["winner_switches_at_least"] <= 1
    text = " ".join(said(capsys, "changes", path).out.split())
    assert "from tea to gin" in text
    layers = [text.index(layer) for layer in ("Estimate, if", "Test: ", "Certificate: ")]
    assert layers == sorted(layers)


def test_the_last_change_has_one_date(path, capsys):
    (change,) = told(capsys, "changes", path)["changes"]
    remarks = " ".join(told(capsys, "summary", path)["remarks"])
    assert f"around {change['time_text']}," in remarks


def test_the_first_place_is_told_apart_from_who_is_shown_there(votes, capsys, tmp_path):
    """The winner is shown first in most votes, which is no advantage of the place."""
    rng = np.random.default_rng(1)
    better = votes.with_columns(
        keep=pl.Series(rng.random(len(votes)) < 0.2) | (pl.col("first") == "tea")
    )
    better.filter("keep").write_csv(tmp_path / "shown.csv")
    record = told(capsys, "summary", str(tmp_path / "shown.csv"))
    low, high = record["first_advantage_between"]
    assert low < 0.5 < high
    assert "between equals" in said(capsys, "summary", str(tmp_path / "shown.csv")).out


@pytest.mark.parametrize("model", [[], ["--no-first-place"]])
def test_every_statement_about_the_first_place_has_the_same_number(votes, model, capsys, tmp_path):
    rng = np.random.default_rng(2)
    mine = rng.random(len(votes)) < 0.15  # wins of the place, not of the option
    shown = votes.with_columns(
        winner=pl.when(pl.Series(mine)).then(pl.col("first")).otherwise(pl.col("winner"))
    )
    file = str(tmp_path / "shown.csv")
    shown.write_csv(file)
    record = told(capsys, "summary", file, *model)
    place = record["first_advantage"]
    low, high = record["first_advantage_between"]
    assert 0.5 < low < place < high
    text = " ".join(said(capsys, "summary", file, *model).out.split())
    assert f"first place wins {100 * place:.1f}%" in text
    assert bool(record["first_place"]) == (not model) == ("net of the first place" in text)
    if not model:
        assert place == pytest.approx(1 / (1 + np.exp(-record["first_place"])))
        assert f"wins {100 * place:.1f}% of the decided votes" in text


def test_too_few_groups_tell_nothing_and_that_is_said(votes, capsys, tmp_path):
    votes.with_columns(voter=pl.lit("me")).write_csv(tmp_path / "mine.csv")
    record = told(capsys, "changes", str(tmp_path / "mine.csv"), "--group", "voter")
    assert record["changes"] == []
    assert any("1 group: too few to detect a change" in line for line in record["remarks"])


def test_the_measures_have_the_names_of_measure(path, capsys):
    record = told(capsys, "measure", path, "--draws", "20")
    ours = measure(make_world("two-arm:rounds=100")).as_dict()
    for name in ("preference_switches", "condorcet_switches", "significant_switches",
                 "total_variation", "condorcet_variation"):  # fmt: skip
        assert name in ours
        assert record[name]["low"] <= record[name]["median"] <= record[name]["high"]
        assert isinstance(record[name]["told"], bool)
    assert record["condorcet_switches"]["median"] == 1


def test_a_world_is_written_and_can_be_measured(path, capsys, tmp_path):
    said(capsys, "world", path, "--save", str(tmp_path / "w.npz"), "--rounds", "1e4")
    world = load_world(tmp_path / "w.npz")
    assert (world.rounds, world.arms) == (10_000, 3)
    assert measure(world).condorcet_switches == 1
    record = told(capsys, "world", path, "--save", str(tmp_path / "s.npz"), "--sisters", "3")
    assert [load_world(file).rounds for file in record["files"]] == [3000] * 3


def test_files_are_counted_and_the_counts_are_a_log(votes, path, capsys, tmp_path):
    parts = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    votes[:1300].write_parquet(parts[0])
    votes[1300:].write_parquet(parts[1])
    counts = str(tmp_path / "counts.npz")
    assert "3,000 votes" in said(capsys, "count", *parts, "--save", counts).out
    whole = read_log(path).counts
    both = load_counts(counts)
    assert both.wins.sum(0) == pytest.approx(whole.wins.sum(0))
    assert np.array_equal(both.shown, whole.shown)
    assert told(capsys, "summary", counts)["now"]["gin"] > 0.95


def test_counts_that_were_saved_add_up(votes, capsys, tmp_path):
    parts, counted = ([str(tmp_path / f"{n}.{end}") for n in "ab"] for end in ("csv", "npz"))
    for frame, part, counts in zip((votes[:1300], votes[1300:]), parts, counted, strict=True):
        frame.write_csv(part)
        said(capsys, "count", part, "--save", counts)
    both = str(tmp_path / "both.npz")
    assert "3,000 votes" in said(capsys, "count", *counted, "--save", both).out
    assert load_counts(both).votes == read_log(counted).counts.votes == 3000


def test_counting_many_files_says_what_counting_one_does(votes, capsys, tmp_path):
    parts = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    votes[:1300].write_csv(parts[0])
    broken = votes[1300:].with_columns(winner=pl.lit("rum"))[:2]
    pl.concat([broken, votes[1300:]]).write_csv(parts[1])
    ended = said(capsys, "count", *parts, "--save", str(tmp_path / "counts.npz"))
    assert "2 of 3,002 rows are invalid" in ended.err
    assert "line 2: file=b.csv, " in ended.err
    assert "3,000 votes" in ended.out


@pytest.mark.long
def test_files_are_counted_side_by_side_on_a_cluster(votes, capsys, tmp_path):
    distributed = pytest.importorskip("distributed")
    parts = [str(tmp_path / name) for name in ("a.csv", "b.csv", "c.csv")]
    for i, part in enumerate(parts):
        votes[1000 * i : 1000 * (i + 1)].write_csv(part)
    here, there = (str(tmp_path / name) for name in ("here.npz", "there.npz"))
    said(capsys, "count", *parts, "--save", here)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None,
        host="127.0.0.1", protocol="tcp://",
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        said(capsys, "count", *parts, "--save", there, "--cluster", address)
    one, other = load_counts(here), load_counts(there)
    assert other.votes == 3000
    assert np.array_equal(one.wins, other.wins)
    assert np.array_equal(one.first, other.first)


def test_rows_that_make_no_sense_are_said_on_stderr(path, capsys, tmp_path):
    text = Path(path).read_text("utf-8")
    (tmp_path / "bad.csv").write_text(text + "ale,ale,ale,2022-02-01\n", encoding="utf-8")
    heard = said(capsys, "summary", str(tmp_path / "bad.csv")).err
    assert "1 of 3,001 rows are invalid" in heard
    assert "line 3002" in heard


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["summary", "nowhere.csv"], "No such file"),
        (["sumary", "x.csv"], "did you mean summary"),
        (["summary", "{path}", "--columns", "winner"], "must be like winner=model_a"),
        (["summary", "{path}", "--group", "voter"], "no column 'voter'"),
        (["world", "{path}", "--save", "x.txt"], "written as .npz"),
        (["measure", "{path}", "--rounds", "1"], "rounds=1 must be at least 2"),
        (["measure", "{path}", "--draws", "0"], "at least 1"),
        (["measure", "{path}", "--draws", "1" + "0" * 30], "at most 100,000"),
        (["measure", "{path}", "--rounds", "9223372036854775807"], "at most 1,000,000"),
        (["measure", "{path}", "--rounds", "1e400"], "is not a number of rounds"),
        (["summary", "{path}", "--time-format", "\udcff"], "cannot be used"),
        (["changes"], "needs FILE"),
    ],
)
def test_mistakes_get_a_sentence(path, capsys, words, message):
    words = [word.format(path=path) for word in words]
    try:
        code = main(["log", *words])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    heard = capsys.readouterr().err
    assert message in heard
    assert "Traceback" not in heard
