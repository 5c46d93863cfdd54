"""Games in which nobody knows the answer to some duels, as in a log that is played again."""

from collections import deque

import numpy as np
import pytest

from driftduel._internal.compiler import hot
from driftduel.errors import DriftduelError
from driftduel.games import play, streams, trace, write_trace
from driftduel.worlds import NO_LINK, Chunk, WithDelay, World
from tests.games.presence import Listener, Plain, Wanderer

pytestmark = pytest.mark.kernels
ARMS, ROUNDS = 4, 600


@hot
def _third(state, rng, t, notes):
    return 3, 3


class Gaps(World):
    """Arm 0 beats all; of the others, who meets whom in odd rows nobody knows.

    Parameters
    ----------
    share
        How often a duel ties.
    leaves
        Whether arm 3 is away in odd rows, in which then nobody knows how arm 0 fares either.
    """

    arms, rounds, chunk_rounds, drifts = ARMS, ROUNDS, 100, False

    def __init__(self, share=0.0, leaves=False):
        self.share = share
        known = np.full((ARMS, ARMS), 0.5)
        known[0, 1:], known[1:, 0] = 0.8, 0.2
        known[1, 2], known[2, 1] = 0.3, 0.7
        gaps = known.copy()
        gaps[1:, 1:] = np.where(np.eye(ARMS - 1), 0.5, np.nan)
        self.present = np.empty((0, 0), np.bool_)
        if leaves:
            self.present = np.ones((2, ARMS), np.bool_)
            self.present[1, 3] = False
            gaps[0, 1:] = gaps[1:, 0] = np.nan
        self.matrices = np.array([known, gaps])

    def chunk(self, first, end):
        """Change rows every ten rounds."""
        starts = np.unique([first, *range(first - (first - 1) % 10 + 10, end, 10)])
        rows = (starts - 1) // 10 % 2
        ties = np.full(2, self.share) if self.share else np.empty(0)
        return Chunk(
            starts, end, rows, self.matrices, np.empty((0, ARMS)), NO_LINK, self.present, ties,
            unknown=True,
        )  # fmt: skip


def slowly(policy, world, seed, delay=0):
    """Play by ask, tell and forget, straight from the definitions."""
    outcome_draws = np.random.default_rng(streams(seed)[1])
    outcomes, waiting = [], deque()
    for t in range(1, world.rounds + 1):
        number, duel = outcome_draws.random(), policy.ask()
        p = world.matrices[(t - 1) // 10 % 2, duel.first, duel.second]
        half = world.share / 2 if duel.first != duel.second else 0.0
        tie = p - half <= number < p + half
        if np.isnan(p):
            waiting.append((policy.forget, duel))
        elif tie and policy.ledger.ties == "skip":
            waiting.append((policy.tell, duel, None))
        else:
            waiting.append((policy.tell_first_won, duel, int(number < p)))
        if len(waiting) > delay:
            tell, *answer = waiting.popleft()
            tell(*answer)
        outcomes.append(-2 if np.isnan(p) else -1 if tie else int(number < p))
    return np.array(outcomes)


@pytest.mark.long
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(("share", "ties"), [(0.0, "skip"), (0.3, "skip"), (0.3, "coin")])
@pytest.mark.parametrize("kind", [Wanderer, Listener, Plain])
def test_nothing_is_told_of_a_duel_that_nobody_can_answer(kind, share, ties, delay):
    world = Gaps(share)
    slow, fast = (kind(ARMS, np.random.default_rng(1)) for _ in range(2))
    for policy in (slow, fast):
        policy.configure(ties=ties)
    outcomes = slowly(slow, world, 3, delay)
    game = play(fast, WithDelay(world, delay), seed=3)
    assert game.unknown == (outcomes == -2).sum() > 50
    np.testing.assert_array_equal(fast.state.log, slow.state.log)
    assert game.restarts == slow.restarts
    assert np.isfinite(game.total)  # the winner's own preferences are known


def test_an_arm_whose_loss_nobody_knows_is_not_away():
    world = Gaps(leaves=True)
    fast, slow = (kind(ARMS, np.random.default_rng(1)) for kind in (Wanderer, Plain))
    games = [play(policy, world, seed=3, benchmark="von-neumann") for policy in (fast, slow)]
    np.testing.assert_array_equal(fast.state.log, slow.state.log)
    assert games[0].finished
    assert games[0].unknown == games[1].unknown > 150
    assert np.isnan([game.total for game in games]).all()


def test_an_arm_that_is_away_is_noticed_where_losses_are_unknown():
    stubborn = Wanderer(ARMS, np.random.default_rng(1))
    stubborn.kernels = Wanderer.kernels._replace(ask=_third)
    with pytest.raises(DriftduelError, match="round 11"):
        play(stubborn, Gaps(leaves=True), seed=3, benchmark="von-neumann")


def test_a_trace_says_whose_answers_nobody_knows(tmp_path):
    world = Gaps()
    rows = trace("uniform", world, seed=3)
    game = play("uniform", world, seed=3)
    row = np.arange(ROUNDS) // 10 % 2
    unknown = np.isnan(world.matrices[row, rows.first, rows.second])
    np.testing.assert_array_equal(rows.first_won == -2, unknown)
    assert game.unknown == unknown.sum() > 50
    write_trace(rows, tmp_path / "trace.csv")
    lines = (tmp_path / "trace.csv").read_text().splitlines()[1:]
    assert [line.split(",")[3] == "" for line in lines] == unknown.tolist()


def test_a_loss_that_nobody_knows_is_no_number():
    """Against a mixture that would have to beat arms of which nobody knows how they fare."""
    world = Gaps()
    chunk = world.chunk(1, 101)._replace(matrices=world.matrices[:, 1:, 1:])
    losses = chunk.row_losses()
    assert np.isnan(losses[1]).all()
