"""Put ties, late answers, or arms that come and go, around any world."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.specs import need_room
from driftduel.worlds.base import NO_LINK, Chunk, World

__all__ = ["MOST_DELAY", "Event", "WithAbsences", "WithDelay", "WithTies"]

Event = tuple[int, int, bool]
"""A round, an arm, and whether it is there from that round on."""
MOST_DELAY = 10**6
"""Duels that may be out at once: a game keeps all of them."""


class _Around(World):
    """A world that differs from another one, which it holds."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.arms, self.rounds = world.arms, world.rounds
        self.chunk_rounds, self.drifts = world.chunk_rounds, world.drifts
        self.names = world.names


class WithTies(_Around):
    """Let some duels of a world be ties, whichever two arms meet.

    A duel of two arms is a tie with probability s; else it is decided as in the world inside. What
    is read off it counts a tie as half a win: P = (1 - s) B + s/2, if B are the preferences inside.

    Parameters
    ----------
    world
        The world inside.
    share
        s, at least 0 and below 1.

    Examples
    --------
    >>> from driftduel.preferences import lone_winner
    >>> from driftduel.worlds import Piecewise
    >>> world = WithTies(Piecewise([lone_winner(2, winner=0, eps=0.4)], [1], 100), 0.5)
    >>> world.preferences(1).matrix.tolist()
    [[0.5, 0.7], [0.3, 0.5]]
    """

    def __init__(self, world: World, share: float) -> None:
        if not 0 <= share < 1:
            raise DriftduelError(f"ties={share} must be a number at least 0 and below 1.")
        super().__init__(world)
        self.share = float(share)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        chunk, decided = self.world.chunk(first, end), 1.0 - self.share
        matrices = 0.5 + decided * (chunk.row_matrices() - 0.5)
        inside = chunk.ties if len(chunk.ties) else np.zeros(len(matrices))
        return chunk._replace(
            matrices=matrices,
            utilities=np.empty((0, self.arms)),
            link=NO_LINK,
            ties=self.share + decided * inside,
        )

    def _description(self) -> str:
        return f"{type(self).__name__}({self.world!r}, {self.share:g})"


class WithDelay(_Around):
    """Let the answers of a world come late, in the order of asking.

    Who wins, and what a duel costs, is as in the world inside. Only the policy hears of it later:
    the answer of round t is told after the duel of round t + d was asked for, and so before the ask
    of round t + d + 1. Answers that are still out when a game ends are never told. Duels of an arm
    with itself are no exception.

    Parameters
    ----------
    world
        The world inside; if its answers are late already, they come that much later still.
    delay
        d, at least 0.

    Examples
    --------
    >>> from driftduel.preferences import lone_winner
    >>> from driftduel.worlds import Piecewise
    >>> world = WithDelay(Piecewise([lone_winner(2, winner=0, eps=0.4)], [1], 100), 25)
    >>> world.chunk(1, 101).delay
    25
    """

    def __init__(self, world: World, delay: int) -> None:
        whole = isinstance(delay, int | np.integer) and not isinstance(delay, bool)
        if not (whole and 0 <= delay <= MOST_DELAY):
            raise DriftduelError(
                f"delay={delay} must be a whole number from 0 to {MOST_DELAY:,}, of rounds."
            )
        super().__init__(world)
        self.delay = int(delay)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        inside = self.world.chunk(first, end)
        return inside._replace(delay=inside.delay + self.delay)

    def _description(self) -> str:
        return f"{type(self).__name__}({self.world!r}, {self.delay})"


class WithAbsences(_Around):
    """Let the arms of a world come and go.

    Parameters
    ----------
    world
        The world inside, which says who would beat whom.
    events
        Who comes or leaves, in any order: a round, an arm, and whether it is there from that round
        on. All arms are there before the first; at least one must be there at any time.

    Examples
    --------
    >>> from driftduel.preferences import total_order
    >>> from driftduel.worlds import Piecewise
    >>> inside = Piecewise([total_order([2, 1, 0], 0.7)], [1], 1000)
    >>> WithAbsences(inside, [(1, 2, False), (501, 2, True), (801, 1, False)]).condorcet_winners()
    [(1, 1), (501, 2)]
    """

    def __init__(self, world: World, events: Iterable[Event]) -> None:
        super().__init__(world)
        ordered = sorted((_event(world, *event) for event in events), key=itemgetter(0))
        need_room(f"{len(ordered):,} events", len(ordered) * world.arms**2)
        starts, here = [1], [np.ones(world.arms, np.bool_)]
        for t, at_once in groupby(ordered, key=itemgetter(0)):
            now = here[-1].copy()
            changed: dict[int, bool] = {}
            for _, arm, comes in at_once:
                if changed.setdefault(arm, comes) != comes:
                    raise DriftduelError(f"arm {arm} cannot both come and leave in round {t}.")
                now[arm] = comes
            if not now.any():
                raise DriftduelError(f"nobody is there in round {t}; at least one arm must be.")
            if t == 1:
                here[0] = now
            else:
                starts.append(t)
                here.append(now)
        self.starts: NDArray[np.int64] = np.array(starts)
        """(E,) rounds in which somebody comes or leaves, and the first."""
        self.here: NDArray[np.bool_] = np.array(here)
        """(E, K) who is there from each of them on."""

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        inside = self.world.chunk(first, end)
        cuts = self.starts[(self.starts > first) & (self.starts < end)]
        starts = np.union1d(inside.starts, cuts)
        rows = inside.rows[np.searchsorted(inside.starts, starts, side="right") - 1]
        stays = np.searchsorted(self.starts, starts, side="right") - 1
        # Rows are shared by the segments that agree on preferences and on who is there.
        pairs, shared = np.unique(rows * len(self.starts) + stays, return_inverse=True)
        row, stay = pairs // len(self.starts), pairs % len(self.starts)
        present = self.here[stay]
        if inside.present.size:
            present &= inside.present[row]
        by_matrix = inside.link == NO_LINK
        return inside._replace(
            starts=starts,
            rows=shared.reshape(-1).astype(np.int64),
            matrices=inside.matrices[row] if by_matrix else inside.matrices,
            utilities=inside.utilities if by_matrix else inside.utilities[row],
            present=present,
            ties=inside.ties[row] if len(inside.ties) else inside.ties,
        )

    def _description(self) -> str:
        return f"{type(self).__name__}({self.world!r}, {len(self.starts) - 1} changes)"


def _event(world: World, t: int, arm: int, here: bool) -> Event:
    """Check an event."""
    whole = all(isinstance(each, int | np.integer) for each in (t, arm))
    if not (whole and 1 <= t <= world.rounds and 0 <= arm < world.arms):
        raise DriftduelError(
            f"an event is a round from 1 to {world.rounds}, an arm from 0 to {world.arms - 1} and "
            f"whether it is there; {(t, arm, here)} is not."
        )
    return int(t), int(arm), bool(here)
