"""Picks and rankings: how they are read, and how far their votes are from Plackett and Luce."""

import json
from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("scipy")
pl = pytest.importorskip("polars")

from driftduel.cli import main  # noqa: E402
from driftduel.errors import DriftduelError  # noqa: E402
from driftduel.logs import (  # noqa: E402
    bradley_terry,
    certify,
    compare_on_posterior,
    fit,
    load_counts,
    read_log,
    tagged_votes,
)
from driftduel.logs.counts import counts_from_votes  # noqa: E402
from driftduel.logs.parts import count_files  # noqa: E402
from driftduel.logs.slate_cells import UNRANKED, ListReader  # noqa: E402
from driftduel.logs.slate_check import find_dependence  # noqa: E402
from driftduel.logs.slates import pair_weights, strengths_of  # noqa: E402
from tests.logs import slate_reference as reference  # noqa: E402

NAMES = np.array(["ale", "gin", "rum", "tea", "wine"])
SIZE = 300


def simulated(size=4, rows=SIZE, seed=0, utilities=(0.8, 0.4, 0.0, -0.4, -0.8)):
    """Return rankings of random slates, best first: (rows, size) numbers of options."""
    rng = np.random.default_rng(seed)
    shown = np.argsort(rng.random((rows, len(utilities))), axis=1)[:, :size]
    value = np.asarray(utilities)[shown] + rng.gumbel(size=shown.shape)
    return shown, np.take_along_axis(shown, np.argsort(-value, axis=1), axis=1)


SHOWN, ORDER = simulated()
PICKS = pl.DataFrame({"shown": NAMES[SHOWN].tolist(), "winner": NAMES[ORDER[:, 0]]})
RANKINGS = pl.DataFrame({"ranking": NAMES[ORDER].tolist()})


def same(counts, other):
    assert counts.names == other.names
    assert (counts.votes, counts.slates) == (other.votes, other.slates)
    for name in ("wins", "tied", "first", "last", "coarse", "weight", "squares"):
        assert np.array_equal(getattr(counts, name), getattr(other, name)), name


# ---- the votes of a slate ----


def test_the_votes_of_a_slate_equal_the_reference():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        k = int(rng.integers(2, 7))
        places = [int(p) for p in rng.choice([1, 2, 3, 4, 5, UNRANKED], size=k)]
        strengths = np.exp(rng.normal(size=k))
        won, tied = reference.votes(places, strengths.tolist())
        row, winner, loser, weight, tie = pair_weights(np.array([places]), strengths[None])
        found = {(w, o): x for w, o, x in zip(winner[~tie], loser[~tie], weight[~tie], strict=True)}
        equal = {(w, o): x for w, o, x in zip(winner[tie], loser[tie], weight[tie], strict=True)}
        assert not row.any()
        assert found.keys() == won.keys()
        assert equal.keys() == tied.keys()
        for pair, x in {**found, **equal}.items():
            assert x == pytest.approx({**won, **tied}[pair], abs=2**-29)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("ranked", [False, True])
def test_gradient_and_information_are_those_of_plackett_and_luce(k, ranked):
    """By enumeration of all picks or rankings, at the strengths that the weights are made for."""
    utilities = np.random.default_rng(k).normal(size=k)
    probability = np.zeros((k, k))
    information, expected = np.zeros((k, k)), np.zeros((k, k))
    for order, chance in reference.all_rankings(utilities):
        places = np.full(k, UNRANKED)
        places[list(order)] = np.arange(1, k + 1)
        if not ranked:
            places[places > 1] = UNRANKED
        gradient = np.zeros(k)
        for picked, remaining in reference.stages(places.tolist()):
            q = np.zeros(k)
            q[remaining] = reference.pick_probabilities(utilities[remaining])
            gradient -= q
            gradient[picked] += 1
            information += chance * (np.diag(q) - np.outer(q, q))
        _, winner, loser, weight, _ = pair_weights(places[None], np.exp(utilities)[None])
        p = 1 / (1 + np.exp(utilities[loser] - utilities[winner]))
        found = np.bincount(winner, weight * (1 - p), k) - np.bincount(loser, weight * (1 - p), k)
        assert found == pytest.approx(gradient, abs=1e-8)
        np.add.at(expected, (winner, loser), chance * weight * p * (1 - p))
        np.add.at(probability, (winner, loser), chance)
    expected = expected + expected.T
    assert np.diag(expected.sum(axis=1)) - expected == pytest.approx(information, abs=1e-8)
    # The odds of a decided pair do not depend on the other options (so any weights are consistent).
    a, b = np.triu_indices(k, 1)
    odds = np.log(probability[a, b] / probability[b, a])
    assert odds == pytest.approx(utilities[a] - utilities[b])


def test_equal_strengths_have_the_weight_two_by_k():
    for k in range(2, 9):
        weight = pair_weights(np.array([[1] + [UNRANKED] * (k - 1)]), np.full((1, k), 3.0))[3]
        assert weight == pytest.approx(2 / k)
    assert (pair_weights(np.array([[2, 1]]), np.array([[0.3, 7.0]]))[3] == 1.0).all()


def test_strengths_are_those_of_the_utilities():
    shown, order = simulated(rows=20_000, seed=3)
    log = read_log(pl.DataFrame({"shown": NAMES[shown].tolist(), "winner": NAMES[order[:, 0]]}))
    wins = log.counts.wins.sum(axis=0)
    table = {(a, b): wins[i, j] for i, a in enumerate(NAMES) for j, b in enumerate(NAMES) if i != j}
    found = np.log([strengths_of(table)[name] for name in NAMES])
    assert found == pytest.approx([0.8, 0.4, 0.0, -0.4, -0.8], abs=0.06)


# ---- how far from the exact posterior ----

SPREADS = {"equal": 0.0, "moderate": 0.7, "very unequal": 2.0}


def _compare(k, ranked, spread, seed, rows=400, options=8):
    """Return the distance of means, the ratio of deviations, and that of P(best)."""
    rng = np.random.default_rng([seed, k, ranked, int(10 * spread)])
    utilities = rng.normal(0.0, spread, options)
    _, order = simulated(k, rows, [seed, k], utilities)
    places = np.tile(np.arange(1, k + 1), (rows, 1))
    if not ranked:
        places[:, 1:] = UNRANKED
    slates = [(o.tolist(), p.tolist()) for o, p in zip(order, places, strict=True)]
    exact = reference.posterior(slates, options, 0.25, 10_000, rng)

    def wins(strengths):
        row, winner, loser, weight, _ = pair_weights(places, strengths[order])
        table = np.zeros((options, options))
        np.add.at(table, (order[row, winner], order[row, loser]), weight)
        return table

    start = bradley_terry(wins(np.ones(options)), 0.25)[0]
    mode, factor = bradley_terry(wins(np.exp(start)), 0.25)
    z = np.linalg.solve(factor.T, rng.normal(size=(options, 10_000))).T
    approximate = mode + z
    best = [np.bincount(u.argmax(axis=1), minlength=options) / len(u) for u in (exact, approximate)]
    centred = [u - u.mean(axis=1, keepdims=True) for u in (exact, approximate)]
    deviation = centred[0].std(axis=0)
    return (
        np.abs(centred[1].mean(axis=0) - centred[0].mean(axis=0)) / deviation,
        centred[1].std(axis=0) / deviation,
        np.abs(best[1] - best[0]),
    )


LIMITS = {"equal": (0.15, 0.05), "moderate": (0.2, 0.1), "very unequal": (1.0, 0.35)}
"""Largest and median distance of means, in standard deviations: a normal approximation to a skewed
posterior, as of an option that was never picked."""


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("k", [3, *(pytest.param(k, marks=pytest.mark.long) for k in (4, 6, 8))])
def test_the_posterior_is_close_to_the_exact_one(k, spread, ranked):
    """With the weights 2 / k the deviations were wrong by factors of up to 1.67."""
    rows = 150 if ranked else 400
    means, deviations, best = _compare(k, ranked, SPREADS[spread], 1, rows)
    most, median = LIMITS[spread]
    assert means.max() < most
    assert np.median(means) < median
    assert 0.85 < deviations.min() <= deviations.max() < 1.15
    assert best.max() < 0.04


# ---- forms ----


def places_frame(order=ORDER):
    table = {f"rank_{name}": [None] * len(order) for name in NAMES}
    for row, ranking in enumerate(order):
        for place, option in enumerate(ranking, 1):
            table[f"rank_{NAMES[option]}"][row] = place
    return pl.DataFrame(table)


def series_frame():
    columns = {f"option_{m + 1}": NAMES[SHOWN[:, m]] for m in range(4)}
    return pl.DataFrame({**columns, "winner": NAMES[ORDER[:, 0]]})


def joined(rows, sign):
    return [sign.join(NAMES[row]) for row in rows]


PICK_FORMS = {
    "typed lists": PICKS,
    "bars": pl.DataFrame({"shown": joined(SHOWN, "|"), "pick": NAMES[ORDER[:, 0]]}),
    "commas": pl.DataFrame({"Options shown": joined(SHOWN, ", "), "choice": NAMES[ORDER[:, 0]]}),
    "semicolons": pl.DataFrame({"slate": joined(SHOWN, ";"), "chosen": NAMES[ORDER[:, 0]]}),
    "json": PICKS.with_columns(pl.Series("shown", [json.dumps(r) for r in NAMES[SHOWN].tolist()])),
    "python": PICKS.with_columns(pl.Series("shown", [str(r) for r in NAMES[SHOWN].tolist()])),
    "columns": series_frame(),
    "columns, by mark": series_frame().with_columns(
        winner=pl.Series([str(s.index(o[0]) + 1) for s, o in zip(SHOWN.tolist(), ORDER.tolist(),
                                                                 strict=True)])
    ),
    "columns, by name": series_frame().with_columns(
        winner=pl.Series([f"Option {s.index(o[0]) + 1}" for s, o in zip(
            SHOWN.tolist(), ORDER.tolist(), strict=True)])
    ),
    "letters": series_frame().rename(
        {f"option_{i + 1}": f"model_{m}" for i, m in enumerate("abcd")}
    ),
}  # fmt: skip
RANKING_FORMS = {
    "typed lists": RANKINGS,
    "greater": pl.DataFrame({"ranking": joined(ORDER, " > ")}),
    "bars": pl.DataFrame({"Ranked options": joined(ORDER, "|")}),
    "json": pl.DataFrame({"ranking": [json.dumps(r) for r in NAMES[ORDER].tolist()]}),
    "with the options shown": RANKINGS.with_columns(pl.Series("shown", NAMES[SHOWN].tolist())),
    "with the pick": RANKINGS.with_columns(pl.Series("winner", NAMES[ORDER[:, 0]])),
    "places": places_frame(),
    "places, text": places_frame().cast(pl.String),
}


@pytest.mark.parametrize("form", PICK_FORMS.values(), ids=PICK_FORMS.keys())
def test_all_forms_of_picks_are_the_same(form):
    log = read_log(form)
    same(log.counts, read_log(PICKS).counts)
    assert log.rows == log.counts.votes == SIZE
    assert "slates of 4 options" in log.notes[0]
    assert not log.skipped


@pytest.mark.parametrize("form", RANKING_FORMS.values(), ids=RANKING_FORMS.keys())
def test_all_forms_of_rankings_are_the_same(form):
    same(read_log(form).counts, read_log(RANKINGS).counts)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_slates_in_all_formats(tmp_path, suffix):
    path = tmp_path / f"votes.{suffix}"
    table = PICKS
    if suffix in ("csv", "tsv"):
        table = PICK_FORMS["bars"].rename({"pick": "winner"})
    match suffix:
        case "csv":
            table.write_csv(path)
        case "tsv":
            table.write_csv(path, separator="\t")
        case "json":
            table.write_json(path)
        case "jsonl":
            table.write_ndjson(path)
        case "parquet":
            table.write_parquet(path)
    same(read_log(path).counts, read_log(PICKS).counts)


def test_columns_of_any_name_are_passed_as_arguments():
    lists = PICKS.rename({"shown": "x", "winner": "y"})
    same(read_log(lists, columns={"shown": "x", "winner": "y"}).counts, read_log(PICKS).counts)
    series = series_frame().rename({f"option_{m}": f"x{m}" for m in range(1, 5)})
    columns = {"options": ["x1", "x2", "x3", "x4"], "winner": "winner"}
    same(read_log(series, columns=columns).counts, read_log(PICKS).counts)
    ranking = RANKINGS.rename({"ranking": "x"})
    same(read_log(ranking, columns={"ranking": "x"}).counts, read_log(RANKINGS).counts)
    places = places_frame().rename({f"rank_{name}": name for name in NAMES})
    same(read_log(places, columns={"places": list(NAMES)}).counts, read_log(RANKINGS).counts)


def test_a_partial_ranking_has_no_order_below():
    table = pl.DataFrame(
        {"shown": ["a|b|c|d"] * 3, "ranking": ["a > b", "b = a > d", "c"], "time": [1, 2, 3]}
    )
    log = read_log(table)
    one = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)}
    two = {(1, 3), (0, 3), (1, 2), (0, 2), (3, 2)}
    three = {(2, 0), (2, 1), (2, 3)}
    for wins, tied, pairs in zip(log.counts.wins, log.counts.tied, (one, two, three), strict=True):
        assert set(zip(*np.nonzero(wins - tied / 2), strict=True)) == pairs
    assert np.flatnonzero(log.counts.tied.sum(axis=(1, 2))).tolist() == [1]
    assert (log.counts.tied[1] > 0).sum() == 2


def test_equal_places_and_the_word_tie():
    ties = pl.DataFrame({"shown": ["a|b|c", "a|b"], "winner": ["tie", "neither"], "time": [1, 2]})
    counts = read_log(ties).counts
    assert counts.ties == 2
    assert (counts.wins[0] == counts.wins[0].T).all()
    places = pl.DataFrame({"rank_a": [2, 1], "rank_b": [2, 1], "rank_c": [2, None]})
    assert np.array_equal(read_log(places).counts.wins, counts.wins)


def test_a_slate_of_two_is_a_duel_to_the_bit():
    rng = np.random.default_rng(5)
    first = rng.integers(5, size=400)
    second = (first + rng.integers(1, 5, size=400)) % 5
    outcome = rng.choice([0.0, 0.5, 1.0], size=400)
    weight = rng.choice([0.25, 1.0, 2.0], size=400)
    winner = np.where(outcome == 1, NAMES[first], np.where(outcome == 0, NAMES[second], "tie"))
    table = {"winner": winner, "time": np.arange(400), "group": np.arange(400), "weight": weight}
    duels = read_log(pl.DataFrame({"first": NAMES[first], "second": NAMES[second], **table}))
    shown = np.column_stack((NAMES[first], NAMES[second])).tolist()
    slates = read_log(pl.DataFrame({"shown": shown, **table}))
    for name in ("wins", "tied", "parts", "weight", "squares", "votes", "first", "last", "coarse"):
        one, other = getattr(slates.counts, name), getattr(duels.counts, name)
        assert np.array_equal(one, other), name
    assert slates.counts.ties == pytest.approx(duels.counts.ties * 1.0, rel=0.1)
    for name in ("group", "bin", "winner", "loser", "wins"):
        one, other = getattr(slates.counts.groups, name), getattr(duels.counts.groups, name)
        assert np.array_equal(one, other), name
    model, other = (
        fit(slates.counts, "utilities"),
        fit(duels.counts, "utilities", first_place=False),
    )
    assert model.now.chances == other.now.chances


# ---- rows that are not counted ----

BAD = {
    "a|b|c,x": "the winner 'x' is not among the options shown",
    "a|b|a,a": "an option is listed twice",
    "a,a": "fewer than two options are shown",
    ",a": "fewer than two options are shown",
    "a||b,a": "the list 'a||b' has an empty element",
    '"[""a"", {}]",a': """the list '["a", {}]' is no JSON array of names""",
}


def test_bad_rows_are_counted_by_reason(tmp_path):
    path = tmp_path / "votes.csv"
    good = ["a|b|c,a", "b|c,c", "a|c|b,b"] * 5
    path.write_text("\n".join(["shown,winner", *good, *BAD, "a|b,", "a|b,none"]) + "\n")
    log = read_log(path)
    assert log.counts.votes == 15
    assert log.rows == 15 + len(BAD) + 2
    assert set(log.skipped) == set(BAD.values())
    assert sum(log.skipped.values()) == len(BAD)
    assert [problem.line for problem in log.problems] == list(range(17, 17 + len(BAD)))
    assert [problem.why for problem in log.problems] == list(BAD.values())
    assert "In 2 rows nothing was picked" in log.notes[1]


def test_bad_rankings_and_places():
    ranked = pl.DataFrame({
        "shown": ["a|b|c"] * 4, "ranking": ["a > b", "a > x", "a > b > a", "b > a"],
        "winner": ["a", "a", "a", "a"],
    })  # fmt: skip
    log = read_log(ranked)
    assert log.counts.votes == 1
    assert set(log.skipped) == {
        "the ranked option 'x' is not among the options shown", "an option is listed twice",
        "the winner 'a' is not the first of the ranking",
    }  # fmt: skip
    places = pl.DataFrame({"rank_a": ["1", "x", "-1", "1"], "rank_b": ["2", "1", "2", None],
                           "rank_c": ["3", "2", "3", None]})  # fmt: skip
    assert read_log(places).skipped == {
        "fewer than two options are shown": 1,
        "the place '-1' is not a number at least 0": 1,
        "the place 'x' is not a number at least 0": 1,
    }


def test_times_and_weights_of_slates():
    table = PICKS.with_columns(
        time=pl.Series([None, "x", *["2026-01-01"] * (SIZE - 2)]),
        weight=pl.Series([1, 1, 0, -1, *[2] * (SIZE - 4)]),
    )
    log = read_log(table)
    assert log.counts.votes == SIZE - 4
    assert sum(log.skipped.values()) == 4
    assert log.counts.dispersion_of_weights == 2
    assert len(log.problems) == 4


# ---- errors ----


def frame(**columns):
    return pl.DataFrame({name: [value] * 3 for name, value in columns.items()})


ERRORS = {
    "two forms": (
        frame(shown="a|b", option_1="a", option_2="b", option_3="c", winner="a"), {},
        "may both hold the options shown; name one of them",
    ),
    "duel or slate": (
        frame(first="a", second="b", winner="a", shown="a|b|c"), {},
        "may be duels of 'first' and 'second', or slates.*--columns shown=shown",
    ),
    "both roles": (
        frame(x="a|b", y="a", z="b"), {"shown": "x", "first": "y", "winner": "z"},
        "shown names a column of slates and first one of duels",
    ),
    "no pick": (frame(x="a|b", y="a"), {"shown": "x"}, "needs the pick, or a ranked list"),
    "one option": (frame(x="a", w="a"), {"options": ["x"], "winner": "w"}, "at least two"),
    "different ways": (
        frame(x="a", y="b", w="a|b"), {"options": ["x", "y"], "ranking": "w"}, "different ways",
    ),
    "unknown column": (frame(x="a", w="a"), {"options": ["x", "q"]}, "has no column 'q'"),
    "same column": (
        frame(shown="a|b", w="a"), {"shown": "shown", "winner": "shown"}, "cannot be two things",
    ),
    "misread": (frame(shown="a|b", winner="x"), {}, "not among the options shown.*--columns shown"),
    "nothing": (frame(shown="a|b", winner=""), {}, "none of the 3 rows can be read as a slate"),
    "separators": (
        pl.DataFrame({"shown": ["a|b", "a;b"], "winner": ["a", "a"]}), {}, "different separators",
    ),
    "list as the pick": (
        pl.DataFrame({"shown": [["a", "b"]], "winner": [["a"]]}), {}, "--columns ranking=winner",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("table", "columns", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_name_the_cure(table, columns, message):
    with pytest.raises(DriftduelError, match=message) as error:
        read_log(table, columns=columns)
    assert "\n" not in str(error.value)


def test_duels_stay_duels():
    duels = pl.DataFrame({"first": ["a", "b"], "second": ["b", "a"], "winner": ["a", "a"]})
    extra = duels.with_columns(ranking=pl.lit("17"), options=pl.lit("two"), rank_a=1, rank_b=2)
    for table in (duels, extra):
        assert read_log(table).counts.slates == 0
    three = frame(model_a="a", model_b="b", model_c="c", winner="a")
    assert read_log(three).counts.slates == 1
    assert read_log(three, columns={"first": "model_a", "second": "model_b"}).counts.slates == 0


def test_lists_read_as_they_are_written():
    reader = ListReader("x", ["a > b", "a, b > c"])
    assert reader.read("a, b > c") == [["a, b"], ["c"]]
    assert reader.read(None) == []
    assert reader.read('["a", ["b", 1]]') == [["a"], ["b", "1"]]
    assert reader.read("['it\\'s', \"b\"]") == [["it's"], ["b"]]
    assert isinstance(reader.read("[" * 5000 + "]" * 5000), str)
    assert isinstance(reader.read("['a' 'b']"), str)


# ---- counts ----


def test_parts_of_a_log_equal_the_whole(tmp_path):
    table = PICKS.with_columns(time=pl.Series(np.arange(SIZE)))
    table[:120].write_parquet(tmp_path / "1.parquet")
    table[120:].write_parquet(tmp_path / "2.parquet")
    parts = count_files([tmp_path / "1.parquet", tmp_path / "2.parquet"])
    whole = count_files([tmp_path / "2.parquet", tmp_path / "1.parquet"])
    one = read_log(table)
    assert np.array_equal(parts.counts.wins, whole.counts.wins)
    assert parts.counts.wins.sum(axis=0) == pytest.approx(one.counts.wins.sum(axis=0), abs=0)
    assert parts.counts.votes == one.counts.votes
    assert len(parts.counts.groups.ids) == SIZE
    parts.counts.save(tmp_path / "c.npz")
    same(load_counts(tmp_path / "c.npz"), parts.counts)
    duels = counts_from_votes([0, 1], [1, 0], [1, 1], time=[1, 2])
    with pytest.raises(DriftduelError, match="holds slates and the other duels"):
        _ = parts.counts + duels


def test_groups_of_voters_hold_all_votes_of_their_slates():
    voter = PICKS.with_columns(voter=pl.Series(np.arange(SIZE) // 3))
    log = read_log(voter, group="voter")
    assert log.counts.slates == 2
    assert len(log.counts.groups.ids) == SIZE // 3
    assert read_log(voter).counts.slates == 1
    assert len(read_log(voter).counts.groups.ids) == SIZE


def test_a_dependence_of_voters_is_noted():
    rng = np.random.default_rng(3)
    rows, each = 3000, 6
    tastes = np.repeat(rng.normal(0, 1.5, (rows // each, 5)), each, axis=0)
    order = np.argsort(-(tastes + rng.gumbel(size=(rows, 5))), axis=1)
    table = pl.DataFrame({"ranking": NAMES[order].tolist(), "voter": np.arange(rows) // each})
    assert any("--group voter" in note for note in read_log(table).notes)
    independent = np.argsort(-rng.gumbel(size=(rows, 5)), axis=1)
    table = table.with_columns(ranking=pl.Series(NAMES[independent].tolist()))
    assert not any("--group" in note for note in read_log(table).notes)


def test_the_dispersion_of_independent_slates_is_one():
    for form in (PICKS, RANKINGS):
        assert fit(read_log(form).counts, "utilities").phi < 1.1


def test_options_beyond_the_most_are_left_out():
    log = read_log(PICKS, most=4)
    assert len(log.names) == 4
    assert set(log.left_out) == set(NAMES) - set(log.names)
    (left,) = log.left_out
    assert log.left_out[left] == (NAMES[SHOWN] == left).any(axis=1).sum()


# ---- statements ----


def test_a_change_is_found_and_the_certificate_holds():
    before = simulated(rows=1500, seed=1)[1]
    after = simulated(rows=1500, seed=2, utilities=(-0.8, 0.4, 0.0, -0.4, 0.8))[1]
    order = NAMES[np.concatenate((before, after))]
    log = read_log(pl.DataFrame({"ranking": order.tolist()}))
    found = fit(log.counts)
    (change,) = [c for c in found.changes if c.reported]
    assert (change.before, change.after) == ("ale", "wine")
    assert change.vote_low <= 1501 <= change.vote_high
    assert found.now.sure
    assert found.certificate().switches == 1


@pytest.mark.parametrize("ranked", [False, True])
def test_stationary_slates_certify_nothing(ranked):
    """Equal options: a certified switch or a sure winner is false, at most 5% each."""
    wrong = 0
    for seed in range(40):
        _, order = simulated(rows=300, seed=[seed, 9], utilities=(0.0, 0.0, 0.0, 0.0))
        table = {"ranking": NAMES[order].tolist()}
        if not ranked:
            table = {"shown": NAMES[order].tolist(), "winner": NAMES[order[:, 0]]}
        counts = read_log(pl.DataFrame(table)).counts
        wrong += certify(counts).switches > 0
    assert wrong <= 5


def test_odds_that_depend_on_a_third_option_are_noted():
    """Two equal drinks split the picks: each wins less often over ale if the other is shown."""
    rng = np.random.default_rng(8)
    rows = 3000
    shown = np.argsort(rng.random((rows, 5)), axis=1)[:, :3]
    value = rng.gumbel(size=(rows, 5))
    common = rng.gumbel(size=rows)
    value[:, 0], value[:, 1] = common + 0.01 * value[:, 0], common + 0.01 * value[:, 1]
    best = np.take_along_axis(value, shown, axis=1).argmax(axis=1)
    table = {"shown": NAMES[shown].tolist(), "winner": NAMES[shown[np.arange(rows), best]]}
    notes = read_log(pl.DataFrame(table)).notes
    assert any("seem to depend on" in note and "Plackett-Luce" in note for note in notes)
    assert not any("seem to" in n for n in read_log(pl.DataFrame(table), adaptive=True).notes)


def test_plackett_luce_choices_rarely_seem_to_depend_on_a_third_option():
    """At most 1% of logs, also if strengths change."""
    claims = 0
    for seed in range(100):
        later = (-0.8, 0.4, 0.0, -0.4, 0.8)
        size = 3 + seed % 2
        before = simulated(size, 500, [seed, 1])[1]
        after = simulated(size, 500, [seed, 2], later if seed % 3 else (0.8, 0.4, 0.0, -0.4, -0.8))
        order = np.concatenate((before, after[1]))
        if seed % 5:
            votes = {"winner": order[:, [0] * (size - 1)].ravel(), "loser": order[:, 1:].ravel()}
            row = np.repeat(np.arange(len(order)), size - 1)
        else:
            i, j = np.triu_indices(size, 1)
            votes = {"winner": order[:, i].ravel(), "loser": order[:, j].ravel()}
            row = np.repeat(np.arange(len(order)), len(i))
        often = np.ones(len(row), np.int64)
        claims += find_dependence(votes["winner"], votes["loser"], order[row], often, 5) is not None
    assert claims <= 4


def test_one_vote_of_each_slate_is_compared():
    tags = np.where(np.arange(SIZE) % 2 == 0, "en", "fr")
    for table in (PICKS, RANKINGS):
        log = read_log(table.with_columns(lang=pl.Series(tags)), by="lang")
        votes = tagged_votes(log)
        assert len(votes.low) == SIZE
        assert any("one vote is compared" in note for note in log.notes)
        again = tagged_votes(read_log(table.with_columns(lang=pl.Series(tags)), by="lang"))
        assert np.array_equal(votes.low, again.low)
        pairs = np.unique(votes.low * 5 + votes.high, return_counts=True)[1]
        assert len(pairs) == 10
        assert pairs.min() > SIZE / 10 / 3


def test_the_drawn_votes_have_the_odds_of_their_pair():
    utilities = (1.5, 0.0, -1.0, 0.5)
    _, order = simulated(rows=20_000, seed=4, utilities=utilities)
    table = pl.DataFrame({
        "shown": NAMES[np.sort(order, axis=1)].tolist(), "winner": NAMES[order[:, 0]],
        "lang": np.where(np.arange(20_000) % 2 == 0, "en", "fr"),
    })  # fmt: skip
    votes = tagged_votes(read_log(table, by="lang"))
    for a, b in combinations(range(4), 2):
        mine = (votes.low == a) & (votes.high == b)
        p = 1 / (1 + np.exp(utilities[b] - utilities[a]))
        error = np.sqrt(p * (1 - p) / mine.sum())
        assert abs(votes.won[mine].mean() - p) < 4 * error


def test_statements_about_duels_are_refused():
    log = read_log(PICKS)
    found = fit(log.counts, "utilities")
    with pytest.raises(DriftduelError, match="a replay needs the outcomes of duels"):
        log.replay("uniform", fit=found)
    with pytest.raises(DriftduelError, match="not defined for slates"):
        compare_on_posterior(found, ["uniform"])


_COMMANDS = [["summary"], ["changes"], ["forecast"], ["world", "--save", "w.npz"],
             ["count", "--save", "c.npz"], ["tags", "--by", "lang"]]  # fmt: skip
_SLOW_COMMANDS = [["evaluate"], ["measure", "--draws", "3"], ["features", "--features", "lang"],
                  ["report", "--out", "."]]  # fmt: skip


@pytest.mark.parametrize(
    "words", [*_COMMANDS, *(pytest.param(w, marks=pytest.mark.long) for w in _SLOW_COMMANDS)],
    ids=lambda words: words[0],
)  # fmt: skip
def test_the_commands_accept_slates(words, tmp_path, capsys, monkeypatch):
    from driftduel.logs.schemas import validate

    monkeypatch.chdir(tmp_path)
    path = "votes.parquet"
    lang = pl.Series(np.where(np.arange(SIZE) % 2 == 0, "en", "fr"))
    PICKS.rename({"shown": "x"}).with_columns(lang=lang).write_parquet(path)
    columns = ["--columns", "shown=x,winner=winner"]
    assert main(["log", words[0], path, *words[1:], *columns, "--json"]) == 0
    validate(words[0], capsys.readouterr().out)
    if words[0] == "report":
        page = (tmp_path / "index.html").read_text()
        assert "independence of irrelevant alternatives" in page
        assert "position of an option in a slate is not modelled" in page


def test_columns_of_several_names_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    series_frame().rename({f"option_{m}": f"x{m}" for m in range(1, 5)}).write_csv(path)
    argument = "--columns=options=x1+x2+x3+x4,winner=winner"
    assert main(["log", "count", str(path), "--save", str(tmp_path / "c.npz"), argument]) == 0
    assert f"{SIZE:,} votes between 5 options" in capsys.readouterr().out
    same(load_counts(tmp_path / "c.npz"), read_log(PICKS).counts)
