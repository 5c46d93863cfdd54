"""Goal ``best``: votes in which `Policy.best` returns the Condorcet winner."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from driftduel._internal.intervals import LEVEL
from driftduel._internal.wording import code, interval, listed, number
from driftduel.games import LASTING, Identification, Observer, checkpoints
from driftduel.lab.goals.base import Column, Goal, Row, binomial, percent, t_numbers, votes
from driftduel.worlds import World

__all__ = ["SHARE", "BestGoal", "votes_until"]

SHARE = 0.9
"""The required share of correct runs."""
_RESAMPLES = 500

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class BestGoal(Goal):
    """Identification of the Condorcet winner.

    Columns of the store: ``goal_score`` is the share of votes with the right leader,
    ``goal_votes`` the votes after which the leader is right to the end (rounds + 1: never),
    ``goal_right`` whether it is right at the end, ``goal_until`` the mean votes until a new winner
    leads, ``goal_changes`` the changes of leader, ``goal_curve`` 1 where the leader is right.
    """

    name = "best"
    heading = "Which policy names the best arm"
    axis: ClassVar[str] = "share of runs right"
    is_share: ClassVar[bool] = True
    method = (
        "right: the share of votes in which best() names the Condorcet winner when the duel is "
        f"chosen. votes to {SHARE:.0%}: where the winner never changes, the votes after which "
        f"best() is right in at least {SHARE:.0%} of the runs, there and at all later checkpoints "
        "(bootstrap interval). until led: votes until a new winner is named in "
        f"{LASTING} consecutive votes or up to the end of its phase, on average over phases, the "
        "first included; a phase without that counts in full. Intervals of shares of runs are "
        "exact binomial at 95%."
    )
    columns: ClassVar[tuple[Column, ...]] = (
        Column("right", "share of votes with the right leader, mean over runs", "right", percent),
        Column(
            f"votes to {SHARE:.0%}",
            f"votes after which best() is right in {SHARE:.0%} of the runs, to the end",
            "votes_90",
            votes,
        ),
        Column("until led", "votes until a new winner leads, mean", "until", votes),
        Column("right at end", "share of runs in which best() is right at the end", "end", percent),
        Column("changes", "changes of leader a run", "changes", number, optional=True),
        Column("regret", "mean over runs", "regret", number, optional=True),
    )
    summary: ClassVar[dict[str, Any]] = {
        **{
            f"{key}_{end}": pl.Float64
            for key in ("right", "until")
            for end in ("mean", "low", "high")
        },
        **dict.fromkeys(("end", "end_low", "end_high"), pl.Float64),
        **dict.fromkeys(("votes_90", "votes_90_low", "votes_90_high"), pl.Int64),
        "changes_mean": pl.Float64,
        "regret_mean": pl.Float64,
        **dict.fromkeys(
            ("score_difference", "score_difference_low", "score_difference_high"), pl.Float64
        ),
    }

    def observer(self, world: World) -> Observer:
        """Return an observer for one game."""
        return Identification(world.rounds)

    def row(self, observer: Any) -> Row:
        """Return the values of the columns of one game, by name."""
        return {
            "goal_score": observer.right,
            "goal_votes": observer.settled,
            "goal_right": bool(observer.right_at[-1]),
            "goal_until": observer.until,
            "goal_changes": observer.changes,
            "goal_curve": observer.right_at.astype(np.float32),
        }

    def statistics(self, games: pl.DataFrame) -> Row:
        """Return the values of the statistics of one policy in one world, by name."""
        at = checkpoints(int(games["rounds"][0]))
        curves = [line.to_numpy() > 0 for line in games["goal_curve"] if len(line) == len(at)]
        stationary = not games["switches"].list.len().sum()
        found = votes_until(np.vstack(curves), at) if stationary else (None, None, None)
        low, middle, high = found
        return {
            **t_numbers("right", games["goal_score"].to_numpy(), 1.0),
            **t_numbers("until", games["goal_until"].to_numpy()),
            **binomial("end", int(games["goal_right"].sum()), len(games)),
            "votes_90": middle,
            "votes_90_low": low,
            "votes_90_high": high,
            "changes_mean": float(games["goal_changes"].to_numpy().mean()),
            "regret_mean": float(games["regret"].to_numpy().mean()),
        }

    def verdict(self, rows: Sequence[Row]) -> str:
        """Return a sentence about the policy that returns the Condorcet winner most often."""
        best, *others = rows
        text = f"{code(best['policy'])} names the right leader in {percent(best['right_mean'])} of "
        text += "the votes"
        if best["right_low"] is not None:
            text += f" ({interval(best['right_low'], best['right_high'], percent)})"
        if not others:
            return f"{text}."
        if best["runs"] < 2:
            return f"{text}, the most in a single run, which gives no interval."
        unclear = [
            code(row["policy"])
            for row in others
            if row["score_difference_high"] is None or row["score_difference_high"] >= 0
        ]
        if not unclear:
            return f"{text}, the most, and every paired interval of a difference excludes 0."
        return f"{text}, the most; the runs cannot separate it from {listed(unclear, last='or')}."


def votes_until(
    right: Bools, at: Ints, share: float = SHARE
) -> tuple[int | None, int | None, int | None]:
    """Return the votes from which on a share of the runs is right, with a 95% interval.

    The interval is that of a bootstrap over runs; its draws are fixed.

    Parameters
    ----------
    right
        (runs, checkpoints) whether a run is right.
    at
        The votes of the checkpoints.
    share
        The share of runs.

    Returns
    -------
    tuple
        The lower end, the number, the upper end; None where the share is not reached by the end.

    Examples
    --------
    >>> votes_until(np.array([[False, True, True]]), np.array([1, 2, 3]))
    (None, 2, None)
    """
    runs = len(right)
    (middle,) = _crossings(right.mean(axis=0)[None], at, share)
    if runs < 2:
        return None, middle, None
    rng = np.random.default_rng(np.random.SeedSequence([runs, len(at)]))
    weights = rng.multinomial(runs, np.full(runs, 1 / runs), _RESAMPLES) / runs
    found = _crossings(weights @ right.astype(np.float64), at, share)
    ordered = sorted(found, key=lambda votes: np.inf if votes is None else votes)
    tail = int((1 - LEVEL) / 2 * _RESAMPLES)
    return ordered[tail], middle, ordered[-1 - tail]


def _crossings(shares: NDArray[np.float64], at: Ints, share: float) -> list[int | None]:
    """Return for each row the first of `at` from which on the row is at least `share`."""
    below = shares < share - 1e-12
    last = np.where(below.any(axis=1), below.shape[1] - below[:, ::-1].argmax(axis=1), 0)
    return [int(at[place]) if place < len(at) else None for place in last.tolist()]
