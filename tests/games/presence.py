"""A policy whose arms come and go, and a game played the slow way."""

from collections import deque
from typing import Annotated, Any, NamedTuple

import numpy as np

from driftduel._internal.compiler import hot
from driftduel.games import streams
from driftduel.policies import KernelPolicy, Kernels, Policy, uniform
from driftduel.policies.fields import COUNT, FLAG


class _Record(NamedTuple):
    present: Annotated[Any, FLAG]
    log: Annotated[Any, COUNT]
    """What it was told, and of whom, as one number that any difference changes."""


@hot
def _drawn(state, rng):
    place = int(uniform(rng) * state.present.sum())
    for arm in range(len(state.present)):
        place -= state.present[arm]
        if place < 0:
            return arm
    return -1


@hot
def _ask(state, rng, t, notes):
    return _drawn(state, rng), _drawn(state, rng)


@hot
def _note(state, number):
    state.log[0] = (state.log[0] * 31 + number) % 1_000_000_007


@hot
def _tell(state, t, first, second, won, notes):
    _note(state, ((t * 16 + first) * 16 + second) * 3 + won + 1)
    return 2 * (state.log[0] % 97 == 0)


@hot
def _change(state, rng, t, arm, here):
    state.present[arm] = here
    _note(state, (t * 16 + arm) * 2 + here)


@hot
def _present(state, arm):
    return state.present[arm]


class Wanderer(KernelPolicy):
    """Draw both arms among those present; hear of no ties."""

    name = "wanderer"
    kernels = Kernels(_ask, _tell, change=_change, present=_present)

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.state = _Record(np.ones(arms, np.int64), np.ones(1, np.int64))


class Listener(Wanderer):
    """The same, and hear of ties too."""

    name = "listener"
    kernels = Wanderer.kernels._replace(unanswered=True)


class Plain(Policy):
    """The same as a wanderer, in plain Python."""

    name = "plain"

    def __init__(self, arms, rng):
        super().__init__(arms, rng)
        self.inside = Wanderer(arms, rng)
        self.state = self.inside.state

    def choose(self, t):
        return self.inside.choose(t)

    def learn(self, t, first, second, won, notes):
        return self.inside.learn(t, first, second, won, notes)

    @property
    def present(self):
        return self.inside.present

    def change(self, arm, *, here):
        self.inside.ledger.asked = self.ledger.asked
        self.inside.change(arm, here=here)


def slow_game(policy, world, seed, here, share, delay=0):
    """Play by ask and tell, one definition after the other; return (first, second, outcome).

    Parameters
    ----------
    policy, world, seed
        As for `play`.
    here
        Who is there in a round, or None if everyone always is.
    share
        How often two arms tie.
    delay
        How many more duels are asked for before an answer is told.
    """
    outcome_draws = np.random.default_rng(streams(seed)[1])
    coming = policy.present
    rows, waiting = [], deque()
    for t in range(1, world.rounds + 1):
        u = outcome_draws.random()
        now = here(t) if here else coming
        for arm in sorted(set(now) - set(coming)):
            assert policy.admit(arm) == arm
        for arm in sorted(set(coming) - set(now)):
            policy.retire(arm)
        coming = now
        duel = policy.ask()
        a, b = duel.first, duel.second
        assert a in now
        assert b in now
        p = world.preferences(t).matrix[a, b]
        half = 0.0 if a == b else share / 2
        if u < p - half or (u < p + half and policy.ledger.ties == "coin" and u < p):
            waiting.append((policy.tell_first_won, duel, 1))
        elif u >= p + half or policy.ledger.ties == "coin":
            waiting.append((policy.tell_first_won, duel, 0))
        else:
            waiting.append((policy.tell, duel, None))
        if len(waiting) > delay:
            tell, *answer = waiting.popleft()
            tell(*answer)
        rows.append((a, b, 1 if u < p - half else 0 if u >= p + half else -1))
    return rows
