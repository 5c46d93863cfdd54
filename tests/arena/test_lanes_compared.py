"""Lanes compared: against a slow twin, and king against uniform where the truth is known."""

import json

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("msgspec")

from driftduel.arena import lanes_compared
from driftduel.arena.lanes_compared import LanesCompared
from driftduel.logs.bradley_terry import bradley_terry, preferences_of
from driftduel.policies import make_policy


def live(seed, specs=("king", "uniform"), arms=4, rounds=3000, phases=2, mode="panel", keep=None):
    """Let policies live side by side; return what is said, and what was lost in truth."""
    rng = np.random.default_rng([7, seed])
    worlds = [rng.permutation(np.linspace(0.8, -0.8, arms)) for _ in range(phases)]
    policies = [make_policy(spec, arms, 10 * seed + i, mode=mode) for i, spec in enumerate(specs)]
    lanes = LanesCompared(len(specs), arms)
    lost, count = np.zeros(len(specs)), np.zeros(len(specs))
    for t in range(rounds):
        u = worlds[t * phases // rounds]
        lane = int(rng.integers(len(specs)))
        duel = policies[lane].ask()
        loss = 1 / (1 + np.exp(u - u.max())) - 0.5
        lost[lane] += (loss[duel.first] + loss[duel.second]) / 2
        count[lane] += 1
        if duel.first == duel.second:
            policies[lane].tell(duel, duel.first)
            lanes.alone(lane, duel.first)
            continue
        won = int(rng.random() < 1 / (1 + np.exp(u[duel.second] - u[duel.first])))
        policies[lane].tell(duel, duel.first if won else duel.second)
        lanes.vote(lane, duel.first, duel.second, won)
        if keep is not None:
            keep.append((lane, duel.first, duel.second, won))
    return lanes, lost / count


def twin(votes, lanes, arms):
    """The same from a list of votes: losses of each block, then a ratio with its residuals."""
    blocks, block, turn = [], [], 0
    for vote in votes:
        turn ^= 1
        block.append((*vote, turn))
        per_lane = [sum(v[0] == lane for v in block) for lane in range(lanes)]
        if len(block) - max(per_lane) >= max(100, 30 * arms):
            blocks.append(block)
            block = []

    def wins(some):
        table = np.zeros((arms, arms))
        for _, first, second, won, _ in some:
            table[(first, second) if won else (second, first)] += 1
        return table

    def against(leading, measuring):
        leader = np.argmax(bradley_terry(wins(leading), 0.25)[0])
        return preferences_of(bradley_terry(wins(measuring))[0])[leader] - 0.5

    rows = np.zeros((len(blocks), lanes, 3))
    for b, block in enumerate(blocks):
        for lane in range(lanes):
            mine = [v for v in block if v[0] == lane]
            others = [v for v in block if v[0] != lane]

            def cost(loss, mine=mine):
                return sum((loss[v[1]] + loss[v[2]]) / 2 for v in mine)

            lows = []
            for half in (0, 1):
                measuring = [v for v in others if v[4] == half]
                leading = [v for v in block if v[0] == lane or v[4] != half]
                lows.append(cost(against(leading, measuring)))
            rows[b, lane] = len(mine), np.mean(lows), cost(against(others, others))
    return rows


def test_it_is_the_twin():
    votes = []
    lanes, _ = live(3, keep=votes)
    rows = twin(votes, 2, 4)
    B = len(rows)
    assert lanes.blocks == B >= 8
    t = 2.1  # about; cancelled below
    for lane, found in enumerate(lanes.losses()):
        n, low, high = rows[:, lane].T
        assert found.duels == sum(vote[0] == lane for vote in votes)
        assert found.loss == pytest.approx((low.sum() + high.sum()) / 2 / n.sum())
        errors = [
            np.sqrt(((x - n * x.sum() / n.sum()) ** 2).sum() * B / (B - 1)) / n.sum()
            for x in (low, high)
        ]
        below, above = low.sum() / n.sum() - found.low, found.high - high.sum() / n.sum()
        assert below / errors[0] == pytest.approx(above / errors[1])
        assert below / errors[0] == pytest.approx(t, rel=0.1)
    middle = rows[:, :, 1:].mean(axis=2)
    ratio = middle.sum(axis=0) / rows[:, :, 0].sum(axis=0)
    residual = (middle - rows[:, :, 0] * ratio) / rows[:, :, 0].sum(axis=0)
    error = np.sqrt(((residual[:, 1] - residual[:, 0]) ** 2).sum() * B / (B - 1))
    found = lanes.difference(1)
    assert found.more == pytest.approx(ratio[1] - ratio[0])
    assert (found.high - found.more) / error == pytest.approx(t, rel=0.1)


@pytest.mark.long
def test_king_against_uniform_the_truth_is_inside():
    inside, differences, known = [], [], []
    for seed in range(20):
        lanes, truth = live(seed)
        for found, true in zip(lanes.losses(), truth, strict=True):
            inside.append(found.low <= true <= found.high)
        found = lanes.difference(1)
        differences.append(found.low <= truth[1] - truth[0] <= found.high)
        known.append(found.known and found.more > 0)
    # In 200 lives of another size it was 98%, 96% and 95%; at 95% fewer than 16 of 20 have a
    # chance of 0.3%, and the seeds are fixed.
    assert np.mean(inside) >= 0.9
    assert np.mean(differences) >= 0.8
    assert np.mean(known) >= 0.8  # and it is not so wide that nothing is ever said


def test_a_lane_is_not_measured_with_its_own_votes():
    votes = []
    live(4, keep=votes)
    flipped = [(lane, a, b, 1 - won if lane == 0 else won) for lane, a, b, won in votes]
    sums = []
    for some in (votes, flipped):
        lanes = LanesCompared(2, 4)
        for vote in some:
            lanes.vote(*vote)
        sums.append(lanes._sums)
    one, other = sums
    assert one[2, 0] == other[2, 0]  # by the others alone: who leads, and by how much
    assert one[2, 1] != other[2, 1]
    # By the other reckoning its own votes may say who leads, but not by how much.
    assert abs(one[1, 0] - other[1, 0]) < abs(one[1, 1] - other[1, 1])


def test_too_few_votes_are_said_to_be_too_few():
    lanes, _ = live(0, rounds=500)
    assert 0 < lanes.blocks < lanes_compared._FEWEST_BLOCKS
    assert all(found.loss is None for found in lanes.losses())
    assert not lanes.difference(1).known
    (said,) = lanes.says(["king", "uniform"])
    assert said.startswith("Too few votes to say whether uniform or king costs voters less")
    assert sum(found.duels for found in lanes.losses()) == 500


def test_two_that_do_the_same_are_not_told_apart():
    lanes, _ = live(1, specs=("uniform", "uniform"))
    assert not lanes.difference(1).known
    assert lanes.says(["a", "b"])[0].startswith("It is open whether b or a costs voters less")
    assert lanes.difference(0).more == 0


def test_alone_costs_what_the_one_loses():
    lanes = LanesCompared(2, 2)
    rng = np.random.default_rng(0)
    while lanes.blocks < 8:
        lanes.alone(0, 0)
        lanes.vote(1, 0, 1, int(rng.random() < 0.1))
        lanes.vote(0, 0, 1, int(rng.random() < 0.1))
    first, second = lanes.losses()
    # One in two duels of the first lane shows the worse option alone: .4; all others cost .2.
    assert first.low < 0.3 < first.high
    assert second.low < 0.2 < second.high
    assert lanes.difference(1).more == pytest.approx(-0.1, abs=0.03)


def test_a_single_lane_is_counted_and_not_measured():
    lanes = LanesCompared(1, 2)
    for _ in range(1000):
        lanes.vote(0, 0, 1, 1)
    (found,) = lanes.losses()
    assert (found.duels, found.loss) == (1000, None)
    assert lanes.says(["king"]) == []


def test_a_snapshot_in_between_changes_nothing():
    votes = []
    whole, _ = live(5, keep=votes)
    lanes = LanesCompared(2, 4)
    for place, vote in enumerate(votes):
        if place % 499 == 0:
            lanes = LanesCompared.from_plain(json.loads(json.dumps(lanes.to_plain())))
        lanes.vote(*vote)
    assert lanes.to_plain() == whole.to_plain()
    assert lanes.losses() == whole.losses()


def test_options_may_join():
    lanes = LanesCompared(2, 2)
    lanes.vote(0, 0, 1, 1, "ann")
    lanes.widen()
    lanes.vote(1, 2, 0, -1, "bob")
    assert lanes._wins.sum() == 2
    assert lanes._wins[1, :, 2, 0].sum() == 0.5
    assert lanes._shown[1].tolist() == [0.5, 0, 0.5]
