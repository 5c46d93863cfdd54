"""The state of ANACONDA: each value with its name and its range."""

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

__all__ = ["DRAWS", "FREEDMAN", "LIST", "NEVER", "NUMBERS", "PAPER", "AnacondaState", "fresh_state"]

NEVER = 1 << 62
"""A round beyond the maximum and a balance beyond every pair's, used as infinity."""
LIST = 32
"""Capacity of the list of a pair's wins that are not yet on its stack."""
DRAWS = 64
"""Size of the buffer of duels drawn in advance."""
PAPER, FREEDMAN = 0, 1
"""Codes of the elimination rules."""

_DEEPEST = 66  # maximum depth: nested replays have decreasing powers of two as lengths
_FIRST_ROOM = 256

_LATER = Within(0, NEVER)
_WHOLE = Within(-NEVER, NEVER)
_SQUARE = Within(0, lambda scope: scope.arms**2)

NUMBERS = Named(
    # Schedule.
    episode=ROUND,  # t_l, its first round
    learn_from=_LATER,  # answers of earlier rounds are ignored: t_l, or NEVER after its end
    next_event=_LATER,  # the next round in which a replay starts or ends
    next_replay=_LATER,  # the next round in which a replay starts
    replay_length=_LATER,  # and its length m
    depth=Within(0, _DEEPEST - 1),  # running replays
    # Choice of pairs.
    active_arms=Within(0, ARMS),  # |A_t|
    weight=_SQUARE,  # |A_t|^2
    duels_used=Within(0, DRAWS),  # number of buffered duels that were chosen
    # Parameters.
    doubling=CONSTANT,  # 1 when the horizon is unknown
    rule=CONSTANT,  # PAPER or FREEDMAN
    symmetric=CONSTANT,  # 1 if a duel updates both orders of its pair
    constant=CONSTANT,  # C
    replay_rate=CONSTANT,  # 1 is the paper's
    # Values derived from the parameters and the horizon.
    horizon=COUNT,  # T, or the length of the current epoch when doubling
    last_round=COUNT,  # of the horizon or epoch
    factor=FINITE,  # threshold(x) = factor * sqrt(max(x, floor)) + offset
    floor=FINITE,
    offset=FINITE,
    least_rise=_WHOLE,  # twice the smallest threshold of any window, rounded down
    one_win_fires=FLAG,  # 1 when a single win can
    plain=FLAG,  # 1 for the paper's rule and estimate when no single win can fire
    # Other learned values.
    clock=COUNT,  # the sum of |A_t|^2 over all rounds learned, for FREEDMAN
    single_win=Within(-1, MOST),  # the last round with a win that is sufficient to fire
    single_loser=ARM,  # and the arm it was won against
)
"""Rules for the numbers of the engine's record; other policies extend them."""
START = Named(
    start=ANY,  # the round s
    balance=ANY,  # before it
    clock=ANY,  # the sum of |A|^2 before it, by which FREEDMAN measures windows
    overtaken=ANY,  # after pruning: the time when the start before becomes permanently better
)
"""Rules for the values of a window's start; every start is the round of a win."""


class AnacondaState(NamedTuple):
    """The state of ANACONDA. K arms; P = K * K ordered pairs, (a, b) at index a * K + b.

    A balance stands for 2 D(s), twice the D of fact 3.
    """

    numbers: Annotated[Any, NUMBERS]
    """(1,) named above."""
    last: Annotated[Any, ANY]
    """(K,) largest start of any window that fired against an arm, if it is relevant for a running
    replay."""
    active: Annotated[Any, ARM]
    """(K,) the active arms, ascending, then arbitrary values."""
    replays: Annotated[Any, Named(start=ROUND, end=_LATER)]
    """(66,) t0 and t0 + m0 of the running replays, outermost first."""
    pairs: Annotated[
        Any,
        Named(
            won=_WHOLE,  # twice the weight won in this episode; 2 D(s) = won - (s - 1)
            lowest=ANY,  # minimum balance since the pair was examined
            waiting=Within(0, LIST - 1),  # wins in its list
            limit=ANY,  # balance above which an older start can fire
            begin=COUNT,  # index of its stack in `stacks`
            room=COUNT,  # capacity of its stack
            dead=COUNT,  # number of oldest starts without further effect
            filled=COUNT,  # number of starts, including dead ones
            pruned=COUNT,  # number of these, from the oldest on, that are pruned already
        ),
    ]
    """(P,) values of each pair; fields of the hot path come first (one cache line)."""
    waiting: Annotated[Any, START]
    """(32 P,) up to 32 wins a pair that are not yet on its stack."""
    stacks: Annotated[Any, Growing(START)]
    """(N,) the useful starts of all pairs."""
    draws: Annotated[Any, Within(0, 1 - 2**-53)]
    """(64,) buffer of uniform numbers, one for each of the next rounds."""
    duels: Annotated[Any, Named(first=ARM, second=ARM)]
    """(64,) the arms selected by them. They are computed in advance, because early addresses of a
    round's writes let the processor overlap it with the next round."""


_FRESH = {
    **dict.fromkeys(NUMBERS.rules, 0),
    **dict.fromkeys(("constant", "replay_rate", "factor", "floor", "offset"), 0.0),
    "learn_from": NEVER,  # so that round 1 begins the first episode
    "duels_used": DRAWS,
}


def fresh_state(arms: int, **more: float) -> AnacondaState:
    """Return the engine's record before the first round.

    Parameters
    ----------
    arms
        The number of arms K.
    more
        Initial values other than 0, and further fields of `numbers`.
    """
    pairs = records(
        arms * arms, won=0, lowest=0, waiting=0, limit=0, begin=0, room=_FIRST_ROOM, dead=0,
        filled=0, pruned=0,
    )  # fmt: skip
    pairs["begin"] = np.arange(arms * arms) * _FIRST_ROOM
    return AnacondaState(
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
