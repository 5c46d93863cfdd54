"""How often the board reports a dependence on features: without one, and with one.

The worlds were written down before the first run: stationary preferences, `adaptive-logistic`
chooses the pairs, requests with three categories and a number, options with utilities N(0, 1), and
with an effect a further N(0, 1) for each option and category. Every look counts.
"""

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from driftduel.arena.manager import ArenaManager
from driftduel.arena.request_report import EvidenceReader
from driftduel.arena.stores import open_store
from driftduel.arena.vote_table import VoteTable

FEATURES = ["category=a,b,c", "length:number"]


class Prefix:
    """The first votes of a table."""

    def __init__(self, table, most):
        self.features, self.request_votes = table.features, table.request_votes
        self.rows = table.request_rows()[:most]

    def request_rows(self):
        return self.rows


def looks(seed, votes, effect, options=3):
    """Return the votes at the looks of one arena, and whether each reports a dependence."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=options) + effect * rng.normal(size=(3, options))
    manager = ArenaManager(open_store("memory:"))
    names = [f"o{each + 1}" for each in range(options)]
    manager.create("a", names, features=FEATURES, claim="judges", grace=0.0, seed=seed)
    live = manager.arena("a")
    for _ in range(votes):
        place = int(rng.integers(3))
        request = {"category": "abc"[place], "length": float(rng.normal())}
        shown = live.ask(request=request).answer
        left, right = (names.index(each.name) for each in (shown.left, shown.right))
        p = 1 / (1 + np.exp(utility[place, right] - utility[place, left]))
        live.vote(shown.duel, "left" if rng.random() < p else "right").durable.result()
    table, found, reader, look = VoteTable(manager.store, "a").update(), [], EvidenceReader(), 50
    while look <= votes:
        evidence = reader.read(Prefix(table, look))
        assert evidence.looked == look
        found.append((look, evidence.matters))
        look += -(-look // 10)
    manager.close()
    return found


@pytest.mark.long
def test_no_dependence_is_rarely_reported():
    ever = [any(claimed for _, claimed in looks(seed, 300, 0.0)) for seed in range(40)]
    assert sum(ever) <= 5  # at 5%, more than 5 of 40 have a probability of 1.4%


@pytest.mark.long
def test_a_dependence_is_found():
    found = [looks(seed, 1500, 1.0)[-1][1] for seed in range(10)]
    assert sum(found) >= 3
