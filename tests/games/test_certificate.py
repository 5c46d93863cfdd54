"""Certificates: counts, decided pairs and rankings against a slow reference; error rates."""

import itertools
import math

import numpy as np
import pytest

pytest.importorskip("scipy")

from driftduel.evidence import reaches
from driftduel.games import checkpoints, play, trace
from driftduel.games.certificate import CertificateObserver, votes_needed
from driftduel.worlds import make_world


def test_the_votes_needed_are_the_fewest_whose_e_value_reaches_the_bar():
    for bar in (20.0, 40.0, 900.0):
        needed = votes_needed(400, math.log(bar))
        for lost in (0, 1, 2, 7, 50, 399, 400):
            wins = int(needed[lost])
            assert reaches(wins, lost, math.log(bar))
            assert not reaches(wins - 1, lost, math.log(bar))
        assert (np.diff(needed) >= 1).all()


def blocks_of(arms, top):
    return [range(top), range(top, arms)] if top else [[rank] for rank in range(arms)]


def pairs_apart(arms, top):
    """Return the pairs of ranks (high, low) that lie in different blocks."""
    blocks = blocks_of(arms, top)
    return [
        (high, low)
        for above, below in itertools.combinations(blocks, 2)
        for high in above
        for low in below
    ]


def reference(game, top, error):
    """Measure a game, duel by duel; return the votes and answer of the certificate, and shares."""
    world, arms = game.world, game.world.arms
    apart = pairs_apart(arms, top)
    log_bar = math.log(len(apart) / error)
    wins, decide_duel = np.zeros((arms, arms), int), np.eye(arms, dtype=bool)
    votes, right, shares = None, None, []
    marks = set(checkpoints(world.rounds).tolist())

    def share(order, t):
        matrix = world.preferences(min(t, world.rounds)).matrix
        return np.mean([matrix[order[high], order[low]] >= 0.5 for high, low in apart])

    rounds = zip(game.first.tolist(), game.second.tolist(), game.first_won.tolist(), strict=True)
    for t, (first, second, won) in enumerate(rounds, start=1):
        if first != second and won >= 0:
            winner, loser = (first, second) if won else (second, first)
            wins[winner, loser] += 1
            if votes is None and reaches(
                int(wins[winner, loser]), int(wins[loser, winner]), log_bar
            ):
                decide_duel[winner, loser] = True
                closed = np.linalg.matrix_power(decide_duel.astype(float), arms) > 0
                # Of all orders, is there one whose blocks are separated?
                for order in itertools.permutations(range(arms)):
                    if all(closed[order[high], order[low]] for high, low in apart):
                        votes, right = t, share(order, t) == 1
                        break
        if t in marks:
            smooth = (wins + 1) / (wins + wins.T + 2)
            # Added up in the same order: equal scores must be equal to the last bit.
            scores = np.array(
                [sum(smooth[i, j] for j in range(arms) if j != i) for i in range(arms)]
            )
            shares.append(share(np.argsort(-scores, kind="stable"), t + 1))
    return votes, right, shares


@pytest.mark.kernels
@pytest.mark.parametrize("top", [0, 1, 2])
@pytest.mark.parametrize("world", ["ladder:arms=4,rounds=1500,p=0.75,step=0.8,ties=0.1",
                                   "total-order:arms=4,rounds=1200,p=0.8,phases=3"])  # fmt: skip
def test_a_certificate_is_that_of_the_reference(top, world):
    for seed in range(3):
        observer = CertificateObserver(4, make_world(world).rounds, top, 0.1)
        game = play("uniform", world, seed, observer=observer)
        votes, right, shares = reference(trace("uniform", world, seed), top, 0.1)
        assert observer.votes == (game.rounds + 1 if votes is None else votes)
        assert observer.is_right == right
        assert np.allclose(observer.shares, shares)
        wrong = [n for n, each in zip(checkpoints(game.rounds), shares, strict=True) if each < 1]
        if not wrong:
            assert observer.settled == 0
        elif wrong[-1] < game.rounds:
            assert observer.settled == min(n for n in checkpoints(game.rounds) if n > wrong[-1])
        else:
            assert observer.settled == game.rounds + 1


@pytest.mark.kernels
def test_a_policy_that_declares_the_best_arm_is_measured_by_that():
    world = "total-order:arms=4,rounds=8000,p=0.9,phases=1"
    observer = CertificateObserver(4, 8000, 1)
    game = play("knockout:eps=0.2", world, 1, observer=observer)
    duels = trace("knockout:eps=0.2", world, 1)
    alone = np.flatnonzero(duels.first == duels.second)
    assert observer.own_votes == alone[0]  # votes before the first duel of the last arm alone
    assert observer.own_is_right
    assert game.policy.declared() == duels.first[-1]
    assert CertificateObserver(4, 10, 1).own_votes == 11


@pytest.mark.kernels
def test_games_are_the_same_with_a_certificate():
    world = "geometric-btl:arms=3,rounds=700,phases=2"
    plain = play("king", world, 4, mode="panel")
    observed = play("king", world, 4, mode="panel", observer=CertificateObserver(3, 700, 1))
    assert plain.regret["dynamic"].tolist() == observed.regret["dynamic"].tolist()


@pytest.mark.long
def test_certificates_are_rarely_wrong_and_a_low_bar_is_often():
    # The best arm leads by little, so that wrong certificates are as likely as they can be.
    world = "lone-winner:arms=4,rounds=3000,phases=1,eps=0.02"
    wrong = {0.05: 0, 3.0: 0}
    runs = 150
    for error in wrong:
        for seed in range(runs):
            observer = CertificateObserver(4, 3000, 1, error)
            play("uniform", world, seed, observer=observer)
            wrong[error] += observer.is_right is False
    assert wrong[0.05] <= 14  # 5 % of 150 is 7.5; more than 14 has a probability of 1 %
    assert wrong[3.0] > 14
