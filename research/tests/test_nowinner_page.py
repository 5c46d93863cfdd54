"""The page about worlds without a winner: its numbers are the file's, and can be had again."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.games import play
from driftduel.policies import Court
from research.benchmarks import nowinner
from research.places import DOCS

ROOT = Path(__file__).parents[1]
compiled = pytest.mark.skipif(not jit_enabled(), reason="hours without the compiler")


PAGE = nowinner.PAGE.read_text("utf-8")
WHICH_POLICY = (DOCS / "guide" / "which-policy.md").read_text("utf-8")
RECORD = json.loads(nowinner.RECORD.read_text("utf-8"))
FOUND = {(row["world"], row["policy"]): row for row in RECORD["worlds"]}


def test_the_tables_on_the_page_are_those_of_the_file():
    assert nowinner.on_page(PAGE, nowinner.tables(RECORD)) == PAGE


def test_a_page_without_its_marks_ends_the_script():
    with pytest.raises(SystemExit, match="the page has no <!-- table: nowinner -->"):
        nowinner.on_page("nothing", {"nowinner": ""})


def test_the_page_promises_what_the_policy_guarantees():
    formula = Court.guarantee.partition(" in ")[0]
    assert f"**{formula}**" in PAGE


def test_what_the_page_says_of_the_numbers():
    lost = {key: row["exploitability"][0] for key, row in FOUND.items()}
    better = {world: lost[world, "king"] / lost[world, "court"] for world in nowinner.WORLDS}
    assert f"and in `cycle` {better.pop('cycle'):.1f} times less" in PAGE
    del better["winner"]
    low, high = map(float, re.search(r"loses ([\d.]+) to ([\d.]+) times less", PAGE).groups())
    assert (round(min(better.values()), 1), round(max(better.values()), 1)) == (low, high)
    assert lost["clash", "exp3s"] < lost["clash", "court"]
    ratios = {changing: [] for changing in (True, False)}
    for row in RECORD["winner"]:
        ratios[row["changing"]].append(row["ratio"][0])
    assert f"ratios of {min(ratios[True]):.2f} to {max(ratios[True]):.2f}." in PAGE
    more = [round(100 * (pick(ratios[False]) - 1)) for pick in (min, max)]
    assert f"it has {more[0]}% to {more[1]}% more regret than king" in PAGE
    assert f"it has {more[0]}% to {more[1]}% more." in WHICH_POLICY
    assert f"in the same {nowinner.RATIO_RUNS} games" in PAGE
    assert f"the same {nowinner.GOAL_RUNS} games for both" in PAGE
    grown = {(row["world"], row["policy"]): row for row in RECORD["growth"]}
    for row in RECORD["growth"]:
        if row["policy"] == "court":
            assert row["exponent"][1] < 0.5 < row["exponent"][2]
    even = [grown["rps-top", policy] for policy in ("king", "court")]
    assert 0.5 < even[0]["exponent"][0] < 0.7
    assert f"{even[0]['mean'][-1] / even[1]['mean'][-1]:.1f} times court's at the end" in PAGE
    assert grown["skew-top", "king"]["exponent"][1] > 1
    assert RECORD["speed"]["court, a winner"] > 5
    assert RECORD["speed"]["court, all of 21 mix"] > 0.5


def test_what_the_page_says_of_the_goals():
    five = [row["ratio"][0] for row in RECORD["goals"]["circles"] if row["world"][0] == "5"]
    reached = sum(ratio <= 0.5 for ratio in five)
    assert f"goal is reached in {reached} of {len(five)} worlds with a circle of five" in PAGE
    missed = [f"{ratio:.2f}" for ratio in five if ratio > 0.5]
    assert f"the ratio is {' and '.join(missed)};" in PAGE
    won = [row["ratio"][0] for row in RECORD["goals"]["winners"]]
    reached = sum(round(ratio, 2) <= 1.1 for ratio in won)
    assert f"The second goal is reached in {reached} of {len(won)} worlds**" in PAGE
    assert max(won[:-5]) <= 1.1
    assert f"in all {len(won) - 5} whose winner changes" in PAGE
    above = sorted(round(ratio, 2) - 1.1 for ratio in won if round(ratio, 2) > 1.1)
    said = " and ".join(f"{each:.2f}" for each in above)
    assert f"missed twice, by {said}" in " ".join(PAGE.split())


def test_a_circle_of_five_is_above_the_others():
    world = nowinner.CIRCLES["5 of 8, 0.65 over 0.75"].world(0)
    for matrix in world.matrices:
        beaten = (matrix > 0.5).sum(axis=1)
        top = np.sort(np.argsort(-beaten)[:5])
        assert (beaten[top] == 2 + 3).all()
        assert sorted(beaten) == [0, 1, 2, 5, 5, 5, 5, 5]
    assert len(world.matrices) == 4
    assert world.condorcet_winners() == [(1, None)]


def test_an_exponent_is_found_with_its_interval():
    at = np.array([1e3, 1e4, 1e5])
    runs = np.random.default_rng(0).uniform(0.5, 1.5, (20, 1)) * at**0.5
    assert nowinner.exponent(at, runs) == pytest.approx([0.5, 0.5, 0.5])
    noise = runs * np.random.default_rng(1).uniform(0.5, 1.5, runs.shape)
    middle, low, high = nowinner.exponent(at, noise)
    assert low < middle < high
    assert 0.45 < low < high < 0.6


def test_a_ratio_is_found_with_its_interval():
    ours = np.array([1.0, 2.0, 3.0, 4.0])
    assert nowinner.ratio(ours, 2 * ours) == [0.5, 0.5, 0.5]
    middle, low, high = nowinner.ratio(ours, ours[::-1])
    assert low < middle == 1 < high


@compiled
@pytest.mark.long
@pytest.mark.parametrize("world", nowinner.WORLDS)
def test_court_can_hardly_be_exploited(world):
    """As on the page, in other games: within four standard errors, and better than king there."""
    spec = nowinner.spec(nowinner.WORLDS[world])
    lost = np.array([nowinner.lost("court", spec, 9000 + run)[0] for run in range(6)])
    mean, error = FOUND[world, "court"]["exploitability"]
    spread = error * np.sqrt(nowinner.RUNS)
    assert lost.mean() < mean + 4 * spread * np.sqrt(1 / 6 + 1 / nowinner.RUNS)
    if world not in ("winner", "cycle"):
        assert lost.mean() < 0.8 * FOUND[world, "king"]["exploitability"][0]


@compiled
@pytest.mark.long
@pytest.mark.parametrize("world", nowinner.STANDING)
def test_it_grows_like_the_square_root(world):
    at = np.array([30_000, 100_000, 300_000, 1_000_000, 3_000_000])
    spec = nowinner.spec(nowinner.STANDING[world], int(at[-1]), 1)

    def curve(policy, seed):
        return play(policy, spec, seed=seed, points=at, benchmark="exploitability").curve

    curves = np.array([curve("court", 9000 + run) for run in range(8)])
    assert 0.35 < nowinner.exponent(at, curves)[0] < 0.65


@compiled
@pytest.mark.long
def test_where_a_winner_exists_it_is_king_within_a_few_per_cent():
    ratios = []
    for world in (
        "geometric-btl:arms=8,rounds=50000,phases=4",
        "total-order:arms=6,rounds=100000,phases=4,p=0.65",
        "random-condorcet:arms=6,rounds=100000,phases=4,p_min=0.6",
        "utilities:arms=8,rounds=100000,phases=4",
        "random-walk:arms=5,rounds=50000,sd=0.01",
    ):
        lost = [
            [play(policy, world, seed=9000 + run, points=2).total for run in range(30)]
            for policy in ("court", "king")
        ]
        ratios.append(nowinner.ratio(*np.array(lost))[0])
    assert np.exp(np.log(ratios).mean()) < 1.05
    assert max(ratios) < 1.25
