"""Policies on worlds drawn from the posterior of a log: their regret on similar traffic.

The worlds represent the uncertainty that the log leaves. All policies play the same worlds with the
same outcome draws. The regret of the log's own duels on these worlds is the baseline.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.wording import counted, interval, listed, number, share
from driftduel.errors import DriftduelError
from driftduel.games import knowledge, play
from driftduel.logs.posterior import Fit
from driftduel.policies import make_policy
from driftduel.regret import chunk_losses
from driftduel.worlds import World

__all__ = [
    "Comparison",
    "Saved",
    "benchmark_for",
    "compare_on_posterior",
    "default_policies",
    "draw_world",
    "draw_worlds",
    "regret_of_log",
]

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

_MOST_ROUNDS = 200_000  # default limit of rounds: games take time
_ONE_IN = (32, 16, 8)  # window parameters of the default policies, as fractions of the rounds
_INTERVAL = (0.05, 0.95)


def draw_world(fit: Fit, number: int, rounds: int | None = None) -> World:
    """Return posterior draw `number` (from 1); its value does not depend on the number of draws.

    Parameters
    ----------
    fit
        A fitted log.
    number
        The number of the draw, from 1.
    rounds
        The number of rounds; by default one for each vote.
    """
    if number < 1:
        raise DriftduelError(f"posterior draws are numbered from 1, not {number}.")
    return fit.worlds(1, number, rounds)[0]


def draw_worlds(fit: Fit, size: int, rounds: int | None = None) -> list[World]:
    """Return the first posterior draws of a log's world; see `draw_world`."""
    if size < 1:
        raise DriftduelError(f"sisters={size} must be at least 1.")
    return [draw_world(fit, number, rounds) for number in range(1, size + 1)]


def _saved_share(lost: Floats, own: Floats) -> Floats:
    """Return the saved share of the regret of the log's own duels; 0 if that regret is 0."""
    some = own > 0
    saved: Floats = np.where(some, 1 - lost / np.where(some, own, 1), 0.0)
    return saved


@dataclass(frozen=True)
class Saved:
    """The regret of one policy, and the share of the log's own regret that it saves."""

    policy: str
    regret: float
    low: float
    high: float
    """The central 90% over worlds."""
    saves: float
    saves_low: float
    saves_high: float
    """The share of the log's own regret that it saves, and the central 90% over worlds."""
    best_in: int
    """The number of worlds in which it has the least regret."""


@dataclass(frozen=True)
class Comparison:
    """The regret of policies on posterior draws of a log's world, and of the log's own duels."""

    policies: tuple[str, ...]
    regret: Floats
    """(policies, worlds, games) the regret of each game."""
    own: Floats
    """(worlds,) the regret of the log's own duels, scaled to the same number of rounds."""
    rounds: int
    benchmark: str
    """The benchmark of regret: the Condorcet winner, or the von Neumann winner if any world has a
    round without a Condorcet winner."""

    @property
    def standings(self) -> list[Saved]:
        """The policies, in ascending order of regret."""
        by_world: Floats = self.regret.mean(axis=2)
        saved = _saved_share(by_world, self.own)
        best = by_world.argmin(axis=0)
        standings = []
        for i, policy in enumerate(self.policies):
            low, high = np.quantile(by_world[i], _INTERVAL)
            saves_low, saves_high = np.quantile(saved[i], _INTERVAL)
            lost = by_world[i].mean()
            standings.append(
                Saved(
                    policy=policy,
                    regret=float(lost),
                    low=float(low),
                    high=float(high),
                    saves=float(_saved_share(lost, self.own.mean())),
                    saves_low=float(saves_low),
                    saves_high=float(saves_high),
                    best_in=int((best == i).sum()),
                )
            )
        return sorted(standings, key=lambda one: one.regret)

    @property
    def sentence(self) -> str:
        """The best policy as a self-contained sentence."""
        best = self.standings[0]
        if best.saves_low <= 0:
            return "No policy has certainly less regret than the log's own duels."
        return (
            f"{best.policy} would have saved {share(best.saves)} "
            f"({interval(best.saves_low, best.saves_high, share)}) of the regret of the log's own "
            f"duels, and has the least regret in {best.best_in} of "
            f"{counted(len(self.own), 'posterior draw')}."
        )

    @property
    def remarks(self) -> list[str]:
        """Sentences that explain the numbers."""
        low, high = np.quantile(self.own, _INTERVAL)
        against = {
            "condorcet": "the Condorcet winner",
            "von-neumann": "the von Neumann winner, because some rounds of some world have no "
            "Condorcet winner",
        }[self.benchmark]
        oracles = [policy for policy in self.policies if policy.startswith("oracle-")]
        return [
            f"Regret is against {against}, over {self.rounds:,} rounds; the log's own duels lost "
            f"{number(float(self.own.mean()))} ({interval(float(low), float(high))}) in as many.",
            f"{counted(len(self.own), 'world')} drawn from the posterior of this log, "
            f"{counted(self.regret.shape[2], 'game')} of each policy on each, all with the same "
            f"outcome draws; intervals hold 90% of the worlds. The worlds are fitted: 'driftduel "
            f"log replay' checks them with real outcomes, where a log allows it.",
            *(
                [f"With prior knowledge of the times of change: {listed(oracles)}."]
                if oracles
                else []
            ),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all values as plain data."""
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


def default_policies(rounds: int) -> list[str]:
    """Return the default policies, with window parameters that suit the rounds.

    Examples
    --------
    >>> default_policies(16_000)[3:6]
    ['sw-dts:window=500', 'sw-dts:window=1000', 'sw-dts:window=2000']
    """
    windows = dict.fromkeys(max(10, int(float(f"{rounds / part:.2g}"))) for part in _ONE_IN)
    return ["king", "court", "dts", *(f"sw-dts:window={window}" for window in windows), "uniform"]


def compare_on_posterior(
    fit: Fit,
    policies: Sequence[str] = (),
    size: int = 12,
    runs: int = 3,
    rounds: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare policies on worlds drawn from the posterior, with the same outcome draws.

    Parameters
    ----------
    fit
        A fitted log.
    policies
        Their specs; the default is the return value of `default_policies`.
    size
        The number of worlds.
    runs
        Games of each policy on each world.
    rounds
        The number of rounds; by default one for each vote, at most 200,000.
    seed
        Seed of the games; the worlds are those of `draw_world`.
    progress
        Function called at intervals with (rounds played, rounds of all games).

    Examples
    --------
    >>> from driftduel.logs import fit, simulate
    >>> from driftduel.worlds import make_world
    >>> world = make_world("geometric-btl:arms=3,rounds=2000,phases=2", seed=1)
    >>> found = compare_on_posterior(fit(simulate(world)), ["uniform"], size=2, runs=1)
    >>> found.benchmark, found.own.shape, found.regret.shape
    ('condorcet', (2,), (1, 2, 1))
    """
    if runs < 1:
        raise DriftduelError(f"runs={runs} must be at least 1.")
    if fit.counts.slates:
        raise DriftduelError(
            "the regret of the log's own duels is not defined for slates of several options; "
            "'driftduel log world' writes a fitted world for 'driftduel compare'."
        )
    if rounds is None:
        rounds = min(fit.counts.votes, _MOST_ROUNDS)
    worlds = draw_worlds(fit, size, rounds)
    specs = list(policies) or default_policies(rounds)
    twice = next((policy for at, policy in enumerate(specs) if policy in specs[:at]), None)
    if twice is not None:
        raise DriftduelError(f"policy {twice!r} is named twice.")
    for policy in specs:  # raise invalid specs before hours of games
        make_policy(policy, worlds[0].arms, 0, **knowledge(policy, worlds[0]))
    benchmark = benchmark_for(worlds)
    own = np.array([regret_of_log(fit, world, benchmark) for world in worlds])
    regret = np.empty((len(specs), size, runs))
    for done, (i, w, run) in enumerate(np.ndindex(regret.shape)):
        watch = None
        if progress is not None:
            watch = partial(_note, progress, done * rounds, regret.size * rounds)
        game_seed = _game_seed(seed, w, run)
        game = play(specs[i], worlds[w], game_seed, points=2, benchmark=benchmark, progress=watch)
        if not game.finished:  # Ctrl-C ends the current game and all others
            raise KeyboardInterrupt
        regret[i, w, run] = game.total
    return Comparison(tuple(specs), regret, own, rounds, benchmark)


def _note(progress: Progress, before: int, total: int, played: int, _: int) -> None:
    progress(before + played, total)


def _game_seed(*numbers: int) -> int:
    """Return the seed of a game: equal for all policies, different for every world and run."""
    if min(numbers) < 0:
        raise DriftduelError(f"seed={numbers[0]} must be a whole number at least 0.")
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def benchmark_for(worlds: Sequence[World]) -> str:
    """Return the benchmark of regret that is defined in all of these worlds."""
    always = all(winner is not None for world in worlds for _, winner in world.condorcet_winners())
    return "condorcet" if always else "von-neumann"


def regret_of_log(fit: Fit, world: World, benchmark: str = "condorcet") -> float:
    """Return the regret of the log's own duels, if a given world has produced the log.

    Parameters
    ----------
    fit
        A fitted log.
    world
        A posterior draw with any number of rounds; the regret is scaled to it.
    benchmark
        Same argument as of `play`.
    """
    wins = fit.counts.wins
    shown = wins.sum(axis=1) + wins.sum(axis=2)  # (F, K): the number of duels of each option
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
            # With few rounds the presence of an option is rounded, and its last duel may lie
            # outside.
            known = np.where(np.isfinite(losses), shown[low:high], 0.0)
            lost += float((np.where(known > 0, losses, 0.0) * known).sum())
            duels += float(known.sum())
    return lost / duels * world.rounds
