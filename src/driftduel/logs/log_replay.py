"""Replay of a policy on a log's real outcomes, compared with the world fitted to the log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.wording import number, share, whole
from driftduel.errors import DriftduelError
from driftduel.games import knowledge, play, streams
from driftduel.logs.outcomes import LEAST_ANSWERED, RealOutcomes
from driftduel.logs.posterior import Fit
from driftduel.logs.posterior_worlds import benchmark_for, regret_of_log
from driftduel.policies import make_policy
from driftduel.regret import chunk_losses
from driftduel.worlds import Piecewise, World

__all__ = ["LogReplay", "replay", "same_rounds"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogReplay:
    """The regret of a policy on the real outcomes of a log, and on the world fitted to it."""

    policy: str
    how: str
    """``events``: a round is an event with all pairs. ``blocks``: it is a block of votes."""
    rounds: int
    votes: int
    """The number of votes of the log that these rounds contain."""
    answered: float
    """The share of duels of two different options with an outcome in the log."""
    regret: Floats
    """(runs,) its regret on real outcomes; the loss of a duel is a function of the fitted world."""
    simulated: Floats
    """(runs,) its regret on the fitted world, with outcomes drawn from it."""
    own: float
    """The regret of the log's own pairs in the same number of rounds."""
    benchmark: str
    """The benchmark of regret."""

    @property
    def compression(self) -> float:
        """The number of votes per round."""
        return self.votes / self.rounds

    @property
    def apart(self) -> float:
        """The difference of both means, in standard deviations of one simulated game.

        The log is one history, so values of 2 or 3 are expected in either direction; larger ones
        are not.
        """
        spread = self.simulated.std(ddof=1) if len(self.simulated) > 1 else 0.0
        distance = float(self.regret.mean() - self.simulated.mean())
        return distance / float(spread) if spread else 0.0

    @property
    def sentence(self) -> str:
        """The result as a self-contained sentence."""
        agree = "agree" if abs(self.apart) <= 2 else "do not agree"
        return (
            f"{self.policy} lost {number(float(self.regret.mean()))} on the log's real outcomes "
            f"and {number(float(self.simulated.mean()))} on the world fitted to it: they {agree} "
            f"(one simulated game varies by {number(_spread(self.simulated))})."
        )

    @property
    def remarks(self) -> list[str]:
        """Sentences that explain the numbers."""
        rounds = {
            "events": "one round for each event, in which all pairs met",
            "blocks": f"one round for each block of {whole(self.compression)} votes",
        }[self.how]
        against = {"condorcet": "Condorcet", "von-neumann": "von Neumann"}[self.benchmark]
        return [
            f"{self.rounds:,} rounds are left of {self.votes:,} votes, {rounds}: your log at "
            f"1/{whole(self.compression)} of its traffic. {share(self.answered, 1)} of the duels "
            f"have an outcome in the log; the policy receives no feedback for the others.",
            f"Regret is against the {against} winner of the fitted world for both kinds of "
            f"outcomes. The log's own pairs lose {number(self.own)} in as many rounds. The log is "
            f"one history and was fitted too, so this is a check of the world, not a proof.",
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all values as plain data."""
        return {
            "policy": self.policy,
            "how": self.how,
            "rounds": self.rounds,
            "votes": self.votes,
            "compression": self.compression,
            "answered": self.answered,
            "benchmark": self.benchmark,
            "runs": len(self.regret),
            "regret": float(self.regret.mean()),
            "regret_sd": _spread(self.regret),
            "simulated": float(self.simulated.mean()),
            "simulated_sd": _spread(self.simulated),
            "apart": self.apart,
            "own": self.own,
        }


def _spread(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def replay(
    fit: Fit,
    outcomes: RealOutcomes,
    policies: Sequence[str],
    seed: int = 0,
    runs: int = 20,
    progress: Callable[[int, int], None] | None = None,
) -> list[LogReplay]:
    """Let policies choose duels, and answer them with the real outcomes of a log.

    Parameters
    ----------
    fit
        The fitted log, which defines the loss of a duel.
    outcomes
        The return value of `real_outcomes`.
    policies
        Their specs. Prior knowledge of a policy is computed from the fitted world.
    seed
        Seed of all random numbers; run i has the seed ``seed + i``.
    runs
        Games of each policy on real outcomes, and on the fitted world.
    progress
        Function called at intervals with (rounds played, rounds of all games).
    """
    if runs < 1:
        raise DriftduelError(f"runs={runs} must be at least 1.")
    truth = same_rounds(fit.world(), outcomes)
    benchmark = benchmark_for([truth])
    losses = _losses(truth, benchmark)
    own = regret_of_log(fit, fit.world(), benchmark) * outcomes.rounds / fit.counts.votes
    for policy in policies:  # raise invalid specs before the long games
        make_policy(policy, truth.arms, 0, **knowledge(policy, truth))
    replays = []
    for i, policy in enumerate(policies):
        real, simulated = np.empty(runs), np.empty(runs)
        asked = unknown = 0
        for run in range(runs):
            if progress is not None:
                done, total = i * runs + run + 1, len(policies) * runs
                progress(done * outcomes.rounds, total * outcomes.rounds)
            learner = make_policy(
                policy, truth.arms, streams(seed + run)[2], **knowledge(policy, truth)
            )
            every = np.arange(1, outcomes.rounds + 1)
            game = play(learner, outcomes, seed + run, points=every, benchmark="von-neumann")
            model = play(policy, truth, seed + run, points=2, benchmark=benchmark)
            if not (game.finished and model.finished):
                raise KeyboardInterrupt
            plays = np.diff(game.plays, axis=0, prepend=0)
            real[run], simulated[run] = (plays * losses).sum() / 2, model.total
            asked += int((plays.max(axis=1) < 2).sum())
            unknown += game.unknown
        answered = 1 - unknown / max(1, asked)
        if answered < LEAST_ANSWERED:
            raise DriftduelError(
                f"only {share(answered)} of the duels that {policy} asked for have an answer in "
                f"this log, and below {share(LEAST_ANSWERED)} a replay would mislead; 'driftduel "
                f"log compare' simulates instead."
            )
        about = outcomes.how, outcomes.rounds, outcomes.votes
        replays.append(LogReplay(policy, *about, answered, real, simulated, own, benchmark))
    return replays


def same_rounds(world: World, outcomes: RealOutcomes) -> Piecewise:
    """Return a world restricted to the rounds of a log's real outcomes.

    Parameters
    ----------
    world
        A world fitted to the log.
    outcomes
        The real outcomes of the log.
    """
    rounds = np.clip(np.ceil(outcomes.shares * world.rounds), 1, world.rounds).astype(np.int64)
    matrices, starts = [], []
    for chunk in world.chunks():
        low, high = np.searchsorted(rounds, (chunk.starts[0], chunk.end))
        if low == high:
            continue
        rows = chunk.rows[np.searchsorted(chunk.starts, rounds[low:high], side="right") - 1]
        new = np.flatnonzero(np.diff(rows, prepend=-1))
        matrices.append(chunk.row_matrices()[rows[new]])
        starts.append(low + new + 1)
    same = Piecewise(np.concatenate(matrices), np.concatenate(starts), outcomes.rounds)
    same.names = world.names
    return same


def _losses(world: World, benchmark: str) -> Floats:
    """Return the (T, K) losses of every round."""
    parts = [
        np.repeat(
            chunk_losses(chunk, benchmark)[chunk.rows],
            np.diff(chunk.starts, append=chunk.end),
            axis=0,
        )
        for chunk in world.chunks()
    ]
    return np.concatenate(parts)
