"""What a learner loses: every notion of regret, for one duel or for many.

All of them are made of two choices. A *benchmark* says what playing an arm costs in a round: its
gap to the Condorcet winner, to a fixed arm, or its missing Borda or Copeland score. A *blend*
says how the costs of the two arms of a duel add up. The exception is `exploitability`, which is
against an opponent who knows what was played, and needs no winner of any kind.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences
from driftduel.specs import near
from driftduel.worlds import Chunk, World

__all__ = [
    "BENCHMARKS",
    "KINDS",
    "Kind",
    "chunk_losses",
    "duel_regret",
    "exploitability",
    "last_rounds",
    "log_rounds",
    "regret",
    "regret_curve",
]

Floats = NDArray[np.float64]


def _average(first: Floats, second: Floats) -> Floats:
    return (first + second) / 2


def _any_loss(first: Floats, second: Floats) -> Floats:
    return (np.maximum(first, second) > 0).astype(np.float64)


def _both_lose(first: Floats, second: Floats) -> Floats:
    return (np.minimum(first, second) > 0).astype(np.float64)


class Kind(NamedTuple):
    """A notion of regret: a benchmark and a blend."""

    benchmark: str
    blend: Callable[[Floats, Floats], Floats]
    help: str


KINDS: dict[str, Kind] = {
    "dynamic": Kind("condorcet", _average, "the paper's: mean gap of both arms to the winner"),
    "static": Kind("arm", _average, "mean gap of both arms to one fixed arm"),
    "weak": Kind("condorcet", np.minimum, "gap of the better arm to the winner"),
    "strong": Kind("condorcet", np.maximum, "gap of the worse arm to the winner"),
    "binary-weak": Kind("condorcet", _both_lose, "1 unless the winner is in the duel"),
    "binary-strong": Kind("condorcet", _any_loss, "1 unless both arms are the winner"),
    "borda": Kind("borda", _average, "mean Borda score that both arms lack to the best"),
    "copeland": Kind("copeland", _average, "mean share of arms beaten less than by the best"),
}


BENCHMARKS = ("condorcet", "borda", "copeland")
"""What a game's regret may be against; the first needs a Condorcet winner in every round."""


def _kind(name: str) -> Kind:
    if name not in KINDS:
        raise DriftduelError(f"there is no regret named {name!r}; {near(name, KINDS)}.")
    return KINDS[name]


def chunk_losses(
    chunk: Chunk,
    benchmark: str = "condorcet",
    arm: int | None = None,
    winners: NDArray[np.int64] | None = None,
) -> Floats:
    """Return what each arm costs in each row of a chunk, an array (rows, arms).

    Where arms come and go, the benchmark is the best of those that are there, and scores are
    against those; to play another has no cost that means anything, and is NaN.

    Parameters
    ----------
    chunk
        Rounds of a world.
    benchmark
        ``condorcet``, ``arm``, ``borda`` or ``copeland``.
    arm
        The fixed arm, for the benchmark ``arm``.
    winners
        The Condorcet winner of every row, if they are known already.
    """
    if benchmark == "condorcet":
        if winners is None:
            winners = chunk.row_winners()
        without = np.flatnonzero(winners[chunk.rows] < 0)
        if without.size:
            raise DriftduelError(
                f"round {chunk.starts[without[0]]} has no Condorcet winner, so there is no regret "
                f"against one; Borda or Copeland regret has a meaning there."
            )
        return _of_the_present(chunk, chunk.row_preferences(winners) - 0.5)
    matrices = chunk.row_matrices()
    if benchmark == "arm":
        arms = matrices.shape[1]
        if arm is None or not 0 <= arm < arms:
            raise DriftduelError(f"arm={arm} must be between 0 and {arms - 1}.")
        there = chunk.present[chunk.rows, arm] if chunk.present.size else np.array([True])
        if not there.all():
            raise DriftduelError(
                f"arm={arm} is not there in round {chunk.starts[there.argmin()]}, so there is no "
                f"regret against it; dynamic regret is against the best arm present."
            )
        return _of_the_present(chunk, matrices[:, arm] - 0.5)
    # An arm's duel with itself counts 1/2 towards the sum of a Borda score, and is no win.
    counted, itself = (matrices, 0.5) if benchmark == "borda" else (matrices > 0.5, 0.0)
    others: int | NDArray[np.int64] = matrices.shape[1] - 1
    if chunk.present.size:
        counted = counted * chunk.present[:, None, :]
        others = np.maximum(chunk.present.sum(axis=1, keepdims=True) - 1, 1)
    scores = _of_the_present(chunk, (counted.sum(axis=2) - itself) / others)
    result: Floats = np.nanmax(scores, axis=1, keepdims=True) - scores
    return result


def _of_the_present(chunk: Chunk, losses: Floats) -> Floats:
    """Leave nothing to read where an arm is not there."""
    return np.where(chunk.present, losses, np.nan) if chunk.present.size else losses


def duel_regret(
    preferences: Preferences, first: int, second: int, kind: str = "dynamic", arm: int | None = None
) -> float:
    """Return the regret of one duel.

    Examples
    --------
    >>> from driftduel.preferences import named
    >>> round(duel_regret(named("six-rankers"), 0, 5), 6)
    0.055
    """
    from driftduel.worlds import Piecewise

    return float(regret(Piecewise([preferences], [1], 1), [first], [second], kind, arm)[0])


def regret(
    world: World,
    firsts: ArrayLike,
    seconds: ArrayLike,
    kind: str = "dynamic",
    arm: int | None = None,
) -> Floats:
    """Return the regret of each duel of a sequence that begins in round 1.

    Parameters
    ----------
    world
        Where the duels took place.
    firsts, seconds
        The arms of each round's duel, at most as many as the world has rounds.
    kind
        One of `KINDS`; ``dynamic`` is the paper's.
    arm
        The arm to compare with, for ``static``.
    """
    benchmark, blend, _ = _kind(kind)
    a, b = _duels(world, firsts, seconds)
    result = np.empty(len(a))
    for chunk in world.chunks():
        low = int(chunk.starts[0]) - 1
        high = min(chunk.end - 1, len(a))
        if low >= len(a):
            break
        played = slice(low, high)
        segment = np.searchsorted(chunk.starts, np.arange(low, high) + 1, side="right") - 1
        row = chunk.rows[segment]
        if chunk.present.size:
            for arms in (a[played], b[played]):
                there = chunk.present[row, arms]
                if not there.all():
                    t = int(there.argmin())
                    raise DriftduelError(f"round {low + t + 1} plays arm {arms[t]}, which is away.")
        losses = chunk_losses(_until(chunk, high + 1), benchmark, arm)
        result[played] = blend(losses[row, a[played]], losses[row, b[played]])
    return result


def _until(chunk: Chunk, end: int) -> Chunk:
    """Cut a chunk short, so that rounds nobody played cannot raise an error."""
    if end >= chunk.end:
        return chunk
    kept = int(np.searchsorted(chunk.starts, end, side="left"))
    return chunk._replace(starts=chunk.starts[:kept], rows=chunk.rows[:kept], end=end)


def _duels(
    world: World, firsts: ArrayLike, seconds: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    pair = [np.asarray(arms, dtype=np.int64).ravel() for arms in (firsts, seconds)]
    if len(pair[0]) != len(pair[1]):
        raise DriftduelError(f"{len(pair[0])} first arms do not match {len(pair[1])} second arms.")
    if len(pair[0]) > world.rounds:
        raise DriftduelError(f"{len(pair[0])} duels are more than the {world.rounds} rounds.")
    for arms in pair:
        wrong = np.flatnonzero((arms < 0) | (arms >= world.arms))
        if wrong.size:
            raise DriftduelError(
                f"round {wrong[0] + 1} plays arm {arms[wrong[0]]}; arms are 0 to {world.arms - 1}."
            )
    return pair[0], pair[1]


def last_rounds(world: World) -> NDArray[np.int64]:
    """Return the last round of every stretch in which a world stands still.

    They are the rounds in which `exploitability` has to know how often each arm was played:
    ``play(policy, world, points=last_rounds(world))``.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> last_rounds(make_world("two-arm:rounds=1000")).tolist()
    [500, 1000]
    """
    return np.concatenate([np.append(chunk.starts[1:], chunk.end) - 1 for chunk in world.chunks()])


def exploitability(
    world: World, at: NDArray[np.int64], plays: NDArray[np.int64], starts: ArrayLike = (1,)
) -> Floats:
    """Return the most that one arm would have won against what was played, stretch by stretch.

    Against a duel of a and b, arm j wins (P_t(j, a) + P_t(j, b) - 1) / 2. An opponent keeps to one
    arm for a stretch of rounds, and chooses the one that wins most in hindsight, of those that are
    there all the time. Saha and Gupta
    (ICML 2022) measure regret in this way. It may be negative, because the learner may change its
    arms and the opponent may not.

    Parameters
    ----------
    world
        Where the duels took place.
    at, plays
        How often each arm was in a duel up to certain rounds, as in `driftduel.games.Play`. All of
        `last_rounds` that were played must be among them.
    starts
        The first rounds of the stretches: ``[1]`` for one arm all the time, the starts of a
        world's phases, or every round for the best response to every duel.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> world = make_world("two-arm:rounds=1000")
    >>> only_the_first = np.array([[1000, 0], [2000, 0]])
    >>> exploitability(world, last_rounds(world), only_the_first, starts=[1, 501]).tolist()
    [0.0, 250.0]
    """
    firsts = np.atleast_1d(np.asarray(starts, dtype=np.int64))
    if firsts[0] != 1 or (np.diff(firsts) <= 0).any() or firsts[-1] > at[-1]:
        raise DriftduelError(f"the starts must ascend from round 1 to at most {at[-1]}.")
    _check_counted(firsts[1:] - 1, at)
    counts = np.diff(plays, axis=0, prepend=np.zeros((1, world.arms), np.int64))
    stretch = np.searchsorted(firsts, at, side="right") - 1
    won = np.zeros((len(firsts), world.arms))
    there = np.ones(won.shape, np.bool_)
    step = max(1, (1 << 21) // world.arms**2)  # matrices in memory at once
    for chunk in world.chunks():
        _check_counted(np.append(chunk.starts[1:], chunk.end) - 1, at)
        low, high = np.searchsorted(at, (chunk.starts[0], chunk.end))
        matrices = chunk.row_matrices()
        for begin in range(low, high, step):
            these = slice(begin, min(begin + step, high))
            rows = chunk.rows[np.searchsorted(chunk.starts, at[these], side="right") - 1]
            played = counts[these].astype(np.float64)
            wins = (matrices[rows] @ played[:, :, None])[:, :, 0]
            np.add.at(won, stretch[these], (wins - played.sum(axis=1, keepdims=True) / 2) / 2)
            if chunk.present.size:
                np.logical_and.at(there, stretch[these], chunk.present[rows])
        if chunk.end > at[-1]:
            break
    nobody = np.flatnonzero(~there.any(axis=1))
    if nobody.size:
        raise DriftduelError(
            f"no arm is there all the time from round {firsts[nobody[0]]} on, so there is nobody "
            f"to compare with; let the stretches start where arms come and go."
        )
    result: Floats = np.where(there, won, -np.inf).max(axis=1)
    return result


def _check_counted(rounds: NDArray[np.int64], at: NDArray[np.int64]) -> None:
    """Refuse plays that were not counted where preferences or the opponent's arm may change."""
    rounds = rounds[rounds < at[-1]]
    missing = rounds[at[np.searchsorted(at, rounds)] != rounds]
    if missing.size:
        raise DriftduelError(
            f"the plays up to round {missing[0]}, after which something may change, are not known; "
            f"play with points=last_rounds(world)."
        )


def log_rounds(rounds: int, points: int = 200) -> NDArray[np.int64]:
    """Spread rounds evenly on a log scale, from 1 to `rounds`, both included.

    Examples
    --------
    >>> log_rounds(1000, points=4).tolist()
    [1, 10, 100, 1000]
    """
    spread = np.rint(np.geomspace(1, rounds, max(2, points))).astype(np.int64)
    return np.unique(np.append(spread, (1, rounds)))


def regret_curve(
    world: World,
    firsts: Sequence[int] | NDArray[np.int64],
    seconds: Sequence[int] | NDArray[np.int64],
    kind: str = "dynamic",
    arm: int | None = None,
    points: int = 200,
) -> tuple[NDArray[np.int64], Floats]:
    """Return log-spaced rounds and the regret summed up to each of them."""
    each = regret(world, firsts, seconds, kind, arm)
    at = log_rounds(len(each), points)
    return at, np.cumsum(each)[at - 1]
