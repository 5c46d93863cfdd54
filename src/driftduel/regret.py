"""Notions of regret, for one duel or for many.

Each is defined by two functions. A *benchmark* defines the loss of an arm in a round: its gap to
the Condorcet winner, to the von Neumann winner (the unbeaten mixture), to a fixed arm, or its
missing Borda or Copeland score. A *blend* combines the losses of the two arms of a duel, or of all
arms of a slate: their mean, the smallest loss (*weak*), whether all of them lose (*binary-weak*),
or any of them (*binary-strong*). Slates of which nothing is picked count like others. The exception
is `exploitability`, against an opponent with knowledge of all plays; it does not need any winner,
and is defined for duels only.

For the same duels, phase by phase, exploitability is at least the regret against the von Neumann
winner, which is one of the possible opponents. The latter equals the paper's regret if there is a
Condorcet winner. All three agree if no arm beats another by more than the winner does, as under
strong stochastic transitivity.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._internal.defaults import BENCHMARK, POINTS
from driftduel.errors import DriftduelError
from driftduel.preferences import Preferences
from driftduel.specs import near
from driftduel.worlds import Chunk, World

__all__ = [
    "BENCHMARKS",
    "GAME_BLENDS",
    "KINDS",
    "NoWinnerError",
    "RegretKind",
    "check_benchmark",
    "chunk_losses",
    "duel_regret",
    "exploitability",
    "kinds_of",
    "last_rounds",
    "log_rounds",
    "phase_curves",
    "phase_starts",
    "regret",
    "regret_curve",
]

Floats = NDArray[np.float64]


# The blend functions: of numbers in compiled loops, of whole arrays here.


def mean_loss(first: Any, second: Any) -> Any:
    """Return the mean loss of the two arms of a duel."""
    return (first + second) / 2


def both_lose(first: Any, second: Any) -> Any:
    """Return whether both arms have a loss."""
    return (first > 0) & (second > 0)


def any_loses(first: Any, second: Any) -> Any:
    """Return whether at least one arm has a loss."""
    return (first > 0) | (second > 0)


def better_loss(first: Any, second: Any) -> Any:
    """Return the loss of the better arm, 1 ns faster in a loop than the function `np.minimum`."""
    return min(first, second)


GAME_BLENDS = (mean_loss, better_loss, both_lose, any_loses)
"""The blend functions of a game, for every benchmark; `kinds_of` has their names.

Of a slate they are the mean loss of the arms shown, the smallest, whether all of them have a loss,
and whether any of them has one; see `driftduel.games`."""


class RegretKind(NamedTuple):
    """A notion of regret: a benchmark and a blend."""

    benchmark: str
    blend: Callable[[Any, Any], Any]
    help: str


KINDS: dict[str, RegretKind] = {
    "dynamic": RegretKind(
        "condorcet", mean_loss, "the paper's: mean gap of both arms to the winner"
    ),
    "static": RegretKind("arm", mean_loss, "mean gap of both arms to one fixed arm"),
    "weak": RegretKind("condorcet", np.minimum, "gap of the better arm to the winner"),
    "strong": RegretKind("condorcet", np.maximum, "gap of the worse arm to the winner"),
    "binary-weak": RegretKind("condorcet", both_lose, "1 unless the winner is in the duel"),
    "binary-strong": RegretKind("condorcet", any_loses, "1 unless both arms are the winner"),
}
for _name, _loss in {
    "von-neumann": "gap to the unbeaten mixture",
    "borda": "how far the Borda score is below the best",
    "copeland": "how far the Copeland score is below the best",
}.items():
    KINDS[_name] = RegretKind(_name, mean_loss, f"{_loss}, mean of both arms")
    KINDS[f"{_name}-weak"] = RegretKind(_name, np.minimum, f"{_loss}, of the better arm")
    KINDS[f"{_name}-binary-weak"] = RegretKind(
        _name, both_lose, "1 unless one of the arms loses nothing"
    )
    KINDS[f"{_name}-binary-strong"] = RegretKind(
        _name, any_loses, "1 unless both arms lose nothing"
    )


BENCHMARKS = {
    "condorcet": "against the Condorcet winner of each round",
    "von-neumann": "against the von Neumann winner of each round, the unbeaten mixture",
    "exploitability": "exploitability, the gain of one arm per phase against the plays",
    "borda": "against the best Borda score of each round",
    "copeland": "against the best Copeland score of each round",
}
"""The benchmarks of a game; the first (default) needs a Condorcet winner in every round."""


def kinds_of(benchmark: str) -> tuple[str, str, str, str]:
    """Return the kinds of regret of a game with a benchmark, the benchmark's own first.

    They are those of `GAME_BLENDS`. Exploitability is not a sum over duels and has no weak or
    binary form; the other three are then against the von Neumann winner.

    Examples
    --------
    >>> kinds_of("condorcet")
    ('dynamic', 'weak', 'binary-weak', 'binary-strong')
    >>> kinds_of("borda")
    ('borda', 'borda-weak', 'borda-binary-weak', 'borda-binary-strong')
    """
    if benchmark == "condorcet":
        return "dynamic", "weak", "binary-weak", "binary-strong"
    against = "von-neumann" if benchmark == "exploitability" else benchmark
    return benchmark, f"{against}-weak", f"{against}-binary-weak", f"{against}-binary-strong"


_NOTHING = 1e-9  # tolerance of preferences
_MOST_COUNTS = 1 << 24
"""The largest number of stored play counts, of every arm at the end of every phase."""


def _kind(name: str) -> RegretKind:
    if name not in KINDS:
        raise DriftduelError(f"there is no regret named {name!r}; {near(name, KINDS)}")
    return KINDS[name]


def check_benchmark(name: str) -> None:
    """Raise if the benchmark does not exist."""
    if name not in BENCHMARKS:
        raise DriftduelError(f"there is no benchmark {name!r}; {near(name, BENCHMARKS)}")


class NoWinnerError(DriftduelError):
    """Raised if a round has no Condorcet winner, so that regret against it is undefined.

    Parameters
    ----------
    what
        The name of the world in the message.
    world
        The world object, for the choice of a defined benchmark.
    t
        The round.
    """

    def __init__(self, what: str, world: World, t: int) -> None:
        try:
            phase_starts(world)
            instead = "exploitability"
        except DriftduelError:
            instead = "von-neumann"
        super().__init__(
            f"{what} has no Condorcet winner in round {t}, so regret against it is undefined; add "
            f'--benchmark {instead} (in Python and in a sweep: benchmark="{instead}").'
        )
        self.round = t


def chunk_losses(
    chunk: Chunk,
    benchmark: str = BENCHMARK,
    arm: int | None = None,
    winners: NDArray[np.int64] | None = None,
) -> Floats:
    """Return the loss of each arm in each row of a chunk, an array (rows, arms).

    If arms join and leave, the benchmark and the scores refer to the present arms; the loss of an
    absent arm has the value NaN.

    Parameters
    ----------
    chunk
        Rounds of a world.
    benchmark
        ``condorcet``, ``von-neumann``, ``arm``, ``borda`` or ``copeland``.
    arm
        The fixed arm, for the benchmark ``arm``.
    winners
        The Condorcet winner of every row; by default they are computed.
    """
    if benchmark == "condorcet":
        if winners is None:
            winners = chunk.row_winners()
        without = np.flatnonzero(winners[chunk.rows] < 0)
        if without.size:
            raise DriftduelError(
                f"round {chunk.starts[without[0]]} has no Condorcet winner, so there is no regret "
                f"against one; von-neumann, borda and copeland have a meaning there."
            )
        return _of_the_present(chunk, chunk.row_preferences(winners) - 0.5)
    if benchmark == "von-neumann":
        return _of_the_present(chunk, chunk.row_losses(winners))
    matrices = chunk.row_matrices()
    if benchmark == "arm":
        arms = matrices.shape[1]
        if arm is None or not 0 <= arm < arms:
            raise DriftduelError(f"arm={arm} must be between 0 and {arms - 1}.")
        there = chunk.present[chunk.rows, arm] if chunk.present.size else np.array([True])
        if not there.all():
            raise DriftduelError(
                f"arm={arm} is absent in round {chunk.starts[there.argmin()]}, so regret "
                f"against it is undefined; dynamic regret is against the best arm present."
            )
        return _of_the_present(chunk, matrices[:, arm] - 0.5)
    # The duel of an arm with itself adds 1/2 to the sum of a Borda score, and is no win.
    counted, itself = (matrices, 0.5) if benchmark == "borda" else (matrices > 0.5, 0.0)
    others: int | NDArray[np.int64] = matrices.shape[1] - 1
    if chunk.present.size:
        counted = counted * chunk.present[:, None, :]
        others = np.maximum(chunk.present.sum(axis=1, keepdims=True) - 1, 1)
    scores = _of_the_present(chunk, (counted.sum(axis=2) - itself) / others)
    result: Floats = np.nanmax(scores, axis=1, keepdims=True) - scores
    # Equal scores may differ in the last bit because of the order of summation.
    result[result < _NOTHING] = 0.0
    return result


def _of_the_present(chunk: Chunk, losses: Floats) -> Floats:
    """Return the losses with the value NaN for absent arms."""
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
        The world of the duels.
    firsts, seconds
        The arms of each round's duel, at most as many as the world has rounds.
    kind
        One of `KINDS`; ``dynamic`` is the paper's.
    arm
        The fixed arm of the kind ``static``.
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
                    raise DriftduelError(f"round {low + t + 1} plays arm {arms[t]}, an absent arm.")
        losses = chunk_losses(_until(chunk, high + 1), benchmark, arm)
        result[played] = blend(losses[row, a[played]], losses[row, b[played]])
    return result


def _until(chunk: Chunk, end: int) -> Chunk:
    """Return a chunk without the rounds from `end` on, which must not raise errors."""
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
    """Return the last round of every stationary stretch of a world.

    The function `exploitability` needs the plays of each arm up to these rounds:
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
    """Return the maximal gain of one fixed arm against the plays, stretch by stretch.

    Against a duel of a and b, arm j wins (P_t(j, a) + P_t(j, b) - 1) / 2. The opponent plays one
    arm for a stretch of rounds: the best one in hindsight of those present all the time. Saha and
    Gupta (ICML 2022) define regret in this way. The value may be negative, because the policy may
    change its arms and the opponent may not.

    Parameters
    ----------
    world
        The world of the duels.
    at, plays
        Rounds, and the number of duels of each arm up to them, as in `driftduel.games.Play`. All
        played rounds of `last_rounds` must be included.
    starts
        The first rounds of the stretches: the default ``[1]`` for one arm in all rounds, the starts
        of a world's phases, or every round for the best response to every duel.

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
    step = max(1, (1 << 21) // world.arms**2)  # matrices in memory
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
    uncovered = np.flatnonzero(~there.any(axis=1))
    if uncovered.size:
        raise DriftduelError(
            f"no arm is present all the time from round {firsts[uncovered[0]]} on, so there is no "
            f"comparison; let the stretches start in the rounds of joins and departures."
        )
    result: Floats = np.where(there, won, -np.inf).max(axis=1)
    return result


def phase_starts(world: World) -> NDArray[np.int64]:
    """Return the first round of every phase, a stretch without changes.

    A phase ends with a change of the preferences between present arms, or of the present arms. A
    world with phases of less than K rounds on average, such as a drifting world, is refused: an
    opponent that changes its arm so often would respond to single duels. So is a world of slates:
    exploitability is computed from the plays, which do not tell slates from duels.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> phase_starts(make_world("rps-top:rounds=1000,phases=4")).tolist()
    [1, 251, 501, 751]
    """
    if world.slate > 2:
        raise DriftduelError(
            "exploitability is defined for duels, not for slates; leave out the benchmark, or use "
            "--benchmark von-neumann."
        )
    most = max(1, min(world.rounds, _MOST_COUNTS) // world.arms)
    starts = [np.ones(1, np.int64)]
    phases, last = 1, None
    for chunk in world.chunks():
        matrices, rows = chunk.row_matrices(), chunk.rows
        here = chunk.present if chunk.present.size else np.ones(matrices.shape[:2], np.bool_)
        changed = np.flatnonzero(rows[1:] != rows[:-1]) + 1  # candidates: another row
        now, before = rows[changed], rows[changed - 1]
        moved = _differ(matrices[now], here[now], matrices[before], here[before])
        begun = chunk.starts[changed[moved]]
        if last is not None and _differ(matrices[rows[:1]], here[rows[:1]], *last)[0]:
            begun = np.append(chunk.starts[:1], begun)
        starts.append(begun)
        phases += len(begun)
        if phases > most:
            raise DriftduelError(
                f"exploitability needs phases with constant preferences, and here they "
                f"change {phases - 1:,} times up to round {chunk.end - 1:,} of {world.rounds:,}; "
                f"--benchmark von-neumann has a meaning there."
            )
        last = matrices[rows[-1:]], here[rows[-1:]]
    return np.concatenate(starts)


def _differ(
    P: Floats, here: NDArray[np.bool_], Q: Floats, there: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return whether two stacks of matrices and present arms differ, element by element."""
    both = here[:, :, None] & here[:, None, :]
    result: NDArray[np.bool_] = (here != there).any(1) | ((P != Q) & both).any((1, 2))
    return result


def phase_curves(
    world: World, starts: NDArray[np.int64], at: NDArray[np.int64], plays: NDArray[np.int64]
) -> dict[str, Floats]:
    """Return exploitability, Borda and Copeland regret up to certain rounds, given the plays.

    The value of exploitability up to round t is the sum over finished phases and the current one as
    if it ended with t. It may fall within a phase, if the policy plays a neglected arm, and is
    never negative.

    Parameters
    ----------
    world
        The world of the duels.
    starts
        The first rounds of its phases; see `phase_starts`.
    at, plays
        Rounds, and the number of duels of each arm up to them, as in `driftduel.games.Play`. The
        ends of all phases but the last played one must be included.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> world = make_world("two-arm:rounds=1000")
    >>> at, only_the_first = np.array([500, 700, 1000]), np.array([[1000, 0], [1400, 0], [2000, 0]])
    >>> phase_curves(world, phase_starts(world), at, only_the_first)["exploitability"].tolist()
    [0.0, 100.0, 250.0]
    """
    starts = starts[starts <= at[-1]]
    _check_counted(starts[1:] - 1, at)
    ends = np.searchsorted(at, starts[1:] - 1)
    phase = np.searchsorted(starts, at, side="right") - 1
    before = np.concatenate((np.zeros((1, world.arms), np.int64), plays[ends]))
    played = (plays - before[phase]).astype(np.float64)
    curves = {name: np.zeros(len(at)) for name in ("exploitability", "borda", "copeland")}
    step = max(1, (1 << 21) // world.arms**2)  # matrices in memory
    for chunk in world.chunks():
        low, high = np.searchsorted(at, (chunk.starts[0], chunk.end))
        if low == len(at):
            break
        gaps = chunk.row_matrices() - 0.5
        scores = {name: np.nan_to_num(chunk_losses(chunk, name)) for name in ("borda", "copeland")}
        for begin in range(low, high, step):
            these = slice(begin, min(begin + step, high))
            rows = chunk.rows[np.searchsorted(chunk.starts, at[these], side="right") - 1]
            won = (gaps[rows] @ played[these, :, None])[:, :, 0]
            if chunk.present.size:
                won = np.where(chunk.present[rows], won, -np.inf)
            curves["exploitability"][these] = won.max(axis=1) / 2
            for name, losses in scores.items():
                curves[name][these] = (losses[rows] * played[these]).sum(axis=1) / 2
    over = {name: np.append(0.0, np.cumsum(curve[ends])) for name, curve in curves.items()}
    return {name: curve + over[name][phase] for name, curve in curves.items()}


def _check_counted(rounds: NDArray[np.int64], at: NDArray[np.int64]) -> None:
    """Raise if plays are missing at a round with a possible change."""
    rounds = rounds[rounds < at[-1]]
    missing = rounds[at[np.searchsorted(at, rounds)] != rounds]
    if missing.size:
        raise DriftduelError(
            f"the plays up to round {missing[0]}, after which preferences may change, are missing; "
            f"pass points=last_rounds(world) to play."
        )


def log_rounds(rounds: int, points: int = POINTS) -> NDArray[np.int64]:
    """Return rounds spaced evenly on a log scale, from 1 to `rounds`, both included.

    Examples
    --------
    >>> log_rounds(1000, points=4).tolist()
    [1, 10, 100, 1000]
    """
    return _log_rounds(int(rounds), int(points)).copy()


@lru_cache(maxsize=64)
def _log_rounds(rounds: int, points: int) -> NDArray[np.int64]:
    spread = np.rint(np.geomspace(1, rounds, max(2, points))).astype(np.int64)
    return np.unique(np.append(spread, (1, rounds)))


def regret_curve(
    world: World,
    firsts: Sequence[int] | NDArray[np.int64],
    seconds: Sequence[int] | NDArray[np.int64],
    kind: str = "dynamic",
    arm: int | None = None,
    points: int = POINTS,
) -> tuple[NDArray[np.int64], Floats]:
    """Return log-spaced rounds and the regret summed up to each of them."""
    lost = regret(world, firsts, seconds, kind, arm)
    at = log_rounds(len(lost), points)
    return at, np.cumsum(lost)[at - 1]
