"""A log's real outcomes: what they are, when they are refused, and whether they agree."""

import json

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

import polars as pl

from driftduel.cli import main
from driftduel.errors import DriftduelError
from driftduel.games import play, trace
from driftduel.logs import fit, read_log, votes_of
from driftduel.logs.log_replay import replay, same_rounds
from driftduel.logs.outcomes import RealOutcomes, real_outcomes
from driftduel.worlds import Piecewise, make_world

NAMES = ("ale", "gin", "tea")
TEA = [[0.5, 0.4, 0.25], [0.6, 0.5, 0.3], [0.75, 0.7, 0.5]]
GIN = [[0.5, 0.3, 0.45], [0.7, 0.5, 0.75], [0.55, 0.25, 0.5]]
CHANGING = Piecewise([TEA, GIN], [1, 1501], 3000)


def frame_of(first, second, first_won, time, names=NAMES, **more):
    first, second = np.array(names)[first], np.array(names)[second]
    winner = np.where(first_won, first, second)
    return pl.DataFrame({"first": first, "second": second, "winner": winner, "time": time, **more})


def even_votes(world=CHANGING, seed=4, names=NAMES):
    votes = votes_of(world, seed=seed)
    return frame_of(votes["first"], votes["second"], votes["outcome"] == 1, votes["time"], names)


def races(rounds=240, seed=1, missing=()):
    """Rank three options in each race, tea first in the first half and gin in the second."""
    rng = np.random.default_rng(seed)
    rows = []
    for race in range(rounds):
        strength = [0, 1, 2.5] if race < rounds / 2 else [0, 2.5, 1]
        places = np.argsort(-(np.array(strength) + rng.gumbel(size=3)))
        rows += [(places[i], places[j], race) for i, j in ((0, 1), (0, 2), (1, 2))]
    rows = [row for at, row in enumerate(rows) if at not in missing]
    a, b, race = np.array(rows).T
    return frame_of(a, b, np.ones(len(a), bool), race, race=race)


def outcomes_of(frame, **how):
    log = read_log(frame, **how)
    return real_outcomes(log, log.fit("utilities"))


@pytest.fixture(scope="module")
def even():
    log = read_log(even_votes())
    return log, log.fit("utilities")


# ---- the world of real outcomes ----


def test_blocks_of_even_pairs_are_rounds_with_the_votes_that_were_cast(even):
    frame, real = even_votes(), real_outcomes(*even)
    assert (real.how, real.rounds, real.votes, real.names) == ("blocks", 333, 2997, NAMES)
    assert real.compression == 9
    for t in (1, 100, 333):
        block = frame[9 * (t - 1) : 9 * t]
        P = real.chunk(t, t + 1).matrices[0]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            pair = block.filter(
                pl.col("first").is_in([NAMES[a], NAMES[b]])
                & pl.col("second").is_in([NAMES[a], NAMES[b]])
            )
            won = (pair["winner"] == NAMES[a]).mean()
            assert np.isnan(P[a, b]) if won is None else P[a, b] == pytest.approx(won)
            np.testing.assert_allclose(P[b, a], 1 - P[a, b])
    pairs = np.triu_indices(3, 1)
    assert 0.9 < np.mean(~np.isnan(real.matrices[:, *pairs])) < 0.99
    assert (real.matrices[:, range(3), range(3)] == 0.5).all()


def test_events_with_all_pairs_are_rounds():
    for group in ("race", None):  # a race is a group, or at least a time
        real = outcomes_of(races(), group=group)
        assert (real.how, real.rounds, real.compression) == ("events", 240, 3)
        assert np.isin(real.matrices[:, *np.triu_indices(3, 1)], (0, 1)).all()
    some = outcomes_of(races(missing=range(0, 720, 25)), group="race")
    assert (some.how, some.rounds) == ("events", 240)
    assert np.isnan(some.matrices).sum() == 2 * len(range(0, 720, 25))


def test_neither_the_order_of_rows_nor_of_options_in_a_row_matters():
    frame = even_votes().with_columns(time=pl.col("time") // 40)
    swapped = frame.rename({"first": "second", "second": "first"})
    shuffled = swapped.sample(fraction=1, shuffle=True, seed=3)
    mine, yours = (outcomes_of(each).matrices for each in (frame, shuffled))
    np.testing.assert_array_equal(mine, yours)


def test_a_tie_is_decided_by_a_coin():
    frame = races().with_columns(
        winner=pl.when(pl.col("race") == 7).then(pl.lit("tie")).otherwise("winner")
    )
    real = outcomes_of(frame, group="race")
    assert (real.matrices[7] == 0.5).all()


def test_the_fitted_world_is_looked_at_when_the_votes_were_cast():
    # Ten votes a round at first, then one: half of the rounds are a tenth of the votes.
    shares = np.cumsum([10] * 50 + [1] * 50) / 550
    real = RealOutcomes(np.full((100, 3, 3), 0.5), shares, 550, "events", NAMES)
    world = same_rounds(Piecewise([TEA, GIN], [1, 501], 550), real)
    assert world.condorcet_winners() == [(1, 2), (51, 1)]


# ---- refusals ----


def uneven():
    """From the middle on, gin meets tea nine times of ten, as if somebody had learned."""
    frame = even_votes()
    pair = ["gin", "tea"]
    often = pl.col("first").is_in(pair) & pl.col("second").is_in(pair)
    return frame.filter((pl.col("time") <= 1500) | often | (pl.col("time") % 10 == 0))


def test_pairs_that_were_not_shown_evenly_are_refused():
    with pytest.raises(DriftduelError, match=r"not shown evenly all the time.*gin met tea"):
        outcomes_of(uneven())


def test_counts_have_no_outcomes(tmp_path, even):
    log, fitted = even
    log.counts.save(tmp_path / "counts.npz")
    with pytest.raises(DriftduelError, match="needs the rows of a log, and these are counts"):
        real_outcomes(read_log(tmp_path / "counts.npz"), fitted)


def test_a_short_log_is_refused():
    with pytest.raises(DriftduelError, match="150 votes, enough for 16 rounds"):
        outcomes_of(even_votes()[:150])


def test_too_few_answers_are_refused(even):
    _, fitted = even
    real = real_outcomes(*even)
    gaps = real.matrices.copy()
    gaps[::4, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]] = np.nan
    real = RealOutcomes(gaps, real.shares, real.votes, "blocks", NAMES)
    with pytest.raises(DriftduelError, match=r"only 7\d% of the duels that uniform asked for"):
        replay(fitted, real, ["uniform"], runs=2)


@pytest.mark.long
def test_the_log_of_a_learner_is_refused():
    played = trace("dts", Piecewise([TEA, GIN], [1, 3001], 6000), seed=1)
    frame = frame_of(played.first, played.second, played.first_won == 1, np.arange(6000))
    with pytest.raises(DriftduelError, match="not shown evenly"):
        outcomes_of(frame)


# ---- games ----


def test_a_replay_is_fixed_by_its_seed_and_says_what_it_is(even):
    log, fitted = even
    one, same, other = (log.replay("uniform", seed, 3, fitted) for seed in (5, 5, 6))
    assert np.array_equal(one.regret, same.regret)
    assert np.array_equal(one.regret[1:], other.regret[:-1])
    assert (one.how, one.rounds, one.benchmark) == ("blocks", 333, "condorcet")
    assert 0.9 <= one.answered < 1
    assert "1/9 of its traffic" in " ".join(one.remarks)
    assert "they agree" in one.sentence
    # Random duels do not depend on answers, so the same ones are lost in both.
    np.testing.assert_allclose(one.regret, one.simulated)
    assert one.own == pytest.approx(one.regret.mean(), rel=0.1)


def test_a_world_that_does_not_fit_is_said(even):
    log, fitted = even
    found = log.replay("uniform", 0, 4, fitted)
    object.__setattr__(found, "simulated", found.simulated * 2)
    assert "do not agree" in found.sentence
    assert found.apart < -2


def test_log_replay_prints_a_table_and_json(tmp_path, capsys):
    path = str(tmp_path / "races.csv")
    races().write_csv(path)
    words = ["log", "replay", path, "--group", "race", "--fit", "utilities", "--runs", "2"]
    assert main([*words, "--policy", "uniform", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    (row,) = record["policies"]
    assert (row["policy"], row["how"], row["rounds"], row["answered"]) == (
        "uniform", "events", 240, 1.0,
    )  # fmt: skip
    assert main([*words, "--policy", "uniform"]) == 0
    shown = capsys.readouterr().out
    assert "one round for each event" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "kong"], "did you mean king"),
        (["--runs", "0"], "runs=0 must be at least 1"),
        (["--seed", "-1"], "seed=-1 must be"),
    ],
)
def test_mistakes_get_a_sentence(tmp_path, capsys, words, message):
    path = str(tmp_path / "races.csv")
    races().write_csv(path)
    assert main(["log", "replay", path, "--fit", "utilities", *words]) == 2
    assert message in capsys.readouterr().err
    uneven().write_csv(path)
    assert main(["log", "replay", path, "--fit", "utilities"]) == 2
    assert "not shown evenly" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("policy", ["dts", "sw-dts:window=300", "king"])
def test_a_replay_loses_what_the_compressed_world_loses(policy):
    spec = "geometric-btl:arms=4,rounds={},phases=3,change=winner,ratio=2"
    world, short = (make_world(spec.format(rounds), seed=1) for rounds in (27_000, 1500))
    names = ("a", "b", "c", "d")
    lost, true = [], []
    for seed in range(10):
        log = read_log(even_votes(world, seed, names))
        found = log.replay(policy, seed, 2, fit(log.counts, "utilities", bins=64))
        assert (found.how, found.rounds) == ("blocks", 1500)
        lost.append(found.regret.mean())
        true += [play(policy, short, 100 + seed + 10 * i).total for i in range(3)]
    error = np.hypot(*(np.std(x, ddof=1) / np.sqrt(len(x)) for x in (lost, true)))
    assert abs(np.mean(lost) - np.mean(true)) < 2 * error
