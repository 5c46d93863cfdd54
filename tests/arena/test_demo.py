"""The demo: the defaults of `arena new`, items, tags, a certified change, and no warning."""

from collections import Counter

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("polars")

from driftduel.arena import demo as module
from driftduel.arena.settings import settings_of


@pytest.mark.long
def test_the_demo_has_the_defaults_and_certifies_the_change(monkeypatch):
    made, tags = [], Counter()

    class ArenaManager(module.ArenaManager):
        def create(self, *args, **settings):
            made.append(settings)
            return super().create(*args, **settings)

    class ArenaClient(module.ArenaClient):
        def ask(self, *args, **more):
            tags[more["tags"]["device"]] += 1
            return super().ask(*args, **more)

    monkeypatch.setattr(module, "ArenaManager", ArenaManager)
    monkeypatch.setattr(module, "ArenaClient", ArenaClient)
    said = []
    board = module.run_demo(port=0, votes=3000, rate=0.0, browser=False, echo=said.append)
    (settings,) = made
    del settings["items"]
    assert settings_of(5, **settings) == settings_of(5, seed=settings["seed"])
    assert (board.votes, board.learned, board.uncounted, board.late) == (3000, 3000, 0, 0)
    assert board.items.most - board.items.fewest <= 2
    (change,) = board.certified_changes
    assert (change.before, change.after) == ("amber", "dune")
    assert change.from_vote < 1500 < change.to_vote
    assert board.leader.name == "dune"
    assert board.sure
    assert board.warnings == []
    assert "#token=dd-vote-" in said[0]
    assert tags.keys() == {"phone", "desktop"}
    assert tags.total() == 3000
