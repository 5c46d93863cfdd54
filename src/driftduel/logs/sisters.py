"""Policies on sister worlds: what each would have lost on traffic such as a log's.

Sisters are worlds that may have made the log, draws of what it leaves open. All policies meet the
same sisters with the same luck, and beside them stands what the log's own duels lost there.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.games.knowledge import knowledge
from driftduel.logs.posterior import Fit
from driftduel.policies import make_policy
from driftduel.regret import chunk_losses
from driftduel.wording import counted, interval, listed, number, share
from driftduel.worlds import World

__all__ = [
    "Comparison",
    "Saved",
    "benchmark_for",
    "compare_on_sisters",
    "default_cast",
    "lost_by_log",
    "sister",
    "sisters",
]

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

_MOST_ROUNDS = 200_000  # of traffic, unless somebody asks for more: games take time
_ONE_IN = (32, 16, 8)  # windows of the default cast, as parts of the rounds
_INTERVAL = (0.05, 0.95)


def sister(fit: Fit, number: int, rounds: int | None = None) -> World:
    """Return the sister of a log's world with a number, from 1; the same however many there are.

    Parameters
    ----------
    fit
        A log's.
    number
        Which.
    rounds
        How many rounds it has; None: one for each vote.
    """
    if number < 1:
        raise DriftduelError(f"sisters are numbered from 1; there is no sister {number}.")
    return fit.worlds(1, number, rounds)[0]


def sisters(fit: Fit, size: int, rounds: int | None = None) -> list[World]:
    """Return the first sisters of a log's world; see `sister`."""
    if size < 1:
        raise DriftduelError(f"sisters={size} must be at least 1.")
    return [sister(fit, number, rounds) for number in range(1, size + 1)]


def _saved(lost: Floats, own: Floats) -> Floats:
    """Return the share saved of what the log's own duels lost; where that is nothing, nothing."""
    some = own > 0
    saved: Floats = np.where(some, 1 - lost / np.where(some, own, 1), 0.0)
    return saved


@dataclass(frozen=True)
class Saved:
    """What one policy lost, and which share of the log's own loss it saves."""

    policy: str
    regret: float
    low: float
    high: float
    """Over sisters, 90% of which lie between."""
    saves: float
    saves_low: float
    saves_high: float
    """The share of what the log's own duels lost that it would have saved, likewise."""
    best_in: int
    """In how many sisters it lost least."""


@dataclass(frozen=True)
class Comparison:
    """What policies lost on the sisters of a log, and what the log's own duels lost there."""

    policies: tuple[str, ...]
    regret: Floats
    """(policies, sisters, games) the regret of each."""
    own: Floats
    """(sisters,) the regret of the log's own duels, as if they were made in as many rounds."""
    rounds: int
    benchmark: str
    """What regret is against: the Condorcet winner, or, where some sister has none in some round,
    the von Neumann winner."""

    @property
    def standings(self) -> list[Saved]:
        """The policies, those that lose least first."""
        by_sister: Floats = self.regret.mean(axis=2)
        saved = _saved(by_sister, self.own)
        best = by_sister.argmin(axis=0)
        standings = []
        for i, policy in enumerate(self.policies):
            low, high = np.quantile(by_sister[i], _INTERVAL)
            saves_low, saves_high = np.quantile(saved[i], _INTERVAL)
            lost = by_sister[i].mean()
            standings.append(
                Saved(
                    policy=policy,
                    regret=float(lost),
                    low=float(low),
                    high=float(high),
                    saves=float(_saved(lost, self.own.mean())),
                    saves_low=float(saves_low),
                    saves_high=float(saves_high),
                    best_in=int((best == i).sum()),
                )
            )
        return sorted(standings, key=lambda one: one.regret)

    @property
    def sentence(self) -> str:
        """Who saves most, in a sentence that can be repeated."""
        best = self.standings[0]
        if best.saves_low <= 0:
            return "No policy surely loses less than the log's own duels did."
        return (
            f"{best.policy} would have saved {share(best.saves)} "
            f"({interval(best.saves_low, best.saves_high, share)}) of what the log's own duels "
            f"lost, and lost least in {best.best_in} of "
            f"{counted(len(self.own), 'sister world')}."
        )

    @property
    def remarks(self) -> list[str]:
        """What is to be known about these numbers."""
        low, high = np.quantile(self.own, _INTERVAL)
        against = {
            "condorcet": "the Condorcet winner",
            "von-neumann": "the von Neumann winner, because in some rounds of some sister nobody "
            "beats everybody",
        }[self.benchmark]
        told = [policy for policy in self.policies if policy.startswith("oracle-")]
        return [
            f"Regret is against {against}, over {self.rounds:,} rounds; the log's own duels lost "
            f"{number(float(self.own.mean()))} ({interval(float(low), float(high))}) in as many.",
            f"{counted(len(self.own), 'world')} that may have made this log, "
            f"{counted(self.regret.shape[2], 'game')} of each policy on each, all with the same "
            f"luck; intervals hold 90% of the worlds. The worlds are fitted: 'driftduel log "
            f"replay' checks them with real outcomes, where a log allows it.",
            *([f"Told when the winner changes, as nobody is: {listed(told)}."] if told else []),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        low, high = np.quantile(self.own, _INTERVAL)
        return {
            "rounds": self.rounds,
            "sisters": len(self.own),
            "runs": self.regret.shape[2],
            "benchmark": self.benchmark,
            "own": {"regret": float(self.own.mean()), "low": float(low), "high": float(high)},
            "policies": [asdict(one) for one in self.standings],
            "remarks": self.remarks,
        }


def default_cast(rounds: int) -> list[str]:
    """Return policies worth a look, with windows that suit the rounds.

    Examples
    --------
    >>> default_cast(16_000)[3:6]
    ['sw-dts:window=500', 'sw-dts:window=1000', 'sw-dts:window=2000']
    """
    windows = dict.fromkeys(max(10, int(float(f"{rounds / part:.2g}"))) for part in _ONE_IN)
    return ["king", "court", "dts", *(f"sw-dts:window={window}" for window in windows), "uniform"]


def compare_on_sisters(
    fit: Fit,
    policies: Sequence[str] = (),
    size: int = 12,
    runs: int = 3,
    rounds: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Let policies play the sisters of a log's world, all with the same luck.

    Parameters
    ----------
    fit
        The log's.
    policies
        Their specs; none: a cast that is worth a look.
    size
        How many sisters.
    runs
        Games of each policy on each sister.
    rounds
        Of traffic; None: one for each vote, at most 200,000.
    seed
        Fixes the games; the sisters are those of `sister`.
    progress
        Called now and then with (rounds played, rounds of all games).

    Examples
    --------
    >>> from driftduel.logs import fit, simulate
    >>> from driftduel.worlds import make_world
    >>> world = make_world("geometric-btl:arms=3,rounds=2000,phases=2", seed=1)
    >>> found = compare_on_sisters(fit(simulate(world)), ["uniform"], size=2, runs=1)
    >>> found.benchmark, found.own.shape, found.regret.shape
    ('condorcet', (2,), (1, 2, 1))
    """
    if runs < 1:
        raise DriftduelError(f"runs={runs} must be at least 1.")
    if rounds is None:
        rounds = min(fit.counts.votes, _MOST_ROUNDS)
    worlds = sisters(fit, size, rounds)
    cast = list(policies) or default_cast(rounds)
    twice = next((policy for at, policy in enumerate(cast) if policy in cast[:at]), None)
    if twice is not None:
        raise DriftduelError(f"policy {twice!r} is named twice.")
    for policy in cast:  # mistakes come before hours of games
        make_policy(policy, worlds[0].arms, 0, **knowledge(policy, worlds[0]))
    benchmark = benchmark_for(worlds)
    own = np.array([lost_by_log(fit, world, benchmark) for world in worlds])
    regret = np.empty((len(cast), size, runs))
    for done, (i, w, run) in enumerate(np.ndindex(regret.shape)):
        watch = None
        if progress is not None:
            watch = partial(_note, progress, done * rounds, regret.size * rounds)
        luck = _game_seed(seed, w, run)
        game = play(cast[i], worlds[w], luck, points=2, benchmark=benchmark, progress=watch)
        if not game.finished:  # Ctrl-C ends a game, and then all of them
            raise KeyboardInterrupt
        regret[i, w, run] = game.total
    return Comparison(tuple(cast), regret, own, rounds, benchmark)


def _note(progress: Progress, before: int, total: int, played: int, _: int) -> None:
    progress(before + played, total)


def _game_seed(*numbers: int) -> int:
    """Return the seed of a game: the same for all policies, another for every world and run."""
    if min(numbers) < 0:
        raise DriftduelError(f"seed={numbers[0]} must be a whole number at least 0.")
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def benchmark_for(worlds: Sequence[World]) -> str:
    """Return what regret can be measured against in all of these worlds."""
    always = all(winner is not None for world in worlds for _, winner in world.condorcet_winners())
    return "condorcet" if always else "von-neumann"


def lost_by_log(fit: Fit, world: World, benchmark: str = "condorcet") -> float:
    """Return the regret that the log's own duels had, if a world is what made it.

    Parameters
    ----------
    fit
        The log's.
    world
        One that may have made it, with any number of rounds: the duels count as so many.
    benchmark
        As of `play`.
    """
    wins = fit.counts.wins
    shown = wins.sum(axis=1) + wins.sum(axis=2)  # (F, K): how often each option was in a duel
    total = shown.sum() / 2
    ends = np.cumsum(shown.sum(axis=1)) / 2
    middles = ends - shown.sum(axis=1) / 4
    rounds = np.clip(np.ceil(middles / total * world.rounds), 1, world.rounds).astype(np.int64)
    lost = duels = 0.0
    for chunk in world.chunks():
        low, high = np.searchsorted(rounds, (chunk.starts[0], chunk.end))
        if low < high:
            segments = np.searchsorted(chunk.starts, rounds[low:high], side="right") - 1
            losses = chunk_losses(chunk, benchmark)[chunk.rows[segments]]
            # In few rounds an option's presence is rounded, and its last duel may lie outside.
            known = np.where(np.isfinite(losses), shown[low:high], 0.0)
            lost += float((np.where(known > 0, losses, 0.0) * known).sum())
            duels += float(known.sum())
    return lost / duels * world.rounds
