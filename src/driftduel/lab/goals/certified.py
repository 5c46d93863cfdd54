"""Goals ``confidence``, ``top-K`` and ``ranking``: results certified by e-values."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from driftduel._internal.wording import code, interval, listed, number
from driftduel.errors import DriftduelError
from driftduel.games import Observer, checkpoints
from driftduel.lab.goals.base import Column, Goal, Row, binomial, percent, t_numbers, votes
from driftduel.worlds import World

__all__ = ["ConfidenceGoal", "RankingGoal"]

ERROR = 0.05
"""Upper bound of the probability of a wrong certificate."""
_PROOF = (
    f"A certificate is wrong with probability at most {ERROR:.0%} if preferences are stationary; "
    "pairs are decided by anytime-valid e-values and closed under transitivity."
)


def _shares(*keys: str) -> dict[str, Any]:
    return {f"{key}{end}": pl.Float64 for key in keys for end in ("", "_low", "_high")}


def _means(*keys: str) -> dict[str, Any]:
    return {f"{key}_{end}": pl.Float64 for key in keys for end in ("mean", "low", "high")}


_DIFFERENCE = dict.fromkeys(
    ("score_difference", "score_difference_low", "score_difference_high"), pl.Float64
)
_CERTIFIED = Column("certified", "share of runs with a certificate", "certified", percent)
_WRONG = Column("wrong", "share of runs with a wrong certificate", "wrong", percent)
_REGRET = Column("regret", "mean over runs", "regret", number, optional=True)


class _Certified(Goal):
    """A base class of goals with certificates."""

    top: int

    def observer(self, world: World) -> Observer:
        """Return an observer for one game."""
        from driftduel.games import CertificateObserver

        return CertificateObserver(world.arms, world.rounds, self.top, ERROR)

    def certificates(self, games: pl.DataFrame) -> Row:
        """Return the values of the statistics of certificates over runs, by name."""
        runs = len(games)
        certified = games["goal_votes"] <= games["rounds"]
        wrong = int((certified & ~games["goal_right"]).sum())
        return {
            **binomial("certified", int(certified.sum()), runs),
            **binomial("wrong", wrong, runs),
            "regret_mean": float(games["regret"].to_numpy().mean()),
        }


class ConfidenceGoal(_Certified):
    """The best arm with fixed confidence.

    Columns of the store: ``goal_score`` is the number of votes used, all rounds where there is no
    certificate; ``goal_votes`` the votes until the certificate (rounds + 1: none); ``goal_right``
    whether it is right; ``goal_until`` the votes after which the policy itself declares the best
    arm (rounds + 1: never), and ``goal_changes`` 1 if another arm is better than that one;
    ``goal_curve`` 1 from the certificate on.
    """

    name = "confidence"
    top = 1
    heading = "Votes until the best arm is certified"
    axis: ClassVar[str] = "share of runs certified"
    is_share: ClassVar[bool] = True
    descending: ClassVar[bool] = False
    method = (
        "votes used: votes until the votes prove that one arm beats every other; runs without a "
        f"certificate count in full. {_PROOF} own stop: votes until the policy itself declares the "
        "best arm, over the runs in which it does; own wrong: share of these in which another arm "
        "is better."
    )
    columns: ClassVar[tuple[Column, ...]] = (
        Column("votes used", "votes until the best arm is certified, mean", "used", votes),
        _WRONG,
        _CERTIFIED,
        Column("own stop", "votes until the policy declares the best arm", "own", votes, True),
        Column("own wrong", "share of its declarations with a better arm", "own_wrong", percent,
               True),
        _REGRET,
    )  # fmt: skip
    summary: ClassVar[dict[str, Any]] = {
        **_means("used", "own"),
        **_shares("certified", "wrong", "own_wrong"),
        "regret_mean": pl.Float64,
        **_DIFFERENCE,
    }

    def row(self, observer: Any) -> Row:
        """Return the values of the columns of one game, by name."""
        marks = checkpoints(observer.rounds)
        return {
            "goal_score": float(min(observer.votes, observer.rounds)),
            "goal_votes": observer.votes,
            "goal_right": bool(observer.is_right),
            "goal_until": float(observer.own_votes),
            "goal_changes": int(observer.own_is_right is False),
            "goal_curve": (marks >= observer.votes).astype(np.float32),
        }

    def statistics(self, games: pl.DataFrame) -> Row:
        """Return the values of the statistics of one policy in one world, by name."""
        own = games.filter(pl.col("goal_until") <= pl.col("rounds"))
        found = {
            **t_numbers("used", games["goal_score"].to_numpy()),
            **self.certificates(games),
        }
        if len(own):
            found |= t_numbers("own", own["goal_until"].to_numpy())
            found |= binomial("own_wrong", int(own["goal_changes"].sum()), len(own))
        return found

    def verdict(self, rows: Sequence[Row]) -> str:
        """Return a sentence about the policy with the minimum number of votes."""
        best, *others = rows
        text = f"{code(best['policy'])} needs {votes(best['used_mean'])} votes"
        if best["used_low"] is not None:
            text += f" ({interval(best['used_low'], best['used_high'], votes)})"
        text += f" until the best arm is certified, in {percent(best['certified'])} of its runs"
        return text + _unclear(best, others, above=True)


class RankingGoal(_Certified):
    """The ranking of all arms, or the top k.

    Columns of the store: ``goal_score`` is the share of right pairs in the ranking named at the
    end, ``goal_votes`` the votes until the certificate (rounds + 1: none), ``goal_right`` whether
    it is right, ``goal_until`` the votes from which on the ranking named is right (rounds + 1:
    not), ``goal_curve`` the share of right pairs at the checkpoints.

    Parameters
    ----------
    top
        The number k of arms to separate from the rest; 0 for all ranks.
    """

    axis: ClassVar[str] = "share of pairs right"
    is_share: ClassVar[bool] = False
    columns: ClassVar[tuple[Column, ...]] = (
        Column("pairs right", "share of right pairs at the end, mean", "pairs", percent),
        Column("votes used", "votes until the certificate, mean", "used", votes),
        _CERTIFIED,
        _WRONG,
        Column("right at end", "share of runs with the right ranking at the end", "end", percent,
               True),
        _REGRET,
    )  # fmt: skip
    summary: ClassVar[dict[str, Any]] = {
        **_means("pairs", "used"),
        **_shares("certified", "wrong", "end"),
        "regret_mean": pl.Float64,
        **_DIFFERENCE,
    }

    def __init__(self, top: int = 0) -> None:
        self.top = top
        what = f"the top {top}" if top else "the ranking"
        verb = "are" if top > 1 else "is"
        self.name = f"top-{top}" if top else "ranking"
        self.heading = f"Votes until {what} {verb} certified"
        pairs = f"of one of the top {top} and another arm" if top else "of arms"
        self.method = (
            f"pairs right: the share of the pairs {pairs} that the order of win shares has right "
            "at the end; equal arms count as right. votes used: votes until the votes prove "
            f"{what}; runs without a certificate count in full. {_PROOF}"
        )

    def observer(self, world: World) -> Observer:
        """Return an observer for one game."""
        if self.top >= world.arms:
            raise DriftduelError(
                f"goal {self.name!r} needs more than {self.top} arms; this world has {world.arms}."
            )
        return super().observer(world)

    def row(self, observer: Any) -> Row:
        """Return the values of the columns of one game, by name."""
        return {
            "goal_score": float(observer.shares[-1]),
            "goal_votes": observer.votes,
            "goal_right": bool(observer.is_right),
            "goal_until": float(observer.settled),
            "goal_changes": 0,
            "goal_curve": observer.shares.astype(np.float32),
        }

    def statistics(self, games: pl.DataFrame) -> Row:
        """Return the values of the statistics of one policy in one world, by name."""
        used = np.minimum(games["goal_votes"].to_numpy(), games["rounds"].to_numpy())
        return {
            **t_numbers("pairs", games["goal_score"].to_numpy(), 1.0),
            **t_numbers("used", used.astype(np.float64)),
            **self.certificates(games),
            **binomial("end", int((games["goal_score"] == 1).sum()), len(games)),
        }

    def verdict(self, rows: Sequence[Row]) -> str:
        """Return a sentence about the policy with the maximum share of correctly ordered pairs."""
        best, *others = rows
        text = f"{code(best['policy'])} has {percent(best['pairs_mean'])} of the pairs right"
        if best["pairs_low"] is not None:
            text += f" ({interval(best['pairs_low'], best['pairs_high'], percent)})"
        text += f", and {percent(best['certified'])} of its runs certified"
        return text + _unclear(best, others, above=False)


def _unclear(best: Row, others: Sequence[Row], *, above: bool) -> str:
    """Return the end of a verdict: policies with a paired interval that includes 0.

    Parameters
    ----------
    best, others
        Rows of the summary.
    above
        Whether worse policies have a larger score.
    """
    if not others:
        return "."
    if best["runs"] < 2:
        return "; a single run gives no interval."
    end = "score_difference_low" if above else "score_difference_high"
    unclear = [
        code(row["policy"])
        for row in others
        if row[end] is None or (row[end] <= 0 if above else row[end] >= 0)
    ]
    if not unclear:
        return "; every paired interval of a difference excludes 0."
    return f"; the runs cannot separate it from {listed(unclear, last='or')}."
