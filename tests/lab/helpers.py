"""What the tests of the lab share."""

import os
import subprocess
import sys
from pathlib import Path

from polars.testing import assert_frame_equal

from driftduel.lab.store import TIMINGS

ROOT = Path(__file__).resolve().parents[2]
WORLD = "geometric-btl:arms=3,rounds=300,phases=3"
POLICIES = ("uniform", "dts", "wss", "anaconda:constant=0.5")

OWN = '''
"""A policy of somebody's own."""
import time
from pathlib import Path

from driftduel.policies import POLICIES, Policy


@POLICIES.register("{name}")
class Own(Policy):
    """Play arm `first` against arm 1."""

    name = "{name}"

    def __init__(self, arms, rng, first: int = 0):
        super().__init__(arms, rng)
        self.pair = (first, 1)
        {begin}

    def choose(self, t):
        return *self.pair, ()

    def learn(self, t, first, second, won, notes):
        {learn}
        return 0
'''


def own_policy(path, name, begin="pass", learn="pass"):
    """Write a module that registers a plain Python policy."""
    Path(path).write_text(OWN.format(name=name, begin=begin, learn=learn), encoding="utf-8")
    return str(path)


def timeless(games):
    """Drop what differs when a cell is played again."""
    return games.drop(TIMINGS)


def assert_same_games(first, second):
    assert len(first)
    assert_frame_equal(timeless(first), timeless(second), check_exact=True)


def content(folder):
    """Return everything in a folder, byte for byte."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(Path(folder).rglob("*"))
    }


class Listener:
    """Somebody who looks on and remembers."""

    def __init__(self):
        self.begun, self.outcomes, self.said, self.met, self.played = [], [], [], 0, 0
        self.compiled = []

    def opened(self, results, cells):
        self.results = results

    def compiling(self, ready, policies):
        self.compiled.append((ready, policies))

    def begin(self, cells, kept, rounds, workers):
        self.begun.append((cells, kept, rounds, workers))

    def rounds(self, count):
        self.played += count

    def cell(self, outcome):
        self.outcomes.append(outcome)

    def left(self, seconds):
        self.seconds_left = seconds

    def elsewhere(self, cells):
        self.met += cells

    def say(self, text):
        self.said.append(text)


def start(code, *arguments):
    """Start a Python process; its lines of output can be read while it runs."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
