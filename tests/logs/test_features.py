"""Features of requests in a log: evidence, changes, the gain of routing, `log features`."""

import itertools
import json
import math

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.cli import main
from driftduel.errors import DriftduelError
from driftduel.evidence import ALPHA, log_stakes, starting_votes
from driftduel.logs import describe_features, read_log
from driftduel.logs.feature_votes import FeatureColumn, FeatureVotes, feature_votes
from driftduel.logs.features import (
    SCALES,
    _progressive,
    dependence_changes,
    feature_evidence,
    prior_factor,
    request_blocks,
    routing_gain,
)
from driftduel.logs.schemas import json_schema, validate
from research.benchmarks.log_features import simulated
from tests.policies.request_reference import ReferenceFilter

NAMES = ("ale", "beer", "cider", "mead", "tea", "wine")


# ---- slow references ----


def slow_filter(votes, chosen, scale):
    """The filter of policies with the prior of a scale."""
    shape = votes.shape(chosen)
    gauss = ReferenceFilter(len(votes.names), shape.size, None)
    S = prior_factor(len(votes.names), shape.size, scale, one_hot=shape.one_hot)
    gauss.covariance = S @ S.T
    return gauss


def slow_block_scores(votes, chosen, scale):
    """Log e-values of the blocks, by enumeration of all sets of wins."""
    x, gauss = votes.requests(chosen), slow_filter(votes, chosen, scale)
    rows, begins, ends = request_blocks(votes)
    scores = []
    for begin, end in zip(begins, ends, strict=True):
        block = rows[begin:end]
        votes_of = [(votes.low[i], votes.high[i], x[i]) for i in block]
        odds = [
            math.exp(
                gauss.direction(*each)
                @ gauss.mean
                / math.sqrt(1 + math.pi * gauss.variance(*each) / 8)
            )
            for each in votes_of
        ]
        wins = [at for at, i in enumerate(block) if votes.won[i]]
        sets = itertools.combinations(range(len(block)), len(wins))
        average = np.mean([math.prod(odds[at] for at in each) for each in sets])
        scores.append(math.log(math.prod(odds[at] for at in wins) / average))
        for i, each in zip(block, votes_of, strict=True):
            gauss.update(*each, votes.won[i])
    return np.array(scores)


def slow_evidence(votes):
    """The largest evidence of one feature at 32 looks: the least one over all times of a change."""
    rows, begins, ends = request_blocks(votes)
    scores = [slow_block_scores(votes, votes.features, scale) for scale in SCALES]
    n = len(votes)
    largest = -math.inf
    for look in range(1, 33):
        done = [b for b, end in enumerate(ends) if rows[end - 1] < n * look / 32]
        least = math.inf
        for change in range(n + 1):
            kept = [b for b in done if not rows[begins[b]] < change <= rows[ends[b] - 1]]
            least = min(least, np.mean([math.exp(sum(each[kept])) for each in scores]))
        largest = max(largest, math.log(least))
    return largest


@pytest.mark.parametrize("swing", [0.2, 0.9])
def test_predictions_of_a_router_equal_their_definition(swing):
    votes = simulated(np.random.default_rng(17), 80, 3, swing=swing, numbers=1)
    x = votes.requests(votes.features)
    filters = [slow_filter(votes, votes.features, scale) for scale in SCALES]
    logs = np.zeros(len(SCALES))
    found = _progressive(votes, votes.features)
    for i in range(len(votes)):
        weights = np.exp(logs) / np.exp(logs).sum()
        utilities = sum(
            weight * (gauss.mean.reshape(3, -1) @ x[i])
            for weight, gauss in zip(weights, filters, strict=True)
        )
        assert found[i] == pytest.approx(utilities, abs=1e-9)
        logs += [f.update(votes.low[i], votes.high[i], x[i], votes.won[i]) for f in filters]


def test_a_change_equals_its_definition():
    """Memories of 20 and 125 votes for each of 4 coefficients; the threshold is 40."""
    rng = np.random.default_rng(18)
    votes = simulated(rng, 500, 2, swing=0.8)
    votes.won[250:] ^= True
    x = votes.requests(votes.features)
    filters = [ReferenceFilter(2, 2, memory) for memory in (80.0, 500.0, None)]
    starts, stakes = starting_votes(500), 2 * np.exp(log_stakes(500))
    stake = {int(s): w for s, w in zip(starts, stakes, strict=True) if s >= 20}
    wealth, laid, expected = np.zeros(2), 0.0, None
    for i in range(500):
        scores = []
        for gauss in filters:
            gauss.forget(i + 1)
            scores.append(gauss.update(votes.low[i], votes.high[i], x[i], votes.won[i]))
        wealth = (wealth + stake.get(i, 0.0)) * np.exp(np.array(scores[:2]) - scores[2])
        laid += stake.get(i, 0.0)
        if wealth.mean() + 1 - laid >= 40:
            expected = i, wealth.mean() + 1 - laid
            break
    change = dependence_changes(votes)[0]
    assert laid < 1
    assert change.vote == expected[0]
    assert change.evidence == pytest.approx(expected[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_evidence_equals_its_definition(seed):
    votes = simulated(np.random.default_rng(seed), 120, 3, swing=0.3, numbers=seed % 2)
    if seed % 2:
        votes = FeatureVotes(votes.names, votes.features[1:], *arrays(votes))
    found = feature_evidence(votes)
    assert found.largest == pytest.approx(slow_evidence(votes), abs=1e-8)
    assert found.alone.tolist() == [found.largest]


def arrays(votes):
    return votes.low, votes.high, votes.won, votes.when


def test_the_expected_evidence_is_at_most_one_without_an_effect(monkeypatch):
    """Exact: all outcomes of two blocks of four votes, whatever the strengths and one change."""
    monkeypatch.setattr("driftduel.logs.features._SIZES", (4,))
    x = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    feature = FeatureColumn("x", np.eye(2)[x], ("a", "b"))
    zeros = np.zeros(len(x), np.int64)
    for before, after, cut in ((0.8, 0.8, 0), (0.9, 0.2, 3)):
        expected = 0.0
        for outcome in itertools.product((False, True), repeat=len(x)):
            won = np.array(outcome)
            share = np.where(np.arange(len(x)) < cut, before, after)
            chance = np.prod(np.where(won, share, 1 - share))
            votes = FeatureVotes(NAMES[:2], (feature,), zeros, zeros + 1, won, np.arange(8.0))
            expected += chance * math.exp(feature_evidence(votes).log_e)
        assert expected <= 1.0 + 1e-12


def test_blocks_partition_the_votes_of_each_pair():
    votes = simulated(np.random.default_rng(3), 500, 4)
    rows, begins, ends = request_blocks(votes)
    assert len(set(rows.tolist())) == len(rows)
    assert (np.diff(rows[ends - 1]) > 0).all()
    for begin, end in zip(begins, ends, strict=True):
        assert len(set(votes.pair[rows[begin:end]].tolist())) == 1
        assert (np.diff(rows[begin:end]) > 0).all()
    left = np.setdiff1d(np.arange(500), rows)
    assert max(np.bincount(votes.pair[left])) < 16


# ---- invariances ----


def test_the_order_of_the_options_does_not_matter():
    votes = simulated(np.random.default_rng(4), 1_500, 4, swing=0.2, numbers=2)
    place = np.array([2, 0, 3, 1])
    low, high = place[votes.low], place[votes.high]
    swapped = FeatureVotes(
        votes.names, votes.features, np.minimum(low, high), np.maximum(low, high),
        votes.won ^ (low > high), votes.when,
    )  # fmt: skip
    one, two = feature_evidence(votes), feature_evidence(swapped)
    assert two.largest == pytest.approx(one.largest, abs=1e-6)
    assert two.alone == pytest.approx(one.alone, abs=1e-6)
    assert routing_gain(swapped).gain == pytest.approx(routing_gain(votes).gain, abs=1e-6)


def frame(votes, **more):
    names = np.array(votes.names)
    winner = np.where(votes.won, votes.low, votes.high)
    loser = np.where(votes.won, votes.high, votes.low)
    columns = {
        feature.name: np.array(feature.categories)[feature.numbers.argmax(axis=1)]
        if feature.categories
        else feature.numbers[:, 0]
        for feature in votes.features
    }
    return pl.DataFrame({"winner": names[winner], "loser": names[loser], **columns, **more})


def test_the_scale_of_a_number_does_not_matter():
    votes = simulated(np.random.default_rng(5), 800, 3, numbers=1)
    table = frame(votes)
    number = votes.features[1].name
    moved = table.with_columns(pl.col(number) * 1e6 + 5.0)
    about = [
        describe_features(read_log(each, features=["category", number])) for each in (table, moved)
    ]
    assert about[1]["evidence"] == pytest.approx(about[0]["evidence"], rel=1e-5)
    assert about[1]["gain"] == pytest.approx(about[0]["gain"], abs=1e-6)


def test_votes_read_from_a_file_are_those_that_were_written():
    votes = simulated(np.random.default_rng(6), 400, 3, numbers=1)
    read = feature_votes(read_log(frame(votes), features=["category", "number 0"]))
    assert (read.low == votes.low).all()
    assert (read.won == votes.won).all()
    assert [f.categories for f in read.features] == [f.categories for f in votes.features]
    assert read.features[1].numbers == pytest.approx(votes.features[1].numbers)


def test_one_vote_of_each_group_and_pair_counts():
    votes = simulated(np.random.default_rng(7), 300, 2)
    table = frame(votes, voter=np.arange(300) // 2)
    read = feature_votes(read_log(table, features=["category"], group="voter"))
    assert len(read) == 150
    assert (read.won == votes.won[::2]).all()


# ---- what is found ----


def test_an_effect_is_found_and_routing_by_it_gains():
    votes = simulated(np.random.default_rng(8), 3_000, 4, swing=0.3, numbers=2, spread=0.1)
    found = feature_evidence(votes)
    assert found.matters
    assert found.which.tolist() == [True, False, False]
    gain = routing_gain(votes)
    assert gain.found
    assert gain.low < gain.single - gain.router < gain.high
    assert 0.7 < gain.slope < 1.3


def test_a_price_above_every_advantage_leaves_no_gain():
    votes = simulated(np.random.default_rng(8), 3_000, 4, swing=0.3)
    gain = routing_gain(votes, np.array([0.0, 20.0, 20.0, 20.0]))
    assert gain.single == pytest.approx(0.0, abs=1e-9)
    assert not gain.found


def test_the_estimated_gain_is_the_true_one():
    """Two options; each is better in one category, with probability 0.65."""
    votes = simulated(np.random.default_rng(9), 20_000, 2, swing=0.3, spread=0.0)
    gain = routing_gain(votes)
    # The best single option is inferior in half of the requests, by 0.15.
    assert gain.low < 0.075 < gain.high
    assert gain.high - gain.low < 0.02


def test_no_gain_is_stated_plainly():
    about = describe_features(
        read_log(frame(simulated(np.random.default_rng(10), 1_000, 3)), features=["category"])
    )
    assert not about["matters"]
    assert about["statement"].startswith("No dependence of preferences on `category` is")
    assert about["gain_statement"].startswith("No gain found: routing by these features")
    assert about["changes"] == []
    validate("features", json.dumps(about))


def test_a_change_of_the_dependence_is_found_and_one_of_the_requests_is_none():
    rng = np.random.default_rng(11)
    votes = simulated(rng, 6_000, 3, swing=0.4)
    half = np.arange(6_000) >= 3_000
    changed = FeatureVotes(
        votes.names, votes.features, votes.low, votes.high,
        votes.won ^ (half & (rng.random(6_000) < 0.9)), votes.when,
    )  # fmt: skip
    (change,) = dependence_changes(changed)
    assert 3_000 <= change.vote < 3_600
    assert 2_900 < change.since <= change.vote
    category = votes.features[0].numbers.argmax(axis=1)
    kept = np.flatnonzero((category == half) | (rng.random(6_000) < 0.1))
    feature = FeatureColumn("category", votes.features[0].numbers[kept], ("a", "b"))
    moved = FeatureVotes(votes.names, (feature,), *(each[kept] for each in arrays(votes)))
    assert dependence_changes(moved) == []


def test_chosen_pairs_need_more_evidence():
    votes = simulated(np.random.default_rng(12), 4_000, 2, swing=0.15)
    chosen = FeatureVotes(votes.names, votes.features, *arrays(votes), adaptive=True)
    assert feature_evidence(votes).largest > feature_evidence(chosen).largest > -math.log(ALPHA)
    votes = simulated(np.random.default_rng(12), 1_000, 6, chosen=True)
    assert not feature_evidence(votes).matters


@pytest.mark.long
def test_false_and_true_claims_in_simulated_logs():
    """A smaller edition of research/benchmarks/log_features.py."""
    for options in (2, 6, 12):
        rngs = [np.random.default_rng([31, options, s]) for s in range(40)]
        logs = [simulated(rng, 3_000, options) for rng in rngs]
        assert sum(feature_evidence(votes).matters for votes in logs) <= 40 * ALPHA
        assert sum(bool(dependence_changes(votes)) for votes in logs) <= 40 * ALPHA
    rngs = [np.random.default_rng([32, s]) for s in range(40)]
    logs = [simulated(rng, 3_000, 2, swing=0.1, spread=0.0) for rng in rngs]
    assert sum(feature_evidence(votes).matters for votes in logs) >= 36


def test_tags_of_an_arena_export_are_features():
    pytest.importorskip("msgspec")
    from driftduel.arena import Arena, export_votes

    rng = np.random.default_rng(16)
    with Arena(options=["a", "b"], grace=0.0) as arena:
        for t in range(150):
            language = ("de", "en")[int(rng.integers(2))]
            shown = arena.ask(
                f"voter {t}", tags={"lang": language, "length": f"{rng.normal():.3f}"}
            )
            better = "a" if rng.random() < (0.9 if language == "de" else 0.1) else "b"
            arena.vote(shown.duel, "left" if shown.left.name == better else "right")
        arena.tick()
        votes = export_votes(arena._live.store, arena._live.name)
    log = read_log(votes, features=["lang", "length"])
    assert log.counts.adaptive
    about = describe_features(log)
    assert [row["kind"] for row in about["features"]] == ["category", "number"]
    assert [row["matters"] for row in about["features"]] == [True, False]
    assert "pairs may be chosen by earlier votes" in about["remarks"][0]


# ---- the command ----


@pytest.fixture
def path(tmp_path):
    votes = simulated(np.random.default_rng(13), 2_000, 4, swing=0.3, numbers=1)
    file = tmp_path / "votes.csv"
    frame(votes).write_csv(file)
    return str(file)


def test_the_command_prints_the_answer(path, capsys):
    assert main(["log", "features", path, "--features", "category,number 0"]) == 0
    printed = capsys.readouterr().out
    assert "Preferences depend on at least one of category and number 0" in " ".join(
        printed.split()
    )
    assert "Routing by these features would gain" in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_the_command_prints_json(path, capsys):
    arguments = ["--features", "category", "--prices", "ale=0.2,beer=-0.1", "--json"]
    assert main(["log", "features", path, *arguments]) == 0
    printed = capsys.readouterr().out
    validate("features", printed)
    assert json.loads(printed)["prices"] == {"ale": 0.2, "beer": -0.1, "cider": 0.0, "mead": 0.0}
    assert json_schema("features")["title"] == "FeaturesOutput"


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        ("colour", "the log has no column 'colour' to use as a feature"),
        ("constant", "the feature 'constant' has the value 'x' in all votes"),
        ("same", "the feature 'same' has the value '1.5' in all votes"),
        ("many", "the feature 'many' has 100 different values; a category has at most 32"),
        ("gaps", "the feature 'gaps' has no finite number in 50 votes"),
        ("holes", "the feature 'holes' has no value in 50 votes"),
        ("infinite", "the feature 'infinite' has no finite number in 1 vote;"),
        ("tiny", "the feature 'tiny' has"),
    ],
)
def test_a_column_that_is_no_feature_is_one_sentence(features, sentence):
    n = 100
    at = np.arange(n)
    table = frame(
        simulated(np.random.default_rng(14), n, 2), constant=["x"] * n, same=[1.5] * n,
        many=[f"v{i}" for i in at], gaps=np.where(at % 2, np.nan, at), tiny=np.full(n, 1e-320),
        holes=[None if i % 2 else "x" for i in at], infinite=np.where(at == 3, np.inf, at),
    )  # fmt: skip
    with pytest.raises(DriftduelError, match=sentence) as raised:
        describe_features(read_log(table, features=[features]))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--features", "category,category"], "no list of different columns"),
        (["--features", "category", "--prices", "ale"], "is no price such as"),
        (["--features", "category", "--prices", "alle=1"], "no option 'alle' to price"),
        (["--features", "category", "--prices", "ale=nan"], "must be log-odds between"),
    ],
)
def test_a_wrong_argument_is_one_sentence(path, capsys, arguments, sentence):
    try:
        code = main(["log", "features", path, *arguments])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_short_logs_and_counts_have_no_features(tmp_path):
    votes = simulated(np.random.default_rng(15), 40, 2)
    log = read_log(frame(votes), features=["category"])
    with pytest.raises(DriftduelError, match="40 decided votes to compare requests by"):
        describe_features(log)
    log.counts.save(tmp_path / "counts.npz")
    with pytest.raises(DriftduelError, match="counts of votes hold no requests"):
        describe_features(read_log(tmp_path / "counts.npz"))
