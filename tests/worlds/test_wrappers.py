"""Ties and absences around a world: every round as it should be, and what is read off it."""

from itertools import pairwise

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.games.prior_knowledge import knowledge
from driftduel.measures import measure
from driftduel.regret import KINDS, chunk_losses, exploitability, last_rounds, regret
from driftduel.worlds import WORLDS, WithAbsences, WithDelay, WithTies, make_world
from tests.games.test_presence import presence, random_events
from tests.preferences import naive

INSIDE = [
    "random-condorcet:arms=4,rounds=60,phases=5",
    "alternating:rounds=40",
    "seasonal:arms=4,rounds=50",
    "random-walk:arms=3,rounds=40,sd=0.5",
    "uniform-random:arms=4,rounds=40",
]


def arms_in(world):
    return [world.present(t) for t in range(1, world.rounds + 1)]


def winner_among(matrix, here):
    """Find the arm that beats all others that are there."""
    winners = [a for a in here if all(matrix[a, b] > 0.5 for b in here if b != a)]
    return winners[0] if winners else None


def loss(matrix, here, arm, benchmark, fixed):
    """Write down what an arm costs among those that are there."""
    if benchmark == "arm":
        return matrix[fixed, arm] - 0.5
    if benchmark == "von-neumann":
        return naive.von_neumann(matrix[np.ix_(here, here)]) @ (matrix[list(here), arm] - 0.5)
    if benchmark == "condorcet":
        return matrix[winner_among(matrix, here), arm] - 0.5
    scores = {}
    for a in here:
        others = [b for b in here if b != a]
        points = [matrix[a, b] if benchmark == "borda" else matrix[a, b] > 0.5 for b in others]
        scores[a] = sum(points) / max(1, len(others))
    return max(scores.values()) - scores[arm]


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize("spec", INSIDE)
@pytest.mark.parametrize("seed", range(3))
def test_every_round_is_the_inside_with_ties_and_without_those_away(spec, seed, share):
    inside = make_world(spec, seed=seed)
    events = random_events(inside, seed)
    world = WithTies(WithAbsences(inside, events), share)
    other = WithAbsences(WithTies(inside, share), events)
    here = presence(inside, events)
    rng = np.random.default_rng(seed)
    for first in (1, *rng.integers(1, world.rounds + 1, 5).tolist()):
        end = int(rng.integers(first + 1, world.rounds + 2))
        chunk, same = world.chunk(first, end), other.chunk(first, end)
        assert chunk.starts[0] == first
        assert chunk.end == end
        assert (np.diff(chunk.starts) > 0).all()
        for t in range(first, end):
            row = chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1]
            matrix = inside.preferences(t).matrix
            expected = (1 - share) * matrix + share / 2
            np.testing.assert_allclose(chunk.row_matrices()[row], expected, atol=1e-15)
            assert chunk.ties[row] == share
            assert tuple(np.flatnonzero(chunk.present[row])) == here(t) == world.present(t)
            winner = winner_among(matrix, here(t))
            assert chunk.row_winners()[row] == (-1 if winner is None else winner)
        for mine, theirs in zip(chunk[:3], same[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(chunk.present, same.present)
        np.testing.assert_allclose(chunk.matrices, same.matrices, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", INSIDE)
def test_regret_is_among_those_there(spec, kind):
    inside = make_world(spec, seed=1)
    events = [event for event in random_events(inside, 3) if kind != "static" or event[1] != 1]
    world = WithAbsences(inside, events)
    rng = np.random.default_rng(1)
    here = arms_in(world)
    a, b = np.transpose([rng.choice(arms, 2) for arms in here])
    benchmark, blend, _ = KINDS[kind]
    matrices = [world.preferences(t).matrix for t in range(1, world.rounds + 1)]
    nobody = [t for t in range(world.rounds) if winner_among(matrices[t], here[t]) is None]
    if benchmark == "condorcet" and nobody:
        with pytest.raises(DriftduelError, match=f"round {nobody[0] + 1} has no Condorcet winner"):
            regret(world, a, b, kind)
        return
    got = regret(world, a, b, kind, arm=1)
    for t, matrix in enumerate(matrices):
        costs = np.round([loss(matrix, here[t], arm, benchmark, 1) for arm in (a[t], b[t])], 13)
        assert got[t] == pytest.approx(float(blend(*costs)), abs=1e-12)
    for chunk in world.chunks():
        if not nobody:
            assert (np.isnan(chunk_losses(chunk)) == ~chunk.present).all()


def test_nobody_plays_an_arm_that_is_away():
    world = WithAbsences(make_world("named:rounds=10"), [(4, 2, False), (6, 1, False)])
    with pytest.raises(DriftduelError, match="round 5 plays arm 2, an absent arm"):
        regret(world, [0, 2, 2, 0, 0], [1, 1, 1, 1, 2])
    with pytest.raises(DriftduelError, match="arm=1 is absent in round 6"):
        regret(world, [0] * 6, [0] * 6, "static", arm=1)
    assert len(regret(world, [0] * 5, [0] * 5, "static", arm=1)) == 5


def test_an_opponent_is_there_all_the_time():
    inside = make_world("random-condorcet:arms=4,rounds=60,phases=3", seed=2)
    world = WithAbsences(inside, [(11, 0, False), (31, 0, True), (31, 1, False), (41, 2, False)])
    rng = np.random.default_rng(1)
    here = arms_in(world)
    duels = [rng.choice(arms, 2) for arms in here]
    counts = np.zeros((60, 4), np.int64)
    for t, pair in enumerate(duels):
        np.add.at(counts[t], pair, 1)
    plays = np.cumsum(counts, axis=0)
    at = last_rounds(world)
    starts = [1, 11, 31]
    got = exploitability(world, at, plays[at - 1], starts)
    for i, (low, high) in enumerate(((1, 11), (11, 31), (31, 61))):
        won = {
            j: sum(world.preferences(t).matrix[j, duels[t - 1]].sum() - 1 for t in range(low, high))
            for j in range(4)
            if all(j in here[t - 1] for t in range(low, high))
        }
        assert got[i] == pytest.approx(max(won.values()) / 2)
    gone = WithAbsences(inside, [(11, 0, False), *((21, arm, False) for arm in (1, 2))])
    assert len(exploitability(gone, last_rounds(gone), np.ones((5, 4), np.int64).cumsum(0))) == 1
    gone = WithAbsences(inside, [(1, 3, False), *((21, arm, arm == 3) for arm in range(4))])
    at = last_rounds(gone)
    with pytest.raises(DriftduelError, match="no arm is present all the time from round 1 on"):
        exploitability(gone, at, np.ones((len(at), 4), np.int64).cumsum(0))


@pytest.mark.parametrize("spec", INSIDE)
@pytest.mark.parametrize("seed", range(4))
def test_measures_are_among_those_there(spec, seed):
    inside = make_world(spec, seed=seed)
    world = WithAbsences(inside, random_events(inside, seed))
    here = arms_in(world)
    matrices = [world.preferences(t).matrix for t in range(1, world.rounds + 1)]
    winners = [winner_among(matrix, arms) for matrix, arms in zip(matrices, here, strict=True)]
    switches, variation, of_winner = [], 0.0, 0.0
    for t in range(1, world.rounds):
        stay = sorted(set(here[t]) & set(here[t - 1]))
        steps = np.abs(matrices[t] - matrices[t - 1])
        most = steps[np.ix_(stay, stay)].max(initial=0.0)
        if most > 0 or here[t] != here[t - 1]:
            switches.append(t + 1)
        variation += most
        if winners[t] in stay:
            of_winner += steps[winners[t], stay].max()
    found = measure(world)
    assert found.preference_switch_rounds.tolist() == switches
    assert found.total_variation == pytest.approx(variation)
    assert found.significant_switches is None
    assert found.absences
    assert found.von_neumann_switch_rounds is None
    smith = [
        tuple(here[t][i] for i in naive.smith_set(matrix[np.ix_(here[t], here[t])]))
        for t, matrix in enumerate(matrices)
    ]
    changes = [t for t in range(world.rounds) if t == 0 or smith[t] != smith[t - 1]]
    assert found.smith_sets == [(t + 1, smith[t]) for t in changes]
    expected = [t + 1 for t in range(1, world.rounds) if winners[t] != winners[t - 1]]
    assert [first for first, _ in found.condorcet_winners[1:]] == expected
    told = knowledge("oracle-rucb", world)
    if None in winners:
        assert found.condorcet_switches is None
        assert told["at"] == "+".join(map(str, switches))
    else:
        assert found.condorcet_switch_rounds == expected
        assert found.condorcet_variation == pytest.approx(of_winner)
        assert told["at"] == ("+".join(map(str, expected)) or "+")
        assert "bounds" not in found.as_dict()
        with pytest.raises(DriftduelError, match="not defined where arms come and go"):
            found.bounds()


def test_measures_count_a_tie_as_half_a_win():
    plain, tied = (make_world(f"two-arm:rounds=100{more}") for more in ("", ",ties=0.5"))
    found = measure(tied)
    assert found.ties == 0.5
    assert found.total_variation == pytest.approx(measure(plain).total_variation / 2)
    assert found.condorcet_winners == measure(plain).condorcet_winners
    assert not found.absences


# Worlds with requests have ties of their own chunks, see test_requests.py.
WRAPPED = [entry for entry in WORLDS if entry.name not in ("routing", "table")]


@pytest.mark.parametrize("entry", WRAPPED, ids=lambda entry: entry.name)
def test_every_world_takes_ties(entry, tmp_path):
    spec = entry.name
    keys = {parameter.name for parameter in entry.parameters}
    more = ["rounds=300"] if "rounds" in keys else []
    if spec == "file":
        (tmp_path / "m.csv").write_text("0.5,0.6\n0.4,0.5\n")
        more.append(f"path={tmp_path / 'm.csv'}")
    if spec == "preflib":
        (tmp_path / "ranks.csv").write_text("a,b\n1,2\n2,1\n1,2\n")
        more.append(f"path={tmp_path / 'ranks.csv'}")
    if spec == "log":
        pytest.importorskip("polars")
        pytest.importorskip("scipy")
        (tmp_path / "log.csv").write_text("winner,loser\n" + "a,b\nb,a\na,b\n" * 20)
        more.append(f"path={tmp_path / 'log.csv'}")
    inside, world, none = (
        make_world(f"{spec}:" + ",".join([*more, *ties])) for ties in ([], ["ties=0.4"], ["ties=0"])
    )
    assert isinstance(world, WithTies)
    assert type(none) is type(inside)
    assert repr(world) == f"make_world({world.spec!r})"
    assert repr(WithTies(inside, 0.4)) == f"WithTies({inside!r}, 0.4)"
    both = make_world(f"{spec}:" + ",".join([*more, "delay=8", "ties=0.4"]))
    assert (both.chunk(1, 9).delay, inside.chunk(1, 9).delay) == (8, 0)
    assert repr(WithDelay(inside, 8)) == f"WithDelay({inside!r}, 8)"
    for late, prompt in zip(both.chunk(3, 9)[:-1], world.chunk(3, 9)[:-1], strict=True):
        np.testing.assert_array_equal(late, prompt)
    np.testing.assert_allclose(
        world.preferences(7).matrix, 0.6 * inside.preferences(7).matrix + 0.2, atol=1e-15
    )
    assert world.condorcet_winners() == inside.condorcet_winners()
    assert world.drifts == inside.drifts


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: make_world("two-arm:ties=1"), "ties=1 must be a number at least 0 and below 1"),
        (lambda: make_world("two-arm:ties=-0.1"), "ties=-0.1 must be"),
        (lambda: make_world("two-arm:tie=0.1"), "no key 'tie'; did you mean ties"),
        (lambda: WithTies(make_world("two-arm"), 1.0), "ties=1.0 must be"),
        (lambda: make_world("two-arm:delay=-1"), "delay=-1 must be"),
        (lambda: make_world("two-arm:delay=0.5"), "delay=0.5 must be"),
        (lambda: make_world("two-arm:delay=1e7"), "delay=1e7 must be"),
        (lambda: WithDelay(make_world("two-arm"), 1.5), "delay=1.5 must be a whole number from 0"),
        (lambda: WithDelay(make_world("two-arm"), 10**7), "delay=10000000 must be a whole number"),
        (lambda: make_world("arrivals:pool=13"), "pool=13 must be at most arms=12"),
        (
            lambda: make_world("sleeping:rounds=108"),
            "108 joins and departures need more than rounds",
        ),
        (lambda: make_world("retire-best:times=12"), "times=12 must be below arms=12"),
    ],
)
def test_mistakes_are_said_kindly(make, said):
    with pytest.raises(DriftduelError) as error:
        make()
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([(11, 0, False)], "a round from 1 to 10, an arm from 0 to 1"),
        ([(3, 2, False)], "(3, 2, False) is not"),
        ([(3.5, 1, False)], "(3.5, 1, False) is not"),
        ([(3, 0, False), (5, 1, False)], "no arm is present in round 5"),
        ([(3, 0, False), (3, 0, True)], "arm 0 cannot both join and leave in round 3"),
    ],
)
def test_events_that_cannot_be_are_refused(events, said):
    with pytest.raises(DriftduelError) as error:
        WithAbsences(make_world("two-arm:rounds=10"), events)
    assert said in str(error.value)


@pytest.mark.parametrize("seed", range(5))
def test_arrivals_keep_a_pool_whose_worst_leaves(seed):
    world = make_world("arrivals:arms=9,rounds=500,pool=4", seed=seed)
    assert world.present(1) == (0, 1, 2, 3)
    changes = world.starts[1:].tolist()
    assert len(changes) == 5
    for newcomer, t in enumerate(changes, start=4):
        before, after = set(world.present(t - 1)), set(world.present(t))
        (left,) = before - after
        assert after - before == {newcomer}
        matrix = world.preferences(t).matrix
        assert all(matrix[other, left] > 0.5 for other in before - {left})
    gaps = [make_world("arrivals:better=3", seed=s).preferences(1).matrix for s in range(20)]
    assert np.mean([m[6:, :6].mean() for m in gaps]) > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_sleepers_fall_asleep_and_wake_up(seed):
    world = make_world("sleeping:arms=4,rounds=3000,events=60,phases=3", seed=seed)
    here = [set(world.present(t)) for t in (1, *world.starts[1:].tolist())]
    assert len(here) == 61
    assert all(len(before ^ after) == 1 for before, after in pairwise(here))
    assert min(map(len, here)) >= 1
    assert {arm for arms in here for arm in set(range(4)) - arms} == set(range(4))
    matrices = {world.preferences(t).matrix.tobytes() for t in (1, 1000, 1001, 2000, 2001, 3000)}
    assert len(matrices) == 3


def test_the_best_is_taken_away_again_and_again():
    world = make_world("retire-best:arms=6,rounds=600,times=5", seed=3)
    winners = world.condorcet_winners()
    assert [first for first, _ in winners] == [1, 101, 201, 301, 401, 501]
    for (_, winner), (first, _) in pairwise(winners):
        assert winner in world.present(first - 1)
        assert winner not in world.present(world.rounds)
    assert len(world.present(600)) == 1
