"""All that ANACONDA remembers, each number with its name and with what it may be."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel.policies.fields import (
    ANY,
    ARM,
    ARMS,
    CONSTANT,
    COUNT,
    FINITE,
    FLAG,
    MOST,
    ROUND,
    Growing,
    Named,
    Within,
    records,
)

__all__ = ["DRAWS", "FREEDMAN", "LIST", "NEVER", "NUMBERS", "PAPER", "State", "fresh_state"]

NEVER = 1 << 62
"""A round that does not come, and a balance that no pair reaches."""
LIST = 32
"""Wins of a pair that wait at most before they go onto its stack."""
DRAWS = 64
"""Duels that are drawn ahead."""
PAPER, FREEDMAN = 0, 1
"""The rules."""

_DEEPEST = 66  # replays that can still resume have ever smaller powers of two as lengths
_FIRST_ROOM = 256

_LATER = Within(0, NEVER)
_WHOLE = Within(-NEVER, NEVER)
_SQUARE = Within(0, lambda scope: scope.arms**2)

NUMBERS = Named(
    # When what happens.
    episode=ROUND,  # t_l, its first round
    learn_from=_LATER,  # answers of earlier rounds are of no use: t_l, or never once it ended
    next_event=_LATER,  # the next round in which a replay starts or ends
    next_replay=_LATER,  # the next round in which a replay starts
    replay_length=_LATER,  # and its length m
    depth=Within(0, _DEEPEST - 1),  # running replays
    # Who meets whom.
    active_arms=Within(0, ARMS),  # |A_t|
    weight=_SQUARE,  # |A_t|^2
    duels_used=Within(0, DRAWS),  # how many of the duels drawn ahead have been asked for
    # What the user chose.
    doubling=CONSTANT,  # 1 when the horizon is unknown
    rule=CONSTANT,  # PAPER or FREEDMAN
    symmetric=CONSTANT,  # 1 when a duel informs both orders of its pair
    constant=CONSTANT,  # C
    replay_rate=CONSTANT,  # 1 is the paper's
    # What follows from it, and from the horizon.
    horizon=COUNT,  # T, or the length of the current epoch when doubling
    last_round=COUNT,  # of the horizon or epoch
    factor=FINITE,  # threshold(x) = factor * sqrt(max(x, floor)) + offset
    floor=FINITE,
    offset=FINITE,
    least_rise=_WHOLE,  # twice the smallest threshold of any window, rounded down
    one_win_fires=FLAG,  # 1 when a single win can
    plain=FLAG,  # 1 for the paper's rule and estimate when no single win can fire
    # What else was learned.
    clock=COUNT,  # the sum of |A_t|^2 over all rounds learned, for FREEDMAN
    single_win=Within(-1, MOST),  # the last round with a win that fires by itself
    single_loser=ARM,  # and the arm it was won against
)
"""What the numbers of the engine's record, and of those with more of them, may be."""
START = Named(
    start=ANY,  # the round s
    balance=ANY,  # before it
    clock=ANY,  # the sum of |A|^2 before it, by which FREEDMAN measures windows
    overtaken=ANY,  # once pruned: when the start before becomes the better one, for ever
)
"""The same of a window's start; every start is that of a win."""


class State(NamedTuple):
    """All that ANACONDA knows. K arms; P = K * K ordered pairs, (a, b) at a * K + b.

    A balance stands for 2 D(s), twice the D of fact 3.
    """

    numbers: Annotated[Any, NUMBERS]
    """(1,) named above."""
    last: Annotated[Any, ANY]
    """(K,) largest start of any window that fired against an arm, as far as it matters."""
    active: Annotated[Any, ARM]
    """(K,) the active arms, ascending, then rubbish."""
    replays: Annotated[Any, Named(start=ROUND, end=_LATER)]
    """(66,) t0 and t0 + m0 of the running replays, outermost first."""
    pairs: Annotated[
        Any,
        Named(
            won=_WHOLE,  # twice the weight won in this episode; 2 D(s) = won - (s - 1)
            lowest=ANY,  # the lowest balance since the pair was looked at
            waiting=Within(0, LIST - 1),  # wins in its list
            limit=ANY,  # what its balance must exceed for an older start to fire
            begin=COUNT,  # where its stack begins in `stacks`
            room=COUNT,  # how many starts fit
            dead=COUNT,  # how many of the oldest are of no more use
            filled=COUNT,  # how many there are, dead ones included
            pruned=COUNT,  # how many of them, from the oldest on, have been pruned already
        ),
    ]
    """(P,) what is known of each pair; what a round needs comes first."""
    waiting: Annotated[Any, START]
    """(32 P,) up to 32 wins a pair that are not yet on its stack."""
    stacks: Annotated[Any, Growing(START)]
    """(N,) the useful starts of all pairs."""
    draws: Annotated[Any, Within(0, 1 - 2**-53)]
    """(64,) a uniform number for each of the coming rounds."""
    duels: Annotated[Any, Named(first=ARM, second=ARM)]
    """(64,) the arms they pick from the active set. Picked ahead, because where a round writes
    must be known early for the next to begin before it is over."""


_FRESH = {
    **dict.fromkeys(NUMBERS.rules, 0),
    **dict.fromkeys(("constant", "replay_rate", "factor", "floor", "offset"), 0.0),
    "learn_from": NEVER,  # so that round 1 begins the first episode
    "duels_used": DRAWS,
}


def fresh_state(arms: int, **more: float) -> State:
    """Return the engine's record before the first round.

    Parameters
    ----------
    arms
        The number of arms K.
    more
        Numbers that do not begin with 0, or that the engine does not have.
    """
    pairs = records(
        arms * arms, won=0, lowest=0, waiting=0, limit=0, begin=0, room=_FIRST_ROOM, dead=0,
        filled=0, pruned=0,
    )  # fmt: skip
    pairs["begin"] = np.arange(arms * arms) * _FIRST_ROOM
    return State(
        numbers=records(1, **{**_FRESH, **more}),
        last=np.full(arms, -1, np.int64),
        active=np.zeros(arms, np.int64),
        replays=records(_DEEPEST, start=0, end=0),
        pairs=pairs,
        waiting=_starts(arms * arms * LIST),
        stacks=_starts(arms * arms * _FIRST_ROOM),
        draws=np.zeros(DRAWS),
        duels=records(DRAWS, first=0, second=0),
    )


def _starts(size: int) -> Any:
    return records(size, start=0, balance=0, clock=0, overtaken=0.0)
