"""Identification: the measure against a slow reference, and games that it does not change."""

from collections import deque
from itertools import pairwise

import numpy as np
import pytest

from driftduel.games import Identification, checkpoints, identify, play, streams
from driftduel.games.identification import LASTING
from driftduel.games.rounds import announce_arms, decide_duel
from driftduel.policies import Policy, make_policy
from driftduel.worlds import make_world

# Piecewise, with ties, with late answers, with options that come and go.
WORLDS = (
    "geometric-btl:arms=4,rounds=900,phases=3,change=winner",
    "ladder:arms=3,rounds=400,p=0.7,ties=0.2,delay=5",
    "retire-best:arms=4,rounds=600",
)


def reference(leaders, winners):
    """Measure from the leaders 0, ..., T and the winners 1, ..., T, word by word."""
    rounds = len(winners)
    right = [leaders[t] == winners[t] for t in range(rounds)]
    last = leaders[rounds] == winners[rounds - 1]
    until, begin = [], 0
    for t in range(1, rounds + 1):
        if t < rounds and winners[t] == winners[begin]:
            continue
        phase, length = right[begin:t], t - begin
        leads = [
            n
            for n in range(length)
            if all(phase[n : n + LASTING]) and (length - n <= LASTING or n + LASTING <= length)
        ]
        until.append(leads[0] if leads else length)
        begin = t
    wrong = [n for n in range(rounds) if not right[n]]
    settled = rounds + 1 if not last else wrong[-1] + 1 if wrong else 0
    after = [*right[1:], last]  # after n votes, n = 1, ..., T
    changes = sum(a != b for a, b in pairwise(leaders[:rounds]) if a >= 0)
    return {
        "right": sum(right) / rounds,
        "until": sum(until) / len(until),
        "settled": settled,
        "changes": changes,
        "right_at": [after[n - 1] for n in checkpoints(rounds)],
    }


def measured(found):
    return {
        "right": found.right,
        "until": found.until,
        "settled": found.settled,
        "changes": found.changes,
        "right_at": found.right_at.tolist(),
    }


@pytest.mark.kernels
def test_the_measure_is_that_of_the_reference_on_random_leaders():
    rng = np.random.default_rng(1)
    for _ in range(200):
        rounds = int(rng.integers(1, 400))
        phases = int(rng.integers(1, 5))
        cuts = np.sort(rng.integers(0, rounds, phases - 1))
        winners = np.repeat(rng.integers(0, 3, phases), np.diff([0, *cuts, rounds]))
        # Leaders that stay for a while, and are right for long stretches now and then.
        stays = rng.random(rounds + 1) < rng.choice([0.5, 0.9, 0.99, 0.999])
        leaders = rng.integers(-1, 3, rounds + 1)
        for t in range(1, rounds + 1):
            if stays[t]:
                leaders[t] = leaders[t - 1]
        found = identify(leaders, winners)
        assert measured(found) == reference(leaders.tolist(), winners.tolist())


@pytest.mark.kernels
@pytest.mark.parametrize(("streak", "until"), [(99, 400), (100, 50), (101, 50)])
def test_a_winner_leads_after_a_hundred_votes_in_a_row(streak, until):
    leaders = np.ones(401, np.int64)
    leaders[50 : 50 + streak] = 0
    found = identify(leaders, np.zeros(400, np.int64))
    assert found.until == until
    assert measured(found) == reference(leaders.tolist(), [0] * 400)


def slow_leaders(policy, spec, seed, mode):
    """Return the leaders of a game by ask and tell, and the winners."""
    for_world, for_outcomes, for_policy = streams(seed)
    world = make_world(spec, int(for_world.generate_state(1)[0]))
    learner = make_policy(policy, world.arms, for_policy, mode=mode)
    (chunk,) = world.chunks()
    outcome_draws = np.random.default_rng(for_outcomes).random(world.rounds)
    rows = np.repeat(chunk.rows, np.diff([*chunk.starts.tolist(), chunk.end]))
    leaders, late = [], deque()
    for t in range(world.rounds):
        if t == 0 or rows[t] != rows[t - 1]:
            announce_arms(learner, chunk, rows[t])
        leader = learner.best()
        leaders.append(-1 if leader is None else leader)
        duel = learner.ask()
        late.append((duel, decide_duel(learner, duel, chunk, rows[t], outcome_draws[t])[1]))
        if len(late) > chunk.delay:
            learner.tell_first_won(*late.popleft())
    leader = learner.best()
    leaders.append(-1 if leader is None else leader)
    return leaders, chunk.row_winners()[rows].tolist()


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("policy", "mode", "world"),
    [
        ("king", "panel", WORLDS[0]),
        *(
            pytest.param("king", mode, world, marks=pytest.mark.long)
            for mode in ("panel", "serve")
            for world in WORLDS[1:]
        ),
        pytest.param("sw-dts:window=200", "panel", WORLDS[0], marks=pytest.mark.long),
    ],
)
def test_a_game_is_measured_as_by_ask_and_tell_and_stays_the_same(policy, mode, world):
    observer = Identification(make_world(world).rounds)
    game = play(policy, world, 5, mode=mode, observer=observer)
    plain = play(policy, world, 5, mode=mode)
    assert game.regret["dynamic"].tolist() == plain.regret["dynamic"].tolist()
    assert game.plays.tolist() == plain.plays.tolist()
    assert game.policy.rng.bit_generator.state == plain.policy.rng.bit_generator.state
    # With absences, arms are announced before `ask`, so the leader is one of those present.
    assert measured(observer) == reference(*slow_leaders(policy, world, 5, mode))


@pytest.mark.kernels
def test_a_policy_that_names_no_arm_is_never_right():
    observer = Identification(400)
    play("uniform", WORLDS[1], 2, observer=observer)
    assert measured(observer)["right"] == 0
    assert observer.settled == 401
    assert observer.until == 400


class Guesser(Policy):
    """Names the arm that won last; in plain Python."""

    last = 0

    def choose(self, t):
        return t % self.arms, (t + 1) % self.arms, ()

    def learn(self, t, first, second, won, notes):
        self.last = first if won else second
        return 0

    def best(self):
        return self.last


@pytest.mark.kernels
def test_a_policy_in_plain_python_is_measured_too():
    world = make_world("ladder:arms=3,rounds=300,delay=4", 3)
    observer = Identification(300)
    play(Guesser(3, np.random.default_rng(4)), world, 3, observer=observer)
    guesser, leaders = Guesser(3, np.random.default_rng(4)), []
    seen = Identification(300)
    seen.before = lambda policy, t: leaders.append(policy.best())
    play(guesser, world, 3, observer=seen)
    (chunk,) = world.chunks()
    winners = [int(chunk.row_winners()[0])] * 300
    assert measured(observer) == reference([*leaders, guesser.best()], winners)
    assert 0 < observer.right < 1


def test_checkpoints_are_ascending_and_end_with_the_last_vote():
    for rounds in (1, 2, 99, 100, 3_000, 10**7):
        votes = checkpoints(rounds)
        assert votes[0] == 1
        assert votes[-1] == rounds
        assert (np.diff(votes) > 0).all()
        assert len(votes) < 3_000
    assert checkpoints(10**6)[:100].tolist() == list(range(1, 101))
