"""Forecasts at the end of a log, and their comparison with ratings."""

import json
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("scipy")
pl = pytest.importorskip("polars")

from driftduel.cli import main  # noqa: E402
from driftduel.errors import DriftduelError  # noqa: E402
from driftduel.logs import counts_from_votes, evaluate, fit  # noqa: E402
from driftduel.logs.evaluation import OURS, _losses_of_ratings, _summary  # noqa: E402
from driftduel.logs.forecast import scores_when_first  # noqa: E402
from driftduel.logs.ratings import log_loss, rate  # noqa: E402
from driftduel.logs.vote_model import votes_by_place  # noqa: E402
from research.benchmarks import log_situations as situations  # noqa: E402


def counts_of(name, votes=4000, seed=1):
    return counts_from_votes(**situations.draw_situation(name, votes, seed).votes)


# ---- parts of counts ----


def test_parts_of_counts_add_up():
    counts = counts_of("returning voters, stationary")
    cut = int(counts.grid(10)[4])
    before, after = counts.between(0, cut), counts.between(cut, len(counts.wins))
    assert before.votes + after.votes == counts.votes
    for name in ("wins", "ahead", "tied", "parts", "parts_ahead"):
        one, two = getattr(before, name), getattr(after, name)
        axis = 1 if name.startswith("parts") else 0
        assert (np.concatenate((one, two), axis=axis) == getattr(counts, name)).all()
    assert before.last[-1] < after.first[0]
    assert before.groups.wins.sum() + after.groups.wins.sum() == counts.groups.wins.sum()
    assert after.groups.bin.min() >= 0
    assert after.groups.bin.max() < len(after.wins)
    assert before.weight + after.weight == pytest.approx(counts.weight)
    fit(before, "utilities")
    with pytest.raises(DriftduelError, match="coarse"):
        counts.between(0, int(counts.grid(10)[4]) + 1)
    with pytest.raises(DriftduelError, match="coarse"):
        counts.between(cut, cut)


# ---- forecast ----


def test_the_forecast_is_the_truth_of_the_last_stretch():
    rng = np.random.default_rng(0)
    n, K = 12_000, 4
    before, after = np.array([1.0, 0.3, 0, -0.5]), np.array([-0.5, 0.3, 0.6, 1.0])
    a = rng.integers(K, size=n)
    b = (a + rng.integers(1, K, size=n)) % K
    u = np.where(np.arange(n)[:, None] < n // 2, before, after)
    i = np.arange(n)
    won = rng.random(n) < 1 / (1 + np.exp(u[i, b] - u[i, a] - 0.4))
    found = fit(counts_from_votes(a, b, won, names=list("ABCD")), "utilities")
    forecast = found.forecast()
    truth = 1 / (1 + np.exp(after[None, :] - after[:, None]))
    assert forecast.mean == pytest.approx(truth, abs=0.05)
    off = ~np.eye(K, dtype=bool)
    assert ((forecast.low <= truth) & (truth <= forecast.high))[off].mean() >= 0.8
    assert (forecast.low[off] < forecast.mean[off]).all()
    assert (forecast.high - forecast.low)[off].max() < 0.15
    assert (forecast.mean + forecast.mean.T)[off] == pytest.approx(1.0)
    assert (np.diag(forecast.mean) == 0.5).all()
    # Shown first: .4 logits more.
    first = 1 / (1 + np.exp(after[None, :] - after[:, None] - 0.4))
    assert forecast.first[off] == pytest.approx(first[off], abs=0.07)
    pair = forecast.pair("D", "A")
    assert pair["b_first"] < pair["probability"] < pair["a_first"]
    assert pair["low"] < pair["probability"] < pair["high"]


def test_absent_options_have_no_forecast_unless_asked_for():
    situation = situations.draw_situation("leader leaves", 4000, 2)
    counts = counts_from_votes(**situation.votes)
    found = fit(counts, "utilities")
    (gone,) = set(range(5)) - set(situation.present)
    forecast = found.forecast()
    name = forecast.names[gone]
    assert name not in forecast.present
    assert len(forecast.present) == 4
    off = np.delete(np.arange(5), gone)
    for matrix in (forecast.mean, forecast.low, forecast.high, forecast.first):
        assert np.isnan(matrix[gone, off]).all()
        assert np.isnan(matrix[off, gone]).all()
        assert np.isfinite(matrix[np.ix_(off, off)]).all()
    assert forecast.pair(name, forecast.present[0])["probability"] is None
    everything = found.forecast(absent=True)
    assert everything.pair(name, forecast.present[0])["probability"] > 0.5
    assert np.isfinite(everything.mean).all()


def test_a_walk_goes_on_after_the_end_and_a_stretch_does_not():
    counts = counts_of("gradual drift")
    walk, stretches = fit(counts, "walk"), fit(counts, "utilities")
    off = ~np.eye(6, dtype=bool)
    now, later = walk.forecast(), walk.forecast(ahead=4000)
    assert ((later.high - later.low) > (now.high - now.low))[off].mean() > 0.9
    assert np.abs(later.mean - 0.5)[off].mean() < np.abs(now.mean - 0.5)[off].mean()
    same = stretches.forecast(ahead=4000)
    assert (same.mean == stretches.forecast().mean).all()
    with pytest.raises(DriftduelError, match="ahead=-1"):
        walk.forecast(ahead=-1)


def test_a_pair_needs_two_options_of_the_log():
    forecast = fit(counts_of("stationary", 1000), "utilities").forecast()
    with pytest.raises(DriftduelError, match="there is no option 'x'"):
        forecast.pair("o1", "x")
    with pytest.raises(DriftduelError, match="two different options"):
        forecast.pair("o1", "o1")
    assert set(forecast.ranking(["o1", "o3"])) == {"o1", "o3"}


# ---- evaluation ----


def test_the_fit_before_a_block_knows_nothing_of_it():
    counts = counts_of("two changes", 3000)
    whole = evaluate(counts, 6, kind="utilities")
    # The last block by hand.
    edges = counts.grid(10)
    votes = votes_by_place(
        counts.wins[edges[-2] :].sum(axis=0), counts.ahead[edges[-2] :].sum(axis=0)
    )
    found = fit(counts.between(0, int(edges[-2])), "utilities")
    last = log_loss(votes, scores_when_first(found, ahead=float(votes.sum())))
    assert len(whole.starts) == 6
    assert whole.starts[-1] == counts.first[edges[-2]]
    # Other votes in the last block change the loss by what that block loses, and nothing else.
    turned = counts_from_votes(
        **situations.draw_situation("two changes", 3000, 1).votes
        | {"outcome": np.r_[
            situations.draw_situation("two changes", 3000, 1).votes["outcome"][
                : round(counts.per_bin()[: edges[-2]].sum())
            ],
            np.ones(round(votes.sum())),
        ]}
    )  # fmt: skip
    other = evaluate(turned, 6, kind="utilities")
    turned_votes = votes_by_place(
        turned.wins[edges[-2] :].sum(axis=0), turned.ahead[edges[-2] :].sum(axis=0)
    )
    moved = log_loss(turned_votes, scores_when_first(found, ahead=float(votes.sum())))
    assert (other.losses[OURS] - whole.losses[OURS]) * whole.votes == pytest.approx(moved - last)


def test_ratings_choose_their_rates_on_earlier_blocks():
    counts = counts_of("two changes", 3000)
    edges = counts.grid(10)
    votes = np.stack(
        [votes_by_place(counts.wins[i:j].sum(axis=0), counts.ahead[i:j].sum(axis=0))
         for i, j in pairwise(edges)]
    )  # fmt: skip
    losses = _losses_of_ratings(counts, edges, votes)
    assert set(losses) == {
        "static Bradley-Terry", "decayed Bradley-Terry", "Elo",
        "static Bradley-Terry + first place", "decayed Bradley-Terry + first place",
        "Elo + first place",
    }  # fmt: skip
    static = rate(
        votes_by_place(counts.wins[: edges[4]].sum(0), counts.ahead[: edges[4]].sum(0)),
        placed=False,
    )
    assert losses["static Bradley-Terry"][4] == pytest.approx(
        log_loss(votes[4], static.when_first())
    )
    # A block may not decide its own rate: other votes in the last one change no choice before it.
    turned = votes.copy()
    turned[-1] = turned[-1].swapaxes(1, 2)
    again = _losses_of_ratings(counts, edges, turned)
    for name in losses:
        assert again[name][:-1] == pytest.approx(losses[name][:-1])


def test_a_decayed_rating_forgets_and_elo_follows():
    evaluation = evaluate(counts_of("two changes", 4000), 5, kind="utilities")
    static = evaluation.losses["static Bradley-Terry"]
    assert evaluation.losses["decayed Bradley-Terry"] < static - 0.005
    assert evaluation.losses["Elo"] < static - 0.005
    assert evaluation.losses[OURS] < static - 0.01
    assert evaluation.losses[OURS] <= evaluation.losses[evaluation.best] + 0.005


def test_the_first_place_helps_where_there_is_one():
    evaluation = evaluate(counts_of("first place, stationary", 6000), 4, kind="utilities")
    plain = evaluation.losses["static Bradley-Terry"]
    assert evaluation.losses["static Bradley-Terry + first place"] < plain - 0.01
    assert evaluation.losses[OURS] < plain - 0.01


def test_the_standard_error_is_that_of_a_ratio_over_blocks():
    counts = counts_of("stationary", 1000)
    edges = counts.grid(5)
    losses = {OURS: np.array([10.0, 12, 15]), "Elo": np.array([11.0, 11, 16])}
    votes = np.array([20.0, 20, 30])
    found = _summary(losses, votes, counts, edges, 3)
    mean = (37 - 38) / 70
    rest = np.array([-1.0, 1, -1]) - votes * mean
    assert found.apart["Elo"] == pytest.approx(mean)
    assert found.errors["Elo"] == pytest.approx(np.sqrt((rest**2).sum() * 3 / 2) / 70)
    assert found.best == "Elo"
    assert "about as well as the best rating, Elo" in found.sentence


def test_a_tie_counts_half_in_an_expected_score():
    counts = counts_of("30% ties, stationary", 4000)
    found = fit(counts, "utilities")
    wins = counts.wins.sum(axis=0)
    off = ~np.eye(5, dtype=bool)
    share = wins[off] / (wins + wins.T)[off]
    scores = scores_when_first(found)[off]
    assert scores == pytest.approx(share, abs=0.05)
    # The forecast is about decided votes, which are less even.
    decided = found.forecast().mean[off]
    clear = np.abs(share - 0.5) > 0.15
    assert clear.any()
    assert (np.abs(decided - 0.5) > np.abs(scores - 0.5) + 0.02)[clear].all()


@pytest.mark.parametrize(
    ("votes", "blocks", "message"),
    [(100, 4, "100 votes are too few"), (1000, 1, "blocks=1 must be at least 2")],
)
def test_what_cannot_be_evaluated_is_refused(votes, blocks, message):
    with pytest.raises(DriftduelError, match=message):
        evaluate(counts_of("stationary", votes), blocks)


def test_too_few_times_for_the_blocks_are_refused():
    counts = counts_from_votes([0] * 300, [1] * 300, [1] * 300, np.arange(300) // 60)
    with pytest.raises(DriftduelError, match="5 different times; choose fewer --blocks"):
        evaluate(counts, 8)


# ---- commands ----


@pytest.fixture
def path(tmp_path):
    situation = situations.draw_situation("leader leaves", 3000, 2)
    votes, names = situation.votes, np.array(situation.votes["names"])
    first, second = names[votes["first"]], names[votes["second"]]
    winner = np.where(votes["outcome"] == 1, first, second)
    frame = pl.DataFrame({"first": first, "second": second, "winner": winner})
    frame.write_csv(tmp_path / "votes.csv")
    return str(tmp_path / "votes.csv")


def test_log_forecast_prints_a_table_or_a_pair(path, capsys):
    assert main(["log", "forecast", path]) == 0
    out = capsys.readouterr().out
    assert "Not included, because absent at the end of the log: o" in out
    assert main(["log", "forecast", path, "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert len(about["present"]) == 4
    assert len(about["pairs"]) == 6
    a, b = about["pairs"][0]["a"], about["pairs"][0]["b"]
    assert main(["log", "forecast", path, "--pair", f"{a},{b}"]) == 0
    assert f"{a} beats {b} with probability" in capsys.readouterr().out
    (gone,) = set(about["options"]) - set(about["present"])
    for words, message in (
        (["--pair", f"{a},{gone}"], "is absent at the end of the log; add --absent"),
        (["--pair", a], "must be two options"),
        (["--pair", f"{a},nobody"], "there is no option 'nobody'"),
    ):
        assert main(["log", "forecast", path, *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["log", "forecast", path, "--pair", f"{a},{gone}", "--absent"]) == 0
    assert f"{a} beats {gone}" in capsys.readouterr().out


def test_log_evaluate_prints_a_sentence_and_a_table(path, capsys):
    assert main(["log", "evaluate", path, "--blocks", "3", "--fit", "utilities"]) == 0
    out = capsys.readouterr().out
    assert "driftduel predicts the next block of votes" in out
    assert "Elo + first place" in out
    assert main(["log", "evaluate", path, "--blocks", "1"]) == 2
    assert "blocks=1 must be at least 2" in capsys.readouterr().err
