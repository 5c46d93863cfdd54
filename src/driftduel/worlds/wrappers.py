"""Wrappers that add ties, delayed feedback, absences of arms or slates to a world."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.defaults import MOST_SHOWN
from driftduel.errors import DriftduelError
from driftduel.preferences import LINKS
from driftduel.specs import need_room
from driftduel.worlds.base import LINK_CODES, NO_LINK, Chunk, World
from driftduel.worlds.requests import RequestWorld

__all__ = [
    "FEEDBACKS", "MOST_DELAY", "Event", "WithAbsences", "WithDelay", "WithSlates", "WithTies",
]  # fmt: skip

Event = tuple[int, int, bool]
"""A round, an arm, and whether it is present from that round on."""
MOST_DELAY = 10**6
"""The largest number of pending duels: a game keeps all of them in memory."""
FEEDBACKS = ("pick", "ranking")
"""Answers to a slate: the arm that is picked, or an order of all its arms."""
_LOGISTIC = LINK_CODES["logistic"]
_TOLERANCE = 1e-9
"""That of matrices: probabilities at most so far apart are equal."""


class _WrappedWorld(World):
    """The base class of worlds that modify another world object."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.arms, self.rounds = world.arms, world.rounds
        self.chunk_rounds, self.drifts = world.chunk_rounds, world.drifts
        self.names = world.names
        self.slate, self.ranked = world.slate, world.ranked
        self.nothing_picked = world.nothing_picked


class WithTies(_WrappedWorld):
    """A world in which some duels are ties, with the same probability for all pairs.

    A duel of two different arms is a tie with probability s; otherwise it is decided by the wrapped
    world. Preferences count a tie as half a win: P = (1 - s) B + s/2 for wrapped preferences B.
    From a slate nothing is picked with probability s, and preferences stay those of decided duels.

    Parameters
    ----------
    world
        The wrapped world.
    share
        The parameter s, at least 0 and below 1.

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
        if self.slate > 2:
            self.nothing_picked = 1.0 - (1.0 - world.nothing_picked) * (1.0 - self.share)

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        chunk, decided = self.world.chunk(first, end), 1.0 - self.share
        if self.slate > 2:
            return chunk
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


class WithDelay(_WrappedWorld):
    """A world with delayed feedback, delivered in the order of the duels.

    Outcomes and losses are those of the wrapped world; only the feedback to the policy is delayed:
    the outcome of round t is delivered after the duel of round t + d was chosen, before the choice
    of round t + d + 1. Outcomes that are pending at the end of a game are never delivered. Duels of
    an arm with itself are delayed, too.

    Parameters
    ----------
    world
        The wrapped world; delays of nested wrappers add up.
    delay
        The parameter d, at least 0.

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


class WithAbsences(_WrappedWorld):
    """A world with arms that join and leave.

    Parameters
    ----------
    world
        The wrapped world, which defines the preferences.
    events
        Joins and departures, in any order: a round, an arm, and whether it is present from that
        round on. By default all arms are present before the first event; at least one must be
        present at any time.

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
                    raise DriftduelError(f"arm {arm} cannot both join and leave in round {t}.")
                now[arm] = comes
            if not now.any():
                raise DriftduelError(f"no arm is present in round {t}; at least one is required.")
            if t == 1:
                here[0] = now
            else:
                starts.append(t)
                here.append(now)
        self.starts: NDArray[np.int64] = np.array(starts)
        """(E,) rounds with joins or departures, and the first."""
        self.here: NDArray[np.bool_] = np.array(here)
        """(E, K) the present arms from each of these rounds on."""

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays."""
        inside = self.world.chunk(first, end)
        cuts = self.starts[(self.starts > first) & (self.starts < end)]
        starts = np.union1d(inside.starts, cuts)
        rows = inside.rows[np.searchsorted(inside.starts, starts, side="right") - 1]
        stays = np.searchsorted(self.starts, starts, side="right") - 1
        # Segments with equal preferences and equal sets of present arms share a row.
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


class WithSlates(_WrappedWorld):
    """A world in which up to m arms are shown in a round, with choices after Plackett and Luce.

    Of the arms shown, i is picked with probability proportional to exp(u_i); a ranking is a
    sequence of such picks without replacement. A slate of two arms is a duel, with the preferences
    of the wrapped world. These must be logistic utilities: given as such, or as matrices whose
    log-odds add up, ``logit P(i, k) = logit P(i, j) + logit P(j, k)``.

    Parameters
    ----------
    world
        The wrapped world, without ties.
    slate
        The largest number m of arms of a slate, from 3 on.
    feedback
        One of `FEEDBACKS`.
    nothing_picked
        The probability, below 1, that nothing is picked from a slate of two or more arms.

    Examples
    --------
    >>> from driftduel.worlds import make_world
    >>> world = WithSlates(make_world("ladder:arms=5"), 4, "ranking")
    >>> world.slate, world.ranked, world.nothing_picked
    (4, True, 0.0)
    """

    def __init__(
        self, world: World, slate: int, feedback: str = "pick", nothing_picked: float = 0.0
    ) -> None:
        whole = isinstance(slate, int | np.integer) and not isinstance(slate, bool)
        if not (whole and 3 <= slate <= min(MOST_SHOWN, world.arms)):
            raise DriftduelError(
                f"slate={slate} must be a whole number from 3 to {MOST_SHOWN}, at most the "
                f"{world.arms} arms of the world; leave it out for duels."
            )
        if feedback not in FEEDBACKS:
            raise DriftduelError(f"feedback={feedback!r} must be {' or '.join(FEEDBACKS)}.")
        if not 0 <= nothing_picked < 1:
            raise DriftduelError(
                f"ties={nothing_picked} must be a number at least 0 and below 1, the share of "
                f"slates of which nothing is picked."
            )
        if isinstance(world, RequestWorld):
            raise DriftduelError(
                "slates are not defined for worlds with requests; leave out slate=, or use another "
                "world, such as 'utilities'."
            )
        super().__init__(world)
        self.slate, self.ranked = int(slate), feedback == "ranking"
        self.nothing_picked = float(nothing_picked)
        self.chunk(1, min(2, self.rounds) + 1)  # refuse an unsuitable world before its first game

    def chunk(self, first: int, end: int) -> Chunk:
        """Return the rounds ``first, ..., end - 1`` as arrays, with utilities."""
        inside = self.world.chunk(first, end)
        if len(inside.ties):
            raise DriftduelError(
                f"slate={self.slate} needs utilities, and this world counts ties as half a win; "
                f"write ties= beside slate=, or put WithTies around WithSlates."
            )
        if inside.link == _LOGISTIC:
            return inside
        matrices = inside.row_matrices()
        utilities = _utilities_of(matrices)
        again = LINKS["logistic"](utilities[:, :, None] - utilities[:, None, :])
        # NaN, where a preference is unknown, compares as False.
        right: NDArray[np.bool_] = (abs(again - matrices) <= _TOLERANCE).reshape(len(matrices), -1)
        sound = np.asarray(right.all(axis=1))[inside.rows]
        if not sound.all():
            raise DriftduelError(
                f"slate={self.slate} needs logistic utilities, and round "
                f"{inside.starts[sound.argmin()]} of this world has none; use a world such as "
                f"'utilities', 'geometric-btl' or 'random-walk' with link=logistic, or leave out "
                f"slate=."
            )
        return inside._replace(
            matrices=np.empty((0, self.arms, self.arms)),
            utilities=utilities,
            link=_LOGISTIC,
            unknown=False,
        )

    def _description(self) -> str:
        feedback = FEEDBACKS[self.ranked]
        return f"{type(self).__name__}({self.world!r}, {self.slate}, {feedback!r})"


def _utilities_of(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (R, K) utilities with the log-odds of each arm against the next in rank.

    Probabilities near 1 have lost the digits of their log-odds, so only those of neighbours in rank
    are read, and added up. Those of 0 and 1 become 1e-16 away from them.
    """
    row = np.arange(len(matrices))[:, None]
    order = np.argsort(-matrices.sum(axis=2), axis=1, kind="stable")
    beats_next = matrices[row, order[:, :-1], order[:, 1:]].clip(1e-16, 1 - 1e-16)
    utilities = np.zeros(order.shape)
    below = np.log(beats_next / (1.0 - beats_next)).cumsum(axis=1)
    utilities[row, order[:, 1:]] = -below
    return utilities


def _event(world: World, t: int, arm: int, here: bool) -> Event:
    """Return a checked event, or raise if a value is out of range."""
    whole = all(isinstance(each, int | np.integer) for each in (t, arm))
    if not (whole and 1 <= t <= world.rounds and 0 <= arm < world.arms):
        raise DriftduelError(
            f"an event is a round from 1 to {world.rounds}, an arm from 0 to {world.arms - 1} and "
            f"whether it is present; {(t, arm, here)} is not."
        )
    return int(t), int(arm), bool(here)
