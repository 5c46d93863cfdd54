"""Arenas without a store and without HTTP: simulated voters on the state itself."""

import numpy as np

from driftduel.arena.settings import settings_of
from driftduel.arena.state import ArenaState

START = 1_700_000_000_000


class Simulated:
    """An arena of `options` options whose votes are learned as soon as they arrive.

    Parameters
    ----------
    options, seed
        Number of options, and the seed of voters and policy.
    settings
        Settings of the arena.
    """

    claim = "voters"

    def __init__(self, options, seed, **settings):
        usual = {"grace": 0.0, "votes_a_day": 10**6, "seed": seed, "claim": self.claim}
        made = settings_of(options, **(usual | settings))
        self.state = ArenaState(made, [f"o{arm + 1}" for arm in range(options)], START)
        self.rng = np.random.default_rng([seed, 26])
        self.at, self.voters = START, 0

    @property
    def tally(self):
        return self.state.tally

    @property
    def is_sure(self):
        return self.tally.sure(self.state.present)

    def ask(self, voter=None):
        """Ask for a duel, of a new voter unless one is named."""
        if voter is None:
            self.voters += 1
            voter = f"{self.voters:016x}"
        return self.state.ask(self.at, voter or None)[0]

    def answer(self, ref, pick):
        """Answer a duel, and learn every vote whose turn has come."""
        self.at += 1
        self.state.vote(self.at, ref, pick)
        self.settle()

    def settle(self):
        for kind, ref, why in self.state.due(self.at):
            if kind == "told":
                self.state.tell(self.at, ref)
            else:
                self.state.forget(self.at, ref, why)

    def vote(self, beats, voter=None, ties=0.0):
        """Let one voter vote; `beats(a, b)` is the probability that a is preferred to b."""
        ref = self.ask(voter)
        out = self.state.open[ref]
        right = out.first + out.second - out.left
        draw = self.rng.random()
        pick = "tie" if self.rng.random() < ties else "left"
        if pick == "left" and draw >= beats(out.left, right):
            pick = "right"
        self.answer(ref, pick)
