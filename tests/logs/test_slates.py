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
    odds = probability / probability.T
    assert np.log(odds)[np.triu_indices(k, 1)] == pytest.approx(
        (utilities[:, None] - utilities)[np.triu_indices(k, 1)]
    )


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
    shown, order = simulated(k, rows, [seed, k], utilities)
    places = np.tile(np.arange(1, k + 1), (rows, 1))
    if not ranked:
        places[:, 1:] = UNRANKED
    slates = [(o.tolist(), p.tolist()) for o, p in zip(order, places, strict=True)]
    exact = reference.posterior(slates, options, 0.25, 20_000, rng)

    def wins(strengths):
        row, winner, loser, weight, _ = pair_weights(places, strengths[order])
        table = np.zeros((options, options))
        np.add.at(table, (order[row, winner], order[row, loser]), weight)
        return table

    start = bradley_terry(wins(np.ones(options)), 0.25)[0]
    mode, factor = bradley_terry(wins(np.exp(start)), 0.25)
    z = np.linalg.solve(factor.T, rng.normal(size=(options, 20_000))).T
    approximate = mode + z
    best = [np.bincount(u.argmax(axis=1), minlength=options) / len(u) for u in (exact, approximate)]
    centred = [u - u.mean(axis=1, keepdims=True) for u in (exact, approximate)]
    deviation = centred[0].std(axis=0)
    return (
        np.abs(centred[1].mean(axis=0) - centred[0].mean(axis=0)) / deviation,
        centred[1].std(axis=0) / deviation,
        np.abs(best[1] - best[0]),
    )


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
@pytest.mark.parametrize("k", [3, 8])
def test_the_posterior_is_close_to_the_exact_one(k, spread, ranked):
    means, deviations, best = _compare(k, ranked, spread, seed=1)
    assert means.max() < 0.35
    assert np.median(means) < 0.1
    assert 0.85 < deviations.min() <= deviations.max() < 1.15
    assert best.max() < 0.06
