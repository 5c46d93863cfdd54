"""The replays of one game, read from a trace or from the stages at some rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.policies import Stage

if TYPE_CHECKING:
    from driftduel.games.tracing import Trace

__all__ = ["Replay", "Replays", "nested_replays", "replays_at_moments", "replays_of"]

_COLUMNS = 900


class Replay(NamedTuple):
    """One replay of the policy."""

    start: int
    end: int
    """Its planned last round."""
    last: int
    """The last round in which it was observed."""
    depth: int
    """The nesting depth; the value 0 is the call that opens an episode."""


@dataclass(frozen=True)
class Replays:
    """The data of a figure of a game with replays."""

    arms: int
    rounds: int
    replays: tuple[Replay, ...]
    """The replays, including the calls that open an episode."""
    episodes: int
    inside: float
    """The share of rounds with an active replay."""
    edges: NDArray[np.int64]
    """The edges of the time columns: each column goes from the round after an edge to the next
    edge.
    """
    active: NDArray[np.float64]
    """(arms, columns) the share of a column's rounds with the arm in the active set."""
    eliminations: tuple[tuple[int, int], ...]
    """(round, arm) whenever an arm left the good set."""
    restarts: tuple[int, ...]
    moments: int | None = None
    """The number of observed stages; None if every round was observed."""

    @property
    def count(self) -> int:
        """The number of observed replays."""
        return sum(replay.depth > 0 for replay in self.replays)


def replays_of(played: "Trace") -> Replays:
    """Return the replays of a trace."""
    if (played.replay_start < 0).any():
        raise DriftduelError(
            f"policy {played.policy.name!r} has no replays; only a trace of one that has can be "
            f"drawn this way."
        )
    arms, rounds = played.world.arms, len(played)
    member = np.zeros((arms, rounds), dtype=np.float32)
    for t, active in enumerate(played.active):
        member[list(active), t] = 1.0
    edges = np.unique(np.linspace(0, rounds, min(_COLUMNS, rounds) + 1).astype(np.int64))
    episodes = played.episode_start.tolist()
    return Replays(
        arms=arms,
        rounds=rounds,
        replays=tuple(nested_replays(played)),
        episodes=len(set(episodes)),
        inside=float(np.mean(played.replay_start != played.episode_start)),
        edges=edges,
        active=np.add.reduceat(member, edges[:-1], axis=1) / np.diff(edges),
        eliminations=tuple(_eliminations(range(rounds), episodes, played.good, arms)),
        restarts=tuple(played.policy.restarts),
    )


def replays_at_moments(
    stages: Sequence[tuple[int, Stage]], arms: int, restarts: Iterable[int]
) -> Replays:
    """Return the replays observed at some stages, the last of them at the end of the game.

    A replay that began and ended between two stages is missing.

    Parameters
    ----------
    stages
        Pairs of a round and the stage of the policy after it.
    arms
        The number of arms.
    restarts
        Rounds after which the policy was reset.
    """
    seen: dict[tuple[int, int], Replay] = {}
    active = np.zeros((arms, len(stages)))
    inside = 0
    for column, (t, stage) in enumerate(stages):
        active[list(stage.active or ()), column] = 1.0
        running = [replay for replay in stage.replays or () if replay[1] >= t]
        opened = stage.episode_start
        inside += bool(running) and running[-1][0] != opened
        outermost = int(bool(running) and running[0][0] != opened)  # 0 opens the episode
        for depth, (start, end) in enumerate(running, start=outermost):
            seen[start, end] = Replay(start, end, t, depth)
    rounds = [t for t, _ in stages]
    episodes = [stage.episode_start or 0 for _, stage in stages]
    good = [stage.good or () for _, stage in stages]
    return Replays(
        arms=arms,
        rounds=rounds[-1],
        replays=tuple(sorted(seen.values())),
        episodes=len(set(episodes)),
        inside=inside / len(stages),
        edges=np.array([0, *rounds]),
        active=active,
        eliminations=tuple(_eliminations([0, *rounds], episodes, good, arms)),
        restarts=tuple(restarts),
        moments=len(stages),
    )


def nested_replays(played: "Trace") -> list[Replay]:
    """Return the nested replays of a trace."""
    every: list[list[int]] = []
    stack: list[list[int]] = []
    starts, ends = played.replay_start.tolist(), played.replay_end.tolist()
    for t, (start, end, episode) in enumerate(
        zip(starts, ends, played.episode_start.tolist(), strict=True), start=1
    ):
        if t in (start, episode):
            if t == episode:
                stack.clear()
            while stack and stack[-1][1] < t:
                stack.pop()
            stack.append([start, end, t, len(stack)])
            every.append(stack[-1])
        else:
            while stack[-1][0] != start:
                stack.pop()
        for running in stack:
            running[2] = min(t, running[1])  # a replay that is missing now has ended in between
    return [Replay(*replay) for replay in every]


def _eliminations(
    before: Sequence[int], episodes: Sequence[int], good: Sequence[Sequence[int]], arms: int
) -> Iterable[tuple[int, int]]:
    """Yield the rounds after which arms left the good set; an episode begins with all arms.

    Parameters
    ----------
    before
        The round before each stage, or before the rounds that it represents.
    episodes, good
        The first round of the episode, and the good set, at each stage.
    arms
        The number of arms.
    """
    last, there = 0, set(range(arms))
    for t, episode, left in zip(before, episodes, good, strict=False):
        if episode != last:
            last, there = episode, set(range(arms))
        for arm in sorted(there - set(left)):
            yield t, arm
        there = set(left)
