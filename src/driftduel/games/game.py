"""One game: a policy, a world and a seed."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel.errors import DriftduelError
from driftduel.games.knowledge import knowledge
from driftduel.games.rounds import answer, attend, check_changes, skips_ties
from driftduel.policies import GROW, KernelPolicy, Policy, make_policy
from driftduel.policies.base import no_such_arms
from driftduel.regret import (
    check_benchmark,
    chunk_losses,
    log_rounds,
    no_winner,
    phase_curves,
    phase_starts,
)
from driftduel.specs import Spec
from driftduel.worlds import Chunk, World, make_world

__all__ = ["Play", "play", "streams"]

# Long enough that the calls cost nothing, short enough that Ctrl-C and progress feel immediate.
_ROUNDS_A_CALL = 1 << 17
_SECONDS_A_CALL = 0.2
_RESTARTS_A_CALL = 4096

Progress = Callable[[int, int], None]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Play:
    """What came of one game."""

    policy: Policy
    """The policy as the game left it."""
    world: World
    seed: int
    at: NDArray[np.int64]
    """Rounds up to the last one played, log-spaced unless `play` was told otherwise."""
    regret: dict[str, NDArray[np.float64]]
    """Regret summed up to each of them, by kind: dynamic, weak, binary-weak, binary-strong. With
    the benchmark ``exploitability`` the first is that, and the others are against the von Neumann
    winner."""
    plays: NDArray[np.int64]
    """(len(at), K) how often each arm was in a duel up to then; twice for one with itself."""
    restarts: list[int]
    """Rounds after which the policy started anew."""
    switches: list[int]
    """Rounds whose Condorcet winner is not that of the round before. With the benchmark
    ``von-neumann``: in which other arms than before lose nothing, which is the same wherever there
    is a winner; with ``exploitability``: in which a phase begins."""
    rounds: int
    """Rounds played: all of the world's, or fewer when the game was stopped."""
    seconds: float
    """Wall-clock time, compilation aside."""
    beside: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """The same duels' regret against von-neumann, borda and copeland, in a game with the benchmark
    ``exploitability``, which has counted what that takes."""

    @property
    def finished(self) -> bool:
        """Tell whether all rounds were played."""
        return self.rounds == self.world.rounds

    @property
    def total(self) -> float:
        """The dynamic regret (or the exploitability) of all rounds played."""
        return float(self.regret["dynamic"][-1]) if self.rounds else 0.0

    @property
    def rounds_per_second(self) -> float:
        """How fast it went."""
        return self.rounds / self.seconds if self.seconds > 0 else 0.0


def streams(seed: int) -> tuple[np.random.SeedSequence, ...]:
    """Split a seed into three independent streams: for the world, the outcomes, the policy."""
    if seed < 0:
        raise DriftduelError(f"seed={seed} must be a whole number at least 0.")
    return tuple(np.random.SeedSequence(seed).spawn(3))


def play(
    policy: str | Spec | Policy,
    world: str | Spec | World,
    seed: int = 0,
    *,
    points: int | ArrayLike = 200,
    benchmark: str = "condorcet",
    mode: str | None = None,
    progress: Progress | None = None,
) -> Play:
    """Let a policy play all rounds of a world.

    The seed is split into three streams. A world given as a spec is drawn from the first, unless
    the spec fixes its own seed; each round's outcome compares one number of the second with
    P_t(a, b), so different policies face the same luck; a policy given as a spec draws from the
    third. Whatever the engine, the same seed gives the same game.

    Parameters
    ----------
    policy
        A spec, or a fresh policy. It is told what it wants to know and its spec does not say: the
        world's rounds, and for some the switches or the variation (see `knowledge`).
    world
        A spec or a world.
    seed
        Fixes everything.
    points
        About how many rounds of the regret curve to keep, evenly on a log scale; or the rounds
        themselves, ascending.
    benchmark
        Regret against the ``condorcet`` winner; for worlds without one in every round, against the
        ``von-neumann`` winner, the ``exploitability`` of what is played, or ``borda`` or
        ``copeland`` scores.
    mode
        ``serve`` or ``panel``, for the policy; None: as it is, which for a spec is ``serve``.
    progress
        Called now and then with (rounds played, rounds in all). What it raises ends the game.

    Notes
    -----
    Ctrl-C ends the game after the current stretch of rounds; what was reached is returned.

    Examples
    --------
    >>> game = play("anaconda:constant=0.5", "geometric-btl:arms=3,rounds=2000", seed=1)
    >>> game.finished, len(game.restarts)
    (True, 0)
    """
    if isinstance(points, np.integer):
        points = int(points)
    if isinstance(points, int) and points < 2:
        raise DriftduelError(f"points={points} must be a whole number at least 2.")
    check_benchmark(benchmark)
    for_world, for_outcomes, for_policy = streams(seed)
    if not isinstance(world, World):
        world = make_world(world, int(for_world.generate_state(1)[0]))
    if not isinstance(policy, Policy):
        policy = make_policy(policy, world.arms, for_policy, **knowledge(policy, world))
    elif len(policy.present) != world.arms or policy.arms != world.arms or policy.ledger.asked:
        raise DriftduelError(
            f"a game needs a fresh policy for {world.arms} arms; this one is for {policy.arms}, "
            f"{len(policy.present)} of them present, and has asked {policy.ledger.asked} times."
        )
    policy.configure(mode=mode)
    asked = marks = _marks(points, world.rounds)
    phases = None
    if benchmark == "exploitability":
        phases, benchmark = phase_starts(world), "von-neumann"
        marks = np.union1d(asked, phases[1:] - 1)
    table = _Table(marks, world.arms)
    outcomes = np.random.default_rng(for_outcomes)
    stretch = _compiled if isinstance(policy, KernelPolicy) else _interpreted
    pace = _Pace()
    switches: list[int] = []
    best = None
    with _interruptible() as interrupted:
        for chunk in world.chunks(limit=_ROUNDS_A_CALL):
            luck = outcomes.random(chunk.end - int(chunk.starts[0]))
            check_changes(policy, chunk)
            winners = chunk.row_winners()
            if benchmark == "condorcet" and (winners < 0).any():
                without = np.flatnonzero(winners[chunk.rows] < 0)
                raise no_winner("the world", world, int(chunk.starts[without[0]]))
            losses = chunk_losses(chunk, benchmark, winners=winners)
            by_row = losses == 0 if benchmark == "von-neumann" else winners[:, None]
            best = _note_switches(chunk, by_row, best, switches)
            while (first := policy.ledger.asked + 1) < chunk.end:
                end = min(first + pace.rounds, chunk.end)
                pace.note(end - first, stretch(policy, chunk, luck, losses, table, end))
                if progress is not None:
                    progress(policy.ledger.asked, world.rounds)
                if interrupted():
                    break
            if interrupted():
                break
    reached = policy.ledger.asked
    at = np.append(table.marks[: table.mark], reached)
    curves = np.vstack((table.curves[: table.mark], table.sums))
    plays = np.vstack((table.plays[: table.mark], table.counts.sum(axis=0)))
    if table.mark and at[-2] == reached:
        at, curves, plays = at[:-1], curves[:-1], plays[:-1]
    from driftduel.games.loop import REGRETS

    regret = {kind: curves[:, column] for column, kind in enumerate(REGRETS)}
    beside = {}
    if phases is not None:
        beside = {"von-neumann": regret["dynamic"], **phase_curves(world, phases, at, plays)}
        regret["dynamic"] = beside.pop("exploitability")
        switches = phases[1:].tolist()
        wanted = np.isin(at, asked)
        wanted[-1] = True
        at, plays = at[wanted], plays[wanted]
        regret, beside = ({k: c[wanted] for k, c in each.items()} for each in (regret, beside))
    return Play(
        policy=policy,
        world=world,
        seed=seed,
        at=at,
        regret=regret,
        plays=plays,
        restarts=list(policy.restarts),
        switches=[t for t in switches if t <= reached],
        rounds=reached,
        seconds=pace.seconds,
        beside=beside,
    )


def _marks(points: int | ArrayLike, rounds: int) -> NDArray[np.int64]:
    """Return the rounds of the curve."""
    if isinstance(points, int):
        return log_rounds(rounds, points)
    marks = np.asarray(points).ravel()
    whole = np.issubdtype(marks.dtype, np.integer)
    marks = marks.astype(np.int64)
    if (
        not whole
        or not len(marks)
        or marks[0] < 1
        or marks[-1] > rounds
        or (np.diff(marks) <= 0).any()
    ):
        raise DriftduelError(f"points must be ascending rounds between 1 and {rounds}.")
    return marks


def _note_switches(
    chunk: Chunk, best: NDArray[Any], before: NDArray[Any] | None, switches: list[int]
) -> NDArray[Any]:
    """Append the rounds of a chunk in which a row's best, (R, ...), change; return its last."""
    now = best[chunk.rows]
    earlier = np.concatenate((now[:1] if before is None else before[None], now[:-1]))
    switches.extend(chunk.starts[(now != earlier).any(axis=1)].tolist())
    last: NDArray[Any] = now[-1].copy()
    return last


class _Pace:
    """How many rounds the next call may play: about as many as fit into a fifth of a second.

    A round takes a hundredth of a microsecond or a second; nobody knows before the first. So the
    first call plays one, and none plays many times more than the one before it.
    """

    def __init__(self) -> None:
        self.rounds = 1
        self.seconds = 0.0

    def note(self, rounds: int, seconds: float) -> None:
        """Learn how long a call took."""
        self.seconds += seconds
        fitting = int(rounds * _SECONDS_A_CALL / max(seconds, 1e-9))
        self.rounds = max(1, min(fitting, 16 * self.rounds, _ROUNDS_A_CALL))


class _Table:
    """The regret and the plays so far, and their curves."""

    def __init__(self, marks: NDArray[np.int64], arms: int) -> None:
        self.marks = marks
        self.mark = 0
        self.sums = np.zeros(4)
        self.curves = np.zeros((len(marks), 4))
        self.counts = np.zeros((2, arms), np.int64)
        self.plays = np.zeros((len(marks), arms), np.int64)


def _compiled(
    policy: Any, chunk: Chunk, luck: Floats, losses: Floats, table: _Table, end: int
) -> float:
    """Play up to a round of a chunk in compiled code; return the seconds it took."""
    from driftduel.games.loop import ASTRAY, compiled_loop

    absences = chunk.present.size > 0
    loop = compiled_loop(policy.kernels, skips_ties(policy, chunk), absences)
    restarts = np.empty(_RESTARTS_A_CALL, np.int64)

    tables = chunk.matrices.reshape(-1, policy.arms**2)  # one index is faster than two

    def call(t: int, end: int) -> Any:
        return loop(
            chunk, tables, luck, losses, policy.state, policy.bits, policy.scratch, t, end,
            table.sums, table.marks, table.mark, table.curves, table.counts, table.plays, restarts,
        )  # fmt: skip

    t = policy.ledger.asked + 1
    if t == 1:  # play no rounds: compiling, or loading what was compiled, is not the policy's time
        call(t, t)
    begun = time.perf_counter()
    while t < end:
        t, table.mark, seen, flags, strange = call(t, end)
        policy.restarts.extend(restarts[:seen].tolist())
        policy.advance_to(t - 1)
        if flags & ASTRAY:
            segment = np.searchsorted(chunk.starts, t, side="right") - 1
            here = chunk.present[chunk.rows[segment]] if absences else None
            raise no_such_arms(policy, strange[0], strange[1], t, here)
        if flags & GROW:
            policy.grow()
    return time.perf_counter() - begun


def _interpreted(
    policy: Policy, chunk: Chunk, luck: Floats, losses: Floats, table: _Table, end: int
) -> float:
    """Play up to a round of a chunk by ask and tell, for policies in plain Python."""
    begun = time.perf_counter()
    begin = int(chunk.starts[0])
    last = -1
    for t in range(policy.ledger.asked + 1, end):
        row = chunk.rows[np.searchsorted(chunk.starts, t, side="right") - 1]
        if row != last:
            attend(policy, chunk, row)
            last = row
        duel = policy.ask()
        a, b = duel.first, duel.second
        answer(policy, duel, chunk, row, luck[t - begin])
        x, y = losses[row, a], losses[row, b]
        table.sums += (0.5 * (x + y), min(x, y), x > 0 and y > 0, x > 0 or y > 0)
        table.counts[0, a] += 1
        table.counts[1, b] += 1
        if table.mark < len(table.marks) and t == table.marks[table.mark]:
            table.curves[table.mark] = table.sums
            table.plays[table.mark] = table.counts.sum(axis=0)
            table.mark += 1
    return time.perf_counter() - begun


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C into a question, so that a game ends between two stretches and not inside."""
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        pressed = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
