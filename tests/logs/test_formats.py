"""Files as they exist: formats, column names and ways to write a result."""

import gzip
import json

import numpy as np
import pytest

pytest.importorskip("scipy")
pl = pytest.importorskip("polars")

from driftduel.errors import DriftduelError  # noqa: E402
from driftduel.logs import counts_from_votes, read_log  # noqa: E402
from driftduel.logs.parts import count_files  # noqa: E402

NAMES = ("ale", "gin", "tea")
SIZE = 400


def votes():
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=SIZE)
    second = (first + rng.integers(1, 3, size=SIZE)) % 3
    outcome = rng.choice([0.0, 0.5, 1.0], size=SIZE, p=[0.4, 0.2, 0.4])
    return {"first": first, "second": second, "outcome": outcome, "time": np.arange(SIZE)}


VOTES = votes()
FIRST, SECOND = (np.array(NAMES)[VOTES[name]] for name in ("first", "second"))
WON = VOTES["outcome"]
TWIN = counts_from_votes(**VOTES, names=NAMES)


def frame(names=("first", "second"), **result):
    pair = dict(zip(names, (FIRST, SECOND), strict=True))
    return pl.DataFrame(pair | {"time": VOTES["time"]} | result)


def words(first, tie, second):
    return np.select([WON == 1, WON == 0.5], [first, tie], second)


def goals():
    return {"home": np.where(WON == 1, 3, 1), "away": np.where(WON == 0, 2, 1)}


def same(counts, twin=TWIN):
    assert counts.names == twin.names
    assert counts.placed == twin.placed
    for name in ("wins", "ahead", "tied", "first", "parts", "parts_ahead"):
        assert np.array_equal(getattr(counts, name), getattr(twin, name)), name


WINNER = np.where(WON == 0.5, "tie", np.where(WON == 1, FIRST, SECOND))
FLAGS = {
    "winner_model_a": (WON == 1).astype(int),
    "winner_model_b": (WON == 0).astype(int),
    "winner_tie": (WON == 0.5).astype(int),
}


# ---- results ----

RESULTS = {
    "names": frame(winner=WINNER),
    "a": frame(("A", "B"), winner=words("A", "Tie", "B")),
    "model_a": frame(("model_a", "model_b"), winner=words("model_a", "tie (bothbad)", "model_b")),
    "model 1": frame(("Model 1", "Model 2"), winner=words("Model 1", "both bad", "model_2")),
    "left": frame(("left", "right"), choice=words("left", "neither", "right")),
    "player1": frame(("player1", "player2"), winner_name=WINNER),
    "chess": frame(("White", "Black"), Result=words("1-0", "1/2-1/2", "0-1")),
    "chess words": frame(("white", "black"), winner=words("w", "draw", "b")),
    "chess halves": frame(("White", "Black"), result=words("1 - 0", "\u00bd-\u00bd", "0 - 1")),
    "football letters": frame(("HomeTeam", "AwayTeam"), FTR=words("H", "D", "A")),
    "football goals": frame(
        ("home_team", "away_team"), home_goals=goals()["home"], away_goals=goals()["away"]
    ),
    "football columns": frame(
        ("HomeTeam", "AwayTeam"), FTHG=goals()["home"], FTAG=goals()["away"], FTR="?"
    ),
    "visitor": frame(
        ("home", "visitor"), home_score=goals()["home"], visitor_score=goals()["away"] * 1.0
    ),
    "score text": frame(("home", "away"), result=words("3:1", "0 : 0", "10:11")),
    "scores": frame(("a", "b"), score_a=goals()["home"], score_b=goals()["away"]),
    "flags": frame(("model_a", "model_b"), **FLAGS),
    "flags of two ties": frame(
        ("model_a", "model_b"),
        winner_model_a=FLAGS["winner_model_a"],
        winner_model_b=FLAGS["winner_model_b"],
        winner_tie=(WON == 0.5) & (np.arange(SIZE) % 2 == 0),
        **{"winner_tie (bothbad)": (WON == 0.5) & (np.arange(SIZE) % 2 == 1)},
    ),
    "wins": frame(("home", "away"), home_win=WON == 1, away_win=WON == 0, draw=WON == 0.5),
    "preference": frame(("a", "b"), preference=WON),
    "signs": frame(("a", "b"), preference=words(1, 0, -1)),
    "one two": frame(("player_1", "player_2"), winner=words("1", "0.5", "2")),
    "one x two": frame(("home", "away"), result=words("1", "X", "2")),
    "tie column": frame(winner=np.where(WON == 1, FIRST, SECOND), tie=WON == 0.5),
}  # fmt: skip


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("name", RESULTS)
def test_every_way_to_write_a_result_gives_the_same_counts(name, typed, tmp_path):
    log = RESULTS[name]
    if not typed:
        log.write_csv(tmp_path / "votes.csv")
        log = tmp_path / "votes.csv"
    read = read_log(log)
    same(read.counts)
    assert not read.skipped


def decided(**columns):
    some = WON != 0.5
    return pl.DataFrame({name: column[some] for name, column in columns.items()})


@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        ("winner", "loser"), ("chosen", "rejected"), ("winner_name", "loser_name"),
        ("Chosen Model", "rejected_model"), ("winning_team", "losing_team"),
    ],
)  # fmt: skip
def test_winners_and_losers_and_which_of_them_was_first(winner, loser):
    won, lost = np.where(WON == 1, FIRST, SECOND), np.where(WON == 1, SECOND, FIRST)
    some = WON != 0.5
    log = {name: VOTES[name][some] for name in VOTES}
    plain = decided(**{winner: won, loser: lost, "time": VOTES["time"]})
    same(read_log(plain).counts, counts_from_votes(**log, names=NAMES, placed=False))
    home = decided(**{winner: won, loser: lost, "time": VOTES["time"], "home_team": FIRST})
    read = read_log(home)
    same(read.counts, counts_from_votes(**log, names=NAMES))
    assert "'home_team' is read as the option that was shown first" in read.notes[0]
    other = decided(**{winner: won, loser: lost, "time": VOTES["time"], "home": np.full(SIZE, "x")})
    assert not read_log(other).counts.placed
    with pytest.raises(DriftduelError, match="option shown first is neither"):
        read_log(other, columns={"first": "home"})


def test_how_results_were_read_is_reported():
    notes = {name: " ".join(read_log(log).notes) for name, log in RESULTS.items()}
    assert "higher score wins ('home_goals', 'away_goals')" in notes["football goals"]
    assert "the one that is set holds the result" in notes["flags"]
    assert "1 is read as a win of 'a' and 0 as a win of 'b'" in notes["preference"]
    assert "1 is read as a win of 'a' and -1 as a win of 'b'" in notes["signs"]
    assert "read as" not in notes["names"]


def test_an_option_may_have_the_name_of_a_result():
    log = pl.DataFrame(
        {"home": ["away", "draw"], "away": ["home", "away"], "winner": ["away", "draw"]}
    )
    wins = read_log(log).counts.wins.sum(0)
    assert wins.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    scores = pl.DataFrame(
        {"home": ["away", "\x01"], "away": ["home", "away"], "hs": [1, 2], "as": [2, 2]}
    )
    columns = {"first_score": "hs", "second_score": "as"}
    wins = read_log(scores, columns=columns).counts.wins.sum(0)
    assert wins.tolist() == [[0, 0.5, 0], [0.5, 0, 0], [0, 1, 0]]


# ---- what may be misread ----


def test_one_column_of_a_one_hot_set_is_refused():
    log = frame(("model_a", "model_b"), **FLAGS)
    for winner in ("winner_model_a", "winner_tie"):
        with pytest.raises(DriftduelError, match="one of several columns") as error:
            read_log(log, columns={"winner": winner})
        confirm = "first_won=winner_model_a,second_won=winner_model_b,tie=winner_tie"
        assert f"--columns {confirm}" in str(error.value)
    given = dict(part.split("=") for part in confirm.split(","))
    same(read_log(log, columns=given).counts)
    by_name = frame(
        winner_ale=(WINNER == "ale") * 1, winner_gin=(WINNER == "gin") * 1,
        winner_tea=(WINNER == "tea") * 1,
    )  # fmt: skip
    with pytest.raises(DriftduelError, match="'winner_gin' and 'winner_tea'"):
        read_log(by_name, columns={"winner": "winner_ale"})


def test_a_winner_that_names_neither_option_in_most_rows_is_an_error():
    odd = np.where(np.arange(SIZE) % 3 == 0, WINNER, "rum")
    with pytest.raises(DriftduelError, match="names neither option") as error:
        read_log(frame(winner=odd))
    assert "--columns first=first,second=second,winner=winner" in str(error.value)
    few = np.where(np.arange(SIZE) % 3 == 0, "rum", WINNER)
    assert sum(read_log(frame(winner=few)).skipped.values()) == 134
    with pytest.raises(DriftduelError, match="names neither option"):
        read_log(frame(winner=words(1, 0, 2)))  # 0 may be a tie, or the first of 0 and 1


def test_an_ambiguous_file_gets_what_was_understood_to_confirm():
    log = frame(("home", "away"), winner=WINNER, model_a=SECOND, model_b=FIRST)
    with pytest.raises(DriftduelError, match="may be meant") as error:
        read_log(log)
    understood = str(error.value).partition("confirm with --columns ")[2].rstrip(".")
    given = dict(part.split("=") for part in understood.split(","))
    assert read_log(log, columns=given).counts.placed
    same(read_log(log, columns={"first": "home", "second": "away"}).counts)
    log = frame(choice=WINNER, preferred=WINNER)
    with pytest.raises(DriftduelError, match=r"confirm with --columns winner=preferred"):
        read_log(log)
    same(read_log(log, columns={"winner": "choice"}).counts)
    same(read_log(frame(winner=WINNER, choice=WINNER, result="?")).counts)  # our own name
    named = decided(winner=WINNER, loser=np.where(WINNER == FIRST, SECOND, FIRST))
    several = {name: pl.Series([str(i) for i in range(len(named))]) for name in ("a", "b")}
    several |= {name: pl.Series(["x"] * len(named)) for name in ("home", "away")}
    assert not read_log(named.with_columns(**several)).counts.placed


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ({"winner": WINNER}, "--columns loser=NAME or --columns first=NAME,second=NAME"),
        ({"first": FIRST, "second": SECOND}, "--columns winner=NAME"),
        ({"hg": WON, "x": WON}, "--columns winner=NAME,loser=NAME"),
        ({"home_goals": WON, "away_goals": WON}, "--columns first=NAME,second=NAME"),
    ],
)
def test_the_hint_names_the_missing_role(columns, hint):
    with pytest.raises(DriftduelError, match="a log needs") as error:
        read_log(pl.DataFrame(columns))
    assert hint in str(error.value)


def test_scores_and_flags_that_cannot_be_read_are_rows_that_are_counted():
    log = pl.DataFrame(
        {"home": list("abab"), "away": list("baba"), "home_score": ["1", "x", None, "nan"],
         "away_score": ["0", "1", "2", "1"]}
    )  # fmt: skip
    assert read_log(log).skipped == {"a score is missing or is not a number": 3}
    log = pl.DataFrame(
        {"a": list("xyxyx"), "b": list("yxyxy"), "a_won": ["1", "1", "", "2", "no"],
         "b_won": ["", "1", "0", "0", "yes"]}
    )  # fmt: skip
    read = read_log(log)
    assert read.skipped == {"not exactly one of the result columns is set": 3}
    assert read.counts.wins.sum(0).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(DriftduelError, match="belong together; name second_won too"):
        read_log(log, columns={"first_won": "a_won"})


# ---- files ----


def objects(nested):
    rows = []
    for a, b, w, t in zip(FIRST, SECOND, WINNER, VOTES["time"], strict=True):
        row = {"first": str(a), "second": str(b), "time": int(t)}
        rows.append(row | ({"result": {"winner": str(w)}} if nested else {"winner": str(w)}))
    return rows


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    "name",
    ["v.jsonl", "v.ndjson", "v.jsonl.gz", "v[1].jsonl", "v.json", "lines.json", "below.json",
     "columns.json", "v.parquet"],
)  # fmt: skip
def test_json_and_parquet_with_nested_keys(tmp_path, name, nested):
    rows, path = objects(nested), tmp_path / name
    lines = "\n".join(json.dumps(row) for row in rows) + "\n"
    columns = {"winner": "result.winner"} if nested else None
    if name == "v.parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif name == "v.json":
        path.write_text(json.dumps(rows, indent=1))
    elif name == "below.json":
        path.write_text(json.dumps({"version": 2, "votes": rows}))
    elif name == "columns.json":
        path.write_text(json.dumps({key: [row[key] for row in rows] for key in rows[0]}))
        if nested:
            columns = None
            path.write_text(json.dumps([{"votes": rows}][0]))
            columns = {"winner": "result.winner"}
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines)
    same(read_log(path, columns=columns).counts)
    if nested:
        with pytest.raises(DriftduelError, match=r"--columns winner=result\.winner"):
            read_log(path)


def test_json_lines_may_have_other_keys_and_types(tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_text(
        '{"a": "x", "b": "y", "winner": "x", "time": 1}\n\n'
        '{"a": "x", "b": 7, "winner": 7, "time": 2.5, "more": [1]}\n'
        '{"a": "y", "winner": "x", "time": 3}\n'
    )
    log = read_log(path)
    assert log.names == ("7", "x", "y")
    assert log.skipped == {"an option is missing": 1}
    assert log.problems[0].line == 3


def test_several_json_files_are_one_log(tmp_path):
    rows = objects(nested=False)
    rows[0]["time"] = 0.0
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, part in zip(paths, (rows[:100], rows[100:]), strict=True):
        path.write_text("\n".join(json.dumps(row) for row in part))
    same(read_log(paths).counts)
    assert count_files(paths).counts.votes == SIZE
    (tmp_path / "c.json").write_text(json.dumps(rows))
    with pytest.raises(DriftduelError, match="same format"):
        read_log([paths[0], tmp_path / "c.json"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.jsonl", '{"winner": "a", "loser": "b"}\n{"winner": ', "line 2 of .* not a JSON object"),
        ("x.jsonl", "[1, 2]\n", "line 1 of"),
        ("x.jsonl", "winner,loser\na,b\n", "line 1 of"),
        ("x.json", "[", "not JSON: Expecting value in line 1, column 2"),
        ("x.json", "3", "must hold an array of objects"),
        ("x.json", '[{"a": 1}, 5]', "must hold an array of objects"),
        ("x.jsonl", "\n\n", "it has no rows"),
        ("x.json", '{"a": [1, 2], "b": [1]}', "array of objects"),
        ("x.json", '{"winner": "a"}', "but not the two options"),
        ("x.json", "{}", "no column at all"),
        ("x.jsonl", "{}\n", "no column at all"),
        ("x.jsonl", '{"a": {"b": 1}}\n{"a": 5}\n', "a key holds an object or a list in one row"),
    ],
)
def test_broken_json_gets_one_sentence(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DriftduelError, match=message) as error:
        read_log(tmp_path / name)
    assert "\n" not in str(error.value)
