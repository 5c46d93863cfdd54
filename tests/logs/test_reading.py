"""Logs from files and frames: what columns mean, what makes no sense, counts equal to the twin."""

import datetime as dt
import gzip

import numpy as np
import pytest
from hypothesis import given, strategies as st

pl = pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel.errors import DriftduelError  # noqa: E402
from driftduel.logs import counts_from_votes, read_log, votes_of  # noqa: E402
from driftduel.logs.counting import NO_WEIGHT, count_rows, make_bins, prepare_votes  # noqa: E402
from driftduel.logs.files import open_rows  # noqa: E402
from driftduel.logs.reading import clock_of  # noqa: E402
from driftduel.logs.results import parse_outcome, words_for  # noqa: E402
from driftduel.logs.rows import LogRows  # noqa: E402
from driftduel.logs.times import read_clock, time_text  # noqa: E402
from driftduel.worlds import make_world  # noqa: E402

NAMES = ("ale", "gin", "milk", "tea")


def simulated(rounds=3000, sessions=None, seed=3):
    world = make_world(f"geometric-btl:arms=4,rounds={rounds},phases=3,seed=1")
    return votes_of(world, seed, sessions)


def as_frame(votes, placed=True):
    names = np.array(NAMES)
    first, second = names[votes["first"]], names[votes["second"]]
    won = votes["outcome"] == 1
    if placed:
        frame = {"first": first, "second": second, "winner": np.where(won, first, second)}
    else:
        frame = {"winner": np.where(won, first, second), "loser": np.where(won, second, first)}
    frame["time"] = votes["time"]
    if "group" in votes:
        frame["group"] = votes["group"]
    return pl.DataFrame(frame)


def same(ours, twin, but=()):
    for name in (
        "wins",
        "ahead",
        "tied",
        "first",
        "last",
        "events",
        "coarse",
        "parts",
        "parts_ahead",
    ):
        if name not in but:
            assert np.array_equal(getattr(ours, name), getattr(twin, name)), name
    for name in ("names", "votes", "ties", "weight", "squares", "clock"):
        if name not in but:
            assert getattr(ours, name) == getattr(twin, name), name


# ---- counts ----


@pytest.mark.parametrize("kind", ["csv", "parquet", "lazy", "pandas-like"])
def test_counts_are_those_of_the_votes(tmp_path, kind):
    votes = simulated()
    frame = as_frame(votes)
    twin = counts_from_votes(**votes, names=NAMES)
    if kind == "csv":
        frame.write_csv(tmp_path / "votes.csv")
        source = tmp_path / "votes.csv"
    elif kind == "parquet":
        frame.write_parquet(tmp_path / "votes.parquet")
        source = tmp_path / "votes.parquet"
    elif kind == "lazy":
        source = frame.lazy()
    else:

        class Exports:  # whatever speaks Arrow
            def __arrow_c_stream__(self, requested_schema=None):
                return frame.__arrow_c_stream__(requested_schema)

        source = Exports()
    same(read_log(source).counts, twin)


def test_groups_are_those_of_the_votes():
    votes = simulated(sessions=10)
    ours = read_log(as_frame(votes)).counts
    twin = counts_from_votes(**votes, names=NAMES)
    same(
        ours, twin, but=("parts", "parts_ahead")
    )  # dealt by the number of a group, which is another one here
    assert ours.parts.sum(0) == pytest.approx(twin.parts.sum(0))
    assert ours.parts_ahead.sum(0) == pytest.approx(twin.parts_ahead.sum(0))
    assert sorted(ours.groups.sizes()) == sorted(twin.groups.sizes())
    assert len(ours.groups.ids) == 300


def test_the_order_of_rows_means_nothing_if_they_have_times():
    frame = as_frame(simulated(sessions=10))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    same(read_log(frame).counts, read_log(shuffled).counts)


def test_swapping_first_and_second_changes_only_who_was_shown_first():
    frame = as_frame(simulated())
    swapped = frame.rename({"first": "second", "second": "first"})
    same(read_log(frame).counts, read_log(swapped).counts, but=("ahead", "parts_ahead"))


def test_winner_and_loser_say_the_same_but_not_who_was_shown_first():
    votes = simulated()
    ours = read_log(as_frame(votes, placed=False)).counts
    same(ours, read_log(as_frame(votes)).counts, but=("ahead", "parts_ahead"))
    assert not ours.placed
    assert ours.shown.sum() == ours.ahead.sum() == ours.parts_ahead.sum() == 0


def test_ties_and_first_places_are_counted_over_time():
    votes = simulated()
    rng = np.random.default_rng(1)
    votes["outcome"] = np.where(rng.random(3000) < 0.3, 0.5, votes["outcome"])
    frame = as_frame(votes).with_columns(weight=1 + np.arange(3000) % 3)
    tie = pl.Series(votes["outcome"] == 0.5)
    frame = frame.with_columns(winner=pl.when(tie).then(pl.lit("tie")).otherwise("winner"))
    twin = counts_from_votes(**votes, weight=1 + np.arange(3000) % 3, names=NAMES)
    same(read_log(frame).counts, twin)
    assert twin.tied.sum() / 2 == (1 + np.arange(3000) % 3)[votes["outcome"] == 0.5].sum()
    assert (twin.wins - twin.tied / 2 >= 0).all()


def arena_export(frame, options):
    rows = np.arange(1, len(frame) + 1)
    texts = [options.get(int(row)) for row in rows]
    return frame.with_columns(
        seq=pl.Series(rows), voter=pl.lit("v"), counted=pl.lit(True),
        options=pl.Series(texts, dtype=pl.String),
    )  # fmt: skip


def test_an_arena_export_records_the_options_present_at_its_end(tmp_path):
    frame = as_frame(simulated())
    export = arena_export(frame, {1: '["ale", "gin", "tea"]', 900: '["gin", "tea", "new"]'})
    export.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "votes.csv")
    log = read_log(tmp_path / "votes.csv")
    assert log.counts.present == ("gin", "tea")
    assert log.counts.adaptive
    assert "new, without votes in this log" in log.notes[-1]
    given = read_log(tmp_path / "votes.csv", present=["ale", "ale", "tea"])
    assert given.counts.present == ("ale", "tea")
    for options in ("[1]", "{}", "[", "[" * 100_000):
        with pytest.raises(DriftduelError, match="JSON arrays"):
            read_log(arena_export(frame, {5: options}))
    old = read_log(export.drop("options")).counts
    assert (old.present, old.adaptive) == (None, True)
    plain = read_log(frame).counts
    assert (plain.present, plain.adaptive) == (None, False)
    assert read_log(frame, adaptive=True).counts.adaptive
    with pytest.raises(DriftduelError, match="did you mean 'milk'"):
        read_log(frame, present=["mlik"])
    with pytest.raises(DriftduelError, match="at least one"):
        read_log(frame, present=[])


def test_without_times_rows_are_in_order_and_that_is_said():
    votes = simulated()
    log = read_log(as_frame(votes).drop("time"))
    assert log.counts.clock == "row"
    assert "order of time" in log.notes[0]
    twin = counts_from_votes(votes["first"], votes["second"], votes["outcome"], names=NAMES)
    assert log.counts.wins.sum(0) == pytest.approx(twin.wins.sum(0))
    assert log.counts.events.sum() == 3000


def test_parts_of_a_log_that_share_their_bins_add_up():
    frame = as_frame(simulated())
    rows, _ = open_rows(frame)
    columns = read_log(frame).columns
    clock = clock_of(rows, rows.collect_schema(), columns)
    bins = make_bins(LogRows(prepare_votes(rows, columns, clock)), 64)
    parts = [
        count_rows(LogRows(prepare_votes(part.lazy(), columns, clock)), bins).counts
        for part in (frame[:1100], frame[1100:])
    ]
    whole = read_log(frame, bins=64).counts
    both = parts[0] + parts[1]
    assert both.wins.sum(0) == pytest.approx(whole.wins.sum(0))
    assert both.votes == whole.votes
    assert len(both.wins) <= len(whole.wins) + 1


def test_a_long_log_is_counted_by_a_sample_of_its_times(monkeypatch):
    from driftduel.logs import counting

    frame = as_frame(simulated(rounds=20_000))
    whole = read_log(frame).counts
    monkeypatch.setattr(counting, "_MOST_TIMES", 5000)
    monkeypatch.setattr(counting, "_SAMPLE_OF_TIMES", 4000)
    ours = read_log(frame).counts
    assert ours.votes == whole.votes == 20_000
    assert ours.wins.sum(0) == pytest.approx(whole.wins.sum(0))
    assert ours.parts.sum((0, 1)) == pytest.approx(whole.wins.sum(0))
    assert (ours.first <= ours.last).all()
    assert (ours.first[1:] > ours.last[:-1]).all()
    assert len(ours.wins) <= 5 * 256 < len(whole.wins)  # to group the rows by fewer is faster


def test_weights_and_ties():
    frame = pl.DataFrame(
        {
            "model_a": ["x", "x", "y"],
            "model_b": ["y", "z", "z"],
            "winner": ["model_a", "tie", "model_b"],
            "weight": [2.0, 1.0, 0.5],
        }
    )
    counts = read_log(frame).counts
    assert counts.names == ("x", "y", "z")
    assert counts.wins.sum(0).tolist() == [[0, 2, 0.5], [0, 0, 0], [0.5, 0.5, 0]]
    assert (counts.votes, counts.ties, counts.weight, counts.squares) == (3, 1, 3.5, 5.25)


def test_only_the_options_with_the_most_votes_are_counted_and_the_others_named():
    log = read_log(as_frame(simulated()), most=3)
    assert log.counts.options == 3
    assert len(log.left_out) == 1
    assert any("left out" in note for note in log.notes)


def test_saved_counts_are_a_log_too(tmp_path):
    log = read_log(as_frame(simulated(sessions=10)))
    log.counts.save(tmp_path / "counts.npz")
    same(read_log(tmp_path / "counts.npz").counts, log.counts)


def test_several_files_are_one_log(tmp_path):
    frame = as_frame(simulated())
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, part in zip(paths, (frame[:1000], frame[1000:]), strict=True):
        part.write_csv(path)
    same(read_log(paths).counts, read_log(frame).counts)


# ---- what makes no sense ----


def test_rows_that_make_no_sense_are_counted_and_shown_with_their_lines(tmp_path):
    (tmp_path / "votes.csv").write_text(
        "first,second,winner,time,weight\n"
        "a1,b1,a1,2020-01-01,1\n"
        "a1,a1,a1,2020-01-02,1\n"
        "a1,b1,zebra,2020-01-03,1\n"
        "a1,,a1,2020-01-03,1\n"
        "a1,b1,a1,yesterday,1\n"
        "a1,b1,a1,2020-01-05,-2\n"
        "a1,b1,a1,2020-01-05,1e13\n"
        "b1,a1,tie,2020-01-06,1\n"
    )
    log = read_log(tmp_path / "votes.csv", time_format="%Y-%m-%d")
    assert (log.rows, log.counts.votes, sum(log.skipped.values())) == (8, 2, 6)
    assert [(p.line, p.why) for p in log.problems] == [
        (3, "an option is compared with itself"),
        (4, "the winner 'zebra' is neither of the two"),
        (5, "an option is missing"),
        (6, "the time is missing or cannot be read"),
        (7, NO_WEIGHT),
        (8, NO_WEIGHT),
    ]
    assert log.problems[1].row["winner"] == "zebra"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("first,second\na,b\n", "needs .* two options, 'first' and 'second', but no result"),
        ("winner,loser\n", "has no rows"),
        ("winner,loser,time\n", "has no rows"),
        ("winner,loser,winner\na,b,a\n", "two columns 'winner'"),
        ("winner,loser\na,a\nb,b\n", "none of the 2 rows .* compared with itself"),
        ("winner,loser,time\na,b,soon\n", "neither dates nor numbers"),
        ("winner,loser,time\na,b,01/02/2020\n", "may be day/month/year or month/day/year"),
        ("winner,loser\na,b,c,d\n", "cannot be read"),
        ('winner,loser\n"a,b\n', "(?s)."),
    ],
)
def test_files_that_are_no_logs_are_refused_in_one_sentence(tmp_path, text, message):
    (tmp_path / "votes.csv").write_text(text)
    with pytest.raises(DriftduelError, match=message) as error:
        read_log(tmp_path / "votes.csv")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("sign", [";", "\t", "|"])
@pytest.mark.parametrize("name", ["votes.csv", "votes.csv.gz"])
def test_spreadsheets_that_write_no_commas_are_read(tmp_path, sign, name):
    text = f"time{sign}winner{sign}loser\n2020-01-01{sign}tea, green{sign}ale\n".encode()
    text = gzip.compress(text) if name.endswith(".gz") else text
    (tmp_path / name).write_bytes(text)
    assert read_log(tmp_path / name).names == ("ale", "tea, green")


@pytest.mark.parametrize("code", ["utf-16", "latin-1"])
def test_text_in_another_code_is_refused(tmp_path, code):
    (tmp_path / "votes.csv").write_bytes("winner,loser\nthé,ale\nale,thé\n".encode(code))
    with pytest.raises(DriftduelError, match="not text in UTF-8"):
        read_log(tmp_path / "votes.csv")


def test_lines_of_several_files_are_those_of_each(tmp_path):
    paths = [tmp_path / name for name in ("a.csv", "b.csv")]
    paths[0].write_text("winner,loser\na,b\na,b\nb,b\n")
    paths[1].write_text("winner,loser\nb,a\na,a\n")
    first, second = read_log(paths).problems
    assert (first.line, first.row["file"]) == (4, "a.csv")
    assert (second.line, second.row["file"]) == (3, "b.csv")


def test_what_is_no_file_of_a_log_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"no parquet at all")
    (tmp_path / "x.json").write_text("[]")
    (tmp_path / "x.xls").write_text("[]")
    (tmp_path / "x.csv").mkdir()
    for name, why in (
        ("x.parquet", "cannot be read"), ("x.json", "neither"), ("x.xls", "must end with"),
        ("x.csv", "no regular file"),
        ("y.csv", "No such file"),
    ):  # fmt: skip
        with pytest.raises(DriftduelError, match=why):
            read_log(tmp_path / name)
    with pytest.raises(DriftduelError, match="not int"):
        read_log(3)


def test_a_column_that_votes_depend_on_is_named():
    votes = simulated(rounds=8000, sessions=40)
    frame = as_frame(votes).rename({"group": "person"})
    assert any("'person'" in note for note in read_log(frame).notes)
    assert not any("person" in note for note in read_log(frame, group="person").notes)
    alone = as_frame(simulated(rounds=8000)).with_columns(person=pl.Series(np.arange(8000) // 40))
    assert not any("person" in note for note in read_log(alone).notes)


# ---- columns and words ----


def test_columns_are_found_by_their_names_or_as_said():
    frame = as_frame(simulated())
    other = frame.rename({"first": "White", "second": "Black", "winner": "Who won"})
    with pytest.raises(DriftduelError, match="did you mean 'White'"):
        read_log(other, columns={"first": "white", "second": "Black", "winner": "Who won"})
    log = read_log(other, columns={"first": "White", "second": "Black", "winner": "Who won"})
    same(log.counts, read_log(frame).counts)
    with pytest.raises(DriftduelError, match="no column 'champion' to name"):
        read_log(other, columns={"champion": "White"})


def test_words_and_numbers_for_the_winner():
    assert words_for(None, ["1", "0", None])["0"] == 0.0
    assert words_for(None, ["1", "2"])["2"] == 0.0
    assert words_for(None, ["1", "-1", "0"])["0"] == 0.5
    assert "1" not in words_for(None, ["1", "3"])
    assert "1" not in words_for(None, [])
    # an option's own name goes before what the word means otherwise
    words = words_for(None, [])
    assert parse_outcome("b", "a", "a", None, words) == 0.0
    assert parse_outcome("b", "a", "tie", None, words) == 0.5
    assert parse_outcome("b", "a", "b", "yes", words) == 0.5
    why = "'perhaps' is not a valid value of the tie column"
    assert parse_outcome("b", "a", "b", "perhaps", words) == why


# ---- times ----


@pytest.mark.parametrize(
    ("words", "kind", "first"),
    [
        (["2020-01-02", "2020-01-03"], "date", "2020-01-02"),
        (["19010424", "19010425"], "date", "1901-04-24"),
        (["02.01.2020"], "date", "2020-01-02"),
        (["2020-01-02T03:04:05Z"], "datetime", "2020-01-02 03:04:05"),
        (["2020-01-02T03:04:05+01:00"], "datetime", "2020-01-02 02:04:05"),
        (["2020-01-02 03:04:05.25"], "datetime", "2020-01-02 03:04:05"),
        (["1700000000", "1700000001"], "datetime", "2023-11-14 22:13:20"),
        (["1700000000000"], "datetime", "2023-11-14 22:13:20"),
        (["1", "2", "3"], "number", "1"),
        (["1.5"], "number", "1.5"),
    ],
)
def test_times_are_read_as_people_write_them(words, kind, first):
    clock = read_clock("t", pl.String(), words)
    when = pl.DataFrame({"t": words}).select(clock.when(clock.number)).to_series().to_list()
    assert (clock.kind, time_text(when[0], clock.kind)) == (kind, first)
    assert when == sorted(when)


@given(st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2150, 1, 1)))
def test_typed_times_are_what_they_say(moment):
    frame = pl.DataFrame({"t": [moment]})
    clock = read_clock("t", frame.schema["t"], [moment])
    when = frame.select(clock.when(clock.number)).item()
    assert time_text(when, clock.kind) == moment.replace(microsecond=0).isoformat(" ")


@pytest.mark.parametrize(
    ("times", "odd"),
    [
        ([f"2020-01-{day:02}" for day in range(1, 29)], "2020-02-30"),
        ([f"{20200101 + day}" for day in range(28)], "20209999"),
        ([f"{1_700_000_000 + day}" for day in range(28)], "0"),
        ([f"{day}" for day in range(28)], "soon"),
        ([f"{day:02}/03/2020" for day in range(1, 29)], "5"),
    ],
)
def test_one_odd_time_is_a_row_that_makes_no_sense(times, odd):
    """It neither changes how the others are read, nor is it read as something."""
    plain = {"winner": ["ale", "tea"] * 14, "loser": ["tea", "ale"] * 14, "time": times}
    log = read_log(pl.DataFrame({**plain, "time": [*times[:9], odd, *times[10:]]}))
    assert log.skipped == {"the time is missing or cannot be read": 1}
    assert [problem.line for problem in log.problems] == [10]
    sound = read_log(pl.DataFrame(plain)).counts
    assert log.counts.clock == sound.clock
    assert set(log.counts.first) < set(sound.first)


def test_typed_times_outside_of_pythons_years_are_read_and_shown(tmp_path):
    votes = pl.DataFrame({"winner": ["a", "b", "b"], "loser": ["b", "a", "b"]}).with_columns(
        time=pl.Series([10**15, 10**18, 10**18]).cast(pl.Datetime("us"))
    )
    log = read_log(votes)
    assert (log.counts.votes, log.counts.clock) == (2, "datetime")
    assert log.problems[0].line == 3
    assert isinstance(log.problems[0].row["time"], str)


def test_an_unreadable_time_is_the_example_not_a_sound_one():
    times = ["2020-01-01"] * 5 + ["monday"] * 5
    votes = {"winner": ["ale", "tea"] * 5, "loser": ["tea", "ale"] * 5, "time": times}
    with pytest.raises(DriftduelError, match="such as 'monday'"):
        read_log(pl.DataFrame(votes))


def test_a_field_of_a_million_letters_is_cut_in_every_sentence():
    huge = "x" * 1_000_000
    votes = {"first": ["ale", huge, "ale"], "second": ["tea", "ale", "tea"],
             "winner": ["ale", "ale", huge]}  # fmt: skip
    log = read_log(pl.DataFrame(votes))
    assert log.names == ("ale", "tea")
    assert sum(log.skipped.values()) == 2
    assert all(len(why) < 200 for why in log.skipped)
    with pytest.raises(DriftduelError) as caught:
        read_log(pl.DataFrame({huge: [1]}))
    assert len(str(caught.value)) < 400
